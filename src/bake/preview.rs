//! Pages of light that is still being solved for.

use std::time::Duration;

use glam::Vec3;

use super::BakeSettings;
use super::pace::Pace;
use crate::lightmap::{Elements, Layout, Page, filter, pages};
use crate::radiosity::{Content, LightSoFar};
use crate::scene::Scene;

/// More pictures a second than this tell nobody more.
const LEAST_TIME_BETWEEN: Duration = Duration::from_millis(100);

/// What a bake would end in were this the end, but for noise and seams that the end smooths.
#[derive(Clone, Debug)]
pub struct Preview<'a> {
    /// What is being baked.
    pub scene: &'a Scene,
    /// Which surface has which rectangle of which page.
    pub layout: &'a Layout,
    /// The lightmaps.
    pub pages: Vec<Page>,
}

/// Draws previews.
pub(super) struct Previewer<'a> {
    scene: &'a Scene,
    layout: &'a Layout,
    elements: &'a Elements,
    settings: &'a BakeSettings,
    pace: Pace,
}

impl<'a> Previewer<'a> {
    pub fn new(scene: &'a Scene, layout: &'a Layout, elements: &'a Elements, settings: &'a BakeSettings) -> Self {
        Self { scene, layout, elements, settings, pace: Pace::new(LEAST_TIME_BETWEEN) }
    }

    pub fn is_due(&self) -> bool {
        self.pace.is_due()
    }

    pub fn draw(&self, light: &dyn Fn() -> LightSoFar) -> Preview<'a> {
        self.pace.time(|| {
            let Self { scene, layout, elements, settings, .. } = *self;
            let LightSoFar { direct, indirect, visible_fraction } = light();
            let irradiance = shown(settings.solver.content, &direct, &indirect);
            let mut pages = pages(layout, elements, &irradiance, &visible_fraction);
            if settings.filter.dilate {
                filter::dilate(&mut pages, layout, elements, settings.layout.padding);
            }
            Preview { scene, layout, pages }
        })
    }
}

/// The light that pages hold.
pub(super) fn shown(content: Content, direct: &[Vec3], indirect: &[Vec3]) -> Vec<Vec3> {
    match content {
        Content::Full => direct.iter().zip(indirect).map(|(direct, indirect)| direct + indirect).collect(),
        Content::Indirect => indirect.to_vec(),
    }
}
