use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use bevy::math::{Affine2, Quat, Vec4};
use bevy::prelude::{Entity, Handle};

use super::answer::answer;
use super::message::{Line, Message};
use super::request::{decode, encode};
use super::solver::WorkerSolver;
use crate::bake::{BakeError, BakeSettings, RelightPatches, Report};
use crate::builtin_scenes;
use crate::lightmap::LayoutSettings;
use crate::parts::finish;
use crate::plugin::background::{RadiosityThreads, Task};
use crate::plugin::job::events::{Bake, BakeFailure};
use crate::plugin::job::preview::{PreviewingWatch, Previews};
use crate::plugin::job::progress::Watch;
use crate::plugin::job::solve::Solved;
use crate::plugin::job::thread::solve;
use crate::plugin::state::RelightOrigin;
use crate::plugin::sync::WorldScene;
use crate::plugin::write_back::Target;
use crate::scene::{EnvironmentMap, Scene, Sky, Texels, Texture, TextureId, TextureRef, UvChannel, Wrap, hash};

/// Returns a room with each kind of data that a scene may have.
fn room() -> Scene {
    let mut scene = builtin_scenes::build("cornell_box").unwrap();
    let texture = |name: &str, texels| Texture {
        name: name.to_owned(),
        width: 2,
        height: 1,
        texels,
        wrap: [Wrap::Repeat, Wrap::Clamp],
        mip_chains: Default::default(),
    };
    scene.textures = vec![
        Arc::new(texture("tiles", Texels::Srgb8(vec![[200, 100, 50, 255], [20, 30, 40, 255]]))),
        Arc::new(texture("roughness", Texels::Linear8(vec![[1, 2, 3, 4], [5, 6, 7, 8]]))),
    ];
    scene.materials[0].base_color_texture = Some(TextureRef {
        texture: TextureId(0),
        channel: UvChannel::Uv0,
        transform: Affine2::from_scale(bevy::math::Vec2::splat(2.0)),
    });
    let sky = texture("sky", Texels::Float(vec![Vec4::new(1.0, 2.0, 3.0, 1.0), Vec4::splat(0.5)]));
    scene.sky = Sky::Map(EnvironmentMap {
        texture: Arc::new(sky),
        scale: 100.0,
        rotation: Quat::from_xyzw(0.0, 0.6, 0.0, 0.8),
    });
    scene
}

fn world() -> WorldScene {
    let scene = room();
    let entity = |index: usize| Entity::from_raw_u32(index as u32 + 1).unwrap();
    let surfaces = scene.surfaces.iter().enumerate();
    let surfaces = surfaces.map(|(index, surface)| (surface.key.clone(), (entity(index), Handle::default()))).collect();
    WorldScene { scene, surfaces, ..WorldScene::default() }
}

fn bake() -> Bake {
    let settings = BakeSettings {
        layout: LayoutSettings { texels_per_meter: 8.0, ..LayoutSettings::default() },
        relight: Some(RelightPatches(50)),
        volume: Some(Default::default()),
        ..BakeSettings::default()
    };
    let mut bake = Bake { settings, ..Bake::default() };
    bake.settings.solver.error = 0.1;
    bake
}

fn watch() -> PreviewingWatch {
    PreviewingWatch { watch: Arc::new(Watch::default()), previews: Arc::new(Previews::new(false)) }
}

/// Starts a thread in place of a browser's worker.
fn start_thread(request: Vec<Vec<u8>>) -> Result<Line<()>, String> {
    let (sender, messages) = channel();
    let tell = move |message: &Message| _ = sender.send(postcard::to_allocvec(message).unwrap());
    // It runs to its end without its task.
    drop(Task::start("worker", RadiosityThreads::default(), move || async move { answer(request, &tell) })?);
    Ok(Line { messages: Mutex::new(messages), _worker: () })
}

fn wait(mut solver: WorkerSolver<()>) -> Result<Solved, BakeFailure> {
    loop {
        if let Some(ended) = solver.poll() {
            return ended;
        }
        core::hint::spin_loop();
    }
}

#[test]
fn a_scene_arrives_as_it_was_sent() {
    let (scene, settings) = (room(), bake().settings);
    let parts = finish(encode(&scene, &settings)).unwrap();
    assert_eq!(parts.len(), 2 + scene.meshes.len() + scene.textures.len());
    let (arrived, arrived_settings) = decode(parts.clone()).unwrap();
    assert_eq!(hash(&arrived), hash(&scene));
    assert_eq!(arrived_settings, settings);
    let damaged = decode(parts[..3].to_vec()).unwrap_err().to_string();
    assert_eq!(damaged, "a message between the page and its worker is damaged: a part is missing");
}

