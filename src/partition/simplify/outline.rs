//! Outlines of surfaces: corner indices in counter-clockwise order.

use glam::{DVec2, DVec3};
use robust::{Coord, orient2d};

/// Joins the outlines of two surfaces. Returns `None` unless they share exactly one connected chain of edges.
///
/// `shared` tells for each edge of the first outline whether the second uses the reverse edge.
pub(super) fn join(first: &[u32], second: &[u32], shared: &[bool]) -> Option<Vec<u32>> {
    let count = first.len();
    let mut starts = (0..count).filter(|&corner| !shared[corner] && shared[(corner + count - 1) % count]);
    let start = starts.next().filter(|_| starts.next().is_none())?;
    let kept = shared.iter().filter(|is_shared| !**is_shared).count();
    let common = count - kept;
    let (begin, end) = (first[start], first[(start + kept) % count]);

    let kept_of_second = second.len().checked_sub(common).filter(|&kept| kept > 0)?;
    let turn = second.iter().position(|&corner| corner == end)?;
    if second[(turn + kept_of_second) % second.len()] != begin {
        return None;
    }
    let of_first = (0..kept).map(|step| first[(start + step) % count]);
    let of_second = (0..kept_of_second).map(|step| second[(turn + step) % second.len()]);
    Some(of_first.chain(of_second).collect())
}

/// Returns true if an outline, projected along a unit normal, is convex up to rounding of its corners. Compares its
/// `area` with the area of the convex hull.
pub(super) fn is_convex(corners: &[DVec3], normal: DVec3, area: f64) -> bool {
    let (x, y) = normal.any_orthonormal_pair();
    let seen: Vec<DVec2> = corners.iter().map(|corner| DVec2::new(corner.dot(x), corner.dot(y))).collect();
    let reach = corners.iter().fold(0.0, |max: f64, corner| max.max(corner.abs().max_element()));
    let next = seen.iter().cycle().skip(1);
    let perimeter: f64 = seen.iter().zip(next).map(|(corner, next)| corner.distance(*next)).sum();
    // Corners are single precision, exact to half a unit in the last place.
    hull_area(seen) - area <= reach * f64::from(f32::EPSILON) * perimeter
}

fn hull_area(mut points: Vec<DVec2>) -> f64 {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let lower = chain(points.iter().copied());
    let upper = chain(points.iter().rev().copied());
    lower.windows(2).chain(upper.windows(2)).map(|edge| edge[0].perp_dot(edge[1])).sum::<f64>() * 0.5
}

/// Returns one chain of the convex hull of points sorted along x (Andrew's monotone chain).
fn chain(points: impl Iterator<Item = DVec2>) -> Vec<DVec2> {
    let coordinates = |point: DVec2| Coord { x: point.x, y: point.y };
    let mut hull: Vec<DVec2> = Vec::new();
    for point in points {
        while let [.., before, last] = hull[..]
            && orient2d(coordinates(before), coordinates(last), coordinates(point)) <= 0.0
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_triangles_join_to_the_square_around_them() {
        assert_eq!(join(&[0, 1, 2], &[2, 3, 0], &[false, false, true]), Some(vec![0, 1, 2, 3]));
        assert_eq!(join(&[2, 0, 1], &[0, 2, 3], &[true, false, false]), Some(vec![0, 1, 2, 3]));
    }

    #[test]
    fn surfaces_that_meet_in_two_places_do_not_join() {
        // The lower and upper halves of a frame leave a window between them.
        let lower = [0, 1, 2, 3, 4, 5];
        let upper = [5, 4, 6, 7, 3, 2, 8, 9];
        assert_eq!(join(&lower, &upper, &[false, false, true, false, true, false]), None);
        assert_eq!(join(&lower, &upper, &[false; 6]), None);
    }

    #[test]
    fn corners_in_a_row_are_convex_and_dents_are_not() {
        let rim = |dent: f64| {
            [[0.0, 0.0], [1.0, dent], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]].map(|[x, y]| DVec3::new(x, y, 3.0))
        };
        assert!(is_convex(&rim(0.0), DVec3::Z, 2.0));
        assert!(is_convex(&rim(1e-7), DVec3::Z, 2.0 - 1e-7));
        assert!(!is_convex(&rim(1e-3), DVec3::Z, 2.0 - 1e-3));
    }
}
