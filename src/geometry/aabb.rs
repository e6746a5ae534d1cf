//! Axis-aligned bounding boxes.

use glam::{Affine3A, Vec3};
use serde::{Deserialize, Serialize};

use super::Ray;

/// One of the six faces of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Face {
    /// Axis that the face is perpendicular to: 0, 1 or 2 for x, y or z.
    pub axis: u8,
    /// True for the face with the larger coordinate.
    pub is_upper: bool,
}

impl Face {
    /// All six faces, axis by axis, lower before upper.
    pub const ALL: [Self; 6] = [
        Self { axis: 0, is_upper: false },
        Self { axis: 0, is_upper: true },
        Self { axis: 1, is_upper: false },
        Self { axis: 1, is_upper: true },
        Self { axis: 2, is_upper: false },
        Self { axis: 2, is_upper: true },
    ];

    /// Returns the index of the face in [`Face::ALL`].
    #[inline]
    pub const fn index(self) -> usize {
        2 * self.axis as usize + self.is_upper as usize
    }

    /// Returns the opposite face of the box.
    #[inline]
    pub const fn opposite(self) -> Self {
        Self { axis: self.axis, is_upper: !self.is_upper }
    }
}

/// Axis-aligned bounding box, in meters. Empty if any `min` exceeds its `max`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
pub struct Aabb {
    /// Minimum corner.
    pub min: Vec3,
    /// Maximum corner.
    pub max: Vec3,
}

impl Aabb {
    /// Empty box, the neutral element of [`Aabb::union`].
    pub const EMPTY: Self = Self { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY };

    /// Returns the smallest box around points.
    pub fn around(points: impl IntoIterator<Item = Vec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, Self::including)
    }

    /// Returns the smallest box around this box and a point.
    #[inline]
    pub fn including(self, point: Vec3) -> Self {
        Self { min: self.min.min(point), max: self.max.max(point) }
    }

    /// Returns the smallest box around both boxes.
    #[inline]
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Returns the intersection of both boxes; empty if they do not touch.
    #[inline]
    pub fn intersection(self, other: Self) -> Self {
        Self { min: self.min.max(other.min), max: self.max.min(other.max) }
    }

    /// Returns true if the box contains no point.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.min.cmpgt(self.max).any()
    }

    /// Returns true if the point lies inside the box or on its faces.
    #[inline]
    pub fn contains(self, point: Vec3) -> bool {
        point.cmpge(self.min).all() && point.cmple(self.max).all()
    }

    /// Returns the smallest box around the corners of the transformed box.
    pub fn transformed(self, transform: &Affine3A) -> Self {
        let corner = |number: usize| {
            Vec3::from_array(core::array::from_fn(|axis| {
                if number >> axis & 1 == 0 { self.min[axis] } else { self.max[axis] }
            }))
        };
        Self::around((0..8).map(|number| transform.transform_point3(corner(number))))
    }

    /// Returns the parts below and above a plane perpendicular to an axis.
    #[inline]
    pub fn halves(self, axis: usize, position: f32) -> [Self; 2] {
        let (mut below, mut above) = (self, self);
        below.max[axis] = position;
        above.min[axis] = position;
        [below, above]
    }

    /// Returns the coordinate of a face on its axis.
    #[inline]
    pub fn position_of(self, face: Face) -> f32 {
        let corner = if face.is_upper { self.max } else { self.min };
        corner[usize::from(face.axis)]
    }

    /// Returns the edge lengths, in meters.
    #[inline]
    pub fn extent(self) -> Vec3 {
        self.max - self.min
    }

    /// Returns the center of the box.
    #[inline]
    pub fn center(self) -> Vec3 {
        (self.min + self.max) * 0.5
    }

    /// Returns the length of the diagonal, in meters; zero for an empty box.
    pub fn diagonal(self) -> f32 {
        if self.is_empty() { 0.0 } else { self.extent().length() }
    }

    /// Returns the parameter at which a ray enters the box, or zero if the ray starts inside. Returns `None` if the ray
    /// misses; the ray's interval is ignored. Boxes are slightly thickened, so that flat boxes can be hit.
    pub fn entered_by(self, ray: &Ray) -> Option<f32> {
        let margin = 1e-4 * self.extent().max_element().max(1e-3);
        let inverse = ray.direction.recip();
        let (lower, upper) = ((self.min - margin - ray.origin) * inverse, (self.max + margin - ray.origin) * inverse);
        let (near, far) = (lower.min(upper).max_element().max(0.0), lower.max(upper).min_element());
        (near <= far).then_some(near)
    }

    /// Returns the area of the six faces, in square meters (`004` equation 2); zero for an empty box.
    #[inline]
    pub fn surface_area(self) -> f32 {
        if self.is_empty() {
            return 0.0;
        }
        let e = self.extent();
        2.0 * (e.x * e.y + e.y * e.z + e.z * e.x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transformed_box_holds_the_transformed_corners_and_no_more() {
        let bounds = Aabb { min: Vec3::new(-1.0, 0.0, 2.0), max: Vec3::new(1.0, 4.0, 3.0) };
        // A quarter turn takes X to Y and Y to -X.
        let turn = glam::Mat3::from_cols(Vec3::Y, Vec3::NEG_X, Vec3::Z);
        let found = bounds.transformed(&Affine3A::from_mat3_translation(turn * 2.0, Vec3::X));
        assert_eq!(found, Aabb { min: Vec3::new(-7.0, -2.0, 4.0), max: Vec3::new(1.0, 2.0, 6.0) });
    }
}
