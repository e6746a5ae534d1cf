//! A KD-tree over triangles.

use std::time::{Duration, Instant};

use crate::geometry::{Aabb, Triangle};

use super::{Node, NodeKind, Preset, build};

/// A KD-tree: plain arrays that a CPU walks and a GPU can be given.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) bounds: Aabb,
    pub(super) nodes: Vec<Node>,
    pub(super) references: Vec<u32>,
    pub(super) triangles: Vec<Triangle>,
    pub(super) preset: Preset,
    pub(super) build_time: Duration,
}

impl Tree {
    /// Builds the tree of some triangles. They must be finite and not degenerate.
    pub fn build(triangles: Vec<Triangle>, preset: &Preset) -> Self {
        let start = Instant::now();
        let bounds = triangles.iter().fold(Aabb::EMPTY, |bounds, triangle| bounds.union(triangle.bounds()));
        let build::Output { mut nodes, references } = build::build(&triangles, bounds, preset);
        note_fuller_children(&mut nodes, &references, &triangles);
        Self { bounds, nodes, references, triangles, preset: *preset, build_time: start.elapsed() }
    }

    /// The smallest box around all triangles; empty when there are none.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// The nodes: the root at 0, padding at 1, then siblings in pairs.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Which triangles the leaves hold. Each leaf starts at a multiple of the preset's leaf width; the places between
    /// hold `u32::MAX`.
    pub fn references(&self) -> &[u32] {
        &self.references
    }

    /// The triangles, in the order in which they were given.
    pub fn triangles(&self) -> &[Triangle] {
        &self.triangles
    }
}

/// Notes for each split which child holds more surface: shadow rays look there first (Nah and Manocha 2014, "SATO").
fn note_fuller_children(nodes: &mut [Node], references: &[u32], triangles: &[Triangle]) {
    let areas: Vec<f32> = triangles.iter().map(Triangle::area).collect();
    let mut surface = vec![0.0f32; nodes.len()];
    // Children stand behind their parents.
    for index in (0..nodes.len()).rev() {
        surface[index] = match nodes[index].kind() {
            NodeKind::Leaf { first, count } => {
                references[first as usize..(first + count) as usize].iter().map(|&held| areas[held as usize]).sum()
            }
            NodeKind::Split { first, .. } => {
                let (below, above) = (surface[first as usize], surface[first as usize + 1]);
                nodes[index] = nodes[index].with_more_above(above > below);
                below + above
            }
        };
    }
}
