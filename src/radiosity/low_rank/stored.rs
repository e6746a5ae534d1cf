//! Light that changes without low rank: stored hits, read again.
//!
//! One sweep follows light for one bounce more: it reads the radiosity of every hit of every element. Started from the
//! light of the frame before, a few sweeps catch up with lights that move, and nothing is taken for a patch's mean. It is
//! what low rank is measured against.

use glam::{Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;

use crate::radiosity::StoredHits;
use crate::radiosity::accumulators::{TintedHit, does_not_count};

/// Elements that a thread takes at a time.
const CHUNK: usize = 256;

/// A static level's transport as the hits of gather rays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredTransport {
    /// Where the hits of each element start, and their number.
    offsets: Vec<usize>,
    /// Elements that rays met; rays that met none are left out.
    hits: Vec<u32>,
    /// One over the rays that count, for each element.
    scales: Vec<f32>,
    /// Where the coloured rays of each element start, and their number.
    tinted_offsets: Vec<usize>,
    /// Rays that were coloured on their way.
    tinted: Vec<TintedHit>,
    reflectance: Vec<Vec3>,
}

impl StoredTransport {
    /// Takes the hits of some storing steps. Everything is in the elements' own order.
    pub fn new<'a>(reflectance: &[Vec3], stored: impl IntoIterator<Item = &'a StoredHits>) -> Self {
        let stored: Vec<&StoredHits> = stored.into_iter().collect();
        let count = reflectance.len();
        let mut transport =
            Self { offsets: vec![0], tinted_offsets: vec![0], reflectance: reflectance.to_vec(), ..Self::default() };
        for element in 0..count {
            let all = || stored.iter().flat_map(|stored| &stored.hits[stored.range(element)]).copied();
            let counted = all().filter(|&hit| hit != does_not_count(count)).count();
            let first = transport.hits.len();
            transport.hits.extend(all().filter(|&hit| (hit as usize) < count));
            // Neighbours in memory are read after each other.
            transport.hits[first..].sort_unstable();
            transport.offsets.push(transport.hits.len());
            transport.scales.push(1.0 / counted.max(1) as f32);
            let tinted = stored.iter().flat_map(|stored| stored.tinted_in(element..element + 1));
            transport.tinted.extend(tinted);
            transport.tinted_offsets.push(transport.tinted.len());
        }
        transport
    }

    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.offsets)
            + size_of_val(&*self.hits)
            + size_of_val(&*self.scales)
            + size_of_val(&*self.tinted_offsets)
            + size_of_val(&*self.tinted)
            + size_of_val(&*self.reflectance)
    }

    /// Follows light for one bounce more. `direct` is the elements' direct irradiance, lux; `indirect` holds what the
    /// sweeps before have found of the other, darkness at first, and then what this one has.
    ///
    /// # Panics
    /// When either is not as long as there are elements.
    pub fn sweep(&self, direct: &[Vec3], indirect: &mut [Vec3]) {
        assert_eq!([direct.len(), indirect.len()], [self.reflectance.len(); 2], "one for each element");
        let radiosity: Vec<Vec4> = (self.reflectance.par_iter().zip(direct).zip(&*indirect))
            .map(|((reflectance, direct), indirect)| (reflectance * (direct + indirect)).extend(0.0))
            .collect();
        indirect.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, indirect)| {
            for (indirect, element) in indirect.iter_mut().zip(chunk * CHUNK..) {
                let hits = &self.hits[self.offsets[element]..self.offsets[element + 1]];
                let mut sum = hits.iter().map(|&hit| radiosity[hit as usize]).sum::<Vec4>().xyz();
                for tinted in &self.tinted[self.tinted_offsets[element]..self.tinted_offsets[element + 1]] {
                    sum += tinted.tint * radiosity[tinted.hit as usize].xyz();
                }
                *indirect = sum * self.scales[element];
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
        StoredTransport::new(&elements.reflectance, halves.iter().flat_map(|half| &half.stored))
    }

    #[test]
    fn every_sweep_is_one_bounce_more() {
        let transport = closed_room();
        let direct = vec![Vec3::new(1.0, 2.0, 4.0); transport.reflectance.len()];
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
    fn sweeps_from_other_light_come_to_the_same() {
        let transport = closed_room();
        let direct: Vec<Vec3> = (0..transport.reflectance.len()).map(|i| Vec3::splat((i % 7) as f32)).collect();
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
        let transport = StoredTransport::new(&[Vec3::ONE, Vec3::splat(0.3)], [&stored]);
        let mut indirect = [Vec3::ZERO; 2];
        transport.sweep(&[Vec3::ZERO, Vec3::splat(10.0)], &mut indirect);
        assert!((indirect[0] - Vec3::new(1.5, 1.0, 1.0)).abs().max_element() < 1e-6, "{}", indirect[0]);
        assert_eq!(indirect[1], Vec3::ZERO);
    }
}
