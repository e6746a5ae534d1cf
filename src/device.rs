//! What heavy work is done on.

/// The processor, or a graphics card.
#[derive(Clone, Debug, Default)]
pub enum Device {
    /// The processor's cores.
    #[default]
    Cpu,
    /// A graphics card, or software that stands in for one.
    #[cfg(feature = "gpu")]
    Gpu(crate::gpu::Gpu),
}

impl Device {
    /// As reports and `--backend` call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            #[cfg(feature = "gpu")]
            Self::Gpu(_) => "gpu",
        }
    }
}
