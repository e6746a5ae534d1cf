//! Tests of live relighting.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use bevy::diagnostic::{Diagnostic, DiagnosticPath, DiagnosticsStore};
use bevy::pbr::Lightmap;
use bevy::prelude::*;
use bevy_radiosity::bake::{self, BakeSettings, Unobserved};
use bevy_radiosity::lightmap::files::rgb9e5;
use bevy_radiosity::plugin::{RELIGHT_BEHIND, RELIGHT_MAIN_THREAD, RELIGHT_TRANSPORT_ERROR, RELIGHT_UPDATE};
use bevy_radiosity::prelude::*;
use bevy_radiosity::scene::check::repair;

use crate::app::*;
use crate::spawn::spawn_scene;

/// Returns a bake with relighting data.
pub fn relightable(content: Content) -> Bake {
    let mut bake = quick_bake();
    bake.settings.relight = Some(RelightPatches(32));
    bake.settings.solver.content = content;
    bake.settings.layout.texels_per_meter = 8.0;
    bake.settings.solver.error = 0.05;
    bake
}

/// Returns settings without temporal smoothing, with as much work as possible. Frames wait for their update.
pub fn at_once() -> Relight {
    let [work_per_second, max_wait] = [1_000, 200].map(Duration::from_millis);
    Relight { work_per_second, smoothing: Duration::ZERO, max_wait, ..default() }
}

/// Returns the status of the only level. It is the default without one.
pub fn status(app: &App) -> &RelightStatus {
    static NONE: LazyLock<RelightStatus> = LazyLock::new(RelightStatus::default);
    let levels = app.world().try_query::<&RelightStatus>();
    levels.and_then(|mut levels| levels.iter(app.world()).next()).unwrap_or(&NONE)
}

/// Waits until there are more than `before` updates, and nothing is left to do.
pub fn settle(app: &mut App, before: u64) {
    tick_app_until(app, "light that rests", |app| {
        let status = status(app);
        let is_busy = status.waiting > 0 || status.behind > 0.0 || status.is_refining || status.are_doors_moving;
        status.updates > before && !is_busy
    });
}

/// Applies a change and waits until the light has settled.
pub fn change(app: &mut App, change: impl FnOnce(&mut App)) {
    let before = status(app).updates;
    change(app);
    settle(app, before);
}

/// Returns the latest value of a diagnostic.
pub fn diagnosed(app: &App, path: &DiagnosticPath) -> f64 {
    let diagnostic = app.world().resource::<DiagnosticsStore>().get(path);
    diagnostic.and_then(Diagnostic::value).unwrap_or_else(|| panic!("nothing about {path}"))
}

pub fn move_to(app: &mut App, entity: Entity, place: Vec3) {
    app.world_mut().get_mut::<Transform>(entity).unwrap().translation = place;
}

pub fn page_of(app: &App, entity: Entity) -> (AssetId<Image>, Vec<u8>) {
    let image = app.world().get::<Lightmap>(entity).expect("a lightmap").image.clone();
    (image.id(), app.world().resource::<Assets<Image>>().get(&image).unwrap().data.clone().unwrap())
}

