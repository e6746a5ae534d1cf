//! A ray, what it meets, and the question itself.

use glam::{Vec2, Vec3};

use super::define_id;

define_id! {
    /// Which surface of the scene.
    SurfaceId
}

/// A piece of a straight line in world space: `origin + t * direction` for `t_min <= t <= t_max`.
///
/// The direction need not have unit length; distances along the ray are in units of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Where `t` is zero, in metres.
    pub origin: Vec3,
    /// How far one unit of `t` reaches, in metres.
    pub direction: Vec3,
    /// The nearest `t` that counts.
    pub t_min: f32,
    /// The farthest `t` that counts.
    pub t_max: f32,
}

impl Ray {
    /// A ray without an end.
    #[inline]
    pub fn new(origin: Vec3, direction: Vec3) -> Self {
        Self { origin, direction, t_min: 0.0, t_max: f32::INFINITY }
    }

    /// The open segment between two points, a little shorter at the far end so that the surface which holds `to` does
    /// not block it.
    #[inline]
    pub fn between(from: Vec3, to: Vec3) -> Self {
        Self { origin: from, direction: to - from, t_min: 0.0, t_max: 1.0 - 1e-4 }
    }

    /// The point at `t`.
    #[inline]
    pub fn at(&self, t: f32) -> Vec3 {
        self.origin + self.direction * t
    }

    /// True when every number of the ray is usable: finite origin and direction, a direction that is not zero.
    pub fn is_valid(&self) -> bool {
        self.origin.is_finite()
            && self.direction.is_finite()
            && self.direction != Vec3::ZERO
            && !self.t_min.is_nan()
            && !self.t_max.is_nan()
    }
}

/// What a ray met first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Distance along the ray, in units of its direction.
    pub t: f32,
    /// The surface that was hit.
    pub surface: SurfaceId,
    /// The triangle of the surface's mesh.
    pub triangle: u32,
    /// Weights of the triangle's second and third corner; the first has the rest.
    pub barycentric: Vec2,
    /// The ray came from behind the triangle, where its corners turn clockwise.
    pub back: bool,
    /// What blended surfaces on the way let through, per channel; one where there were none.
    ///
    /// Chance has already decided whether the ray passed each of them, so this holds only their tint.
    pub filter: Vec3,
}

/// A ray met nothing that stops it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Escaped {
    /// What blended surfaces on the way let through, as [`Hit::filter`].
    pub filter: Vec3,
}

/// How much light crosses a segment, per channel: one where nothing stands in the way, zero where it is blocked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmittance(pub Vec3);

impl Transmittance {
    /// Nothing stands in the way.
    pub const CLEAR: Self = Self(Vec3::ONE);
    /// No light comes through.
    pub const BLOCKED: Self = Self(Vec3::ZERO);

    /// True when no light comes through.
    #[inline]
    pub fn is_blocked(self) -> bool {
        self.0 == Vec3::ZERO
    }
}

/// Answers what rays meet. The KD-tree's world implements it, and a brute-force twin that tests trust.
pub trait RayQuery: Sync {
    /// The nearest hit in the ray's interval.
    ///
    /// Cut-out texels of masked materials are passed; blended materials are passed by a chance that is a pure function
    /// of the ray and the triangle, with their tint in [`Hit::filter`].
    fn closest(&self, ray: &Ray) -> Option<Hit> {
        self.trace(ray).ok()
    }

    /// [`RayQuery::closest`], or what a ray brings from beyond the scene.
    ///
    /// # Errors
    /// [`Escaped`] when nothing stops the ray.
    fn trace(&self, ray: &Ray) -> Result<Hit, Escaped>;

    /// How much light crosses the ray's interval.
    fn blocked(&self, ray: &Ray) -> Transmittance;

    /// All triangles in the ray's interval, each once, in no order, whatever they let through. Of several in one place,
    /// [`RayQuery::closest`] answers only one.
    fn all_hits(&self, ray: &Ray) -> Vec<Hit>;
}
