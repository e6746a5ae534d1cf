//! Light averaged over neighbours that see alike, against the noise of gather rays.
//!
//! What an element sees is known by so many rays, and its neighbour knows much the same by others. How far light may be
//! carried is the question of irradiance caching: less than the harmonic mean of the distances to what is seen (Ward,
//! Rubinstein and Clear 1988), so that the shadow at the foot of a thing is not spread while a bare wall is evened out.
//! Where rows of form factors differ more than their noise says (as in non-local means), something else is seen, behind a
//! wall for example. A plane is fitted rather than a mean, so that light that grows evenly stays as it is.
//!
//! All of that is found once. Smoothing is linear: differences of light go through it as light does.

use std::collections::HashMap;

use glam::{Mat3, Vec3};
use rayon::prelude::*;

use super::{LowRank, Precomputed, Receivers, StoredTransport};
use crate::radiosity::accumulators::offsets;
use crate::scene::luminance;

/// Texels to each side that are looked at: a square of five.
const REACH: i32 = 2;

/// Harmonic mean distances after which a neighbour counts by 1/e.
const CARRY: f32 = 1.0;

/// How much rows may differ, as a part of what they have in common (squares, without noise), to count by 1/e.
const UNLIKE: f32 = 0.3;

/// Cosine between the normals of neighbours on one surface, at least, and sine of how far they stand out of its plane, at
/// most.
const LEAST_ALIKE: f32 = 0.95;
const MOST_RAISED: f32 = 0.1;

/// Neighbours that count less than this, beside the element itself, are left out.
const LEAST_WEIGHT: f32 = 0.01;

/// What keeps planes level that hardly any neighbour carries, as a part of the weights.
const STIFFNESS: f32 = 0.01;

/// Mean squares of what smoothing changes, in variances of noise, which are taken for noise.
const TOLERATED: f32 = 1.5;

/// Metres below which nothing is nearer.
const NEAREST: f32 = 1e-3;

/// How light is averaged over neighbours, in the order of the patches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Smoothing {
    /// Where the neighbours of each row start, and their number.
    offsets: Vec<u64>,
    /// Rows, and how much each counts; those of a row sum to one.
    neighbours: Vec<(u32, f32)>,
}

impl Smoothing {
    /// Compares all neighbours.
    pub fn new(precomputed: &Precomputed) -> Self {
        let Precomputed { transport, receivers, hits } = precomputed;
        let views = Views::new(transport, receivers, hits);
        let around = Around::new(receivers);
        let lists: Vec<Vec<(u32, f32)>> = (0..transport.elements())
            .into_par_iter()
            .map(|row| views.fitted(row, around.of(row).filter_map(|other| views.weighed(row, other))))
            .collect();
        Self { offsets: offsets(lists.iter().map(Vec::len)), neighbours: lists.concat() }
    }

    /// Light of rows, smooth.
    ///
    /// # Panics
    /// When either is not as long as there are elements.
    pub fn smooth(&self, light: &[Vec3], smoothed: &mut [Vec3]) {
        assert_eq!([light.len() + 1, smoothed.len() + 1], [self.offsets.len(); 2], "one for each element");
        smoothed.par_iter_mut().enumerate().for_each(|(row, smoothed)| {
            *smoothed = self.of(row).iter().map(|&(other, weight)| light[other as usize] * weight).sum();
        });
    }

    /// What makes light of rows as smooth as its noise, variances of luminance, lets one tell: added to it, all of what
    /// smoothing changes where that is no more than noise, and the less the more it is.
    ///
    /// # Panics
    /// When either is not as long as there are elements.
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

    /// Where the neighbours of each row start, and their number; rows, and how much each counts.
    pub fn parts(&self) -> (&[u64], &[(u32, f32)]) {
        (&self.offsets, &self.neighbours)
    }

