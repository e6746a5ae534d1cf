//! Direct light first, then its bounces by another solver than the passes.

use std::sync::Arc;

use glam::Vec3;

use super::backend::{ElementEstimate, StepError};
use super::bands::{Band, Judged, root_of_squares, say_hopeless, worst};
use super::cpu::Transport;
use super::estimate::{Estimate, estimate};
use super::passes::Passes;
use super::progress_share::ProgressShare;
use super::progressive::faithful;
use super::residual::{Claim, MANY_RAYS, Residual, rays_for, residual};
use super::solver_checkpoint::SolverCheckpoint;
use super::{
    Content, HALVES, LightSoFar, Method, Solution, SolveError, SolveObserver, SolverSettings, TransportBackend, counted,
};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::progress::Monitor;
use crate::scene::{Scene, luminance};

/// Fraction of a bake's time for direct light.
pub(super) const DIRECT_SHARE: f32 = 0.3;

/// Computes direct light on a backend, and then all bounces by progressive refinement or by counted rays.
///
/// # Errors
/// Returns an error if the observer cancels, the checkpoint belongs to another bake, or the backend's device fails.
/// Also returns an error if the scene cannot be divided into the requested subscenes, or if a surface lets counted rays
/// through.
pub(super) fn solve(
    backend: &mut dyn TransportBackend,
    scene: &Scene,
    world: &dyn RayQuery,
    elements: &Elements,
    settings: &SolverSettings,
    mut resume: Option<SolverCheckpoint<'_>>,
    observer: &dyn SolveObserver,
) -> Result<Solution, SolveError> {
    if settings.method == Method::Counted {
        counted::check(scene)?;
    }
    let shots = resume.as_mut().and_then(|partial| partial.shots.take());
    if settings.faithful && !faithful::shines(elements) {
        return Err(SolveError::NothingShines);
    }
    let error = if settings.faithful { faithful::DIRECT_ERROR } else { settings.error };
    let for_direct =
        SolverSettings { content: Content::Full, error: error * core::f32::consts::FRAC_1_SQRT_2, ..*settings };
    let share = ProgressShare::first(observer, DIRECT_SHARE);
    let mut passes = Passes::new(backend, scene, world, elements, &for_direct, resume, observer)?;
    // Existing shots are based on the saved direct light, which must not change now.
    let mut lit = if shots.is_some() { passes.as_it_is(true)? } else { passes.solve(&share, DIRECT_SHARE)? };
    if settings.faithful {
        // The sum of direct light and shots has no noise of samples.
        lit.halves = [0, 1].map(|_| sum(&lit.direct, &lit.indirect));
        lit.warnings.extend(faithful::left_out(scene, elements));
    }
    if elements.is_empty() || settings.bounces == Some(0) {
        return Ok(with_shortfall(lit, settings));
    }
    let bounces = Bounces { scene, world, elements, settings, passes: &passes, lit };
    let share = share.next(1.0);
    let solution = match settings.method {
        Method::Counted => bounces.count(&share)?,
        _ => bounces.refine_in_rounds(shots, &share)?,
    };
    observer.progress(1.0);
    Ok(solution)
}

/// Direct light and the context for its bounces.
pub struct Bounces<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub elements: &'a Elements,
    pub settings: &'a SolverSettings,
    /// Passes that computed the direct light.
    pub passes: &'a Passes<'a>,
    pub lit: Solution,
}

