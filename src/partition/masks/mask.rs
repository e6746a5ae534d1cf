//! Visibility mask of a border.

use crate::partition::PartitionError;

/// Visibility of a source through a border: per rectangle, one bit for each viewpoint and color channel.
///
/// The thesis uses one bit per rectangle, set if any part of the polygon is visible. Separate bits for several
/// viewpoints resolve penumbrae, and become exact as rectangles shrink. Separate bits for channels transmit light
/// through colored glass stochastically.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// One word per rectangle, in row-major order; empty if nothing is visible.
    words: Box<[u32]>,
}

/// Number of bits per viewpoint, one for each channel.
const CHANNELS: u32 = 3;

impl Mask {
    /// Maximum number of viewpoints of a source, limited by the bits of a word.
    pub const MAX_VIEWPOINTS: usize = (u32::BITS / CHANNELS) as usize;

    /// Maximum number of rectangles along an edge of a border.
    pub const MAX_RESOLUTION: u32 = 256;

    /// Checks the resolution of masks.
    ///
    /// # Errors
    /// Returns an error if the resolution is 0 or more than [`Mask::MAX_RESOLUTION`].
    pub fn check_resolution(resolution: u32) -> Result<(), PartitionError> {
        let max = Self::MAX_RESOLUTION;
        if (1..=max).contains(&resolution) { Ok(()) } else { Err(PartitionError::Mask { resolution, max }) }
    }

    /// Returns a mask through which nothing is visible. Receivers forward such masks too, so that no subscene waits in
    /// vain.
    pub fn dark() -> Self {
        Self { words: Box::default() }
    }

    /// Creates a mask from the words of all rectangles; [`Mask::dark`] if no bit is set.
    pub(super) fn new(words: Vec<u32>) -> Self {
        if words.iter().all(|&word| word == 0) { Self::dark() } else { Self { words: words.into_boxed_slice() } }
    }

    /// Returns the bits of all rectangles in row-major order, for [`Mask::from_words`].
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Creates a mask from its [`Mask::words`].
    pub fn from_words(words: Vec<u32>) -> Self {
        Self { words: words.into_boxed_slice() }
    }

    /// Returns true if nothing is visible.
    pub fn is_dark(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the memory of the bits, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Returns the maximum size of a mask of the given resolution, in bytes.
    pub const fn max_bytes(resolution: u32) -> usize {
        size_of::<Self>() + (resolution * resolution) as usize * size_of::<u32>()
    }

    /// Returns the bits of a rectangle.
    pub(super) fn word(&self, rectangle: usize) -> u32 {
        self.words.get(rectangle).copied().unwrap_or(0)
    }
}

/// Returns the bits of all channels of a viewpoint.
pub(super) const fn bits_of(viewpoint: usize) -> u32 {
    ((1 << CHANNELS) - 1) << (CHANNELS * viewpoint as u32)
}

/// Returns the bit of a viewpoint and channel.
pub(super) const fn bit_of(viewpoint: usize, channel: usize) -> u32 {
    1 << (CHANNELS * viewpoint as u32 + channel as u32)
}

/// Returns the bits of the first `viewpoints` viewpoints.
pub(super) const fn all_bits(viewpoints: usize) -> u32 {
    ((1u64 << (CHANNELS * viewpoints as u32)) - 1) as u32
}
