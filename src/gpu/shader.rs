//! Shader modules, joined from pieces of plain WGSL.

use wgpu::{
    BindGroupLayout, ComputePipeline, ComputePipelineDescriptor, PipelineCompilationOptions, PipelineLayoutDescriptor,
    ShaderModule, ShaderModuleDescriptor, ShaderSource,
};

use super::Gpu;

/// Includes a piece of WGSL from `shaders/`.
macro_rules! piece {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $name, ".wgsl"))
    };
}
pub(super) use piece;

/// Traversal stack of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stack {
    /// Eight entries. A traversal that needs an older entry restarts from the root.
    #[default]
    Short,
    /// No stack: the traversal restarts after each leaf.
    Restart,
    /// Full stack.
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

/// Trees that rays are traced in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trees {
    /// Static surfaces only: slightly faster, for scenes without moving objects.
    Static,
    /// All surfaces, for any scene.
    All,
}

/// Returns the source of a shader that traces rays: all shared pieces, then `own`.
pub(super) fn tracing_source(stack: Stack, trees: Trees, own: &[&str]) -> String {
    let entries = stack.entries();
    let sizes = format!(
        "const STACK_SIZE: u32 = {entries}u;\nconst STACK_ENTRIES: u32 = {}u;\nconst TRACES_MOVERS: bool = {};\n",
        entries.max(1),
        trees == Trees::All
    );
    let shared = [
        piece!("scene/scene"),
        piece!("geometry/random"),
        piece!("geometry/sampling"),
        piece!("geometry/triangle"),
        piece!("accel/kdtree"),
        piece!("scene/material"),
        piece!("scene/albedo"),
        piece!("pathtrace/vertex"),
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

/// Returns columns and rows of 64-thread workgroups for `count` threads.
pub(super) fn groups_of_64(count: u32) -> (u32, u32) {
    const LONGEST_ROW: u32 = 65_535;
    let groups = count.div_ceil(64);
    let rows = groups.div_ceil(LONGEST_ROW).max(1);
    (groups.div_ceil(rows), rows)
}
