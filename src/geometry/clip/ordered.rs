//! Polygon clipping that finds the corners of the result in order (Sanjurjo 2011, section 2.2.3).

use core::cmp::Ordering;

use glam::DVec3;

use super::piercing::{Planes, area_along, first_crossed, left_of_line, side_of_line, side_of_plane};
use super::{Corner, Interpolate, SutherlandHodgman, on_plane, tidy};
use crate::geometry::{Aabb, Face};

/// Kind of a corner of a clipped polygon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Corner of the polygon, inside the box.
    Interior,
    /// Entry point of a polygon edge into the box.
    Incoming,
    /// Exit point of a polygon edge from the box.
    Outgoing,
    /// Intersection of a box edge with the polygon.
    Edge,
}

/// Entry of the clipper's list (table 2.1 of Sanjurjo 2011).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record<A = ()> {
    /// Corner with its position.
    pub corner: Corner<A>,
    /// Kind of the corner.
    pub kind: Kind,
    /// Box faces that the corner lies on: none in the interior, two on a box edge. The face along which the outline
    /// arrives comes first.
    pub faces: [Option<Face>; 2],
    /// Face along which the outline continues to the next entry, if any.
    ///
    /// An incoming intersection has none, since the inside follows. The published method assigns one.
    pub link: Option<Face>,
}

/// Clipper of convex polygons to boxes, which reuses its memory.
///
/// Decisions are exact for all triangles, so no corner is lost or found twice. In the published method, the orientation
/// is arbitrary for polygons that only box edges pierce. Here, the visible side of the polygon along a box edge
/// determines the order of its two faces.
#[derive(Clone, Debug)]
pub struct OrderedClipper<A = ()> {
    list: Vec<Record<A>>,
    /// Intersections with box edges that are not yet placed in the list.
    secondary: Vec<Record<A>>,
    outside: Vec<u8>,
    /// Corners of the list, before tidying.
    corners: Vec<Corner<A>>,
    plain: SutherlandHodgman<A>,
    /// Number of polygons with contradictory corners.
    #[cfg(test)]
    pub(super) contradictions: usize,
}

impl<A> Default for OrderedClipper<A> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            secondary: Vec::new(),
            outside: Vec::new(),
            corners: Vec::new(),
            plain: SutherlandHodgman::default(),
            #[cfg(test)]
            contradictions: 0,
        }
    }
}

impl<A: Interpolate> OrderedClipper<A> {
    /// Clips a convex, plane polygon to a box, and keeps its orientation. Returns an empty slice if no area remains.
    ///
    /// Corners lie inside the box, to the last bit.
    pub fn clip(&mut self, polygon: &[Corner<A>], cell: &Aabb) -> &[Corner<A>] {
        let is_found = self.find(polygon, cell);
        if !is_found {
            // Non-coplanar corners can contradict each other.
            #[cfg(test)]
            {
                self.contradictions += 1;
            }
            return self.plain.clip(polygon, cell);
        }
        if !self.corners.is_empty() {
            tidy(&mut self.corners, polygon);
        }
        &self.corners
    }

    /// Returns the list for the last polygon, before coincident corners were merged.
    ///
    /// For non-coplanar corners, the list may be contradictory, and is then not the source of the clipped polygon.
    /// Results of the first phase are valid nonetheless, because that phase tests corners and edges individually. These
    /// results are the corners inside the box, and the edges' entry and exit points.
    pub fn records(&self) -> &[Record<A>] {
        &self.list
    }

    /// Runs the first two phases. Returns false if the results are contradictory.
    fn find(&mut self, polygon: &[Corner<A>], cell: &Aabb) -> bool {
        let (min, max) = (cell.min.as_dvec3(), cell.max.as_dvec3());
        let planes = [min.x, max.x, min.y, max.y, min.z, max.z];
        self.list.clear();
        self.corners.clear();
        self.secondary.clear();
        self.outside.clear();
        self.outside.extend(polygon.iter().map(|corner| outside(corner.position, &planes)));
        let everywhere = self.outside.iter().fold(!0, |all, faces| all & faces);
        if everywhere != 0 || polygon.len() < 3 || cell.is_empty() {
            return true;
        }
        self.walk_around(polygon, &planes);
        let beyond = self.outside.iter().fold(0, |any, faces| any | faces);
        self.find_piercing_edges(polygon, &planes, beyond);
        self.put_edges_in_order() && self.is_consistent()
    }

