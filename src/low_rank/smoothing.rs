//! Smoothing of light over neighbors with similar views, against the noise of gather rays.
//!
//! Neighbors estimate almost the same view with different rays. The valid distance between neighbors follows from
//! irradiance caching (Ward, Rubinstein and Clear 1988). It is less than the harmonic mean of the distances to visible
//! surfaces. Smoothing therefore keeps the shadow at the foot of an object, and reduces noise on a bare wall. Rows of
//! form factors may differ by more than their noise (as in non-local means). The neighbor then sees other surfaces, for
//! example behind a wall, and gets a low weight. A plane is fitted instead of a mean, which keeps linear gradients.
//!
//! The weights are computed once. Smoothing is linear, and also valid for differences of light.

use std::collections::HashMap;

use glam::{Mat3, Vec3};
use rayon::prelude::*;

use super::{LowRank, Precomputed, Receivers, StoredTransport};
use crate::parts::{finish, map, pause};
use crate::radiosity::offsets;
use crate::scene::luminance;

/// Radius of the neighborhood, in texels: a square of five.
const REACH: i32 = 2;

/// Number of harmonic mean distances at which the weight of a neighbor falls to 1/e.
const CARRY: f32 = 1.0;

/// Squared difference of rows without noise, relative to their product, at which the weight falls to 1/e.
const UNLIKE: f32 = 0.3;

/// Minimum cosine between the normals of neighbors on one surface, and maximum sine of their elevation above its plane.
const MIN_SIMILARITY: f32 = 0.95;
const MAX_RAISED: f32 = 0.1;

/// Minimum weight of a neighbor, relative to the element itself.
const MIN_WEIGHT: f32 = 0.01;

/// Regularization of the slope, relative to the weights. Planes with few neighbors stay level.
const STIFFNESS: f32 = 0.01;

/// Mean squared change up to which smoothing is assumed to remove only noise, in variances of the noise.
const TOLERATED: f32 = 1.5;

/// Number of rows that a thread takes at a time.
const ROWS: usize = 64;

/// Minimum distance, in meters.
const NEAREST: f32 = 1e-3;

/// Weights of neighbors for smoothing, in the order of the patches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Smoothing {
    /// Start of each row's neighbors, followed by their total number.
    offsets: Vec<u64>,
    /// Neighboring rows and their weights. The weights of a row sum to one.
    neighbors: Vec<(u32, f32)>,
}

impl Smoothing {
    /// Computes the weights of all neighbors.
    pub fn new(precomputed: &Precomputed) -> Self {
        finish(Self::new_in_parts(precomputed))
    }

    /// Does the same as [`new`](Self::new), with pauses.
    pub(crate) async fn new_in_parts(precomputed: &Precomputed) -> Self {
        let Precomputed { transport, receivers, hits, .. } = precomputed;
        let views = Views::new(transport, receivers, hits).await;
        let around = Around::new(receivers);
        pause().await;
        let fitted = |row| views.fitted(row, around.of(row).filter_map(|other| views.weighed(row, other)));
        let lists: Vec<Vec<(u32, f32)>> = map(transport.elements(), ROWS, fitted).await;
        Self { offsets: offsets(lists.iter().map(Vec::len)), neighbors: lists.concat() }
    }

    /// Smooths the light of all rows.
    ///
    /// # Panics
    /// Panics unless both slices have one value for each element.
    pub fn smooth(&self, light: &[Vec3], smoothed: &mut [Vec3]) {
        assert_eq!([light.len() + 1, smoothed.len() + 1], [self.offsets.len(); 2], "one for each element");
        smoothed.par_iter_mut().enumerate().for_each(|(row, smoothed)| {
            *smoothed = self.of(row).iter().map(|&(other, weight)| light[other as usize] * weight).sum();
        });
    }

