//! Polygon clipping along one face after the other (Sutherland and Hodgman 1974).

use core::mem::swap;

use super::{Corner, Interpolate, on_plane, split, tidy};
use crate::geometry::{Aabb, Face};

/// Clipper of convex polygons to boxes, face by face, which reuses its memory.
#[derive(Clone, Debug)]
pub struct SutherlandHodgman<A> {
    corners: Vec<Corner<A>>,
    kept: Vec<Corner<A>>,
}

impl<A> Default for SutherlandHodgman<A> {
    fn default() -> Self {
        Self { corners: Vec::new(), kept: Vec::new() }
    }
}

impl<A: Interpolate> SutherlandHodgman<A> {
    /// Clips a convex polygon to a box, and keeps its orientation. Returns an empty slice if no area remains.
    pub fn clip(&mut self, polygon: &[Corner<A>], cell: &Aabb) -> &[Corner<A>] {
        self.corners.clear();
        self.corners.extend_from_slice(polygon);
        for face in Face::ALL {
            self.cut(face, f64::from(cell.position_of(face)));
        }
        if !self.corners.is_empty() {
            tidy(&mut self.corners, polygon);
        }
        &self.corners
    }

    fn cut(&mut self, face: Face, position: f64) {
        let axis = usize::from(face.axis);
        let outwards = if face.is_upper { 1.0 } else { -1.0 };
        self.kept.clear();
        let height = |corner: &Corner<A>| (corner.position[axis] - position) * outwards;
        let cross = |from: &Corner<A>, to: &Corner<A>, t: f64| {
            let between = from.between(to, t);
            Corner { position: on_plane(between.position, axis, position), ..between }
        };
        split(&self.corners, height, cross, |corner| self.kept.push(corner), |_| ());
        swap(&mut self.corners, &mut self.kept);
    }
}
