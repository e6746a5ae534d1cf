//! Exact averages of textures over polygons, in linear light.
//!
//! The texture is treated as a mosaic of constant texels. Its average over a polygon is the sum of the texels weighted
//! by covered area. Coverage is computed from the polygon's edges alone: each edge adds the signed area to its right,
//! as font rasterizers do. A polygon wider than [`WIDEST`] texels uses a coarser mip level.

use glam::{Vec2, Vec4};

use super::Texture;
use super::mip_chain::{MipLevel, Weight};

/// Maximum extent of a polygon in texels before a coarser mip level is used.
const WIDEST: f32 = 16.0;
/// A polygon of that width touches one more texel, and coverage carries over into the next.
const COLUMNS: usize = WIDEST as usize + 2;
const ROWS: usize = WIDEST as usize + 1;

impl Texture {
    /// Returns the mean over a convex polygon in texture coordinates (origin at the top left): color weighted as
    /// requested, and mean alpha.
    ///
    /// A polygon smaller than a texel is sampled with bilinear filtering at its center.
    pub fn average(&self, polygon: &[Vec2], weight: Weight) -> Vec4 {
        let center = polygon.iter().sum::<Vec2>() / polygon.len().max(1) as f32;
        let mut grid = Grid::Texture(self);
        let extent = extent_of(polygon);
        if !extent.is_finite() || (extent * grid.size()).max_element() < 1.0 {
            return self.sample(center);
        }
        if (extent * grid.size()).max_element() > WIDEST {
            let levels = self.mip_chains.levels(self, weight);
            let fits = |level: &&MipLevel| (extent * Grid::MipLevel(level).size()).max_element() <= WIDEST;
            let Some(level) = levels.iter().find(fits) else {
                return levels.last().map_or(Vec4::ONE, |whole| weight.undo(whole.texel(0, 0)));
            };
            grid = Grid::MipLevel(level);
        }
        let mean = grid.mean(polygon, self, weight);
        mean.map_or_else(|| self.sample(center), |mean| weight.undo(mean))
    }
}

fn extent_of(polygon: &[Vec2]) -> Vec2 {
    let min = polygon.iter().copied().fold(Vec2::INFINITY, Vec2::min);
    let max = polygon.iter().copied().fold(Vec2::NEG_INFINITY, Vec2::max);
    max - min
}

/// Texel grid on which coverage is computed.
enum Grid<'a> {
    Texture(&'a Texture),
    MipLevel(&'a MipLevel),
}

impl Grid<'_> {
    fn size(&self) -> Vec2 {
        match self {
            Self::Texture(texture) => Vec2::new(texture.width as f32, texture.height as f32),
            Self::MipLevel(level) => Vec2::new(level.width as f32, level.height as f32),
        }
    }

    /// Returns the mean of weighted texels; `None` for a polygon without area.
    fn mean(&self, polygon: &[Vec2], texture: &Texture, weight: Weight) -> Option<Vec4> {
        let size = self.size();
        let origin = polygon.iter().map(|&corner| corner * size).fold(Vec2::INFINITY, Vec2::min).floor();
        let coverage = Coverage::of(polygon.iter().map(|&corner| corner * size - origin));
        let (mut sum, mut area) = (Vec4::ZERO, 0.0);
        coverage.for_each(|column, row, covered| {
            let (x, y) = (origin.x as i64 + column as i64, origin.y as i64 + row as i64);
            let texel = match self {
                Self::Texture(texture) => weight.apply(texture.texel(x, y)),
                Self::MipLevel(level) => {
                    level.texel(texture.wrap[0].apply(x, level.width), texture.wrap[1].apply(y, level.height))
                }
            };
            sum += texel * covered;
            area += covered;
        });
        (area.abs() > f32::EPSILON).then(|| sum / area)
    }
}

/// Covered area of each cell of a small grid; negative where the polygon has the opposite orientation.
struct Coverage {
    /// Differences of coverage from one cell to the next in its row.
    steps: [[f32; COLUMNS]; ROWS],
    rows: usize,
}

