//! Tests of saved bakes: the lights that they hold, and their removal.

use bevy::light::IrradianceVolume;
use bevy::prelude::*;
use bevy_radiosity::pathtrace::VolumeSettings;
use bevy_radiosity::plugin::{Baked, BakedLight};
use bevy_radiosity::prelude::*;

use crate::app::*;

/// Returns true if a light lights lightmapped meshes.
fn lights_meshes(app: &App, light: Entity) -> bool {
    let entity = app.world().entity(light);
    let point = entity.get::<PointLight>().map(|light| light.affects_lightmapped_mesh_diffuse);
    point.or_else(|| Some(entity.get::<DirectionalLight>()?.affects_lightmapped_mesh_diffuse)).unwrap()
}

/// Spawns a floor, a lamp with a name, a lamp without one, and a sun without one.
fn spawn_world_of_code(app: &mut App) -> [Entity; 3] {
    let (_, lamp) = spawn_lit_floor(app, 2.0, 100.0);
    let light = PointLight { intensity: 1000.0, ..default() };
    let unnamed = app.world_mut().spawn((light, Transform::from_xyz(0.5, 1.0, 0.0))).id();
    let sun = DirectionalLight { illuminance: 1000.0, ..default() };
    let sun = app.world_mut().spawn((sun, Transform::default().looking_to(Vec3::NEG_Y, Vec3::X))).id();
    [lamp, unnamed, sun]
}

/// Bakes a world in an app of its own. Returns the folder.
pub fn save_bake(spawn: impl Fn(&mut App)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut app = create_world_app();
    spawn(&mut app);
    let mut settings = quick_bake();
    settings.settings.volume = Some(VolumeSettings::default());
    settings.folder = Some(folder.path().to_owned());
    bake(&mut app, settings).unwrap();
    folder
}

#[test]
fn a_saved_bake_of_a_world_made_by_code_silences_its_lights_and_no_others() {
    let folder = save_bake(|app| _ = spawn_world_of_code(app));
    let mut app = create_world_app();
    let lights = spawn_world_of_code(&mut app);
    let lantern = PointLight::default();
    let lantern = app.world_mut().spawn((Name::new("lantern"), lantern, Transform::from_xyz(0.5, 0.5, 0.5))).id();
    spawn_baked_level(&mut app, folder.path());
    tick_app_until_lit(&mut app);
    assert_eq!(lights.map(|light| lights_meshes(&app, light)), [false; 3]);
    assert!(lights_meshes(&app, lantern));
    let changed = app.world().resource::<SceneStatus>().changed;
    assert_eq!((changed.surfaces, changed.lights), (0, 1), "the lantern alone is new");
    assert!(app.world().get::<BakedLight>(lights[0]).is_some() && app.world().get::<BakedLight>(lantern).is_none());
    // The app decides otherwise.
    app.world_mut().entity_mut(lights[0]).remove::<BakedLight>();
    app.world_mut().entity_mut(lantern).insert(BakedLight);
    tick_app(&mut app);
    assert_eq!([lights[0], lantern].map(|light| lights_meshes(&app, light)), [true, false]);
    // A lamp that comes later changes nothing about that.
    app.world_mut().spawn((Name::new("torch"), PointLight::default()));
    tick_app_times(&mut app, 3);
    assert_eq!([lights[0], lantern].map(|light| lights_meshes(&app, light)), [true, false]);
}

#[test]
fn a_light_that_is_spawned_again_is_silenced_again() {
    let folder = save_bake(|app| _ = spawn_world_of_code(app));
    let mut app = create_world_app();
    let lights = spawn_world_of_code(&mut app);
    spawn_baked_level(&mut app, folder.path());
    tick_app_until_lit(&mut app);
    app.world_mut().despawn(lights[0]);
    tick_app_times(&mut app, 2);
    let lamp = (Name::new("lamp"), PointLight::default(), Transform::from_xyz(0.0, 2.0, 0.0));
    let lamp = app.world_mut().spawn(lamp).id();
    tick_app_times(&mut app, 3);
    assert!(!lights_meshes(&app, lamp));
}

