//! Points of surfaces that rays start from.

use glam::{Vec2, Vec3};

use crate::geometry::{Hit, Ray, SurfaceId, Triangle};
use crate::scene::{Scene, facing};

/// A point of an element's footprint in world space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint {
    /// On the triangle, whatever the shading normals say: a point that is lifted to the smooth surface that they describe
    /// may lie beyond what stands on the triangle or beside it.
    pub position: Vec3,
    /// The triangle's unit normal on the element's side.
    pub geometric_normal: Vec3,
    /// The interpolated unit normal on the element's side.
    pub shading_normal: Vec3,
    /// The triangle of the surface's mesh.
    pub triangle: u32,
    /// Weights of its second and third corner.
    pub barycentric: Vec2,
    /// Height of other surfaces that lie on this one, so close that rays have to start above them, metres; zero where
    /// there are none. See [`Elements::clearance`](super::Elements::clearance).
    pub clearance: f32,
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

    /// Where rays start: a hair off the surface and off what lies on it.
    #[inline]
    pub fn origin(&self) -> Vec3 {
        self.position + self.geometric_normal * (self.hair() + self.clearance)
    }

    /// A distance that is more than rounding at the point's distance from the origin, and less than anything modeled.
    #[inline]
    pub(super) fn hair(&self) -> f32 {
        1e-5 + 1e-6 * self.position.abs().max_element()
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
    /// The corners' normals on the front, to be interpolated, where they differ from the triangle's.
    corners: Option<[Vec3; 3]>,
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
            normals.iter().any(|normal| normal.normalize_or_zero().dot(front) < FLAT_COSINE).then_some(normals)
        });
        Self { flat, triangle, front, side: if back { -1.0 } else { 1.0 }, corners }
    }

    pub fn at(&self, barycentric: Vec2) -> SurfacePoint {
        let Self { flat, triangle, front, side, corners } = self;
        let shading_front = corners.map_or(*front, |[a, b, c]| {
            let smooth = a + (b - a) * barycentric.x + (c - a) * barycentric.y;
            facing(smooth.normalize_or_zero(), *front)
        });
        SurfacePoint {
            position: flat.at(barycentric),
            geometric_normal: *front * *side,
            shading_normal: shading_front * *side,
            triangle: *triangle,
            barycentric,
            clearance: 0.0,
        }
    }
}
