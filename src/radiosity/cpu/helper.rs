//! Help for a solver that runs in another process.

use core::time::Duration;
use std::borrow::Cow;

use super::TILE;
use super::tasks::{GatherTask, work_of};
use super::transport::Transport;
use crate::clock;
use crate::cluster::{DecodeError, Work};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::progress::Unmonitored;
use crate::radiosity::accumulators::Sums;
use crate::radiosity::backend::Hits;
use crate::scene::Scene;

/// Minimum duration of the benchmark.
const BENCHMARK: Duration = Duration::from_millis(300);

/// Number of gather rays of each element in the benchmark, for each half.
const BENCHMARK_RAYS: u32 = 4;

/// Helper of a solver that runs in another process, on the same elements.
pub struct SolverHelper<'a>(Transport<'a>);

impl<'a> SolverHelper<'a> {
    /// Creates a helper for the elements of a scene, with the seed of the solver's settings.
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery, elements: &'a Elements, seed: u32) -> Self {
        Self(Transport::new(scene, world, elements, seed))
    }

    /// Returns the number of units of the solver's works.
    pub fn units(&self) -> u32 {
        super::tasks::tiles(&self.0)
    }

    /// Makes a work of the solver from its inputs. `None` for works of others.
    ///
    /// # Errors
    /// Returns an error for damaged inputs.
    pub fn work_of(&self, inputs: &[u8]) -> Result<Option<Box<dyn Work + '_>>, DecodeError> {
        work_of(&self.0, inputs)
    }

    /// Measures the speed of this machine: elements per second with a few gather rays each.
    pub fn measured_speed(&self) -> f32 {
        let elements = self.0.elements.len();
        let none = || Cow::Owned(vec![Sums::default(); elements]);
        let task = GatherTask {
            transport: &self.0,
            hits: Hits::Forget,
            sums: [none(), none()],
            rays: vec![BENCHMARK_RAYS; elements].into(),
            radiosity: Default::default(),
            bright: Cow::default(),
        };
        let tiles = task.units();
        let together = 4 * rayon::current_num_threads();
        let started = clock::now();
        let mut done = 0;
        for first in (0..tiles).step_by(together).cycle() {
            let range = first..tiles.min(first + together as u32);
            done += range.len() * TILE;
            let result = task.compute(range, &Unmonitored);
            if result.is_err() || started.elapsed() >= BENCHMARK {
                break;
            }
        }
        done as f32 / started.elapsed().as_secs_f32()
    }
}
