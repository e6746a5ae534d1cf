//! Fewer and larger surfaces for rays to meet (section 5.4.2 of the thesis).
//!
//! Neighbours that face alike are merged as long as what becomes of them is convex. Rays are tested against the coarse
//! surfaces only; which of its fine polygons a coarse surface was met in is looked up afterwards, so that light is known
//! as finely as before.

mod merge;
mod outline;

use super::Polygons;

use merge::Merger;

/// Polygons, and the coarse surfaces that they were merged into.
#[derive(Clone, Debug)]
pub struct Simplified {
    surfaces: Polygons,
    /// The polygons of each surface, grouped.
    members: Vec<u32>,
    /// For each surface the end of its group.
    ends: Vec<u32>,
    parents: Vec<u32>,
}

impl Simplified {
    /// Merges neighbours of one owner whose unit normals differ from that of the whole by less than a threshold.
    ///
    /// The thesis compares neighbours; here all normals of a surface are held to that of the whole, so that no surface
    /// bends round a corner step by step. Every corner of a surface then lies within about the threshold, times the
    /// distance to any other corner, of its plane. Less keeps round things rounder, zero merges nothing at all.
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

    /// The coarse surfaces: convex but for rounding, with all corners of the polygons at their rim, even where three are
    /// in a row, so that neighbours meet without a gap.
    pub fn surfaces(&self) -> &Polygons {
        &self.surfaces
    }

    /// The polygons that a surface is made of, rising.
    pub fn members(&self, surface: usize) -> &[u32] {
        let first = surface.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.members[first as usize..self.ends[surface] as usize]
    }

    /// The surface that a polygon is part of.
    pub fn parent(&self, polygon: usize) -> usize {
        self.parents[polygon] as usize
    }
}
