//! Tests of the tree against brute force, and of invariants that hold for any tree.

use std::sync::Arc;

use glam::{Affine3A, Quat, Vec2, Vec3, Vec4};
use proptest::prelude::*;
use rand::seq::IndexedRandom;

use super::tracer::Instructions;
use super::{BruteForce, NodeKind, Preset, Tracer, Tree, World};
use crate::geometry::sampling::{cosine_hemisphere, uniform_sphere};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{CounterRng, Hit, Ray, RayQuery, SurfaceId, Transmittance, Triangle};
use crate::parts::finish;
use crate::scene::{
    AlphaMode, Material, MaterialId, MeshData, MeshId, Role, Scene, Surface, SurfaceKey, Texels, Texture, TextureId,
    TextureRef, Wrap,
};

const PRESETS: [Preset; 3] = [Preset::fast(), Preset::best(), Preset { exact_below: 16, ..Preset::best() }];

fn surface(mesh: u32, material: u32) -> Surface {
    Surface::new(SurfaceKey(format!("{mesh}/{material}")), MeshId(mesh), MaterialId(material))
}

fn mesh_of(triangles: impl IntoIterator<Item = [Vec3; 3]>) -> MeshData {
    let positions: Vec<Vec3> = triangles.into_iter().flatten().collect();
    let triangles = (0..positions.len() as u32 / 3).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
    MeshData { positions, triangles, ..MeshData::default() }
}

pub(super) fn scene_of(mesh: MeshData) -> Scene {
    Scene {
        meshes: vec![Arc::new(mesh)],
        surfaces: vec![surface(0, 0)],
        materials: vec![Material::default()],
        ..Scene::default()
    }
}

/// Returns a point in a two-meter cube around the origin. On a coarse grid many points share planes.
fn point(seed: u32, index: u32, grid: Option<f32>) -> Vec3 {
    let [x, y, z, _] = OwenSobol::new(seed).point(index);
    let point = Vec3::new(x, y, z) * 2.0 - 1.0;
    grid.map_or(point, |cells| (point * cells).round() / cells)
}

pub(super) fn soup(seed: u32, count: u32, size: f32, grid: Option<f32>, offset: Vec3) -> MeshData {
    mesh_of(
        (0..count).map(|k| {
            [0, 1, 2].map(|corner| point(seed, k, grid) + point(seed + 1, 3 * k + corner, grid) * size + offset)
        }),
    )
}

/// Returns rays of all kinds known to make trees lose hits.
pub(super) fn awkward_rays(tree: &Tree, count: u32, offset: Vec3) -> Vec<Ray> {
    let planes: Vec<(usize, f32)> = tree
        .nodes()
        .iter()
        .filter_map(|node| match node.kind() {
            NodeKind::Split { axis, position, .. } => Some((axis, position)),
            NodeKind::Leaf { .. } => None,
        })
        .collect();
    (0..count)
        .map(|index| {
            let mut ray = Ray::new(
                point(7, index, None) * 1.5 + offset,
                uniform_sphere(Vec2::from_slice(&OwenSobol::new(8).point(index))),
            );
            let axis = index as usize % 3;
            let mut rng = CounterRng::new(index);
            let (plane, triangle) = (planes.choose(&mut rng), tree.triangles().choose(&mut rng));
            match index % 8 {
                1 => ray.direction = Vec3::AXES[axis] * if index % 16 < 8 { 1.0 } else { -1.0 },
                2 => ray.direction[axis] = if index % 16 < 8 { 0.0 } else { -0.0 },
                3 => {
                    // Within a split plane.
                    if let Some(&(axis, position)) = plane {
                        (ray.origin[axis], ray.direction[axis]) = (position, if index % 16 < 8 { 0.0 } else { -0.0 });
                    }
                }
                4 => {
                    // Starts on a split plane.
                    if let Some(&(axis, position)) = plane {
                        ray.origin[axis] = position;
                    }
                }
                5 => {
                    // Within a triangle's plane, along its edge.
                    if let Some(&Triangle { corners: [a, b, _] }) = triangle {
                        (ray.origin, ray.direction) = (a - (b - a), b - a);
                    }
                }
                6 => {
                    // Aimed at a corner.
                    if let Some(triangle) = triangle {
                        ray.direction = triangle.corners[axis] - ray.origin;
                    }
                }
                7 => (ray.t_min, ray.t_max) = (0.1, 0.6),
                _ => {}
            }
            ray
        })
        .filter(Ray::is_valid)
        .collect()
}

