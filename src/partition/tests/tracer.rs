//! Tests of the cell tracer.

use std::sync::Arc;

use glam::Vec2;
use rayon::prelude::*;

use super::*;
use crate::accel::{Preset, World};
use crate::builtin_scenes;
use crate::geometry::sampling::uniform_sphere;
use crate::geometry::{Ray, RayQuery};
use crate::scene::{Material, MaterialId, MeshData, MeshId, Scene, Surface, SurfaceKey, shapes};

fn scene_of(meshes: Vec<MeshData>) -> Scene {
    let surface =
        |index: usize| Surface::new(SurfaceKey(format!("part {index}")), MeshId::from_index(index), MaterialId(0));
    Scene {
        surfaces: (0..meshes.len()).map(surface).collect(),
        meshes: meshes.into_iter().map(Arc::new).collect(),
        materials: vec![Material::default()],
        ..Scene::default()
    }
}

/// Returns two balls and a torus in a box.
fn round_things() -> Scene {
    let moved = |mut mesh: MeshData, by: Vec3| {
        mesh.positions.iter_mut().for_each(|position| *position += by);
        mesh
    };
    scene_of(vec![
        shapes::cuboid("box", Vec3::splat(-2.1), Vec3::splat(2.3)),
        moved(shapes::icosphere("ball", 0.8, 4), Vec3::new(0.9, -0.4, 0.3)),
        moved(shapes::icosphere("small ball", 0.3, 2), Vec3::new(-1.0, 1.0, 1.0)),
        moved(shapes::torus("ring", 0.9, 0.2, 64, 24), Vec3::new(-0.6, -0.5, -0.5)),
    ])
}

fn rays_in(bounds: Aabb, count: u32) -> impl Iterator<Item = Ray> {
    let (places, directions) = (OwenSobol::new(31), OwenSobol::new(32));
    (0..count).map(move |index| {
        let ([x, y, z, _], [u, v, ..]) = (places.point(index), directions.point(index));
        let place = bounds.min + bounds.extent() * Vec3::new(x, y, z);
        Ray::new(place, uniform_sphere(Vec2::new(u, v)))
    })
}

/// Returns the distance of a point in a triangle's plane from the triangle, in meters.
fn outside(scene: &Scene, (surface, triangle): (crate::geometry::SurfaceId, u32), point: Vec3) -> f32 {
    let [a, b, c] = scene.triangle(surface, triangle).corners.map(|corner| corner.as_dvec3());
    let point = point.as_dvec3();
    let normal = (b - a).cross(c - a).normalize();
    let aside = |from: glam::DVec3, to: glam::DVec3| (to - from).normalize().cross(normal).dot(point - from);
    aside(a, b).max(aside(b, c)).max(aside(c, a)) as f32
}

/// Returns the number of rays whose triangle differs from that of a KD-tree over the full mesh. All such rays must
/// graze an edge.
fn grazing(name: &str, scene: Scene, settings: &PartitionSettings, count: u32) -> usize {
    let fineness = Fineness::default();
    let tracer = CellTracer::new(&scene, &fineness, settings).unwrap();
    let scene = Arc::new(scene);
    let world = World::build(scene.clone(), Preset::best());
    let grazes = |ray: &Ray| {
        let (found, work) = tracer.closest(ray);
        assert!(work.cells as usize <= tracer.partition().cells().len());
        let (found, expected) = match (found, world.closest(ray)) {
            (None, None) => return false,
            (Some(found), Some(expected)) => (found, expected),
            (found, expected) => panic!("{name}: {found:?} for {expected:?} along {ray:?}"),
        };
        if tracer.source(found.triangle) == (expected.surface, expected.triangle) {
            let slope = scene.geometric_normal(expected.surface, expected.triangle).dot(ray.direction).abs();
            let rim = tracer.simplified().surfaces().corners(found.surface as usize);
            let across = rim.iter().map(|corner| corner.distance(rim[0])).fold(0.0, f32::max);
            let allowed = 1e-5 * expected.t.max(1.0) + fineness.threshold as f32 * across;
            assert!((found.t - expected.t).abs() * slope < allowed, "{name}: {found:?} {expected:?}");
            return false;
        }
        // Differences are allowed at edges of the other result, and where two surfaces coincide.
        let in_one_place = (found.t - expected.t).abs() < 1e-4;
        // For coincident opposite faces, the cell tracer may return either, while `World` returns the front.
        let normals = [tracer.source(found.triangle), (expected.surface, expected.triangle)]
            .map(|(surface, triangle)| scene.geometric_normal(surface, triangle));
        if in_one_place && !expected.back && normals[0].dot(normals[1]) < -0.999 {
            return false;
        }
        let aside = outside(&scene, tracer.source(found.triangle), ray.at(found.t));
        assert!(in_one_place || aside.abs() < 1e-4, "{name}: {aside} m inside {found:?}, not {expected:?}");
        true
    };
    let rays: Vec<Ray> = rays_in(tracer.partition().bounds(), count).collect();
    let grazing = rays.par_iter().filter(|ray| grazes(ray)).count();
    println!("{name}, {:?}: {grazing} of {count} rays graze an edge", settings.kind);
    grazing
}

