//! Rays of elements, sent out in batches.

use std::time::Instant;

use bytemuck::{Pod, Zeroable};
use wgpu::{Buffer, CommandEncoderDescriptor, ComputePipeline};

use super::super::kernel::dispatch;
use super::super::pace::Pace;
use super::super::{Gpu, GpuFault, GpuScene};
use super::elements::{BRIGHT, bright_words};
use super::kernels::Kernels;
use crate::progress::Monitor;
use crate::radiosity::{BrightElement, MOST_BOUNCES, StepError, TintedHit};

/// Most rays of a batch, and most elements: two to the power of `LOG_OF_MOST_ITEMS` in `bake_sums.wgsl`.
const MOST_RAYS: usize = 1 << 20;
const MOST_ITEMS: usize = 1 << 17;
/// Rays of one element that are added up together. Batches end between them, so that sums are rounded alike however
/// large batches are, which time decides.
const RAYS_OF_PART: u32 = 256;
/// Rays of the first batch.
const FIRST_RAYS: u32 = 1 << 13;

/// Bytes of `Errand` in `errand.wgsl`.
const BYTES_OF_ERRAND: u64 = 48;

/// Rays that one element is to send out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub element: u32,
    /// The first, in the element's sequence.
    pub first_index: u32,
    pub rays: u32,
    /// The element is known to have buried points.
    pub suspect: bool,
    /// How often they bounce off elements too; `None` for rays that end at the first.
    pub bounces: Option<u32>,
    /// Where their hits are stored.
    pub hits_at: u32,
}

impl Work {
    /// `Item::orders` in `errand.wgsl`.
    fn orders(&self) -> u32 {
        let bounces = self.bounces.map_or(0, |bounces| bounces.min(MOST_BOUNCES));
        u32::from(self.suspect) | (bounces << 1)
    }
}

/// What rays are sent out for.
#[derive(Clone, Copy)]
pub(super) enum Errand<'a> {
    /// Samples of direct light.
    Aimed,
    /// Gather rays that read these radiosities.
    Read(&'a Buffer),
    /// Gather rays whose hits are stored.
    Store(&'a Buffer),
    /// Shots that carry these colours and add to these sums.
    Shoot { colours: &'a Buffer, landed: &'a Buffer },
}

/// The twin of `Tally` in `bake_sums.wgsl`: what some rays of an element brought.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Tally {
    pub direct: [f32; 3],
    pub valid: u32,
    pub detour: [f32; 3],
    pub lost: u32,
    pub read: [f32; 3],
    pub buried: u32,
    pub rays: u32,
    tinted: u32,
    padding: [u32; 2],
}

/// The twin of `Item` in `errand.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Item {
    element: u32,
    first_index: u32,
    first_ray: u32,
    orders: u32,
    hits_at: u32,
    tinted_at: u32,
}

/// The twin of `Batch` in `errand.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct BatchHeader {
    rays: u32,
    items: u32,
    seed: u32,
    other_seed: u32,
    elements: u32,
    padding: [u32; 3],
}

/// Sends out rays and adds up what they bring.
pub(super) struct Rays {
    pub kernels: Kernels,
    scene: GpuScene,
    element_tables: Buffer,
    /// The word of `element_tables` where bright elements start.
    bright_at: u32,
    elements: u32,
    errands: Buffer,
    items: Buffer,
    tallies: Buffer,
    /// Stand where a kernel has no use for a buffer.
    unused: [Buffer; 4],
    pace: Pace,
}

impl Rays {
    pub fn new(gpu: &Gpu, scene: GpuScene, element_tables: &[u32], elements: usize) -> Result<Self, GpuFault> {
        let unused = || gpu.empty_storage("nothing", 0);
        Ok(Self {
            kernels: Kernels::new(gpu),
            scene,
            element_tables: gpu.storage("the elements", element_tables)?,
            bright_at: element_tables[BRIGHT],
            elements: elements as u32,
            errands: gpu.empty_storage("errands of rays", MOST_RAYS as u64 * BYTES_OF_ERRAND)?,
            items: gpu.empty_storage("rays of elements", ((MOST_ITEMS + 1) * size_of::<Item>()) as u64)?,
            tallies: gpu.empty_storage("what rays brought", (MOST_ITEMS * size_of::<Tally>()) as u64)?,
            unused: [unused()?, unused()?, unused()?, unused()?],
            pace: Pace::new(FIRST_RAYS, MOST_RAYS as u32),
        })
    }

    /// Makes gather rays sample some elements as lights.
    pub fn sample_as_lights(&self, gpu: &Gpu, bright: &[BrightElement]) {
        let place = u64::from(self.bright_at) * size_of::<u32>() as u64;
        gpu.queue.write_buffer(&self.element_tables, place, bytemuck::cast_slice(&bright_words(bright)));
    }

    /// Sends out all rays; `each` is told what parts of the work brought, in order. Answers the tinted hits that were not
    /// stored.
    pub fn send(
        &mut self,
        gpu: &Gpu,
        errand: Errand,
        seeds: [u32; 2],
        work: &[Work],
        monitor: &dyn Monitor,
        mut each: impl FnMut(&Work, &Tally),
    ) -> Result<Vec<TintedHit>, StepError> {
        let mut tinted = Vec::new();
        let mut left = Remaining { work, done: 0 };
        while let Some(parts) = left.take(self.pace.size() as usize) {
            monitor.check()?;
            let started = Instant::now();
            let batch = Batch { rays: self, gpu, errand, seeds, parts: &parts };
            let tallies = batch.run(&mut tinted)?;
            for (part, tally) in parts.iter().zip(&tallies) {
                each(part, tally);
            }
            self.pace.learn(started.elapsed());
        }
        Ok(tinted)
    }
}