    #[inline]
    fn push(&mut self, record: Record<A>) {
        self.corners.push(record.corner);
        self.list.push(record);
    }

    /// Phase 1: finds the polygon's corners inside the box, and the entry and exit points of its edges.
    fn walk_around(&mut self, polygon: &[Corner<A>], planes: &Planes) {
        for (index, from) in polygon.iter().enumerate() {
            let next = if index + 1 == polygon.len() { 0 } else { index + 1 };
            let (to, behind, ahead) = (&polygon[next], self.outside[index], self.outside[next]);
            if behind == 0 {
                self.push(Record { corner: *from, kind: Kind::Interior, faces: [None; 2], link: None });
            }
            if behind & ahead != 0 || behind | ahead == 0 {
                continue;
            }
            let line = (from.position, to.position);
            let entered =
                only(behind).or_else(|| faces(behind).max_by(|&a, &b| first_crossed(line, planes, [a, b], [true; 2])));
            let left =
                only(ahead).or_else(|| faces(ahead).min_by(|&a, &b| first_crossed(line, planes, [a, b], [false; 2])));
            if let (Some(entered), Some(left)) = (entered, left)
                && first_crossed(line, planes, [entered, left], [true, false]) == Ordering::Greater
            {
                continue;
            }
            if let Some(face) = entered {
                let corner = crossing(from, to, face, planes);
                self.push(Record { corner, kind: Kind::Incoming, faces: [Some(face), None], link: None });
            }
            if let Some(face) = left {
                let corner = crossing(from, to, face, planes);
                let link = Some(face);
                self.push(Record { corner, kind: Kind::Outgoing, faces: [link, None], link });
            }
        }
    }

    /// Phase 2, first half: finds box edges that pierce the polygon. Only edges between two faces that the polygon
    /// extends beyond are possible.
    fn find_piercing_edges(&mut self, polygon: &[Corner<A>], planes: &Planes, beyond: u8) {
        for axis in 0..3 {
            let others = [1, 2].map(|step| 0b11 << (2 * ((axis + step) % 3)));
            if others.iter().any(|&pair| beyond & pair == 0) {
                continue;
            }
            let facing = facing(axis, polygon);
            if facing == 0.0 {
                continue;
            }
            for first in faces(beyond & others[0]) {
                for second in faces(beyond & others[1]) {
                    let edge = BoxEdge { axis, faces: [first, second] };
                    if let Some(corner) = edge.piercing(polygon, planes, facing, beyond) {
                        let [from, to] = edge.in_order(facing);
                        let faces = [Some(from), Some(to)];
                        self.secondary.push(Record { corner, kind: Kind::Edge, faces, link: Some(to) });
                    }
                }
            }
        }
    }

    /// Phase 2, second half: inserts each edge intersection after its predecessor. Intersections whose predecessor is
    /// not yet placed wait.
    fn put_edges_in_order(&mut self) -> bool {
        let mut waiting = 0;
        while waiting < self.secondary.len() {
            let reached_by = self.secondary[waiting].faces[0];
            let before = self.list.iter().position(|record| record.link == reached_by);
            match before {
                Some(before) => {
                    let record = self.secondary.swap_remove(waiting);
                    self.corners.insert(before + 1, record.corner);
                    self.list.insert(before + 1, record);
                }
                None if self.list.is_empty() => {
                    let record = self.secondary.swap_remove(waiting);
                    self.push(record);
                }
                None => {
                    waiting += 1;
                    continue;
                }
            }
            waiting = 0;
        }
        self.secondary.is_empty()
    }

    /// Returns true if each link along a face leads to an entry that arrives along that face.
    fn is_consistent(&self) -> bool {
        self.list.iter().enumerate().all(|(index, record)| {
            let next = if index + 1 == self.list.len() { 0 } else { index + 1 };
            record.link.is_none() || self.list[next].faces[0] == record.link
        })
    }
}

/// Edge of a box, between a face on the next axis and a face on the axis after that.
#[derive(Clone, Copy)]
struct BoxEdge {
    axis: usize,
    faces: [Face; 2],
}

impl BoxEdge {
    /// Returns the two faces in the order in which the polygon's outline visits them. `facing` is positive if the
    /// polygon shows its front along the edge.
    #[inline]
    fn in_order(self, facing: f64) -> [Face; 2] {
        let [first, second] = self.faces;
        if (facing > 0.0) == (first.is_upper == second.is_upper) { [first, second] } else { [second, first] }
    }

