//! Hierarchy of a patch's receivers.
//!
//! A distant patch exchanges light with all receivers at once. A near one exchanges light with groups, which are
//! smaller the nearer both are. The work for two touching patches therefore grows linearly with their receivers,
//! instead of quadratically.

use std::ops::Range;
use std::sync::Arc;

/// Binary tree of a patch's receivers, with single receivers as leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Number of receivers in each group, in depth-first order: a group, its first half, its second half.
    counts: Arc<[u32]>,
}

/// Group of consecutive receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Index of the group.
    pub index: usize,
    /// Index of its first receiver in the patch.
    pub first: usize,
    /// Number of its receivers.
    pub count: usize,
}

impl Group {
    /// Returns the indices of the receivers in the patch.
    pub fn places(self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

impl Groups {
    /// Recursively bisects items on a grid, across the longer side of their bounds. Reorders the items so that groups
    /// are consecutive.
    pub fn halve<T>(things: &mut [T], place: impl Fn(&T) -> [u16; 2]) -> Self {
        let mut counts = Vec::with_capacity(2 * things.len());
        halve(things, &place, &mut counts);
        Self { counts: counts.into() }
    }

    /// Creates the tree of a single receiver.
    pub fn of_one() -> Self {
        Self { counts: [1].into() }
    }

    /// Returns the number of receivers in each group, for [`Groups::from_counts`].
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// Creates the tree with these [`Groups::counts`].
    pub fn from_counts(counts: Vec<u32>) -> Self {
        Self { counts: counts.into() }
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Returns the group of all receivers.
    pub fn whole(&self) -> Group {
        Group { index: 0, first: 0, count: self.counts.first().map_or(0, |&count| count as usize) }
    }

    /// Returns the halves of a group, or `None` for a single receiver.
    pub fn halves(&self, Group { index, first, count }: Group) -> Option<[Group; 2]> {
        if count < 2 {
            return None;
        }
        let below = self.counts[index + 1] as usize;
        let halves = [
            Group { index: index + 1, first, count: below },
            Group { index: index + 2 * below, first: first + below, count: count - below },
        ];
        Some(halves)
    }

    /// Computes a value for each group. `of_one` maps the index of a single receiver, and `join` combines the values of
    /// both halves.
    pub fn join<T>(&self, mut of_one: impl FnMut(usize) -> T, join: impl Fn(&T, &T) -> T) -> Vec<T> {
        let mut receiver = self.whole().count;
        // Reverse order: halves come before their group.
        let mut found: Vec<T> = Vec::with_capacity(self.len());
        for (index, &count) in self.counts.iter().enumerate().rev() {
            let known = |half: usize| &found[self.len() - 1 - half];
            let this = if count == 1 {
                receiver -= 1;
                of_one(receiver)
            } else {
                join(known(index + 1), known(index + 2 * self.counts[index + 1] as usize))
            };
            found.push(this);
        }
        found.reverse();
        found
    }
}

fn halve<T>(things: &mut [T], place: &impl Fn(&T) -> [u16; 2], counts: &mut Vec<u32>) {
    counts.push(things.len() as u32);
    if things.len() < 2 {
        return;
    }
    let reach = |axis: usize| {
        let along = things.iter().map(|thing| place(thing)[axis]);
        (along.clone().min().unwrap_or(0), along.max().unwrap_or(0))
    };
    let reaches = [reach(0), reach(1)];
    let axis = usize::from(reaches[1].1 - reaches[1].0 > reaches[0].1 - reaches[0].0);
    let middle = reaches[axis].0 + (reaches[axis].1 - reaches[axis].0).div_ceil(2);
    things.sort_by_key(|thing| place(thing)[axis] >= middle);
    let below = things.partition_point(|thing| place(thing)[axis] < middle);
    // Parts of one texel have equal positions.
    let below = if below == 0 { things.len() / 2 } else { below };
    let (first, second) = things.split_at_mut(below);
    halve(first, place, counts);
    halve(second, place, counts);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_halved_into_blocks_down_to_its_texels() {
        let mut texels: Vec<[u16; 2]> = (0..8 * 4).map(|index| [10 + index % 8, 20 + index / 8]).collect();
        texels.push([10, 20]);
        let groups = Groups::halve(&mut texels, |texel| *texel);
        assert_eq!(groups.len(), 2 * 33 - 1);
        let mut pending = vec![groups.whole()];
        let mut alone = Vec::new();
        while let Some(group) = pending.pop() {
            let texels = &texels[group.places()];
            let reach = [0, 1].map(|axis| {
                let along = texels.iter().map(|texel| texel[axis]);
                along.clone().max().unwrap() - along.min().unwrap() + 1
            });
            assert!(reach[0] * reach[1] <= group.count as u16, "{group:?} is a whole block");
            assert!(reach[0].max(reach[1]) <= 2 * reach[0].min(reach[1]), "{reach:?}");
            match groups.halves(group) {
                Some(halves) => pending.extend(halves),
                None => alone.push(group.first),
            }
        }
        alone.sort_unstable();
        assert!(alone.into_iter().eq(0..33));
    }

    #[test]
    fn what_groups_have_is_joined_from_what_their_receivers_have() {
        let mut places: Vec<[u16; 2]> = (0..11).map(|index| [index, 0]).collect();
        let groups = Groups::halve(&mut places, |place| *place);
        let sums = groups.join(|receiver| receiver * receiver, |a, b| a + b);
        let mut pending = vec![groups.whole()];
        while let Some(group) = pending.pop() {
            let expected: usize = group.places().map(|receiver| receiver * receiver).sum();
            assert_eq!(sums[group.index], expected);
            pending.extend(groups.halves(group).into_iter().flatten());
        }
    }
}
