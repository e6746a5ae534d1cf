//! Pictures in double precision, for comparison: direct light of rectangles by sums over lamps and over directions.
//!
//! Nothing here uses code of the integrators, of ray tracing or of sampling.

use core::f64::consts::{PI, TAU};
use std::sync::Arc;

use glam::{DVec3, Vec3};

use super::PathTracer;
use super::fixtures::{add_part, mean_radiance};
use crate::accel::{Preset, World};
use crate::geometry::Ray;
use crate::lights::LightSampler;
use crate::scene::{Material, MeshData, Scene};

/// Rectangle with a reflecting and shining front, and a black back.
#[derive(Clone, Copy)]
struct Rectangle {
    corner: DVec3,
    /// Perpendicular edges. Their cross product points away from the front.
    edges: [DVec3; 2],
    reflectance: f64,
    /// Emitted radiance, in cd/m2.
    emission: f64,
}

impl Rectangle {
    fn normal(&self) -> DVec3 {
        self.edges[0].cross(self.edges[1]).normalize()
    }

    fn at(&self, u: f64, v: f64) -> DVec3 {
        self.corner + u * self.edges[0] + v * self.edges[1]
    }

    /// Returns the distance at which a ray meets the rectangle.
    fn meets(&self, origin: DVec3, direction: DVec3) -> Option<f64> {
        let t = (self.corner - origin).dot(self.normal()) / direction.dot(self.normal());
        let place = origin + t * direction - self.corner;
        let is_within = self.edges.iter().all(|edge| (0.0..=1.0).contains(&(place.dot(*edge) / edge.length_squared())));
        (t > 1e-9 && t.is_finite() && is_within).then_some(t)
    }
}

/// Returns the nearest rectangle along a ray, and its distance.
fn nearest(room: &[Rectangle], origin: DVec3, direction: DVec3) -> Option<(Rectangle, f64)> {
    let met = room.iter().filter_map(|it| Some((*it, it.meets(origin, direction)?)));
    met.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Returns the irradiance at a point by the area form: a sum over the points of all lamps (`003` 2.4).
fn by_area(room: &[Rectangle], point: DVec3, normal: DVec3, cells: u32) -> f64 {
    let place = |index: u32| (f64::from(index) + 0.5) / f64::from(cells);
    let mut sum = 0.0;
    for lamp in room.iter().filter(|lamp| lamp.emission > 0.0) {
        let area = lamp.edges[0].cross(lamp.edges[1]).length() / f64::from(cells * cells);
        for (u, v) in (0..cells).flat_map(|u| (0..cells).map(move |v| (place(u), place(v)))) {
            let across = lamp.at(u, v) - point;
            let cosines = normal.dot(across).max(0.0) * lamp.normal().dot(-across).max(0.0);
            let is_seen = cosines > 0.0 && nearest(room, point, across).is_none_or(|(_, t)| t > 1.0 - 1e-9);
            if is_seen {
                sum += lamp.emission * cosines / across.length_squared().powi(2) * area;
            }
        }
    }
    sum
}

/// Returns the irradiance at a point by the solid-angle form: a sum over directions, each with as much of the
/// cosine-weighted hemisphere. Rings are turned against each other by the golden ratio, so that narrow lamps are met evenly.
fn by_solid_angle(room: &[Rectangle], point: DVec3, normal: DVec3, cells: u32) -> f64 {
    let side = if normal.x.abs() > 0.5 { DVec3::Y } else { DVec3::X }.cross(normal).normalize();
    let mut sum = 0.0;
    for (ring, turn) in (0..cells).flat_map(|ring| (0..cells).map(move |turn| (ring, turn))) {
        let sine = ((f64::from(ring) + 0.5) / f64::from(cells)).sqrt();
        let offset = (f64::from(ring) * 0.618_033_988_749_894_9).fract();
        let angle = (f64::from(turn) + offset) / f64::from(cells) * TAU;
        let flat = side * libm::cos(angle) + normal.cross(side) * libm::sin(angle);
        let direction = sine * flat + (1.0 - sine * sine).sqrt() * normal;
        if let Some((met, _)) = nearest(room, point, direction)
            && met.normal().dot(direction) < 0.0
        {
            sum += met.emission;
        }
    }
    sum * PI / f64::from(cells * cells)
}

/// Returns the radiance along a ray, with one bounce of light.
fn radiance(room: &[Rectangle], origin: DVec3, direction: DVec3, irradiance: impl Fn(DVec3, DVec3) -> f64) -> f64 {
    match nearest(room, origin, direction) {
        Some((met, t)) if met.normal().dot(direction) < 0.0 => {
            met.emission + met.reflectance / PI * irradiance(origin + t * direction, met.normal())
        }
        _ => 0.0,
    }
}

/// Returns a floor, a wall, a lamp above them, and a board that shades the floor.
fn room() -> Vec<Rectangle> {
    let rectangle = |corner: [f64; 3], u: [f64; 3], v: [f64; 3], reflectance, emission| Rectangle {
        corner: corner.into(),
        edges: [u.into(), v.into()],
        reflectance,
        emission,
    };
    vec![
        rectangle([-2.0, 0.0, -2.0], [0.0, 0.0, 4.0], [4.0, 0.0, 0.0], 0.5, 0.0),
        rectangle([-2.0, 0.0, -1.5], [4.0, 0.0, 0.0], [0.0, 2.0, 0.0], 0.8, 0.0),
        rectangle([-0.4, 1.5, -0.3], [0.8, 0.0, 0.0], [0.0, 0.0, 0.6], 0.0, 10.0),
        rectangle([0.1, 0.7, -0.2], [0.0, 0.0, 0.5], [0.6, 0.0, 0.0], 0.3, 0.0),
    ]
}

/// Returns the same room for the integrators.
fn scene() -> Scene {
    let mut scene = Scene::default();
    for (index, it) in room().into_iter().enumerate() {
        let positions = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)].map(|(u, v)| it.at(u, v).as_vec3()).to_vec();
        let name = format!("rectangle {index}");
        let mesh =
            MeshData { name: name.clone(), positions, triangles: vec![[0, 1, 2], [0, 2, 3]], ..MeshData::default() };
        let diffuse = Material::diffuse(&name, Vec3::splat(it.reflectance as f32));
        add_part(&mut scene, mesh, Material { emission: Vec3::splat(it.emission as f32), ..diffuse });
    }
    scene
}

