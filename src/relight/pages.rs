//! CPU path from light of patches to texels. `gpu::GpuPages` does the same on the GPU.

use core::ops::Range;
use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::input::RelightInput;
use super::light::Difference;
use super::texel_mapping::TexelMapping;
use super::texel_receivers::TexelReceivers;
use crate::low_rank::{LowRank, Smoothing};

/// Shown pages, and the tables to draw them.
pub struct Pages {
    texel_mapping: Arc<TexelMapping>,
    /// Radiosity of patches at the last draw, and the resulting irradiance of elements. `None` before.
    spread: Option<(Vec<Vec3>, Arc<[Vec3]>)>,
    displayed: Vec<Vec<Vec3>>,
}

impl Pages {
    /// Starts from the baked pages.
    pub fn new(level: &RelightInput) -> Self {
        Self {
            texel_mapping: level.texel_mapping(),
            spread: None,
            displayed: level.pages.iter().map(|page| page.texels.clone()).collect(),
        }
    }

    pub fn smoothing(&self) -> &Smoothing {
        &self.texel_mapping.smoothing
    }

    pub fn texels(&self) -> &[TexelReceivers] {
        &self.texel_mapping.texels
    }

    /// Returns a page: irradiance / pi in cd/m2, rows from the top.
    pub fn page(&self, index: usize) -> &[Vec3] {
        &self.displayed[index]
    }

    /// Returns the smoothed irradiance of elements after all bounces, in lux by row. `patches` is the first-bounce
    /// radiosity.
    pub fn spread(&self, transport: &LowRank, patches: &[Vec3]) -> Vec<Vec3> {
        let mut smooth = vec![Vec3::ZERO; transport.elements()];
        if patches.iter().any(|light| *light != Vec3::ZERO) {
            self.texel_mapping.smoothing.smooth(&transport.spread(patches), &mut smooth);
        }
        smooth
    }

    /// Discards the cached irradiance, after the level has changed. The texels must be the same.
    pub fn forget(&mut self) {
        self.spread = None;
    }

    /// Returns the change of irradiance of all elements, in lux by row.
    pub fn change(&mut self, level: &RelightInput, light: &Difference) -> Arc<[Vec3]> {
        let known = self.spread.take().filter(|(patches, _)| patches == light.patches);
        let (patches, spread) = known.unwrap_or_else(|| {
            (light.patches.to_vec(), self.spread(&level.precomputed.transport, light.patches).into())
        });
        let change = if light.elements.is_empty() {
            Arc::clone(&spread)
        } else {
            spread.iter().zip(light.elements).map(|(spread, more)| *spread + *more).collect()
        };
        self.spread = Some((patches, spread));
        change
    }

    /// Draws some texels of a page from the change of irradiance. Returns true when they have changed.
    pub fn draw_part(&mut self, level: &RelightInput, page: usize, part: Range<usize>, change: &[Vec3]) -> bool {
        let displayed = &mut self.displayed[page][part.clone()];
        self.texel_mapping.texels[page].draw(&level.pages[page].texels, change, part.start, displayed)
    }

    /// Draws all pages. Returns the indices of those that have changed.
    pub fn draw(&mut self, level: &RelightInput, light: &Difference) -> Vec<usize> {
        let change = self.change(level, light);
        let pages = self.displayed.par_iter_mut().zip(&*level.pages).zip(&self.texel_mapping.texels).enumerate();
        pages
            .filter_map(|(index, ((displayed, baked), texels))| {
                texels.draw(&baked.texels, &change, 0, displayed).then_some(index)
            })
            .collect()
    }
}