#[cfg(feature = "gltf")]
#[test]
fn lights_of_files_that_were_not_baked_go_on_lighting_a_level_without_normals() {
    use bevy::world_serialization::WorldAssetRoot;

    let folder = tempfile::tempdir().unwrap();
    let floor = r#"{"name": "floor", "mesh": 0}"#;
    let lamp = |name: &str, x: f32| {
        format!(
            r#"{{"name": "{name}", "translation": [{x}, 2, 0], "extensions": {{"KHR_lights_punctual": {{"light": 0}}}}}}"#
        )
    };
    let level = file_of_squares("[0, 1]", &format!("[{floor}, {}]", lamp("lamp", 0.0)), 100);
    let car = file_of_squares("[0]", &format!("[{}]", lamp("lamp", 3.0)), 100);
    std::fs::write(folder.path().join("level.gltf"), level).unwrap();
    std::fs::write(folder.path().join("car.gltf"), car).unwrap();
    let baked = folder.path().join("level.baked");
    let scene = bevy_radiosity::scene_files::load(&folder.path().join("level.gltf").to_string_lossy()).unwrap().scene;
    bake_scene(&scene, quick_bake(), &baked);

    let mut app = create_world_app_of(folder.path());
    for file in ["car.gltf", "level.gltf"] {
        let scene = app.world().resource::<AssetServer>().load(GltfAssetLabel::Scene(0).from_asset(file));
        app.world_mut().spawn(WorldAssetRoot(scene));
    }
    spawn_baked_level(&mut app, &baked);
    app.add_observer(|failed: On<bevy_radiosity::plugin::BakedLevelFailed>| panic!("{}", failed.error));
    tick_app_until_lit(&mut app);
    tick_app_until(&mut app, "both lamps", |app| app.world_mut().query::<&PointLight>().iter(app.world()).count() == 2);
    tick_app_times(&mut app, 3);
    let mut lamps = app.world_mut().query::<(&PointLight, &GlobalTransform)>();
    for (lamp, place) in lamps.iter(app.world()) {
        let is_baked = place.translation().x == 0.0;
        assert_eq!(lamp.affects_lightmapped_mesh_diffuse, !is_baked, "the lamp at {}", place.translation());
    }
}

/// Numbers of entities and assets.
fn counts(app: &mut App) -> [usize; 4] {
    let world = app.world_mut();
    [
        world.query::<EntityRef>().iter(world).count(),
        world.resource::<Assets<Mesh>>().len(),
        world.resource::<Assets<Image>>().len(),
        world.resource::<Assets<StandardMaterial>>().len(),
    ]
}

/// Spawns a level below one entity: a floor of some size, with a lamp.
fn spawn_level(app: &mut App, size: f32) -> Entity {
    let (floor, lamp) = spawn_lit_floor(app, size, 100.0);
    let root = app.world_mut().spawn((Transform::default(), Visibility::default())).id();
    app.world_mut().entity_mut(root).add_children(&[floor, lamp]);
    root
}

#[test]
fn levels_that_are_shown_in_turns_leave_nothing_when_they_are_despawned() {
    let folders = [2.0, 3.0].map(|size| save_bake(|app| _ = spawn_level(app, size)));
    let mut app = create_world_app();
    app.insert_resource(Relight::default());
    // Systems and resources are entities too, and some come with the first level.
    let mut before = None;
    for turn in 0..10 {
        let root = spawn_level(&mut app, [2.0, 3.0][turn % 2]);
        let level = baked_level(&app, folders[turn % 2].path());
        app.world_mut().entity_mut(root).insert(level);
        app.insert_resource(Level::default());
        tick_app_until_lit(&mut app);
        let volumes = app.world_mut().query::<&IrradianceVolume>().iter(app.world()).count();
        assert_eq!(volumes, 1, "turn {turn}");
        app.world_mut().despawn(root);
        tick_app_times(&mut app, 10);
        let now = counts(&mut app);
        assert_eq!(now, *before.get_or_insert(now), "turn {turn}");
    }
}

#[test]
fn a_level_without_its_component_gives_back_meshes_and_lights() {
    let folder = save_bake(|app| _ = spawn_level(app, 2.0));
    let mut app = create_world_app();
    let root = spawn_level(&mut app, 2.0);
    tick_app_times(&mut app, 3);
    let [_, before @ ..] = counts(&mut app);
    let level = baked_level(&app, folder.path());
    app.world_mut().entity_mut(root).insert(level);
    tick_app_until_lit(&mut app);
    app.world_mut().entity_mut(root).remove::<BakedLevel>();
    tick_app_times(&mut app, 10);
    let [_, after @ ..] = counts(&mut app);
    assert_eq!(after, before);
    assert_eq!(app.world_mut().query::<&IrradianceVolume>().iter(app.world()).count(), 0);
    assert_eq!(app.world_mut().query::<&Baked>().iter(app.world()).count(), 0);
    let lamp = app.world_mut().query::<&PointLight>().single(app.world()).unwrap();
    assert!(lamp.affects_lightmapped_mesh_diffuse);
}

