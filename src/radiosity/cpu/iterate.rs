//! Radiosities from stored hits: `B = reflectance * (E_direct + mean of B over the hits)`, iterated until it stands
//! still.

use glam::{DVec3, Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;

use super::{StepReport, TILE};
use crate::lightmap::Elements;
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::accumulators::{StoredHits, does_not_count};
use crate::radiosity::backend::CONVERGED;
use crate::radiosity::{Accumulators, HALVES};

/// Iterations after which a scene counts as one that does not converge: reflectances of one in a closed room.
const MOST_ITERATIONS: u32 = 2_000;

/// Elements a parallel task of a sweep.
const SWEEP: usize = 16 * TILE;

pub(super) fn run(
    elements: &Elements,
    halves: &mut [Accumulators; HALVES],
    rays: u32,
    bounces: Option<u32>,
    monitor: &dyn Monitor,
) -> Result<StepReport, Cancelled> {
    let mut report = StepReport::default();
    for half in halves {
        let sources: Vec<Vec3> =
            (0..elements.len()).into_par_iter().map(|element| half.source(elements, element)).collect();
        let solved = iterate(elements, half, &sources, rays, bounces, monitor)?;
        half.radiosity = solved.radiosity;
        report.iterations = report.iterations.max(solved.iterations);
        report.unshot = report.unshot.max(solved.remaining as f32);
    }
    Ok(report)
}

struct Solved {
    radiosity: Vec<Vec4>,
    iterations: u32,
    /// Share of the reflected power that further iterations would add.
    remaining: f64,
}

fn iterate(
    elements: &Elements,
    half: &Accumulators,
    sources: &[Vec3],
    rays: u32,
    bounces: Option<u32>,
    monitor: &dyn Monitor,
) -> Result<Solved, Cancelled> {
    let count = sources.len();
    let operator = Operator::new(half, rays);
    // Where all bounces are followed, the radiosities of the pass before are nearly right already.
    let followed = bounces.is_none() && half.radiosity.iter().any(|&radiosity| radiosity != Vec4::ZERO);
    let mut current = if followed { half.radiosity.clone() } else { padded(sources.iter().copied()) };
    let mut previous_change = DVec3::ZERO;
    let mut previous_ratio = DVec3::ZERO;
    // Change when a series was last added; `None` once that has done no good.
    let mut change_at_series = Some(DVec3::INFINITY);
    // The first gather afterwards is a bounce of its own.
    let most = bounces.map_or(MOST_ITERATIONS, |bounces| bounces.saturating_sub(1));
    let mut solved = Solved { radiosity: Vec::new(), iterations: 0, remaining: 0.0 };
    let mut next = padded(core::iter::repeat_n(Vec3::ZERO, count));
    while solved.iterations < most {
        next[..count].fill(Vec4::ZERO);
        operator.apply(&current, &mut next[..count], monitor)?;
        let sums: Vec<(DVec3, DVec3)> = next[..count]
            .par_chunks_mut(SWEEP)
            .enumerate()
            .map(|(chunk, next)| {
                let mut change = DVec3::ZERO;
                let mut total = DVec3::ZERO;
                for (offset, next) in next.iter_mut().enumerate() {
                    let element = chunk * SWEEP + offset;
                    let (area, reflectance) = (f64::from(elements.area[element]), elements.reflectance[element]);
                    let radiosity = sources[element] + reflectance * next.xyz();
                    change += (radiosity - current[element].xyz()).abs().as_dvec3() * area;
                    total += radiosity.as_dvec3() * area;
                    *next = radiosity.extend(0.0);
                }
                (change, total)
            })
            .collect();
        let (change, total) = sums.into_iter().fold((DVec3::ZERO, DVec3::ZERO), |(a, b), (c, d)| (a + c, b + d));
        solved.iterations += 1;
        let ratio = (change / previous_change.max(DVec3::splat(f64::MIN_POSITIVE))).min(DVec3::splat(0.999));
        // Changes shrink by the ratio each time: what is still to come is a geometric series.
        let remaining = change * ratio / (DVec3::ONE - ratio);
        solved.remaining = (remaining / total.max(DVec3::splat(f64::MIN_POSITIVE))).max_element();
        let steady = (ratio - previous_ratio).abs().max_element() < 0.01;
        if total == DVec3::ZERO || (solved.iterations > 1 && solved.remaining < CONVERGED) {
            core::mem::swap(&mut current, &mut next);
            solved.remaining = solved.remaining.min(CONVERGED);
            break;
        }
        // Light that mostly goes to and fro between two sides (negative eigenvalues) is thrown further off by each series.
        if steady && change_at_series.is_some_and(|before| change.cmpgt(0.5 * before).any()) {
            change_at_series = None;
        }
        if steady && bounces.is_none() && change_at_series.is_some() {
            // The change has taken the shape of the slowest mode: the whole series is added at once.
            change_at_series = Some(change);
            let series = (ratio / (DVec3::ONE - ratio)).as_vec3().extend(0.0);
            next.par_iter_mut().zip(&current).for_each(|(next, current)| *next += (*next - current) * series);
            previous_change = DVec3::ZERO;
            previous_ratio = DVec3::ZERO;
        } else {
            previous_change = change;
            previous_ratio = ratio;
        }
        core::mem::swap(&mut current, &mut next);
    }
    solved.radiosity = current;
    Ok(solved)
}

/// Indirect irradiance of each element, from stored hits and from what was gathered without storing.
pub(super) fn indirect(half: &Accumulators, radiosity: &[Vec4]) -> Vec<Vec3> {
    let mut sums: Vec<Vec4> = half.sums.iter().map(|sums| sums.read.extend(0.0)).collect();
    for stored in &half.stored {
        add_stored(stored, radiosity, &mut sums);
    }
    sums.par_iter().zip(&half.sums).map(|(sum, sums)| sums.detour() + sum.xyz() / sums.carriers.max(1) as f32).collect()
}

/// Indirect irradiance that the stored hits alone bring for given radiosities.
pub(super) fn apply(half: &Accumulators, radiosity: &[Vec3]) -> Vec<Vec3> {
    let mut result = vec![Vec4::ZERO; half.sums.len()];
    let operator = Operator::new(half, u32::MAX);
    let radiosity = padded(radiosity.iter().copied());
    result
        .par_chunks_mut(SWEEP)
        .enumerate()
        .for_each(|(chunk, result)| operator.apply_chunk(chunk, &radiosity, result));
    result.into_iter().map(Vec4::xyz).collect()
}

/// Radiosities with the two zeros behind them that stored hits may point at.
fn padded(radiosity: impl Iterator<Item = Vec3>) -> Vec<Vec4> {
    radiosity.map(|radiosity| radiosity.extend(0.0)).chain([Vec4::ZERO; 2]).collect()
}

/// The form-factor matrix as far as stored hits know it.
struct Operator<'a> {
    stored: &'a [StoredHits],
    /// One over the rays that count, for each element.
    scale: Vec<f32>,
}

