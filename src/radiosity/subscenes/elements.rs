//! Elements sorted by subscene.

use core::f32::consts::PI;
use core::ops::Range;

use glam::{Vec2, Vec3};

use crate::partition::{CellId, CellTracer};
use crate::scene::Scene;

/// Elements of a [`CellTracer`], with the subscene of each.
pub struct SubsceneElements {
    /// Area of each element, in square meters.
    pub area: Vec<f32>,
    /// Reflectance of each element, per channel.
    pub reflectance: Vec<Vec3>,
    /// Emitted power of each element, in lumens.
    pub emitted: Vec<Vec3>,
    /// Cell that contains the center of each element.
    pub(crate) cell: Vec<u32>,
    /// Indices of all elements, cell by cell.
    pub(crate) sorted: Vec<u32>,
    /// Start of each cell in `sorted`, followed by the number of elements.
    pub(crate) offsets: Vec<u32>,
}

/// Center of an element, as barycentric weights of its second and third vertex.
const MIDDLE: Vec2 = Vec2::splat(1.0 / 3.0);

impl SubsceneElements {
    /// Collects and sorts the elements of a tracer.
    pub fn new(scene: &Scene, tracer: &CellTracer) -> Self {
        let count = tracer.element_count();
        let mut elements = Self {
            area: Vec::with_capacity(count),
            reflectance: Vec::with_capacity(count),
            emitted: Vec::with_capacity(count),
            cell: Vec::with_capacity(count),
            sorted: (0..count as u32).collect(),
            offsets: Vec::new(),
        };
        for part in tracer.parts() {
            let record = &tracer.tables.triangles[part.triangle as usize];
            let (surface, triangle) = tracer.source(part.triangle);
            let (mesh, material) = (scene.mesh_of(surface), scene.material_of(surface));
            let middle = record.in_part(part.part, MIDDLE);
            let in_world = record.triangle();
            // Fine triangles of mirrored surfaces have reversed vertices.
            let in_mesh = if scene.surface(surface).is_mirrored() {
                Vec2::new(middle.x, 1.0 - middle.element_sum())
            } else {
                middle
            };
            let area = in_world.area() / (record.divisions * record.divisions) as f32;
            let reflectance = material.reflectance_at(scene, mesh, triangle, in_mesh);
            let emission = material.emission_at(scene, mesh, triangle, in_mesh);
            let cell = tracer.partition().cell_at(in_world.at(middle)).unwrap_or(CellId(0));
            elements.area.push(area);
            elements.reflectance.push(reflectance);
            elements.emitted.push(emission * (PI * area));
            elements.cell.push(cell.0);
        }
        elements.sorted.sort_by_key(|&element| elements.cell[element as usize]);
        let before = |cell: u32| elements.sorted.partition_point(|&element| elements.cell[element as usize] < cell);
        elements.offsets = (0..=tracer.partition().cells().len() as u32).map(|cell| before(cell) as u32).collect();
        elements
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.area.len()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Returns the range of a cell's elements in `sorted`.
    pub(super) fn range_of(&self, cell: usize) -> Range<u32> {
        self.offsets[cell]..self.offsets[cell + 1]
    }

    /// Returns the number of cells.
    pub(super) fn cells(&self) -> usize {
        self.offsets.len() - 1
    }
}
