//! The device that kernels run on.

use std::sync::{Arc, OnceLock};

use wgpu::{
    Adapter, AdapterInfo, Device, DeviceDescriptor, DeviceType, ErrorFilter, Instance, InstanceDescriptor, Limits,
    PowerPreference, Queue, RequestAdapterOptions,
};

/// A graphics card, or software that stands in for one.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(super) device: Device,
    pub(super) queue: Queue,
    info: AdapterInfo,
    /// The first thing that went wrong on a device of our own; whoever opened another hears of it there.
    first_error: Arc<OnceLock<String>>,
}

/// Why there is nothing to trace on, or no longer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GpuFault {
    /// There is no adapter at all.
    #[error("no graphics adapter was found ({0}): install its driver, or stay with the CPU")]
    NoAdapter(String),
    /// An adapter offers less than WebGPU does.
    #[error("the graphics adapter {adapter} allows only {found} {limit} where {needed} are needed: use the CPU")]
    TooLimited {
        /// What the adapter is called.
        adapter: String,
        /// What there is too little of.
        limit: &'static str,
        /// How much there is.
        found: u64,
        /// How much is needed.
        needed: u64,
    },
    /// A scene does not fit into what a shader may see.
    #[error(
        "{what} take {bytes} bytes, more than the {limit} that {adapter} lets a shader see: use the CPU, or less of them"
    )]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        limit: u64,
        /// What the adapter is called.
        adapter: String,
    },
    /// Precomputed transport does not fit into what a shader may see.
    #[error(
        "the transport of {patches} patches takes {bytes} bytes, more than the {limit} that {adapter} lets a shader see: \
         use the CPU, or precompute it with at most {fit} patches"
    )]
    TooManyPatches {
        /// How many patches there are.
        patches: usize,
        /// About how many would fit.
        fit: usize,
        /// How large its largest array is.
        bytes: u64,
        /// How large it may be.
        limit: u64,
        /// What the adapter is called.
        adapter: String,
    },
    /// The device could not do what its limits allow.
    #[error("{adapter} has no room for {what}: {reason}; use the CPU, or less of them")]
    NoRoom {
        /// What there is no room for.
        what: &'static str,
        /// What the device says.
        reason: String,
        /// What the adapter is called.
        adapter: String,
    },
    /// The device went away while it worked.
    #[error("the graphics device was lost: {0}")]
    Lost(String),
}

/// What every kernel counts on: WebGPU's own limits.
const STORAGE_BUFFERS: u32 = 8;
const THREADS_IN_GROUP: u32 = 256;

impl Gpu {
    /// The fastest adapter there is, in a process that draws nothing. With `WGPU_SETTINGS_PRIO=webgpu` in the environment
    /// it is asked for no more than WebGPU promises, as Bevy is.
    ///
    /// # Errors
    /// When there is none, or it offers too little.
    pub fn headless() -> Result<Self, GpuFault> {
        Self::open(limits_to_ask_for)
    }

    /// The same with other limits.
    pub(super) fn open(limits: impl FnOnce(&Adapter) -> Limits) -> Result<Self, GpuFault> {
        let instance = Instance::new(InstanceDescriptor::new_without_display_handle_from_env());
        let options =
            RequestAdapterOptions { power_preference: PowerPreference::HighPerformance, ..Default::default() };
        let adapter = pollster::block_on(instance.request_adapter(&options))
            .map_err(|fault| GpuFault::NoAdapter(fault.to_string()))?;
        let descriptor =
            DeviceDescriptor { label: Some("radiosity"), required_limits: limits(&adapter), ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|fault| GpuFault::NoAdapter(fault.to_string()))?;
        let gpu = Self::from_device(device, queue, adapter.get_info())?;
        let first_error = gpu.first_error.clone();
        // Otherwise an error ends the process.
        gpu.device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let _ = first_error.set(error.to_string());
        }));
        let first_error = gpu.first_error.clone();
        gpu.device.set_device_lost_callback(move |_, reason| {
            let _ = first_error.set(reason);
        });
        Ok(gpu)
    }

    /// A device that someone else has opened, such as Bevy.
    ///
    /// # Errors
    /// When it offers too little.
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
        Ok(Self { device, queue, info, first_error: Arc::default() })
    }

    /// Answers what goes wrong while things are put into the device's memory, which would end an app that draws there too.
    pub(super) fn guarded<T>(
        &self,
        what: &'static str,
        make: impl FnOnce() -> Result<T, GpuFault>,
    ) -> Result<T, GpuFault> {
        let memory = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        // What found no memory is not valid either.
        let validity = self.device.push_error_scope(ErrorFilter::Validation);
        let made = make();
        let invalid = pollster::block_on(validity.pop());
        match pollster::block_on(memory.pop()).or(invalid) {
            Some(error) => Err(GpuFault::NoRoom { what, reason: error.to_string(), adapter: self.name().to_owned() }),
            None => made,
        }
    }

    /// What the adapter is called.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Whether the device still works, as far as is known.
    pub(super) fn check(&self) -> Result<(), GpuFault> {
        match self.first_error.get() {
            None => Ok(()),
            Some(error) => Err(GpuFault::Lost(error.clone())),
        }
    }

    /// False where a CPU only stands in for a graphics card.
    pub fn is_hardware(&self) -> bool {
        self.info.device_type != DeviceType::Cpu
    }

    /// The device, for those who record their own commands beside ours.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The queue that all work is submitted to.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }
}

fn limits_to_ask_for(adapter: &Adapter) -> Limits {
    match std::env::var("WGPU_SETTINGS_PRIO").as_deref() {
        Ok("webgpu") => Limits::default(),
        _ => adapter.limits(),
    }
}

/// The device that tests run on: every one of them says when there is none, and where one is required it must be there.
#[cfg(test)]
pub(crate) fn test_device() -> Option<Gpu> {
    static DEVICE: std::sync::OnceLock<Result<Gpu, GpuFault>> = std::sync::OnceLock::new();
    match DEVICE.get_or_init(Gpu::headless) {
        Ok(gpu) => Some(gpu.clone()),
        Err(fault) if std::env::var_os("RADIOSITY_REQUIRE_GPU").is_some() => panic!("{fault}"),
        Err(fault) => {
            eprintln!("skipped: {fault}");
            None
        }
    }
}

/// Another of the same kind, for tests that lose it.
#[cfg(test)]
pub(crate) fn test_device_of_its_own() -> Option<Gpu> {
    test_device()?;
    Some(Gpu::headless().expect("a device like the one before"))
}

/// Another of the same kind, of which shaders see no more than so many bytes of a buffer.
#[cfg(test)]
pub(crate) fn small_test_device(bytes: u64) -> Option<Gpu> {
    test_device()?;
    let limits = Limits { max_storage_buffer_binding_size: bytes, ..Limits::default() };
    Some(Gpu::open(|_| limits).expect("a device like the one before"))
}
