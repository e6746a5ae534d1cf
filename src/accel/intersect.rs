//! Ray traversal of a [`Tracer`].

use core::ops::ControlFlow;

use crate::geometry::{Ray, TriangleHit, WatertightRay};

use super::Tracer;
use super::block::{Block, BlockRay, set_bits};
use super::lanes::{Lanes, Portable};
use super::tracer::{Instructions, MARK};
use super::traversal::{Order, traverse};

#[cfg(target_arch = "x86_64")]
use super::lanes::Avx2;

/// Hit of a ray on a triangle of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeHit {
    /// Index of the triangle in [`Tree::triangles`](super::Tree::triangles).
    pub triangle: u32,
    /// Hit point on the triangle.
    pub place: TriangleHit,
}

impl Tracer {
    /// Returns the closest hit in the ray's interval; of equally close hits the one with the lower triangle index.
    ///
    /// `accept` is called for hits on marked triangles (see [`Tracer::build`]). One triangle may be passed several
    /// times, and triangles behind the closest may be passed too. Answers must be consistent. `accept` returns the
    /// distance to use for ordering, no less than the true distance, or `None` to reject the hit. Its second argument
    /// is true if the triangle [counts the crossing](crate::geometry::Triangle::counts_crossing). Light that passes a
    /// pane at a shared edge thus passes once.
    #[inline]
    pub fn closest(&self, ray: &Ray, accept: impl FnMut(TreeHit, bool) -> Option<f32>) -> Option<TreeHit> {
        match self.instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: AVX2 is chosen only where its features were detected.
            Instructions::Avx2 => unsafe { self.closest_avx2(ray, accept) },
            Instructions::Portable => self.closest_in::<Portable>(ray, accept),
        }
    }

    /// Returns true if any triangle lies in the ray's interval; `accept` works as in [`Tracer::closest`].
    #[inline]
    pub fn any(&self, ray: &Ray, accept: impl FnMut(TreeHit, bool) -> bool) -> bool {
        match self.instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: AVX2 is chosen only where its features were detected.
            Instructions::Avx2 => unsafe { self.any_avx2(ray, accept) },
            Instructions::Portable => self.any_in::<Portable>(ray, accept),
        }
    }

    /// Visits every triangle in the ray's interval, in no particular order. A triangle that lies in several leaves may
    /// be visited several times.
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
        match self.wide.only_leaf() {
            Some((first, count)) => meet(self.blocks_of(first, count)),
            None => traverse::<Portable>(&self.wide, ray, Order::NearestFirst, |first, count| {
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
        match self.wide.only_leaf() {
            Some((first, count)) => search.meet(self.blocks_of(first, count)),
            None => traverse::<L>(&self.wide, ray, Order::NearestFirst, |first, count| {
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
        if let Some((first, count)) = self.wide.only_leaf() {
            return is_blocked(self.blocks_of(first, count), &prepared, &mut accept);
        }
        let mut found = false;
        traverse::<L>(&self.wide, ray, Order::LargestFirst, |first, count| {
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

/// Search for the closest triangle.
struct Closest<'a, L, A> {
    ray: BlockRay<'a, L>,
    /// Block and lane of the closest hit so far; `t` and `triangle` hold its distance and triangle.
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
                    // The end of the ray's interval is not a hit, so it must not win a comparison.
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

/// Returns the ordering distance of the marked triangle in a lane, or infinity if rejected. A separate cold function,
/// because the loop over blocks is faster without.
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

/// Returns true if a triangle of the blocks stops the ray.
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

/// Asks the callback about the triangle of a lane. A separate cold function, because the loop over blocks is faster
/// without.
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
