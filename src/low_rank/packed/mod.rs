//! Large non-negative matrices, packed for multiplication at memory bandwidth.
//!
//! Rows form blocks of 32, and columns form tiles of eight. The rows of a block are neighbors with similar views. They
//! share a list of the tiles in which any of them has values, and other tiles are not stored. A value takes sixteen
//! bits, as a fraction of the row's maximum. Four rows are multiplied at a time, so that they share each load of a
//! vector tile. The order of values in memory is that of the multiplication:
//!
//! ```text
//! block 0:  rows 0-3:  tile a: row 0, row 1, row 2, row 3;  tile b: ...    rows 4-7:  ...
//! ```
//!
//! `product` multiplies with the vector instructions of the CPU.

mod product;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rayon::prelude::*;

use self::product::{BlockProduct, block_product, block_product_alike};
pub use self::product::{Tile, tiles};

/// Number of columns in a tile.
pub const LANES: usize = 8;

/// Number of rows in a block, which share their tiles.
const BLOCK: usize = 32;

/// Number of rows multiplied at a time.
const GROUP: usize = 4;

/// Minimum number of blocks in a task, a few microseconds of work.
const MIN_BLOCKS: usize = 8;

/// Blocks that are packed before they are joined to the others: all of them at once would take twice the memory.
const BLOCKS_AT_ONCE: usize = 512;

/// Integer that represents the maximum of a row.
const ONE: f32 = 65_535.0;

/// Packed non-negative matrix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packed {
    rows: usize,
    columns: usize,
    /// Start of each block in `tiles`, followed by the total number.
    tile_offsets: Vec<u32>,
    /// Tile numbers of each block, ascending.
    tiles: Vec<u32>,
    /// Eight values for each row of each tile of each block. Clones of the matrix share them.
    values: Arc<Vec<[u16; LANES]>>,
    /// Scale factor of each row's values.
    scales: Vec<f32>,
}

/// Arrays of a [`Packed`] matrix.
#[derive(Clone, Copy, Debug)]
pub struct PackedParts<'a> {
    /// Start of each block in `tiles`, followed by the total number.
    pub tile_offsets: &'a [u32],
    /// Tile numbers of each block, ascending.
    pub tiles: &'a [u32],
    /// Eight values for each row of each tile of each block. Groups of four rows come one after the other. Within a
    /// group the tiles come one after the other.
    pub values: &'a [[u16; LANES]],
    /// Scale factor of each row's values.
    pub scales: &'a [f32],
}

/// Block during packing.
struct PackedBlock {
    tiles: Vec<u32>,
    values: Vec<[u16; LANES]>,
    scales: [f32; BLOCK],
}

impl Packed {
    /// Number of rows in a block, which share their tiles.
    pub const BLOCK: usize = BLOCK;

    /// Packs a matrix. `fill` writes each row, which is zero before.
    ///
    /// Tiles are dropped as long as no row loses more than the fraction `loss` of its sum. The rest of each row is
    /// scaled up, and rounding errors are carried from one value to the next. Both preserve row sums.
    pub fn new(rows: usize, columns: usize, loss: f32, fill: impl Fn(usize, &mut [f32]) + Sync) -> Self {
        let blocks: Vec<usize> = (0..rows.div_ceil(BLOCK)).collect();
        let empty = Self { rows, columns, tile_offsets: vec![0], ..Self::default() };
        let mut packed = empty.clone();
        for blocks in blocks.chunks(BLOCKS_AT_ONCE) {
            for PackedBlock { tiles, values, scales } in empty.pack_blocks(blocks, loss, &fill) {
                packed.add_block(&tiles, &values, &scales);
            }
        }
        packed.complete()
    }

