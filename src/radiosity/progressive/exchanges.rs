//! What share of a patch's light others get: found when it shoots first, and kept for when it shoots again.

use glam::Vec3;
use rayon::prelude::*;

use super::PatchId;

/// Shares of a patch's light that the receivers of another patch get: what a receiver has, in lux, of one lm/m2.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// Parts of the patch that shine each for itself; one where only their mean counts.
    parts: u32,
    /// Three where something between the patches is coloured, else one.
    channels: u32,
    /// By receiver, part and channel.
    values: Vec<f32>,
}

impl Factors {
    /// Factors by receiver and part.
    pub fn new(parts: usize, found: &[Vec3]) -> Self {
        let is_grey = found.iter().all(|factor| factor.x == factor.y && factor.y == factor.z);
        let (channels, values) = if is_grey {
            (1, found.iter().map(|factor| factor.x).collect())
        } else {
            (3, found.iter().flat_map(Vec3::to_array).collect())
        };
        Self { parts: parts as u32, channels, values }
    }

    fn are_zero(&self) -> bool {
        self.values.iter().all(|&value| value == 0.0)
    }
}

/// Where the factors of one receiving patch are.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    receiver: PatchId,
    first: u32,
    parts: u32,
    channels: u32,
}

/// All that get light of a patch, and how much of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchanges {
    places: Vec<Place>,
    values: Vec<f32>,
}

impl Exchanges {
    /// Finds the factors of each patch; `None` for those that do not see the one that shoots.
    pub fn build(patches: usize, find: impl Fn(PatchId) -> Option<Factors> + Sync) -> Self {
        let found: Vec<Option<Factors>> =
            (0..patches).into_par_iter().with_min_len(8).map(|index| find(PatchId::from_index(index))).collect();
        let mut exchanges = Self::default();
        for (index, factors) in found.into_iter().enumerate() {
            let Some(Factors { parts, channels, values }) = factors.filter(|factors| !factors.are_zero()) else {
                continue;
            };
            let first = exchanges.values.len() as u32;
            exchanges.places.push(Place { receiver: PatchId::from_index(index), first, parts, channels });
            exchanges.values.extend(values);
        }
        exchanges.places.shrink_to_fit();
        exchanges.values.shrink_to_fit();
        exchanges
    }

    /// Tells the light, in lux, that each receiver of each patch gets, by its place in the patch. `whole` is what the patch
    /// sends out on the average, lm/m2, and `each` what its parts do.
    pub fn light(&self, whole: Vec3, each: &[Vec3], mut receive: impl FnMut(PatchId, usize, Vec3)) {
        let ends = self.places.iter().skip(1).map(|next| next.first as usize).chain([self.values.len()]);
        for (place, end) in self.places.iter().zip(ends) {
            let shining = if place.parts == 1 { core::slice::from_ref(&whole) } else { each };
            let values = &self.values[place.first as usize..end];
            for (index, factors) in values.chunks_exact((place.parts * place.channels) as usize).enumerate() {
                let light: Vec3 = if place.channels == 1 {
                    factors.iter().zip(shining).map(|(factor, radiosity)| *factor * *radiosity).sum()
                } else {
                    let tints = factors.chunks_exact(3).map(Vec3::from_slice);
                    tints.zip(shining).map(|(factor, radiosity)| factor * *radiosity).sum()
                };
                receive(place.receiver, index, light);
            }
        }
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.places) + size_of_val(&*self.values)
    }
}

/// The exchanges of the patches that have shot, within a bound of memory: those that shot first are kept, since they have
/// most to shoot and will shoot again; others are found anew each time, and come out the same.
#[derive(Debug, Default)]
pub struct ExchangeCache {
    kept: Vec<Option<Exchanges>>,
    bytes: usize,
    most_bytes: usize,
    /// How many times exchanges were found.
    pub builds: u64,
}

impl ExchangeCache {
    /// Nothing found yet.
    pub fn new(patches: usize, most_bytes: usize) -> Self {
        Self { kept: vec![None; patches], bytes: 0, most_bytes, builds: 0 }
    }

    /// Lends a patch's exchanges, found first where they are not known.
    pub fn with<T>(
        &mut self,
        patch: PatchId,
        build: impl FnOnce() -> Exchanges,
        work: impl FnOnce(&Exchanges) -> T,
    ) -> T {
        if let Some(known) = &self.kept[patch.index()] {
            return work(known);
        }
        let exchanges = build();
        self.builds += 1;
        let result = work(&exchanges);
        if self.bytes + exchanges.bytes() <= self.most_bytes {
            self.bytes += exchanges.bytes();
            self.kept[patch.index()] = Some(exchanges);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two receivers each: of a whole, of nothing, of two parts, of a whole through coloured glass.
    fn some(share: f32) -> Exchanges {
        Exchanges::build(4, |receiver| match receiver.index() {
            0 => Some(Factors::new(1, &[Vec3::splat(share), Vec3::ZERO])),
            1 => Some(Factors::new(1, &[Vec3::ZERO; 2])),
            2 => Some(Factors::new(2, &[0.25, 0.5, 0.0, 1.0].map(Vec3::splat))),
            _ => Some(Factors::new(1, &[Vec3::new(0.5, 0.25, 0.0); 2])),
        })
    }

    #[test]
    fn receivers_get_their_shares_of_the_whole_or_of_its_parts() {
        let mut found = Vec::new();
        let each = [Vec3::splat(1.0), Vec3::splat(3.0)];
        some(0.125).light(Vec3::splat(2.0), &each, |patch, index, light| found.push((patch.index(), index, light)));
        let tinted = Vec3::new(1.0, 0.5, 0.0);
        let expected = [(0, 0, Vec3::splat(0.25)), (0, 1, Vec3::ZERO), (2, 0, Vec3::splat(1.75))];
        let expected = [&expected[..], &[(2, 1, Vec3::splat(3.0)), (3, 0, tinted), (3, 1, tinted)]].concat();
        assert_eq!(found, expected);
    }

    #[test]
    fn exchanges_are_found_once_as_long_as_memory_lasts() {
        let bytes = some(0.5).bytes();
        let mut cache = ExchangeCache::new(2, bytes);
        for _ in 0..3 {
            cache.with(PatchId::from_index(0), || some(0.5), |found| assert_eq!(*found, some(0.5)));
        }
        assert_eq!(cache.builds, 1);
        for _ in 0..3 {
            cache.with(PatchId::from_index(1), || some(0.25), |found| assert_eq!(*found, some(0.25)));
        }
        assert_eq!(cache.builds, 4, "there was no room for the second");
    }
}
