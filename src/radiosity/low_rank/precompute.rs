//! Precomputing a level's transport at the end of its bake.

use glam::Vec3;

use super::{LowRank, PatchKind, Precomputed, Receivers, Rows, StoredTransport};
use crate::lightmap::Elements;
use crate::progress::Monitor;
use crate::radiosity::backend::{Hits, Step, StepError, TransportBackend};
use crate::radiosity::{Accumulators, HALVES, Solution, StoredHits};
use crate::scene::luminance;

/// Gather rays of each half of an element that tell well enough what it sees: what they miss is a few per cent of the
/// indirect light, and smaller the more even that is.
const RAYS: u32 = 512;

/// The share of what an element sees that may be simplified away.
const LOSS: f32 = 0.01;

/// Precomputing the transport between elements and patches, from the rays whose hits a bake has stored.
#[derive(Clone, Copy, Debug)]
pub struct Precompute<'a> {
    /// What was baked.
    pub elements: &'a Elements,
    /// What the bake came to.
    pub solution: &'a Solution,
    /// How many patches there may be.
    pub patches: usize,
    /// How elements are grouped into them.
    pub kind: PatchKind,
    /// Rays of each half of an element whose hits have room in memory.
    pub storable: u32,
}

impl Precompute<'_> {
    /// Takes what the backend has stored, and traces more where that is little. Of the hits themselves some thousand of
    /// each element are kept, a byte each or little more: fewer where [`storable`](Self::storable) is less.
    ///
    /// # Errors
    /// When the monitor asks for it, or the backend's device fails.
    pub fn run(&self, backend: &mut dyn TransportBackend, monitor: &dyn Monitor) -> Result<Precomputed, StepError> {
        let Self { elements, solution, .. } = *self;
        let visible = &solution.visible_fraction;
        let missing = self.missing_rays(backend.stored_rays());
        if missing > 0 {
            let rays = visible.iter().map(|&visible| if visible > 0.0 { missing } else { 0 }).collect();
            backend.run(&Step::Gather { rays, hits: Hits::Store }, monitor)?;
        }
        let halves = backend.snapshot()?;
        let patches = self.kind.patches(elements, visible, &halves, self.patches);
        let stored = || halves.iter().flat_map(|half| &half.stored);
        let rows = Rows::of_hits(&patches, stored());
        monitor.check()?;
        let receivers = Receivers::new(elements, visible, &patches);
        let hits = StoredTransport::new(&patches.order, &elements.reflectance, halves.iter().flat_map(kept));
        monitor.check()?;
        Ok(Precomputed { transport: LowRank::new(patches, &elements.reflectance, &rows, LOSS), receivers, hits })
    }

    /// How many more rays each half of an element needs, where so many are stored.
    fn missing_rays(&self, stored: u64) -> u32 {
        let each = stored / (self.elements.len() * HALVES).max(1) as u64;
        RAYS.min(self.storable.max(1)).saturating_sub(u32::try_from(each).unwrap_or(u32::MAX))
    }
}

/// The first stored hits of a half that are as many as one needs: precise bakes store more than games have room for.
fn kept(half: &Accumulators) -> impl Iterator<Item = &StoredHits> {
    let enough = RAYS as usize * half.sums.len();
    let mut before = 0;
    half.stored.iter().take_while(move |step| {
        let is_needed = before < enough;
        before += step.hits.len();
        is_needed
    })
}

/// How far the light that some transport finds for a bake's direct light is from the bake's own indirect light: RMS of the
/// luminance over its mean, weighed by the area that light reaches.
pub fn deviation(precomputed: &Precomputed, elements: &Elements, solution: &Solution) -> f32 {
    let transport = &precomputed.transport;
    let mut relit = vec![Vec3::ZERO; transport.elements()];
    transport.relight(&transport.sorted(&solution.direct), &mut relit);
    let (mut squares, mut sum, mut area) = (0.0, 0.0, 0.0);
    for (relit, &element) in relit.iter().zip(&transport.patches.order) {
        let element = element as usize;
        let weight = f64::from(elements.area[element] * solution.visible_fraction[element]);
        let baked = f64::from(luminance(solution.indirect[element]));
        squares += weight * (f64::from(luminance(*relit)) - baked).powi(2);
        sum += weight * baked;
        area += weight;
    }
    if sum > 0.0 { ((squares / area).sqrt() / (sum / area)) as f32 } else { 0.0 }
}
