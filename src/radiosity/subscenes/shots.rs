//! Rays between elements.

use glam::{Vec2, Vec3};

use super::SubsceneElements;
use crate::accel::{Preset, Tracer, TreeHit};
use crate::geometry::Ray;
use crate::geometry::sampling::{cosine_hemisphere, uniform_triangle};
use crate::geometry::sobol::OwenSobol;
use crate::partition::{CellHit, CellId, CellTracer, FinePart, FineRecord};

/// Offset of ray origins from their element, relative to the largest coordinate or to one meter.
const RAY_EPSILON: f32 = 1e-5;

/// End of a ray.
pub(super) enum End {
    Element(u32),
    Escaped,
    Absorbed,
}

/// Tracer of rays between elements.
pub(super) struct Shots<'a> {
    tracer: &'a CellTracer,
    elements: &'a SubsceneElements,
    /// Result of [`CellTracer::parts`] for each element.
    parts: Vec<FinePart>,
    /// Tree of all fine triangles, or `None` for rays that traverse cells.
    tree: Option<Tracer>,
}

impl<'a> Shots<'a> {
    /// Creates a tracer for rays that traverse the cells of a partition.
    pub fn through_cells(tracer: &'a CellTracer, elements: &'a SubsceneElements) -> Self {
        Self { tracer, elements, parts: tracer.parts().collect(), tree: None }
    }

    /// Creates a tracer for rays that traverse a new KD-tree.
    pub fn through_tree(tracer: &'a CellTracer, elements: &'a SubsceneElements) -> Self {
        let triangles = tracer.tables.triangles.iter().map(|record| record.triangle()).collect();
        let tree = Tracer::build(triangles, &Preset::best(), |_| false);
        Self { tree: Some(tree), ..Self::through_cells(tracer, elements) }
    }

    /// Traces the ray of an element with this index and seed.
    pub fn end(&self, element: usize, seed: u32, index: u32) -> End {
        let part = self.parts[element];
        let ray = departure(&self.tracer.tables.triangles[part.triangle as usize], part, seed, index);
        let hit = match &self.tree {
            Some(tree) => tree.closest(&ray, |hit, _| Some(hit.place.t)).map(|hit| self.hit_of(hit)),
            None => self.tracer.closest_from(&ray, self.cell_at(element, ray.origin)).0,
        };
        match hit {
            None => End::Escaped,
            Some(hit) => self.tracer.element_at(&hit).map_or(End::Absorbed, End::Element),
        }
    }

    /// Returns the cell of a point just above an element.
    fn cell_at(&self, element: usize, point: Vec3) -> CellId {
        let part = self.parts[element];
        let record = &self.tracer.tables.triangles[part.triangle as usize];
        let middle = record.triangle().at(record.in_part(part.part, Vec2::splat(1.0 / 3.0)));
        CellId(self.tracer.cell_towards(middle, point, self.elements.cell[element]))
    }

    /// Converts a hit of the tree, in which fine triangles have their original order.
    fn hit_of(&self, TreeHit { triangle, place }: TreeHit) -> CellHit {
        let surface = self.tracer.simplified().parent(triangle as usize) as u32;
        CellHit { t: place.t, surface, triangle, barycentric: place.barycentric, back: place.back }
    }
}

/// Creates a ray from a uniformly sampled point of an element, cosine-weighted about its normal.
pub(super) fn departure(record: &FineRecord, part: FinePart, seed: u32, index: u32) -> Ray {
    let [x, y, u, v] = OwenSobol::new(seed).point(index);
    let triangle = record.triangle();
    let normal = if part.back { -triangle.normal() } else { triangle.normal() };
    let position = triangle.at(record.in_part(part.part, uniform_triangle(Vec2::new(x, y))));
    let origin = position + normal * (RAY_EPSILON * position.abs().max_element().max(1.0));
    Ray::new(origin, cosine_hemisphere(normal, Vec2::new(u, v)))
}
