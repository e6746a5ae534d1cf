//! Plain-data elements, for look-ups in shaders.

use super::{ElementId, Elements, Sheet};
use crate::geometry::SurfaceId;
use crate::lightmap::Unwrap;
use crate::lightmap::footprint::{Footprints, PieceDescription, TexelDescription, TriangleDescription};

/// Texels and elements of one surface.
pub(crate) struct SheetDescription<'a> {
    /// Indices of the first elements of the front and of the back.
    pub first: [Option<u32>; 2],
    pub unwrap: &'a Unwrap,
    footprints: &'a Footprints,
}

impl<'a> SheetDescription<'a> {
    /// Returns the columns and rows of the rectangle.
    pub fn size(&self) -> [u32; 2] {
        self.footprints.size()
    }

    /// Returns the chart of each footprint.
    pub fn charts(&self) -> &'a [u32] {
        self.footprints.charts()
    }

    /// Returns all texels, row by row.
    pub fn texels(&self) -> impl Iterator<Item = TexelDescription> + 'a {
        self.footprints.texel_descriptions()
    }

    /// Returns all triangles of the unwrapped mesh.
    pub fn triangles(&self) -> impl Iterator<Item = TriangleDescription> + 'a {
        self.footprints.triangle_descriptions(self.unwrap)
    }
}

impl Elements {
    /// Returns the description of a surface; `None` without texels.
    pub(crate) fn sheet_description(&self, surface: SurfaceId) -> Option<SheetDescription<'_>> {
        let sheet = self.sheet(surface)?;
        let first = self.surface_offsets[surface.index()];
        let first_of = |back| sheet.first_of(back).map(|offset| first + offset as u32);
        let Sheet { unwrap, footprints, .. } = sheet;
        Some(SheetDescription { first: [first_of(false), first_of(true)], unwrap, footprints })
    }

    /// Returns the pieces of an element.
    pub(crate) fn piece_descriptions(&self, id: ElementId) -> impl Iterator<Item = PieceDescription> + '_ {
        let sheet = self.sheet(self.surface(id)).into_iter();
        sheet.flat_map(move |sheet| sheet.footprints.piece_descriptions(&sheet.unwrap, self.footprint(id)))
    }
}
