//! Large matrices of small numbers, packed to be read as fast as memory allows.
//!
//! Rows go in blocks of 32 and columns in tiles of eight. The rows of a block, neighbours that see about the same, share a
//! list of the tiles in which any of them has something; the rest is not stored. A value takes sixteen bits, as a fraction of
//! its row's largest. Four rows are multiplied at a time, so that a tile of the vector is loaded once for all of them, and
//! values lie in the order in which that reads them:
//!
//! ```text
//! block 0:  rows 0-3:  tile a: row 0, row 1, row 2, row 3;  tile b: ...    rows 4-7:  ...
//! ```
//!
//! Loops over eight lanes become vector instructions, of AVX2 and FMA where the machine has them. Only AVX-512, whose registers
//! hold two rows, is asked for by intrinsics.

use std::sync::Arc;

use bytemuck::cast;
use rayon::prelude::*;

/// Columns that lie side by side.
pub const LANES: usize = 8;

/// Rows that share their tiles.
const BLOCK: usize = 32;

/// Rows that are multiplied at a time.
const GROUP: usize = 4;

/// Blocks that a thread takes at least: a few microseconds of work.
const FEWEST_BLOCKS: usize = 8;

/// The largest value of a row.
const ONE: f32 = 65_535.0;

/// Eight entries of a vector for each of `C` channels.
pub type Tile<const C: usize> = [[f32; LANES]; C];

/// A matrix without negative values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packed {
    rows: usize,
    columns: usize,
    /// Where the tiles of each block start, and their number.
    tile_offsets: Vec<u32>,
    /// The tiles that each block has, by number, rising.
    tiles: Vec<u32>,
    /// Eight values for each row of each tile of each block; copies of the matrix share them.
    values: Arc<Vec<[u16; LANES]>>,
    /// What the values of each row count in.
    scales: Vec<f32>,
}

/// The arrays of a [`Packed`] matrix.
#[derive(Clone, Copy, Debug)]
pub struct PackedParts<'a> {
    /// Where the tiles of each block of rows start, and their number.
    pub tile_offsets: &'a [u32],
    /// The tiles that each block has, by number.
    pub tiles: &'a [u32],
    /// For each tile of a block eight values of each row: four rows' for one tile, then for the next; then the next four
    /// rows'.
    pub values: &'a [[u16; LANES]],
    /// What the values of each row count in.
    pub scales: &'a [f32],
}

/// One block on its way to being packed.
struct PackedBlock {
    tiles: Vec<u32>,
    values: Vec<[u16; LANES]>,
    scales: [f32; BLOCK],
}

impl Packed {
    /// Rows that share their tiles.
    pub const BLOCK: usize = BLOCK;

    /// Packs a matrix whose rows `fill` writes into zeros.
    ///
    /// Tiles are left out as long as no row loses more than the share `loss` of its sum. What was left out is spread over
    /// the rest, and rounding is carried from one value to the next: the sums of rows stay as they are.
    pub fn new(rows: usize, columns: usize, loss: f32, fill: impl Fn(usize, &mut [f32]) + Sync) -> Self {
        let blocks: Vec<usize> = (0..rows.div_ceil(BLOCK)).collect();
        let empty = Self { rows, columns, tile_offsets: vec![0], ..Self::default() };
        let blocks = empty.pack_blocks(&blocks, loss, fill);
        let values = blocks.iter().map(|block| block.values.len()).sum();
        empty.joined(values, blocks.iter().map(|block| (&*block.tiles, &*block.values, &block.scales[..])))
    }

    /// Packs some blocks anew, in rising order, whose rows `fill` writes into zeros; `loss` is as in [`Packed::new`].
    pub fn pack_anew(&mut self, blocks: &[usize], loss: f32, fill: impl Fn(usize, &mut [f32]) + Sync) {
        let packed = self.pack_blocks(blocks, loss, fill);
        let parts = (0..self.tile_offsets.len() - 1).map(|block| match blocks.binary_search(&block) {
            Ok(index) => {
                let PackedBlock { tiles, values, scales } = &packed[index];
                (&**tiles, &**values, &scales[..])
            }
            Err(_) => {
                let (tiles, values) = self.block(block);
                (tiles, values, &self.scales[block * BLOCK..self.rows.min((block + 1) * BLOCK)])
            }
        });
        let empty = Self { rows: self.rows, columns: self.columns, tile_offsets: vec![0], ..Self::default() };
        *self = empty.joined(self.values.len(), parts);
    }

