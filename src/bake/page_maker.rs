//! Pages from the irradiance of elements.

use glam::Vec3;

use super::limit::seconds_of_writing;
use super::stage::StageMonitor;
use super::{BakeSettings, Stage};
use crate::accel::World;
use crate::clock;
use crate::lightmap::{Elements, Layout, Page, filter, pages};
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::{Content, LightSoFar};
use crate::scene::Scene;

const SEAMS_STAY: &str = "some seams between charts stay, since stitching all takes more memory than is left: allow more \
                          (--memory)";

/// Maker of pages from the irradiance of elements.
#[derive(Clone, Copy)]
pub(super) struct PageMaker<'a> {
    pub settings: &'a BakeSettings,
    pub scene: &'a Scene,
    pub world: &'a World,
    pub layout: &'a Layout,
    pub elements: &'a Elements,
    /// Maximum number of point pairs by which seams are stitched; see [`filter::stitch`].
    pub max_seam_pairs: usize,
}

impl PageMaker<'_> {
    /// Returns the irradiance of each element that pages hold, in lux.
    pub fn shown(&self, direct: &[Vec3], indirect: &[Vec3]) -> Vec<Vec3> {
        match self.settings.solver.content {
            Content::Full => direct.iter().zip(indirect).map(|(direct, indirect)| direct + indirect).collect(),
            Content::Indirect => indirect.to_vec(),
        }
    }

    /// Returns pages with noise and seams.
    pub fn draft(&self, irradiance: &[Vec3], visible: &[f32]) -> Vec<Page> {
        let Self { settings, layout, elements, .. } = *self;
        let mut pages = pages(layout, elements, irradiance, visible);
        if settings.filter.dilate {
            filter::dilate(&mut pages, layout, elements, settings.layout.padding);
        }
        pages
    }

    /// Returns pages without noise and seams, and a warning if there is no memory for all seams. `halves` is the
    /// irradiance by independent halves of the rays, in lux.
    ///
    /// # Errors
    /// When the monitor asks to stop.
    pub fn finished(
        &self,
        mut irradiance: Vec<Vec3>,
        halves: &[Vec<Vec3>; 2],
        visible: &[f32],
        monitor: &dyn Monitor,
    ) -> Result<(Vec<Page>, Option<&'static str>), Cancelled> {
        let Self { settings, scene, world, layout, elements, max_seam_pairs } = *self;
        if settings.filter.denoise {
            filter::denoise(&mut irradiance, elements, halves, visible);
        }
        let mut pages = self.draft(&irradiance, visible);
        let mut warning = None;
        if settings.filter.stitch_seams {
            let stitched = filter::stitch(&mut pages, scene, layout, elements, world, max_seam_pairs, monitor)?;
            warning = stitched.is_partial.then_some(SEAMS_STAY);
        }
        Ok((pages, warning))
    }

    /// Makes pages of the first light, to measure the time of making and writing pages.
    pub fn rehearse(&self, light: &LightSoFar, monitor: &StageMonitor) {
        let started = clock::now();
        let irradiance = self.shown(&light.direct, &light.indirect);
        let halves = [irradiance.clone(), irradiance.clone()];
        let Ok((pages, _)) = self.finished(irradiance, &halves, &light.visible_fraction, monitor) else { return };
        monitor.limit.foresee(Stage::Filter, started.elapsed().as_secs_f32());
        monitor.limit.foresee_writing(seconds_of_writing(&pages));
    }
}
