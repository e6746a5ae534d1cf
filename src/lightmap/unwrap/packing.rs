//! Packing of charts into a rectangle by shape, texel by texel.
//!
//! Large charts come first. Each takes the lowest position that fits in any orientation, holes of other charts
//! included. All positions in a row are tested at once: each bit of a row of words states whether a chart fits there.

use std::collections::HashMap;
use std::ops::Range;

use glam::{Vec2, Vec2Swizzles};

use super::flatten::Chart;
use super::raster::column_spans;

/// Number of charts above which only one width is tried.
const MANY_CHARTS: usize = 400;

/// Aspect ratio above which rectangles are penalized, because they pack badly on pages.
const LONG: f64 = 3.0;

/// Texels touched by a chart: ranges of columns for each row.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Mask {
    width: u32,
    rows: Vec<Vec<Range<u32>>>,
}

impl Mask {
    fn new(triangles: impl Iterator<Item = [Vec2; 3]>, [width, height]: [u32; 2]) -> Self {
        let mut texels = vec![false; width as usize * height as usize];
        for triangle in triangles {
            for (column, rows) in column_spans(triangle) {
                for row in rows.start..rows.end.min(height) {
                    texels[row as usize * width as usize + column.min(width - 1) as usize] = true;
                }
            }
        }
        Self { width, rows: texels.chunks(width as usize).map(runs).collect() }
    }

    fn height(&self) -> u32 {
        self.rows.len() as u32
    }

    fn area(&self) -> u64 {
        self.rows.iter().flatten().map(|run| u64::from(run.end - run.start)).sum()
    }

    fn upside_down(&self) -> Self {
        Self { width: self.width, rows: self.rows.iter().rev().cloned().collect() }
    }

    /// Returns the mask grown by `padding` texels, with its origin moved by as much.
    fn dilated(&self, padding: u32) -> Self {
        let width = self.width + 2 * padding;
        let rows = (0..self.rows.len() + 2 * padding as usize)
            .map(|row| {
                let mut texels = vec![false; width as usize];
                let near = row.saturating_sub(2 * padding as usize)..(row + 1).min(self.rows.len());
                for run in self.rows[near].iter().flatten() {
                    texels[run.start as usize..(run.end + 2 * padding) as usize].fill(true);
                }
                runs(&texels)
            })
            .collect();
        Self { width, rows }
    }
}

/// Returns the ranges of true values.
fn runs(texels: &[bool]) -> Vec<Range<u32>> {
    let mut start = 0;
    let mut runs = Vec::new();
    for same in texels.chunk_by(|a, b| a == b) {
        let end = start + same.len() as u32;
        if same[0] {
            runs.push(start..end);
        }
        start = end;
    }
    runs
}

/// Orientation of a chart.
#[derive(Clone)]
struct Attitude {
    transposed: bool,
    upside_down: bool,
    mask: Mask,
    /// Mask grown by the padding.
    padded: Mask,
}

/// Position of a chart in the rectangle.
#[derive(Clone, Copy, Default)]
struct Spot {
    attitude: usize,
    x: u32,
    y: u32,
}

/// Moves charts whose bounding rectangles start at the origin so that at least `padding` texels separate any two.
/// Returns the columns and rows of the whole. No chart may exceed `page_size`, but the whole may.
pub(super) fn pack(charts: &mut [Chart], sizes: &[[u32; 2]], padding: u32, page_size: u32) -> [u32; 2] {
    let attitudes: Vec<Vec<Attitude>> =
        charts.iter().zip(sizes).map(|(chart, size)| attitudes_of(chart, *size, padding)).collect();
    let mut order: Vec<usize> = (0..charts.len()).collect();
    order.sort_by_key(|&chart| {
        let [width, height] = sizes[chart];
        (std::cmp::Reverse((width.max(height), width.min(height))), chart)
    });
    let packed = (widths(&attitudes, sizes, page_size).into_iter())
        .map(|width| pack_width(&attitudes, &order, width, padding))
        .min_by_key(|(_, size)| badness(*size, page_size));
    let Some((spots, size)) = packed else {
        return [0, 0];
    };
    for ((chart, attitudes), spot) in charts.iter_mut().zip(&attitudes).zip(spots) {
        let attitude = &attitudes[spot.attitude];
        let corner = Vec2::new(spot.x as f32, spot.y as f32);
        for point in &mut chart.points {
            let turned = if attitude.transposed { point.yx() } else { *point };
            let rows = attitude.mask.height() as f32;
            let turned = if attitude.upside_down { Vec2::new(turned.x, rows - turned.y) } else { turned };
            *point = turned + corner;
        }
    }
    size
}

