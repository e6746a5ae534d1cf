//! Owen-scrambled Sobol points by hashing, and the counter-based hash behind every random decision of the crate.
//!
//! A point is a pure function of (index, seed). Threads, passes and machines therefore share a sequence without shared
//! state. Method: Burley 2020, "Practical Hash-based Owen Scrambling", with the permutation constants of Vegdahl 2021.

/// Hashes a word (the output permutation of PCG-RXS-M-XS-32 after one step of its generator).
#[inline]
pub const fn hash(value: u32) -> u32 {
    let state = value.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// Hashes two words into one.
#[inline]
pub const fn hash2(a: u32, b: u32) -> u32 {
    hash(hash(a) ^ b.wrapping_mul(0x9E37_79B9))
}

/// Converts the upper 24 bits of a word to a number in `[0, 1)`.
#[inline]
pub fn unit_float(word: u32) -> f32 {
    (word >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// Number of dimensions of the sequence. Further dimensions need another seed.
pub const DIMENSIONS: usize = 4;

/// Sobol direction numbers: column `bit` of dimension `d` is the contribution of index bit `bit`.
const DIRECTIONS: [[u32; 32]; DIMENSIONS] = [
    van_der_corput(),
    sobol_directions(1, 0, [1, 0, 0]),
    sobol_directions(2, 1, [1, 3, 0]),
    sobol_directions(3, 1, [1, 3, 1]),
];

const fn van_der_corput() -> [u32; 32] {
    let mut columns = [0; 32];
    let mut bit = 0;
    while bit < 32 {
        columns[bit] = 1 << (31 - bit);
        bit += 1;
    }
    columns
}

/// Computes columns from a primitive polynomial of the given `degree`, with inner coefficients `a` and odd initial
/// numbers `m` (Joe and Kuo 2008).
const fn sobol_directions(degree: usize, a: u32, m: [u32; 3]) -> [u32; 32] {
    let mut columns = [0u32; 32];
    let mut bit = 0;
    while bit < 32 {
        if bit < degree {
            columns[bit] = m[bit] << (31 - bit);
        } else {
            let mut column = columns[bit - degree] ^ (columns[bit - degree] >> degree);
            let mut term = 1;
            while term < degree {
                column ^= ((a >> (degree - 1 - term)) & 1) * columns[bit - term];
                term += 1;
            }
            columns[bit] = column;
        }
        bit += 1;
    }
    columns
}

/// Contribution of each value of each 4-bit group of the index to all dimensions. Index and contributions are
/// bit-reversed, as scrambling needs them.
static CONTRIBUTIONS: [[[u32; DIMENSIONS]; 16]; 8] = contributions();

const fn contributions() -> [[[u32; DIMENSIONS]; 16]; 8] {
    let mut table = [[[0; DIMENSIONS]; 16]; 8];
    let mut entry = 0;
    while entry < 8 * 16 * DIMENSIONS * 4 {
        let (group, value) = (entry / (16 * DIMENSIONS * 4), entry / (DIMENSIONS * 4) % 16);
        let (dimension, bit) = (entry / 4 % DIMENSIONS, entry % 4);
        if value >> bit & 1 == 1 {
            table[group][value][dimension] ^= DIRECTIONS[dimension][31 - (4 * group + bit)].reverse_bits();
        }
        entry += 1;
    }
    table
}

/// Returns the contributions of all 4-bit groups, group by group, in the layout of the shaders.
#[cfg(feature = "gpu")]
pub(crate) fn contributions_of_groups() -> &'static [[u32; DIMENSIONS]] {
    CONTRIBUTIONS.as_flattened()
}

#[inline]
fn reversed_sobol(reversed_index: u32) -> [u32; DIMENSIONS] {
    let mut words = [0; DIMENSIONS];
    for (group, values) in CONTRIBUTIONS.iter().enumerate() {
        let contribution = &values[(reversed_index >> (4 * group)) as usize & 15];
        for (word, contribution) in words.iter_mut().zip(contribution) {
            *word ^= contribution;
        }
    }
    words
}

/// Applies an Owen scramble to a bit-reversed word: the flip of each bit depends on the bits above (Laine and Karras
/// 2011, Vegdahl's constants).
#[inline]
const fn scramble_reversed(reversed: u32, seed: u32) -> u32 {
    let mut x = reversed;
    x ^= x.wrapping_mul(0x3d20_adea);
    x = x.wrapping_add(seed);
    x = x.wrapping_mul((seed >> 16) | 1);
    x ^= x.wrapping_mul(0x0552_6c56);
    x ^= x.wrapping_mul(0x53a2_2864);
    x
}

/// Scrambled and shuffled Sobol sequence in four dimensions.
#[derive(Clone, Copy, Debug)]
pub struct OwenSobol {
    seed: u32,
    /// Scramble seed of each dimension.
    scrambles: [u32; DIMENSIONS],
}

impl OwenSobol {
    /// Creates the sequence of a seed. Different seeds are independent.
    #[inline]
    pub const fn new(seed: u32) -> Self {
        let seed = hash(seed);
        Self { seed, scrambles: [hash2(seed, 0), hash2(seed, 1), hash2(seed, 2), hash2(seed, 3)] }
    }

    /// Returns the point at `index`, with coordinates in `[0, 1)`.
    ///
    /// Any aligned block of 2^k indices is stratified: every coordinate has one point in each of 2^k equal intervals.
    #[inline(always)]
    pub fn point(&self, index: u32) -> [f32; DIMENSIONS] {
        // Owen scrambling of the index moves aligned blocks of 2^k indices as a whole, so blocks stay stratified.
        let words = reversed_sobol(scramble_reversed(index.reverse_bits(), self.seed));
        core::array::from_fn(|dimension| {
            unit_float(scramble_reversed(words[dimension], self.scrambles[dimension]).reverse_bits())
        })
    }
}

/// Returns the points at `index` of several sequences. Equals [`OwenSobol::point`], and takes half the time with AVX2.
#[inline]
pub fn points<const SEEDS: usize>(seeds: [u32; SEEDS], index: u32) -> [[f32; DIMENSIONS]; SEEDS] {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2, which the function is compiled for.
        return unsafe { points_avx2(seeds, index) };
    }
    one_after_another(seeds, index)
}

/// Computes the points one after another, compiled for AVX2. Not inlined: stores of adjacent results let the compiler
/// vectorize over dimensions, which fails within a path.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2")]
fn points_avx2<const SEEDS: usize>(seeds: [u32; SEEDS], index: u32) -> [[f32; DIMENSIONS]; SEEDS] {
    one_after_another(seeds, index)
}

#[inline(always)]
fn one_after_another<const SEEDS: usize>(seeds: [u32; SEEDS], index: u32) -> [[f32; DIMENSIONS]; SEEDS] {
    let mut points = [[0.0; DIMENSIONS]; SEEDS];
    for (point, seed) in points.iter_mut().zip(seeds) {
        *point = OwenSobol::new(seed).point(index);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_several_seeds_are_those_of_their_sequences() {
        for (seeds, index) in [([0, 1], 0), ([17, 17], 5), ([u32::MAX, 0x1234_5678], 4096), ([3, 99], u32::MAX)] {
            assert_eq!(points(seeds, index), seeds.map(|seed| OwenSobol::new(seed).point(index)));
        }
    }

    #[test]
    fn every_aligned_block_is_stratified_in_every_coordinate() {
        let points = OwenSobol::new(17);
        for start in [0, 64, 192, 4096] {
            for dimension in 0..DIMENSIONS {
                let mut seen = [false; 64];
                for index in start..start + 64 {
                    seen[(points.point(index)[dimension] * 64.0) as usize] = true;
                }
                assert!(seen.iter().all(|&hit| hit), "dimension {dimension} from {start}");
            }
        }
    }

    #[test]
    fn the_first_two_coordinates_fill_every_elementary_box() {
        let points = OwenSobol::new(5);
        for (columns, rows) in [(1, 256), (4, 64), (16, 16), (64, 4), (256, 1)] {
            let mut seen = vec![false; 256];
            for index in 0..256 {
                let [x, y, ..] = points.point(index);
                seen[(x * columns as f32) as usize * rows + (y * rows as f32) as usize] = true;
            }
            assert!(seen.iter().all(|&hit| hit), "{columns} x {rows}");
        }
    }

    #[test]
    fn different_seeds_give_unrelated_points() {
        let (a, b) = (OwenSobol::new(1), OwenSobol::new(2));
        let correlation: f32 =
            (0..4096).map(|index| (a.point(index)[0] - 0.5) * (b.point(index)[0] - 0.5)).sum::<f32>() / 4096.0;
        assert!(correlation.abs() < 0.01, "{correlation}");
    }
}