    /// Returns the intersection of the edge with a polygon.
    fn piercing<A: Interpolate>(
        self,
        polygon: &[Corner<A>],
        planes: &Planes,
        facing: f64,
        beyond: u8,
    ) -> Option<Corner<A>> {
        let side = |from: usize, to: usize| {
            facing.signum() * side_of_line((polygon[from].position, polygon[to].position), planes, self.faces)
        };
        let last = polygon.len() - 1;
        let is_within = side(last, 0) >= 0.0 && (0..last).all(|from| side(from, from + 1) >= 0.0);
        if !is_within {
            return None;
        }
        // Triangle of the fan that the edge pierces.
        let second = (1..last).rev().find(|&second| second == 1 || side(0, second) >= 0.0)?;
        let weights = [(second, second + 1), (second + 1, 0), (0, second)].map(|(from, to)| {
            let line = (polygon[from].position, polygon[to].position);
            (facing.signum() * left_of_line(line, planes, self.faces)).max(0.0)
        });
        let total: f64 = weights.iter().sum();
        let [a, b, c] = [0, second, second + 1].map(|index| &polygon[index]);
        let corners = [a, b, c].map(|corner| corner.position);
        let is_pierced = total > 0.0 && self.reaches(corners, planes, facing, beyond);
        if !is_pierced {
            return None;
        }
        let rest = weights[1] + weights[2];
        let opposite = if rest > 0.0 { b.between(c, weights[2] / rest) } else { *b };
        let corner = a.between(&opposite, rest / total);
        let on_face = |point, face: Face| on_plane(point, usize::from(face.axis), planes[face.index()]);
        Some(Corner { position: self.faces.into_iter().fold(within(corner.position, planes), on_face), ..corner })
    }

    /// Returns true if the edge, bounded by two corners of the box, reaches a triangle's plane.
    fn reaches(self, triangle: [DVec3; 3], planes: &Planes, facing: f64, beyond: u8) -> bool {
        faces(beyond & (0b11 << (2 * self.axis))).all(|end| {
            let mut corner = [end; 3];
            self.faces.iter().for_each(|face| corner[usize::from(face.axis)] = *face);
            let height = side_of_plane(triangle, planes, corner);
            (height * facing > 0.0) == end.is_upper
        })
    }
}

/// Returns a bit mask of the faces that a point lies beyond.
#[inline]
fn outside(point: DVec3, planes: &Planes) -> u8 {
    (0..3).fold(0, |bits, axis| {
        let below = u8::from(point[axis] < planes[2 * axis]);
        let above = u8::from(point[axis] > planes[2 * axis + 1]);
        bits | (below | above << 1) << (2 * axis)
    })
}

/// Iterates over the faces in a bit mask, in order.
#[inline]
fn faces(bits: u8) -> impl Iterator<Item = Face> {
    let mut rest = bits;
    core::iter::from_fn(move || {
        let face = *Face::ALL.get(rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(face)
    })
}

/// Returns the face of a bit mask with a single bit. Most polygon edges cross only one face.
#[inline]
fn only(bits: u8) -> Option<Face> {
    if bits.is_power_of_two() { Face::ALL.get(bits.trailing_zeros() as usize).copied() } else { None }
}

/// Returns a signed area: positive if a polygon is counter-clockwise when seen along an axis.
fn facing<A>(axis: usize, polygon: &[Corner<A>]) -> f64 {
    let area = |pair: &[Corner<A>]| area_along(axis, [polygon[0].position, pair[0].position, pair[1].position]);
    polygon.windows(2).skip(1).map(area).sum()
}

/// Returns the intersection of a polygon edge with a face.
#[inline(always)]
fn crossing<A: Interpolate>(from: &Corner<A>, to: &Corner<A>, face: Face, planes: &Planes) -> Corner<A> {
    let axis = usize::from(face.axis);
    let position = planes[face.index()];
    let t = (position - from.position[axis]) / (to.position[axis] - from.position[axis]);
    let corner = from.between(to, t);
    Corner { position: on_plane(within(corner.position, planes), axis, position), ..corner }
}

/// Returns the nearest point of the box.
#[inline]
fn within(point: DVec3, planes: &Planes) -> DVec3 {
    let [x0, x1, y0, y1, z0, z1] = *planes;
    point.clamp(DVec3::new(x0, y0, z0), DVec3::new(x1, y1, z1))
}
