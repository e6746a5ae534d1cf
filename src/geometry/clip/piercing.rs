//! Exact geometric predicates on polygons, box faces and box edges.
//!
//! Every predicate is the exact sign of a determinant, and never zero (Edelsbrunner and Muecke 1990, "simulation of
//! simplicity"). Each face counts as moved outwards by an infinitesimal distance, much farther for faces earlier in
//! [`Face::ALL`]. Touching geometry therefore counts as inside. All predicates on one polygon are consistent, even if
//! corners, edges and planes coincide.

use core::cmp::Ordering;

use glam::DVec3;
use robust::{Coord, Coord3D, orient2d, orient3d};

use crate::geometry::Face;

/// Box as the coordinates of its faces, in the order of [`Face::ALL`].
pub(super) type Planes = [f64; 6];

/// Returns +1 for an upper face, -1 for a lower face.
#[inline]
fn outwards(face: Face) -> f64 {
    if face.is_upper { 1.0 } else { -1.0 }
}

#[inline]
fn flat(point: DVec3, axes: [usize; 2]) -> Coord<f64> {
    Coord { x: point[axes[0]], y: point[axes[1]] }
}

/// Returns twice the signed area of a triangle projected along an axis. Positive if counter-clockwise when seen from
/// the axis's positive end.
#[inline]
pub(super) fn area_along(axis: usize, corners: [DVec3; 3]) -> f64 {
    let axes = [(axis + 1) % 3, (axis + 2) % 3];
    let [a, b, c] = corners.map(|corner| flat(corner, axes));
    orient2d(a, b, c)
}

/// Compares where the line between two points crosses two faces.
///
/// The line must cross both. The flags tell for each face if the line crosses from outside to inside.
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
        // At a tie, the outer face is entered earlier and left later.
        _ => match (first_entering, second_entering) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (true, true) => first.cmp(&second),
            (false, false) => second.cmp(&first),
        },
    }
}

/// Returns a value proportional to the distance of a box edge to the left of a line, seen along the edge's axis. The
/// factor is the line's projected length. Faces are not perturbed.
#[inline]
pub(super) fn left_of_line((from, to): (DVec3, DVec3), planes: &Planes, [first, second]: [Face; 2]) -> f64 {
    let axes = [usize::from(first.axis), usize::from(second.axis)];
    let at = Coord { x: planes[first.index()], y: planes[second.index()] };
    orient2d(flat(from, axes), flat(to, axes), at)
}

/// Returns the side of a line on which a box edge passes: positive on the left. Zero only for collinear points along
/// the edge.
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

/// Returns the side of a triangle's plane on which a box corner lies: positive in front. `faces` are the corner's three
/// faces, by axis. Zero only for a triangle without area.
#[inline]
pub(super) fn side_of_plane(triangle: [DVec3; 3], planes: &Planes, faces: [Face; 3]) -> f64 {
    let [a, b, c] = triangle.map(|DVec3 { x, y, z }| Coord3D { x, y, z });
    let [x, y, z] = faces.map(|face| planes[face.index()]);
    let height = -orient3d(a, b, c, Coord3D { x, y, z });
    if height != 0.0 {
        return height;
    }
    // Faces are ordered by axis, which is the order of their perturbation.
    let moved = faces.map(|face| area_along(usize::from(face.axis), triangle) * outwards(face));
    moved.into_iter().find(|&height| height != 0.0).unwrap_or(0.0)
}
