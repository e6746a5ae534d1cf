//! Tests of baked levels as assets: their sources, their reloads, and their failures.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bevy::prelude::*;
use bevy_radiosity::plugin::{Baked, BakedLevelFailed};
use bevy_radiosity::prelude::*;

use crate::app::*;
use crate::levels::{brightest, save_bake, save_two_bakes};

/// Errors of levels, in order, and the number of levels that were read.
#[derive(Resource, Default)]
struct Heard {
    failures: Vec<String>,
    loads: usize,
}

fn listen(app: &mut App) {
    app.init_resource::<Heard>()
        .add_observer(|failed: On<BakedLevelFailed>, mut heard: ResMut<Heard>| {
            heard.failures.push(failed.error.to_string());
        })
        .add_observer(|_: On<BakedLevelLoaded>, mut heard: ResMut<Heard>| heard.loads += 1);
}

fn heard(app: &App) -> &Heard {
    app.world().resource::<Heard>()
}

/// Copies the files of a folder into an app's memory.
fn copy_into_memory(app: &App, folder: &Path, path: &str) {
    let Memory(memory) = app.world().resource::<Memory>();
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap();
        memory.insert_asset(&Path::new(path).join(file.file_name()), fs::read(file.path()).unwrap());
    }
}

#[cfg(feature = "gltf")]
#[test]
fn a_level_in_memory_is_shown_and_relit() {
    use crate::relight::{at_once, change, page_of, relightable, settle, sum_of_reds};
    use bevy::world_serialization::WorldAssetRoot;

    let mut app = create_world_app();
    listen(&mut app);
    {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("level.gltf");
        let scene = crate::levels::write_corner(&file);
        let baked = folder.path().join("level.baked");
        crate::levels::bake_scene(&scene, relightable(Content::Full), &baked);
        copy_into_memory(&app, &baked, "game/level.baked");
        let Memory(memory) = app.world().resource::<Memory>();
        memory.insert_asset(Path::new("game/level.gltf"), fs::read(&file).unwrap());
    }
    app.insert_resource(at_once());
    let assets = app.world().resource::<AssetServer>();
    let level = assets.load(GltfAssetLabel::Scene(0).from_asset("memory://game/level.gltf"));
    let baked = assets.load("memory://game/level.baked/level.ron");
    app.world_mut().spawn((WorldAssetRoot(level), BakedLevel::new(baked).with_source("memory://game/level.gltf")));
    tick_app_until_lit(&mut app);
    tick_app_until(&mut app, "both squares", |app| app.world_mut().query::<&Baked>().iter(app.world()).count() == 2);
    settle(&mut app, 0);
    let floor = app.world_mut().query_filtered::<Entity, With<Baked>>().iter(app.world()).next().unwrap();
    let light = |app: &App| sum_of_reds(&page_of(app, floor).1);
    let before = light(&app);
    change(&mut app, |app| {
        let mut lamps = app.world_mut().query::<&mut PointLight>();
        lamps.single_mut(app.world_mut()).unwrap().intensity *= 0.25;
    });
    // All light comes from the lamp.
    let ratio = light(&app) / before;
    assert!((ratio - 0.25).abs() < 0.02, "{ratio}");
    assert_eq!(heard(&app).failures, [""; 0]);
}

#[test]
fn a_bake_into_the_asset_folder_is_loaded_from_there_whatever_the_working_directory_is() {
    let assets = tempfile::tempdir().unwrap();
    let mut app = create_world_app_of(assets.path());
    spawn_lit_floor(&mut app, 2.0, 100.0);
    bake(&mut app, Bake { folder: Some("levels/hall.baked".into()), ..quick_bake() }).unwrap();
    assert!(assets.path().join("levels/hall.baked/level.ron").is_file());
    let mut app = create_world_app_of(assets.path());
    spawn_lit_floor(&mut app, 2.0, 100.0);
    let level = app.world().resource::<AssetServer>().load("levels/hall.baked/level.ron");
    app.world_mut().spawn(BakedLevel::new(level));
    tick_app_until_lit(&mut app);
}

/// Loads the assets of a path again, and waits until their levels are shown, or have failed.
fn reload(app: &mut App, folder: &Path) {
    let before = (heard(app).loads, heard(app).failures.len());
    app.insert_resource(Level::default());
    app.world().resource::<AssetServer>().reload(folder.join("level.ron"));
    tick_app_until(app, "the reload", |app| (heard(app).loads, heard(app).failures.len()) != before);
    if heard(app).loads > before.0 {
        tick_app_until_lit(app);
    }
}

