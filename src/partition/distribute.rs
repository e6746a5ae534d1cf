//! Which polygons lie in which cells (section 2.2.2 of the thesis).

use glam::DVec3;
use rayon::prelude::*;

use super::tree::Node;
use super::{CellId, Partition, Polygons};
use crate::geometry::clip::{Corner, Interpolate, Kind, OrderedClipper, vector_area};
use crate::geometry::{Aabb, Face};

/// How a polygon and a cell overlap (figure 2.5 of the thesis).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// All of the polygon lies in the cell.
    Inside,
    /// Some corners do, and some do not.
    SomeCorners,
    /// No corner does, but some edge passes through.
    SomeEdges,
    /// No edge does, but the cell's own edges pierce the polygon.
    Pierced,
    /// Nothing of it lies in the cell.
    Outside,
}

/// How a polygon, by its corners, and a cell overlap.
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

/// What of some polygons lies in one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscene<A = ()> {
    corners: Vec<Corner<A>>,
    /// For each piece its polygon and the end of its corners.
    pieces: Vec<(u32, u32)>,
}

impl<A> Subscene<A> {
    /// The number of each polygon of which something lies in the cell, rising, and the corners of that piece.
    pub fn pieces(&self) -> impl ExactSizeIterator<Item = (usize, &[Corner<A>])> {
        self.pieces.iter().enumerate().map(|(index, &(polygon, end))| {
            let first = index.checked_sub(1).map_or(0, |before| self.pieces[before].1);
            (polygon as usize, &self.corners[first as usize..end as usize])
        })
    }
}

impl Partition {
    /// Cuts polygons to all cells. Every point of them is in one cell; a polygon that lies in a border is in the cell
    /// that it faces.
    ///
    /// `attribute` is asked for what each corner of each polygon carries.
    pub fn distribute<A>(&self, polygons: &Polygons, attribute: impl Fn(usize, usize) -> A + Sync) -> Vec<Subscene<A>>
    where
        A: Interpolate + Send,
    {
        self.of_each(polygons, attribute, |subscene| subscene)
    }

    /// Something of what lies in each cell, of which no more is kept.
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
            self.visit(&Reach::of(polygons, polygon), &mut |cell| near[cell.index()].push(polygon as u32));
        }
        let cut = |(cell, near): (CellId, Vec<u32>)| {
            find(self.cut(cell, polygons, near.into_iter().map(|polygon| polygon as usize), &attribute))
        };
        self.ids().zip(near).collect::<Vec<_>>().into_par_iter().map(cut).collect()
    }

    /// Cuts polygons to one cell, as a process does that has nothing to do with the others.
    pub fn subscene<A>(&self, cell: CellId, polygons: &Polygons, attribute: impl Fn(usize, usize) -> A) -> Subscene<A>
    where
        A: Interpolate,
    {
        self.cut(cell, polygons, 0..polygons.len(), &attribute)
    }

    /// How much of the loads of some polygons lies in each cell.
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

    /// Visits the cells that something may meet, faces included.
    pub(super) fn visit(&self, reach: &Reach, found: &mut impl FnMut(CellId)) {
        self.visit_below(0, self.bounds(), reach, found);
    }

    fn visit_below(&self, node: u32, cell: Aabb, reach: &Reach, found: &mut impl FnMut(CellId)) {
        if !reach.comes_near(&cell) {
            return;
        }
        match self.nodes[node as usize] {
            Node::Cell(cell) => found(cell),
            Node::Cut { axis, position, below, above } => {
                let [lower, upper] = cell.halves(axis, position);
                if reach.bounds.min[axis] <= position {
                    self.visit_below(below, lower, reach, found);
                }
                if reach.bounds.max[axis] >= position {
                    self.visit_below(above, upper, reach, found);
                }
            }
        }
    }

    /// False for a polygon in a border that faces the cell behind it.
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

/// Where something is that cells are looked for: in a box, and between two planes.
pub(super) struct Reach {
    bounds: Aabb,
    normal: DVec3,
    /// Least and greatest distance along the normal, metres.
    least: f64,
    most: f64,
}

impl Reach {
    /// Anywhere in a box.
    pub fn of_box(bounds: Aabb) -> Self {
        Self { bounds, normal: DVec3::ZERO, least: 0.0, most: 0.0 }
    }

    /// A polygon lies in its plane: most cells of the box around one that is large and slanted are far from it.
    pub fn of(polygons: &Polygons, polygon: usize) -> Self {
        let bounds = polygons.bounds_of(polygon);
        let normal = vector_area(&polygons.with_attributes(polygon, |_| ())).normalize_or_zero();
        let slack = 1e-6 * (1.0 + f64::from(bounds.min.abs().max(bounds.max.abs()).max_element()));
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (least, most) = polygons.corners(polygon).iter().fold(ends, |(least, most): (f64, f64), corner| {
            let distance = normal.dot(corner.as_dvec3());
            (least.min(distance - slack), most.max(distance + slack))
        });
        Self { bounds, normal, least, most }
    }

    /// False when all of a cell is beyond one of the planes.
    fn comes_near(&self, cell: &Aabb) -> bool {
        let (min, max) = (cell.min.as_dvec3(), cell.max.as_dvec3());
        let middle = self.normal.dot(0.5 * (min + max));
        let extent = self.normal.abs().dot(0.5 * (max - min));
        middle + extent >= self.least && middle - extent <= self.most
    }
}

/// True for a box that has an extent but shares no more than a part of a face with a cell.
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
