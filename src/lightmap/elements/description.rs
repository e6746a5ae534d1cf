//! Elements as plain data, for shaders that look them up on their own.

use super::{ElementId, Elements, Sheet};
use crate::geometry::SurfaceId;
use crate::lightmap::Unwrap;
use crate::lightmap::footprint::{Footprints, PieceDescription, TexelDescription, TriangleDescription};

/// What shows one surface.
pub(crate) struct SheetDescription<'a> {
    /// The first elements of its front and of its back.
    pub first: [Option<u32>; 2],
    pub unwrap: &'a Unwrap,
    footprints: &'a Footprints,
}

impl<'a> SheetDescription<'a> {
    /// Columns and rows of its rectangle.
    pub fn size(&self) -> [u32; 2] {
        self.footprints.size()
    }

    /// The chart of each footprint.
    pub fn charts(&self) -> &'a [u32] {
        self.footprints.charts()
    }

    /// All texels, row by row.
    pub fn texels(&self) -> impl Iterator<Item = TexelDescription> + 'a {
        self.footprints.texel_descriptions()
    }

    /// All triangles of the unwrapped mesh.
    pub fn triangles(&self) -> impl Iterator<Item = TriangleDescription> + 'a {
        self.footprints.triangle_descriptions(self.unwrap)
    }
}

impl Elements {
    /// What shows a surface; `None` for those that own no texels.
    pub(crate) fn sheet_description(&self, surface: SurfaceId) -> Option<SheetDescription<'_>> {
        let sheet = self.sheet(surface)?;
        let first = self.surface_offsets[surface.index()];
        let first_of = |back| sheet.first_of(back).map(|offset| first + offset as u32);
        let Sheet { unwrap, footprints, .. } = sheet;
        Some(SheetDescription { first: [first_of(false), first_of(true)], unwrap, footprints })
    }

    /// What an element consists of.
    pub(crate) fn piece_descriptions(&self, id: ElementId) -> impl Iterator<Item = PieceDescription> + '_ {
        let sheet = self.sheet(self.surface(id)).into_iter();
        sheet.flat_map(move |sheet| sheet.footprints.piece_descriptions(&sheet.unwrap, self.footprint(id)))
    }
}
