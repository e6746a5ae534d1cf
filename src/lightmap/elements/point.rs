//! Surface points that rays start from.

use glam::{Vec2, Vec3};

use crate::geometry::{Hit, Ray, SurfaceId, Triangle};
use crate::scene::{Scene, facing};

/// Point of an element's footprint in world space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint {
    /// Position on the triangle, regardless of shading normals. A point lifted to the smooth surface could pass through
    /// objects on the triangle or beside it.
    pub position: Vec3,
    /// Unit normal of the triangle on the element's side.
    pub geometric_normal: Vec3,
    /// Interpolated unit normal on the element's side.
    pub shading_normal: Vec3,
    /// Triangle of the surface's mesh.
    pub triangle: u32,
    /// Barycentric weights of the triangle's second and third corner.
    pub barycentric: Vec2,
    /// Height in meters of other surfaces stacked on this one, so close that rays must start above them; zero without
    /// any. See [`Elements::clearance`](super::Elements::clearance).
    pub clearance: f32,
}

impl SurfacePoint {
    /// Creates a point of a surface's triangle, on its front or its back.
    pub fn new(scene: &Scene, surface: SurfaceId, triangle: u32, barycentric: Vec2, back: bool) -> Self {
        Facet::new(scene, surface, triangle, back).at(barycentric)
    }

    /// Creates the point of a hit, on the side that the ray came from.
    pub fn from_hit(scene: &Scene, hit: &Hit) -> Self {
        Self::new(scene, hit.surface, hit.triangle, hit.barycentric, hit.back)
    }

    /// Returns the origin of rays: offset by the ray epsilon and by the clearance.
    #[inline]
    pub fn origin(&self) -> Vec3 {
        self.position + self.geometric_normal * (self.ray_epsilon() + self.clearance)
    }

    /// Returns the ray epsilon: more than rounding at the point's distance from the world origin, less than modeled
    /// detail.
    #[inline]
    pub(super) fn ray_epsilon(&self) -> f32 {
        1e-5 + 1e-6 * self.position.abs().max_element()
    }

    /// Returns a ray from the point.
    #[inline]
    pub fn ray(&self, direction: Vec3) -> Ray {
        Ray::new(self.origin(), direction)
    }
}

/// One side of a triangle in world space, with the data shared by all its points.
#[derive(Clone, Debug)]
pub(super) struct Facet {
    flat: Triangle,
    triangle: u32,
    /// Unit normal of the front.
    front: Vec3,
    /// One for the front, minus one for the back.
    side: f32,
    /// Corner normals on the front, for interpolation, if they differ from the triangle's.
    corners: Option<[Vec3; 3]>,
}

/// Cosine of a twentieth of a degree. Corner normals within this angle count as the face's own.
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
