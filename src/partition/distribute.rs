//! Distribution of polygons to cells (thesis section 2.2.2).

use glam::DVec3;
use rayon::prelude::*;

use super::tree::Node;
use super::{CellId, Partition, Polygons};
use crate::geometry::clip::{Corner, Interpolate, Kind, OrderedClipper, vector_area};
use crate::geometry::{Aabb, Face};

/// Kind of overlap between a polygon and a cell (figure 2.5 of the thesis).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// The whole polygon lies in the cell.
    Inside,
    /// Some corners lie in the cell, and some do not.
    SomeCorners,
    /// No corner lies in the cell, but some edge passes through.
    SomeEdges,
    /// No edge enters the cell, but the cell's own edges pierce the polygon.
    Pierced,
    /// No part of the polygon lies in the cell.
    Outside,
}

/// Classifies the overlap of a polygon, given by its corners, with a cell.
pub fn overlap(corners: &[glam::Vec3], cell: &Aabb) -> Overlap {
    let corners: Vec<Corner> =
        corners.iter().map(|corner| Corner { position: corner.as_dvec3(), attribute: () }).collect();
    let mut clipper = OrderedClipper::default();
    if clipper.clip(&corners, cell).is_empty() {
        return Overlap::Outside;
    }
    let count = |kind| clipper.records().iter().filter(|record| record.kind == kind).count();
    match (count(Kind::Interior), count(Kind::Incoming)) {
        (interior, _) if interior == corners.len() => Overlap::Inside,
        (0, 0) => Overlap::Pierced,
        (0, _) => Overlap::SomeEdges,
        _ => Overlap::SomeCorners,
    }
}

/// Pieces of polygons that lie in one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscene<A = ()> {
    corners: Vec<Corner<A>>,
    /// Polygon index and end of the corners of each piece.
    pieces: Vec<(u32, u32)>,
}

impl<A> Subscene<A> {
    /// Iterates over the pieces: polygon index, in ascending order, and corners.
    pub fn pieces(&self) -> impl ExactSizeIterator<Item = (usize, &[Corner<A>])> {
        self.pieces.iter().enumerate().map(|(index, &(polygon, end))| {
            let first = index.checked_sub(1).map_or(0, |before| self.pieces[before].1);
            (polygon as usize, &self.corners[first as usize..end as usize])
        })
    }
}

impl Partition {
    /// Clips polygons to all cells.
    ///
    /// Each point of a polygon ends up in one cell. A polygon that lies in a border goes to the cell that its front
    /// faces.
    ///
    /// `attribute(polygon, corner)` supplies an attribute of each corner, which is interpolated at new corners.
    pub fn distribute<A>(&self, polygons: &Polygons, attribute: impl Fn(usize, usize) -> A + Sync) -> Vec<Subscene<A>>
    where
        A: Interpolate + Send,
    {
        self.of_each(polygons, attribute, |subscene| subscene)
    }

    /// Maps the subscene of each cell with `find`, and drops the subscene afterwards.
    fn of_each<A, R>(
        &self,
        polygons: &Polygons,
        attribute: impl Fn(usize, usize) -> A + Sync,
        find: impl Fn(Subscene<A>) -> R + Sync,
    ) -> Vec<R>
    where
        A: Interpolate + Send,
        R: Send,
    {
        let mut near: Vec<Vec<u32>> = vec![Vec::new(); self.cells().len()];
        for polygon in 0..polygons.len() {
            self.visit(&PolygonRegion::of(polygons, polygon), &mut |cell| near[cell.index()].push(polygon as u32));
        }
        let cut = |(cell, near): (CellId, Vec<u32>)| {
            find(self.cut(cell, polygons, near.into_iter().map(|polygon| polygon as usize), &attribute))
        };
        self.ids().zip(near).collect::<Vec<_>>().into_par_iter().map(cut).collect()
    }

    /// Clips polygons to one cell, as an independent process does.
    pub fn subscene<A>(&self, cell: CellId, polygons: &Polygons, attribute: impl Fn(usize, usize) -> A) -> Subscene<A>
    where
        A: Interpolate,
    {
        self.cut(cell, polygons, 0..polygons.len(), &attribute)
    }

    /// Returns the load in each cell, given the load of each polygon. Loads spread evenly over area.
    pub fn loads(&self, polygons: &Polygons, loads: &[f64]) -> Vec<f64> {
        let load = |(polygon, corners): (usize, &[Corner])| {
            loads[polygon] * (vector_area(corners).length() / polygons.area(polygon))
        };
        self.of_each(polygons, |_, _| (), |subscene| subscene.pieces().map(load).sum())
    }

