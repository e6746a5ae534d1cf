//! Residual of the radiosity equation, measured with rays that no solver has used.

use glam::{Vec2, Vec3};

use super::HALVES;
use super::backend::StepError;
use super::check::{Found, ProbeTask};
use super::cpu::{End, Source, Transport, Until};
use super::seeds::Stage;
use crate::cluster::Team;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, Elements};
use crate::lights::LightPmf;
use crate::progress::Monitor;
use crate::scene::luminance;

/// Maximum number of elements that are checked.
const SAMPLES: usize = 1024;

/// Maximum and minimum number of rays for each half of a checked element. The third number resolves a residual of 2 %.
const MAX_RAYS: u64 = 1 << 16;
const MIN_RAYS: u64 = 64;
pub(super) const MANY_RAYS: u32 = 512;

/// Divisor of the solver's rays of an element, for the number of rays that check an element. The noise of a check is
/// larger than the solver's. The checked elements together still give its size to about a third.
const SHARE: u64 = 4;

/// Returns the number of rays for each half of a checked element. `traced` is the number of rays for all elements.
pub(super) fn rays_for(traced: u64, elements: usize) -> u32 {
    let rays = traced / (SHARE * (HALVES * elements.max(1)) as u64);
    1 << rays.clamp(MIN_RAYS, MAX_RAYS).ilog2()
}

/// Returns the number of elements that are checked, out of `elements`.
pub(super) fn checked_of(elements: usize) -> usize {
    SAMPLES.min(elements)
}

/// Solution to be checked: direct and indirect irradiance of each element, in lux, and its visible fraction.
#[derive(Clone, Copy)]
pub(super) struct Claim<'a> {
    pub direct: &'a [Vec3],
    pub indirect: &'a [Vec3],
    pub visible: &'a [f32],
    /// Adaptation level of each element in [`Residual::local`], in lux. Infinite for elements that do not count there.
    /// Empty if the local residual is not needed.
    pub adaptation: &'a [f32],
    /// Number of rays that check each half of an element, a power of two.
    pub rays: u32,
}

/// Root mean square differences over area between a solution and its check, without the noise of the rays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Residual {
    /// Residual of the radiosity equation, relative to the first bounce. `000` equation 2.13 uses another norm.
    pub relative: f32,
    /// One-sigma error bar: the increase of `relative` if the mean square were larger by its standard error.
    pub standard_error: f32,
    /// Residual of the irradiance of one bounce, in lux.
    pub bounce: f32,
    /// Residual of the irradiance of one bounce, relative to the adaptation levels.
    pub local: f32,
    /// Mean of claimed minus measured irradiance, in lux.
    pub surplus: f32,
}

/// Compares a solution with gather rays that read its radiosities. The elements are sampled in proportion to their
/// visible area. A team shares the rays, if there is one.
///
/// # Errors
/// Returns an error if the monitor cancels, or the team fails.
pub(super) fn residual(
    transport: &Transport,
    claim: &Claim,
    team: Option<&dyn Team>,
    monitor: &dyn Monitor,
) -> Result<Residual, StepError> {
    let Elements { reflectance, area, .. } = transport.elements;
    let reflected = |element: usize| luminance(reflectance[element] * claim.direct[element]);
    let weights: Vec<f64> = area.iter().zip(claim.visible).map(|(area, visible)| f64::from(area * visible)).collect();
    let first_bounce =
        weights.iter().enumerate().map(|(element, weight)| weight * f64::from(reflected(element))).sum::<f64>()
            / weights.iter().sum::<f64>();
    if first_bounce.is_nan() || first_bounce <= 0.0 {
        return Ok(Residual::default());
    }
    let differences = differences(transport, claim, &choose(&weights), team, monitor)?;
    let of_radiosity = Spread::of(differences.iter().map(|found| found.weighed_by(reflectance[found.element])));
    let of_bounce = Spread::of(differences.iter().map(|found| found.weighed_by(Vec3::ONE)));
    let relative = |found: &Difference| {
        let level = claim.adaptation.get(found.element).copied().filter(|level| level.is_finite())?;
        Some(found.weighed_by(Vec3::splat(1.0 / level)))
    };
    let local = Spread::of(differences.iter().filter_map(relative));
    Ok(Residual {
        relative: (of_radiosity.rms() / first_bounce) as f32,
        standard_error: ((of_radiosity.upper_rms() - of_radiosity.rms()) / first_bounce) as f32,
        bounce: of_bounce.rms() as f32,
        local: local.rms() as f32,
        surplus: of_bounce.mean as f32,
    })
}

/// Claimed minus measured irradiance of an element, in lux, for both halves of its rays.
struct Difference {
    element: usize,
    halves: [Vec3; HALVES],
}

impl Difference {
    /// Returns the weighted luminance of both halves.
    fn weighed_by(&self, weight: Vec3) -> [f64; HALVES] {
        self.halves.map(|half| f64::from(luminance(weight * half)))
    }
}

