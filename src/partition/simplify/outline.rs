//! Rims of surfaces: corners by their numbers, counter-clockwise.

use glam::{DVec2, DVec3};
use robust::{Coord, orient2d};

/// The rim of two surfaces together. `None` unless they meet in one unbroken row of edges.
///
/// `shared` says of each edge of the first whether the second runs along it the other way.
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

/// True when a rim, seen against a unit normal, encloses all of the plane that the hull of its corners does, but for what
/// rounding of the corners can account for. `area` is what it encloses.
pub(super) fn is_convex(corners: &[DVec3], normal: DVec3, area: f64) -> bool {
    let (x, y) = normal.any_orthonormal_pair();
    let seen: Vec<DVec2> = corners.iter().map(|corner| DVec2::new(corner.dot(x), corner.dot(y))).collect();
    let reach = corners.iter().fold(0.0, |most: f64, corner| most.max(corner.abs().max_element()));
    let next = seen.iter().cycle().skip(1);
    let perimeter: f64 = seen.iter().zip(next).map(|(corner, next)| corner.distance(*next)).sum();
    // Corners are singles, right to half a unit in the last place.
    hull_area(seen) - area <= reach * f64::from(f32::EPSILON) * perimeter
}

fn hull_area(mut points: Vec<DVec2>) -> f64 {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let lower = chain(points.iter().copied());
    let upper = chain(points.iter().rev().copied());
    lower.windows(2).chain(upper.windows(2)).map(|edge| edge[0].perp_dot(edge[1])).sum::<f64>() * 0.5
}

/// The side of a hull that has all of its points, sorted along x, to its left.
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
        // A frame's lower half and its upper one leave a window between them.
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
