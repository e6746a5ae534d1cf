//! Contributions of single lights, solved at the end of a bake for lights that change in their place.

use std::sync::Arc;

use glam::Vec3;

use super::page_maker::PageMaker;
use super::stage::StageMonitor;
use crate::clock;
use crate::lightmap::filter;
use crate::low_rank::{BakedLightId, Contributions, LightContribution, MAX_LUX, Precomputed};
use crate::progress::{Monitor, Part};
use crate::radiosity::{
    Accumulators, Content, CpuBackend, FormFactorMatrix, HALVES, Hits, Solution, Step, StepError, TransportBackend,
};
use crate::relight::{baked_lights, lit, lit_by_one, lit_by_others};
use crate::scene::{Role, Scene, Sky, luminance};

/// Maximum number of lights with a contribution of their own, the strongest first.
pub const MAX_CONTRIBUTIONS: usize = 16;

/// Light samples of each half of an element: of all elements at first, and then of most. Noisy elements get more.
const FIRST_SAMPLES: u32 = 8;
const SAMPLES: u32 = 16;
/// Accepted standard error of direct light, relative to the element and to the mean over all elements.
const TOLERANCE: f32 = 0.02;
const TOLERANCE_OF_MEAN: f32 = 1e-3;

/// Gather rays of each half of an element: for lamps, which they cannot hit, and for emissive surfaces, the sky, and
/// light by way of occluders.
const RAYS: [u32; 2] = [4, 16];

/// Maximum number of sweeps over stored hits, and the relative change after which they end.
const MAX_SWEEPS: u32 = 24;
const SETTLED: f32 = 1e-3;

/// Time of the sweeps for one light, in rays of each half of an element: about eight over 512 hits each.
const SWEEPS_IN_RAYS: u32 = 10;

/// Margin by which a light may take longer than the slowest before it.
const MARGIN: f32 = 0.2;

/// Baked level, with the stored hits of its bake.
pub struct ContributionTask<'a> {
    pub scene: &'a Arc<Scene>,
    pub page_maker: PageMaker<'a>,
    pub solution: &'a Solution,
    pub precomputed: &'a Precomputed,
    pub halves: &'a [Accumulators; HALVES],
}

