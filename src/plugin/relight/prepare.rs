//! Preparation of a level for relighting: its files are loaded and read, and its threads started.

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;

use super::doors::DoorState;
use super::graphics::Drawn;
use super::origin::{LevelAssets, OriginError};
use super::relighting::Relighting;
use super::settings::{Relight, RelightStatus};
use super::update::Drawer;
use super::watch::{HasChanges, Surfaces};
use crate::plugin::assets::{RelightFiles, SceneFile};
use crate::plugin::background::{Fault, RadiosityThreads, Task, Worker};
use crate::plugin::state::{Pages, RelightLevel, RelightOrigin, RemovedFromLightmaps};
use crate::plugin::write_back::apply_lights;
use crate::relight::{transport_errors, transport_warning};

/// Level that is being relit or prepared.
#[derive(Component, Default)]
#[require(RelightStatus, RemovedFromLightmaps, Drawn)]
pub struct RelightState(pub Stage);

#[derive(Default)]
pub enum Stage {
    /// It cannot be relit: [`RelightStatus::problem`] says why.
    #[default]
    Stopped,
    Loading(LevelAssets),
    Reading(Task<Result<RelightLevel, OriginError>>),
    Waiting(Box<RelightLevel>),
    Relighting(Box<Relighting>),
}

/// Run condition: there is a new level, and relighting is wanted or ends.
pub fn has_origins(relight: Option<Res<Relight>>, origins: Query<&RelightOrigin>) -> bool {
    origins.iter().any(|origin| relight.is_some() || matches!(origin, RelightOrigin::Gone))
}

/// Takes levels that were baked or read since the previous frame.
pub fn take_origins(world: &mut World) {
    let is_wanted = world.contains_resource::<Relight>();
    let mut origins = world.query::<(Entity, &RelightOrigin)>();
    let is_taken = |(_, origin): &(Entity, &RelightOrigin)| is_wanted || matches!(origin, RelightOrigin::Gone);
    let levels: Vec<Entity> = origins.iter(world).filter(is_taken).map(|(level, _)| level).collect();
    let server = world.resource::<AssetServer>().clone();
    for level in levels {
        let mut level = world.entity_mut(level);
        level.remove::<(RelightState, RelightStatus, RemovedFromLightmaps, Drawn)>();
        let stage = match level.take::<RelightOrigin>() {
            None | Some(RelightOrigin::Gone) => continue,
            Some(RelightOrigin::Static(reason)) => Err(reason),
            Some(RelightOrigin::Bake(level)) => Ok(Stage::Waiting(level)),
            Some(RelightOrigin::Files(baked, shown)) => {
                LevelAssets::load(&baked, shown, &server).map(Stage::Loading).map_err(|error| error.to_string())
            }
        };
        let mut status = RelightStatus::default();
        let stage = stage.unwrap_or_else(|reason| status.stop(reason));
        level.insert((RelightState(stage), status));
    }
    apply_lights(world);
}

/// Assets that relight a level.
#[derive(SystemParam)]
pub struct RelightAssets<'w> {
    server: Res<'w, AssetServer>,
    files: Res<'w, Assets<RelightFiles>>,
    scenes: Res<'w, Assets<SceneFile>>,
    images: Res<'w, Assets<Image>>,
}

/// Run condition: a level is being prepared, and relighting is wanted.
pub fn is_preparing(relight: Option<Res<Relight>>, levels: Query<&RelightState>) -> bool {
    let prepares = |state: &RelightState| matches!(state.0, Stage::Loading(_) | Stage::Reading(_) | Stage::Waiting(_));
    relight.is_some() && levels.iter().any(prepares)
}

/// Advances the preparation of levels by one step.
pub fn prepare(
    mut levels: Query<(&mut RelightState, &mut RelightStatus, &mut Drawn, &Pages)>,
    mut changes: ResMut<HasChanges>,
    assets: RelightAssets,
    threads: Res<RadiosityThreads>,
) {
    for (mut state, mut status, mut drawn, pages) in &mut levels {
        state.0 = match core::mem::take(&mut state.0) {
            Stage::Loading(loading) => match loading.poll(&assets.server, &assets.files, &assets.scenes) {
                Ok(None) => Stage::Loading(loading),
                Ok(Some(source)) => match Task::start("relight files", *threads, move || source.read()) {
                    Ok(task) => Stage::Reading(task),
                    Err(error) => status.stop(format!("there is no thread to relight with: {error}")),
                },
                Err(error) => status.stop(error.to_string()),
            },
            Stage::Reading(mut task) => match task.poll() {
                None => Stage::Reading(task),
                Some(Ok(Ok(level))) => {
                    // A bake of this app has logged its warnings.
                    warning_of(&level).iter().for_each(|warning| warn!("{warning}"));
                    Stage::Waiting(Box::new(level))
                }
                Some(Ok(Err(error))) => status.stop(error.to_string()),
                Some(Err(Fault)) => {
                    status.stop("reading what to relight with stopped by a fault of its own".to_owned())
                }
            },
            Stage::Waiting(level) if are_shown(pages, &level, &assets.images) => {
                changes.0 = true;
                *drawn = Drawn::begin(&pages.images);
                status.start(*level, *threads)
            }
            other => other,
        };
    }
}

impl RelightStatus {
    /// Starts relighting of a shown level.
    fn start(&mut self, level: RelightLevel, threads: RadiosityThreads) -> Stage {
        let surfaces = Surfaces::new(&level);
        let door_state = DoorState::new(&level, threads);
        let transport_warning = warning_of(&level);
        let RelightLevel { level, format, error, .. } = level;
        match Worker::start("relight", threads, move || Drawer::make(level, format), Drawer::work) {
            Ok(worker) => {
                *self = Self { is_active: true, transport_error: error, transport_warning, ..default() };
                Stage::Relighting(Box::new(Relighting::new(worker, surfaces, door_state, format)))
            }
            Err(reason) => self.stop(format!("there are no threads to relight with: {reason}")),
        }
    }

    /// Stops with a reason.
    pub fn stop(&mut self, reason: String) -> Stage {
        warn!("{reason}; lightmaps stay as they are");
        *self = Self { problem: Some(reason), ..default() };
        Stage::Stopped
    }
}

fn warning_of(RelightLevel { level, .. }: &RelightLevel) -> Option<String> {
    transport_warning(&transport_errors(&level.scene, &level.precomputed.contributions))
}

/// Returns true when the images of a level's pages exist and can be rewritten.
fn are_shown(pages: &Pages, level: &RelightLevel, images: &Assets<Image>) -> bool {
    let sizes = level.level.pages.iter().map(|page| UVec2::new(page.width, page.height));
    let format = level.format.texture_format();
    let fits = |(handle, size): (&Handle<Image>, UVec2)| {
        let image = images.get(handle);
        image.is_some_and(|image| image.size() == size && image.texture_descriptor.format == format)
    };
    pages.images.len() == level.level.pages.len() && pages.images.iter().zip(sizes).all(fits)
}