/// Work that is still to be done.
struct Remaining<'a> {
    work: &'a [Work],
    /// Rays of the first that are done.
    done: u32,
}

impl Remaining<'_> {
    /// The next parts, with so many rays together at most, or one part if that has more.
    fn take(&mut self, most_rays: usize) -> Option<Vec<Work>> {
        let mut parts = Vec::new();
        let mut room = most_rays as u32;
        while let Some(work) = self.work.first()
            && room > 0
            && parts.len() < MOST_ITEMS
        {
            let rays = (work.rays - self.done).min(RAYS_OF_PART);
            if rays > room && !parts.is_empty() {
                break;
            }
            let part =
                Work { first_index: work.first_index + self.done, hits_at: work.hits_at + self.done, rays, ..*work };
            room = room.saturating_sub(rays);
            self.done += rays;
            if self.done == work.rays {
                self.work = &self.work[1..];
                self.done = 0;
            }
            if rays > 0 {
                parts.push(part);
            }
        }
        (!parts.is_empty()).then_some(parts)
    }
}

/// One submission.
struct Batch<'a> {
    rays: &'a Rays,
    gpu: &'a Gpu,
    errand: Errand<'a>,
    seeds: [u32; 2],
    parts: &'a [Work],
}

impl Batch<'_> {
    /// What each part brought; nothing for shots, whose power has landed. Tinted hits are added to the list.
    fn run(&self, tinted: &mut Vec<TintedHit>) -> Result<Vec<Tally>, StepError> {
        let Self { rays, gpu, errand, parts, .. } = *self;
        let kernels = &rays.kernels;
        let mut items = self.items();
        let ray_count = items[parts.len()].first_ray;
        gpu.queue.write_buffer(&rays.items, 0, bytemuck::cast_slice(&items));
        let header = BatchHeader {
            rays: ray_count,
            items: parts.len() as u32,
            seed: self.seeds[0],
            other_seed: self.seeds[1],
            elements: rays.elements,
            padding: [0; 3],
        };
        let header = gpu.uniform("batch", &[header]);
        let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        let [no_radiosity, no_hits, no_tinted, no_landed] = &rays.unused;
        let (trace, collect, radiosities, hits, landed): (&ComputePipeline, &ComputePipeline, _, _, _) = match errand {
            Errand::Aimed => (&kernels.aimed, &kernels.collect_aimed, no_radiosity, no_hits, no_landed),
            Errand::Read(radiosities) => (&kernels.gather, &kernels.collect_and_read, radiosities, no_hits, no_landed),
            Errand::Store(hits) => (&kernels.gather, &kernels.collect_and_store, no_radiosity, hits, no_landed),
            Errand::Shoot { colours, landed } => (kernels.shots(gpu), &kernels.land_shots, colours, no_hits, landed),
        };
        let bind_sums = |tinted| {
            let Rays { items, errands, tallies, .. } = rays;
            kernels.bind_sums(gpu, [&header, items, errands, radiosities, tallies, hits, tinted, landed])
        };
        let sums = bind_sums(no_tinted);
        let tracing = kernels.bind_rays(gpu, [&header, &rays.element_tables, &rays.errands]);
        dispatch(&mut encoder, &kernels.send_out, &[&sums], ray_count);
        dispatch(&mut encoder, trace, &[rays.scene.bind_group(), &tracing], ray_count);
        let is_shot = matches!(errand, Errand::Shoot { .. });
        dispatch(&mut encoder, collect, &[&sums], if is_shot { ray_count } else { parts.len() as u32 });
        gpu.queue.submit([encoder.finish()]);
        if is_shot {
            gpu.wait()?;
            return Ok(Vec::new());
        }
        let tallies: Vec<Tally> = gpu.read(&rays.tallies, parts.len())?;
        if matches!(errand, Errand::Store(_)) {
            let mut count = 0;
            for (item, tally) in items.iter_mut().zip(&tallies) {
                item.tinted_at = count;
                count += tally.tinted;
            }
            if count > 0 {
                gpu.queue.write_buffer(&rays.items, 0, bytemuck::cast_slice(&items));
                let list = gpu.empty_storage("tinted hits", u64::from(count) * size_of::<TintedHit>() as u64)?;
                let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
                dispatch(&mut encoder, &kernels.list_tinted, &[&bind_sums(&list)], parts.len() as u32);
                gpu.queue.submit([encoder.finish()]);
                tinted.extend(gpu.read::<TintedHit>(&list, count as usize)?);
            }
        }
        Ok(tallies)
    }

    /// The parts as shaders see them, and one more that starts behind them.
    fn items(&self) -> Vec<Item> {
        let mut first_ray = 0;
        let mut items: Vec<Item> = Vec::with_capacity(self.parts.len() + 1);
        for work @ &Work { element, first_index, rays, hits_at, .. } in self.parts {
            items.push(Item { element, first_index, first_ray, orders: work.orders(), hits_at, tinted_at: 0 });
            first_ray += rays;
        }
        items.push(Item { element: 0, first_index: 0, first_ray, orders: 0, hits_at: 0, tinted_at: 0 });
        items
    }
}
