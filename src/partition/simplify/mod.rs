//! Surface simplification: fewer and larger surfaces for ray tests (thesis section 5.4.2).
//!
//! Adjacent polygons with similar normals are merged while the result stays convex. Rays are tested against merged
//! surfaces only. The fine polygon at a hit is looked up afterwards, so light keeps its resolution.

mod merge;
mod outline;

use super::Polygons;

use merge::Merger;

/// Polygons with the coarse surfaces merged from them.
#[derive(Clone, Debug)]
pub struct Simplified {
    surfaces: Polygons,
    /// Polygon indices, grouped by surface.
    members: Vec<u32>,
    /// End of each surface's group.
    ends: Vec<u32>,
    parents: Vec<u32>,
}

impl Simplified {
    /// Merges adjacent polygons of equal owner whose unit normals differ from the merged normal by less than
    /// `threshold`.
    ///
    /// The thesis compares neighboring normals. Here, each member's normal is compared with the merged normal, so that
    /// a surface cannot bend gradually around a corner. Each corner is close to the surface's plane: within about
    /// `threshold` times the distance to any other corner. Lower thresholds keep curved shapes rounder; zero merges
    /// nothing.
    pub fn new(polygons: &Polygons, owners: &[u32], threshold: f64) -> Self {
        let regions = Merger::new(polygons, owners, threshold).merge();
        let (mut surfaces, mut members, mut ends) = (Polygons::default(), Vec::new(), Vec::new());
        let mut parents = vec![0; polygons.len()];
        for (surface, region) in regions.into_iter().enumerate() {
            let power = region.members.iter().map(|&polygon| polygons.power(polygon as usize)).sum();
            surfaces.push(&region.corners, power);
            region.members.iter().for_each(|&polygon| parents[polygon as usize] = surface as u32);
            members.extend(region.members);
            ends.push(members.len() as u32);
        }
        Self { surfaces, members, ends, parents }
    }

    /// Returns the coarse surfaces, convex up to rounding. Outlines keep all corners of their polygons, even collinear
    /// ones, so that neighbors meet without gaps.
    pub fn surfaces(&self) -> &Polygons {
        &self.surfaces
    }

    /// Returns the polygons of a surface, in ascending order.
    pub fn members(&self, surface: usize) -> &[u32] {
        let first = surface.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.members[first as usize..self.ends[surface] as usize]
    }

    /// Returns the surface that contains a polygon.
    pub fn parent(&self, polygon: usize) -> usize {
        self.parents[polygon] as usize
    }
}
