//! Refinement queue: chooses the settled light to refine next, the least refined first.
//!
//! Some lights have their own cache entry. It holds for every strength and does not depend on other lights. All other
//! lights share one entry, valid while none of them changes.

use glam::Vec3;

use super::element_refinement::{ElementRefinement, Part, RefinementStep, Stage, SweepContext, is_added};
use super::tracked_light::{LightState, ResponseKind, TrackedLight};

/// Number of lights with their own cache entry. An entry takes 24 bytes per element, or 48 for a lamp that has moved
/// since the bake, and half as much more where panes are lit.
const MAX_OWN_CACHES: usize = 8;

/// Work of the queue, and the shared cache entry.
#[derive(Default)]
pub struct RefinementQueue {
    shared_parts: Vec<Part>,
    /// True when the shared lights have changed since the previous update.
    are_shared_new: bool,
    shared: ElementRefinement,
}

/// Cache entry to work on. Those of single lights come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Own(usize, ResponseKind),
    Shared,
}

impl RefinementQueue {
    /// Assigns cache entries to changed lights, and finds the lights that share one.
    ///
    /// It must run before each step and before light is summed up: any change of a shared light invalidates the shared
    /// entry.
    pub fn prepare(&mut self, lights: &mut [TrackedLight]) {
        for index in 0..lights.len() {
            if lights[index].needs_responses() && !lights[index].keeps_own {
                let is_free = lights.iter().filter(|light| light.keeps_own).count() < MAX_OWN_CACHES;
                let idle = lights.iter_mut().find(|light| light.keeps_own && !light.needs_responses());
                let given_up = idle.filter(|_| !is_free).map(TrackedLight::give_up_own);
                lights[index].keeps_own = is_free || given_up.is_some();
            }
        }
        let is_shared = |light: &TrackedLight| !light.keeps_own && light.state == LightState::Settled;
        let settled = lights.iter().enumerate().filter(|(_, light)| is_shared(light));
        let parts = settled.flat_map(|(index, light)| {
            light.changes().filter_map(move |(strength, kind)| {
                Some(Part { light: index, kind, shape: light.response(kind)?.shape, strength })
            })
        });
        let parts: Vec<Part> = parts.collect();
        self.are_shared_new = self.shared_parts != parts;
        if self.are_shared_new {
            (self.shared_parts, self.shared) = (parts, ElementRefinement::default());
        }
    }

    /// Returns the unfinished entries of settled lights, each with its next stage.
    fn unfinished(&self, lights: &[TrackedLight]) -> impl Iterator<Item = (Stage, Entry)> {
        let is_own = |light: &TrackedLight| light.keeps_own && light.state == LightState::Settled;
        let own =
            lights.iter().enumerate().filter(move |(_, light)| is_own(light)).flat_map(|(index, light)| {
                light.unrefined().map(move |(stage, kind)| (stage, Entry::Own(index, kind)))
            });
        let has_added = self.shared_parts.iter().any(|part| is_added(part.strength));
        let shared = self.shared.next(has_added).filter(|_| !self.shared_parts.is_empty());
        own.chain(shared.map(|stage| (stage, Entry::Shared)))
    }

    /// Returns the next stage of any settled light, or `None` when all are complete.
    pub fn next(&self, lights: &[TrackedLight]) -> Option<Stage> {
        self.unfinished(lights).map(|(stage, _)| stage).min()
    }

    /// Continues the refinement of the least refined entry. Lights that were traced in this update must wait.
    pub fn step(&mut self, lights: &mut [TrackedLight], update: u64, context: &SweepContext) -> RefinementStep {
        let may_work = |entry: &Entry| match *entry {
            Entry::Own(light, _) => lights[light].is_settled_before(update),
            Entry::Shared => !self.are_shared_new,
        };
        let next = self.unfinished(lights).filter(|(_, entry)| may_work(entry)).min();
        match next.map(|(_, entry)| entry) {
            Some(Entry::Own(light, kind)) => {
                let Some(response) = lights[light].response_mut(kind) else { return RefinementStep::default() };
                let part = Part { light, kind, shape: response.shape, strength: Vec3::ONE };
                let mut refinement = core::mem::take(&mut response.refinement);
                let step = refinement.step(&[part], lights, context);
                if let Some(response) = lights[light].response_mut(kind) {
                    response.refinement = refinement;
                }
                step
            }
            Some(Entry::Shared) => self.shared.step(&self.shared_parts, lights, context),
            None => RefinementStep::default(),
        }
    }

    /// Returns the refined irradiance of all settled lights in lux by row.
    pub fn sum_up(&self, lights: &[TrackedLight]) -> Vec<Vec3> {
        let mut elements = Vec::new();
        let own = lights.iter().flat_map(TrackedLight::refined);
        let shared = self.shared.is_known().then_some((Vec3::ONE, &self.shared));
        own.chain(shared).for_each(|(strength, refinement)| refinement.add(strength, &mut elements));
        elements
    }

    /// Returns true if a light has a refined result, of its own or together with others.
    pub fn is_refined(&self, lights: &[TrackedLight], index: usize) -> bool {
        let is_shared = || self.shared.is_known() && self.shared_parts.iter().any(|part| part.light == index);
        lights[index].refined().next().is_some() || is_shared()
    }
}
