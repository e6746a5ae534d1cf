//! Moving objects, whose transforms change without a rebuild.

use bytemuck::NoUninit;
use glam::{Affine3A, Mat3};
use wgpu::Buffer;

use super::super::Gpu;
use super::emissions::GpuEmissions;
use super::emitters::Emitters;
use super::list::{self, Entry};
use super::placement::{Placement, box_in_world};
use super::tree::{GpuTree, Mover};
use super::{surfaces, triangles};
use crate::geometry::{Aabb, SurfaceId};
use crate::scene::Scene;

/// Moving objects of a [`GpuScene`](super::GpuScene), with their transforms.
#[derive(Clone)]
pub struct GpuMovers {
    buffers: MoverBuffers,
    /// Objects, ordered by surface.
    movers: Vec<Standing>,
    /// Index of the node at which the list starts.
    list_start: u32,
    emitters: Emitters,
    emissions: GpuEmissions,
    /// Bounding box of all static surfaces.
    at_rest: Aabb,
}

/// Buffers that depend on transforms.
#[derive(Clone)]
pub(super) struct MoverBuffers {
    pub nodes: Buffer,
    pub triangles: Buffer,
    pub tables: Buffer,
    pub surfaces: Buffer,
    pub emitters: Buffer,
}

/// Moving object with its transform.
#[derive(Clone)]
pub(super) struct Standing {
    mover: Mover,
    root: u32,
    /// Word offset in the tables of its triangles' attributes.
    attributes: u32,
    record: surfaces::Record,
    /// Bounding box in world space; `None` for a singular transform.
    bounds: Option<Aabb>,
    /// Shape under which the emission was sampled last.
    shape: Mat3,
}

/// Writes to device memory that apply a move.
#[derive(Default)]
pub struct SceneChange {
    writes: Vec<(Buffer, u64, Vec<u8>)>,
}

impl SceneChange {
    /// Writes the changes into the buffers, before subsequent submissions.
    pub fn write(&self, gpu: &Gpu) {
        for (buffer, offset, bytes) in &self.writes {
            gpu.queue.write_buffer(buffer, *offset, bytes);
        }
    }

    /// Adds a write of array elements, starting at index `first`.
    fn add<T: NoUninit>(&mut self, buffer: &Buffer, first: u32, content: &[T]) {
        if !content.is_empty() {
            let offset = u64::from(first) * size_of::<T>() as u64;
            self.writes.push((buffer.clone(), offset, bytemuck::cast_slice(content).to_vec()));
        }
    }
}

impl GpuMovers {
    pub(super) fn new(
        buffers: MoverBuffers,
        movers: Vec<Standing>,
        list_start: u32,
        emitters: Emitters,
        emissions: GpuEmissions,
        at_rest: Aabb,
    ) -> Self {
        Self { buffers, movers, list_start, emitters, emissions, at_rest }
    }

    pub(super) fn emissions(&self) -> &GpuEmissions {
        &self.emissions
    }

    pub(super) fn is_empty(&self) -> bool {
        self.movers.is_empty()
    }

    /// Moves some objects to their transforms in `scene`, which must otherwise equal the uploaded scene. `trees` are
    /// the uploaded trees. The change must be written before the next call.
    pub fn place(&mut self, scene: &Scene, trees: &GpuTree, moved: impl IntoIterator<Item = SurfaceId>) -> SceneChange {
        let mut change = SceneChange::default();
        let mut are_lights_changed = false;
        for surface in moved {
            let Ok(index) = self.movers.binary_search_by_key(&surface, |standing| standing.mover.surface) else {
                continue;
            };
            let standing = &mut self.movers[index];
            standing.stand(scene, trees);
            let mut attributes = Vec::new();
            let sources = trees.sources_of(&standing.mover);
            let records = triangles::records(scene, sources, &[], standing.attributes, &mut attributes);
            change.add(&self.buffers.triangles, standing.mover.first_triangle, &records);
            change.add(&self.buffers.tables, standing.attributes, &attributes);
            change.add(&self.buffers.surfaces, surface.0, &[standing.record]);
            if standing.record.emitter != super::NONE {
                if let Some((place, cumulative)) = standing.weigh_light(scene, &mut self.emitters) {
                    change.add(&self.buffers.tables, place, &cumulative);
                }
                self.emitters.place_surface(scene, surface, standing.record.emitter);
                are_lights_changed = true;
            }
        }
        let (list, nodes_of_list) = list_of(&self.movers, self.list_start);
        change.add(&self.buffers.nodes, list::PLACE, &[nodes_of_list]);
        change.add(&self.buffers.nodes, self.list_start, bytemuck::cast_slice::<Entry, list::Node>(&list));
        let bounds = self.movers.iter().filter_map(|standing| standing.bounds).fold(self.at_rest, Aabb::union);
        let header = self.emissions.within(bounds);
        change.add(self.emissions.buffer(), 0, &[header]);
        if are_lights_changed {
            change.add(&self.buffers.tables, self.emitters.tree_at, &self.emitters.grow_tree());
            change.add(&self.buffers.emitters, 0, &self.emitters.records);
        }
        change
    }
}

/// Builds the list of all objects with a regular transform, and the node with its start and end.
pub(super) fn list_of(movers: &[Standing], start: u32) -> (Vec<Entry>, list::Node) {
    let boxes = movers.iter().filter_map(|standing| Some((standing.bounds?, standing.mover.surface)));
    let list = list::list_of(boxes.collect(), start);
    let end = start + (list.len() * list::NODES) as u32;
    (list, [start, end])
}

impl Standing {
    /// Creates an object at its transform in the scene. `attributes` is the word offset of its triangles' attributes.
    /// `record` describes its surface, and receives the placement.
    pub fn new(
        scene: &Scene,
        trees: &GpuTree,
        mover: Mover,
        root: u32,
        attributes: u32,
        record: surfaces::Record,
    ) -> Self {
        let shape = shape_of(&scene.surface(mover.surface).to_world);
        let mut standing = Self { mover, root, attributes, record, bounds: None, shape };
        standing.stand(scene, trees);
        standing
    }

    /// Returns the surface and its device record.
    pub fn record(&self) -> (SurfaceId, surfaces::Record) {
        (self.mover.surface, self.record)
    }

    fn stand(&mut self, scene: &Scene, trees: &GpuTree) {
        let surface = scene.surface(self.mover.surface);
        let in_tree = trees.objects[self.mover.object].tree.bounds();
        let placement = Placement::new(&surface.to_world, in_tree, self.root, self.mover.first_triangle);
        self.bounds = placement.map(|_| box_in_world(&surface.to_world, in_tree));
        self.record.stand(surface, placement.unwrap_or_default());
    }

    /// Recomputes the sampling table of the emission if the shape has changed. Returns its word offset and the
    /// cumulative probabilities of triangles.
    fn weigh_light(&mut self, scene: &Scene, emitters: &mut Emitters) -> Option<(u32, Vec<f32>)> {
        /// Relative tolerance. Triangles are sampled by power, which need not be exact.
        const TOLERANCE: f32 = 1e-3;
        let shape = shape_of(&scene.surface(self.mover.surface).to_world);
        let largest = self.shape.to_cols_array().iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        if shape.abs_diff_eq(self.shape, TOLERANCE * largest) {
            return None;
        }
        self.shape = shape;
        emitters.weigh_surface(scene, self.mover.surface, self.record.emitter)
    }
}

/// Returns a matrix that is invariant under rotations, translations and reflections of the transform.
fn shape_of(to_world: &Affine3A) -> Mat3 {
    let matrix = Mat3::from(to_world.matrix3);
    matrix.transpose() * matrix
}
