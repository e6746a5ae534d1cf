//! Relighting without low rank, from stored hits.
//!
//! One sweep adds one bounce: it reads the radiosity of every hit of every element. Started from the light of the
//! previous frame, a few sweeps converge for moving lights. No patch is replaced by its mean. Low rank is measured
//! against this method. [`relight`](crate::relight) refines low-rank light with it once lights have stopped changing.

use std::sync::Arc;

use glam::{Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;

use super::parts;
use crate::radiosity::StoredHits;
use crate::radiosity::{TintedHit, does_not_count};
use crate::scene::luminance;

/// Number of rows in a task.
const CHUNK: usize = 256;

/// Number of value bits in a byte. The highest bit marks that more bytes follow.
const BITS: u32 = 7;

/// Transport of a static level as stored hits of gather rays.
///
/// The order of an element's hits has no meaning. Hits are therefore sorted, and stored as differences, most of them in
/// one byte.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredTransport {
    /// Start of each row in `steps`, followed by the number of bytes.
    pub(super) offsets: Vec<u64>,
    /// Differences between sorted hits, without rays that hit no element. Clones share them.
    pub(super) steps: Arc<Vec<u8>>,
    /// Reciprocal number of valid rays of each row. Zero if the hits are outdated.
    pub(super) scales: Vec<f32>,
    /// Rays tinted on their way, sorted by row.
    pub(super) tinted: Vec<TintedHit>,
    /// Reflectance of each row's element.
    pub(super) reflectance: Vec<Vec3>,
}

