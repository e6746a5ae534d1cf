//! What is cut into cells.

use glam::Vec3;

use crate::geometry::clip::{Corner, vector_area};
use crate::geometry::{Aabb, SurfaceId};
use crate::scene::{LightSampler, Scene};

/// Convex polygons in world space and the power that each emits: the triangles of a scene, or elements of a solver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polygons {
    corners: Vec<Vec3>,
    /// For each polygon the end of its corners.
    ends: Vec<u32>,
    power: Vec<f64>,
}

impl Polygons {
    /// The triangles of all that takes part in a bake with the luminous flux in lumens that each emits, and where each
    /// comes from; triangles without area are left out.
    ///
    /// Lamps that are no surfaces have no power here. Corners turn counter-clockwise seen from the front, so those of
    /// mirrored surfaces are in the reverse of their mesh's order.
    pub fn of_scene(scene: &Scene) -> (Self, Vec<(SurfaceId, u32)>) {
        let lights = LightSampler::new(scene);
        let (mut polygons, mut sources) = (Self::default(), Vec::new());
        for surface in scene.surface_ids().filter(|&id| scene.surface(id).is_in_bake()) {
            let is_mirrored = scene.surface(surface).is_mirrored();
            for index in 0..scene.mesh_of(surface).triangles.len() as u32 {
                let triangle = scene.triangle(surface, index);
                if triangle.normal() == Vec3::ZERO {
                    continue;
                }
                let [a, b, c] = triangle.corners;
                let power = f64::from(lights.power_of_triangle(surface, index));
                polygons.push(&if is_mirrored { [c, b, a] } else { [a, b, c] }, power);
                sources.push((surface, index));
            }
        }
        (polygons, sources)
    }

    /// Adds a polygon with corners in metres, counter-clockwise seen from the front. Its power in lumens is spread
    /// evenly over it.
    pub fn push(&mut self, corners: &[Vec3], power: f64) {
        self.corners.extend_from_slice(corners);
        self.ends.push(self.corners.len() as u32);
        self.power.push(power);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The corners of a polygon.
    pub fn corners(&self, polygon: usize) -> &[Vec3] {
        let first = polygon.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.corners[first as usize..self.ends[polygon] as usize]
    }

    /// What a polygon emits, in lumens.
    pub fn power(&self, polygon: usize) -> f64 {
        self.power[polygon]
    }

    /// Area of a polygon in square metres.
    pub fn area(&self, polygon: usize) -> f64 {
        vector_area(&self.with_attributes(polygon, |_| ())).length()
    }

    /// A polygon as clippers take it, with an attribute for each corner.
    pub(super) fn with_attributes<A>(&self, polygon: usize, attribute: impl Fn(usize) -> A) -> Vec<Corner<A>> {
        let corners = self.corners(polygon).iter().enumerate();
        corners.map(|(index, corner)| Corner { position: corner.as_dvec3(), attribute: attribute(index) }).collect()
    }

    /// The smallest box around a polygon.
    pub(super) fn bounds_of(&self, polygon: usize) -> Aabb {
        Aabb::around(self.corners(polygon).iter().copied())
    }

    /// The smallest box around all of them.
    pub fn bounds(&self) -> Aabb {
        Aabb::around(self.corners.iter().copied())
    }
}
