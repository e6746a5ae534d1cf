//! Clipping of convex polygons to boxes.
//!
//! [`OrderedClipper`] finds the corners of the result in order, each once (Sanjurjo 2011, section 2.2.3).
//! [`SutherlandHodgman`] cuts along one face after the other, and serves as the reference. Both take and return
//! [`Corner`]s, whose attributes are interpolated. Both treat boxes as closed, and drop contact without area.

mod ordered;
mod piercing;
mod split;
mod sutherland_hodgman;

#[cfg(test)]
mod tests;

use glam::{DVec2, DVec3};

pub use ordered::{Kind, OrderedClipper, Record};
pub(crate) use split::split;
pub use sutherland_hodgman::SutherlandHodgman;

/// Attribute that clipping interpolates linearly over a polygon.
pub trait Interpolate: Copy {
    /// Returns the value between `self` and `other` at `t` in [0, 1].
    #[must_use]
    fn interpolate(self, other: Self, t: f64) -> Self;
}

impl Interpolate for () {
    fn interpolate(self, (): Self, _: f64) -> Self {}
}

macro_rules! interpolate_linearly {
    ($($kind:ty),*) => {$(
        impl Interpolate for $kind {
            #[inline]
            fn interpolate(self, other: Self, t: f64) -> Self {
                self + (other - self) * t
            }
        }
    )*};
}
interpolate_linearly!(f64, DVec2, DVec3);

impl<A: Interpolate, B: Interpolate> Interpolate for (A, B) {
    #[inline]
    fn interpolate(self, other: Self, t: f64) -> Self {
        (self.0.interpolate(other.0, t), self.1.interpolate(other.1, t))
    }
}

/// Corner of a polygon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corner<A = ()> {
    /// Position, in meters.
    pub position: DVec3,
    /// Any attribute that is linear over the polygon, such as barycentric weights, texture coordinates or a normal.
    pub attribute: A,
}

impl<A: Interpolate> Corner<A> {
    /// Returns the point between two corners at `t` in [0, 1].
    #[inline]
    pub(crate) fn between(&self, other: &Self, t: f64) -> Self {
        Self {
            position: self.position.interpolate(other.position, t),
            attribute: self.attribute.interpolate(other.attribute, t),
        }
    }
}

/// Returns the point moved exactly onto a plane perpendicular to an axis.
///
/// Builds a new vector instead of overwriting one coordinate in memory, which would cause a store-forwarding stall.
#[inline]
fn on_plane(point: DVec3, axis: usize, position: f64) -> DVec3 {
    let coordinate = |of: usize, value: f64| if of == axis { position } else { value };
    DVec3::new(coordinate(0, point.x), coordinate(1, point.y), coordinate(2, point.z))
}

/// Returns the vector area of a plane polygon: its unit normal times its area, in square meters.
pub fn vector_area<A>(polygon: &[Corner<A>]) -> DVec3 {
    let [first, rest @ ..] = polygon else { return DVec3::ZERO };
    let arms = rest.iter().map(|corner| corner.position - first.position);
    0.5 * arms.clone().zip(arms.skip(1)).map(|(arm, next)| arm.cross(next)).sum::<DVec3>()
}

/// Iterates over the triangles of a convex polygon, as a fan around its first corner.
pub fn fan<A: Copy>(polygon: &[Corner<A>]) -> impl Iterator<Item = [Corner<A>; 3]> {
    polygon.windows(2).skip(1).map(|pair| [polygon[0], pair[0], pair[1]])
}

/// Removes duplicate corners, and clears polygons without area. `original` is the polygon before clipping.
fn tidy<A: Copy>(corners: &mut Vec<Corner<A>>, original: &[Corner<A>]) {
    let around =
        |(low, high): (DVec3, DVec3), corner: &Corner<A>| (low.min(corner.position), high.max(corner.position));
    let (low, high) = original.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), around);
    let (extent, magnitude) = ((high - low).max_element(), high.max(-low).max_element());
    // Positions are accurate to a few units in the last place of their inputs.
    let same = 1e-12 * extent + 1e-15 * magnitude;
    corners.dedup_by(|next, corner| next.position.distance_squared(corner.position) <= same * same);
    while corners.len() > 1 && corners[0].position.distance_squared(corners[corners.len() - 1].position) <= same * same
    {
        corners.pop();
    }
    if corners.len() < 3 || vector_area(corners).length_squared() <= (same * extent).powi(2) {
        corners.clear();
    }
}