fn assert_same_answers(scene: Scene, preset: Preset, rays: u32, offset: Vec3) {
    let scene = Arc::new(scene);
    let mut world = World::build(scene.clone(), preset);
    let naive = BruteForce::new(&scene);
    world.tree().validate().unwrap();
    for (index, ray) in awkward_rays(world.tree(), rays, offset).into_iter().enumerate() {
        let (expected, blocked) = (naive.closest(&ray), naive.blocked(&ray));
        for instructions in [Instructions::of_this_machine(), Instructions::Portable] {
            world.tracer.instructions = instructions;
            assert_eq!(world.closest(&ray), expected, "ray {index}: {ray:?}");
            assert_eq!(world.blocked(&ray), blocked, "ray {index}: {ray:?}");
        }
    }
}

#[test]
fn a_tree_that_is_built_with_pauses_is_the_same() {
    let scene = scene_of(soup(31, 20_000, 0.1, None, Vec3::ZERO));
    let (triangles, _) = super::world::static_triangles(&scene);
    for preset in PRESETS {
        let (at_once, boxes) = Tree::build_with_boxes(triangles.clone(), &preset, 8);
        let (in_parts, other_boxes) = finish(Tree::build_in_parts(triangles.clone(), &preset, 8));
        assert_eq!(in_parts.nodes(), at_once.nodes());
        assert_eq!((in_parts.references(), other_boxes), (at_once.references(), boxes));
    }
}

#[test]
fn the_tree_answers_as_brute_force_does_to_rays_of_every_kind() {
    for (seed, count, size, grid) in
        [(1, 1, 1.0, None), (2, 2, 1.0, None), (3, 90, 0.5, None), (4, 700, 0.15, None), (5, 300, 0.5, Some(8.0))]
    {
        for preset in PRESETS {
            assert_same_answers(scene_of(soup(seed, count, size, grid, Vec3::ZERO)), preset, 1_000, Vec3::ZERO);
        }
    }
}

#[test]
fn a_hundred_kilometers_from_the_origin_no_hit_is_lost() {
    let offset = Vec3::new(1e5, -1e5, 0.7e5);
    assert_same_answers(scene_of(soup(11, 300, 0.5, None, offset)), Preset::best(), 1_000, offset);
}

#[test]
fn mirrored_and_sheared_surfaces_know_their_backs() {
    let mut scene = scene_of(soup(21, 60, 0.6, None, Vec3::ZERO));
    scene.surfaces[0].to_world = Affine3A::from_scale(Vec3::new(-1.0, 1.5, 0.5));
    assert_same_answers(scene, Preset::best(), 500, Vec3::ZERO);
}

#[test]
fn broken_and_extreme_triangles_do_no_harm() {
    let good = soup(31, 40, 0.5, None, Vec3::ZERO);
    let mut corners: Vec<[Vec3; 3]> = good.positions.chunks(3).map(|c| [c[0], c[1], c[2]]).collect();
    let [a, b, c] = corners[0];
    corners.extend([[a, b, c]; 20]);
    corners.extend([[a, a, a], [a, b, a], [a, b, a + (b - a) * 2.0]]);
    corners.extend([[a, b, Vec3::NAN], [Vec3::INFINITY, b, c], [a, Vec3::NEG_INFINITY, Vec3::NAN]]);
    corners.extend([[a * 1e6, b * 1e6, c * 1e6], [a * 1e-6, b * 1e-6, c * 1e-6]]);
    corners.extend((0..30).map(|k| [a, b, c].map(|p| Vec3::new(p.x + k as f32 * 0.01, p.y, 0.25))));
    for preset in PRESETS {
        assert_same_answers(scene_of(mesh_of(corners.clone())), preset, 500, Vec3::ZERO);
    }
    // The bounding box of such a huge triangle has infinite surface area, which must not stop the build.
    corners.push([a * 1e30, b * 1e30, c * 1e30]);
    World::build(Arc::new(scene_of(mesh_of(corners))), Preset::best()).tree().validate().unwrap();
}

