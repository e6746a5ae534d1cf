//! Rasterization: texels touched by a triangle.

use std::ops::Range;

use glam::Vec2;

use super::flatten::bounds;

/// Returns, for each column that a triangle touches, the rows that it touches there. Texels beyond a border are not
/// touched, but a triangle without extent still touches one. Coordinates must not be negative.
pub(in crate::lightmap) fn column_spans(triangle: [Vec2; 3]) -> impl Iterator<Item = (u32, Range<u32>)> {
    let (min, max) = bounds(&triangle);
    let columns = texels_between(min.x, max.x);
    columns.map(move |column| {
        let (low, high) = rows_in_column(&triangle, column as f32);
        (column, texels_between(low, high))
    })
}

fn texels_between(low: f32, high: f32) -> Range<u32> {
    let first = low as u32;
    // A point on a border belongs to the texel before it, which the chart covers.
    let first = if low == high && low.fract() == 0.0 { first.saturating_sub(1) } else { first };
    first..(high.ceil() as u32).max(first + 1)
}

/// Returns the lowest and highest coordinate of a triangle between `column` and the next.
fn rows_in_column(triangle: &[Vec2; 3], column: f32) -> (f32, f32) {
    let mut rows = (f32::INFINITY, f32::NEG_INFINITY);
    let mut include = |y: f32| rows = (rows.0.min(y), rows.1.max(y));
    for edge in 0..3 {
        let (from, to) = (triangle[edge], triangle[(edge + 1) % 3]);
        if (column..=column + 1.0).contains(&from.x) {
            include(from.y);
        }
        for border in [column, column + 1.0] {
            if (from.x < border) != (to.x < border) {
                let y = from.y + (to.y - from.y) * ((border - from.x) / (to.x - from.x));
                include(y.clamp(from.y.min(to.y), from.y.max(to.y)));
            }
        }
    }
    rows
}

/// Chart that covers each texel of a rectangle.
pub(in crate::lightmap) struct Coverage {
    width: u32,
    height: u32,
    charts: Vec<u32>,
}

/// Value of texels without a chart.
const EMPTY: u32 = u32::MAX;

impl Coverage {
    /// Creates an empty rectangle.
    pub fn new(width: u32, height: u32) -> Self {
        Self { width, height, charts: vec![EMPTY; width as usize * height as usize] }
    }

    /// Marks the texels that a triangle touches. Returns true if another chart had touched any of them.
    pub fn cover(&mut self, triangle: [Vec2; 3], chart: u32) -> bool {
        let mut contested = false;
        for (column, rows) in column_spans(triangle) {
            for row in rows.start..rows.end.min(self.height) {
                let texel = &mut self.charts[row as usize * self.width as usize + column.min(self.width - 1) as usize];
                contested |= *texel != EMPTY && *texel != chart;
                *texel = chart;
            }
        }
        contested
    }

    /// Returns the number of texels touched by charts.
    pub fn covered(&self) -> usize {
        self.charts.iter().filter(|chart| **chart != EMPTY).count()
    }

    /// Returns true if at least `padding` texels lie between any two charts.
    pub fn charts_are_apart(&self, padding: u32) -> bool {
        let (width, height) = (self.width as usize, self.height as usize);
        let reach = padding as usize;
        (0..self.charts.len()).filter(|&texel| self.charts[texel] != EMPTY).all(|texel| {
            let (x, y) = (texel % width, texel / width);
            // Texels to the left and above were compared already.
            (y..(y + reach + 1).min(height)).all(|row| {
                let near =
                    &self.charts[row * width + x.saturating_sub(reach)..row * width + (x + reach + 1).min(width)];
                near.iter().all(|chart| *chart == EMPTY || *chart == self.charts[texel])
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_on_texel_borders_touches_what_lies_inside() {
        let triangle = [Vec2::ZERO, Vec2::new(4.0, 0.0), Vec2::new(0.0, 4.0)];
        let rows: Vec<Range<u32>> = column_spans(triangle).map(|(_, rows)| rows).collect();
        assert_eq!(rows, [0..4, 0..3, 0..2, 0..1]);
    }

    #[test]
    fn charts_are_apart_by_the_texels_between_them() {
        let mut coverage = Coverage::new(8, 8);
        let square = |x: f32| [Vec2::new(x, 1.0), Vec2::new(x + 1.0, 1.0), Vec2::new(x, 2.0)];
        assert!(!coverage.cover(square(1.0), 0));
        assert!(!coverage.cover(square(4.0), 1));
        assert_eq!(coverage.covered(), 2);
        assert!(coverage.charts_are_apart(2) && !coverage.charts_are_apart(3));
        assert!(coverage.cover(square(3.5), 2));
    }
}
