use std::sync::Arc;

use glam::{UVec2, Vec2, Vec3};

use super::ball_flake::{ROOT, SHRINK};
use super::two_rooms::{DOOR_HEIGHT, HALF_DOOR, HALF_WALL};
use super::*;
use crate::accel::{BruteForce, Preset, World};
use crate::geometry::sampling::{uniform_sphere, uniform_triangle};
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Ray, RayQuery, SurfaceId};
use crate::lights::LightSampler;
use crate::pathtrace::{PathTracer, PixelFilter, RenderSettings, View, render};
use crate::progress::Unmonitored;
use crate::scene::Material;

/// Closed scenes after the thesis.
const THESIS: [&str; 7] =
    ["habitacion", "habitacion_grande", "armadillo", "armadillos", "edificio", "salon", "estudio"];

/// Closed rooms after Romano's thesis.
const ROMANO: [&str; 4] = ["hidden_lamp", "mirror_walls", "mirror_floor", "ball_flake"];

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
        assert!(scene.materials.iter().any(Material::is_emissive) || !scene.sky.is_dark(), "{name}");
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
fn from_inside_a_scene_of_the_theses_one_sees_fronts_wherever_one_stands_and_looks() {
    for name in THESIS.into_iter().chain(ROMANO) {
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

#[test]
fn all_light_of_the_hidden_lamp_meets_its_black_shade_or_the_mirror() {
    let world = World::build(Arc::new(build("hidden_lamp").unwrap()), Preset::fast());
    let scene = world.scene();
    let lamp = scene.surface_ids().find(|id| scene.mesh_of(*id).name == "lamp").unwrap();
    let random = OwenSobol::new(1);
    let mut mirrored = 0;
    const RAYS: u32 = 20_000;
    for ray in 0..RAYS {
        let [u, v, x, y] = random.point(ray);
        let triangle = ray % scene.mesh_of(lamp).triangles.len() as u32;
        let start = scene.triangle(lamp, triangle).at(uniform_triangle(Vec2::new(x, y)));
        let direction = uniform_sphere(Vec2::new(u, v));
        let direction = if direction.y < 0.0 { -direction } else { direction };
        let hit = world.closest(&Ray::new(start + Vec3::Y * 1e-4, direction)).unwrap();
        match scene.mesh_of(hit.surface).name.as_str() {
            "mirror" => mirrored += 1,
            "shade_inside" => {}
            other => panic!("light reaches {other}"),
        }
        assert!(!hit.back);
    }
    // The rim is seen from the middle at an angle of atan(0.15 / 0.6): 3 % of the hemisphere.
    assert!((0.02..0.04).contains(&(mirrored as f32 / RAYS as f32)), "{mirrored}");
}

#[test]
fn of_781_balls_each_touches_the_one_that_carries_it_and_five_that_it_carries_and_no_two_meet() {
    let scene = build("ball_flake").unwrap();
    let balls: Vec<(Vec3, f32)> = scene
        .surfaces
        .iter()
        .filter(|surface| surface.key.0.contains("ball"))
        .map(|surface| (surface.to_world.translation.into(), surface.to_world.matrix3.x_axis.x))
        .collect();
    let mut touching = vec![0; balls.len()];
    for (index, (center, radius)) in balls.iter().enumerate() {
        assert!(center.y >= radius - 1e-6 && center.abs().max_element() + radius < 2.5, "{index} leaves the room");
        for (other, (place, size)) in balls.iter().enumerate().skip(index + 1) {
            let gap = center.distance(*place) - radius - size;
            assert!(gap > -1e-5, "{index} and {other} meet by {gap}");
            if gap < 1e-5 {
                touching[index] += 1;
                touching[other] += 1;
            }
        }
    }
    for (depth, (count, neighbors)) in [(1, 5), (5, 6), (25, 6), (125, 6), (625, 1)].into_iter().enumerate() {
        let radius = ROOT * SHRINK.powi(depth as i32);
        let of_depth = balls.iter().zip(&touching).filter(|((_, size), _)| (size / radius - 1.0).abs() < 1e-4);
        assert_eq!(of_depth.clone().count(), count, "{depth}");
        of_depth.for_each(|(_, touching)| assert_eq!(*touching, neighbors, "{depth}"));
    }
}

#[test]
fn without_a_tree_the_picture_of_780_balls_is_the_same() {
    let scene = Arc::new(build("ball_flake").unwrap().with_solid_glass());
    let (world, brute_force) = (World::build(scene.clone(), Preset::best()), BruteForce::new(&scene));
    let lights = LightSampler::new(&scene);
    let (_, cameras) = open("ball_flake").unwrap();
    let view = View { camera: cameras[0].clone(), size: UVec2::new(12, 8), lens: None, filter: PixelFilter::Box };
    let settings = RenderSettings { samples: 1, ..Default::default() };
    let [with_tree, without] = [&world as &dyn RayQuery, &brute_force]
        .map(|world| render(&PathTracer::new(&scene, world, &lights, Some(2)), &view, &settings, &Unmonitored));
    assert_eq!(with_tree, without);
    assert!(with_tree.mean() > 1.0, "{}", with_tree.mean());
}

#[test]
fn the_car_is_made_of_closed_bodies_and_stands_on_its_wheels() {
    let scene = build("car").unwrap();
    let lowest = |id: SurfaceId| {
        let to_world = scene.surface(id).to_world;
        scene.mesh_of(id).positions.iter().map(|place| to_world.transform_point3(*place).y).fold(f32::MAX, f32::min)
    };
    let mut lowest_of_all = f32::MAX;
    for id in scene.surface_ids().filter(|id| scene.mesh_of(*id).name != "floor") {
        let name = &scene.mesh_of(id).name;
        assert!(scene.mesh_of(id).is_closed(), "{name}");
        assert!(name == "tire" || lowest(id) > 0.05, "{name}: {}", lowest(id));
        lowest_of_all = lowest_of_all.min(lowest(id));
    }
    assert!(lowest_of_all.abs() < 1e-3, "{lowest_of_all}");
    assert!(scene.lights.is_empty() && !scene.sky.is_dark());
}