#[test]
fn pages_follow_in_place_and_come_back_byte_for_byte() {
    let mut app = create_world_app();
    let (floor, lamp) = spawn_lit_floor(&mut app, 4.0, 100.0);
    spawn_wall(&mut app);
    tick_app_times(&mut app, 2);
    app.insert_resource(at_once());
    bake(&mut app, relightable(Content::Indirect)).unwrap();
    settle(&mut app, 0);
    assert!(status(&app).is_active && status(&app).problem.is_none());
    let baked = page_of(&app, floor);
    let updates = status(&app).updates;
    tick_app_times(&mut app, 10);
    assert_eq!(status(&app).updates, updates, "there is nothing to do where nothing changes");
    assert_eq!(status(&app).rays, 0);

    let at_rest = Vec3::new(0.0, 2.0, 0.0);
    change(&mut app, |app| move_to(app, lamp, Vec3::new(1.0, 1.0, -1.5)));
    let moved = page_of(&app, floor);
    assert_eq!(moved.0, baked.0, "in the same image");
    let RelightStatus { update_milliseconds, main_thread_milliseconds, transport_error, .. } = *status(&app);
    assert!(update_milliseconds > 0.0 && main_thread_milliseconds > 0.0 && transport_error > 0.0);
    for (path, said) in [
        (RELIGHT_UPDATE, update_milliseconds),
        (RELIGHT_MAIN_THREAD, main_thread_milliseconds),
        (RELIGHT_TRANSPORT_ERROR, transport_error),
        (RELIGHT_BEHIND, 0.0),
    ] {
        assert!((diagnosed(&app, &path) - f64::from(said)).abs() < 1e-4, "{path}: {said}");
    }
    assert_ne!(moved.1, baked.1);
    change(&mut app, |app| move_to(app, lamp, at_rest));
    assert_eq!(page_of(&app, floor), baked);

    change(&mut app, |app| *app.world_mut().get_mut::<Visibility>(lamp).unwrap() = Visibility::Hidden);
    let dark = page_of(&app, floor);
    assert_ne!(dark, baked);
    change(&mut app, |app| *app.world_mut().get_mut::<Visibility>(lamp).unwrap() = Visibility::Inherited);
    assert_eq!(page_of(&app, floor), baked);

    let lamp = PointLight { intensity: f32::NAN, ..default() };
    change(&mut app, |app| _ = app.world_mut().spawn((lamp, Transform::from_xyz(0.0, 1.0, 0.0))));
    assert_eq!(page_of(&app, floor), baked, "what cannot be is ignored");
    let torch = PointLight { intensity: 1000.0, ..default() };
    let place = Transform::from_xyz(0.0, 1.0, 0.0);
    change(&mut app, |app| _ = app.world_mut().spawn((torch, place, RelightExclude)));
    assert_eq!(page_of(&app, floor), baked, "what is excluded is ignored");
    change(&mut app, |app| _ = app.world_mut().spawn((torch, place)));
    assert_ne!(page_of(&app, floor), baked);

    change(&mut app, |app| app.world_mut().resource_mut::<Relight>().enabled = false);
    assert_eq!(page_of(&app, floor), baked, "switched off, they are as they were baked");
    app.world_mut().trigger(RemoveLightmaps);
    tick_app_times(&mut app, 3);
    assert!(!status(&app).is_active);
}

#[test]
fn surfaces_that_shine_more_light_what_is_before_them() {
    let mut app = create_world_app();
    let (floor, lamp) = spawn_lit_floor(&mut app, 4.0, 100.0);
    spawn_wall(&mut app);
    app.world_mut().despawn(lamp);
    let materials: Vec<Handle<StandardMaterial>> =
        app.world_mut().query::<&MeshMaterial3d<StandardMaterial>>().iter(app.world()).map(|m| m.0.clone()).collect();
    let of_wall = materials[1].clone();
    let glow = move |app: &mut App, radiance: f32| {
        let mut materials = app.world_mut().resource_mut::<Assets<StandardMaterial>>();
        let mut material = materials.get_mut(&of_wall).unwrap();
        (material.emissive, material.emissive_exposure_weight) = (LinearRgba::rgb(radiance, radiance, radiance), 1.0);
    };
    glow(&mut app, 100.0);
    tick_app_times(&mut app, 2);
    app.insert_resource(at_once());
    bake(&mut app, relightable(Content::Full)).unwrap();
    settle(&mut app, 0);
    let baked = page_of(&app, floor);
    change(&mut app, |app| glow(app, 300.0));
    let sum = |data: &[u8]| {
        let value = |bytes: &[u8; 2]| f32_of_half(u16::from_le_bytes(*bytes));
        data.as_chunks::<8>().0.iter().map(|texel| value(&[texel[0], texel[1]])).sum::<f32>()
    };
    // All light of the room comes from the panel.
    let ratio = sum(&page_of(&app, floor).1) / sum(&baked.1);
    assert!((ratio / 3.0 - 1.0).abs() < 0.05, "{ratio}");
    change(&mut app, |app| glow(app, 100.0));
    assert_eq!(page_of(&app, floor), baked);
}

