//! Overlap tests of triangles in the plane.

use glam::Vec2;

/// Overlap below which triangles only touch, as a fraction of their height and in texels.
const TOUCH: f32 = 1e-3;

/// Triangle in the plane, in texels.
pub(super) type FlatTriangle = [Vec2; 3];

/// Non-overlapping triangles in the plane, in a grid that finds nearby ones.
pub(super) struct Occupied {
    origin: Vec2,
    cells_per_texel: f32,
    columns: usize,
    rows: usize,
    /// First entry of each cell.
    heads: Vec<u32>,
    /// Triangle, and the next entry in its cell.
    entries: Vec<(u32, u32)>,
    triangles: Vec<FlatTriangle>,
}

const END: u32 = u32::MAX;

impl Occupied {
    /// Prepares a grid for about `count` triangles within a rectangle.
    pub fn new(min: Vec2, max: Vec2, count: usize) -> Self {
        let size = (max - min).max(Vec2::splat(f32::MIN_POSITIVE));
        let cell = (size.x * size.y / count.max(1) as f32).sqrt().max(size.max_element() / (4.0 * count as f32 + 16.0));
        let cells_per_texel = 1.0 / cell.max(f32::MIN_POSITIVE);
        let (columns, rows) = ((size.x * cells_per_texel) as usize + 1, (size.y * cells_per_texel) as usize + 1);
        Self {
            origin: min,
            cells_per_texel,
            columns,
            rows,
            heads: vec![END; columns * rows],
            entries: Vec::with_capacity(count * 2),
            triangles: Vec::with_capacity(count),
        }
    }

    /// Adds the triangle unless it overlaps an existing one. Returns true if it was added.
    pub fn insert(&mut self, triangle: FlatTriangle) -> bool {
        let (columns, rows) = self.cells_of(&triangle);
        for row in rows.clone() {
            for column in columns.clone() {
                let mut entry = self.heads[row * self.columns + column];
                while entry != END {
                    let (other, next) = self.entries[entry as usize];
                    if overlap(&triangle, &self.triangles[other as usize]) {
                        return false;
                    }
                    entry = next;
                }
            }
        }
        let id = self.triangles.len() as u32;
        self.triangles.push(triangle);
        for row in rows {
            for column in columns.clone() {
                let head = &mut self.heads[row * self.columns + column];
                self.entries.push((id, *head));
                *head = self.entries.len() as u32 - 1;
            }
        }
        true
    }

    fn cells_of(&self, [a, b, c]: &FlatTriangle) -> (std::ops::RangeInclusive<usize>, std::ops::RangeInclusive<usize>) {
        let min = (a.min(*b).min(*c) - self.origin) * self.cells_per_texel;
        let max = (a.max(*b).max(*c) - self.origin) * self.cells_per_texel;
        let column = |x: f32| (x as usize).min(self.columns - 1);
        let row = |y: f32| (y as usize).min(self.rows - 1);
        (column(min.x)..=column(max.x), row(min.y)..=row(max.y))
    }
}

/// Returns true if the triangles share more than an edge or a corner. Slivers overlap nothing.
fn overlap(one: &FlatTriangle, other: &FlatTriangle) -> bool {
    // Relative to a corner, so that shared corners cancel exactly at any distance from the origin.
    let origin = one[0];
    let (one, other) = (one.map(|corner| corner - origin), other.map(|corner| corner - origin));
    let tolerance = TOUCH * height(&one).min(height(&other)).min(1.0);
    !separated(&one, &other, tolerance) && !separated(&other, &one, tolerance)
}

/// Returns the shortest height of a triangle.
fn height([a, b, c]: &FlatTriangle) -> f32 {
    let doubled = (*b - *a).perp_dot(*c - *a).abs();
    doubled / (a.distance(*b).max(b.distance(*c)).max(c.distance(*a))).max(f32::MIN_POSITIVE)
}

/// Returns true if a line along an edge of `one` separates the two triangles.
fn separated(one: &FlatTriangle, other: &FlatTriangle, tolerance: f32) -> bool {
    (0..3).any(|edge| {
        let (from, to, apex) = (one[edge], one[(edge + 1) % 3], one[(edge + 2) % 3]);
        let Some(along) = (to - from).try_normalize() else {
            return false;
        };
        let inside = along.perp_dot(apex - from).signum();
        other.iter().all(|corner| inside * along.perp_dot(*corner - from) <= tolerance)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triangle(corners: [(f32, f32); 3]) -> FlatTriangle {
        corners.map(|(x, y)| Vec2::new(x, y))
    }

    #[test]
    fn triangles_that_share_an_edge_or_a_corner_do_not_overlap_and_crossing_ones_do() {
        let base = triangle([(0.0, 0.0), (4.0, 0.0), (0.0, 4.0)]);
        assert!(!overlap(&base, &triangle([(4.0, 0.0), (4.0, 4.0), (0.0, 4.0)])));
        assert!(!overlap(&base, &triangle([(4.0, 0.0), (8.0, 0.0), (4.0, 4.0)])));
        assert!(overlap(&base, &triangle([(1.0, 1.0), (1.5, 1.0), (1.0, 1.5)])));
        assert!(overlap(&base, &triangle([(-1.0, 1.0), (5.0, 1.0), (5.0, 1.1)])));
        assert!(overlap(&base, &base));
    }

    #[test]
    fn the_grid_refuses_what_overlaps_and_keeps_what_only_touches() {
        let mut occupied = Occupied::new(Vec2::ZERO, Vec2::splat(20.0), 800);
        for y in 0..20 {
            for x in 0..20 {
                let (x, y) = (x as f32, y as f32);
                assert!(occupied.insert(triangle([(x, y), (x + 1.0, y), (x, y + 1.0)])));
                assert!(occupied.insert(triangle([(x + 1.0, y), (x + 1.0, y + 1.0), (x, y + 1.0)])));
            }
        }
        assert!(!occupied.insert(triangle([(3.1, 3.1), (18.0, 3.2), (17.0, 11.0)])));
    }
}
