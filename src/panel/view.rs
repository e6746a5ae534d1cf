//! View settings of cameras: read from the world, written back.

use bevy::camera::Exposure;
use bevy::ecs::query::QueryData;
use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy_egui::PrimaryEguiContext;

use crate::plugin::{Lightmaps, LiveView, LiveViewStatus};

/// Source of the image's light.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Bevy's renderer with lightmaps.
    Lightmaps,
    /// Path tracing.
    Live,
    /// Bevy's renderer without lightmaps.
    Off,
}

/// View settings that the panel edits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// True if lightmaps are shown in cameras without a live view.
    pub lightmaps: bool,
    /// True if lightmaps are filtered bicubically.
    pub bicubic: bool,
    pub live: LiveView,
    pub ev100: f32,
}

impl View {
    pub fn mode(&self) -> Mode {
        match (self.live.enabled, self.lightmaps) {
            (true, _) => Mode::Live,
            (false, true) => Mode::Lightmaps,
            (false, false) => Mode::Off,
        }
    }

    pub fn set_mode(&mut self, mode: Mode) {
        self.live.enabled = mode == Mode::Live;
        // A live view shows neither. Switching lightmaps off below it would make it read the scene again.
        if mode != Mode::Live {
            self.lightmaps = mode == Mode::Lightmaps;
        }
    }
}

/// Cameras of the world.
#[derive(SystemParam)]
pub struct Cameras<'w, 's> {
    commands: Commands<'w, 's>,
    lightmaps: ResMut<'w, Lightmaps>,
    cameras: Query<'w, 's, CameraData, With<Camera3d>>,
}

#[derive(QueryData)]
#[query_data(mutable)]
struct CameraData {
    entity: Entity,
    live: Option<&'static mut LiveView>,
    exposure: Option<&'static mut Exposure>,
    status: Option<&'static LiveViewStatus>,
    shows_panel: Has<PrimaryEguiContext>,
}

impl Cameras<'_, '_> {
    /// Returns the view of the panel's first camera, or `None` without cameras.
    pub fn view(&self) -> Option<View> {
        let camera = self.cameras.get(*self.chosen().first()?).ok()?;
        Some(View {
            lightmaps: self.lightmaps.enabled,
            bicubic: self.lightmaps.bicubic,
            live: camera.live.copied().unwrap_or(LiveView { enabled: false, ..default() }),
            ev100: camera.exposure.map_or(Exposure::default().ev100, |exposure| exposure.ev100),
        })
    }

    /// Returns the status of that camera's live view.
    pub fn status(&self) -> Option<LiveViewStatus> {
        let camera = self.cameras.get(*self.chosen().first()?).ok()?;
        camera.status.copied()
    }

    /// Writes only the differences between two views.
    pub fn change(&mut self, before: &View, after: &View) {
        self.lightmaps.set_if_neq(Lightmaps { enabled: after.lightmaps, bicubic: after.bicubic });
        for entity in self.chosen() {
            let Ok(camera) = self.cameras.get_mut(entity) else {
                continue;
            };
            if before.live != after.live {
                match camera.live {
                    Some(mut live) => {
                        let changed = with_changes(*live, &before.live, &after.live);
                        live.set_if_neq(changed);
                    }
                    None => {
                        self.commands.entity(entity).insert(after.live);
                    }
                }
            }
            if before.ev100 != after.ev100 {
                let exposure = Exposure { ev100: after.ev100 };
                match camera.exposure {
                    Some(mut shown) => *shown = exposure,
                    None => {
                        self.commands.entity(entity).insert(exposure);
                    }
                }
            }
        }
    }

    /// Returns the cameras that the panel controls.
    fn chosen(&self) -> Vec<Entity> {
        let live: Vec<Entity> =
            self.cameras.iter().filter(|camera| camera.live.is_some()).map(|camera| camera.entity).collect();
        if !live.is_empty() {
            return live;
        }
        let best = self.cameras.iter().max_by_key(|camera| camera.shows_panel);
        best.map(|camera| camera.entity).into_iter().collect()
    }
}

/// Applies the difference between two states to a third. All other settings keep their values.
fn with_changes(mut live: LiveView, before: &LiveView, after: &LiveView) -> LiveView {
    fn set<T: PartialEq>(shown: &mut T, before: T, after: T) {
        if before != after {
            *shown = after;
        }
    }
    set(&mut live.enabled, before.enabled, after.enabled);
    set(&mut live.bounces, before.bounces, after.bounces);
    set(&mut live.max_samples, before.max_samples, after.max_samples);
    set(&mut live.render_scale, before.render_scale, after.render_scale);
    set(&mut live.frame_budget, before.frame_budget, after.frame_budget);
    set(&mut live.filter, before.filter, after.filter);
    set(&mut live.ends_at_lightmaps, before.ends_at_lightmaps, after.ends_at_lightmaps);
    set(&mut live.integrator, before.integrator, after.integrator);
    set(&mut live.channel, before.channel, after.channel);
    live
}
