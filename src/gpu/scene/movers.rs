//! Movers, put elsewhere without building anything anew.

use bytemuck::NoUninit;
use glam::{Affine3A, Mat3};
use wgpu::Buffer;

use super::super::Gpu;
use super::emitters::Emitters;
use super::list::{self, Entry};
use super::placement::{Placement, box_in_world};
use super::tree::{GpuTree, Mover};
use super::{surfaces, triangles};
use crate::geometry::{Aabb, SurfaceId};
use crate::scene::Scene;

/// The movers of a [`GpuScene`](super::GpuScene), and where they stand.
#[derive(Clone)]
pub struct GpuMovers {
    buffers: MoverBuffers,
    /// In the order of their surfaces.
    movers: Vec<Standing>,
    /// The node that the list of movers starts at.
    list_start: u32,
    emitters: Emitters,
}

/// The buffers that know of movers.
#[derive(Clone)]
pub(super) struct MoverBuffers {
    pub nodes: Buffer,
    pub triangles: Buffer,
    pub tables: Buffer,
    pub surfaces: Buffer,
    pub emitters: Buffer,
}

/// A mover where it stands.
#[derive(Clone)]
pub(super) struct Standing {
    mover: Mover,
    root: u32,
    /// Where in the tables the attributes of its triangles start.
    attributes: u32,
    record: surfaces::Record,
    /// The box around it in the world; `None` where no ray can be taken to its space.
    bounds: Option<Aabb>,
    /// As its light was weighed.
    shape: Mat3,
}

/// What a move changes in the memory of a device.
#[derive(Default)]
pub struct SceneChange {
    writes: Vec<(Buffer, u64, Vec<u8>)>,
}

impl SceneChange {
    /// Writes it into the buffers, before what is submitted next.
    pub fn write(&self, gpu: &Gpu) {
        for (buffer, offset, bytes) in &self.writes {
            gpu.queue.write_buffer(buffer, *offset, bytes);
        }
    }

    /// Adds some of what a buffer is an array of, from the one numbered `first` on.
    fn add<T: NoUninit>(&mut self, buffer: &Buffer, first: u32, content: &[T]) {
        if !content.is_empty() {
            let offset = u64::from(first) * size_of::<T>() as u64;
            self.writes.push((buffer.clone(), offset, bytemuck::cast_slice(content).to_vec()));
        }
    }
}

impl GpuMovers {
    pub(super) fn new(buffers: MoverBuffers, movers: Vec<Standing>, list_start: u32, emitters: Emitters) -> Self {
        Self { buffers, movers, list_start, emitters }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.movers.is_empty()
    }

    /// Puts some movers where a scene has them that differs from the one on the device in that alone. `trees` are those
    /// that it was uploaded with. The change is to be written before the next is asked for.
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
        if are_lights_changed {
            change.add(&self.buffers.tables, self.emitters.tree_at, &self.emitters.grow_tree());
            change.add(&self.buffers.emitters, 0, &self.emitters.records);
        }
        change
    }
}

/// The list of all movers that rays can be taken to, and the nodes that it starts and ends at.
pub(super) fn list_of(movers: &[Standing], start: u32) -> (Vec<Entry>, list::Node) {
    let boxes = movers.iter().filter_map(|standing| Some((standing.bounds?, standing.mover.surface)));
    let list = list::list_of(boxes.collect(), start);
    let end = start + (list.len() * list::NODES) as u32;
    (list, [start, end])
}

impl Standing {
    /// Where the scene has it. `attributes` is where in the tables those of its triangles start, and `record` what tells of
    /// its surface, to which this adds where it stands.
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

    /// Its surface, and what tells of it on the device.
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

    /// Weighs its light anew if it has another shape: where in the tables the sums of its triangles' probabilities are, and
    /// those.
    fn weigh_light(&mut self, scene: &Scene, emitters: &mut Emitters) -> Option<(u32, Vec<f32>)> {
        /// Triangles are drawn by power, which need not be exact.
        const TOLERANCE: f32 = 1e-3;
        let shape = shape_of(&scene.surface(self.mover.surface).to_world);
        let most = self.shape.to_cols_array().iter().fold(0.0f32, |most, value| most.max(value.abs()));
        if shape.abs_diff_eq(self.shape, TOLERANCE * most) {
            return None;
        }
        self.shape = shape;
        emitters.weigh_surface(scene, self.mover.surface, self.record.emitter)
    }
}

/// Alike for all transforms that differ by turns, shifts and mirrors.
fn shape_of(to_world: &Affine3A) -> Mat3 {
    let matrix = Mat3::from(to_world.matrix3);
    matrix.transpose() * matrix
}