#[test]
fn an_empty_scene_stops_no_ray() {
    let world = World::build(Arc::new(Scene::default()), Preset::best()).with_movers();
    let ray = Ray::new(Vec3::ZERO, Vec3::X);
    assert_eq!(world.closest(&ray), None);
    assert_eq!(world.blocked(&ray), Transmittance::CLEAR);
    assert_eq!(world.tree().validate(), Ok(()));
}

/// Returns a closed ball whose surface is displaced by up to a tenth.
fn bumpy_ball(segments: u32, center: Vec3) -> MeshData {
    let vertex = |ring: u32, column: u32| {
        let (polar, azimuth) = (ring as f32 / segments as f32, (column % segments) as f32 / segments as f32);
        let (sine, cosine) = (polar * core::f32::consts::PI).sin_cos();
        let (y, x) = (azimuth * core::f32::consts::TAU).sin_cos();
        let pole = ring == 0 || ring == segments;
        let bump = if pole { 1.0 } else { 0.9 + 0.1 * (hash2(ring, column % segments) as f32 / u32::MAX as f32) };
        let direction = if pole { Vec3::Z * cosine.signum() } else { Vec3::new(x * sine, y * sine, cosine) };
        center + direction * bump
    };
    mesh_of((0..segments).flat_map(|ring| {
        (0..segments).flat_map(move |column| {
            let [a, b] = [vertex(ring, column), vertex(ring, column + 1)];
            let [c, d] = [vertex(ring + 1, column + 1), vertex(ring + 1, column)];
            [[a, d, c], [a, c, b]]
        })
    }))
}

#[test]
fn no_ray_leaves_a_closed_ball() {
    for center in [Vec3::ZERO, Vec3::new(1_000.0, -200.0, 3_000.0)] {
        let mesh = bumpy_ball(24, center);
        let corners = mesh.positions.clone();
        let world = World::build(Arc::new(scene_of(mesh)), Preset::best());
        for index in 0..20_000 {
            let origin = center + point(41, index, None) * 0.4;
            let direction = match index % 3 {
                0 => corners[index as usize % corners.len()] - origin,
                1 => {
                    corners[index as usize % corners.len()].lerp(corners[(index as usize + 1) % corners.len()], 0.3)
                        - origin
                }
                _ => uniform_sphere(Vec2::from_slice(&OwenSobol::new(42).point(index))),
            };
            let ray = Ray::new(origin, direction);
            assert!(world.closest(&ray).is_some() && world.blocked(&ray).is_blocked(), "ray {index}");
        }
    }
}

#[test]
fn rays_meet_on_their_way_back_what_they_came_from_and_segments_are_open_either_way() {
    let world = World::build(Arc::new(scene_of(soup(51, 600, 0.15, None, Vec3::ZERO))), Preset::best());
    /// Distance from a surface at which the next one is looked for.
    const NEXT: f32 = 1e-5;
    let (mut round_trips, mut open) = (0, 0);
    for index in 0..20_000 {
        let [from, to] = [point(52, index, None), point(53, index, None)];
        // Surfaces at either end do not count.
        let segment = |from, to| Ray { t_min: 1e-4, ..Ray::between(from, to) };
        let way = [segment(from, to), segment(to, from)].map(|ray| world.blocked(&ray));
        assert_eq!(way[0], way[1], "segment {index}");
        open += u32::from(!way[0].is_blocked());
        // The first two surfaces on a line see each other.
        let ray = Ray::new(from, (to - from).normalize());
        let Some(first) = world.closest(&ray) else { continue };
        let Some(second) = world.closest(&Ray { t_min: first.t + NEXT, ..ray }) else { continue };
        let back = Ray { t_min: NEXT, ..Ray::new(ray.at(second.t), -ray.direction) };
        let met = world.closest(&back).expect("the surface that the ray came from");
        let is_near = (met.t - (second.t - first.t)).abs() < 1e-4;
        assert!(is_near && met.triangle == first.triangle && met.back != first.back, "ray {index}: {first:?} {met:?}");
        round_trips += 1;
    }
    assert!(round_trips > 5_000 && (2_000..18_000).contains(&open), "{round_trips} {open}");
}

