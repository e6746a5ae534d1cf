//! Error estimate after a pass, and the solution at the end.

use std::sync::Arc;

use glam::Vec3;

use super::super::backend::{CONVERGED, ElementEstimate, StepError, UNSHOT};
use super::super::bands::{say_hopeless, worst};
use super::super::cpu::MAX_BOUNCES;
use super::super::estimate::{self, Estimate};
use super::super::solve::{LightSoFar, Pass, SolveError, SolveObserver};
use super::super::{Content, HALVES, Solution};
use super::{BounceIntegrator, Passes};
use crate::lightmap::Elements;
use crate::scene::luminance;

impl Passes<'_> {
    pub(super) fn read(&self, half: usize) -> Result<Vec<ElementEstimate>, StepError> {
        let mut element_estimates = self.backend.read(half)?;
        if self.settings.bounces == Some(0) {
            // Light by way of unmapped surfaces was found along with the sky; it is one bounce too many.
            element_estimates.iter_mut().for_each(|element_estimate| element_estimate.indirect = Vec3::ZERO);
        }
        Ok(element_estimates)
    }

    /// Returns adaptation levels before any bounce has been computed.
    pub(super) fn predicted(&self) -> Result<Arc<[f32]>, StepError> {
        let (visible, light) = self.light(&[self.read(0)?, self.read(1)?], Content::Full, true);
        Ok(self.cell_views.adaptation(self.elements, &visible, &light))
    }

    /// Returns adaptation levels by all light, which weigh the transport. A surface may reflect much light, and receive
    /// none of the content that is delivered.
    pub(super) fn levels_of_transport(
        &self,
        estimate: &Estimate,
        element_estimates: &[Vec<ElementEstimate>; HALVES],
    ) -> Arc<[f32]> {
        match self.settings.content {
            Content::Full => estimate.local.grouping.adaptation.clone(),
            Content::Indirect => {
                let (visible, light) = self.light(element_estimates, Content::Full, false);
                self.cell_views.adaptation(self.elements, &visible, &light)
            }
        }
    }

    /// Returns the visible fraction of each element, and the luminance of its irradiance in lux. `predicts` adds an
    /// estimate of the bounces.
    fn light(
        &self,
        [first, second]: &[Vec<ElementEstimate>; HALVES],
        content: Content,
        predicts: bool,
    ) -> (Vec<f32>, Vec<f32>) {
        let merged: Vec<ElementEstimate> =
            first.iter().zip(second).map(|(a, b)| estimate::mean_estimate(a, b)).collect();
        let visible: Vec<f32> = merged.iter().map(|element_estimate| element_estimate.visible_fraction).collect();
        let light: Vec<f32> = merged
            .iter()
            .map(|element_estimate| luminance(estimate::delivered(element_estimate, content)).max(0.0))
            .collect();
        let bounces = self.settings.bounces;
        let light =
            if predicts { self.cell_views.predict_light(self.elements, &visible, &light, bounces) } else { light };
        (visible, light)
    }

    pub(super) fn estimate(&self, element_estimates: &[Vec<ElementEstimate>; HALVES]) -> Result<Estimate, StepError> {
        let predicts = self.integrator == BounceIntegrator::Nothing;
        let (visible, light) = self.light(element_estimates, self.settings.content, predicts);
        let adaptation = self.cell_views.adaptation(self.elements, &visible, &light);
        let (mut estimate, weights) =
            estimate::estimate(&self.exposed_areas, adaptation, &light, element_estimates, self.settings.content);
        if self.solver_progress.stored_rays > 0 {
            let errors = estimate::discretization(&*self.backend, self.elements, &self.groups, &element_estimates[0])?;
            estimate.whole.add_discretization(&weights, &errors);
            estimate.local.add_discretization(&weights, &errors);
        }
        Ok(estimate)
    }

    pub(super) fn finish_pass(
        &self,
        element_estimates: &[Vec<ElementEstimate>; HALVES],
        estimate: &Estimate,
        observer: &dyn SolveObserver,
        traced_before: u64,
    ) -> Result<(), StepError> {
        if self.solver_progress.rays == traced_before {
            return Ok(());
        }
        let pass = Pass {
            number: self.solver_progress.passes,
            error: estimate.local.error(),
            error_of_mean: estimate.whole.error(),
            gather_rays: self.solver_progress.gather_rays * HALVES as u32,
            rays: self.solver_progress.rays,
        };
        observer.pass_finished(&pass, &|| self.state())?;
        observer.light_improved(&|| LightSoFar::of(&estimate::merge(element_estimates, self.settings.content).0));
        Ok(())
    }

    pub(super) fn report_shortfall(&mut self, estimate: &Estimate, gave_up: bool) {
        let asked = self.settings.error;
        self.warnings.extend(say_hopeless(&estimate.local.bands, self.scene, self.elements, asked));
        // If another solver computes the bounces, that solver judges the whole result.
        let is_judged_here = self.integrator != BounceIntegrator::Nothing;
        let Some(whole) = estimate.whole.bands.first().filter(|_| is_judged_here) else { return };
        let are_texels_too_coarse = whole.discretization > asked;
        if are_texels_too_coarse {
            self.warnings.push(format!(
                "the texels are too coarse for an error of {asked}: evenly bright texels alone cost about {:.3}; raise the \
                 density",
                whole.discretization
            ));
        }
        if whole.total() > asked * 1.05 && !(are_texels_too_coarse && gave_up) {
            let why = match gave_up {
                false => "the time limit",
                true if whole.is_hopeless() => "a sensible number of rays",
                true => "the most rays that a texel may get",
            };
            self.warnings
                .push(format!("the error of {asked} was not reached within {why}: it is {:.3}", whole.total()));
        }
    }

    pub(super) fn finish(
        &mut self,
        element_estimates: &[Vec<ElementEstimate>; HALVES],
        estimate: &Estimate,
    ) -> Result<Solution, SolveError> {
        let (merged, standard_error) = estimate::merge(element_estimates, self.settings.content);
        let delivered =
            |element_estimate: &ElementEstimate| estimate::delivered(element_estimate, self.settings.content);
        let halves = element_estimates.each_ref().map(|half| half.iter().map(delivered).collect());
        let limit = if self.integrator == BounceIntegrator::Iterating { CONVERGED } else { UNSHOT };
        if self.settings.bounces.is_none() && f64::from(self.solver_progress.unshot) > 2.0 * limit {
            self.warnings.push(format!(
                "{:.2} % of the light still moved when the iterations ended: reflectances near one in a closed room",
                self.solver_progress.unshot * 100.0
            ));
        }
        if self.integrator == BounceIntegrator::Paths
            && self.settings.bounces.is_none()
            && self.are_paths_cut_off(&merged)
        {
            self.warnings.push(format!(
                "light still moved where paths ended, after {MAX_BOUNCES} bounces: reflectances near one in a closed room"
            ));
        }
        let LightSoFar { direct, indirect, visible_fraction } = LightSoFar::of(&merged);
        Ok(Solution {
            direct,
            indirect,
            halves,
            visible_fraction,
            standard_error,
            error_estimate: estimate.local.error(),
            worst_irradiance: worst(&estimate.local.bands).map_or(0.0, |band| band.light),
            error_of_mean: estimate.whole.error(),
            energy_balance: estimate::energy_balance(&*self.backend, self.elements, element_estimates, &self.bright),
            unshot: self.solver_progress.unshot,
            iterations: self.solver_progress.iterations,
            rays: self.solver_progress.rays,
            warnings: core::mem::take(&mut self.warnings),
            ..Solution::default()
        })
    }

    /// Returns true if there is so much more indirect than direct light that paths must have ended before their light
    /// was absorbed.
    fn are_paths_cut_off(&self, merged: &[ElementEstimate]) -> bool {
        let Elements { area, reflectance, .. } = self.elements;
        let reflected = |light: &dyn Fn(&ElementEstimate) -> Vec3| -> f64 {
            let of = |(element, element_estimate): (usize, &ElementEstimate)| {
                f64::from(
                    area[element]
                        * element_estimate.visible_fraction
                        * luminance(reflectance[element] * light(element_estimate)),
                )
            };
            merged.iter().enumerate().map(of).sum()
        };
        let once = reflected(&|element_estimate| element_estimate.light_sampled + element_estimate.bsdf_sampled);
        reflected(&|element_estimate| element_estimate.indirect) > max_reflections() * once
    }
}

/// Returns the maximum plausible ratio of all reflected light to light that is reflected once. At this ratio, the
/// fraction [`UNSHOT`] is left after the most bounces of a path.
fn max_reflections() -> f64 {
    let reflectance = libm::pow(UNSHOT, 1.0 / f64::from(MAX_BOUNCES));
    1.0 / (1.0 - reflectance)
}
