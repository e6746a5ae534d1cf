//! Precomputation of a level's transport at the end of its bake.

use glam::Vec3;

use super::kind::coarse_for;
use super::{Coherence, Contributions, LowRank, PatchKind, Patches, Precomputed, Receivers, Rows, StoredTransport};
use crate::lightmap::Elements;
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::{Accumulators, HALVES, Solution, StoredHits};
use crate::radiosity::{Hits, Step, StepError, TransportBackend};
use crate::scene::luminance;

/// Number of gather rays for each half of an element that give sufficient form factors. Their error is a few percent of
/// the indirect light, and smaller for even light.
pub const RELIGHT_RAYS: u32 = 512;

/// Fraction of an element's form factors that packing may drop.
const LOSS: f32 = 0.01;

/// Precomputation of the transport between elements and patches, from the hits stored by a bake.
#[derive(Clone, Copy, Debug)]
pub struct Precompute<'a> {
    /// Elements of the bake.
    pub elements: &'a Elements,
    /// Result of the bake.
    pub solution: &'a Solution,
    /// Maximum number of patches.
    pub patches: usize,
    /// Grouping of elements into patches.
    pub kind: PatchKind,
    /// Conditions for patches of coherent views as published (`001` algorithm 1), which then decide their number up to
    /// `patches`. With `None` the number decides the conditions.
    pub coherence: Option<Coherence>,
    /// Rays of each half of an element to know at least: [`RELIGHT_RAYS`], or fewer where memory is short.
    pub rays: u32,
}

impl Precompute<'_> {
    /// Traces missing rays, whose hits the backend stores.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels, or if the backend's device fails.
    pub fn trace(&self, backend: &mut dyn TransportBackend, monitor: &dyn Monitor) -> Result<(), StepError> {
        let missing = self.missing_rays(backend.stored_rays());
        if missing > 0 {
            let visible = self.solution.visible_fraction.iter();
            let rays = visible.map(|&visible| if visible > 0.0 { missing } else { 0 }).collect();
            backend.run(&Step::Gather { rays, hits: Hits::Store }, monitor)?;
        }
        Ok(())
    }

    /// Precomputes the transport from stored hits. About a thousand hits of each element are kept, in one byte each or
    /// slightly more. There are fewer if [`rays`](Self::rays) is smaller. Contributions of lights are left to the
    /// caller.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels.
    pub fn run(&self, halves: &[Accumulators; HALVES], monitor: &dyn Monitor) -> Result<Precomputed, Cancelled> {
        self.run_with(self.patches(halves).0, halves, monitor)
    }

    /// Creates the patches. Also returns the number that the coherence asks for, if it is above the maximum.
    pub fn patches(&self, halves: &[Accumulators; HALVES]) -> (Patches, Option<usize>) {
        let Self { elements, patches: max, kind, coherence, .. } = *self;
        let visible = &self.solution.visible_fraction;
        let Some(coherence) = coherence else { return (kind.patches(elements, visible, halves, max), None) };
        let coarse = Patches::uniform(elements, visible, coarse_for(max));
        let views = halves.each_ref().map(|half| Rows::of_hits(&coarse, &half.stored));
        let asked = coarse.coherent(elements, visible, views.each_ref(), coherence);
        if asked.len() <= max {
            return (asked, None);
        }
        (coarse.coherent_up_to(elements, visible, views.each_ref(), max), Some(asked.len()))
    }

    /// Precomputes the transport of given patches, as [`run`](Self::run) does.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels.
    pub fn run_with(
        &self,
        patches: Patches,
        halves: &[Accumulators; HALVES],
        monitor: &dyn Monitor,
    ) -> Result<Precomputed, Cancelled> {
        let Self { elements, solution, .. } = *self;
        let visible = &solution.visible_fraction;
        let stored = || halves.iter().flat_map(|half| &half.stored);
        let rows = Rows::of_hits(&patches, stored());
        monitor.check()?;
        let receivers = Receivers::new(elements, visible, &patches);
        let hits =
            StoredTransport::new(&patches.order, &elements.reflectance, halves.iter().flat_map(|half| self.kept(half)));
        monitor.check()?;
        Ok(Precomputed {
            transport: LowRank::new_monitored(patches, &elements.reflectance, &rows, LOSS, monitor)?,
            receivers,
            hits,
            contributions: Contributions::default(),
        })
    }

    /// Returns as many of a half's stored hits as needed, from the first one. Precise bakes store more than games have
    /// room for.
    fn kept<'h>(&self, half: &'h Accumulators) -> impl Iterator<Item = &'h StoredHits> + use<'h> {
        let enough = self.rays as usize * half.sums.len();
        let mut before = 0;
        half.stored.iter().take_while(move |step| {
            let is_needed = before < enough;
            before += step.hits.len();
            is_needed
        })
    }

    /// Returns the number of missing rays for each half of an element, given the number of stored ones.
    fn missing_rays(&self, stored: u64) -> u32 {
        let each = stored / (self.elements.len() * HALVES).max(1) as u64;
        self.rays.saturating_sub(u32::try_from(each).unwrap_or(u32::MAX))
    }
}

/// Returns the relative deviation of relit light from a bake's own indirect light, for the bake's direct light. It is
/// the RMS difference of luminance over its mean, weighted by the area that light reaches. It is rounded to hundredths
/// of a percent, since processors that fuse multiplication and addition compute other last digits.
pub fn deviation(precomputed: &Precomputed, elements: &Elements, solution: &Solution) -> f32 {
    let transport = &precomputed.transport;
    let mut relit = vec![Vec3::ZERO; transport.elements()];
    transport.relight_alike(&transport.sorted(&solution.direct), &mut relit);
    let (mut squares, mut sum, mut area) = (0.0, 0.0, 0.0);
    for (relit, &element) in relit.iter().zip(&transport.patches.order) {
        let element = element as usize;
        let weight = f64::from(elements.area[element] * solution.visible_fraction[element]);
        let baked = f64::from(luminance(solution.indirect[element]));
        squares += weight * (f64::from(luminance(*relit)) - baked).powi(2);
        sum += weight * baked;
        area += weight;
    }
    if sum > 0.0 { (((squares / area).sqrt() / (sum / area) * 1e4).round() / 1e4) as f32 } else { 0.0 }
}
