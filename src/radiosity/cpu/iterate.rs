//! Jacobi iteration on stored hits, `B = reflectance * (E_direct + mean of B over the hits)`, to convergence.

use glam::{DVec3, Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;

use super::{StepReport, TILE};
use crate::lightmap::Elements;
use crate::progress::{Cancelled, Monitor, Unmonitored};
use crate::radiosity::accumulators::{StoredHits, does_not_count};
use crate::radiosity::backend::StepError;
use crate::radiosity::converge::{Sweep, Sweeps, converge, steps_to_read};
use crate::radiosity::{Accumulators, HALVES};

/// Number of elements in a parallel task of a sweep.
const SWEEP: usize = 16 * TILE;

pub(super) fn run(
    elements: &Elements,
    halves: &mut [Accumulators; HALVES],
    rays: u32,
    adaptation: &[f32],
    bounces: Option<u32>,
    monitor: &dyn Monitor,
) -> Result<StepReport, StepError> {
    let mut report = StepReport::default();
    for half in halves {
        let sources: Vec<Vec3> =
            (0..elements.len()).into_par_iter().map(|element| half.source(elements, element)).collect();
        let current = padded(half.start_of_iteration(&sources, bounces).into_iter());
        let next = padded(core::iter::repeat_n(Vec3::ZERO, sources.len()));
        let operator = FormFactorMatrix::new(half, rays);
        let mut radiosities = Radiosities { elements, adaptation, operator, sources, current, next, monitor };
        report.join(converge(&mut radiosities, bounces)?);
        half.radiosity = radiosities.current;
    }
    Ok(report)
}

struct Radiosities<'a> {
    elements: &'a Elements,
    /// Adaptation level of each element, in lux.
    adaptation: &'a [f32],
    operator: FormFactorMatrix<'a>,
    sources: Vec<Vec3>,
    current: Vec<Vec4>,
    next: Vec<Vec4>,
    monitor: &'a dyn Monitor,
}

impl Sweeps for Radiosities<'_> {
    fn sweep(&mut self) -> Result<Sweep, StepError> {
        let Self { elements, adaptation, operator, sources, current, next, monitor } = self;
        let next = &mut next[..sources.len()];
        next.fill(Vec4::ZERO);
        operator.apply(current, next, *monitor)?;
        let sums: Vec<Sweep> = next
            .par_chunks_mut(SWEEP)
            .enumerate()
            .map(|(chunk, next)| {
                let mut sweep = Sweep { change: DVec3::ZERO, total: DVec3::ZERO };
                for (offset, next) in next.iter_mut().enumerate() {
                    let element = chunk * SWEEP + offset;
                    let weight = f64::from(elements.area[element]) / f64::from(adaptation[element]);
                    let radiosity = sources[element] + elements.reflectance[element] * next.xyz();
                    sweep.change += (radiosity - current[element].xyz()).abs().as_dvec3() * weight;
                    sweep.total += radiosity.as_dvec3() * weight;
                    *next = radiosity.extend(0.0);
                }
                sweep
            })
            .collect();
        let none = Sweep { change: DVec3::ZERO, total: DVec3::ZERO };
        Ok(sums.into_iter().fold(none, |a, b| Sweep { change: a.change + b.change, total: a.total + b.total }))
    }

    fn extrapolate(&mut self, series: Vec3) -> Result<(), StepError> {
        let series = series.extend(0.0);
        // An extrapolation that overshoots must not make an element negative.
        let extrapolated = |next: Vec4, current: Vec4| (next + (next - current) * series).max(Vec4::ZERO);
        self.next.par_iter_mut().zip(&self.current).for_each(|(next, current)| *next = extrapolated(*next, *current));
        Ok(())
    }

    fn accept(&mut self) {
        core::mem::swap(&mut self.current, &mut self.next);
    }
}

/// Returns the sum of radiosities over the stored hits of each element.
pub(super) fn sums_over_hits(half: &Accumulators, radiosity: &[Vec4]) -> Vec<Vec3> {
    let mut sums = vec![Vec4::ZERO; half.sums.len()];
    for stored in &half.stored {
        add_stored(stored, radiosity, &mut sums);
    }
    sums.into_iter().map(Vec4::xyz).collect()
}

/// Returns the indirect irradiance from stored hits alone, for given radiosities.
pub(super) fn apply(half: &Accumulators, radiosity: &[Vec3]) -> Vec<Vec3> {
    FormFactorMatrix::new(half, u32::MAX).product(radiosity, &Unmonitored).unwrap_or_default()
}

/// Returns radiosities followed by two zeros, which stored hits without contribution index.
fn padded(radiosity: impl Iterator<Item = Vec3>) -> Vec<Vec4> {
    radiosity.map(|radiosity| radiosity.extend(0.0)).chain([Vec4::ZERO; 2]).collect()
}

/// Form-factor matrix estimated from stored hits.
pub(crate) struct FormFactorMatrix<'a> {
    stored: &'a [StoredHits],
    /// Reciprocal number of valid rays of each element.
    scale: Vec<f32>,
}

impl<'a> FormFactorMatrix<'a> {
    /// Selects the smallest number of storing steps with `rays` rays an element together.
    pub(crate) fn new(half: &'a Accumulators, rays: u32) -> Self {
        let count = half.sums.len();
        let steps = steps_to_read(half.stored.iter().map(|stored| stored.hits.len() as u64), count, rays);
        let stored = &half.stored[..steps];
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

    /// Returns the indirect irradiance of all elements, in lux, for their radiosities in lm/m2.
    ///
    /// # Errors
    /// When the monitor asks to stop.
    pub(crate) fn product(&self, radiosity: &[Vec3], monitor: &dyn Monitor) -> Result<Vec<Vec3>, Cancelled> {
        let mut result = vec![Vec4::ZERO; self.scale.len()];
        let radiosity = padded(radiosity.iter().copied());
        self.apply(&radiosity, &mut result, monitor)?;
        Ok(result.into_iter().map(Vec4::xyz).collect())
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

/// Adds the radiosities at stored hits to the sums of their elements.
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
