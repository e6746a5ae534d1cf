//! Refinement scheduler: chooses the settled light to refine next.
//!
//! Some lights have their own cache entry. It holds for every strength and does not depend on other lights. All other
//! lights share one entry, valid while none of them changes.

use glam::Vec3;

use super::element_refinement::{ElementRefinement, Stage, SweepContext, is_added};
use super::lights::Shape;
use super::order::Order;
use super::response::LightResponse;
use super::tracked_light::{ResponseKind, TrackedLight};
use crate::scene::Scene;

/// Number of lights with their own cache entry. An entry takes 24 bytes per element, or 48 for a lamp that has moved
/// since the bake, and half as much more where panes are lit.
pub const MAX_OWN_CACHES: usize = 8;

/// State of the scheduler, and the shared cache entry.
#[derive(Default)]
pub struct RefinementScheduler {
    others: Vec<Part>,
    /// True when the shared lights have changed since the previous update.
    are_others_new: bool,
    together: ElementRefinement,
}

/// Added or removed light.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    tracked_light: usize,
    kind: ResponseKind,
    shape: Shape,
    strength: Vec3,
}

/// Choice of the scheduler.
#[derive(Clone, Copy)]
enum StepOwner {
    Own(usize, ResponseKind),
    Others,
}

/// Result of one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RefinementStep {
    pub rays: u64,
    /// True when the refined indirect light has changed.
    pub is_news: bool,
    /// True when the adaptive direct light has changed.
    pub has_sampled: bool,
}

impl RefinementScheduler {
    /// Assigns cache entries to changed lights, and finds the lights that share one.
    ///
    /// It must run before each turn and before light is summed up: any change of a shared light invalidates the shared
    /// entry.
    pub fn prepare(&mut self, tracked_lights: &mut [TrackedLight], order: &Order) {
        for index in 0..tracked_lights.len() {
            if tracked_lights[index].needs_responses() && !tracked_lights[index].keeps_own {
                let is_free =
                    tracked_lights.iter().filter(|tracked_light| tracked_light.keeps_own).count() < MAX_OWN_CACHES;
                let idle = tracked_lights
                    .iter_mut()
                    .find(|tracked_light| tracked_light.keeps_own && !tracked_light.needs_responses())
                    .filter(|_| !is_free);
                tracked_lights[index].keeps_own = is_free || idle.map(TrackedLight::give_up_own).is_some();
            }
        }
        let parts_of = |(index, tracked_light): (usize, &TrackedLight)| {
            let part =
                |(strength, kind)| Part { tracked_light: index, kind, shape: tracked_light.shape(kind), strength };
            tracked_light.changes().map(part).collect::<Vec<_>>()
        };
        let others = tracked_lights
            .iter()
            .enumerate()
            .filter(|(_, tracked_light)| !tracked_light.keeps_own && tracked_light.is_known(order));
        let others: Vec<Part> = others.flat_map(parts_of).collect();
        self.are_others_new = self.others != others;
        if self.are_others_new {
            (self.others, self.together) = (others, ElementRefinement::default());
        }
    }

    /// Returns the next stage of any settled light, or `None` when all are complete.
    pub fn next(&self, tracked_lights: &[TrackedLight], order: &Order) -> Option<Stage> {
        let own =
            tracked_lights.iter().filter(|tracked_light| tracked_light.keeps_own && tracked_light.is_known(order));
        own.flat_map(TrackedLight::to_follow).map(|(stage, _)| stage).chain(self.next_of_others()).min()
    }

    fn next_of_others(&self) -> Option<Stage> {
        let added = self.others.iter().any(|part| is_added(part.strength));
        self.together.next(added).filter(|_| !self.others.is_empty())
    }

