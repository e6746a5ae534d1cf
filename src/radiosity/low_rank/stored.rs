//! Light that changes without low rank: stored hits, read again.
//!
//! One sweep follows light for one bounce more: it reads the radiosity of every hit of every element. Started from the
//! light of the frame before, a few sweeps catch up with lights that move, and nothing is taken for a patch's mean. It is
//! what low rank is measured against, and where [`relight`](crate::relight) goes on from low rank once lights rest.

use std::sync::Arc;

use glam::{Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;

use crate::radiosity::StoredHits;
use crate::radiosity::accumulators::{TintedHit, does_not_count, offsets};
use crate::scene::luminance;

/// Rows that a thread takes at a time.
const CHUNK: usize = 256;

/// Bits of a byte that hold a part of a number; the last says that more follow.
const BITS: u32 = 7;

/// A static level's transport as the hits of gather rays.
///
/// The order of an element's hits means nothing, so they are sorted and stored as steps from one to the next, most of
/// them in one byte.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredTransport {
    /// Where the steps of each row start, and their number of bytes.
    pub(super) offsets: Vec<u64>,
    /// From hit to hit; rays that met no element are left out. Copies share them.
    pub(super) steps: Arc<Vec<u8>>,
    /// One over the rays that count, for each row; zero where it is not known what those see.
    pub(super) scales: Vec<f32>,
    /// Rays that were coloured on their way, by row.
    pub(super) tinted: Vec<TintedHit>,
    /// What each row's element reflects.
    pub(super) reflectance: Vec<Vec3>,
}

impl StoredTransport {
    /// Takes the hits of some storing steps. `order` says which element each row is, as
    /// [`Patches::order`](super::Patches::order) does; `reflectance` and `stored` are in the elements' own order.
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
            // Neighbours in memory are read after each other.
            hits.sort_unstable();
            let tinted = stored.iter().flat_map(|stored| stored.tinted_in(element..element + 1));
            let of_row = |hit: &TintedHit| TintedHit { element: row as u32, hit: row_of[hit.hit as usize], ..*hit };
            (steps_of(&hits), 1.0 / counted.max(1) as f32, tinted.map(of_row).collect::<Vec<_>>())
        };
        let rows: Vec<(Vec<u8>, f32, Vec<TintedHit>)> = order.par_iter().enumerate().map(pack).collect();
        Self {
            offsets: offsets(rows.iter().map(|(steps, ..)| steps.len())),
            steps: Arc::new(rows.iter().flat_map(|(steps, ..)| steps).copied().collect()),
            scales: rows.iter().map(|(_, scale, _)| *scale).collect(),
            tinted: rows.iter().flat_map(|(.., tinted)| tinted).copied().collect(),
            reflectance: order.iter().map(|&element| reflectance[element as usize]).collect(),
        }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.offsets)
            + size_of_val(self.steps.as_slice())
            + size_of_val(&*self.scales)
            + size_of_val(&*self.tinted)
            + size_of_val(&*self.reflectance)
    }

    /// One over the rays that count of a row, which is what each of its hits stands for.
    pub fn share(&self, row: usize) -> f32 {
        self.scales[row]
    }

    /// The rows that rays of a row met, rising; one as often as it was met. Coloured rays are left out.
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

    /// Gives the elements other reflectances, in their own order. Hits stay, and so do the colours of rays on their way.
    pub fn set_reflectance(&mut self, order: &[u32], reflectance: &[Vec3]) {
        self.reflectance = order.iter().map(|&element| reflectance[element as usize]).collect();
    }

    /// What a row sees is no longer known: sweeps leave its light as it is.
    pub fn forget(&mut self, row: usize) {
        self.scales[row] = 0.0;
    }

    /// True when the arrays belong together, and all hits are rows.
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

    /// Follows light for one bounce more. `direct` is the direct irradiance of rows, lux; `indirect` holds what the
    /// sweeps before have found of the other, darkness at first, and then what this one has.
    ///
    /// # Panics
    /// When either is not as long as there are elements.
    pub fn sweep(&self, direct: &[Vec3], indirect: &mut [Vec3]) {
        self.gather(&self.radiosity(direct, indirect), indirect);
    }

    /// What rows reflect of the light that they get, lm/m2; the fourth number is none.
    ///
    /// # Panics
    /// When either is not as long as there are elements.
    pub fn radiosity(&self, direct: &[Vec3], indirect: &[Vec3]) -> Vec<Vec4> {
        assert_eq!([direct.len(), indirect.len()], [self.len(); 2], "one for each element");
        let rows = self.reflectance.par_iter().zip(direct).zip(indirect);
        rows.map(|((reflectance, direct), indirect)| (reflectance * (direct + indirect)).extend(0.0)).collect()
    }

    /// Variances of the luminance of what [`gather`](Self::gather) finds, from how far hits of a row differ. Coloured rays
    /// are left out.
    ///
    /// # Panics
    /// When there is not one for each element.
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

    /// Indirect irradiance of rows, lux, of what all of them send out.
    ///
    /// # Panics
    /// When either is not as long as there are elements.
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

/// Rising numbers as steps from one to the next, seven bits a byte, the lowest first.
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
    use crate::kdtree::BruteForce;
    use crate::progress::Unmonitored;
    use crate::radiosity::test_scene::{TestScene, grey};
    use crate::radiosity::{CpuBackend, Hits, Step, TransportBackend};

    /// A closed room that reflects a half, and the hits of 32 rays of each element.
    fn closed_room() -> StoredTransport {
        let mut test = TestScene::default();
        test.room(Vec3::new(2.0, 1.0, 1.5), 4, |_| grey(0.5));
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
        // A half, and a quarter, and an eighth.
        for sum in [0.5, 0.75, 0.875] {
            transport.sweep(&direct, &mut indirect);
            for light in &indirect {
                assert!((*light / direct[0] - sum).abs().max_element() < 1e-5, "{sum}: {light}");
            }
        }
    }

    #[test]
    fn noise_is_that_of_a_mean_of_hits_of_two_kinds() {
        // Four rays of which one meets what shines: a mean of a quarter, of a variance of 3/16 a ray.
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
    fn rays_that_met_nothing_count_coloured_ones_are_coloured_and_others_do_not_count() {
        // Two elements. The first's rays: one meets the second, one meets it through red glass, one nothing, one is void.
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
        // The same in another order.
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
        // Steps of 3, 0, 124 and 3 take a byte each, 16,381 two, 53,489 three.
        assert_eq!(transport.steps.len(), 9);
    }
}
