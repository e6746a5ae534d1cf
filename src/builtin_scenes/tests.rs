use std::sync::Arc;

use glam::{Vec2, Vec3};

use super::two_rooms::{DOOR_HEIGHT, HALF_DOOR, HALF_WALL};
use super::*;
use crate::accel::{Preset, World};
use crate::geometry::sampling::uniform_sphere;
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Ray, RayQuery, SurfaceId};
use crate::scene::Material;

/// Closed scenes after the thesis.
const THESIS: [&str; 7] =
    ["habitacion", "habitacion_grande", "armadillo", "armadillos", "edificio", "salon", "estudio"];

fn area(scene: &Scene, name: &str) -> f32 {
    let of = |id: SurfaceId| {
        let triangles = 0..scene.mesh_of(id).triangles.len() as u32;
        triangles.map(|triangle| scene.triangle(id, triangle).area()).sum::<f32>()
    };
    scene.surface_ids().filter(|id| scene.mesh_of(*id).name.contains(name)).map(of).sum()
}

#[test]
fn every_name_builds_a_scene_and_no_other_does() {
    for (name, _) in names() {
        let scene = build(name).unwrap();
        assert!(scene.materials.iter().any(Material::is_emissive), "{name}");
    }
    assert!(build("teapot").is_none());
}

#[test]
fn closed_rooms_enclose_their_volume_with_fronts_inside() {
    let ball = 4.0 / 3.0 * core::f32::consts::PI;
    let rooms = 2.0 * 3.9 * 4.0 * 3.0;
    let doorway = 2.0 * HALF_WALL * 2.0 * HALF_DOOR * DOOR_HEIGHT;
    for (name, expected, tolerance) in [
        ("furnace", 8.0, 1e-5),
        ("ceil", 8.0, 1e-5),
        ("unit_cube", 1.0, 1e-5),
        ("sphere", ball, 0.02),
        ("doorless_rooms", rooms, 1e-5),
        ("two_rooms", rooms + doorway, 1e-5),
    ] {
        let scene = build(name).unwrap();
        let volume: f32 = scene
            .surface_ids()
            .filter(|id| scene.mesh_of(*id).name != "lamp")
            .flat_map(|id| scene.triangles_of(id))
            .map(|(id, triangle)| {
                let [a, b, c] = scene.triangle(id, triangle).corners;
                -a.dot(b.cross(c)) / 6.0
            })
            .sum();
        assert!((volume / expected - 1.0).abs() < tolerance, "{name}: {volume}, not {expected}");
    }
}

#[test]
fn the_cornell_box_is_the_well_known_one() {
    let scene = build("cornell_box").unwrap();
    assert_eq!(scene.surfaces.len(), 16);
    assert!((area(&scene, "light") - 0.46 * 0.38).abs() < 1e-6);
    assert!((area(&scene, "small_top") - 0.36).abs() < 1e-5);
    assert!((area(&scene, "large_z+") - 0.72).abs() < 1e-5);
    let light = scene.surface_ids().find(|id| scene.mesh_of(*id).name == "light").unwrap();
    assert!((scene.geometric_normal(light, 0) - Vec3::NEG_Y).length() < 1e-6);
}

#[test]
fn scenes_of_the_thesis_have_its_numbers_of_triangles_or_about_those_that_rooms_have() {
    let count = |name: &str| build(name).unwrap().triangle_count();
    assert_eq!(count("habitacion"), 5_306);
    assert_eq!(count("habitacion_grande"), 7_070);
    assert_eq!(count("armadillo"), 3_999);
    // The room and its lamp are counted once, the creature twice.
    let creature = creature::creature().triangles.len();
    assert_eq!(count("armadillos"), 3_999 + creature);
    assert!((10_000..20_000).contains(&count("edificio")), "{}", count("edificio"));
    assert_eq!(count("edificio") % 4, 0);
    for name in ["salon", "estudio"] {
        assert!((8_000..15_000).contains(&count(name)), "{name}: {}", count(name));
    }
}

