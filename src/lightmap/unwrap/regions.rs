//! Segmentation of a mesh into regions that can be flattened, by merging neighbors, flattest first.
//!
//! This is hierarchical face clustering (Garland, Willmott and Heckbert 2001). The cost is the normal deviation of
//! variational shape approximation (Cohen-Steiner, Alliez and Desbrun 2004). Every triangle starts as a region. The
//! pair of neighbors whose union deviates least from a plane merges, until no union fits its cone of normals.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::f32::consts::PI;

use glam::Vec3;

use super::topology::Topology;

/// Half angle in radians of the cone around a region's normals: 50 degrees, where projection keeps 64 % of the area.
const CONE: f32 = 50.0 * PI / 180.0;

/// Deviation below which a region counts as flat, as the difference is rounding.
const FLAT: f32 = 1e-6;

/// Area in texels below which a region costs more as a separate chart than as a crease inside one.
const TINY_AREA: f32 = 4.0;

/// Group of connected triangles.
struct Region {
    /// Sum of unit normals times areas.
    normal: Vec3,
    /// Area in texels.
    area: f32,
    /// Perimeter in texels.
    perimeter: f32,
    /// Upper bound of the angle between the mean normal and any triangle's.
    spread: f32,
    triangles: Vec<u32>,
    borders: Vec<Border>,
    /// Number of merges so far, which identifies outdated candidates.
    version: u32,
}

/// Shared border of a region with another.
#[derive(Clone, Copy)]
struct Border {
    region: u32,
    length: f32,
    creased: f32,
}

/// Pair of neighbors that may merge.
#[derive(PartialEq)]
struct Candidate {
    cost: f32,
    area: f32,
    regions: [u32; 2],
    versions: [u32; 2],
}

impl Eq for Candidate {}

impl Ord for Candidate {
    /// Orders the cheapest candidate as the greatest, for the heap. Ties prefer the smallest, which keeps regions of
    /// flat meshes balanced.
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

/// Returns the regions of a mesh, each as an ascending list of triangles. Degenerate triangles are in none.
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
    /// Region into which each region has merged, or itself.
    merged_into: Vec<u32>,
    candidates: BinaryHeap<Candidate>,
    /// Scratch buffer: position of a region in the list of borders being joined.
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

    /// Returns an upper bound of the angle between the mean normal of both regions and any triangle's. The bound is
    /// exact if it decides.
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

    fn merge(&mut self, survivor: u32, absorbed: u32, spread: f32) {
        self.merged_into[absorbed as usize] = survivor;
        let absorbed = std::mem::replace(&mut self.regions[absorbed as usize], Region::gone());
        let mut shared = 0.0;
        let mut borders: Vec<Border> = Vec::new();
        let kept = std::mem::take(&mut self.regions[survivor as usize].borders);
        for border in kept.into_iter().chain(absorbed.borders) {
            let region = self.find(border.region);
            if region == survivor {
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
        let region = &mut self.regions[survivor as usize];
        region.normal += absorbed.normal;
        region.area += absorbed.area;
        // Both regions listed the border that they share.
        region.perimeter += absorbed.perimeter - shared;
        region.triangles.extend(absorbed.triangles);
        region.spread = spread;
        region.version += 1;
        region.borders = borders;
        for place in 0..self.regions[survivor as usize].borders.len() {
            let border = self.regions[survivor as usize].borders[place];
            self.propose(survivor, border);
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
        for (neighbor, length) in topology.neighbors[index].iter().zip(lengths) {
            let Some(neighbor) = neighbor else {
                continue;
            };
            let creased = if neighbor.crease { length } else { 0.0 };
            if let Some(known) = borders.iter_mut().find(|border| border.region == neighbor.triangle) {
                known.length += length;
                known.creased += creased;
            } else {
                borders.push(Border { region: neighbor.triangle, length, creased });
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

    /// Returns the placeholder of a merged region.
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