#[test]
fn a_half_hidden_lamp_lights_as_much_by_its_area_as_by_directions() {
    // A lamp of two by two meters, two meters above the floor, and a screen below a part of it.
    let square = |min: Vec2, max: Vec2, height: f32| {
        let corner = |x: f32, z: f32| Vec3::new(x, height, z);
        let corners = [corner(min.x, min.y), corner(max.x, min.y), corner(max.x, max.y), corner(min.x, max.y)];
        [[corners[0], corners[1], corners[2]], [corners[0], corners[2], corners[3]]]
    };
    let lamp = square(Vec2::NEG_ONE, Vec2::ONE, 2.0);
    let screen = square(Vec2::new(-0.2, -2.0), Vec2::new(1.0, 0.4), 1.0);
    let world = World::build(Arc::new(scene_of(mesh_of(lamp.into_iter().chain(screen)))), Preset::best());
    const SAMPLES: u32 = 1 << 16;
    let points = OwenSobol::new(61);
    for place in [Vec3::ZERO, Vec3::new(-0.5, 0.0, 0.3)] {
        let mut sums = [0.0; 2];
        for index in 0..SAMPLES {
            let [u, v, ..] = points.point(index);
            let on_lamp = Vec3::new(2.0 * u - 1.0, 2.0, 2.0 * v - 1.0);
            let toward = on_lamp - place;
            // Both surfaces are horizontal: cos cos / distance^2 = height^2 / distance^4.
            if !world.blocked(&Ray::between(place, on_lamp)).is_blocked() {
                sums[0] += f64::from(4.0 * toward.y * toward.y / toward.length_squared().powi(2));
            }
            let hit = world.closest(&Ray::new(place, cosine_hemisphere(Vec3::Y, Vec2::new(u, v))));
            sums[1] += hit.filter(|hit| hit.triangle < 2).map_or(0.0, |_| core::f64::consts::PI);
        }
        let [by_area, by_directions] = sums.map(|sum| sum / f64::from(SAMPLES));
        assert!(by_area > 0.2 && (by_area / by_directions - 1.0).abs() < 3e-3, "{by_area} {by_directions}");
    }
}

#[test]
fn one_thread_and_many_build_the_same_bytes() {
    let scene = scene_of(soup(51, 30_000, 0.03, None, Vec3::ZERO));
    let triangles: Vec<Triangle> = (0..30_000).map(|index| scene.triangle(SurfaceId(0), index)).collect();
    for preset in [Preset::fast(), Preset { exact_below: 9_000, ..Preset::best() }] {
        let build = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Tree::build(triangles.clone(), &preset))
        };
        let (one, many) = (build(1), build(4));
        one.validate().unwrap();
        assert!(one.nodes() == many.nodes() && one.references() == many.references());
    }
}

#[test]
fn statistics_of_two_separate_triangles_are_those_of_two_leaves() {
    let triangle = |x: f32| [Vec3::new(x, 0.0, 0.0), Vec3::new(x + 1.0, 0.0, 0.0), Vec3::new(x, 1.0, 1.0)];
    let scene = scene_of(mesh_of([triangle(0.0), triangle(9.0)]));
    let triangles = vec![scene.triangle(SurfaceId(0), 0), scene.triangle(SurfaceId(0), 1)];
    // Leaves of one, and no bonus for empty space: a plane at 1 or at 9 is best, and the gap stays in one leaf.
    let preset = Preset { leaf_width: 1, intersection_cost: 4.0, empty_bonus: 1.0, ..Preset::best() };
    let statistics = Tree::build(triangles, &preset).statistics();
    assert_eq!((statistics.triangles, statistics.depth <= 2), (2, true));
    assert_eq!(statistics.references_per_triangle, 1.0);
    assert_eq!(statistics.nodes, 2 * statistics.leaves - 1);
    assert_eq!(statistics.leaves - statistics.empty_leaves, 2);
}

#[test]
fn wide_leaves_make_a_mesh_of_fewer_nodes() {
    let scene = scene_of(bumpy_ball(32, Vec3::ZERO));
    let triangles: Vec<Triangle> = (0..2_048).map(|index| scene.triangle(SurfaceId(0), index)).collect();
    let triangles: Vec<Triangle> = triangles.into_iter().filter(|triangle| triangle.normal() != Vec3::ZERO).collect();
    let nodes = |leaf_width| Tree::build(triangles.clone(), &Preset { leaf_width, ..Preset::best() }).nodes().len();
    assert!(nodes(8) * 2 < nodes(1));
}

