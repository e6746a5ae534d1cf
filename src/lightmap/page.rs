//! Lightmap pages, the result of a bake.

use core::f32::consts::FRAC_1_PI;

use glam::{Vec2, Vec3};

use super::{ElementId, Elements, Layout, PageSize, Texel};
use crate::geometry::Hit;

/// Texture format of a page's texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFormat {
    /// Four half floats, used by a live bake.
    HalfFloat,
    /// Three mantissas with a shared exponent, used by stored levels.
    SharedExponent,
}

impl PageFormat {
    /// Returns the number of bytes per texel.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::HalfFloat => 8,
            Self::SharedExponent => 4,
        }
    }
}

/// Lightmap page: one texture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Irradiance / pi at the surface in cd/m2, rows from the top. Bevy multiplies it with the surface's diffuse color.
    pub texels: Vec<Vec3>,
    /// Fraction of each texel's footprint that light can reach, in 0..=1. Zero if the footprint lies inside geometry or
    /// the texel shows no surface.
    pub validity: Vec<f32>,
}

impl Page {
    /// Creates a black page.
    pub fn new(PageSize { width, height }: PageSize) -> Self {
        let count = width as usize * height as usize;
        Self { width, height, texels: vec![Vec3::ZERO; count], validity: vec![0.0; count] }
    }

    /// Returns [`validity`](Self::validity) scaled to 0..=255, rows from the top.
    pub fn validity_bytes(&self) -> Vec<u8> {
        self.validity.iter().map(|valid| (valid.clamp(0.0, 1.0) * 255.0).round() as u8).collect()
    }

    /// Returns a texel's index in the page's arrays.
    #[inline]
    pub fn index(&self, x: u32, y: u32) -> usize {
        y as usize * self.width as usize + x as usize
    }

    /// Returns the bilinearly filtered value at a point, given in texels from the top left corner.
    pub fn filtered(&self, spot: Vec2) -> Vec3 {
        self.taps(spot).read(self)
    }

    /// Returns the value at a point, filtered by the cubic B-spline that Bevy uses for bicubic lightmaps. The point is
    /// given in texels from the top left corner. The filter reads two texels in each direction.
    ///
    /// Source: Sigg and Hadwiger 2005, "Fast third-order texture filtering". Bevy approximates two of its terms.
    pub fn filtered_bicubic(&self, spot: Vec2) -> Vec3 {
        let position = spot - 0.5;
        let corner = position.floor();
        let [columns, rows] = (position - corner).to_array().map(b_spline);
        let at = |start: f32, offset: usize, count: u32| {
            (start as i64 + offset as i64 - 1).clamp(0, i64::from(count) - 1) as u32
        };
        let mut sum = Vec3::ZERO;
        for (j, &of_row) in rows.iter().enumerate() {
            for (i, &of_column) in columns.iter().enumerate() {
                let texel = self.index(at(corner.x, i, self.width), at(corner.y, j, self.height));
                sum += self.texels[texel] * (of_row * of_column);
            }
        }
        sum
    }

    /// Returns the texels that bilinear filtering reads at a point, given in texels from the top left corner.
    pub(super) fn taps(&self, spot: Vec2) -> Taps {
        let position = spot - 0.5;
        let corner = position.floor();
        let column = |offset: i64| (corner.x as i64 + offset).clamp(0, i64::from(self.width) - 1) as u32;
        let row = |offset: i64| (corner.y as i64 + offset).clamp(0, i64::from(self.height) - 1) as u32;
        let texel = |x: i64, y: i64| row(y) * self.width + column(x);
        Taps { texels: [texel(0, 0), texel(1, 0), texel(0, 1), texel(1, 1)], blend: position - corner }
    }
}

/// Returns the weights of the four texels around a point between the second and the third of them.
fn b_spline(along: f32) -> [f32; 4] {
    let [square, cube] = [along * along, along * along * along];
    let rest = 1.0 - along;
    [
        rest * rest * rest / 6.0,
        (3.0 * cube - 6.0 * square + 4.0) / 6.0,
        (3.0 * (along + square - cube) + 1.0) / 6.0,
        cube / 6.0,
    ]
}

/// Four texels read by bilinear filtering, with their weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taps {
    /// Indices of the texels: upper left, upper right, lower left, lower right.
    pub texels: [u32; 4],
    /// Fractional position between left and right, and between upper and lower texels, in 0..=1.
    pub blend: Vec2,
}

impl Taps {
    /// Returns the weight of each texel. The weights add up to one.
    pub fn shares(&self) -> [f32; 4] {
        let Vec2 { x, y } = self.blend;
        [(1.0 - x) * (1.0 - y), x * (1.0 - y), (1.0 - x) * y, x * y]
    }

    /// Returns the filtered value; exactly the texels' value if they are all equal.
    pub fn read(&self, page: &Page) -> Vec3 {
        let [a, b, c, d] = self.texels.map(|texel| page.texels[texel as usize]);
        let (top, bottom) = (a + (b - a) * self.blend.x, c + (d - c) * self.blend.x);
        top + (bottom - top) * self.blend.y
    }
}

/// Returns the irradiance in lux that the pages hold at a hit; `None` on a surface without texels.
pub fn irradiance_at(layout: &Layout, pages: &[Page], hit: &Hit) -> Option<Vec3> {
    let (page, spot) = spot_of(layout, hit)?;
    Some(pages[page].filtered(spot) * core::f32::consts::PI)
}

/// Returns the page of a hit, and its place there in texels from the top left corner. `None` on a surface without texels.
pub fn spot_of(layout: &Layout, hit: &Hit) -> Option<(usize, Vec2)> {
    let placement = layout.placement(hit.surface)?;
    let (triangle, barycentric) = placement.unwrap.drawn(hit.triangle, hit.barycentric, hit.back);
    let mesh = &placement.unwrap.mesh;
    let uv = mesh.interpolate_uv(&mesh.uv1, triangle, barycentric)?;
    let corner = Vec2::new(placement.rectangle.x as f32, placement.rectangle.y as f32);
    let size = Vec2::new(placement.rectangle.width as f32, placement.rectangle.height as f32);
    Some((placement.page as usize, corner + uv * size))
}

/// Writes a solver's result to the layout's pages.
///
/// `irradiance` is in lux, averaged over the visible part of each element; `valid` is the visible fraction, in 0..=1. A
/// texel that is cut into several elements gets the average over their visible parts. For a surface that is open on
/// both sides, only the side that its texels show is used.
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

    #[test]
    fn bicubic_filtering_spreads_one_texel_over_two_in_each_direction_and_keeps_slopes() {
        let mut page = Page::new(PageSize { width: 8, height: 1 });
        page.texels[4] = Vec3::splat(48.0);
        // Values of the cubic B-spline at distances of 0, 1/2, 1, 3/2 and 2: 2/3, 23/48, 1/6, 1/48 and 0.
        for (distance, expected) in [(0.0, 32.0), (0.5, 23.0), (1.0, 8.0), (1.5, 1.0), (2.0, 0.0)] {
            for x in [4.5 - distance, 4.5 + distance] {
                let value = page.filtered_bicubic(Vec2::new(x, 0.5)).x;
                assert!((value - expected).abs() < 1e-4, "{value} at {x}");
            }
        }
        page.texels = (0..8).map(|x| Vec3::splat(x as f32)).collect();
        assert!((page.filtered_bicubic(Vec2::new(4.25, 0.2)).x - 3.75).abs() < 1e-5);
    }
}