#[test]
fn from_inside_a_scene_of_the_thesis_one_sees_fronts_wherever_one_stands_and_looks() {
    for name in THESIS {
        let (scene, cameras) = open(name).unwrap();
        let world = World::build(Arc::new(scene), Preset::fast());
        for (camera, seed) in cameras.iter().zip(1..) {
            let random = OwenSobol::new(seed);
            let mut place = camera.position;
            for step in 0..20_000 {
                let [u, v, part, ..] = random.point(step);
                let ray = Ray::new(place, uniform_sphere(Vec2::new(u, v)));
                let hit = world.closest(&ray);
                let hit = hit.unwrap_or_else(|| panic!("{name}: {ray:?} leaves the scene"));
                let what = &world.scene().mesh_of(hit.surface).name;
                assert!(!hit.back, "{name}: {ray:?} sees the back of {what} at {}", ray.at(hit.t));
                // Continue through the air.
                place = ray.at(hit.t * (0.05 + 0.85 * part));
            }
        }
    }
}

#[test]
fn scenes_of_the_thesis_have_plausible_materials_and_no_lights_but_surfaces() {
    for name in THESIS {
        let scene = build(name).unwrap();
        assert!(scene.lights.is_empty() && scene.sky.is_dark(), "{name}");
        for material in &scene.materials {
            let reflectance = material.base_color.truncate();
            let is_lamp = reflectance == Vec3::ZERO && material.emission.min_element() > 0.0;
            let is_diffuse = material.emission == Vec3::ZERO && reflectance.min_element() >= 0.05;
            assert!(is_lamp || is_diffuse && reflectance.max_element() <= 0.85, "{name}: {material:?}");
            assert!(material.metallic == 0.0, "{name}: {}", material.name);
        }
    }
}

/// Returns the center of each lamp of a scene.
fn lamps(scene: &Scene) -> Vec<Vec3> {
    let is_lamp = |id: &SurfaceId| scene.material_of(*id).is_emissive();
    let middle = |id: SurfaceId| scene.surface(id).to_world.transform_point3(middle_of(scene, id));
    scene.surface_ids().filter(is_lamp).map(middle).collect()
}

fn middle_of(scene: &Scene, id: SurfaceId) -> Vec3 {
    let places = &scene.mesh_of(id).positions;
    places.iter().sum::<Vec3>() / places.len() as f32
}

#[test]
fn lamps_are_where_the_thesis_has_them() {
    let all = |name: &str| lamps(&build(name).unwrap());
    assert_eq!(all("habitacion").len(), 2);
    // The mirror image lies at positive x, the corridor beyond 3.5 m.
    assert_eq!(all("habitacion_grande"), all("habitacion"));
    assert!(all("habitacion_grande").iter().all(|lamp| lamp.x < 0.0));
    assert!(all("salon").iter().all(|lamp| lamp.x < 3.5));
    // One in each room, at equal distances.
    assert_eq!(all("edificio").len(), 64);
    for lamps in [all("edificio"), all("estudio")] {
        let nearest = |lamp: &Vec3| {
            lamps.iter().filter(|other| *other != lamp).map(|other| lamp.distance(*other)).fold(f32::MAX, f32::min)
        };
        let first = nearest(&lamps[0]);
        assert!(lamps.iter().all(|lamp| (nearest(lamp) - first).abs() < 1e-4));
    }
}

#[test]
fn one_can_walk_to_every_room_of_a_floor_of_the_building_and_to_no_other_floor() {
    let scene = Arc::new(build("edificio").unwrap());
    let world = World::build(scene.clone(), Preset::fast());
    const STEP: f32 = 0.4;
    let lamps = lamps(&scene);
    // Above the tables and below the lintels.
    let heights: Vec<f32> = (0..4).map(|floor| 3.0 * floor as f32 + 1.8).collect();
    for &height in &heights {
        let at = |x: i32, z: i32| Vec3::new(x as f32, 0.0, z as f32) * STEP + Vec3::Y * height;
        let mut reached = std::collections::HashSet::new();
        let mut next = vec![(5, 5)];
        while let Some((x, z)) = next.pop() {
            if !reached.insert((x, z)) {
                continue;
            }
            let is_free = |(u, v): &(i32, i32)| !world.blocked(&Ray::between(at(x, z), at(*u, *v))).is_blocked();
            next.extend([(x + 1, z), (x - 1, z), (x, z + 1), (x, z - 1)].into_iter().filter(is_free));
        }
        let is_reached = |lamp: &&Vec3| {
            reached.iter().any(|(x, z)| !world.blocked(&Ray::between(at(*x, *z), **lamp - Vec3::Y * 0.1)).is_blocked())
        };
        assert_eq!(lamps.iter().filter(is_reached).count(), 16, "at {height} m");
    }
}
