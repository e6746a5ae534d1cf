//! Progressive resolution: selects the pixels to trace next, and the layer to show.
//!
//! After a change, a frame shows a complete image with as many pixels as its budget allows: all, or one in 4, 16 or 64.
//! While nothing changes, the next finer layer is traced in the background. It replaces the shown layer when each of
//! its pixels has a sample. The finest layer accumulates samples.
//!
//! A sample may have light paths, too, as many as the layer has pixels. They come first, since each may reach any pixel.

use core::ops::Range;

use bevy::math::UVec2;

use crate::pathtrace::PassKind;

/// Number of layers. Each has a quarter of the pixels of the one before.
pub const LEVELS: usize = 4;

/// Samples of a coarse layer before a finer one starts. Then both cost equally many paths.
const COARSE_SAMPLES: u32 = 4;

/// Minimum number of rows of a piece: the height of a workgroup. Fewer rows leave threads idle.
const STRIPE: u32 = 8;

/// Fixed cost of a piece, in camera paths.
const MIN_COST: f32 = 1024.0;

/// Maximum number of samples. Beyond it, a sample changes the mean by less than rounding.
const MAX_SAMPLES: u32 = 65_536;

/// Rows of a layer that one dispatch traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Level of the layer. Level 0 has all pixels, each further one a quarter.
    pub level: usize,
    /// Paths that are traced. Rows of light paths stand for as many paths as they have pixels.
    pub kind: PassKind,
    /// Index of the sample, from zero.
    pub sample: u32,
    pub rows: Range<u32>,
    pub pixels: u32,
}

/// Kinds of paths of a sample, in order.
pub type Kinds = &'static [PassKind];

/// Camera paths alone.
pub const FROM_CAMERA: Kinds = &[PassKind::Eye];

/// Light paths, then camera paths.
pub const FROM_LIGHTS: Kinds = &[PassKind::Light, PassKind::Eye];

/// Room for paths. Numbers are camera paths.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Paths that fit into a frame.
    pub in_frame: f32,
    /// Paths that fit into a dispatch.
    pub in_dispatch: f32,
    /// Cost of a light path relative to that of a camera path.
    pub light_cost: f32,
}

impl Room {
    /// Returns the cost of a path relative to that of a camera path.
    pub fn cost(&self, kind: PassKind) -> f32 {
        match kind {
            PassKind::Light => self.light_cost,
            PassKind::Eye => 1.0,
        }
    }
}

/// Accumulated samples of one level.
#[derive(Clone, Debug)]
struct Layer {
    level: usize,
    size: UVec2,
    /// Number of complete samples.
    samples: u32,
    /// Number of complete kinds of paths of the next sample.
    kinds: usize,
    /// Number of complete rows of the next kind of paths.
    rows: u32,
}

/// Image with progressive resolution.
#[derive(Clone, Debug)]
pub struct Layers {
    full: UVec2,
    kinds: Kinds,
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
    /// Starts a new image with samples of some kinds of paths.
    pub fn new(full: UVec2, kinds: Kinds, room: &Room) -> Self {
        let per_pixel: f32 = kinds.iter().map(|&kind| room.cost(kind)).sum();
        let cost = |level: &usize| size_at(full, *level).as_vec2().element_product() * per_pixel;
        let level = (0..LEVELS).find(|level| cost(level) <= room.in_frame).unwrap_or(LEVELS - 1);
        Self { full, kinds, shown: Layer::new(full, level), finer: None, is_new: true }
    }

    /// Returns the kinds of paths of a sample.
    pub fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// Returns the level to show and its samples per pixel, or `None` before the first sample.
    pub fn shown(&self) -> Option<(usize, u32)> {
        (self.shown.samples > 0).then_some((self.shown.level, self.shown.samples))
    }

    /// Returns the size of the shown layer, in pixels.
    pub fn shown_size(&self) -> UVec2 {
        self.shown.size
    }