#[test]
fn long_thin_triangles_side_by_side_have_few_references() {
    let sliver = |k: u32| {
        let at = k as f32 * 1e-4;
        [Vec3::new(at, 0.0, 0.0), Vec3::new(at + 1.0, 1.0, 0.0), Vec3::new(at + 1.00005, 1.0, 0.0)]
    };
    let slivers = mesh_of((0..6_000).map(sliver));
    let world = World::build(Arc::new(scene_of(slivers.clone())), Preset::best());
    let found = world.statistics().references_per_triangle;
    assert!((1.5..=8.0).contains(&found), "{found}");
    assert_same_answers(scene_of(slivers), Preset::best(), 100, Vec3::ZERO);
}

#[test]
fn movers_are_met_where_they_stand() {
    let mut scene = scene_of(soup(71, 80, 0.5, None, Vec3::ZERO));
    let places = [
        Affine3A::from_rotation_translation(Quat::from_rotation_y(0.7), Vec3::new(2.0, 0.3, -0.4)),
        Affine3A::from_scale_rotation_translation(
            Vec3::new(-0.5, 1.5, 0.8),
            Quat::from_rotation_x(1.9),
            Vec3::new(-2.0, 1.0, 0.0),
        ),
        Affine3A::from_translation(Vec3::new(0.0, -2.5, 1.0)),
    ];
    scene.surfaces.extend(places.map(|to_world| Surface { to_world, ..surface(0, 0) }));
    let flat = Arc::new(scene.clone());
    for mover in &mut scene.surfaces[1..] {
        mover.role = Role::Mover;
    }
    let naive = BruteForce::new(&flat);
    let world = World::build(Arc::new(scene), Preset::best()).with_movers();
    let mut hits = 0;
    for index in 0..3_000 {
        let direction = uniform_sphere(Vec2::from_slice(&OwenSobol::new(72).point(index)));
        let ray = Ray::new(point(73, index, None) * 3.0, direction);
        let (found, expected) = (world.closest(&ray), naive.closest(&ray));
        let same = |a: Hit, b: Hit| {
            (a.surface, a.triangle, a.back) == (b.surface, b.triangle, b.back) && (a.t - b.t).abs() < 1e-4 * (1.0 + b.t)
        };
        assert!(found.zip(expected).map_or(found == expected, |(a, b)| same(a, b)), "{found:?} {expected:?}");
        assert_eq!(world.blocked(&ray).is_blocked(), expected.is_some());
        hits += u32::from(expected.is_some());
    }
    assert!(hits > 500);
}

#[test]
fn a_mover_is_gone_from_where_it_was() {
    let mut scene = scene_of(mesh_of([[Vec3::ZERO, Vec3::X, Vec3::Y]]));
    scene.surfaces[0].role = Role::Mover;
    let mut world = World::build(Arc::new(scene), Preset::best()).with_movers();
    let ray = |x: f32| Ray::new(Vec3::new(x + 0.2, 0.2, 1.0), Vec3::NEG_Z);
    assert!(world.closest(&ray(0.0)).is_some() && world.closest(&ray(5.0)).is_none());
    world.set_movers([(SurfaceId(0), Affine3A::from_translation(Vec3::X * 5.0))]);
    assert!(world.closest(&ray(0.0)).is_none() && world.closest(&ray(5.0)).is_some());
    world.set_movers([(SurfaceId(0), Affine3A::from_scale(Vec3::new(1.0, 1.0, 0.0)))]);
    assert!(world.closest(&ray(0.0)).is_none());
}

