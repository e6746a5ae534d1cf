//! Guarantees of unwrapping, with xatlas.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

fn request(mesh: &MeshData) -> Request<'_> {
    Request { unwrapper: Unwrapper::Xatlas, ..super::request(mesh) }
}

fn unwrapped(mesh: &MeshData) -> Unwrap {
    unwrap(&request(mesh)).unwrap.expect("the mesh has an area")
}

#[test]
fn a_cube_has_six_square_charts_on_whole_texels() {
    let unwrap = unwrapped(&cube());
    assert_sound(&cube(), &unwrap, 1.001);
    assert_eq!(chart_count(&unwrap), 6);
    assert_eq!(covered_by(&unwrap).into_iter().flatten().count(), 6 * 32 * 32);
}

#[test]
fn sheets_of_every_shape_keep_order_area_and_distance() {
    let cylinder = sheet(32, 4, |u, v| Vec3::new((u * TAU).cos(), v * 2.0, (u * TAU).sin()));
    let spiral = sheet(200, 1, |u, v| {
        let turn = u * 3.0 * TAU;
        Vec3::new((1.0 - 0.5 * v) * turn.cos(), u * 0.5, (1.0 - 0.5 * v) * turn.sin())
    });
    for mesh in [cylinder, spiral, sphere()] {
        assert_sound(&mesh, &unwrapped(&mesh), 1.1);
    }
}

#[test]
fn the_same_mesh_gives_the_same_bytes_on_any_thread() {
    let mesh = sphere();
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| unwrapped(&mesh));
        (unwrapped(&mesh), other.join().expect("no panic"))
    });
    assert_eq!(one, other);
    assert_eq!(one, unwrapped(&mesh));
}

#[test]
fn degenerate_triangles_lie_on_one_spot_and_own_no_chart() {
    let wall = wall_with_degenerate_triangles();
    let unwrap = unwrapped(&wall);
    assert_sound(&wall, &unwrap, 1.001);
    assert_eq!(unwrap.charts, [0, 0, u32::MAX, u32::MAX, u32::MAX, u32::MAX]);
}

#[test]
fn nothing_without_area_is_unwrapped_and_a_speck_gets_a_texel() {
    let line = mesh(vec![Vec3::ZERO, Vec3::X, Vec3::X * 2.0], vec![[0, 1, 2]]);
    assert!(unwrap(&request(&line)).unwrap.is_none());
    assert!(unwrap(&request(&mesh(Vec::new(), Vec::new()))).unwrap.is_none());
    let speck = unwrapped(&sheet(1, 1, |u, v| Vec3::new(u, v, 0.0) * 1e-6));
    assert_eq!((speck.width, speck.height), (1, 1));
}

#[test]
fn the_backs_of_a_two_sided_wall_have_texels_of_their_own() {
    let wall = sheet(4, 4, |u, v| Vec3::new(u, v, 0.0));
    let unwrap = unwrap(&Request { two_sided: true, ..request(&wall) }).unwrap.expect("the wall has an area");
    assert!(unwrap.is_two_sided());
    assert_eq!(chart_count(&unwrap), 2);
    assert_charts_keep_apart(&unwrap, 2);
    assert_eq!(covered_by(&unwrap).into_iter().flatten().count(), 2 * 32 * 32);
}

/// Monitor that cancels at its `after`-th check.
struct Impatient {
    asked: AtomicU32,
    after: u32,
}

impl Monitor for Impatient {
    fn progress(&self, _fraction: f32) {}

    fn is_cancelled(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) >= self.after
    }
}

#[test]
fn xatlas_stops_when_asked_to_between_parts_of_a_mesh() {
    let mut mesh = cube();
    for part in 1..10 {
        mesh.positions.extend(cube().positions.iter().map(|position| position + Vec3::X * (2.0 * part as f32)));
        mesh.triangles.extend(cube().triangles.iter().map(|corners| corners.map(|corner| corner + 8 * part)));
    }
    let stopped_after = |after| {
        let monitor = Impatient { asked: AtomicU32::new(0), after };
        let outcome = super::super::unwrap(&request(&mesh), &monitor);
        matches!(outcome, Err(LayoutError::Cancelled(_)))
    };
    // The first check precedes xatlas, and each of the ten cubes adds at least one.
    assert!((0..12).all(stopped_after));
    assert!(!stopped_after(u32::MAX));
}

#[test]
fn a_monitor_that_panics_inside_of_xatlas_cancels() {
    struct Panics(AtomicU32);
    impl Monitor for Panics {
        fn progress(&self, _fraction: f32) {}

        fn is_cancelled(&self) -> bool {
            assert!(self.0.fetch_add(1, Ordering::Relaxed) == 0, "on purpose");
            false
        }
    }
    let outcome = super::super::unwrap(&request(&cube()), &Panics(AtomicU32::new(0)));
    assert!(matches!(outcome, Err(LayoutError::Cancelled(_))));
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