    fn pack_blocks(&self, blocks: &[usize], loss: f32, fill: impl Fn(usize, &mut [f32]) + Sync) -> Vec<PackedBlock> {
        let Self { rows, columns, .. } = *self;
        let width = columns.next_multiple_of(LANES);
        let pack = |dense: &mut Vec<f32>, &block: &usize| {
            dense.fill(0.0);
            let of_block = block * BLOCK..rows.min((block + 1) * BLOCK);
            for (row, dense) in of_block.zip(dense.chunks_exact_mut(width.max(1))) {
                fill(row, &mut dense[..columns]);
            }
            pack(dense, width, loss)
        };
        blocks.par_iter().map_init(|| vec![0.0; BLOCK * width], pack).collect()
    }

    /// The same with the tiles, values and scales of all blocks, one after the other; about so many values.
    fn joined<'a>(
        mut self,
        values: usize,
        blocks: impl Iterator<Item = (&'a [u32], &'a [[u16; LANES]], &'a [f32])>,
    ) -> Self {
        let mut all = Vec::with_capacity(values);
        for (tiles, values, scales) in blocks {
            self.tiles.extend(tiles);
            self.tile_offsets.push(self.tiles.len() as u32);
            all.extend(values);
            self.scales.extend(scales);
        }
        self.values = Arc::new(all);
        self.scales.truncate(self.rows);
        self
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Tiles that a vector to multiply with has.
    pub fn vector_tiles(&self) -> usize {
        self.columns.div_ceil(LANES)
    }

    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.tile_offsets)
            + size_of_val(&*self.tiles)
            + size_of_val(self.values.as_slice())
            + size_of_val(&*self.scales)
    }

    /// The part of the matrix that is stored.
    pub fn density(&self) -> f32 {
        let all = self.tile_offsets.len().saturating_sub(1) * self.vector_tiles();
        self.tiles.len() as f32 / all.max(1) as f32
    }

    /// The values that a row has, with their columns.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let (block, within) = (row / BLOCK, row % BLOCK);
        let (tiles, values) = self.block(block);
        let (group, member) = (within / GROUP, within % GROUP);
        let scale = self.scales[row];
        tiles.iter().enumerate().flat_map(move |(index, &tile)| {
            let values = values[(group * tiles.len() + index) * GROUP + member];
            values
                .into_iter()
                .enumerate()
                .filter(|&(_, value)| value > 0)
                .map(move |(lane, value)| (tile as usize * LANES + lane, f32::from(value) * scale))
        })
    }

    /// The product with `C` vectors at once: a row's is the same for any number of threads.
    ///
    /// # Panics
    /// When `vectors` or `products` are not as long as the matrix is wide and high.
    pub fn multiply<const C: usize>(&self, vectors: &[Tile<C>], products: &mut [[f32; C]]) {
        assert_eq!((vectors.len(), products.len()), (self.vector_tiles(), self.rows), "vectors of the matrix' size");
        let multiply = block_product::<C>();
        products.par_chunks_mut(BLOCK).enumerate().with_min_len(FEWEST_BLOCKS).for_each(|(block, products)| {
            let (tiles, values) = self.block(block);
            multiply(tiles, values, vectors, products);
            for (product, scale) in products.iter_mut().zip(&self.scales[block * BLOCK..]) {
                product.iter_mut().for_each(|channel| *channel *= scale);
            }
        });
    }

    fn block(&self, block: usize) -> (&[u32], &[[u16; LANES]]) {
        let tiles = self.tile_offsets[block] as usize..self.tile_offsets[block + 1] as usize;
        (&self.tiles[tiles.clone()], &self.values[tiles.start * BLOCK..tiles.end * BLOCK])
    }

    /// Its arrays, as files and graphics cards take them.
    pub fn parts(&self) -> PackedParts<'_> {
        let Self { tile_offsets, tiles, values, scales, .. } = self;
        PackedParts { tile_offsets, tiles, values, scales }
    }

    /// A matrix of such arrays; `None` where they contradict each other.
    pub fn from_parts(
        [rows, columns]: [usize; 2],
        tile_offsets: Vec<u32>,
        tiles: Vec<u32>,
        values: Vec<[u16; LANES]>,
        scales: Vec<f32>,
    ) -> Option<Self> {
        let packed = Self { rows, columns, tile_offsets, tiles, values: Arc::new(values), scales };
        let most = packed.vector_tiles();
        let fits = packed.tile_offsets.len() == rows.div_ceil(BLOCK) + 1
            && packed.tile_offsets.first() == Some(&0)
            && packed.tile_offsets.is_sorted()
            && packed.tile_offsets.last().is_some_and(|&last| last as usize == packed.tiles.len())
            && packed.tiles.iter().all(|&tile| (tile as usize) < most)
            && packed.values.len() == packed.tiles.len() * BLOCK
            && packed.scales.len() == rows
            && packed.scales.iter().all(|scale| scale.is_finite() && *scale >= 0.0);
        fits.then_some(packed)
    }
}

