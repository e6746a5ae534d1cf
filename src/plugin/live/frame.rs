//! Uniforms for drawing a live image.

use bytemuck::{Pod, Zeroable};

/// Uniforms of the shader, in its layout.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Frame {
    /// Upper left corner of the viewport in the target, in pixels.
    pub origin: [f32; 2],
    /// Size of the viewport, in pixels.
    pub size: [f32; 2],
    /// Size of the image, in pixels.
    pub picture: [u32; 2],
    /// Factor from cd/m2 to the drawn value.
    pub exposure: f32,
    /// Stride of the image's pixels in its buffer, in vectors.
    pub apart: u32,
}

/// Draw resources of a view.
pub struct DrawnPicture {
    pub frame: wgpu::Buffer,
}

impl DrawnPicture {
    pub fn new(device: &wgpu::Device) -> Self {
        let frame = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("live view's frame"),
            size: size_of::<Frame>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self { frame }
    }
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    Frame as Frame { origin, size, picture, exposure, apart }
}
