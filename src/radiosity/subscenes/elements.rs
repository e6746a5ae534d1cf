//! Elements sorted by subscene.

use core::f32::consts::PI;
use core::ops::Range;

use glam::{Vec2, Vec3};

use super::stages::CHANNELS;
use crate::partition::{CellId, CellTracer, FinePart, FineRecord, Partition, swap_if_mirrored};
use crate::radiosity::backend::UNSHOT;
use crate::radiosity::shooting::first_rays;
use crate::scene::Scene;

/// Elements of a [`CellTracer`], of all subscenes or of one.
pub struct SubsceneElements {
    /// Area of each element, in square meters.
    pub area: Vec<f32>,
    /// Reflectance of each element, per channel.
    pub reflectance: Vec<Vec3>,
    /// Emitted power of each element, in lumens.
    pub emitted: Vec<Vec3>,
    /// Index of each element in the whole scene, in ascending order.
    pub(super) numbers: Vec<u32>,
    /// Power of a ray, in lumens. The first bounce of the whole scene has as many rays as `000` equation 4.8 says.
    pub(super) power_of_ray: f64,
    /// Fraction of the emitted power at which shooting ends, `epsilon` of `000` section 4.1.
    pub(in crate::radiosity) epsilon: f64,
    /// Minimum area of elements that count in equation 4.8, in square meters; half of the mean area if `None`.
    min_area: Option<f32>,
    /// Cell in front of the center of each element.
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
            numbers: (0..count as u32).collect(),
            power_of_ray: 0.0,
            epsilon: UNSHOT,
            min_area: None,
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
            let in_mesh = swap_if_mirrored(scene, surface, middle);
            let area = in_world.area() / (record.divisions * record.divisions) as f32;
            let is_sealed = scene.surface(surface).sealed.contains(triangle, part.back);
            let reflectance =
                if is_sealed { Vec3::ZERO } else { material.reflectance_at(scene, mesh, triangle, in_mesh) };
            let emission = material.emission_at(scene, mesh, triangle, in_mesh);
            elements.area.push(area);
            elements.reflectance.push(reflectance);
            elements.emitted.push(emission * (PI * area));
            elements.cell.push(cell_of(tracer.partition(), record, part).0);
        }
        elements.power_of_ray = elements.power_of_first_rays();
        elements.sorted.sort_by_key(|&element| elements.cell[element as usize]);
        let before = |cell: u32| elements.sorted.partition_point(|&element| elements.cell[element as usize] < cell);
        elements.offsets = (0..=tracer.partition().cells().len() as u32).map(|cell| before(cell) as u32).collect();
        elements
    }

    /// Sets the power that each element emits, in lumens, in place of that of its material.
    pub(in crate::radiosity) fn emit(&mut self, power: Vec<Vec3>) {
        self.emitted = power;
        self.power_of_ray = self.power_of_first_rays();
    }

    /// Sets the minimum area of elements that count in `000` equation 4.8, in square meters. Larger areas mean fewer rays
    /// with more power each.
    pub(in crate::radiosity) fn set_min_area(&mut self, min_area: Option<f32>) {
        self.min_area = min_area;
        self.power_of_ray = self.power_of_first_rays();
    }

    /// Returns the power of each ray of the first bounce, in lumens (`000` equation 4.8).
    fn power_of_first_rays(&self) -> f64 {
        let power: f64 = self.emitted.iter().map(|power| f64::from(power.element_sum())).sum();
        power / (CHANNELS as f64 * first_rays(&self.area, &self.reflectance, self.min_area))
    }

    /// Returns the elements of one subscene alone.
    pub(super) fn of_cell(&self, cell: CellId) -> Self {
        let own = self.in_cell(cell);
        let places = || own.iter().map(|&element| element as usize);
        let end = |before: usize| if before > cell.index() { own.len() as u32 } else { 0 };
        Self {
            area: places().map(|element| self.area[element]).collect(),
            reflectance: places().map(|element| self.reflectance[element]).collect(),
            emitted: places().map(|element| self.emitted[element]).collect(),
            numbers: places().map(|element| self.numbers[element]).collect(),
            power_of_ray: self.power_of_ray,
            epsilon: self.epsilon,
            min_area: self.min_area,
            cell: vec![cell.0; own.len()],
            sorted: (0..own.len() as u32).collect(),
            offsets: (0..self.offsets.len()).map(end).collect(),
        }
    }

    /// Returns the elements of a subscene, in ascending order.
    pub(super) fn in_cell(&self, cell: CellId) -> &[u32] {
        let Range { start, end } = self.range_of(cell.index());
        &self.sorted[start as usize..end as usize]
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

/// Returns the cell in front of the center of an element. It shoots the element's rays.
pub(super) fn cell_of(partition: &Partition, record: &FineRecord, part: FinePart) -> CellId {
    let triangle = record.triangle();
    let normal = if part.back { -triangle.normal() } else { triangle.normal() };
    partition.cell_ahead(triangle.at(record.in_part(part.part, MIDDLE)), normal)
}