/// A vector as [`Packed::multiply`] takes it, with zeros behind its end.
pub fn tiles<const C: usize>(vector: &[[f32; C]]) -> Vec<Tile<C>> {
    let mut tiles = vec![[[0.0; LANES]; C]; vector.len().div_ceil(LANES)];
    for (index, value) in vector.iter().enumerate() {
        for (channel, value) in value.iter().enumerate() {
            tiles[index / LANES][channel][index % LANES] = *value;
        }
    }
    tiles
}

/// Packs the rows of a block, each `width` values.
fn pack(dense: &mut [f32], width: usize, loss: f32) -> PackedBlock {
    let tiles = if width == 0 { Vec::new() } else { tiles_that_count(dense, width, loss) };
    let mut values = vec![[0; LANES]; tiles.len() * BLOCK];
    let mut scales = [0.0; BLOCK];
    for (row, dense) in dense.chunks_exact(width.max(1)).enumerate() {
        let kept = || tiles.iter().flat_map(|&tile| &dense[tile as usize * LANES..][..LANES]);
        let (sum, rest) = (dense.iter().sum::<f32>(), kept().sum::<f32>());
        let largest = kept().fold(0.0f32, |most, &value| most.max(value));
        if largest <= 0.0 {
            continue;
        }
        scales[row] = largest * (sum / rest) / ONE;
        let mut carried = 0.0;
        for (index, &tile) in tiles.iter().enumerate() {
            let place = ((row / GROUP) * tiles.len() + index) * GROUP + row % GROUP;
            for (value, dense) in values[place].iter_mut().zip(&dense[tile as usize * LANES..][..LANES]) {
                if *dense > 0.0 {
                    let exact = dense * (ONE / largest) + carried;
                    let rounded = exact.round().clamp(0.0, ONE);
                    carried = exact - rounded;
                    *value = rounded as u16;
                }
            }
        }
    }
    PackedBlock { tiles, values, scales }
}

