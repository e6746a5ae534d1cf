//! Direct light by rays aimed at emitters.

use std::sync::atomic::{AtomicU64, Ordering};

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::transport::Transport;
use super::{StepReport, TILE};
use crate::geometry::sobol::OwenSobol;
use crate::lightmap::{ElementId, ElementSampler};
use crate::progress::Monitor;
use crate::radiosity::accumulators::Sums;
use crate::radiosity::backend::StepError;
use crate::radiosity::seeds::Stage;
use crate::radiosity::{Accumulators, HALVES};
use crate::scene::{Chances, luminance};

pub(super) fn run(
    transport: &Transport,
    halves: &mut [Accumulators; HALVES],
    wanted: &[Vec<u32>; HALVES],
    monitor: &dyn Monitor,
) -> Result<StepReport, StepError> {
    if transport.lights.emitters() == 0 {
        return Ok(StepReport::default());
    }
    let rays = AtomicU64::new(0);
    for (half, accumulators) in halves.iter_mut().enumerate() {
        let wanted = &wanted[half];
        accumulators.sums.par_chunks_mut(TILE).enumerate().try_for_each(|(tile, sums)| {
            let mut traced = 0;
            for (offset, sums) in sums.iter_mut().enumerate() {
                // An element may take thousands of rays, and a tile of them seconds.
                monitor.check()?;
                let element = tile * TILE + offset;
                traced += sample_element(transport, half, element, wanted[element], sums);
            }
            rays.fetch_add(traced, Ordering::Relaxed);
            Ok::<(), StepError>(())
        })?;
    }
    Ok(StepReport { rays: rays.into_inner(), ..StepReport::default() })
}

/// Mean direct irradiance of an element by so many samples of their own, lux.
pub(in crate::radiosity) fn direct_light(transport: &Transport, element: usize, samples: u32) -> Vec3 {
    let mut sums = Sums::default();
    // Halves share no random numbers with it.
    sample_element(transport, HALVES, element, samples, &mut sums);
    sums.aimed / samples as f32
}

fn sample_element(transport: &Transport, half: usize, element: usize, wanted: u32, sums: &mut Sums) -> u64 {
    if sums.aimed_count >= wanted {
        return 0;
    }
    let seed = transport.seed_of(half, Stage::Direct, element);
    let aim = Aim {
        transport,
        sampler: transport.elements.sampler(transport.scene, ElementId::from_index(element)),
        chances: transport.chances(element),
        choices: OwenSobol::new(transport.seed_of(half, Stage::Pick, element)),
        points: (0..transport.lights.emitters() as u32)
            .map(|emitter| OwenSobol::new(seed.wrapping_add(emitter)))
            .collect(),
    };
    let mut rays = 0;
    for index in sums.aimed_count..wanted {
        let (light, traced) = aim.sample(index);
        sums.aimed += light;
        sums.aimed_square += luminance(light).powi(2);
        rays += traced;
    }
    sums.aimed_count = wanted;
    rays
}

/// How one element looks for the light of all emitters.
struct Aim<'a> {
    transport: &'a Transport<'a>,
    sampler: ElementSampler,
    chances: Chances,
    /// What decides on the emitters that a sample visits.
    choices: OwenSobol,
    /// Points on the element and on each emitter.
    points: Vec<OwenSobol>,
}

impl Aim<'_> {
    /// One sample of the light of all emitters, and how many rays it took.
    fn sample(&self, index: u32) -> (Vec3, u64) {
        let [choice, ..] = self.choices.point(index);
        let mut sum = Vec3::ZERO;
        let mut rays = 0;
        for (emitter, chance) in self.chances.visited(choice) {
            let [x, y, u, v] = self.points[emitter].point(index);
            let point = self.sampler.sample(Vec2::new(x, y));
            let (light, traced) = self.transport.aimed_light(emitter, chance, &point, [u, v]);
            sum += light;
            rays += u64::from(traced);
        }
        (sum, rays)
    }
}
