//! Lightmap pages redrawn on the device when lights change; counterpart of [`Relighter::draw`].
//!
//! ```text
//! reflected light of patches --> K --> U --> smoothing, plus static and direct light --> texels in texture format
//! ```
//!
//! The CPU computes the first bounce of each patch and uploads a few thousand numbers. Everything else stays on the
//! device. Pages are drawn into buffers, because few texture formats are writable. The caller copies pages from the
//! buffers to textures.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use glam::{Vec3, Vec4};
use wgpu::{
    BindGroup, Buffer, CommandEncoder, CommandEncoderDescriptor, ComputePipeline, Extent3d, TexelCopyBufferInfo,
    TexelCopyBufferLayout, Texture, TextureFormat,
};

use super::kernel::{bind, dispatch, layout};
use super::{Gpu, GpuFault, GpuLowRank, Shader};
use crate::lightmap::{Page, PageFormat};
use crate::relight::{Difference, Relighter, TexelTables};

/// Storage buffers after the uniform, for smoothing and for drawing: true for read-only buffers.
const SMOOTHING: [bool; 5] = [true, true, true, true, false];
const DRAWING: [bool; 6] = [true, true, true, true, true, false];

/// Interval between polls for completion.
const GLANCE: Duration = Duration::from_micros(100);

/// Alignment of buffer rows for copies to textures, in bytes.
const ROW_BYTES: u32 = wgpu::COPY_BYTES_PER_ROW_ALIGNMENT;

/// Pages of a level in device memory, with everything needed to redraw them.
pub struct GpuPages {
    gpu: Gpu,
    low_rank: GpuLowRank,
    elements: usize,
    smooth: (ComputePipeline, BindGroup),
    draw: ComputePipeline,
    /// [`Difference::elements`], and the edition that was uploaded last.
    beside: Buffer,
    edition: AtomicU64,
    pages: Vec<DevicePage>,
    format: PageFormat,
    is_drawing: Arc<AtomicBool>,
}

/// One page.
struct DevicePage {
    group: BindGroup,
    picture: Buffer,
    size: Extent3d,
    row_bytes: u32,
}

/// Counterpart of `PageSize` in `page.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct PageSize {
    texels: u32,
    columns: u32,
    stride: u32,
    padding: u32,
}

/// Counterpart of `ListStart` in `page.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct ListStart {
    start: u32,
    home: u32,
}

/// Counterpart of `WeightedRow` in `smooth.wgsl` and `page.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct WeightedRow {
    row: u32,
    weight: f32,
}

/// Shared resources for drawing pages.
struct Drawing<'a> {
    gpu: &'a Gpu,
    layout: wgpu::BindGroupLayout,
    light: &'a Buffer,
    format: PageFormat,
}

impl GpuPages {
    /// Uploads the relighting data of a level. Pages hold their baked texels until they are [drawn](Self::draw).
    ///
    /// # Errors
    /// Returns an error if some data exceed the size of a shader binding, or if the device lacks memory.
    pub fn new(gpu: &Gpu, relighter: &Relighter, format: PageFormat) -> Result<Self, GpuFault> {
        let transport = &relighter.level().precomputed.transport;
        let low_rank = GpuLowRank::new(gpu, transport)?;
        let elements = transport.elements();
        let vectors = |what| gpu.empty_storage(what, (elements * size_of::<Vec4>()) as u64);
        let [beside, light] = [vectors("light beside that of patches")?, vectors("light of elements")?];
        let smoothing = layout(gpu, "smooth", &SMOOTHING);
        let smooth = gpu.compute_pipeline(&Shader::Smooth.compile(&gpu.device), "smooth_light", &[&smoothing]);
        let (offsets, neighbors) = relighter.smoothing().parts();
        let offsets: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
        let of_smoothing = [
            &gpu.uniform("rows", &[[elements as u32, 0, 0, 0]]),
            &gpu.storage("where neighbors start", &offsets)?,
            &gpu.storage("neighbors of elements", &weighted_rows(neighbors))?,
            low_rank.indirect_buffer(),
            &beside,
            &light,
        ];
        let smooth = (smooth, bind(gpu, &smoothing, &of_smoothing));
        let drawing = Drawing { gpu, layout: layout(gpu, "page", &DRAWING), light: &light, format };
        let module = Shader::Page.compile(&gpu.device);
        let draw = gpu.compute_pipeline(&module, entry_point(format), &[&drawing.layout]);
        let pages = relighter.level().pages.iter().zip(relighter.texels());
        let pages = pages.map(|(page, texels)| drawing.page(page, &texels.tables())).collect::<Result<_, _>>()?;
        Ok(Self {
            low_rank,
            elements,
            smooth,
            draw,
            beside,
            edition: AtomicU64::new(0),
            pages,
            format,
            is_drawing: Arc::default(),
            gpu: gpu.clone(),
        })
    }