/// The tiles of a block without which some row would lose more than it may. Those are left out first of which every row
/// has little.
fn tiles_that_count(dense: &[f32], width: usize, loss: f32) -> Vec<u32> {
    let sums: Vec<f32> = dense.chunks_exact(width).map(|row| row.iter().sum()).collect();
    let share = |tile: usize, row: usize| {
        let part: f32 = dense[row * width + tile * LANES..][..LANES].iter().sum();
        if part > 0.0 { part / sums[row] } else { 0.0 }
    };
    let largest = |tile: usize| (0..sums.len()).map(|row| share(tile, row)).fold(0.0, f32::max);
    let mut tiles: Vec<(f32, usize)> = (0..width / LANES).map(|tile| (largest(tile), tile)).collect();
    tiles.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut lost = vec![0.0; sums.len()];
    let spared = tiles.iter().take_while(|&&(largest, tile)| {
        if largest > 0.0 {
            lost.iter_mut().enumerate().for_each(|(row, lost)| *lost += share(tile, row));
        }
        lost.iter().all(|&lost| lost <= loss)
    });
    let spared = spared.count();
    let mut kept: Vec<u32> = tiles[spared..].iter().map(|&(_, tile)| tile as u32).collect();
    kept.sort_unstable();
    kept
}

/// How the machine multiplies the rows of a block, but for their scales.
type BlockProduct<const C: usize> = fn(&[u32], &[[u16; LANES]], &[Tile<C>], &mut [[f32; C]]);

/// The values of a group's rows, tile by tile.
type GroupValues<'a> = &'a [[[u16; LANES]; GROUP]];

/// The sums of each lane of a group's rows.
type GroupSums<const C: usize> = [Tile<C>; GROUP];

fn block_product<const C: usize>() -> BlockProduct<C> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the machine has what the function is compiled for.
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

/// `FUSED` machines multiply and add in one go; others would do that in software.
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

