//! Groups triangles into regions that can be flattened: merges neighbours, flattest first.
//!
//! Hierarchical face clustering (Garland, Willmott and Heckbert 2001) with the normal deviation of variational shape
//! approximation (Cohen-Steiner, Alliez and Desbrun 2004) as its cost: every triangle starts as a region, and the pair
//! of neighbours whose union deviates least from a plane merges, until no union fits its cone of normals.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::f32::consts::PI;

use glam::Vec3;

use super::topology::Topology;

/// Half angle of the cone that holds a region's normals, in radians: 50 degrees, where projection keeps 64 % of the area.
const CONE: f32 = 50.0 * PI / 180.0;

/// Deviations below this are rounding: the region is flat.
const FLAT: f32 = 1e-6;

/// A region smaller than this many texels costs more as a chart of its own than a crease inside a chart.
const TINY_AREA: f32 = 4.0;

/// A group of connected triangles.
struct Region {
    /// Sum of the unit normals times areas.
    normal: Vec3,
    /// Area in texels.
    area: f32,
    /// Length of the outline in texels.
    perimeter: f32,
    /// Bound on the angle between the mean normal and any triangle's.
    spread: f32,
    triangles: Vec<u32>,
    borders: Vec<Border>,
    /// Grows with each merge, so that outdated candidates are known.
    version: u32,
}

/// What a region shares with another.
#[derive(Clone, Copy)]
struct Border {
    region: u32,
    length: f32,
    creased: f32,
}

/// Two neighbours that may merge.
#[derive(PartialEq)]
struct Candidate {
    cost: f32,
    area: f32,
    regions: [u32; 2],
    versions: [u32; 2],
}

impl Eq for Candidate {}

impl Ord for Candidate {
    /// The cheapest is the greatest, for the heap; then the smallest, which keeps regions of flat meshes balanced.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.cost.total_cmp(&self.cost))
            .then(other.area.total_cmp(&self.area))
            .then(other.regions.cmp(&self.regions))
            .then(other.versions.cmp(&self.versions))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The regions of a mesh, each a list of triangles in ascending order. Degenerate triangles are in none.
pub(super) fn grow(topology: &Topology) -> Vec<Vec<u32>> {
    let mut merging = Merging::new(topology);
    merging.run();
    let mut regions: Vec<Vec<u32>> = (merging.regions.into_iter().map(|region| region.triangles))
        .filter(|triangles| !triangles.is_empty())
        .collect();
    for triangles in &mut regions {
        triangles.sort_unstable();
    }
    regions.sort_unstable();
    regions
}

struct Merging<'a> {
    topology: &'a Topology,
    regions: Vec<Region>,
    /// What each region has become part of, itself while it lives.
    merged_into: Vec<u32>,
    candidates: BinaryHeap<Candidate>,
    /// Where a region stands in the list of borders being joined; scratch.
    places: Vec<u32>,
}

impl<'a> Merging<'a> {
    fn new(topology: &'a Topology) -> Self {
        let count = topology.corners.len() as u32;
        let regions: Vec<Region> = (0..count).map(|triangle| Region::of_triangle(topology, triangle)).collect();
        let mut merging = Self {
            topology,
            regions,
            merged_into: (0..count).collect(),
            candidates: BinaryHeap::new(),
            places: vec![u32::MAX; count as usize],
        };
        for region in 0..count {
            for place in 0..merging.regions[region as usize].borders.len() {
                let border = merging.regions[region as usize].borders[place];
                if region < border.region {
                    merging.propose(region, border);
                }
            }
        }
        merging
    }

    fn run(&mut self) {
        while let Some(candidate) = self.candidates.pop() {
            let [one, other] = candidate.regions.map(|region| &self.regions[region as usize]);
            let current = [one.version, other.version] == candidate.versions;
            if !current {
                continue;
            }
            if let Some(spread) = self.spread_of_union(one, other).filter(|spread| *spread <= CONE) {
                let [one, other] = candidate.regions;
                if self.regions[one as usize].triangles.len() >= self.regions[other as usize].triangles.len() {
                    self.merge(one, other, spread);
                } else {
                    self.merge(other, one, spread);
                }
            }
        }
    }

