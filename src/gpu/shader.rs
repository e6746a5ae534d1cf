//! Shaders, joined from pieces of plain WGSL, and their pipelines.

use wgpu::{
    BindGroupLayout, ComputePipeline, ComputePipelineDescriptor, Device, PipelineCompilationOptions,
    PipelineLayoutDescriptor, ShaderModule, ShaderModuleDescriptor, ShaderSource,
};

use super::Gpu;

/// Includes pieces of WGSL from `shaders/`.
macro_rules! pieces {
    ($($name:literal),* $(,)?) => {
        [$(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $name, ".wgsl"))),*]
    };
}
#[cfg(test)]
pub(super) use pieces;

/// Shader that the crate hands to a device. There are no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shader {
    /// Individual rays.
    Rays(Stack, Trees),
    /// Camera paths.
    Paths(Stack, Trees),
    /// Whitted's trees of rays.
    Whitted(Trees),
    /// Light paths.
    LightPaths(Trees),
    /// Light that light paths bring to the pixels of a film.
    Splats,
    /// Denoiser of pictures.
    Filter,
    /// Rays of a bake.
    BakeRays,
    /// Rays of a bake by element: what they start with, and what they bring.
    BakeSums,
    /// Iteration over stored hits.
    Sweep,
    /// Rays through a partition.
    CellRays,
    /// Rays of a partition's elements, which are counted.
    SubsceneRays,
    /// Light that counted rays bring to elements.
    SubsceneUpdate,
    /// Products with low-rank transport.
    LowRank,
    /// Smoothing of indirect light between elements.
    Smooth,
    /// Texels of a lightmap page.
    Page,
    /// Picture of the live view on the camera's target.
    LiveDraw,
}

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
    /// No stack: links lead from leaf to leaf. The scene must have them: see
    /// [`GpuTree::for_stack`](super::GpuTree::for_stack).
    Ropes,
}

impl Stack {
    /// Every stack.
    pub(super) const ALL: [Self; 4] = [Self::Short, Self::Restart, Self::Full, Self::Ropes];

