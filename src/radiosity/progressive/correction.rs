//! What form factors get wrong, found by gather rays and shot again.
//!
//! Rays that read the radiosities of a solution say what light elements should have. What they have less, or too much, is
//! received now, and reflected power of it is unshot: shots carry it on. What shots get wrong of it is smaller by as much
//! as it is itself (iterative refinement, Wilkinson 1963), so that in the end only the noise of the rays is left, which
//! falls from round to round as there are more of them.

use std::cell::OnceCell;
use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use crate::lightmap::Elements;
use crate::radiosity::allot::{Allotment, Deal};
use crate::radiosity::backend::Reading;
use crate::radiosity::bands::{Band, Bands, Judged};
use crate::radiosity::cpu::Transport;
use crate::radiosity::estimate::{Estimate, estimate};
use crate::radiosity::partial::Rounds;
use crate::radiosity::plan::local_rays_left;
use crate::radiosity::residual::Probe;
use crate::radiosity::seeds::Stage;
use crate::radiosity::{Content, HALVES, SolveError};

/// Rays of either half of each element in the first round.
const FIRST_RAYS: u32 = 64;

/// Rays of either half of each element, on average, after which no more rounds are made.
const MOST_RAYS: u32 = 1 << 18;

/// How many times its rays an element has in the next round at most.
const MOST_GROWTH: f32 = 8.0;

/// The part of all rounds that the first is taken for, whose noise tells what others are needed.
const FIRST_SHARE: f32 = 0.05;

/// Rays between two looks at the clock.
const RAYS_A_SLICE: u64 = 1 << 20;

/// Light that rays are to check.
pub struct Light<'a> {
    /// Irradiance straight from lights, lux.
    pub direct: &'a [Vec3],
    /// Irradiance by way of other surfaces, lux.
    pub indirect: &'a [Vec3],
    /// The part of each element that light reaches.
    pub visible: &'a [f32],
    /// The light that is wanted of each element, luminance in lux, and its adaptation level: noise is relative to them.
    pub irradiance: &'a [f32],
    pub adaptation: Arc<[f32]>,
    /// The area of each element that texels show.
    pub shown_areas: &'a [f32],
}

/// Rounds of gather rays.
pub struct Correction<'a> {
    transport: Transport<'a>,
    allotment: OnceCell<Allotment>,
    /// Noise that is small enough.
    goal: f32,
    rounds: Rounds,
}

impl<'a> Correction<'a> {
    /// Begins, or goes on from what a checkpoint held.
    pub fn new(transport: Transport<'a>, goal: f32, rounds: Rounds) -> Self {
        Self { transport, allotment: OnceCell::new(), goal, rounds }
    }

    /// All that rounds have come to, for a checkpoint.
    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// Deals out the rays of the next round, unless one is under way, and answers which part of all that is left it is,
    /// about; `None` when there is to be none.
    pub fn begin(&mut self, light: &Light) -> Option<f32> {
        if self.rounds.rays.is_empty() {
            self.rounds.rays = match self.rounds.count {
                0 => light.visible.iter().map(|&visible| if visible > 0.0 { FIRST_RAYS } else { 0 }).collect(),
                _ => self.more_rays(light),
            };
        }
        if self.rounds.rays.iter().all(|&rays| rays == 0) {
            self.rounds.rays.clear();
            return None;
        }
        Some(match self.rounds.count {
            0 => FIRST_SHARE,
            _ => {
                let wanted = self.next_goal(&self.judge(light).1).map_or(2.0, |goal| goal.growth);
                ((wanted.min(MOST_GROWTH) - 1.0) / (wanted - 1.0)).clamp(FIRST_SHARE, 1.0)
            }
        })
    }

    /// How much of the round is done that is under way.
    pub fn progress(&self) -> f32 {
        let Rounds { rays, now, .. } = &self.rounds;
        let sum = |rays: &[u32]| rays.iter().map(|&rays| u64::from(rays)).sum::<u64>();
        sum(&rays[..now.len()]) as f32 / sum(rays).max(1) as f32
    }

    /// Traces all rays of the round, and answers what each element should have more than it has, lux. `go_on` is asked now
    /// and then; when it wants no more, the round is given up.
    ///
    /// # Errors
    /// What `go_on` answers.
    pub fn run(
        &mut self,
        light: &Light,
        mut go_on: impl FnMut(&Self) -> Result<bool, SolveError>,
    ) -> Result<Option<Vec<Vec3>>, SolveError> {
        let Elements { reflectance, .. } = self.transport.elements;
        let all = light.direct.iter().zip(light.indirect).map(|(direct, indirect)| *direct + *indirect);
        let radiosity: Vec<Vec3> = all.zip(reflectance).map(|(light, part)| light * part).collect();
        while self.rounds.now.len() < self.rounds.rays.len() {
            self.trace_slice(&radiosity, light);
            if !go_on(self)? {
                return Ok(None);
            }
        }
        let Rounds { count, rays, last_rays, now, last, .. } = &mut self.rounds;
        *count += 1;
        *last_rays = core::mem::take(rays);
        *last = core::mem::take(now);
        let more = |(found, indirect): (&[Vec3; HALVES], &Vec3)| 0.5 * (found[0] + found[1]) - *indirect;
        Ok(Some(last.iter().zip(light.indirect).map(more).collect()))
    }

