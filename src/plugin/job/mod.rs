//! Background bakes of the Bevy world.
//!
//! ```text
//! trigger(Bake) -> read the world, a little a frame -> a thread solves -> write back, a little a frame -> BakeFinished
//! ```
//!
//! In a browser, a worker of the page solves.
//!
//! The solver has its own thread pool, which leaves one core to the game unless
//! [`RadiosityThreads`](super::RadiosityThreads) says otherwise. [`BakeProgress`] reports progress, and
//! [`CancelBake`] stops the bake.
//!
//! | file | contents |
//! | --- | --- |
//! | `events` | events that start, stop and end a bake |
//! | `progress` | status resources |
//! | `run` | state of the running bake |
//! | `thread` | the bake's thread |
//! | `web_worker` | the bake's worker in a browser |
//! | `solve` | work of either |
//! | `targets` | surfaces and pages for the write-back |
//! | `preview` | previews, from that thread to the write-back |

mod events;
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "only threads make previews"))]
mod preview;
mod progress;
mod run;
mod solve;
mod targets;
#[cfg(not(target_arch = "wasm32"))]
mod thread;
#[cfg(any(test, target_arch = "wasm32"))]
mod web_worker;

use bevy::diagnostic::{Diagnostic, RegisterDiagnostic};
use bevy::prelude::*;

use super::assets::AssetFolder;
use super::background;
use super::needs::has_plugin;
use super::schedule::{RadiositySystems, order_sets};
use super::sync::SceneSyncPlugin;
use super::tree_cells::TreeCells;
use super::write_back::WriteBackPlugin;
pub use events::{Bake, BakeFailed, BakeFailure, BakeFinished, CancelBake};
pub use progress::{
    BAKE_ERROR, BAKE_MAIN_THREAD, BAKE_PROGRESS, BakeConvergence, BakePhase, BakeProgress, bake_running,
};
use run::Job;

/// Plugin of background bakes. It needs [`SceneSyncPlugin`] and [`WriteBackPlugin`].
pub struct BakePlugin;

impl Plugin for BakePlugin {
    fn build(&self, app: &mut App) {
        if !(has_plugin::<SceneSyncPlugin, _>(app, self) && has_plugin::<WriteBackPlugin, _>(app, self)) {
            return;
        }
        order_sets(app);
        background::add(app);
        app.insert_resource(AssetFolder::of(app))
            .register_type::<Bake>()
            .register_type::<CancelBake>()
            .register_type::<BakeFinished>()
            .register_type::<BakeFailed>()
            .register_type::<BakeProgress>()
            .register_type::<BakeConvergence>()
            .register_type::<TreeCells>()
            .init_resource::<BakeProgress>()
            .init_resource::<BakeConvergence>()
            .init_resource::<TreeCells>()
            .init_resource::<Job>()
            .register_diagnostic(Diagnostic::new(BAKE_PROGRESS).with_suffix(" %"))
            .register_diagnostic(Diagnostic::new(BAKE_ERROR).with_suffix(" %"))
            .register_diagnostic(Diagnostic::new(BAKE_MAIN_THREAD).with_suffix(" ms"))
            // At the end of a frame, spawned entities have their transforms and visibility. With this order, every bake
            // is in the phase `Solving` for at least a frame.
            .add_systems(
                Last,
                (
                    (run::poll_solver, run::wait_for_assets, run::read_world).chain().run_if(run::has_work),
                    progress::measure.run_if(bake_running),
                )
                    .chain()
                    .in_set(RadiositySystems::Bake),
            )
            .add_observer(run::start)
            .add_observer(run::cancel);
    }
}
