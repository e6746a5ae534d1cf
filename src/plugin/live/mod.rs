//! The live view: a camera whose picture is path traced.
//!
//! ```no_run
//! use bevy::prelude::*;
//! use bevy_radiosity::prelude::*;
//!
//! fn spawn_camera(mut commands: Commands) {
//!     commands.spawn((Camera3d::default(), LiveView::default()));
//! }
//! ```
//!
//! ```text
//! main world:    what changed? --> read it --> a thread builds trees and buffers --> LiveScene, shared by all views
//!                movers elsewhere? ------------> their parts of the buffers --------> LiveScene
//! render world:  camera moved? --> how much fits into the frame's budget? --> trace --> draw before tonemapping
//! ```
//!
//! While nothing moves, samples are added up. A move starts again, on fewer pixels if a frame's budget has no room for
//! all of them; once all is still, [`Layers`](layers::Layers) refine step by step. While a changed scene is being built,
//! the one before is shown; what has moved once is shown where it stands in the same frame.
//!
//! | file | its one idea |
//! | --- | --- |
//! | `watch` | what in the Bevy world a view would show differently |
//! | `rebuild` | from the Bevy world to buffers on the GPU, without stopping the game |
//! | `camera` | Bevy's cameras as those of the tracer |
//! | `layers` | which pixels are traced next, and which are shown |
//! | `pace` | how many pixels a millisecond is worth |
//! | `stopwatch` | what the GPU took |
//! | `trace` | a frame's worth of tracing |
//! | `draw` | the picture, put where the camera draws |

mod camera;
mod draw;
mod layers;
mod pace;
mod rebuild;
mod stopwatch;
mod trace;
mod watch;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bevy::asset::AssetEventSystems;
use bevy::camera::Hdr;
use bevy::ecs::query::QueryItem;
use bevy::prelude::*;
use bevy::render::extract_component::{ExtractComponent, ExtractComponentPlugin};
use bevy::render::sync_component::SyncComponent;
use bevy::render::{Extract, ExtractSchedule, RenderApp};

use super::tree_cells::TreeCells;
use crate::gpu::SceneChange;
use rebuild::{LiveScene, LiveWorld};
use trace::Tracing;

/// Path traces what a camera sees, live, in place of what Bevy draws.
///
/// It shows what a bake would see, where it stands now: meshes with a `StandardMaterial` and all of Bevy's lights, on any
/// GPU. Skinned and morphed meshes, and what is marked `BakeExclude` or casts no shadow, are left out. What has
/// [moved](crate::plugin::Moved) once, or is marked `BakeMover`, is followed from frame to frame; the first move, like any
/// other change, shows when a thread has built the scene anew. [`SceneStatus`](crate::plugin::SceneStatus) says what was
/// built or moved, and how long that took. The picture is
/// exposed by the camera's `Exposure` and goes through its tonemapping, bloom and what else comes after drawing.
/// [`LiveViewStatus`] says how far it is.
#[derive(Component, Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
#[require(Hdr, LiveViewStatus)]
pub struct LiveView {
    /// False shows what Bevy draws, and frees what the view needs on the GPU.
    pub enabled: bool,
    /// How often light may be reflected before it reaches the camera. More lights deep corners; fewer are faster and darker.
    pub bounces: u32,
    /// Samples of each pixel at which a picture is done and the GPU rests, from 1 to 65,536. More are cleaner.
    pub most_samples: u32,
    /// Pixels traced along each side for one of the camera's. Less is faster and blurred; 0.5 traces a quarter of them.
    pub render_scale: f32,
    /// GPU time in milliseconds that tracing may take of a frame. More shows a clean picture sooner; less keeps the frame
    /// rate higher.
    pub frame_budget: f32,
    /// True smooths the noise of pictures that have few samples, as they have while something moves, and fades with more
    /// of them. False shows every sample as it is.
    pub filter: bool,
    /// True ends paths where reflected light comes from a surface with a lightmap that [`Lightmaps`](crate::plugin::Lightmaps)
    /// shows: faster and with less noise, but with the bake's errors, and without the light of lamps that were not baked on
    /// what is seen only by reflection. Mirrors show such surfaces matt. False follows all paths.
    pub ends_at_lightmaps: bool,
    /// What of all that it gathers is drawn: the light, or what tells why the light looks as it does.
    pub channel: LiveChannel,
}