    fn trace_slice(&mut self, radiosity: &[Vec3], light: &Light) {
        let Self { transport, rounds: Rounds { rays, now, traced, local, is_local, .. }, .. } = self;
        let first = now.len();
        let mut sum = 0;
        let in_slice = |rays: &&u32| {
            sum += u64::from(**rays);
            sum <= RAYS_A_SLICE
        };
        let count = rays[first..].iter().take_while(in_slice).count().max(1);
        let probe = Probe { transport, radiosity, visible: Some(light.visible), stage: Stage::Correct };
        let find = |element: usize| {
            let found = [0, 1].map(|half| probe.gathered(half, element, rays[element]));
            // Where no ray counts, nothing is known better.
            let light = found.each_ref().map(|found| found.light.unwrap_or(light.indirect[element]));
            (light, found.iter().map(|found| found.rays).sum::<u64>())
        };
        let found: Vec<([Vec3; HALVES], u64)> =
            (first..first + count).into_par_iter().with_min_len(4).map(find).collect();
        let more = found.iter().map(|(_, rays)| rays).sum::<u64>();
        *traced += more;
        *local += if *is_local { more } else { 0 };
        now.extend(found.into_iter().map(|(light, _)| light));
    }

    /// Judges the noise of the last round by its halves.
    fn judge(&self, light: &Light) -> ([Vec<Reading>; HALVES], Estimate) {
        let Rounds { last_rays, last, .. } = &self.rounds;
        let reading = |half: usize| {
            let of = |element: usize| Reading {
                indirect: last[element][half],
                gathered: last_rays[element],
                visible_fraction: light.visible[element],
                ..Reading::default()
            };
            (0..last.len()).map(of).collect::<Vec<_>>()
        };
        let halves = [reading(0), reading(1)];
        // Direct light is left alone.
        let adaptation = light.adaptation.clone();
        let (found, _) = estimate(light.shown_areas, adaptation, light.irradiance, &halves, Content::Indirect);
        (halves, found)
    }

    /// Noise that more rays are worth.
    fn is_too_noisy(&self, band: &Band) -> bool {
        band.noise > self.goal && !band.is_hopeless() && band.rays < MOST_RAYS as f32
    }

    /// The bands that the next round is for: the whole scene as one, and those of brightness after that; none where no
    /// more rays are worth it.
    fn next_goal<'b>(&self, estimate: &'b Estimate) -> Option<Goal<'b>> {
        let goal = |judged: &'b Judged, most_rays: u64| {
            let chosen: Vec<bool> = judged.bands.iter().map(|band| self.is_too_noisy(band)).collect();
            let noisy = judged.bands.iter().filter(|band| self.is_too_noisy(band));
            // Noise shrinks a little faster than with the root of the rays.
            let ratio = noisy.map(|band| band.noise).reduce(f32::max)? / self.goal;
            Some(Goal { judged, chosen, growth: (ratio * ratio.sqrt()).max(2.0), most_rays })
        };
        let Rounds { last_rays, traced, local, .. } = &self.rounds;
        // All rays of a round are traced anew.
        let again = HALVES as u64 * last_rays.iter().map(|&rays| u64::from(rays)).sum::<u64>();
        let left = local_rays_left(last_rays.len(), traced - local, *local).saturating_sub(again);
        goal(&estimate.whole, u64::MAX).or_else(|| goal(&estimate.local, left).filter(|_| left > 0))
    }

    /// Rays of either half of each element in the next round: none when the noise is small enough.
    fn more_rays(&mut self, light: &Light) -> Vec<u32> {
        let (halves, estimate) = self.judge(light);
        let Some(goal) = self.next_goal(&estimate) else { return Vec::new() };
        let elements = self.transport.elements;
        let Bands { adaptation, of_element } = &goal.judged.grouping;
        let takes_part = |element: usize| goal.chosen[usize::from(of_element[element])];
        let last_rays = &self.rounds.last_rays;
        let have: u64 = (0..last_rays.len()).filter(|&one| takes_part(one)).map(|one| u64::from(last_rays[one])).sum();
        let rays = (f64::from(goal.growth.min(MOST_GROWTH) - 1.0) * have as f64) as u64;
        let deal = Deal { adaptation, takes_part: &takes_part, rays: rays.min(goal.most_rays / HALVES as u64) };
        let allotment = self.allotment.get_or_init(|| Allotment::new(elements));
        let more = allotment.deal(elements, &halves, Content::Indirect, &deal);
        let is_worth_it = more.iter().any(|&rays| rays > 0);
        self.rounds.is_local = goal.most_rays < u64::MAX;
        if is_worth_it { last_rays.iter().zip(more).map(|(have, more)| have + more).collect() } else { Vec::new() }
    }
}

/// The aim of a round.
struct Goal<'a> {
    judged: &'a Judged,
    /// Which bands are too noisy.
    chosen: Vec<bool>,
    /// The factor of rays that would make their noise small enough, two at least.
    growth: f32,
    /// Rays that may be traced beyond those of the last round.
    most_rays: u64,
}
