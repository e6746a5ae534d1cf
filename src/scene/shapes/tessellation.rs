//! Meshes of curved shapes, with a bound of their distance.

use core::f64::consts::PI;

use glam::DVec3;

use super::curved::{bezier_patch, sphere, torus, with_capacity, without_collapsed};
use crate::geometry::{BezierPatch, Shape};
use crate::scene::MeshData;

/// Mesh of a curved shape that is still to be built. No point of the mesh is farther from the shape than asked for, apart
/// from the rounding of single precision.
#[derive(Clone, Debug)]
pub struct Tessellation<'a> {
    shape: &'a Shape,
    /// Number of quads along each direction of the surface.
    steps: [u32; 2],
}

impl<'a> Tessellation<'a> {
    /// Chooses the numbers of quads for a maximum distance between mesh and shape, in meters.
    pub fn new(shape: &'a Shape, deviation: f32) -> Self {
        let half = 0.5 * f64::from(deviation);
        let steps = match shape {
            // A point of a chord moves to the arc by at most the chord's sagitta, r (1 - cos(angle / 2)). Points move
            // around the axis, and then within their half-plane. The least work has half the distance in each.
            Shape::Sphere { radius } => {
                let around = PI / half_angle(f64::from(*radius), half);
                [around, 0.5 * around]
            }
            Shape::Torus { radius, tube } => [f64::from(*radius) + f64::from(*tube), f64::from(*tube)]
                .map(|largest_circle| PI / half_angle(largest_circle, half)),
            Shape::Bezier(patches) => {
                let curvature = patches.iter().map(second_derivatives).fold(0.0, f64::max);
                [(curvature / (8.0 * f64::from(deviation))).sqrt(); 2]
            }
        };
        // Casts saturate. So many steps are too many for any use.
        Self { shape, steps: steps.map(|steps| (steps.ceil() as u32).max(1)) }
    }

    /// Returns the number of vertices of the mesh.
    pub fn vertex_count(&self) -> u64 {
        let patches = match self.shape {
            Shape::Bezier(patches) => patches.len() as u64,
            Shape::Sphere { .. } | Shape::Torus { .. } => 1,
        };
        // Circles have at least three parts.
        let [columns, rows] = self.steps.map(|steps| u64::from(steps.max(3)) + 1);
        columns.saturating_mul(rows).saturating_mul(patches)
    }

    /// Builds the mesh, with smooth normals and UV_0. Spheres and tori are closed, with their fronts outside. Each patch
    /// covers the unit square of UV_0.
    pub fn build(&self, name: &str) -> MeshData {
        let [columns, rows] = self.steps;
        match self.shape {
            Shape::Sphere { radius } => sphere(name, *radius, columns, rows),
            Shape::Torus { radius, tube } => torus(name, *radius, *tube, columns, rows),
            Shape::Bezier(patches) => {
                let vertices = self.vertex_count() as usize;
                let mut whole = with_capacity(name, vertices, 2 * vertices);
                for patch in patches {
                    let part = bezier_patch("", *patch, columns);
                    let first = whole.positions.len() as u32;
                    whole.positions.extend(part.positions);
                    whole.normals.extend(part.normals);
                    whole.uv0.extend(part.uv0);
                    whole.triangles.extend(part.triangles.iter().map(|corners| corners.map(|corner| first + corner)));
                }
                without_collapsed(whole)
            }
        }
    }
}

/// Returns half the angle of an arc with a given sagitta.
fn half_angle(radius: f64, sagitta: f64) -> f64 {
    // 1 - cos(a) = 2 sin(a / 2)^2, which small angles do not cancel.
    2.0 * libm::asin((0.5 * sagitta / radius).min(1.0).sqrt())
}

/// Returns a bound of |S_uu| + 2 |S_uv| + |S_vv| over a patch. A triangle with legs h in the square of parameters has at
/// most h^2 / 8 times this distance from the patch (Filip, Magedson and Markot 1986).
fn second_derivatives(patch: &BezierPatch) -> f64 {
    let at = |row: usize, column: usize| patch[row][column].as_dvec3();
    let largest = |differences: &mut dyn Iterator<Item = DVec3>| differences.map(DVec3::length).fold(0.0, f64::max);
    let ends = |upto: usize| (0..4).flat_map(move |line| (0..upto).map(move |start| (line, start)));
    let along_rows = largest(&mut ends(2).map(|(row, s)| at(row, s) - 2.0 * at(row, s + 1) + at(row, s + 2)));
    let upwards = largest(&mut ends(2).map(|(column, s)| at(s, column) - 2.0 * at(s + 1, column) + at(s + 2, column)));
    let mixed =
        largest(&mut (0..3).flat_map(|row| (0..3).map(move |column| (row, column))).map(|(row, column)| {
            at(row + 1, column + 1) - at(row + 1, column) - at(row, column + 1) + at(row, column)
        }));
    // Derivatives of a cubic are 3 and 3 * 2 times the differences of its control points.
    6.0 * along_rows + 2.0 * 9.0 * mixed + 6.0 * upwards
}

