//! Progressive resolution: selects the pixels to trace next, and the layer to show.
//!
//! After a change, a frame shows a complete image with as many pixels as its budget allows: all, or one in 4, 16 or 64.
//! While nothing changes, the next finer layer is traced in the background. It replaces the shown layer when each of
//! its pixels has a sample. The finest layer accumulates samples.

use core::ops::Range;

use bevy::math::UVec2;

/// Number of layers. Each has a quarter of the pixels of the one before.
pub const LEVELS: usize = 4;

/// Samples of a coarse layer before a finer one starts. Then both cost equally many paths.
const COARSE_SAMPLES: u32 = 4;

/// Minimum number of rows of a piece: the height of a workgroup. Fewer rows leave threads idle.
const STRIPE: u32 = 8;

/// Fixed cost of a piece, in pixels.
const MIN_COST: f32 = 1024.0;

/// Maximum number of samples. Beyond it, a sample changes the mean by less than rounding.
const MAX_SAMPLES: u32 = 65_536;

/// Rows of a layer that one dispatch traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Level of the layer. Level 0 has all pixels, each further one a quarter.
    pub level: usize,
    /// Index of the sample, from zero.
    pub sample: u32,
    pub rows: Range<u32>,
    pub pixels: u32,
}

/// Accumulated samples of one level.
#[derive(Clone, Debug)]
struct Layer {
    level: usize,
    size: UVec2,
    /// Number of complete samples.
    samples: u32,
    /// Number of rows with one more sample.
    rows: u32,
}

/// Image with progressive resolution.
#[derive(Clone, Debug)]
pub struct Layers {
    full: UVec2,
    shown: Layer,
    finer: Option<Layer>,
    is_new: bool,
}

/// Returns the size of a level, in pixels.
pub fn size_at(full: UVec2, level: usize) -> UVec2 {
    let factor = 1 << level;
    UVec2::new(full.x.div_ceil(factor), full.y.div_ceil(factor))
}

impl Layers {
    /// Starts a new image. `budget` is the number of pixels that a frame can trace.
    pub fn new(full: UVec2, budget: f32) -> Self {
        let pixels = |level: &usize| size_at(full, *level).as_vec2().element_product();
        let level = (0..LEVELS).find(|level| pixels(level) <= budget).unwrap_or(LEVELS - 1);
        Self { full, shown: Layer::new(full, level), finer: None, is_new: true }
    }

    /// Returns the level to show and its samples per pixel, or `None` before the first sample.
    pub fn shown(&self) -> Option<(usize, u32)> {
        (self.shown.samples > 0).then_some((self.shown.level, self.shown.samples))
    }

    /// Returns the size of the shown layer, in pixels.
    pub fn shown_size(&self) -> UVec2 {
        self.shown.size
    }

    /// Plans a frame: about `budget` pixels in pieces of about `piece` pixels, until all pixels have `max_samples`.
    ///
    /// A new image is traced completely, whatever its cost, since a partial one is useless.
    pub fn plan(&mut self, budget: f32, piece: f32, max_samples: u32) -> Vec<Piece> {
        let max_samples = max_samples.clamp(1, MAX_SAMPLES);
        let mut pieces = Vec::new();
        let mut left = budget;
        while self.shown.samples == 0 || pieces.is_empty() || left >= (self.growing().size.x * STRIPE) as f32 {
            let limit = if self.shown.samples == 0 { piece } else { piece.min(left) };
            let is_refining = !self.is_new;
            if is_refining && self.finer.is_none() && self.shown.level > 0 && self.shown.samples >= COARSE_SAMPLES {
                self.finer = Some(Layer::new(self.full, self.shown.level - 1));
            }
            let growing = self.growing();
            if growing.level == 0 && growing.samples >= max_samples {
                break;
            }
            let next = growing.next(limit);
            left -= (next.pixels as f32).max(MIN_COST);
            pieces.push(next);
            if let Some(finer) = self.finer.take_if(|finer| finer.samples > 0) {
                self.shown = finer;
            }
        }
        self.is_new = false;
        pieces
    }

