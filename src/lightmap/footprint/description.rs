//! Plain-data footprints, for look-ups in shaders.

use glam::Vec2;

use super::divide::CutDescription;
use super::{DIVIDED, Footprints, FragmentSampler, NONE, Shape, WHOLE, texel_corners, texel_origin};
use crate::lightmap::Unwrap;

/// Piece of a footprint.
pub(crate) struct PieceDescription {
    /// Triangle of the unwrapped mesh.
    pub triangle: u32,
    /// Area in square meters.
    pub area: f32,
    pub shape: PieceShape,
}

/// Shape of a piece in its texel.
pub(crate) enum PieceShape {
    /// The whole triangle.
    Triangle,
    /// The whole texel.
    Texel(TexelWeights),
    /// Polygon with these corners, in 1/65535ths of a texel.
    Polygon(TexelWeights, Vec<[u16; 2]>),
}

/// Barycentric weights of a triangle's second and third corner at the texel's corner, and their changes along its
/// edges.
pub(crate) struct TexelWeights {
    pub origin: Vec2,
    pub across: Vec2,
    pub down: Vec2,
}

/// Content of a texel.
pub(crate) enum TexelDescription {
    Nothing,
    Footprint(u32),
    /// First footprint, and the cuts that separate it from those that follow, in texels from the texel's corner.
    Divided(u32, Vec<CutDescription>),
}

/// Triangle of an unwrapped mesh.
pub(crate) struct TriangleDescription {
    /// Corners in texels.
    pub corners: [Vec2; 3],
    /// Footprint that holds most of the triangle, and whether it holds all of it.
    pub home: Option<(u32, bool)>,
    pub chart: u32,
}

impl Footprints {
    /// Returns the columns and rows of the rectangle.
    pub fn size(&self) -> [u32; 2] {
        [self.width, self.height]
    }

    /// Returns the chart of each footprint.
    pub fn charts(&self) -> &[u32] {
        &self.charts
    }

    /// Returns all texels, row by row.
    pub fn texel_descriptions(&self) -> impl Iterator<Item = TexelDescription> + '_ {
        self.grid.iter().enumerate().map(|(texel, &number)| match number {
            NONE => TexelDescription::Nothing,
            number if number & DIVIDED != 0 => {
                let (first, division) = &self.divisions[(number & !DIVIDED) as usize];
                TexelDescription::Divided(*first, division.description(texel_origin(texel as u32, self.width)))
            }
            footprint => TexelDescription::Footprint(footprint),
        })
    }

    /// Returns all triangles of the unwrapped mesh.
    pub fn triangle_descriptions<'a>(&'a self, unwrap: &'a Unwrap) -> impl Iterator<Item = TriangleDescription> + 'a {
        self.home.iter().zip(0..).map(|(&home, triangle)| TriangleDescription {
            corners: texel_corners(unwrap, triangle, self.width, self.height).map(|corner| corner.as_vec2()),
            home: (home != NONE).then_some((home & !WHOLE, home & WHOLE != 0)),
            chart: unwrap.charts[triangle as usize],
        })
    }

    /// Returns the pieces of a footprint.
    pub fn piece_descriptions<'a>(
        &'a self,
        unwrap: &'a Unwrap,
        footprint: usize,
    ) -> impl Iterator<Item = PieceDescription> + 'a {
        self.range(footprint).map(move |index| {
            let FragmentSampler { triangle, area, shape, origin, across, down } =
                self.sampler(unwrap, footprint, index);
            let weights = TexelWeights { origin: origin.as_vec2(), across: across.as_vec2(), down: down.as_vec2() };
            let shape = match shape {
                Shape::Triangle => PieceShape::Triangle,
                Shape::Texel => PieceShape::Texel(weights),
                Shape::Polygon(_) => PieceShape::Polygon(weights, self.corners_of(index).to_vec()),
            };
            PieceDescription { triangle, area, shape }
        })
    }
}