#[test]
fn a_wall_that_is_painted_sends_on_its_new_color() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 4.0, 100.0);
    spawn_wall(&mut app);
    let materials: Vec<Handle<StandardMaterial>> =
        app.world_mut().query::<&MeshMaterial3d<StandardMaterial>>().iter(app.world()).map(|m| m.0.clone()).collect();
    let of_wall = materials[1].clone();
    let paint = move |app: &mut App, red: f32| {
        let mut materials = app.world_mut().resource_mut::<Assets<StandardMaterial>>();
        materials.get_mut(&of_wall).unwrap().base_color = Color::linear_rgb(red, 0.5, 0.5);
    };
    tick_app_times(&mut app, 2);
    app.insert_resource(at_once());
    bake(&mut app, relightable(Content::Indirect)).unwrap();
    settle(&mut app, 0);
    let baked = page_of(&app, floor);
    let Lightmap { image, uv_rect, .. } = app.world().get::<Lightmap>(floor).unwrap().clone();
    let size = app.world().resource::<Assets<Image>>().get(&image).unwrap().size();
    let sum = |data: &[u8], channel: usize| {
        let place = |texel: usize| UVec2::new(texel as u32 % size.x, texel as u32 / size.x).as_vec2() / size.as_vec2();
        let texels = data.as_chunks::<8>().0.iter().enumerate().filter(|(texel, _)| uv_rect.contains(place(*texel)));
        let value = |texel: &[u8; 8]| f32_of_half(u16::from_le_bytes([texel[2 * channel], texel[2 * channel + 1]]));
        texels.map(|(_, texel)| value(texel)).sum::<f32>()
    };
    change(&mut app, |app| paint(app, 0.25));
    let painted = page_of(&app, floor);
    assert_eq!(painted.0, baked.0, "in the same image");
    // All indirect light of the floor comes from the wall, and little of it was reflected there twice.
    let [red, green] = [0, 1].map(|channel| sum(&painted.1, channel) / sum(&baked.1, channel));
    assert!((red - 0.5).abs() < 0.02 && (green - 1.0).abs() < 1e-3, "{red} {green}");
    paint(&mut app, f32::NAN);
    tick_app_times(&mut app, 10);
    assert!(page_of(&app, floor) == painted && !status(&app).are_doors_moving, "what is no color is ignored");
    change(&mut app, |app| paint(app, 0.5));
    assert!(page_of(&app, floor) == baked, "the old color leaves no trace");
}

