//! Why no layout could be made, and what one did that was not asked for.

use super::size::MAX_TEXELS;
use crate::lightmap::Uv1Problem;
use crate::progress::Cancelled;

/// Why no layout could be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// The density is zero, negative, not a number or as good as zero.
    #[error("{0} texels per metre is no density: give a number from 1e-9 on, such as 16")]
    Density(f32),
    /// A surface's factor on the density is zero, negative or not a number.
    #[error(
        "surface \"{surface}\" scales its texel density by {scale}: give a number above zero, of which 1 keeps the density"
    )]
    DensityScale {
        /// The surface's key.
        surface: String,
        /// Its factor.
        scale: f32,
    },
    /// Filtering would mix charts.
    #[error("a padding of {0} texels mixes charts when they are filtered: give at least 2")]
    Padding(u32),
    /// The page is smaller than a chart and its padding, or larger than a texture may be.
    #[error("pages of {0} x {0} texels cannot be used: give 64 to 16384, such as 2048")]
    PageSize(u32),
    /// The scene would need an absurd number of texels.
    #[error(
        "{area:.0} m2 of surface at {texels_per_metre} texels per metre are {texels:.3e} texels, more than the {MAX_TEXELS:.3e} \
         that can be baked: lower the density (--density) to {remedy}, or exclude \"{largest}\", the largest surface"
    )]
    TooManyTexels {
        /// Surface area that owns texels, in square metres.
        area: f64,
        /// The density asked for.
        texels_per_metre: f32,
        /// Texels that this takes.
        texels: f64,
        /// The density that would just do.
        remedy: f64,
        /// Key of the surface with the most texels.
        largest: String,
    },
    /// xatlas gave up on a mesh.
    #[cfg(feature = "xatlas")]
    #[error("xatlas cannot unwrap mesh \"{mesh}\": unwrap with charts instead, or check the mesh")]
    Xatlas {
        /// The mesh's name.
        mesh: String,
    },
    /// The work was asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// What a layout did that was not asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayoutWarning {
    /// A surface does not fit a page at its density.
    #[error(
        "surface \"{surface}\" does not fit a page at {asked:.3} texels per metre and got {given:.3}: use larger pages or split it"
    )]
    DensityLowered {
        /// The surface's key.
        surface: String,
        /// Texels per metre asked for.
        asked: f32,
        /// Texels per metre that fit.
        given: f32,
    },
    /// A mesh's second coordinates were replaced by new ones.
    #[error("the second texture coordinates of '{object}' (mesh '{mesh}') {problem}: its lightmap got new ones")]
    Uv1Replaced {
        /// The first object that shows the mesh.
        object: String,
        /// The mesh's name.
        mesh: String,
        /// What is wrong with them.
        problem: Uv1Problem,
    },
    /// A mesh's second coordinates serve a texture of its material, so that none are left for a lightmap.
    #[error(
        "surface \"{surface}\" gets no lightmap: a texture of its material reads the second texture coordinates, and \
         they {problem}; let the texture read the first ones"
    )]
    Uv1Taken {
        /// The surface's key.
        surface: String,
        /// What keeps them from serving the lightmap too.
        problem: Uv1Problem,
    },
    /// A surface without area owns no texels.
    #[error("surface \"{surface}\" has no triangle with an area and gets no lightmap")]
    NoArea {
        /// The surface's key.
        surface: String,
    },
}
