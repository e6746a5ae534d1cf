//! Counters of ray arrivals.

use core::sync::atomic::{AtomicU32, Ordering};

use glam::Vec3;
use rayon::prelude::*;

use super::shots::{End, Shots};
use super::stages::CHANNELS;
use super::{Stages, SubsceneElements};
use crate::geometry::sobol::hash2;
use crate::partition::CellTracer;
use crate::progress::Monitor;
use crate::radiosity::StepError;

/// Parameters of one bounce.
pub struct Bounce<'a> {
    /// Seed of the random numbers.
    pub seed: u32,
    /// Number of rays for each channel of each element.
    pub ray_counts: &'a [u32],
    /// Order of the rays, without influence on results.
    pub stages: Stages<'a>,
    /// Power of a ray, in lumens.
    pub power_of_ray: f32,
}

/// Arrivals of the rays of a bounce.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of arrivals for each channel of each element.
    pub arrived: Vec<u32>,
    /// Number of rays that left the scene.
    pub escaped: u32,
    /// Number of rays that hit a back without elements.
    pub absorbed: u32,
}

/// Backend that shoots rays, counts arrivals, and keeps the resulting powers.
pub trait Counters {
    /// Restores the state before any shot.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn restart(&mut self) -> Result<(), StepError>;

    /// Shoots a bounce. The arrived power, after reflection, will be shot next, and is added to the total of its
    /// element.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels, or if the device fails.
    fn shoot(&mut self, bounce: &Bounce, monitor: &dyn Monitor) -> Result<(), StepError>;

    /// Returns the power of the last bounce for each element, after reflection, in lumens.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn unshot(&self) -> Result<Vec<Vec3>, StepError>;

    /// Returns the power of the last bounce for each element of the whole scene, of which workers may have a part each.
    /// Before the first bounce that is the emitted power.
    ///
    /// # Errors
    /// Returns an error if the device fails, if a worker's monitor cancels, or if a worker does not answer.
    fn all_unshot(&mut self) -> Result<Vec<Vec3>, StepError> {
        self.unshot()
    }

    /// Returns the total power of each element over all bounces, including emission, in lumens.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn power(&self) -> Result<Vec<Vec3>, StepError>;

    /// Returns the arrivals of the last bounce.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn counts(&self) -> Result<Counts, StepError>;
}

/// CPU implementation of [`Counters`], equivalent to `subscene_rays.wgsl`.
pub struct CpuCounters<'a> {
    shots: Shots<'a>,
    elements: &'a SubsceneElements,
    light: Light,
}

impl<'a> CpuCounters<'a> {
    /// Creates counters before any shot, with rays that traverse cells.
    pub fn new(tracer: &'a CellTracer, elements: &'a SubsceneElements) -> Self {
        Self::with(Shots::through_cells(tracer, elements), elements)
    }

    /// Creates counters with rays that traverse a new KD-tree of all triangles. This is the fastest method on a CPU,
    /// and the reference for others.
    pub fn with_tree(tracer: &'a CellTracer, elements: &'a SubsceneElements) -> Self {
        Self::with(Shots::through_tree(tracer, elements), elements)
    }

    fn with(shots: Shots<'a>, elements: &'a SubsceneElements) -> Self {
        Self { shots, elements, light: Light::new(elements) }
    }
}

/// Arrivals of the last bounce, and the resulting powers.
pub(super) struct Light {
    pub counts: Counts,
    pub unshot: Vec<Vec3>,
    pub power: Vec<Vec3>,
}

impl Light {
    /// Creates the light before any shot.
    pub fn new(elements: &SubsceneElements) -> Self {
        Self { counts: Counts::default(), unshot: elements.emitted.clone(), power: elements.emitted.clone() }
    }

    /// Converts arrivals to the power to be shot next.
    pub fn receive(&mut self, counts: Counts, elements: &SubsceneElements, power_of_ray: f32) {
        for (element, arrived) in counts.arrived.chunks_exact(CHANNELS).enumerate() {
            self.unshot[element] = elements.reflectance[element] * (power_of_ray * light_of(arrived));
            self.power[element] += self.unshot[element];
        }
        self.counts = counts;
    }
}

/// Returns the number of arrivals for each channel, in rays.
pub(super) fn light_of(arrived: &[u32]) -> Vec3 {
    Vec3::new(arrived[0] as f32, arrived[1] as f32, arrived[2] as f32)
}

impl Counters for CpuCounters<'_> {
    fn restart(&mut self) -> Result<(), StepError> {
        self.light = Light::new(self.elements);
        Ok(())
    }

    fn shoot(&mut self, bounce: &Bounce, monitor: &dyn Monitor) -> Result<(), StepError> {
        let arrived: Vec<AtomicU32> = (0..CHANNELS * self.elements.len()).map(|_| AtomicU32::new(0)).collect();
        let (escaped, absorbed) = (AtomicU32::new(0), AtomicU32::new(0));
        for stage in 0..bounce.stages.count() {
            monitor.check()?;
            bounce.stages.sources(stage, bounce.ray_counts).par_iter().with_max_len(64).for_each(|&source| {
                let (element, seed) = (source.element(), hash2(bounce.seed, source.number));
                for index in 0..source.rays {
                    let counter = match self.shots.end(element, seed, index) {
                        End::Element(element) => {
                            &arrived[CHANNELS * element as usize + source.number as usize % CHANNELS]
                        }
                        End::Escaped => &escaped,
                        End::Absorbed => &absorbed,
                    };
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let counts = Counts {
            arrived: arrived.into_iter().map(AtomicU32::into_inner).collect(),
            escaped: escaped.into_inner(),
            absorbed: absorbed.into_inner(),
        };
        self.light.receive(counts, self.elements, bounce.power_of_ray);
        Ok(())
    }

    fn unshot(&self) -> Result<Vec<Vec3>, StepError> {
        Ok(self.light.unshot.clone())
    }

    fn power(&self) -> Result<Vec<Vec3>, StepError> {
        Ok(self.light.power.clone())
    }

    fn counts(&self) -> Result<Counts, StepError> {
        Ok(self.light.counts.clone())
    }
}
