//! What cameras show: read from the world, written back.

use bevy::camera::Exposure;
use bevy::ecs::query::QueryData;
use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy_egui::PrimaryEguiContext;

use crate::plugin::{Lightmaps, LiveView, LiveViewStatus};

/// What lights the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Bevy draws, with lightmaps.
    Lightmaps,
    /// Path traced.
    Live,
    /// Bevy draws, with its own lights alone.
    Off,
}

/// All that the panel sets of cameras.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Whether lightmaps are shown where no live view is.
    pub lightmaps: bool,
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
        // A live view shows neither; taking lightmaps off below it would have its scene read anew.
        if mode != Mode::Live {
            self.lightmaps = mode == Mode::Lightmaps;
        }
    }
}

/// The cameras of the world.
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
    /// What the first of the panel's cameras shows; `None` without cameras.
    pub fn view(&self) -> Option<View> {
        let camera = self.cameras.get(*self.chosen().first()?).ok()?;
        Some(View {
            lightmaps: self.lightmaps.enabled,
            live: camera.live.copied().unwrap_or(LiveView { enabled: false, ..default() }),
            ev100: camera.exposure.map_or(Exposure::default().ev100, |exposure| exposure.ev100),
        })
    }

    /// How far that camera's live view is.
    pub fn status(&self) -> Option<LiveViewStatus> {
        let camera = self.cameras.get(*self.chosen().first()?).ok()?;
        camera.status.copied()
    }

    /// Writes what differs between two views, and nothing else.
    pub fn change(&mut self, before: &View, after: &View) {
        self.lightmaps.set_if_neq(Lightmaps { enabled: after.lightmaps });
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

    /// The cameras that the panel sets.
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

/// Another camera keeps what it has of its own.
fn with_changes(mut live: LiveView, before: &LiveView, after: &LiveView) -> LiveView {
    fn set<T: PartialEq>(shown: &mut T, before: T, after: T) {
        if before != after {
            *shown = after;
        }
    }
    set(&mut live.enabled, before.enabled, after.enabled);
    set(&mut live.bounces, before.bounces, after.bounces);
    set(&mut live.most_samples, before.most_samples, after.most_samples);
    set(&mut live.render_scale, before.render_scale, after.render_scale);
    set(&mut live.frame_budget, before.frame_budget, after.frame_budget);
    set(&mut live.filter, before.filter, after.filter);
    set(&mut live.ends_at_lightmaps, before.ends_at_lightmaps, after.ends_at_lightmaps);
    set(&mut live.channel, before.channel, after.channel);
    live
}
