//! Replay of a newcomer's trial: results that were wrong, and bad input that was silent.
//!
//! | wrong result of the trial | tests |
//! | --- | --- |
//! | 1. a saved bake of a world made by code was lit twice | `levels::a_saved_bake_of_a_world_made_by_code_silences_its_lights_and_no_others` |
//! | 2. lights that were never baked were silenced | `levels::lights_of_files_that_were_not_baked_go_on_lighting_a_level_without_normals`, `lights_that_differ_from_those_of_the_bake_are_named` |
//! | 3. despawning kept meshes, images and relighting | `levels::levels_that_are_shown_in_turns_leave_nothing_when_they_are_despawned`, `levels::a_level_without_its_component_gives_back_meshes_and_lights`, `a_level_that_is_despawned_while_it_is_relit_leaves_nothing` |
//! | 4. a sun that was switched off stayed at one frame a second | `a_sun_that_is_switched_off_is_gone_with_the_next_update_at_one_frame_a_second` |
//! | 5. unfit relighting data was silent | `patches_that_are_too_coarse_for_a_light_are_warned_about_by_its_name` |
//! | 6. `SceneStatus` was wrong in both directions | `levels::another_material_makes_lightmaps_out_of_date_and_lightmaps_do_not`, `levels::a_saved_bake_of_a_world_made_by_code_silences_its_lights_and_no_others` |
//! | 7. deferred rendering lit twice | `a_deferred_app_is_told_that_direct_light_is_drawn_twice` |
//! | 8. a level's transform was ignored | `levels::a_level_of_a_file_may_stand_anywhere_and_move_as_a_whole`, `a_level_that_is_sheared_scaled_unevenly_or_mirrored_is_named_once` |

use std::time::Duration;

use bevy::core_pipeline::prepass::DeferredPrepass;
use bevy::light::IrradianceVolume;
use bevy::pbr::DefaultOpaqueRendererMethod;
use bevy::prelude::*;
use bevy_radiosity::plugin::Baked;
use bevy_radiosity::prelude::*;

use crate::app::*;
use crate::levels::save_bake;
use crate::relight::{at_once, bake_room, dim_panels, f32_of_half, page_of, relightable, settle, status};
use crate::said::{listen, said};
use crate::spawn::spawn_scene;

/// Spawns a floor and a lamp below one entity.
fn spawn_level(app: &mut App) -> Entity {
    let (floor, lamp) = spawn_lit_floor(app, 2.0, 100.0);
    let root = app.world_mut().spawn((Transform::default(), Visibility::default())).id();
    app.world_mut().entity_mut(root).add_children(&[floor, lamp]);
    root
}

/// Returns the numbers of lightmaps, volumes, meshes and images.
fn left(app: &mut App) -> [usize; 4] {
    let world = app.world_mut();
    [
        world.query::<&Baked>().iter(world).count(),
        world.query::<&IrradianceVolume>().iter(world).count(),
        world.resource::<Assets<Mesh>>().len(),
        world.resource::<Assets<Image>>().len(),
    ]
}

#[test]
fn a_deferred_app_is_told_that_direct_light_is_drawn_twice() {
    listen();
    let deferred_app = |camera: &'static str| {
        let mut app = create_world_app();
        app.insert_resource(DefaultOpaqueRendererMethod::deferred());
        app.world_mut().spawn((Name::new(camera), DeferredPrepass));
        spawn_level(&mut app);
        app
    };
    let twice = |camera| said(&[camera, "lights lightmapped meshes twice", "Content::Indirect"]).len();
    let mut app = deferred_app("baking eye");
    bake(&mut app, quick_bake()).unwrap();
    bake(&mut app, quick_bake()).unwrap();
    assert_eq!(twice("'baking eye'"), 1);

    let folder = save_bake(|app| _ = spawn_level(app));
    let mut app = deferred_app("loading eye");
    spawn_baked_level(&mut app, folder.path());
    tick_app_until_lit(&mut app);
    assert_eq!(twice("'loading eye'"), 1);

    let mut app = deferred_app("indirect eye");
    let mut indirect = quick_bake();
    indirect.settings.solver.content = Content::Indirect;
    bake(&mut app, indirect).unwrap();
    assert_eq!(twice("'indirect eye'"), 0, "a bake without direct light is right");
}