impl ContributionTask<'_> {
    /// Solves for each of the strongest lights alone, by the transport of the level, and for all others together. With a
    /// time limit, there are as many lights as fit, the strongest first. Also returns the number of those that did not.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels.
    pub fn run(&self, monitor: &StageMonitor) -> Result<(Contributions, usize), StepError> {
        let lights = baked_lights(self.scene);
        let lit = lit(self.scene);
        let power = |index: usize| {
            let (_, emitter) = &lights[index];
            emitter.shape.power(&lit) * luminance(emitter.strength)
        };
        let mut by_power: Vec<(usize, f32)> = (0..lights.len()).map(|index| (index, power(index))).collect();
        by_power.retain(|(_, power)| *power > 0.0);
        by_power.sort_by(|a, b| b.1.total_cmp(&a.1));
        let has_weak = by_power.len() > MAX_CONTRIBUTIONS || self.scene.sky != Sky::Dark;
        by_power.truncate(MAX_CONTRIBUTIONS);
        let part = Part { monitor, from: 0.5, to: 1.0 };
        let mut solver = WithinTime {
            task: self,
            form_factors: self.halves.each_ref().map(|half| FormFactorMatrix::new(half, u32::MAX)),
            monitor,
            slowest: 0.0,
        };
        let mut contributions = Contributions::default();
        for (done, &(index, _)) in by_power.iter().enumerate() {
            part.progress(done as f32 / (by_power.len() + 1) as f32);
            let has_others = has_weak || done + 1 < by_power.len();
            let scene = lit_by_one(self.scene, &lights[index].1.shape);
            let Some(LightAlone { irradiance, error, mean_error }) = solver.irradiance(scene, has_others)? else {
                break;
            };
            let light = BakedLightId(index as u32);
            contributions.lights.push(LightContribution { light, irradiance, error, mean_error });
        }
        contributions.lights.sort_by_key(|one| one.light);
        let has_others = has_weak || contributions.lights.len() < by_power.len();
        if has_others && !contributions.lights.is_empty() {
            let solved: Vec<BakedLightId> = contributions.lights.iter().map(|one| one.light).collect();
            match solver.irradiance(lit_by_others(self.scene, &lights, &solved), false)? {
                Some(rest) => contributions.rest = rest.irradiance,
                // Without the rest, the lights do not sum up to the bake.
                None => contributions = Contributions::default(),
            }
        }
        let missing = by_power.len() - contributions.lights.len();
        Ok((contributions, missing))
    }

    /// Returns the irradiance that pages of a scene would hold, in lux by row, and the errors of low rank; see
    /// [`LightContribution::error`] and [`LightContribution::mean_error`]. The scene differs in its lights only.
    fn irradiance(
        &self,
        scene: Scene,
        form_factors: &[FormFactorMatrix; HALVES],
        monitor: &dyn Monitor,
    ) -> Result<LightAlone, StepError> {
        let PageMaker { settings, elements, .. } = self.page_maker;
        let transport = &self.precomputed.transport;
        let [direct_of, carried_of] = self.direct(&Arc::new(scene), monitor)?;
        let [direct, carried] = [mean(&direct_of), mean(&carried_of)];
        let mut indirect = vec![Vec3::ZERO; elements.len()];
        let mut by_rows = indirect.clone();
        let sources: Vec<Vec3> = direct.iter().zip(&carried).map(|(direct, carried)| direct + carried).collect();
        transport.relight_alike(&transport.sorted(&sources), &mut by_rows);
        for (&element, light) in transport.patches.order.iter().zip(by_rows) {
            indirect[element as usize] = light;
        }
        let low_rank = indirect.clone();
        let mut halves = [Vec::new(), Vec::new()];
        let sweeps = settings.solver.bounces.unwrap_or(MAX_SWEEPS).min(MAX_SWEEPS);
        if sweeps < MAX_SWEEPS {
            // The patches' solution has all bounces.
            indirect.fill(Vec3::ZERO);
        }
        for _ in 0..sweeps {
            let reflected = elements.reflectance.iter().zip(&sources).zip(&indirect);
            let radiosity: Vec<Vec3> =
                reflected.map(|((reflectance, source), indirect)| reflectance * (source + indirect)).collect();
            let [one, other] = form_factors;
            halves = [one.product(&radiosity, monitor)?, other.product(&radiosity, monitor)?];
            let before = core::mem::replace(&mut indirect, mean(&halves));
            let change = before.iter().zip(&indirect).map(|(before, after)| luminance((before - after).abs()));
            if change.sum::<f32>() <= SETTLED * indirect.iter().map(|light| luminance(*light)).sum::<f32>() {
                break;
            }
        }
        let [error, mean_error] = self.errors_of(&low_rank, &indirect);
        indirect.iter_mut().zip(&carried).for_each(|(sum, carried)| *sum += *carried);
        for (half, carried) in halves.iter_mut().zip(&carried_of) {
            half.resize(elements.len(), Vec3::ZERO);
            half.iter_mut().zip(carried).for_each(|(sum, carried)| *sum += *carried);
        }
        if settings.solver.content == Content::Full {
            for (half, direct) in halves.iter_mut().zip(&direct_of) {
                half.iter_mut().zip(direct).for_each(|(sum, direct)| *sum += *direct);
            }
        }
        let mut irradiance = self.page_maker.shown(&direct, &indirect);
        if settings.filter.denoise {
            filter::denoise(&mut irradiance, elements, &halves, &self.solution.visible_fraction);
        }
        let sound =
            |light: &Vec3| if light.is_finite() { light.clamp(Vec3::ZERO, Vec3::splat(MAX_LUX)) } else { Vec3::ZERO };
        let irradiance: Vec<Vec3> = irradiance.iter().map(sound).collect();
        Ok(LightAlone { irradiance: transport.sorted(&irradiance), error, mean_error })
    }

    /// Returns the area-weighted RMS difference to a reference, relative to the RMS of the reference, and the mean
    /// difference, relative to the mean.
    fn errors_of(&self, found: &[Vec3], reference: &[Vec3]) -> [f32; 2] {
        let (mut differences, mut lights) = (0.0, 0.0);
        let (mut squared_differences, mut squared_lights) = (0.0, 0.0);
        let weights = self.page_maker.elements.area.iter().zip(&self.solution.visible_fraction);
        for ((found, reference), (area, visible)) in found.iter().zip(reference).zip(weights) {
            let weight = f64::from(area * visible);
            let [difference, light] = [*found - *reference, *reference].map(|light| f64::from(luminance(light)));
            differences += weight * difference.abs();
            lights += weight * light;
            squared_differences += weight * difference.powi(2);
            squared_lights += weight * light.powi(2);
        }
        // Rounded, since processors that fuse multiplication and addition compute other last digits.
        let rounded = |error: f64| ((error * 1e4).round() / 1e4) as f32;
        if squared_lights <= 0.0 || lights <= 0.0 {
            return [0.0; 2];
        }
        [(squared_differences / squared_lights).sqrt(), differences / lights].map(rounded)
    }

    /// Returns the direct irradiance of each element, and the irradiance by way of surfaces without elements, in lux.
    /// Both are by independent halves of the rays.
    fn direct(&self, scene: &Arc<Scene>, monitor: &dyn Monitor) -> Result<[Halves; 2], StepError> {
        let PageMaker { settings, world, elements, .. } = self.page_maker;
        let mut backend = CpuBackend::new(scene, world, elements, settings.solver.seed);
        let glows = scene.sky != Sky::Dark || scene.materials.iter().any(|material| material.emission != Vec3::ZERO);
        let has_occluders = scene.surfaces.iter().any(|surface| surface.role == Role::Occluder);
        let rays = vec![RAYS[usize::from(glows || has_occluders)]; elements.len()];
        backend.run(&Step::Direct { samples: FIRST_SAMPLES, tolerance: [].into() }, monitor)?;
        backend.run(&Step::Gather { rays, hits: Hits::Forget }, monitor)?;
        let [first, _] = self.by_halves(&backend)?;
        let light: Vec<f32> = first.iter().flatten().map(|light| luminance(*light)).collect();
        let (one, other) = light.split_at(elements.len());
        let min = TOLERANCE_OF_MEAN * light.iter().sum::<f32>() / light.len().max(1) as f32;
        let tolerance = one.iter().zip(other).map(|(one, other)| (TOLERANCE * 0.5 * (one + other)).max(min));
        backend.run(&Step::Direct { samples: SAMPLES, tolerance: tolerance.collect() }, monitor)?;
        self.by_halves(&backend)
    }

    /// Returns both irradiances by halves. The visible fraction is the bake's, since few rays tell it badly.
    fn by_halves(&self, backend: &CpuBackend) -> Result<[Halves; 2], StepError> {
        let [mut direct, mut carried] = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
        for half in 0..HALVES {
            for (estimate, visible) in backend.read(half)?.iter().zip(&self.solution.visible_fraction) {
                let of_element = estimate.light_sampled * estimate.visible_fraction;
                let is_visible = *visible > 0.0;
                direct[half].push(if is_visible { of_element / *visible + estimate.bsdf_sampled } else { Vec3::ZERO });
                carried[half].push(if is_visible { estimate.indirect } else { Vec3::ZERO });
            }
        }
        Ok([direct, carried])
    }
}

