//! Stitching: makes both sides of a seam agree.
//!
//! Charts that meet on the surface are apart on the page. Filtering shows each side the texels of its own chart, so the
//! seam is visible as a step. Texels near seams change as little as possible such that filtered values agree along
//! them. Filtering is bicubic where the layout's padding allows it, as in Bevy, and bilinear elsewhere. Sources:
//! Iwanicki 2013, "Lighting technology of The Last of Us"; Sylvan, "Fixing texture seams with linear least-squares".

use std::collections::HashMap;

use glam::{IVec3, Vec2, Vec3};
use rayon::prelude::*;

use super::least_squares::{Equation, solve};
use crate::geometry::{Ray, RayQuery, SurfaceId};
use crate::lightmap::page::Taps;
use crate::lightmap::{Elements, Layout, LayoutSettings, Page, Placement};
use crate::progress::{Cancelled, Monitor};
use crate::scene::Scene;

/// Maximum distance in meters between coinciding edges of different surfaces.
const TOLERANCE: f32 = 1e-3;
/// Cosine of ten degrees: the maximum bend of a seam, and the maximum angle between coinciding edges.
const STRAIGHT: f32 = 0.984_807_7;
/// Stiffness of a texel with a value of its own, relative to one pair of points.
const STIFFNESS: f32 = 0.004;
/// Stiffness of a texel that was filled in.
const FILLED_STIFFNESS: f32 = 0.000_4;
/// Maximum number of points along one edge.
const MAX_POINTS: f32 = 8192.0;
/// Maximum number of edges paired with a point. More coincide only where objects share one place. Each of those is
/// paired with the first ones, and agrees with the others through them.
const MAX_PARTNERS: usize = 8;

/// Number of points whose pairs are found at once, so that few exceed the limit before it is noticed.
const POINTS_AT_ONCE: f32 = 16384.0;

/// Returns the bytes of a pair of points while its equation is solved: the equation, its transpose, and the texels that it
/// moves. `padding` is the layout's, in texels.
pub const fn bytes_per_pair(padding: u32) -> usize {
    if is_bicubic(padding) { 720 } else { 240 }
}

/// Returns true if a layout with this padding, in texels, is filtered bicubically.
const fn is_bicubic(padding: u32) -> bool {
    padding >= LayoutSettings::BICUBIC_PADDING
}

/// Statistics of stitching.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stitched {
    /// Number of point pairs whose values were made to agree.
    pub pairs: usize,
    /// Root mean square of their differences before, in cd/m2.
    pub before: f32,
    /// Root mean square of their differences afterwards, in cd/m2.
    pub after: f32,
    /// True if further seams stay, since there were more pairs than allowed.
    pub is_partial: bool,
}

/// Stitches the seams between charts of a surface, and between surfaces whose edges coincide within a millimeter and
/// ten degrees. A short ray between both sides must be unoccluded.
///
/// Both sides agree for bicubic filtering if the layout's padding is at least [`LayoutSettings::BICUBIC_PADDING`], else
/// for bilinear filtering.
///
/// Pages that already agree on both sides of all seams stay unchanged. Stitching ends after `max_pairs` pairs of points,
/// each of which takes [`bytes_per_pair`].
///
/// # Errors
/// When the monitor asks to stop.
pub fn stitch(
    pages: &mut [Page],
    scene: &Scene,
    layout: &Layout,
    elements: &Elements,
    world: &dyn RayQuery,
    max_pairs: usize,
    monitor: &dyn Monitor,
) -> Result<Stitched, Cancelled> {
    let rims: Vec<Rim> = (layout.placements.par_iter().enumerate())
        .filter_map(|(index, placement)| Some((SurfaceId::from_index(index), placement.as_ref()?)))
        .flat_map_iter(|(surface, placement)| rims_of(scene, elements, surface, placement))
        .collect();
    let grid = Grid::new(&rims);
    let read: &[Page] = pages;
    let mut pairs: Vec<[Place; 2]> = Vec::new();
    let mut first = 0;
    while first < rims.len() && pairs.len() <= max_pairs {
        monitor.check()?;
        let mut points = 0.0;
        let is_enough = |rim: &Rim| {
            let is_enough = points > POINTS_AT_ONCE;
            points += rim.points();
            is_enough
        };
        let end = rims[first..].iter().position(is_enough).map_or(rims.len(), |count| first + count);
        let found: Vec<[Place; 2]> =
            (first..end).into_par_iter().flat_map_iter(|index| pairs_along(index, &rims, &grid, read, world)).collect();
        pairs.extend(found);
        first = end;
    }
    let is_partial = pairs.len() > max_pairs;
    pairs.truncate(max_pairs);
    drop((rims, grid));
    let [before, after] = if is_bicubic(layout.padding) {
        close(pages, &pairs, Taps::bicubic)
    } else {
        close(pages, &pairs, Taps::bilinear)
    };
    Ok(Stitched { pairs: pairs.len(), before, after, is_partial })
}

