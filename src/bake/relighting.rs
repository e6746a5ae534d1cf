//! Data for lights that change, precomputed at the end of a bake. With a time limit, there is as much as fits into it.

use std::sync::Arc;

use super::contributions::{self, ContributionTask};
use super::limit::{seconds_of_writing_relighting, shortened};
use super::page_maker::PageMaker;
use super::stage::StageMonitor;
use crate::clock;
use crate::low_rank::{Precompute, Precomputed, seconds_of_bounces};
use crate::progress::{Cancelled, Monitor, Part};
use crate::radiosity::{HALVES, Solution, StepError, TransportBackend};
use crate::scene::Scene;

/// Rays of each half of an element that are traced first, to measure the time of further ones.
const FIRST_RAYS: u32 = 4;

/// Number of patches whose bounces take no time to speak of.
const MIN_PATCHES: u32 = 256;

/// Largest share of the time left that the bounces between patches take.
const SHARE_OF_BOUNCES: f32 = 0.25;

/// Part of the stage's progress at which rays are traced.
const PROGRESS_OF_RAYS: f32 = 0.5;

/// Smallest share of the time for rays and single lights that rays get.
const MIN_SHARE_OF_RAYS: f32 = 0.5;

/// Baked level that is to be relit.
pub struct RelightTask<'a> {
    pub scene: &'a Arc<Scene>,
    pub page_maker: PageMaker<'a>,
    pub solution: &'a Solution,
    /// Maximum number of patches that the user asked for.
    pub patches: u32,
    /// Rays of each half of an element, where there is time.
    pub rays: u32,
}

impl RelightTask<'_> {
    /// Traces rays, precomputes the transport, and solves for single lights. Also returns warnings
    /// if the time limit made any of them fewer, or if there are fewer patches than their coherence asks for.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels, or if the backend's device fails.
    pub fn run(
        &self,
        backend: &mut dyn TransportBackend,
        monitor: &StageMonitor,
    ) -> Result<(Precomputed, Vec<String>), StepError> {
        let Self { scene, page_maker, solution, .. } = *self;
        let patches = match monitor.seconds_left() {
            Some(seconds) => self.patches_within(seconds, monitor)?,
            None => self.patches,
        };
        let mut task = Precompute {
            elements: page_maker.elements,
            solution,
            patches: patches as usize,
            kind: page_maker.settings.relight_patches,
            coherence: page_maker.settings.relight_coherence,
            rays: self.rays,
        };
        task.rays = self.trace(task, backend, monitor)?;
        let halves = backend.snapshot()?;
        let (grouped, asked) = task.patches(&halves);
        let mut precomputed = task.run_with(grouped, &halves, monitor)?;
        let lights = ContributionTask { scene, page_maker, solution, precomputed: &precomputed, halves: &halves };
        let count = contributions::count(scene);
        monitor.limit.foresee_writing_relighting(seconds_of_writing_relighting(&precomputed, count));
        let (contributions, missing) = lights.run(monitor)?;
        let solved = contributions.lights.len();
        precomputed.contributions = contributions;
        let counts = [
            (HALVES * task.rays as usize, HALVES * self.rays as usize, "rays of each texel"),
            (patches as usize, self.patches as usize, "patches"),
            (solved, solved + missing, "lights on their own"),
        ];
        let limited = asked.map(|asked| {
            format!(
                "the threshold and the least area of relighting patches ask for {asked}, more than the {patches} allowed: \
                 allow more with --relight, or raise --relight-threshold or --relight-min-area"
            )
        });
        Ok((precomputed, shortened("relighting", &counts).into_iter().chain(limited).collect()))
    }

    /// Traces as many rays as there is time for. Returns the number of rays of each half of an element.
    fn trace(
        &self,
        task: Precompute,
        backend: &mut dyn TransportBackend,
        monitor: &StageMonitor,
    ) -> Result<u32, StepError> {
        let part = Part { monitor, from: 0.0, to: PROGRESS_OF_RAYS };
        let Some(left) = monitor.seconds_left() else {
            task.trace(backend, &part)?;
            return Ok(self.rays);
        };
        let began = clock::now();
        let known =
            (backend.stored_rays() / (task.elements.len() * HALVES).max(1) as u64).min(u64::from(u32::MAX)) as u32;
        let of_lights = contributions::rays_of_each_half(self.scene) as f32;
        let mut rays = self.rays.min(known.saturating_add(FIRST_RAYS));
        loop {
            Precompute { rays, ..task }.trace(backend, &part)?;
            if rays == self.rays {
                return Ok(rays);
            }
            let traced = rays - known;
            let of_ray = began.elapsed().as_secs_f32() / traced as f32;
            let in_all = (1.0 - SHARE_OF_BOUNCES) * left / of_ray;
            let affordable = (in_all - of_lights).max(MIN_SHARE_OF_RAYS * in_all) as u32;
            let next = self.rays.min(known.saturating_add(affordable.min(2 * traced)));
            if next <= rays {
                return Ok(rays);
            }
            rays = next;
        }
    }

    /// Returns the number of patches whose bounces can be computed in their share of `seconds`.
    fn patches_within(&self, seconds: f32, monitor: &dyn Monitor) -> Result<u32, Cancelled> {
        if self.patches <= MIN_PATCHES {
            return Ok(self.patches);
        }
        // The time grows with the cube of the number of patches.
        let of_few = seconds_of_bounces(MIN_PATCHES as usize, monitor)?;
        let factor = libm::cbrtf((SHARE_OF_BOUNCES * seconds / of_few).max(1.0));
        Ok(self.patches.min((MIN_PATCHES as f32 * factor) as u32))
    }
}