/// Returns three sheets in a row, facing +Z: blended, half cut out, opaque.
fn sheets() -> Scene {
    let sheet = |z: f32| {
        let positions = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, y)| Vec3::new(x, y, z)).to_vec();
        let uv0 = positions.iter().map(|p| p.truncate() * 0.5 + 0.5).collect();
        MeshData { positions, uv0, triangles: vec![[0, 1, 2], [0, 2, 3]], ..MeshData::default() }
    };
    let halves = Texture {
        name: "left half cut out".into(),
        width: 2,
        height: 1,
        texels: Texels::Linear8(vec![[255, 255, 255, 0], [255; 4]]),
        wrap: [Wrap::Clamp; 2],
        mip_chains: Default::default(),
    };
    let texture = TextureRef::new(TextureId(0));
    Scene {
        meshes: [2.0, 1.0, 0.0].map(|z| Arc::new(sheet(z))).to_vec(),
        surfaces: (0..3).map(|k| surface(k, k)).collect(),
        materials: vec![
            Material {
                base_color: Vec4::new(0.8, 0.4, 0.0, 0.5),
                alpha: AlphaMode::Blend,
                tints: true,
                ..Material::default()
            },
            Material { base_color_texture: Some(texture), alpha: AlphaMode::Mask(0.5), ..Material::default() },
            Material::default(),
        ],
        textures: vec![Arc::new(halves)],
        ..Scene::default()
    }
}

#[test]
fn rays_pass_cut_out_texels_and_blended_sheets() {
    let world = World::build(Arc::new(sheets()), Preset::best());
    let shadow =
        |x: f32, to: f32| world.blocked(&Ray { t_max: 3.0 - to, ..Ray::new(Vec3::new(x, 0.3, 3.0), Vec3::NEG_Z) }).0;
    // The first sheet passes half of the light times the base color; the second's hole passes all of it.
    assert_eq!(shadow(-0.6, 1.5), Vec3::new(0.4, 0.2, 0.0));
    assert_eq!(shadow(-0.6, 0.5), Vec3::new(0.4, 0.2, 0.0));
    assert_eq!(shadow(0.6, 0.5), Vec3::ZERO);
    assert_eq!(shadow(-0.6, -0.5), Vec3::ZERO);
}

#[test]
fn blended_sheets_are_passed_as_often_as_they_are_clear() {
    let world = World::build(Arc::new(sheets()), Preset::best());
    let mut passed = 0;
    for index in 0..4_000 {
        let [x, y, ..] = OwenSobol::new(81).point(index);
        let hit = world.closest(&Ray::new(Vec3::new(-0.9 + 0.3 * x, y, 3.0), Vec3::NEG_Z)).unwrap();
        match hit.surface.0 {
            0 => assert_eq!(hit.filter, Vec3::ONE),
            // Rays that pass the blended sheet pass the hole too, tinted.
            2 => {
                passed += 1;
                assert_eq!(hit.filter, Vec3::new(0.8, 0.4, 0.0));
            }
            _ => panic!("the cut-out half stopped a ray"),
        }
    }
    assert!((passed as f32 / 4_000.0 - 0.5).abs() < 0.03, "{passed}");
}

/// Returns a disc of triangles that share a corner at its center, in the plane z = 0. The pane's transmittance is 0.8.
fn pane_around_a_hub(rim: u32) -> Scene {
    let spoke = |k: u32| {
        let angle = k as f32 / rim as f32 * core::f32::consts::TAU;
        Vec3::new(angle.cos(), angle.sin(), 0.0)
    };
    let mesh = MeshData {
        positions: core::iter::once(Vec3::ZERO).chain((0..rim).map(spoke)).collect(),
        triangles: (0..rim).map(|k| [0, 1 + k, 1 + (k + 1) % rim]).collect(),
        ..MeshData::default()
    };
    let pane = Material { transmission: 1.0, base_color: Vec4::new(0.8, 0.8, 0.8, 1.0), ..Material::default() };
    Scene { materials: vec![pane], ..scene_of(mesh) }
}