    /// Plans a frame: pieces for about the frame's room, until all pixels have `max_samples`.
    ///
    /// A new image is traced completely, whatever its cost, since a partial one is useless.
    pub fn plan(&mut self, room: &Room, max_samples: u32) -> Vec<Piece> {
        let max_samples = max_samples.clamp(1, MAX_SAMPLES);
        let mut pieces = Vec::new();
        let mut left = room.in_frame;
        while self.shown.samples == 0 || pieces.is_empty() || left >= self.min_cost(room) {
            let limit = if self.shown.samples == 0 { room.in_dispatch } else { room.in_dispatch.min(left) };
            let is_refining = !self.is_new;
            if is_refining && self.finer.is_none() && self.shown.level > 0 && self.shown.samples >= COARSE_SAMPLES {
                self.finer = Some(Layer::new(self.full, self.shown.level - 1));
            }
            let kinds = self.kinds;
            let growing = self.growing();
            if growing.level == 0 && growing.samples >= max_samples {
                break;
            }
            let cost = room.cost(kinds[growing.kinds]);
            let next = growing.next(kinds, limit / cost);
            left -= (next.pixels as f32 * cost).max(MIN_COST);
            pieces.push(next);
            if let Some(finer) = self.finer.take_if(|finer| finer.samples > 0) {
                self.shown = finer;
            }
        }
        self.is_new = false;
        pieces
    }

    /// Returns the cost of the smallest piece that may come next.
    fn min_cost(&mut self, room: &Room) -> f32 {
        let kinds = self.kinds;
        let growing = self.growing();
        (growing.size.x * STRIPE) as f32 * room.cost(kinds[growing.kinds])
    }

    fn growing(&mut self) -> &mut Layer {
        self.finer.as_mut().unwrap_or(&mut self.shown)
    }
}

impl Layer {
    fn new(full: UVec2, level: usize) -> Self {
        Self { level, size: size_at(full, level), samples: 0, kinds: 0, rows: 0 }
    }

    /// Returns the next rows: about `pixels` pixels, at least one stripe.
    fn next(&mut self, kinds: Kinds, pixels: f32) -> Piece {
        let stripes = ((pixels / (self.size.x * STRIPE) as f32) as u32).max(1);
        let count = stripes.saturating_mul(STRIPE).min(self.size.y - self.rows);
        let rows = self.rows..self.rows + count;
        let kind = kinds[self.kinds];
        let piece = Piece { level: self.level, kind, sample: self.samples, pixels: count * self.size.x, rows };
        self.rows += count;
        if self.rows == self.size.y {
            self.rows = 0;
            self.kinds += 1;
        }
        if self.kinds == kinds.len() {
            self.kinds = 0;
            self.samples += 1;
        }
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame_budget::{FrameBudget, Measurement, Time};
    use super::*;

    const FULL: UVec2 = UVec2::new(320, 180);

    fn room(in_frame: f32, in_dispatch: f32) -> Room {
        Room { in_frame, in_dispatch, light_cost: 1.0 }
    }

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
        let room = room(320.0 * 180.0 * 2.5, 20_000.0);
        let mut layers = Layers::new(FULL, FROM_CAMERA, &room);
        let mut done = [(0, 0); LEVELS];
        follow(&layers.plan(&room, MAX_SAMPLES), &mut done);
        assert_eq!(layers.shown(), Some((0, 2)));
        follow(&layers.plan(&room, MAX_SAMPLES), &mut done);
        assert_eq!(layers.shown(), Some((0, 4)));
    }

