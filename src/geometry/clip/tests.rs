use glam::{DVec2, DVec3, Vec3};

use super::*;
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Aabb, Face};

const WEIGHTS: [DVec2; 3] = [DVec2::ZERO, DVec2::X, DVec2::Y];

fn triangle(corners: [Vec3; 3]) -> Vec<Corner<DVec2>> {
    corners.iter().zip(WEIGHTS).map(|(corner, attribute)| Corner { position: corner.as_dvec3(), attribute }).collect()
}

fn cube() -> Aabb {
    Aabb { min: Vec3::NEG_ONE, max: Vec3::ONE }
}

/// Returns the corners without collinear ones, rotated to start at the smallest.
fn shape(polygon: &[Corner<DVec2>]) -> Vec<DVec3> {
    let count = polygon.len();
    let at = |index: usize| polygon[index % count].position;
    let turns = |&index: &usize| {
        let (before, here, after) = (at(index + count - 1), at(index), at(index + 1));
        (here - before).cross(after - here).length() > 1e-9
    };
    let mut corners: Vec<DVec3> = (0..count).filter(turns).map(at).collect();
    let key = |corner: &DVec3| corner.to_array().map(|x| (x * 1e6).round() as i64);
    if let Some(first) = (0..corners.len()).min_by_key(|&index| key(&corners[index])) {
        corners.rotate_left(first);
    }
    corners
}

/// Clips a triangle with both clippers, compares the results, and returns the kinds of corners.
fn compare(corners: [Vec3; 3], cell: &Aabb) -> Vec<Kind> {
    let polygon = triangle(corners);
    let (mut ordered, mut plain) = (OrderedClipper::default(), SutherlandHodgman::default());
    let found = ordered.clip(&polygon, cell).to_vec();
    let expected = plain.clip(&polygon, cell);
    assert_eq!(ordered.contradictions, 0, "{corners:?} in {cell:?} was not cut by its list");
    let context = || format!("{corners:?} in {cell:?}:\n{found:#?}\nnot\n{expected:#?}");
    let area = vector_area(&found);
    assert!((area - vector_area(expected)).length() < 1e-9, "area of {}", context());
    let (shape_found, shape_expected) = (shape(&found), shape(expected));
    assert_eq!(shape_found.len(), shape_expected.len(), "corners of {}", context());
    for (a, b) in shape_found.iter().zip(&shape_expected) {
        assert!(a.distance(*b) < 1e-6, "corners of {}", context());
    }
    assert!(area.dot(vector_area(&polygon)) >= 0.0, "winding of {}", context());
    for (index, corner) in found.iter().enumerate() {
        let DVec2 { x, y } = corner.attribute;
        let [a, b, c] = corners.map(Vec3::as_dvec3);
        assert!((a + (b - a) * x + (c - a) * y).distance(corner.position) < 1e-9, "attributes of {}", context());
        let is_inside = corner.position.cmpge(cell.min.as_dvec3()) & corner.position.cmple(cell.max.as_dvec3());
        assert!(is_inside.all(), "corner {index} outside in {}", context());
        assert!(found[..index].iter().all(|other| other.position != corner.position), "twice in {}", context());
    }
    ordered.records().iter().map(|record| record.kind).collect()
}

/// Returns three corners from two Sobol sequences, in a cube with edges of 4, or on a lattice.
fn corners(index: u32, lattice: Option<f32>) -> [Vec3; 3] {
    let (first, second, third) = (OwenSobol::new(1), OwenSobol::new(2), OwenSobol::new(3));
    let ([a, b, c, d], [e, f, g, h], [i, ..]) = (first.point(index), second.point(index), third.point(index));
    [Vec3::new(a, b, e), Vec3::new(c, f, g), Vec3::new(h, i, d)].map(|corner| {
        let spread = corner * 4.0 - 2.0;
        lattice.map_or(spread, |step| (spread / step).round() * step)
    })
}

#[test]
fn any_triangle_in_any_box_is_cut_as_sutherland_and_hodgman_cut_it() {
    let mut pierced_by_edges_only = 0;
    for index in 0..100_000 {
        let [lower, upper, _] = corners(index + 100_000, None).map(|corner| corner * 0.7);
        let cell = Aabb { min: lower.min(upper), max: lower.max(upper) };
        let kinds = compare(corners(index, None), &cell);
        pierced_by_edges_only += usize::from(!kinds.is_empty() && kinds.iter().all(|&kind| kind == Kind::Edge));
    }
    assert!(pierced_by_edges_only > 1_000, "{pierced_by_edges_only}");
}

