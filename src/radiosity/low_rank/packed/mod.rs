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
//! `product` multiplies them by the vector instructions that the machine has.

mod product;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rayon::prelude::*;

use self::product::block_product;
pub use self::product::{Tile, tiles};

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