#[test]
fn a_worker_bakes_the_same_as_a_thread() {
    let watch_of_worker = watch();
    let watched = Arc::clone(&watch_of_worker.watch);
    let here = solve(&bake(), world(), &watch()).unwrap();
    let there = wait(WorkerSolver::start_by(start_thread, bake(), world(), watch_of_worker).unwrap()).unwrap();
    assert_eq!(there.pages, here.pages);
    let place = |target: &Target| (target.entity, target.page, target.uv_rect, Arc::clone(&target.unwrap));
    let places_of = |solved: &Solved| solved.targets.iter().map(place).collect::<Vec<_>>();
    assert_eq!(places_of(&there), places_of(&here));
    let lasting = |report: &Report| Report { seconds: BTreeMap::new(), peak_memory_bytes: 0, ..report.clone() };
    assert_eq!(lasting(&there.report), lasting(&here.report));
    assert!(here.volume.is_some() && there.volume == here.volume);
    let validity = |solved: &Solved| solved.validity.0.iter().map(|page| page.texels.clone()).collect::<Vec<_>>();
    assert_eq!(validity(&there), validity(&here));
    assert_eq!(there.tree, here.tree);
    assert_eq!(there.places.len(), here.places.len());
    let [RelightOrigin::Bake(there), RelightOrigin::Bake(here)] = [there.relight, here.relight] else {
        panic!("both can be relit");
    };
    assert!(there.level.pages == here.level.pages && there.level.precomputed == here.level.precomputed);
    assert_eq!(there.level.elements.center, here.level.elements.center);
    assert_eq!((there.owners, there.places, there.error), (here.owners, here.places, here.error));
    assert!(there.has_own_units && watched.progress.lock().unwrap().is_some());
    assert!(!watched.passes.lock().unwrap().is_empty());
}

#[test]
fn surfaces_that_share_a_mesh_share_it_after_the_journey() {
    let bake = Bake { settings: BakeSettings { relight: None, volume: None, ..bake().settings }, ..bake() };
    let mut world = world();
    let (first, mut twin) = (world.scene.surfaces[0].clone(), world.scene.surfaces[0].clone());
    twin.key = crate::scene::SurfaceKey("twin".to_owned());
    twin.to_world.translation.x += 3.0;
    world.surfaces.insert(twin.key.clone(), (Entity::from_raw_u32(99).unwrap(), Handle::default()));
    world.scene.surfaces.push(twin);
    let solved = wait(WorkerSolver::start_by(start_thread, bake, world.clone(), watch()).unwrap()).unwrap();
    let unwrap_of = |entity| {
        let target = solved.targets.iter().find(|target| target.entity == entity).unwrap();
        Arc::as_ptr(&target.unwrap)
    };
    assert_eq!(unwrap_of(Entity::from_raw_u32(99).unwrap()), unwrap_of(world.surfaces[&first.key].0));
}

#[test]
fn a_refused_bake_says_why() {
    let mut bake = bake();
    // More patches than elements: only the bake itself knows.
    bake.settings.relight = Some(RelightPatches(1_000_000));
    let here = solve(&bake, world(), &watch()).err().unwrap();
    let there = wait(WorkerSolver::start_by(start_thread, bake.clone(), world(), watch()).unwrap()).err().unwrap();
    assert!(matches!(there, BakeFailure::Worker(_)));
    assert_eq!(there.to_string(), here.to_string());
    bake.settings.solver.error = f32::NAN;
    let refused = WorkerSolver::start_by(start_thread, bake, world(), watch()).err().unwrap();
    assert!(matches!(refused, BakeFailure::Bake(BakeError::Setting { .. })), "{refused}");
}

#[test]
fn a_worker_that_never_begins_was_refused_by_the_browser() {
    let refuse = |_| {
        let (_, messages) = channel();
        Ok(Line { messages: Mutex::new(messages), _worker: () })
    };
    let failure = wait(WorkerSolver::start_by(refuse, bake(), world(), watch()).unwrap()).err().unwrap();
    assert!(
        matches!(failure, BakeFailure::Threads(_)) && failure.to_string().contains("worker-src blob:"),
        "{failure}"
    );
}

#[test]
fn a_worker_that_stops_is_a_fault_and_one_that_is_canceled_ends() {
    let stop = |_| {
        let (sender, messages) = channel();
        sender.send(postcard::to_allocvec(&Message::Begun).unwrap()).unwrap();
        Ok(Line { messages: Mutex::new(messages), _worker: () })
    };
    let failure = wait(WorkerSolver::start_by(stop, bake(), world(), watch()).unwrap()).err().unwrap();
    assert!(matches!(failure, BakeFailure::Fault), "{failure}");
    let watch = watch();
    watch.watch.cancelled.store(true, Ordering::Relaxed);
    let failure = wait(WorkerSolver::start_by(start_thread, bake(), world(), watch).unwrap()).err().unwrap();
    assert!(failure.is_cancelled(), "{failure}");
}
