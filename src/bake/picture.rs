//! Picture of a baked level, which shows at a glance whether the bake is right.

use core::ops::RangeInclusive;
use std::borrow::Cow;

use glam::{UVec2, Vec3};
use rayon::prelude::*;

use super::BakeOutput;
use crate::clock;
use crate::geometry::sobol::hash2;
use crate::lights::LightSampler;
use crate::pathtrace::{
    ASPECT, BakedIrradiance, Integrator, PixelFilter, Tonemapping, View, WhittedTracer, default_camera, metered,
    to_png, to_srgb8,
};
use crate::radiosity::Content;
use crate::scene::{Camera, Role};

/// Smallest and largest number of rows. Columns follow from [`ASPECT`].
const ROWS: RangeInclusive<u32> = 180..=540;

/// Number of camera rays for each ray of the bake, which keeps the picture's share of the time small.
const RAYS: f32 = 0.02;

/// Positions of the samples in a pixel, in pixels from its corner: two diagonal ones.
const SAMPLES: [[f32; 4]; 2] = [[0.25, 0.25, 0.0, 0.0], [0.75, 0.75, 0.0, 0.0]];

impl BakeOutput {
    /// Draws the level with its baked light, from a camera or else from a default one, for `preview.png`. The exposure is
    /// metered, and the tone mapping is Bevy's `AcesFitted`.
    ///
    /// Diffuse light comes from lightmaps, or from lamps and the irradiance volume for surfaces without texels. Smooth
    /// surfaces mirror, and glass only tints. A scene without extent has no picture.
    pub fn draw_preview(&mut self, camera: Option<&Camera>) {
        let started = clock::now();
        self.preview = self.picture(camera);
        self.report.add_preview_seconds(started.elapsed());
    }

    fn picture(&self, camera: Option<&Camera>) -> Option<Vec<u8>> {
        let Self { scene, world, layout, pages, volume, settings, .. } = self;
        let has_movers = scene.surfaces.iter().any(|surface| surface.role == Role::Mover);
        let world = if has_movers { Cow::Owned((**world).clone().with_movers()) } else { Cow::Borrowed(&**world) };
        let camera = camera.cloned().or_else(|| default_camera(scene, &*world))?;
        let lights = LightSampler::with_movers(scene);
        let has_direct = settings.solver.content == Content::Full;
        let baked = BakedIrradiance { layout, pages, volume: volume.as_deref(), has_direct };
        let tracer = WhittedTracer::new(scene, &*world, &lights).with_baked_irradiance(baked);
        let factor = metered(&tracer, &camera, 1).factor();
        let rays = self.report.rays as f32 * RAYS;
        let rows = (rays / (ASPECT * SAMPLES.len() as f32)).sqrt() as u32;
        let rows = rows.clamp(*ROWS.start(), *ROWS.end());
        let size = UVec2::new((rows as f32 * ASPECT) as u32, rows);
        let view = View { camera, size, lens: None, filter: PixelFilter::Box };
        let sights = view.camera.sights();
        let color = |pixel: UVec2| {
            let seed = hash2(pixel.x, pixel.y);
            let radiance = |sample: u32| {
                tracer.trace(&view.ray_of(&sights, pixel, SAMPLES[sample as usize]), sample, seed).radiance
            };
            let mean = [0, 1].map(radiance).into_iter().sum::<Vec3>() / SAMPLES.len() as f32;
            to_srgb8(Tonemapping::default().apply(mean * factor))
        };
        let row = |y: u32| (0..size.x).flat_map(move |x| color(UVec2::new(x, y)));
        let colors: Vec<u8> = (0..size.y).into_par_iter().flat_map_iter(row).collect();
        to_png(&colors, size).ok()
    }
}