    /// Returns the constants and functions of the traversal.
    fn source(self) -> String {
        let [with_stack, ropes] = pieces!["accel/stack", "accel/ropes"];
        let entries = match self {
            Self::Short => 8,
            Self::Restart => 0,
            Self::Full => 32,
            Self::Ropes => return ropes.to_owned(),
        };
        let sizes = [("STACK_SIZE", entries), ("STACK_ENTRIES", entries.max(1))];
        sizes.map(|(name, value)| format!("const {name}: u32 = {value}u;\n")).concat() + with_stack
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

impl Shader {
    /// Returns all shaders.
    pub fn all() -> Vec<Self> {
        let trees = [Trees::Static, Trees::All];
        let variants = Stack::ALL.into_iter().flat_map(|stack| trees.map(|trees| (stack, trees)));
        let tracing = variants.flat_map(|(stack, trees)| [Self::Rays(stack, trees), Self::Paths(stack, trees)]);
        let others = [
            Self::Splats,
            Self::Filter,
            Self::BakeRays,
            Self::BakeSums,
            Self::Sweep,
            Self::CellRays,
            Self::SubsceneRays,
            Self::SubsceneUpdate,
            Self::LowRank,
            Self::Smooth,
            Self::Page,
            Self::LiveDraw,
        ];
        tracing.chain(trees.map(Self::Whitted)).chain(trees.map(Self::LightPaths)).chain(others).collect()
    }

    /// Returns the text of the shader, in WGSL.
    pub fn source(self) -> String {
        match self {
            Self::Rays(stack, trees) => tracing_source(stack, trees, &pieces!["gpu/blocks", "accel/rays"]),
            Self::Paths(stack, trees) => {
                let own = pieces![
                    "scene/color",
                    "lights/light",
                    "lights/light_tree",
                    "pathtrace/bsdf",
                    "pathtrace/camera",
                    "pathtrace/roulette",
                    "pathtrace/film",
                    "pathtrace/pixels",
                    "pathtrace/path",
                ];
                tracing_source(stack, trees, &own)
            }
            Self::Whitted(trees) => {
                let own = pieces![
                    "scene/color",
                    "lights/light",
                    "pathtrace/bsdf",
                    "pathtrace/camera",
                    "pathtrace/film",
                    "pathtrace/pixels",
                    "pathtrace/whitted",
                ];
                tracing_source(Stack::default(), trees, &own)
            }
            Self::LightPaths(trees) => {
                let own = pieces![
                    "scene/color",
                    "lights/light",
                    "lights/emission",
                    "pathtrace/bsdf",
                    "pathtrace/camera",
                    "pathtrace/roulette",
                    "gpu/blocks",
                    "gpu/deposits",
                    "pathtrace/light_path",
                ];
                tracing_source(Stack::default(), trees, &own)
            }
            Self::Splats => pieces!["scene/color", "gpu/threads", "pathtrace/film", "pathtrace/splats"].join("\n"),
            Self::Filter => pieces!["scene/color", "pathtrace/film", "pathtrace/filter"].join("\n"),
            Self::BakeRays => {
                let own = pieces![
                    "scene/color",
                    "lights/light",
                    "gpu/threads",
                    "radiosity/ray_task",
                    "lightmap/surface_point",
                    "lightmap/elements",
                    "lights/light_pmf",
                    "radiosity/transport",
                    "radiosity/bright",
                    "radiosity/bake_rays",
                ];
                tracing_source(Stack::default(), Trees::Static, &own)
            }
            Self::BakeSums => {
                pieces!["scene/color", "gpu/threads", "radiosity/ray_task", "gpu/deposits", "radiosity/bake_sums"]
                    .join("\n")
            }
            Self::Sweep => pieces!["gpu/threads", "radiosity/sweep"].join("\n"),
            Self::CellRays => cell_source(pieces!["partition/cell_rays"]),
            Self::SubsceneRays => cell_source(pieces!["radiosity/subscene_rays"]),
            Self::SubsceneUpdate => pieces!["gpu/threads", "radiosity/subscene_update"].join("\n"),
            Self::LowRank => pieces!["gpu/threads", "low_rank/low_rank"].join("\n"),
            Self::Smooth => pieces!["gpu/threads", "low_rank/smooth"].join("\n"),
            Self::Page => pieces!["gpu/threads", "lightmap/texel_format", "relight/page"].join("\n"),
            Self::LiveDraw => pieces!["scene/color", "plugin/live_draw"].join("\n"),
        }
    }

    /// Hands the shader to a device.
    #[expect(clippy::disallowed_methods, reason = "no other code hands a shader to a device")]
    pub fn compile(self, device: &Device) -> ShaderModule {
        debug_assert!(Self::all().contains(&self), "{self:?} is not listed");
        let source = ShaderSource::Wgsl(self.source().into());
        device.create_shader_module(ShaderModuleDescriptor { label: Some(&format!("{self:?}")), source })
    }
}

/// Returns the source of a shader that traces rays through cells: all shared pieces, then `own`.
fn cell_source(own: [&str; 1]) -> String {
    let shared = pieces![
        "gpu/blocks",
        "geometry/random",
        "geometry/sampling",
        "geometry/triangle",
        "partition/cells",
        "partition/fine",
    ];
    [&shared[..], &own].concat().join("\n")
}

/// Returns the source of a shader that traces rays: all shared pieces, then `own`.
pub(super) fn tracing_source(stack: Stack, trees: Trees, own: &[&str]) -> String {
    let movers = format!("const TRACES_MOVERS: bool = {};\n", trees == Trees::All);
    let shared = pieces![
        "scene/scene",
        "geometry/random",
        "geometry/sampling",
        "geometry/triangle",
        "accel/kdtree",
        "scene/material",
        "scene/albedo",
        "pathtrace/vertex",
    ];
    [&[&*movers, &*stack.source()], &shared[..], own].concat().join("\n")
}

impl Gpu {
    pub(super) fn compute_pipeline(
        &self,
        module: &ShaderModule,
        entry_point: &str,
        layouts: &[&BindGroupLayout],
    ) -> ComputePipeline {
        self.compute_pipeline_with(module, entry_point, layouts, &[])
    }

    /// Creates a pipeline with values for the `override` constants of its shader.
    pub(super) fn compute_pipeline_with(
        &self,
        module: &ShaderModule,
        entry_point: &str,
        layouts: &[&BindGroupLayout],
        constants: &[(&str, f64)],
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
            compilation_options: PipelineCompilationOptions { constants, ..Default::default() },
            cache: None,
        })
    }
}

/// Returns columns and rows of workgroups for `count` threads.
pub(super) fn groups_of(count: u32, threads: u32) -> (u32, u32) {
    const LONGEST_ROW: u32 = 65_535;
    let groups = count.div_ceil(threads);
    let rows = groups.div_ceil(LONGEST_ROW).max(1);
    (groups.div_ceil(rows), rows)
}

/// Adds names and texts of all files in a folder of this package.
#[cfg(test)]
pub(super) fn texts_below(folder: &std::path::Path, texts: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts_below(&path, texts);
        } else {
            texts.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use wgpu::naga::front::wgsl;
    use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};

    use super::*;

    /// Returns the name of the file that a shader is written to.
    fn file_name(shader: Shader) -> String {
        let name = format!("{shader:?}");
        name.split(|letter: char| !letter.is_alphanumeric())
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("_")
    }

    #[test]
    fn each_shader_is_listed_once_and_each_file_of_wgsl_is_part_of_one() {
        let names: BTreeSet<String> = Shader::all().into_iter().map(file_name).collect();
        assert_eq!(names.len(), Shader::all().len());
        let sources: Vec<String> = Shader::all().into_iter().map(Shader::source).collect();
        let mut files = Vec::new();
        texts_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders"), &mut files);
        assert!(files.len() > 40);
        for (name, text) in files {
            assert!(sources.iter().any(|source| source.contains(&text)), "{name}");
        }
    }

    #[test]
    fn no_shader_needs_optional_features_of_webgpu() {
        // Other compilers read them there: `tests/shaders` and `tests/tint.py`.
        let folder = std::env::var_os("RADIOSITY_SHADERS");
        for shader in Shader::all() {
            let source = shader.source();
            let module = wgsl::parse_str(&source).unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)));
            let result = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
            result.unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)));
            if let Some(folder) = &folder {
                std::fs::create_dir_all(folder).unwrap();
                std::fs::write(Path::new(folder).join(file_name(shader)).with_extension("wgsl"), source).unwrap();
            }
        }
    }
}
