//! Batches of rays from elements.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use wgpu::{Buffer, CommandEncoderDescriptor, ComputePipeline};

use super::super::batch_sizer::BatchSizer;
use super::super::kernel::dispatch;
use super::super::{Gpu, GpuFault, GpuScene};
use super::elements::{BRIGHT, EMITTER_COUNT, bright_words};
use super::kernels::BakeKernels;
use crate::clock;
use crate::progress::Monitor;
use crate::radiosity::{BrightElement, MAX_BOUNCES, StepError, TintedHit};

/// Maximum numbers of rays and of items per batch. The second equals two to the power of `LOG_OF_MAX_ITEMS` in
/// `bake_sums.wgsl`.
const MAX_RAYS: usize = 1 << 20;
const MAX_ITEMS: usize = 1 << 17;
/// Number of rays of one element that are summed together. Batches end only between such parts. Rounding therefore does
/// not depend on batch sizes, which vary with timing.
const RAYS_OF_PART: u32 = 256;
/// Number of rays of the first batch.
const FIRST_RAYS: u32 = 1 << 13;
/// Number of emitters from which the first batch is smaller, since each ray looks at all of them.
const MANY_EMITTERS: u32 = 64;

/// Size of `RayTask` in `ray_task.wgsl`, in bytes.
const BYTES_OF_RAY_TASK: u64 = 48;

/// Ray request of one element.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementJob {
    pub element: u32,
    /// Index of the first ray in the element's sample sequence.
    pub first_index: u32,
    pub rays: u32,
    /// True if points of the element are known to lie inside solids.
    pub may_be_inside: bool,
    /// Maximum number of further bounces at elements; `None` for rays that end at the first element.
    pub bounces: Option<u32>,
    /// Offset of the element's hits in the buffer of stored hits.
    pub hits_at: u32,
}

impl ElementJob {
    /// Returns the flags of `Item::flags` in `ray_task.wgsl`.
    fn flags(&self) -> u32 {
        let bounces = self.bounces.map_or(0, |bounces| bounces.min(MAX_BOUNCES));
        u32::from(self.may_be_inside) | (bounces << 1)
    }
}

/// Purpose of a batch of rays.
#[derive(Clone, Copy)]
pub(super) enum BatchKind<'a> {
    /// Samples of direct light.
    LightSampled,
    /// Gather rays that read these radiosities.
    Read(&'a Buffer),
    /// Gather rays that store their hits.
    Store(&'a Buffer),
    /// Shots that carry these colors and deposit into these sums.
    Shoot { colors: &'a Buffer, deposits: &'a Buffer },
}

/// Sums of some rays of an element; counterpart of `Tally` in `bake_sums.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Tally {
    pub direct: [f32; 3],
    pub valid: u32,
    pub continuation: [f32; 3],
    pub lost: u32,
    pub read: [f32; 3],
    pub inside: u32,
    pub rays: u32,
    tinted: u32,
    padding: [u32; 2],
}

/// Counterpart of `Item` in `ray_task.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Item {
    element: u32,
    first_index: u32,
    first_ray: u32,
    flags: u32,
    hits_at: u32,
    tinted_at: u32,
}

/// Counterpart of `Batch` in `ray_task.wgsl`.
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

/// Buffers and pipelines that trace batches of rays and sum their results.
pub(super) struct Rays {
    pub kernels: Arc<BakeKernels>,
    scene: GpuScene,
    element_tables: Buffer,
    /// Word offset in `element_tables` of the elements sampled as lights.
    bright_at: u32,
    elements: u32,
    ray_tasks: Buffer,
    items: Buffer,
    tallies: Buffer,
    /// Placeholders for bindings that a kernel does not use.
    unused: [Buffer; 4],
    batch_sizer: BatchSizer,
}

impl Rays {
    pub fn new(gpu: &Gpu, scene: GpuScene, element_tables: &[u32], elements: usize) -> Result<Self, GpuFault> {
        let unused = || gpu.empty_storage("nothing", 0);
        Ok(Self {
            kernels: gpu.bake_kernels(),
            scene,
            element_tables: gpu.storage("the elements", element_tables)?,
            bright_at: element_tables[BRIGHT],
            elements: elements as u32,
            ray_tasks: gpu.empty_storage("tasks of rays", MAX_RAYS as u64 * BYTES_OF_RAY_TASK)?,
            items: gpu.empty_storage("rays of elements", ((MAX_ITEMS + 1) * size_of::<Item>()) as u64)?,
            tallies: gpu.empty_storage("what rays brought", (MAX_ITEMS * size_of::<Tally>()) as u64)?,
            unused: [unused()?, unused()?, unused()?, unused()?],
            batch_sizer: BatchSizer::new(
                (FIRST_RAYS / (1 + element_tables[EMITTER_COUNT] / MANY_EMITTERS)).max(1),
                MAX_RAYS as u32,
            ),
        })
    }

    /// Sets the elements that gather rays sample as lights.
    pub fn sample_as_lights(&self, gpu: &Gpu, bright: &[BrightElement]) {
        let place = u64::from(self.bright_at) * size_of::<u32>() as u64;
        gpu.queue.write_buffer(&self.element_tables, place, bytemuck::cast_slice(&bright_words(bright)));
    }