#[test]
fn a_level_that_is_despawned_while_it_is_read_is_never_shown() {
    let folder = save_bake(|app| _ = spawn_level(app, 2.0));
    let mut app = create_world_app();
    spawn_level(&mut app, 2.0);
    for frames in 0..6 {
        let level = spawn_baked_level(&mut app, folder.path());
        tick_app_times(&mut app, frames);
        app.world_mut().despawn(level);
    }
    let lit = |app: &mut App| app.world_mut().query::<&Baked>().iter(app.world()).count();
    assert_eq!(lit(&mut app), 0);
    // Levels that are read later are shown later.
    let last = spawn_baked_level(&mut app, folder.path());
    tick_app_until(&mut app, "the last level", |app| lit(app) > 0);
    app.world_mut().despawn(last);
    tick_app_times(&mut app, 20);
    assert_eq!(lit(&mut app), 0);
}

#[test]
fn a_bake_of_the_app_is_freed_with_its_last_surface() {
    let mut app = create_world_app();
    tick_app_times(&mut app, 3);
    let before = counts(&mut app);
    let root = spawn_level(&mut app, 2.0);
    let mut settings = quick_bake();
    settings.settings.volume = Some(VolumeSettings::default());
    bake(&mut app, settings).unwrap();
    assert_eq!(app.world_mut().query::<&Baked>().iter(app.world()).count(), 1);
    app.world_mut().despawn(root);
    tick_app_times(&mut app, 10);
    assert_eq!(counts(&mut app), before);
}

#[test]
fn a_bake_during_another_fails_and_the_other_goes_on() {
    let mut app = create_world_app();
    spawn_lit_floor(&mut app, 2.0, 100.0);
    app.world_mut().trigger(quick_bake());
    tick_app(&mut app);
    app.world_mut().trigger(quick_bake());
    tick_app(&mut app);
    let refused = app.world().resource::<Ended>().0.clone().unwrap().unwrap_err();
    assert!(refused.contains("running already"), "{refused}");
    app.world_mut().resource_mut::<Ended>().0 = None;
    tick_app_until(&mut app, "the first bake", |app| app.world().resource::<Ended>().0.is_some());
    assert!(app.world().resource::<Ended>().0.clone().unwrap().is_ok());
}

#[cfg(feature = "gltf")]
#[test]
fn a_bake_before_the_level_has_loaded_waits_for_it() {
    let mut app = create_world_app();
    let scene = app.world().resource::<AssetServer>().load(GltfAssetLabel::Scene(0).from_asset("cornell_box.glb"));
    app.world_mut().spawn(bevy::world_serialization::WorldAssetRoot(scene));
    bake(&mut app, quick_bake()).unwrap();
    assert!(app.world_mut().query::<&Baked>().iter(app.world()).count() > 5);
}

/// A rotation, a translation and a uniform scale.
fn elsewhere() -> Transform {
    Transform::from_xyz(7.0, -3.0, 20.0)
        .with_rotation(Quat::from_euler(EulerRot::XYZ, 0.3, 1.2, -0.7))
        .with_scale(Vec3::splat(0.01))
}

/// Returns the corners of the irradiance volume's box.
fn corners_of_volume(app: &mut App) -> [Vec3; 2] {
    let mut volumes = app.world_mut().query_filtered::<&GlobalTransform, With<IrradianceVolume>>();
    let place = volumes.single(app.world()).unwrap();
    [Vec3::splat(-0.5), Vec3::splat(0.5)].map(|corner| place.transform_point(corner))
}

fn assert_near(found: [Vec3; 2], expected: [Vec3; 2]) {
    for (found, expected) in found.into_iter().zip(expected) {
        assert!(found.abs_diff_eq(expected, 1e-3), "{found} instead of {expected}");
    }
}

/// Bakes a file as the command line does.
#[cfg(feature = "gltf")]
pub fn bake_scene(scene: &bevy_radiosity::scene::CheckedScene, bake: Bake, folder: &std::path::Path) {
    let unobserved = &bevy_radiosity::bake::Unobserved;
    bevy_radiosity::bake::run(scene.clone(), &bake.settings, unobserved).unwrap().write(folder).unwrap();
}

