//! Mapping from element irradiance to texels, built once and shared by all copies of a level.

use std::sync::{Arc, OnceLock};

use super::input::RelightInput;
use super::texel_receivers::TexelReceivers;
use crate::low_rank::{Precomputed, Smoothing};
use crate::parts::finish;

/// Mapping from element irradiance to the texels of the pages.
pub struct TexelMapping {
    /// Filter that averages irradiance over neighbors.
    pub smoothing: Smoothing,
    /// Receivers of each texel, by page.
    pub texels: Vec<TexelReceivers>,
}

/// Lazily built mapping from element irradiance to texels. The first caller's thread builds it, and copies share it.
#[derive(Clone, Default)]
pub struct LazyTexelMapping(Arc<OnceLock<Arc<TexelMapping>>>);

impl RelightInput {
    /// Returns the mapping, and builds it on the first call.
    pub(super) fn texel_mapping(&self) -> Arc<TexelMapping> {
        Arc::clone(self.texel_mapping.0.get_or_init(|| Arc::new(finish(TexelMapping::new(self)))))
    }

    /// Builds the mapping with pauses, unless it exists.
    #[cfg(feature = "plugin")]
    pub(crate) async fn prepare_texel_mapping(&self) {
        if self.texel_mapping.0.get().is_none() {
            let mapping = Arc::new(TexelMapping::new(self).await);
            // Another thread may have built the same.
            _ = self.texel_mapping.0.set(mapping);
        }
    }
}

impl TexelMapping {
    async fn new(level: &RelightInput) -> Self {
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
            smoothing: Smoothing::new_in_parts(&level.precomputed).await,
            texels: TexelReceivers::of_pages(&level.pages, receivers, &area, &stand_ins).await,
        }
    }
}
