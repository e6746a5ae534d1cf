//! A tree that a CPU walks.

use crate::geometry::Triangle;

use super::block::Block;
use super::preset::LEAF_WIDTH;
use super::{Preset, Statistics, Tree};

/// A tree whose leaves hold their triangles eight side by side, as a CPU tests them.
///
/// A triangle may be marked: rays then ask about it (alpha tests and the like). Others cost nothing extra.
#[derive(Clone, Debug)]
pub struct Tracer {
    pub(super) tree: Tree,
    /// The leaf whose references start at `first` has its blocks from `first / 8` on.
    pub(super) blocks: Vec<Block>,
    pub(super) instructions: Instructions,
}

/// Set in the references of marked triangles.
pub(super) const MARK: u32 = 1 << 31;

/// What the machine can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Instructions {
    pub fn of_this_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi1") {
            return Self::Avx2;
        }
        Self::Portable
    }
}

impl Tracer {
    /// Builds the tree of some triangles, with leaves of eight whatever the preset says. They must be finite and not
    /// degenerate; those for which `marked` answers yes are asked about.
    pub fn build(triangles: Vec<Triangle>, preset: &Preset, marked: impl Fn(u32) -> bool) -> Self {
        let tree = Tree::build(triangles, &Preset { leaf_width: LEAF_WIDTH as u32, ..*preset });
        let with_mark = |&reference: &u32| {
            if (reference as usize) < tree.triangles.len() && marked(reference) { reference | MARK } else { reference }
        };
        let mut blocks = Vec::with_capacity(tree.references.len() / LEAF_WIDTH);
        for references in tree.references.chunks(LEAF_WIDTH) {
            blocks.push(Block::new(references, &tree.triangles, with_mark));
        }
        Self { tree, blocks, instructions: Instructions::of_this_machine() }
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Size and quality of the tree, with the memory that the leaves' triangles take.
    pub fn statistics(&self) -> Statistics {
        let statistics = self.tree.statistics();
        Statistics { bytes: statistics.bytes + size_of_val(&*self.blocks), ..statistics }
    }
}
