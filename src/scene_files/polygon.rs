//! Triangulation of polygons.
//!
//! Convex polygons become fans about their first corner. Others are cut by ear clipping with exact predicates, in the
//! coordinate plane with the largest projection. A hole that the outline enters and leaves along the same line stays
//! open.

use glam::{DVec3, Vec3};
use robust::{Coord, orient2d};

/// A polygon cut into triangles.
#[derive(Debug, PartialEq)]
pub struct Cut {
    /// Indices of the polygon's corners, with the polygon's winding. Empty if it has no area.
    pub triangles: Vec<[usize; 3]>,
    /// True if the outline crosses itself. The triangles then overlap or miss parts of it.
    pub crosses_itself: bool,
}

/// Most comparisons of edges, and of corners with ears. Beyond it, corners that turn left count as ears. Beyond twice
/// as many, all corners do.
const MAX_COMPARISONS: usize = 300_000_000;

/// Cuts a polygon into triangles.
pub fn triangulate(corners: &[Vec3]) -> Cut {
    let fan =
        |ring: &[usize]| ring.get(1..).unwrap_or_default().windows(2).map(|pair| [ring[0], pair[0], pair[1]]).collect();
    let mut ring: Vec<usize> = (0..corners.len()).collect();
    if corners.len() <= 3 || !corners.iter().all(|corner| corner.is_finite()) {
        return Cut { triangles: fan(&ring), crosses_itself: false };
    }
    ring.dedup_by_key(|corner| corners[*corner]);
    while ring.len() > 1 && corners[ring[0]] == corners[ring[ring.len() - 1]] {
        ring.pop();
    }
    let Some(points) = flattened(corners, &ring) else {
        return Cut { triangles: Vec::new(), crosses_itself: false };
    };
    if is_convex(&points) {
        return Cut { triangles: fan(&ring), crosses_itself: false };
    }
    let crosses_itself = crosses_itself(&points);
    let mut clipper = Clipper::new(points);
    clipper.clip();
    Cut {
        triangles: clipper.triangles.into_iter().map(|triangle| triangle.map(|corner| ring[corner])).collect(),
        crosses_itself: crosses_itself || clipper.is_forced,
    }
}

/// Projects the ring's corners onto the nearest coordinate plane, counter-clockwise. `None` without an area.
///
/// The projection drops a coordinate without rounding, so coincident corners stay coincident.
fn flattened(corners: &[Vec3], ring: &[usize]) -> Option<Vec<Coord<f64>>> {
    let origin = corners[*ring.first()?].as_dvec3();
    let at = |place: usize| corners[ring[place % ring.len()]].as_dvec3() - origin;
    let crosses = || (0..ring.len()).map(|place| at(place).cross(at(place + 1)));
    let mut normal: DVec3 = crosses().sum();
    if normal.length() <= 1e-9 * crosses().map(DVec3::length).sum::<f64>() {
        // The areas of lobes cancel each other, so the largest corner decides the polygon's normal.
        let corner = |place: usize| (at(place + 1) - at(place)).cross(at(place + 2) - at(place));
        normal = (0..ring.len()).map(corner).max_by(|a, b| a.length().total_cmp(&b.length()))?;
    }
    let size = normal.abs();
    let (x, y) = if size.x >= size.y && size.x >= size.z {
        (1, 2)
    } else if size.y >= size.z {
        (2, 0)
    } else {
        (0, 1)
    };
    let direction = normal[3 - x - y];
    let (x, y) = if direction < 0.0 { (y, x) } else { (x, y) };
    let point = |corner: &usize| Coord { x: f64::from(corners[*corner][x]), y: f64::from(corners[*corner][y]) };
    (direction != 0.0).then(|| ring.iter().map(point).collect())
}

/// Returns true if all corners turn left and the outline goes round once.
fn is_convex(points: &[Coord<f64>]) -> bool {
    let count = points.len();
    let at = |place: usize| points[place % count];
    let is_rising = |place: usize| {
        let (a, b) = (at(place), at(place + 1));
        b.x > a.x || (b.x == a.x && b.y > a.y)
    };
    (0..count).all(|place| orient2d(at(place), at(place + 1), at(place + 2)) > 0.0)
        && (0..count).filter(|&place| is_rising(place) != is_rising(place + 1)).count() <= 2
}

