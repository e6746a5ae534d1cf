//! Settings, status and diagnostics of relighting.

use std::time::Duration;

use bevy::diagnostic::DiagnosticPath;
use bevy::prelude::*;

use crate::DeviceChoice;

/// Main thread time of relighting per active frame, in milliseconds.
pub const RELIGHT_MAIN_THREAD: DiagnosticPath = DiagnosticPath::const_new("relight/main_thread");

/// Time of an update on its own thread, in milliseconds.
pub const RELIGHT_UPDATE: DiagnosticPath = DiagnosticPath::const_new("relight/update");

/// Time to compute a placement of doors or colors on its own thread, in milliseconds.
pub const RELIGHT_DOORS: DiagnosticPath = DiagnosticPath::const_new("relight/doors");

/// Estimated distance of the shown pages from the current lights, from 0 to 1; see [`RelightStatus::behind`].
pub const RELIGHT_BEHIND: DiagnosticPath = DiagnosticPath::const_new("relight/behind");

/// Relative error of relighting for the baked lights; see [`RelightStatus::transport_error`].
pub const RELIGHT_TRANSPORT_ERROR: DiagnosticPath = DiagnosticPath::const_new("relight/transport_error");

/// Settings of live relighting. Insert the resource to enable it. Remove it or set `enabled` to false to show the
/// lightmaps as baked.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Resource, Default, Debug, Clone)]
pub struct Relight {
    /// False shows the lightmaps as baked. Default true.
    pub enabled: bool,
    /// Time of work on other threads per second, at most one second, at any frame rate. Default 250 ms. Higher values
    /// show changes of many lights sooner; lower values use less CPU time. Changes of baked lights in their place take
    /// none. All levels share it evenly.
    pub work_per_second: Duration,
    /// Number of per-element bounces after a light has settled. 0 keeps the coarse patch solution. Default 3. Higher
    /// values reduce the error where patches are large.
    ///
    /// See [`UpdateSettings::bounces`](crate::relight::UpdateSettings::bounces) for the later refinement and its cache.
    pub bounces: u32,
    /// Time constant of temporal smoothing, after which about two thirds of a change are shown. Default 50 ms. Higher
    /// values hide the noise of moving lights; zero shows changes at once.
    pub smoothing: Duration,
    /// Maximum wait of a frame for its own updates, provided that the previous updates were as fast. At most one second,
    /// default 4 ms, which all levels share evenly. Slower updates are shown in a later frame without a wait.
    pub max_wait: Duration,
    /// Device that draws the pages. Default [`DeviceChoice::Auto`]. All devices give the same result. The CPU traces
    /// the rays of lights and doors in any case.
    ///
    /// The GPU is the renderer's device. The CPU draws where there is none, or where it lacks memory for the level. Only
    /// a few numbers per patch are uploaded to it, and textures are rewritten in place. Their [`Image`]s keep the last
    /// CPU data, which views with [`LiveView::ends_at_lightmaps`](crate::plugin::LiveView) read. The CPU uploads pages
    /// whenever they change.
    pub device: DeviceChoice,
}

impl Default for Relight {
    fn default() -> Self {
        Self {
            enabled: true,
            work_per_second: Duration::from_millis(250),
            bounces: 3,
            smoothing: Duration::from_millis(50),
            max_wait: Duration::from_millis(4),
            device: DeviceChoice::Auto,
        }
    }
}

/// Excludes the light, or every light below the entity, from relighting. A baked light keeps its baked state, even if
/// it moves or is despawned. Any other light adds no indirect light.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct RelightExclude;

/// Status of live relighting: a component of the entity with the [`BakedLevel`](crate::plugin::BakedLevel), or of the
/// entity that the plugin has spawned for a bake of the app.
#[derive(Component, Clone, Debug, Default, PartialEq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct RelightStatus {
    /// True while lightmaps follow their lights.
    pub is_active: bool,
    /// Reason why relighting does not work although [`Relight`] exists.
    pub problem: Option<String>,
    /// True while the GPU draws the pages.
    pub is_on_graphics: bool,
    /// Reason why the CPU draws them although [`Relight::device`] is not [`DeviceChoice::Cpu`].
    pub processor_reason: Option<String>,
    /// Number of updates shown so far.
    pub updates: u64,
    /// Number of lights that need further updates.
    pub waiting: usize,
    /// Estimated mean difference between the shown pages and pages of the current lights, as a fraction of their light;
    /// see [`Update::behind`](crate::relight::Update::behind). 1 while a light has no samples.
    pub behind: f32,
    /// True while the refined result of settled lights is incomplete.
    pub is_refining: bool,
    /// Relative error of relighting for the baked lights: RMS difference to the bake over its mean.
    pub transport_error: f32,
    /// Warning that names the light for which patches are too coarse while it moves, if its error exceeds
    /// [`MAX_TRANSPORT_ERROR`](crate::relight::MAX_TRANSPORT_ERROR).
    pub transport_warning: Option<String>,
    /// True while a thread computes the effect of doors and colors.
    pub are_doors_moving: bool,
    /// Time of the latest such computation, in milliseconds, on its own thread.
    pub door_milliseconds: f32,
    /// Rays of the latest update.
    pub rays: u64,
    /// Time of the latest update on its own thread, in milliseconds. It includes waits for the GPU.
    pub update_milliseconds: f32,
    /// Main thread time of the latest active frame, in milliseconds.
    pub main_thread_milliseconds: f32,
}

/// Run condition: lightmaps of any level follow their lights.
pub fn relighting(levels: Query<&RelightStatus>) -> bool {
    levels.iter().any(|status| status.is_active)
}
