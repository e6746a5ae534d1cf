//! Plans the next pass: which elements get more rays, and how many.
//!
//! Rays first go where they lower the error of the whole scene over its mean. Once that is as small as was asked for, they
//! go to bands of brightness whose own error is larger, as long as those are worth their rays.

use super::allot::BUNDLE;
use super::bands::{Band, Judged};
use super::estimate::Estimate;
use super::partial::Ledger;
use super::{HALVES, SolverSettings};

/// Gather rays of the first pass, for each half of an element.
pub const FIRST_RAYS: u32 = 16;

/// Gather rays that one pass adds at most, so that it ends soon and error and time are looked at again: so many, or a
/// power of two below a quarter of what there are.
const MOST_RAYS_A_PASS: u32 = 128;

/// The least part of its gather rays that an element gets more in a pass.
const LEAST_GROWTH: f32 = 0.25;

/// Gather rays of each half of an element after which the solver gives up on the error that was asked for.
pub const MOST_RAYS: u32 = 1 << 17;

/// Samples of direct light of each half of an element after which the solver gives up on the error that was asked for:
/// a lamp that touches a wall is never smooth.
const MOST_LIGHT_SAMPLES: u32 = 1 << 14;

/// Bands of brightness get a quarter of all other rays. They get at least 2,048 an element, up to eight million in all:
/// those are enough for every band of a small level. Without a limit, dim corners of a large level would take ten times
/// the rays of all that is seen.
const LOCAL_SHARE: f64 = 0.25;
const LOCAL_RAYS_OF_ELEMENT: u64 = 1 << 11;
const MOST_LOCAL_RAYS_OF_ELEMENTS: u64 = 1 << 23;

/// Rays that are left for bands of brightness, when the whole scene took `whole` rays and bands took `local`.
pub fn local_rays_left(elements: usize, whole: u64, local: u64) -> u64 {
    let at_least = (elements as u64 * LOCAL_RAYS_OF_ELEMENT).min(MOST_LOCAL_RAYS_OF_ELEMENTS);
    ((whole as f64 * LOCAL_SHARE) as u64).max(at_least).saturating_sub(local)
}

/// Plans passes by what has been done.
pub struct Planner<'a> {
    pub settings: &'a SolverSettings,
    pub ledger: &'a Ledger,
}

/// The work that a pass adds: none when the error is small enough.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The bands that it is for.
    pub judged: &'a Judged,
    /// True for bands of brightness, false for the whole scene.
    pub is_local: bool,
    pub aim: Option<Aim>,
    pub gather: Option<Gather>,
}

/// More samples of direct light.
#[derive(Clone, Debug)]
pub struct Aim {
    /// Samples that most elements have afterwards.
    pub samples: u32,
    /// The standard error that more are worth, relative to the adaptation level.
    pub tolerance: f32,
    /// Which bands get them.
    pub bands: Vec<bool>,
}

/// More gather rays.
#[derive(Clone, Debug)]
pub struct Gather {
    /// For each half of an element, on average.
    pub each: u32,
    /// Elements of the bands that get them.
    pub members: u64,
    /// Which bands get them.
    pub bands: Vec<bool>,
}

impl Gather {
    /// Rays of either half of all elements together.
    pub fn rays(&self) -> u64 {
        u64::from(self.each) * self.members
    }

    /// Rays of either half, for each of so many elements on average.
    pub fn mean(&self, elements: usize) -> u32 {
        self.rays().div_ceil(elements.max(1) as u64) as u32
    }
}

impl Plan<'_> {
    pub fn is_empty(&self) -> bool {
        self.aim.is_none() && self.gather.is_none()
    }

    /// About how many rays the pass will trace.
    pub fn rays(&self) -> u64 {
        let aimed = self.aim.as_ref().map_or(0, |aim| u64::from(aim.samples) * self.judged.members(&aim.bands));
        let gathered = self.gather.as_ref().map_or(0, Gather::rays);
        (aimed + gathered) * HALVES as u64
    }
}

