//! Device that runs the kernels.

use std::sync::{Arc, OnceLock};

use wgpu::{
    Adapter, AdapterInfo, Device, DeviceDescriptor, DeviceType, ErrorFilter, Instance, InstanceDescriptor,
    InstanceFlags, Limits, PowerPreference, Queue, RequestAdapterOptions,
};

use super::answer::{at_once, at_once_or_later};
use super::bake::BakeKernels;

/// Graphics card, or a software implementation.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(super) device: Device,
    pub(super) queue: Queue,
    info: AdapterInfo,
    /// First error of a device opened by this crate. The owner of any other device receives its errors.
    first_error: Arc<OnceLock<String>>,
    bake_kernels: Arc<OnceLock<Arc<BakeKernels>>>,
}

/// Reason why no device is available, or why the device failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GpuFault {
    /// No adapter was found.
    #[error("no graphics adapter was found ({0}): install its driver, or stay with the CPU")]
    NoAdapter(String),
    /// The adapter offers less than WebGPU guarantees.
    #[error("the graphics adapter {adapter} allows only {found} {limit} where {needed} are needed: use the CPU")]
    TooLimited {
        /// Name of the adapter.
        adapter: String,
        /// Name of the limit that is too low.
        limit: &'static str,
        /// Value that the adapter offers.
        found: u64,
        /// Value that is required.
        needed: u64,
    },
    /// Some data exceed the size of a shader binding.
    #[error(
        "{what} take {bytes} bytes, more than the {limit} that {adapter} lets a shader see: use the CPU, or less of them"
    )]
    TooLarge {
        /// Name of the data.
        what: &'static str,
        /// Size, in bytes.
        bytes: u64,
        /// Maximum size, in bytes.
        limit: u64,
        /// Name of the adapter.
        adapter: String,
    },
    /// Precomputed transport exceeds the size of a shader binding.
    #[error(
        "the transport of {patches} patches takes {bytes} bytes, more than the {limit} that {adapter} lets a shader see: \
         use the CPU, or precompute it with at most {fit} patches"
    )]
    TooManyPatches {
        /// Number of patches.
        patches: usize,
        /// Approximate number of patches that would fit.
        fit: usize,
        /// Size of the largest array, in bytes.
        bytes: u64,
        /// Maximum size, in bytes.
        limit: u64,
        /// Name of the adapter.
        adapter: String,
    },
    /// The device has no workgroups of the size.
    #[error("{adapter} has no blocks of {threads} threads: give a multiple of 8, at most {limit}")]
    Block {
        /// Number of threads.
        threads: u32,
        /// Maximum number of threads.
        limit: u32,
        /// Name of the adapter.
        adapter: String,
    },
    /// The device failed to allocate memory within its limits.
    #[error("{adapter} has no room for {what}: {reason}; use the CPU, or less of them")]
    NoRoom {
        /// Name of the data.
        what: &'static str,
        /// Message of the device.
        reason: String,
        /// Name of the adapter.
        adapter: String,
    },
    /// The device was lost during work.
    #[error("the graphics device was lost: {0}")]
    Lost(String),
    /// A browser lets no program wait for results.
    #[error("a browser lets no program wait for its graphics device: use the CPU")]
    NoWaiting,
}

/// Requirements of all kernels, within WebGPU's default limits.
const STORAGE_BUFFERS: u32 = 8;
const THREADS_IN_GROUP: u32 = 256;

impl Gpu {
    /// Opens the fastest adapter, without a display. The environment variable `WGPU_SETTINGS_PRIO=webgpu` requests only
    /// WebGPU's default limits, as in Bevy.
    ///
    /// # Errors
    /// Returns an error if there is no adapter, or if the adapter is too limited.
    pub fn headless() -> Result<Self, GpuFault> {
        Self::open(limits_to_ask_for)
    }

