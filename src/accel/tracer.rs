//! Tree prepared for tracing on a CPU.

use crate::clock;
use crate::geometry::{Aabb, Triangle};
use crate::parts::{finish, pause};

use super::block::Block;
use super::preset::LEAF_WIDTH;
use super::wide::WideTree;
use super::{NodeKind, Preset, Statistics, Tree};

/// Tree prepared for tracing on a CPU, with the triangles of its leaves in SIMD blocks of eight.
///
/// Triangles may be marked. Traversal passes hits on marked triangles to a callback, for alpha tests and the like.
/// Other triangles cost nothing extra.
#[derive(Clone, Debug)]
pub struct Tracer {
    pub(super) tree: Tree,
    /// Blocks of all leaves. A leaf whose references start at `first` has its blocks from `first / 8` on.
    pub(super) blocks: Vec<Block>,
    pub(super) wide: WideTree,
    pub(super) instructions: Instructions,
}

/// Bit that is set in the references of marked triangles.
pub(super) const MARK: u32 = 1 << 31;

/// Instruction set used for tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Instructions {
    pub fn of_this_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        if [is_x86_feature_detected!("avx2"), is_x86_feature_detected!("fma"), is_x86_feature_detected!("bmi1")]
            == [true; 3]
        {
            return Self::Avx2;
        }
        Self::Portable
    }
}

impl Tracer {
    /// Builds the tree of the given triangles, with room for eight at each leaf regardless of the preset. Triangles must
    /// be finite and not degenerate. Those for which `marked` returns true are marked.
    pub fn build(triangles: Vec<Triangle>, preset: &Preset, marked: impl Fn(u32) -> bool) -> Self {
        let (tree, boxes) = Tree::build_with_boxes(triangles, preset, LEAF_WIDTH as u32);
        finish(Self::of_tree(tree, boxes, marked))
    }

    /// Builds the same tracer as [`Tracer::build`] with pauses.
    pub(super) async fn build_in_parts(
        triangles: Vec<Triangle>,
        preset: &Preset,
        marked: impl Fn(u32) -> bool,
    ) -> Self {
        let (tree, boxes) = Tree::build_in_parts(triangles, preset, LEAF_WIDTH as u32).await;
        Self::of_tree(tree, boxes, marked).await
    }

    async fn of_tree(mut tree: Tree, boxes: Vec<Aabb>, marked: impl Fn(u32) -> bool) -> Self {
        let start = clock::now();
        pause().await;
        let wide = WideTree::new(&tree.nodes, &boxes, &surfaces(&tree), LEAF_WIDTH as u32);
        let with_mark = |&reference: &u32| {
            if (reference as usize) < tree.triangles.len() && marked(reference) { reference | MARK } else { reference }
        };
        pause().await;
        let mut blocks = Vec::with_capacity(tree.references.len() / LEAF_WIDTH);
        for references in tree.references.chunks(LEAF_WIDTH) {
            blocks.push(Block::new(references, &tree.triangles, with_mark));
        }
        tree.build_time += start.elapsed();
        Self { tree, blocks, wide, instructions: Instructions::of_this_machine() }
    }

    /// Returns the underlying tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns size and quality of the tree, with the memory of wide nodes and blocks included.
    pub fn statistics(&self) -> Statistics {
        let statistics = self.tree.statistics();
        Statistics { bytes: statistics.bytes + self.wide.bytes() + size_of_val(&*self.blocks), ..statistics }
    }
}

/// Returns the total triangle area below each node, in square meters.
fn surfaces(tree: &Tree) -> Vec<f32> {
    let areas: Vec<f32> = tree.triangles.iter().map(Triangle::area).collect();
    let mut surfaces = vec![0.0f32; tree.nodes.len()];
    // Children have higher indices than their parents.
    for index in (0..tree.nodes.len()).rev() {
        surfaces[index] = match tree.nodes[index].kind() {
            NodeKind::Leaf { first, count } => {
                tree.references[first as usize..(first + count) as usize].iter().map(|&held| areas[held as usize]).sum()
            }
            NodeKind::Split { first, .. } => surfaces[first as usize] + surfaces[first as usize + 1],
        };
    }
    surfaces
}
