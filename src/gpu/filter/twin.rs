//! CPU reference of the filter, for tests of the shader.

use glam::{IVec2, UVec2, Vec2, Vec3};

use super::{MAX_HISTORY, STRIDES, filtered_share};
use crate::pathtrace::{Film, Pixel, View};
use crate::scene::luminance;

const DARKEST: f32 = 0.02;
const TRUSTED: f32 = 4.0;
const OFF_PLANE: f32 = 0.02;
const NO_SPECK: f32 = 4.0;
const ENOUGH_OTHERS: f32 = 4.0;

/// Accumulated light of a pixel, with its surface point.
#[derive(Clone, Copy, Debug)]
pub struct Lit {
    pub light: Vec3,
    pub samples: f32,
    pub normal: Vec3,
    pub depth: f32,
    pub surface: Option<u32>,
    pub moment: f32,
}

/// Film with the visible surface of each pixel, and its view.
pub struct Seen<'a> {
    pub film: &'a Film,
    pub surfaces: &'a [Option<u32>],
    pub view: &'a View,
}

fn color(pixel: &Pixel, surface: Option<u32>) -> Vec3 {
    if surface.is_some() { pixel.albedo.max(Vec3::splat(DARKEST)) } else { Vec3::ONE }
}

fn pixels(size: UVec2) -> impl Iterator<Item = IVec2> {
    (0..size.y as i32).flat_map(move |y| (0..size.x as i32).map(move |x| IVec2::new(x, y)))
}

fn index(pixel: IVec2, size: UVec2) -> Option<usize> {
    let is_inside = pixel.min_element() >= 0 && pixel.x < size.x as i32 && pixel.y < size.y as i32;
    is_inside.then(|| pixel.y as usize * size.x as usize + pixel.x as usize)
}

fn around(pixel: IVec2, reach: i32, stride: i32, size: UVec2) -> impl Iterator<Item = (IVec2, IVec2, usize)> {
    (-reach..=reach)
        .flat_map(move |y| (-reach..=reach).map(move |x| IVec2::new(x, y)))
        .filter_map(move |step| Some((step, pixel + step * stride, index(pixel + step * stride, size)?)))
}

fn point(view: &View, pixel: IVec2, depth: f32) -> Vec3 {
    let size = view.size.as_vec2();
    let place = ((pixel.as_vec2() + 0.5) * 2.0 - size) / size.y;
    view.camera.sight_line(Vec2::new(place.x, -place.y)).at(depth)
}

