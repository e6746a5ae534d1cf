//! From frame to frame: what to ask the worker for, and where its pages go.

use std::collections::HashSet;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bevy::diagnostic::Diagnostics;
use bevy::ecs::system::SystemParam;
use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;

use super::origin::{OriginError, RelightLevel, RelightOrigin};
use super::watch::{Changes, Panels, read_lights};
use super::worker::{Done, Job, Worker};
use super::{RELIGHT_BEHIND, RELIGHT_MAIN_THREAD, RELIGHT_UPDATE, Relight, RelightExclude, RelightStatus};
use crate::plugin::components::SceneSettings;
use crate::plugin::sync::SceneReader;
use crate::plugin::write_back::{Baked, PageFormat, Pages, apply_lights};
use crate::relight::UpdateSettings;

/// Lamps whose direct light is no longer in pages that held it.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct HandedOver(pub HashSet<Entity>);

/// The level that is being relit, or is on its way to be.
#[derive(Resource, Default)]
pub struct Showing(Stage);

#[derive(Default)]
enum Stage {
    #[default]
    Nothing,
    Reading(JoinHandle<Result<RelightLevel, OriginError>>),
    Waiting(Box<RelightLevel>),
    Relighting(Box<Relighting>),
}

struct Relighting {
    worker: Worker,
    panels: Panels,
    format: PageFormat,
    is_settled: bool,
    was_enabled: bool,
    shown: Option<Instant>,
    last_update: Duration,
}

/// What is read of the world for an update.
#[derive(SystemParam)]
pub struct LitWorld<'w, 's> {
    reader: SceneReader<'w, 's>,
    excluded: Query<'w, 's, (), With<RelightExclude>>,
    parents: Query<'w, 's, &'static ChildOf>,
    panels: Query<'w, 's, (&'static Baked, &'static MeshMaterial3d<StandardMaterial>)>,
    materials: Res<'w, Assets<StandardMaterial>>,
    settings: Res<'w, SceneSettings>,
}

/// Takes up what has been baked or read since the frame before.
pub fn begin(
    mut showing: ResMut<Showing>,
    mut origin: ResMut<RelightOrigin>,
    mut status: ResMut<RelightStatus>,
    mut handed: ResMut<HandedOver>,
    mut changes: ResMut<Changes>,
    relight: Option<Res<Relight>>,
    pages: Res<Pages>,
    images: Res<Assets<Image>>,
) {
    if relight.is_none() {
        return;
    }
    let stop = |status: &mut RelightStatus, reason: String| {
        warn!("{reason}; lightmaps stay as they were baked");
        *status = RelightStatus { problem: Some(reason), ..default() };
        Stage::Nothing
    };
    match core::mem::take(&mut *origin) {
        RelightOrigin::None => {}
        RelightOrigin::Gone => {
            handed.set_if_neq(HandedOver::default());
            *status = RelightStatus::default();
            showing.0 = Stage::Nothing;
        }
        RelightOrigin::Static(reason) => {
            handed.set_if_neq(HandedOver::default());
            showing.0 = stop(&mut status, reason);
        }
        RelightOrigin::Bake(level) => {
            handed.set_if_neq(HandedOver::default());
            showing.0 = Stage::Waiting(level);
        }
        RelightOrigin::Files(folder, source) => {
            handed.set_if_neq(HandedOver::default());
            let read = move || RelightLevel::read(&folder, source.as_deref());
            showing.0 = match std::thread::Builder::new().name("relight files".to_owned()).spawn(read) {
                Ok(thread) => Stage::Reading(thread),
                Err(error) => stop(&mut status, format!("there is no thread to relight with: {error}")),
            };
        }
    }
    showing.0 = match core::mem::take(&mut showing.0) {
        Stage::Reading(thread) if thread.is_finished() => match thread.join() {
            Ok(Ok(level)) => Stage::Waiting(Box::new(level)),
            Ok(Err(error)) => stop(&mut status, error.to_string()),
            Err(_) => stop(&mut status, "reading what to relight with stopped by a fault of its own".to_owned()),
        },
        Stage::Waiting(level) if are_shown(&level, &pages, &images) => {
            let panels = Panels::new(&level);
            let RelightLevel { level, format, error, .. } = *level;
            match Worker::start(level, format) {
                Ok(worker) => {
                    *status = RelightStatus { is_active: true, transport_error: error, ..default() };
                    *changes = Changes { lights: true, panels: true };
                    let last_update = Duration::MAX;
                    let (is_settled, was_enabled, shown) = (true, true, None);
                    let new = Relighting { worker, panels, format, is_settled, was_enabled, shown, last_update };
                    Stage::Relighting(Box::new(new))
                }
                Err(reason) => stop(&mut status, format!("there are no threads to relight with: {reason}")),
            }
        }
        other => other,
    };
}

