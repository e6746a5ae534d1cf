//! Which patches a patch sends light to, and what may stand in between.

use rayon::prelude::*;

use super::PatchId;
use super::occluders::Candidates;

/// A pair of patches that may see each other, from the side of the one that shoots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interaction {
    /// Who receives.
    pub receiver: PatchId,
    /// Where its candidates start in the list of all, and how many they are; [`Interaction::MANY`] for those that are left
    /// to the scene's tree.
    first: u32,
    count: u32,
}

/// What may block a ray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between<'a> {
    /// Nothing.
    Nothing,
    /// Some of these triangles.
    Triangles(&'a [u32]),
    /// Whatever the scene's tree finds.
    Anything,
}

/// All that a patch sends light to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interactions {
    list: Vec<Interaction>,
    candidates: Vec<u32>,
}

impl Interaction {
    const MANY: u32 = u32::MAX;
}

impl Interactions {
    /// Finds the candidates of each receiver; `None` for those that do not see the patch at all.
    pub fn build(receivers: usize, find: impl Fn(PatchId) -> Option<Candidates> + Sync) -> Self {
        let found: Vec<Option<Candidates>> =
            (0..receivers).into_par_iter().with_min_len(16).map(|index| find(PatchId::from_index(index))).collect();
        let mut interactions = Self::default();
        for (receiver, candidates) in found.into_iter().enumerate() {
            let receiver = PatchId::from_index(receiver);
            let first = interactions.candidates.len() as u32;
            match candidates {
                None => {}
                Some(Candidates::Many) => {
                    interactions.list.push(Interaction { receiver, first, count: Interaction::MANY });
                }
                Some(Candidates::Triangles(triangles)) => {
                    interactions.list.push(Interaction { receiver, first, count: triangles.len() as u32 });
                    interactions.candidates.extend(triangles);
                }
            }
        }
        interactions.list.shrink_to_fit();
        interactions.candidates.shrink_to_fit();
        interactions
    }

    /// What may stand between the patch and a receiver; `None` when they do not see each other.
    pub fn with(&self, receiver: PatchId) -> Option<Between<'_>> {
        let place = self.list.binary_search_by_key(&receiver, |interaction| interaction.receiver).ok()?;
        Some(self.between(&self.list[place]))
    }

    fn between(&self, interaction: &Interaction) -> Between<'_> {
        let first = interaction.first as usize;
        match interaction.count {
            0 => Between::Nothing,
            Interaction::MANY => Between::Anything,
            count => Between::Triangles(&self.candidates[first..first + count as usize]),
        }
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.list) + size_of_val(&*self.candidates)
    }
}

/// The interactions of the patches that have shot, within a bound of memory: those that shot first are kept, since they
/// have most to shoot and will shoot again; others are found anew each time.
#[derive(Debug, Default)]
pub struct InteractionCache {
    kept: Vec<Option<Interactions>>,
    bytes: usize,
    most_bytes: usize,
    /// How many times interactions were found.
    pub builds: u64,
}

impl InteractionCache {
    /// Nothing found yet.
    pub fn new(patches: usize, most_bytes: usize) -> Self {
        Self { kept: vec![None; patches], bytes: 0, most_bytes, builds: 0 }
    }

    /// Lends a patch's interactions, found first where they are not known.
    pub fn with<T>(
        &mut self,
        patch: PatchId,
        build: impl FnOnce() -> Interactions,
        work: impl FnOnce(&Interactions) -> T,
    ) -> T {
        if let Some(known) = &self.kept[patch.index()] {
            return work(known);
        }
        let interactions = build();
        self.builds += 1;
        let result = work(&interactions);
        if self.bytes + interactions.bytes() <= self.most_bytes {
            self.bytes += interactions.bytes();
            self.kept[patch.index()] = Some(interactions);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(triangles: &[u32]) -> Interactions {
        Interactions::build(4, |receiver| match receiver.index() {
            0 => Some(Candidates::Triangles(triangles.to_vec())),
            1 => None,
            2 => Some(Candidates::Many),
            _ => Some(Candidates::Triangles(Vec::new())),
        })
    }

    #[test]
    fn each_receiver_gets_its_own_candidates() {
        let interactions = some(&[7, 9]);
        let found: Vec<_> = (0..4).map(|index| interactions.with(PatchId::from_index(index))).collect();
        let expected = [Some(Between::Triangles(&[7, 9][..])), None, Some(Between::Anything), Some(Between::Nothing)];
        assert_eq!(found, expected);
    }

    #[test]
    fn interactions_are_found_once_as_long_as_memory_lasts() {
        let bytes = some(&[1, 2]).bytes();
        let mut cache = InteractionCache::new(2, bytes);
        for _ in 0..3 {
            cache.with(PatchId::from_index(0), || some(&[1, 2]), |found| assert_eq!(*found, some(&[1, 2])));
        }
        assert_eq!(cache.builds, 1);
        for _ in 0..3 {
            cache.with(PatchId::from_index(1), || some(&[3]), |found| assert_eq!(*found, some(&[3])));
        }
        assert_eq!(cache.builds, 4, "there was no room for the second");
    }
}
