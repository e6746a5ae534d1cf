//! Planning of the next pass: the elements that get more rays, and the number of rays.
//!
//! Rays first reduce the error of the whole scene, relative to its mean light. Once this error is small enough, rays go
//! to brightness bands with a larger error, within a budget.

use super::bands::{Band, Judged};
use super::estimate::Estimate;
use super::ray_allocation::BUNDLE;
use super::solver_checkpoint::SolverProgress;
use super::{HALVES, SolverSettings};

/// Number of gather rays in the first pass, for each half of an element.
pub const FIRST_RAYS: u32 = 16;

/// Maximum number of gather rays that one pass adds to each half of an element. If larger, a power of two up to a
/// quarter of the existing rays applies. Passes stay short, so that error and time are checked often.
const MAX_RAYS_A_PASS: u32 = 128;

/// Minimum growth of the gather rays in a pass for brightness bands, relative to the existing rays.
const MIN_GROWTH: f32 = 0.25;

/// Number of gather rays of each half of an element after which the solver gives up on the requested error.
pub const MAX_RAYS: u32 = 1 << 17;

/// Number of light samples of each half of an element after which the solver gives up on the requested error. The light
/// of a lamp that touches a wall never becomes smooth.
const MAX_LIGHT_SAMPLES: u32 = 1 << 14;

/// Ray budget of brightness bands: a quarter of all other rays. The minimum is 2,048 an element, up to eight million in
/// total. It is enough for every band of a small level. Without a limit, dim corners of a large level would take ten
/// times the rays of the visible rest.
const LOCAL_SHARE: f64 = 0.25;
const LOCAL_RAYS_OF_ELEMENT: u64 = 1 << 11;
const MAX_LOCAL_RAYS_OF_ELEMENTS: u64 = 1 << 23;

/// Returns the remaining rays for brightness bands, after `whole` rays for the whole scene and `local` rays for bands.
pub fn local_rays_left(elements: usize, whole: u64, local: u64) -> u64 {
    let at_least = (elements as u64 * LOCAL_RAYS_OF_ELEMENT).min(MAX_LOCAL_RAYS_OF_ELEMENTS);
    ((whole as f64 * LOCAL_SHARE) as u64).max(at_least).saturating_sub(local)
}

/// Planner of passes, from the progress so far.
pub struct Planner<'a> {
    pub settings: &'a SolverSettings,
    pub solver_progress: &'a SolverProgress,
}

/// Work of the next pass. It is empty if the error is small enough.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Bands that the pass improves.
    pub judged: &'a Judged,
    /// True for brightness bands, false for the whole scene.
    pub is_local: bool,
    pub light_samples: Option<LightSamples>,
    pub gather: Option<Gather>,
}

/// Additional light samples.
#[derive(Clone, Debug)]
pub struct LightSamples {
    /// Number of samples that most elements have afterwards.
    pub samples: u32,
    /// Accepted standard error, relative to the adaptation level.
    pub tolerance: f32,
    /// True for each band that gets samples.
    pub bands: Vec<bool>,
}

/// Additional gather rays.
#[derive(Clone, Debug)]
pub struct Gather {
    /// Mean number of rays for each half of an element.
    pub each: u32,
    /// Number of elements in the chosen bands.
    pub members: u64,
    /// True for each band that gets rays.
    pub bands: Vec<bool>,
}

impl Gather {
    /// Returns the number of rays of each half, over all elements.
    pub fn rays(&self) -> u64 {
        u64::from(self.each) * self.members
    }

    /// Returns the mean number of rays of each half, over this number of elements.
    pub fn mean(&self, elements: usize) -> u32 {
        self.rays().div_ceil(elements.max(1) as u64) as u32
    }
}

impl Plan<'_> {
    pub fn is_empty(&self) -> bool {
        self.light_samples.is_none() && self.gather.is_none()
    }

    /// Returns the approximate number of rays that the pass will trace.
    pub fn rays(&self) -> u64 {
        self.samples() + self.gather_rays()
    }

    /// Returns the approximate number of light samples of the pass, over all elements and both halves.
    pub fn samples(&self) -> u64 {
        let each =
            |light_samples: &LightSamples| u64::from(light_samples.samples) * self.judged.members(&light_samples.bands);
        self.light_samples.as_ref().map_or(0, each) * HALVES as u64
    }

    /// Returns the number of gather rays that the pass will trace.
    pub fn gather_rays(&self) -> u64 {
        self.gather.as_ref().map_or(0, Gather::rays) * HALVES as u64
    }
}

