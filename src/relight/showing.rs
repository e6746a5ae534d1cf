//! How light of elements gets to texels, worked out once for all copies of a level.

use std::sync::{Arc, OnceLock};

use super::level::Level;
use super::texels::Texels;
use crate::radiosity::low_rank::{Precomputed, Smoothing};

/// How light of a level's elements gets to the texels of its pages.
pub struct Showing {
    /// How it is averaged over neighbours.
    pub smoothing: Smoothing,
    /// Which texels of each page show which receivers.
    pub texels: Vec<Texels>,
}

/// The same, worked out on the thread that asks for it first. Copies share it.
#[derive(Clone, Default)]
pub struct LazyShowing(Arc<OnceLock<Arc<Showing>>>);

impl Level {
    /// How its light is shown.
    pub(super) fn shown(&self) -> Arc<Showing> {
        Arc::clone(self.showing.0.get_or_init(|| Arc::new(Showing::new(self))))
    }
}

impl Showing {
    fn new(level: &Level) -> Self {
        let Precomputed { transport, receivers, .. } = &*level.precomputed;
        let mut row_of = vec![0; level.elements.len()];
        for (row, &element) in transport.patches.order.iter().enumerate() {
            row_of[element as usize] = row as u32;
        }
        let row = |element: u32| row_of[element as usize];
        let mut stand_ins: Vec<_> = level.elements.stand_ins().iter().map(|pair| (row(pair.0), row(pair.1))).collect();
        stand_ins.sort_unstable();
        let area = transport.sorted(&level.elements.area);
        Self {
            smoothing: Smoothing::new(&level.precomputed),
            texels: Texels::of_pages(&level.pages, receivers, &area, &stand_ins),
        }
    }
}
