//! Backend on the cores of the CPU.
//!
//! Elements are processed in tiles. One thread writes the sums of a tile in a fixed order. Results thus do not depend
//! on the number of threads.

mod bright;
mod direct;
mod gather;
mod helper;
mod inside_test;
mod iterate;
mod shared;
mod shoot;
mod tasks;
mod transport;

use std::borrow::Cow;
use std::sync::Arc;

pub(super) use self::direct::direct_light;
pub(crate) use self::gather::gather_rays;
use self::gather::{Gathered, Gathering};
pub use self::helper::SolverHelper;
pub(super) use self::inside_test::InsideTest;
pub(crate) use self::iterate::FormFactorMatrix;
pub(super) use self::tasks::{CHECK, CORRECT, REFINE};
pub(crate) use self::transport::MAX_BOUNCES;
pub(super) use self::transport::{End, Source, Transport, Until};
use super::backend::{ElementEstimate, Hits, Step, StepError, StepReport, TransportBackend};
use super::bright::BrightElement;
use super::light_sample_allocation::LightSampleAllocator;
use super::shooting::Weights;
use super::{Accumulators, Counters, CpuCounters, HALVES, SubsceneElements};
use crate::cluster::Team;
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::partition::CellTracer;
use crate::progress::Monitor;
use crate::scene::Scene;
use glam::Vec3;

/// Number of elements in a task. A task takes a few milliseconds, so that a canceled bake ends soon.
const TILE: usize = 64;

/// Number of elements whose rays a thread traces in one go. Some elements take a hundred times as long as others, such as
/// those below a crate, and lie side by side. No thread should wait for one that has them all.
const PIECE: usize = 8;

/// CPU implementation of [`TransportBackend`].
pub struct CpuBackend<'a> {
    transport: Transport<'a>,
    light_sample_allocator: LightSampleAllocator<'a>,
    halves: [Accumulators; HALVES],
    team: Option<&'a dyn Team>,
}

impl<'a> CpuBackend<'a> {
    /// Creates a backend for the elements of a scene.
    pub fn new(scene: &'a Arc<Scene>, world: &'a dyn RayQuery, elements: &'a Elements, seed: u32) -> Self {
        let halves = core::array::from_fn(|_| Accumulators::new(elements.len()));
        Self {
            transport: Transport::new(scene, world, elements, seed),
            light_sample_allocator: LightSampleAllocator::new(elements),
            halves,
            team: None,
        }
    }

    /// Shares all samples and rays with a team. Results stay the same. Iterations on stored hits are not shared.
    #[must_use]
    pub fn with_team(self, team: Option<&'a dyn Team>) -> Self {
        Self { team, ..self }
    }
}

impl CpuBackend<'_> {
    fn direct(&mut self, samples: u32, tolerance: &[f32], monitor: &dyn Monitor) -> Result<StepReport, StepError> {
        let wanted = self.light_sample_allocator.allocate(&self.halves, samples, tolerance);
        if let Some(team) = self.team {
            return shared::direct(team, &self.transport, &mut self.halves, wanted, monitor);
        }
        let sums = self.halves.each_mut().map(|half| &mut half.sums[..]);
        direct::run(&self.transport, 0, sums, wanted.each_ref().map(Vec::as_slice), monitor)
    }

    fn gather(&mut self, rays: &[u32], hits: Hits, monitor: &dyn Monitor) -> Result<StepReport, StepError> {
        if let Some(team) = self.team {
            return shared::gather(team, &self.transport, &mut self.halves, (rays, hits), monitor);
        }
        let [one, other] = &mut self.halves;
        let gathering = Gathering {
            transport: &self.transport,
            hits,
            radiosity: [&one.radiosity, &other.radiosity],
            bright: &one.bright,
        };
        let Gathered { stored, rays, is_cut_short } = gathering.run(0, [&mut one.sums, &mut other.sums], rays, monitor);
        for (half, stored) in self.halves.iter_mut().zip(stored) {
            half.stored.extend(stored);
        }
        if is_cut_short { Err(StepError::CutShort { rays }) } else { Ok(StepReport { rays, ..StepReport::default() }) }
    }

    fn shoot(
        &mut self,
        weights: Weights,
        bounces: Option<u32>,
        monitor: &dyn Monitor,
    ) -> Result<StepReport, StepError> {
        let team = self.team;
        shoot::run(&self.transport, &mut self.halves, weights, bounces, |iteration| match team {
            Some(team) => shared::shoot(team, iteration, monitor),
            None => Ok(iteration.of(0..iteration.bounce.unshot.len(), monitor)?),
        })
    }
}

impl TransportBackend for CpuBackend<'_> {
    fn counters<'a>(
        &self,
        tracer: &'a CellTracer,
        elements: &'a SubsceneElements,
    ) -> Result<Box<dyn Counters + 'a>, StepError> {
        Ok(Box::new(CpuCounters::new(tracer, elements)))
    }

    fn team(&self) -> Option<&dyn Team> {
        self.team
    }

    fn run(&mut self, step: &Step, monitor: &dyn Monitor) -> Result<StepReport, StepError> {
        monitor.check()?;
        match step {
            Step::Direct { samples, tolerance } => self.direct(*samples, tolerance, monitor),
            Step::Gather { rays, hits } => self.gather(rays, *hits, monitor),
            Step::Iterate { bounces: Some(0), .. } | Step::Shoot { bounces: Some(0), .. } => Ok(StepReport::default()),
            Step::Iterate { rays, adaptation, bounces } => {
                iterate::run(self.transport.elements, &mut self.halves, *rays, adaptation, *bounces, monitor)
            }
            Step::Shoot { shown, adaptation, bounces } => self.shoot(Weights { shown, adaptation }, *bounces, monitor),
        }
    }

    fn sample_as_lights(&mut self, bright: &[BrightElement]) -> Result<(), StepError> {
        self.halves.iter_mut().for_each(|half| half.bright = bright.to_vec());
        Ok(())
    }

    fn read(&self, half: usize) -> Result<Vec<ElementEstimate>, StepError> {
        let half = &self.halves[half];
        Ok(half.element_estimates(&iterate::sums_over_hits(half, &half.radiosity)))
    }

    fn radiosity(&self, half: usize) -> Vec<Vec3> {
        self.halves[half].radiosities()
    }

    fn apply(&self, half: usize, radiosity: &[Vec3]) -> Result<Vec<Vec3>, StepError> {
        Ok(iterate::apply(&self.halves[half], radiosity))
    }

    fn stored_rays(&self) -> u64 {
        self.halves.iter().flat_map(|half| &half.stored).map(|stored| stored.hits.len() as u64).sum()
    }

    fn snapshot(&self) -> Result<Cow<'_, [Accumulators; HALVES]>, StepError> {
        Ok(Cow::Borrowed(&self.halves))
    }

    fn restore(&mut self, accumulators: [Accumulators; HALVES]) -> Result<(), StepError> {
        self.halves = accumulators;
        Ok(())
    }
}
