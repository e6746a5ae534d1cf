//! Computation of visibility masks.

use glam::{Vec2, Vec3};

use super::mask::{all_bits, bit_of, bits_of};
use super::raster::{Block, Raster};
use super::sight::ray_epsilon;
use super::{Gate, Mask, Sight, Through};
use crate::geometry::sobol::{hash2, unit_float};
use crate::geometry::{Aabb, Ray, Transmittance};

/// Visibility queries against the occluders of one subscene.
pub trait Occluders: Sync {
    /// Returns the transmittance along the ray's interval.
    fn blocked(&self, ray: &Ray) -> Transmittance;

    /// Returns true only if no occluder lies between two boxes. May return false in doubt.
    fn are_clear(&self, from: &Aabb, to: &Aabb) -> bool;

    /// Returns true if a blocked ray starts inside a solid.
    fn starts_inside(&self, ray: &Ray) -> bool;
}

/// Number of points tried per rectangle until one is not inside a solid, where visibility does not matter.
const TRIES: usize = 4;

/// Number of rectangles up to which a block is sampled one by one instead of subdivided.
const FEW: usize = 4;

impl Sight<'_> {
    /// Computes the visibility mask of an outgoing border. Visibility takes into account incoming masks and the
    /// subscene's own occluders.
    ///
    /// Each viewpoint tests one point of each rectangle. Partial transmittance sets a channel's bit with a probability
    /// equal to the transmittance.
    pub fn mask(&self, out: &Gate, occluders: &dyn Occluders) -> Mask {
        if self.is_dark() {
            return Mask::dark();
        }
        let raster = self.raster(out);
        let mut words = vec![0; (raster.resolution * raster.resolution) as usize];
        Cast { sight: self, raster, occluders, words: &mut words }.fill(&raster.all(), Known::default());
        Mask::new(words)
    }
}

struct Cast<'a> {
    sight: &'a Sight<'a>,
    raster: Raster<'a>,
    occluders: &'a dyn Occluders,
    words: &'a mut [u32],
}

/// Knowledge about all segments from a block to the source, which also holds for its sub-blocks.
#[derive(Clone, Copy, Default)]
struct Known {
    /// True if no incoming mask blocks any segment.
    lit: bool,
    /// True if no occluder of the subscene blocks any segment.
    free: bool,
}

impl Cast<'_> {
    fn fill(&mut self, block: &Block, mut known: Known) {
        let source = self.sight.source;
        let corners = self.raster.corners(block);
        if !source.may_face(&corners) {
            return;
        }
        let area = Aabb::around(corners);
        if !known.lit {
            match self.sight.through(&area) {
                Through::Dark => return,
                through => known.lit = through == Through::Clear,
            }
        }
        known.free = known.free || self.are_clear(area);
        if known.lit && known.free && source.faces_all(&corners) {
            let all = all_bits(source.viewpoints().len());
            self.raster.indices(block).for_each(|rectangle| self.words[rectangle] = all);
        } else if block.len() <= FEW {
            for row in block.rows.clone() {
                for column in block.columns.clone() {
                    self.words[self.raster.index(column, row)] = self.word(column, row, known);
                }
            }
        } else {
            block.parts().for_each(|part| self.fill(&part, known));
        }
    }

    /// Returns true if no occluder of the subscene hides any part of an area of the border.
    ///
    /// The area is thickened, so that occluders in the border's plane count. Occluders that merely adjoin the area's
    /// edge, such as the walls of a room, do not count.
    fn are_clear(&self, area: Aabb) -> bool {
        let mut thickness = Vec3::ZERO;
        thickness[self.raster.gate.axis] = 2.0 * ray_epsilon(area.min.abs().max(area.max.abs()));
        let thick = Aabb { min: area.min - thickness, max: area.max + thickness };
        self.occluders.are_clear(&thick, &self.sight.source.bounds())
    }

    fn word(&self, column: u32, row: u32, known: Known) -> u32 {
        let corners = self.raster.corners(&Block { columns: column..column + 1, rows: row..row + 1 });
        let place = Vec2::new(column as f32, row as f32);
        let mut word = 0;
        for (viewpoint, seen_from) in self.sight.source.viewpoints().iter().enumerate() {
            if !seen_from.may_face(&corners) {
                continue;
            }
            if known.lit && known.free {
                word |= bits_of(viewpoint);
                continue;
            }
            let point = |again: usize| self.raster.point(place + offset(viewpoint + again * Mask::MAX_VIEWPOINTS));
            let open = (0..TRIES).find_map(|again| self.light(point(again), viewpoint, known.free));
            let light = open.unwrap_or(Vec3::ZERO);
            let border = self.raster.gate.border.index() as u32;
            let seed = hash2(hash2(self.raster.index(column, row) as u32, viewpoint as u32), border);
            for channel in 0..3 {
                if light[channel] > unit_float(seed) {
                    word |= bit_of(viewpoint, channel);
                }
            }
        }
        word
    }

    /// Returns the light of a viewpoint that reaches a point of the border, per channel. `is_free` skips the subscene's
    /// own occluders. Returns `None` if the point lies inside a solid.
    fn light(&self, point: Vec3, viewpoint: usize, is_free: bool) -> Option<Vec3> {
        let glance = self.sight.visibility(point, viewpoint);
        if is_free || glance.light == Vec3::ZERO {
            return Some(glance.light);
        }
        // Occluders in the border's plane hide the point.
        let before = ray_epsilon(point) / glance.local.direction.length().max(f32::MIN_POSITIVE);
        let local = Ray { t_min: -before, ..glance.local };
        let crosses = self.occluders.blocked(&local);
        let is_inside = crosses.is_blocked() && self.occluders.starts_inside(&local);
        (!is_inside).then_some(glance.light * crosses.0)
    }
}

/// Returns the sample position of a viewpoint within its rectangle: the center for the first, and a low-discrepancy
/// sequence overall (Roberts 2018).
fn offset(viewpoint: usize) -> Vec2 {
    (Vec2::splat(0.5) + Vec2::new(0.754_877_7, 0.569_840_3) * viewpoint as f32).fract()
}
