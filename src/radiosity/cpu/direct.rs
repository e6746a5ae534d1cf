//! Direct light from light-sampled rays (next event estimation).

use std::sync::atomic::{AtomicU64, Ordering};

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::transport::Transport;
use super::{PIECE, StepReport};
use crate::geometry::sobol::OwenSobol;
use crate::lightmap::{ElementId, ElementSampler};
use crate::lights::LightPmf;
use crate::progress::{Cancelled, Monitor, PieceProgress};
use crate::radiosity::HALVES;
use crate::radiosity::accumulators::Sums;
use crate::radiosity::backend::StepError;
use crate::radiosity::seeds::Stage;
use crate::scene::luminance;

/// Samples the light of a range of elements from `first`, until each half has so many samples.
pub(super) fn run(
    transport: &Transport,
    first: usize,
    halves: [&mut [Sums]; HALVES],
    wanted: [&[u32]; HALVES],
    monitor: &dyn Monitor,
) -> Result<StepReport, StepError> {
    if transport.lights.emitters() == 0 {
        return Ok(StepReport::default());
    }
    let rays = AtomicU64::new(0);
    let pieces = PieceProgress::new(monitor, halves[0].len().div_ceil(PIECE));
    let [one, other] = halves.map(|half| half.par_chunks_mut(PIECE));
    let done = one.zip(other).enumerate().with_max_len(1).try_for_each(|(piece, halves)| {
        for (offset, halves) in halves.0.iter_mut().zip(halves.1).enumerate() {
            let index = piece * PIECE + offset;
            let element = first + index;
            let mut halves = [halves.0, halves.1];
            let is_enough = |half: usize| halves[half].light_samples >= wanted[half][index];
            if (0..HALVES).all(is_enough) {
                continue;
            }
            // An element may take thousands of rays, and a piece of them seconds.
            monitor.check()?;
            let light_pmf = transport.light_pmf(element);
            for (half, sums) in halves.iter_mut().enumerate() {
                let traced = sample_element(transport, half, element, &light_pmf, wanted[half][index], sums);
                rays.fetch_add(traced, Ordering::Relaxed);
            }
        }
        pieces.finish_piece();
        Ok::<(), Cancelled>(())
    });
    let rays = rays.into_inner();
    match done {
        Ok(()) => Ok(StepReport { rays, ..StepReport::default() }),
        Err(Cancelled) => Err(StepError::CutShort { rays }),
    }
}

/// Returns the mean direct irradiance of an element, in lux, from additional samples that no half uses.
pub(in crate::radiosity) fn direct_light(transport: &Transport, element: usize, samples: u32) -> Vec3 {
    let mut sums = Sums::default();
    // The index `HALVES` selects random numbers that no half uses.
    sample_element(transport, HALVES, element, &transport.light_pmf(element), samples, &mut sums);
    sums.light_sampled / samples as f32
}

/// Samples that look for their emitters together.
const TOGETHER: usize = 8;

fn sample_element(
    transport: &Transport,
    half: usize,
    element: usize,
    light_pmf: &LightPmf,
    wanted: u32,
    sums: &mut Sums,
) -> u64 {
    let light_sampling = LightSampling {
        transport,
        sampler: transport.elements.sampler(transport.scene, ElementId::from_index(element)),
        light_pmf,
        choices: OwenSobol::new(transport.seed_of(half, Stage::Pick, element)),
        seed: transport.seed_of(half, Stage::Direct, element),
    };
    let mut rays = 0;
    while sums.light_samples < wanted {
        let count = (wanted - sums.light_samples).min(TOGETHER as u32);
        let (light, traced) = light_sampling.samples(sums.light_samples, count as usize);
        for light in &light[..count as usize] {
            sums.light_sampled += *light;
            sums.light_sampled_square += luminance(*light).powi(2);
        }
        rays += traced;
        sums.light_samples += count;
    }
    rays
}

/// Light sampling of one element.
struct LightSampling<'a> {
    transport: &'a Transport<'a>,
    sampler: ElementSampler,
    light_pmf: &'a LightPmf,
    /// Random numbers that select the emitters of a sample.
    choices: OwenSobol,
    /// Sets apart the points on the element and on each emitter.
    seed: u32,
}

impl LightSampling<'_> {
    /// Computes `count` samples of the light of all emitters. Returns them with the number of traced rays.
    fn samples(&self, first: u32, count: usize) -> ([Vec3; TOGETHER], u64) {
        let numbers = core::array::from_fn(|sample| self.choices.point(first + sample as u32)[0]);
        let mut light = [Vec3::ZERO; TOGETHER];
        let mut rays = 0;
        self.light_pmf.visit::<TOGETHER>(numbers, |sample, emitter, probability| {
            if sample < count {
                let points = OwenSobol::new(self.seed.wrapping_add(emitter as u32));
                let [x, y, u, v] = points.point(first + sample as u32);
                let point = self.sampler.sample(Vec2::new(x, y));
                let (found, traced) = self.transport.sample_direct_light(emitter, probability, &point, [u, v]);
                light[sample] += found;
                rays += u64::from(traced);
            }
        });
        (light, rays)
    }
}