/// The same with two rows side by side in each register, which compilers do not find by themselves.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn group_sums_avx512<const C: usize>(tiles: &[u32], values: GroupValues, vectors: &[Tile<C>]) -> GroupSums<C> {
    use core::arch::x86_64::*;
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
    use crate::geometry::sobol::{hash2, unit_float};

    /// Numbers between zero and one, most of them small, with zeros among them.
    fn entry(row: usize, column: usize) -> f32 {
        let number = unit_float(hash2(row as u32, column as u32));
        if number < 0.25 { 0.0 } else { number.powi(4) }
    }

    fn filled(rows: usize, columns: usize, loss: f32) -> Packed {
        Packed::new(rows, columns, loss, |row, dense| {
            dense.iter_mut().enumerate().for_each(|(column, value)| *value = entry(row, column));
        })
    }

    fn vector(columns: usize) -> Vec<[f32; 3]> {
        let of_channel = |column: usize, channel: usize| unit_float(hash2(column as u32, 1000 + channel as u32));
        (0..columns).map(|column| core::array::from_fn(|channel| of_channel(column, channel))).collect()
    }

    fn product(packed: &Packed, vector: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let mut products = vec![[0.0; 3]; packed.rows()];
        packed.multiply(&tiles(vector), &mut products);
        products
    }

    #[test]
    fn products_are_those_of_the_matrix_that_was_packed() {
        for [rows, columns] in [[1, 1], [31, 7], [32, 8], [33, 9], [100, 65]] {
            let vector = vector(columns);
            let products = product(&filled(rows, columns, 0.0), &vector);
            for (row, product) in products.iter().enumerate() {
                for channel in 0..3 {
                    let terms = (0..columns).map(|column| entry(row, column) * vector[column][channel]);
                    // Half of one 65,535th of the row's largest, for each of its values, in the worst case.
                    let rounding = columns as f32 * 0.5 / ONE + 1e-6;
                    assert!((product[channel] - terms.sum::<f32>()).abs() < rounding, "{rows} x {columns}: {row}");
                }
            }
        }
    }

    #[test]
    fn sums_of_rows_survive_packing_and_what_is_left_out() {
        for loss in [0.0, 0.02, 0.3] {
            let packed = filled(64, 400, loss);
            let products = product(&packed, &vec![[1.0; 3]; 400]);
            for (row, product) in products.iter().enumerate() {
                let sum: f32 = (0..400).map(|column| entry(row, column)).sum();
                assert!((product[0] / sum - 1.0).abs() < 1e-4, "{loss}, {row}: {} for {sum}", product[0]);
            }
        }
    }

    #[test]
    fn no_row_loses_more_than_it_may() {
        let (whole, thinned) = (filled(40, 800, 0.0), filled(40, 800, 0.1));
        assert!(thinned.bytes() < whole.bytes() && thinned.density() < 1.0);
        for row in 0..40 {
            let kept: Vec<usize> = thinned.row(row).map(|(column, _)| column / LANES).collect();
            let lost = whole.row(row).filter(|(column, _)| kept.binary_search(&(column / LANES)).is_err());
            let lost: f32 = lost.map(|(_, value)| value).sum();
            let sum: f32 = whole.row(row).map(|(_, value)| value).sum();
            assert!(lost <= 0.1 * sum + 1e-4, "{row}: {lost} of {sum}");
        }
    }

    #[test]
    fn what_no_row_of_a_block_has_takes_no_memory() {
        let packed = Packed::new(64, 80, 0.0, |row, dense| dense[if row < 32 { 3 } else { 77 }] = 0.5);
        assert_eq!(packed.parts().tiles, [0, 9]);
        assert!(packed.row(40).eq([(77, 0.5)]));
        let nothing = Packed::new(5, 3, 0.0, |_, _| ());
        assert_eq!(product(&nothing, &[[1.0; 3]; 3]), [[0.0; 3]; 5]);
    }

    #[test]
    fn more_columns_of_zeros_change_nothing() {
        let vector = vector(70);
        let padded: Vec<[f32; 3]> = vector.iter().copied().chain([[9.0; 3]; 26]).collect();
        let wide = Packed::new(50, 96, 0.0, |row, dense| {
            (0..70).for_each(|column| dense[column] = entry(row, column));
        });
        assert_eq!(product(&filled(50, 70, 0.0), &vector), product(&wide, &padded));
    }

    #[test]
    fn any_number_of_threads_brings_the_same_bytes() {
        let packed = filled(700, 120, 0.0);
        let vector = vector(120);
        let in_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| product(&packed, &vector))
        };
        assert_eq!(in_threads(1), in_threads(3));
    }

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

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn wider_registers_bring_the_same_bytes() {
        if !(is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq")) {
            eprintln!("skipped: the processor has no AVX-512");
            return;
        }
        let packed = filled(BLOCK, 400, 0.0);
        let vector = tiles(&vector(400));
        let (numbers, values) = packed.block(0);
        // A matrix ends anywhere within a block.
        for rows in [BLOCK, 5, 1] {
            let [mut narrow, mut wide] = [[[0.0f32; 3]; BLOCK]; 2];
            // SAFETY: a machine with AVX-512 has both.
            unsafe {
                block_product_avx2(numbers, values, &vector, &mut narrow[..rows]);
                block_product_avx512(numbers, values, &vector, &mut wide[..rows]);
            }
            assert_eq!(narrow, wide);
        }
    }

    #[test]
    fn arrays_that_contradict_each_other_are_no_matrix() {
        let packed = filled(40, 20, 0.0);
        let PackedParts { tile_offsets, tiles, values, scales } = packed.parts();
        let [offsets, tiles] = [tile_offsets, tiles].map(<[u32]>::to_vec);
        let of = |rows, offsets: &[u32], tiles: &[u32], count: usize| {
            let values = values[..count].to_vec();
            Packed::from_parts([rows, 20], offsets.to_vec(), tiles.to_vec(), values, scales.to_vec())
        };
        assert_eq!(of(40, &offsets, &tiles, values.len()), Some(packed.clone()));
        assert_eq!(of(80, &offsets, &tiles, values.len()), None);
        assert_eq!(of(40, &[0, 9, 6], &tiles, values.len()), None);
        assert_eq!(of(40, &offsets, &[0, 1, 2, 0, 1, 3], values.len()), None);
        assert_eq!(of(40, &offsets, &tiles, values.len() - 1), None);
        for scale in [-1.0, f32::NAN, f32::INFINITY] {
            let scales = core::iter::once(scale).chain(scales[1..].iter().copied()).collect();
            assert_eq!(Packed::from_parts([40, 20], offsets.clone(), tiles.clone(), values.to_vec(), scales), None);
        }
    }
}
