//! Per-frame logic of all relit levels.

use std::time::Duration;

use bevy::diagnostic::Diagnostics;
use bevy::ecs::system::SystemParam;
use bevy::pbr::StandardMaterial;
use bevy::prelude::*;

use super::doors::{DoorWorld, RelightDoor};
use super::graphics::Drawn;
use super::prepare::{RelightState, Stage};
use super::relighting::{Screen, Worked};
use super::settings::{
    RELIGHT_BEHIND, RELIGHT_DOORS, RELIGHT_MAIN_THREAD, RELIGHT_TRANSPORT_ERROR, RELIGHT_UPDATE, Relight, RelightStatus,
};
use super::watch::{HasChanges, LightReader};
use crate::clock;
use crate::plugin::components::SceneSettings;
use crate::plugin::renderer::Renderer;
use crate::plugin::state::{Baked, LevelFrame, Pages, RemovedFromLightmaps, ShownMaterial};
use crate::plugin::write_back::apply_lights;

/// World state that an update reads.
#[derive(SystemParam)]
pub struct RelightInput<'w, 's> {
    lights: LightReader<'w, 's>,
    surfaces: Query<'w, 's, (&'static Baked, ShownMaterial)>,
    materials: Res<'w, Assets<StandardMaterial>>,
    settings: Res<'w, SceneSettings>,
}

/// Run condition: a level is being relit, or returns to its baked light.
pub fn is_relighting(levels: Query<&RelightState>) -> bool {
    levels.iter().any(|state| matches!(state.0, Stage::Relighting(_)))
}

/// Run condition: lights and materials have changed, and relighting is enabled.
pub fn has_changes(changes: Res<HasChanges>, relight: Option<Res<Relight>>) -> bool {
    changes.0 && relight.is_some_and(|relight| relight.enabled)
}

/// Reads lights and materials after changes. This system also reads images, so another one writes them.
pub fn read(
    mut levels: Query<(Entity, &mut RelightState, &LevelFrame, &Pages)>,
    mut changes: ResMut<HasChanges>,
    world: RelightInput,
) {
    changes.0 = false;
    for (level, mut state, frame, pages) in &mut levels {
        let Stage::Relighting(relighting) = &mut state.0 else {
            continue;
        };
        let started = clock::now();
        let lights = world.lights.read(level, frame);
        let (panels, paints) = relighting.surfaces.read(&world.surfaces, &world.materials, &world.settings, pages);
        relighting.door_state.paint(paints);
        relighting.news = Some((lights, panels));
        relighting.reading = started.elapsed();
    }
}

/// Run condition: a relit level may have doors, or had some, and relighting is enabled.
pub fn has_doors(
    levels: Query<&RelightState>,
    relight: Option<Res<Relight>>,
    doors: Query<(), With<RelightDoor>>,
) -> bool {
    let has_doors = |state: &RelightState| match &state.0 {
        Stage::Relighting(relighting) => !doors.is_empty() || relighting.door_state.has_doors(),
        _ => false,
    };
    relight.is_some_and(|relight| relight.enabled) && levels.iter().any(has_doors)
}

/// Reads the places of doors.
pub fn find_doors(mut levels: Query<(Entity, &mut RelightState, &LevelFrame)>, world: DoorWorld) {
    for (level, mut state, frame) in &mut levels {
        if let Stage::Relighting(relighting) = &mut state.0 {
            let started = clock::now();
            relighting.door_state.read(level, frame, &world);
            relighting.reading += started.elapsed();
        }
    }
}

/// Components of a relit level.
type RelitLevel = (
    &'static mut RelightState,
    &'static mut RelightStatus,
    &'static mut RemovedFromLightmaps,
    &'static mut Drawn,
    &'static Pages,
);

/// Shows the workers' results, and sends the next jobs.
pub fn advance(
    mut commands: Commands,
    mut levels: Query<RelitLevel>,
    mut images: ResMut<Assets<Image>>,
    mut diagnostics: Diagnostics,
    relight: Option<Res<Relight>>,
    renderer: Renderer,
) {
    let sharing = levels.iter().filter(|(state, ..)| matches!(state.0, Stage::Relighting(_))).count();
    let mut frame = Frame::default();
    for (mut state, mut status, mut removed, mut drawn, pages) in &mut levels {
        let Stage::Relighting(relighting) = &mut state.0 else {
            continue;
        };
        let started = clock::now();
        relighting.count_frame(started);
        let without = Relight { enabled: false, device: relighting.device.unwrap_or_default(), ..default() };
        let settings = relight.as_deref().map_or(without, |relight| *relight).shared_by(sharing);
        let mut screen = Screen { pages, images: &mut images, drawn: &mut drawn };
        let Worked { has_worked, has_moved, doors } =
            relighting.advance(&settings, &renderer, &mut status, &mut removed, &mut screen);
        if has_moved {
            commands.queue(apply_lights);
        }
        if let Some(time) = doors {
            diagnostics.add_measurement(&RELIGHT_DOORS, || 1e3 * time.as_secs_f64());
        }
        if relighting.worker.is_lost() {
            let fault = "relighting stopped by a fault of its own".to_owned();
            *drawn = Drawn::default();
            state.0 = status.stop(fault);
            continue;
        }
        let reading = core::mem::take(&mut relighting.reading);
        if has_worked {
            let milliseconds = 1e3 * (reading + started.elapsed()).as_secs_f64();
            status.main_thread_milliseconds = milliseconds as f32;
            frame.add(milliseconds, &status);
        }
    }
    frame.report(&mut diagnostics);
}

/// Diagnostics of all levels in one frame: sums of times, and the largest distances.
#[derive(Default)]
struct Frame {
    has_worked: bool,
    main_thread: f64,
    update: f64,
    behind: f64,
    transport_error: f64,
}

impl Frame {
    fn add(&mut self, milliseconds: f64, status: &RelightStatus) {
        self.has_worked = true;
        self.main_thread += milliseconds;
        self.update += f64::from(status.update_milliseconds);
        self.behind = self.behind.max(f64::from(status.behind));
        self.transport_error = self.transport_error.max(f64::from(status.transport_error));
    }

    fn report(&self, diagnostics: &mut Diagnostics) {
        if self.has_worked {
            diagnostics.add_measurement(&RELIGHT_MAIN_THREAD, || self.main_thread);
            diagnostics.add_measurement(&RELIGHT_UPDATE, || self.update);
            diagnostics.add_measurement(&RELIGHT_BEHIND, || self.behind);
            diagnostics.add_measurement(&RELIGHT_TRANSPORT_ERROR, || self.transport_error);
        }
    }
}

impl Relight {
    /// Returns the settings of each of some levels that share the time.
    fn shared_by(self, levels: usize) -> Self {
        let levels = u32::try_from(levels).unwrap_or(u32::MAX).max(1);
        Self {
            work_per_second: self.work_per_second.min(Duration::from_secs(1)) / levels,
            max_wait: self.max_wait / levels,
            ..self
        }
    }
}
