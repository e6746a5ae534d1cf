//! Ropes: links between the leaves of a binary tree (Popov et al. 2007), for walks without a stack and without restarts.

use glam::Vec3;

use crate::geometry::Aabb;

use super::{NodeKind, Tree};

/// Cells of a tree's leaves, and the nodes beyond their faces.
#[derive(Clone, Debug)]
pub(super) struct Ropes {
    /// Index in `leaves` of each node that is a leaf.
    leaf_of_node: Vec<u32>,
    leaves: Vec<Leaf>,
}

/// Cell of a leaf, with the smallest node that covers the whole other side of each face.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub cell: Aabb,
    /// Nodes beyond the lower faces, then beyond the upper ones, by axis. `None` beyond the scene.
    pub beyond: [[Option<u32>; 3]; 2],
}

/// Side of a cell: index of `Leaf::beyond`.
pub(super) const BELOW: usize = 0;
pub(super) const ABOVE: usize = 1;

/// Maximum depth of a tree that is followed. Only faulty ones are deeper.
const MAX_DEPTH: u32 = 64;

impl Ropes {
    /// Links the leaves of a tree.
    pub fn new(tree: &Tree) -> Self {
        let mut ropes = Self { leaf_of_node: vec![u32::MAX; tree.nodes.len()], leaves: Vec::new() };
        let mut waiting = vec![(0u32, Leaf { cell: tree.bounds, beyond: [[None; 3]; 2] }, 0)];
        while let Some((node, mut of_node, depth)) = waiting.pop() {
            of_node.shorten(tree);
            let Some(kind) = tree.nodes.get(node as usize).map(|node| node.kind()) else { continue };
            match kind {
                NodeKind::Split { axis, position, first } if depth < MAX_DEPTH => {
                    let (mut lower, mut upper) = (of_node, of_node);
                    lower.cell.max[axis] = position;
                    upper.cell.min[axis] = position;
                    lower.beyond[ABOVE][axis] = Some(first + 1);
                    upper.beyond[BELOW][axis] = Some(first);
                    waiting.extend([(first, lower, depth + 1), (first + 1, upper, depth + 1)]);
                }
                NodeKind::Split { .. } | NodeKind::Leaf { .. } => {
                    ropes.leaf_of_node[node as usize] = ropes.leaves.len() as u32;
                    ropes.leaves.push(of_node);
                }
            }
        }
        ropes
    }

    /// Returns the leaf at a node.
    pub fn leaf(&self, node: u32) -> Option<&Leaf> {
        self.leaves.get(*self.leaf_of_node.get(node as usize)? as usize)
    }

    /// Returns the size of the links, in bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.leaf_of_node.len() * 4 + self.leaves.len() * size_of::<Leaf>()
    }
}

impl Leaf {
    /// Moves the links down to the smallest nodes that cover all of a face.
    fn shorten(&mut self, tree: &Tree) {
        let Self { cell, beyond } = self;
        for (side, axis) in (0..6).map(|face| (face / 3, face % 3)) {
            let mut depth = 0;
            while let Some(node) = beyond[side][axis] {
                let Some(kind) = tree.nodes.get(node as usize).map(|node| node.kind()) else { break };
                let NodeKind::Split { axis: across, position, first } = kind else { break };
                let next = if across == axis {
                    // The child next to the face.
                    if side == BELOW { first + 1 } else { first }
                } else if position >= cell.max[across] {
                    first
                } else if position <= cell.min[across] {
                    first + 1
                } else {
                    break;
                };
                depth += 1;
                if depth > MAX_DEPTH {
                    break;
                }
                beyond[side][axis] = Some(next);
            }
        }
    }

    /// Returns the words that precede a leaf's references on graphics cards, with links shifted by `root`; see
    /// `ropes.wgsl`.
    #[cfg(feature = "gpu")]
    pub fn words(&self, root: u32) -> [u32; 12] {
        let [below, above] = self.beyond.map(|nodes| nodes.map(|node| node.map_or(u32::MAX, |node| node + root)));
        let [low, high] = [self.cell.min, self.cell.max].map(|corner| corner.to_array().map(f32::to_bits));
        bytemuck::cast([low, high, below, above])
    }

