//! Fixed-point sums with atomic deposits; see `deposits.wgsl`.

use wgpu::{Buffer, CommandEncoderDescriptor};

use super::{Gpu, GpuFault};

/// Number of words of a sum.
pub(super) const WORDS_OF_SUM: usize = 2;

/// Returns a sum, given its two words.
pub(super) fn sum(words: &[u32]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

/// Creates a zeroed buffer of the given number of words.
///
/// # Errors
/// Returns an error if the device lacks memory.
pub(super) fn zeros(gpu: &Gpu, what: &'static str, words: usize) -> Result<Buffer, GpuFault> {
    let buffer = gpu.empty_storage(what, words as u64 * 4)?;
    let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
    encoder.clear_buffer(&buffer, 0, None);
    gpu.queue.submit([encoder.finish()]);
    Ok(buffer)
}