/// Closes all steps as a filter shows them. Returns their root mean square before and afterwards.
fn close<const COUNT: usize>(pages: &mut [Page], pairs: &[[Place; 2]], filter: Filter<COUNT>) -> [f32; 2] {
    let before = root_mean_square(pages, pairs, filter);
    move_texels(pages, pairs, filter);
    [before, root_mean_square(pages, pairs, filter)]
}

/// Edge at the border of a chart.
struct Rim {
    page: u32,
    /// End points in world space.
    ends: [Vec3; 2],
    /// End points on the page, in texels.
    spots: [Vec2; 2],
    /// Interpolated unit normals at the end points, on the side that the texels show.
    normals: [Vec3; 2],
    /// Unit vector in the triangle's plane, from the edge to the inside.
    inward: Vec3,
    /// Half the width of a texel, in meters.
    half_texel: f32,
}

impl Rim {
    fn position(&self, along: f32) -> Vec3 {
        self.ends[0].lerp(self.ends[1], along)
    }

    fn spot(&self, along: f32) -> Vec2 {
        self.spots[0].lerp(self.spots[1], along)
    }

    /// Returns the number of points along the edge: two for each texel.
    fn points(&self) -> f32 {
        (2.0 * self.spots[0].distance(self.spots[1])).ceil().clamp(1.0, MAX_POINTS)
    }

    fn normal(&self, along: f32) -> Vec3 {
        self.normals[0].lerp(self.normals[1], along).normalize_or(self.normals[0])
    }

    /// Returns a point beside the edge, half a texel inside and half a texel above the surface.
    fn beside(&self, along: f32) -> Vec3 {
        self.position(along) + (self.inward + self.normal(along)) * self.half_texel
    }

    /// Returns the parameter along the edge of a point; `None` if the point is not on the edge.
    fn locate(&self, point: Vec3) -> Option<f32> {
        let edge = self.ends[1] - self.ends[0];
        let along = ((point - self.ends[0]).dot(edge) / edge.length_squared()).clamp(0.0, 1.0);
        (self.position(along).distance_squared(point) <= TOLERANCE * TOLERANCE).then_some(along)
    }

    fn is_parallel_to(&self, other: &Self) -> bool {
        let (a, b) = (self.ends[1] - self.ends[0], other.ends[1] - other.ends[0]);
        a.dot(b).abs() >= STRAIGHT * a.length() * b.length()
    }

    /// Returns true if both edges continue each other at a shared point: a smooth surface without a wall between.
    fn continues(&self, along: f32, other: &Self, other_along: f32, world: &dyn RayQuery) -> bool {
        self.normal(along).dot(other.normal(other_along)) >= STRAIGHT
            && !world.blocked(&Ray::between(self.beside(along), other.beside(other_along))).is_blocked()
    }
}

