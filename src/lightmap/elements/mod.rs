//! Elements: pieces of surface with one radiosity each.
//!
//! [`Elements`] holds all properties in arrays. `build.rs` creates elements from a layout; `sides.rs` selects open
//! sides. `contacts.rs` cuts texels along other geometry, `clearance.rs` handles stacked surfaces, and `stand_ins.rs`
//! replaces hidden elements. `sampler.rs` and `point.rs` provide ray origins; `outline.rs` the exact shape of an
//! element.

mod build;
mod clearance;
mod contacts;
#[cfg(feature = "gpu")]
mod description;
mod outline;
mod point;
mod sampler;
mod sides;
mod stand_ins;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use glam::Vec3;

use super::footprint::Footprints;
use super::{Rectangle, Unwrap};
use crate::geometry::{Hit, SurfaceId, define_id};
use crate::scene::Scene;

#[cfg(feature = "gpu")]
pub(crate) use description::SheetDescription;
pub use outline::ElementPiece;
pub use point::SurfacePoint;
pub use sampler::ElementSampler;
pub use sides::OpenSides;

define_id! {
    /// Index of an element.
    ElementId
}

/// Texel on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Texel {
    /// Index of the page.
    pub page: u32,
    /// Column.
    pub x: u16,
    /// Row, from the top.
    pub y: u16,
}

/// All elements of a scene as a structure of arrays, sorted by surface.
///
/// An element is the footprint of a texel on one side of one surface: the exact part of the surface's triangles that
/// the texel covers. So the areas of a surface's elements add up to the surface's area. Texels crossed by other
/// geometry, such as a wall on a floor, are cut along its faces. Each part is an element, since one may be lit and the
/// other dark.
///
/// For a surface that is open on both sides, the front's elements precede the back's, in equal order. If its unwrap has
/// texels for each side, those elements are like any others.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    /// First element of each surface, and the number of elements at the end: n + 1 entries.
    pub surface_offsets: Vec<u32>,
    /// Centroid of the footprint, on the surface, in world space.
    pub center: Vec<Vec3>,
    /// Area-weighted mean unit normal of the footprint's triangles, on the element's side.
    pub geometric_normal: Vec<Vec3>,
    /// Interpolated unit normal at the centroid, on the element's side.
    pub shading_normal: Vec<Vec3>,
    /// Area in square meters.
    pub area: Vec<f32>,
    /// Diffuse reflectance in linear light, averaged over the footprint.
    pub reflectance: Vec<Vec3>,
    /// Emitted radiance in cd/m2, averaged over the footprint.
    pub emission: Vec<Vec3>,
    /// True for elements on the back of a double-sided surface.
    pub back: Vec<bool>,
    /// Texel that shows the element.
    pub texel: Vec<Texel>,
    /// Height in meters of other surfaces stacked on the element within a few hundredths of a millimeter. All layers of
    /// such a stack show the light of the topmost one. Zero without stacked surfaces.
    pub clearance: Vec<f32>,
    /// Surface of each element.
    surface: Vec<SurfaceId>,
    /// Hidden elements beside visible ones, in order, each with the element that its texel shows instead.
    stand_ins: Vec<(u32, u32)>,
    /// Footprints of each surface; `None` without texels.
    sheets: Vec<Option<Sheet>>,
}

/// Texels of one surface.
#[derive(Clone, Debug)]
struct Sheet {
    unwrap: Arc<Unwrap>,
    rectangle: Rectangle,
    page: u32,
    sides: OpenSides,
    footprints: Footprints,
}

impl Elements {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.area.len()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Returns the ids of all elements, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = ElementId> + use<> {
        (0..self.len()).map(ElementId::from_index)
    }

    /// Returns the indices of a surface's elements.
    pub fn of_surface(&self, surface: SurfaceId) -> Range<usize> {
        let offset = |index: usize| self.surface_offsets[index] as usize;
        offset(surface.index())..offset(surface.index() + 1)
    }

    /// Returns the triangles of unmapped surfaces: those that take part in bakes and have no elements.
    pub fn unmapped_triangles<'a>(&'a self, scene: &'a Scene) -> impl Iterator<Item = (SurfaceId, u32)> + 'a {
        let is_unmapped = |&id: &SurfaceId| scene.surface(id).is_in_bake() && self.of_surface(id).is_empty();
        scene.surface_ids().filter(is_unmapped).flat_map(|id| scene.triangles_of(id))
    }

    /// Returns the surface of an element.
    #[inline]
    pub fn surface(&self, id: ElementId) -> SurfaceId {
        self.surface[id.index()]
    }

    /// Returns the sides of a surface that have elements; the front if the surface has no elements.
    pub fn open_sides(&self, surface: SurfaceId) -> OpenSides {
        self.sheet(surface).map_or(OpenSides::Front, |sheet| sheet.sides)
    }

