//! Alignment of a chart to its smallest bounding rectangle, scaled to whole texels.

use glam::Vec2;

use super::flatten::{Chart, bounds};

/// Maximum loss of width or height in texels; a larger remainder rounds up to a whole texel.
const SHRINK: f32 = 0.1;

/// Rotates the chart so that its bounding rectangle starts at the origin and is smallest. Then scales it to whole
/// texels, so that edges of rectangular charts fall on texel borders. Returns columns and rows.
pub(super) fn straighten(chart: &mut Chart) -> [u32; 2] {
    let axis = smallest_rectangle_axis(&convex_hull(&chart.points));
    for point in &mut chart.points {
        *point = turned(*point, axis);
    }
    fit_whole_texels(&mut chart.points)
}

/// Scales points to a whole number of texels in each direction, at least one, and moves them to the origin.
pub(super) fn fit_whole_texels(points: &mut [Vec2]) -> [u32; 2] {
    let (min, max) = bounds(points);
    let extent = max - min;
    let size = (extent - SHRINK).ceil().max(Vec2::ONE);
    for point in points {
        let relative = (*point - min) / extent.max(Vec2::splat(f32::MIN_POSITIVE));
        *point = relative.clamp(Vec2::ZERO, Vec2::ONE) * size;
    }
    [size.x as u32, size.y as u32]
}

fn turned(point: Vec2, axis: Vec2) -> Vec2 {
    Vec2::new(axis.dot(point), axis.perp_dot(point))
}

/// Returns the direction of a side of the smallest rectangle around a hull. One side lies along an edge of the hull
/// (Freeman and Shapira 1975).
fn smallest_rectangle_axis(hull: &[Vec2]) -> Vec2 {
    let mut best = (f32::INFINITY, Vec2::X);
    for (index, from) in hull.iter().enumerate() {
        let Some(axis) = (hull[(index + 1) % hull.len()] - from).try_normalize() else {
            continue;
        };
        let turned: Vec<Vec2> = hull.iter().map(|point| turned(*point, axis)).collect();
        let (min, max) = bounds(&turned);
        let area = (max - min).element_product();
        // The margin keeps rounding from choosing between the equal rectangles of a square.
        if area < best.0 * 0.9999 {
            best = (area, axis);
        }
    }
    best.1
}

/// Returns the corners of the convex hull in order (Andrew 1979).
fn convex_hull(points: &[Vec2]) -> Vec<Vec2> {
    let mut sorted = points.to_vec();
    sorted.sort_unstable_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    sorted.dedup();
    let mut hull = half_hull(sorted.iter());
    hull.extend(half_hull(sorted.iter().rev()));
    hull
}

/// Returns one side of the hull of sorted points, without its last corner.
fn half_hull<'a>(points: impl Iterator<Item = &'a Vec2>) -> Vec<Vec2> {
    let mut hull: Vec<Vec2> = Vec::new();
    for &point in points {
        while let [.., before, last] = hull[..]
            && (last - before).perp_dot(point - last) <= 0.0
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull.pop();
    hull
}