    fn of(&self, row: usize) -> &[(u32, f32)] {
        &self.neighbours[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Which rows are beside each on its page.
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

/// What rows see.
struct Views<'a> {
    transport: &'a LowRank,
    receivers: &'a Receivers,
    /// Of each row: one over the harmonic mean of the distances to what it sees, 1/m.
    nearness: Vec<f32>,
    /// Of each row: the sum of the squares of its form factors that noise alone brings.
    noise: Vec<f32>,
}

impl<'a> Views<'a> {
    fn new(transport: &'a LowRank, receivers: &'a Receivers, hits: &StoredTransport) -> Self {
        let centre = &receivers.centre;
        let near = |row: usize| {
            let nearness = |hit: usize| 1.0 / centre[row].distance(centre[hit]).max(NEAREST);
            hits.share(row) * hits.hits(row).map(nearness).sum::<f32>()
        };
        // The variance of a share that some of n rays found is about itself over n.
        let noise = |row: usize| hits.share(row) * transport.views.row(row).map(|(_, seen)| seen).sum::<f32>();
        let rows = || (0..transport.elements()).into_par_iter();
        Self { transport, receivers, nearness: rows().map(near).collect(), noise: rows().map(noise).collect() }
    }

    /// A neighbour and how much it counts, unless that is next to nothing.
    fn weighed(&self, row: usize, other: usize) -> Option<(usize, f32)> {
        let Receivers { centre, shading_normal, visible, .. } = self.receivers;
        let known = visible[other].abs();
        if row == other {
            return Some((row, known));
        }
        let (step, normal) = (centre[other] - centre[row], shading_normal[row]);
        let distance = step.length();
        let is_beside =
            normal.dot(shading_normal[other]) >= LEAST_ALIKE && step.dot(normal).abs() <= MOST_RAISED * distance;
        let carried = distance * self.nearness[row].max(self.nearness[other]) / CARRY;
        let near = (-carried * carried).exp();
        if !is_beside || near < LEAST_WEIGHT {
            return None;
        }
        let alike = (-(self.difference(row, other) / UNLIKE).powi(2)).exp();
        (near * alike >= LEAST_WEIGHT).then_some((other, known * near * alike))
    }

    /// How much two rows of form factors differ: the squares of the differences that are not their noise, as a part of
    /// what they have in common.
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

    /// Weights of neighbours whose sum with their light is the height, at the row, of the plane that fits that best.
    fn fitted(&self, row: usize, weighed: impl Iterator<Item = (usize, f32)>) -> Vec<(u32, f32)> {
        let weighed: Vec<(usize, f32)> = weighed.collect();
        let Receivers { centre, shading_normal, .. } = self.receivers;
        let (right, down) = shading_normal[row].any_orthonormal_pair();
        let all: f32 = weighed.iter().map(|(_, weight)| weight).sum();
        let spread: f32 =
            weighed.iter().map(|&(other, weight)| weight * centre[row].distance_squared(centre[other])).sum();
        if spread <= 0.0 {
            return vec![(row as u32, 1.0)];
        }
        let unit = (all / spread).sqrt();
        let place = |other: usize| {
            let step = (centre[other] - centre[row]) * unit;
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
    use crate::geometry::sobol::{hash2, unit_float};
    use crate::kdtree::BruteForce;
    use crate::radiosity::low_rank::Precomputed;
    use crate::radiosity::test_scene::{TestScene, grey, precomputed};

    /// Two rooms of a metre along x on one floor, and the wall between them.
    fn two_rooms() -> Precomputed {
        let mut test = TestScene::default();
        let (x, y, z) = (Vec3::X, Vec3::Y, Vec3::Z);
        let mut wall = |corner, u, v, texels| test.quad(corner, u, v, texels, grey(0.5));
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

    /// Light of each element by where it is, as it is and smoothed, of those on the floor.
    fn on_the_floor(precomputed: &Precomputed, light: impl Fn(Vec3, u32) -> f32) -> Vec<[f32; 2]> {
        let centre = &precomputed.receivers.centre;
        let light: Vec<Vec3> = (0..).zip(centre).map(|(row, &at)| Vec3::splat(light(at, row))).collect();
        let mut smoothed = vec![Vec3::ZERO; light.len()];
        Smoothing::new(precomputed).smooth(&light, &mut smoothed);
        let rows = (0..light.len()).filter(|&row| centre[row].y == 0.0);
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
        let centre = &precomputed.receivers.centre;
        let noisy = |spot: f32| -> Vec<Vec3> {
            let near = |at: Vec3| spot * (-(at.distance(Vec3::new(0.5, 0.0, 0.5)) / 0.1).powi(2)).exp();
            let of_row = |(row, &at): (u32, &Vec3)| Vec3::splat(10.0 + near(at) + unit_float(hash2(row, 1)) - 0.5);
            (0..).zip(centre).map(of_row).collect()
        };
        // The variance of what is evenly anything between -0.5 and 0.5.
        let noise = vec![1.0 / 12.0; centre.len()];
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
        let most = |change: &mut dyn Iterator<Item = f32>| change.fold(0.0, f32::max);
        let lost = most(&mut changed.iter().map(|change| change.x.abs()));
        let blurred = most(&mut smooth.iter().zip(&spotted).map(|(smooth, light)| (smooth.x - light.x).abs()));
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
