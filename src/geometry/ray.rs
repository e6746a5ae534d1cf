//! Rays, hits and ray queries.

use glam::{Vec2, Vec3};

use super::define_id;

define_id! {
    /// Index of a surface in the scene.
    SurfaceId
}

/// Ray segment in world space: `origin + t * direction` for `t_min <= t <= t_max`.
///
/// The direction need not have unit length. Distances along the ray are in units of the direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Point at `t = 0`, in meters.
    pub origin: Vec3,
    /// Displacement per unit of `t`, in meters.
    pub direction: Vec3,
    /// Minimum `t` of a hit.
    pub t_min: f32,
    /// Maximum `t` of a hit.
    pub t_max: f32,
}

impl Ray {
    /// Creates a ray of infinite length.
    #[inline]
    pub fn new(origin: Vec3, direction: Vec3) -> Self {
        Self { origin, direction, t_min: 0.0, t_max: f32::INFINITY }
    }

    /// Creates the open segment between two points. The segment is slightly shortened at the far end, so that the
    /// surface at `to` does not block the ray.
    #[inline]
    pub fn between(from: Vec3, to: Vec3) -> Self {
        Self { origin: from, direction: to - from, t_min: 0.0, t_max: 1.0 - 1e-4 }
    }

    /// Returns the point at `t`.
    #[inline]
    pub fn at(&self, t: f32) -> Vec3 {
        self.origin + self.direction * t
    }

    /// Returns true if all components are valid: finite origin and direction, nonzero direction, and an interval
    /// without NaN.
    pub fn is_valid(&self) -> bool {
        self.origin.is_finite()
            && self.direction.is_finite()
            && self.direction != Vec3::ZERO
            && !self.t_min.is_nan()
            && !self.t_max.is_nan()
    }
}

/// Closest hit of a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Distance along the ray, in units of its direction.
    pub t: f32,
    /// Surface that was hit.
    pub surface: SurfaceId,
    /// Index of the triangle in the surface's mesh.
    pub triangle: u32,
    /// Weights of the triangle's second and third corner. The first corner has the remaining weight.
    pub barycentric: Vec2,
    /// True if the ray hit the back, where the corners are clockwise.
    pub back: bool,
    /// Tint of blended surfaces on the way, per channel; one without any.
    ///
    /// A random decision has already determined which surfaces the ray passed, so this holds only their tint.
    pub filter: Vec3,
}

/// Result of a ray that nothing stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Escaped {
    /// Tint of blended surfaces on the way; see [`Hit::filter`].
    pub filter: Vec3,
}

/// Transmittance of a segment, per channel: one if nothing is in the way, zero if blocked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmittance(pub Vec3);

impl Transmittance {
    /// Transmittance of an unobstructed segment.
    pub const CLEAR: Self = Self(Vec3::ONE);
    /// Transmittance of a blocked segment.
    pub const BLOCKED: Self = Self(Vec3::ZERO);

    /// Returns true if no light passes.
    #[inline]
    pub fn is_blocked(self) -> bool {
        self.0 == Vec3::ZERO
    }
}

/// Ray queries against a scene. The KD-tree's world implements this trait, and so does a brute-force reference for
/// tests.
pub trait RayQuery: Sync {
    /// Returns the closest hit in the ray's interval.
    ///
    /// Rays pass cut-out texels of masked materials. Rays pass blended materials at random, decided by a pure function
    /// of ray and triangle. [`Hit::filter`] holds their tint.
    fn closest(&self, ray: &Ray) -> Option<Hit> {
        self.trace(ray).ok()
    }

    /// Returns the closest hit, or the tint of a ray that leaves the scene.
    ///
    /// # Errors
    /// Returns [`Escaped`] if nothing stops the ray.
    fn trace(&self, ray: &Ray) -> Result<Hit, Escaped>;

    /// Returns the transmittance of the ray's interval.
    fn blocked(&self, ray: &Ray) -> Transmittance;

    /// Returns all triangles in the ray's interval, each once and in no particular order, regardless of transmittance.
    /// [`RayQuery::closest`] returns only one of several coincident triangles.
    fn all_hits(&self, ray: &Ray) -> Vec<Hit>;
}
