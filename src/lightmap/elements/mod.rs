//! The pieces of surface that have one radiosity each.

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

#[cfg(feature = "gpu")]
pub(crate) use description::SheetDescription;
pub use outline::ElementPiece;
pub use point::SurfacePoint;
pub use sampler::ElementSampler;
pub use sides::OpenSides;

define_id! {
    /// Which element.
    ElementId
}

/// A texel on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Texel {
    /// Which page.
    pub page: u32,
    /// Column.
    pub x: u16,
    /// Row, from the top.
    pub y: u16,
}

/// All elements of a scene, one array a property, sorted by surface.
///
/// An element is the footprint of a texel on one side of one surface: the exact part of the surface's triangles that the
/// texel covers, so that the areas of a surface's elements add up to the surface's area. Where a wall stands on a floor,
/// or a box on a table, the texels that it crosses are cut along its faces, and each part is an element: one may be lit
/// and the other dark, or inside of the wall. A surface that is open on both
/// sides has the elements of its front first and then, in the same order, those of its back; unless its unwrap has texels
/// for each side, which are elements like any others.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    /// First element of each surface, and the number of elements at the end: n + 1 entries.
    pub surface_offsets: Vec<u32>,
    /// Centroid of the footprint, on the surface.
    pub centre: Vec<Vec3>,
    /// Unit normal of the footprint's triangles, averaged by area, on the element's side.
    pub geometric_normal: Vec<Vec3>,
    /// Interpolated unit normal at the centroid, on the element's side.
    pub shading_normal: Vec<Vec3>,
    /// Area in square metres.
    pub area: Vec<f32>,
    /// Diffuse reflectance, the average of the texture over the footprint, in linear light.
    pub reflectance: Vec<Vec3>,
    /// Emitted radiance in cd/m2, the average over the footprint.
    pub emission: Vec<Vec3>,
    /// True for the elements of the back of a double-sided surface.
    pub back: Vec<bool>,
    /// The texel that shows the element.
    pub texel: Vec<Texel>,
    /// Height of other surfaces that lie on the element within a few hundredths of a millimeter, metres: layers of one
    /// floor, which all show the light of the uppermost. Zero for elements without.
    pub clearance: Vec<f32>,
    /// What each element lies on.
    surface: Vec<SurfaceId>,
    /// Elements that nobody sees beside others that are seen, in order, each with the one that its texel shows instead.
    stand_ins: Vec<(u32, u32)>,
    /// Footprints of each surface, `None` for those that own no texels.
    sheets: Vec<Option<Sheet>>,
}

/// The texels of one surface.
#[derive(Clone, Debug)]
struct Sheet {
    unwrap: Arc<Unwrap>,
    rectangle: Rectangle,
    page: u32,
    sides: OpenSides,
    footprints: Footprints,
}

impl Elements {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.area.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Ids of all elements, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = ElementId> + use<> {
        (0..self.len()).map(ElementId::from_index)
    }

    /// Indices of a surface's elements.
    pub fn of_surface(&self, surface: SurfaceId) -> Range<usize> {
        let offset = |index: usize| self.surface_offsets[index] as usize;
        offset(surface.index())..offset(surface.index() + 1)
    }

    /// The surface that an element is part of.
    #[inline]
    pub fn surface(&self, id: ElementId) -> SurfaceId {
        self.surface[id.index()]
    }

    /// Which sides of a surface have elements; the front where the surface has none at all.
    pub fn open_sides(&self, surface: SurfaceId) -> OpenSides {
        self.sheet(surface).map_or(OpenSides::Front, |sheet| sheet.sides)
    }

    /// True when the element's texel shows it; false for those of the darker side of a surface that is open on both and
    /// has no texels for each.
    pub fn is_shown(&self, id: ElementId) -> bool {
        let surface = self.surface(id);
        let shares_texels = self.sheet(surface).is_some_and(|sheet| !sheet.unwrap.is_two_sided());
        !shares_texels || self.back[id.index()] == self.shows_back(surface)
    }

    /// The element whose light the texel of another shows: its own, unless nobody sees that and the next is seen. What a
    /// wall goes on as below the ground shows what it is above.
    pub fn stand_in(&self, id: ElementId) -> ElementId {
        let found = self.stand_ins.binary_search_by_key(&id.0, |pair| pair.0);
        found.map_or(id, |place| ElementId(self.stand_ins[place].1))
    }

    /// All elements whose texels show others, in order, each with the one that is shown.
    pub(crate) fn stand_ins(&self) -> &[(u32, u32)] {
        &self.stand_ins
    }

    /// The elements of each texel, of one side where both share it: one, or several where other geometry crosses it.
    pub fn texels(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.texels_in(0..self.len())
    }

    /// The same of a surface's texels.
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

    /// The mean of a property over what is visible of a texel's elements or of their stand-ins, and the part of the
    /// texel that is.
    ///
    /// `visible` is the part of each element that light can reach.
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

    /// True when the texels of a surface's triangles show their backs.
    pub fn shows_back(&self, surface: SurfaceId) -> bool {
        self.sheet(surface).is_some_and(|sheet| !sheet.unwrap.is_two_sided() && sheet.sides.shows_back())
    }

    /// The element that a ray met; `None` where the surface owns no elements on that side.
    ///
    /// Takes constant time. At the border of a chart, where rounding may point at a texel that the chart does not
    /// cover, the answer is the nearest one that it does.
    pub fn element_at(&self, hit: &Hit) -> Option<ElementId> {
        let sheet = self.sheet(hit.surface)?;
        let first = self.surface_offsets[hit.surface.index()] as usize;
        let (triangle, barycentric) = sheet.unwrap.drawn(hit.triangle, hit.barycentric, hit.back);
        let footprint = sheet.footprints.at(&sheet.unwrap, triangle, barycentric)?;
        Some(ElementId::from_index(first + sheet.first_of(hit.back)? + footprint))
    }

    /// The texels that show a surface, as columns and rows of its page, and the chart that each belongs to.
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

    /// Which footprint of its surface an element stands on.
    fn footprint(&self, id: ElementId) -> usize {
        let surface = self.surface(id);
        let within = id.index() - self.surface_offsets[surface.index()] as usize;
        self.sheet(surface).map_or(0, |sheet| within % sheet.footprints.len())
    }
}

impl Sheet {
    /// Where the elements of a side start among the surface's; `None` for a side that is closed.
    fn first_of(&self, back: bool) -> Option<usize> {
        let index = self.sides.index_of(back)?;
        Some(if self.unwrap.is_two_sided() { 0 } else { index * self.footprints.len() })
    }
}