    /// Returns the distance at which a ray leaves the cell, given its origin and the reciprocal of its direction, and the
    /// node beyond.
    pub fn exit(&self, origin: Vec3, inverse: Vec3) -> (f32, Option<u32>) {
        let side = |axis: usize| if inverse[axis] < 0.0 { BELOW } else { ABOVE };
        let distance = |axis: usize| {
            let plane = if side(axis) == BELOW { self.cell.min[axis] } else { self.cell.max[axis] };
            (plane - origin[axis]) * inverse[axis]
        };
        let nearest = (1..3).fold((0, distance(0)), |(axis, t), other| {
            let further = distance(other);
            if further < t { (other, further) } else { (axis, t) }
        });
        (nearest.1, self.beyond[side(nearest.0)][nearest.0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accel::tests::{scene_of, soup};
    use crate::accel::{Preset, Walk, WalkCost, World};
    use crate::geometry::sampling::uniform_sphere;
    use crate::geometry::sobol::OwenSobol;
    use crate::geometry::{Ray, RayQuery};
    use glam::Vec2;
    use std::sync::Arc;

    #[test]
    fn leaves_fill_the_scene_and_links_lead_to_what_touches_them() {
        let world = World::build(Arc::new(scene_of(soup(21, 300, 0.4, None, Vec3::ZERO))), Preset::best());
        let (tree, ropes) = (world.tree(), Ropes::new(world.tree()));
        let volume = |cell: Aabb| f64::from((cell.max - cell.min).element_product());
        let sum: f64 = ropes.leaves.iter().map(|leaf| volume(leaf.cell)).sum();
        assert!((sum / volume(tree.bounds) - 1.0).abs() < 1e-5, "{sum}");
        let leaves = tree.nodes.iter().filter(|node| matches!(node.kind(), NodeKind::Leaf { .. })).count();
        assert!((leaves - 1..=leaves).contains(&ropes.leaves.len()), "node 1 is padding");
        let (mut outside, mut inside) = (0, 0);
        for leaf in &ropes.leaves {
            for axis in 0..3 {
                let ends = [leaf.cell.min[axis] == tree.bounds.min[axis], leaf.cell.max[axis] == tree.bounds.max[axis]];
                for (side, is_end) in ends.into_iter().enumerate() {
                    assert_eq!(leaf.beyond[side][axis].is_none(), is_end, "{leaf:?}");
                    (outside, inside) = (outside + u32::from(is_end), inside + u32::from(!is_end));
                }
            }
        }
        assert!(outside > 20 && inside > outside, "{outside} {inside}");
        assert!(ropes.bytes() > tree.nodes.len() * 8, "ropes take more memory than the tree: {}", ropes.bytes());
    }

    #[test]
    fn ropes_meet_the_same_triangles_as_a_stack_in_fewer_steps_than_restarts() {
        let world = World::build(Arc::new(scene_of(soup(23, 2_000, 0.1, None, Vec3::ZERO))), Preset::best());
        let [stack, restart, ropes] = [Walk::Stack, Walk::Restart, Walk::Ropes].map(|walk| {
            let mut cost = WalkCost::default();
            for index in 0..3_000 {
                let [x, y, z, _] = OwenSobol::new(5).point(index);
                let direction = uniform_sphere(Vec2::from_slice(&OwenSobol::new(6).point(index)));
                let ray = Ray::new(Vec3::new(x, y, z) * 4.0 - 2.0, direction);
                assert_eq!(world.closest_by(walk, &ray, &mut cost), world.closest(&ray), "{walk:?} {index}");
            }
            assert_eq!(cost.unfinished, 0);
            cost
        });
        assert_eq!(ropes.restarts, 0);
        assert!(ropes.steps < restart.steps && restart.restarts > 0, "{ropes:?} {restart:?}");
        assert!((ropes.triangles as f64 / stack.triangles as f64 - 1.0).abs() < 0.01, "{ropes:?} {stack:?}");
    }
}