    /// Chooses the least refined light. Lights with an own entry come before the shared ones. Lights that were traced
    /// in this update are not settled yet.
    fn choose(&self, tracked_lights: &[TrackedLight], order: &Order, update: u64) -> Option<StepOwner> {
        let settled = tracked_lights
            .iter()
            .enumerate()
            .filter(|(_, tracked_light)| tracked_light.keeps_own && tracked_light.is_settled(order, update));
        let own = settled
            .flat_map(|(index, tracked_light)| tracked_light.to_follow().map(move |(stage, kind)| (stage, index, kind)))
            .min();
        let others = self.next_of_others().filter(|_| !self.are_others_new);
        match (own, others) {
            (Some((stage, index, kind)), others) if others.is_none_or(|others| stage <= others) => {
                Some(StepOwner::Own(index, kind))
            }
            (_, others) => others.map(|_| StepOwner::Others),
        }
    }

    /// Continues the refinement of one light, or of the shared lights.
    pub fn step(
        &mut self,
        tracked_lights: &mut [TrackedLight],
        update: u64,
        lit: &Scene,
        context: &SweepContext,
    ) -> RefinementStep {
        let Some(step_owner) = self.choose(tracked_lights, context.receiving.order, update) else {
            return RefinementStep::default();
        };
        let parts = match step_owner {
            StepOwner::Own(tracked_light, kind) => {
                vec![Part {
                    tracked_light,
                    kind,
                    shape: tracked_lights[tracked_light].shape(kind),
                    strength: Vec3::ONE,
                }]
            }
            StepOwner::Others => self.others.clone(),
        };
        let mut refinement = self.refinement_of(step_owner, tracked_lights).map(core::mem::take).unwrap_or_default();
        let step = match refinement.stage() {
            Stage::UnmappedLight => {
                let light = |part: &Part| Some((part.strength, part.shape.sampler(lit)?));
                let lights = || parts.iter().filter_map(light).collect();
                let (rays, is_news) = refinement.trace_unmapped(lights, context);
                RefinementStep { rays, is_news, has_sampled: false }
            }
            Stage::AdaptiveSamples => {
                let mut rays = 0;
                for Part { tracked_light, kind, .. } in &parts {
                    let budget = context.budget.saturating_sub(rays);
                    rays += tracked_lights[*tracked_light].refine(*kind, lit, &context.receiving, budget);
                }
                let response = |part: &Part| tracked_lights[part.tracked_light].response(part.kind);
                if parts.iter().all(|part| response(part).is_some_and(LightResponse::is_fine)) {
                    refinement.set_sampled();
                }
                RefinementStep { rays, has_sampled: true, is_news: false }
            }
            _ => {
                let response =
                    |part: &Part| Some((part.strength, tracked_lights[part.tracked_light].response(part.kind)?));
                let (rays, is_news) = refinement.step(&parts.iter().filter_map(response).collect::<Vec<_>>(), context);
                RefinementStep { rays, is_news, has_sampled: false }
            }
        };
        if let Some(place) = self.refinement_of(step_owner, tracked_lights) {
            *place = refinement;
        }
        step
    }

    fn refinement_of<'a>(
        &'a mut self,
        step_owner: StepOwner,
        tracked_lights: &'a mut [TrackedLight],
    ) -> Option<&'a mut ElementRefinement> {
        match step_owner {
            StepOwner::Own(tracked_light, kind) => {
                tracked_lights[tracked_light].response_mut(kind).map(|response| &mut response.refinement)
            }
            StepOwner::Others => Some(&mut self.together),
        }
    }

    /// Returns the refined irradiance of all settled lights in lux by row.
    pub fn sum_up(&self, tracked_lights: &[TrackedLight]) -> Vec<Vec3> {
        let mut elements = Vec::new();
        for tracked_light in tracked_lights {
            tracked_light.followed().for_each(|(strength, refinement)| refinement.add(strength, &mut elements));
        }
        if self.together.is_known() {
            self.together.add(Vec3::ONE, &mut elements);
        }
        elements
    }

    /// Returns true if a light has a refined result, of its own or together with others.
    pub fn is_refined(&self, tracked_lights: &[TrackedLight], index: usize) -> bool {
        let is_among_others = || self.others.iter().any(|part| part.tracked_light == index);
        tracked_lights[index].followed().next().is_some() || (self.together.is_known() && is_among_others())
    }
}