#[test]
fn a_level_that_is_sheared_scaled_unevenly_or_mirrored_is_named_once() {
    listen();
    let folder = save_bake(|app| _ = spawn_level(app));
    // Turned below an uneven scale, a level is sheared.
    let turned = Transform::from_rotation(Quat::from_rotation_z(0.5));
    for (name, parent, place, is_warned) in [
        ("uneven level", Transform::default(), Transform::from_scale(Vec3::new(1.0, 2.0, 1.0)), true),
        ("mirrored level", Transform::default(), Transform::from_scale(Vec3::new(-1.0, 1.0, 1.0)), true),
        ("sheared level", Transform::from_scale(Vec3::new(1.0, 2.0, 1.0)), turned, true),
        ("even level", Transform::from_scale(Vec3::splat(2.0)), turned, false),
    ] {
        let mut app = create_world_app();
        tick_app_times(&mut app, 3);
        let before = left(&mut app);
        let root = spawn_level(&mut app);
        let level = baked_level(&app, folder.path());
        app.world_mut().entity_mut(root).insert((Name::new(name), level));
        tick_app_until_lit(&mut app);
        let warnings = || said(&[&format!("'{name}'"), "sheared or mirrored"]).len();
        assert_eq!(warnings(), 0, "{name} stands as it was baked");
        let ship = app.world_mut().spawn((parent, Visibility::default())).add_child(root).id();
        app.world_mut().entity_mut(root).insert(place);
        tick_app_times(&mut app, 3);
        app.world_mut().get_mut::<Transform>(ship).unwrap().translation.x = 3.0;
        tick_app_times(&mut app, 3);
        assert_eq!(warnings(), usize::from(is_warned), "{name}");
        assert_eq!(left(&mut app)[0], 1, "{name} keeps its lightmap");
        app.world_mut().despawn(ship);
        tick_app_times(&mut app, 10);
        assert_eq!(left(&mut app), before, "{name}");
    }
}

#[test]
fn two_levels_of_one_folder_are_warned_about_and_the_last_is_shown() {
    listen();
    let folder = save_bake(|app| _ = spawn_level(app));
    let name = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
    let mut app = create_world_app();
    spawn_level(&mut app);
    tick_app_times(&mut app, 3);
    let before = left(&mut app);
    let [first, second] = [(); 2].map(|()| spawn_baked_level(&mut app, folder.path()));
    tick_app_until(&mut app, "the warning", |_| !said(&[&name, "it was baked with the same surfaces"]).is_empty());
    tick_app_until_lit(&mut app);
    tick_app_times(&mut app, 10);
    assert_eq!(said(&[&name, "it was baked with the same surfaces"]).len(), 1);
    assert_eq!(left(&mut app)[..2], [1, 1]);
    for level in [first, second] {
        app.world_mut().despawn(level);
        tick_app_times(&mut app, 10);
    }
    assert_eq!(left(&mut app), before);
}

#[test]
fn a_level_that_is_despawned_while_it_is_relit_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    bake_room(folder.path(), Some(20));
    let scene = bevy_radiosity::scene_files::load("builtin:cornell_box").unwrap().scene;
    for frames in 0..4 {
        let mut app = create_world_app();
        app.insert_resource(at_once());
        let root = spawn_scene(app.world_mut(), &scene);
        tick_app_times(&mut app, 3);
        let [.., images] = left(&mut app);
        let level = baked_level(&app, folder.path()).with_source("builtin:cornell_box");
        let level = app.world_mut().spawn(level).id();
        tick_app_until_lit(&mut app);
        tick_app_until(&mut app, "the level", |app| status(app).is_active);
        dim_panels(&mut app, 0.5);
        tick_app_times(&mut app, frames);
        app.world_mut().despawn(level);
        app.world_mut().despawn(root);
        tick_app_times(&mut app, 20);
        let RelightStatus { is_active, updates, .. } = *status(&app);
        assert!(!is_active, "despawned after {frames} frames");
        tick_app_times(&mut app, 20);
        assert_eq!(status(&app).updates, updates, "despawned after {frames} frames");
        let [lit, volumes, _, images_now] = left(&mut app);
        assert_eq!([lit, volumes, images_now], [0, 0, images], "despawned after {frames} frames");
    }
}

