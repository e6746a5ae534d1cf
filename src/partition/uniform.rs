//! Uniform partition: a grid of equal boxes (thesis section 2.2.1).

use core::ops::Range;

use super::PartitionError;
use super::tree::{Tree, is_inside};
use crate::geometry::Aabb;

/// Returns the number of parts on each axis for a number of cells. Assigns each prime factor, largest first, to the
/// axis with the fewest parts. Ties go to x before y before z.
pub fn divisions(count: u32) -> [u32; 3] {
    divisions_along(count, [true; 3])
}

/// Returns the number of parts on each axis, with some axes left uncut.
fn divisions_along(count: u32, can_be_cut: [bool; 3]) -> [u32; 3] {
    let mut divisions = [1; 3];
    for factor in prime_factors(count).into_iter().rev() {
        let axes = (0..3).filter(|&axis| can_be_cut[axis]);
        if let Some(axis) = axes.min_by_key(|&axis| divisions[axis]) {
            divisions[axis] *= factor;
        }
    }
    divisions
}

/// Returns the prime factors in ascending order.
fn prime_factors(mut number: u32) -> Vec<u32> {
    let mut factors = Vec::new();
    let mut candidate = 2;
    while candidate <= number / candidate {
        while number.is_multiple_of(candidate) {
            factors.push(candidate);
            number /= candidate;
        }
        candidate += 1;
    }
    if number > 1 {
        factors.push(number);
    }
    factors
}

pub(super) fn cut(bounds: Aabb, count: u32) -> Result<Tree, PartitionError> {
    let can_be_cut = [0, 1, 2].map(|axis| bounds.min[axis] < bounds.max[axis]);
    let rows = divisions_along(count, can_be_cut).map(|parts| 0..parts);
    Rows { bounds, parts: rows.clone().map(|row| row.end) }.cut(bounds, rows)
}

/// Box divided into equal parts.
struct Rows {
    bounds: Aabb,
    parts: [u32; 3],
}

impl Rows {
    /// Cuts ranges of parts into cells, ordered so that x varies fastest.
    fn cut(&self, cell: Aabb, ranges: [Range<u32>; 3]) -> Result<Tree, PartitionError> {
        let Some(axis) = (0..3).rev().find(|&axis| ranges[axis].len() > 1) else { return Ok(Tree::Cell) };
        let middle = ranges[axis].start + ranges[axis].len() as u32 / 2;
        let position = self.plane(axis, middle);
        if !is_inside(cell, axis, position) {
            return Err(PartitionError::too_thin(cell, axis));
        }
        let (mut below, mut above) = (ranges.clone(), ranges);
        below[axis].end = middle;
        above[axis].start = middle;
        let [lower, upper] = cell.halves(axis, position);
        Ok(Tree::cut(axis, position, [self.cut(lower, below)?, self.cut(upper, above)?]))
    }

    fn plane(&self, axis: usize, index: u32) -> f32 {
        let (min, max) = (f64::from(self.bounds.min[axis]), f64::from(self.bounds.max[axis]));
        (min + (max - min) * f64::from(index) / f64::from(self.parts[axis])) as f32
    }
}
