//! The pictures that a bake ends in.

use core::f32::consts::FRAC_1_PI;

use glam::{Vec2, Vec3};

use super::{ElementId, Elements, Layout, PageSize, Texel};
use crate::geometry::Hit;

/// How a page's texels are stored in textures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFormat {
    /// Four half floats: what a live bake writes.
    HalfFloat,
    /// Three mantissas with a common exponent: what baked levels are stored as.
    SharedExponent,
}

impl PageFormat {
    /// Bytes of a texel.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::HalfFloat => 8,
            Self::SharedExponent => 4,
        }
    }
}

/// One lightmap texture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Irradiance / pi at the surface in cd/m2, rows from the top: what Bevy multiplies with the surface's diffuse colour.
    pub texels: Vec<Vec3>,
    /// How much of each texel's footprint light can reach: from 1 down to 0 for one that is buried in other geometry or
    /// shows no surface at all.
    pub validity: Vec<f32>,
}

impl Page {
    /// A black page.
    pub fn new(PageSize { width, height }: PageSize) -> Self {
        let count = width as usize * height as usize;
        Self { width, height, texels: vec![Vec3::ZERO; count], validity: vec![0.0; count] }
    }

    /// [`validity`](Self::validity) from 0 for nothing to 255 for all, rows from the top.
    pub fn validity_bytes(&self) -> Vec<u8> {
        self.validity.iter().map(|valid| (valid.clamp(0.0, 1.0) * 255.0).round() as u8).collect()
    }

    /// Where a texel stands in the page's arrays.
    #[inline]
    pub fn index(&self, x: u32, y: u32) -> usize {
        y as usize * self.width as usize + x as usize
    }

    /// What a linear filter shows at a point, given in texels from the top left corner.
    pub fn filtered(&self, spot: Vec2) -> Vec3 {
        self.taps(spot).read(self)
    }

    /// The texels that a linear filter reads at a point, given in texels from the top left corner.
    pub(super) fn taps(&self, spot: Vec2) -> Taps {
        let position = spot - 0.5;
        let corner = position.floor();
        let column = |offset: i64| (corner.x as i64 + offset).clamp(0, i64::from(self.width) - 1) as u32;
        let row = |offset: i64| (corner.y as i64 + offset).clamp(0, i64::from(self.height) - 1) as u32;
        let texel = |x: i64, y: i64| row(y) * self.width + column(x);
        Taps { texels: [texel(0, 0), texel(1, 0), texel(0, 1), texel(1, 1)], blend: position - corner }
    }
}

/// The four texels that a linear filter reads, and how it mixes them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taps {
    /// Numbers of the texels: upper left, upper right, lower left, lower right.
    pub texels: [u32; 4],
    /// How far the point is from the left and from the upper ones, from 0 to 1.
    pub blend: Vec2,
}

impl Taps {
    /// What each texel contributes; the sum is one.
    pub fn shares(&self) -> [f32; 4] {
        let Vec2 { x, y } = self.blend;
        [(1.0 - x) * (1.0 - y), x * (1.0 - y), (1.0 - x) * y, x * y]
    }

    /// What the filter shows; exactly the texels' value where they are all the same.
    pub fn read(&self, page: &Page) -> Vec3 {
        let [a, b, c, d] = self.texels.map(|texel| page.texels[texel as usize]);
        let (top, bottom) = (a + (b - a) * self.blend.x, c + (d - c) * self.blend.x);
        top + (bottom - top) * self.blend.y
    }
}

/// Irradiance in lux that the pages show where a ray met a surface; `None` on a surface without texels.
pub fn irradiance_at(layout: &Layout, pages: &[Page], hit: &Hit) -> Option<Vec3> {
    let placement = layout.placement(hit.surface)?;
    let (triangle, barycentric) = placement.unwrap.drawn(hit.triangle, hit.barycentric, hit.back);
    let mesh = &placement.unwrap.mesh;
    let uv = mesh.interpolate_uv(&mesh.uv1, triangle, barycentric)?;
    let corner = Vec2::new(placement.rectangle.x as f32, placement.rectangle.y as f32);
    let size = Vec2::new(placement.rectangle.width as f32, placement.rectangle.height as f32);
    Some(pages[placement.page as usize].filtered(corner + uv * size) * core::f32::consts::PI)
}

/// Puts what a solver found on the layout's pages.
///
/// `irradiance` is in lux, the average over the visible part of each element; `valid` is that part, from 0 to 1. A texel
/// that is cut into several elements shows the average of what is visible of them. Of a surface that is open on both
/// sides, the side that its texels show is taken.
pub fn pages(layout: &Layout, elements: &Elements, irradiance: &[Vec3], valid: &[f32]) -> Vec<Page> {
    let mut pages: Vec<Page> = layout.pages.iter().copied().map(Page::new).collect();
    for texel in elements.texels().filter(|texel| elements.is_shown(ElementId::from_index(texel.start))) {
        let Texel { page, x, y } = elements.texel[texel.start];
        let page = &mut pages[page as usize];
        let at = page.index(u32::from(x), u32::from(y));
        let (light, visible) = elements.mean_over(texel, irradiance, valid);
        page.texels[at] = light * FRAC_1_PI;
        page.validity[at] = visible;
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_texels_lies_their_mean() {
        let mut page = Page::new(PageSize { width: 2, height: 1 });
        page.texels = vec![Vec3::ZERO, Vec3::splat(4.0)];
        assert_eq!(page.filtered(Vec2::new(0.5, 0.5)), Vec3::ZERO);
        assert_eq!(page.filtered(Vec2::new(1.0, 0.5)), Vec3::splat(2.0));
        assert_eq!(page.filtered(Vec2::new(2.0, 0.9)), Vec3::splat(4.0), "the edge goes on beyond the page");
    }
}
