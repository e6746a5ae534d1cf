//! Rays from elements to elements.

use glam::{Vec2, Vec3};

use super::SubsceneElements;
use crate::geometry::Ray;
use crate::geometry::sampling::{cosine_hemisphere, uniform_triangle};
use crate::geometry::sobol::OwenSobol;
use crate::kdtree::{Preset, Tracer, TreeHit};
use crate::partition::{CellHit, CellId, CellTracer, FinePart};

/// How far above its element a ray begins, in parts of the largest coordinate, or of a metre.
const LIFT: f32 = 1e-5;

/// Where a ray went.
pub(super) enum End {
    Element(u32),
    Escaped,
    Absorbed,
}

/// Sends rays from elements and finds where they arrive.
pub(super) struct Shots<'a> {
    tracer: &'a CellTracer,
    elements: &'a SubsceneElements,
    /// What [`CellTracer::parts`] says of each element.
    parts: Vec<FinePart>,
    /// A tree of all fine triangles, where rays go through that instead of through cells.
    tree: Option<Tracer>,
}

impl<'a> Shots<'a> {
    /// Through the cells of a partition.
    pub fn through_cells(tracer: &'a CellTracer, elements: &'a SubsceneElements) -> Self {
        Self { tracer, elements, parts: tracer.parts().collect(), tree: None }
    }

    /// Through a KD-tree, which is built.
    pub fn through_tree(tracer: &'a CellTracer, elements: &'a SubsceneElements) -> Self {
        let triangles = tracer.tables.triangles.iter().map(|record| record.triangle()).collect();
        let tree = Tracer::build(triangles, &Preset::best(), |_| false);
        Self { tree: Some(tree), ..Self::through_cells(tracer, elements) }
    }

    /// Sends the ray of an index from an element; other seeds send others.
    pub fn end(&self, element: usize, seed: u32, index: u32) -> End {
        let ray = self.departure(element, seed, index);
        let hit = match &self.tree {
            Some(tree) => tree.closest(&ray, |hit, _| Some(hit.place.t)).map(|hit| self.hit_of(hit)),
            None => self.tracer.closest_from(&ray, self.cell_at(element, ray.origin)).0,
        };
        match hit {
            None => End::Escaped,
            Some(hit) => self.tracer.element_at(&hit).map_or(End::Absorbed, End::Element),
        }
    }

    /// A ray from an even point of an element, by the cosine about its normal.
    fn departure(&self, element: usize, seed: u32, index: u32) -> Ray {
        let [x, y, u, v] = OwenSobol::new(seed).point(index);
        let part = self.parts[element];
        let record = &self.tracer.tables.triangles[part.triangle as usize];
        let triangle = record.triangle();
        let normal = if part.back { -triangle.normal() } else { triangle.normal() };
        let position = triangle.at(record.in_part(part.part, uniform_triangle(Vec2::new(x, y))));
        let origin = position + normal * (LIFT * position.abs().max_element().max(1.0));
        Ray::new(origin, cosine_hemisphere(normal, Vec2::new(u, v)))
    }

    /// The cell that a point just above an element lies in.
    fn cell_at(&self, element: usize, point: Vec3) -> CellId {
        let part = self.parts[element];
        let record = &self.tracer.tables.triangles[part.triangle as usize];
        let middle = record.triangle().at(record.in_part(part.part, Vec2::splat(1.0 / 3.0)));
        CellId(self.tracer.cell_towards(middle, point, self.elements.cell[element]))
    }

    /// What the tree's triangles, which are the fine ones in their order, were met in.
    fn hit_of(&self, TreeHit { triangle, place }: TreeHit) -> CellHit {
        let surface = self.tracer.simplified().parent(triangle as usize) as u32;
        CellHit { t: place.t, surface, triangle, barycentric: place.barycentric, back: place.back }
    }
}
