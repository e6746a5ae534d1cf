//! Shaders, joined from pieces of plain WGSL.

use wgpu::{
    BindGroupLayout, ComputePipeline, ComputePipelineDescriptor, PipelineCompilationOptions, PipelineLayoutDescriptor,
    ShaderModule, ShaderModuleDescriptor, ShaderSource,
};

use super::Gpu;

/// A piece of WGSL that several shaders share.
macro_rules! piece {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $name, ".wgsl"))
    };
}
pub(super) use piece;

/// How threads remember the cells that they have yet to visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stack {
    /// The last eight; a walk that needs an older one starts again.
    #[default]
    Short,
    /// None: every walk starts again after each leaf.
    Restart,
    /// All of them.
    Full,
}

impl Stack {
    fn entries(self) -> u32 {
        match self {
            Self::Short => 8,
            Self::Restart => 0,
            Self::Full => 32,
        }
    }
}

/// Which trees rays are sent into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trees {
    /// That of all that stands still: for scenes without movers, and a little faster there.
    Resting,
    /// Those of movers as well, for all scenes.
    All,
}

/// Everything that a shader needs which sends rays into a scene.
pub(super) fn tracing_source(stack: Stack, trees: Trees, own: &[&str]) -> String {
    let entries = stack.entries();
    let sizes = format!(
        "const STACK_SIZE: u32 = {entries}u;\nconst STACK_ENTRIES: u32 = {}u;\nconst WALKS_MOVERS: bool = {};\n",
        entries.max(1),
        trees == Trees::All
    );
    let shared = [
        piece!("scene"),
        piece!("random"),
        piece!("sampling"),
        piece!("triangle"),
        piece!("kdtree"),
        piece!("material"),
        piece!("albedo"),
        piece!("vertex"),
    ];
    core::iter::once(&*sizes).chain(shared).chain(own.iter().copied()).collect::<Vec<_>>().join("\n")
}

impl Gpu {
    pub(super) fn shader(&self, label: &str, source: String) -> ShaderModule {
        self.device.create_shader_module(ShaderModuleDescriptor {
            label: Some(label),
            source: ShaderSource::Wgsl(source.into()),
        })
    }

    pub(super) fn compute_pipeline(
        &self,
        module: &ShaderModule,
        entry_point: &str,
        layouts: &[&BindGroupLayout],
    ) -> ComputePipeline {
        let layouts: Vec<Option<&BindGroupLayout>> = layouts.iter().copied().map(Some).collect();
        let layout = self.device.create_pipeline_layout(&PipelineLayoutDescriptor {
            label: Some(entry_point),
            bind_group_layouts: &layouts,
            ..Default::default()
        });
        self.device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: Some(entry_point),
            layout: Some(&layout),
            module,
            entry_point: Some(entry_point),
            compilation_options: PipelineCompilationOptions::default(),
            cache: None,
        })
    }
}

/// Workgroups of 64 threads in a row and rows of them, so that there is a thread for each of `count` things.
pub(super) fn groups_of_64(count: u32) -> (u32, u32) {
    const LONGEST_ROW: u32 = 65_535;
    let groups = count.div_ceil(64);
    let rows = groups.div_ceil(LONGEST_ROW).max(1);
    (groups.div_ceil(rows), rows)
}
