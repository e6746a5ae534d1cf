//! Polygons to be distributed to cells.

use glam::Vec3;

use crate::geometry::clip::{Corner, vector_area};
use crate::geometry::{Aabb, SurfaceId};
use crate::lights::LightSampler;
use crate::scene::Scene;

/// Convex polygons in world space with emitted power: triangles of a scene, or elements of a solver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polygons {
    corners: Vec<Vec3>,
    /// End of each polygon's corners.
    ends: Vec<u32>,
    power: Vec<f64>,
}

impl Polygons {
    /// Collects the triangles of all surfaces in the bake, with their luminous flux in lumens, and the source of each
    /// triangle. Triangles without area are left out.
    ///
    /// Lights that are not surfaces contribute no power here. Corners are counter-clockwise seen from the front, so
    /// mirrored surfaces have the reverse order of their mesh.
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

    /// Adds a polygon. Corners are in meters, counter-clockwise seen from the front. Its power, in lumens, spreads
    /// evenly over the area.
    pub fn push(&mut self, corners: &[Vec3], power: f64) {
        self.corners.extend_from_slice(corners);
        self.ends.push(self.corners.len() as u32);
        self.power.push(power);
    }

    /// Returns the number of polygons.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no polygons.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the corners of a polygon.
    pub fn corners(&self, polygon: usize) -> &[Vec3] {
        let first = polygon.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.corners[first as usize..self.ends[polygon] as usize]
    }

    /// Returns the emitted power of a polygon, in lumens.
    pub fn power(&self, polygon: usize) -> f64 {
        self.power[polygon]
    }

    /// Returns the area of a polygon, in square meters.
    pub fn area(&self, polygon: usize) -> f64 {
        vector_area(&self.with_attributes(polygon, |_| ())).length()
    }

    /// Returns a polygon in the clippers' format, with an attribute for each corner.
    pub(super) fn with_attributes<A>(&self, polygon: usize, attribute: impl Fn(usize) -> A) -> Vec<Corner<A>> {
        let corners = self.corners(polygon).iter().enumerate();
        corners.map(|(index, corner)| Corner { position: corner.as_dvec3(), attribute: attribute(index) }).collect()
    }

    /// Returns the bounding box of a polygon.
    pub(super) fn bounds_of(&self, polygon: usize) -> Aabb {
        Aabb::around(self.corners(polygon).iter().copied())
    }

    /// Returns the bounding box of all polygons.
    pub fn bounds(&self) -> Aabb {
        Aabb::around(self.corners.iter().copied())
    }
}
