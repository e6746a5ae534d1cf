//! Steps in ranges of elements, which a team computes.
//!
//! A task holds the inputs of all elements, since any process may compute any range. Its units are tiles of elements.

use core::ops::Range;
use std::borrow::Cow;
use std::collections::BTreeMap;

use bytemuck::{AnyBitPattern, NoUninit};
use glam::{Vec3, Vec4};

use super::gather::{Gathered, Gathering};
use super::shoot::{Arrivals, Iteration};
use super::transport::Transport;
use super::{TILE, direct};
use crate::cluster::{DecodeError, Decoder, Encoder, Task, Work};
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::accumulators::{StoredHits, Sums, TintedHit};
use crate::radiosity::backend::Hits;
use crate::radiosity::bright::BrightElement;
use crate::radiosity::check::ProbeTask;
use crate::radiosity::shooting::Bounce;
use crate::radiosity::{Accumulators, HALVES};

/// Kinds of tasks, the first value of their inputs.
const DIRECT: u32 = 0;
const GATHER: u32 = 1;
const SHOOT: u32 = 2;
pub(in crate::radiosity) const CHECK: u32 = 3;
pub(in crate::radiosity) const CORRECT: u32 = 4;

/// Kind of the joint work of progressive refinement.
pub(in crate::radiosity) const REFINE: u32 = 5;

/// Returns the number of tiles of all elements.
pub(super) fn tiles(transport: &Transport) -> u32 {
    transport.elements.len().div_ceil(TILE) as u32
}

/// Returns the elements of some tiles.
fn elements_of(tiles: Range<u32>, elements: usize) -> Range<usize> {
    let [start, end] = [tiles.start, tiles.end].map(|tile| (tile as usize * TILE).min(elements));
    start..end
}

/// Reads the work of a team from its inputs. `None` for kinds of tasks that are not the solver's.
///
/// # Errors
/// Returns an error for damaged inputs.
pub(super) fn work_of<'a>(
    transport: &'a Transport<'a>,
    inputs: &[u8],
) -> Result<Option<Box<dyn Work + 'a>>, DecodeError> {
    let mut content = Decoder::new(inputs);
    Ok(Some(match content.value::<u32>()? {
        DIRECT => Box::new(DirectTask::decode(transport, &mut content)?),
        GATHER => Box::new(GatherTask::decode(transport, &mut content)?),
        SHOOT => Box::new(ShootTask::decode(transport, &mut content)?),
        kind @ (CHECK | CORRECT) => Box::new(ProbeTask::decode(transport, kind == CORRECT, &mut content)?),
        _ => return Ok(None),
    }))
}

/// Reads a slice of as many values as expected.
fn slice<T: NoUninit + AnyBitPattern>(content: &mut Decoder, length: usize) -> Result<Vec<T>, DecodeError> {
    let values = content.slice()?;
    if values.len() == length { Ok(values) } else { Err(DecodeError) }
}

fn owned<'a, T: NoUninit + AnyBitPattern>(content: &mut Decoder, length: usize) -> Result<Cow<'a, [T]>, DecodeError> {
    slice(content, length).map(Cow::Owned)
}

/// Reads a slice of as many values as expected for each half.
fn halves<'a, T>(content: &mut Decoder, length: usize) -> Result<[Cow<'a, [T]>; HALVES], DecodeError>
where
    T: NoUninit + AnyBitPattern,
{
    Ok([owned(content, length)?, owned(content, length)?])
}

/// Copies the sums of a range of elements.
fn copies(sums: &[Cow<[Sums]>; HALVES], range: &Range<usize>) -> [Vec<Sums>; HALVES] {
    sums.each_ref().map(|half| half[range.clone()].to_vec())
}

