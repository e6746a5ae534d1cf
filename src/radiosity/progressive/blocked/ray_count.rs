//! Count of the rays that a subscene traced for patches.

/// Ray count in which each patch counts once, even if its rays are traced again because of the memory limit. One bit
/// per patch is enough, and every subscene may receive light from every patch.
#[derive(Debug)]
pub struct RayCount {
    traced: u64,
    /// Bit set of the patches with counted rays.
    counted: Vec<u64>,
}

impl RayCount {
    /// Number of rays beyond which no subscene is believed to have traced any.
    const MAX_TRACED: u64 = 1 << 44;

    /// Creates an empty count for a number of patches.
    pub fn new(patches: usize) -> Self {
        Self { traced: 0, counted: vec![0; patches.div_ceil(64)] }
    }

    /// Counts the rays of a patch, unless already counted.
    pub fn count(&mut self, patch: usize, rays: u64) {
        let (word, bit) = (&mut self.counted[patch / 64], 1 << (patch % 64));
        if *word & bit == 0 {
            *word |= bit;
            self.traced += rays;
        }
    }

    /// Returns the number of traced rays.
    pub fn traced(&self) -> u64 {
        self.traced
    }

    /// Returns the number of serialized words for a number of patches.
    pub const fn words(patches: usize) -> usize {
        1 + patches.div_ceil(64)
    }

    /// Returns true if serialized counts may be those of this number of subscenes, each of which has two.
    pub fn fit(words: &[u64], patches: usize, subscenes: usize) -> bool {
        let each = Self::words(patches);
        words.len() == 2 * each * subscenes && words.chunks_exact(each).all(|words| words[0] <= Self::MAX_TRACED)
    }

    /// Serializes the count.
    pub fn to_words(&self) -> impl Iterator<Item = u64> + '_ {
        core::iter::once(self.traced).chain(self.counted.iter().copied())
    }

    /// Restores [`RayCount::words`] words from [`RayCount::to_words`].
    pub fn restore(&mut self, words: &[u64]) {
        if let Some((traced, counted)) = words.split_first() {
            self.traced = *traced;
            self.counted.copy_from_slice(counted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rays_of_a_patch_count_once_also_after_they_were_kept() {
        let mut count = RayCount::new(65);
        [(0, 3), (64, 4), (0, 3)].into_iter().for_each(|(patch, rays)| count.count(patch, rays));
        let kept: Vec<u64> = count.to_words().collect();
        assert_eq!(kept.len(), RayCount::words(65));
        let mut again = RayCount::new(65);
        again.restore(&kept);
        [(64, 4), (63, 5)].into_iter().for_each(|(patch, rays)| again.count(patch, rays));
        assert_eq!((count.traced(), again.traced()), (7, 12));
    }
}
