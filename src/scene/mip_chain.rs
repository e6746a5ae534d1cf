//! Mip chains of textures, for averages over large areas.

use std::sync::OnceLock;

use glam::Vec4;

use super::Texture;

/// Reduction factor between levels, on each axis.
///
/// Four instead of the usual two takes a sixteenth more memory instead of a third.
const STEP: u32 = 4;

/// Weight of texels in averages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// Area only.
    #[default]
    Area,
    /// Area times alpha: transparent texels do not count.
    Alpha,
}

impl Weight {
    /// Returns a texel as averages sum it: color times weight, alpha unweighted.
    #[inline]
    pub fn apply(self, texel: Vec4) -> Vec4 {
        match self {
            Self::Area => texel,
            Self::Alpha => (texel.truncate() * texel.w).extend(texel.w),
        }
    }

    /// Returns the mean color represented by a mean of weighted texels.
    #[inline]
    pub fn undo(self, mean: Vec4) -> Vec4 {
        match self {
            Self::Area => mean,
            Self::Alpha if mean.w > 0.0 => (mean.truncate() / mean.w).extend(mean.w),
            Self::Alpha => Vec4::ZERO,
        }
    }
}

/// Mip level of a texture. Its texels cover the unit square evenly, whatever the texture's size.
#[derive(Clone, Debug)]
pub struct MipLevel {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    texels: Vec<Vec4>,
}

impl MipLevel {
    /// Returns a weighted texel.
    #[inline]
    pub fn texel(&self, x: usize, y: usize) -> Vec4 {
        self.texels[y * self.width as usize + x]
    }

    /// Averages blocks of [`STEP`] by [`STEP`] texels, slightly smaller ones if the size is no multiple of [`STEP`].
    fn coarsen(width: u32, height: u32, texel: impl Fn(usize, usize) -> Vec4) -> Self {
        let columns = Span::cover(width);
        let texels = Span::cover(height)
            .iter()
            .flat_map(|row| columns.iter().map(|column| row.mean(|y| column.mean(|x| texel(x, y)))))
            .collect();
        Self { width: width.div_ceil(STEP), height: height.div_ceil(STEP), texels }
    }
}

/// Range of texels of the finer level that a texel of the coarser level covers on one axis.
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

/// Mip chains of a texture, built on first use. Derived from the texels, so copies and comparisons ignore them.
#[derive(Debug, Default)]
pub struct MipChains([OnceLock<Vec<MipLevel>>; 2]);

impl Clone for MipChains {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for MipChains {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl MipChains {
    /// Returns the levels of `texture`, from the first coarser one to a single texel.
    pub fn levels(&self, texture: &Texture, weight: Weight) -> &[MipLevel] {
        // Not parallel: a waiting worker may steal a task that waits for this very mip chain.
        self.0[weight as usize].get_or_init(|| {
            let mut levels =
                vec![MipLevel::coarsen(texture.width, texture.height, |x, y| weight.apply(texture.texel_at(x, y)))];
            while let Some(finer) = levels.last().filter(|level| level.width > 1 || level.height > 1) {
                let coarser = MipLevel::coarsen(finer.width, finer.height, |x, y| finer.texel(x, y));
                levels.push(coarser);
            }
            levels
        })
    }
}
