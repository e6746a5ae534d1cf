//! Correction of form-factor errors with gather rays.
//!
//! Gather rays that read a solution's radiosities measure the correct irradiance of elements. The difference to the
//! present irradiance, positive or negative, is added to the elements. Its reflected power becomes unshot, and shots
//! propagate it. The error of these shots is smaller in proportion to their power (iterative refinement, Wilkinson
//! 1963). Finally only the noise of the rays remains. It falls from round to round with the number of rays.

use std::cell::OnceCell;
use std::sync::Arc;

use glam::Vec3;

use crate::cluster::Team;
use crate::lightmap::Elements;
use crate::progress::Unmonitored;
use crate::radiosity::backend::ElementEstimate;
use crate::radiosity::bands::{Band, Bands, Judged};
use crate::radiosity::check::{Found, ProbeTask};
use crate::radiosity::cpu::Transport;
use crate::radiosity::estimate::{Estimate, estimate};
use crate::radiosity::plan::local_rays_left;
use crate::radiosity::ray_allocation::{RayAllocator, RayBudget};
use crate::radiosity::solver_checkpoint::Rounds;
use crate::radiosity::{Content, HALVES, SolveError, StepError};

/// Number of rays of each half of each element in the first round.
pub const FIRST_RAYS: u32 = 64;

/// Mean number of rays of each half of an element after which no more rounds follow.
const MAX_RAYS: u32 = 1 << 18;

/// Maximum growth of an element's rays from one round to the next.
pub const MAX_GROWTH: f32 = 8.0;

/// Assumed fraction of the first round in the work of all rounds. Its noise determines the other rounds.
const FIRST_SHARE: f32 = 0.05;

/// Number of rays between two checks of the time.
const RAYS_A_SLICE: u64 = 1 << 20;

/// Light to be checked.
pub struct Light<'a> {
    /// Direct irradiance, in lux.
    pub direct: &'a [Vec3],
    /// Indirect irradiance, in lux.
    pub indirect: &'a [Vec3],
    /// Visible fraction of each element.
    pub visible: &'a [f32],
    /// Irradiance of the requested content, luminance in lux, and adaptation levels. Noise is relative to them.
    pub irradiance: &'a [f32],
    pub adaptation: Arc<[f32]>,
    /// Area of each element shown by texels.
    pub exposed_areas: &'a [f32],
}

/// Rounds of gather rays.
pub struct Correction<'a> {
    transport: Transport<'a>,
    /// Processes that share the rays.
    team: Option<&'a dyn Team>,
    ray_allocator: OnceCell<RayAllocator>,
    /// Accepted noise.
    goal: f32,
    rounds: Rounds,
}

impl<'a> Correction<'a> {
    /// Creates a correction, at its start or from the state of a checkpoint.
    pub fn new(transport: Transport<'a>, team: Option<&'a dyn Team>, goal: f32, rounds: Rounds) -> Self {
        Self { transport, team, ray_allocator: OnceCell::new(), goal, rounds }
    }