impl Planner<'_> {
    /// Plans the next pass.
    pub fn plan<'a>(&self, estimate: &'a Estimate) -> Plan<'a> {
        let for_whole = self.pass_for(&estimate.whole, false, u64::MAX);
        if !for_whole.is_empty() {
            return for_whole;
        }
        let Ledger { rays, local_rays, .. } = *self.ledger;
        let elements = estimate.local.grouping.of_element.len();
        self.pass_for(&estimate.local, true, local_rays_left(elements, rays - local_rays, local_rays))
    }

    /// The share of what is left to do that the next pass will have done; noise shrinks a little faster than with the
    /// root of the rays.
    pub fn remaining_share(&self, plan: &Plan) -> f32 {
        let excess = |band: &Band| if self.is_too_noisy(band) { band.noise / self.noise_goal(band) } else { 1.0 };
        let more = plan.judged.bands.iter().map(excess).fold(1.0, f32::max).powf(1.0 / 0.75);
        (1.0 / (more - 1.0)).clamp(0.02, 0.9)
    }

    /// The noise of a band that leaves its whole error at what was asked for, as far as that can be had.
    fn noise_goal(&self, band: &Band) -> f32 {
        let goal = self.settings.error;
        (goal * goal - band.discretisation * band.discretisation).max(0.25 * goal * goal).sqrt()
    }

    /// True where more rays are worth it.
    fn is_too_noisy(&self, band: &Band) -> bool {
        band.noise > self.noise_goal(band) && !band.is_hopeless()
    }

    /// Plans a pass for some bands, with so many rays at most.
    ///
    /// Light found by aimed rays and by gather rays may each have half of the noise's square.
    fn pass_for<'a>(&self, judged: &'a Judged, is_local: bool, most_rays: u64) -> Plan<'a> {
        let share = |band: &Band| self.noise_goal(band) * core::f32::consts::FRAC_1_SQRT_2;
        let aims = |band: &Band| band.aimed > share(band) || band.aimed > band.gathered;
        let gathers =
            |band: &Band| band.rays < MOST_RAYS as f32 && (band.gathered > share(band) || band.aimed <= band.gathered);
        let those_that = |wants: &dyn Fn(&Band) -> bool| -> Option<Vec<bool>> {
            let chosen = judged.bands.iter().map(|band| self.is_too_noisy(band) && wants(band)).collect::<Vec<_>>();
            chosen.contains(&true).then_some(chosen)
        };
        let Ledger { light_samples, light_tolerance, local_samples, local_tolerance, .. } = *self.ledger;
        let (samples, tolerance) = match (is_local, local_samples) {
            (false, _) => (light_samples, light_tolerance),
            (true, 0) => (light_samples, 0.0),
            (true, _) => (local_samples, local_tolerance),
        };
        let can_aim = samples < MOST_LIGHT_SAMPLES;
        let samples = samples * 2;
        let tolerance = if tolerance > 0.0 { 0.5 * tolerance } else { self.settings.error };
        let aim = those_that(&|band| can_aim && aims(band)).map(|bands| Aim { samples, tolerance, bands });
        let gather = those_that(&gathers).map(|bands| self.gather_more(judged, is_local, bands));
        let mut plan = Plan { judged, is_local, aim, gather };
        if plan.rays() > most_rays {
            // Gather rays can be as many as there may be; samples of direct light come by the double.
            plan.aim = plan
                .aim
                .filter(|aim| u64::from(aim.samples) * judged.members(&aim.bands) * HALVES as u64 <= most_rays / 2);
            plan.gather = plan.gather.and_then(|gather| {
                let most = if plan.aim.is_some() { most_rays / 2 } else { most_rays };
                let each = (most / (gather.members.max(1) * HALVES as u64)).min(gather.each.into()) as u32;
                (each >= BUNDLE).then_some(Gather { each, ..gather })
            });
        }
        plan
    }

    /// More gather rays for some bands: as many as they have, no more than a pass may have, nor than bands of brightness
    /// need.
    fn gather_more(&self, judged: &Judged, is_local: bool, bands: Vec<bool>) -> Gather {
        let (mut have, mut need, mut elements) = (0.0, 0.0f32, 0.0);
        for (band, _) in judged.bands.iter().zip(&bands).filter(|(_, chosen)| **chosen) {
            have += band.rays * band.elements as f32;
            elements += band.elements as f32;
            let ratio = band.noise / self.noise_goal(band);
            need = need.max(ratio * ratio.sqrt() - 1.0);
        }
        let have = (have / f32::max(elements, 1.0)).max(FIRST_RAYS as f32) as u32;
        let most = have.min(MOST_RAYS_A_PASS.max(1 << (have / 4).ilog2()));
        // The whole scene's rays find slivers that are lit as well, and are not to be few.
        let need = if is_local { need.max(LEAST_GROWTH) } else { 1.0 };
        let need = (have as f32 * need).min(most as f32) as u32;
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
        let plan = |whole: f32, ledger: &Ledger| {
            let estimate = Estimate {
                whole: judged(&[band(whole, 64.0)]),
                local: judged(&[band(0.4, 64.0), band(0.01, 64.0), band(0.1, 64.0)]),
            };
            let Plan { is_local, gather, .. } = Planner { settings: &settings, ledger }.plan(&estimate);
            gather.map(|gather| (is_local, gather.each, gather.bands))
        };
        let ledger = Ledger { rays: 100_000_000, light_samples: 8, ..Ledger::default() };
        assert_eq!(plan(0.2, &ledger), Some((false, 64, vec![true])));
        assert_eq!(plan(0.04, &ledger), Some((true, 64, vec![true, false, true])));
        // A quarter of the 100 million rays are gone.
        let spent = Ledger { rays: 125_000_000, local_rays: 25_000_000, ..ledger };
        assert_eq!(plan(0.04, &spent), None);
        assert_eq!(plan(0.2, &spent), Some((false, 64, vec![true])));
        // 8,000 rays are left: 20 for each of 200 elements' halves.
        let nearly = Ledger { rays: 124_992_000, local_rays: 24_992_000, ..ledger };
        assert_eq!(plan(0.04, &nearly), Some((true, 20, vec![true, false, true])));
    }

    #[test]
    fn a_pass_for_bands_has_no_more_rays_than_noise_needs() {
        let settings = SolverSettings { error: 0.05, ..SolverSettings::default() };
        let ledger = Ledger { light_samples: 8, ..Ledger::default() };
        let each = |noise: f32, rays: f32| {
            let estimate = Estimate { whole: judged(&[band(0.01, rays)]), local: judged(&[band(noise, rays)]) };
            Planner { settings: &settings, ledger: &ledger }.plan(&estimate).gather.map(|gather| gather.each)
        };
        // (1.5^1.5 - 1) x 100, a quarter at least, as many as there are at most, and 128 unless that is below a quarter.
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
