//! What form factors get wrong, found by gather rays and shot again.
//!
//! Rays that read the radiosities of a solution say what light elements should have. What they have less, or too much, is
//! received now, and reflected power of it is unshot: shots carry it on. What shots get wrong of it is smaller by as much
//! as it is itself (iterative refinement, Wilkinson 1963), so that in the end only the noise of the rays is left, which
//! falls from round to round as there are more of them.

use std::cell::OnceCell;

use glam::Vec3;
use rayon::prelude::*;

use crate::lightmap::Elements;
use crate::radiosity::allot::Allotment;
use crate::radiosity::backend::Reading;
use crate::radiosity::cpu::Transport;
use crate::radiosity::partial::Rounds;
use crate::radiosity::residual::Probe;
use crate::radiosity::seeds::Stage;
use crate::radiosity::{Content, HALVES, SolveError};
use crate::scene::luminance;

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
    /// Which of it is wanted: noise is judged against its mean.
    pub content: Content,
}

/// Rounds of gather rays.
pub struct Correction<'a> {
    transport: Transport<'a>,
    allotment: OnceCell<Allotment>,
    /// Noise that is small enough, over the mean of the light that is wanted.
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
        let wanted = self.wanted_growth(light);
        Some(match self.rounds.count {
            0 => FIRST_SHARE,
            _ => ((wanted.min(MOST_GROWTH) - 1.0) / (wanted - 1.0)).clamp(FIRST_SHARE, 1.0),
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
        let Self { transport, rounds: Rounds { rays, now, traced, .. }, .. } = self;
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
        *traced += found.iter().map(|(_, rays)| rays).sum::<u64>();
        now.extend(found.into_iter().map(|(light, _)| light));
    }

    /// Noise of the last round, over the mean of the light that is wanted.
    fn noise(&self, light: &Light) -> f32 {
        let (mut square, mut mean, mut all) = (0.0f64, 0.0f64, 0.0f64);
        for (element, found) in self.rounds.last.iter().enumerate() {
            let weight = f64::from(self.transport.elements.area[element] * light.visible[element]);
            square += weight * f64::from(0.5 * luminance(found[0] - found[1])).powi(2);
            let wanted = match light.content {
                Content::Full => light.direct[element] + light.indirect[element],
                Content::Indirect => light.indirect[element],
            };
            mean += weight * f64::from(luminance(wanted));
            all += weight;
        }
        if mean > 0.0 { ((square * all).sqrt() / mean) as f32 } else { 0.0 }
    }

    /// How many times the rays of the last round would make its noise small enough, and twice at least.
    fn wanted_growth(&self, light: &Light) -> f32 {
        // Noise shrinks a little faster than with the root of the rays.
        (self.noise(light) / self.goal).powf(1.0 / 0.75).max(2.0)
    }

    /// Rays of either half of each element in the next round: none when the noise is small enough.
    fn more_rays(&mut self, light: &Light) -> Vec<u32> {
        let Rounds { last_rays, last, .. } = &self.rounds;
        let elements = self.transport.elements;
        let mean = last_rays.iter().map(|&rays| u64::from(rays)).sum::<u64>() / last_rays.len().max(1) as u64;
        let noise = self.noise(light);
        if noise <= self.goal || mean >= MOST_RAYS.into() {
            return Vec::new();
        }
        let growth = self.wanted_growth(light).min(MOST_GROWTH);
        let allotment = self.allotment.get_or_init(|| Allotment::new(elements));
        let reading = |half: usize| {
            let of = |element: usize| Reading {
                indirect: last[element][half],
                gathered: last_rays[element],
                visible_fraction: light.visible[element],
                ..Reading::default()
            };
            (0..last.len()).map(of).collect::<Vec<_>>()
        };
        let more =
            allotment.deal(elements, &[reading(0), reading(1)], light.content, ((growth - 1.0) * mean as f32) as u32);
        last_rays.iter().zip(more).map(|(have, more)| have + more).collect()
    }
}