    /// Packs some blocks again, given in ascending order. `fill` writes their rows, which are zero before. `loss` is as
    /// in [`Packed::new`].
    pub fn pack_anew(&mut self, blocks: &[usize], loss: f32, fill: impl Fn(usize, &mut [f32]) + Sync) {
        let packed = self.pack_blocks(blocks, loss, fill);
        let values = Arc::new(Vec::with_capacity(self.values.len()));
        let mut anew =
            Self { rows: self.rows, columns: self.columns, tile_offsets: vec![0], values, ..Self::default() };
        for block in 0..self.tile_offsets.len() - 1 {
            if let Ok(index) = blocks.binary_search(&block) {
                let PackedBlock { tiles, values, scales } = &packed[index];
                anew.add_block(tiles, values, scales);
            } else {
                let (tiles, values) = self.block(block);
                let scales = &self.scales[block * BLOCK..self.rows.min((block + 1) * BLOCK)];
                anew.add_block(tiles, values, scales);
            }
        }
        *self = anew.complete();
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

    /// Appends the next block.
    fn add_block(&mut self, tiles: &[u32], values: &[[u16; LANES]], scales: &[f32]) {
        self.tiles.extend(tiles);
        self.tile_offsets.push(self.tiles.len() as u32);
        Arc::make_mut(&mut self.values).extend(values);
        self.scales.extend(scales);
    }

    /// Returns the finished matrix, without the scales of rows that only pad the last block.
    fn complete(mut self) -> Self {
        self.scales.truncate(self.rows);
        self
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the number of tiles of a vector operand.
    pub fn vector_tiles(&self) -> usize {
        self.columns.div_ceil(LANES)
    }

    /// Returns the memory size, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.tile_offsets)
            + size_of_val(&*self.tiles)
            + size_of_val(self.values.as_slice())
            + size_of_val(&*self.scales)
    }

    /// Returns the stored fraction of the matrix.
    pub fn density(&self) -> f32 {
        let all = self.tile_offsets.len().saturating_sub(1) * self.vector_tiles();
        self.tiles.len() as f32 / all.max(1) as f32
    }

    /// Returns the non-zero values of a row, with their columns.
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

    /// Multiplies the matrix with `C` vectors. The product of a row does not depend on the number of threads.
    ///
    /// # Panics
    /// Panics unless `vectors` has as many tiles as the matrix, and `products` one entry for each row.
    pub fn multiply<const C: usize>(&self, vectors: &[Tile<C>], products: &mut [[f32; C]]) {
        self.multiply_by(block_product(), vectors, products);
    }

    /// Multiplies as [`multiply`](Self::multiply) does, with the same bits on all processors. It is slow on processors
    /// without fused multiplication.
    ///
    /// # Panics
    /// Panics as [`multiply`](Self::multiply) does.
    pub fn multiply_alike<const C: usize>(&self, vectors: &[Tile<C>], products: &mut [[f32; C]]) {
        self.multiply_by(block_product_alike(), vectors, products);
    }

    fn multiply_by<const C: usize>(&self, multiply: BlockProduct<C>, vectors: &[Tile<C>], products: &mut [[f32; C]]) {
        assert_eq!((vectors.len(), products.len()), (self.vector_tiles(), self.rows), "vectors of the matrix' size");
        products.par_chunks_mut(BLOCK).enumerate().with_min_len(MIN_BLOCKS).for_each(|(block, products)| {
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

    /// Returns the arrays, for files and graphics cards.
    pub fn parts(&self) -> PackedParts<'_> {
        let Self { tile_offsets, tiles, values, scales, .. } = self;
        PackedParts { tile_offsets, tiles, values, scales }
    }

    /// Creates a matrix from its arrays, or returns `None` if they are inconsistent.
    pub fn from_parts(
        [rows, columns]: [usize; 2],
        tile_offsets: Vec<u32>,
        tiles: Vec<u32>,
        values: Vec<[u16; LANES]>,
        scales: Vec<f32>,
    ) -> Option<Self> {
        let packed = Self { rows, columns, tile_offsets, tiles, values: Arc::new(values), scales };
        let max = packed.vector_tiles();
        let fits = packed.tile_offsets.len() == rows.div_ceil(BLOCK) + 1
            && packed.tile_offsets.first() == Some(&0)
            && packed.tile_offsets.is_sorted()
            && packed.tile_offsets.last().is_some_and(|&last| last as usize == packed.tiles.len())
            && packed.tiles.iter().all(|&tile| (tile as usize) < max)
            && packed.values.len() == packed.tiles.len() * BLOCK
            && packed.scales.len() == rows
            && packed.scales.iter().all(|scale| scale.is_finite() && *scale >= 0.0);
        fits.then_some(packed)
    }
}

/// Packs the rows of a block, `width` values each.
fn pack(dense: &mut [f32], width: usize, loss: f32) -> PackedBlock {
    let tiles = if width == 0 { Vec::new() } else { tiles_that_count(dense, width, loss) };
    let mut values = vec![[0; LANES]; tiles.len() * BLOCK];
    let mut scales = [0.0; BLOCK];
    for (row, dense) in dense.chunks_exact(width.max(1)).enumerate() {
        let kept = || tiles.iter().flat_map(|&tile| &dense[tile as usize * LANES..][..LANES]);
        let (sum, rest) = (dense.iter().sum::<f32>(), kept().sum::<f32>());
        let largest = kept().fold(0.0f32, |max, &value| max.max(value));
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

/// Returns the tiles of a block that must be kept. Tiles with the smallest maximum share of any row are dropped first,
/// until a row would lose more than `loss`.
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
