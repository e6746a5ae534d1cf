//! Cutting a polygon to a box by finding the corners of the result in their order (Sanjurjo 2011, section 2.2.3).

use core::cmp::Ordering;

use glam::DVec3;

use super::piercing::{Planes, area_along, first_crossed, left_of_line, side_of_line, side_of_plane};
use super::{Corner, Interpolate, SutherlandHodgman, on_plane, tidy};
use crate::geometry::{Aabb, Face};

/// What a corner of a clipped polygon is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A corner of the polygon, inside the box.
    Interior,
    /// Where an edge of the polygon comes into the box.
    Incoming,
    /// Where an edge of the polygon leaves the box.
    Outgoing,
    /// Where an edge of the box pierces the polygon.
    Edge,
}

/// An entry of the list that the clipper keeps (table 2.1 there).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record<A = ()> {
    /// Where it is.
    pub corner: Corner<A>,
    /// What it is.
    pub kind: Kind,
    /// The faces of the box that it lies on: none in the interior, two on an edge of the box, the one first that the
    /// result's outline comes along.
    pub faces: [Option<Face>; 2],
    /// The face along which the outline goes on to the next entry, where it follows one.
    ///
    /// An incoming intersection has none, though the printed method gives it one: what follows it lies inside.
    pub link: Option<Face>,
}

/// Finds what of a convex polygon lies in a box, and keeps the memory for the next polygon.
///
/// Decisions are exact for triangles, however they lie, so no corner is lost or found twice. The printed method leaves
/// which way a polygon turns to chance if only edges of the box pierce it; here an edge's two faces are in the order in
/// which the outline follows them, which the side that the polygon shows along that edge decides.
#[derive(Clone, Debug)]
pub struct OrderedClipper<A = ()> {
    list: Vec<Record<A>>,
    /// Intersections with the edges of the box that have no place in the list yet.
    secondary: Vec<Record<A>>,
    outside: Vec<u8>,
    /// Those of the list, until they are tidied up.
    corners: Vec<Corner<A>>,
    plain: SutherlandHodgman<A>,
    /// Polygons whose corners contradicted each other.
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
    /// What of a convex, plane polygon lies in a box, turning the same way; nothing when that has no area.
    ///
    /// Corners lie in the box to the last bit.
    pub fn clip(&mut self, polygon: &[Corner<A>], cell: &Aabb) -> &[Corner<A>] {
        let is_found = self.find(polygon, cell);
        if !is_found {
            // Corners that do not lie in one plane contradict each other.
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

    /// The list that the last polygon led to, before corners that coincide became one.
    ///
    /// Corners that do not lie in one plane may make it contradict itself, and what is cut is then not made of it. What the
    /// first phase found holds all the same, since it looks at one corner or edge at a time: which corners lie in the box,
    /// and where edges come and go.
    pub fn records(&self) -> &[Record<A>] {
        &self.list
    }

    /// The first two phases. False when they contradict each other.
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

    /// Phase 1: the polygon's corners in the box, and where its edges come and go.
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

    /// Phase 2, first half: where edges of the box pierce the polygon, which they can only between two faces that the
    /// polygon reaches beyond.
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

    /// Phase 2, second half: each goes behind what leads to it. One that follows another that has no place yet waits.
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

    /// True when whatever leads along a face is followed by something that comes along it.
    fn is_consistent(&self) -> bool {
        self.list.iter().enumerate().all(|(index, record)| {
            let next = if index + 1 == self.list.len() { 0 } else { index + 1 };
            record.link.is_none() || self.list[next].faces[0] == record.link
        })
    }
}

/// An edge of a box: between a face on the next axis and one on the axis after that.
#[derive(Clone, Copy)]
struct BoxEdge {
    axis: usize,
    faces: [Face; 2],
}

impl BoxEdge {
    /// The two faces in the order in which the outline of a polygon follows them, which shows its front (`facing` is
    /// positive) or back along the edge.
    #[inline]
    fn in_order(self, facing: f64) -> [Face; 2] {
        let [first, second] = self.faces;
        if (facing > 0.0) == (first.is_upper == second.is_upper) { [first, second] } else { [second, first] }
    }

    /// Where the edge pierces a polygon.
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
        // The triangle of the fan that it goes through.
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

    /// True when the edge, which ends at two corners of the box, is long enough to meet a triangle's plane.
    fn reaches(self, triangle: [DVec3; 3], planes: &Planes, facing: f64, beyond: u8) -> bool {
        faces(beyond & (0b11 << (2 * self.axis))).all(|end| {
            let mut corner = [end; 3];
            self.faces.iter().for_each(|face| corner[usize::from(face.axis)] = *face);
            let height = side_of_plane(triangle, planes, corner);
            (height * facing > 0.0) == end.is_upper
        })
    }
}

/// Beyond which faces a point lies, a bit for each.
#[inline]
fn outside(point: DVec3, planes: &Planes) -> u8 {
    (0..3).fold(0, |bits, axis| {
        let below = u8::from(point[axis] < planes[2 * axis]);
        let above = u8::from(point[axis] > planes[2 * axis + 1]);
        bits | (below | above << 1) << (2 * axis)
    })
}

/// The faces whose bits are set, in their order.
#[inline]
fn faces(bits: u8) -> impl Iterator<Item = Face> {
    let mut rest = bits;
    core::iter::from_fn(move || {
        let face = *Face::ALL.get(rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(face)
    })
}

/// The face whose bit is set, if no other is: most edges of polygons cross one.
#[inline]
fn only(bits: u8) -> Option<Face> {
    if bits.is_power_of_two() { Face::ALL.get(bits.trailing_zeros() as usize).copied() } else { None }
}

/// Positive when a polygon, seen along an axis, turns counter-clockwise.
fn facing<A>(axis: usize, polygon: &[Corner<A>]) -> f64 {
    let area = |pair: &[Corner<A>]| area_along(axis, [polygon[0].position, pair[0].position, pair[1].position]);
    polygon.windows(2).skip(1).map(area).sum()
}

/// Where an edge of the polygon crosses a face.
#[inline(always)]
fn crossing<A: Interpolate>(from: &Corner<A>, to: &Corner<A>, face: Face, planes: &Planes) -> Corner<A> {
    let axis = usize::from(face.axis);
    let position = planes[face.index()];
    let t = (position - from.position[axis]) / (to.position[axis] - from.position[axis]);
    let corner = from.between(to, t);
    Corner { position: on_plane(within(corner.position, planes), axis, position), ..corner }
}

/// The nearest point of the box.
#[inline]
fn within(point: DVec3, planes: &Planes) -> DVec3 {
    let [x0, x1, y0, y1, z0, z1] = *planes;
    point.clamp(DVec3::new(x0, y0, z0), DVec3::new(x1, y1, z1))
}
