//! Stored hits in device memory.

use core::ops::Range;

use bytemuck::{Pod, Zeroable};
use wgpu::Buffer;

use super::super::{Gpu, GpuFault};
use crate::radiosity::{StoredHits, TintedHit};

/// Maximum number of hits per buffer. WebGPU guarantees four times as many bytes.
const MAX_HITS: u64 = 1 << 23;

/// Hits of one run of gather rays; counterpart of [`StoredHits`].
pub(super) struct DeviceHits {
    /// Start of each element's rays, plus the total at the end.
    offsets: Vec<u64>,
    chunks: Vec<Chunk>,
    tinted: Vec<TintedHit>,
}

/// Hits of a range of elements.
pub(super) struct Chunk {
    pub elements: Range<usize>,
    pub hits: Buffer,
    /// Offsets of each element's hits and tinted hits in this chunk, plus the totals.
    pub offsets: Buffer,
    pub tinted: Buffer,
}

/// Stored hit with a tint; counterpart of `Tinted` in `sweep.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Tinted {
    tint: [f32; 3],
    hit: u32,
}

impl DeviceHits {
    /// Creates an empty store with room for the given number of rays per element.
    pub fn with_room_for(rays: &[u32]) -> Self {
        Self { offsets: StoredHits::offsets_for(rays), chunks: Vec::new(), tinted: Vec::new() }
    }

    /// Returns the number of stored rays.
    pub fn len(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Leaves out an element and all after it.
    pub fn end_at(&mut self, element: usize) {
        let end = self.offsets[element];
        self.offsets[element..].fill(end);
    }

    /// Returns ranges of elements, such that the hits of each range fit into one buffer.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let elements = self.offsets.len() - 1;
        let mut ranges = Vec::new();
        let mut start = 0;
        while start < elements {
            let limit = self.offsets[start] + MAX_HITS;
            let end = self.offsets.partition_point(|&offset| offset <= limit) - 1;
            let end = end.clamp(start + 1, elements);
            ranges.push(start..end);
            start = end;
        }
        ranges
    }

    /// Creates the buffer for the hits of a range of elements.
    pub fn room(&self, gpu: &Gpu, elements: &Range<usize>) -> Result<Buffer, GpuFault> {
        gpu.empty_storage("stored hits", 4 * (self.offsets[elements.end] - self.offsets[elements.start]))
    }

    /// Returns the offset of an element's hits in the buffer of its range.
    pub fn offset_in(&self, elements: &Range<usize>, element: usize) -> u32 {
        (self.offsets[element] - self.offsets[elements.start]) as u32
    }

    /// Appends the hits of a range of elements, and their tinted hits in element order.
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

    /// Copies the hits from the device.
    pub fn download(&self, gpu: &Gpu) -> Result<StoredHits, GpuFault> {
        let mut hits = Vec::with_capacity(self.len() as usize);
        for chunk in &self.chunks {
            let count = self.offsets[chunk.elements.end] - self.offsets[chunk.elements.start];
            hits.extend(gpu.read::<u32>(&chunk.hits, count as usize)?);
        }
        Ok(StoredHits { offsets: self.offsets.clone(), hits, tinted: self.tinted.clone() })
    }

    /// Copies hits to the device.
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

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    Tinted as Tinted { tint, hit }
}
