//! Names of the cells of a balanced partition, and of the cells that they were cut from.

use std::fmt;

/// Which cuts led to a cell, one binary digit each: 0 for the half with the smaller coordinates. What is left when digits
/// are dropped from the right names the larger cells that it is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BinaryIndex {
    digits: u32,
    length: u32,
}

impl BinaryIndex {
    /// The first `length` cuts by the binary digits of a number.
    pub(super) fn new(digits: u32, length: u32) -> Self {
        Self { digits, length }
    }

    /// How many cuts led to the cell.
    pub fn len(self) -> u32 {
        self.length
    }

    /// True for the whole, which no cut led to.
    pub fn is_empty(self) -> bool {
        self.length == 0
    }

    /// The cell that this one is half of.
    pub fn parent(self) -> Option<Self> {
        (self.length > 0).then(|| Self { digits: self.digits >> 1, length: self.length - 1 })
    }

    /// The other half, with which this one shares a whole face, since one cut made both. With others it may too, by
    /// chance or where cuts follow each other along one axis.
    pub fn sibling(self) -> Option<Self> {
        (self.length > 0).then_some(Self { digits: self.digits ^ 1, length: self.length })
    }
}

impl fmt::Display for BinaryIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.length).rev().try_for_each(|place| write!(formatter, "{}", self.digits >> place & 1))
    }
}
