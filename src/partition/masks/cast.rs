//! Making masks.

use glam::{Vec2, Vec3};

use super::mask::{all_bits, bit_of, bits_of};
use super::raster::{Block, Raster};
use super::sight::hair;
use super::{Gate, Mask, Sight, Through};
use crate::geometry::sobol::{hash2, unit_float};
use crate::geometry::{Aabb, Ray, Transmittance};

/// What stands in one subscene.
pub trait Occluders: Sync {
    /// How much light crosses a ray's interval.
    fn blocked(&self, ray: &Ray) -> Transmittance;

    /// True only when nothing stands between two boxes.
    fn are_clear(&self, from: &Aabb, to: &Aabb) -> bool;

    /// True when a ray that is blocked starts inside something solid.
    fn starts_inside(&self, ray: &Ray) -> bool;
}

/// Points of a rectangle that are tried until one does not lie inside something solid, where nobody looks through.
const TRIES: usize = 4;

/// Rectangles that are looked at one by one rather than together.
const FEW: usize = 4;

impl Sight<'_> {
    /// What of a border is in sight of the source, behind the masks that light comes in by and the subscene's own
    /// occluders. A bit tells of one point of the rectangle, another one for each viewpoint; and with which chance light
    /// of a channel comes through that point.
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

/// What is known of all ways from a block to the source, and so of those from its parts.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The masks that light comes in by hide none of them.
    lit: bool,
    /// Nothing of the subscene stands in any of them.
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

    /// True when no occluder of the subscene hides any of an area of the border.
    ///
    /// What stands in the border itself counts, so the area is given a thickness; but not what it only ends at, as it does at
    /// the walls of a room.
    fn are_clear(&self, area: Aabb) -> bool {
        let mut thickness = Vec3::ZERO;
        thickness[self.raster.gate.axis] = 2.0 * hair(area.min.abs().max(area.max.abs()));
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
            let point = |again: usize| self.raster.point(place + offset(viewpoint + again * Mask::MOST_VIEWPOINTS));
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

    /// How much of a viewpoint's light comes to a point of the border, which nothing hides within the subscene where that
    /// is free; `None` when the point lies inside something solid.
    fn light(&self, point: Vec3, viewpoint: usize, is_free: bool) -> Option<Vec3> {
        let glance = self.sight.look(point, viewpoint);
        if is_free || glance.light == Vec3::ZERO {
            return Some(glance.light);
        }
        // What stands in the border itself hides it.
        let before = hair(point) / glance.local.direction.length().max(f32::MIN_POSITIVE);
        let local = Ray { t_min: -before, ..glance.local };
        let crosses = self.occluders.blocked(&local);
        let is_inside = crosses.is_blocked() && self.occluders.starts_inside(&local);
        (!is_inside).then_some(glance.light * crosses.0)
    }
}

/// Where in its rectangle a viewpoint looks: its middle for the first, and places spread evenly for all (Roberts 2018).
fn offset(viewpoint: usize) -> Vec2 {
    (Vec2::splat(0.5) + Vec2::new(0.754_877_7, 0.569_840_3) * viewpoint as f32).fract()
}