/// Returns a sort key: the area, with a penalty for long rectangles, and those larger than a page last.
fn badness([width, height]: [u32; 2], page_size: u32) -> (bool, u64) {
    let (short, long) = (f64::from(width.min(height)), f64::from(width.max(height)));
    (long > f64::from(page_size), (short * long * (long / short / LONG).max(1.0)) as u64)
}

fn attitudes_of(chart: &Chart, [width, height]: [u32; 2], padding: u32) -> Vec<Attitude> {
    let upright = Mask::new(chart.flat_triangles(), [width, height]);
    let turned = chart.flat_triangles().map(|triangle| triangle.map(|point| point.yx()));
    let lying = Mask::new(turned, [height, width]);
    let mut attitudes: Vec<Attitude> = Vec::with_capacity(4);
    for (transposed, base) in [(false, upright), (true, lying)] {
        for upside_down in [false, true] {
            let mask = if upside_down { base.upside_down() } else { base.clone() };
            if attitudes.iter().all(|known| known.mask != mask) {
                attitudes.push(Attitude { transposed, upside_down, padded: mask.dilated(padding), mask });
            }
        }
    }
    attitudes
}

/// Returns candidate widths of a nearly square, tightly filled rectangle.
fn widths(attitudes: &[Vec<Attitude>], sizes: &[[u32; 2]], page_size: u32) -> Vec<u32> {
    // Two charts share each gap, so half of it counts for each.
    let area: u64 = attitudes.iter().map(|attitudes| attitudes[0].mask.area() + attitudes[0].padded.area()).sum();
    let side = (0.5 * area as f64).sqrt();
    let min_width = sizes.iter().map(|&[width, height]| width.min(height)).max().unwrap_or(1);
    let factors: &[f64] = if sizes.len() > MANY_CHARTS { &[1.03] } else { &[0.8, 0.9, 0.97, 1.03, 1.1, 1.2] };
    let mut widths: Vec<u32> = factors.iter().map(|factor| (side * factor) as u32).collect();
    if sizes.len() <= 8 {
        widths.extend(sizes.iter().flatten());
    }
    for width in &mut widths {
        *width = (*width).max(min_width).min(page_size.max(min_width));
    }
    widths.sort_unstable();
    widths.dedup();
    widths
}

fn pack_width(attitudes: &[Vec<Attitude>], order: &[usize], width: u32, padding: u32) -> (Vec<Spot>, [u32; 2]) {
    let mut occupancy = Occupancy::new(width, padding);
    // Space only fills up, so charts of equal shape need not search below the previous one's position.
    let mut lowest: HashMap<&Mask, u32> = HashMap::new();
    let mut spots = vec![Spot::default(); attitudes.len()];
    let mut used = [0, 0];
    for &chart in order {
        let mut best: Option<((u32, u32, u32), Spot)> = None;
        for (attitude, Attitude { mask, padded, .. }) in attitudes[chart].iter().enumerate() {
            if mask.width > width {
                continue;
            }
            let from = lowest.entry(mask).or_default();
            let (x, y) = occupancy.lowest_spot(padded, mask.width, *from);
            *from = y;
            let rank = (y + mask.height(), y, x);
            if best.is_none_or(|(known, _)| rank < known) {
                best = Some((rank, Spot { attitude, x, y }));
            }
        }
        // The rectangle is at least as wide as the narrow side of each chart.
        let Some((_, spot)) = best else {
            continue;
        };
        let mask = &attitudes[chart][spot.attitude].mask;
        occupancy.place(mask, spot.x, spot.y);
        used = [used[0].max(spot.x + mask.width), used[1].max(spot.y + mask.height())];
        spots[chart] = spot;
    }
    (spots, used)
}

/// Texels covered by charts, with a border of `padding` free texels.
struct Occupancy {
    width: u32,
    padding: u32,
    words: usize,
    /// Rows of `words` words, column 0 in the lowest bit.
    rows: Vec<Vec<u64>>,
    /// Longest free run of each row.
    free: Vec<u32>,
}

