//! Stages of a bounce (section 5.4.3 of the thesis).

use core::ops::Range;

use super::SubsceneElements;

/// Number of color channels, which shoot separate rays.
pub(crate) const CHANNELS: usize = 3;

/// Rays of one channel of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaySource {
    /// Three times the index of the element, plus that of the channel.
    pub number: u32,
    /// Number of rays.
    pub rays: u32,
}

impl RaySource {
    /// Returns the index of the element.
    pub fn element(self) -> usize {
        self.number as usize / CHANNELS
    }
}

/// Stages of a bounce, each with a limited number of elements of every subscene.
#[derive(Clone, Copy)]
pub struct Stages<'a> {
    elements: &'a SubsceneElements,
    of_each: u32,
}

impl<'a> Stages<'a> {
    /// Creates stages of `of_each` elements of each subscene, or one stage with `None`.
    pub fn new(elements: &'a SubsceneElements, of_each: Option<u32>) -> Self {
        Self { elements, of_each: of_each.unwrap_or(u32::MAX).max(1) }
    }

    /// Returns the number of stages, given by the subscene with the most elements (equation 5.2).
    pub fn count(&self) -> u32 {
        let of_cell = |cell| (self.elements.range_of(cell).len() as u32).div_ceil(self.of_each);
        (0..self.elements.cells()).map(of_cell).max().unwrap_or(0)
    }

    /// Returns the range of a subscene's sorted elements in a stage, without its end, and limited to the subscene.
    /// Equation 5.4 includes the end, and would shoot elements twice.
    fn part(&self, stage: u32, cell: usize) -> Range<u32> {
        let all = self.elements.range_of(cell);
        let at = |stage: u32| all.start.saturating_add(stage.saturating_mul(self.of_each)).min(all.end);
        at(stage)..at(stage + 1)
    }

    /// Returns the elements of a stage, subscene by subscene.
    pub fn elements(&self, stage: u32) -> impl Iterator<Item = u32> + 'a {
        let stages = *self;
        let parts = (0..self.elements.cells()).flat_map(move |cell| stages.part(stage, cell));
        parts.map(move |place| stages.elements.sorted[place as usize])
    }

    /// Returns the root mean square fraction of useless threads in all blocks, if each stage is one dispatch. This is
    /// equation 5.5, with the square of a standard deviation.
    ///
    /// Useful threads of a block have rays of one subscene, that with the most rays in the block. Rays of another subscene
    /// traverse other cells, so threads with them wait for the first, and the other way round.
    pub fn deviation_of_blocks(&self, ray_counts: &[u32], threads: u32) -> f64 {
        let (mut blocks, mut squares) = (0u32, 0.0);
        for stage in 0..self.count() {
            // Rays of the block so far, of the present subscene, and of the subscene with the most.
            let (mut rays, mut present, mut most) = (0, (u32::MAX, 0), 0);
            let mut close = |most: u32| {
                blocks += 1;
                squares += (f64::from(threads - most) / f64::from(threads.max(2) - 1)).powi(2);
            };
            for source in self.sources(stage, ray_counts) {
                let cell = self.elements.cell[source.element()];
                let mut left = source.rays;
                while left > 0 {
                    if present.0 != cell {
                        present = (cell, 0);
                    }
                    let taken = left.min(threads - rays);
                    (rays, present.1, left) = (rays + taken, present.1 + taken, left - taken);
                    most = most.max(present.1);
                    if rays == threads {
                        close(most);
                        (rays, present, most) = (0, (u32::MAX, 0), 0);
                    }
                }
            }
            if rays > 0 {
                close(most);
            }
        }
        (squares / f64::from(blocks.max(1))).sqrt()
    }

    /// Returns the non-empty sources of a stage, with the channels of an element together. Blocks of threads thus mix
    /// rays of neighbors, but rarely those of two subscenes.
    pub fn sources(&self, stage: u32, ray_counts: &[u32]) -> Vec<RaySource> {
        let channels = |element: u32| (0..CHANNELS as u32).map(move |channel| CHANNELS as u32 * element + channel);
        let numbers = self.elements(stage).flat_map(channels);
        let sources = numbers.map(|number| RaySource { number, rays: ray_counts[number as usize] });
        sources.filter(|source| source.rays > 0).collect()
    }
}
