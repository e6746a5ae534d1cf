//! The live view: a camera with a path traced image.
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
//! main world:    changed? --> read --> a thread builds trees and buffers --> LiveScene, shared by all views
//!                movers moved? ------> updates of the buffers -------------> LiveScene
//! render world:  camera moved? --> pixels within the frame's budget --> trace --> draw before tonemapping
//! ```
//!
//! While nothing moves, samples accumulate. A move restarts the image, on fewer pixels if the frame's budget requires
//! it. Once all is still, [`Layers`](layers::Layers) refine it step by step. During a rebuild the previous scene is
//! shown. A known mover is shown at its current place in the same frame.
//!
//! | file | contents |
//! | --- | --- |
//! | `watch` | changes of the Bevy world that a view would show |
//! | `rebuild` | from the Bevy world to buffers on the GPU, in the background |
//! | `camera` | conversion of Bevy's cameras |
//! | `layers` | progressive resolution |
//! | `frame_budget` | estimate of the GPU's speed, for frame budgets |
//! | `stopwatch` | measurement of GPU time |
//! | `trace` | tracing within a frame |
//! | `draw`, `frame` | drawing into the camera's target |
//! | `shared` | data of the main world and the render world |

mod camera;
mod draw;
mod frame;
mod frame_budget;
mod layers;
mod rebuild;
mod shared;
mod stopwatch;
mod trace;
mod watch;

use bevy::diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, RegisterDiagnostic};
use bevy::ecs::query::QueryItem;
use bevy::prelude::*;
use bevy::render::extract_component::{ExtractComponent, ExtractComponentPlugin};
use bevy::render::sync_component::SyncComponent;
use bevy::render::{Extract, ExtractSchedule, RenderApp};

use super::background;
use super::components::{LiveChannel, LiveIntegrator, LiveView, LiveViewStatus};
use super::needs::has_plugin;
use super::renderer::Renderer;
use super::schedule::{RadiositySystems, order_sets};
use super::sync::SceneSyncPlugin;
use super::tree_cells::TreeCells;
use rebuild::LiveScene;
use shared::{Reports, Shown, Wanted};
use stopwatch::Stopwatch;
use trace::Tracing;

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

/// GPU time of tracing per frame, in milliseconds, of all views. It is missing where the GPU has no timestamps.
pub const LIVE_VIEW_GPU: DiagnosticPath = DiagnosticPath::const_new("live_view/gpu");

/// Paths traced per second, of all views. They are missing where the GPU has no timestamps.
pub const LIVE_VIEW_PATHS: DiagnosticPath = DiagnosticPath::const_new("live_view/paths_per_second");

/// Samples per shown pixel, of the view with the fewest.
pub const LIVE_VIEW_SAMPLES: DiagnosticPath = DiagnosticPath::const_new("live_view/samples");

/// Plugin of path traced cameras. It needs [`SceneSyncPlugin`], and a graphics adapter within the limits of WebGPU. A
/// warning at the start names what the adapter lacks.
pub struct LiveViewPlugin;

impl Plugin for LiveViewPlugin {
    fn build(&self, app: &mut App) {
        if !has_plugin::<SceneSyncPlugin, _>(app, self) {
            return;
        }
        order_sets(app);
        let reports = Reports::default();
        background::add(app);
        app.register_type::<LiveView>()
            .register_type::<LiveViewStatus>()
            .register_type::<LiveChannel>()
            .register_type::<LiveIntegrator>()
            .register_type::<TreeCells>()
            .init_resource::<LiveScene>()
            .init_resource::<TreeCells>()
            .insert_resource(reports.clone())
            .register_diagnostic(Diagnostic::new(LIVE_VIEW_GPU).with_suffix(" ms"))
            .register_diagnostic(Diagnostic::new(LIVE_VIEW_PATHS))
            .register_diagnostic(Diagnostic::new(LIVE_VIEW_SAMPLES))
            .add_systems(First, take_reports.in_set(RadiositySystems::LiveView).run_if(any_with_component::<LiveView>))
            .add_systems(
                Last,
                (watch::watch, rebuild::advance, rebuild::follow_movers, rebuild::publish_tree)
                    .chain()
                    .in_set(RadiositySystems::LiveView)
                    .run_if(live_view_enabled),
            )
            .add_systems(
                Last,
                rebuild::rest
                    .in_set(RadiositySystems::LiveView)
                    .run_if(rebuild::is_awake.and_then(not(live_view_enabled))),
            );
        if app.get_sub_app(RenderApp).is_none() {
            return;
        }
        app.add_plugins(ExtractComponentPlugin::<LiveView>::default());
        if let Some(render_app) = app.get_sub_app_mut(RenderApp) {
            render_app
                .init_resource::<Shown>()
                .insert_resource(reports)
                .add_systems(ExtractSchedule, extract_scene.in_set(RadiositySystems::LiveView));
            trace::add(render_app);
            draw::add(render_app);
        }
    }

    fn finish(&self, app: &mut App) {
        if app.world().contains_resource::<LiveScene>() {
            // It only warns, so its error does not matter.
            _ = app.world_mut().run_system_cached(check_adapter);
        }
    }
}

/// Warns about what the graphics adapter lacks.
fn check_adapter(renderer: Renderer) {
    match renderer.gpu() {
        Some(Err(fault)) => warn!("live views show nothing: {fault}"),
        Some(Ok(gpu)) if !Stopwatch::has_clock(gpu.device()) => warn!(
            "{} has no timestamps: `LiveViewStatus` shows no GPU times, and live views keep their frame budgets less \
             exactly",
            gpu.name()
        ),
        Some(Ok(_)) | None => {}
    }
}

/// Run condition: a live view is enabled.
pub fn live_view_enabled(views: Query<&LiveView>) -> bool {
    views.iter().any(|view| view.enabled)
}

fn extract_scene(mut shown: ResMut<Shown>, scene: Extract<Res<LiveScene>>) {
    shown.world.clone_from(&scene.current);
    shown.revision = scene.revision;
    shown.changes.extend(scene.change.clone());
}

fn take_reports(
    reports: Res<Reports>,
    mut views: Query<(&LiveView, &mut LiveViewStatus)>,
    mut diagnostics: Diagnostics,
) {
    let reports = reports.take();
    if let Some(samples) = reports.values().map(|status| status.samples).min() {
        diagnostics.add_measurement(&LIVE_VIEW_SAMPLES, || f64::from(samples));
    }
    let milliseconds: f32 = reports.values().map(|status| status.frame_milliseconds).sum();
    if milliseconds > 0.0 {
        let paths: f32 = reports.values().map(|status| status.paths_per_second).sum();
        diagnostics.add_measurement(&LIVE_VIEW_GPU, || f64::from(milliseconds));
        diagnostics.add_measurement(&LIVE_VIEW_PATHS, || f64::from(paths));
    }
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
