//! Binary indices of cells of a balanced partition, and of their ancestors.

use std::fmt;

/// Path of cuts that led to a cell, one binary digit per cut. A 0 stands for the half with the smaller coordinates.
/// Dropping digits from the right gives the cell's ancestors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BinaryIndex {
    digits: u32,
    length: u32,
}

impl BinaryIndex {
    /// Creates an index of `length` cuts from the binary digits of a number.
    pub(super) fn new(digits: u32, length: u32) -> Self {
        Self { digits, length }
    }

    /// Returns the number of cuts.
    pub fn len(self) -> u32 {
        self.length
    }

    /// Returns true for the whole scene, with no cuts.
    pub fn is_empty(self) -> bool {
        self.length == 0
    }

    /// Returns the cell that this cell is a half of, or `None` for the whole scene.
    pub fn parent(self) -> Option<Self> {
        (self.length > 0).then(|| Self { digits: self.digits >> 1, length: self.length - 1 })
    }

    /// Returns the other half of the parent, or `None` for the whole scene. Siblings always share a whole face. Other
    /// cells may share one too, by chance or after consecutive cuts along one axis.
    pub fn sibling(self) -> Option<Self> {
        (self.length > 0).then_some(Self { digits: self.digits ^ 1, length: self.length })
    }
}

impl fmt::Display for BinaryIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.length).rev().try_for_each(|place| write!(formatter, "{}", self.digits >> place & 1))
    }
}