/// Returns true if two edges cross, ends excluded.
fn crosses_itself(points: &[Coord<f64>]) -> bool {
    let mut edges: Vec<[Coord<f64>; 2]> =
        (0..points.len()).map(|place| [points[place], points[(place + 1) % points.len()]]).collect();
    let min_x = |edge: &[Coord<f64>; 2]| edge[0].x.min(edge[1].x);
    edges.sort_unstable_by(|a, b| min_x(a).total_cmp(&min_x(b)));
    let mut comparisons = 0;
    for (index, first) in edges.iter().enumerate() {
        let end = first[0].x.max(first[1].x);
        for second in edges[index + 1..].iter().take_while(|second| min_x(second) <= end) {
            comparisons += 1;
            if comparisons > MAX_COMPARISONS {
                return false;
            }
            if parts(first, second) && parts(second, first) {
                return true;
            }
        }
    }
    false
}

/// Returns true if the ends of an edge lie on different sides of a line.
fn parts(line: &[Coord<f64>; 2], edge: &[Coord<f64>; 2]) -> bool {
    let [a, b] = edge.map(|end| orient2d(line[0], line[1], end));
    (a > 0.0 && b < 0.0) || (a < 0.0 && b > 0.0)
}

/// Strictness of the search for an ear. Each level is tried when the one before finds none.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Choice {
    /// The ear and its base contain no other corner.
    Free,
    /// Other corners may lie on the ear's base.
    Touched,
    /// The corner has no area and is dropped.
    Flat,
    /// The corner does not turn right.
    Left,
    /// Any corner.
    Any,
}

impl Choice {
    fn next(self) -> Self {
        match self {
            Self::Free => Self::Touched,
            Self::Touched => Self::Flat,
            Self::Flat => Self::Left,
            Self::Left | Self::Any => Self::Any,
        }
    }
}

/// Remaining polygon while its ears are clipped.
struct Clipper {
    points: Vec<Coord<f64>>,
    /// Next and previous of each remaining corner.
    next: Vec<usize>,
    previous: Vec<usize>,
    /// Corners that do not turn left, in order. An ear that contains any corner contains one of these.
    hollows: Vec<usize>,
    triangles: Vec<[usize; 3]>,
    is_forced: bool,
    comparisons: usize,
}

impl Clipper {
    fn new(points: Vec<Coord<f64>>) -> Self {
        let count = points.len();
        let next: Vec<usize> = (0..count).map(|place| (place + 1) % count).collect();
        let previous: Vec<usize> = (0..count).map(|place| (place + count - 1) % count).collect();
        let mut clipper = Self {
            points,
            next,
            previous,
            hollows: Vec::new(),
            triangles: Vec::with_capacity(count),
            is_forced: false,
            comparisons: 0,
        };
        clipper.hollows = (0..count).filter(|&corner| clipper.turn(corner) <= 0.0).collect();
        clipper
    }

    fn clip(&mut self) {
        let (mut left, mut tried, mut corner, mut choice) = (self.points.len(), 0, 0, Choice::Free);
        while left >= 3 {
            choice = self.affordable(choice);
            if self.is_fit(corner, choice) {
                self.remove(corner, choice);
                left -= 1;
                (tried, choice) = (0, Choice::Free);
                // Ears side by side would make a fan of slivers.
                corner = self.next[self.next[corner]];
            } else {
                tried += 1;
                corner = self.next[corner];
                if tried > left {
                    (tried, choice) = (0, choice.next());
                }
            }
        }
    }

    /// Returns a choice that the comparisons so far leave time for.
    fn affordable(&mut self, choice: Choice) -> Choice {
        let least = match self.comparisons {
            0..=MAX_COMPARISONS => return choice,
            count if count <= 2 * MAX_COMPARISONS => Choice::Left,
            _ => Choice::Any,
        };
        // Nothing asks for them any more.
        self.hollows = Vec::new();
        if least > choice { least } else { choice }
    }

