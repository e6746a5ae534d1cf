//! Bakes on the device; counterpart of [`CpuBackend`](crate::radiosity::CpuBackend).
//!
//! The host keeps one accumulator per element, while rays and stored hits stay on the device. Each step submits rays in
//! [batches](rays) of three kernels. The first assigns rays to elements, the second traces, and the third sums the rays
//! of each element in order. Sums therefore do not depend on the scheduling of threads. Random numbers, weights and the
//! order of work equal the CPU's, so results differ by rounding only.
//!
//! `elements.rs` uploads elements, `gather.rs` and `shoot.rs` run solver steps, `stored.rs` and `sweep.rs` iterate over
//! stored hits.

mod elements;
mod gather;
mod kernels;
mod rays;
mod shoot;
mod stored;
mod sweep;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use glam::{Vec3, Vec4};

use self::gather::GatherStep;
pub use self::kernels::BakeKernels;
use self::rays::{BatchKind, ElementJob, Rays};
use self::shoot::Shots;
use self::stored::DeviceHits;
use self::sweep::{Product, Radiosities};
use super::scene::GpuTree;
use super::{Block, Gpu, GpuCounters, GpuFault, GpuScene};
use crate::accel::Preset;
use crate::lightmap::Elements;
use crate::partition::CellTracer;
use crate::progress::{Monitor, Part};
use crate::radiosity::{
    Accumulators, BrightElement, Counters, ElementEstimate, HALVES, Hits, LightSampleAllocator, Stage, Step, StepError,
    StepReport, SubsceneElements, TransportBackend, Weights, converge, seed_of_allocation, seed_of_stage, shoot_half,
    steps_to_read,
};
use crate::scene::Scene;

impl From<GpuFault> for StepError {
    fn from(fault: GpuFault) -> Self {
        Self::Device(fault.to_string())
    }
}

/// Tells of the work of one half.
fn of_half(monitor: &dyn Monitor, half: usize) -> Part<'_> {
    let share = |halves: usize| halves as f32 / HALVES as f32;
    Part { monitor, from: share(half), to: share(half + 1) }
}

/// [`TransportBackend`] that runs on a graphics card.
pub struct GpuBackend<'a> {
    gpu: &'a Gpu,
    elements: &'a Elements,
    rays: Rays,
    seed: u32,
    light_sample_allocator: LightSampleAllocator<'a>,
    /// Accumulators of both halves, without stored hits.
    halves: [Accumulators; HALVES],
    stored: [Vec<DeviceHits>; HALVES],
    /// Workgroups of counted rays.
    block: Block,
}

impl<'a> GpuBackend<'a> {
    /// Uploads a scene and its elements.
    ///
    /// # Errors
    /// Returns an error if the device lacks memory.
    pub fn new(gpu: &'a Gpu, scene: &Scene, elements: &'a Elements, seed: u32) -> Result<Self, GpuFault> {
        let on_device = GpuScene::with_tree(gpu, scene, &GpuTree::of_bake(scene, &Preset::narrow()))?;
        let tables = elements::tables(scene, &on_device, elements);
        Ok(Self {
            gpu,
            elements,
            rays: Rays::new(gpu, on_device, &tables, elements.len())?,
            seed,
            light_sample_allocator: LightSampleAllocator::new(elements),
            halves: core::array::from_fn(|_| Accumulators::new(elements.len())),
            stored: Default::default(),
            block: Block::default(),
        })
    }

    /// Sets the number of threads of a workgroup of counted rays.
    ///
    /// # Errors
    /// Returns an error if the device has no such workgroups.
    pub fn with_block(self, threads: u32) -> Result<Self, GpuFault> {
        let block = Block::new(self.gpu, threads)?;
        Ok(Self { block, ..self })
    }

