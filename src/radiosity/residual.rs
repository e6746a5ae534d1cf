//! How far radiosities are from solving their equation, judged by rays that no solver has used.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::HALVES;
use super::cpu::{End, Source, Transport, Until};
use super::seeds::Stage;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, Elements};
use crate::progress::{Cancelled, Monitor};
use crate::scene::{Chances, luminance};

/// Elements that are looked at, fewer where there are not as many.
const SAMPLES: usize = 1024;

/// Rays of either half of each, at most, at least, and enough to see a residual of two per cent.
const MOST_RAYS: u64 = 1 << 16;
const FEWEST_RAYS: u64 = 64;
pub(super) const MANY_RAYS: u32 = 512;

/// One part in so many of the rays that the solver has traced of an element is traced again of each that is looked at.
/// Their noise is then larger than the solver's, but that many elements together tell its size to about a third.
const SHARE: u64 = 4;

/// Rays of either half of each element that is looked at, where the solver has traced so many of all elements.
pub(super) fn rays_for(traced: u64, elements: usize) -> u32 {
    let rays = traced / (SHARE * (HALVES * elements.max(1)) as u64);
    1 << rays.clamp(FEWEST_RAYS, MOST_RAYS).ilog2()
}

/// What is to be checked, one an element: irradiance straight from lights and by way of other surfaces, lux, and the part
/// of the element that light reaches.
#[derive(Clone, Copy)]
pub(super) struct Claim<'a> {
    pub direct: &'a [Vec3],
    pub indirect: &'a [Vec3],
    pub visible: &'a [f32],
    /// The level that an element's irradiance is relative to in [`Residual::local`], lux: infinite for elements that do not
    /// count there. Empty where nobody asks for it.
    pub adaptation: &'a [f32],
    /// Rays that check either half of an element, a power of two.
    pub rays: u32,
}

/// How far what a solution claims is from what rays find, root mean squares over area that are free of the rays' noise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Residual {
    /// Of the radiosity equation (`000` equation 2.13), relative to the first bounce.
    pub relative: f32,
    /// By how much it would be larger if the mean square were larger by its standard error.
    pub standard_error: f32,
    /// Of the irradiance that one bounce of the solution brings, lux.
    pub bounce: f32,
    /// Residual of the irradiance that one bounce brings, relative to the adaptation levels.
    pub local: f32,
    /// Mean of the irradiance that is claimed less what is found, lux.
    pub surplus: f32,
}

/// Traces gather rays that read a solution's radiosities, from elements that were drawn in proportion to their area, and
/// compares what they find with what the solution claims.
///
/// # Errors
/// When the monitor cancels.
pub(super) fn residual(transport: &Transport, claim: &Claim, monitor: &dyn Monitor) -> Result<Residual, Cancelled> {
    let Elements { reflectance, area, .. } = transport.elements;
    let reflected = |element: usize| luminance(reflectance[element] * claim.direct[element]);
    let weights: Vec<f64> = area.iter().zip(claim.visible).map(|(area, visible)| f64::from(area * visible)).collect();
    let first_bounce =
        weights.iter().enumerate().map(|(element, weight)| weight * f64::from(reflected(element))).sum::<f64>()
            / weights.iter().sum::<f64>();
    if first_bounce.is_nan() || first_bounce <= 0.0 {
        return Ok(Residual::default());
    }
    let differences = differences(transport, claim, &choose(&weights), monitor)?;
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

/// What an element's claimed irradiance is above what either half of its rays found, lux.
struct Difference {
    element: usize,
    halves: [Vec3; HALVES],
}

impl Difference {
    /// Luminance of both halves.
    fn weighed_by(&self, weight: Vec3) -> [f64; HALVES] {
        self.halves.map(|half| f64::from(luminance(weight * half)))
    }
}

fn differences(
    transport: &Transport,
    claim: &Claim,
    chosen: &[usize],
    monitor: &dyn Monitor,
) -> Result<Vec<Difference>, Cancelled> {
    let total = |(direct, indirect): (&Vec3, &Vec3)| *direct + *indirect;
    let irradiance = claim.direct.iter().zip(claim.indirect).map(total);
    let radiosity: Vec<Vec3> =
        irradiance.zip(&transport.elements.reflectance).map(|(light, part)| light * part).collect();
    let probe = Probe { transport, radiosity: &radiosity, visible: None, stage: Stage::Check };
    let difference = |element: usize| {
        let found = [0, 1].map(|half| probe.gathered(half, element, claim.rays).light);
        let [first, second]: [Option<Vec3>; HALVES] = found;
        Some(Difference { element, halves: [first?, second?].map(|found| claim.indirect[element] - found) })
    };
    let watched = |&element: &usize| monitor.check().map(|()| difference(element)).transpose();
    chosen.par_iter().with_min_len(8).filter_map(watched).collect()
}

/// How large differences are.
pub(super) struct Spread {
    mean: f64,
    mean_square: f64,
    /// Standard error of the mean square.
    standard_error: f64,
}

impl Spread {
    /// Of differences that were found twice.
    ///
    /// The two halves share no random number, so that their product is free of noise.
    pub fn of(pairs: impl Iterator<Item = [f64; HALVES]> + Clone) -> Self {
        let count = pairs.clone().count().max(1) as f64;
        let mean = pairs.clone().map(|[first, second]| 0.5 * (first + second)).sum::<f64>() / count;
        let mean_square = pairs.clone().map(|[first, second]| first * second).sum::<f64>() / count;
        let variance = pairs.map(|[first, second]| (first * second - mean_square).powi(2)).sum::<f64>() / count;
        Self { mean, mean_square, standard_error: (variance / count).sqrt() }
    }

    /// Root of the mean square.
    pub fn rms(&self) -> f64 {
        self.square().sqrt()
    }

    /// What it would be if the mean square were larger by its standard error.
    pub fn upper_rms(&self) -> f64 {
        (self.square() + self.standard_error).sqrt()
    }

    /// Of what is no number it is none: light that has run away must not look like none.
    fn square(&self) -> f64 {
        self.mean_square.clamp(0.0, f64::INFINITY)
    }
}

/// Elements in proportion to their weights, such as visible areas, evenly spread over their order.
pub(super) fn choose(weights: &[f64]) -> Vec<usize> {
    let samples = SAMPLES.min(weights.len());
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

/// What gather rays of an element find.
pub(super) struct Gathered {
    /// Irradiance by way of other surfaces, lux; `None` where none of the rays counts.
    pub light: Option<Vec3>,
    /// Rays traced.
    pub rays: u64,
}

/// Gather rays that read radiosities.
#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    pub transport: &'a Transport<'a>,
    /// Of each element, lm/m2.
    pub radiosity: &'a [Vec3],
    /// The part of each element that light reaches, where that can be relied on: points of those that are wholly open are
    /// not asked whether they are.
    pub visible: Option<&'a [f32]>,
    pub stage: Stage,
}

impl Probe<'_> {
    /// Traces rays of an element.
    pub fn gathered(&self, half: usize, element: usize, rays: u32) -> Gathered {
        let Self { transport, radiosity, visible, stage } = *self;
        let id = ElementId::from_index(element);
        let sampler = transport.elements.sampler(transport.scene, id);
        let seed = transport.seed_of(half, stage, element);
        let suspect = visible.is_none_or(|visible| visible[element] < 1.0);
        let source = Source { element, suspect, chances: Chances::All(0), until: Until::Element, bright: &[] };
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
                End::Buried => continue,
            }
            sum += arrival.detour;
            count += 1;
        }
        Gathered { light: (count > 0).then(|| sum / count as f32), rays: traced }
    }
}
