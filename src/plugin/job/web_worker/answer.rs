//! The worker's side: a bake, and its result as bytes.

use std::collections::HashMap;
use std::sync::Arc;

use super::message::{Message, PageParts, Place, Summary};
use super::request::{Damaged, decode};
use crate::Device;
use crate::bake::{BakeError, BakeOutput, BakePass, Observer, Progress};
use crate::lightmap::{Placement, Unwrap};
use crate::plugin::job::solve::repair_and_bake;
use crate::plugin::tree_cells::TreeCells;
use crate::plugin::write_back::half_floats;

/// Content hash of precomputed transport between the page and its worker. Both have the same scene.
pub const SCENE: [u8; 32] = [0; 32];

/// Receiver of messages to the page.
pub type Tell<'a> = &'a (dyn Fn(&Message) + Sync);

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Bake(#[from] BakeError),
    #[error(transparent)]
    Damaged(#[from] Damaged),
}

impl From<postcard::Error> for Failure {
    fn from(error: postcard::Error) -> Self {
        Self::Damaged(error.into())
    }
}

/// Observer that tells the page. A canceled worker is ended by the page.
struct Teller<'a>(Tell<'a>);

impl Observer for Teller<'_> {
    fn progress(&self, progress: Progress) {
        self.0(&Message::Progress(progress));
    }

    fn pass_finished(&self, pass: BakePass) {
        self.0(&Message::Pass(pass));
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Bakes what the parts of a request say, and tells the page the result. The page has opened the device, so it is the
/// processor.
pub fn answer(request: Vec<Vec<u8>>, tell: Tell<'_>) {
    tell(&Message::Begun);
    match bake(request, tell) {
        Ok(()) => tell(&Message::Done),
        Err(failure) => tell(&Message::Failed(failure.to_string())),
    }
}

fn bake(request: Vec<Vec<u8>>, tell: Tell<'_>) -> Result<(), Failure> {
    let (scene, settings) = decode(request)?;
    let baked = repair_and_bake(scene, &settings, &Device::Cpu, &Teller(tell))?;
    let BakeOutput { scene, world, layout, pages, volume, relight, report, .. } = baked;
    let mut unwraps = Unwraps::default();
    let summary = Summary {
        report: serde_json::to_string(&report).map_err(Damaged::from)?,
        surfaces: (scene.surfaces.iter())
            .map(|surface| (surface.key.clone(), surface.to_world.to_cols_array()))
            .collect(),
        placements: layout.placements.iter().map(|placement| Some(unwraps.place(placement.as_ref()?))).collect(),
        pages: layout.pages,
        padding: layout.padding,
        unwraps: unwraps.all.len() as u32,
        volume: volume.map(Arc::unwrap_or_clone),
        cells: TreeCells::of(world.tree()).levels,
        has_transport: relight.is_some(),
    };
    // The parts need memory.
    drop((scene, world));
    let part = |bytes| tell(&Message::Part(bytes));
    part(postcard::to_allocvec(&summary)?);
    for unwrap in unwraps.all {
        part(postcard::to_allocvec::<Unwrap>(&unwrap)?);
    }
    for page in pages {
        let (pixels, validity) = (half_floats(&page.texels), page.validity_bytes());
        let page = relight.is_some().then_some(page);
        part(postcard::to_allocvec(&PageParts { pixels, validity, page })?);
    }
    if let Some(transport) = relight {
        part(transport.to_bytes(SCENE));
    }
    Ok(())
}

/// Unwrapped meshes, each once: surfaces share them.
#[derive(Default)]
struct Unwraps {
    all: Vec<Arc<Unwrap>>,
    indices: HashMap<*const Unwrap, u32>,
}

impl Unwraps {
    fn place(&mut self, placement: &Placement) -> Place {
        let Placement { unwrap, page, rectangle } = placement;
        let index = *self.indices.entry(Arc::as_ptr(unwrap)).or_insert_with(|| {
            self.all.push(Arc::clone(unwrap));
            self.all.len() as u32 - 1
        });
        Place { unwrap: index, page: *page, rectangle: *rectangle }
    }
}