    #[test]
    fn a_small_budget_shows_few_pixels_at_once_and_all_of_them_later() {
        let room = room(6000.0, 2000.0);
        let mut layers = Layers::new(FULL, FROM_CAMERA, &room);
        let mut done = [(0, 0); LEVELS];
        let mut levels = Vec::new();
        for frame in 0..200 {
            let pieces = layers.plan(&room, MAX_SAMPLES);
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
        let room = room(0.0, 400.0);
        let mut layers = Layers::new(FULL, FROM_CAMERA, &room);
        let pieces = layers.plan(&room, MAX_SAMPLES);
        assert_eq!(pieces.iter().map(|piece| piece.pixels).sum::<u32>(), 40 * 23);
        assert!(pieces.iter().all(|piece| piece.pixels <= 400));
        assert_eq!(layers.shown(), Some((3, 1)));
        assert_eq!(layers.plan(&room, MAX_SAMPLES).len(), 1, "it never stands still");
    }

    #[test]
    fn a_picture_of_one_pixel_comes_to_rest() {
        let room = room(1e6, 1e6);
        let mut layers = Layers::new(UVec2::ONE, FROM_CAMERA, &room);
        let frames: Vec<usize> = (0..100).map(|_| layers.plan(&room, MAX_SAMPLES).len()).collect();
        assert!(frames.iter().all(|&pieces| pieces < 1000), "each piece costs something");
        assert_eq!((frames.iter().sum(), layers.shown()), (65_536, Some((0, 65_536))));
        assert_eq!(frames.last(), Some(&0));
    }

    #[test]
    fn all_light_paths_of_a_sample_come_before_its_camera_paths() {
        let room = Room { in_frame: 20_000.0, in_dispatch: 5000.0, light_cost: 3.0 };
        let mut layers = Layers::new(UVec2::new(80, 45), FROM_LIGHTS, &room);
        let pieces: Vec<Piece> = (0..4).flat_map(|_| layers.plan(&room, 4)).collect();
        assert_eq!(layers.shown(), Some((0, 4)));
        let mut order: Vec<_> = pieces.iter().map(|piece| (piece.sample, piece.kind)).collect();
        order.dedup();
        let expected: Vec<_> = (0..4).flat_map(|sample| FROM_LIGHTS.iter().map(move |&kind| (sample, kind))).collect();
        assert_eq!(order, expected);
        for kind in [PassKind::Light, PassKind::Eye] {
            let pixels: u32 = pieces.iter().filter(|piece| piece.kind == kind).map(|piece| piece.pixels).sum();
            assert_eq!(pixels, 4 * 80 * 45);
        }
        assert!(pieces.iter().all(|piece| piece.pixels as f32 * room.cost(piece.kind) <= 5000.0));
    }

    #[test]
    fn frames_keep_their_budget_though_light_paths_cost_ten_times_as_much_as_camera_paths() {
        // A sample of light paths takes 58 ms, one of camera paths 6 ms.
        let milliseconds = |pixels: [f32; 2]| pixels[0] / 1000.0 + pixels[1] / 10_000.0;
        let mut frame_budget = FrameBudget::default();
        let room = |frame_budget: &FrameBudget| Room {
            in_frame: frame_budget.pixels_in(8.0),
            in_dispatch: frame_budget.pixels_in(10.0),
            light_cost: frame_budget.light_cost(),
        };
        let mut layers = Layers::new(FULL, FROM_LIGHTS, &room(&frame_budget));
        let mut times = Vec::new();
        for _ in 0..400 {
            let mut pixels = [0.0; 2];
            for piece in layers.plan(&room(&frame_budget), MAX_SAMPLES) {
                pixels[piece.kind as usize] += piece.pixels as f32;
            }
            let time = milliseconds(pixels);
            times.push(time);
            frame_budget.learn(&Measurement { pixels, time: Time::Gpu(time) }, 8.0);
        }
        assert_eq!(layers.shown_size(), FULL);
        let settled = &times[100..];
        let mean = settled.iter().sum::<f32>() / settled.len() as f32;
        let longest = settled.iter().fold(0.0_f32, |longest, &time| longest.max(time));
        assert!((mean - 8.0).abs() < 2.0 && longest < 16.0, "{mean} ms, at most {longest} ms");
    }
}