#[test]
fn a_level_that_is_baked_again_is_shown_anew_and_a_damaged_one_is_not() {
    let [folder, other] = save_two_bakes();
    let mut app = create_world_app();
    listen(&mut app);
    spawn_lit_floor(&mut app, 2.0, 100.0);
    spawn_baked_level(&mut app, folder.path());
    tick_app_until_lit(&mut app);
    let first = brightest(&mut app);
    for entry in fs::read_dir(other.path()).unwrap() {
        let file = entry.unwrap();
        fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    reload(&mut app, folder.path());
    let second = brightest(&mut app);
    assert!((second / first - 0.5).abs() < 0.05, "{second} after {first}");

    let page = folder.path().join("page_0.ktx2");
    let good = fs::read(&page).unwrap();
    fs::write(&page, &good[1..]).unwrap();
    reload(&mut app, folder.path());
    tick_app_times(&mut app, 10);
    let Heard { failures, .. } = heard(&app);
    assert!(failures.len() == 1 && failures[0].contains("page_0.ktx2 is damaged"), "{failures:?}");
    assert_eq!(brightest(&mut app), second, "the level before stays");
    fs::write(&page, good).unwrap();
    reload(&mut app, folder.path());
    assert_eq!((heard(&app).failures.len(), heard(&app).loads), (1, 3));
    assert_eq!(brightest(&mut app), second);
}

#[test]
fn a_level_loads_while_bakes_replace_it() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = [4.0, 5.0].map(|texels_per_meter| {
        let mut settings = quick_bake().settings;
        settings.layout.texels_per_meter = texels_per_meter;
        let scene = bevy_radiosity::scene_files::load("builtin:cornell_box").unwrap().scene;
        bevy_radiosity::bake::run(scene, &settings, &bevy_radiosity::bake::Unobserved).unwrap()
    });
    let mut bakes = [one, other];
    bakes[0].write(folder.path()).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut writes = 0;
            while !is_done.load(Ordering::Relaxed) {
                writes += 1;
                bakes[writes % 2].write(folder.path()).unwrap();
            }
            writes
        });
        let mut app = create_world_app();
        listen(&mut app);
        spawn_baked_level(&mut app, folder.path());
        for loads in 1..=30 {
            let has_ended = |app: &mut App| heard(app).loads + heard(app).failures.len() == loads;
            tick_app_until(&mut app, "the level", has_ended);
            app.world().resource::<AssetServer>().reload(folder.path().join("level.ron"));
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 1);
        assert_eq!(heard(&app).failures, [""; 0]);
    });
}

#[test]
fn what_is_missing_is_named_once() {
    let folder = save_bake(|app| _ = spawn_lit_floor(app, 2.0, 100.0));
    for name in ["level.ron", "page_0.ktx2", "validity_0.png", "unwrapped_meshes.bin", "volume.exr"] {
        let path = folder.path().join(name);
        let content = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let mut app = create_world_app();
        listen(&mut app);
        spawn_lit_floor(&mut app, 2.0, 100.0);
        let first = spawn_baked_level(&mut app, folder.path());
        tick_app_until(&mut app, "a failure", |app| !heard(app).failures.is_empty());
        tick_app_times(&mut app, 10);
        assert_eq!(heard(&app).failures.len(), 1, "{:?}", heard(&app).failures);
        // A level of the same handle that comes later hears of it, too.
        let level = app.world().get::<BakedLevel>(first).unwrap().clone();
        app.world_mut().spawn(level);
        tick_app_times(&mut app, 10);
        let Heard { failures, loads } = heard(&app);
        assert!(failures.len() == 2 && failures.iter().all(|said| said.contains(name)), "{failures:?}");
        let loads = *loads;
        assert_eq!((loads, app.world_mut().query::<&Baked>().iter(app.world()).count()), (0, 0), "{name}");
        fs::write(path, content).unwrap();
    }
}

#[test]
fn a_level_without_an_asset_says_how_to_load_one() {
    let mut app = create_world_app();
    listen(&mut app);
    app.world_mut().spawn(BakedLevel::default());
    tick_app_times(&mut app, 5);
    let Heard { failures, .. } = heard(&app);
    assert!(failures.len() == 1 && failures[0].contains("level.ron"), "{failures:?}");
}