    fn cut<A: Interpolate>(
        &self,
        id: CellId,
        polygons: &Polygons,
        near: impl IntoIterator<Item = usize>,
        attribute: &impl Fn(usize, usize) -> A,
    ) -> Subscene<A> {
        let cell = self.cell(id);
        let mut clipper = OrderedClipper::default();
        let mut subscene = Subscene { corners: Vec::new(), pieces: Vec::new() };
        for polygon in near {
            let bounds = polygons.bounds_of(polygon);
            if touches_only(&bounds, &cell) {
                continue;
            }
            let whole = polygons.with_attributes(polygon, |corner| attribute(polygon, corner));
            if !self.is_faced(&bounds, vector_area(&whole), cell) {
                continue;
            }
            let piece = clipper.clip(&whole, &cell);
            if !piece.is_empty() {
                subscene.corners.extend_from_slice(piece);
                subscene.pieces.push((polygon as u32, subscene.corners.len() as u32));
            }
        }
        subscene
    }

    /// Visits the cells that may touch a region, including at faces.
    pub(super) fn visit(&self, region: &PolygonRegion, found: &mut impl FnMut(CellId)) {
        self.visit_below(0, self.bounds(), region, found);
    }

    fn visit_below(&self, node: u32, cell: Aabb, region: &PolygonRegion, found: &mut impl FnMut(CellId)) {
        if !region.comes_near(&cell) {
            return;
        }
        match self.nodes[node as usize] {
            Node::Cell(cell) => found(cell),
            Node::Cut { axis, position, below, above } => {
                let [lower, upper] = cell.halves(axis, position);
                if region.bounds.min[axis] <= position {
                    self.visit_below(below, lower, region, found);
                }
                if region.bounds.max[axis] >= position {
                    self.visit_below(above, upper, region, found);
                }
            }
        }
    }

    /// Returns false for a polygon that lies in a border and faces the neighboring cell.
    fn is_faced(&self, bounds: &Aabb, area: DVec3, cell: Aabb) -> bool {
        Face::ALL.iter().all(|&face| {
            let axis = usize::from(face.axis);
            let position = cell.position_of(face);
            let lies_in = bounds.min[axis] == position && bounds.max[axis] == position;
            let faces_away = (area[axis] > 0.0) == face.is_upper;
            !(lies_in && faces_away) || position == self.bounds().position_of(face)
        })
    }
}

/// Search region for cells: a box, and a slab between two parallel planes.
pub(super) struct PolygonRegion {
    bounds: Aabb,
    normal: DVec3,
    /// Minimum and maximum distance along the normal, in meters.
    min: f64,
    max: f64,
}

impl PolygonRegion {
    /// Returns the region of a whole box.
    pub fn of_box(bounds: Aabb) -> Self {
        Self { bounds, normal: DVec3::ZERO, min: 0.0, max: 0.0 }
    }

    /// Returns the region of a polygon. The slab around its plane excludes most cells of a large, slanted polygon's
    /// box.
    pub fn of(polygons: &Polygons, polygon: usize) -> Self {
        let bounds = polygons.bounds_of(polygon);
        let normal = vector_area(&polygons.with_attributes(polygon, |_| ())).normalize_or_zero();
        let slack = 1e-6 * (1.0 + f64::from(bounds.min.abs().max(bounds.max.abs()).max_element()));
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (min, max) = polygons.corners(polygon).iter().fold(ends, |(min, max): (f64, f64), corner| {
            let distance = normal.dot(corner.as_dvec3());
            (min.min(distance - slack), max.max(distance + slack))
        });
        Self { bounds, normal, min, max }
    }

    /// Returns false if a cell lies entirely outside the slab.
    fn comes_near(&self, cell: &Aabb) -> bool {
        let (min, max) = (cell.min.as_dvec3(), cell.max.as_dvec3());
        let middle = self.normal.dot(0.5 * (min + max));
        let extent = self.normal.abs().dot(0.5 * (max - min));
        middle + extent >= self.min && middle - extent <= self.max
    }
}

/// Returns true for a box that is not flat and shares at most part of a face with a cell.
fn touches_only(bounds: &Aabb, cell: &Aabb) -> bool {
    (0..3).any(|axis| {
        let is_flat = bounds.min[axis] == bounds.max[axis];
        let (apart, touching) = (
            bounds.max[axis] < cell.min[axis] || bounds.min[axis] > cell.max[axis],
            bounds.max[axis] == cell.min[axis] || bounds.min[axis] == cell.max[axis],
        );
        apart || (touching && !is_flat)
    })
}