#[test]
fn triangles_on_a_lattice_that_the_box_lies_on_are_cut_so_too() {
    // Covers corners on edges, edges in faces and along edges, coplanar faces, and boxes without thickness.
    for index in 0..60_000 {
        compare(corners(index, Some(1.0)), &cube());
        compare(corners(index, Some(0.5)), &cube());
    }
    for index in 0..20_000 {
        let [lower, upper, _] = corners(index + 7_000, Some(1.0));
        compare(corners(index, Some(1.0)), &Aabb { min: lower.min(upper), max: lower.max(upper) });
    }
}

#[test]
fn what_only_touches_the_box_is_not_in_it() {
    let mut clipper = OrderedClipper::default();
    let mut is_empty = |corners: [[f32; 3]; 3]| clipper.clip(&triangle(corners.map(Vec3::from)), &cube()).is_empty();
    assert!(is_empty([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1.0, 0.5]]), "by a corner, at a face");
    assert!(is_empty([[1.0, -0.5, 0.0], [1.0, 0.5, 0.0], [2.0, 0.0, 0.0]]), "by an edge, at a face");
    assert!(is_empty([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [1.0, 2.0, 0.0]]), "by a corner, at an edge");
    assert!(is_empty([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0]]), "by an edge, at an edge");
    assert!(is_empty([[0.0, 2.0, -2.0], [2.0, 0.0, -2.0], [1.0, 1.0, 2.0]]), "along an edge, by its inside");
    assert!(is_empty([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]]), "by its inside, at a corner");
    assert!(!is_empty([[2.999, 0.0, 0.0], [0.0, 2.999, 0.0], [0.0, 0.0, 2.999]]), "below that corner");
    assert!(is_empty([[0.0; 3], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]]), "without area");
    assert!(!is_empty([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]), "in the plane of a face");
}

#[test]
fn a_triangle_in_the_plane_of_a_face_is_cut_to_that_face() {
    let corners = [[1.0, 0.0, 0.0], [1.0, 4.0, 0.0], [1.0, 0.0, 4.0]].map(Vec3::from);
    let mut clipper = OrderedClipper::default();
    let cut = clipper.clip(&triangle(corners), &cube());
    // The part of the unit square below the line y + z = 4 is the whole square.
    assert_eq!(cut.len(), 4);
    assert_eq!(vector_area(cut), DVec3::X);
}

#[test]
fn the_list_of_figures_2_8_and_2_9_is_found_in_its_order() {
    // One corner lies inside the box, the others beyond its top on the left and right. The flat box's upper left and
    // upper right edges pierce the triangle.
    let corners = [[0.0, -0.5, 0.0], [2.5, 2.0, 0.1], [-2.5, 2.0, -0.1]].map(Vec3::from);
    let mut clipper = OrderedClipper::default();
    clipper.clip(&triangle(corners), &cube());
    let (left, right, top) = (Face::ALL[0], Face::ALL[1], Face::ALL[3]);
    let found: Vec<_> = clipper.records().iter().map(|record| (record.kind, record.faces, record.link)).collect();
    let expected = [
        (Kind::Interior, [None, None], None),
        (Kind::Outgoing, [Some(right), None], Some(right)),
        (Kind::Edge, [Some(right), Some(top)], Some(top)),
        (Kind::Edge, [Some(top), Some(left)], Some(left)),
        (Kind::Incoming, [Some(left), None], None),
    ];
    assert_eq!(found, expected);
    let positions = |kind| clipper.records().iter().find(move |record| record.kind == kind).unwrap().corner.position;
    assert!(positions(Kind::Outgoing).distance(DVec3::new(1.0, 0.5, 0.04)) < 1e-7);
}