    /// Opens the fastest adapter with the given limits.
    pub(super) fn open(limits: impl FnOnce(&Adapter) -> Limits) -> Result<Self, GpuFault> {
        let mut descriptor = InstanceDescriptor::new_without_display_handle_from_env();
        // Vulkan's loader (1.3.239 among others) names an object by a search among the devices of all threads. It crashes
        // where another thread destroys one. So objects have names only with WGPU_DEBUG=1.
        descriptor.flags = descriptor.flags.difference(InstanceFlags::DEBUG).with_env();
        let instance = Instance::new(descriptor);
        let options =
            RequestAdapterOptions { power_preference: PowerPreference::HighPerformance, ..Default::default() };
        let adapter = at_once(instance.request_adapter(&options))
            .ok_or_else(no_answer)?
            .map_err(|fault| GpuFault::NoAdapter(fault.to_string()))?;
        let descriptor =
            DeviceDescriptor { label: Some("radiosity"), required_limits: limits(&adapter), ..Default::default() };
        let (device, queue) = at_once(adapter.request_device(&descriptor))
            .ok_or_else(no_answer)?
            .map_err(|fault| GpuFault::NoAdapter(fault.to_string()))?;
        let gpu = Self::from_device(device, queue, adapter.get_info())?;
        let first_error = gpu.first_error.clone();
        // Without a handler, an error would end the process.
        gpu.device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let _ = first_error.set(error.to_string());
        }));
        let first_error = gpu.first_error.clone();
        gpu.device.set_device_lost_callback(move |_, reason| {
            let _ = first_error.set(reason);
        });
        Ok(gpu)
    }

    /// Wraps a device opened elsewhere, such as Bevy's.
    ///
    /// # Errors
    /// Returns an error if the device is too limited.
    pub fn from_device(device: Device, queue: Queue, info: AdapterInfo) -> Result<Self, GpuFault> {
        let limits = device.limits();
        let needs = [
            ("storage buffers in a shader", limits.max_storage_buffers_per_shader_stage, STORAGE_BUFFERS),
            ("threads in a workgroup", limits.max_compute_invocations_per_workgroup, THREADS_IN_GROUP),
        ];
        for (limit, found, needed) in needs {
            if found < needed {
                let (found, needed) = (u64::from(found), u64::from(needed));
                return Err(GpuFault::TooLimited { adapter: info.name, limit, found, needed });
            }
        }
        Ok(Self { device, queue, info, first_error: Arc::default(), bake_kernels: Arc::default() })
    }

    /// Runs an allocation and returns its device errors, which would otherwise end an app that shares the device.
    ///
    /// A browser reports them later. There they are logged, and [`Self::check`] returns them.
    pub(super) fn guarded<T>(
        &self,
        what: &'static str,
        make: impl FnOnce() -> Result<T, GpuFault>,
    ) -> Result<T, GpuFault> {
        let memory = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        // A failed allocation also causes a validation error.
        let validity = self.device.push_error_scope(ErrorFilter::Validation);
        let made = make();
        let (invalid, memory) = (validity.pop(), memory.pop());
        let error = async move {
            let invalid = invalid.await;
            memory.await.or(invalid)
        };
        let adapter = self.name().to_owned();
        let no_room = move |error: wgpu::Error| GpuFault::NoRoom { what, reason: error.to_string(), adapter };
        let (first_error, report) = (Arc::clone(&self.first_error), no_room.clone());
        let error = at_once_or_later(error, move |error| {
            if let Some(fault) = error.map(report) {
                log::error!("{fault}");
                let _ = first_error.set(fault.to_string());
            }
        });
        error.flatten().map_or(made, |error| Err(no_room(error)))
    }

    /// Returns the pipelines of bakes, which are compiled once for a device, since that takes seconds.
    pub(super) fn bake_kernels(&self) -> Arc<BakeKernels> {
        Arc::clone(self.bake_kernels.get_or_init(|| Arc::new(BakeKernels::new(self))))
    }

    /// Returns the name of the adapter.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns an error if the device is known to have failed.
    pub(super) fn check(&self) -> Result<(), GpuFault> {
        match self.first_error.get() {
            None => Ok(()),
            Some(error) => Err(GpuFault::Lost(error.clone())),
        }
    }

    /// Returns true if the adapter is known to be hardware. A browser does not tell.
    pub fn is_hardware(&self) -> bool {
        use DeviceType::{DiscreteGpu, IntegratedGpu, VirtualGpu};
        matches!(self.info.device_type, DiscreteGpu | IntegratedGpu | VirtualGpu)
    }

    /// Returns the device, for additional commands.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the queue that all work is submitted to.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }
}

fn no_answer() -> GpuFault {
    GpuFault::NoAdapter("a browser opens adapters later".to_owned())
}

fn limits_to_ask_for(adapter: &Adapter) -> Limits {
    match std::env::var("WGPU_SETTINGS_PRIO").as_deref() {
        Ok("webgpu") => Limits::default(),
        _ => adapter.limits(),
    }
}

/// Returns the device for tests. Without a device, skips the test and returns `None`.
#[cfg(test)]
pub(crate) fn test_device() -> Option<Gpu> {
    static DEVICE: std::sync::OnceLock<Result<Gpu, GpuFault>> = std::sync::OnceLock::new();
    match DEVICE.get_or_init(Gpu::headless) {
        Ok(gpu) => Some(gpu.clone()),
        Err(fault) => {
            crate::skip::skip_without_gpu(&fault.to_string());
            None
        }
    }
}

/// Returns a separate device, for tests that lose it.
#[cfg(test)]
pub(crate) fn test_device_of_its_own() -> Option<Gpu> {
    test_device()?;
    Some(Gpu::headless().expect("a device like the one before"))
}

/// Returns a separate device with a maximum storage binding size, in bytes.
#[cfg(test)]
pub(crate) fn small_test_device(bytes: u64) -> Option<Gpu> {
    test_device()?;
    let limits = Limits { max_storage_buffer_binding_size: bytes, ..Limits::default() };
    Some(Gpu::open(|_| limits).expect("a device like the one before"))
}