/// Returns the border edges of a surface's charts: those used by one triangle only, after charts are split.
fn rims_of(scene: &Scene, elements: &Elements, surface: SurfaceId, placement: &Placement) -> Vec<Rim> {
    let mesh = &placement.unwrap.mesh;
    let mut uses: HashMap<[u32; 2], u32> = HashMap::new();
    for edge in mesh.triangles.iter().flat_map(edges) {
        *uses.entry(undirected(edge)).or_default() += 1;
    }
    let placed = scene.surface(surface);
    let flip = if elements.shows_back(surface) { -1.0 } else { 1.0 };
    let turn = if placed.is_mirrored() { -flip } else { flip };
    let corner = Vec2::new(placement.rectangle.x as f32, placement.rectangle.y as f32);
    let size = Vec2::new(placement.rectangle.width as f32, placement.rectangle.height as f32);
    let mut rims = Vec::new();
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|vertex| placed.to_world.transform_point3(mesh.positions[vertex as usize]));
        let facet = (b - a).cross(c - a).normalize_or_zero() * turn;
        for edge in edges(triangle).filter(|edge| uses[&undirected(*edge)] == 1) {
            let ends = edge.map(|vertex| placed.to_world.transform_point3(mesh.positions[vertex as usize]));
            let spots = edge.map(|vertex| corner + mesh.uv1[vertex as usize] * size);
            let normals = edge.map(|vertex| match mesh.normals.get(vertex as usize) {
                Some(normal) => placed.normal_to_world(*normal) * flip,
                None => facet,
            });
            let middle = (a + b + c) / 3.0 - ends[0];
            let (length, texels) = (ends[0].distance(ends[1]), spots[0].distance(spots[1]));
            let along = (ends[1] - ends[0]) / length;
            let inward = (middle - along * middle.dot(along)).normalize_or_zero();
            // An edge of zero length in either space has nothing to stitch.
            if length > TOLERANCE && texels > TOLERANCE && facet != Vec3::ZERO {
                let half_texel = 0.5 * length / texels;
                rims.push(Rim { page: placement.page, ends, spots, normals, inward, half_texel });
            }
        }
    }
    rims
}

fn edges(&[a, b, c]: &[u32; 3]) -> impl Iterator<Item = [u32; 2]> + use<> {
    [[a, b], [b, c], [c, a]].into_iter()
}