impl Coverage {
    /// Computes the coverage of a polygon whose corners lie within the grid.
    fn of(corners: impl Iterator<Item = Vec2> + Clone) -> Self {
        let mut coverage = Self { steps: [[0.0; COLUMNS]; ROWS], rows: 0 };
        let following = corners.clone().cycle().skip(1);
        for (from, to) in corners.zip(following) {
            coverage.rows = coverage.rows.max(from.y.ceil() as usize).min(ROWS);
            for_each_piece(from, to, 1, |from, to| {
                for_each_piece(from, to, 0, |from, to| coverage.add_within_cell(from, to));
            });
        }
        coverage
    }

    /// Adds the area to the right of an edge that stays within one cell.
    fn add_within_cell(&mut self, from: Vec2, to: Vec2) {
        let middle = (from + to) * 0.5;
        let height = to.y - from.y;
        let (column, row) = ((middle.x as usize).min(COLUMNS - 2), (middle.y as usize).min(ROWS - 1));
        let beyond = height * (middle.x - column as f32);
        self.steps[row][column] += height - beyond;
        self.steps[row][column + 1] += beyond;
    }

    fn for_each(&self, mut visit: impl FnMut(usize, usize, f32)) {
        for (row, steps) in self.steps[..self.rows].iter().enumerate() {
            let mut covered = 0.0;
            for (column, step) in steps[..COLUMNS - 1].iter().enumerate() {
                covered += step;
                if covered != 0.0 {
                    visit(column, row, covered);
                }
            }
        }
    }
}