#[test]
fn coarse_surfaces_in_cells_show_the_triangle_that_the_whole_mesh_shows() {
    const COUNT: u32 = 100_000;
    let hybrid = settings(PartitionKind::Hybrid, 64);
    for (name, scene) in [
        ("round things", round_things()),
        ("edificio", builtin_scenes::build("edificio").unwrap()),
        ("salon", builtin_scenes::build("salon").unwrap()),
        ("armadillo", builtin_scenes::build("armadillo").unwrap()),
    ] {
        let exceptions = grazing(name, scene, &hybrid, COUNT);
        assert!(exceptions <= COUNT as usize / 10_000, "{name}: {exceptions}");
    }
}

#[test]
fn any_partition_shows_the_same() {
    for (kind, count) in [(PartitionKind::Uniform, 27), (PartitionKind::Uniform, 1), (PartitionKind::Balanced, 128)] {
        let exceptions = grazing("estudio", builtin_scenes::build("estudio").unwrap(), &settings(kind, count), 20_000);
        assert!(exceptions <= 4, "{kind:?}: {exceptions}");
    }
}

#[test]
fn elements_that_triangles_cannot_be_divided_into_are_refused() {
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let error = |threshold: f64, largest_element: f32| {
        let fineness = Fineness { threshold, largest_element };
        CellTracer::new(&scene, &fineness, &settings(PartitionKind::Uniform, 2)).err()
    };
    assert_eq!(error(-0.1, 1.0), Some(PartitionError::Threshold(-0.1)));
    assert!(matches!(error(f64::NAN, 1.0), Some(PartitionError::Threshold(_))), "it would merge everything");
    assert_eq!(error(1e-3, 0.0), Some(PartitionError::LargestElement(0.0)));
    assert_eq!(error(1e-3, -1.0), Some(PartitionError::LargestElement(-1.0)));
    assert!(matches!(error(1e-3, f32::NAN), Some(PartitionError::LargestElement(_))));
    for area in [f32::MIN_POSITIVE, 1e-12, 1e-7] {
        let max = Fineness::MAX_ELEMENTS;
        assert_eq!(error(1e-3, area), Some(PartitionError::TooManyElements { area, max }));
    }
    assert_eq!([error(0.0, f32::INFINITY), error(1e-3, 1e-4)], [None, None]);
}

#[test]
fn borders_tell_the_cells_that_an_exact_walk_passes() {
    let scene = builtin_scenes::build("salon").unwrap();
    for (kind, count) in [(PartitionKind::Uniform, 64), (PartitionKind::Balanced, 64), (PartitionKind::Hybrid, 120)] {
        let tracer = CellTracer::new(&scene, &Fineness::default(), &settings(kind, count)).unwrap();
        let mut borders = 0;
        for ray in rays_in(tracer.partition().bounds(), 5_000) {
            let (hit, work) = tracer.closest(&ray);
            let ray = Ray { t_max: hit.map_or(f32::INFINITY, |hit| hit.t), ..ray };
            let steps: Vec<CellStep> = tracer.partition().traverse(&ray).collect();
            let first = tracer.partition().cell(steps[0].cell);
            assert!(first.contains(ray.origin));
            let long = steps.iter().filter(|step| step.exit - step.enter > 1e-4).count() as u32;
            assert!(work.cells >= long && work.cells <= steps.len() as u32 + 2, "{work:?} for {steps:?}");
            assert!(work.borders >= work.cells - 1);
            borders += work.borders - (work.cells - 1);
        }
        // Faces of a uniform grid have one border; faces of other kinds have several.
        assert_eq!(borders == 0, kind == PartitionKind::Uniform, "{kind:?}: {borders}");
    }
}

#[test]
fn coarse_surfaces_are_fewer_in_each_cell_than_triangles() {
    let scene = builtin_scenes::build("edificio").unwrap();
    let uniform = settings(PartitionKind::Uniform, 64);
    let listed = |threshold: f64| {
        let fineness = Fineness { threshold, ..Fineness::default() };
        let tracer = CellTracer::new(&scene, &fineness, &uniform).unwrap();
        tracer.partition().ids().map(|cell| tracer.surfaces_in(cell)).sum::<usize>()
    };
    let (coarse, fine) = (listed(1e-3), listed(0.0));
    assert!(coarse * 10 < fine * 9, "{coarse} coarse surfaces of {fine}");
}