    /// Returns the device of the pages.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Starts to draw all pages after waiting for the previous draw. Does not wait for the new draw, so the CPU can
    /// compute the next light meanwhile.
    pub fn draw(&self, light: &Difference) {
        self.finish();
        self.low_rank.write_first(light.patches);
        if self.edition.swap(light.edition, Ordering::Relaxed) != light.edition {
            let mut beside: Vec<Vec4> = light.elements.iter().map(|light| light.extend(0.0)).collect();
            beside.resize(self.elements, Vec4::ZERO);
            self.gpu.queue.write_buffer(&self.beside, 0, bytemuck::cast_slice(&beside));
        }
        let mut encoder = self.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.low_rank.record_products(&mut encoder);
        let (smooth, group) = &self.smooth;
        dispatch(&mut encoder, smooth, &[group], self.elements as u32);
        for page in &self.pages {
            dispatch(&mut encoder, &self.draw, &[&page.group], page.size.width * page.size.height);
        }
        self.is_drawing.store(true, Ordering::Relaxed);
        self.gpu.queue.submit([encoder.finish()]);
        let is_drawing = Arc::clone(&self.is_drawing);
        self.gpu.queue.on_submitted_work_done(move || is_drawing.store(false, Ordering::Relaxed));
    }

    /// Waits until the last draw is done, so that a slow device does not accumulate work. A browser waits by itself: it
    /// shows no new frame before.
    #[expect(clippy::disallowed_methods, reason = "no browser gets here")]
    fn finish(&self) {
        if cfg!(target_arch = "wasm32") {
            return;
        }
        // A thread that waits inside wgpu blocks all submissions, and the renderer would stall.
        while self.is_drawing() {
            std::thread::sleep(GLANCE);
        }
    }

    /// Returns true until the last draw is done or the device is destroyed.
    fn is_drawing(&self) -> bool {
        let _ = self.gpu.device.poll(wgpu::PollType::Poll);
        self.is_drawing.load(Ordering::Relaxed)
    }

    /// Returns the number of pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns true if there are no pages.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Returns true if a texture has the size and format of a page.
    pub fn fits(&self, page: usize, texture: &Texture) -> bool {
        let format = match self.format {
            PageFormat::HalfFloat => TextureFormat::Rgba16Float,
            PageFormat::SharedExponent => TextureFormat::Rgb9e5Ufloat,
        };
        self.pages.get(page).is_some_and(|page| page.size == texture.size()) && texture.format() == format
    }

    /// Records a copy of a page, as drawn last, to a texture of equal size and format.
    pub fn copy(&self, page: usize, texture: &Texture, encoder: &mut CommandEncoder) {
        let DevicePage { picture, size, row_bytes, .. } = &self.pages[page];
        let layout = TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(*row_bytes), rows_per_image: None };
        let from = TexelCopyBufferInfo { buffer: picture, layout };
        encoder.copy_buffer_to_texture(from, texture.as_image_copy(), *size);
    }

    /// Waits until a page is drawn, and copies its bytes to the host, in texture format with rows from the top.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    pub fn read(&self, page: usize) -> Result<Vec<u8>, GpuFault> {
        let DevicePage { picture, size, row_bytes, .. } = &self.pages[page];
        let rows: Vec<u8> = self.gpu.read(picture, (row_bytes * size.height) as usize)?;
        let columns = (size.width * self.format.bytes()) as usize;
        Ok(rows.chunks(*row_bytes as usize).flat_map(|row| &row[..columns]).copied().collect())
    }
}

impl Drawing<'_> {
    fn page(&self, page: &Page, tables: &TexelTables) -> Result<DevicePage, GpuFault> {
        let Self { gpu, layout, light, format } = self;
        let row_bytes = (page.width * format.bytes()).next_multiple_of(ROW_BYTES);
        let picture = gpu.empty_storage("a page", u64::from(row_bytes) * u64::from(page.height))?;
        // Texels that never change refer to an extra, empty list.
        let &TexelTables { lists, offsets, sources, homes } = tables;
        let empty = homes.len() as u32;
        let lists: Vec<u32> = lists.iter().map(|&list| list.min(empty)).collect();
        let offsets = offsets.iter().chain(offsets.last());
        let starts: Vec<ListStart> =
            offsets.zip(homes.iter().chain([&0, &0])).map(|(&start, &home)| ListStart { start, home }).collect();
        let settings =
            PageSize { texels: page.width * page.height, columns: page.width, stride: row_bytes / 4, padding: 0 };
        let buffers = [
            &gpu.uniform("a page", &[settings]),
            &gpu.storage("what texels show", &lists)?,
            &gpu.storage("where rows of texels start", &starts)?,
            &gpu.storage("rows of texels", &weighted_rows(sources))?,
            light,
            &gpu.storage("a baked page", bytemuck::cast_slice::<Vec3, f32>(&page.texels))?,
            &picture,
        ];
        let size = Extent3d { width: page.width, height: page.height, depth_or_array_layers: 1 };
        Ok(DevicePage { group: bind(gpu, layout, &buffers), picture, size, row_bytes })
    }
}

/// Converts weighted row indices to the shaders' layout.
fn weighted_rows(weighted: &[(u32, f32)]) -> Vec<WeightedRow> {
    weighted.iter().map(|&(row, weight)| WeightedRow { row, weight }).collect()
}

/// Returns the shader entry point that draws a format.
const fn entry_point(format: PageFormat) -> &'static str {
    match format {
        PageFormat::HalfFloat => "draw_half_floats",
        PageFormat::SharedExponent => "draw_shared_exponents",
    }
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    PageSize as PageSize { texels, columns, stride, padding }
    ListStart as ListStart { start, home }
    WeightedRow as WeightedRow { row, weight }
}