    /// Returns the state of all rounds, for a checkpoint.
    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// Allocates the rays of the next round, unless a round is unfinished. Returns the round's approximate fraction of
    /// the remaining work, or `None` if no round is needed.
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
                ((wanted.min(MAX_GROWTH) - 1.0) / (wanted - 1.0)).clamp(FIRST_SHARE, 1.0)
            }
        })
    }

    /// Returns the finished fraction of the current round.
    pub fn progress(&self) -> f32 {
        let Rounds { rays, now, .. } = &self.rounds;
        let sum = |rays: &[u32]| rays.iter().map(|&rays| u64::from(rays)).sum::<u64>();
        sum(&rays[..now.len()]) as f32 / sum(rays).max(1) as f32
    }

    /// Traces all rays of the round. Returns the missing irradiance of each element, in lux. `go_on` is called
    /// regularly. If it returns false, the round is abandoned.
    ///
    /// # Errors
    /// Returns the error of `go_on`, or that of a team.
    pub fn run(
        &mut self,
        light: &Light,
        mut go_on: impl FnMut(&Self) -> Result<bool, SolveError>,
    ) -> Result<Option<Vec<Vec3>>, SolveError> {
        let Elements { reflectance, .. } = self.transport.elements;
        let all = light.direct.iter().zip(light.indirect).map(|(direct, indirect)| *direct + *indirect);
        let radiosity: Vec<Vec3> = all.zip(reflectance).map(|(light, part)| light * part).collect();
        while self.rounds.now.len() < self.rounds.rays.len() {
            self.trace_slice(&radiosity, light)?;
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

    fn trace_slice(&mut self, radiosity: &[Vec3], light: &Light) -> Result<(), StepError> {
        let Self { transport, team, rounds: Rounds { rays, now, traced, local, is_local, .. }, .. } = self;
        let first = now.len();
        let mut sum = 0;
        let in_slice = |rays: &&u32| {
            sum += u64::from(**rays);
            sum <= RAYS_A_SLICE
        };
        let count = rays[first..].iter().take_while(in_slice).count().max(1);
        let task = ProbeTask::correct(transport, radiosity, light.visible, first, &rays[first..first + count]);
        let found = task.light(*team, &Unmonitored)?;
        let more = found.iter().flatten().map(|found| found.rays).sum::<u64>();
        *traced += more;
        *local += if *is_local { more } else { 0 };
        // Without a valid ray, the present light stays.
        let light =
            |(element, found): (usize, Found)| found.map(|found| found.light.unwrap_or(light.indirect[element]));
        now.extend((first..).zip(found).map(light));
        Ok(())
    }

    /// Estimates the noise of the last round from its halves.
    fn judge(&self, light: &Light) -> ([Vec<ElementEstimate>; HALVES], Estimate) {
        let Rounds { last_rays, last, .. } = &self.rounds;
        let element_estimate = |half: usize| {
            let of = |element: usize| ElementEstimate {
                indirect: last[element][half],
                gathered: last_rays[element],
                visible_fraction: light.visible[element],
                ..ElementEstimate::default()
            };
            (0..last.len()).map(of).collect::<Vec<_>>()
        };
        let halves = [element_estimate(0), element_estimate(1)];
        // Direct light is not corrected.
        let adaptation = light.adaptation.clone();
        let (found, _) = estimate(light.exposed_areas, adaptation, light.irradiance, &halves, Content::Indirect);
        (halves, found)
    }

    /// Returns true if the noise of a band needs more rays.
    fn is_too_noisy(&self, band: &Band) -> bool {
        band.noise > self.goal && !band.is_hopeless() && band.rays < MAX_RAYS as f32
    }

    /// Returns the bands of the next round: the whole scene as one band first, then brightness bands. Returns `None` if
    /// no band needs more rays.
    fn next_goal<'b>(&self, estimate: &'b Estimate) -> Option<Goal<'b>> {
        let goal = |judged: &'b Judged, max_rays: u64| {
            let chosen: Vec<bool> = judged.bands.iter().map(|band| self.is_too_noisy(band)).collect();
            let noisy = judged.bands.iter().filter(|band| self.is_too_noisy(band));
            // Noise falls slightly faster than with the root of the rays.
            let ratio = noisy.map(|band| band.noise).reduce(f32::max)? / self.goal;
            Some(Goal { judged, chosen, growth: (ratio * ratio.sqrt()).max(2.0), max_rays })
        };
        let Rounds { last_rays, traced, local, .. } = &self.rounds;
        // A round traces all its rays again.
        let again = HALVES as u64 * last_rays.iter().map(|&rays| u64::from(rays)).sum::<u64>();
        let left = local_rays_left(last_rays.len(), traced - local, *local).saturating_sub(again);
        goal(&estimate.whole, u64::MAX).or_else(|| goal(&estimate.local, left).filter(|_| left > 0))
    }

    /// Returns the number of rays of each half of each element in the next round. Empty if the noise is small enough.
    fn more_rays(&mut self, light: &Light) -> Vec<u32> {
        let (halves, estimate) = self.judge(light);
        let Some(goal) = self.next_goal(&estimate) else { return Vec::new() };
        let elements = self.transport.elements;
        let Bands { adaptation, of_element } = &goal.judged.grouping;
        let takes_part = |element: usize| goal.chosen[usize::from(of_element[element])];
        let last_rays = &self.rounds.last_rays;
        let have: u64 = (0..last_rays.len()).filter(|&one| takes_part(one)).map(|one| u64::from(last_rays[one])).sum();
        let rays = (f64::from(goal.growth.min(MAX_GROWTH) - 1.0) * have as f64) as u64;
        let budget = RayBudget { adaptation, takes_part: &takes_part, rays: rays.min(goal.max_rays / HALVES as u64) };
        let ray_allocator = self.ray_allocator.get_or_init(|| RayAllocator::new(elements));
        let more = ray_allocator.allocate(elements, &halves, Content::Indirect, &budget);
        let is_worth_it = more.iter().any(|&rays| rays > 0);
        self.rounds.is_local = goal.max_rays < u64::MAX;
        if is_worth_it { last_rays.iter().zip(more).map(|(have, more)| have + more).collect() } else { Vec::new() }
    }
}

/// Goal of a round.
struct Goal<'a> {
    judged: &'a Judged,
    /// True for each band with too much noise.
    chosen: Vec<bool>,
    /// Factor on the number of rays that reduces the noise enough, at least two.
    growth: f32,
    /// Maximum number of rays beyond those of the last round.
    max_rays: u64,
}
