//! What of a border is in sight.

use crate::partition::PartitionError;

/// Which rectangles of a border are seen: for each, one bit for each viewpoint of a source and each colour channel.
///
/// The thesis has one bit for a rectangle, whichever part of the polygon sees it. A bit for each of a few points tells
/// half-shadows, and is exact as rectangles become small; one for each channel lets coloured glass through by chance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// A word for each rectangle, row by row; empty when nothing is seen.
    words: Box<[u32]>,
}

/// Bits of a viewpoint, one for each channel.
const CHANNELS: u32 = 3;

impl Mask {
    /// Most viewpoints of a source: as many as a word has room for.
    pub const MOST_VIEWPOINTS: usize = (u32::BITS / CHANNELS) as usize;

    /// More rectangles than this along an edge of a border are refused.
    pub const MOST_RESOLUTION: u32 = 256;

    /// Tells whether masks may have so many rectangles along each edge.
    ///
    /// # Errors
    /// When that is 0 or more than [`Mask::MOST_RESOLUTION`].
    pub fn check_resolution(resolution: u32) -> Result<(), PartitionError> {
        let most = Self::MOST_RESOLUTION;
        if (1..=most).contains(&resolution) { Ok(()) } else { Err(PartitionError::Mask { resolution, most }) }
    }

    /// Nothing is seen. Who receives it passes it on, so that nobody waits for a mask that does not come.
    pub fn dark() -> Self {
        Self { words: Box::default() }
    }

    /// Of the words of all rectangles; dark when none has a bit.
    pub(super) fn new(words: Vec<u32>) -> Self {
        if words.iter().all(|&word| word == 0) { Self::dark() } else { Self { words: words.into_boxed_slice() } }
    }

    /// True when nothing is seen.
    pub fn is_dark(&self) -> bool {
        self.words.is_empty()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Bytes that one takes at most that has so many rectangles along each edge.
    pub const fn most_bytes(resolution: u32) -> usize {
        size_of::<Self>() + (resolution * resolution) as usize * size_of::<u32>()
    }

    /// The bits of a rectangle.
    pub(super) fn word(&self, rectangle: usize) -> u32 {
        self.words.get(rectangle).copied().unwrap_or(0)
    }
}

/// The bits of all channels of a viewpoint.
pub(super) const fn bits_of(viewpoint: usize) -> u32 {
    ((1 << CHANNELS) - 1) << (CHANNELS * viewpoint as u32)
}

/// The bit of a viewpoint and a channel.
pub(super) const fn bit_of(viewpoint: usize, channel: usize) -> u32 {
    1 << (CHANNELS * viewpoint as u32 + channel as u32)
}

/// The bits of so many viewpoints.
pub(super) const fn all_bits(viewpoints: usize) -> u32 {
    ((1u64 << (CHANNELS * viewpoints as u32)) - 1) as u32
}
