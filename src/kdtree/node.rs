//! One node of a tree in eight bytes.

use bytemuck::{Pod, Zeroable};

/// What a node is, unpacked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeKind {
    /// A plane across one axis; the children `first` and `first + 1` lie below and above it.
    Split {
        /// Which axis the plane is perpendicular to.
        axis: usize,
        /// Where on that axis it stands, metres.
        position: f32,
        /// The child below the plane; the one above follows it.
        first: u32,
    },
    /// A cell with the references `first .. first + count`; empty cells have none.
    Leaf {
        /// Its first reference.
        first: u32,
        /// How many it has.
        count: u32,
    },
}

/// A packed node: the same bytes on CPU and GPU.
///
/// `tag` holds the axis, or 3 for a leaf, in its low two bits and the first child or the number of references above
/// them; `payload` is the plane's position as `f32` bits, or the first reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Node {
    pub(super) payload: u32,
    pub(super) tag: u32,
}

impl Node {
    /// The low bits of a leaf's tag.
    pub(super) const LEAF: u32 = 3;

    pub(super) fn split(axis: usize, position: f32, first: usize) -> Self {
        Self { payload: position.to_bits(), tag: (first as u32) << 2 | axis as u32 }
    }

    pub(super) fn leaf(first: usize, count: usize) -> Self {
        Self { payload: first as u32, tag: (count as u32) << 2 | Self::LEAF }
    }

    /// The same node after what it points at has moved further back, as when its buffer is appended to another.
    pub(super) fn shifted(self, nodes: usize, references: usize) -> Self {
        match self.kind() {
            NodeKind::Split { axis, position, first } => Self::split(axis, position, first as usize + nodes),
            NodeKind::Leaf { first, count } => Self::leaf(first as usize + references, count as usize),
        }
    }

    /// The node, unpacked.
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
