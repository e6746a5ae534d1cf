//! The gather rays of one half in one step.

use core::ops::Range;

use glam::Vec3;

use super::super::Gpu;
use super::rays::{Errand, Rays, Tally, Work};
use super::stored::DeviceHits;
use super::sweep::padded;
use crate::progress::Monitor;
use crate::radiosity::{Hits, StepError, Sums, TintedHit};

pub(super) struct GatherStep<'a> {
    pub gpu: &'a Gpu,
    pub rays: &'a mut Rays,
    pub sums: &'a mut [Sums],
    /// Rays of each element.
    pub wanted: &'a [u32],
    pub seed: u32,
    pub hits: Hits,
    pub monitor: &'a dyn Monitor,
    /// Rays traced so far.
    pub traced: u64,
}

impl GatherStep<'_> {
    /// Sends out all rays and forgets where they ended, but for what these radiosities bring.
    pub fn read(&mut self, radiosities: impl Iterator<Item = Vec3>) -> Result<(), StepError> {
        let radiosities = self.gpu.storage("radiosities", &padded(radiosities))?;
        self.run(0..self.wanted.len(), Errand::Read(&radiosities), |_| 0).map(|_| ())
    }

    /// Sends out all rays and stores their hits.
    pub fn store(&mut self) -> Result<DeviceHits, StepError> {
        let mut stored = DeviceHits::with_room_for(self.wanted);
        for elements in stored.ranges() {
            let room = stored.room(self.gpu, &elements)?;
            let hits_at = |element| stored.offset_in(&elements, element);
            let tinted = self.run(elements.clone(), Errand::Store(&room), hits_at)?;
            stored.push(self.gpu, elements, room, tinted)?;
        }
        Ok(stored)
    }

    /// Sends out the rays of some elements. Answers the tinted hits, in order of the elements.
    fn run(
        &mut self,
        elements: Range<usize>,
        errand: Errand,
        hits_at: impl Fn(usize) -> u32,
    ) -> Result<Vec<TintedHit>, StepError> {
        let before = self.sums[elements.clone()].to_vec();
        let first = elements.start;
        let bounces = match self.hits {
            Hits::Store | Hits::Read | Hits::Forget => None,
            Hits::Follow { bounces } => Some(bounces),
        };
        let mut work: Vec<Work> = elements
            .clone()
            .filter(|&element| self.wanted[element] > 0)
            .map(|element| Work {
                element: element as u32,
                first_index: self.sums[element].gathered,
                rays: self.wanted[element],
                suspect: self.sums[element].buried > 0,
                bounces,
                hits_at: hits_at(element),
            })
            .collect();
        let mut tinted = self.send(errand, &work)?;
        // A buried point whose ray met a front first has seen what it should not: all are asked again.
        work.retain(|work| !work.suspect && self.sums[work.element as usize].buried > 0);
        if !work.is_empty() {
            for again in &mut work {
                let element = again.element as usize;
                self.sums[element] = before[element - first];
                again.suspect = true;
            }
            let is_asked_again = |element: u32| work.binary_search_by_key(&element, |work: &Work| work.element).is_ok();
            tinted.retain(|hit| !is_asked_again(hit.element));
            tinted.extend(self.send(errand, &work)?);
            tinted.sort_by_key(|hit| hit.element);
        }
        for element in elements {
            self.sums[element].gathered += self.wanted[element];
        }
        Ok(tinted)
    }

    fn send(&mut self, errand: Errand, work: &[Work]) -> Result<Vec<TintedHit>, StepError> {
        let Self { gpu, rays, sums, seed, hits, monitor, traced, .. } = self;
        rays.send(gpu, errand, [*seed, 0], work, *monitor, |part, tally| {
            *traced += u64::from(tally.rays);
            add(&mut sums[part.element as usize], tally, *hits);
        })
    }
}

fn add(sums: &mut Sums, tally: &Tally, hits: Hits) {
    sums.met += Vec3::from(tally.direct);
    sums.detour += Vec3::from(tally.detour);
    sums.read += Vec3::from(tally.read);
    sums.valid += tally.valid;
    sums.carriers += if hits.carry() { tally.valid } else { 0 };
    sums.lost += tally.lost;
    sums.buried += tally.buried;
}
