//! Cutting convex polygons to boxes.
//!
//! An [`OrderedClipper`] finds the corners of what lies in a box in their order, each once (Sanjurjo 2011, section
//! 2.2.3). A [`SutherlandHodgman`] cuts along one face after the other, as everybody knows it: what the first is held
//! against. Both take and give [`Corner`]s, whose attributes are interpolated, and agree on what belongs to a box: it is
//! closed, and what only touches it has no area and is not in it.

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

/// What clipping interpolates linearly over a polygon.
pub trait Interpolate: Copy {
    /// What lies between two values, at `t` from zero to one.
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

/// A corner of a polygon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corner<A = ()> {
    /// Metres.
    pub position: DVec3,
    /// Barycentric weights, texture coordinates, a normal: whatever is linear over the polygon.
    pub attribute: A,
}

impl<A: Interpolate> Corner<A> {
    /// The point of the segment between two corners at `t` from zero to one.
    #[inline]
    pub(crate) fn between(&self, other: &Self, t: f64) -> Self {
        Self {
            position: self.position.interpolate(other.position, t),
            attribute: self.attribute.interpolate(other.attribute, t),
        }
    }
}

/// The same point, to the last bit on a plane across an axis.
///
/// One coordinate is not written over another in memory: a processor waits for that when it reads the point back as a whole.
#[inline]
fn on_plane(point: DVec3, axis: usize, position: f64) -> DVec3 {
    let coordinate = |of: usize, value: f64| if of == axis { position } else { value };
    DVec3::new(coordinate(0, point.x), coordinate(1, point.y), coordinate(2, point.z))
}

/// Half the sum of the cross products of a plane polygon: along its normal, as long as its area in square metres.
pub fn vector_area<A>(polygon: &[Corner<A>]) -> DVec3 {
    let [first, rest @ ..] = polygon else { return DVec3::ZERO };
    let arms = rest.iter().map(|corner| corner.position - first.position);
    0.5 * arms.clone().zip(arms.skip(1)).map(|(arm, next)| arm.cross(next)).sum::<DVec3>()
}

/// The triangles around the first corner that a convex polygon is made of.
pub fn fan<A: Copy>(polygon: &[Corner<A>]) -> impl Iterator<Item = [Corner<A>; 3]> {
    polygon.windows(2).skip(1).map(|pair| [polygon[0], pair[0], pair[1]])
}

/// Leaves out corners that lie where the one before them lies, and everything where no area is left. `original` is the
/// polygon that the corners were cut from.
fn tidy<A: Copy>(corners: &mut Vec<Corner<A>>, original: &[Corner<A>]) {
    let around =
        |(low, high): (DVec3, DVec3), corner: &Corner<A>| (low.min(corner.position), high.max(corner.position));
    let (low, high) = original.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), around);
    let (extent, magnitude) = ((high - low).max_element(), high.max(-low).max_element());
    // Positions are right to a few units in the last place of what they are computed from.
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
