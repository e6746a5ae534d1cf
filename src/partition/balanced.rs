//! Balanced partition: recursive bisection into cells of equal load (thesis section 3.1; section 4.2.1 for the choice
//! of the axis by volume).

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::pieces::{MAX_PIECES, Pieces};
use super::tree::{Tree, is_inside};
use super::{AxisChoice, PartitionError, PartitionSettings, Polygons, imbalance_of_two};
use crate::geometry::Aabb;

/// Maximum number of bisection steps of a plane search. Further planes would be indistinguishable in single precision.
const DEEPEST: u32 = 24;

pub(super) fn cut(bounds: Aabb, polygons: &Polygons, settings: &PartitionSettings) -> Result<Tree, PartitionError> {
    let pieces = Pieces::whole(polygons, &settings.factor.loads(polygons)?);
    Halving::new(settings, &pieces, MAX_PIECES).halve(bounds, &pieces, settings.count.ilog2())
}

/// Splitting plane, with the load imbalance of its two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plane {
    pub axis: usize,
    pub position: f32,
    pub imbalance: f64,
}

struct Halving<'a> {
    settings: &'a PartitionSettings,
    /// Limit on the number of pieces in all cells together, and the current number. Further cuts never reduce the
    /// number.
    max: usize,
    held: AtomicUsize,
}

impl<'a> Halving<'a> {
    fn new(settings: &'a PartitionSettings, pieces: &Pieces, max: usize) -> Self {
        Self { settings, max, held: AtomicUsize::new(pieces.len()) }
    }

    fn halve(&self, cell: Aabb, pieces: &Pieces, depth: u32) -> Result<Tree, PartitionError> {
        if self.held.load(Ordering::Relaxed) > self.max {
            return Err(PartitionError::TooManyPieces { count: self.settings.count, max: self.max });
        }
        if depth == 0 {
            return Ok(Tree::Cell);
        }
        let (axis, position) = match self.plane(cell, pieces) {
            Some(plane) => (plane.axis, plane.position),
            None => middle(cell)?,
        };
        let [lower, upper] = cell.halves(axis, position);
        let [below, above] = pieces.split(axis, position);
        self.held.fetch_add((below.len() + above.len()).saturating_sub(pieces.len()), Ordering::Relaxed);
        let (below, above) =
            rayon::join(|| self.halve(lower, &below, depth - 1), || self.halve(upper, &above, depth - 1));
        Ok(Tree::cut(axis, position, [below?, above?]))
    }

    /// Returns the plane that halves a cell, or `None` if no plane through its pieces lies inside.
    fn plane(&self, cell: Aabb, pieces: &Pieces) -> Option<Plane> {
        let search = |axis| Search::new(cell, pieces, axis);
        match self.settings.axis {
            AxisChoice::Middle => {
                let middles = (0..3).filter_map(|axis| search(axis)?.best_of(1, self.settings.tolerance));
                let axis = middles.min_by(|a, b| a.imbalance.total_cmp(&b.imbalance))?.axis;
                search(axis)?.best_of(DEEPEST, self.settings.tolerance)
            }
            AxisChoice::Volume => {
                let best = |axis: usize| search(axis)?.best_of(DEEPEST, self.settings.tolerance);
                let planes: Vec<Plane> = [0, 1, 2].into_par_iter().filter_map(best).collect();
                let off_middle = |plane: &&Plane| {
                    let (min, max) = (f64::from(cell.min[plane.axis]), f64::from(cell.max[plane.axis]));
                    ((f64::from(plane.position) - min) / (max - min) - 0.5).abs()
                };
                let good = planes.iter().filter(|plane| plane.imbalance < self.settings.tolerance);
                good.min_by(|a, b| off_middle(a).total_cmp(&off_middle(b)))
                    .or_else(|| planes.iter().min_by(|a, b| a.imbalance.total_cmp(&b.imbalance)))
                    .copied()
            }
        }
    }
}

/// Returns the middle of the longest edge of a cell.
fn middle(cell: Aabb) -> Result<(usize, f32), PartitionError> {
    let axis = cell.extent().max_position();
    let position = cell.center()[axis];
    if is_inside(cell, axis, position) { Ok((axis, position)) } else { Err(PartitionError::too_thin(cell, axis)) }
}

