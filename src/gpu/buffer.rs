//! Memory of the device.

use std::sync::mpsc;

use bytemuck::{AnyBitPattern, NoUninit};
use wgpu::{Buffer, BufferDescriptor, BufferUsages, CommandEncoderDescriptor, MapMode, PollType};

use super::{Gpu, GpuFault};

/// Buffers without content are as long as this: none may be empty.
const SHORTEST: u64 = 1024;

impl Gpu {
    /// A buffer with this content that shaders read from.
    pub(super) fn storage<T: NoUninit>(&self, what: &'static str, content: &[T]) -> Result<Buffer, GpuFault> {
        self.guarded(what, || {
            let buffer = self.create_storage(what, size_of_val(content) as u64)?;
            self.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(content));
            Ok(buffer)
        })
    }

    /// A buffer of so many bytes that shaders read and write.
    pub(super) fn empty_storage(&self, what: &'static str, bytes: u64) -> Result<Buffer, GpuFault> {
        self.guarded(what, || self.create_storage(what, bytes))
    }

    fn create_storage(&self, what: &'static str, bytes: u64) -> Result<Buffer, GpuFault> {
        let limits = self.device.limits();
        let limit = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        if bytes > limit {
            return Err(GpuFault::TooLarge { what, bytes, limit, adapter: self.name().to_owned() });
        }
        Ok(self.device.create_buffer(&BufferDescriptor {
            label: Some(what),
            size: bytes.max(SHORTEST),
            usage: BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        }))
    }

    /// A small buffer that all threads read alike.
    pub(super) fn uniform<T: NoUninit>(&self, what: &'static str, content: &[T]) -> Buffer {
        let buffer = self.device.create_buffer(&BufferDescriptor {
            label: Some(what),
            size: size_of_val(content) as u64,
            usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(content));
        buffer
    }

    /// Waits until all work is done and copies the first entries of a buffer back.
    ///
    /// # Errors
    /// When the device is lost.
    pub(super) fn read<T: AnyBitPattern + NoUninit>(&self, buffer: &Buffer, count: usize) -> Result<Vec<T>, GpuFault> {
        let bytes = (count * size_of::<T>()) as u64;
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let staging = self.device.create_buffer(&BufferDescriptor {
            label: Some("read back"),
            size: bytes,
            usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, bytes);
        self.queue.submit([encoder.finish()]);
        let (sender, receiver) = mpsc::channel();
        staging.map_async(MapMode::Read, .., move |result| {
            // The receiver waits for this alone.
            let _ = sender.send(result);
        });
        self.wait()?;
        let lost = |reason: &dyn std::fmt::Display| GpuFault::Lost(reason.to_string());
        receiver.recv().map_err(|fault| lost(&fault))?.map_err(|fault| lost(&fault))?;
        let mapped = staging.get_mapped_range(..);
        // The mapping need not be aligned for the type.
        Ok(mapped.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
    }

    /// Waits until all submitted work is done.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn wait(&self) -> Result<(), GpuFault> {
        self.device.poll(PollType::wait_indefinitely()).map_err(|fault| GpuFault::Lost(fault.to_string()))?;
        self.check()
    }
}
