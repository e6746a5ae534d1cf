//! Tiles of a picture.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use glam::UVec2;

/// Rectangle of pixels of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Tile {
    /// Column and row of the first pixel, from the top left of the picture.
    pub origin: UVec2,
    /// Columns and rows.
    pub size: UVec2,
}

impl Tile {
    /// Returns the tile of all pixels of a picture.
    pub fn whole(size: UVec2) -> Self {
        Self { origin: UVec2::ZERO, size }
    }

    /// Returns the tile of some rows of a picture, in full width.
    pub fn rows(size: UVec2, rows: Range<u32>) -> Self {
        Self { origin: UVec2::new(0, rows.start), size: UVec2::new(size.x, rows.end - rows.start) }
    }

    /// Returns the column and the row after the last pixel.
    pub fn end(self) -> UVec2 {
        self.origin + self.size
    }

    /// Returns true if the tile has pixels, and all are within a picture of a size.
    pub fn is_within(self, size: UVec2) -> bool {
        let is_inside = |origin: u32, length: u32, limit: u32| {
            length > 0 && origin.checked_add(length).is_some_and(|end| end <= limit)
        };
        is_inside(self.origin.x, self.size.x, size.x) && is_inside(self.origin.y, self.size.y, size.y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tiles_with_pixels_of_the_picture_are_within_it() {
        let tile = |x, y, width, height| Tile { origin: UVec2::new(x, y), size: UVec2::new(width, height) };
        let size = UVec2::new(8, 6);
        assert!(Tile::whole(size).is_within(size) && Tile::rows(size, 5..6).is_within(size));
        assert!(tile(7, 5, 1, 1).is_within(size));
        for outside in [tile(7, 0, 2, 1), tile(0, 6, 1, 1), tile(0, 0, 0, 1), tile(0, u32::MAX, 1, 2)] {
            assert!(!outside.is_within(size), "{outside:?}");
        }
    }
}
