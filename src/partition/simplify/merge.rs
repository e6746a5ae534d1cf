//! Merging, neighbour by neighbour.

use std::collections::HashMap;

use glam::{DVec3, Vec3};

use super::outline::{is_convex, join};
use crate::geometry::clip::vector_area;
use crate::partition::Polygons;

/// A surface, when all is merged.
pub(super) struct Merged {
    pub corners: Vec<Vec3>,
    /// The polygons that it is made of, rising.
    pub members: Vec<u32>,
}

/// A surface while it grows.
struct Region {
    shape: Shape,
    members: Vec<u32>,
}

struct Shape {
    /// Numbers of corners.
    outline: Vec<u32>,
    /// Along the normal, as long as the area.
    area: DVec3,
    /// How far the unit normal of any of its polygons may be from its own, at most.
    spread: f64,
}

impl Shape {
    fn normal(&self) -> DVec3 {
        self.area.normalize_or_zero()
    }
}

/// Who runs along an edge in its direction.
#[derive(Clone, Copy)]
enum Runner {
    One(u32),
    /// Where more than two polygons meet, nothing is merged.
    Several,
}

pub(super) struct Merger<'a> {
    owners: &'a [u32],
    threshold: f64,
    positions: Vec<Vec3>,
    /// By its first polygon; those that were merged into another are none any more.
    regions: Vec<Option<Region>>,
    /// The region that each polygon is in, perhaps by way of others.
    region_of: Vec<u32>,
    runners: HashMap<(u32, u32), Runner>,
}

impl<'a> Merger<'a> {
    pub fn new(polygons: &Polygons, owners: &'a [u32], threshold: f64) -> Self {
        let (mut positions, mut numbers) = (Vec::new(), HashMap::new());
        let mut runners = HashMap::new();
        let mut region = |polygon: usize| {
            let mut number = |&corner: &Vec3| {
                // Zero has two signs.
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

    /// Lets every surface grow as far as it can, until none can.
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

    /// Merges a surface with its neighbours, and with theirs; says whether there was any that it could be merged with.
    fn grow(&mut self, region: usize) -> bool {
        let mut has_grown = false;
        while let Some((neighbour, shape)) = self.best_neighbour(region) {
            let more = self.regions[neighbour].take().map(|neighbour| neighbour.members);
            if let Some(region) = &mut self.regions[region] {
                region.shape = shape;
                region.members.extend(more.into_iter().flatten());
            }
            self.region_of[neighbour] = region as u32;
            has_grown = true;
        }
        has_grown
    }

    /// Of all neighbours that a surface can be merged with the one with which it shares the longest rim, and what becomes
    /// of them.
    fn best_neighbour(&mut self, region: usize) -> Option<(usize, Shape)> {
        let outline = self.regions[region].as_ref()?.shape.outline.clone();
        let mut shared: Vec<(usize, f64)> = Vec::new();
        for (from, to) in edges(&outline) {
            let Some(neighbour) = self.neighbour(from, to).filter(|&neighbour| neighbour != region) else { continue };
            let [from, to] = [from, to].map(|corner| self.positions[corner as usize].as_dvec3());
            match shared.iter_mut().find(|(known, _)| *known == neighbour) {
                Some((_, length)) => *length += from.distance(to),
                None => shared.push((neighbour, from.distance(to))),
            }
        }
        shared.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        shared.into_iter().find_map(|(neighbour, _)| Some((neighbour, self.join(region, neighbour)?)))
    }

    /// The surface on the other side of an edge.
    fn neighbour(&mut self, from: u32, to: u32) -> Option<usize> {
        let (Runner::One(_), Runner::One(polygon)) = (self.runners.get(&(from, to))?, self.runners.get(&(to, from))?)
        else {
            return None;
        };
        let mut region = *polygon as usize;
        while self.region_of[region] as usize != region {
            // Shortens the way for those who come after.
            self.region_of[region] = self.region_of[self.region_of[region] as usize];
            region = self.region_of[region] as usize;
        }
        Some(region)
    }

    /// Two surfaces as one, if that is convex and faces like all its parts.
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
            edges(&first_outline).map(|(from, to)| self.neighbour(from, to) == Some(second)).collect();
        let outline = join(&first_outline, &second_outline, &shared)?;
        let corners: Vec<DVec3> = outline.iter().map(|&corner| self.positions[corner as usize].as_dvec3()).collect();
        if !is_convex(&corners, normal, area.length()) {
            return None;
        }
        Some(Shape { outline, area, spread })
    }
}

/// The edges of a rim, each from corner to corner.
fn edges(outline: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    outline.iter().copied().zip(outline.iter().copied().cycle().skip(1))
}
