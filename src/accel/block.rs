//! Blocks of eight triangles, tested against one ray at once.

use glam::Vec3;

use crate::geometry::{Triangle, TriangleHit, WatertightRay};

use super::build::PADDING;
use super::lanes::Lanes;
use super::preset::LEAF_WIDTH;

/// Block of up to eight triangles of a leaf, one per SIMD lane. A block fills five cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Block {
    /// Corner coordinates in world or object space, indexed by corner, axis and lane. Lanes without a triangle hold
    /// NaN, so their distances are NaN and never count as hits.
    corners: [[[f32; LEAF_WIDTH]; 3]; 3],
    /// Index of each lane's triangle, with the mark bit of [`Tracer`](super::Tracer); [`PADDING`] in empty lanes.
    pub references: [u32; LEAF_WIDTH],
}

impl Block {
    /// Gathers the triangles at the given references. `marked` adds the mark bit to a reference.
    pub fn new(references: &[u32], triangles: &[Triangle], marked: impl Fn(&u32) -> u32) -> Self {
        let mut block = Self { corners: [[[f32::NAN; LEAF_WIDTH]; 3]; 3], references: [PADDING; LEAF_WIDTH] };
        for (lane, &reference) in references.iter().enumerate() {
            block.references[lane] = marked(&reference);
            if let Some(triangle) = triangles.get(reference as usize) {
                for (corner, point) in triangle.corners.into_iter().enumerate() {
                    for axis in 0..3 {
                        block.corners[corner][axis][lane] = point[axis];
                    }
                }
            }
        }
        block
    }

    /// Returns the triangle of a lane.
    fn triangle(&self, lane: usize) -> Triangle {
        let corner = |[x, y, z]: &[[f32; LEAF_WIDTH]; 3]| Vec3::new(x[lane], y[lane], z[lane]);
        let [a, b, c] = &self.corners;
        Triangle { corners: [corner(a), corner(b), corner(c)] }
    }

    /// Intersects the ray with the triangle of one lane.
    #[inline(always)]
    pub fn intersect_lane(&self, lane: usize, ray: &WatertightRay) -> Option<TriangleHit> {
        self.triangle(lane).intersect(ray)
    }

    /// Returns true if the triangle of a lane counts the crossing when the ray passes exactly through a shared edge.
    #[inline]
    pub fn counts_crossing(&self, lane: usize, ray: &WatertightRay) -> bool {
        self.triangle(lane).counts_crossing(ray)
    }

    /// Intersects the ray with all lanes, bit for bit as [`Triangle::intersect`] does. Returns a bit mask of the lanes
    /// hit within the ray's interval, and the distance of each lane.
    ///
    /// Has no early exit when all lanes miss. A mispredicted branch would cost more than the remaining arithmetic.
    #[inline(always)]
    pub fn intersect<L: Lanes>(&self, ray: &BlockRay<L>) -> (u32, [f32; LEAF_WIDTH]) {
        let [a, b, c] = &self.corners;
        let (a, b, c) = (ray.sheared(a), ray.sheared(b), ray.sheared(c));
        let u = c.x.mul(b.y).sub(c.y.mul(b.x));
        let v = a.x.mul(c.y).sub(a.y.mul(c.x));
        let w = b.x.mul(a.y).sub(b.y.mul(a.x));
        let outside = u.xor(v).or(u.xor(w)).signs();
        // Underflowing products vanish too; such lanes take a superfluous but harmless second test.
        let on_edge = u.mul(v).mul(w).equal(L::splat(0.0));
        let inside = !(outside | on_edge);
        let determinant = u.add(v).add(w);
        let t = u.mul(a.z).add(v.mul(b.z)).add(w.mul(c.z)).div(determinant);
        let mut hits = inside & ray.t_min.at_most(t) & t.at_most(ray.t_max);
        let mut distances = t.store();
        if on_edge != 0 {
            self.retest(on_edge, ray.ray, &mut hits, &mut distances);
        }
        (hits, distances)
    }

    /// Tests single lanes again, in double precision where needed.
    #[cold]
    #[inline(never)]
    fn retest(&self, lanes: u32, ray: &WatertightRay, hits: &mut u32, distances: &mut [f32; LEAF_WIDTH]) {
        for lane in set_bits(lanes) {
            if let Some(place) = self.intersect_lane(lane, ray) {
                *hits |= 1 << lane;
                distances[lane] = place.t;
            }
        }
    }
}

/// Iterates over the positions of the set bits of a word.
#[inline(always)]
pub(super) fn set_bits(mut word: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        bit
    })
}

/// Vector with each component replicated over, or varying across, eight lanes.
struct LaneVector<L> {
    x: L,
    y: L,
    z: L,
}

impl<L: Lanes> LaneVector<L> {
    #[inline(always)]
    fn splat(vector: Vec3) -> Self {
        Self { x: L::splat(vector.x), y: L::splat(vector.y), z: L::splat(vector.z) }
    }
}

/// Ray replicated over all lanes, prepared for [`Block::intersect`].
pub(super) struct BlockRay<'a, L> {
    pub ray: &'a WatertightRay,
    origin: LaneVector<L>,
    shear: LaneVector<L>,
    t_min: L,
    t_max: L,
}

impl<'a, L: Lanes> BlockRay<'a, L> {
    #[inline(always)]
    pub fn new(ray: &'a WatertightRay) -> Self {
        let origin: &[f32; 3] = ray.ray().origin.as_ref();
        let [x, y, z] = ray.axes();
        Self {
            origin: LaneVector { x: L::splat(origin[x]), y: L::splat(origin[y]), z: L::splat(origin[z]) },
            shear: LaneVector::splat(ray.shear()),
            t_min: L::splat(ray.ray().t_min),
            t_max: L::splat(ray.ray().t_max),
            ray,
        }
    }

    /// Shortens the ray: later tests report no hit beyond `t_max`.
    #[inline(always)]
    pub fn set_t_max(&mut self, t_max: f32) {
        self.t_max = L::splat(t_max);
    }

    #[inline(always)]
    fn sheared(&self, point: &[[f32; LEAF_WIDTH]; 3]) -> LaneVector<L> {
        // SAFETY: a watertight ray permutes the three axes, so every index is below 3.
        let axes = self.ray.axes();
        let along = |axis: usize| L::load(unsafe { point.get_unchecked(axes[axis]) });
        let z = along(2).sub(self.origin.z);
        LaneVector {
            x: along(0).sub(self.origin.x).sub(self.shear.x.mul(z)),
            y: along(1).sub(self.origin.y).sub(self.shear.y.mul(z)),
            z: self.shear.z.mul(z),
        }
    }
}