/// Writes a glTF file of a floor, a wall and a lamp, and returns its scene.
#[cfg(feature = "gltf")]
pub fn write_corner(file: &std::path::Path) -> bevy_radiosity::scene::CheckedScene {
    let nodes = r#"[
        {"name": "floor", "mesh": 0}, {"name": "wall", "mesh": 0, "translation": [0, 0.5, 0], "rotation": [0.7071068, 0, 0, 0.7071068]},
        {"name": "lamp", "translation": [0.1, 2, 0.4], "extensions": {"KHR_lights_punctual": {"light": 0}}}
    ]"#;
    std::fs::write(file, file_of_squares("[0, 1, 2]", nodes, 100)).unwrap();
    bevy_radiosity::scene_files::load(&file.to_string_lossy()).unwrap().scene
}

#[cfg(feature = "gltf")]
#[test]
fn a_level_of_a_file_may_stand_anywhere_and_move_as_a_whole() {
    use crate::relight::{at_once, page_of, relightable, settle, status};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("level.gltf");
    let level = write_corner(&file);
    let baked = folder.path().join("baked");
    let mut settings = relightable(Content::Full);
    settings.settings.volume = Some(VolumeSettings::default());
    bake_scene(&level, settings, &baked);

    let mut app = create_world_app();
    app.insert_resource(at_once());
    let root = crate::spawn::spawn_scene(app.world_mut(), &level);
    let shown = baked_level(&app, &baked).with_source(file.clone());
    app.world_mut().entity_mut(root).insert(shown);
    tick_app_until_lit(&mut app);
    settle(&mut app, 0);
    let at_origin = corners_of_volume(&mut app);
    let mut names = app.world_mut().query_filtered::<(Entity, &Name), With<Mesh3d>>();
    let (floor, _) = names.iter(app.world()).find(|(_, name)| name.contains("floor")).unwrap();
    let (_, page) = page_of(&app, floor);
    let lamp = app.world_mut().query_filtered::<Entity, With<PointLight>>().single(app.world()).unwrap();
    assert!(!lights_meshes(&app, lamp));

    let updates = status(&app).updates;
    app.world_mut().entity_mut(root).insert(elsewhere());
    settle(&mut app, updates);
    assert_near(corners_of_volume(&mut app), at_origin.map(|corner| elsewhere().transform_point(corner)));
    assert!(!lights_meshes(&app, lamp));
    let differences = page.iter().zip(&page_of(&app, floor).1).filter(|(before, now)| before != now).count();
    assert_eq!(differences, 0, "bytes of the page");
    let read = crate::world::read_scene(&mut app).scene;
    let is_static = |surface: &&bevy_radiosity::scene::Surface| surface.role == bevy_radiosity::scene::Role::Static;
    assert_eq!(read.surfaces.iter().filter(is_static).count(), 2, "a level carries its parts, which are no movers");

    // Another app shows the level there from the start.
    let mut app = create_world_app();
    let root = crate::spawn::spawn_scene(app.world_mut(), &level);
    let shown = baked_level(&app, &baked);
    app.world_mut().entity_mut(root).insert((shown, elsewhere()));
    tick_app_until_lit(&mut app);
    tick_app_times(&mut app, 3);
    assert_near(corners_of_volume(&mut app), at_origin.map(|corner| elsewhere().transform_point(corner)));
    let lamp = app.world_mut().query_filtered::<Entity, With<PointLight>>().single(app.world()).unwrap();
    assert!(!lights_meshes(&app, lamp));
}

#[test]
fn a_saved_bake_of_a_level_that_stood_elsewhere_is_shown_there_and_moves_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let place = Transform::from_xyz(5.0, 1.0, 2.0).with_rotation(Quat::from_rotation_y(0.5));
    let mut app = create_world_app();
    let root = spawn_level(&mut app, 2.0);
    app.world_mut().entity_mut(root).insert(place);
    tick_app(&mut app);
    let mut settings = quick_bake();
    settings.settings.volume = Some(VolumeSettings::default());
    settings.folder = Some(folder.path().to_owned());
    bake(&mut app, settings).unwrap();
    let bounds = corners_of_volume(&mut app);
    let mut app = create_world_app();
    let root = spawn_level(&mut app, 2.0);
    app.world_mut().entity_mut(root).insert(place);
    tick_app(&mut app);
    let level = baked_level(&app, folder.path());
    app.world_mut().entity_mut(root).insert(level);
    tick_app_until_lit(&mut app);
    tick_app_times(&mut app, 3);
    assert_near(corners_of_volume(&mut app), bounds);
    app.world_mut().entity_mut(root).insert(Transform { translation: place.translation + Vec3::X, ..place });
    tick_app_times(&mut app, 2);
    assert_near(corners_of_volume(&mut app), bounds.map(|corner| corner + Vec3::X));
}

