//! Guarantees of unwrapping for meshes of every shape.

use std::collections::HashSet;
use std::f32::consts::{PI, TAU};

use glam::{DVec3, Vec2, Vec3};

use super::overlap::Occupied;
use super::*;
use crate::progress::Unmonitored;

#[cfg(feature = "xatlas")]
mod xatlas;

const DENSITY: f64 = 32.0;

fn mesh(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> MeshData {
    MeshData { name: "test".into(), positions, triangles, ..MeshData::default() }
}

/// Builds a grid of quads. `shape` maps the unit square to space.
fn sheet(columns: u32, rows: u32, shape: impl Fn(f32, f32) -> Vec3) -> MeshData {
    let mut positions = Vec::new();
    for row in 0..=rows {
        for column in 0..=columns {
            positions.push(shape(column as f32 / columns as f32, row as f32 / rows as f32));
        }
    }
    let quads = (0..rows).flat_map(|row| (0..columns).map(move |column| row * (columns + 1) + column));
    let corners = quads.map(|a| [a, a + 1, a + columns + 1, a + columns + 2]);
    mesh(positions, corners.flat_map(|[a, b, c, d]| [[a, b, c], [b, d, c]]).collect())
}

fn cube() -> MeshData {
    let corner = |k: u32| Vec3::new((k & 1) as f32, (k >> 1 & 1) as f32, (k >> 2) as f32);
    let quads = [[0, 2, 1, 3], [4, 5, 6, 7], [0, 1, 4, 5], [2, 6, 3, 7], [0, 4, 2, 6], [1, 3, 5, 7]];
    mesh((0..8).map(corner).collect(), quads.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [b, d, c]]).collect())
}

fn sphere() -> MeshData {
    sheet(48, 24, |u, v| {
        let (azimuth, polar) = (u * TAU, v * PI);
        Vec3::new(polar.sin() * azimuth.cos(), polar.cos(), polar.sin() * azimuth.sin())
    })
}

fn request(mesh: &MeshData) -> Request<'_> {
    let to_texels = DMat3::from_diagonal(DVec3::splat(DENSITY));
    let unwrapper = Unwrapper::Charts;
    Request { mesh, to_texels, unwrapper, padding: 2, page_size: 2048, two_sided: false, uv1_use: Uv1Use::Free }
}

fn unwrap(request: &Request) -> Outcome {
    super::unwrap(request, &Unmonitored).expect("nobody cancels")
}

fn unwrapped(mesh: &MeshData) -> Unwrap {
    unwrap(&request(mesh)).unwrap.expect("the mesh has an area")
}

fn flat(unwrap: &Unwrap, triangle: usize) -> [Vec2; 3] {
    let size = Vec2::new(unwrap.width as f32, unwrap.height as f32);
    unwrap.mesh.triangles[triangle].map(|vertex| unwrap.mesh.uv1[vertex as usize] * size)
}

fn chart_count(unwrap: &Unwrap) -> usize {
    unwrap.charts.iter().filter(|chart| **chart != Unwrap::NO_CHART).collect::<HashSet<_>>().len()
}

/// Returns the chart that covers each texel, by testing every texel of every triangle's bounding rectangle.
fn covered_by(unwrap: &Unwrap) -> Vec<Option<u32>> {
    let mut texels = vec![None; (unwrap.width * unwrap.height) as usize];
    for (triangle, &chart) in unwrap.charts.iter().enumerate().filter(|(_, chart)| **chart != Unwrap::NO_CHART) {
        let corners = flat(unwrap, triangle);
        let (min, max) = flatten::bounds(&corners);
        // Rounding of coordinates does not count as coverage.
        let (min, max) = (min + 1e-3, (max - 1e-3).max(min + 1e-3));
        for y in min.y as u32..(max.y.ceil() as u32).min(unwrap.height) {
            for x in min.x as u32..(max.x.ceil() as u32).min(unwrap.width) {
                if touches(&corners, Vec2::new(x as f32, y as f32)) {
                    texels[(y * unwrap.width + x) as usize] = Some(chart);
                }
            }
        }
    }
    texels
}

