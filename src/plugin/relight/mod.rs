//! Lightmaps that follow their lights: live relighting of a baked level.
//!
//! ```no_run
//! # use bevy::prelude::*;
//! # use bevy_radiosity::prelude::*;
//! # fn setup(mut commands: Commands) {
//! commands.insert_resource(Relight::default());
//! commands.spawn(BakedLevel::new("level.baked").with_source("assets/level.glb")); // baked with --relight
//! # }
//! ```
//!
//! or, in an app that bakes itself, `Bake { settings: BakeSettings { relight: Some(1000), .. }, .. }`. From then on lights may
//! move, change their colour, come and go, and surfaces may shine more or less: indirect light follows, on any machine.
//! Where the base colour of a surface with a lightmap changes, light reflects accordingly once a thread has worked that out.
//! Pages are rewritten in place, and nothing is where nothing changes.
//!
//! | pages hold | direct light |
//! | --- | --- |
//! | [`Content::Indirect`](crate::radiosity::Content): best for lights that move | Bevy draws it; give lights shadow maps |
//! | [`Content::Full`](crate::radiosity::Content) | in the pages while a baked lamp stands where it stood, however strong, and for surfaces that shine; once it has moved, and for lamps that came later, Bevy draws it |
//!
//! Sky and irradiance volume stay as they were baked. [`RelightExclude`] leaves a light out; where a [`RelightDoor`] moves,
//! light goes another way.
//!
//! | file | its one idea |
//! | --- | --- |
//! | `origin` | what a level is relit from: a bake of this app, or files |
//! | `watch` | lights, panels and colours as they are now |
//! | `doors` | doors as they are now, and what they and colours make of the level |
//! | `update` | what one update is asked for, and what it shows |
//! | `worker` | a thread that never holds up a frame |
//! | `graphics` | pages that the graphics card draws |
//! | `show` | from frame to frame: what to ask it for, and where its pages go |

mod doors;
mod graphics;
mod origin;
mod show;
mod update;
mod watch;
mod worker;

use bevy::asset::AssetEventSystems;
use bevy::camera::visibility::VisibilitySystems;
use bevy::diagnostic::{Diagnostic, DiagnosticPath, RegisterDiagnostic};
use bevy::prelude::*;
use bevy::render::RenderApp;

pub use doors::RelightDoor;
pub use origin::{RelightLevel, RelightOrigin};
pub use show::HandedOver;

/// Milliseconds of a frame's main thread that relighting took, when there was something to do.
pub const RELIGHT_MAIN_THREAD: DiagnosticPath = DiagnosticPath::const_new("relight/main_thread");

/// Milliseconds that an update took on its own thread.
pub const RELIGHT_UPDATE: DiagnosticPath = DiagnosticPath::const_new("relight/update");

/// Milliseconds that it took on its own thread to follow doors to a place, or surfaces to another colour.
pub const RELIGHT_DOORS: DiagnosticPath = DiagnosticPath::const_new("relight/doors");

/// How far what is shown is from what it goes to, from 0 to 1: see [`RelightStatus::behind`].
pub const RELIGHT_BEHIND: DiagnosticPath = DiagnosticPath::const_new("relight/behind");

/// How far the indirect light that relighting finds for the baked lights is from the bake's own: see
/// [`RelightStatus::transport_error`].
pub const RELIGHT_TRANSPORT_ERROR: DiagnosticPath = DiagnosticPath::const_new("relight/transport_error");

/// Insert it to have lightmaps follow their lights; remove it, or switch it off, to show them as they were baked.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Resource, Default, Debug, Clone)]
pub struct Relight {
    /// False shows lightmaps as they were baked.
    pub enabled: bool,
    /// Rays that one update may trace. More bring changes of many lights at once sooner; fewer take less of the machine.
    pub rays: u32,
    /// Bounces that are followed from element to element once a light rests, and again once elements have been asked more
    /// often, with one more by rays to the brightest: more are nearer where patches are large, and none leaves what patches
    /// tell. Eight lights keep what each comes to while others move, and while it flickers where it stands. See
    /// [`UpdateSettings::sweeps`](crate::relight::UpdateSettings::sweeps).
    pub sweeps: u32,
    /// Seconds in which two thirds of a change are shown. More hides how few rays saw a moving light at first; zero shows
    /// changes at once.
    pub smoothing_seconds: f32,
    /// Milliseconds that a frame may wait for its own light, if the update before was as fast. Slower updates are shown
    /// in a later frame, and no frame waits for them.
    pub wait_milliseconds: f32,
    /// What draws the pages. Either shows the same; the processor traces the rays of lights and doors in any case.
    pub device: RelightDevice,
}