#[test]
fn another_material_makes_lightmaps_out_of_date_and_lightmaps_do_not() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 2.0, 100.0);
    tick_app_times(&mut app, 5);
    bake(&mut app, quick_bake()).unwrap();
    tick_app_times(&mut app, 3);
    let changed = |app: &App| app.world().resource::<SceneStatus>().changed;
    assert!(changed(&app).is_zero(), "{:?}", changed(&app));
    app.world_mut().resource_mut::<Lightmaps>().enabled = false;
    tick_app_times(&mut app, 6);
    assert!(changed(&app).is_zero(), "{:?}", changed(&app));
    let magenta = spawn_material(&mut app, Color::linear_rgb(1.0, 0.0, 1.0));
    app.world_mut().entity_mut(floor).insert(MeshMaterial3d(magenta));
    tick_app_times(&mut app, 2);
    assert_eq!(changed(&app).surfaces, 1);
}

#[test]
fn surfaces_that_leave_or_move_during_a_bake_are_named() {
    #[derive(Resource, Default)]
    struct Warnings(Vec<String>);

    let mut app = create_world_app();
    app.init_resource::<Warnings>().add_observer(|done: On<BakeFinished>, mut warnings: ResMut<Warnings>| {
        warnings.0.clone_from(&done.report.warnings)
    });
    let (floor, _) = spawn_lit_floor(&mut app, 2.0, 100.0);
    let part = |name: &'static str| {
        let world = app.world();
        (
            Name::new(name),
            world.get::<Mesh3d>(floor).unwrap().clone(),
            world.get::<MeshMaterial3d<StandardMaterial>>(floor).unwrap().clone(),
        )
    };
    let parts = ["crate", "barrel"].map(part);
    let [gone, moved] = parts.map(|part| app.world_mut().spawn((part, Transform::from_xyz(9.0, 0.0, 0.0))).id());
    tick_app_times(&mut app, 5);
    app.world_mut().trigger(quick_bake());
    tick_app_until(&mut app, "the solver", |app| {
        matches!(app.world().resource::<BakeProgress>().phase, bevy_radiosity::plugin::BakePhase::Solving(_))
    });
    app.world_mut().despawn(gone);
    app.world_mut().get_mut::<Transform>(moved).unwrap().translation.x = 20.0;
    tick_app_until(&mut app, "the bake", |app| app.world().resource::<Ended>().0.is_some());
    let said = app.world().resource::<Warnings>().0.join("\n");
    assert!(
        said.contains("despawned during the bake: 'crate") && said.contains("moved during the bake: 'barrel"),
        "{said}"
    );
}

/// Saves two bakes of one level: with a lamp of 100 cd, and with one of 50 cd.
pub fn save_two_bakes() -> [tempfile::TempDir; 2] {
    [100.0, 50.0].map(|candela| save_bake(|app| _ = spawn_lit_floor(app, 2.0, candela)))
}

/// Returns the largest value on the page of the only lit surface, in cd/m2.
pub fn brightest(app: &mut App) -> f32 {
    let baked = app.world_mut().query::<&Baked>().single(app.world()).unwrap().clone();
    let image = app.world().resource::<Assets<Image>>().get(&baked.image).unwrap();
    brightest_of(image.data.as_ref().unwrap())
}

/// Returns the largest value on a page of a level from files, in cd/m2.
pub fn brightest_of(page: &[u8]) -> f32 {
    let of =
        |texel: &[u8; 4]| bevy_radiosity::lightmap::files::rgb9e5::decode(u32::from_le_bytes(*texel)).max_element();
    page.as_chunks::<4>().0.iter().map(of).fold(0.0, f32::max)
}