impl Planner<'_> {
    /// Plans the next pass.
    pub fn plan<'a>(&self, estimate: &'a Estimate) -> Plan<'a> {
        let for_whole = self.pass_for(&estimate.whole, false, u64::MAX);
        if !for_whole.is_empty() {
            return for_whole;
        }
        let SolverProgress { rays, local_rays, .. } = *self.solver_progress;
        let elements = estimate.local.grouping.of_element.len();
        self.pass_for(&estimate.local, true, local_rays_left(elements, rays - local_rays, local_rays))
    }

    /// Returns the fraction of the remaining work that the next pass will complete. Noise falls slightly faster than
    /// with the root of the rays.
    pub fn remaining_share(&self, plan: &Plan) -> f32 {
        let excess = |band: &Band| if self.is_too_noisy(band) { band.noise / self.noise_goal(band) } else { 1.0 };
        let limit = plan.judged.bands.iter().map(excess).fold(1.0, f32::max);
        let more = libm::pow(f64::from(limit), 1.0 / 0.75) as f32;
        (1.0 / (more - 1.0)).clamp(0.02, 0.9)
    }

    /// Returns the noise at which the total error of a band equals the requested one. The discretization error may use
    /// at most three quarters of its square.
    fn noise_goal(&self, band: &Band) -> f32 {
        let goal = self.settings.error;
        (goal * goal - band.discretization * band.discretization).max(0.25 * goal * goal).sqrt()
    }

    /// Returns true if the band needs more rays and profits from them.
    fn is_too_noisy(&self, band: &Band) -> bool {
        band.noise > self.noise_goal(band) && !band.is_hopeless()
    }

    /// Plans a pass for the bands that need it, with at most `max_rays` rays.
    ///
    /// Light-sampled rays and gather rays may each cause half of the squared noise.
    fn pass_for<'a>(&self, judged: &'a Judged, is_local: bool, max_rays: u64) -> Plan<'a> {
        let share = |band: &Band| self.noise_goal(band) * core::f32::consts::FRAC_1_SQRT_2;
        let aims = |band: &Band| band.light_sampled > share(band) || band.light_sampled > band.gathered;
        let gathers = |band: &Band| {
            band.rays < MAX_RAYS as f32 && (band.gathered > share(band) || band.light_sampled <= band.gathered)
        };
        let those_that = |wants: &dyn Fn(&Band) -> bool| -> Option<Vec<bool>> {
            let chosen = judged.bands.iter().map(|band| self.is_too_noisy(band) && wants(band)).collect::<Vec<_>>();
            chosen.contains(&true).then_some(chosen)
        };
        let SolverProgress { light_samples, light_tolerance, local_samples, local_tolerance, .. } =
            *self.solver_progress;
        let (samples, tolerance) = match (is_local, local_samples) {
            (false, _) => (light_samples, light_tolerance),
            (true, 0) => (light_samples, 0.0),
            (true, _) => (local_samples, local_tolerance),
        };
        let can_sample_lights = samples < MAX_LIGHT_SAMPLES;
        let samples = samples * 2;
        let tolerance = if tolerance > 0.0 { 0.5 * tolerance } else { self.settings.error };
        let light_samples =
            those_that(&|band| can_sample_lights && aims(band)).map(|bands| LightSamples { samples, tolerance, bands });
        let gather = those_that(&gathers).map(|bands| self.gather_more(judged, is_local, bands));
        let mut plan = Plan { judged, is_local, light_samples, gather };
        if plan.rays() > max_rays {
            // The number of gather rays can match the budget, whereas light samples are only doubled.
            plan.light_samples = plan.light_samples.filter(|light_samples| {
                u64::from(light_samples.samples) * judged.members(&light_samples.bands) * HALVES as u64 <= max_rays / 2
            });
            plan.gather = plan.gather.and_then(|gather| {
                let limit = if plan.light_samples.is_some() { max_rays / 2 } else { max_rays };
                let each = (limit / (gather.members.max(1) * HALVES as u64)).min(gather.each.into()) as u32;
                (each >= BUNDLE).then_some(Gather { each, ..gather })
            });
        }
        plan
    }

    /// Returns additional gather rays for some bands, at most as many as exist and as a pass may add. Brightness bands
    /// get no more than their noise needs.
    fn gather_more(&self, judged: &Judged, is_local: bool, bands: Vec<bool>) -> Gather {
        let (mut have, mut need, mut elements) = (0.0, 0.0f32, 0.0);
        for (band, _) in judged.bands.iter().zip(&bands).filter(|(_, chosen)| **chosen) {
            have += band.rays * band.elements as f32;
            elements += band.elements as f32;
            let ratio = band.noise / self.noise_goal(band);
            need = need.max(ratio * ratio.sqrt() - 1.0);
        }
        let have = (have / f32::max(elements, 1.0)).max(FIRST_RAYS as f32) as u32;
        let limit = have.min(MAX_RAYS_A_PASS.max(1 << (have / 4).ilog2()));
        // Rays for the whole scene also find small lit areas, so their number is not reduced.
        let need = if is_local { need.max(MIN_GROWTH) } else { 1.0 };
        let need = (have as f32 * need).min(limit as f32) as u32;
        Gather { each: need.max(BUNDLE), members: judged.members(&bands), bands }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radiosity::bands::Bands;

    fn judged(bands: &[Band]) -> Judged {
        let of_element = (0..bands.len() as u8).flat_map(|band| [band; 100]).collect();
        let grouping = Bands { adaptation: vec![1.0; 100 * bands.len()].into(), of_element };
        Judged { grouping, bands: bands.to_vec() }
    }

    fn band(noise: f32, rays: f32) -> Band {
        Band { elements: 100, light: 1.0, gathered: noise, noise, rays, ..Band::default() }
    }

    #[test]
    fn bands_get_rays_once_the_whole_scene_is_exact_enough_and_no_more_than_are_left() {
        let settings = SolverSettings { error: 0.05, ..SolverSettings::default() };
        let plan = |whole: f32, solver_progress: &SolverProgress| {
            let estimate = Estimate {
                whole: judged(&[band(whole, 64.0)]),
                local: judged(&[band(0.4, 64.0), band(0.01, 64.0), band(0.1, 64.0)]),
            };
            let Plan { is_local, gather, .. } = Planner { settings: &settings, solver_progress }.plan(&estimate);
            gather.map(|gather| (is_local, gather.each, gather.bands))
        };
        let solver_progress = SolverProgress { rays: 100_000_000, light_samples: 8, ..SolverProgress::default() };
        assert_eq!(plan(0.2, &solver_progress), Some((false, 64, vec![true])));
        assert_eq!(plan(0.04, &solver_progress), Some((true, 64, vec![true, false, true])));
        // The budget of a quarter of 100 million rays is used up.
        let spent = SolverProgress { rays: 125_000_000, local_rays: 25_000_000, ..solver_progress };
        assert_eq!(plan(0.04, &spent), None);
        assert_eq!(plan(0.2, &spent), Some((false, 64, vec![true])));
        // 8,000 rays are left: 20 for each half of 200 elements.
        let nearly = SolverProgress { rays: 124_992_000, local_rays: 24_992_000, ..solver_progress };
        assert_eq!(plan(0.04, &nearly), Some((true, 20, vec![true, false, true])));
    }

    #[test]
    fn a_pass_for_bands_has_no_more_rays_than_noise_needs() {
        let settings = SolverSettings { error: 0.05, ..SolverSettings::default() };
        let solver_progress = SolverProgress { light_samples: 8, ..SolverProgress::default() };
        let each = |noise: f32, rays: f32| {
            let estimate = Estimate { whole: judged(&[band(0.01, rays)]), local: judged(&[band(noise, rays)]) };
            Planner { settings: &settings, solver_progress: &solver_progress }
                .plan(&estimate)
                .gather
                .map(|gather| gather.each)
        };
        // Rays are (1.5^1.5 - 1) x 100, at least a quarter, and at most the existing ones. The limit of 128 applies
        // unless a quarter of the existing rays is more.
        for (noise, rays, expected) in [
            (0.075, 100.0, Some(83)),
            (0.051, 100.0, Some(25)),
            (0.5, 100.0, Some(100)),
            (0.5, 400.0, Some(128)),
            (0.12, 600.0, Some(128)),
            (0.05, 100.0, None),
        ] {
            assert_eq!(each(noise, rays), expected, "noise {noise} after {rays} rays");
        }
    }
}
