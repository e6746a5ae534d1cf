//! Settings of a layout.

use serde::{Deserialize, Serialize};

use crate::lightmap::Unwrapper;

/// Texel density, page size and charts of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(default)]
pub struct LayoutSettings {
    /// Texels per meter of surface; default 16. Higher values show finer shadows, at a quadratic cost in time, memory
    /// and file size.
    #[serde(rename = "texels_per_metre")]
    pub texels_per_meter: f32,
    /// Edge length of a page in texels; default 2048, which works on every device. Larger pages mean fewer textures.
    pub page_size: u32,
    /// Minimum number of empty texels between charts, at least 2, so that filtering never mixes charts; default 4.
    /// Bilinear filtering needs 2, bicubic filtering [`Self::BICUBIC_PADDING`]. Higher values waste space on the pages.
    pub padding: u32,
    /// Method that makes charts for meshes without lightmap coordinates.
    pub unwrapper: Unwrapper,
}

impl LayoutSettings {
    /// Minimum padding in texels for bicubic filtering, which reads two texels beyond a chart.
    ///
    /// Two charts then have two texels each. With fewer, light of a chart would be seen on its neighbor.
    pub const BICUBIC_PADDING: u32 = 4;
}

impl Default for LayoutSettings {
    fn default() -> Self {
        Self {
            texels_per_meter: 16.0,
            page_size: 2048,
            padding: Self::BICUBIC_PADDING,
            unwrapper: Unwrapper::default(),
        }
    }
}
