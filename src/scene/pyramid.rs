//! Coarser and coarser versions of a picture, for averages over large parts of it.

use std::sync::OnceLock;

use glam::Vec4;

use super::Texture;

/// How much coarser each level is than the one before, on either axis.
///
/// Four instead of the usual two takes a sixteenth more memory instead of a third.
const STEP: u32 = 4;

/// What averages weigh texels by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// Their area alone.
    #[default]
    Area,
    /// Their area times their alpha: what is cut out or blended away does not count.
    Alpha,
}

impl Weight {
    /// A texel as averages sum it up: its colour multiplied by its weight, its alpha plain.
    #[inline]
    pub fn apply(self, texel: Vec4) -> Vec4 {
        match self {
            Self::Area => texel,
            Self::Alpha => (texel.truncate() * texel.w).extend(texel.w),
        }
    }

    /// The mean colour that a mean of weighted texels stands for.
    #[inline]
    pub fn undo(self, mean: Vec4) -> Vec4 {
        match self {
            Self::Area => mean,
            Self::Alpha if mean.w > 0.0 => (mean.truncate() / mean.w).extend(mean.w),
            Self::Alpha => Vec4::ZERO,
        }
    }
}

/// A coarser version of a picture. Its texels fill the same unit square evenly, whatever the picture's size.
#[derive(Clone, Debug)]
pub struct Level {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    texels: Vec<Vec4>,
}

impl Level {
    /// A texel, weighted.
    #[inline]
    pub fn texel(&self, x: usize, y: usize) -> Vec4 {
        self.texels[y * self.width as usize + x]
    }

    /// Averages of [`STEP`] by [`STEP`] texels, or a little fewer where the size is no multiple of that.
    fn coarsen(width: u32, height: u32, texel: impl Fn(usize, usize) -> Vec4) -> Self {
        let columns = Span::cover(width);
        let texels = Span::cover(height)
            .iter()
            .flat_map(|row| columns.iter().map(|column| row.mean(|y| column.mean(|x| texel(x, y)))))
            .collect();
        Self { width: width.div_ceil(STEP), height: height.div_ceil(STEP), texels }
    }
}

/// Which texels of the finer level a texel of the coarser one covers on one axis.
struct Span {
    start: f32,
    end: f32,
}

impl Span {
    fn cover(size: u32) -> Vec<Self> {
        let count = size.div_ceil(STEP);
        let edge = |index: u32| (f64::from(index) * f64::from(size) / f64::from(count)) as f32;
        (0..count).map(|index| Self { start: edge(index), end: edge(index + 1) }).collect()
    }

    fn mean(&self, value: impl Fn(usize) -> Vec4) -> Vec4 {
        let texels = self.start.floor() as usize..self.end.ceil() as usize;
        let covered = |texel: usize| self.end.min((texel + 1) as f32) - self.start.max(texel as f32);
        texels.map(|texel| value(texel) * covered(texel)).sum::<Vec4>() / (self.end - self.start)
    }
}

/// Pyramids of a texture, made when first asked for. They follow from its texels, so copies and comparisons leave them
/// out.
#[derive(Debug, Default)]
pub struct Pyramids([OnceLock<Vec<Level>>; 2]);

impl Clone for Pyramids {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Pyramids {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Pyramids {
    /// The levels of `texture` from the first coarser one to a single texel.
    pub fn levels(&self, texture: &Texture, weight: Weight) -> &[Level] {
        // Not in parallel: a worker that waits for its own parts may steal a task that waits for this very pyramid.
        self.0[weight as usize].get_or_init(|| {
            let mut levels =
                vec![Level::coarsen(texture.width, texture.height, |x, y| weight.apply(texture.texel_at(x, y)))];
            while let Some(finer) = levels.last().filter(|level| level.width > 1 || level.height > 1) {
                let coarser = Level::coarsen(finer.width, finer.height, |x, y| finer.texel(x, y));
                levels.push(coarser);
            }
            levels
        })
    }
}