    /// Returns the change that removes noise from light, to be added to the light. `noise` is the variance of each
    /// row's luminance. The change is that of smoothing where it is explained by noise, and shrinks the more it exceeds
    /// the noise.
    ///
    /// # Panics
    /// Panics unless both slices have one value for each element.
    pub fn evened(&self, light: &[Vec3], noise: &[f32]) -> Vec<Vec3> {
        assert_eq!(noise.len(), light.len(), "one for each element");
        let mut change = vec![Vec3::ZERO; light.len()];
        self.smooth(light, &mut change);
        change.par_iter_mut().zip(light).for_each(|(smooth, light)| *smooth -= light);
        let part = |row: usize| {
            let (mut squares, mut all) = (0.0, 0.0);
            for &(other, weight) in self.of(row) {
                squares += weight.abs() * luminance(change[other as usize]).powi(2);
                all += weight.abs();
            }
            let beyond = (squares / all - TOLERATED * noise[row]).max(0.0);
            noise[row] / (noise[row] + beyond).max(f32::MIN_POSITIVE)
        };
        (0..light.len()).into_par_iter().map(|row| change[row] * part(row)).collect()
    }

    /// Returns the start of each row's neighbors with their total number, and the neighboring rows with their weights.
    pub fn parts(&self) -> (&[u64], &[(u32, f32)]) {
        (&self.offsets, &self.neighbors)
    }

    fn of(&self, row: usize) -> &[(u32, f32)] {
        &self.neighbors[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Index of rows by texel, for neighbors on a page.
struct Around<'a> {
    receivers: &'a Receivers,
    rows: HashMap<[i64; 3], Vec<u32>>,
}

impl<'a> Around<'a> {
    fn new(receivers: &'a Receivers) -> Self {
        let mut around = Self { receivers, rows: HashMap::new() };
        for row in (0..receivers.texel.len()).filter(|&row| receivers.visible[row] != 0.0) {
            around.rows.entry(around.place(row)).or_default().push(row as u32);
        }
        around
    }

    fn place(&self, row: usize) -> [i64; 3] {
        let texel = self.receivers.texel[row];
        [i64::from(texel.page), i64::from(texel.x), i64::from(texel.y)]
    }

    fn of(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let [page, x, y] = self.place(row);
        let (reach, all) = (i64::from(REACH), -i64::from(REACH)..=i64::from(REACH));
        let places = all.flat_map(move |dy| (-reach..=reach).map(move |dx| [page, x + dx, y + dy]));
        places.flat_map(|place| self.rows.get(&place).into_iter().flatten()).map(|&row| row as usize)
    }
}

/// Views of rows.
struct Views<'a> {
    transport: &'a LowRank,
    receivers: &'a Receivers,
    /// Reciprocal harmonic mean distance from each row to visible surfaces, in 1/m.
    nearness: Vec<f32>,
    /// Expected sum of squares of each row's form factors that is due to noise.
    noise: Vec<f32>,
}

impl<'a> Views<'a> {
    async fn new(transport: &'a LowRank, receivers: &'a Receivers, hits: &StoredTransport) -> Self {
        let center = &receivers.center;
        let near = |row: usize| {
            let nearness = |hit: usize| 1.0 / center[row].distance(center[hit]).max(NEAREST);
            hits.share(row) * hits.hits(row).map(nearness).sum::<f32>()
        };
        // The variance of a form factor found by n rays is about the form factor divided by n.
        let noise = |row: usize| hits.share(row) * transport.views.row(row).map(|(_, seen)| seen).sum::<f32>();
        let nearness = map(transport.elements(), ROWS, near).await;
        Self { transport, receivers, nearness, noise: map(transport.elements(), ROWS, noise).await }
    }

    /// Returns a neighbor with its weight, or `None` if the weight is negligible.
    fn weighed(&self, row: usize, other: usize) -> Option<(usize, f32)> {
        let Receivers { center, shading_normal, visible, .. } = self.receivers;
        let known = visible[other].abs();
        if row == other {
            return Some((row, known));
        }
        let (step, normal) = (center[other] - center[row], shading_normal[row]);
        let distance = step.length();
        let is_beside =
            normal.dot(shading_normal[other]) >= MIN_SIMILARITY && step.dot(normal).abs() <= MAX_RAISED * distance;
        let carried = distance * self.nearness[row].max(self.nearness[other]) / CARRY;
        let near = libm::exp(f64::from(-carried * carried)) as f32;
        if !is_beside || near < MIN_WEIGHT {
            return None;
        }
        let alike = libm::exp(f64::from(-(self.difference(row, other) / UNLIKE).powi(2))) as f32;
        (near * alike >= MIN_WEIGHT).then_some((other, known * near * alike))
    }

