//! Counting where rays arrive.

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

/// One bounce of light.
pub struct Bounce<'a> {
    /// Which random numbers.
    pub seed: u32,
    /// Rays of each channel of each element.
    pub allotment: &'a [u32],
    /// In which order they are shot; it changes nothing else.
    pub stages: Stages<'a>,
    /// What a ray carries, lumens.
    pub power_of_ray: f32,
}

/// Where the rays of a bounce went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// For each channel of each element how many arrived.
    pub arrived: Vec<u32>,
    /// How many left the scene.
    pub escaped: u32,
    /// How many met a back without elements.
    pub absorbed: u32,
}

/// Shoots rays, counts them, and keeps the powers that follow from the counts.
pub trait Counters {
    /// Shoots a bounce: what has arrived is the power that is to be shot next, and is added to that of its element.
    ///
    /// # Errors
    /// When the monitor asks for it, or the device fails.
    fn shoot(&mut self, bounce: &Bounce, monitor: &dyn Monitor) -> Result<(), StepError>;

    /// What the last bounce brought each element, after reflection, lumens.
    ///
    /// # Errors
    /// When the device fails.
    fn unshot(&self) -> Result<Vec<Vec3>, StepError>;

    /// What all bounces brought each element together, emitted power included, lumens.
    ///
    /// # Errors
    /// When the device fails.
    fn power(&self) -> Result<Vec<Vec3>, StepError>;

    /// Where the rays of the last bounce went.
    ///
    /// # Errors
    /// When the device fails.
    fn counts(&self) -> Result<Counts, StepError>;
}

/// Counts on the processor: the twin of `subscene_rays.wgsl`.
pub struct CpuCounters<'a> {
    shots: Shots<'a>,
    elements: &'a SubsceneElements,
    counts: Counts,
    unshot: Vec<Vec3>,
    power: Vec<Vec3>,
}

impl<'a> CpuCounters<'a> {
    /// Nothing is shot yet; rays are to go from cell to cell.
    pub fn new(tracer: &'a CellTracer, elements: &'a SubsceneElements) -> Self {
        Self::with(Shots::through_cells(tracer, elements), elements)
    }

    /// Rays are to go through a KD-tree of all triangles instead, which is built: a processor's fastest way, that others
    /// are held against.
    pub fn with_tree(tracer: &'a CellTracer, elements: &'a SubsceneElements) -> Self {
        Self::with(Shots::through_tree(tracer, elements), elements)
    }

    fn with(shots: Shots<'a>, elements: &'a SubsceneElements) -> Self {
        let (unshot, power) = (elements.emitted.clone(), elements.emitted.clone());
        Self { shots, elements, counts: Counts::default(), unshot, power }
    }

    /// What arrived becomes what is to be shot.
    fn update(&mut self, power_of_ray: f32) {
        for (element, arrived) in self.counts.arrived.chunks_exact(CHANNELS).enumerate() {
            let arrived = Vec3::new(arrived[0] as f32, arrived[1] as f32, arrived[2] as f32);
            self.unshot[element] = self.elements.reflectance[element] * (power_of_ray * arrived);
            self.power[element] += self.unshot[element];
        }
    }
}

impl Counters for CpuCounters<'_> {
    fn shoot(&mut self, bounce: &Bounce, monitor: &dyn Monitor) -> Result<(), StepError> {
        let arrived: Vec<AtomicU32> = (0..CHANNELS * self.elements.len()).map(|_| AtomicU32::new(0)).collect();
        let (escaped, absorbed) = (AtomicU32::new(0), AtomicU32::new(0));
        for stage in 0..bounce.stages.count() {
            monitor.check()?;
            bounce.stages.sources(stage, bounce.allotment).par_iter().for_each(|&source| {
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
        self.counts = Counts {
            arrived: arrived.into_iter().map(AtomicU32::into_inner).collect(),
            escaped: escaped.into_inner(),
            absorbed: absorbed.into_inner(),
        };
        self.update(bounce.power_of_ray);
        Ok(())
    }

    fn unshot(&self) -> Result<Vec<Vec3>, StepError> {
        Ok(self.unshot.clone())
    }

    fn power(&self) -> Result<Vec<Vec3>, StepError> {
        Ok(self.power.clone())
    }

    fn counts(&self) -> Result<Counts, StepError> {
        Ok(self.counts.clone())
    }
}
