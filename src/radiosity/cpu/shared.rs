//! Steps on a team.

use core::mem;
use std::borrow::Cow;

use super::shoot::{Arrivals, Iteration};
use super::tasks::{DirectTask, GatherResult, GatherTask, ShootTask};
use super::transport::Transport;
use crate::cluster::{Team, TeamError};
use crate::progress::Monitor;
use crate::radiosity::accumulators::Sums;
use crate::radiosity::backend::{Hits, StepError, StepReport};
use crate::radiosity::{Accumulators, HALVES};

/// Returns the outcome of a step that traced so many rays.
fn outcome(done: Result<(), TeamError>, rays: u64) -> Result<StepReport, StepError> {
    done.map_err(|fault| StepError::from(fault).after(rays))?;
    Ok(StepReport { rays, ..StepReport::default() })
}

fn take_sums(halves: &mut [Accumulators; HALVES]) -> [Vec<Sums>; HALVES] {
    halves.each_mut().map(|half| mem::take(&mut half.sums))
}

fn put_sums(halves: &mut [Accumulators; HALVES], sums: [Vec<Sums>; HALVES]) {
    halves.iter_mut().zip(sums).for_each(|(half, sums)| half.sums = sums);
}

/// Samples direct light, until each half of each element has `wanted` samples.
pub fn direct(
    team: &dyn Team,
    transport: &Transport,
    halves: &mut [Accumulators; HALVES],
    wanted: [Vec<u32>; HALVES],
    monitor: &dyn Monitor,
) -> Result<StepReport, StepError> {
    if transport.lights.emitters() == 0 {
        return Ok(StepReport::default());
    }
    let mut sums = take_sums(halves);
    let mut rays = 0;
    let task = DirectTask { transport, sums: sums.clone().map(Cow::Owned), wanted: wanted.map(Cow::Owned) };
    let done = team.compute(
        &task,
        &mut |tiles, bytes| {
            rays += DirectTask::receive(tiles, &bytes, &mut sums)?;
            Ok(())
        },
        monitor,
    );
    put_sums(halves, sums);
    outcome(done, rays)
}

/// Traces additional rays of each element.
pub fn gather(
    team: &dyn Team,
    transport: &Transport,
    halves: &mut [Accumulators; HALVES],
    (rays, hits): (&[u32], Hits),
    monitor: &dyn Monitor,
) -> Result<StepReport, StepError> {
    let mut sums = take_sums(halves);
    let read = |half: &Accumulators| if hits == Hits::Read { half.radiosity.clone() } else { Vec::new() };
    let task = GatherTask {
        transport,
        hits,
        sums: sums.clone().map(Cow::Owned),
        rays: rays.into(),
        radiosity: halves.each_ref().map(|half| Cow::Owned(read(half))),
        bright: halves[0].bright.clone().into(),
    };
    let mut result = GatherResult::new(&task);
    let done = team.compute(&task, &mut |tiles, bytes| result.receive(tiles, &bytes, &mut sums), monitor);
    put_sums(halves, sums);
    let rays = result.rays;
    result.store(halves);
    outcome(done, rays)
}

/// Traces the rays of a bounce.
pub fn shoot(team: &dyn Team, iteration: &Iteration, monitor: &dyn Monitor) -> Result<Arrivals, StepError> {
    let mut arrivals = (vec![[0; 3]; iteration.bounce.unshot.len()], 0);
    let task = ShootTask::new(iteration);
    let done = team.compute(&task, &mut |_, bytes| ShootTask::receive(&bytes, &mut arrivals), monitor);
    outcome(done, arrivals.1).map(|_| arrivals)
}