impl<'a> Operator<'a> {
    /// Reads the fewest storing steps that have `rays` rays together.
    fn new(half: &'a Accumulators, rays: u32) -> Self {
        let count = half.sums.len();
        let mut have = 0;
        let steps = half.stored.iter().take_while(|stored| {
            let needed = have < rays as usize;
            have += stored.hits.len() / count;
            needed
        });
        let stored = &half.stored[..steps.count()];
        let invalid = does_not_count(count);
        let valid = |element: usize| {
            stored
                .iter()
                .map(|stored| stored.hits[stored.range(element)].iter().filter(|&&hit| hit != invalid).count())
                .sum::<usize>()
        };
        let scale = (0..count).into_par_iter().map(|element| 1.0 / valid(element).max(1) as f32).collect();
        Self { stored, scale }
    }

    fn apply(&self, radiosity: &[Vec4], result: &mut [Vec4], monitor: &dyn Monitor) -> Result<(), Cancelled> {
        result.par_chunks_mut(SWEEP).enumerate().try_for_each(|(chunk, result)| {
            monitor.check()?;
            self.apply_chunk(chunk, radiosity, result);
            Ok(())
        })
    }

    fn apply_chunk(&self, chunk: usize, radiosity: &[Vec4], result: &mut [Vec4]) {
        let first = chunk * SWEEP;
        for stored in self.stored {
            add_stored_range(stored, radiosity, first, result);
        }
        for (offset, result) in result.iter_mut().enumerate() {
            *result *= self.scale[first + offset];
        }
    }
}

/// Adds the radiosities that stored rays see to the sums of their elements.
fn add_stored(stored: &StoredHits, radiosity: &[Vec4], sums: &mut [Vec4]) {
    sums.par_chunks_mut(SWEEP)
        .enumerate()
        .for_each(|(chunk, sums)| add_stored_range(stored, radiosity, chunk * SWEEP, sums));
}

fn add_stored_range(stored: &StoredHits, radiosity: &[Vec4], first: usize, sums: &mut [Vec4]) {
    for (offset, sum) in sums.iter_mut().enumerate() {
        let hits = &stored.hits[stored.range(first + offset)];
        *sum += hits.iter().map(|&hit| radiosity[hit as usize]).sum::<Vec4>();
    }
    for tinted in stored.tinted_in(first..first + sums.len()) {
        sums[tinted.element as usize - first] += tinted.tint.extend(0.0) * radiosity[tinted.hit as usize];
    }
}