/// Reads the sums of a range of elements, as the result of a task has them.
fn read_sums(content: &mut Decoder, sums: &mut [Vec<Sums>; HALVES], range: &Range<usize>) -> Result<(), DecodeError> {
    let read = [slice(content, range.len())?, slice(content, range.len())?];
    for (half, read) in sums.iter_mut().zip(read) {
        half[range.clone()].copy_from_slice(&read);
    }
    Ok(())
}

/// Samples of direct light.
pub(super) struct DirectTask<'a> {
    pub transport: &'a Transport<'a>,
    pub sums: [Cow<'a, [Sums]>; HALVES],
    /// Number of samples that each element has afterwards, in both halves.
    pub wanted: [Cow<'a, [u32]>; HALVES],
}

impl DirectTask<'_> {
    fn decode<'a>(transport: &'a Transport<'a>, content: &mut Decoder) -> Result<DirectTask<'a>, DecodeError> {
        let elements = transport.elements.len();
        Ok(DirectTask { transport, sums: halves(content, elements)?, wanted: halves(content, elements)? })
    }

    /// Reads the result of some tiles. Returns the number of traced rays.
    pub fn receive(tiles: Range<u32>, bytes: &[u8], sums: &mut [Vec<Sums>; HALVES]) -> Result<u64, DecodeError> {
        let mut content = Decoder::new(bytes);
        read_sums(&mut content, sums, &elements_of(tiles, sums[0].len()))?;
        content.value()
    }
}

impl Work for DirectTask<'_> {
    fn units(&self) -> u32 {
        tiles(self.transport)
    }

    fn compute(&self, units: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<u8>, Cancelled> {
        let range = elements_of(units, self.transport.elements.len());
        let mut sums = copies(&self.sums, &range);
        let wanted = self.wanted.each_ref().map(|half| &half[range.clone()]);
        let halves = sums.each_mut().map(Vec::as_mut_slice);
        let report = direct::run(self.transport, range.start, halves, wanted, monitor).map_err(|_| Cancelled)?;
        let [one, other] = &sums;
        Ok(Encoder::new().slice(one).slice(other).value(report.rays).finish())
    }
}

impl Task for DirectTask<'_> {
    fn inputs(&self) -> Vec<u8> {
        let Self { sums: [one, other], wanted: [first, second], .. } = self;
        Encoder::new().value(DIRECT).slice(one).slice(other).slice(first).slice(second).finish()
    }

    fn rays(&self) -> u64 {
        let missing = |(sums, wanted): (&Sums, &u32)| u64::from(wanted.saturating_sub(sums.light_samples));
        let half = |(sums, wanted): (&Cow<[Sums]>, &Cow<[u32]>)| sums.iter().zip(&wanted[..]).map(missing).sum::<u64>();
        self.sums.iter().zip(&self.wanted).map(half).sum()
    }
}

/// Gather rays.
pub(super) struct GatherTask<'a> {
    pub transport: &'a Transport<'a>,
    pub hits: Hits,
    pub sums: [Cow<'a, [Sums]>; HALVES],
    /// Number of additional rays of each element.
    pub rays: Cow<'a, [u32]>,
    /// Radiosity of each element, for rays that read it; otherwise empty.
    pub radiosity: [Cow<'a, [Vec4]>; HALVES],
    pub bright: Cow<'a, [BrightElement]>,
}

impl GatherTask<'_> {
    fn decode<'a>(transport: &'a Transport<'a>, content: &mut Decoder) -> Result<GatherTask<'a>, DecodeError> {
        let elements = transport.elements.len();
        let hits = match content.value::<[u32; 2]>()? {
            [0, _] => Hits::Store,
            [1, _] => Hits::Read,
            [2, _] => Hits::Forget,
            [_, bounces] => Hits::Follow { bounces },
        };
        let read = if hits == Hits::Read { elements + 2 } else { 0 };
        Ok(GatherTask {
            transport,
            hits,
            sums: halves(content, elements)?,
            rays: owned(content, elements)?,
            radiosity: halves(content, read)?,
            bright: Cow::Owned(content.slice()?),
        })
    }
}