impl Seen<'_> {
    fn light(&self, index: usize) -> Vec3 {
        let pixel = &self.film.pixels()[index];
        pixel.radiance / color(pixel, self.surfaces[index])
    }

    fn point(&self, pixel: IVec2, depth: f32) -> Vec3 {
        point(self.view, pixel, depth)
    }

    /// Accumulates light with that of an earlier picture. Returns the result, and the filter's input with the variance
    /// of luminance.
    pub fn gather(&self, before: Option<(&View, &[Lit])>) -> (Vec<Lit>, Vec<(Vec3, f32)>) {
        let size = self.view.size;
        pixels(size)
            .enumerate()
            .map(|(own, pixel)| {
                let film = &self.film.pixels()[own];
                let samples = film.samples as f32;
                let (mut light, surface, depth) = (self.light(own), self.surfaces[own], film.depth);
                if surface.is_none() {
                    let lit = Lit { light, samples, normal: Vec3::ZERO, depth, surface, moment: 0.0 };
                    return (lit, (light, 0.0));
                }
                let normal = film.normal.normalize();
                let [sum, squares, others] = self.neighborhood(pixel, normal, surface);
                let part = believable_part(luminance(light), [sum, squares, others]);
                light *= part;
                let bright = luminance(light);
                let spread = luminance(film.squares.map(f32::sqrt) / color(film, surface)) * part;
                let moment = luminance(light).powi(2) + spread * spread / samples;
                let found = before.and_then(|before| recall(before, self.point(pixel, depth), normal, surface));
                let found =
                    found.unwrap_or(Lit { light: Vec3::ZERO, samples: 0.0, normal, depth, surface, moment: 0.0 });
                let remembered = found.samples.min(MAX_HISTORY * filtered_share(film.samples));
                let total = remembered + samples;
                let joined = (found.light * remembered + light * samples) / total;
                let joined_moment = (found.moment * remembered + moment * samples) / total;
                let [mean, squares] = if total < TRUSTED {
                    [sum + bright, squares + bright * bright].map(|sum| sum / (others + 1.0))
                } else {
                    [luminance(joined), joined_moment]
                };
                let count = if total < TRUSTED { samples } else { total };
                let variance = (squares - mean * mean).max(0.0) / count;
                (
                    Lit { light: joined, samples: total, normal, depth, surface, moment: joined_moment },
                    (joined, variance),
                )
            })
            .unzip()
    }

    /// Returns the sums of luminance and of its square over similar neighbors, and their number.
    fn neighborhood(&self, pixel: IVec2, normal: Vec3, surface: Option<u32>) -> [f32; 3] {
        let alike = around(pixel, 2, 1, self.view.size).filter(|(step, _, other)| {
            *step != IVec2::ZERO
                && self.surfaces[*other] == surface
                && self.film.pixels()[*other].normal.normalize().dot(normal) >= 0.8
        });
        let bright = alike.map(|(_, _, other)| luminance(self.light(other)));
        bright.fold([0.0; 3], |[sum, squares, count], value| [sum + value, squares + value * value, count + 1.0])
    }

    /// Returns the filtered picture.
    pub fn picture(&self, lit: &[Lit], mut rough: Vec<(Vec3, f32)>) -> Vec<Vec3> {
        for stride in STRIDES {
            rough = pixels(self.view.size).map(|pixel| self.smooth(pixel, stride as i32, lit, &rough)).collect();
        }
        let pixels = self.film.pixels().iter().zip(self.surfaces);
        pixels
            .zip(rough)
            .map(|((pixel, &surface), (light, _))| {
                pixel.radiance.lerp(light * color(pixel, surface), filtered_share(pixel.samples))
            })
            .collect()
    }

    fn smooth(&self, pixel: IVec2, stride: i32, lit: &[Lit], rough: &[(Vec3, f32)]) -> (Vec3, f32) {
        let size = self.view.size;
        let center = index(pixel, size).expect("a pixel of the picture");
        let own = &lit[center];
        if own.surface.is_none() {
            return rough[center];
        }
        let variances = around(pixel, 1, 1, size).map(|(step, _, other)| {
            let weight = ((2 - step.x.abs()) * (2 - step.y.abs())) as f32;
            (weight * rough[other].1, weight)
        });
        let (sum, weights) = variances.fold((0.0, 0.0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
        let bright = luminance(rough[center].0);
        let tolerance = 4.0 * (sum / weights).sqrt() + 1e-3 * bright + 1e-9;
        let position = self.point(pixel, own.depth);
        let (mut light, mut variance, mut total) = (Vec3::ZERO, 0.0, 0.0);
        for (step, other, place) in around(pixel, 2, stride, size) {
            let theirs = &lit[place];
            if theirs.surface != own.surface {
                continue;
            }
            let kernel = |step: i32| [0.375, 0.25, 0.0625][step.unsigned_abs() as usize];
            let apart = self.point(other, theirs.depth) - position;
            let off_plane = apart.dot(own.normal).abs() / (OFF_PLANE * own.depth + 1e-9);
            let facing = theirs.normal.dot(own.normal).max(0.0).powi(64);
            let (value, noise) = rough[place];
            let contrast = (luminance(value) - bright).abs() / tolerance;
            let weight = kernel(step.x) * kernel(step.y) * facing * (-off_plane - contrast).exp();
            light += weight * value;
            variance += weight * weight * noise;
            total += weight;
        }
        (light / total, variance / (total * total))
    }
}

/// Returns the factor that clamps an outlier to the range of its neighbors.
fn believable_part(bright: f32, [sum, squares, others]: [f32; 3]) -> f32 {
    let mean = sum / others.max(1.0);
    let variance = (squares / others.max(1.0) - mean * mean).max(0.0);
    let limit = mean + NO_SPECK * variance.sqrt();
    if others >= ENOUGH_OTHERS && bright > limit { limit / bright.max(1e-30) } else { 1.0 }
}

/// Looks up a point in an earlier picture by reprojection. Returns `None` if the point was not visible there.
fn recall((view, lit): (&View, &[Lit]), position: Vec3, normal: Vec3, surface: Option<u32>) -> Option<Lit> {
    let camera = &view.camera;
    let from_eye = position - camera.position;
    let ahead = from_eye.dot(camera.forward);
    if ahead <= 0.0 {
        return None;
    }
    let distance = if camera.is_orthographic() { 1.0 } else { ahead };
    let across = |axis: Vec3| from_eye.dot(axis) / (axis.length_squared() * camera.half_height() * distance);
    let size = view.size.as_vec2();
    let at = (Vec2::new(across(camera.right), -across(camera.up)) * size.y + size) * 0.5 - 0.5;
    let (first, part) = (at.floor().as_ivec2(), at - at.floor());
    let mut found = Lit { light: Vec3::ZERO, samples: 0.0, normal, depth: 0.0, surface, moment: 0.0 };
    let mut total = 0.0;
    for step in [IVec2::ZERO, IVec2::X, IVec2::Y, IVec2::ONE] {
        let Some(seen) = index(first + step, view.size).map(|index| &lit[index]) else {
            continue;
        };
        let apart = point(view, first + step, seen.depth) - position;
        let is_same = seen.surface == surface
            && seen.normal.dot(normal) >= 0.8
            && apart.dot(normal).abs() <= OFF_PLANE * from_eye.length();
        if is_same {
            let near = |step: i32, part: f32| if step == 0 { 1.0 - part } else { part };
            let weight = near(step.x, part.x) * near(step.y, part.y);
            found.light += weight * seen.light;
            found.samples += weight * seen.samples;
            found.moment += weight * seen.moment;
            total += weight;
        }
    }
    let (light, samples, moment) = (found.light / total, found.samples / total, found.moment / total);
    (total >= 0.05).then_some(Lit { light, samples, moment, ..found })
}
