//! Write-back: attaches lightmaps to entities and removes them, within the renderer's rules.
//!
//! Bevy 0.19 has undocumented rules for lightmaps, and a violation can terminate the app:
//!
//! * The mesh must have UV_1.
//! * Adding or removing a `Lightmap` must touch the entity's material in the same frame. Otherwise the pipeline does
//!   not match its bindings.
//! * A `Lightmap` with an exchanged image shows the old one, unless the component is absent for a frame.
//! * A change of an image's size or format in place is ignored.
//! * Without GPU preprocessing, instances of one mesh and material on different pages all show one page.
//!
//! So a `Batch` of surfaces goes through these steps:
//!
//! ```text
//! stage:  create images of pages and mesh copies with UV_1, a few per frame
//! detach: remove the Lightmap of surfaces whose page will be another image
//! wait:   until the renderer has seen both
//! attach: set meshes, lightmaps, pixels of kept pages, and lights, all in one frame
//! ```
//!
//! Afterward, `guard` handles meshes that are reloaded or exchanged.
//!
//! | file | contents |
//! | --- | --- |
//! | `batch` | batches and their steps |
//! | `copy` | mesh copies with lightmap coordinates |
//! | `material` | stand-in materials |
//! | `page` | pages as images |
//! | `lights` | flags of baked lights |
//! | `entity` | lightmap of one entity |
//! | `removal` | removal of one level's light |
//! | `toggle` | visibility and removal of all lightmaps |
//! | `volume` | irradiance volume for movers |
//! | `movers` | light of movers by their materials, where Bevy draws no volumes |
//! | `guard` | reactions to later changes of meshes and materials |

mod batch;
mod copy;
mod entity;
mod guard;
mod lights;
mod material;
mod movers;
mod page;
mod removal;
mod toggle;
mod volume;

use bevy::diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, RegisterDiagnostic};
use bevy::pbr::StandardMaterial;
use bevy::prelude::*;

use super::schedule::{RadiositySystems, order_sets};
use super::state::{Baked, BakedLight, BakedVolume};
pub use batch::{Batch, BatchTimes, Batches, NewBake, Owner, Target};
pub use copy::MeshCopies;
use entity::{IgnoresPages, Shown};
pub use lights::{add_marks, apply_lights, remove_marks};
use material::StandInMaterials;

use crate::clock;
pub use page::{PagePixels, half_floats, uv_rect};
pub use removal::remove_level;
pub use toggle::{Lightmaps, RemoveLightmaps};
pub use volume::{MoverLighting, exchange_volume, set_volume_frame};

/// Main thread time per frame that prepares or attaches lightmaps, in milliseconds.
pub const LIGHTMAPS_MAIN_THREAD: DiagnosticPath = DiagnosticPath::const_new("lightmaps/main_thread");

/// Plugin that attaches lightmaps to entities. It needs no other plugin of this crate.
pub struct WriteBackPlugin;

impl Plugin for WriteBackPlugin {
    fn build(&self, app: &mut App) {
        order_sets(app);
        app.register_type::<Baked>()
            .register_type::<BakedLight>()
            .register_type::<BakedVolume>()
            .register_type::<Lightmaps>()
            .register_type::<MoverLighting>()
            .register_type::<RemoveLightmaps>()
            .init_resource::<Lightmaps>()
            .init_resource::<MoverLighting>()
            .init_resource::<IgnoresPages>()
            .init_resource::<Shown>()
            .init_resource::<Batches>()
            .init_resource::<MeshCopies>()
            .init_resource::<StandInMaterials>()
            .register_diagnostic(Diagnostic::new(LIGHTMAPS_MAIN_THREAD).with_suffix(" ms"))
            .add_systems(
                PostUpdate,
                (
                    toggle::toggle.run_if(toggle::is_due),
                    advance_batches.pipe(measure).run_if(has_batches),
                    lights::notice_marks.run_if(lights::has_marks),
                    toggle::notice_removals.run_if(toggle::has_removals),
                )
                    .chain()
                    .in_set(RadiositySystems::Attach),
            )
            .add_systems(
                PostUpdate,
                (volume::turn_volume.run_if(volume::has_moved), movers::light_movers.run_if(movers::may_change))
                    .in_set(RadiositySystems::Watch),
            )
            .add_systems(
                Last,
                (
                    guard::notice_meshes.run_if(on_message::<AssetEvent<Mesh>>),
                    guard::notice_entities.run_if(guard::any_mesh_changed),
                    guard::notice_materials.run_if(guard::any_material_changed),
                    material::follow_originals.run_if(on_message::<AssetEvent<StandardMaterial>>),
                )
                    .in_set(RadiositySystems::Attach),
            )
            .add_observer(toggle::remove_lightmaps);
    }

    fn finish(&self, app: &mut App) {
        let ignores_pages = IgnoresPages::of(app);
        app.insert_resource(ignores_pages);
    }
}

fn has_batches(batches: Res<Batches>) -> bool {
    !batches.is_empty()
}

/// Advances the pending batches, and returns the time in milliseconds.
fn advance_batches(world: &mut World) -> f64 {
    let started = clock::now();
    batch::advance(world);
    1e3 * started.elapsed().as_secs_f64()
}

fn measure(In(milliseconds): In<f64>, mut diagnostics: Diagnostics) {
    diagnostics.add_measurement(&LIGHTMAPS_MAIN_THREAD, || milliseconds);
}
