//! System sets, for the order of an app's systems around those of the plugins.

use bevy::app::{First, Last, PostUpdate, PreUpdate, Update};
use bevy::asset::AssetEventSystems;
use bevy::camera::visibility::VisibilitySystems;
use bevy::core_pipeline::schedule::camera_driver;
use bevy::prelude::*;
use bevy::render::RenderApp;
use bevy::render::renderer::RenderGraph;

/// Sets of all systems of the plugins. An app orders its own systems before or after them.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_radiosity::prelude::*;
/// # fn open_the_doors() {}
/// # fn count_lightmaps() {}
/// # let mut app = App::new();
/// app.add_systems(PostUpdate, open_the_doors.before(RadiositySystems::Relight))
///     .add_systems(PostUpdate, count_lightmaps.after(RadiositySystems::Attach));
/// ```
///
/// The order within each schedule, from left to right:
///
/// | schedule | sets |
/// | --- | --- |
/// | `First` | `LiveView` |
/// | `PreUpdate` | `Levels`, `Panel` |
/// | `Update` | `Overlay`, `Panel` |
/// | `PostUpdate` | `Attach`, `Watch`, `Relight`, `Overlay` |
/// | `Last` | `Watch`, `Attach`, `Bake`, `Partition`, `LiveView` |
/// | `EguiPrimaryContextPass` of `bevy_egui` | `Panel` |
/// | `ExtractSchedule`, `RenderGraph` of the render world | `Relight`, `LiveView` |
/// | `RenderStartup`, `Render`, `Core3d` of the render world | `LiveView` |
///
/// A change that a system makes before `Watch` in `Last` is part of a bake that is read in the same frame.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RadiositySystems {
    /// Finds the surfaces of baked levels among the entities of the app.
    Levels,
    /// Notes changes of the world. In `PostUpdate` it runs after `TransformSystems::Propagate`: it marks movers, and follows
    /// the transform and the lights of the baked level.
    Watch,
    /// Attaches, shows and hides lightmaps. In `PostUpdate` it runs before `TransformSystems::Propagate`, so that the
    /// irradiance volume is placed in the same frame. In `Last` it repairs or removes the lightmaps of changed meshes.
    Attach,
    /// Relights pages. In `PostUpdate` it reads lights and doors after `TransformSystems::Propagate` and
    /// `VisibilitySystems::VisibilityPropagate`. In the render world it copies pages that the GPU has drawn.
    Relight,
    /// Spawns debug overlays (`Update`), and moves them to their surfaces (`PostUpdate`).
    Overlay,
    /// Takes the result of the bake's thread, and reads the world for a new bake.
    Bake,
    /// Reads the world for partition cells, and takes them from their thread.
    Partition,
    /// Updates live views: their status (`First`), their scene (`Last`), and their images (the render world).
    LiveView,
    /// Reads the panel's keys, and draws its window.
    Panel,
}

/// Orders the sets. Each plugin calls this, since any of them may be disabled.
pub(super) fn order_sets(app: &mut App) {
    use RadiositySystems::{Attach, Bake, Levels, LiveView, Overlay, Panel, Partition, Relight, Watch};
    app.configure_sets(First, LiveView)
        .configure_sets(PreUpdate, (Levels, Panel).chain())
        .configure_sets(Update, (Overlay, Panel).chain())
        .configure_sets(PostUpdate, (Attach, TransformSystems::Propagate, Watch, Relight, Overlay).chain())
        .configure_sets(PostUpdate, Relight.after(VisibilitySystems::VisibilityPropagate))
        .configure_sets(PostUpdate, (Attach, Relight).before(AssetEventSystems))
        .configure_sets(Last, (Watch, Attach, Bake, Partition, LiveView).chain());
    if let Some(render_app) = app.get_sub_app_mut(RenderApp) {
        render_app
            .configure_sets(ExtractSchedule, (Relight, LiveView).chain())
            .configure_sets(RenderGraph, (Relight, LiveView).chain().before(camera_driver));
    }
}
