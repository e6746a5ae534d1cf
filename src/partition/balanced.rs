//! Boxes that are halved until there are enough of them, by planes that leave the same load on both sides (section 3.1
//! of the thesis; section 4.2.1 for the choice of the axis by volume).

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::pieces::{MOST_PIECES, Pieces};
use super::tree::{Tree, is_inside};
use super::{AxisChoice, PartitionError, PartitionSettings, Polygons, imbalance_of_two};
use crate::geometry::Aabb;

/// How often the search for a plane is halved at most: then planes are closer than single precision tells apart.
const DEEPEST: u32 = 24;

pub(super) fn cut(bounds: Aabb, polygons: &Polygons, settings: &PartitionSettings) -> Result<Tree, PartitionError> {
    let pieces = Pieces::whole(polygons, &settings.factor.loads(polygons)?);
    Halving::new(settings, &pieces, MOST_PIECES).halve(bounds, &pieces, settings.count.ilog2())
}

/// A plane and how unequal the loads on its two sides are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plane {
    pub axis: usize,
    pub position: f32,
    pub imbalance: f64,
}

struct Halving<'a> {
    settings: &'a PartitionSettings,
    /// Pieces that all cells may hold together, and that they hold now; cutting on makes them no fewer.
    most: usize,
    held: AtomicUsize,
}

impl<'a> Halving<'a> {
    fn new(settings: &'a PartitionSettings, pieces: &Pieces, most: usize) -> Self {
        Self { settings, most, held: AtomicUsize::new(pieces.len()) }
    }

    fn halve(&self, cell: Aabb, pieces: &Pieces, depth: u32) -> Result<Tree, PartitionError> {
        if self.held.load(Ordering::Relaxed) > self.most {
            return Err(PartitionError::TooManyPieces { count: self.settings.count, most: self.most });
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

    /// The plane that halves a cell; `None` where no plane through its pieces is inside it.
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

/// The middle of the longest edge of a cell.
fn middle(cell: Aabb) -> Result<(usize, f32), PartitionError> {
    let axis = cell.extent().max_position();
    let position = cell.centre()[axis];
    if is_inside(cell, axis, position) { Ok((axis, position)) } else { Err(PartitionError::too_thin(cell, axis)) }
}

/// A search along one axis for the plane that divides the load of some pieces evenly: a walk down a binary tree whose
/// root is the middle of the box around them.
struct Search<'a> {
    cell: Aabb,
    pieces: &'a Pieces,
    axis: usize,
    /// Ends of the box around the pieces.
    least: f64,
    most: f64,
    total: f64,
    /// Load that lies below every plane that is still in question.
    settled: f64,
    /// Pieces that planes still in question may cut.
    open: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(cell: Aabb, pieces: &'a Pieces, axis: usize) -> Option<Self> {
        let (min, max) = pieces.bounds();
        let open = (0..pieces.len() as u32).collect();
        let search =
            Self { cell, pieces, axis, least: min[axis], most: max[axis], total: pieces.load(), settled: 0.0, open };
        (!pieces.is_empty()).then_some(search)
    }

    /// The best of the planes that the walk visits until one is good enough, or it has made so many steps.
    fn best_of(mut self, steps: u32, tolerance: f64) -> Option<Plane> {
        let mut best: Option<Plane> = None;
        let (mut fraction, mut step) = (0.5, 0.25);
        for _ in 0..steps {
            let position = (self.least + (self.most - self.least) * fraction) as f32;
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

    /// All further planes lie below one.
    fn stay_below(&mut self, position: f64) {
        let (pieces, axis) = (self.pieces, self.axis);
        self.open.retain(|&piece| pieces.get(piece as usize).extent(axis).0 < position);
    }

    /// All further planes lie above one.
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

    /// The planes that a search along x visits in a row of squares of one size at some places of a unit length.
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
        // Half of the load lies below 13/32 and half above 15/32; each step is better than the one before.
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
        let halved = |most: usize| Halving::new(&settings, &pieces, most).halve(polygons.bounds(), &pieces, 4).err();
        // Ten in each of 16 cells.
        assert_eq!(halved(160), None);
        assert_eq!(halved(159), Some(PartitionError::TooManyPieces { count: 16, most: 159 }));
    }
}
