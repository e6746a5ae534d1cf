//! Walks a tree along a ray.

use core::ops::ControlFlow;

use crate::geometry::{Ray, TriangleHit, WatertightRay};

use super::Tracer;
use super::block::{Block, BlockRay, set_bits};
use super::lanes::{Lanes, Portable};
use super::tracer::{Instructions, MARK};
use super::walk::{Order, walk};

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

impl Tracer {
    /// The nearest triangle in the ray's interval; among equally near ones the first.
    ///
    /// `accept` is asked about marked triangles (those that [`Tracer::build`] was told of), perhaps several times about
    /// one and also about triangles behind the nearest; it must answer the same each time. It says how far away they
    /// count as, which is no less than they are; those that it refuses do not count. It is told whether the triangle is the
    /// one that [counts the crossing](crate::geometry::Triangle::counts_crossing): light that passes a pane at an edge passes once.
    #[inline]
    pub fn closest(&self, ray: &Ray, accept: impl FnMut(TreeHit, bool) -> Option<f32>) -> Option<TreeHit> {
        match self.instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: these are chosen only where their features were found.
            Instructions::Avx2 => unsafe { self.closest_avx2(ray, accept) },
            Instructions::Portable => self.closest_in::<Portable>(ray, accept),
        }
    }

    /// Whether any triangle lies in the ray's interval; `accept` as in [`Tracer::closest`].
    #[inline]
    pub fn any(&self, ray: &Ray, accept: impl FnMut(TreeHit, bool) -> bool) -> bool {
        match self.instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: these are chosen only where their features were found.
            Instructions::Avx2 => unsafe { self.any_avx2(ray, accept) },
            Instructions::Portable => self.any_in::<Portable>(ray, accept),
        }
    }

    /// Visits every triangle in the ray's interval, in no particular order; one that lies in several leaves perhaps
    /// several times.
    pub fn all(&self, ray: &Ray, mut visit: impl FnMut(TreeHit)) {
        let watertight = WatertightRay::new(ray);
        let prepared = BlockRay::<Portable>::new(&watertight);
        let mut meet = |blocks: &[Block]| {
            for block in blocks {
                let (hits, _) = block.intersect(&prepared);
                for lane in set_bits(hits) {
                    if let Some(place) = block.intersect_lane(lane, &watertight) {
                        visit(TreeHit { triangle: block.references[lane] & !MARK, place });
                    }
                }
            }
        };
        match self.wide.only_run() {
            Some((first, count)) => meet(self.blocks_of(first, count)),
            None => walk::<Portable>(&self.wide, ray, Order::NearestFirst, |first, count| {
                meet(self.blocks_of(first, count));
                ControlFlow::Continue(ray.t_max)
            }),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1")]
    fn closest_avx2(&self, ray: &Ray, accept: impl FnMut(TreeHit, bool) -> Option<f32>) -> Option<TreeHit> {
        self.closest_in::<Avx2>(ray, accept)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1")]
    fn any_avx2(&self, ray: &Ray, accept: impl FnMut(TreeHit, bool) -> bool) -> bool {
        self.any_in::<Avx2>(ray, accept)
    }

    #[inline(always)]
    fn closest_in<L: Lanes>(&self, ray: &Ray, accept: impl FnMut(TreeHit, bool) -> Option<f32>) -> Option<TreeHit> {
        let watertight = WatertightRay::new(ray);
        let mut search =
            Closest { ray: BlockRay::<L>::new(&watertight), best: None, t: ray.t_max, triangle: u32::MAX, accept };
        match self.wide.only_run() {
            Some((first, count)) => search.meet(self.blocks_of(first, count)),
            None => walk::<L>(&self.wide, ray, Order::NearestFirst, |first, count| {
                search.meet(self.blocks_of(first, count));
                ControlFlow::Continue(search.t)
            }),
        }
        let (block, lane) = search.best?;
        let place = block.intersect_lane(lane, &watertight)?;
        Some(TreeHit { triangle: search.triangle, place })
    }

    #[inline(always)]
    fn any_in<L: Lanes>(&self, ray: &Ray, mut accept: impl FnMut(TreeHit, bool) -> bool) -> bool {
        let watertight = WatertightRay::new(ray);
        let prepared = BlockRay::<L>::new(&watertight);
        if let Some((first, count)) = self.wide.only_run() {
            return is_blocked(self.blocks_of(first, count), &prepared, &mut accept);
        }
        let mut found = false;
        walk::<L>(&self.wide, ray, Order::FullestFirst, |first, count| {
            found = is_blocked(self.blocks_of(first, count), &prepared, &mut accept);
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(ray.t_max) }
        });
        found
    }

    #[inline(always)]
    fn blocks_of(&self, first: u32, count: u32) -> &[Block] {
        &self.blocks[first as usize..(first + count) as usize]
    }
}

/// Looks for the nearest triangle.
struct Closest<'a, L, A> {
    ray: BlockRay<'a, L>,
    /// Where the nearest so far stands, how far it counts as, and which it is.
    best: Option<(&'a Block, usize)>,
    t: f32,
    triangle: u32,
    accept: A,
}

impl<'a, L: Lanes, A: FnMut(TreeHit, bool) -> Option<f32>> Closest<'a, L, A> {
    #[inline(always)]
    fn meet(&mut self, blocks: &'a [Block]) {
        for block in blocks {
            let (hits, distances) = block.intersect(&self.ray);
            for lane in set_bits(hits) {
                let (t, triangle) = (distances[lane], block.references[lane] & !MARK);
                if !self.is_nearer(t, triangle) {
                    continue;
                }
                let mut counted = t;
                if block.references[lane] & MARK != 0 {
                    counted = counts_at(block, lane, self.ray.ray, &mut self.accept);
                    if counted == f32::INFINITY {
                        continue;
                    }
                    // The ray's own end is no other triangle.
                    if self.best.is_none() {
                        counted = counted.min(self.t);
                    }
                    if !self.is_nearer(counted, triangle) {
                        continue;
                    }
                }
                (self.best, self.t, self.triangle) = (Some((block, lane)), counted, triangle);
                self.ray.set_t_max(counted);
            }
        }
    }

    #[inline(always)]
    fn is_nearer(&self, t: f32, triangle: u32) -> bool {
        t < self.t || (t == self.t && triangle < self.triangle)
    }
}

/// How far away the marked triangle of a lane counts as, infinitely where it is refused; apart from the loop over blocks,
/// which is the faster without.
#[cold]
#[inline(never)]
fn counts_at(
    block: &Block,
    lane: usize,
    ray: &WatertightRay,
    accept: &mut impl FnMut(TreeHit, bool) -> Option<f32>,
) -> f32 {
    let triangle = block.references[lane] & !MARK;
    let place = block.intersect_lane(lane, ray);
    let counted = place.and_then(|place| accept(TreeHit { triangle, place }, block.counts_crossing(lane, ray)));
    counted.unwrap_or(f32::INFINITY)
}

/// Whether a triangle of some blocks stops a ray.
#[inline(always)]
fn is_blocked<L: Lanes>(blocks: &[Block], ray: &BlockRay<L>, accept: &mut impl FnMut(TreeHit, bool) -> bool) -> bool {
    for block in blocks {
        let (hits, _) = block.intersect(ray);
        let counts = |lane| block.references[lane] & MARK == 0 || is_accepted(block, lane, ray.ray, &mut *accept);
        if hits != 0 && set_bits(hits).any(counts) {
            return true;
        }
    }
    false
}

/// Asks about the triangle of a lane; apart from the loop over blocks, which is the faster without.
#[cold]
#[inline(never)]
fn is_accepted(
    block: &Block,
    lane: usize,
    ray: &WatertightRay,
    accept: &mut impl FnMut(TreeHit, bool) -> bool,
) -> bool {
    let triangle = block.references[lane] & !MARK;
    let place = block.intersect_lane(lane, ray);
    place.is_some_and(|place| accept(TreeHit { triangle, place }, block.counts_crossing(lane, ray)))
}
