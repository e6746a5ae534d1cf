//! Geometry of one subscene.

use super::super::SubsceneElements;
use super::super::elements::cell_of;
use super::super::shots::departure;
use crate::accel::{Preset, Tracer};
use crate::geometry::{Aabb, Ray};
use crate::partition::{CellId, CellTracer, FinePart, FineRecord, Overlap, Partition, overlap};

/// Distance beyond a cell up to which hits count as inside, relative to the largest coordinate. It is far above the
/// rounding error of hits, except those of rays that graze a surface by less than a ten-thousandth.
const MARGIN: f32 = 1.0 / 1_024.0;

/// End of a ray in a subscene.
pub(super) enum RayEnd {
    /// The ray hits an element of this index in the whole scene, which belongs to this cell.
    Element(u32, CellId),
    /// The ray goes on in another cell.
    Leaves(CellId),
    Escaped,
    Absorbed,
}

/// Geometry of one subscene, and planes and borders of all. Nothing else of the rest of the scene is kept.
pub(super) struct Subscene {
    cell: CellId,
    partition: Partition,
    /// Distance beyond the cell up to which hits count as inside, in meters.
    margin: f32,
    /// Whole triangles that reach into the cell or its margin, in the order of the scene.
    triangles: Vec<FineRecord>,
    tree: Tracer,
    /// Place of each element of the subscene, in these triangles.
    parts: Vec<FinePart>,
}

impl Subscene {
    /// Collects the geometry around a cell, and the places of the cell's elements.
    pub fn new(tracer: &CellTracer, elements: &SubsceneElements, cell: CellId) -> Self {
        let partition = tracer.partition().clone();
        let Aabb { min, max } = partition.bounds();
        let margin = min.abs().max(max.abs()).max_element() * MARGIN;
        // The clipped cell is wider than the margin, since hits are rounded too.
        let Aabb { min, max } = partition.cell(cell);
        let around = Aabb { min: min - 2.0 * margin, max: max + 2.0 * margin };
        let reaches_in = |record: &&FineRecord| overlap(&record.triangle().corners, &around) != Overlap::Outside;
        let triangles: Vec<FineRecord> = tracer.tables.triangles.iter().filter(reaches_in).copied().collect();
        let tree = Tracer::build(triangles.iter().map(FineRecord::triangle).collect(), &Preset::best(), |_| false);
        let part_of = |&element: &u32| {
            let triangle = triangles.partition_point(|record| record.first_element <= element) - 1;
            triangles[triangle].part(triangle as u32, element)
        };
        let parts = elements.numbers.iter().map(part_of).collect();
        Self { cell, partition, margin, triangles, tree, parts }
    }

    /// Creates the ray of an element of the subscene with this seed and index.
    pub fn departure(&self, element: usize, seed: u32, index: u32) -> Ray {
        let part = self.parts[element];
        departure(&self.triangles[part.triangle as usize], part, seed, index)
    }

    /// Returns the cell in which a ray starts.
    pub fn start_of(&self, ray: &Ray) -> CellId {
        self.partition.cell_ahead(ray.origin, ray.direction)
    }

    /// Traces a ray through the subscene. A hit in a convex cell is the closest of all.
    pub fn trace(&self, ray: &Ray) -> RayEnd {
        let (exit, next) = self.partition.leave(ray, self.cell);
        let limit = if next.is_some() { exit + f64::from(self.margin) } else { f64::INFINITY };
        let hit = self.tree.closest(ray, |hit, _| Some(hit.place.t)).filter(|hit| f64::from(hit.place.t) <= limit);
        let Some(hit) = hit else { return next.map_or(RayEnd::Escaped, RayEnd::Leaves) };
        let record = &self.triangles[hit.triangle as usize];
        record.element_at(hit.place.barycentric, hit.place.back).map_or(RayEnd::Absorbed, |element| {
            RayEnd::Element(element, cell_of(&self.partition, record, record.part(hit.triangle, element)))
        })
    }
}