    fn growing(&mut self) -> &mut Layer {
        self.finer.as_mut().unwrap_or(&mut self.shown)
    }
}

impl Layer {
    fn new(full: UVec2, level: usize) -> Self {
        Self { level, size: size_at(full, level), samples: 0, rows: 0 }
    }

    /// Returns the next rows: about `pixels` pixels, at least one stripe.
    fn next(&mut self, pixels: f32) -> Piece {
        let stripes = ((pixels / (self.size.x * STRIPE) as f32) as u32).max(1);
        let count = stripes.saturating_mul(STRIPE).min(self.size.y - self.rows);
        let rows = self.rows..self.rows + count;
        let piece = Piece { level: self.level, sample: self.samples, pixels: count * self.size.x, rows };
        self.rows += count;
        if self.rows == self.size.y {
            self.samples += 1;
            self.rows = 0;
        }
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: UVec2 = UVec2::new(320, 180);

    /// Checks that samples come in order and that each covers all rows once.
    fn follow(pieces: &[Piece], done: &mut [(u32, u32); LEVELS]) {
        for piece in pieces {
            let (sample, row) = &mut done[piece.level];
            assert_eq!((piece.sample, piece.rows.start), (*sample, *row), "{piece:?}");
            *row = piece.rows.end;
            if *row == size_at(FULL, piece.level).y {
                (*sample, *row) = (*sample + 1, 0);
            }
        }
    }

    #[test]
    fn with_room_for_all_pixels_samples_add_up_from_the_first_frame() {
        let mut layers = Layers::new(FULL, 320.0 * 180.0 * 2.5);
        let mut done = [(0, 0); LEVELS];
        follow(&layers.plan(320.0 * 180.0 * 2.5, 20_000.0, MAX_SAMPLES), &mut done);
        assert_eq!(layers.shown(), Some((0, 2)));
        follow(&layers.plan(320.0 * 180.0 * 2.5, 20_000.0, MAX_SAMPLES), &mut done);
        assert_eq!(layers.shown(), Some((0, 4)));
    }

    #[test]
    fn a_small_budget_shows_few_pixels_at_once_and_all_of_them_later() {
        let budget = 6000.0;
        let mut layers = Layers::new(FULL, budget);
        let mut done = [(0, 0); LEVELS];
        let mut levels = Vec::new();
        for frame in 0..200 {
            let pieces = layers.plan(budget, 2000.0, MAX_SAMPLES);
            let pixels: u32 = pieces.iter().map(|piece| piece.pixels).sum();
            assert!(pixels <= 6000 && pixels > 3000, "{pixels} in frame {frame}");
            follow(&pieces, &mut done);
            levels.push(layers.shown().expect("something is shown from the first frame on").0);
        }
        levels.dedup();
        assert_eq!(levels, [2, 1, 0]);
    }

    #[test]
    fn a_new_picture_is_shown_whole_by_a_gpu_that_has_no_time_for_it() {
        let mut layers = Layers::new(FULL, 0.0);
        let pieces = layers.plan(0.0, 400.0, MAX_SAMPLES);
        assert_eq!(pieces.iter().map(|piece| piece.pixels).sum::<u32>(), 40 * 23);
        assert!(pieces.iter().all(|piece| piece.pixels <= 400));
        assert_eq!(layers.shown(), Some((3, 1)));
        assert_eq!(layers.plan(0.0, 400.0, MAX_SAMPLES).len(), 1, "it never stands still");
    }

    #[test]
    fn a_picture_of_one_pixel_comes_to_rest() {
        let mut layers = Layers::new(UVec2::ONE, 1e6);
        let frames: Vec<usize> = (0..100).map(|_| layers.plan(1e6, 1e6, MAX_SAMPLES).len()).collect();
        assert!(frames.iter().all(|&pieces| pieces < 1000), "each piece costs something");
        assert_eq!((frames.iter().sum(), layers.shown()), (65_536, Some((0, 65_536))));
        assert_eq!(frames.last(), Some(&0));
    }
}
