//! Product of a block of rows with vectors, for the available vector instructions.
//!
//! Compilers vectorize the loops over eight lanes, with AVX2 and FMA if available. Only AVX-512 needs intrinsics,
//! because its registers hold two rows.

use super::{GROUP, LANES};

/// Eight entries of a vector for each of `C` channels.
pub type Tile<const C: usize> = [[f32; LANES]; C];

/// Converts a vector to tiles for [`Packed::multiply`](super::Packed::multiply), padded with zeros.
pub fn tiles<const C: usize>(vector: &[[f32; C]]) -> Vec<Tile<C>> {
    let mut tiles = vec![[[0.0; LANES]; C]; vector.len().div_ceil(LANES)];
    for (index, value) in vector.iter().enumerate() {
        for (channel, value) in value.iter().enumerate() {
            tiles[index / LANES][channel][index % LANES] = *value;
        }
    }
    tiles
}

/// Function that multiplies the rows of a block, without their scales.
pub type BlockProduct<const C: usize> = fn(&[u32], &[[u16; LANES]], &[Tile<C>], &mut [[f32; C]]);

/// Values of a group's rows, tile by tile.
type GroupValues<'a> = &'a [[[u16; LANES]; GROUP]];

/// Sums of each lane of a group's rows.
type GroupSums<const C: usize> = [Tile<C>; GROUP];

pub fn block_product<const C: usize>() -> BlockProduct<C> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the CPU has the features for which the function is compiled.
            return |tiles, values, vectors, products| unsafe {
                block_product_avx512(tiles, values, vectors, products)
            };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return |tiles, values, vectors, products| unsafe { block_product_avx2(tiles, values, vectors, products) };
        }
    }
    |tiles, values, vectors, products| {
        block_product_by(tiles, values, products, |values| group_sums::<C, false>(tiles, values, vectors));
    }
}

/// Returns the product that has the same bits on all processors: those of fused multiplication, which is slow on
/// processors without it.
pub fn block_product_alike<const C: usize>() -> BlockProduct<C> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        return block_product();
    }
    |tiles, values, vectors, products| {
        block_product_by(tiles, values, products, |values| group_sums::<C, true>(tiles, values, vectors));
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn block_product_avx512<const C: usize>(
    tiles: &[u32],
    values: &[[u16; LANES]],
    vectors: &[Tile<C>],
    products: &mut [[f32; C]],
) {
    block_product_by(tiles, values, products, |values| group_sums_avx512(tiles, values, vectors));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn block_product_avx2<const C: usize>(
    tiles: &[u32],
    values: &[[u16; LANES]],
    vectors: &[Tile<C>],
    products: &mut [[f32; C]],
) {
    block_product_by(tiles, values, products, |values| group_sums::<C, true>(tiles, values, vectors));
}

#[inline(always)]
fn block_product_by<const C: usize>(
    tiles: &[u32],
    values: &[[u16; LANES]],
    products: &mut [[f32; C]],
    sums_of: impl Fn(GroupValues) -> GroupSums<C>,
) {
    for (group, products) in products.chunks_mut(GROUP).enumerate() {
        let values = &values[group * tiles.len() * GROUP..][..tiles.len() * GROUP];
        let sums = sums_of(values.as_chunks().0);
        for (product, sums) in products.iter_mut().zip(&sums) {
            *product = sums.map(|lanes| lanes.iter().sum());
        }
    }
}

/// Multiplies a group of rows with vectors. `FUSED` selects fused multiply-add, which is emulated in software on other
/// CPUs.
#[inline(always)]
fn group_sums<const C: usize, const FUSED: bool>(
    tiles: &[u32],
    values: GroupValues,
    vectors: &[Tile<C>],
) -> GroupSums<C> {
    let mut sums = [[[0.0f32; LANES]; C]; GROUP];
    for (&tile, values) in tiles.iter().zip(values) {
        let vector = &vectors[tile as usize];
        for (sums, values) in sums.iter_mut().zip(values) {
            let values = values.map(f32::from);
            for (sums, vector) in sums.iter_mut().zip(vector) {
                for lane in 0..LANES {
                    sums[lane] = if FUSED {
                        values[lane].mul_add(vector[lane], sums[lane])
                    } else {
                        values[lane] * vector[lane] + sums[lane]
                    };
                }
            }
        }
    }
    sums
}

/// Multiplies a group of rows with two rows side by side in each register, which compilers do not generate themselves.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn group_sums_avx512<const C: usize>(tiles: &[u32], values: GroupValues, vectors: &[Tile<C>]) -> GroupSums<C> {
    use core::arch::x86_64::*;

    use bytemuck::cast;

    let mut sums = [[_mm512_setzero_ps(); C]; GROUP / 2];
    for (&tile, values) in tiles.iter().zip(values) {
        let vector = &vectors[tile as usize];
        for (sums, pair) in sums.iter_mut().zip(values.as_chunks::<2>().0) {
            let values = _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(cast(*pair)));
            for (sum, vector) in sums.iter_mut().zip(vector) {
                *sum = _mm512_fmadd_ps(values, _mm512_broadcast_f32x8(cast(*vector)), *sum);
            }
        }
    }
    let mut of_rows = [[[0.0; LANES]; C]; GROUP];
    for (pair, sums) in of_rows.as_chunks_mut::<2>().0.iter_mut().zip(sums) {
        for (channel, sum) in sums.into_iter().enumerate() {
            pair[0][channel] = cast(_mm512_castps512_ps256(sum));
            pair[1][channel] = cast(_mm512_extractf32x8_ps::<1>(sum));
        }
    }
    of_rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low_rank::packed::BLOCK;
    use crate::low_rank::packed::tests::{filled, vector};

    #[test]
    fn machines_without_fused_multiplication_come_to_the_same() {
        let packed = filled(BLOCK, 64, 0.0);
        let vector = tiles(&vector(64));
        let (numbers, values) = packed.block(0);
        let [mut plain, mut best] = [[[0.0f32; 3]; BLOCK]; 2];
        block_product_by(numbers, values, &mut plain, |values| group_sums::<3, false>(numbers, values, &vector));
        block_product::<3>()(numbers, values, &vector, &mut best);
        for (plain, best) in plain.iter().flatten().zip(best.iter().flatten()) {
            assert!((plain / best - 1.0).abs() < 1e-5, "{plain} {best}");
        }
    }

    #[test]
    fn fused_multiplication_in_software_brings_the_same_bytes() {
        let packed = filled(BLOCK, 400, 0.0);
        let vector = tiles(&vector(400));
        let (numbers, values) = packed.block(0);
        let [mut software, mut best] = [[[0.0f32; 3]; BLOCK]; 2];
        block_product_by(numbers, values, &mut software, |values| group_sums::<3, true>(numbers, values, &vector));
        block_product_alike::<3>()(numbers, values, &vector, &mut best);
        assert_eq!(software, best);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn wider_registers_bring_the_same_bytes() {
        if !(is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq")) {
            return crate::skip::skip("AVX-512");
        }
        let packed = filled(BLOCK, 400, 0.0);
        let vector = tiles(&vector(400));
        let (numbers, values) = packed.block(0);
        // A matrix may end within a block.
        for rows in [BLOCK, 5, 1] {
            let [mut narrow, mut wide] = [[[0.0f32; 3]; BLOCK]; 2];
            // SAFETY: a CPU with AVX-512 has both features.
            unsafe {
                block_product_avx2(numbers, values, &vector, &mut narrow[..rows]);
                block_product_avx512(numbers, values, &vector, &mut wide[..rows]);
            }
            assert_eq!(narrow, wide);
        }
    }
}
