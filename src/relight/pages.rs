//! From light of patches to texels, on the processor. The graphics card does the same in `gpu::GpuPages`.

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::level::Level;
use super::light::Difference;
use super::showing::Showing;
use super::texels::Texels;
use crate::radiosity::low_rank::{LowRank, Smoothing};

/// The pages as they are shown.
pub struct Pages {
    showing: Arc<Showing>,
    /// What patches reflected when pages were drawn last, and what elements got of it; none before.
    spread: Option<(Vec<Vec3>, Vec<Vec3>)>,
    shown: Vec<Vec<Vec3>>,
}

impl Pages {
    /// As they were baked.
    pub fn new(level: &Level) -> Self {
        Self {
            showing: level.shown(),
            spread: None,
            shown: level.pages.iter().map(|page| page.texels.clone()).collect(),
        }
    }

    pub fn smoothing(&self) -> &Smoothing {
        &self.showing.smoothing
    }

    pub fn texels(&self) -> &[Texels] {
        &self.showing.texels
    }

    /// Irradiance / pi, cd/m2, rows from the top.
    pub fn page(&self, index: usize) -> &[Vec3] {
        &self.shown[index]
    }

    /// What all bounces bring to elements of light that patches reflect once, lux by row, smooth.
    pub fn spread(&self, transport: &LowRank, patches: &[Vec3]) -> Vec<Vec3> {
        let mut smooth = vec![Vec3::ZERO; transport.elements()];
        if patches.iter().any(|light| *light != Vec3::ZERO) {
            self.showing.smoothing.smooth(&transport.spread(patches), &mut smooth);
        }
        smooth
    }

    /// The level has become another, of the same texels.
    pub fn forget(&mut self) {
        self.spread = None;
    }

    /// Draws all pages; which of them look different.
    pub fn draw(&mut self, level: &Level, light: &Difference) -> Vec<usize> {
        let known = self.spread.take().filter(|(patches, _)| patches == light.patches);
        let (patches, spread) =
            known.unwrap_or_else(|| (light.patches.to_vec(), self.spread(&level.precomputed.transport, light.patches)));
        let mut all = Vec::new();
        if !light.elements.is_empty() {
            all.extend(spread.iter().zip(light.elements).map(|(spread, more)| *spread + *more));
        }
        let more = if all.is_empty() { &spread } else { &all };
        let pages = self.shown.par_iter_mut().zip(&*level.pages).zip(&self.showing.texels).enumerate();
        let different = pages
            .filter_map(|(index, ((shown, baked), texels))| texels.draw(&baked.texels, more, shown).then_some(index))
            .collect();
        self.spread = Some((patches, spread));
        different
    }
}
