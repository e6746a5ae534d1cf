//! Points of surfaces that rays start from.

use glam::{Vec2, Vec3};

use crate::geometry::{Hit, Ray, SurfaceId, Triangle};
use crate::scene::{Scene, facing};

/// Vertices whose normal leans further than this (37 degrees) from the face are not those of a smooth surface: lifting
/// points towards their tangent planes would turn a cube with averaged normals into a ball.
const LEAST_SMOOTH_COSINE: f32 = 0.8;

/// A point of an element's footprint in world space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint {
    /// On the triangle, lifted to the smooth surface where the shading normals ask for it (terminator fix).
    pub position: Vec3,
    /// The triangle's unit normal on the element's side.
    pub geometric_normal: Vec3,
    /// The interpolated unit normal on the element's side.
    pub shading_normal: Vec3,
    /// The triangle of the surface's mesh.
    pub triangle: u32,
    /// Weights of its second and third corner.
    pub barycentric: Vec2,
}

impl SurfacePoint {
    /// A point of a surface's triangle, seen from its front or its back.
    pub fn new(scene: &Scene, surface: SurfaceId, triangle: u32, barycentric: Vec2, back: bool) -> Self {
        Facet::new(scene, surface, triangle, back).at(barycentric)
    }

    /// The point that a ray met, on the side that it came from.
    pub fn from_hit(scene: &Scene, hit: &Hit) -> Self {
        Self::new(scene, hit.surface, hit.triangle, hit.barycentric, hit.back)
    }

    /// Where rays start: a hair off the surface, more than rounding at that distance from the origin and less than
    /// anything modelled.
    #[inline]
    pub fn origin(&self) -> Vec3 {
        let hair = 1e-5 + 1e-6 * self.position.abs().max_element();
        self.position + self.geometric_normal * hair
    }

    /// A ray from the point.
    #[inline]
    pub fn ray(&self, direction: Vec3) -> Ray {
        Ray::new(self.origin(), direction)
    }
}

/// One side of a triangle in world space: what all its points share.
#[derive(Clone, Debug)]
pub(super) struct Facet {
    flat: Triangle,
    triangle: u32,
    /// The unit normal of the front.
    front: Vec3,
    /// One for the front, minus one for the back.
    side: f32,
    /// The corners' normals on the front, where they differ from the triangle's: to be interpolated, and of unit length.
    corners: Option<[[Vec3; 3]; 2]>,
}

/// Corner normals that lean less than this (a twentieth of a degree) from the face are the face's own.
const FLAT_COSINE: f32 = 1.0 - 4e-7;

impl Facet {
    pub fn new(scene: &Scene, surface: SurfaceId, triangle: u32, back: bool) -> Self {
        let placed = scene.surface(surface);
        let flat = scene.triangle(surface, triangle);
        let front = if placed.is_mirrored() { -flat.normal() } else { flat.normal() };
        let corners = scene.mesh_of(surface).corner_normals(triangle).and_then(|normals| {
            let to_world = placed.normal_matrix();
            let normals = normals.map(|normal| to_world * normal);
            let units = normals.map(Vec3::normalize_or_zero);
            units.iter().any(|normal| normal.dot(front) < FLAT_COSINE).then_some([normals, units])
        });
        Self { flat, triangle, front, side: if back { -1.0 } else { 1.0 }, corners }
    }

    pub fn at(&self, barycentric: Vec2) -> SurfacePoint {
        let Self { flat, triangle, front, side, corners } = self;
        let point = flat.at(barycentric);
        let (position, shading_front) = match corners {
            None => (point, *front),
            Some([normals, units]) => {
                let weights = [1.0 - barycentric.element_sum(), barycentric.x, barycentric.y];
                let smooth = normals[0] * weights[0] + normals[1] * weights[1] + normals[2] * weights[2];
                let lifted = point + lift(flat, point, weights, units, *front, *side);
                (lifted, facing(smooth.normalize_or_zero(), *front))
            }
        };
        SurfacePoint {
            position,
            geometric_normal: *front * *side,
            shading_normal: shading_front * *side,
            triangle: *triangle,
            barycentric,
        }
    }
}

/// How far a point lies below the smooth surface that vertex normals describe: the flat point is projected on the three
/// vertices' tangent planes and the projections are interpolated (Hanika 2021, "Hacking the shadow terminator"; Bakery
/// does the same). Points never move inwards.
fn lift(flat: &Triangle, point: Vec3, weights: [f32; 3], normals: &[Vec3; 3], front: Vec3, side: f32) -> Vec3 {
    (0..3)
        .filter(|&corner| normals[corner].dot(front) >= LEAST_SMOOTH_COSINE)
        .map(|corner| {
            let normal = normals[corner] * side;
            let below = (point - flat.corners[corner]).dot(normal).min(0.0);
            normal * (-below * weights[corner])
        })
        .sum()
}
