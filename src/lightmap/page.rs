//! Lightmap pages, the result of a bake.

use core::f32::consts::FRAC_1_PI;

use glam::{Vec2, Vec3};
use serde::{Deserialize, Serialize};

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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Irradiance / pi at the surface in cd/m2, rows from the top. Bevy multiplies it with the surface's diffuse color.
    #[serde(with = "crate::raw_values")]
    pub texels: Vec<Vec3>,
    /// Fraction of each texel's footprint that light can reach, in 0..=1. Zero if the footprint lies inside geometry or
    /// the texel shows no surface.
    #[serde(with = "crate::raw_values")]
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
        Taps::bilinear(self, spot).read(self)
    }

    /// Returns the value at a point, filtered by the cubic B-spline that Bevy uses for bicubic lightmaps. The point is
    /// given in texels from the top left corner. The filter reads two texels in each direction.
    ///
    /// Source: Sigg and Hadwiger 2005, "Fast third-order texture filtering". Bevy approximates two of its terms, which
    /// changes the weights by less than 1/500.
    pub fn filtered_bicubic(&self, spot: Vec2) -> Vec3 {
        Taps::bicubic(self, spot).read(self)
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

/// Texels that a filter reads at a point, with their weights: `COUNT` of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taps<const COUNT: usize> {
    /// Indices of the texels, rows from the top.
    pub texels: [u32; COUNT],
    /// Weight of each texel. They add up to one.
    pub shares: [f32; COUNT],
}

impl Taps<4> {
    /// Returns the texels of bilinear filtering at a point, given in texels from the top left corner.
    pub fn bilinear(page: &Page, spot: Vec2) -> Self {
        Self::of(page, spot, 0, |along| [1.0 - along, along])
    }
}

impl Taps<16> {
    /// Returns the texels of bicubic filtering at a point, given in texels from the top left corner.
    pub fn bicubic(page: &Page, spot: Vec2) -> Self {
        Self::of(page, spot, 1, b_spline)
    }
}

impl<const COUNT: usize> Taps<COUNT> {
    /// Returns the texels of a filter that is a product of two. `before` is the number of texels before the last one
    /// whose center is not beyond the point, in each direction.
    fn of<const EDGE: usize>(page: &Page, spot: Vec2, before: i64, shares: impl Fn(f32) -> [f32; EDGE]) -> Self {
        let position = spot - 0.5;
        let corner = position.floor();
        let [columns, rows] = (position - corner).to_array().map(shares);
        // The edge of a page goes on beyond it.
        let at = |start: f32, offset: usize, count: u32| {
            (start as i64 + offset as i64 - before).clamp(0, i64::from(count) - 1) as u32
        };
        Self {
            texels: core::array::from_fn(|tap| {
                at(corner.y, tap / EDGE, page.height) * page.width + at(corner.x, tap % EDGE, page.width)
            }),
            shares: core::array::from_fn(|tap| rows[tap / EDGE] * columns[tap % EDGE]),
        }
    }

    /// Returns the filtered value; exactly the texels' value if they are all equal.
    pub fn read(&self, page: &Page) -> Vec3 {
        let first = page.texels[self.texels[0] as usize];
        let rest = self.texels.iter().zip(self.shares).skip(1);
        first + rest.map(|(&texel, share)| (page.texels[texel as usize] - first) * share).sum::<Vec3>()
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
