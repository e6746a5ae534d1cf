//! Counting where rays arrive.

use core::sync::atomic::{AtomicU32, Ordering};

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::stages::{CHANNELS, Source};
use super::{Stages, SubsceneElements};
use crate::geometry::Ray;
use crate::geometry::sampling::{cosine_hemisphere, uniform_triangle};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::partition::{CellId, CellTracer};
use crate::progress::Monitor;
use crate::radiosity::StepError;

/// How far above its element a ray begins, in parts of the largest coordinate, or of a metre.
const LIFT: f32 = 1e-5;

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
    tracer: &'a CellTracer,
    elements: &'a SubsceneElements,
    /// What [`CellTracer::parts`] says of each element.
    parts: Vec<crate::partition::FinePart>,
    counts: Counts,
    unshot: Vec<Vec3>,
    power: Vec<Vec3>,
}

/// Where a ray went.
enum End {
    Element(u32),
    Escaped,
    Absorbed,
}

impl<'a> CpuCounters<'a> {
    /// Nothing is shot yet.
    pub fn new(tracer: &'a CellTracer, elements: &'a SubsceneElements) -> Self {
        Self {
            tracer,
            elements,
            parts: tracer.parts().collect(),
            counts: Counts::default(),
            unshot: elements.emitted.clone(),
            power: elements.emitted.clone(),
        }
    }

    fn trace(&self, source: Source, seed: u32, index: u32) -> End {
        let element = source.element();
        let (ray, cell) = self.departure(element, hash2(seed, source.number), index);
        match self.tracer.closest_from(&ray, cell).0 {
            None => End::Escaped,
            Some(hit) => self.tracer.element_at(&hit).map_or(End::Absorbed, End::Element),
        }
    }

    /// A ray from an even point of an element, by the cosine about its normal, and the cell that it begins in.
    pub(super) fn departure(&self, element: usize, seed: u32, index: u32) -> (Ray, CellId) {
        let [x, y, u, v] = OwenSobol::new(seed).point(index);
        let part = self.parts[element];
        let record = &self.tracer.tables.triangles[part.triangle as usize];
        let triangle = record.triangle();
        let normal = if part.back { -triangle.normal() } else { triangle.normal() };
        let position = triangle.at(record.in_part(part.part, uniform_triangle(Vec2::new(x, y))));
        let origin = position + normal * (LIFT * position.abs().max_element().max(1.0));
        let ray = Ray::new(origin, cosine_hemisphere(normal, Vec2::new(u, v)));
        let middle = triangle.at(record.in_part(part.part, Vec2::splat(1.0 / 3.0)));
        (ray, CellId(self.tracer.cell_towards(middle, origin, self.elements.cell[element])))
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
                for index in 0..source.rays {
                    let counter = match self.trace(source, bounce.seed, index) {
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
