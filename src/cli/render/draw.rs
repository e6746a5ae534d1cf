//! Drawing of the picture: by the processor, by ranks, or by a graphics card.

use super::checkpoint::PictureWatch;
use super::{Arguments, FAITHFUL_TOLERANCE, Method, Prepared};
use crate::accel::World;
use crate::cli::Failure;
use crate::cli::ranks::Speed;
use crate::cli::render_report::LightReport;
use crate::cluster::{ClusterError, ClusterReport, Communicator, Strategy};
#[cfg(feature = "gpu")]
use crate::gpu;
use crate::lights::LightSampler;
use crate::pathtrace::{
    Film, Integrator, LightPicture, LightTracer, PathTracer, PlainTracer, PublishedMeans, WhittedTracer,
    measured_speed, render_from_lights, render_on_ranks, render_tile_from,
};
#[cfg(feature = "gpu")]
use crate::{
    pathtrace::{RenderSettings, View},
    progress::Monitor,
    scene::Scene,
};

impl Arguments {
    /// Renders on the processor. Goes on from a film if there is one.
    pub(super) fn draw(
        &self,
        Traced { paths, world, lights }: Traced,
        prepared: &Prepared,
        begun: Option<Film>,
        watch: &PictureWatch,
    ) -> Drawn {
        let Prepared { view, settings, .. } = prepared;
        let from_camera = |tracer: &dyn Integrator| {
            let (tile, is_timed) = (prepared.tile(), begun.is_none());
            let mut film = begun.unwrap_or_else(|| Film::new(tile.size));
            let row_seconds = render_tile_from(tracer, view, tile, settings, &mut film, watch);
            Drawn { film, row_seconds: is_timed.then_some(row_seconds), light: None }
        };
        let from_lights = |tracer: &LightTracer| self.drawn(render_from_lights(tracer, view, settings, watch));
        match self.integrator {
            Method::Path | Method::Direct => from_camera(paths),
            Method::Whitted => from_camera(&WhittedTracer::new(world.scene(), world, lights)),
            Method::Plain => from_camera(&PlainTracer::new(world.scene(), world, lights, self.plain_bounces())),
            Method::Light if self.faithful => {
                let tolerance = settings.tolerance.unwrap_or(FAITHFUL_TOLERANCE);
                let published = PublishedMeans::new(world.scene(), world, lights, tolerance);
                self.drawn(published.render(view, settings, watch))
            }
            Method::Light => from_lights(&LightTracer::new(world.scene(), world, lights, self.bounces)),
            Method::Hybrid => from_lights(&LightTracer::hybrid(world.scene(), world, lights, self.bounces)),
        }
    }

    /// Returns a picture by light paths with its report. Only the published method counts each pixel's contributions.
    fn drawn(&self, picture: LightPicture) -> Drawn {
        let light = LightReport::of(&picture, self.integrator == Method::Hybrid, self.faithful);
        Drawn { film: picture.film, row_seconds: None, light: Some(light) }
    }

    /// Renders on all ranks, from a film of the master if there is one. Returns the film and the report on the master.
    pub(super) fn draw_on_ranks(
        &self,
        communicator: &dyn Communicator,
        Traced { paths, world, lights }: Traced,
        Prepared { view, settings, strategy, .. }: &Prepared,
        begun: Option<Film>,
        watch: &PictureWatch,
    ) -> Result<Option<(Film, ClusterReport)>, Failure> {
        let whitted = WhittedTracer::new(world.scene(), world, lights);
        let plain = PlainTracer::new(world.scene(), world, lights, self.plain_bounces());
        let tracer: &dyn Integrator = match self.integrator {
            Method::Whitted => &whitted,
            Method::Plain => &plain,
            _ => paths,
        };
        let strategy = strategy.unwrap_or_default();
        let speed = match self.strategy.speed {
            Speed::Measured if strategy == Strategy::SpeedProportional => measured_speed(tracer, view, self.seed),
            Speed::Measured | Speed::Threads => rayon::current_num_threads() as f32,
        };
        let mut film = begun.unwrap_or_else(|| Film::new(view.size));
        match render_on_ranks(communicator, tracer, view, settings, (strategy, speed), &mut film, watch) {
            Ok(report) => Ok(report.map(|report| (film, report))),
            Err(fault) => Err(match (watch.checkpoints.map(|checkpoints| checkpoints.stop(&film)), fault) {
                (Some(how), ClusterError::Cancelled(_)) => how.into(),
                (Some(how), fault) => format!("{fault}; {how}").into(),
                (None, fault) => fault.into(),
            }),
        }
    }

    /// Renders on a graphics card. Returns the number of walks through the tree that ended at its step limit, too.
    #[cfg(feature = "gpu")]
    pub(super) fn draw_on(
        &self,
        gpu: &gpu::Gpu,
        scene: &Scene,
        view: &View,
        settings: &RenderSettings,
        monitor: &dyn Monitor,
    ) -> Result<(Drawn, u64), Failure> {
        let on_gpu = gpu::GpuScene::new(gpu, scene)?;
        let (max_bounces, block) = (self.max_bounces()?, self.block.on(gpu)?);
        Ok(match self.integrator {
            Method::Light | Method::Hybrid => {
                let hybrid = self.integrator == Method::Hybrid;
                let from_lights = gpu::FromLights { hybrid, max_bounces, block };
                let picture = gpu::render_from_lights(gpu, &on_gpu, view, from_lights, settings, monitor)?;
                let unfinished = picture.unfinished;
                (self.drawn(picture), unfinished)
            }
            Method::Path | Method::Direct | Method::Whitted | Method::Plain => {
                let kernel = match self.integrator {
                    Method::Whitted => gpu::PathKernel::whitted(gpu, on_gpu.trees(), block),
                    _ => gpu::PathKernel::with_block(gpu, gpu::Stack::default(), on_gpu.trees(), block),
                };
                let gpu::Rendered { film, unfinished } =
                    gpu::render(gpu, &kernel, &on_gpu, view, max_bounces, settings, monitor)?;
                (Drawn { film, row_seconds: None, light: None }, unfinished)
            }
        })
    }
}

/// Picture with its report.
pub(super) struct Drawn {
    pub film: Film,
    /// Seconds that threads spend on each row, if they render rows.
    pub row_seconds: Option<Vec<f64>>,
    pub light: Option<LightReport>,
}

/// Scene as the processor traces it.
#[derive(Clone, Copy)]
pub(super) struct Traced<'a> {
    pub paths: &'a PathTracer<'a>,
    pub world: &'a World,
    pub lights: &'a LightSampler<'a>,
}
