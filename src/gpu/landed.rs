//! Sums in fixed point that many threads add to: see `landed.wgsl`.

use wgpu::{Buffer, CommandEncoderDescriptor};

use super::{Gpu, GpuFault};

/// Words of a sum.
pub(super) const WORDS_OF_SUM: usize = 2;

/// A sum, from its two words.
pub(super) fn sum(words: &[u32]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

/// Room for so many words, all of them zero.
///
/// # Errors
/// When the device has no room for them.
pub(super) fn zeros(gpu: &Gpu, what: &'static str, words: usize) -> Result<Buffer, GpuFault> {
    let buffer = gpu.empty_storage(what, words as u64 * 4)?;
    let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
    encoder.clear_buffer(&buffer, 0, None);
    gpu.queue.submit([encoder.finish()]);
    Ok(buffer)
}