impl StoredTransport {
    /// Converts the hits of some storing steps. `order` is the element of each row, as in
    /// [`Patches::order`](super::Patches::order). `reflectance` and `stored` are in the elements' own order.
    pub fn new<'a>(order: &[u32], reflectance: &[Vec3], stored: impl IntoIterator<Item = &'a StoredHits>) -> Self {
        let stored: Vec<&StoredHits> = stored.into_iter().collect();
        let count = order.len();
        let mut row_of = vec![0; count];
        order.iter().enumerate().for_each(|(row, &element)| row_of[element as usize] = row as u32);
        let pack = |(row, &element): (usize, &u32)| {
            let element = element as usize;
            let all = || stored.iter().flat_map(|stored| &stored.hits[stored.range(element)]);
            let counted = all().filter(|&&hit| hit != does_not_count(count)).count();
            let mut hits: Vec<u32> = all().filter_map(|&hit| row_of.get(hit as usize).copied()).collect();
            // Sorted hits read memory in sequence.
            hits.sort_unstable();
            let tinted = stored.iter().flat_map(|stored| stored.tinted_in(element..element + 1));
            let of_row = |hit: &TintedHit| TintedHit { element: row as u32, hit: row_of[hit.hit as usize], ..*hit };
            (steps_of(&hits), 1.0 / counted.max(1) as f32, tinted.map(of_row).collect::<Vec<_>>())
        };
        let mut all = Self {
            offsets: vec![0],
            reflectance: order.iter().map(|&element| reflectance[element as usize]).collect(),
            ..Self::default()
        };
        for part in parts(count) {
            let rows: Vec<(Vec<u8>, f32, Vec<TintedHit>)> =
                part.clone().into_par_iter().zip(&order[part]).map(pack).collect();
            for (steps, scale, tinted) in rows {
                Arc::make_mut(&mut all.steps).extend(steps);
                all.offsets.push(all.steps.len() as u64);
                all.scales.push(scale);
                all.tinted.extend(tinted);
            }
        }
        all
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Returns the memory size, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.offsets)
            + size_of_val(self.steps.as_slice())
            + size_of_val(&*self.scales)
            + size_of_val(&*self.tinted)
            + size_of_val(&*self.reflectance)
    }

    /// Returns the reciprocal number of valid rays of a row, which is the weight of each of its hits.
    pub fn share(&self, row: usize) -> f32 {
        self.scales[row]
    }

    /// Returns the rows hit by rays of a row, in ascending order, repeated for repeated hits. Tinted rays are left out.
    pub fn hits(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let mut steps = self.steps[self.offsets[row] as usize..self.offsets[row + 1] as usize].iter();
        let mut hit = 0u32;
        core::iter::from_fn(move || {
            let mut shift = 0;
            loop {
                let byte = *steps.next()?;
                hit = hit.wrapping_add(u32::from(byte & 0x7f).wrapping_shl(shift));
                shift += BITS;
                if byte < 0x80 {
                    return Some(hit as usize);
                }
            }
        })
    }

    /// Sets the reflectances of the elements, in their own order. Hits and tints stay.
    pub fn set_reflectance(&mut self, order: &[u32], reflectance: &[Vec3]) {
        self.reflectance = order.iter().map(|&element| reflectance[element as usize]).collect();
    }

    /// Marks the hits of a row as outdated. Sweeps then keep its light.
    pub fn forget(&mut self, row: usize) {
        self.scales[row] = 0.0;
    }

    /// Returns true if the arrays are consistent, and all hits are valid rows.
    pub(super) fn is_whole(&self) -> bool {
        let count = self.len();
        let is_row = |hit: usize| hit < count;
        self.offsets.len() == count + 1
            && self.offsets.first() == Some(&0)
            && self.offsets.is_sorted()
            && self.offsets.last() == Some(&(self.steps.len() as u64))
            && self.reflectance.len() == count
            && self.tinted.is_sorted_by_key(|tinted| tinted.element)
            && self.tinted.iter().all(|tinted| is_row(tinted.hit as usize) && is_row(tinted.element as usize))
            && (0..count).into_par_iter().all(|row| self.hits(row).all(is_row))
    }

    /// Adds one bounce. `direct` is the direct irradiance of rows, in lux. `indirect` is the result of previous sweeps,
    /// initially zero, and is replaced by the new one.
    ///
    /// # Panics
    /// Panics unless both slices have one value for each element.
    pub fn sweep(&self, direct: &[Vec3], indirect: &mut [Vec3]) {
        self.gather(&self.radiosity(direct, indirect), indirect);
    }

    /// Returns the reflected radiosity of rows, in lm/m2. The fourth component is zero.
    ///
    /// # Panics
    /// Panics unless both slices have one value for each element.
    pub fn radiosity(&self, direct: &[Vec3], indirect: &[Vec3]) -> Vec<Vec4> {
        assert_eq!([direct.len(), indirect.len()], [self.len(); 2], "one for each element");
        let rows = self.reflectance.par_iter().zip(direct).zip(indirect);
        rows.map(|((reflectance, direct), indirect)| (reflectance * (direct + indirect)).extend(0.0)).collect()
    }

    /// Returns the variance of the luminance that [`gather`](Self::gather) computes for each row, from the variance of
    /// its hits. Tinted rays are left out.
    ///
    /// # Panics
    /// Panics unless there is one radiosity for each element.
    pub fn noise(&self, radiosity: &[Vec4]) -> Vec<f32> {
        assert_eq!(radiosity.len(), self.len(), "one for each element");
        let brightness: Vec<f32> = radiosity.par_iter().map(|radiosity| luminance(radiosity.xyz())).collect();
        let of_row = |row: usize| {
            let add =
                |(sum, squares): (f32, f32), hit: usize| (sum + brightness[hit], squares + brightness[hit].powi(2));
            let (sum, squares) = self.hits(row).fold((0.0, 0.0), add);
            let share = self.scales[row];
            share * (share * squares - (share * sum).powi(2)).max(0.0)
        };
        (0..self.len()).into_par_iter().with_min_len(CHUNK).map(of_row).collect()
    }

    /// Computes the indirect irradiance of rows, in lux, from the radiosities of all rows.
    ///
    /// # Panics
    /// Panics unless both slices have one value for each element.
    pub fn gather(&self, radiosity: &[Vec4], indirect: &mut [Vec3]) {
        assert_eq!([radiosity.len(), indirect.len()], [self.len(); 2], "one for each element");
        indirect.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, indirect)| {
            let first = chunk * CHUNK;
            let before = self.tinted.partition_point(|hit| (hit.element as usize) < first);
            let mut tinted = self.tinted[before..].iter().peekable();
            for (indirect, row) in indirect.iter_mut().zip(first..) {
                let mut sum = self.hits(row).map(|hit| radiosity[hit]).sum::<Vec4>().xyz();
                while let Some(hit) = tinted.next_if(|hit| hit.element as usize == row) {
                    sum += hit.tint * radiosity[hit.hit as usize].xyz();
                }
                if self.scales[row] > 0.0 {
                    *indirect = sum * self.scales[row];
                }
            }
        });
    }
}