/// True when a level's pages are on the screen, so that they can be rewritten.
fn are_shown(level: &RelightLevel, pages: &Pages, images: &Assets<Image>) -> bool {
    let sizes = level.level.pages.iter().map(|page| UVec2::new(page.width, page.height));
    pages.0.len() == level.level.pages.len()
        && pages.0.iter().zip(sizes).all(|(handle, size)| {
            let format = level.format.texture_format();
            images.get(handle).is_some_and(|image| image.size() == size && image.texture_descriptor.format == format)
        })
}

/// Shows what the worker has done, and asks it for more.
pub fn advance(
    mut commands: Commands,
    mut showing: ResMut<Showing>,
    mut status: ResMut<RelightStatus>,
    mut handed: ResMut<HandedOver>,
    mut changes: ResMut<Changes>,
    mut images: ResMut<Assets<Image>>,
    mut diagnostics: Diagnostics,
    relight: Option<Res<Relight>>,
    pages: Res<Pages>,
    world: LitWorld,
) {
    let Stage::Relighting(relighting) = &mut showing.0 else {
        return;
    };
    let started = Instant::now();
    let settings = relight.map_or(Relight { enabled: false, ..default() }, |relight| *relight);
    let mut done = if relighting.worker.is_busy() { relighting.worker.take(Duration::ZERO) } else { None };
    let mut has_worked = done.is_some();
    if let Some(done) = done.take() {
        show(done, relighting, &mut status, &mut handed, &pages, &mut images, &mut commands);
    }
    let is_asked = (settings.enabled && (changes.lights || changes.panels || !relighting.is_settled))
        || relighting.was_enabled != settings.enabled;
    if !relighting.worker.is_busy() && is_asked {
        has_worked = true;
        let is_news = changes.lights || changes.panels;
        let lights = is_news.then(|| {
            let lights = read_lights(&world.reader, &world.excluded, &world.parents);
            (lights, relighting.panels.read(&world.panels, &world.materials, &world.settings, &pages))
        });
        *changes = Changes::default();
        relighting.was_enabled = settings.enabled;
        let now = Instant::now();
        let since = relighting.shown.map_or(Duration::ZERO, |shown| now - shown).as_secs_f32();
        // After a rest, a change begins as if a frame had passed.
        let since = since.min(0.1);
        let keep = if settings.smoothing_seconds > 0.0 && settings.enabled && relighting.shown.is_some() {
            (-since / settings.smoothing_seconds).exp()
        } else {
            0.0
        };
        relighting.shown = Some(now);
        let update = UpdateSettings { rays: settings.rays, keep };
        relighting.worker.give(Job { lights, settings: update, is_enabled: settings.enabled });
        let patience = Duration::from_secs_f32((settings.wait_milliseconds * 1e-3).clamp(0.0, 1.0));
        if relighting.last_update <= patience
            && let Some(done) = relighting.worker.take(patience)
        {
            show(done, relighting, &mut status, &mut handed, &pages, &mut images, &mut commands);
        }
    }
    if relighting.worker.is_lost() {
        let reason = "relighting stopped by a fault of its own".to_owned();
        warn!("{reason}; lightmaps stay as they are");
        *status = RelightStatus { problem: Some(reason), ..default() };
        showing.0 = Stage::Nothing;
        return;
    }
    if has_worked {
        let milliseconds = 1e3 * started.elapsed().as_secs_f64();
        status.main_thread_milliseconds = milliseconds as f32;
        diagnostics.add_measurement(&RELIGHT_MAIN_THREAD, || milliseconds);
        diagnostics.add_measurement(&RELIGHT_UPDATE, || f64::from(status.update_milliseconds));
        diagnostics.add_measurement(&RELIGHT_BEHIND, || f64::from(status.behind));
    }
}

/// Writes pages where they are shown, and says what happened.
fn show(
    done: Done,
    relighting: &mut Relighting,
    status: &mut RelightStatus,
    handed: &mut ResMut<HandedOver>,
    pages: &Pages,
    images: &mut Assets<Image>,
    commands: &mut Commands,
) {
    done.warnings.iter().for_each(|warning| warn!("{warning}"));
    relighting.is_settled = done.update.is_settled();
    relighting.last_update = done.time;
    for (page, data) in done.pages {
        let Some(handle) = pages.0.get(page) else {
            continue;
        };
        // Another bake may have put another image there.
        let fits = images.get(handle).is_some_and(|image| {
            let is_same = image.texture_descriptor.format == relighting.format.texture_format();
            is_same && image.data.as_ref().is_some_and(|before| before.len() == data.len())
        });
        if fits && let Some(mut image) = images.get_mut(handle) {
            image.data = Some(data);
        }
    }
    let moved = HandedOver(done.moved.iter().filter_map(|&bits| Entity::try_from_bits(bits)).collect());
    if handed.set_if_neq(moved) {
        commands.queue(apply_lights);
    }
    status.updates += 1;
    status.waiting = done.update.waiting;
    status.behind = done.update.behind;
    status.rays = done.update.rays;
    status.update_milliseconds = 1e3 * done.time.as_secs_f32();
}
