//! Gather rays of one solver step, for one half of the solution.

use core::ops::Range;

use glam::Vec3;

use super::super::Gpu;
use super::rays::{BatchKind, ElementJob, Rays, Tally};
use super::stored::DeviceHits;
use super::sweep::padded;
use crate::progress::{Monitor, Part};
use crate::radiosity::{Hits, StepError, Sums, TintedHit};

pub(super) struct GatherStep<'a> {
    pub gpu: &'a Gpu,
    pub rays: &'a mut Rays,
    pub sums: &'a mut [Sums],
    /// Number of rays of each element.
    pub wanted: &'a [u32],
    pub seed: u32,
    pub hits: Hits,
    pub monitor: &'a dyn Monitor,
    /// Number of rays traced so far.
    pub traced: u64,
}

impl GatherStep<'_> {
    /// Traces all rays and accumulates the given radiosities at their hits, without storing hits.
    pub fn read(&mut self, radiosities: impl Iterator<Item = Vec3>) -> Result<(), StepError> {
        let radiosities = self.gpu.storage("radiosities", &padded(radiosities))?;
        self.run(0..self.wanted.len(), BatchKind::Read(&radiosities), |_| 0).map(|_| ())
    }

    /// Traces all rays and adds a run of their hits. If the monitor cancels, the run has the hits of the first
    /// elements.
    pub fn store(&mut self, runs: &mut Vec<DeviceHits>) -> Result<(), StepError> {
        let mut stored = DeviceHits::with_room_for(self.wanted);
        for elements in stored.ranges() {
            let room = stored.room(self.gpu, &elements)?;
            let hits_at = |element| stored.offset_in(&elements, element);
            match self.run(elements.clone(), BatchKind::Store(&room), hits_at) {
                Err(StepError::Cancelled(cancelled)) => {
                    stored.end_at(elements.start);
                    runs.push(stored);
                    return Err(cancelled.into());
                }
                tinted => stored.push(self.gpu, elements, room, tinted?)?,
            }
        }
        runs.push(stored);
        Ok(())
    }

    /// Traces the rays of a range of elements. Returns the tinted hits, in element order.
    fn run(
        &mut self,
        elements: Range<usize>,
        batch_kind: BatchKind,
        hits_at: impl Fn(usize) -> u32,
    ) -> Result<Vec<TintedHit>, StepError> {
        let before = self.sums[elements.clone()].to_vec();
        let done = self.trace(elements.clone(), batch_kind, hits_at, &before);
        if done.is_err() {
            self.sums[elements].copy_from_slice(&before);
        }
        done
    }

    fn trace(
        &mut self,
        elements: Range<usize>,
        batch_kind: BatchKind,
        hits_at: impl Fn(usize) -> u32,
        before: &[Sums],
    ) -> Result<Vec<TintedHit>, StepError> {
        let first = elements.start;
        let bounces = match self.hits {
            Hits::Store | Hits::Read | Hits::Forget => None,
            Hits::Follow { bounces } => Some(bounces),
        };
        let mut work: Vec<ElementJob> = elements
            .clone()
            .filter(|&element| self.wanted[element] > 0)
            .map(|element| ElementJob {
                element: element as u32,
                first_index: self.sums[element].gathered,
                rays: self.wanted[element],
                may_be_inside: self.sums[element].inside > 0,
                bounces,
                hits_at: hits_at(element),
            })
            .collect();
        let share = |element: usize| element as f32 / self.wanted.len() as f32;
        let part = Part { monitor: self.monitor, from: share(elements.start), to: share(elements.end) };
        let mut tinted = self.send(batch_kind, &work, &part)?;
        // A point inside a solid, whose ray hit a front face first, has collected invalid light. All its rays are
        // traced again.
        work.retain(|work| !work.may_be_inside && self.sums[work.element as usize].inside > 0);
        if !work.is_empty() {
            for again in &mut work {
                let element = again.element as usize;
                self.sums[element] = before[element - first];
                again.may_be_inside = true;
            }
            let is_asked_again =
                |element: u32| work.binary_search_by_key(&element, |work: &ElementJob| work.element).is_ok();
            tinted.retain(|hit| !is_asked_again(hit.element));
            tinted.extend(self.send(batch_kind, &work, &Part { from: part.to, ..part })?);
            tinted.sort_by_key(|hit| hit.element);
        }
        for element in elements {
            self.sums[element].gathered += self.wanted[element];
        }
        Ok(tinted)
    }

    fn send(
        &mut self,
        batch_kind: BatchKind,
        work: &[ElementJob],
        monitor: &dyn Monitor,
    ) -> Result<Vec<TintedHit>, StepError> {
        let Self { gpu, rays, sums, seed, hits, traced, .. } = self;
        rays.send(gpu, batch_kind, [*seed, 0], work, monitor, |part, tally| {
            *traced += u64::from(tally.rays);
            add(&mut sums[part.element as usize], tally, *hits);
        })
    }
}

fn add(sums: &mut Sums, tally: &Tally, hits: Hits) {
    sums.bsdf_sampled += Vec3::from(tally.direct);
    sums.continuation += Vec3::from(tally.continuation);
    sums.read += Vec3::from(tally.read);
    sums.valid += tally.valid;
    sums.carriers += if hits.carry() { tally.valid } else { 0 };
    sums.lost += tally.lost;
    sums.inside += tally.inside;
}