#[test]
fn colors_of_a_level_of_files_are_followed_to_black_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let baked_in = |color: Option<Vec3>| {
        let mut scene = bevy_radiosity::scene_files::load("builtin:cornell_box").unwrap().scene.into_inner();
        let mut materials = scene.materials.iter_mut();
        materials.by_ref().for_each(|m| m.base_color = color.map_or(m.base_color, |color| color.extend(1.0)));
        let settings = BakeSettings { relight: Some(RelightPatches(50)), ..quick_bake().settings };
        bake::run(repair(scene).0, &settings, &Unobserved).unwrap()
    };
    baked_in(None).write(folder.path()).unwrap();
    let truth: f32 = baked_in(Some(Vec3::ZERO)).pages[0].texels.iter().map(|texel| texel.x).sum();

    let mut app = create_world_app();
    spawn_scene(app.world_mut(), &bevy_radiosity::scene_files::load("builtin:cornell_box").unwrap().scene);
    app.insert_resource(at_once());
    let level = baked_level(&app, folder.path()).with_source("builtin:cornell_box");
    app.world_mut().spawn(level);
    tick_app_until_lit(&mut app);
    settle(&mut app, 0);
    let lit = app.world_mut().query_filtered::<Entity, With<Lightmap>>().iter(app.world()).next().unwrap();
    let baked = page_of(&app, lit);
    let materials = app.world().resource::<Assets<StandardMaterial>>();
    let original: Vec<_> = materials.iter().map(|(id, material)| (id, material.base_color)).collect();
    let paint = |app: &mut App, color: Option<Color>| {
        let mut materials = app.world_mut().resource_mut::<Assets<StandardMaterial>>();
        original.iter().for_each(|&(id, first)| materials.get_mut(id).unwrap().base_color = color.unwrap_or(first));
    };
    change(&mut app, |app| paint(app, Some(Color::BLACK)));
    let (before, after) = (sum_of_reds(&baked.1), sum_of_reds(&page_of(&app, lit).1));
    // The tolerance covers the error of fifty patches.
    assert!((after - truth).abs() < 0.1 * (before - truth), "{before} {after} {truth}");
    assert!(before > 2.0 * truth);
    change(&mut app, |app| paint(app, None));
    assert!(page_of(&app, lit) == baked, "black leaves no trace");
}

/// Nodes of a floor of 4 m and a lamp.
const FLOOR: &str = r#"[
    {"name": "floor", "mesh": 0, "scale": [4, 1, 4]},
    {"name": "lamp", "translation": [0, 2, 0], "extensions": {"KHR_lights_punctual": {"light": 0}}}
]"#;

/// Bevy's loader takes the linear color of a light for an sRGB one, and gives a light without range 20 m.
#[test]
fn a_colored_lamp_that_bevy_loads_is_as_baked_and_dims_without_rays() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("level.gltf");
    let orange = r#""type": "point", "color": [1, 0.5, 0.25]"#;
    let content = file_of_squares("[0, 1]", FLOOR, 100).replace(r#""type": "point""#, orange);
    std::fs::write(&file, content).unwrap();
    let level = bevy_radiosity::scene_files::load(&file.to_string_lossy()).unwrap().scene;
    let settings = relightable(Content::Full).settings;
    let baked = bake::run(level, &settings, &Unobserved).unwrap().write(&folder.path().join("baked"));
    assert!(baked.is_ok());
    let mut app = create_world_app();
    app.insert_resource(at_once());
    crate::files::spawn_file(&mut app, file.to_str().unwrap());
    let level = baked_level(&app, folder.path().join("baked")).with_source(file.clone());
    app.world_mut().spawn(level);
    tick_app_until_lit(&mut app);
    let floor = app.world_mut().query_filtered::<Entity, With<Lightmap>>().iter(app.world()).next().unwrap();
    let before = page_of(&app, floor);
    settle(&mut app, 0);
    assert!(page_of(&app, floor) == before && status(&app).rays == 0, "{:?}", status(&app));
    let lit = sum_of_reds(&before.1);
    let lamp = app.world_mut().query_filtered::<Entity, With<PointLight>>().iter(app.world()).next().unwrap();
    change(&mut app, |app| app.world_mut().get_mut::<PointLight>(lamp).unwrap().intensity *= 0.5);
    let half = sum_of_reds(&page_of(&app, floor).1);
    assert!((half / lit - 0.5).abs() < 0.005 && status(&app).rays == 0, "{half} of {lit}");
}

