//! Device that runs the expensive work: ray tracing and radiosity solves.

/// Backend of a bake: the CPU or a GPU.
#[derive(Clone, Debug, Default)]
pub enum Device {
    /// All CPU cores. The default.
    #[default]
    Cpu,
    /// A GPU, or a software adapter in its place.
    #[cfg(feature = "gpu")]
    Gpu(crate::gpu::Gpu),
}

impl Device {
    /// Returns the name that reports and `--backend` use.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            #[cfg(feature = "gpu")]
            Self::Gpu(_) => "gpu",
        }
    }
}