#[test]
fn lights_that_differ_from_those_of_the_bake_are_named() {
    listen();
    let spawn = |app: &mut App, name: &'static str, x: f32| {
        let root = spawn_level(app);
        let lamp = (Name::new(name), PointLight::default(), Transform::from_xyz(x, 1.0, 0.0));
        app.world_mut().spawn(lamp).insert(ChildOf(root));
        root
    };
    let folder = save_bake(|app| _ = spawn(app, "lantern of old", 0.5));
    let mut app = create_world_app();
    let root = spawn(&mut app, "torch of new", -0.7);
    let level = baked_level(&app, folder.path());
    app.world_mut().entity_mut(root).insert(level);
    tick_app_until_lit(&mut app);
    tick_app_times(&mut app, 10);
    let missing = said(&["baked lights are not in the app", "lantern of old"]);
    let added = said(&["lights of the level are not in its lightmaps", "torch of new"]);
    assert_eq!((missing.len(), added.len()), (1, 1), "{missing:?} {added:?}");
    assert!(missing.iter().chain(&added).all(|text| !text.contains("lamp")), "the lamp is in both");
}

/// Returns the sum of the red channel of a surface's page.
fn reds(app: &App, surface: Entity) -> f32 {
    let texels = page_of(app, surface).1;
    texels.as_chunks::<8>().0.iter().map(|texel| f32_of_half(u16::from_le_bytes([texel[0], texel[1]]))).sum()
}

#[test]
fn a_sun_that_is_switched_off_is_gone_with_the_next_update_at_one_frame_a_second() {
    let room = |lux: f32| {
        let mut app = create_world_app();
        app.insert_resource(Relight::default());
        let (floor, _) = spawn_lit_floor(&mut app, 4.0, 100.0);
        spawn_wall(&mut app);
        let sun = DirectionalLight { illuminance: lux, ..default() };
        let place = Transform::default().looking_to(Vec3::new(0.3, -1.0, -0.5), Vec3::X);
        let sun = app.world_mut().spawn((Name::new("sun"), sun, place)).id();
        tick_app_times(&mut app, 2);
        bake(&mut app, relightable(Content::Full)).unwrap();
        settle(&mut app, 0);
        (app, floor, sun)
    };
    let (app, floor, _) = room(0.0);
    let without = reds(&app, floor);
    let (mut app, floor, sun) = room(1000.0);
    assert!(reds(&app, floor) > 5.0 * without, "most light is of the sun");
    let updates = status(&app).updates;
    app.world_mut().get_mut::<DirectionalLight>(sun).unwrap().illuminance = 0.0;
    while status(&app).updates == updates {
        std::thread::sleep(Duration::from_secs(1));
        app.update();
    }
    let RelightStatus { rays, behind, is_refining, .. } = *status(&app);
    assert_eq!((rays, behind, is_refining), (0, 0.0, false));
    let ratio = reds(&app, floor) / without;
    assert!((ratio - 1.0).abs() < 0.01, "{ratio} of a bake without the sun");
}

#[test]
fn patches_that_are_too_coarse_for_a_light_are_warned_about_by_its_name() {
    listen();
    let mut app = create_world_app();
    app.insert_resource(Relight::default());
    spawn_lit_floor(&mut app, 4.0, 1.0);
    spawn_wall(&mut app);
    // A lamp close to the wall lights a small part of a patch.
    let lamp = PointLight { intensity: 1e5, ..default() };
    app.world_mut().spawn((Name::new("candle at the wall"), lamp, Transform::from_xyz(0.4, 0.1, -1.95)));
    tick_app_times(&mut app, 2);
    let mut coarse = relightable(Content::Full);
    coarse.settings.relight = Some(RelightPatches(2));
    bake(&mut app, coarse).unwrap();
    tick_app_until(&mut app, "relighting", |app| status(app).is_active);
    let warning = status(&app).transport_warning.clone().unwrap_or_default();
    assert!(warning.contains("'candle at the wall'") && warning.contains("--relight"), "{warning}");
    assert!(!said(&["patches are too coarse", "'candle at the wall'"]).is_empty());
}