impl Occupancy {
    fn new(width: u32, padding: u32) -> Self {
        // A spare word keeps shifts simple.
        let words = (width + 2 * padding) as usize / 64 + 2;
        Self { width, padding, words, rows: Vec::new(), free: Vec::new() }
    }

    /// Returns the lowest, then leftmost position from a row on where a padded mask hits no chart.
    fn lowest_spot(&self, padded: &Mask, width: u32, from: u32) -> (u32, u32) {
        let longest: Vec<u32> =
            padded.rows.iter().map(|runs| runs.iter().map(|run| run.end - run.start).max().unwrap_or(0)).collect();
        let mut fits = vec![0; self.words];
        let mut scratch = vec![0; self.words];
        for y in from.. {
            let rows = y as usize..(y as usize + padded.rows.len()).min(self.rows.len()).max(y as usize);
            let free = self.free.get(rows.clone()).unwrap_or_default();
            if free.iter().zip(&longest).any(|(free, longest)| free < longest) {
                continue;
            }
            fill(&mut fits, self.width - width + 1);
            let occupied = self.rows.get(rows).unwrap_or_default();
            let fitting = occupied
                .iter()
                .zip(&padded.rows)
                .all(|(row, runs)| runs.iter().all(|run| exclude(&mut fits, row, run, &mut scratch)));
            if fitting && let Some(word) = fits.iter().position(|word| *word != 0) {
                return (word as u32 * 64 + fits[word].trailing_zeros(), y);
            }
        }
        (0, 0)
    }

    fn place(&mut self, mask: &Mask, x: u32, y: u32) {
        let (x, y) = (x + self.padding, (y + self.padding) as usize);
        let height = y + mask.rows.len() + self.padding as usize;
        if self.rows.len() < height {
            self.rows.resize(height, vec![0; self.words]);
            self.free.resize(height, self.width + 2 * self.padding);
        }
        for (row, runs) in mask.rows.iter().enumerate().filter(|(_, runs)| !runs.is_empty()) {
            let texels = &mut self.rows[y + row];
            for column in runs.iter().flat_map(|run| run.start + x..run.end + x) {
                texels[column as usize / 64] |= 1 << (column % 64);
            }
            self.free[y + row] = longest_free_run(texels, self.width + 2 * self.padding);
        }
    }
}

/// Sets the first `count` bits and clears the others.
fn fill(bits: &mut [u64], count: u32) {
    for (word, bits) in bits.iter_mut().enumerate() {
        let left = count.saturating_sub(word as u32 * 64);
        *bits = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
    }
}

/// Clears the positions where a run of a mask would hit an occupied texel of a row. Returns false if none is left.
fn exclude(fits: &mut [u64], row: &[u64], run: &Range<u32>, overlaps: &mut [u64]) -> bool {
    // overlaps(x) = any texel of x .. x + length is occupied, by doubling.
    overlaps.copy_from_slice(row);
    let (length, mut reached) = (run.end - run.start, 1);
    while reached < length {
        let step = reached.min(length - reached);
        for word in 0..overlaps.len() {
            overlaps[word] |= bits_from(overlaps, word as u32 * 64 + step);
        }
        reached += step;
    }
    let mut left = 0;
    for (word, fits) in fits.iter_mut().enumerate() {
        *fits &= !bits_from(overlaps, word as u32 * 64 + run.start);
        left |= *fits;
    }
    left != 0
}

/// Returns the 64 bits from a position on; bits beyond the end are zero.
fn bits_from(bits: &[u64], position: u32) -> u64 {
    let (word, shift) = ((position / 64) as usize, position % 64);
    let at = |word: usize| bits.get(word).copied().unwrap_or(0);
    if shift == 0 { at(word) } else { at(word) >> shift | at(word + 1) << (64 - shift) }
}

fn longest_free_run(bits: &[u64], width: u32) -> u32 {
    let (mut longest, mut run) = (0, 0);
    for column in 0..width {
        let occupied = bits[column as usize / 64] >> (column % 64) & 1 == 1;
        run = if occupied { 0 } else { run + 1 };
        longest = longest.max(run);
    }
    longest
}