/// Encodes ascending numbers as differences, seven bits a byte, lowest bits first.
fn steps_of(rising: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rising.len() + rising.len() / 4);
    let mut last = 0;
    for &number in rising {
        let mut step = number - last;
        while step >= 0x80 {
            bytes.push(step as u8 | 0x80);
            step >>= BITS;
        }
        bytes.push(step as u8);
        last = number;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accel::BruteForce;
    use crate::progress::Unmonitored;
    use crate::radiosity::test_scene::{TestScene, gray};
    use crate::radiosity::{CpuBackend, Hits, Step, TransportBackend};

    /// Creates the transport of a closed room with a reflectance of 0.5, from 32 rays of each element.
    fn closed_room() -> StoredTransport {
        let mut test = TestScene::default();
        test.room(Vec3::new(2.0, 1.0, 1.5), 4, |_| gray(0.5));
        let elements = test.elements();
        let scene = Arc::new(test.scene);
        let world = BruteForce::new(&scene);
        let mut backend = CpuBackend::new(&scene, &world, &elements, 1);
        backend.run(&Step::Gather { rays: vec![16; elements.len()], hits: Hits::Store }, &Unmonitored).unwrap();
        let halves = backend.snapshot().unwrap();
        let order: Vec<u32> = (0..elements.len() as u32).collect();
        StoredTransport::new(&order, &elements.reflectance, halves.iter().flat_map(|half| &half.stored))
    }

    #[test]
    fn every_sweep_is_one_bounce_more() {
        let transport = closed_room();
        let direct = vec![Vec3::new(1.0, 2.0, 4.0); transport.len()];
        let mut indirect = vec![Vec3::ZERO; direct.len()];
        // Sums of 1/2, 1/4 and 1/8.
        for sum in [0.5, 0.75, 0.875] {
            transport.sweep(&direct, &mut indirect);
            for light in &indirect {
                assert!((*light / direct[0] - sum).abs().max_element() < 1e-5, "{sum}: {light}");
            }
        }
    }

    #[test]
    fn noise_is_that_of_a_mean_of_hits_of_two_kinds() {
        // One of four rays hits a luminous element. The mean is 1/4, and the variance of one ray 3/16.
        let stored = StoredHits { offsets: vec![0, 4, 4], hits: vec![1, 0, 0, 0], tinted: Vec::new() };
        let transport = StoredTransport::new(&[0, 1], &[Vec3::ONE; 2], [&stored]);
        let noise = transport.noise(&[Vec4::ZERO, Vec4::ONE]);
        assert!((noise[0] - 3.0 / 64.0).abs() < 1e-6 && noise[1] == 0.0, "{noise:?}");
    }

    #[test]
    fn sweeps_from_other_light_come_to_the_same() {
        let transport = closed_room();
        let direct: Vec<Vec3> = (0..transport.len()).map(|i| Vec3::splat((i % 7) as f32)).collect();
        let swept = |start: f32| {
            let mut indirect = vec![Vec3::splat(start); direct.len()];
            (0..24).for_each(|_| transport.sweep(&direct, &mut indirect));
            indirect
        };
        for (dark, bright) in swept(0.0).into_iter().zip(swept(10.0)) {
            assert!((dark - bright).abs().max_element() < 1e-5 * dark.max_element(), "{dark} {bright}");
        }
    }

    #[test]
    fn rays_that_met_nothing_count_colored_ones_are_colored_and_others_do_not_count() {
        // Of two elements, the first has four rays. One hits the second, one hits it through red glass, one hits
        // nothing, and one is invalid.
        let stored = StoredHits {
            offsets: vec![0, 4, 4],
            hits: vec![1, 2, 2, 3],
            tinted: vec![TintedHit { element: 0, hit: 1, tint: Vec3::new(0.5, 0.0, 0.0) }],
        };
        let transport = StoredTransport::new(&[0, 1], &[Vec3::ONE, Vec3::splat(0.3)], [&stored]);
        let mut indirect = [Vec3::ZERO; 2];
        transport.sweep(&[Vec3::ZERO, Vec3::splat(10.0)], &mut indirect);
        assert!((indirect[0] - Vec3::new(1.5, 1.0, 1.0)).abs().max_element() < 1e-6, "{}", indirect[0]);
        assert_eq!(indirect[1], Vec3::ZERO);
        // Another order of rows gives the same light.
        let mut turned = StoredTransport::new(&[1, 0], &[Vec3::ONE, Vec3::splat(0.3)], [&stored]);
        let mut other = [Vec3::ZERO; 2];
        turned.sweep(&[Vec3::splat(10.0), Vec3::ZERO], &mut other);
        assert_eq!([other[1], other[0]], indirect);
        turned.forget(1);
        turned.sweep(&[Vec3::ZERO; 2], &mut other);
        assert_eq!(other, [Vec3::ZERO, indirect[0]], "what is not known stays");
    }

    #[test]
    fn hits_far_apart_and_hits_met_twice_are_read_as_they_were() {
        let hits = vec![70_000, 3, 3, 127, 16_511, 130];
        let offsets = core::iter::once(0).chain(core::iter::repeat_n(6, 70_001)).collect();
        let stored = StoredHits { offsets, hits, tinted: Vec::new() };
        let order: Vec<u32> = (0..70_001).collect();
        let transport = StoredTransport::new(&order, &vec![Vec3::ONE; 70_001], [&stored]);
        assert!(transport.hits(0).eq([3, 3, 127, 130, 16_511, 70_000]));
        assert!(transport.is_whole() && transport.hits(1).next().is_none());
        // Differences of 3, 0, 124 and 3 take one byte each, 16,381 takes two, and 53,489 three.
        assert_eq!(transport.steps.len(), 9);
    }
}
