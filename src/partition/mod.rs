//! Cutting a scene into subscenes: convex cells that share no space and fill the scene's box (Sanjurjo 2011).
//!
//! A ray that meets something in a convex cell has met the first thing on its way; one that meets nothing goes on in the
//! one cell behind the [`Border`] that it leaves through. So cells can be worked on apart, by processes that hold only
//! their own part of the scene and hand each other rays or light.
//!
//! Start from [`Polygons`] (of a scene or of your own) and [`Partition::new`]: equal boxes, boxes with equal loads, or
//! eighths where the load is high, as [`PartitionSettings`] say. [`Partition::distribute`] then cuts the polygons to the
//! cells, [`Partition::walk`] follows a ray from cell to cell, and [`imbalance`] says how unequal loads are. [`masks`]
//! carry what polygons of one cell see of others from cell to cell.
//!
//! [`Simplified`] merges polygons that lie in one plane into larger ones, and a [`CellTracer`] finds what rays meet with
//! nothing but cells and such surfaces to help it.
//!
//! ```text
//! Scene --> Polygons --> Partition (cells, borders) --> Subscenes
//!              |               ^
//!              +--> Factor --> loads
//! ```
//!
//! This room sees `geometry` and `scene`.

mod balanced;
mod border;
mod distribute;
mod error;
mod factor;
mod hybrid;
mod imbalance;
mod index;
pub mod masks;
mod pieces;
mod polygons;
mod settings;
mod simplify;
mod tracer;
mod traffic;
mod tree;
mod uniform;
mod walk;

#[cfg(test)]
mod tests;

use crate::geometry::{Aabb, Face, define_id};

pub use border::Border;
pub use distribute::{Overlap, Subscene, overlap};
pub use error::PartitionError;
pub use factor::Factor;
pub use imbalance::{imbalance, imbalance_of_two};
pub use index::BinaryIndex;
pub use polygons::Polygons;
pub use settings::{AxisChoice, PartitionKind, PartitionSettings};
pub use simplify::Simplified;
pub(crate) use tracer::FinePart;
pub use tracer::{CellHit, CellTracer, CellWork, Fineness};
pub use traffic::{Traffic, light_rays};
pub use uniform::divisions;
pub use walk::{Step, Walk};

use border::Borders;
use distribute::Reach;
use pieces::{MOST_PIECES, Pieces};
use tree::{Node, Tree};

define_id! {
    /// Which cell of a partition.
    CellId
}
define_id! {
    /// Which border between two cells of a partition.
    BorderId
}

/// Cells that fill the smallest box around some polygons and share nothing but their faces.
#[derive(Clone, Debug)]
pub struct Partition {
    kind: PartitionKind,
    cells: Vec<Aabb>,
    /// The planes that cut the box, root first.
    nodes: Vec<Node>,
    borders: Borders,
    bounds: Aabb,
}

impl Partition {
    /// More cells than this are refused.
    pub const MOST_CELLS: u32 = 1 << 16;

    /// Cuts the smallest box around some polygons into cells.
    ///
    /// An axis along which they have no extent, as a lone floor has none upwards, is not cut.
    ///
    /// # Errors
    /// When there is nothing to cut, or not into so many cells of that kind.
    pub fn new(polygons: &Polygons, settings: &PartitionSettings) -> Result<Self, PartitionError> {
        let bounds = polygons.bounds();
        if bounds.is_empty() {
            return Err(PartitionError::Nothing);
        }
        settings.check()?;
        let tree = match settings.kind {
            PartitionKind::Uniform => uniform::cut(bounds, settings.count)?,
            PartitionKind::Balanced => balanced::cut(bounds, polygons, settings)?,
            PartitionKind::Hybrid => hybrid::cut(bounds, polygons, settings)?,
        };
        let partition = Self::assemble(settings.kind, bounds, &tree);
        if settings.kind == PartitionKind::Uniform {
            // The others have looked at the pieces of polygons on the way.
            partition.check_pieces(polygons, &tree, MOST_PIECES)?;
        }
        Ok(partition)
    }

    /// Refuses cells that hold too many pieces of polygons together. They are counted only where so many cells are near
    /// polygons, which is quickly told.
    fn check_pieces(&self, polygons: &Polygons, tree: &Tree, most: usize) -> Result<(), PartitionError> {
        let mut met = 0;
        let meets_too_many = |polygon: usize| {
            self.visit(&Reach::of(polygons, polygon), &mut |_| met += 1);
            met > most
        };
        let is_suspect = (0..polygons.len()).any(meets_too_many);
        let pieces = || Pieces::whole(polygons, &vec![0.0; polygons.len()]);
        if is_suspect && pieces().count_in(tree, most) > most {
            return Err(PartitionError::TooManyPieces { count: self.cells.len() as u32, most });
        }
        Ok(())
    }

    fn assemble(kind: PartitionKind, bounds: Aabb, tree: &Tree) -> Self {
        let (nodes, cells) = tree.flatten(bounds);
        let borders = Borders::between(&nodes, bounds, cells.len());
        Self { kind, cells, nodes, borders, bounds }
    }

    /// How the cells were made.
    pub fn kind(&self) -> PartitionKind {
        self.kind
    }

    /// The box that all cells together fill.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// All cells, by their ids. Neighbours share coordinates to the last bit.
    pub fn cells(&self) -> &[Aabb] {
        &self.cells
    }

    /// The ids of all cells, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = CellId> + use<> {
        (0..self.cells.len()).map(CellId::from_index)
    }

    /// The box of a cell.
    pub fn cell(&self, id: CellId) -> Aabb {
        self.cells[id.index()]
    }

    /// Which cuts led to a cell; known for balanced partitions only.
    pub fn index_of(&self, id: CellId) -> Option<BinaryIndex> {
        let depth = self.cells.len().ilog2();
        (self.kind == PartitionKind::Balanced).then(|| BinaryIndex::new(id.0, depth))
    }

    /// All borders, by their ids.
    pub fn borders(&self) -> &[Border] {
        self.borders.all()
    }

    /// The borders that a face of a cell is made of: none at the edge of the scene, several where smaller cells adjoin.
    pub fn borders_of(&self, id: CellId, face: Face) -> &[BorderId] {
        self.borders.of(id, face)
    }

    /// The cells behind a cell's borders, each once, in order.
    pub fn neighbours(&self, id: CellId) -> Vec<CellId> {
        let mut neighbours: Vec<CellId> = Face::ALL
            .iter()
            .flat_map(|&face| self.borders_of(id, face))
            .map(|&border| self.borders()[border.index()].beyond(id))
            .collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        neighbours
    }
}
