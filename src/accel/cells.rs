//! Cells of a tree's top levels, for visualization and space partitioning.

use crate::geometry::Aabb;

use super::{NodeKind, Tree};

impl Tree {
    /// Returns the cells of the tree after at most `depth` splits from the root. Depth zero gives the tree's bounds.
    /// Leaves above that depth are included, so all cells together fill the bounds.
    pub fn cells(&self, depth: usize) -> Vec<Aabb> {
        let mut cells = Vec::new();
        if !self.bounds().is_empty() {
            self.add_cells(0, self.bounds(), depth, &mut cells);
        }
        cells
    }

    fn add_cells(&self, node: usize, cell: Aabb, depth: usize, cells: &mut Vec<Aabb>) {
        match self.nodes()[node].kind() {
            NodeKind::Split { axis, position, first } if depth > 0 => {
                let [below, above] = cell.halves(axis, position);
                self.add_cells(first as usize, below, depth - 1, cells);
                self.add_cells(first as usize + 1, above, depth - 1, cells);
            }
            _ => cells.push(cell),
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::accel::Preset;
    use crate::geometry::Triangle;

    #[test]
    fn cells_fill_the_bounds_at_every_depth_and_do_not_overlap() {
        let corner = |index: u32| Vec3::new((index % 7) as f32, (index / 7 % 7) as f32, (index / 49) as f32);
        let triangles = (0..343).map(|index| {
            let at = corner(index);
            Triangle::new(at, at + 0.4 * Vec3::X, at + 0.4 * Vec3::Y + 0.1 * Vec3::Z)
        });
        let tree = Tree::build(triangles.collect(), &Preset::narrow());
        assert_eq!(tree.cells(0), [tree.bounds()]);
        let volume = |cell: &Aabb| f64::from(cell.extent().element_product());
        for depth in 1..8 {
            let cells = tree.cells(depth);
            assert!(cells.len() > depth && cells.len() <= 1 << depth, "{} at depth {depth}", cells.len());
            let filled: f64 = cells.iter().map(volume).sum();
            assert!((filled / volume(&tree.bounds()) - 1.0).abs() < 1e-5, "{filled} at depth {depth}");
        }
    }

    #[test]
    fn a_tree_of_nothing_has_no_cells() {
        assert_eq!(Tree::build(Vec::new(), &Preset::narrow()).cells(3), []);
    }
}
