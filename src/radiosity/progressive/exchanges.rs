//! What share of a patch's light others get: found when it shoots first, and kept for when it shoots again.

use std::collections::HashMap;

use glam::Vec3;
use rayon::prelude::*;

use super::PatchId;
use super::groups::Group;

/// Shares of a patch's light that the receivers of another patch get: what a receiver has, in lux, of one lm/m2.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Factors {
    /// Which group of the one that shines is seen by which receivers of the other.
    pub links: Vec<(Group, Group)>,
    /// By link and receiver, per channel.
    pub values: Vec<Vec3>,
}

/// A group of a patch that shines, and receivers of another that follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Link {
    group: u32,
    receiving: PatchId,
    /// The first receiver, by its place in the patch.
    receiver: u32,
    /// Where its factors begin.
    factors: u32,
}

/// All that get light of a patch, and how much of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchanges {
    links: Vec<Link>,
    /// One a receiver of each link; three where something on the way is coloured.
    factors: Vec<f32>,
    is_coloured: bool,
}

impl Exchanges {
    /// Finds the factors of each patch; `None` for those that do not see the one that shoots.
    pub fn build(patches: usize, find: impl Fn(PatchId) -> Option<Factors> + Sync) -> Self {
        let found: Vec<Option<Factors>> =
            (0..patches).into_par_iter().with_min_len(8).map(|index| find(PatchId::from_index(index))).collect();
        let values = || found.iter().flatten().flat_map(|found| &found.values);
        let mut exchanges =
            Self { is_coloured: values().any(|value| *value != Vec3::splat(value.x)), ..Self::default() };
        for (index, found) in found.iter().enumerate() {
            found.iter().for_each(|factors| exchanges.add(PatchId::from_index(index), factors));
        }
        exchanges.links.shrink_to_fit();
        exchanges.factors.shrink_to_fit();
        exchanges
    }

    fn add(&mut self, receiving: PatchId, found: &Factors) {
        let mut values = &*found.values;
        for (group, receivers) in &found.links {
            let (of_link, rest) = values.split_at(receivers.count);
            values = rest;
            if of_link.iter().all(|value| *value == Vec3::ZERO) {
                continue;
            }
            let (group, receiver) = (group.index as u32, receivers.first as u32);
            self.links.push(Link { group, receiving, receiver, factors: self.factors.len() as u32 });
            if self.is_coloured {
                self.factors.extend(of_link.iter().flat_map(Vec3::to_array));
            } else {
                self.factors.extend(of_link.iter().map(|value| value.x));
            }
        }
    }

    /// Tells the light, in lux, that receivers of each patch get, by their places in the patch. `groups` is what each group
    /// of the one that shines sends out, lm/m2. Some are told several times: what they get adds up.
    pub fn light(&self, groups: &[Vec3], mut receive: impl FnMut(PatchId, usize, Vec3)) {
        let ends = self.links.iter().skip(1).map(|next| next.factors as usize).chain([self.factors.len()]);
        for (link, end) in self.links.iter().zip(ends) {
            let radiosity = groups[link.group as usize];
            let factors = &self.factors[link.factors as usize..end];
            let mut receive =
                |receiver: usize, light| receive(link.receiving, link.receiver as usize + receiver, light);
            if self.is_coloured {
                let tints = factors.chunks_exact(3).map(Vec3::from_slice).enumerate();
                tints.for_each(|(receiver, factor)| receive(receiver, factor * radiosity));
            } else {
                factors.iter().enumerate().for_each(|(receiver, factor)| receive(receiver, *factor * radiosity));
            }
        }
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.links) + size_of_val(&*self.factors)
    }
}

/// The exchanges of the patches that have shot, within a bound of memory: those that shot first are kept, since they have
/// most to shoot and will shoot again; others are found anew each time, and come out the same.
#[derive(Debug, Default)]
pub struct ExchangeCache {
    kept: HashMap<PatchId, Exchanges>,
    bytes: usize,
    most_bytes: usize,
    /// How many times exchanges were found.
    pub builds: u64,
}

impl ExchangeCache {
    /// Nothing found yet.
    pub fn new(most_bytes: usize) -> Self {
        Self { most_bytes, ..Self::default() }
    }

    /// Lends a patch's exchanges, found first where they are not known.
    pub fn with<T>(
        &mut self,
        patch: PatchId,
        build: impl FnOnce() -> Exchanges,
        work: impl FnOnce(&Exchanges) -> T,
    ) -> T {
        if let Some(known) = self.kept.get(&patch) {
            return work(known);
        }
        let exchanges = build();
        self.builds += 1;
        let result = work(&exchanges);
        if self.bytes + exchanges.bytes() <= self.most_bytes {
            self.bytes += exchanges.bytes();
            self.kept.insert(patch, exchanges);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patches of two receivers: a whole, nothing, each of two parts of one receiver, a whole through glass of a colour.
    fn some(share: f32, glass: Vec3) -> Exchanges {
        let group = |index, first, count| Group { index, first, count };
        let (whole, both) = (group(0, 0, 2), group(0, 0, 2));
        let factors = |links: &[(Group, Group)], values: &[Vec3]| {
            Some(Factors { links: links.to_vec(), values: values.to_vec() })
        };
        Exchanges::build(5, |receiving| match receiving.index() {
            0 => factors(&[(whole, both)], &[Vec3::splat(share), Vec3::ZERO]),
            1 => factors(&[(whole, both)], &[Vec3::ZERO; 2]),
            2 => {
                let second = group(2, 1, 1);
                factors(&[(group(1, 0, 1), second), (group(2, 1, 1), second)], &[0.25, 0.5].map(Vec3::splat))
            }
            3 => factors(&[(whole, both)], &[glass; 2]),
            _ => None,
        })
    }

    #[test]
    fn receivers_get_their_shares_of_the_whole_or_of_its_parts() {
        let shining = [2.0, 1.0, 3.0].map(Vec3::splat);
        for glass in [Vec3::splat(0.5), Vec3::new(0.5, 0.25, 0.0)] {
            let mut found = Vec::new();
            some(0.125, glass).light(&shining, |patch, index, light| found.push((patch.index(), index, light)));
            let whole = [(0, 0, Vec3::splat(0.25)), (0, 1, Vec3::ZERO)];
            let parts = [(2, 1, Vec3::splat(0.25)), (2, 1, Vec3::splat(1.5))];
            assert_eq!(found, [whole, parts, [(3, 0, 2.0 * glass), (3, 1, 2.0 * glass)]].concat());
        }
    }

    #[test]
    fn exchanges_are_found_once_as_long_as_memory_lasts() {
        let bytes = some(0.5, Vec3::ONE).bytes();
        let mut cache = ExchangeCache::new(bytes);
        for _ in 0..3 {
            cache.with(
                PatchId::from_index(0),
                || some(0.5, Vec3::ONE),
                |found| assert_eq!(*found, some(0.5, Vec3::ONE)),
            );
        }
        assert_eq!(cache.builds, 1);
        for _ in 0..3 {
            cache.with(
                PatchId::from_index(1),
                || some(0.25, Vec3::ONE),
                |found| assert_eq!(*found, some(0.25, Vec3::ONE)),
            );
        }
        assert_eq!(cache.builds, 4, "there was no room for the second");
    }
}