/// What draws pages that follow their lights: multiplies what lights bring to patches with what each texel sees of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Reflect)]
#[reflect(Default, Debug, Clone, PartialEq, Hash)]
pub enum RelightDevice {
    /// The graphics card, unless it is software that stands in for one or has no room for the level.
    #[default]
    Auto,
    /// The processor: pages are uploaded whenever they change.
    Processor,
    /// Whatever the renderer draws with, if it has room for the level. A few numbers for each patch are uploaded, and
    /// textures of pages are rewritten where they are: their [`Image`]s keep what the processor wrote last, which is what
    /// views with [`LiveView::ends_at_lightmaps`](crate::plugin::LiveView) read.
    Graphics,
}

impl Default for Relight {
    fn default() -> Self {
        Self {
            enabled: true,
            rays: 30_000,
            sweeps: 3,
            smoothing_seconds: 0.05,
            wait_milliseconds: 4.0,
            device: RelightDevice::Auto,
        }
    }
}

/// The light, or every light below the entity, is not followed: what was baked of it stays, wherever it goes, and even if it
/// is despawned. One that was not baked brings no indirect light.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct RelightExclude;

/// What relighting does.
#[derive(Resource, Clone, Debug, Default, PartialEq, Reflect)]
#[reflect(Resource, Default, Debug, Clone)]
pub struct RelightStatus {
    /// True while lightmaps follow their lights.
    pub is_active: bool,
    /// Why they do not, though [`Relight`] is there.
    pub problem: Option<String>,
    /// True while the graphics card draws the pages.
    pub is_on_graphics: bool,
    /// Why the processor draws them though [`Relight::device`] is not [`RelightDevice::Processor`].
    pub processor_reason: Option<String>,
    /// Updates shown so far.
    pub updates: u64,
    /// Lights of which more will be known after further updates.
    pub waiting: usize,
    /// How far what is shown is from what it goes to, as a part of the change: 1 while nothing is known of some light.
    pub behind: f32,
    /// True while what is shown of lights that rest will become finer.
    pub is_refining: bool,
    /// How far the indirect light that relighting finds for the baked lights is from the bake's own: RMS over the mean.
    pub transport_error: f32,
    /// True while it is being worked out what doors, where they are, and colours make of the light.
    pub are_doors_moving: bool,
    /// What that took last on its own thread, milliseconds.
    pub door_milliseconds: f32,
    /// Rays of the last update.
    pub rays: u64,
    /// What the last update took of its own thread, milliseconds: waiting for a graphics card that still draws among it.
    pub update_milliseconds: f32,
    /// What the last frame in which there was something to do took of the main thread, milliseconds.
    pub main_thread_milliseconds: f32,
}

/// Has lightmaps follow their lights where [`Relight`] is there.
pub struct RelightPlugin;

impl Plugin for RelightPlugin {
    fn build(&self, app: &mut App) {
        let milliseconds = |path| Diagnostic::new(path).with_suffix(" ms");
        app.register_type::<Relight>()
            .register_type::<RelightDevice>()
            .register_type::<RelightDoor>()
            .register_type::<RelightExclude>()
            .register_type::<RelightStatus>()
            .init_resource::<RelightStatus>()
            .init_resource::<RelightOrigin>()
            .init_resource::<watch::Changes>()
            .init_resource::<show::Showing>()
            .init_resource::<HandedOver>()
            .init_resource::<graphics::Drawn>()
            .register_diagnostic(milliseconds(RELIGHT_MAIN_THREAD))
            .register_diagnostic(milliseconds(RELIGHT_UPDATE))
            .register_diagnostic(milliseconds(RELIGHT_DOORS))
            .register_diagnostic(Diagnostic::new(RELIGHT_BEHIND))
            .register_diagnostic(Diagnostic::new(RELIGHT_TRANSPORT_ERROR))
            .add_systems(
                PostUpdate,
                (watch::lights, watch::materials, show::begin, show::read, show::find_doors, show::advance)
                    .chain()
                    .after(TransformSystems::Propagate)
                    .after(VisibilitySystems::VisibilityPropagate)
                    .before(AssetEventSystems),
            );
        if let Some(render_app) = app.get_sub_app_mut(RenderApp) {
            graphics::add(render_app);
        }
    }
}