impl Bounces<'_> {
    /// Returns the irradiance of the requested content for each element, luminance in lux.
    pub fn wanted(&self, indirect: &[Vec3]) -> Vec<f32> {
        let wanted = |(direct, indirect): (&Vec3, &Vec3)| match self.settings.content {
            Content::Full => luminance(*direct + *indirect).max(0.0),
            Content::Indirect => luminance(*indirect).max(0.0),
        };
        self.lit.direct.iter().zip(indirect).map(wanted).collect()
    }

    /// Returns adaptation levels for an irradiance, in lux.
    pub fn adaptation(&self, irradiance: &[f32]) -> Arc<[f32]> {
        self.passes.cell_views().adaptation(self.elements, &self.lit.visible_fraction, irradiance)
    }

    /// Returns true once the time left only suffices for checking the solution.
    pub fn is_time_over(&self, observer: &dyn SolveObserver) -> bool {
        observer.seconds_left().is_some_and(|seconds| seconds <= self.seconds_of_check())
    }

    /// Predicts the time of checking the solution once time is over, in seconds.
    pub fn seconds_of_check(&self) -> f32 {
        self.passes.seconds_of_check(self.checks_in_a_hurry())
    }

    /// Returns the number of rays that check each half of an element once time is over, in proportion to those of
    /// direct light.
    fn checks_in_a_hurry(&self) -> u32 {
        rays_for(self.lit.rays, self.elements.len()).min(MANY_RAYS)
    }

    pub fn light_so_far(&self, received: &[Vec3]) -> LightSoFar {
        let Solution { direct, indirect, visible_fraction, .. } = &self.lit;
        let (direct, visible_fraction) = (direct.clone(), visible_fraction.clone());
        LightSoFar { direct, indirect: sum(indirect, received), visible_fraction }
    }

    /// Combines direct light and shots into a solution with error estimates.
    pub fn complete(self, shot: Found, monitor: &dyn Monitor) -> Result<Solution, StepError> {
        let indirect = sum(&self.lit.indirect, &shot.received);
        let halves = self.halves(&shot, &indirect);
        let judged = self.judge(&shot, &indirect, monitor)?;
        let Self { scene, elements, settings, lit, .. } = self;
        let received = mean_over(elements, &lit.visible_fraction, &|index| shot.received[index]);
        let error = |element: usize| 0.5 * luminance(halves[0][element] - halves[1][element]).abs();
        let standard_error = (0..elements.len()).map(error).collect();
        let Accuracy { bands, residual, of_mean } = judged;
        let (error_estimate, worst_irradiance) = worst(&bands).map_or((0.0, 0.0), |band| (band.total(), band.light));
        let mut warnings = lit.warnings;
        if warnings.is_empty() {
            // Warnings of direct light already name such places.
            warnings.extend(say_hopeless(&bands, scene, elements, settings.error));
        }
        warnings.extend(shot.end.warning(settings, of_mean, shot.unshot));
        Ok(Solution {
            indirect,
            halves,
            standard_error,
            error_estimate,
            worst_irradiance,
            error_of_mean: of_mean,
            warnings,
            residual: residual.relative,
            residual_standard_error: residual.standard_error,
            energy_balance: residual.surplus / (received - residual.surplus).max(f32::MIN_POSITIVE),
            unshot: shot.unshot,
            iterations: shot.shots,
            rays: lit.rays + shot.rays,
            ..lit
        })
    }

    /// Returns the irradiance of the requested content in both halves, in lux.
    fn halves(&self, shot: &Found, indirect: &[Vec3]) -> [Vec<Vec3>; HALVES] {
        let Self { elements, settings, ref lit, .. } = *self;
        let half = |half: usize| {
            let of = |element: usize| match settings.content {
                Content::Full => lit.halves[half][element] + shot.received[element] + shot.noise(element, half),
                Content::Indirect => indirect[element] + shot.noise(element, half),
            };
            (0..elements.len()).map(of).collect::<Vec<_>>()
        };
        [half(0), half(1)]
    }

    /// Estimates the noise of all light from its halves. `irradiance` is that of the requested content, luminance in
    /// lux.
    pub fn noise(&self, shot: &Found, irradiance: &[f32]) -> Estimate {
        let Self { elements, settings, ref lit, .. } = *self;
        let half = |half: usize| {
            let of = |element: usize| ElementEstimate {
                light_sampled: lit.halves[half][element],
                indirect: shot.noise(element, half),
                visible_fraction: lit.visible_fraction[element],
                gathered: shot.gathered.get(element).copied().unwrap_or(0),
                ..ElementEstimate::default()
            };
            (0..elements.len()).map(of).collect::<Vec<_>>()
        };
        let areas = self.passes.exposed_areas();
        estimate(areas, self.adaptation(irradiance), irradiance, &[half(0), half(1)], settings.content).0
    }

    /// Estimates the errors of all light. Noise follows from the halves of direct light and of the last correction, the
    /// residual from unused rays.
    fn judge(&self, shot: &Found, indirect: &[Vec3], monitor: &dyn Monitor) -> Result<Accuracy, StepError> {
        let Self { scene, world, elements, settings, ref lit, .. } = *self;
        let areas = self.passes.exposed_areas();
        let irradiance = self.wanted(indirect);
        let Estimate { whole, local } = self.noise(shot, &irradiance);
        let Judged { grouping, mut bands } = local;
        let level = |(element, &level): (usize, &f32)| {
            let counts = areas[element] > 0.0 && !bands[usize::from(grouping.of_element[element])].is_hopeless();
            if counts { level } else { f32::INFINITY }
        };
        let adaptation: Vec<f32> = grouping.adaptation.iter().enumerate().map(level).collect();
        let rays = lit.rays + shot.rays;
        // After an early end, more checks would take additional time.
        let checks = match shot.end {
            End::Done | End::NoiseReached | End::Shot => rays_for(rays, elements.len()).max(MANY_RAYS),
            End::TimeOver => self.checks_in_a_hurry(),
            End::Endless => MANY_RAYS,
        };
        let (direct, visible) = (&lit.direct, &lit.visible_fraction);
        let claim = Claim { direct, indirect, visible, adaptation: &adaptation, rays: checks };
        let transport = Transport::new(scene, world, elements, settings.seed);
        let residual = residual(&transport, &claim, self.passes.team(), monitor)?;
        for band in &mut bands {
            band.noise = root_of_squares(band.light_sampled, band.gathered.max(residual.local));
        }
        let mean = mean_over(elements, visible, &|index| Vec3::splat(irradiance[index])).max(f32::MIN_POSITIVE);
        let of_mean = whole
            .bands
            .first()
            .map_or(0.0, |all| root_of_squares(all.light_sampled, all.gathered.max(residual.bounce / mean)));
        Ok(Accuracy { bands, residual, of_mean })
    }
}

