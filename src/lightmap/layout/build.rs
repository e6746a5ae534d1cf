//! Construction of a scene's layout.

use std::sync::Arc;

use rayon::prelude::*;

use super::pack::pack_pages;
use super::resolution_class::{Fitted, resolution_classes};
use super::size::check;
use super::{Layout, LayoutError, LayoutSettings, LayoutWarning};
use crate::geometry::SurfaceId;
use crate::lightmap::Unwrap;
use crate::progress::{Monitor, PieceProgress};
use crate::scene::Scene;

impl Layout {
    /// Unwraps all static surfaces and packs their rectangles on pages. Both sides of a surface share texels.
    pub fn build(
        scene: &Scene,
        settings: &LayoutSettings,
        monitor: &dyn Monitor,
    ) -> Result<(Self, Vec<LayoutWarning>), LayoutError> {
        Self::build_with_sides(scene, settings, |_| false, monitor)
    }

    /// Builds a layout as [`Layout::build`] does, but each side of a surface selected by `two_sided` gets its own
    /// texels.
    pub fn build_with_sides(
        scene: &Scene,
        settings: &LayoutSettings,
        two_sided: impl Fn(SurfaceId) -> bool,
        monitor: &dyn Monitor,
    ) -> Result<(Self, Vec<LayoutWarning>), LayoutError> {
        check(scene, settings, &two_sided)?;
        let classes = resolution_classes(scene, settings, &two_sided);
        let finished = PieceProgress::new(monitor, classes.len());
        let unwraps: Vec<Result<Fitted, LayoutError>> = (classes.par_iter().with_max_len(1))
            .map(|class| {
                monitor.check()?;
                let fitted = class.unwrap(settings, monitor)?;
                finished.finish_piece();
                Ok(fitted)
            })
            .collect();
        let mut unwrap_of: Vec<Option<Arc<Unwrap>>> = vec![None; scene.surfaces.len()];
        let mut warnings = Vec::new();
        for (class, fitted) in classes.iter().zip(unwraps) {
            let Fitted { outcome, shrunk } = fitted?;
            class.warn(scene, settings, &outcome, shrunk, &mut warnings);
            let unwrap = outcome.unwrap.map(Arc::new);
            for &surface in &class.surfaces {
                unwrap_of[surface.index()].clone_from(&unwrap);
            }
        }
        Ok((pack_pages(unwrap_of, settings.page_size, settings.padding), warnings))
    }
}