#[test]
fn a_pane_dims_rays_once_at_its_seams_and_hubs_whichever_way_they_go() {
    for rim in [3, 4, 24] {
        let scene = Arc::new(pane_around_a_hub(rim));
        let mut moved = Scene::clone(&scene);
        moved.surfaces[0].role = Role::Mover;
        moved.surfaces[0].to_world = Affine3A::from_scale(Vec3::new(2.0, 0.5, -1.0));
        let moved = World::build(Arc::new(moved), Preset::best()).with_movers();
        let (world, naive) = (World::build(scene.clone(), Preset::best()), BruteForce::new(&scene));
        for k in 0..40 {
            // Samples the hub, points on spokes, and points on neither.
            let spoke = scene.meshes[0].positions[1 + k % rim as usize];
            let target =
                spoke * (k / 8) as f32 / 8.0 + if k % 8 == 7 { Vec3::new(0.01, 0.02, 0.0) } else { Vec3::ZERO };
            let slant = Vec3::new(0.25 * (k % 3) as f32, 0.125 * (k % 5) as f32, if k % 2 == 0 { -1.0 } else { 1.0 });
            let ray = Ray { t_max: 4.0, ..Ray::new(target - slant * 2.0, slant) };
            for query in [&world as &dyn RayQuery, &naive, &moved] {
                let is_moved = core::ptr::addr_eq(query, &moved);
                if is_moved && k >= 8 {
                    continue;
                }
                let found = query.blocked(&ray).0;
                assert!((found - 0.8).abs().max_element() < 1e-6, "{rim} triangles, ray {k}, {is_moved}: {found}");
                assert_eq!(query.trace(&ray).unwrap_err().filter, found, "{rim} triangles, ray {k}, {is_moved}");
            }
        }
    }
}

#[test]
fn see_through_soups_answer_as_brute_force_does() {
    let mut scene = sheets();
    scene.meshes = [91, 93, 95].map(|seed| Arc::new(soup(seed, 120, 0.5, None, Vec3::ZERO))).to_vec();
    scene.materials[1].base_color.w = 0.2;
    scene.materials[2] =
        Material { alpha: AlphaMode::Blend, base_color: Vec4::new(1.0, 0.5, 0.9, 0.1), ..Material::default() };
    scene.surfaces[2].to_world = Affine3A::from_rotation_z(0.5);
    scene.surfaces[1].to_world = Affine3A::from_rotation_x(0.5);
    assert_same_answers(scene, Preset::best(), 1_000, Vec3::ZERO);
}

#[test]
fn triangles_are_counted_in_the_order_of_the_scene() {
    let mut scene = scene_of(soup(95, 10, 0.5, None, Vec3::ZERO));
    scene.surfaces.push(Surface { to_world: Affine3A::from_translation(Vec3::X * 9.0), ..surface(0, 0) });
    let target = scene.triangle(SurfaceId(1), 3);
    let world = World::build(Arc::new(scene), Preset::best());
    let hit = Hit {
        surface: SurfaceId(1),
        triangle: 3,
        ..world.closest(&Ray::new(target.at(Vec2::splat(0.3)) + target.normal(), -target.normal())).unwrap()
    };
    assert_eq!(world.triangle_in_scene(&hit), 13);
}

fn any_float() -> impl Strategy<Value = f32> {
    prop_oneof![-1.0f32..1.0, (-8i32..8).prop_map(|k| k as f32 / 8.0), prop::num::f32::ANY]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_numbers_make_it_panic(numbers in prop::collection::vec(any_float(), 0..200), origin in [-2.0f32..2.0, -2.0..2.0, -2.0..2.0]) {
        let triangles = numbers.chunks_exact(9).map(|c| [0, 3, 6].map(|k| Vec3::from_slice(&c[k..])));
        let scene = Arc::new(scene_of(mesh_of(triangles)));
        for preset in PRESETS {
            let world = World::build(scene.clone(), preset);
            prop_assert_eq!(world.tree().validate(), Ok(()));
            let _ = world.closest(&Ray::new(Vec3::from_array(origin), Vec3::new(0.3, -0.0, 1.0)));
        }
    }
}

#[test]
fn leaves_of_a_tracer_have_room_for_eight_whatever_the_preset() {
    let scene = scene_of(soup(97, 200, 0.2, None, Vec3::ZERO));
    let triangles: Vec<Triangle> = (0..200).map(|index| scene.triangle(SurfaceId(0), index)).collect();
    let tracer = Tracer::build(triangles, &Preset::narrow(), |_| false);
    let ray = Ray::new(Vec3::splat(-3.0), Vec3::ONE);
    let world = World::build(Arc::new(scene), Preset::best());
    assert_eq!(
        tracer.closest(&ray, |hit, _| Some(hit.place.t)).map(|hit| hit.triangle),
        world.closest(&ray).map(|hit| hit.triangle)
    );
}
