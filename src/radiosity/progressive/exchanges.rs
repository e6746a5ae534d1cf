//! Form-factor rows of shooting patches, computed at the first shot and cached.

use std::collections::HashMap;

use glam::Vec3;
use rayon::prelude::*;

use super::PatchId;
use super::groups::Group;

/// Form factors from the groups of a shooting patch to the receivers of another: received lux per lm/m2.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Factors {
    /// Pairs of a group of the shooting patch and a group of receivers.
    pub links: Vec<(Group, Group)>,
    /// Form factors in the order of links and their receivers, per channel.
    pub values: Vec<Vec3>,
}

/// Link from a group of the shooting patch to consecutive receivers of another.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Link {
    group: u32,
    receiving: PatchId,
    /// Index of the first receiver in its patch.
    receiver: u32,
    /// Start of the link's factors.
    factors: u32,
}

/// Form-factor row of a shooting patch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchanges {
    links: Vec<Link>,
    /// Factors of the receivers of each link: one for each, or three if an occluder is colored.
    factors: Vec<f32>,
    is_colored: bool,
}

impl Exchanges {
    /// Computes a row. `find` returns the factors to a patch, or `None` if the patch does not see the shooting one.
    pub fn build(patches: usize, find: impl Fn(PatchId) -> Option<Factors> + Sync) -> Self {
        let found: Vec<Option<Factors>> = (0..patches)
            .into_par_iter()
            .with_min_len(8)
            .with_max_len(8)
            .map(|index| find(PatchId::from_index(index)))
            .collect();
        let values = || found.iter().flatten().flat_map(|found| &found.values);
        let mut exchanges =
            Self { is_colored: values().any(|value| *value != Vec3::splat(value.x)), ..Self::default() };
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
            if self.is_colored {
                self.factors.extend(of_link.iter().flat_map(Vec3::to_array));
            } else {
                self.factors.extend(of_link.iter().map(|value| value.x));
            }
        }
    }

    /// Passes the received light, in lux, to `receive`, with the patch and the index of the receiver in the patch.
    /// `groups` is the radiosity of each group of the shooting patch, in lm/m2. Calls for the same receiver add up.
    pub fn light(&self, groups: &[Vec3], mut receive: impl FnMut(PatchId, usize, Vec3)) {
        let ends = self.links.iter().skip(1).map(|next| next.factors as usize).chain([self.factors.len()]);
        for (link, end) in self.links.iter().zip(ends) {
            let radiosity = groups[link.group as usize];
            let factors = &self.factors[link.factors as usize..end];
            let mut receive =
                |receiver: usize, light| receive(link.receiving, link.receiver as usize + receiver, light);
            if self.is_colored {
                let tints = factors.chunks_exact(3).map(Vec3::from_slice).enumerate();
                tints.for_each(|(receiver, factor)| receive(receiver, factor * radiosity));
            } else {
                factors.iter().enumerate().for_each(|(receiver, factor)| receive(receiver, *factor * radiosity));
            }
        }
    }

    /// Returns the memory size, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.links) + size_of_val(&*self.factors)
    }
}

/// Form-factor rows of patches that have shot, within a memory limit. The rows of the first patches are kept, because
/// these have the most power and will shoot again. Other rows are recomputed each time, with identical results.
#[derive(Debug, Default)]
pub struct ExchangeCache {
    kept: HashMap<PatchId, Exchanges>,
    bytes: usize,
    max_bytes: usize,
    /// Number of computed rows.
    pub builds: u64,
}

impl ExchangeCache {
    /// Creates an empty cache with a limit in bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// Calls `work` with a patch's row, computed by `build` unless cached.
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
        if self.bytes + exchanges.bytes() <= self.max_bytes {
            self.bytes += exchanges.bytes();
            self.kept.insert(patch, exchanges);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates factors to patches of two receivers. They are those from the whole, none, those of two halves to one
    /// receiver, and those through colored glass.
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
        let radiosities = [2.0, 1.0, 3.0].map(Vec3::splat);
        for glass in [Vec3::splat(0.5), Vec3::new(0.5, 0.25, 0.0)] {
            let mut found = Vec::new();
            some(0.125, glass).light(&radiosities, |patch, index, light| found.push((patch.index(), index, light)));
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
