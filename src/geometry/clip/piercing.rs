//! Exact answers about polygons, the faces of a box and the lines where they meet.
//!
//! Every question is the sign of a determinant, which is exact, and none is ever answered with zero: each face counts as
//! moved outwards by a distance smaller than any number, a face that comes first in [`Face::ALL`] by far more than one
//! that comes later (Edelsbrunner and Muecke 1990, "simulation of simplicity"). So what merely touches the box is in it,
//! and all answers about one polygon belong to one picture, however corners, edges and planes coincide.

use core::cmp::Ordering;

use glam::DVec3;
use robust::{Coord, Coord3D, orient2d, orient3d};

use crate::geometry::Face;

/// A box by the coordinates of its faces, in the order of [`Face::ALL`].
pub(super) type Planes = [f64; 6];

/// +1 for an upper face, -1 for a lower one.
#[inline]
fn outwards(face: Face) -> f64 {
    if face.is_upper { 1.0 } else { -1.0 }
}

#[inline]
fn flat(point: DVec3, axes: [usize; 2]) -> Coord<f64> {
    Coord { x: point[axes[0]], y: point[axes[1]] }
}

/// Twice the signed area of a triangle as seen along an axis, from where the other two, in their order, turn
/// counter-clockwise.
#[inline]
pub(super) fn area_along(axis: usize, corners: [DVec3; 3]) -> f64 {
    let axes = [(axis + 1) % 3, (axis + 2) % 3];
    let [a, b, c] = corners.map(|corner| flat(corner, axes));
    orient2d(a, b, c)
}

/// Which of two faces the line from one point to another comes through first.
///
/// It must cross both: for each of them `entering` says whether from outside to inside, or the other way.
#[inline]
pub(super) fn first_crossed(
    (from, to): (DVec3, DVec3),
    planes: &Planes,
    [first, second]: [Face; 2],
    [first_entering, second_entering]: [bool; 2],
) -> Ordering {
    if first.axis == second.axis {
        return if first_entering { Ordering::Less } else { Ordering::Greater };
    }
    let (left, along) = (left_of_line((from, to), planes, [first, second]), to - from);
    let axes = [usize::from(first.axis), usize::from(second.axis)];
    match (left * along[axes[0]].signum() * along[axes[1]].signum()).partial_cmp(&0.0) {
        Some(Ordering::Greater) => Ordering::Less,
        Some(Ordering::Less) => Ordering::Greater,
        // At once: a face that is farther out is entered earlier and left later.
        _ => match (first_entering, second_entering) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (true, true) => first.cmp(&second),
            (false, false) => second.cmp(&first),
        },
    }
}

/// How far to the left of the line through two points the edge of a box, along the axis that is left, passes: times the
/// line's length, as seen along that axis, and before faces moved.
#[inline]
pub(super) fn left_of_line((from, to): (DVec3, DVec3), planes: &Planes, [first, second]: [Face; 2]) -> f64 {
    let axes = [usize::from(first.axis), usize::from(second.axis)];
    let at = Coord { x: planes[first.index()], y: planes[second.index()] };
    orient2d(flat(from, axes), flat(to, axes), at)
}

/// On which side of the line it passes: positive on the left. Zero only if the points lie on a line along the edge.
#[inline]
pub(super) fn side_of_line((from, to): (DVec3, DVec3), planes: &Planes, faces: [Face; 2]) -> f64 {
    let left = left_of_line((from, to), planes, faces);
    if left != 0.0 {
        return left;
    }
    let ([first, second], along) = (faces, to - from);
    let axes = [usize::from(first.axis), usize::from(second.axis)];
    let by_first = -along[axes[1]] * outwards(first);
    let by_second = along[axes[0]] * outwards(second);
    if (first < second && by_first != 0.0) || by_second == 0.0 { by_first } else { by_second }
}

/// On which side of a triangle's plane a corner of a box lies: positive in front. `faces` are the three that meet there,
/// by axis. Zero only for a triangle without area.
#[inline]
pub(super) fn side_of_plane(triangle: [DVec3; 3], planes: &Planes, faces: [Face; 3]) -> f64 {
    let [a, b, c] = triangle.map(|DVec3 { x, y, z }| Coord3D { x, y, z });
    let [x, y, z] = faces.map(|face| planes[face.index()]);
    let height = -orient3d(a, b, c, Coord3D { x, y, z });
    if height != 0.0 {
        return height;
    }
    // Faces are given by axis, so in the order of how far they moved.
    let moved = faces.map(|face| area_along(usize::from(face.axis), triangle) * outwards(face));
    moved.into_iter().find(|&height| height != 0.0).unwrap_or(0.0)
}