    /// Bound on the angle between the mean normal of both regions and any triangle's; exact where it decides.
    fn spread_of_union(&self, one: &Region, other: &Region) -> Option<f32> {
        let axis = (one.normal + other.normal).try_normalize()?;
        let bound = [one, other].into_iter().map(|region| region.spread + region.normal.angle_between(axis));
        let bound = bound.fold(0.0, f32::max);
        if bound <= CONE {
            return Some(bound);
        }
        let mut spread = 0.0f32;
        for &triangle in other.triangles.iter().chain(&one.triangles) {
            if !self.topology.slivers[triangle as usize] {
                spread = spread.max(self.topology.normals[triangle as usize].angle_between(axis));
                if spread > CONE {
                    return None;
                }
            }
        }
        Some(spread)
    }

    fn merge(&mut self, keeper: u32, absorbed: u32, spread: f32) {
        self.merged_into[absorbed as usize] = keeper;
        let absorbed = std::mem::replace(&mut self.regions[absorbed as usize], Region::gone());
        let mut shared = 0.0;
        let mut borders: Vec<Border> = Vec::new();
        let kept = std::mem::take(&mut self.regions[keeper as usize].borders);
        for border in kept.into_iter().chain(absorbed.borders) {
            let region = self.find(border.region);
            if region == keeper {
                shared += border.length;
                continue;
            }
            let place = self.places[region as usize];
            if place == u32::MAX {
                self.places[region as usize] = borders.len() as u32;
                borders.push(Border { region, ..border });
            } else {
                borders[place as usize].length += border.length;
                borders[place as usize].creased += border.creased;
            }
        }
        for border in &borders {
            self.places[border.region as usize] = u32::MAX;
        }
        let region = &mut self.regions[keeper as usize];
        region.normal += absorbed.normal;
        region.area += absorbed.area;
        // Both regions listed what they share.
        region.perimeter += absorbed.perimeter - shared;
        region.triangles.extend(absorbed.triangles);
        region.spread = spread;
        region.version += 1;
        region.borders = borders;
        for place in 0..self.regions[keeper as usize].borders.len() {
            let border = self.regions[keeper as usize].borders[place];
            self.propose(keeper, border);
        }
    }

    fn propose(&mut self, region: u32, border: Border) {
        let pair = [region.min(border.region), region.max(border.region)];
        let [one, other] = pair.map(|region| &self.regions[region as usize]);
        let creased = border.creased > 0.5 * border.length;
        if creased && one.area.min(other.area) > TINY_AREA {
            return;
        }
        let area = one.area + other.area;
        let deviation = 1.0 - (one.normal + other.normal).length() / area;
        let perimeter = (one.perimeter + other.perimeter - 2.0 * border.length).max(0.0);
        let roundness = perimeter * perimeter / (4.0 * PI * area);
        let cost = if deviation > FLAT { deviation * (0.5 + roundness) } else { 0.0 };
        let versions = [one.version, other.version];
        self.candidates.push(Candidate { cost, area, regions: pair, versions });
    }

    fn find(&mut self, mut region: u32) -> u32 {
        while self.merged_into[region as usize] != region {
            let next = self.merged_into[region as usize];
            self.merged_into[region as usize] = self.merged_into[next as usize];
            region = next;
        }
        region
    }
}

impl Region {
    fn of_triangle(topology: &Topology, triangle: u32) -> Self {
        if topology.is_degenerate(triangle) {
            return Self::gone();
        }
        let index = triangle as usize;
        let lengths = [0, 1, 2].map(|edge| topology.edge_length(triangle, edge));
        let mut borders: Vec<Border> = Vec::with_capacity(3);
        for (neighbour, length) in topology.neighbours[index].iter().zip(lengths) {
            let Some(neighbour) = neighbour else {
                continue;
            };
            let creased = if neighbour.crease { length } else { 0.0 };
            if let Some(known) = borders.iter_mut().find(|border| border.region == neighbour.triangle) {
                known.length += length;
                known.creased += creased;
            } else {
                borders.push(Border { region: neighbour.triangle, length, creased });
            }
        }
        Self {
            normal: topology.normals[index] * topology.areas[index],
            area: topology.areas[index],
            perimeter: lengths.iter().sum(),
            spread: 0.0,
            triangles: vec![triangle],
            borders,
            version: 0,
        }
    }

    /// What is left of a region that another has absorbed.
    fn gone() -> Self {
        Self {
            normal: Vec3::ZERO,
            area: 0.0,
            perimeter: 0.0,
            spread: 0.0,
            triangles: Vec::new(),
            borders: Vec::new(),
            version: u32::MAX,
        }
    }
}
