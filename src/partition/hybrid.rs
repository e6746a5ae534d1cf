//! Hybrid partition: an octree whose cells above the mean load are split again (thesis section 5.4.1).

use super::pieces::{MAX_PIECES, Pieces};
use super::tree::{Tree, is_inside};
use super::{PartitionError, PartitionSettings, Polygons};
use crate::geometry::Aabb;

pub(super) fn cut(bounds: Aabb, polygons: &Polygons, settings: &PartitionSettings) -> Result<Tree, PartitionError> {
    let pieces = Pieces::whole(polygons, &settings.factor.loads(polygons)?);
    let mut growth = Growth { cells: Vec::new(), count: 1, pieces: 0 };
    growth.add(bounds, pieces, 0);
    growth.cut_in_eight(0);
    if growth.count == 1 {
        return Err(PartitionError::too_thin(bounds, 0));
    }
    let max_level = settings.level_limit.unwrap_or(u32::MAX);
    growth.cut_above_the_mean(settings.count, max_level, MAX_PIECES)?;
    Ok(growth.tree(0))
}

/// Octree under construction.
struct Growth {
    cells: Vec<GrowingCell>,
    /// Number of leaf cells, and of pieces in them.
    count: usize,
    pieces: usize,
}

struct GrowingCell {
    bounds: Aabb,
    pieces: Pieces,
    load: f64,
    /// Number of subdivisions that led to the cell.
    level: u32,
    eighths: Option<Eighths>,
}

/// Subdivision of a cell: up to three nested halvings.
enum Eighths {
    Cell(usize),
    Cut { axis: usize, position: f32, halves: Box<[Eighths; 2]> },
}

impl Growth {
    fn add(&mut self, bounds: Aabb, pieces: Pieces, level: u32) -> usize {
        self.pieces += pieces.len();
        self.cells.push(GrowingCell { bounds, load: pieces.load(), level, pieces, eighths: None });
        self.cells.len() - 1
    }

    /// Splits all cells above the mean load, fullest first, and repeats until none is left or a limit is reached. Cells
    /// on `max_level` stay whole.
    fn cut_above_the_mean(&mut self, max: u32, max_level: u32, max_pieces: usize) -> Result<(), PartitionError> {
        loop {
            let mut cells: Vec<usize> = (0..self.cells.len()).filter(|&cell| self.is_whole(cell)).collect();
            let mean = cells.iter().map(|&cell| self.cells[cell].load).sum::<f64>() / cells.len() as f64;
            cells.retain(|&cell| self.cells[cell].load > mean && self.cells[cell].level < max_level);
            cells.sort_by(|&a, &b| self.cells[b].load.total_cmp(&self.cells[a].load));
            let before = self.count;
            for cell in cells {
                if self.count + 7 <= max as usize {
                    self.cut_in_eight(cell);
                }
                if self.pieces > max_pieces {
                    return Err(PartitionError::TooManyPieces { count: max, max: max_pieces });
                }
            }
            if self.count == before {
                return Ok(());
            }
        }
    }

    fn is_whole(&self, cell: usize) -> bool {
        self.cells[cell].eighths.is_none()
    }

    /// Splits a cell at its center along every axis on which the cell is not too thin.
    fn cut_in_eight(&mut self, cell: usize) {
        let pieces = core::mem::take(&mut self.cells[cell].pieces);
        let (bounds, level) = (self.cells[cell].bounds, self.cells[cell].level);
        if (0..3).all(|axis| !is_inside(bounds, axis, bounds.center()[axis])) {
            self.cells[cell].pieces = pieces;
            return;
        }
        self.count -= 1;
        self.pieces -= pieces.len();
        self.cells[cell].eighths = Some(self.halve(bounds, pieces, level + 1, 3));
    }

    /// Halves a cell along all axes below `axes`, to cells of a level.
    fn halve(&mut self, bounds: Aabb, pieces: Pieces, level: u32, axes: usize) -> Eighths {
        let Some(axis) = axes.checked_sub(1) else {
            self.count += 1;
            return Eighths::Cell(self.add(bounds, pieces, level));
        };
        let position = bounds.center()[axis];
        if !is_inside(bounds, axis, position) {
            return self.halve(bounds, pieces, level, axis);
        }
        let [lower, upper] = bounds.halves(axis, position);
        let [below, above] = pieces.split(axis, position);
        let halves = Box::new([self.halve(lower, below, level, axis), self.halve(upper, above, level, axis)]);
        Eighths::Cut { axis, position, halves }
    }

    fn tree(&self, cell: usize) -> Tree {
        self.cells[cell].eighths.as_ref().map_or(Tree::Cell, |eighths| self.tree_of(eighths))
    }

    fn tree_of(&self, eighths: &Eighths) -> Tree {
        match eighths {
            Eighths::Cell(cell) => self.tree(*cell),
            Eighths::Cut { axis, position, halves } => {
                Tree::cut(*axis, *position, [self.tree_of(&halves[0]), self.tree_of(&halves[1])])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    #[test]
    fn polygons_that_fall_into_too_many_pieces_are_refused() {
        let mut polygons = Polygons::default();
        for _ in 0..10 {
            polygons.push(&[Vec3::ZERO, Vec3::X, Vec3::Y], 0.0);
        }
        let grown = |max: usize| {
            let mut growth = Growth { cells: Vec::new(), count: 1, pieces: 0 };
            growth.add(polygons.bounds(), Pieces::whole(&polygons, &[1.0; 10]), 0);
            growth.cut_in_eight(0);
            growth.cut_above_the_mean(64, u32::MAX, max).map(|()| growth.pieces)
        };
        let pieces = grown(usize::MAX).unwrap();
        assert!(pieces > 100, "{pieces}");
        assert_eq!(grown(pieces), Ok(pieces));
        assert_eq!(grown(100), Err(PartitionError::TooManyPieces { count: 64, max: 100 }));
    }
}
