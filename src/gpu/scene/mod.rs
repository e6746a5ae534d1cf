//! Scene in device memory: buffers and textures that every tracing kernel binds as its first group.
//!
//! [`GpuScene`] uploads the trees (`tree.rs`), triangle records (`triangles.rs`), surface records with materials
//! (`surfaces.rs`), textures (`textures.rs`), emitters (`emitters.rs`) and the start of light paths (`emissions.rs`).
//! [`GpuMovers`] changes the transforms of moving objects (`movers.rs`, `placement.rs`, `list.rs`) and returns the writes
//! as a [`SceneChange`].

mod emissions;
mod emitters;
mod list;
mod movers;
mod placement;
mod surfaces;
#[cfg(test)]
mod tests;
mod textures;
mod tree;
mod triangles;

use bytemuck::{Pod, Zeroable};
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry,
    BindingResource, BindingType, Buffer, BufferBindingType, ShaderStages, TextureSampleType, TextureView,
    TextureViewDimension,
};

use super::{Gpu, GpuFault, Stack, Trees};
use crate::accel::{Preset, Tree};
use crate::geometry::{SurfaceId, sobol};
use crate::lights::LightSampler;
use crate::pathtrace::{glass_losses, layer_albedos};
use crate::scene::{Scene, linear_of_srgb};

use self::emissions::GpuEmissions;
use self::emitters::Emitters;
use self::list::Entry;
use self::movers::{MoverBuffers, Standing, list_of};
use self::textures::Textures;

pub use self::movers::{GpuMovers, SceneChange};
pub use self::tree::GpuTree;

/// Index in the tables of the sky's emitter.
const SKY_EMITTER: usize = 0;
/// Index in the tables of the light tree's word offset.
const LIGHT_TREE: usize = 1;
/// Index in the tables of the number of emitters.
const EMITTERS: usize = 2;
/// Null index of the shaders.
const NONE: u32 = u32::MAX;

/// Scene in the shaders' layout: trees, triangles, materials, textures and lights, ready to be bound.
///
/// Uses at most six of the eight storage buffers of a shader, which leaves two for a kernel's output.
pub struct GpuScene {
    bind_group: BindGroup,
    sources: Vec<(SurfaceId, u32)>,
    movers: GpuMovers,
    has_ropes: bool,
}

/// Counterpart of `SceneHeader` in `scene.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct SceneHeader {
    bounds_min: [f32; 3],
    padding_0: u32,
    bounds_max: [f32; 3],
    reach: f32,
    sky_radiance: [f32; 3],
    padding_1: u32,
}

/// Binding indices of the first group.
mod binding {
    pub const HEADER: u32 = 0;
    pub const SOBOL: u32 = 1;
    pub const LAYER_ALBEDOS: u32 = 2;
    pub const NODES: u32 = 3;
    pub const REFERENCES: u32 = 4;
    pub const TRIANGLES: u32 = 5;
    pub const TABLES: u32 = 6;
    pub const SURFACES: u32 = 7;
    pub const EMITTERS: u32 = 8;
    pub const LINEAR_OF_SRGB: u32 = 9;
    pub const EIGHT_BIT_TEXTURES: u32 = 10;
    pub const FLOAT_TEXTURES: u32 = 11;
    pub const GLASS_LOSSES: u32 = 12;
}

impl GpuScene {
    /// Builds the trees of a scene, moving objects included, and uploads everything.
    ///
    /// # Errors
    /// Returns an error if some data exceed the size of a shader binding.
    pub fn new(gpu: &Gpu, scene: &Scene) -> Result<Self, GpuFault> {
        Self::with_tree(gpu, scene, &GpuTree::build(scene, &Preset::narrow()))
    }