/// Bisection search along one axis for the plane that divides a load evenly. The search starts at the middle of the
/// bounds of the pieces.
struct Search<'a> {
    cell: Aabb,
    pieces: &'a Pieces,
    axis: usize,
    /// Extent of the pieces along the axis.
    min: f64,
    max: f64,
    total: f64,
    /// Load below every plane still in question.
    settled: f64,
    /// Indices of the pieces that remaining planes may cut.
    open: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(cell: Aabb, pieces: &'a Pieces, axis: usize) -> Option<Self> {
        let (min, max) = pieces.bounds();
        let open = (0..pieces.len() as u32).collect();
        let search =
            Self { cell, pieces, axis, min: min[axis], max: max[axis], total: pieces.load(), settled: 0.0, open };
        (!pieces.is_empty()).then_some(search)
    }

    /// Returns the best plane visited. Stops after `steps` planes, or once the imbalance is below `tolerance`.
    fn best_of(mut self, steps: u32, tolerance: f64) -> Option<Plane> {
        let mut best: Option<Plane> = None;
        let (mut fraction, mut step) = (0.5, 0.25);
        for _ in 0..steps {
            let position = (self.min + (self.max - self.min) * fraction) as f32;
            if !is_inside(self.cell, self.axis, position) {
                break;
            }
            let below = self.load_below(f64::from(position));
            let above = self.total - below;
            let imbalance = imbalance_of_two(below, above);
            if best.is_none_or(|best| imbalance < best.imbalance) {
                best = Some(Plane { axis: self.axis, position, imbalance });
            }
            if imbalance < tolerance {
                break;
            }
            if below > above {
                self.stay_below(f64::from(position));
                fraction -= step;
            } else {
                self.stay_above(f64::from(position));
                fraction += step;
            }
            step *= 0.5;
        }
        best
    }

    fn load_below(&self, position: f64) -> f64 {
        let open = self.open.iter().map(|&piece| self.pieces.get(piece as usize).load_below(self.axis, position));
        self.settled + open.sum::<f64>()
    }

    /// Restricts the search to planes below the given one.
    fn stay_below(&mut self, position: f64) {
        let (pieces, axis) = (self.pieces, self.axis);
        self.open.retain(|&piece| pieces.get(piece as usize).extent(axis).0 < position);
    }

    /// Restricts the search to planes above the given one.
    fn stay_above(&mut self, position: f64) {
        let (pieces, axis) = (self.pieces, self.axis);
        let mut settled = self.settled;
        self.open.retain(|&piece| {
            let piece = pieces.get(piece as usize);
            let is_open = piece.extent(axis).1 > position;
            settled += if is_open { 0.0 } else { piece.load };
            is_open
        });
        self.settled = settled;
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    /// Returns the planes that a search along x visits, for a row of equal squares at the given positions.
    fn visited(places: &[f32], steps: u32) -> Vec<f32> {
        let mut polygons = Polygons::default();
        for &x in places {
            polygons.push(&[Vec3::new(x, 0.0, 0.0), Vec3::new(x, 1.0, 0.0), Vec3::new(x, 1.0, 1.0)], 0.0);
        }
        let pieces = Pieces::whole(&polygons, &vec![1.0; places.len()]);
        let planes = (1..=steps).filter_map(|steps| Search::new(polygons.bounds(), &pieces, 0)?.best_of(steps, 1e-9));
        planes.map(|plane| plane.position).collect()
    }

    #[test]
    fn the_search_walks_down_the_binary_tree_of_figure_3_2() {
        // Half of the load lies below 13/32 and half above 15/32. Each step improves on the one before.
        let places = [0.0, 0.3, 0.36, 0.4, 0.47, 0.48, 0.7, 1.0];
        assert_eq!(visited(&places, 8), [0.5, 0.5, 0.375, 0.4375, 0.4375, 0.4375, 0.4375, 0.4375]);
    }

    #[test]
    fn polygons_that_fall_into_too_many_pieces_are_refused() {
        let mut polygons = Polygons::default();
        for _ in 0..10 {
            polygons.push(&[Vec3::ZERO, Vec3::X, Vec3::Y], 0.0);
        }
        let settings = PartitionSettings { count: 16, ..PartitionSettings::default() };
        let pieces = Pieces::whole(&polygons, &[1.0; 10]);
        let halved = |max: usize| Halving::new(&settings, &pieces, max).halve(polygons.bounds(), &pieces, 4).err();
        // Ten pieces in each of 16 cells.
        assert_eq!(halved(160), None);
        assert_eq!(halved(159), Some(PartitionError::TooManyPieces { count: 16, max: 159 }));
    }
}
