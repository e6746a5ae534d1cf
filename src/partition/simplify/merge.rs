//! Greedy merging of adjacent polygons.

use std::collections::HashMap;

use glam::{DVec3, Vec3};

use super::outline::{is_convex, join};
use crate::geometry::clip::vector_area;
use crate::partition::Polygons;

/// Merged surface.
pub(super) struct Merged {
    pub corners: Vec<Vec3>,
    /// Indices of the merged polygons, in ascending order.
    pub members: Vec<u32>,
}

/// Surface under construction.
struct Region {
    shape: Shape,
    members: Vec<u32>,
}

struct Shape {
    /// Corner indices of the outline.
    outline: Vec<u32>,
    /// Vector area, in square meters: the normal times the area.
    area: DVec3,
    /// Upper bound on the distance between this unit normal and that of any member polygon.
    spread: f64,
}

impl Shape {
    fn normal(&self) -> DVec3 {
        self.area.normalize_or_zero()
    }
}

/// Polygons that use a directed edge.
#[derive(Clone, Copy)]
enum Runner {
    One(u32),
    /// More than one polygon uses the directed edge, so nothing is merged there.
    Several,
}

pub(super) struct Merger<'a> {
    owners: &'a [u32],
    threshold: f64,
    positions: Vec<Vec3>,
    /// Regions, indexed by their first polygon; `None` after merging into another.
    regions: Vec<Option<Region>>,
    /// Region of each polygon, as union-find parents.
    region_of: Vec<u32>,
    runners: HashMap<(u32, u32), Runner>,
}

impl<'a> Merger<'a> {
    pub fn new(polygons: &Polygons, owners: &'a [u32], threshold: f64) -> Self {
        let (mut positions, mut numbers) = (Vec::new(), HashMap::new());
        let mut runners = HashMap::new();
        let mut region = |polygon: usize| {
            let mut number = |&corner: &Vec3| {
                // Adding zero turns -0.0 into 0.0.
                let key = (corner + Vec3::ZERO).to_array().map(f32::to_bits);
                *numbers.entry(key).or_insert_with(|| {
                    positions.push(corner);
                    positions.len() as u32 - 1
                })
            };
            let outline: Vec<u32> = polygons.corners(polygon).iter().map(&mut number).collect();
            for (from, to) in edges(&outline) {
                let runner = Runner::One(polygon as u32);
                runners.entry((from, to)).and_modify(|known| *known = Runner::Several).or_insert(runner);
            }
            let area = vector_area(&polygons.with_attributes(polygon, |_| ()));
            Some(Region { shape: Shape { outline, area, spread: 0.0 }, members: vec![polygon as u32] })
        };
        let regions = (0..polygons.len()).map(&mut region).collect();
        let region_of = (0..polygons.len() as u32).collect();
        Self { owners, threshold, positions, regions, region_of, runners }
    }

    /// Grows every surface until none can grow further.
    pub fn merge(mut self) -> Vec<Merged> {
        while (0..self.regions.len()).filter(|&region| self.grow(region)).count() > 0 {}
        let positions = self.positions;
        let merged = |mut region: Region| {
            region.members.sort_unstable();
            let corners = region.shape.outline.iter().map(|&corner| positions[corner as usize]).collect();
            Merged { corners, members: region.members }
        };
        self.regions.into_iter().flatten().map(merged).collect()
    }

    /// Merges a surface with its neighbors repeatedly. Returns true if there was any merge.
    fn grow(&mut self, region: usize) -> bool {
        let mut has_grown = false;
        while let Some((neighbor, shape)) = self.best_neighbor(region) {
            let more = self.regions[neighbor].take().map(|neighbor| neighbor.members);
            if let Some(region) = &mut self.regions[region] {
                region.shape = shape;
                region.members.extend(more.into_iter().flatten());
            }
            self.region_of[neighbor] = region as u32;
            has_grown = true;
        }
        has_grown
    }

    /// Returns the mergeable neighbor with the longest shared boundary, and the merged shape.
    fn best_neighbor(&mut self, region: usize) -> Option<(usize, Shape)> {
        let outline = self.regions[region].as_ref()?.shape.outline.clone();
        let mut shared: Vec<(usize, f64)> = Vec::new();
        for (from, to) in edges(&outline) {
            let Some(neighbor) = self.neighbor(from, to).filter(|&neighbor| neighbor != region) else { continue };
            let [from, to] = [from, to].map(|corner| self.positions[corner as usize].as_dvec3());
            match shared.iter_mut().find(|(known, _)| *known == neighbor) {
                Some((_, length)) => *length += from.distance(to),
                None => shared.push((neighbor, from.distance(to))),
            }
        }
        shared.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        shared.into_iter().find_map(|(neighbor, _)| Some((neighbor, self.join(region, neighbor)?)))
    }

    /// Returns the surface on the other side of an edge.
    fn neighbor(&mut self, from: u32, to: u32) -> Option<usize> {
        let (Runner::One(_), Runner::One(polygon)) = (self.runners.get(&(from, to))?, self.runners.get(&(to, from))?)
        else {
            return None;
        };
        let mut region = *polygon as usize;
        while self.region_of[region] as usize != region {
            // Path compression.
            self.region_of[region] = self.region_of[self.region_of[region] as usize];
            region = self.region_of[region] as usize;
        }
        Some(region)
    }

    /// Joins two surfaces if the result is convex and all member normals stay within the threshold.
    fn join(&mut self, first: usize, second: usize) -> Option<Shape> {
        if self.owners[first] != self.owners[second] {
            return None;
        }
        let [a, b] = [&self.regions[first].as_ref()?.shape, &self.regions[second].as_ref()?.shape];
        let area = a.area + b.area;
        let normal = area.normalize_or_zero();
        let spread_of = |shape: &Shape| shape.spread + shape.normal().distance(normal);
        let spread = spread_of(a).max(spread_of(b));
        if spread >= self.threshold {
            return None;
        }
        let (first_outline, second_outline) = (a.outline.clone(), b.outline.clone());
        let shared: Vec<bool> =
            edges(&first_outline).map(|(from, to)| self.neighbor(from, to) == Some(second)).collect();
        let outline = join(&first_outline, &second_outline, &shared)?;
        let corners: Vec<DVec3> = outline.iter().map(|&corner| self.positions[corner as usize].as_dvec3()).collect();
        if !is_convex(&corners, normal, area.length()) {
            return None;
        }
        Some(Shape { outline, area, spread })
    }
}

/// Iterates over the edges of an outline as pairs of corners.
fn edges(outline: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    outline.iter().copied().zip(outline.iter().copied().cycle().skip(1))
}