#[test]
fn a_panel_that_dims_in_its_place_is_exact_in_the_next_update_at_one_frame_a_second() {
    let folder = tempfile::tempdir().unwrap();
    bake_room(folder.path(), Some(50));
    let mut app = create_world_app();
    // As in a game, with smoothing.
    app.insert_resource(Relight::default());
    spawn_scene(app.world_mut(), &bevy_radiosity::scene_files::load("builtin:cornell_box").unwrap().scene);
    let level = baked_level(&app, folder.path()).with_source("builtin:cornell_box");
    app.world_mut().spawn(level);
    tick_app_until_lit(&mut app);
    tick_app_until(&mut app, "the level", |app| status(app).is_active && status(app).updates > 0);
    settle(&mut app, 0);
    let lit = app.world_mut().query_filtered::<Entity, With<Lightmap>>().iter(app.world()).next().unwrap();
    let before = sum_of_reds(&page_of(&app, lit).1);
    for factor in [0.25, 0.0] {
        let updates = status(&app).updates;
        dim_panels(&mut app, factor);
        while status(&app).updates == updates {
            std::thread::sleep(Duration::from_secs(1));
            app.update();
        }
        let RelightStatus { rays, behind, is_refining, waiting, .. } = *status(&app);
        assert_eq!((rays, behind, is_refining, waiting), (0, 0.0, false, 0));
        // All light of the room comes from its panel. Pages have nine bits a channel.
        let ratio = sum_of_reds(&page_of(&app, lit).1) / before;
        assert!((ratio - factor).abs() < 0.01 * factor + 1e-4, "{ratio}");
    }
}

/// Scales the emission of all materials.
pub fn dim_panels(app: &mut App, factor: f32) {
    let mut materials = app.world_mut().resource_mut::<Assets<StandardMaterial>>();
    let ids: Vec<_> = materials.ids().collect();
    ids.into_iter().for_each(|id| materials.get_mut(id).unwrap().emissive *= factor);
}

/// Returns the sum of the red channel of a page in the file format.
pub fn sum_of_reds(page: &[u8]) -> f32 {
    page.as_chunks::<4>().0.iter().map(|texel| rgb9e5::decode(u32::from_le_bytes(*texel)).x).sum()
}

#[test]
fn a_panel_that_comes_after_its_light_is_followed_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    bake_room(folder.path(), Some(50));
    let mut app = create_world_app();
    app.insert_resource(at_once());
    let level = baked_level(&app, folder.path()).with_source("builtin:cornell_box");
    app.world_mut().spawn(level);
    tick_app_until(&mut app, "the level", |app| status(app).is_active);
    settle(&mut app, 0);
    spawn_scene(app.world_mut(), &bevy_radiosity::scene_files::load("builtin:cornell_box").unwrap().scene);
    tick_app_until_lit(&mut app);
    tick_app_times(&mut app, 2);
    let lit = app.world_mut().query_filtered::<Entity, With<Lightmap>>().iter(app.world()).next().unwrap();
    let before = sum_of_reds(&page_of(&app, lit).1);
    change(&mut app, |app| dim_panels(app, 0.25));
    // All light of the room comes from its panel.
    let ratio = sum_of_reds(&page_of(&app, lit).1) / before;
    assert!((ratio / 0.25 - 1.0).abs() < 0.06, "{ratio}");
}

pub fn f32_of_half(bits: u16) -> f32 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023) / 1024.0);
    if exponent == 0 { mantissa * 2f32.powi(-14) } else { (1.0 + mantissa) * 2f32.powi(exponent - 15) }
}

