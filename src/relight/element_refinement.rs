//! Refinement of settled lights: two solves by per-element Jacobi sweeps over stored hits.
//!
//! Patches blur light over their extent. Once all elements have been sampled for a settled light, sweeps over stored
//! hits compute its indirect light. Each update does one bounce. Each sweep reflects the error of the patch solution
//! once more, so that it decays (final gather). Then rays add light by way of unmapped surfaces (`unmapped_light`), and
//! elements are sampled adaptively (`adaptive_samples`). A second solve with one more sweep follows. Last, rays to the
//! brightest elements add a correction (`brightest_senders`). A filter removes the remaining noise within its estimated
//! variance.
//!
//! All steps are linear, so the result for unit strength holds for every strength.

use glam::Vec3;
use rayon::prelude::*;

use super::brightest_senders::BrightestSenders;
use super::lights::Shape;
use super::pages::Pages;
use super::receiving::Receiving;
use super::response::{LightResponse, Received};
use super::tracked_light::{ResponseKind, TrackedLight};
use super::unmapped_light::{UnmappedLight, UnmappedPoints};
use crate::scene::luminance;

/// Minimum number of elements per thread.
const MIN_CHUNK: usize = 4096;

/// Context of a refinement step.
pub struct SweepContext<'a> {
    pub receiving: Receiving<'a>,
    pub pages: &'a Pages,
    pub unmapped_points: &'a UnmappedPoints,
    /// Sum of the receiver weights of each patch.
    pub weights: &'a [Vec3],
    /// Number of bounces per solve.
    pub bounces: u32,
    /// Ray budget of one update.
    pub budget: u64,
}

/// Added or removed light to refine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Index of the tracked light.
    pub light: usize,
    pub kind: ResponseKind,
    pub shape: Shape,
    pub strength: Vec3,
}

/// Result of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RefinementStep {
    pub rays: u64,
    /// True when the refined indirect light has changed.
    pub is_news: bool,
    /// True when the adaptive direct light has changed.
    pub has_sampled: bool,
}

/// Refinement state of one light, or of several together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElementRefinement {
    stage: Stage,
    work: Work,
    /// Latest known indirect irradiance minus the patch solution, in lux by row, without `carried`. Empty before.
    beside: Vec<Vec3>,
    /// Irradiance by way of unmapped surfaces, before further bounces, in lux by row. Empty for none.
    carried: Vec<Vec3>,
    /// Correction by rays to the brightest elements and by the noise filter, in lux by row. Empty before.
    more: Vec<Vec3>,
}

/// Next stage of a settled light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// First solve. It uses the first direct light even if better samples exist, so that the result does not depend on
    /// history.
    #[default]
    First,
    /// Rays to unmapped surfaces.
    UnmappedLight,
    /// Adaptive sampling of direct light.
    AdaptiveSamples,
    /// Second solve, from the adaptive samples and the light of unmapped surfaces.
    Second,
    /// Rays to the brightest elements.
    BrightestSenders,
    /// Complete.
    Done,
}

/// Unfinished work of the stage.
#[derive(Clone, Debug, Default, PartialEq)]
enum Work {
    #[default]
    None,
    Solve(JacobiSolve),
    Unmapped(UnmappedLight),
    Senders(BrightestSenders),
}

/// Jacobi solve in progress, in lux by row.
#[derive(Clone, Debug, PartialEq)]
struct JacobiSolve {
    direct: Vec<Vec3>,
    /// Indirect irradiance by the patch solution, and by the sweeps so far.
    spread: Vec<Vec3>,
    light: Vec<Vec3>,
    swept: u32,
}

impl Stage {
    /// Returns true when the stage traces rays.
    pub fn is_by_rays(self) -> bool {
        matches!(self, Self::UnmappedLight | Self::AdaptiveSamples | Self::BrightestSenders)
    }
}