#[test]
fn a_polygon_that_only_edges_of_the_box_pierce_keeps_its_winding() {
    let level = |y: f32, turn: bool| {
        let corners = [[-9.0, y, 9.0], [9.0, y, 9.0], [0.0, y, -20.0]].map(Vec3::from);
        triangle(if turn { [corners[0], corners[2], corners[1]] } else { corners })
    };
    let mut clipper = OrderedClipper::default();
    for y in [-0.5, 0.0, 0.75] {
        for turn in [false, true] {
            let cut = vector_area(clipper.clip(&level(y, turn), &cube()));
            assert!((cut - if turn { -4.0 } else { 4.0 } * DVec3::Y).length() < 1e-12, "{cut}");
            assert!(clipper.records().iter().all(|record| record.kind == Kind::Edge));
        }
    }
}

#[test]
fn polygons_of_many_corners_and_pieces_of_pieces_are_cut_alike() {
    let (mut ordered, mut plain) = (OrderedClipper::default(), SutherlandHodgman::default());
    for index in 0..3_000 {
        let [a, b, center] = corners(index, None).map(Vec3::as_dvec3);
        let polygon: Vec<Corner> = (0..12)
            .map(|k| {
                let (sine, cosine) = (f64::from(k) / 12.0 * core::f64::consts::TAU).sin_cos();
                Corner { position: center + a * cosine + b * sine, attribute: () }
            })
            .collect();
        let once = ordered.clip(&polygon, &cube()).to_vec();
        assert!((vector_area(&once) - vector_area(plain.clip(&polygon, &cube()))).length() < 1e-9);
        let half = Aabb { max: Vec3::new(0.1, 1.0, 1.0), ..cube() };
        let twice = vector_area(ordered.clip(&once, &half));
        assert!((twice - vector_area(plain.clip(&polygon, &half))).length() < 1e-9);
    }
}

#[test]
fn pieces_in_neighboring_boxes_make_up_the_whole() {
    let mut clipper = OrderedClipper::default();
    for index in 0..2_000 {
        let polygon = triangle(corners(index, (index % 2 == 0).then_some(0.5)));
        let mut sum = DVec3::ZERO;
        for octant in 0..8 {
            let is_upper = [1, 2, 4].map(|bit| octant & bit != 0);
            let cell = Aabb {
                min: is_upper.map(|upper| if upper { 0.1 } else { -2.5 }).into(),
                max: is_upper.map(|upper| if upper { 2.5 } else { 0.1 }).into(),
            };
            sum += vector_area(clipper.clip(&polygon, &cell));
        }
        // No lattice corner has a coordinate of 0.1, where the boxes meet.
        assert!((sum - vector_area(&polygon)).length() < 1e-6, "{index}: {sum}");
    }
}

#[test]
fn texture_coordinates_and_normals_of_a_corner_are_those_of_its_place() {
    let mut clipper = OrderedClipper::default();
    let mut cut = 0;
    for index in 0..2_000 {
        let corners = corners(index, None).map(Vec3::as_dvec3);
        // Any affine function of position serves as an attribute.
        let of = |place: DVec3| {
            (DVec2::new(place.x - 2.0 * place.y, 3.0 + place.z), DVec3::Y + place.cross(DVec3::new(0.3, -0.2, 0.1)))
        };
        let polygon = corners.map(|position| Corner { position, attribute: of(position) });
        for corner in clipper.clip(&polygon, &cube()) {
            let ((uv, normal), (expected_uv, expected_normal)) = (corner.attribute, of(corner.position));
            assert!(uv.distance(expected_uv) < 1e-9 && normal.distance(expected_normal) < 1e-9, "{corner:?}");
            cut += 1;
        }
    }
    assert!(cut > 3_000, "{cut}");
}

#[test]
fn corners_that_do_not_lie_in_one_plane_are_cut_along_one_face_after_the_other() {
    let (mut ordered, mut plain) = (OrderedClipper::default(), SutherlandHodgman::default());
    for index in 0..20_000 {
        let [a, b, c] = corners(index, None);
        let [d, ..] = corners(index + 50_000, None);
        let polygon = [a, b, c, d].map(|corner| Corner { position: corner.as_dvec3(), attribute: () });
        let before = ordered.contradictions;
        let found = ordered.clip(&polygon, &cube()).to_vec();
        let within = |corner: &Corner| corner.position.abs().max_element() <= 1.0;
        assert!(found.iter().all(within), "{polygon:?}: {found:?}");
        if ordered.contradictions > before {
            assert_eq!(found, plain.clip(&polygon, &cube()), "{polygon:?}");
        }
    }
    assert!(ordered.contradictions > 1_000, "{}", ordered.contradictions);
}
