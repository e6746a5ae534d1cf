//! How fine a layout is.

use serde::{Deserialize, Serialize};

use crate::lightmap::Unwrapper;

/// How finely surfaces are covered with texels, and on what pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayoutSettings {
    /// Texels per metre of surface. More shows finer shadows at a quadratic cost in time, memory and file size.
    pub texels_per_metre: f32,
    /// Edge of a page in texels. Larger pages mean fewer textures; 2048 works on every device.
    pub page_size: u32,
    /// Empty texels between any two charts, at least 2, so that filtering never reads a neighbour. Bicubic filtering
    /// asks for 4; more costs space on the pages.
    pub padding: u32,
    /// Who makes charts for meshes that bring none.
    pub unwrapper: Unwrapper,
}

impl Default for LayoutSettings {
    fn default() -> Self {
        Self { texels_per_metre: 16.0, page_size: 2048, padding: 2, unwrapper: Unwrapper::default() }
    }
}