#[test]
fn a_level_is_replaced_by_another_bake_of_it() {
    let folders = save_two_bakes();
    let mut app = create_world_app();
    spawn_lit_floor(&mut app, 2.0, 100.0);
    let level = spawn_baked_level(&mut app, folders[0].path());
    tick_app_until_lit(&mut app);
    let first = brightest(&mut app);
    app.insert_resource(Level::default());
    let other = baked_level(&app, folders[1].path());
    app.world_mut().entity_mut(level).insert(other);
    tick_app_until_lit(&mut app);
    let second = brightest(&mut app);
    assert!((second / first - 0.5).abs() < 0.05, "{second} after {first}");
}

#[test]
fn a_level_goes_on_when_the_one_before_it_is_despawned() {
    let folders = save_two_bakes();
    for frames in 0..8 {
        let mut app = create_world_app();
        spawn_lit_floor(&mut app, 2.0, 100.0);
        let first = spawn_baked_level(&mut app, folders[0].path());
        tick_app_until_lit(&mut app);
        let before = brightest(&mut app);
        app.insert_resource(Level::default());
        spawn_baked_level(&mut app, folders[1].path());
        tick_app_times(&mut app, frames);
        app.world_mut().despawn(first);
        tick_app_until_lit(&mut app);
        tick_app_times(&mut app, 3);
        let after = brightest(&mut app);
        assert!((after / before - 0.5).abs() < 0.05, "{after} after {before}, despawned after {frames} frames");
    }
}

#[test]
fn a_bake_of_the_app_replaces_a_level_and_stays_without_it() {
    let folders = save_two_bakes();
    let mut app = create_world_app();
    spawn_lit_floor(&mut app, 2.0, 100.0);
    let level = spawn_baked_level(&mut app, folders[1].path());
    tick_app_until_lit(&mut app);
    bake(&mut app, quick_bake()).unwrap();
    app.world_mut().despawn(level);
    tick_app_times(&mut app, 5);
    assert_eq!(app.world_mut().query::<&Baked>().iter(app.world()).count(), 1);
}

#[cfg(feature = "gltf")]
#[test]
fn two_instances_of_a_file_find_their_own_light_in_any_order() {
    use bevy::world_serialization::WorldAssetRoot;

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tile.gltf"), file_of_squares("[0]", r#"[{"name": "tile", "mesh": 0}]"#, 1))
        .unwrap();
    let spawn = |app: &mut App, places: [f32; 2]| {
        for x in places {
            let scene = app.world().resource::<AssetServer>().load(GltfAssetLabel::Scene(0).from_asset("tile.gltf"));
            app.world_mut().spawn((WorldAssetRoot(scene), Transform::from_xyz(x, 0.0, 0.0)));
            // Each instance is there before the next.
            tick_app_until(app, "a tile", |app| app.world_mut().query::<&Mesh3d>().iter(app.world()).any(|_| true));
            tick_app_times(app, 10);
        }
        let lamp = PointLight { intensity: 5000.0, ..default() };
        app.world_mut().spawn((Name::new("lamp"), lamp, Transform::from_xyz(0.0, 1.0, 0.0)));
    };
    let baked = folder.path().join("baked");
    let mut app = create_world_app_of(folder.path());
    spawn(&mut app, [0.0, 10.0]);
    bake(&mut app, Bake { folder: Some(baked.clone()), ..quick_bake() }).unwrap();
    for places in [[0.0, 10.0], [10.0, 0.0]] {
        let mut app = create_world_app_of(folder.path());
        spawn(&mut app, places);
        spawn_baked_level(&mut app, &baked);
        tick_app_until_lit(&mut app);
        let mut tiles = app.world_mut().query::<(&Baked, &GlobalTransform)>();
        let mut light = [0.0; 2];
        for (tile, place) in tiles.iter(app.world()) {
            let image = app.world().resource::<Assets<Image>>().get(&tile.image).unwrap();
            let pixel = (tile.uv_rect.center() * image.size().as_vec2()).as_uvec2();
            let bytes = image.pixel_bytes(pixel.extend(0)).unwrap();
            let value = u32::from_le_bytes(bytes[..4].try_into().unwrap());
            let seen = bevy_radiosity::lightmap::files::rgb9e5::decode(value).x;
            light[usize::from(place.translation().x > 5.0)] = seen;
        }
        assert!(light[0] > 100.0 * light[1] && light[1] > 0.0, "{light:?} with tiles spawned at {places:?}");
    }
}