impl Work for GatherTask<'_> {
    fn units(&self) -> u32 {
        tiles(self.transport)
    }

    fn compute(&self, units: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<u8>, Cancelled> {
        let range = elements_of(units, self.transport.elements.len());
        let mut sums = copies(&self.sums, &range);
        let [radiosity, other_radiosity] = &self.radiosity;
        let gathering = Gathering {
            transport: self.transport,
            hits: self.hits,
            radiosity: [radiosity, other_radiosity],
            bright: &self.bright,
        };
        let halves = sums.each_mut().map(Vec::as_mut_slice);
        let Gathered { stored, rays, is_cut_short } =
            gathering.run(range.start, halves, &self.rays[range.clone()], monitor);
        if is_cut_short {
            return Err(Cancelled);
        }
        let [one, other] = &sums;
        let result = Encoder::new().slice(one).slice(other).value(rays);
        let result = stored.iter().flatten().fold(result, |result, half| result.slice(&half.hits).slice(&half.tinted));
        Ok(result.finish())
    }
}

impl Task for GatherTask<'_> {
    fn inputs(&self) -> Vec<u8> {
        let hits = match self.hits {
            Hits::Store => [0, 0],
            Hits::Read => [1, 0],
            Hits::Forget => [2, 0],
            Hits::Follow { bounces } => [3, bounces],
        };
        let Self { sums: [one, other], rays, radiosity: [first, second], bright, .. } = self;
        let content = Encoder::new().value(GATHER).value(hits).slice(one).slice(other).slice(rays);
        content.slice(first).slice(second).slice(bright).finish()
    }

    fn rays(&self) -> u64 {
        HALVES as u64 * self.rays.iter().map(|&rays| u64::from(rays)).sum::<u64>()
    }
}

/// Results of a gather task, in any order.
pub(super) struct GatherResult {
    hits: Hits,
    /// Stored hits of each half, with zeros where they are missing.
    stored: [StoredHits; HALVES],
    /// Tinted hits of each half by the first element of their range.
    tinted: [BTreeMap<usize, Vec<TintedHit>>; HALVES],
    /// True for each tile that was received.
    is_received: Vec<bool>,
    /// Number of traced rays.
    pub rays: u64,
}

impl GatherResult {
    pub fn new(task: &GatherTask) -> Self {
        let stored = || match task.hits {
            Hits::Store => StoredHits::with_room_for(&task.rays),
            _ => StoredHits::default(),
        };
        Self {
            hits: task.hits,
            stored: [stored(), stored()],
            tinted: Default::default(),
            is_received: vec![false; task.units() as usize],
            rays: 0,
        }
    }

    /// Adds the result of some tiles.
    pub fn receive(
        &mut self,
        tiles: Range<u32>,
        bytes: &[u8],
        sums: &mut [Vec<Sums>; HALVES],
    ) -> Result<(), DecodeError> {
        let range = elements_of(tiles.clone(), sums[0].len());
        let mut content = Decoder::new(bytes);
        read_sums(&mut content, sums, &range)?;
        self.rays += content.value::<u64>()?;
        if self.hits == Hits::Store {
            for (stored, tinted) in self.stored.iter_mut().zip(&mut self.tinted) {
                let place = stored.offsets[range.start] as usize..stored.offsets[range.end] as usize;
                stored.hits[place.clone()].copy_from_slice(&slice(&mut content, place.len())?);
                tinted.insert(range.start, content.slice()?);
            }
        }
        self.is_received[tiles.start as usize..tiles.end as usize].fill(true);
        Ok(())
    }

    /// Adds the stored hits to those of earlier steps. Some tiles may be missing.
    pub fn store(self, halves: &mut [Accumulators; HALVES]) {
        if self.hits != Hits::Store {
            return;
        }
        for ((half, mut stored), tinted) in halves.iter_mut().zip(self.stored).zip(self.tinted) {
            if self.is_received.contains(&false) {
                stored.retain(|element| self.is_received[element / TILE]);
            }
            stored.tinted = tinted.into_values().flatten().collect();
            half.stored.push(stored);
        }
    }
}