    /// Returns twice the signed area of the triangle at a corner.
    fn turn(&self, corner: usize) -> f64 {
        self.side([self.previous[corner], corner], self.next[corner])
    }

    /// Returns a number above zero if a corner lies to the left of the line through two others.
    fn side(&self, [from, to]: [usize; 2], corner: usize) -> f64 {
        orient2d(self.points[from], self.points[to], self.points[corner])
    }

    fn is_fit(&mut self, corner: usize, choice: Choice) -> bool {
        let turn = self.turn(corner);
        self.comparisons += 1;
        match choice {
            Choice::Free | Choice::Touched => turn > 0.0 && self.is_ear(corner, choice == Choice::Free),
            Choice::Flat => turn == 0.0,
            Choice::Left => turn >= 0.0,
            Choice::Any => true,
        }
    }

    /// Returns true if no other part of the polygon reaches into the triangle at a corner that turns left.
    fn is_ear(&mut self, corner: usize, must_be_free: bool) -> bool {
        let (a, c) = (self.previous[corner], self.next[corner]);
        let edges = [[a, corner], [corner, c], [c, a]];
        let [min_x, largest_x] = extent([a, corner, c].map(|corner| self.points[corner].x));
        let [min_y, largest_y] = extent([a, corner, c].map(|corner| self.points[corner].y));
        self.comparisons += self.hollows.len();
        !self.hollows.iter().any(|&hollow| {
            let Coord { x, y } = self.points[hollow];
            if x < min_x || x > largest_x || y < min_y || y > largest_y || [a, corner, c].contains(&hollow) {
                return false;
            }
            let sides = edges.map(|edge| self.side(edge, hollow));
            if sides.iter().any(|&side| side < 0.0) {
                return false;
            }
            // A corner on the border of the ear is in the way if one of its edges leads inside.
            let leads_inside = |neighbor: usize| {
                edges.iter().zip(sides).all(|(&edge, side)| side > 0.0 || self.side(edge, neighbor) > 0.0)
            };
            let is_on_base = sides[0] > 0.0 && sides[1] > 0.0 && sides[2] == 0.0;
            (must_be_free && is_on_base) || leads_inside(self.previous[hollow]) || leads_inside(self.next[hollow])
        })
    }

    fn remove(&mut self, corner: usize, choice: Choice) {
        let (a, c, turn) = (self.previous[corner], self.next[corner], self.turn(corner));
        self.is_forced |= (choice >= Choice::Left && turn != 0.0) || turn < 0.0;
        if turn > 0.0 {
            self.triangles.push([a, corner, c]);
        } else if turn < 0.0 {
            // A lobe with the opposite winding is turned to face as the others.
            self.triangles.push([c, corner, a]);
        }
        self.next[a] = c;
        self.previous[c] = a;
        self.forget(corner);
        for neighbor in [a, c] {
            if self.turn(neighbor) > 0.0 {
                self.forget(neighbor);
            }
        }
    }

    fn forget(&mut self, hollow: usize) {
        if let Ok(place) = self.hollows.binary_search(&hollow) {
            self.hollows.remove(place);
        }
    }
}

