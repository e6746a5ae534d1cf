//! Averages of vertex colors multiplied by a texture.

use glam::{Vec2, Vec4};

use super::Weight;

/// Color difference below which a part counts as uniform.
const ALIKE: f32 = 1.0 / 16.0;
/// Maximum number of recursive subdivisions into four, where colors differ by more.
const MAX_CUTS: u32 = 3;

/// Mean of a texture over a convex part of a triangle.
type MeanTexture<'a> = &'a dyn Fn(&[Vec2]) -> Vec4;

/// Returns the weighted mean of vertex color times texture over a convex part of a triangle, with mean alpha.
///
/// `part` holds, for each corner of the part, the barycentric weights of the triangle's second and third corner.
/// `texture` returns the texture's mean over such a part; `None` means white.
pub(super) fn mean_with_texture(
    colors: [Vec4; 3],
    part: &[Vec2],
    weight: Weight,
    texture: Option<MeanTexture>,
) -> Vec4 {
    let gradient = Gradient::new(colors);
    let whole = |texel: Vec4| gradient.at(centroid(part)) * texel;
    // The color is linear over a part, so its unweighted mean is its value at the centroid.
    let is_even = texture.is_none() && (weight == Weight::Area || gradient.edges.iter().all(|edge| edge.w == 0.0));
    if is_even || part.len() < 3 || gradient.spread(part) < ALIKE {
        return whole(texture.map_or(Vec4::ONE, |mean| mean(part)));
    }
    let mut sum = Sum { weight, ..Sum::default() };
    for corners in part[1..].array_windows::<2>() {
        sum.add(&gradient, [part[0], corners[0], corners[1]], texture, MAX_CUTS);
    }
    if sum.area > 0.0 { weight.undo(sum.value / sum.area) } else { whole(texture.map_or(Vec4::ONE, |mean| mean(part))) }
}

/// Color that varies linearly over a triangle.
struct Gradient {
    corner: Vec4,
    edges: [Vec4; 2],
}

impl Gradient {
    fn new([a, b, c]: [Vec4; 3]) -> Self {
        Self { corner: a, edges: [b - a, c - a] }
    }

    fn at(&self, barycentric: Vec2) -> Vec4 {
        self.corner + self.edges[0] * barycentric.x + self.edges[1] * barycentric.y
    }

    /// Returns the largest difference of a channel between corners of a part.
    fn spread(&self, part: &[Vec2]) -> f32 {
        let colors = || part.iter().map(|&corner| self.at(corner));
        let (min, max) = (colors().fold(Vec4::INFINITY, Vec4::min), colors().fold(Vec4::NEG_INFINITY, Vec4::max));
        (max - min).max_element()
    }
}

/// Area-weighted sum of products.
#[derive(Default)]
struct Sum {
    weight: Weight,
    value: Vec4,
    area: f32,
}

impl Sum {
    fn add(&mut self, gradient: &Gradient, [a, b, c]: [Vec2; 3], texture: Option<MeanTexture>, cuts: u32) {
        if cuts > 0 && gradient.spread(&[a, b, c]) >= ALIKE {
            let (ab, bc, ca) = ((a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5);
            for quarter in [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]] {
                self.add(gradient, quarter, texture, cuts - 1);
            }
            return;
        }
        let area = (b - a).perp_dot(c - a).abs();
        let texel = texture.map_or(Vec4::ONE, |mean| mean(&[a, b, c]));
        self.value += self.weight.apply(gradient.at((a + b + c) / 3.0) * texel) * area;
        self.area += area;
    }
}

/// Returns the centroid of a convex polygon; the mean of its corners if the polygon has no area.
fn centroid(polygon: &[Vec2]) -> Vec2 {
    let mean = polygon.iter().sum::<Vec2>() / polygon.len().max(1) as f32;
    let (mut sum, mut area) = (Vec2::ZERO, 0.0);
    if let Some((&first, others)) = polygon.split_first() {
        for &[b, c] in others.array_windows::<2>() {
            let piece = (b - first).perp_dot(c - first);
            sum += (b + c - first * 2.0) * (piece / 3.0);
            area += piece;
        }
        let center = first + sum / area;
        if center.is_finite() {
            return center;
        }
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [Vec2; 3] = [Vec2::ZERO, Vec2::X, Vec2::Y];
    const BLACK: Vec4 = Vec4::new(0.0, 0.0, 0.0, 1.0);

    fn gray(value: f32) -> Vec4 {
        Vec4::new(value, value, value, 1.0)
    }

    fn is_near(mean: Vec4, expected: Vec4, tolerance: f32) {
        assert!((mean - expected).abs().max_element() < tolerance, "{mean} {expected}");
    }

    #[test]
    fn color_alone_has_the_mean_of_the_part_that_is_asked_for() {
        // Red grows with the weight of the second corner.
        let colors = [BLACK, Vec4::ONE, BLACK];
        is_near(mean_with_texture(colors, &WHOLE, Weight::Area, None), gray(1.0 / 3.0), 1e-6);
        // A square has its centroid in its middle, whatever corners it is given by.
        let square = [Vec2::ZERO, Vec2::new(0.25, 0.0), Vec2::new(0.5, 0.0), Vec2::splat(0.5), Vec2::new(0.0, 0.5)];
        is_near(mean_with_texture(colors, &square, Weight::Area, None), gray(0.25), 1e-6);
    }

    #[test]
    fn the_mean_of_a_product_is_not_the_product_of_means() {
        // Color and texture both are the weight of the second corner: the mean of its square over the triangle is 1/6,
        // while the product of the means is 1/9.
        let texture = |part: &[Vec2]| gray(centroid(part).x);
        let mean = mean_with_texture([BLACK, Vec4::ONE, BLACK], &WHOLE, Weight::Area, Some(&texture));
        is_near(mean, gray(1.0 / 6.0), 2e-3);
    }

    #[test]
    fn what_alpha_clears_away_does_not_tint_what_is_left() {
        // Green where alpha is one, red where it is zero: weighted by alpha, the mean of `w * w` over that of `w`.
        let (red, green) = (Vec4::new(1.0, 0.0, 0.0, 0.0), Vec4::new(0.0, 1.0, 0.0, 1.0));
        let mean = mean_with_texture([red, green, red], &WHOLE, Weight::Alpha, None);
        is_near(mean, Vec4::new(0.5, 0.5, 0.0, 1.0 / 3.0), 4e-3);
    }

    #[test]
    fn parts_without_area_have_some_color() {
        let line = [Vec2::ZERO, Vec2::X, Vec2::new(0.5, 0.0)];
        let texture = |_: &[Vec2]| Vec4::ONE;
        for weight in [Weight::Area, Weight::Alpha] {
            assert!(mean_with_texture([BLACK, Vec4::ONE, BLACK], &line, weight, Some(&texture)).is_finite());
            assert!(mean_with_texture([BLACK, Vec4::ONE, BLACK], &[Vec2::X], weight, None).is_finite());
        }
    }
}