    /// Traces all rays. Calls `each` with the sums of each part, in order. Returns the tinted hits of stored hits.
    pub fn send(
        &mut self,
        gpu: &Gpu,
        batch_kind: BatchKind,
        seeds: [u32; 2],
        work: &[ElementJob],
        monitor: &dyn Monitor,
        mut each: impl FnMut(&ElementJob, &Tally),
    ) -> Result<Vec<TintedHit>, StepError> {
        let mut tinted = Vec::new();
        let mut left = Remaining { work, done: 0 };
        let all: u64 = work.iter().map(|work| u64::from(work.rays)).sum();
        let mut sent = 0;
        while let Some(parts) = left.take(self.batch_sizer.size() as usize) {
            monitor.check()?;
            let started = clock::now();
            let batch = Batch { rays: self, gpu, batch_kind, seeds, parts: &parts };
            let tallies = batch.run(&mut tinted)?;
            for (part, tally) in parts.iter().zip(&tallies) {
                each(part, tally);
            }
            self.batch_sizer.learn(started.elapsed());
            sent += parts.iter().map(|part| u64::from(part.rays)).sum::<u64>();
            monitor.progress(sent as f32 / all as f32);
        }
        Ok(tinted)
    }
}

/// Work that remains to be done.
struct Remaining<'a> {
    work: &'a [ElementJob],
    /// Number of finished rays of the first entry.
    done: u32,
}

impl Remaining<'_> {
    /// Takes the next parts, with at most `max_rays` rays in total, or a single larger part.
    fn take(&mut self, max_rays: usize) -> Option<Vec<ElementJob>> {
        let mut parts = Vec::new();
        let mut room = max_rays as u32;
        while let Some(work) = self.work.first()
            && room > 0
            && parts.len() < MAX_ITEMS
        {
            let rays = (work.rays - self.done).min(RAYS_OF_PART);
            if rays > room && !parts.is_empty() {
                break;
            }
            let part = ElementJob {
                first_index: work.first_index + self.done,
                hits_at: work.hits_at + self.done,
                rays,
                ..*work
            };
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
    batch_kind: BatchKind<'a>,
    seeds: [u32; 2],
    parts: &'a [ElementJob],
}

impl Batch<'_> {
    /// Returns the sums of each part; empty for shots, which deposit their power. Appends tinted hits to the list.
    fn run(&self, tinted: &mut Vec<TintedHit>) -> Result<Vec<Tally>, StepError> {
        let Self { rays, gpu, batch_kind, parts, .. } = *self;
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
        let [no_radiosity, no_hits, no_tinted, no_deposits] = &rays.unused;
        let (trace, collect, radiosities, hits, deposits): (&ComputePipeline, &ComputePipeline, _, _, _) =
            match batch_kind {
                BatchKind::LightSampled => {
                    (&kernels.light_sampled, &kernels.collect_light_samples, no_radiosity, no_hits, no_deposits)
                }
                BatchKind::Read(radiosities) => {
                    (&kernels.gather, &kernels.collect_and_read, radiosities, no_hits, no_deposits)
                }
                BatchKind::Store(hits) => {
                    (&kernels.gather, &kernels.collect_and_store, no_radiosity, hits, no_deposits)
                }
                BatchKind::Shoot { colors, deposits } => {
                    (kernels.shots(gpu), &kernels.deposit_shots, colors, no_hits, deposits)
                }
            };
        let bind_sums = |tinted| {
            let Rays { items, ray_tasks, tallies, .. } = rays;
            kernels.bind_sums(gpu, [&header, items, ray_tasks, radiosities, tallies, hits, tinted, deposits])
        };
        let sums = bind_sums(no_tinted);
        let tracing = kernels.bind_rays(gpu, [&header, &rays.element_tables, &rays.ray_tasks]);
        dispatch(&mut encoder, &kernels.send_out, &[&sums], ray_count);
        dispatch(&mut encoder, trace, &[rays.scene.bind_group(), &tracing], ray_count);
        let is_shot = matches!(batch_kind, BatchKind::Shoot { .. });
        dispatch(&mut encoder, collect, &[&sums], if is_shot { ray_count } else { parts.len() as u32 });
        gpu.queue.submit([encoder.finish()]);
        if is_shot {
            gpu.wait()?;
            return Ok(Vec::new());
        }
        let tallies: Vec<Tally> = gpu.read(&rays.tallies, parts.len())?;
        if matches!(batch_kind, BatchKind::Store(_)) {
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

    /// Returns the parts in the shaders' layout, plus a sentinel that marks the end.
    fn items(&self) -> Vec<Item> {
        let mut first_ray = 0;
        let mut items: Vec<Item> = Vec::with_capacity(self.parts.len() + 1);
        for work @ &ElementJob { element, first_index, rays, hits_at, .. } in self.parts {
            items.push(Item { element, first_index, first_ray, flags: work.flags(), hits_at, tinted_at: 0 });
            first_ray += rays;
        }
        items.push(Item { element: 0, first_index: 0, first_ray, flags: 0, hits_at: 0, tinted_at: 0 });
        items
    }
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    Tally as Tally { direct, valid, continuation, lost, read, inside, rays, tinted, padding }
    Item as Item { element, first_index, first_ray, flags, hits_at, tinted_at }
    BatchHeader as Batch { rays, items, seed, other_seed, elements, padding }
}

#[cfg(test)]
#[test]
fn tasks_of_rays_have_the_size_that_shaders_give_them() {
    crate::gpu::layouts::assert_bytes("RayTask", BYTES_OF_RAY_TASK as usize);
}