    fn direct(&mut self, samples: u32, tolerance: &[f32], monitor: &dyn Monitor) -> Result<StepReport, StepError> {
        let mut report = StepReport::default();
        let wanted = self.light_sample_allocator.allocate(&self.halves, samples, tolerance);
        for (half, wanted) in wanted.iter().enumerate() {
            let seeds = [Stage::Direct, Stage::Pick].map(|stage| seed_of_stage(self.seed, half, stage));
            let sums = &mut self.halves[half].sums;
            let work: Vec<ElementJob> = sums
                .iter()
                .zip(wanted)
                .zip(0..)
                .filter(|((sums, wanted), _)| sums.light_samples < **wanted)
                .map(|((sums, wanted), element)| ElementJob {
                    element,
                    first_index: sums.light_samples,
                    rays: wanted - sums.light_samples,
                    may_be_inside: false,
                    bounces: None,
                    hits_at: 0,
                })
                .collect();
            let sent = self.rays.send(
                self.gpu,
                BatchKind::LightSampled,
                seeds,
                &work,
                &of_half(monitor, half),
                |part, tally| {
                    let sums = &mut sums[part.element as usize];
                    sums.light_sampled += Vec3::from(tally.direct);
                    sums.light_sampled_square += tally.continuation[0];
                    sums.light_samples += part.rays;
                    report.rays += u64::from(tally.rays);
                },
            );
            sent.map_err(|error| error.after(report.rays))?;
        }
        Ok(report)
    }

    fn gather(&mut self, rays: &[u32], hits: Hits, monitor: &dyn Monitor) -> Result<StepReport, StepError> {
        let mut report = StepReport::default();
        for half in 0..HALVES {
            let known = match hits {
                Hits::Store => Vec::new(),
                Hits::Read => self.radiosity(half),
                Hits::Forget | Hits::Follow { .. } => vec![Vec3::ZERO; rays.len()],
            };
            let mut step = GatherStep {
                gpu: self.gpu,
                rays: &mut self.rays,
                sums: &mut self.halves[half].sums,
                wanted: rays,
                seed: seed_of_stage(self.seed, half, Stage::Gather),
                hits,
                monitor: &of_half(monitor, half),
                traced: 0,
            };
            let done = match hits {
                Hits::Store => step.store(&mut self.stored[half]),
                Hits::Read | Hits::Forget | Hits::Follow { .. } => step.read(known.into_iter()),
            };
            report.rays += step.traced;
            done.map_err(|error| error.after(report.rays))?;
        }
        Ok(report)
    }

    fn iterate(
        &mut self,
        rays: u32,
        adaptation: &[f32],
        bounces: Option<u32>,
        monitor: &dyn Monitor,
    ) -> Result<StepReport, StepError> {
        let weights: Vec<f32> = self.elements.area.iter().zip(adaptation).map(|(area, level)| area / level).collect();
        let mut report = StepReport::default();
        for half in 0..HALVES {
            let known = &self.halves[half];
            let count = self.elements.len();
            let sources: Vec<Vec3> = (0..count).map(|element| known.source(self.elements, element)).collect();
            let start = known.start_of_iteration(&sources, bounces).into_iter();
            let steps = steps_to_read(self.stored[half].iter().map(DeviceHits::len), count, rays);
            let stored = &self.stored[half][..steps];
            let product = Product { gpu: self.gpu, kernels: &self.rays.kernels, stored, elements: count };
            let mut radiosities =
                Radiosities::new(product, &weights, &self.elements.reflectance, &sources, start, monitor)?;
            report.join(converge(&mut radiosities, bounces)?);
            let solved = radiosities.read()?;
            let known = &mut self.halves[half].radiosity[..count];
            known.iter_mut().zip(solved).for_each(|(known, solved)| *known = solved.truncate().extend(0.0));
        }
        Ok(report)
    }

