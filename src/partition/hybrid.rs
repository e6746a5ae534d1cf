//! Eight boxes of one size; those with more than the mean load become eight in turn (section 5.4.1 of the thesis).

use super::pieces::Pieces;
use super::tree::{Tree, is_inside};
use super::{PartitionError, PartitionSettings, Polygons};
use crate::geometry::Aabb;

pub(super) fn cut(bounds: Aabb, polygons: &Polygons, settings: &PartitionSettings) -> Result<Tree, PartitionError> {
    let pieces = Pieces::whole(polygons, &settings.factor.loads(polygons)?);
    let mut growth = Growth { cells: Vec::new(), count: 1 };
    growth.add(bounds, pieces);
    growth.cut_in_eight(0);
    if growth.count == 1 {
        return Err(PartitionError::too_thin(bounds, 0));
    }
    growth.cut_above_the_mean(settings.count as usize);
    Ok(growth.tree(0))
}

/// Cells that have been cut or may still be.
struct Growth {
    cells: Vec<GrowingCell>,
    /// How many are not cut.
    count: usize,
}

struct GrowingCell {
    bounds: Aabb,
    pieces: Pieces,
    load: f64,
    eighths: Option<Eighths>,
}

/// How a cell was cut.
enum Eighths {
    Cell(usize),
    Cut { axis: usize, position: f32, halves: Box<[Eighths; 2]> },
}

impl Growth {
    fn add(&mut self, bounds: Aabb, pieces: Pieces) -> usize {
        self.cells.push(GrowingCell { bounds, load: pieces.load(), pieces, eighths: None });
        self.cells.len() - 1
    }

    /// In rounds, cuts all cells with more than the mean load, the fullest first, while there is room for what they
    /// become.
    fn cut_above_the_mean(&mut self, most: usize) {
        loop {
            let mut cells: Vec<usize> = (0..self.cells.len()).filter(|&cell| self.is_whole(cell)).collect();
            let mean = cells.iter().map(|&cell| self.cells[cell].load).sum::<f64>() / cells.len() as f64;
            cells.retain(|&cell| self.cells[cell].load > mean);
            cells.sort_by(|&a, &b| self.cells[b].load.total_cmp(&self.cells[a].load));
            let before = self.count;
            for cell in cells {
                if self.count + 7 <= most {
                    self.cut_in_eight(cell);
                }
            }
            if self.count == before {
                return;
            }
        }
    }

    fn is_whole(&self, cell: usize) -> bool {
        self.cells[cell].eighths.is_none()
    }

    /// Cuts a cell through its middle along all axes along which it is not too thin.
    fn cut_in_eight(&mut self, cell: usize) {
        let pieces = core::mem::take(&mut self.cells[cell].pieces);
        let bounds = self.cells[cell].bounds;
        if (0..3).all(|axis| !is_inside(bounds, axis, bounds.centre()[axis])) {
            self.cells[cell].pieces = pieces;
            return;
        }
        self.count -= 1;
        self.cells[cell].eighths = Some(self.halve(bounds, pieces, 3));
    }

    /// Halves a cell along the axes below one.
    fn halve(&mut self, bounds: Aabb, pieces: Pieces, axes: usize) -> Eighths {
        let Some(axis) = axes.checked_sub(1) else {
            self.count += 1;
            return Eighths::Cell(self.add(bounds, pieces));
        };
        let position = bounds.centre()[axis];
        if !is_inside(bounds, axis, position) {
            return self.halve(bounds, pieces, axis);
        }
        let [lower, upper] = bounds.halves(axis, position);
        let [below, above] = pieces.split(axis, position);
        let halves = Box::new([self.halve(lower, below, axis), self.halve(upper, above, axis)]);
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
