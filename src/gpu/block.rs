//! Number of threads of a workgroup.

use super::{Gpu, GpuFault};

/// Number of threads of a workgroup, for kernels that leave the choice. It changes the time, not the results. Default: 64.
///
/// The documents vary it (`000` section 5.5, `003` section 5.2, `004` section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block(u32);

impl Default for Block {
    fn default() -> Self {
        Self(64)
    }
}

impl Block {
    /// Unit of the number of threads: a row of a picture's block, in pixels.
    pub const ROW: u32 = 8;

    /// Creates a block of a number of threads.
    ///
    /// # Errors
    /// Returns an error if the number is not a multiple of [`Self::ROW`], or exceeds the device's limit.
    pub fn new(gpu: &Gpu, threads: u32) -> Result<Self, GpuFault> {
        let limits = gpu.device.limits();
        let limit = limits
            .max_compute_invocations_per_workgroup
            .min(limits.max_compute_workgroup_size_x)
            .min(limits.max_compute_workgroup_size_y.saturating_mul(Self::ROW));
        if threads == 0 || threads > limit || !threads.is_multiple_of(Self::ROW) {
            return Err(GpuFault::Block { threads, limit, adapter: gpu.name().to_owned() });
        }
        Ok(Self(threads))
    }

    /// Returns the number of threads.
    pub fn threads(self) -> u32 {
        self.0
    }

    /// Returns the number of rows of a picture's block.
    pub(super) fn rows(self) -> u32 {
        self.0 / Self::ROW
    }

    /// Returns the pipeline constant of kernels with one thread per ray or path.
    pub(super) fn constant(self) -> (&'static str, f64) {
        ("BLOCK", self.0.into())
    }

    /// Returns the pipeline constant of kernels with one thread per pixel.
    pub(super) fn constant_of_rows(self) -> (&'static str, f64) {
        ("BLOCK_ROWS", self.rows().into())
    }
}
