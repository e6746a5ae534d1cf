//! Pages from the irradiance of elements.

use std::time::Instant;

use glam::Vec3;

use super::limit::{TimeLimit, seconds_of_writing};
use super::{BakeSettings, Stage};
use crate::accel::World;
use crate::lightmap::{Elements, Layout, Page, filter, pages};
use crate::radiosity::{Content, LightSoFar};
use crate::scene::Scene;

/// Maker of pages from the irradiance of elements.
#[derive(Clone, Copy)]
pub(super) struct PageMaker<'a> {
    pub settings: &'a BakeSettings,
    pub scene: &'a Scene,
    pub world: &'a World,
    pub layout: &'a Layout,
    pub elements: &'a Elements,
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

    /// Returns pages without noise and seams. `halves` is the irradiance by independent halves of the rays, in lux.
    pub fn finished(&self, mut irradiance: Vec<Vec3>, halves: &[Vec<Vec3>; 2], visible: &[f32]) -> Vec<Page> {
        let Self { settings, scene, world, layout, elements } = *self;
        if settings.filter.denoise {
            filter::denoise(&mut irradiance, elements, halves, visible);
        }
        let mut pages = self.draft(&irradiance, visible);
        if settings.filter.stitch_seams {
            filter::stitch(&mut pages, scene, layout, elements, world);
        }
        pages
    }

    /// Makes pages of the first light, to measure the time of making and writing pages.
    pub fn rehearse(&self, light: &LightSoFar, limit: &TimeLimit) {
        let started = Instant::now();
        let irradiance = self.shown(&light.direct, &light.indirect);
        let halves = [irradiance.clone(), irradiance.clone()];
        let pages = self.finished(irradiance, &halves, &light.visible_fraction);
        limit.foresee(Stage::Filter, started.elapsed().as_secs_f32() + seconds_of_writing(&pages));
    }
}