impl ElementRefinement {
    /// Returns the next stage, or `None` when complete.
    ///
    /// Removed light was baked from stored hits, noise included. So rays to bright elements are for added light only.
    pub fn next(&self, is_added: bool) -> Option<Stage> {
        let is_done = self.stage == Stage::Done || (self.stage == Stage::BrightestSenders && !is_added);
        (!is_done).then_some(self.stage)
    }

    /// Returns true when the first solve is complete.
    pub fn is_known(&self) -> bool {
        self.stage > Stage::First
    }

    /// Continues the refinement of some parts of lights, by one sweep or within the ray budget.
    pub fn step(&mut self, parts: &[Part], lights: &mut [TrackedLight], context: &SweepContext) -> RefinementStep {
        if self.stage == Stage::AdaptiveSamples {
            return RefinementStep { rays: self.sample(parts, lights, context), has_sampled: true, is_news: false };
        }
        let response = |part: &Part| Some((part.strength, lights[part.light].response(part.kind)?));
        let changes: Vec<(Vec3, &LightResponse)> = parts.iter().filter_map(response).collect();
        let (rays, is_news) = match self.stage {
            Stage::UnmappedLight => self.trace_unmapped(parts, context),
            Stage::BrightestSenders => self.trace_senders(&changes, context),
            _ => (0, self.sweep(&changes, context)),
        };
        RefinementStep { rays, is_news, has_sampled: false }
    }

    /// Samples the direct light of lights adaptively. Returns the number of rays.
    fn sample(&mut self, parts: &[Part], lights: &mut [TrackedLight], context: &SweepContext) -> u64 {
        let (mut rays, mut is_fine) = (0, true);
        for part in parts {
            if let Some(response) = lights[part.light].response_mut(part.kind) {
                rays += response.refine(&context.receiving, context.budget.saturating_sub(rays));
                is_fine &= response.is_fine();
            }
        }
        if is_fine {
            self.stage = Stage::Second;
        }
        rays
    }

    /// Traces rays to unmapped surfaces. Returns the number of rays, and whether light was added.
    fn trace_unmapped(&mut self, parts: &[Part], context: &SweepContext) -> (u64, bool) {
        let SweepContext { receiving, unmapped_points, budget, .. } = context;
        let mut rays = 0;
        let mut unmapped = match core::mem::take(&mut self.work) {
            Work::Unmapped(unmapped) => unmapped,
            _ => {
                let light = |part: &Part| Some((part.strength, part.shape.sampler(receiving.lit)?));
                let lights: Vec<_> = parts.iter().filter_map(light).collect();
                let (unmapped, traced) = UnmappedLight::new(unmapped_points, &lights, receiving);
                rays = traced;
                unmapped
            }
        };
        rays += unmapped.step(receiving, budget.saturating_sub(rays));
        if !unmapped.is_done() {
            self.work = Work::Unmapped(unmapped);
            return (rays, false);
        }
        self.carried = unmapped.into_light();
        self.stage = Stage::AdaptiveSamples;
        (rays, !self.carried.is_empty())
    }

    /// Does one sweep. Returns true when that was the last.
    fn sweep(&mut self, changes: &[(Vec3, &LightResponse)], context: &SweepContext) -> bool {
        let is_second = self.stage == Stage::Second;
        let mut solve = match core::mem::take(&mut self.work) {
            Work::Solve(solve) => solve,
            _ => {
                let spread = spread(changes, context);
                let (mut light, mut direct) = (spread.clone(), direct(changes, spread.len(), is_second));
                add(&mut light, &self.beside, Vec3::ONE);
                add(&mut direct, &self.carried, Vec3::ONE);
                JacobiSolve { direct, spread, light, swept: 0 }
            }
        };
        context.receiving.level.precomputed.hits.sweep(&solve.direct, &mut solve.light);
        solve.swept += 1;
        let is_last = solve.swept >= context.bounces + u32::from(is_second);
        if is_last {
            self.beside = solve.light.iter().zip(&solve.spread).map(|(light, spread)| light - spread).collect();
            self.stage = if is_second { Stage::BrightestSenders } else { Stage::UnmappedLight };
        } else {
            self.work = Work::Solve(solve);
        }
        is_last
    }