    /// Returns the difference of two rows of form factors: their squared differences without noise, relative to their
    /// product.
    fn difference(&self, row: usize, other: usize) -> f32 {
        let view = |row| self.transport.views.row(row).peekable();
        let (mut first, mut second) = (view(row), view(other));
        let column = |entry: Option<&(usize, f32)>| entry.map_or(usize::MAX, |&(column, _)| column);
        let (mut apart, mut common) = (0.0, 0.0);
        loop {
            let next = column(first.peek()).min(column(second.peek()));
            if next == usize::MAX {
                break;
            }
            let [a, b] = [&mut first, &mut second]
                .map(|view| view.next_if(|&(column, _)| column == next).map_or(0.0, |(_, seen)| seen));
            apart += (a - b) * (a - b);
            common += a * b;
        }
        (apart - self.noise[row] - self.noise[other]).max(0.0) / common.max(f32::MIN_POSITIVE)
    }

    /// Returns the weights of a least-squares plane. Multiplied by the light of neighbors, they sum to the plane's
    /// height at the row.
    fn fitted(&self, row: usize, weighed: impl Iterator<Item = (usize, f32)>) -> Vec<(u32, f32)> {
        let weighed: Vec<(usize, f32)> = weighed.collect();
        let Receivers { center, shading_normal, .. } = self.receivers;
        let (right, down) = shading_normal[row].any_orthonormal_pair();
        let all: f32 = weighed.iter().map(|(_, weight)| weight).sum();
        let spread: f32 =
            weighed.iter().map(|&(other, weight)| weight * center[row].distance_squared(center[other])).sum();
        if spread <= 0.0 {
            return vec![(row as u32, 1.0)];
        }
        let unit = (all / spread).sqrt();
        let place = |other: usize| {
            let step = (center[other] - center[row]) * unit;
            Vec3::new(1.0, step.dot(right), step.dot(down))
        };
        let mut moments = Mat3::from_diagonal(Vec3::new(0.0, STIFFNESS, STIFFNESS) * all);
        for &(other, weight) in &weighed {
            let at = place(other);
            moments += Mat3::from_cols(at * at.x, at * at.y, at * at.z) * weight;
        }
        let height = moments.inverse() * Vec3::X;
        let fitted: Vec<(u32, f32)> =
            weighed.iter().map(|&(other, weight)| (other as u32, weight * height.dot(place(other)))).collect();
        let sum: f32 = fitted.iter().map(|(_, weight)| weight).sum();
        fitted.into_iter().map(|(other, weight)| (other, weight / sum)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::accel::BruteForce;
    use crate::geometry::sobol::{hash2, unit_float};
    use crate::low_rank::Precomputed;
    use crate::radiosity::test_scene::{TestScene, gray, precomputed};

    /// Creates two rooms of one meter along x on a common floor, with a wall between them.
    fn two_rooms() -> Precomputed {
        let mut test = TestScene::default();
        let (x, y, z) = (Vec3::X, Vec3::Y, Vec3::Z);
        let mut wall = |corner, u, v, texels| test.quad(corner, u, v, texels, gray(0.5));
        wall(Vec3::ZERO, z, 2.0 * x, [8, 16]);
        wall(y, 2.0 * x, z, [16, 8]);
        wall(Vec3::ZERO, 2.0 * x, y, [16, 8]);
        wall(z, y, 2.0 * x, [8, 16]);
        for at in [Vec3::ZERO, x] {
            wall(at, y, z, [8; 2]);
            wall(at + x, z, y, [8; 2]);
        }
        let elements = test.elements();
        let scene = Arc::new(test.scene);
        let world = BruteForce::new(&scene);
        precomputed(&scene, &world, &elements, 64, 64)
    }

    /// Returns light before and after smoothing, for elements on the floor. `light` depends on position and row.
    fn on_the_floor(precomputed: &Precomputed, light: impl Fn(Vec3, u32) -> f32) -> Vec<[f32; 2]> {
        let center = &precomputed.receivers.center;
        let light: Vec<Vec3> = (0..).zip(center).map(|(row, &at)| Vec3::splat(light(at, row))).collect();
        let mut smoothed = vec![Vec3::ZERO; light.len()];
        Smoothing::new(precomputed).smooth(&light, &mut smoothed);
        let rows = (0..light.len()).filter(|&row| center[row].y == 0.0);
        rows.map(|row| [light[row].x, smoothed[row].x]).collect()
    }

    fn farthest(pairs: &[[f32; 2]]) -> f32 {
        pairs.iter().map(|[before, after]| (after - before).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn light_ends_at_walls_and_what_grows_evenly_stays() {
        let precomputed = two_rooms();
        let in_one_room = on_the_floor(&precomputed, |at, _| if at.x < 1.0 { 1.0 } else { 0.0 });
        assert_eq!(in_one_room.len(), 128);
        assert!(farthest(&in_one_room) < 0.02, "{}", farthest(&in_one_room));
        let along_the_wall = on_the_floor(&precomputed, |at, _| at.z);
        assert!(farthest(&along_the_wall) < 0.01, "{}", farthest(&along_the_wall));
    }

    #[test]
    fn noise_is_evened_out_and_what_is_more_than_noise_stays() {
        let precomputed = two_rooms();
        let smoothing = Smoothing::new(&precomputed);
        let center = &precomputed.receivers.center;
        let noisy = |spot: f32| -> Vec<Vec3> {
            let near = |at: Vec3| spot * (-(at.distance(Vec3::new(0.5, 0.0, 0.5)) / 0.1).powi(2)).exp();
            let of_row = |(row, &at): (u32, &Vec3)| Vec3::splat(10.0 + near(at) + unit_float(hash2(row, 1)) - 0.5);
            (0..).zip(center).map(of_row).collect()
        };
        // The variance of a uniform distribution between -0.5 and 0.5.
        let noise = vec![1.0 / 12.0; center.len()];
        let rms = |light: &[Vec3]| {
            let squares = light.iter().map(|light| (light.x - 10.0).powi(2));
            (squares.sum::<f32>() / light.len() as f32).sqrt()
        };
        let flat = noisy(0.0);
        let evened: Vec<Vec3> = flat.iter().zip(smoothing.evened(&flat, &noise)).map(|(a, b)| *a + b).collect();
        assert!(rms(&evened) < 0.65 * rms(&flat), "{} {}", rms(&flat), rms(&evened));
        let spotted = noisy(100.0);
        let changed = smoothing.evened(&spotted, &noise);
        let mut smooth = vec![Vec3::ZERO; spotted.len()];
        smoothing.smooth(&spotted, &mut smooth);
        let largest = |change: &mut dyn Iterator<Item = f32>| change.fold(0.0, f32::max);
        let lost = largest(&mut changed.iter().map(|change| change.x.abs()));
        let blurred = largest(&mut smooth.iter().zip(&spotted).map(|(smooth, light)| (smooth.x - light.x).abs()));
        assert!(lost < 1.0 && blurred > 10.0, "{lost} {blurred}");
        assert!(smoothing.evened(&spotted, &vec![0.0; spotted.len()]).iter().all(|change| *change == Vec3::ZERO));
    }

    #[test]
    fn noise_becomes_less() {
        let noisy = on_the_floor(&two_rooms(), |_, row| unit_float(hash2(row, 1)) - 0.5);
        let rms = |which: usize| (noisy.iter().map(|pair| pair[which].powi(2)).sum::<f32>() / 128.0).sqrt();
        println!("{} before, {} after", rms(0), rms(1));
        assert!(rms(1) < 0.65 * rms(0), "{} {}", rms(0), rms(1));
    }
}