#[cfg(test)]
mod tests {
    use glam::{DAffine3, Vec2, Vec3};
    use proptest::prelude::*;

    use super::*;
    use crate::geometry::{Ray, Triangle};
    use crate::scene::shapes::tests::triangles;

    /// Returns points spread over all triangles of a mesh.
    fn points(mesh: &MeshData) -> impl Iterator<Item = Vec3> {
        let shares = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.5, 0.0], [0.0, 0.5], [0.34, 0.33], [0.7, 0.2]];
        triangles(mesh).flat_map(move |Triangle { corners: [a, b, c] }| {
            shares.map(Vec2::from).map(|share| a + (b - a) * share.x + (c - a) * share.y)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn no_point_of_a_tessellated_sphere_is_farther_from_the_sphere_than_asked_for(
            radius in 0.01f32..50.0,
            part in 0.001f32..0.3,
        ) {
            let shape = Shape::Sphere { radius };
            let mesh = Tessellation::new(&shape, part * radius).build("ball");
            prop_assert!(mesh.is_closed());
            let farthest = points(&mesh).map(|point| (point.length() - radius).abs()).fold(0.0, f32::max);
            prop_assert!(farthest <= part * radius * 1.001 + 1e-6 * radius, "{farthest} {}", part * radius);
        }

        #[test]
        fn no_point_of_a_tessellated_torus_is_farther_from_the_torus_than_asked_for(
            tube in 0.05f32..0.95,
            part in 0.002f32..0.3,
        ) {
            let shape = Shape::Torus { radius: 1.0, tube };
            let mesh = Tessellation::new(&shape, part * tube).build("ring");
            prop_assert!(mesh.is_closed());
            let distance = |point: Vec3| {
                (Vec2::new(Vec2::new(point.x, point.z).length() - 1.0, point.y).length() - tube).abs()
            };
            let farthest = points(&mesh).map(distance).fold(0.0, f32::max);
            prop_assert!(farthest <= part * tube * 1.001 + 1e-6, "{farthest} {}", part * tube);
        }

        #[test]
        fn rays_meet_the_mesh_of_a_patch_near_the_patch(heights in prop::array::uniform16(-1.0f32..1.0)) {
            const DEVIATION: f32 = 0.01;
            let patch = core::array::from_fn(|row| {
                core::array::from_fn(|column| Vec3::new(column as f32, heights[4 * row + column], -(row as f32)))
            });
            let shape = Shape::Bezier(vec![patch]);
            let mesh = Tessellation::new(&shape, DEVIATION).build("sheet");
            for point in points(&mesh).filter(|point| point.x > 0.0 && point.x < 3.0 && point.z < 0.0 && point.z > -3.0) {
                let ray = Ray::new(Vec3::new(point.x, 9.0, point.z), Vec3::NEG_Y);
                let met = shape.intersect(&ray, &DAffine3::IDENTITY).expect("the patch is above the whole square");
                // X and Z are linear in the parameters, so the bound holds along Y.
                prop_assert!((9.0 - met - point.y).abs() <= DEVIATION + 1e-5, "{} {}", 9.0 - met, point.y);
            }
        }
    }

    #[test]
    fn a_bent_patch_has_as_many_steps_as_its_second_derivatives_ask_for_and_a_flat_one_has_two_triangles() {
        let sheet = |height: f32| {
            let bent = [0.0, height, height, 0.0];
            Shape::Bezier(vec![core::array::from_fn(|row| {
                core::array::from_fn(|column| Vec3::new(column as f32, bent[column], -(row as f32)))
            })])
        };
        assert_eq!(Tessellation::new(&sheet(0.0), 1e-6).build("flat").triangles.len(), 2);
        // Second differences of one, so derivatives of six: the root of 6 / (8 * 0.01) is 8.7.
        assert_eq!(Tessellation::new(&sheet(1.0), 0.01).build("bent").triangles.len(), 2 * 9 * 9);
    }

    #[test]
    fn absurd_requests_are_counted_and_not_built() {
        for shape in [
            Shape::Sphere { radius: f32::MAX },
            Shape::Torus { radius: f32::MAX, tube: 1.0 },
            Shape::Bezier(vec![core::array::from_fn(|row| [Vec3::splat(f32::MAX / (row + 1) as f32); 4])]),
        ] {
            assert!(Tessellation::new(&shape, f32::MIN_POSITIVE).vertex_count() > 1 << 32, "{shape:?}");
        }
        let small = Shape::Sphere { radius: 1.0 };
        let coarse = Tessellation::new(&small, f32::MAX);
        assert_eq!(coarse.build("ball").positions.len() as u64, 4 * 3);
        assert!(coarse.vertex_count() >= 4 * 3);
    }
}