fn differences(
    transport: &Transport,
    claim: &Claim,
    chosen: &[usize],
    team: Option<&dyn Team>,
    monitor: &dyn Monitor,
) -> Result<Vec<Difference>, StepError> {
    let found = ProbeTask::check(transport, claim, chosen).light(team, monitor)?;
    let difference = |(&element, [first, second]): (&usize, Found)| {
        let halves = [first.light?, second.light?].map(|light| claim.indirect[element] - light);
        Some(Difference { element, halves })
    };
    Ok(chosen.iter().zip(found).filter_map(difference).collect())
}

/// Statistics of differences.
pub(super) struct Spread {
    mean: f64,
    mean_square: f64,
    /// Standard error of `mean_square`.
    standard_error: f64,
}

impl Spread {
    /// Computes the statistics of differences that were measured twice.
    ///
    /// Both halves share no random number, so the mean of their product is free of noise.
    pub fn of(pairs: impl Iterator<Item = [f64; HALVES]> + Clone) -> Self {
        let count = pairs.clone().count().max(1) as f64;
        let mean = pairs.clone().map(|[first, second]| 0.5 * (first + second)).sum::<f64>() / count;
        let mean_square = pairs.clone().map(|[first, second]| first * second).sum::<f64>() / count;
        let variance = pairs.map(|[first, second]| (first * second - mean_square).powi(2)).sum::<f64>() / count;
        Self { mean, mean_square, standard_error: (variance / count).sqrt() }
    }

    /// Returns the root mean square.
    pub fn rms(&self) -> f64 {
        self.square().sqrt()
    }

    /// Returns the root mean square after the mean square has grown by its standard error.
    pub fn upper_rms(&self) -> f64 {
        (self.square() + self.standard_error).sqrt()
    }

    /// Returns the mean square, at least 0. NaN passes, so that diverged light does not look like a zero residual.
    fn square(&self) -> f64 {
        self.mean_square.clamp(0.0, f64::INFINITY)
    }
}

/// Samples elements in proportion to their weights, such as visible areas, stratified over their order.
pub(super) fn choose(weights: &[f64]) -> Vec<usize> {
    let samples = checked_of(weights.len());
    let step = weights.iter().sum::<f64>() / samples as f64;
    let mut sum = -0.5 * step;
    let mut chosen = Vec::with_capacity(samples);
    for (element, weight) in weights.iter().enumerate() {
        sum += weight;
        while sum > 0.0 && chosen.len() < samples {
            chosen.push(element);
            sum -= step;
        }
    }
    chosen
}

/// Result of gather rays of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Gathered {
    /// Indirect irradiance, in lux, or `None` without a valid ray.
    pub light: Option<Vec3>,
    /// Number of traced rays.
    pub rays: u64,
}

/// Tracer of gather rays that read radiosities.
#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    pub transport: &'a Transport<'a>,
    /// Radiosity of each element, in lm/m2.
    pub radiosity: &'a [Vec3],
    /// Visible fraction of each element, if exact. Points of fully visible elements are then not tested for lying
    /// inside geometry. Otherwise all points of an element are tested if one of them lies inside.
    pub visible: Option<&'a [f32]>,
    pub stage: Stage,
}

impl Probe<'_> {
    /// Traces `rays` gather rays of an element.
    pub fn gathered(&self, half: usize, element: usize, rays: u32) -> Gathered {
        let traced = |may_be_inside| self.traced(half, element, rays, may_be_inside);
        let may_be_inside = self.visible.is_some_and(|visible| visible[element] < 1.0);
        // A point inside geometry counts as visible if its ray hits a front face first, so all are tested then.
        let gathered = traced(may_be_inside).or_else(|| traced(true));
        gathered.unwrap_or(Gathered { light: None, rays: 0 })
    }

    /// Traces the rays. Returns `None` if the visible fraction is unknown and an untested point lies inside geometry.
    /// Without `may_be_inside` a point is tested only if its ray hits an absorbing back face.
    fn traced(&self, half: usize, element: usize, rays: u32, may_be_inside: bool) -> Option<Gathered> {
        let Self { transport, radiosity, visible, stage } = *self;
        let id = ElementId::from_index(element);
        let sampler = transport.elements.sampler(transport.scene, id);
        let seed = transport.seed_of(half, stage, element);
        let source =
            Source { element, may_be_inside, light_pmf: LightPmf::All(0).into(), until: Until::Element, bright: &[] };
        let numbers = OwenSobol::new(seed);
        let (mut sum, mut count, mut traced) = (Vec3::ZERO, 0, 0);
        for ray in 0..rays {
            let [x, y, u, v] = numbers.point(ray);
            let point = sampler.sample(Vec2::new(x, y));
            let direction = cosine_hemisphere(point.shading_normal, Vec2::new(u, v));
            let arrival = transport.gather(&source, &point, direction, hash2(seed, ray));
            traced += u64::from(arrival.rays);
            match arrival.end {
                End::Element(hit) => sum += arrival.tint * radiosity[hit.index()],
                End::Lost => {}
                End::Inside if may_be_inside || visible.is_some() => continue,
                End::Inside => return None,
            }
            sum += arrival.continuation;
            count += 1;
        }
        Some(Gathered { light: (count > 0).then(|| sum / count as f32), rays: traced })
    }
}