/// What a [`LiveView`] draws. All but light is drawn as it is, neither exposed nor tonemapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Reflect)]
#[reflect(Default, Debug, Clone, PartialEq, Hash)]
pub enum LiveChannel {
    /// The picture.
    #[default]
    Light,
    /// The part of the light that the nearest surface reflects, from 0 to 1; the sky is black.
    Albedo,
    /// Normals of the nearest surface, with normal maps, in world space: -1 is black and 1 is white, along each axis.
    Normal,
    /// Nodes of the KD-tree that a ray from the camera visits: none is blue, 64 are green, 128 and more are red.
    TreeCost,
    /// The standard error of the samples' mean relative to it: 1 % and less is blue, 10 % is green, 100 % and more is red.
    Noise,
}

impl Default for LiveView {
    fn default() -> Self {
        Self {
            enabled: true,
            bounces: 8,
            most_samples: 65_536,
            render_scale: 1.0,
            frame_budget: 8.0,
            filter: true,
            ends_at_lightmaps: false,
            channel: LiveChannel::default(),
        }
    }
}

/// How far a [`LiveView`] is.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct LiveViewStatus {
    /// Pictures that were begun: one more after each move or change.
    pub pictures: u32,
    /// Samples of each pixel that is shown; zero while Bevy's own picture is.
    pub samples: u32,
    /// Pixels traced of the picture that is shown, in columns and rows: fewer than the camera has while things move.
    pub size: UVec2,
    /// GPU time that tracing takes of a frame, milliseconds; zero where the GPU cannot tell.
    pub frame_milliseconds: f32,
    /// Paths that the GPU traces in a second.
    pub paths_per_second: f32,
}

/// What a view is asked for, in the render world.
#[derive(Component, Clone, Copy)]
pub struct Wanted {
    settings: LiveView,
}

impl SyncComponent for LiveView {
    type Target = (Wanted, Tracing);
}

impl ExtractComponent for LiveView {
    type QueryData = &'static LiveView;
    type QueryFilter = ();
    type Out = Wanted;

    fn extract_component(view: QueryItem<'_, '_, Self::QueryData>) -> Option<Wanted> {
        view.enabled.then_some(Wanted { settings: *view })
    }
}

/// What views report from the render world to the main world.
#[derive(Resource, Clone, Default)]
struct Reports(Arc<Mutex<HashMap<Entity, LiveViewStatus>>>);

impl Reports {
    fn set(&self, view: Entity, status: LiveViewStatus) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(view, status);
    }

    fn take(&self) -> HashMap<Entity, LiveViewStatus> {
        core::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the render world traces.
#[derive(Resource, Default)]
struct Shown {
    world: Option<Arc<LiveWorld>>,
    revision: u64,
    /// What is yet to be written into its buffers.
    changes: Vec<Arc<SceneChange>>,
}

/// Path traced cameras.
pub struct LiveViewPlugin;

impl Plugin for LiveViewPlugin {
    fn build(&self, app: &mut App) {
        let reports = Reports::default();
        app.register_type::<LiveView>()
            .register_type::<LiveViewStatus>()
            .register_type::<LiveChannel>()
            .init_resource::<LiveScene>()
            .init_resource::<TreeCells>()
            .insert_resource(reports.clone())
            .add_systems(First, take_reports.run_if(any_with_component::<LiveView>))
            .add_systems(
                Last,
                (
                    (watch::surfaces, watch::new_movers, watch::lights, watch::assets, watch::surroundings),
                    rebuild::advance,
                    rebuild::follow_movers,
                    rebuild::publish_tree,
                )
                    .chain()
                    .after(AssetEventSystems)
                    .run_if(is_any_enabled),
            )
            .add_systems(Last, rebuild::rest.run_if(not(is_any_enabled)));
        if app.get_sub_app(RenderApp).is_none() {
            return;
        }
        app.add_plugins(ExtractComponentPlugin::<LiveView>::default());
        if let Some(render_app) = app.get_sub_app_mut(RenderApp) {
            render_app.init_resource::<Shown>().insert_resource(reports).add_systems(ExtractSchedule, extract_scene);
            trace::add(render_app);
            draw::add(render_app);
        }
    }
}

fn is_any_enabled(views: Query<&LiveView>) -> bool {
    views.iter().any(|view| view.enabled)
}

fn extract_scene(mut shown: ResMut<Shown>, scene: Extract<Res<LiveScene>>) {
    shown.world.clone_from(&scene.current);
    shown.revision = scene.revision;
    shown.changes.extend(scene.change.clone());
}

fn take_reports(reports: Res<Reports>, mut views: Query<(&LiveView, &mut LiveViewStatus)>) {
    let reports = reports.take();
    for (entity, status) in reports {
        if let Ok((_, mut shown)) = views.get_mut(entity) {
            shown.set_if_neq(status);
        }
    }
    for (view, mut status) in &mut views {
        if !view.enabled {
            status.set_if_neq(LiveViewStatus::default());
        }
    }
}