    fn shoot(
        &mut self,
        weights: Weights,
        bounces: Option<u32>,
        monitor: &dyn Monitor,
    ) -> Result<StepReport, StepError> {
        let mut report = StepReport::default();
        for (half, accumulators) in self.halves.iter_mut().enumerate() {
            let may_be_inside = accumulators.may_be_inside();
            let mut shots = Shots {
                gpu: self.gpu,
                rays: &mut self.rays,
                may_be_inside: &may_be_inside,
                seed: seed_of_stage(self.seed, half, Stage::Shoot),
                monitor,
            };
            let seed = seed_of_allocation(self.seed, half, accumulators.shots);
            report.join(shoot_half(self.elements, weights, accumulators, bounces, seed, |bounce| shots.land(bounce))?);
        }
        Ok(report)
    }

    fn product(&self, half: usize) -> Product<'_> {
        let Self { gpu, rays, stored, elements, .. } = self;
        Product { gpu, kernels: &rays.kernels, stored: &stored[half], elements: elements.len() }
    }
}

impl TransportBackend for GpuBackend<'_> {
    fn counters<'a>(
        &self,
        tracer: &'a CellTracer,
        elements: &'a SubsceneElements,
    ) -> Result<Box<dyn Counters + 'a>, StepError> {
        Ok(Box::new(GpuCounters::with_block(self.gpu, tracer, elements, self.block)?))
    }

    fn run(&mut self, step: &Step, monitor: &dyn Monitor) -> Result<StepReport, StepError> {
        monitor.check()?;
        match step {
            Step::Direct { samples, tolerance } => self.direct(*samples, tolerance, monitor),
            Step::Gather { rays, hits } => self.gather(rays, *hits, monitor),
            Step::Iterate { bounces: Some(0), .. } | Step::Shoot { bounces: Some(0), .. } => Ok(StepReport::default()),
            Step::Iterate { rays, adaptation, bounces } => self.iterate(*rays, adaptation, *bounces, monitor),
            Step::Shoot { shown, adaptation, bounces } => self.shoot(Weights { shown, adaptation }, *bounces, monitor),
        }
    }

    fn sample_as_lights(&mut self, bright: &[BrightElement]) -> Result<(), StepError> {
        self.halves.iter_mut().for_each(|half| half.bright = bright.to_vec());
        self.rays.sample_as_lights(self.gpu, bright);
        Ok(())
    }

    fn read(&self, half: usize) -> Result<Vec<ElementEstimate>, StepError> {
        let sums = self.product(half).sums(self.radiosity(half).into_iter())?;
        let sums_over_hits: Vec<Vec3> = sums.into_iter().map(Vec4::truncate).collect();
        Ok(self.halves[half].element_estimates(&sums_over_hits))
    }

    fn radiosity(&self, half: usize) -> Vec<Vec3> {
        self.halves[half].radiosities()
    }

    fn apply(&self, half: usize, radiosity: &[Vec3]) -> Result<Vec<Vec3>, StepError> {
        let sums = self.product(half).sums(radiosity.iter().copied())?;
        Ok(sums.into_iter().map(|sum| sum.truncate() / sum.w.max(1.0)).collect())
    }

    fn stored_rays(&self) -> u64 {
        self.stored.iter().flatten().map(DeviceHits::len).sum()
    }

    fn snapshot(&self) -> Result<Cow<'_, [Accumulators; HALVES]>, StepError> {
        let mut halves = self.halves.clone();
        for (half, stored) in halves.iter_mut().zip(&self.stored) {
            half.stored = stored.iter().map(|hits| hits.download(self.gpu)).collect::<Result<_, _>>()?;
        }
        Ok(Cow::Owned(halves))
    }

    fn restore(&mut self, accumulators: [Accumulators; HALVES]) -> Result<(), StepError> {
        self.halves = accumulators;
        self.rays.sample_as_lights(self.gpu, &self.halves[0].bright);
        for (half, stored) in self.halves.iter_mut().zip(&mut self.stored) {
            let hits = core::mem::take(&mut half.stored);
            *stored = hits.iter().map(|hits| DeviceHits::upload(self.gpu, hits)).collect::<Result<_, _>>()?;
        }
        Ok(())
    }
}
