//! Data of a layout: rectangles on pages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::geometry::SurfaceId;
use crate::lightmap::Unwrap;

/// Rectangle of texels on a page: `x .. x + width`, `y .. y + height`, rows from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rectangle {
    /// Leftmost column.
    pub x: u32,
    /// Topmost row.
    pub y: u32,
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

/// Size of a page in texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageSize {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

impl PageSize {
    /// Maximum number of columns or rows of a page that common devices support.
    pub const LARGEST_EDGE: u32 = 16_384;

    /// Returns true for a valid page size: at least one texel, and no edge above [`Self::LARGEST_EDGE`].
    pub(crate) fn is_possible(&self) -> bool {
        [self.width, self.height].iter().all(|edge| (1..=Self::LARGEST_EDGE).contains(edge))
    }
}

/// Position of a surface's texels.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Unwrapped mesh, which replaces the surface's mesh in rendering.
    pub unwrap: Arc<Unwrap>,
    /// Index of the page.
    pub page: u32,
    /// Rectangle on the page.
    pub rectangle: Rectangle,
}

/// Layout of all surfaces of a bake.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Placement of each surface of the scene; `None` without texels.
    pub placements: Vec<Option<Placement>>,
    /// Sizes of the pages.
    pub pages: Vec<PageSize>,
    /// Minimum number of empty texels between charts.
    pub padding: u32,
}

impl Layout {
    /// Returns the placement of a surface; `None` without texels.
    pub fn placement(&self, surface: SurfaceId) -> Option<&Placement> {
        self.placements.get(surface.index())?.as_ref()
    }
}
