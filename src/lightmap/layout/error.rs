//! Errors and warnings of building a layout.

use super::size::MAX_TEXELS;
use crate::lightmap::Uv1Problem;
use crate::progress::Cancelled;

/// Error of building a layout.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// The density is zero, negative, NaN, or too close to zero.
    #[error("{0} texels per meter is no density: give a number from 1e-9 on, such as 16")]
    Density(f32),
    /// A surface's density factor is zero, negative or NaN.
    #[error(
        "surface \"{surface}\" scales its texel density by {scale}: give a number above zero, of which 1 keeps the density"
    )]
    DensityScale {
        /// Key of the surface.
        surface: String,
        /// Density factor of the surface.
        scale: f32,
    },
    /// The padding is so small that filtering would mix charts.
    #[error("a padding of {0} texels mixes charts when they are filtered: give at least 2")]
    Padding(u32),
    /// The page size is below that of a chart with its padding, or above that of any texture.
    #[error("pages of {0} x {0} texels cannot be used: give 64 to 16384, such as 2048")]
    PageSize(u32),
    /// The scene would need too many texels.
    #[error(
        "{area:.0} m2 of surface at {texels_per_meter} texels per meter are {texels:.3e} texels, more than the {MAX_TEXELS:.3e} \
         that can be baked: lower the density (--density) to {remedy}, or exclude \"{largest}\", the largest surface"
    )]
    TooManyTexels {
        /// Area of surfaces with texels, in square meters.
        area: f64,
        /// Requested density.
        texels_per_meter: f32,
        /// Number of texels required.
        texels: f64,
        /// Highest possible density.
        remedy: f64,
        /// Key of the surface with the most texels.
        largest: String,
    },
    /// xatlas failed on a mesh.
    #[cfg(feature = "xatlas")]
    #[error("xatlas cannot unwrap mesh \"{mesh}\": unwrap with charts instead, or check the mesh")]
    Xatlas {
        /// Name of the mesh.
        mesh: String,
    },
    /// The build was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Warning about a deviation from the requested layout.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayoutWarning {
    /// A surface does not fit a page at its density.
    #[error(
        "surface \"{surface}\" does not fit a page at {asked:.3} texels per meter and got {given:.3}: use larger pages or split it"
    )]
    DensityLowered {
        /// Key of the surface.
        surface: String,
        /// Requested texels per meter.
        asked: f32,
        /// Texels per meter that fit.
        given: f32,
    },
    /// A mesh's second texture coordinates were replaced.
    #[error("the second texture coordinates of '{object}' (mesh '{mesh}') {problem}: its lightmap got new ones")]
    Uv1Replaced {
        /// First object with the mesh.
        object: String,
        /// Name of the mesh.
        mesh: String,
        /// Problem of the replaced coordinates.
        problem: Uv1Problem,
    },
    /// A texture reads the mesh's second texture coordinates, and they cannot serve a lightmap too. The surface gets
    /// none.
    #[error(
        "surface \"{surface}\" gets no lightmap: a texture of its material reads the second texture coordinates, and \
         they {problem}; let the texture read the first ones"
    )]
    Uv1Taken {
        /// Key of the surface.
        surface: String,
        /// Problem that keeps the coordinates from serving a lightmap.
        problem: Uv1Problem,
    },
    /// A surface without area has no texels.
    #[error("surface \"{surface}\" has no triangle with an area and gets no lightmap")]
    NoArea {
        /// Key of the surface.
        surface: String,
    },
}
