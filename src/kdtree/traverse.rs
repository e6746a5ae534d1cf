//! Walks a tree along a ray.

use crate::geometry::{Aabb, Ray, TriangleHit, WatertightRay};

use super::block::{Block, BlockRay, set_bits};
use super::lanes::{Lanes, Portable};
use super::preset::LEAF_WIDTH;
use super::tracer::{Instructions, MARK};
use super::{Node, NodeKind, Tracer};

#[cfg(target_arch = "x86_64")]
use super::lanes::Avx2;

/// A triangle of a tree that a ray met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeHit {
    /// The triangle, as an index into [`Tree::triangles`](super::Tree::triangles).
    pub triangle: u32,
    /// Where on it.
    pub place: TriangleHit,
}

/// How far, in parts of the distance, the ends of a cell's interval are moved outwards.
///
/// The plane's distance and the triangle's are rounded differently; without a margin a triangle that ends at the plane
/// could be met in the cell that the ray is thought to have left. Sixteen roundings of single precision.
const MARGIN: f32 = 1e-6;

/// The deepest tree that can be walked.
pub(super) const STACK: usize = 64;

/// A part of the ray, or nothing when `start > end`.
#[derive(Clone, Copy)]
struct Interval {
    start: f32,
    end: f32,
}

/// A ray as the nodes see it.
struct Slopes {
    origin: [f32; 3],
    inverse: [f32; 3],
    /// Which child comes first on each axis.
    near: [u32; 3],
}

impl Slopes {
    #[inline(always)]
    fn new(ray: &Ray) -> Self {
        // A zero of either sign goes the way of a positive direction: its planes are infinitely far ahead or behind.
        let inverse = ray.direction.to_array().map(|d| if d == 0.0 { f32::INFINITY } else { 1.0 / d });
        Self { origin: ray.origin.to_array(), inverse, near: inverse.map(|slope| u32::from(slope < 0.0)) }
    }

    /// The part of a ray in a box.
    #[inline(always)]
    fn clip(&self, ray: &Ray, bounds: &Aabb) -> Interval {
        let mut part = Interval { start: ray.t_min, end: ray.t_max };
        for axis in 0..3 {
            let to_min = (bounds.min[axis] - self.origin[axis]) * self.inverse[axis];
            let to_max = (bounds.max[axis] - self.origin[axis]) * self.inverse[axis];
            let (enter, leave) = if self.near[axis] == 0 { (to_min, to_max) } else { (to_max, to_min) };
            // A ray within a face of the box has no distance to it (0 * infinity): comparisons with it are false.
            let enter = enter - enter.abs() * MARGIN;
            let leave = leave + leave.abs() * MARGIN;
            part.start = if enter > part.start { enter } else { part.start };
            part.end = if leave < part.end { leave } else { part.end };
        }
        part
    }
}

