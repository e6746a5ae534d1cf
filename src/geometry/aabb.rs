//! Axis-aligned boxes.

use glam::Vec3;

use super::Ray;

/// One of the six faces of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Face {
    /// The axis that it stands upright on: 0, 1 or 2 for x, y or z.
    pub axis: u8,
    /// True for the face with the larger coordinate.
    pub is_upper: bool,
}

impl Face {
    /// All six, axis by axis, lower before upper.
    pub const ALL: [Self; 6] = [
        Self { axis: 0, is_upper: false },
        Self { axis: 0, is_upper: true },
        Self { axis: 1, is_upper: false },
        Self { axis: 1, is_upper: true },
        Self { axis: 2, is_upper: false },
        Self { axis: 2, is_upper: true },
    ];

    /// Where it stands in [`Face::ALL`].
    #[inline]
    pub const fn index(self) -> usize {
        2 * self.axis as usize + self.is_upper as usize
    }

    /// The face that lies across the box.
    #[inline]
    pub const fn opposite(self) -> Self {
        Self { axis: self.axis, is_upper: !self.is_upper }
    }
}

/// A box whose faces are parallel to the axes, in metres. Empty when any `min` exceeds its `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// The corner with the smallest coordinates.
    pub min: Vec3,
    /// The corner with the largest coordinates.
    pub max: Vec3,
}

impl Aabb {
    /// A box around nothing, the neutral element of [`Aabb::union`].
    pub const EMPTY: Self = Self { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY };

    /// The smallest box around some points.
    pub fn around(points: impl IntoIterator<Item = Vec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, Self::including)
    }

    /// The smallest box around this one and a point.
    #[inline]
    pub fn including(self, point: Vec3) -> Self {
        Self { min: self.min.min(point), max: self.max.max(point) }
    }

    /// The smallest box around both.
    #[inline]
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// What both boxes share; empty when they do not touch.
    #[inline]
    pub fn intersection(self, other: Self) -> Self {
        Self { min: self.min.max(other.min), max: self.max.min(other.max) }
    }

    /// True when the box holds no point.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.min.cmpgt(self.max).any()
    }

    /// True when the point lies in the box or on its faces.
    #[inline]
    pub fn contains(self, point: Vec3) -> bool {
        point.cmpge(self.min).all() && point.cmple(self.max).all()
    }

    /// The parts below and above a plane across an axis.
    #[inline]
    pub fn halves(self, axis: usize, position: f32) -> [Self; 2] {
        let (mut below, mut above) = (self, self);
        below.max[axis] = position;
        above.min[axis] = position;
        [below, above]
    }

    /// The coordinate, on its axis, of a face.
    #[inline]
    pub fn position_of(self, face: Face) -> f32 {
        let corner = if face.is_upper { self.max } else { self.min };
        corner[usize::from(face.axis)]
    }

    /// Edge lengths in metres.
    #[inline]
    pub fn extent(self) -> Vec3 {
        self.max - self.min
    }

    /// The middle of the box.
    #[inline]
    pub fn centre(self) -> Vec3 {
        (self.min + self.max) * 0.5
    }

    /// Length of the diagonal in metres, zero for an empty box.
    pub fn diagonal(self) -> f32 {
        if self.is_empty() { 0.0 } else { self.extent().length() }
    }

    /// How far along a ray the box begins, zero when the ray starts in it; `None` when the ray misses it, wherever it
    /// ends. Boxes are taken to be a little thicker than they are: what is flat is met as well.
    pub fn entered_by(self, ray: &Ray) -> Option<f32> {
        let hair = 1e-4 * self.extent().max_element().max(1e-3);
        let inverse = ray.direction.recip();
        let (lower, upper) = ((self.min - hair - ray.origin) * inverse, (self.max + hair - ray.origin) * inverse);
        let (near, far) = (lower.min(upper).max_element().max(0.0), lower.max(upper).min_element());
        (near <= far).then_some(near)
    }

    /// Area of the six faces in square metres (`004` equation 2); zero for an empty box.
    #[inline]
    pub fn surface_area(self) -> f32 {
        if self.is_empty() {
            return 0.0;
        }
        let e = self.extent();
        2.0 * (e.x * e.y + e.y * e.z + e.z * e.x)
    }
}