/// Error estimate of a solution.
struct Accuracy {
    bands: Vec<Band>,
    residual: Residual,
    of_mean: f32,
}

/// Reason for the end of the solver of bounces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Requested error reached, or maximum number of rays traced.
    Done,
    /// Requested noise reached. More rays would not correct the rest of the error.
    NoiseReached,
    /// No patch has more than the requested part of the first shot's power.
    Shot,
    /// Time limit reached.
    TimeOver,
    /// Unshot power that does not decrease.
    Endless,
}

impl End {
    /// Returns the warning for an end, given the error relative to the mean, and the unshot fraction of the light.
    fn warning(self, settings: &SolverSettings, error: f32, unshot: f32) -> Option<String> {
        let asked = settings.error;
        let left = 100.0 * unshot;
        match self {
            Self::Done => shortfall(settings, error),
            Self::Shot => None,
            Self::NoiseReached => (error > 1.05 * asked).then(|| {
                format!(
                    "the error of {asked} was not reached, as the texels are too coarse: it is {error:.3}; raise the \
                     density"
                )
            }),
            Self::TimeOver => Some(format!(
                "the time limit ended the bake: {left:.1} % of the light was not followed to its end, and the error is \
                 {error:.3} where {asked} was asked for"
            )),
            Self::Endless => Some(format!(
                "{left:.2} % of the light still moved when shots ended: reflectances near one in a closed room"
            )),
        }
    }
}

/// Returns a warning if the error is larger than requested.
fn shortfall(settings: &SolverSettings, error: f32) -> Option<String> {
    let asked = settings.error;
    let within = if settings.time_limit.is_some() { "the time limit" } else { "the most rays that a texel may get" };
    (error > 1.05 * asked).then(|| format!("the error of {asked} was not reached within {within}: it is {error:.3}"))
}

/// Adds a warning about the error to a solution of direct light alone.
pub fn with_shortfall(mut lit: Solution, settings: &SolverSettings) -> Solution {
    lit.warnings.extend(shortfall(settings, lit.error_of_mean));
    lit
}

/// Light that follows direct light, found by shots and corrections or by counted rays.
pub struct Found {
    /// Irradiance that each element received, in lux.
    pub received: Vec<Vec3>,
    /// Irradiance found by both halves of the last correction or of all counted rays, in lux.
    pub halves: Vec<[Vec3; HALVES]>,
    /// Number of gather rays of each half of each element in the last correction; empty without corrections.
    pub gathered: Vec<u32>,
    pub end: End,
    /// Unshot fraction of the power.
    pub unshot: f32,
    pub shots: u32,
    /// Number of traced rays.
    pub rays: u64,
}

impl Found {
    /// Returns the deviation of one half from the mean of both, in lux.
    fn noise(&self, element: usize, half: usize) -> Vec3 {
        self.halves.get(element).map_or(Vec3::ZERO, |found| 0.5 * (found[half] - found[1 - half]))
    }
}

/// Returns the sum of two kinds of light for each element.
pub fn sum(light: &[Vec3], more: &[Vec3]) -> Vec<Vec3> {
    light.iter().zip(more).map(|(light, more)| *light + *more).collect()
}

/// Returns the mean luminance over all elements, weighted by visible area.
pub fn mean_over(elements: &Elements, visible: &[f32], light: &dyn Fn(usize) -> Vec3) -> f32 {
    let (sum, area) = (0..elements.len()).fold((0.0, 0.0), |(sum, area), index| {
        let weight = f64::from(elements.area[index] * visible[index]);
        (sum + weight * f64::from(luminance(light(index))), area + weight)
    });
    if area > 0.0 { (sum / area) as f32 } else { 0.0 }
}
