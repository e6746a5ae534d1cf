//! KD-tree node in eight bytes.

use bytemuck::{Pod, Zeroable};

/// Node of a tree, unpacked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeKind {
    /// Splitting plane perpendicular to one axis. Child `first` lies below the plane, child `first + 1` above.
    Split {
        /// Axis that the plane is perpendicular to: 0, 1 or 2.
        axis: usize,
        /// Position of the plane on that axis, in meters.
        position: f32,
        /// Index of the child below the plane. The child above follows.
        first: u32,
    },
    /// Leaf with the references `first .. first + count`; an empty leaf has none.
    Leaf {
        /// Index of the leaf's first reference.
        first: u32,
        /// Number of references.
        count: u32,
    },
}

/// Packed node: eight bytes, identical on CPU and GPU.
///
/// The low two bits of `tag` hold the axis, or 3 for a leaf. The other bits hold the first child or the number of
/// references. `payload` is the plane's position as `f32` bits, or the index of the first reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Node {
    pub(super) payload: u32,
    pub(super) tag: u32,
}

impl Node {
    /// Low bits of a leaf's tag.
    pub(super) const LEAF: u32 = 3;

    pub(super) fn split(axis: usize, position: f32, first: usize) -> Self {
        Self { payload: position.to_bits(), tag: (first as u32) << 2 | axis as u32 }
    }

    pub(super) fn leaf(first: usize, count: usize) -> Self {
        Self { payload: first as u32, tag: (count as u32) << 2 | Self::LEAF }
    }

    /// Returns the node with its indices shifted, for a buffer that is appended to another.
    pub(super) fn shifted(self, nodes: usize, references: usize) -> Self {
        match self.kind() {
            NodeKind::Split { axis, position, first } => Self::split(axis, position, first as usize + nodes),
            NodeKind::Leaf { first, count } => Self::leaf(first as usize + references, count as usize),
        }
    }

    /// Unpacks the node.
    #[inline]
    pub fn kind(self) -> NodeKind {
        let value = self.tag >> 2;
        match self.tag & 3 {
            Self::LEAF => NodeKind::Leaf { first: self.payload, count: value },
            axis => NodeKind::Split { axis: axis as usize, position: f32::from_bits(self.payload), first: value },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_unpack_to_what_was_packed() {
        assert_eq!(size_of::<Node>(), 8);
        assert_eq!(Node::leaf(7, 0).kind(), NodeKind::Leaf { first: 7, count: 0 });
        assert_eq!(Node::leaf(7, 9).shifted(100, 10).kind(), NodeKind::Leaf { first: 17, count: 9 });
        let split = NodeKind::Split { axis: 2, position: -0.5, first: 12 };
        assert_eq!(Node::split(2, -0.5, 12).kind(), split);
    }
}
