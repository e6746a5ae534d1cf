//! The stages of a bounce (section 5.4.3 of the thesis).

use core::ops::Range;

use super::SubsceneElements;

/// Channels of colour, which shoot rays of their own.
pub(crate) const CHANNELS: usize = 3;

/// The rays that one channel of one element shoots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Three times the number of the element, and that of the channel.
    pub number: u32,
    /// How many rays.
    pub rays: u32,
}

impl Source {
    /// The element.
    pub fn element(self) -> usize {
        self.number as usize / CHANNELS
    }
}

/// A bounce in stages, of which each shoots at most so many elements of every subscene.
#[derive(Clone, Copy)]
pub struct Stages<'a> {
    elements: &'a SubsceneElements,
    of_each: u32,
}

impl<'a> Stages<'a> {
    /// Stages of `of_each` elements of each subscene; `None` makes one stage of all.
    pub fn new(elements: &'a SubsceneElements, of_each: Option<u32>) -> Self {
        Self { elements, of_each: of_each.unwrap_or(u32::MAX).max(1) }
    }

    /// How many there are: as many as the fullest subscene needs (equation 5.2).
    pub fn count(&self) -> u32 {
        let of_cell = |cell| (self.elements.range_of(cell).len() as u32).div_ceil(self.of_each);
        (0..self.elements.cells()).map(of_cell).max().unwrap_or(0)
    }

    /// What a stage shoots of a subscene, as a range of the sorted elements: from its first to before its end, and never
    /// beyond the subscene's own (equation 5.4 has the end in it, and would shoot elements twice).
    fn part(&self, stage: u32, cell: usize) -> Range<u32> {
        let all = self.elements.range_of(cell);
        let at = |stage: u32| all.start.saturating_add(stage.saturating_mul(self.of_each)).min(all.end);
        at(stage)..at(stage + 1)
    }

    /// The elements of a stage, one subscene after the other.
    pub fn elements(&self, stage: u32) -> impl Iterator<Item = u32> + 'a {
        let stages = *self;
        let parts = (0..self.elements.cells()).flat_map(move |cell| stages.part(stage, cell));
        parts.map(move |place| stages.elements.sorted[place as usize])
    }

    /// How full blocks of threads are when each stage is shot at once: the root of the mean square share of threads without
    /// a ray (equation 5.5, with the square where a deviation has it).
    pub fn deviation_of_blocks(&self, allotment: &[u32], threads: u32) -> f64 {
        let (mut blocks, mut squares) = (0, 0.0);
        for stage in 0..self.count() {
            let rays: u32 = self.sources(stage, allotment).iter().map(|source| source.rays).sum();
            blocks += rays.div_ceil(threads);
            // All blocks of a stage but its last are full.
            let missing = rays.next_multiple_of(threads) - rays;
            squares += (f64::from(missing) / f64::from(threads - 1)).powi(2);
        }
        (squares / f64::from(blocks.max(1))).sqrt()
    }

    /// What a stage shoots: the rays of those of its elements that have any, each element's channels together, so that
    /// blocks of threads mix the rays of neighbours but seldom those of two subscenes.
    pub fn sources(&self, stage: u32, allotment: &[u32]) -> Vec<Source> {
        let channels = |element: u32| (0..CHANNELS as u32).map(move |channel| CHANNELS as u32 * element + channel);
        let numbers = self.elements(stage).flat_map(channels);
        let sources = numbers.map(|number| Source { number, rays: allotment[number as usize] });
        sources.filter(|source| source.rays > 0).collect()
    }
}