/// Returns the rays of a small picture from above the floor.
fn rays() -> Vec<(DVec3, DVec3)> {
    let eye = DVec3::new(0.3, 1.1, 2.6);
    let places = (0..9).flat_map(|row| (0..12).map(move |column| (f64::from(column), f64::from(row))));
    // Directions have single precision, so that both see the same points.
    places
        .map(|(x, y)| {
            (
                eye.as_vec3().as_dvec3(),
                DVec3::new(0.11 * (x - 5.5), -0.02 - 0.09 * y, -1.0).normalize().as_vec3().as_dvec3(),
            )
        })
        .collect()
}

#[test]
fn pictures_in_single_precision_are_those_of_sums_in_double_precision_over_lamps_and_over_directions() {
    let (room, scene) = (room(), Arc::new(scene()));
    let (world, lights) = (World::build(scene.clone(), Preset::best()), LightSampler::new(&scene));
    let tracer = PathTracer::new(&scene, &world, &lights, Some(1));
    let (mut sums, mut far) = ([0.0; 3], 0);
    for (origin, direction) in rays() {
        let of_area = radiance(&room, origin, direction, |point, normal| by_area(&room, point, normal, 128));
        let of_angle = radiance(&room, origin, direction, |point, normal| by_solid_angle(&room, point, normal, 256));
        let drawn = mean_radiance(&tracer, &Ray::new(origin.as_vec3(), direction.as_vec3()), 512);
        let drawn = f64::from(drawn.x);
        // Sums over 65,536 directions miss or add some at the edges of a lamp: several of a hundred where it is far.
        assert!((of_angle - of_area).abs() < 0.05 * of_area + 1e-3, "{of_angle} {of_area}");
        far += u32::from((drawn - of_area).abs() > 0.02 * of_area + 1e-3);
        sums = [sums[0] + of_area, sums[1] + of_angle, sums[2] + drawn];
    }
    let [of_area, of_angle, drawn] = sums;
    println!("{of_area} {of_angle} {drawn}, {far} pixels differ");
    assert!((of_angle / of_area - 1.0).abs() < 2e-3, "{of_angle} {of_area}");
    assert!((drawn / of_area - 1.0).abs() < 3e-3 && far < 12, "{drawn} {of_area}, {far} pixels");
}

#[test]
fn what_an_unshaded_point_below_a_lamp_receives_is_the_closed_form_in_both_sums() {
    // A square lamp of 2 by 2, one above a point below its center: 4 times the quarter above a corner.
    let lamp = Rectangle {
        corner: DVec3::new(-1.0, 1.0, -1.0),
        edges: [2.0 * DVec3::X, 2.0 * DVec3::Z],
        reflectance: 0.0,
        emission: 1.0,
    };
    let quarter = 2.0 / 2.0f64.sqrt() * libm::atan(1.0 / 2.0f64.sqrt()) / TAU;
    let expected = PI * 4.0 * quarter;
    for found in [by_area(&[lamp], DVec3::ZERO, DVec3::Y, 128), by_solid_angle(&[lamp], DVec3::ZERO, DVec3::Y, 512)] {
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} instead of {expected}");
    }
    assert_eq!(by_area(&[lamp], DVec3::ZERO, DVec3::NEG_Y, 16), 0.0);
}
