//! Device that runs the expensive work: ray tracing and radiosity solves.

use core::fmt;

use serde::{Deserialize, Serialize};

/// Choice of a device, for bakes and for relit pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(rename_all = "lowercase")]
pub enum DeviceChoice {
    /// A GPU that fits the work, else the CPU. Software adapters do not count. The default.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A GPU, or a software adapter in its place.
    Gpu,
}

/// Open device of a bake: the CPU or a GPU.
#[derive(Clone, Debug, Default)]
pub enum Device {
    /// All CPU cores. The default.
    #[default]
    Cpu,
    /// A GPU, or a software adapter in its place.
    #[cfg(feature = "gpu")]
    Gpu(crate::gpu::Gpu),
}

/// Reason why a chosen device cannot be opened.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeviceError {
    /// The GPU is missing or too limited.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuFault),
    /// The build has no support for GPUs.
    #[cfg(not(feature = "gpu"))]
    #[error("this program was built without the feature gpu: add it, or use the CPU (--backend cpu)")]
    NotBuilt,
}

impl Device {
    /// Opens the chosen device, independent of any other that the process has. Opening a GPU takes a while, and some
    /// drivers write to standard error meanwhile.
    ///
    /// # Errors
    /// Returns an error if [`DeviceChoice::Gpu`] is chosen, and there is no adapter, or it is too limited, or the build
    /// lacks the feature `gpu`.
    #[cfg(feature = "gpu")]
    pub fn open(choice: DeviceChoice) -> Result<Self, DeviceError> {
        use crate::gpu::Gpu;

        match choice {
            DeviceChoice::Auto => Ok(Gpu::headless().ok().filter(Gpu::is_hardware).map_or(Self::Cpu, Self::Gpu)),
            DeviceChoice::Cpu => Ok(Self::Cpu),
            DeviceChoice::Gpu => Ok(Self::Gpu(Gpu::headless()?)),
        }
    }

    /// Opens the chosen device.
    ///
    /// # Errors
    /// Returns an error if [`DeviceChoice::Gpu`] is chosen: this build lacks the feature `gpu`.
    #[cfg(not(feature = "gpu"))]
    pub fn open(choice: DeviceChoice) -> Result<Self, DeviceError> {
        match choice {
            DeviceChoice::Auto | DeviceChoice::Cpu => Ok(Self::Cpu),
            DeviceChoice::Gpu => Err(DeviceError::NotBuilt),
        }
    }

    /// Returns the name that reports and `--backend` use.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            #[cfg(feature = "gpu")]
            Self::Gpu(_) => "gpu",
        }
    }
}

/// Shows the name of the adapter, for logs.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("the processor"),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => f.write_str(gpu.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_there() {
        let cpu = Device::open(DeviceChoice::Cpu).unwrap();
        assert_eq!((cpu.name(), cpu.to_string().as_str()), ("cpu", "the processor"));
    }

    #[cfg(feature = "gpu")]
    #[test]
    fn a_software_adapter_is_opened_only_by_request() {
        let Some(gpu) = crate::gpu::test_device() else { return };
        let [auto, requested] = [DeviceChoice::Auto, DeviceChoice::Gpu].map(|choice| Device::open(choice).unwrap());
        assert_eq!((requested.name(), requested.to_string().as_str()), ("gpu", gpu.name()));
        assert_eq!(auto.name(), if gpu.is_hardware() { "gpu" } else { "cpu" });
    }

    #[cfg(not(feature = "gpu"))]
    #[test]
    fn a_build_without_gpus_says_so_only_where_one_is_requested() {
        assert_eq!(Device::open(DeviceChoice::Auto).unwrap().name(), "cpu");
        let refusal = Device::open(DeviceChoice::Gpu).unwrap_err().to_string();
        assert!(refusal.contains("without the feature gpu") && refusal.contains("--backend cpu"), "{refusal}");
    }
}
