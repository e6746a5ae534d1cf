//! Previews: pages of unfinished light.

use std::time::Duration;

use super::page_maker::PageMaker;
use super::rate_limit::RateLimit;
use crate::lightmap::{Layout, Page};
use crate::radiosity::LightSoFar;
use crate::scene::Scene;

/// Least time between two previews.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
/// Least ratio of the time between two previews to the time that one takes.
const MIN_RATIO: u32 = 10;

/// Pages of a bake's light so far, with noise and seams that the finished bake smooths.
#[derive(Clone, Debug)]
pub struct Preview<'a> {
    /// Scene that is being baked.
    pub scene: &'a Scene,
    /// Rectangle of each surface on the pages.
    pub layout: &'a Layout,
    /// Lightmap pages.
    pub pages: Vec<Page>,
}

/// Maker of previews.
pub(super) struct Previewer<'a> {
    page_maker: PageMaker<'a>,
    rate_limit: RateLimit,
}

impl<'a> Previewer<'a> {
    pub fn new(page_maker: PageMaker<'a>) -> Self {
        Self { page_maker, rate_limit: RateLimit::new(MIN_INTERVAL, MIN_RATIO) }
    }

    pub fn is_due(&self) -> bool {
        self.rate_limit.is_due()
    }

    pub fn draw(&self, light: &dyn Fn() -> LightSoFar) -> Preview<'a> {
        self.rate_limit.time(|| {
            let PageMaker { scene, layout, .. } = self.page_maker;
            let LightSoFar { direct, indirect, visible_fraction } = light();
            let irradiance = self.page_maker.shown(&direct, &indirect);
            Preview { scene, layout, pages: self.page_maker.draft(&irradiance, &visible_fraction) }
        })
    }
}