    /// Returns true if the element's texel shows it. Returns false for elements on the side that shared texels do not
    /// show.
    pub fn is_shown(&self, id: ElementId) -> bool {
        let surface = self.surface(id);
        let shares_texels = self.sheet(surface).is_some_and(|sheet| !sheet.unwrap.is_two_sided());
        !shares_texels || self.back[id.index()] == self.shows_back(surface)
    }

    /// Returns the element whose light a given element's texel shows. It is the element itself, unless that is hidden
    /// and its neighbor visible. For example, the part of a wall below the ground shows the part above.
    pub fn stand_in(&self, id: ElementId) -> ElementId {
        let found = self.stand_ins.binary_search_by_key(&id.0, |pair| pair.0);
        found.map_or(id, |place| ElementId(self.stand_ins[place].1))
    }

    /// Returns all elements with stand-ins, in order, each with its stand-in.
    pub(crate) fn stand_ins(&self) -> &[(u32, u32)] {
        &self.stand_ins
    }

    /// Returns the elements of each texel, separately for each side: one, or several if other geometry crosses the
    /// texel.
    pub fn texels(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.texels_in(0..self.len())
    }

    /// Returns the elements of each texel of a surface.
    pub(in crate::lightmap) fn texels_of(&self, surface: SurfaceId) -> impl Iterator<Item = Range<usize>> + '_ {
        self.texels_in(self.of_surface(surface))
    }

    fn texels_in(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut start = range.start;
        core::iter::from_fn(move || {
            let first = start;
            let same = |&index: &usize| self.texel[index] == self.texel[first] && self.back[index] == self.back[first];
            start += (first..range.end).take_while(same).count();
            (first < start).then_some(first..start)
        })
    }

    /// Returns the mean of a property over the visible parts of a texel's elements, and the visible fraction of the
    /// texel. Stand-ins replace hidden elements.
    ///
    /// `visible` is the fraction of each element that light can reach.
    pub(in crate::lightmap) fn mean_over(&self, texel: Range<usize>, of: &[Vec3], visible: &[f32]) -> (Vec3, f32) {
        let shown = |index: usize| {
            let stand_in = self.stand_in(ElementId::from_index(index)).index();
            if visible[stand_in] > 0.0 { stand_in } else { index }
        };
        let part = |index: usize| visible[index].min(visible[shown(index)]);
        if texel.len() == 1 {
            return (of[shown(texel.start)], part(texel.start));
        }
        let area: f32 = self.area[texel.clone()].iter().sum();
        let seen: f32 = texel.clone().map(|index| self.area[index] * part(index)).sum();
        let sum: Vec3 = texel.map(|index| of[shown(index)] * (self.area[index] * part(index))).sum();
        if seen > 0.0 { (sum / seen, seen / area) } else { (Vec3::ZERO, 0.0) }
    }

    /// Returns true if the texels of a surface show its back.
    pub fn shows_back(&self, surface: SurfaceId) -> bool {
        self.sheet(surface).is_some_and(|sheet| !sheet.unwrap.is_two_sided() && sheet.sides.shows_back())
    }

    /// Returns the element that a ray hit; `None` if the surface has no elements on that side.
    ///
    /// Takes constant time. At the border of a chart, rounding may select a texel that the chart does not cover. Then
    /// the nearest covered one is returned.
    pub fn element_at(&self, hit: &Hit) -> Option<ElementId> {
        let sheet = self.sheet(hit.surface)?;
        let first = self.surface_offsets[hit.surface.index()] as usize;
        let (triangle, barycentric) = sheet.unwrap.drawn(hit.triangle, hit.barycentric, hit.back);
        let footprint = sheet.footprints.at(&sheet.unwrap, triangle, barycentric)?;
        Some(ElementId::from_index(first + sheet.first_of(hit.back)? + footprint))
    }

    /// Returns the texels of a surface, as columns and rows of its page, each with its chart.
    pub(in crate::lightmap) fn charts_of(&self, surface: SurfaceId) -> impl Iterator<Item = ([u32; 2], u32)> + '_ {
        self.sheet(surface).into_iter().flat_map(|sheet| {
            let Rectangle { x, y, .. } = sheet.rectangle;
            let place = move |[column, row]: [u32; 2]| [x + column, y + row];
            (0..sheet.footprints.len())
                .map(move |one| (place(sheet.footprints.texel(one)), sheet.footprints.chart(one)))
        })
    }

    fn sheet(&self, surface: SurfaceId) -> Option<&Sheet> {
        self.sheets.get(surface.index())?.as_ref()
    }

    /// Returns the index of an element's footprint within its surface.
    fn footprint(&self, id: ElementId) -> usize {
        let surface = self.surface(id);
        let within = id.index() - self.surface_offsets[surface.index()] as usize;
        self.sheet(surface).map_or(0, |sheet| within % sheet.footprints.len())
    }
}

impl Sheet {
    /// Returns the offset of a side's elements among the surface's; `None` for a closed side.
    fn first_of(&self, back: bool) -> Option<usize> {
        let index = self.sides.index_of(back)?;
        Some(if self.unwrap.is_two_sided() { 0 } else { index * self.footprints.len() })
    }
}
