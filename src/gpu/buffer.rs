//! Device memory.

use std::sync::mpsc;

use bytemuck::{AnyBitPattern, NoUninit};
use wgpu::{Buffer, BufferDescriptor, BufferUsages, CommandEncoderDescriptor, MapMode, PollType};

use super::{Gpu, GpuFault};

/// Minimum size of a buffer, in bytes. Empty buffers are not allowed.
const SHORTEST: u64 = 1024;

impl Gpu {
    /// Creates a storage buffer with the given content.
    pub(super) fn storage<T: NoUninit>(&self, what: &'static str, content: &[T]) -> Result<Buffer, GpuFault> {
        self.guarded(what, || {
            let buffer = self.create_storage(what, size_of_val(content) as u64)?;
            self.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(content));
            Ok(buffer)
        })
    }

    /// Creates a storage buffer of the given size, in bytes.
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

    /// Creates a small uniform buffer with the given content.
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

    /// Waits for all work and copies the first `count` entries of a buffer to the host.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
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
            // The receiver waits for this message only.
            let _ = sender.send(result);
        });
        self.wait()?;
        let lost = |reason: &dyn std::fmt::Display| GpuFault::Lost(reason.to_string());
        receive(&receiver).map_err(|fault| lost(&fault))?.map_err(|fault| lost(&fault))?;
        let mapped = staging.get_mapped_range(..);
        // The mapped range may not be aligned for the type.
        Ok(mapped.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
    }

    /// Waits until all submitted work is done.
    ///
    /// # Errors
    /// Returns an error if the device is lost, and in a browser, which cannot wait.
    pub fn wait(&self) -> Result<(), GpuFault> {
        if cfg!(target_arch = "wasm32") {
            return Err(GpuFault::NoWaiting);
        }
        self.device.poll(PollType::wait_indefinitely()).map_err(|fault| GpuFault::Lost(fault.to_string()))?;
        self.check()
    }
}

/// Receives a result that has come, or that another thread is about to send.
#[expect(clippy::disallowed_methods, reason = "no browser gets here")]
fn receive<T>(results: &mpsc::Receiver<T>) -> Result<T, mpsc::RecvError> {
    results.recv()
}
