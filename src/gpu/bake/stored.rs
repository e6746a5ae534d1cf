//! Stored hits in the memory of the device.

use core::ops::Range;

use bytemuck::{Pod, Zeroable};
use wgpu::Buffer;

use super::super::{Gpu, GpuFault};
use crate::radiosity::{StoredHits, TintedHit};

/// Most hits in one buffer: WebGPU promises four times as many bytes.
const MOST_HITS: u64 = 1 << 23;

/// What a run of gather rays met: the twin of [`StoredHits`].
pub(super) struct DeviceHits {
    /// Where the rays of each element start, and their number at the end.
    offsets: Vec<u64>,
    chunks: Vec<Chunk>,
    tinted: Vec<TintedHit>,
}

/// The hits of some elements.
pub(super) struct Chunk {
    pub elements: Range<usize>,
    pub hits: Buffer,
    /// For each element, and one more, where its hits start here, and where its tinted ones do.
    pub offsets: Buffer,
    pub tinted: Buffer,
}

/// A stored hit that was coloured on its way, the twin of `Tinted` in `sweep.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Tinted {
    tint: [f32; 3],
    hit: u32,
}

impl DeviceHits {
    /// None yet, with room for so many rays of each element.
    pub fn with_room_for(rays: &[u32]) -> Self {
        Self { offsets: StoredHits::offsets_for(rays), chunks: Vec::new(), tinted: Vec::new() }
    }

    /// How many rays are stored.
    pub fn len(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Ranges of elements whose hits fit into one buffer each.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let elements = self.offsets.len() - 1;
        let mut ranges = Vec::new();
        let mut start = 0;
        while start < elements {
            let limit = self.offsets[start] + MOST_HITS;
            let end = self.offsets.partition_point(|&offset| offset <= limit) - 1;
            let end = end.clamp(start + 1, elements);
            ranges.push(start..end);
            start = end;
        }
        ranges
    }

    /// A buffer for the hits of a range of elements.
    pub fn room(&self, gpu: &Gpu, elements: &Range<usize>) -> Result<Buffer, GpuFault> {
        gpu.empty_storage("stored hits", 4 * (self.offsets[elements.end] - self.offsets[elements.start]))
    }

    /// Where the hits of an element start in the buffer of a range.
    pub fn offset_in(&self, elements: &Range<usize>, element: usize) -> u32 {
        (self.offsets[element] - self.offsets[elements.start]) as u32
    }

    /// Adds the hits of a range of elements, and those that were coloured on their way, in order of the elements.
    pub fn push(
        &mut self,
        gpu: &Gpu,
        elements: Range<usize>,
        hits: Buffer,
        tinted: Vec<TintedHit>,
    ) -> Result<(), GpuFault> {
        let tinted_before = |element: usize| tinted.partition_point(|hit| (hit.element as usize) < element) as u32;
        let offsets: Vec<[u32; 2]> = (elements.start..=elements.end)
            .map(|element| [self.offset_in(&elements, element), tinted_before(element)])
            .collect();
        let on_device: Vec<Tinted> =
            tinted.iter().map(|hit| Tinted { tint: hit.tint.to_array(), hit: hit.hit }).collect();
        let offsets = gpu.storage("where stored hits start", &offsets)?;
        let list = gpu.storage("tinted hits", &on_device)?;
        self.chunks.push(Chunk { elements, hits, offsets, tinted: list });
        self.tinted.extend(tinted);
        Ok(())
    }

    /// Copies them from the device.
    pub fn download(&self, gpu: &Gpu) -> Result<StoredHits, GpuFault> {
        let mut hits = Vec::with_capacity(self.len() as usize);
        for chunk in &self.chunks {
            let count = self.offsets[chunk.elements.end] - self.offsets[chunk.elements.start];
            hits.extend(gpu.read::<u32>(&chunk.hits, count as usize)?);
        }
        Ok(StoredHits { offsets: self.offsets.clone(), hits, tinted: self.tinted.clone() })
    }

    /// Copies them to the device.
    pub fn upload(gpu: &Gpu, stored: &StoredHits) -> Result<Self, GpuFault> {
        let mut on_device = Self { offsets: stored.offsets.clone(), chunks: Vec::new(), tinted: Vec::new() };
        for elements in on_device.ranges() {
            let [start, end] = [elements.start, elements.end].map(|element| stored.offsets[element] as usize);
            let hits = gpu.storage("stored hits", &stored.hits[start..end])?;
            let tinted = stored.tinted_in(elements.clone()).to_vec();
            on_device.push(gpu, elements, hits, tinted)?;
        }
        Ok(on_device)
    }
}
