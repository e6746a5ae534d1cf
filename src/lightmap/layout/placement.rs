//! Rectangles on pages: what a layout is.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::geometry::SurfaceId;
use crate::lightmap::Unwrap;

/// A rectangle of texels on a page: `x .. x + width`, `y .. y + height`, rows from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rectangle {
    /// Leftmost column.
    pub x: u32,
    /// Topmost row.
    pub y: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// Size of a page in texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageSize {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// Where a surface's texels lie.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The mesh that the surface is drawn with from now on.
    pub unwrap: Arc<Unwrap>,
    /// Which page.
    pub page: u32,
    /// Where on the page.
    pub rectangle: Rectangle,
}

/// All rectangles of a bake.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// One a surface of the scene, `None` for those that own no texels.
    pub placements: Vec<Option<Placement>>,
    /// Sizes of the pages.
    pub pages: Vec<PageSize>,
}

impl Layout {
    /// Where a surface's texels lie, `None` when it owns none.
    pub fn placement(&self, surface: SurfaceId) -> Option<&Placement> {
        self.placements.get(surface.index())?.as_ref()
    }
}