impl Tracer {
    /// The nearest triangle in the ray's interval; among equally near ones the first.
    ///
    /// `accept` is asked about marked triangles (those that `Tracer::build` was told of), perhaps several times about one and also about
    /// triangles behind the nearest; it must answer the same each time. Those that it refuses do not count.
    #[inline]
    pub fn closest(&self, ray: &Ray, accept: impl FnMut(TreeHit) -> bool) -> Option<TreeHit> {
        match self.instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: these are chosen only where AVX2 was found.
            Instructions::Avx2 => unsafe { self.closest_avx2(ray, accept) },
            Instructions::Portable => self.closest_in::<Portable>(ray, accept),
        }
    }

    /// Whether any triangle lies in the ray's interval; `accept` as in [`Tracer::closest`].
    #[inline]
    pub fn any(&self, ray: &Ray, accept: impl FnMut(TreeHit) -> bool) -> bool {
        match self.instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: these are chosen only where AVX2 was found.
            Instructions::Avx2 => unsafe { self.any_avx2(ray, accept) },
            Instructions::Portable => self.any_in::<Portable>(ray, accept),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1")]
    fn closest_avx2(&self, ray: &Ray, accept: impl FnMut(TreeHit) -> bool) -> Option<TreeHit> {
        self.closest_in::<Avx2>(ray, accept)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1")]
    fn any_avx2(&self, ray: &Ray, accept: impl FnMut(TreeHit) -> bool) -> bool {
        self.any_in::<Avx2>(ray, accept)
    }

    #[inline(always)]
    fn closest_in<L: Lanes>(&self, ray: &Ray, mut accept: impl FnMut(TreeHit) -> bool) -> Option<TreeHit> {
        let mut prepared = BlockRay::<L>::new(WatertightRay::new(ray));
        let mut best: Option<(&Block, usize)> = None;
        let (mut best_t, mut best_triangle) = (ray.t_max, u32::MAX);
        walk(&self.tree.nodes, &self.tree.bounds, ray, Order::NearestFirst, |first, count| {
            for block in self.blocks_of(first, count) {
                let (hits, distances) = block.intersect(&prepared);
                for lane in set_bits(hits) {
                    let (t, triangle) = (distances[lane], block.references[lane] & !MARK);
                    let nearer = t < best_t || (t == best_t && triangle < best_triangle);
                    if nearer && self.takes(block, lane, &prepared.ray, &mut accept) {
                        (best, best_t, best_triangle) = (Some((block, lane)), t, triangle);
                        prepared.set_t_max(t);
                    }
                }
            }
            best_t
        });
        let (block, lane) = best?;
        let place = block.intersect_lane(lane, &prepared.ray)?;
        Some(TreeHit { triangle: best_triangle, place })
    }

    #[inline(always)]
    fn any_in<L: Lanes>(&self, ray: &Ray, mut accept: impl FnMut(TreeHit) -> bool) -> bool {
        let prepared = BlockRay::<L>::new(WatertightRay::new(ray));
        let mut found = false;
        walk(&self.tree.nodes, &self.tree.bounds, ray, Order::FullestFirst, |first, count| {
            for block in self.blocks_of(first, count) {
                let (hits, _) = block.intersect(&prepared);
                if hits != 0 && set_bits(hits).any(|lane| self.takes(block, lane, &prepared.ray, &mut accept)) {
                    found = true;
                    return f32::NEG_INFINITY;
                }
            }
            ray.t_max
        });
        found
    }

    #[inline(always)]
    fn blocks_of(&self, first: u32, count: u32) -> &[Block] {
        let first = first as usize / LEAF_WIDTH;
        &self.blocks[first..first + (count as usize).div_ceil(LEAF_WIDTH)]
    }

    /// Whether a hit counts.
    #[inline(always)]
    fn takes(&self, block: &Block, lane: usize, ray: &WatertightRay, accept: &mut impl FnMut(TreeHit) -> bool) -> bool {
        let reference = block.references[lane];
        if reference & MARK == 0 {
            return true;
        }
        let place = block.intersect_lane(lane, ray);
        place.is_some_and(|place| accept(TreeHit { triangle: reference & !MARK, place }))
    }
}

/// In which order leaves are visited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    NearestFirst,
    /// Where there is most to block the ray (Nah and Manocha 2014, "SATO").
    FullestFirst,
}

/// Visits the leaves along a ray; `visit` is given a leaf's first reference and their number, and answers
/// how far the ray still reaches.
#[inline(always)]
pub(super) fn walk(nodes: &[Node], bounds: &Aabb, ray: &Ray, order: Order, mut visit: impl FnMut(u32, u32) -> f32) {
    let slopes = Slopes::new(ray);
    let mut part = slopes.clip(ray, bounds);
    if part.start > part.end || bounds.is_empty() {
        return;
    }
    let mut stack = [(0u32, Interval { start: 0.0, end: 0.0 }); STACK];
    let mut pending = 0;
    let mut node = 0u32;
    loop {
        let packed = nodes[node as usize];
        match packed.kind() {
            NodeKind::Split { axis, position, first } => {
                let t = (position - slopes.origin[axis]) * slopes.inverse[axis];
                let near = first + slopes.near[axis];
                let far = near ^ 1;
                if t > part.end {
                    node = near;
                } else if t < part.start {
                    node = far;
                } else {
                    // A ray within the plane has no distance to it (0 * infinity) and keeps its interval in both.
                    let margin = t.abs() * MARGIN;
                    let start = if t - margin > part.start { t - margin } else { part.start };
                    let end = if t + margin < part.end { t + margin } else { part.end };
                    let mut now = (near, Interval { end, ..part });
                    let mut later = (far, Interval { start, ..part });
                    if order == Order::FullestFirst && packed.fuller_child() != slopes.near[axis] {
                        core::mem::swap(&mut now, &mut later);
                    }
                    stack[pending] = later;
                    pending += 1;
                    (node, part) = now;
                }
            }
            NodeKind::Leaf { first, count } => {
                let limit = visit(first, count);
                // Entries nearer than the top one are rare but possible: a ray within a plane is in both its children.
                loop {
                    if pending == 0 {
                        return;
                    }
                    pending -= 1;
                    (node, part) = stack[pending];
                    if part.start <= limit {
                        break;
                    }
                }
            }
        }
    }
}
