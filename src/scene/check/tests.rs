use std::sync::Arc;

use glam::{Quat, Vec2, Vec4};

use super::*;
use crate::builtin_scenes;
use crate::scene::{EnvironmentMap, Light, LightKind, Material, MaterialId, MeshId, Sky, SurfaceKey, hash, shapes};

/// Builds a scene of one mesh.
fn scene_of(mesh: MeshData) -> Scene {
    Scene {
        meshes: vec![Arc::new(mesh)],
        surfaces: vec![Surface::new(SurfaceKey("table".into()), MeshId(0), MaterialId(0))],
        materials: vec![Material::diffuse("wood", Vec3::splat(0.5))],
        ..Scene::default()
    }
}

/// Repairs a scene in its place.
fn repaired(scene: &mut Scene) -> Vec<Problem> {
    let (checked, problems) = repair(core::mem::take(scene));
    *scene = Scene::clone(checked.shared());
    problems
}

fn sentences(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn built_in_scenes_are_sound_and_stay_as_they_are() {
    for (name, _) in builtin_scenes::names() {
        let scene = builtin_scenes::build(name).unwrap();
        let (checked, problems) = repair(scene.clone());
        assert_eq!(hash(&checked), hash(&scene), "{name}");
        let are_sound = problems.iter().all(|problem| matches!(problem, Problem::MissingLightmapUv { .. }));
        assert!(are_sound, "{name}: {problems:?}");
        assert_eq!(darkness(&checked), None, "{name}");
        let are_shared = checked.meshes.iter().zip(&scene.meshes).all(|(checked, own)| Arc::ptr_eq(checked, own));
        assert!(are_shared, "{name}: sound meshes are not copied");
    }
}

#[test]
fn skies_without_usable_numbers_are_dark_and_rotations_get_unit_length() {
    let with_sky = |sky: Sky| Scene { sky, ..scene_of(shapes::floor("floor", 1.0)) };
    for strength in [f32::NAN, f32::INFINITY, -1.0, 2e11] {
        for sky in [Sky::Uniform(Vec3::splat(strength)), Sky::Map(EnvironmentMap::white(strength, Quat::IDENTITY))] {
            let (scene, problems) = repair(with_sky(sky));
            assert_eq!(scene.sky, Sky::Dark, "{strength}");
            assert!(sentences(&problems).starts_with("the sky is dark: its strength is"), "{problems:?}");
            let (scene, problems) = repair(with_sky(Sky::Dark)).0.with_lights(|_, sky| *sky = Sky::Uniform(Vec3::NAN));
            assert_eq!((&scene.sky, problems.len()), (&Sky::Dark, 1));
        }
    }
    let after_repair = |turn: Quat| {
        let (scene, problems) = repair(with_sky(Sky::Map(EnvironmentMap::white(1.0, turn))));
        (scene.sky.clone(), problems.iter().any(|problem| matches!(problem, Problem::UnusableSky { .. })))
    };
    let turned = after_repair(Quat::from_xyzw(0.0, 3.0, 0.0, 4.0));
    assert_eq!(turned, (Sky::Map(EnvironmentMap::white(1.0, Quat::from_xyzw(0.0, 0.6, 0.0, 0.8))), false));
    for turn in [Quat::from_xyzw(0.0, 0.0, 0.0, 0.0), Quat::from_xyzw(0.0, f32::NAN, 0.0, 1.0)] {
        assert_eq!(after_repair(turn), (Sky::Dark, true));
    }
}

#[test]
fn triangles_with_unusable_vertices_go_and_the_others_stay() {
    let mut mesh = shapes::cuboid("crate", Vec3::ZERO, Vec3::ONE);
    mesh.positions[0] = Vec3::new(f32::NAN, 0.0, 0.0);
    mesh.positions[4] = Vec3::new(1e30, 0.0, 0.0);
    mesh.triangles[11] = [0, 1, 999];
    let mut scene = scene_of(mesh);
    let problems = repaired(&mut scene);
    // The first corner of a quad belongs to both triangles.
    assert!(problems.contains(&Problem::NonFiniteVertices { mesh: "crate".into(), count: 4 }), "{problems:?}");
    assert!(problems.contains(&Problem::IndexOutOfRange { mesh: "crate".into(), count: 1 }), "{problems:?}");
    assert_eq!(scene.meshes[0].triangles.len(), 12 - 4 - 1);
    assert!(scene.meshes[0].positions.iter().all(|position| position.is_finite()));
}

#[test]
fn triangles_without_area_are_counted_and_kept() {
    let mut mesh = shapes::floor("floor", 1.0);
    mesh.triangles.push([0, 0, 2]);
    let mut scene = scene_of(mesh);
    let problems = repaired(&mut scene);
    assert!(problems.contains(&Problem::DegenerateTriangles { mesh: "floor".into(), count: 1 }));
    assert_eq!(scene.meshes[0].triangles.len(), 3);
}

#[test]
fn normals_without_direction_become_those_of_their_faces() {
    let mut mesh = shapes::floor("floor", 1.0);
    mesh.normals = vec![Vec3::ZERO, Vec3::NAN, Vec3::X * 7.0, Vec3::Y];
    let mut scene = scene_of(mesh);
    let problems = repaired(&mut scene);
    assert!(problems.contains(&Problem::UnusableNormals { mesh: "floor".into(), count: 2 }));
    assert_eq!(scene.meshes[0].normals, [Vec3::Y, Vec3::Y, Vec3::X, Vec3::Y]);
}

#[test]
fn attributes_of_the_wrong_length_are_dropped_by_name() {
    let mut mesh = shapes::floor("floor", 1.0);
    mesh.uv0.pop();
    let mut scene = scene_of(mesh);
    assert!(sentences(&repaired(&mut scene)).contains("UV_0 of mesh 'floor' is ignored"));
    assert!(scene.meshes[0].uv0.is_empty());
    let mut mesh = shapes::floor("floor", 1.0);
    (mesh.colors, mesh.other_uv) = (vec![Vec4::ONE; 3], vec![Vec::new(), vec![Vec2::ZERO; 3]]);
    let mut scene = scene_of(mesh);
    let text = sentences(&repaired(&mut scene));
    assert!(
        text.contains("vertex colors of mesh 'floor' is ignored") && text.contains("UV_3 of mesh 'floor'"),
        "{text}"
    );
    assert!(scene.meshes[0].colors.is_empty() && scene.meshes[0].other_uv[1].is_empty());
}

#[test]
fn vertex_colors_that_are_no_colors_are_counted_and_replaced() {
    let mut mesh = shapes::floor("floor", 1.0);
    mesh.colors = vec![Vec4::new(-1.0, 0.5, 2.0, 1.0), Vec4::new(f32::NAN, 0.0, 0.0, 1.0), Vec4::ONE, Vec4::ZERO];
    let mut scene = scene_of(mesh);
    let problems = repaired(&mut scene);
    assert!(problems.contains(&Problem::UnusableColors { mesh: "floor".into(), count: 2 }));
    let [first, second, ..] = scene.meshes[0].colors[..] else { panic!("colors are lost") };
    assert_eq!((first, second), (Vec4::new(0.0, 0.5, 2.0, 1.0), Vec4::new(1.0, 0.0, 0.0, 1.0)));
}

#[test]
fn a_reflectance_above_one_is_clamped_and_said() {
    let mut scene = scene_of(shapes::floor("floor", 1.0));
    scene.materials[0].base_color = Vec4::new(0.5, 1.5, 0.2, 2.0);
    let problems = repaired(&mut scene);
    assert!(problems.contains(&Problem::ReflectanceAboveOne { material: "wood".into(), reflectance: 1.5 }));
    assert_eq!(scene.materials[0].base_color, Vec4::new(0.5, 1.0, 0.2, 1.0));
}

#[test]
fn material_numbers_that_are_none_are_replaced() {
    let mut scene = scene_of(shapes::floor("floor", 1.0));
    let material = &mut scene.materials[0];
    material.base_color = Vec4::new(f32::NAN, -1.0, 0.25, 1.0);
    material.emission = Vec3::new(f32::INFINITY, 1.0, 1.0);
    material.metallic = f32::NAN;
    assert_eq!(repaired(&mut scene).iter().filter(|p| matches!(p, Problem::UnusableMaterial { .. })).count(), 3);
    assert_eq!(scene.materials[0].base_color, Vec4::new(1.0, 0.0, 0.25, 1.0));
    assert!(!scene.materials[0].is_emissive() && scene.materials[0].metallic == 0.0);
}

#[test]
fn surfaces_that_stand_nowhere_are_excluded() {
    let mut scene = scene_of(shapes::floor("floor", 1.0));
    scene.surfaces[0].to_world.translation.x = f32::INFINITY;
    assert!(sentences(&repaired(&mut scene)).contains("'table' has a transform that is not finite"));
    assert_eq!(scene.surfaces[0].role, Role::Excluded);

    let mut scene = scene_of(shapes::floor("floor", 1.0));
    scene.surfaces[0].to_world = Affine3A::from_scale(Vec3::new(1.0, 0.0, 0.0));
    assert!(sentences(&repaired(&mut scene)).contains("scale of zero"));
    let mut scene = scene_of(shapes::floor("floor", 1.0));
    scene.surfaces[0].to_world = Affine3A::from_scale(Vec3::new(1.0, 0.0, 1.0));
    repaired(&mut scene);
    assert_eq!(scene.surfaces[0].role, Role::Static, "a wall without thickness is one");
}

#[test]
fn surfaces_of_one_name_are_told_apart() {
    let mut scene = scene_of(shapes::floor("floor", 1.0));
    scene.surfaces = vec![scene.surfaces[0].clone(); 3];
    let problems = repaired(&mut scene);
    let keys: Vec<&str> = scene.surfaces.iter().map(|surface| surface.key.0.as_str()).collect();
    assert_eq!(keys, ["table", "table~2", "table~3"]);
    assert_eq!(problems.iter().filter(|problem| matches!(problem, Problem::AmbiguousKey { more: 1, .. })).count(), 1);
}

#[test]
fn lights_that_cannot_shine_are_dropped_by_name() {
    let mut scene = scene_of(shapes::floor("floor", 1.0));
    let lamp = |intensity| LightKind::Point { position: Vec3::Y, intensity, radius: 0.0, range: f32::INFINITY };
    scene.lights =
        vec![Light { name: "good".into(), kind: lamp(Vec3::ONE) }, Light { name: "bad".into(), kind: lamp(Vec3::NAN) }];
    assert!(sentences(&repaired(&mut scene)).contains("light 'bad' is left out"));
    assert_eq!(scene.lights.len(), 1);
}

#[test]
fn light_stronger_than_any_is_refused_from_lamps_and_weakened_in_materials() {
    let mut scene = scene_of(shapes::floor("floor", 1.0));
    let lamp = |candela| LightKind::Point {
        position: Vec3::Y,
        intensity: Vec3::splat(candela),
        radius: 0.0,
        range: f32::INFINITY,
    };
    scene.lights = [1e11, 1e25].map(|candela| Light { name: format!("{candela:e}"), kind: lamp(candela) }).to_vec();
    scene.materials[0].emission = Vec3::new(1e38, 1.0, 0.0);
    let said = sentences(&repaired(&mut scene));
    assert!(said.contains("light '1e25' is left out") && said.contains("the emission"), "{said}");
    assert_eq!(scene.lights.len(), 1);
    assert_eq!(scene.materials[0].emission, Vec3::new(1e11, 1.0, 0.0));
}

#[test]
fn far_vertices_are_not_called_nan_alone() {
    let mut far = shapes::floor("floor", 1.0);
    far.positions[0].x = 2e9;
    assert!(sentences(&repaired(&mut scene_of(far))).contains("more than 1e9 m from the origin"));
}

#[test]
fn a_scene_is_dark_until_something_shines() {
    let mut scene = scene_of(shapes::floor("floor", 1.0));
    assert_eq!(darkness(&scene), Some(Problem::NoLight));
    scene.sky = Sky::Uniform(Vec3::ONE);
    assert_eq!(darkness(&scene), None);
    scene.sky = Sky::Dark;
    scene.materials[0].emission = Vec3::ONE;
    assert_eq!(darkness(&scene), None);
    scene.surfaces[0].role = Role::Mover;
    assert_eq!(darkness(&scene), Some(Problem::NoLight), "what moves is not baked");
    assert_eq!(darkness_of_picture(&scene), None, "but drawn");
}

#[test]
fn a_scene_in_millimeters_is_asked_about() {
    let mut scene = scene_of(shapes::floor("floor", 20_000.0));
    assert!(sentences(&repaired(&mut scene)).contains("28284"));
    let mut scene = scene_of(shapes::floor("floor", 0.005));
    assert!(sentences(&repaired(&mut scene)).contains("as if its units were"));
    let mut scene = scene_of(shapes::floor("floor", 0.000_1));
    assert!(
        sentences(&repaired(&mut scene)).contains("too small for its light to come out right, as if its units were")
    );
}

#[test]
fn lightmap_coordinates_are_inspected() {
    let unit = vec![Vec2::ZERO, Vec2::X, Vec2::ONE, Vec2::Y];
    let mut quad = shapes::floor("floor", 1.0);
    quad.uv1 = unit.clone();
    assert!(repaired(&mut scene_of(quad.clone())).is_empty());
    quad.uv1[2] = Vec2::new(1.5, 1.0);
    assert_eq!(repaired(&mut scene_of(quad)), [Problem::LightmapUvOutOfRange { mesh: "floor".into() }]);
    let mut folded = shapes::floor("floor", 1.0);
    folded.uv1 = vec![Vec2::ZERO, Vec2::X, Vec2::ONE, Vec2::new(0.9, 0.1)];
    assert_eq!(repaired(&mut scene_of(folded)), [Problem::OverlappingLightmapUv { mesh: "floor".into() }]);
}

#[test]
fn surfaces_that_nodes_enlarge_beyond_a_billion_meters_are_left_out_by_name() {
    let mut scene = scene_of(shapes::cuboid("crate", Vec3::ZERO, Vec3::ONE));
    scene.surfaces[0].to_world = Affine3A::from_scale(Vec3::splat(1e30));
    let problems = repaired(&mut scene);
    assert!(problems.contains(&Problem::TooFar { surface: SurfaceKey("table".into()) }), "{problems:?}");
    assert_eq!(scene.surfaces[0].role, Role::Excluded);
    assert!(scene.triangle(SurfaceId(0), 0).corners.iter().all(|corner| corner.is_finite()));
}

#[test]
fn a_room_far_from_the_origin_is_named_and_one_nearby_is_not() {
    for (place, is_far) in [(1e8, true), (100.0, false)] {
        let mut scene = scene_of(shapes::cuboid("crate", Vec3::ZERO, Vec3::ONE));
        scene.surfaces[0].to_world =
            Affine3A::from_translation(Vec3::X * place) * Affine3A::from_scale(Vec3::splat(64.0));
        let said = sentences(&repaired(&mut scene));
        assert_eq!(said.contains("'table' is") && said.contains("from the origin"), is_far, "{said}");
    }
}