/// Splits an edge where its coordinate on an axis is an integer.
fn for_each_piece(from: Vec2, to: Vec2, axis: usize, mut visit: impl FnMut(Vec2, Vec2)) {
    let (first, last) = (from[axis], to[axis]);
    // Coordinates are not negative, so truncation equals floor, and is much faster.
    let floor = first as i32 as f32;
    let (step, mut cut) = match first < last {
        true => (1.0, floor + 1.0),
        false => (-1.0, if floor < first { floor } else { floor - 1.0 }),
    };
    let mut start = from;
    while (last - cut) * step > 0.0 {
        let mut end = from.lerp(to, (cut - first) / (last - first));
        end[axis] = cut;
        visit(start, end);
        start = end;
        cut += step;
    }
    visit(start, to);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sobol::OwenSobol;
    use crate::scene::{MipChains, Texels, Wrap};

    fn texture(width: u32, height: u32, texel: impl Fn(u32, u32) -> Vec4) -> Texture {
        let texels = (0..width * height).map(|index| texel(index % width, index / width)).collect();
        Texture {
            name: "picture".into(),
            width,
            height,
            texels: Texels::Float(texels),
            wrap: [Wrap::Repeat; 2],
            mip_chains: MipChains::default(),
        }
    }

    fn noise(width: u32, height: u32) -> Texture {
        let points = OwenSobol::new(5);
        texture(width, height, |x, y| Vec4::from_array(points.point(x + y * width)))
    }

    fn rectangle(min: Vec2, max: Vec2) -> [Vec2; 4] {
        [min, Vec2::new(max.x, min.y), max, Vec2::new(min.x, max.y)]
    }

    #[test]
    fn texels_count_by_the_area_that_is_covered_of_them() {
        let columns = texture(4, 4, |x, _| Vec4::splat(x as f32));
        // Covers a quarter of column 0, columns 1 and 2, and half of column 3, in any rows and either direction.
        let mut polygon = rectangle(Vec2::new(0.1875, 0.1), Vec2::new(0.875, 0.77));
        let expected = (0.0 * 0.25 + 1.0 + 2.0 + 3.0 * 0.5) / 2.75;
        for _ in 0..2 {
            let mean = columns.average(&polygon, Weight::Area).x;
            assert!((mean - expected).abs() < 1e-5, "{mean} {expected}");
            polygon.reverse();
        }
    }

    #[test]
    fn a_tilted_triangle_averages_what_dense_points_average() {
        let texture = noise(12, 9);
        let corners = [Vec2::new(-0.3, 0.2), Vec2::new(0.9, -0.15), Vec2::new(0.35, 0.8)];
        let points = OwenSobol::new(8);
        let count = 1 << 16;
        let dense = (0..count)
            .map(|index| {
                let [x, y, ..] = points.point(index);
                let weights = crate::geometry::sampling::uniform_triangle(Vec2::new(x, y));
                let uv = corners[0] + (corners[1] - corners[0]) * weights.x + (corners[2] - corners[0]) * weights.y;
                texture.texel((uv.x * 12.0).floor() as i64, (uv.y * 9.0).floor() as i64)
            })
            .sum::<Vec4>()
            / count as f32;
        let mean = texture.average(&corners, Weight::Area);
        assert!((mean - dense).abs().max_element() < 1e-3, "{mean} {dense}");
    }

    #[test]
    fn the_whole_of_a_large_picture_averages_to_the_mean_of_its_texels() {
        for (width, height) in [(64, 64), (130, 51), (1, 333)] {
            let texture = noise(width, height);
            let Texels::Float(texels) = &texture.texels else { unreachable!() };
            let expected = texels.iter().sum::<Vec4>() / texels.len() as f32;
            // Shifting a repeated texture keeps its mean.
            for (min, max) in [(Vec2::ZERO, Vec2::ONE), (Vec2::new(-1.25, 0.5), Vec2::new(1.75, 2.5))] {
                let mean = texture.average(&rectangle(min, max), Weight::Area);
                assert!((mean - expected).abs().max_element() < 2e-3, "{width} x {height}: {mean} {expected}");
            }
        }
    }

    #[test]
    fn coarse_levels_average_aligned_parts_exactly() {
        let texture = noise(256, 256);
        let expected = (64..128).flat_map(|y| (128..192).map(move |x| (x, y)));
        let expected = expected.map(|(x, y)| texture.texel(x, y)).sum::<Vec4>() / 4096.0;
        let mean = texture.average(&rectangle(Vec2::new(0.5, 0.25), Vec2::new(0.75, 0.5)), Weight::Area);
        assert!((mean - expected).abs().max_element() < 1e-5, "{mean} {expected}");
    }

    #[test]
    fn averages_are_taken_in_linear_light() {
        let mut texture = texture(2, 2, |_, _| Vec4::ONE);
        texture.texels = Texels::Srgb8(vec![[0, 0, 0, 255], [255; 4], [255; 4], [0, 0, 0, 255]]);
        let mean = texture.average(&rectangle(Vec2::ZERO, Vec2::ONE), Weight::Area);
        assert_eq!(mean, Vec4::new(0.5, 0.5, 0.5, 1.0));
    }

    #[test]
    fn cut_out_texels_do_not_tint_what_remains() {
        let leaf = Vec4::new(0.1, 0.6, 0.2, 1.0);
        for size in [4, 64] {
            let texture = texture(size, size, |x, _| if x % 2 == 0 { leaf } else { Vec4::new(1.0, 0.0, 1.0, 0.0) });
            let mean = texture.average(&rectangle(Vec2::ZERO, Vec2::ONE), Weight::Alpha);
            assert!((mean - leaf.truncate().extend(0.5)).abs().max_element() < 1e-5, "{mean}");
        }
    }

    #[test]
    fn unusable_coordinates_give_some_color_and_no_panic() {
        let texture = noise(8, 8);
        for corner in [f32::NAN, f32::INFINITY, 1e30, -3e9, 0.0] {
            let polygon = [Vec2::ZERO, Vec2::new(corner, 0.3), Vec2::new(0.2, corner)];
            assert!(texture.average(&polygon, Weight::Area).is_finite(), "{corner}");
            assert!(texture.average(&[Vec2::splat(corner); 3], Weight::Alpha).is_finite(), "{corner}");
        }
        assert!(texture.average(&[], Weight::Area).is_finite());
    }
}