    /// Uploads a scene with existing trees. The trees may belong to another scene with equal surfaces and transforms;
    /// only transforms of moving objects may differ.
    ///
    /// # Errors
    /// Returns an error if some data exceed the size of a shader binding.
    pub fn with_tree(gpu: &Gpu, scene: &Scene, trees: &GpuTree) -> Result<Self, GpuFault> {
        let textures = Textures::new(gpu, scene)?;
        let mut surfaces = surfaces::records(scene, &textures);
        let mut tables = vec![NONE; 3];
        let mut records = triangles::records(scene, trees.sources_at_rest(), &trees.twins, 0, &mut tables);
        let mut attributes_of_movers = Vec::with_capacity(trees.movers.len());
        for mover in &trees.movers {
            attributes_of_movers.push(tables.len() as u32);
            records.extend(triangles::records(scene, trees.sources_of(mover), &[], 0, &mut tables));
        }
        let lights = if trees.is_of_bake { LightSampler::new(scene) } else { LightSampler::with_movers(scene) };
        let emitters = Emitters::new(scene, &lights, trees, &textures, &mut surfaces, &mut tables);
        tables[SKY_EMITTER] = emitters.sky_emitter.unwrap_or(NONE);
        tables[LIGHT_TREE] = emitters.tree_at;
        tables[EMITTERS] = lights.emitters() as u32;

        let (mut nodes, references, roots) = trees.joined();
        let standing = trees.movers.iter().zip(attributes_of_movers).map(|(&mover, attributes)| {
            let record = surfaces[mover.surface.index()];
            Standing::new(scene, trees, mover, roots[mover.object], attributes, record)
        });
        let standing: Vec<Standing> = standing.collect();
        for (surface, record) in standing.iter().map(Standing::record) {
            surfaces[surface.index()] = record;
        }
        let list_start = nodes.len() as u32;
        let (list, place) = list_of(&standing, list_start);
        nodes[list::PLACE as usize] = place;
        nodes.extend(bytemuck::cast_slice::<Entry, list::Node>(&list));
        // Room for objects whose transform is singular now, but may become regular later.
        nodes.resize(list_start as usize + list::longest(standing.len()) * list::NODES, [0; 2]);

        let header = gpu.uniform("scene", &[header(trees.tree(), &emitters)]);
        let layer_albedos = gpu.uniform("albedos of glossy layers", &layer_albedos());
        let glass_losses = gpu.uniform("losses of rough glass", &glass_losses());
        let sobol = gpu.uniform("Sobol points", sobol::contributions_of_groups());
        let linear_of_srgb = gpu.uniform("sRGB", linear_of_srgb());
        let nodes = gpu.storage("the trees' nodes", &nodes)?;
        let references = gpu.storage("the trees' references", &references)?;
        let triangles = gpu.storage("the triangles", &records)?;
        let tables = gpu.storage("normals, texture coordinates and lights", &tables)?;
        let surfaces = gpu.storage("the surfaces", &surfaces)?;
        let records = gpu.storage("the lights", &emitters.records)?;
        let emissions = GpuEmissions::new(gpu, scene, &lights)?;
        let buffers: [(u32, &Buffer); 11] = [
            (binding::HEADER, &header),
            (binding::SOBOL, &sobol),
            (binding::LAYER_ALBEDOS, &layer_albedos),
            (binding::GLASS_LOSSES, &glass_losses),
            (binding::LINEAR_OF_SRGB, &linear_of_srgb),
            (binding::NODES, &nodes),
            (binding::REFERENCES, &references),
            (binding::TRIANGLES, &triangles),
            (binding::TABLES, &tables),
            (binding::SURFACES, &surfaces),
            (binding::EMITTERS, &records),
        ];
        let views: [(u32, &TextureView); 2] =
            [(binding::EIGHT_BIT_TEXTURES, &textures.eight_bits), (binding::FLOAT_TEXTURES, &textures.float)];
        let buffers = buffers.map(|(binding, buffer)| BindGroupEntry { binding, resource: buffer.as_entire_binding() });
        let views =
            views.map(|(binding, view)| BindGroupEntry { binding, resource: BindingResource::TextureView(view) });
        let bind_group = gpu.device.create_bind_group(&BindGroupDescriptor {
            label: Some("scene"),
            layout: &Self::layout(gpu),
            entries: &[&buffers[..], &views[..]].concat(),
        });
        let buffers = MoverBuffers { nodes, triangles, tables, surfaces, emitters: records };
        let at_rest = trees.tree().bounds();
        let movers = GpuMovers::new(buffers, standing, list_start, emitters, emissions, at_rest);
        Ok(Self { bind_group, sources: trees.sources.clone(), movers, has_ropes: trees.has_ropes })
    }