/// Rays of one shooting bounce of a half.
pub(super) struct ShootTask<'a> {
    pub transport: &'a Transport<'a>,
    pub half: usize,
    /// True for elements with points inside geometry.
    pub may_be_inside: Cow<'a, [bool]>,
    pub seed: u32,
    pub ray_shares: Cow<'a, [f32]>,
    pub unshot: Cow<'a, [Vec3]>,
    pub ray_counts: Cow<'a, [u32]>,
}

impl<'a> ShootTask<'a> {
    pub fn new(iteration: &Iteration<'a>) -> Self {
        let Iteration { transport, half, may_be_inside, bounce } = *iteration;
        let Bounce { seed, ray_shares, unshot, ray_counts } = *bounce;
        let may_be_inside = may_be_inside.into();
        let (ray_shares, unshot, ray_counts) = (ray_shares.into(), unshot.into(), ray_counts.into());
        Self { transport, half, may_be_inside, seed, ray_shares, unshot, ray_counts }
    }

    fn decode(transport: &'a Transport<'a>, content: &mut Decoder) -> Result<Self, DecodeError> {
        let elements = transport.elements.len();
        let [half, seed] = content.value::<[u32; 2]>()?;
        Ok(Self {
            transport,
            half: half as usize,
            may_be_inside: slice::<u8>(content, elements)?.into_iter().map(|flag| flag != 0).collect(),
            seed,
            ray_shares: owned(content, elements)?,
            unshot: owned(content, elements)?,
            ray_counts: owned(content, elements)?,
        })
    }

    /// Adds the result of some tiles to what arrived so far.
    pub fn receive(bytes: &[u8], (arrived, rays): &mut Arrivals) -> Result<(), DecodeError> {
        let mut content = Decoder::new(bytes);
        let hit = content.slice::<u32>()?;
        let power = slice::<[u64; 3]>(&mut content, hit.len())?;
        for (hit, power) in hit.into_iter().zip(power) {
            let sum = arrived.get_mut(hit as usize).ok_or(DecodeError)?;
            *sum = core::array::from_fn(|channel| sum[channel] + power[channel]);
        }
        *rays += content.value::<u64>()?;
        Ok(())
    }
}

impl Work for ShootTask<'_> {
    fn units(&self) -> u32 {
        tiles(self.transport)
    }

    fn compute(&self, units: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<u8>, Cancelled> {
        let Self { transport, half, ref may_be_inside, seed, ref ray_shares, ref unshot, ref ray_counts } = *self;
        let bounce = &Bounce { seed, ray_shares, unshot, ray_counts };
        let range = elements_of(units, transport.elements.len());
        let (arrived, rays) = Iteration { transport, half, may_be_inside, bounce }.of(range, monitor)?;
        let reached = || arrived.iter().enumerate().filter(|(_, power)| **power != [0; 3]);
        let hit: Vec<u32> = reached().map(|(element, _)| element as u32).collect();
        let power: Vec<[u64; 3]> = reached().map(|(_, power)| *power).collect();
        Ok(Encoder::new().slice(&hit).slice(&power).value(rays).finish())
    }
}

impl Task for ShootTask<'_> {
    fn inputs(&self) -> Vec<u8> {
        let inside: Vec<u8> = self.may_be_inside.iter().map(|&flag| u8::from(flag)).collect();
        let content = Encoder::new().value(SHOOT).value([self.half as u32, self.seed]).slice(&inside);
        content.slice(&self.ray_shares).slice(&self.unshot).slice(&self.ray_counts).finish()
    }

    fn rays(&self) -> u64 {
        self.ray_counts.iter().map(|&rays| u64::from(rays)).sum()
    }
}