/// Returns true if a triangle extends into the texel with the minimum corner `texel`.
fn touches(corners: &[Vec2; 3], texel: Vec2) -> bool {
    (0..3).all(|edge| {
        let (from, to, apex) = (corners[edge], corners[(edge + 1) % 3], corners[(edge + 2) % 3]);
        let inside = (to - from).perp_dot(apex - from).signum();
        [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
            .iter()
            .any(|&(x, y)| inside * (to - from).perp_dot(texel + Vec2::new(x, y) - from) > 1e-3)
    })
}

/// Panics unless charts keep their distance, triangles do not overlap, and areas are kept within `stretch`.
fn assert_sound(source: &MeshData, unwrap: &Unwrap, stretch: f64) {
    assert_eq!(unwrap.mesh.triangles.len(), source.triangles.len());
    let (mut area, mut flat_area) = (0.0, 0.0);
    let size = Vec2::new(unwrap.width as f32, unwrap.height as f32);
    let mut occupied = Occupied::new(Vec2::ZERO, size, source.triangles.len());
    for (index, (corners, split)) in source.triangles.iter().zip(&unwrap.mesh.triangles).enumerate() {
        assert_eq!(*corners, split.map(|vertex| unwrap.source_vertices[vertex as usize]), "order is kept");
        let [a, b, c] = corners.map(|vertex| source.positions[vertex as usize]);
        let flat = flat(unwrap, index);
        if unwrap.charts[index] == Unwrap::NO_CHART {
            assert_eq!((flat[0], flat[0]), (flat[1], flat[2]));
            continue;
        }
        assert!(flat.iter().all(|point| point.cmpge(Vec2::ZERO).all() && point.cmple(size).all()));
        assert!(occupied.insert(flat), "triangle {index} overlaps another");
        area += f64::from((b - a).cross(c - a).length()) * 0.5 * DENSITY * DENSITY;
        flat_area += f64::from((flat[1] - flat[0]).perp_dot(flat[2] - flat[0]).abs()) * 0.5;
    }
    assert!((flat_area / area).ln().abs() <= stretch.ln(), "{flat_area} texels for {area}");
    assert_charts_keep_apart(unwrap, 2);
}

fn assert_charts_keep_apart(unwrap: &Unwrap, padding: i64) {
    let texels = covered_by(unwrap);
    let (width, height) = (i64::from(unwrap.width), i64::from(unwrap.height));
    for (index, chart) in texels.iter().enumerate().filter_map(|(index, chart)| Some((index as i64, (*chart)?))) {
        let (x, y) = (index % width, index / width);
        for near_y in (y - padding).max(0)..=(y + padding).min(height - 1) {
            for near_x in (x - padding).max(0)..=(x + padding).min(width - 1) {
                let near = texels[(near_y * width + near_x) as usize];
                assert!(near.is_none_or(|near| near == chart), "charts {chart} and {near:?} meet at {x}, {y}");
            }
        }
    }
}

#[test]
fn a_wall_of_two_meters_at_32_texels_a_meter_is_64_texels_square() {
    let wall = sheet(1, 1, |u, v| Vec3::new(0.6, 0.0, 0.8) * (u * 2.0) + Vec3::Y * (v * 2.0) + Vec3::splat(7.3));
    let unwrap = unwrapped(&wall);
    assert_eq!((unwrap.width, unwrap.height), (64, 64));
    for triangle in 0..2 {
        for point in flat(&unwrap, triangle) {
            assert!([0.0, 64.0].contains(&point.x) && [0.0, 64.0].contains(&point.y), "{point}");
        }
    }
}

#[test]
fn a_cube_has_six_square_charts() {
    let unwrap = unwrapped(&cube());
    assert_sound(&cube(), &unwrap, 1.001);
    assert_eq!(chart_count(&unwrap), 6);
    let covered = covered_by(&unwrap).into_iter().flatten().count();
    assert_eq!(covered, 6 * 32 * 32);
}

#[test]
fn a_sphere_has_few_charts_of_nearly_its_area() {
    let unwrap = unwrapped(&sphere());
    assert_sound(&sphere(), &unwrap, 1.1);
    assert!((6..=14).contains(&chart_count(&unwrap)), "{} charts", chart_count(&unwrap));
}

#[test]
fn sheets_of_every_shape_keep_order_area_and_distance() {
    let cylinder = sheet(32, 4, |u, v| Vec3::new((u * TAU).cos(), v * 2.0, (u * TAU).sin()));
    // The last column of quads joins the first upside down.
    let moebius = sheet(40, 2, |u, v| {
        let (turn, half) = (u * TAU, u * PI);
        let out = 1.0 + (v - 0.5) * half.cos();
        Vec3::new(out * turn.cos(), (v - 0.5) * half.sin(), out * turn.sin())
    });
    let spiral = sheet(200, 1, |u, v| {
        let turn = u * 3.0 * TAU;
        Vec3::new((1.0 - 0.5 * v) * turn.cos(), u * 0.5, (1.0 - 0.5 * v) * turn.sin())
    });
    for mesh in [cylinder, moebius, spiral] {
        assert_sound(&mesh, &unwrapped(&mesh), 1.1);
    }
}

#[test]
fn a_flat_spiral_that_overlaps_itself_is_split() {
    let spiral = sheet(100, 1, |u, v| {
        let turn = u * 2.0 * TAU;
        Vec3::new((1.0 - 0.5 * v) * turn.cos(), u * 0.01, (1.0 - 0.5 * v) * turn.sin())
    });
    let unwrap = unwrapped(&spiral);
    assert_sound(&spiral, &unwrap, 1.05);
    assert!(chart_count(&unwrap) >= 2);
}

/// Builds a square wall and four degenerate triangles.
fn wall_with_degenerate_triangles() -> MeshData {
    let mut wall = sheet(1, 1, |u, v| Vec3::new(u, v, 0.0));
    wall.positions.extend([Vec3::NAN, Vec3::INFINITY]);
    wall.triangles.extend([[0, 1, 1], [2, 2, 2], [0, 1, 4], [5, 2, 3]]);
    wall
}

#[test]
fn degenerate_triangles_lie_on_one_spot_and_own_no_chart() {
    let wall = wall_with_degenerate_triangles();
    let unwrap = unwrapped(&wall);
    assert_sound(&wall, &unwrap, 1.001);
    assert_eq!(unwrap.charts, [0, 0, u32::MAX, u32::MAX, u32::MAX, u32::MAX]);
}

#[test]
fn nothing_without_area_is_unwrapped() {
    let line = mesh(vec![Vec3::ZERO, Vec3::X, Vec3::X * 2.0], vec![[0, 1, 2]]);
    assert!(unwrap(&request(&line)).unwrap.is_none());
    assert!(unwrap(&request(&mesh(Vec::new(), Vec::new()))).unwrap.is_none());
}

#[test]
fn an_edge_of_three_walls_parts_their_charts() {
    let fan = mesh(
        vec![Vec3::ZERO, Vec3::Y, Vec3::X, Vec3::Z, Vec3::new(-1.0, 0.0, -1.0)],
        vec![[0, 1, 2], [0, 1, 3], [0, 1, 4]],
    );
    let unwrap = unwrapped(&fan);
    assert_sound(&fan, &unwrap, 1.1);
    assert_eq!(chart_count(&unwrap), 3);
}

#[test]
fn a_speck_far_below_a_texel_gets_one() {
    let speck = sheet(1, 1, |u, v| Vec3::new(u, v, 0.0) * 1e-4);
    let unwrap = unwrapped(&speck);
    assert_eq!((unwrap.width, unwrap.height), (1, 1));
}

#[test]
fn a_stretched_surface_is_unwrapped_as_it_stands_in_the_world() {
    let wall = sheet(1, 1, |u, v| Vec3::new(u, v, 0.0));
    let to_texels = DMat3::from_diagonal(DVec3::new(10.0 * DENSITY, 3.0 * DENSITY, 1.0));
    let unwrap = unwrap(&Request { to_texels, ..request(&wall) }).unwrap.expect("the wall has an area");
    let mut size = [unwrap.width, unwrap.height];
    size.sort_unstable();
    assert_eq!(size, [96, 320]);
}

#[test]
fn the_backs_of_a_two_sided_wall_have_texels_of_their_own() {
    let mut wall = sheet(1, 1, |u, v| Vec3::new(u, v, 0.0));
    wall.normals = vec![Vec3::Z; 4];
    let unwrap = unwrap(&Request { two_sided: true, ..request(&wall) }).unwrap.expect("the wall has an area");
    assert!(unwrap.is_two_sided());
    assert_eq!(unwrap.reversed_from, 2);
    assert_charts_keep_apart(&unwrap, 2);
    assert_eq!(covered_by(&unwrap).into_iter().flatten().count(), 2 * 32 * 32);
    for triangle in 0..2 {
        let front = unwrap.mesh.triangles[triangle].map(|vertex| unwrap.source_vertices[vertex as usize]);
        let back = unwrap.mesh.triangles[triangle + 2].map(|vertex| unwrap.source_vertices[vertex as usize]);
        assert_eq!([front[0], front[2], front[1]], back);
        let normals = unwrap.mesh.triangles[triangle + 2].map(|vertex| unwrap.mesh.normals[vertex as usize]);
        assert_eq!(normals, [-Vec3::Z; 3]);
    }
}

fn with_uv1(mut mesh: MeshData, uv: impl Fn(Vec3) -> Vec2) -> MeshData {
    mesh.uv1 = mesh.positions.iter().map(|position| uv(*position)).collect();
    mesh
}

#[test]
fn good_coordinates_of_a_file_fill_the_rectangle_in_the_surface_s_proportions() {
    // A corner of an atlas that other meshes share, squeezed to a square.
    let wall = sheet(2, 1, |u, v| Vec3::new(4.0 * u, 2.0 * v, 0.0));
    let wall = with_uv1(wall, |p| Vec2::new(0.5 + p.x / 16.0, 0.25 + p.y / 8.0));
    let outcome = unwrap(&request(&wall));
    assert_eq!(outcome.problem, None);
    let unwrap = outcome.unwrap.expect("the coordinates are good");
    assert_eq!((unwrap.width, unwrap.height), (128, 64));
    assert_sound(&wall, &unwrap, 1.001);
    assert_eq!(unwrap.source_vertices.len(), wall.positions.len());
    for (vertex, &source) in unwrap.source_vertices.iter().enumerate() {
        let position = wall.positions[source as usize];
        assert!(unwrap.mesh.uv1[vertex].distance(Vec2::new(position.x / 4.0, position.y / 2.0)) < 1e-6);
    }
}

#[test]
fn bad_coordinates_of_a_file_are_replaced_and_the_reason_is_said() {
    let wall = || sheet(4, 1, |u, v| Vec3::new(4.0 * u, 2.0 * v, 0.0));
    let cases: [(&dyn Fn(Vec3) -> Vec2, Uv1Problem); 3] = [
        (&|p| Vec2::new(p.x, f32::NAN), Uv1Problem::NotFinite),
        (&|_| Vec2::ONE, Uv1Problem::Degenerate),
        (&|p| Vec2::new((p.x - 2.0).abs(), p.y), Uv1Problem::Overlap),
    ];
    for (uv, problem) in cases {
        let bad = with_uv1(wall(), uv);
        let outcome = unwrap(&request(&bad));
        assert_eq!(outcome.problem, Some(problem));
        assert_sound(&bad, &outcome.unwrap.expect("new ones are made"), 1.001);
    }
}

#[test]
fn charts_of_a_file_that_lie_too_close_are_replaced() {
    let mut walls = sheet(1, 1, |u, v| Vec3::new(u, v, 0.0));
    let other = sheet(1, 1, |u, v| Vec3::new(u, v, 5.0));
    walls.positions.extend(&other.positions);
    walls.triangles.extend(other.triangles.iter().map(|corners| corners.map(|corner| corner + 4)));
    let gap = |texels: f32| move |p: Vec3| Vec2::new(p.x + if p.z > 0.0 { 1.0 + texels / 32.0 } else { 0.0 }, p.y);
    let problem = unwrap(&request(&with_uv1(walls.clone(), gap(1.0)))).problem;
    // Two texels of padding, and one for the start of charts, out of 32 per unit.
    let Some(Uv1Problem::TooClose { gap: wanted }) = problem else { panic!("{problem:?}") };
    assert!((wanted - 3.0 / 32.0).abs() < 1e-4, "{wanted}");
    assert_eq!(unwrap(&request(&with_uv1(walls.clone(), gap(3.0)))).problem, None);
    assert_eq!(unwrap(&request(&with_uv1(walls.clone(), gap(2.0)))).problem, None);
    assert_eq!(unwrap(&request(&with_uv1(walls, gap(400.0)))).problem, Some(Uv1Problem::Sparse));
}

#[test]
fn coordinates_that_a_material_reads_stay_or_the_surface_goes_without() {
    let wall = || sheet(1, 1, |u, v| Vec3::new(u, v, 0.0));
    let good = with_uv1(wall(), |p| p.truncate());
    let kept = unwrap(&Request { uv1_use: Uv1Use::Fixed, ..request(&good) }).unwrap.expect("the coordinates are good");
    for (vertex, &source) in kept.source_vertices.iter().enumerate() {
        assert_eq!(kept.mesh.uv1[vertex], good.uv1[source as usize]);
    }
    let kept =
        unwrap(&Request { uv1_use: Uv1Use::Movable, ..request(&good) }).unwrap.expect("the coordinates are good");
    assert!(kept.source_vertices.iter().zip(&kept.mesh.uv1).all(|(source, uv)| *uv == good.uv1[*source as usize]));
    let tiled = with_uv1(wall(), |p| p.truncate() * 3.0);
    let moved = unwrap(&Request { uv1_use: Uv1Use::Movable, ..request(&tiled) });
    assert!(moved.unwrap.is_some() && moved.problem.is_some(), "new ones are made where the old ones can go elsewhere");
    let outcome = unwrap(&Request { uv1_use: Uv1Use::Fixed, ..request(&tiled) });
    assert_eq!((outcome.unwrap.is_none(), outcome.problem), (true, Some(Uv1Problem::OutsideUnitSquare)));
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 64, ..Default::default() })]
    #[test]
    fn soups_of_triangles_never_panic_and_stay_apart(
        corners in proptest::collection::vec(proptest::array::uniform3(-1.0f32..1.0), 3..40),
        triangles in proptest::collection::vec(proptest::array::uniform3(0u32..40), 1..40),
    ) {
        let count = corners.len() as u32;
        let triangles = triangles.into_iter().map(|triangle| triangle.map(|corner| corner % count)).collect();
        let soup = mesh(corners.into_iter().map(Vec3::from).collect(), triangles);
        if let Some(unwrap) = unwrap(&request(&soup)).unwrap {
            assert_charts_keep_apart(&unwrap, 2);
        }
    }
}