#[test]
fn direct_light_is_drawn_once_whether_it_is_in_the_pages_or_not() {
    let Some(mut app) = create_drawing_app() else { return };
    let picture = spawn_camera(&mut app, Vec3::Y, Vec3::ZERO);
    let (_, lamp) = spawn_lit_floor(&mut app, 2.0, 4000.0);
    tick_app_times(&mut app, 2);
    app.insert_resource(at_once());
    bake(&mut app, relightable(Content::Full)).unwrap();
    // The value right below a lamp of 4000 cd at 2 m, as in `drawn`.
    let below = 0.5 * 1000.0 / core::f32::consts::PI * exposure();
    assert_red(&mut app, &picture, below, 0.03);

    let is_silent = |app: &App| !app.world().get::<PointLight>(lamp).unwrap().affects_lightmapped_mesh_diffuse;
    change(&mut app, |app| app.world_mut().get_mut::<PointLight>(lamp).unwrap().intensity *= 0.25);
    assert!(is_silent(&app), "it is still in the pages");
    assert_red(&mut app, &picture, 0.25 * below, 0.03);

    // 1 m aside: 4/5 of the irradiance by distance, times a cosine of 2 / sqrt(5).
    change(&mut app, |app| move_to(app, lamp, Vec3::new(1.0, 2.0, 0.0)));
    tick_app_times(&mut app, 2);
    assert!(!is_silent(&app), "Bevy draws it");
    let aside = 0.25 * below * 4.0 / 5.0 * 2.0 / 5f32.sqrt();
    assert_red(&mut app, &picture, aside, 0.06);

    change(&mut app, |app| move_to(app, lamp, Vec3::new(0.0, 2.0, 0.0)));
    tick_app_times(&mut app, 2);
    assert!(is_silent(&app));
    assert_red(&mut app, &picture, 0.25 * below, 0.03);
}

/// Bakes a built-in room as the command line does.
pub fn bake_room(folder: &Path, relight: Option<u32>) {
    let scene = bevy_radiosity::scene_files::load("builtin:cornell_box").unwrap().scene;
    let settings = BakeSettings { relight: relight.map(RelightPatches), ..quick_bake().settings };
    bake::run(scene, &settings, &Unobserved).unwrap().write(folder).unwrap();
}

/// Returns the relighting status of a level.
fn said_of(folder: &Path, source: Option<&'static str>) -> RelightStatus {
    let mut app = create_world_app();
    app.insert_resource(Relight::default());
    let level = BakedLevel { source: source.map(Into::into), ..baked_level(&app, folder) };
    app.world_mut().spawn(level);
    tick_app_until(&mut app, "a word", |app| status(app).is_active || status(app).problem.is_some());
    status(&app).clone()
}

#[test]
fn a_level_that_cannot_be_relit_says_why_and_stays_as_it_is() {
    let (with, without) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    bake_room(with.path(), Some(50));
    bake_room(without.path(), None);
    let problem = |folder, source| said_of(folder, source).problem.expect("it cannot be relit");
    let missing = problem(without.path(), Some("builtin:cornell_box"));
    assert!(missing.contains("--relight"), "{missing}");
    let no_source = problem(with.path(), None);
    assert!(no_source.contains("with_source"), "{no_source}");
    let stale = problem(with.path(), Some("builtin:cornell_empty"));
    assert!(stale.contains("has changed") && stale.contains("relight.bin"), "{stale}");
    let good = said_of(with.path(), Some("builtin:cornell_box"));
    assert!(good.is_active && good.transport_error > 0.0, "{good:?}");
}

#[test]
fn a_level_that_has_changed_keeps_its_lightmaps_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    bake_room(folder.path(), Some(50));
    let pages = |source: Option<&'static str>| {
        let mut app = create_world_app();
        spawn_scene(app.world_mut(), &bevy_radiosity::scene_files::load("builtin:cornell_box").unwrap().scene);
        let level = baked_level(&app, folder.path());
        match source {
            Some(source) => {
                app.insert_resource(Relight::default());
                app.world_mut().spawn(level.with_source(source));
                tick_app_until(&mut app, "a word", |app| status(app).problem.is_some());
                assert!(status(&app).problem.as_ref().unwrap().contains("has changed"), "{:?}", status(&app));
            }
            None => _ = app.world_mut().spawn(level),
        }
        tick_app_until_lit(&mut app);
        tick_app_times(&mut app, 10);
        let shown: Vec<Entity> = app.world_mut().query_filtered::<Entity, With<Lightmap>>().iter(app.world()).collect();
        shown.into_iter().map(|entity| page_of(&app, entity).1).collect::<Vec<_>>()
    };
    let baked = pages(None);
    assert!(baked.iter().flatten().any(|byte| *byte != 0));
    assert_eq!(pages(Some("builtin:cornell_empty")), baked);
}