    /// Traces rays to the elements that added light makes brightest. Returns the number of rays, and whether all are
    /// done.
    fn trace_senders(&mut self, changes: &[(Vec3, &LightResponse)], context: &SweepContext) -> (u64, bool) {
        let SweepContext { receiving, budget, .. } = context;
        let hits = &receiving.level.precomputed.hits;
        let mut senders = match core::mem::take(&mut self.work) {
            Work::Senders(senders) => senders,
            _ => {
                let added = changes.iter().copied().filter(|(strength, _)| is_added(*strength));
                let direct = direct(&added.collect::<Vec<_>>(), hits.len(), true);
                BrightestSenders::of(&hits.radiosity(&direct, &vec![Vec3::ZERO; hits.len()]), receiving)
            }
        };
        let rays = senders.step(receiving, *budget);
        if !senders.is_done() {
            self.work = Work::Senders(senders);
            return (rays, false);
        }
        self.more = self.smoothed(&senders, changes, context);
        self.stage = Stage::Done;
        (rays, true)
    }

    /// Returns the correction by rays to bright elements plus that of the noise filter. The filter smooths the sum as
    /// far as the remaining variance allows: noise of a few per cent is visible on an evenly lit wall.
    fn smoothed(
        &self,
        senders: &BrightestSenders,
        changes: &[(Vec3, &LightResponse)],
        context: &SweepContext,
    ) -> Vec<Vec3> {
        let hits = &context.receiving.level.precomputed.hits;
        let mut light = spread(changes, context);
        add(&mut light, &self.beside, Vec3::ONE);
        add(&mut light, &self.carried, Vec3::ONE);
        let mut radiosity = hits.radiosity(&direct(changes, hits.len(), true), &light);
        senders.leave_out(&mut radiosity);
        let mut noise = hits.noise(&radiosity);
        noise.iter_mut().zip(senders.more()).for_each(|(noise, more)| *noise += more.noise);
        let mut more: Vec<Vec3> = senders.more().iter().map(|more| more.light).collect();
        add(&mut light, &more, Vec3::ONE);
        add(&mut more, &context.pages.smoothing().evened(&light, &noise), Vec3::ONE);
        more
    }

    /// Adds the refined irradiance, times a strength, to that of elements; an empty list counts as zeros.
    pub fn add(&self, strength: Vec3, elements: &mut Vec<Vec3>) {
        elements.resize(self.beside.len(), Vec3::ZERO);
        add(elements, &self.beside, strength);
        add(elements, &self.carried, strength);
        if is_added(strength) {
            add(elements, &self.more, strength);
        }
    }
}

/// Returns true for the strength of added light, false for removed light.
pub fn is_added(strength: Vec3) -> bool {
    luminance(strength) > 0.0
}

/// Adds light times a strength, row by row.
fn add(sums: &mut [Vec3], light: &[Vec3], strength: Vec3) {
    sums.par_iter_mut().zip(light).with_min_len(MIN_CHUNK).for_each(|(sum, light)| *sum += light * strength);
}

/// Returns the direct irradiance of some changes, in lux by row.
fn direct(changes: &[(Vec3, &LightResponse)], rows: usize, is_fine: bool) -> Vec<Vec3> {
    let mut direct = vec![Vec3::ZERO; rows];
    for (strength, response) in changes {
        let receivers = if is_fine { response.receivers() } else { response.first_known() };
        receivers.iter().for_each(|&Received { row, light }| direct[row as usize] += strength * light);
    }
    direct
}

/// Returns the indirect irradiance by the patch solution, in lux by row.
fn spread(changes: &[(Vec3, &LightResponse)], context: &SweepContext) -> Vec<Vec3> {
    let mut patches = vec![Vec3::ZERO; context.weights.len()];
    changes.iter().for_each(|(strength, response)| response.add(*strength, context.weights, &mut patches));
    context.pages.spread(&context.receiving.level.precomputed.transport, &patches)
}
