//! Counter-based random numbers as a generator for `rand`.

use core::convert::Infallible;

use rand::rand_core::utils::{fill_bytes_via_next_word, next_u64_via_u32};
use rand::{SeedableRng, TryRng};

use super::sobol::hash2;

/// Counter-based generator for `rand`: word `n` of a seed's stream is [`hash2(seed, n)`](hash2), as in the shaders.
///
/// `random::<f32>()` equals [`unit_float`](super::sobol::unit_float) of the next word. The stream repeats after 2^32
/// words. It suits no secrets.
///
/// Other distributions of `rand` may change with its version. So bakes and pictures, which have to stay the same,
/// use plain numbers only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRng {
    seed: u32,
    /// Number of the next word.
    next: u32,
}

impl CounterRng {
    /// Creates the stream of a seed. Streams of different seeds are independent.
    pub const fn new(seed: u32) -> Self {
        Self { seed, next: 0 }
    }
}

impl SeedableRng for CounterRng {
    type Seed = [u8; 4];

    fn from_seed(seed: Self::Seed) -> Self {
        Self::new(u32::from_le_bytes(seed))
    }
}

impl TryRng for CounterRng {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let word = hash2(self.seed, self.next);
        self.next = self.next.wrapping_add(1);
        Ok(word)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_u64_via_u32(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        fill_bytes_via_next_word(bytes, || self.try_next_u32())
    }
}

#[cfg(test)]
mod tests {
    use core::iter::successors;

    use rand::{Rng, RngExt};

    use super::super::sobol::{hash, unit_float};
    use super::*;

    #[test]
    fn hashes_of_the_states_of_pcg_are_its_published_stream() {
        // `pcg32si` of the C library, seeded with 42: the first numbers of `test-high/expected/check-pcg32si.out`.
        let published = [0x256b_5357, 0xa5ef_ad32, 0x170b_7830, 0x334a_5b22, 0x3de5_c680, 0x9b47_b7b3];
        const INCREMENT: u32 = 2_891_336_453;
        let step = |state: &u32| Some(state.wrapping_mul(747_796_405).wrapping_add(INCREMENT));
        let found: Vec<u32> = successors(Some(INCREMENT + 42), step).map(hash).take(published.len()).collect();
        assert_eq!(found, published);
    }

    #[test]
    fn words_and_numbers_are_those_of_the_hash() {
        let words = [0, 1, 2, 3].map(|n| hash2(17, n));
        let mut rng = CounterRng::new(17);
        assert_eq!(words.map(|_| rng.next_u32()), words);
        assert_eq!(CounterRng::new(17).random::<[f32; 4]>(), words.map(unit_float));
    }

    #[test]
    fn long_words_and_bytes_are_the_same_stream_from_its_low_end() {
        let words = [0, 1].map(|n| hash2(17, n));
        assert_eq!(CounterRng::new(17).next_u64(), u64::from(words[0]) | u64::from(words[1]) << 32);
        let mut bytes = [0; 7];
        CounterRng::from_seed([17, 0, 0, 0]).fill_bytes(&mut bytes);
        assert_eq!(bytes, words.map(u32::to_le_bytes).as_flattened()[..7]);
    }

    #[test]
    fn the_stream_begins_anew_after_its_last_word() {
        let mut rng = CounterRng { next: u32::MAX, ..CounterRng::new(5) };
        assert_eq!([rng.next_u32(), rng.next_u32()], [hash2(5, u32::MAX), hash2(5, 0)]);
    }
}