/// Returns the smallest and the largest of three numbers.
fn extent([a, b, c]: [f64; 3]) -> [f64; 2] {
    [a.min(b).min(c), a.max(b).max(c)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::thread_time;
    use glam::{Quat, Vec2};

    fn lifted(corners: &[[f32; 2]], turn: Quat) -> Vec<Vec3> {
        corners.iter().map(|&corner| turn * Vec2::from(corner).extend(0.5)).collect()
    }

    /// Returns the triangles' area, and checks that all of them face as the polygon does.
    fn area(corners: &[Vec3], cut: &Cut, normal: Vec3) -> f32 {
        let scaled = |[a, b, c]: [usize; 3]| (corners[b] - corners[a]).cross(corners[c] - corners[a]) * 0.5;
        for &triangle in &cut.triangles {
            assert!(scaled(triangle).dot(normal) > -1e-6, "{triangle:?}");
        }
        cut.triangles.iter().map(|&triangle| scaled(triangle).length()).sum()
    }

    const ARROW: [[f32; 2]; 4] = [[1.0, 0.5], [0.0, 2.0], [0.0, 0.0], [2.0, 0.0]];
    /// A wall of 6 x 3 with a doorway of 1 x 2 in its outline.
    const DOORWAY: [[f32; 2]; 8] =
        [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [3.0, 2.0], [3.0, 0.0], [6.0, 0.0], [6.0, 3.0], [0.0, 3.0]];
    /// A wall of 4 x 4 with a window of 2 x 2, which the outline enters and leaves along one line.
    const WINDOW: [[f32; 2]; 10] = [
        [0.0, 0.0],
        [4.0, 0.0],
        [4.0, 4.0],
        [0.0, 4.0],
        [0.0, 0.0],
        [1.0, 1.0],
        [1.0, 3.0],
        [3.0, 3.0],
        [3.0, 1.0],
        [1.0, 1.0],
    ];
    /// A wall of 4 x 4 with two windows of 1 x 1, each connected to another corner of the wall.
    const TWO_WINDOWS: [[f32; 2]; 16] = [
        [0.0, 0.0],
        [1.0, 1.0],
        [1.0, 2.0],
        [2.0, 2.0],
        [2.0, 1.0],
        [1.0, 1.0],
        [0.0, 0.0],
        [4.0, 0.0],
        [4.0, 4.0],
        [3.5, 3.5],
        [3.5, 2.5],
        [2.5, 2.5],
        [2.5, 3.5],
        [3.5, 3.5],
        [4.0, 4.0],
        [0.0, 4.0],
    ];

    #[test]
    fn concave_polygons_and_holes_keep_their_area_whichever_way_they_lie_and_wherever_they_begin() {
        let turns = [
            Quat::IDENTITY,
            Quat::from_rotation_x(1.0),
            Quat::from_rotation_y(1.8),
            Quat::from_rotation_x(core::f32::consts::PI),
            Quat::from_euler(glam::EulerRot::XYZ, 0.5, 2.0, 4.0),
        ];
        for (name, outline, expected) in [
            ("arrow", &ARROW[..], 1.5),
            ("doorway", &DOORWAY, 16.0),
            ("window", &WINDOW, 12.0),
            ("two windows", &TWO_WINDOWS, 14.0),
        ] {
            for turn in turns {
                for start in 0..outline.len() {
                    let mut corners = lifted(outline, turn);
                    corners.rotate_left(start);
                    let cut = triangulate(&corners);
                    let area = area(&corners, &cut, turn * Vec3::Z);
                    assert!((area - expected).abs() < 1e-4, "{name} from {start}: {area}");
                    assert!(!cut.crosses_itself, "{name} from {start}");
                }
            }
        }
    }

    #[test]
    fn holes_stay_open() {
        let corners = lifted(&WINDOW, Quat::IDENTITY);
        let cut = triangulate(&corners);
        for triangle in cut.triangles {
            let middle = triangle.iter().map(|&corner| corners[corner].truncate()).sum::<Vec2>() / 3.0;
            assert!((middle - 2.0).abs().max_element() > 1.0, "{middle}");
        }
    }

    #[test]
    fn convex_polygons_are_fans_and_repeated_corners_count_once() {
        let square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        assert_eq!(triangulate(&lifted(&square, Quat::IDENTITY)).triangles, [[0, 1, 2], [0, 2, 3]]);
        let repeated = [square[0], square[1], square[1], square[2], square[0]];
        assert_eq!(triangulate(&lifted(&repeated, Quat::IDENTITY)).triangles, [[0, 1, 3]]);
    }

    #[test]
    fn corners_on_a_straight_edge_are_kept() {
        let corners = lifted(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 2.0], [0.0, 2.0]], Quat::IDENTITY);
        let cut = triangulate(&corners);
        assert!((area(&corners, &cut, Vec3::Z) - 4.0).abs() < 1e-6);
        assert!((0..6).all(|corner| cut.triangles.iter().flatten().any(|&used| used == corner)));
    }

    #[test]
    fn outlines_that_cross_themselves_are_told_and_points_on_a_line_have_no_area() {
        let bow = lifted(&[[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], Quat::IDENTITY);
        let cut = triangulate(&bow);
        assert!(cut.crosses_itself && !cut.triangles.is_empty());
        let star = lifted(&[[0.0, 1.0], [-0.6, -0.8], [0.95, 0.3], [-0.95, 0.3], [0.6, -0.8]], Quat::IDENTITY);
        assert!(triangulate(&star).crosses_itself);
        let line = lifted(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], Quat::IDENTITY);
        assert_eq!(triangulate(&line), Cut { triangles: Vec::new(), crosses_itself: false });
    }

    #[test]
    fn a_bent_quad_is_cut_where_both_halves_face_its_front() {
        // One corner is moved past the diagonal of its neighbors, and off the plane.
        let corners = [Vec3::ZERO, Vec3::new(2.0, 0.0, 0.0), Vec3::new(0.4, 0.4, 0.3), Vec3::new(0.0, 2.0, 0.0)];
        let cut = triangulate(&corners);
        assert!(cut.triangles.iter().all(|triangle| triangle.contains(&0) && triangle.contains(&2)), "{cut:?}");
    }

    #[test]
    fn a_comb_of_ten_thousand_teeth_is_cut_within_seconds() {
        let mut outline = Vec::new();
        for tooth in 0..10_000 {
            let x = tooth as f32;
            outline.extend([[x, 0.0], [x + 0.5, 1.0]]);
        }
        outline.extend([[10_000.0, 2.0], [0.0, 2.0]]);
        let corners = lifted(&outline, Quat::IDENTITY);
        let begun = thread_time();
        let cut = triangulate(&corners);
        assert!((thread_time() - begun).as_secs() < 5 && cut.triangles.len() >= 10_000);
    }

    #[test]
    fn a_spiral_of_three_hundred_thousand_corners_is_cut_within_seconds() {
        let at = |step: usize, radius: f32| {
            let angle = step as f32 * 0.02;
            Vec3::new(libm::cosf(angle), libm::sinf(angle), 0.0) * (radius + step as f32 * 1e-3)
        };
        let outside = (0..150_000).map(|step| at(step, 1.2));
        let corners: Vec<Vec3> = outside.chain((0..150_000).rev().map(|step| at(step, 1.0))).collect();
        let begun = thread_time();
        let cut = triangulate(&corners);
        let took = thread_time() - begun;
        assert!(took.as_secs() < 10 && cut.triangles.len() >= 200_000, "{took:?}");
    }

    proptest::proptest! {
        #[test]
        fn stars_about_a_point_keep_their_area(radii in proptest::collection::vec(1u8..200, 3..40)) {
            let count = radii.len();
            let corner = |(index, &radius): (usize, &u8)| {
                let (sine, cosine) = (core::f32::consts::TAU * index as f32 / count as f32).sin_cos();
                Vec3::new(cosine, sine, 0.0) * f32::from(radius)
            };
            let corners: Vec<Vec3> = radii.iter().enumerate().map(corner).collect();
            let cut = triangulate(&corners);
            let pairs = corners.iter().zip(corners.iter().cycle().skip(1));
            let expected = pairs.map(|(a, b)| a.cross(*b).z * 0.5).sum::<f32>();
            proptest::prop_assert!(!cut.crosses_itself);
            proptest::prop_assert!((area(&corners, &cut, Vec3::Z) / expected - 1.0).abs() < 1e-3);
        }

        #[test]
        fn no_corners_make_it_panic(numbers in proptest::collection::vec(-3i8..4, 0..60)) {
            let corners: Vec<Vec3> =
                numbers.chunks_exact(3).map(|c| Vec3::new(c[0].into(), c[1].into(), c[2].into())).collect();
            let cut = triangulate(&corners);
            proptest::prop_assert!(cut.triangles.iter().flatten().all(|&corner| corner < corners.len()));
        }
    }
}
