//! Partitioning of a scene into subscenes: convex cells that do not overlap and fill the scene's bounding box (Sanjurjo
//! 2011).
//!
//! The first hit of a ray within a convex cell is the first hit on the ray so far. A ray without a hit continues in the
//! one cell behind the [`Border`] through which the ray leaves. Cells can therefore be processed separately, by
//! processes that hold only their part of the scene and exchange rays or light.
//!
//! Start with [`Polygons`] (of a scene or your own) and [`Partition::new`]. [`PartitionSettings`] select equal boxes,
//! boxes of equal load, or an octree refined where the load is high.
//! - [`Partition::distribute`] clips the polygons to the cells.
//! - [`Partition::traverse`] follows a ray from cell to cell.
//! - [`imbalance`] measures how evenly load is spread.
//! - [`masks`] transfers visibility between cells.
//! - [`Simplified`] merges coplanar polygons into larger ones.
//! - [`CellTracer`] traces rays with no other acceleration structure than cells and merged surfaces.
//!
//! ```text
//! Scene --> Polygons --> Partition (cells, borders) --> Subscenes
//!              |               ^
//!              +--> Factor --> loads
//! ```
//!
//! The module depends only on `geometry` and `scene`.

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
mod traversal;
mod tree;
mod uniform;

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
#[cfg(all(test, feature = "gpu"))]
pub(crate) use tracer::{BorderRecord, CellRecord, SurfaceRecord};
pub use tracer::{CellHit, CellTracer, CellWork, Fineness};
pub(crate) use tracer::{FinePart, FineRecord, swap_if_mirrored};
pub use traffic::{Traffic, light_rays};
pub use traversal::{CellStep, CellTraversal};
pub use uniform::divisions;

use border::Borders;
use distribute::PolygonRegion;
use pieces::{MAX_PIECES, Pieces};
use tree::{Node, Tree};

define_id! {
    /// Index of a cell in a partition.
    CellId
}
define_id! {
    /// Index of a border between two cells of a partition.
    BorderId
}

/// Partition of a bounding box into cells that share nothing but faces.
#[derive(Clone, Debug)]
pub struct Partition {
    kind: PartitionKind,
    cells: Vec<Aabb>,
    /// Splitting planes of the box, root first.
    nodes: Vec<Node>,
    borders: Borders,
    bounds: Aabb,
}

impl Partition {
    /// Maximum number of cells.
    pub const MAX_CELLS: u32 = 1 << 16;

    /// Partitions the bounding box of the polygons into cells.
    ///
    /// Axes on which the polygons have no extent are not cut, such as the vertical axis of a single floor.
    ///
    /// # Errors
    /// Returns an error if there is nothing to cut, or if the settings do not fit the scene.
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
            // The other kinds have already checked the number of pieces.
            partition.check_pieces(polygons, &tree, MAX_PIECES)?;
        }
        Ok(partition)
    }

    /// Refuses ranks that could not have a cell each.
    ///
    /// # Errors
    /// Returns an error if there are more or fewer ranks than cells.
    pub fn check_ranks(&self, ranks: u32) -> Result<(), PartitionError> {
        let cells = self.cells.len();
        if cells == ranks as usize { Ok(()) } else { Err(PartitionError::OtherRanks { ranks, cells }) }
    }

    /// Refuses cells that hold too many pieces of polygons together. A cheap count of nearby cells comes first; pieces
    /// are counted only if that is too high.
    fn check_pieces(&self, polygons: &Polygons, tree: &Tree, max: usize) -> Result<(), PartitionError> {
        let mut count = 0;
        let meets_too_many = |polygon: usize| {
            self.visit(&PolygonRegion::of(polygons, polygon), &mut |_| count += 1);
            count > max
        };
        let may_exceed = (0..polygons.len()).any(meets_too_many);
        let pieces = || Pieces::whole(polygons, &vec![0.0; polygons.len()]);
        if may_exceed && pieces().count_in(tree, max) > max {
            return Err(PartitionError::TooManyPieces { count: self.cells.len() as u32, max });
        }
        Ok(())
    }

    fn assemble(kind: PartitionKind, bounds: Aabb, tree: &Tree) -> Self {
        let (nodes, cells) = tree.flatten(bounds);
        let borders = Borders::between(&nodes, bounds, cells.len());
        Self { kind, cells, nodes, borders, bounds }
    }

    /// Returns the kind of the partition.
    pub fn kind(&self) -> PartitionKind {
        self.kind
    }

    /// Returns the box that all cells together fill.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// Returns all cells, indexed by id. Adjacent cells have bitwise equal coordinates.
    pub fn cells(&self) -> &[Aabb] {
        &self.cells
    }

    /// Iterates over the ids of all cells, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = CellId> + use<> {
        (0..self.cells.len()).map(CellId::from_index)
    }

    /// Returns the box of a cell.
    pub fn cell(&self, id: CellId) -> Aabb {
        self.cells[id.index()]
    }

    /// Returns the path of cuts that led to a cell, or `None` if the partition is not balanced.
    pub fn index_of(&self, id: CellId) -> Option<BinaryIndex> {
        let depth = self.cells.len().ilog2();
        (self.kind == PartitionKind::Balanced).then(|| BinaryIndex::new(id.0, depth))
    }

    /// Returns all borders, indexed by id.
    pub fn borders(&self) -> &[Border] {
        self.borders.all()
    }

    /// Returns the borders on a face of a cell: none at the edge of the scene, several where smaller cells adjoin.
    pub fn borders_of(&self, id: CellId, face: Face) -> &[BorderId] {
        self.borders.of(id, face)
    }

    /// Returns the cells adjacent to a cell, each once, in ascending order.
    pub fn neighbors(&self, id: CellId) -> Vec<CellId> {
        let mut neighbors: Vec<CellId> = Face::ALL
            .iter()
            .flat_map(|&face| self.borders_of(id, face))
            .map(|&border| self.borders()[border.index()].beyond(id))
            .collect();
        neighbors.sort_unstable();
        neighbors.dedup();
        neighbors
    }
}