/// Solver for single lights that ends with the time limit.
struct WithinTime<'a> {
    task: &'a ContributionTask<'a>,
    form_factors: [FormFactorMatrix<'a>; HALVES],
    monitor: &'a StageMonitor<'a>,
    /// Longest time of a light so far, in seconds.
    slowest: f32,
}

impl WithinTime<'_> {
    /// Returns the result of [`ContributionTask::irradiance`], or `None` if the time does not suffice for it and, if
    /// `has_others` is true, for all other lights together.
    fn irradiance(&mut self, scene: Scene, has_others: bool) -> Result<Option<LightAlone>, StepError> {
        let expected = self.slowest * (1.0 + MARGIN);
        let kept_back = if has_others { expected } else { 0.0 };
        let limited = Limited { monitor: self.monitor, kept_back };
        if limited.seconds_left().is_some_and(|seconds| seconds < expected) {
            return Ok(None);
        }
        let began = clock::now();
        let done = self.task.irradiance(scene, &self.form_factors, &limited);
        self.slowest = self.slowest.max(began.elapsed().as_secs_f32());
        match done {
            Err(StepError::Cancelled(_) | StepError::CutShort { .. }) if !self.monitor.is_cancelled() => Ok(None),
            done => Ok(Some(done?)),
        }
    }
}

/// Monitor that also cancels once the time is over, except for some seconds.
struct Limited<'a> {
    monitor: &'a StageMonitor<'a>,
    kept_back: f32,
}

impl Limited<'_> {
    fn seconds_left(&self) -> Option<f32> {
        Some(self.monitor.seconds_left()? - self.kept_back)
    }
}

impl Monitor for Limited<'_> {
    fn progress(&self, _fraction: f32) {}

    fn is_cancelled(&self) -> bool {
        self.monitor.is_cancelled() || self.seconds_left().is_some_and(|seconds| seconds < 0.0)
    }
}

/// Solution for some lights alone; see [`LightContribution`].
struct LightAlone {
    irradiance: Vec<Vec3>,
    error: f32,
    mean_error: f32,
}

/// Values of all elements, by independent halves of the rays.
type Halves = [Vec<Vec3>; HALVES];

/// Returns the mean of two halves.
fn mean([one, other]: &Halves) -> Vec<Vec3> {
    one.iter().zip(other).map(|(one, other)| 0.5 * (one + other)).collect()
}

/// Returns the largest number of contributions that a scene's lights and all others together have.
pub fn count(scene: &Scene) -> usize {
    baked_lights(scene).len().min(MAX_CONTRIBUTIONS) + 1
}

/// Returns the approximate time of a scene's contributions, in rays of each half of an element.
pub fn rays_of_each_half(scene: &Scene) -> u64 {
    count(scene) as u64 * u64::from(SAMPLES + RAYS[1] + SWEEPS_IN_RAYS)
}