fn undirected([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// Spatial hash grid of edges.
struct Grid {
    cell: f32,
    cells: HashMap<IVec3, Vec<u32>>,
}

impl Grid {
    fn new(rims: &[Rim]) -> Self {
        let total: f64 = rims.iter().map(|rim| f64::from(rim.ends[0].distance(rim.ends[1]))).sum();
        let cell = ((total / rims.len().max(1) as f64) as f32).max(10.0 * TOLERANCE);
        let mut cells: HashMap<IVec3, Vec<u32>> = HashMap::new();
        for (index, rim) in rims.iter().enumerate() {
            let steps = (rim.ends[0].distance(rim.ends[1]) / (0.5 * cell)).ceil().max(1.0) as u32;
            for step in 0..steps {
                let (a, b) = (step as f32 / steps as f32, (step + 1) as f32 / steps as f32);
                let (a, b) = (rim.position(a), rim.position(b));
                let first = ((a.min(b) - 2.0 * TOLERANCE) / cell).floor().as_ivec3();
                let last = ((a.max(b) + 2.0 * TOLERANCE) / cell).floor().as_ivec3();
                for z in first.z..=last.z {
                    for y in first.y..=last.y {
                        for x in first.x..=last.x {
                            let list = cells.entry(IVec3::new(x, y, z)).or_default();
                            if list.last() != Some(&(index as u32)) {
                                list.push(index as u32);
                            }
                        }
                    }
                }
            }
        }
        Self { cell, cells }
    }

    fn near(&self, point: Vec3) -> &[u32] {
        self.cells.get(&(point / self.cell).floor().as_ivec3()).map_or(&[], Vec::as_slice)
    }
}

/// Point of a page.
#[derive(Clone, Copy)]
struct Place {
    page: u32,
    /// In texels from the top left corner.
    spot: Vec2,
}

/// Texels that the renderer's filter reads at a point of a page.
struct Footprint<const COUNT: usize> {
    page: u32,
    taps: Taps<COUNT>,
}

impl<const COUNT: usize> Footprint<COUNT> {
    fn read(&self, pages: &[Page]) -> Vec3 {
        self.taps.read(&pages[self.page as usize])
    }
}

/// Filter of a renderer: the texels that it reads at a point.
type Filter<const COUNT: usize> = fn(&Page, Vec2) -> Taps<COUNT>;

fn footprint<const COUNT: usize>(filter: Filter<COUNT>, place: &Place, pages: &[Page]) -> Footprint<COUNT> {
    Footprint { page: place.page, taps: filter(&pages[place.page as usize], place.spot) }
}

/// Returns true if any of the four texels around a point has a value of its own.
fn is_visible(place: &Place, pages: &[Page]) -> bool {
    let page = &pages[place.page as usize];
    Taps::bilinear(page, place.spot).texels.iter().any(|&texel| page.validity[texel as usize] > 0.0)
}

/// Returns two points per texel along an edge, each paired with the coinciding points of other edges.
fn pairs_along(index: usize, rims: &[Rim], grid: &Grid, pages: &[Page], world: &dyn RayQuery) -> Vec<[Place; 2]> {
    let rim = &rims[index];
    let count = rim.points();
    let mut pairs = Vec::new();
    for point in 0..count as u32 {
        let along = (point as f32 + 0.5) / count;
        let own = Place { page: rim.page, spot: rim.spot(along) };
        if !is_visible(&own, pages) {
            continue;
        }
        let position = rim.position(along);
        let partners = grid.near(position).iter().filter(|&&near| near as usize != index).filter_map(|&near| {
            let other = &rims[near as usize];
            let there = other.locate(position).filter(|_| rim.is_parallel_to(other))?;
            let theirs = Place { page: other.page, spot: other.spot(there) };
            let same_spot = own.page == theirs.page && own.spot.distance(theirs.spot) < TOLERANCE;
            let is_seam = !same_spot && is_visible(&theirs, pages) && rim.continues(along, other, there, world);
            is_seam.then_some([own, theirs])
        });
        pairs.extend(partners.take(MAX_PARTNERS));
    }
    pairs
}

fn root_mean_square<const COUNT: usize>(pages: &[Page], pairs: &[[Place; 2]], filter: Filter<COUNT>) -> f32 {
    let square = |pair: &[Place; 2]| {
        let [a, b] = pair.each_ref().map(|place| footprint(filter, place, pages).read(pages));
        f64::from((a - b).length_squared()) / 3.0
    };
    let sum = pairs.iter().fold(0.0, |sum, pair| sum + square(pair));
    (sum / pairs.len().max(1) as f64).sqrt() as f32
}

/// Solves for the smallest changes that close all steps, and applies them.
fn move_texels<const COUNT: usize>(pages: &mut [Page], pairs: &[[Place; 2]], filter: Filter<COUNT>) {
    let mut are_moved: Vec<Vec<bool>> = pages.iter().map(|page| vec![false; page.texels.len()]).collect();
    for place in pairs.iter().flatten() {
        let taps = footprint(filter, place, pages).taps;
        taps.texels.iter().for_each(|&texel| are_moved[place.page as usize][texel as usize] = true);
    }
    let of_page = |(page, are_moved): (usize, Vec<bool>)| {
        let texels = are_moved.into_iter().enumerate().filter(|(_, is_moved)| *is_moved);
        texels.map(move |(texel, _)| (page as u32, texel as u32))
    };
    let moved: Vec<(u32, u32)> = are_moved.into_iter().enumerate().flat_map(of_page).collect();
    let unknown = |page: u32, texel: u32| moved.binary_search(&(page, texel)).map_or(0, |found| found as u32);
    let equations: Vec<Equation<COUNT>> = pairs
        .par_iter()
        .map(|pair| {
            let [a, b] = pair.each_ref().map(|place| footprint(filter, place, pages));
            let terms = |side: &Footprint<COUNT>, sign: f32| {
                core::array::from_fn(|k| (unknown(side.page, side.taps.texels[k]), side.taps.shares[k] * sign))
            };
            Equation { terms: [terms(&a, 1.0), terms(&b, -1.0)], right: b.read(pages) - a.read(pages) }
        })
        .collect();
    let stiffness: Vec<f32> = moved
        .iter()
        .map(|&(page, texel)| {
            let validity = pages[page as usize].validity[texel as usize];
            FILLED_STIFFNESS + (STIFFNESS - FILLED_STIFFNESS) * validity
        })
        .collect();
    for (&(page, texel), change) in moved.iter().zip(solve(&equations, &stiffness)) {
        let value = &mut pages[page as usize].texels[texel as usize];
        // Light is never negative, even if a steep gradient at the seam asks for it.
        *value = (*value + change).max(Vec3::ZERO);
    }
}