    /// Returns the trees that rays must be traced in: all if there are moving objects.
    pub fn trees(&self) -> Trees {
        if self.movers.is_empty() { Trees::Static } else { Trees::All }
    }

    /// Returns the moving objects, to change their transforms.
    pub fn movers(&self) -> GpuMovers {
        self.movers.clone()
    }

    /// Returns the start of light paths, as uploaded.
    pub(super) fn emissions(&self) -> &GpuEmissions {
        self.movers.emissions()
    }

    /// Returns the surface and mesh triangle of a triangle on the device.
    pub fn source(&self, triangle: u32) -> Option<(SurfaceId, u32)> {
        self.sources.get(triangle as usize).copied()
    }

    /// Returns the device index of each triangle of the scene, in scene order, or `u32::MAX`.
    pub(super) fn numbers(&self, scene: &Scene) -> Vec<u32> {
        emitters::numbers_in_tree(scene, &scene.first_triangles(), &self.sources)
    }

    pub(super) fn bind_group(&self) -> &BindGroup {
        &self.bind_group
    }

    /// Returns the group for a kernel with a stack, which must be able to trace rays in this scene.
    pub(super) fn bind_group_for(&self, stack: Stack) -> &BindGroup {
        assert!(self.has_ropes || stack != Stack::Ropes, "the scene has no ropes: call `GpuTree::for_stack` first");
        &self.bind_group
    }

    /// Returns the layout of the first group of every tracing kernel.
    pub(super) fn layout(gpu: &Gpu) -> BindGroupLayout {
        let uniform = |binding| entry(binding, buffer(BufferBindingType::Uniform));
        let storage = |binding| entry(binding, buffer(BufferBindingType::Storage { read_only: true }));
        let texture = |binding| {
            entry(
                binding,
                BindingType::Texture {
                    sample_type: TextureSampleType::Float { filterable: false },
                    view_dimension: TextureViewDimension::D2Array,
                    multisampled: false,
                },
            )
        };
        gpu.device.create_bind_group_layout(&BindGroupLayoutDescriptor {
            label: Some("scene"),
            entries: &[
                uniform(binding::HEADER),
                uniform(binding::SOBOL),
                uniform(binding::LAYER_ALBEDOS),
                uniform(binding::GLASS_LOSSES),
                storage(binding::NODES),
                storage(binding::REFERENCES),
                storage(binding::TRIANGLES),
                storage(binding::TABLES),
                storage(binding::SURFACES),
                storage(binding::EMITTERS),
                uniform(binding::LINEAR_OF_SRGB),
                texture(binding::EIGHT_BIT_TEXTURES),
                texture(binding::FLOAT_TEXTURES),
            ],
        })
    }
}

/// Creates a layout entry for compute shaders.
pub(super) fn entry(binding: u32, ty: BindingType) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry { binding, visibility: ShaderStages::COMPUTE, ty, count: None }
}

/// Returns the binding type of a whole buffer.
pub(super) fn buffer(ty: BufferBindingType) -> BindingType {
    BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None }
}

fn header(tree: &Tree, emitters: &Emitters) -> SceneHeader {
    let bounds = tree.bounds();
    // An empty box would hold infinities, which WGSL does not have.
    let (min, max) = if bounds.is_empty() { (glam::Vec3::ONE, glam::Vec3::NEG_ONE) } else { (bounds.min, bounds.max) };
    SceneHeader {
        bounds_min: min.to_array(),
        padding_0: 0,
        bounds_max: max.to_array(),
        reach: min.abs().max(max.abs()).max_element(),
        sky_radiance: emitters.sky_radiance.to_array(),
        padding_1: 0,
    }
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    SceneHeader as SceneHeader { bounds_min, padding_0, bounds_max, reach, sky_radiance, padding_1 }
}
