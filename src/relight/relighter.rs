//! State of live relighting, and its update in five steps.

use core::ops::Range;
use std::sync::Arc;

use glam::Vec3;

use super::contributions::BakedChanges;
use super::distance::{ByPatches, Distance};
use super::doors::PlacedOccluder;
use super::element_refinement::{Stage, SweepContext};
use super::input::RelightInput;
use super::light::{Difference, SmoothedLight};
use super::lights::{LiveLight, LivePanel, lit};
use super::matching::Matching;
use super::order::Order;
use super::pages::Pages;
use super::receiving::Receiving;
use super::refinement_queue::RefinementQueue;
use super::restricted_query::RestrictedQuery;
use super::texel_receivers::TexelReceivers;
use super::trace::trace_responses;
use super::tracked_light::{LightState, TrackedLight};
use super::unmapped_light::UnmappedPoints;
use super::update::{Update, UpdateSettings};
use crate::geometry::Aabb;
use crate::low_rank::{BakedLightId, Smoothing};
use crate::radiosity::Content;
use crate::scene::Scene;

/// Divisor for the rays of an update that settled lights get while others move.
const REFINEMENT_SHARE: u64 = 4;

/// Updates the pages of a level when its lights change.
///
/// A change passes through five steps:
///
/// 1. [`set_lights`](Self::set_lights) matches live lights to tracked ones.
/// 2. An update traces responses of changed lights.
/// 3. It refines lights whose responses are complete.
/// 4. It sums up the light of all, and moves the shown light toward that.
/// 5. [`draw`](Self::draw) computes the bounces between patches, and writes texels.
pub struct Relighter {
    level: RelightInput,
    /// Scene with unit emission, for sampling panels.
    lit: Arc<Scene>,
    order: Order,
    /// Sum of the receiver weights of each patch.
    weights: Vec<Vec3>,
    /// Tracked lights: baked lamps in the order of the scene, then panels, then added lights.
    lights: Vec<TrackedLight>,
    matching: Matching,
    unmapped_points: UnmappedPoints,
    is_enabled: bool,
    updates: u64,
    /// True when the sum over lights is out of date.
    is_stale: bool,
    /// Boxes around displaced objects, and whether pages have yet to show the change.
    moved: Vec<Aabb>,
    has_moved: bool,
    queue: RefinementQueue,
    /// Change of indirect light.
    light: SmoothedLight,
    baked_changes: BakedChanges,
    distance: Distance,
    /// Values of [`Difference::elements`] and [`Difference::edition`].
    elements: Vec<Vec3>,
    edition: u64,
    pages: Pages,
}

impl Relighter {
    /// Starts with all lights as baked.
    pub fn new(level: RelightInput) -> Self {
        let RelightInput { scene, precomputed, .. } = &level;
        let (transport, receivers) = (&precomputed.transport, &precomputed.receivers);
        let order = Order::new(&transport.patches, &receivers.visible);
        let (matching, mut lights) = Matching::new(scene);
        let baked_changes = BakedChanges::new(&level);
        baked_changes.choose(&mut lights, level.has_contributions());
        Self {
            lit: lit(scene),
            weights: order.weights(transport),
            order,
            lights,
            matching,
            unmapped_points: UnmappedPoints::new(&level),
            is_enabled: true,
            updates: 0,
            is_stale: false,
            moved: Vec::new(),
            has_moved: false,
            queue: RefinementQueue::default(),
            light: SmoothedLight::new(transport.patches.len()),
            baked_changes,
            distance: Distance::new(&level),
            elements: Vec::new(),
            edition: 0,
            pages: Pages::new(&level),
            level,
        }
    }

    /// Enables or disables relighting. While it is disabled, pages show the bake.
    pub fn set_enabled(&mut self, is_enabled: bool) {
        self.is_stale |= self.is_enabled != is_enabled;
        self.is_enabled = is_enabled;
    }

    /// Continues with displaced or recolored surfaces; see [`Doors`](super::Doors). The known light is updated, and the
    /// next update shows it.
    ///
    /// # Panics
    ///
    /// Panics when the level has another number of elements.
    pub fn set_level(&mut self, placed: PlacedOccluder) {
        let PlacedOccluder { level, boxes, .. } = placed;
        let elements = |level: &RelightInput| level.precomputed.transport.elements();
        assert_eq!(elements(&level), elements(&self.level), "the same level");
        let moved = [&*self.moved, &*boxes].concat();
        let [before, after] =
            [&self.level, &level].map(|level| RestrictedQuery { world: &*level.world, boxes: &moved });
        let receiving = |level, world| Receiving { level, world, order: &self.order, lit: &self.lit };
        let [before, after] = [receiving(&self.level, &before), receiving(&level, &after)];
        let is_painted = level.precomputed.transport.weights != self.level.precomputed.transport.weights;
        for response in self.lights.iter_mut().flat_map(TrackedLight::responses_mut) {
            if !moved.is_empty() {
                response.follow(&before, &after);
            }
            if is_painted {
                response.weigh(&after);
            }
        }
        self.weights = self.order.weights(&level.precomputed.transport);
        self.unmapped_points = UnmappedPoints::new(&level);
        self.distance = Distance::new(&level);
        (self.level, self.moved, self.queue) = (level, boxes, RefinementQueue::default());
        self.pages.forget();
        self.baked_changes.choose(&mut self.lights, self.level.has_contributions());
        (self.is_stale, self.has_moved) = (true, true);
    }

    /// Sets the current state of all lights. Returns a warning for each light that cannot be relit, once per light; it
    /// keeps its state.
    ///
    /// A baked light that has never been in the list counts as baked. A light that has left the list is dark. Panels
    /// that are not in the list stay as they are.
    pub fn set_lights(&mut self, lights: &[LiveLight], panels: &[LivePanel]) -> Vec<String> {
        let (is_new, warnings) = self.matching.set(&mut self.lights, lights, panels, &self.level.scene);
        self.is_stale |= is_new;
        warnings
    }

    /// Traces within the budget, and draws the pages if they have changed.
    pub fn update(&mut self, settings: &UpdateSettings) -> Update {
        let mut update = self.advance(settings);
        if update.is_new {
            update.pages = self.draw();
        }
        update
    }

    /// Updates without drawing, for callers that draw [`difference`](Self::difference) themselves.
    pub fn advance(&mut self, settings: &UpdateSettings) -> Update {
        let mut update = Update::default();
        self.step(settings, true, &mut update);
        self.show(settings, update)
    }

    /// Updates without drawing, in steps of the ray budget, while there is work and `may_work` returns true. Changes
    /// that need no ray are shown in any case, and a light without samples gets some.
    pub fn advance_while(&mut self, settings: &UpdateSettings, mut may_work: impl FnMut() -> bool) -> Update {
        let mut update = Update::default();
        while self.step(settings, may_work(), &mut update) {}
        self.show(settings, update)
    }

    /// Does one step of an update: traces and refines within the ray budget if it `works`, and counts the remaining work.
    /// Returns true if it worked and more is left. For callers that pause between steps; [`show`](Self::show) ends the
    /// update.
    pub fn step(&mut self, settings: &UpdateSettings, works: bool, update: &mut Update) -> bool {
        self.updates += 1;
        if !self.is_enabled {
            return false;
        }
        let mut rays = self.trace(settings, works);
        update.waiting = self.lights.iter().filter(|light| light.pending().next().is_some()).count();
        if settings.bounces > 0 {
            self.queue.prepare(&mut self.lights);
            // A light without samples comes before the refinement of another.
            if works && !has_unsampled(&self.lights) {
                rays += self.refine(settings, rays);
            }
            update.is_refining = self.queue.next(&self.lights).is_some();
        }
        update.rays += rays;
        works && (update.waiting > 0 || update.is_refining)
    }

    /// Finds the states of lights, and traces responses of changed ones if it `works`. Returns the number of rays.
    fn trace(&mut self, settings: &UpdateSettings, works: bool) -> u64 {
        let Self { level, lit, order, lights, queue, baked_changes, .. } = self;
        let receiving = Receiving { level, world: &*level.world, order, lit };
        let (shows_direct, has_contributions) = (level.content == Content::Full, level.has_contributions());
        lights.iter_mut().for_each(|light| light.prepare(&receiving, shows_direct, has_contributions));
        let mut rays = 0;
        // A light without samples gets some in any case.
        if works || has_unsampled(lights) {
            let all = if works { u64::from(settings.rays) } else { 0 };
            let has_refinement = settings.bounces > 0 && queue.next(lights).is_some_and(Stage::is_by_rays);
            let budget = if has_refinement { all - all / REFINEMENT_SHARE } else { all };
            rays = trace_responses(lights, (budget, self.updates), &receiving);
        }
        self.is_stale |= baked_changes.choose(lights, has_contributions) || rays > 0;
        rays
    }

    /// Refines lights with complete responses after `traced` rays. Returns the number of rays.
    fn refine(&mut self, settings: &UpdateSettings, traced: u64) -> u64 {
        let Self { level, lit, order, lights, pages, weights, unmapped_points, .. } = self;
        let receiving = Receiving { level, world: &*level.world, order, lit };
        let budget = u64::from(settings.rays).saturating_sub(traced).max(1);
        let bounces = settings.bounces;
        let context = SweepContext { receiving, pages, unmapped_points, weights, bounces, budget };
        let step = self.queue.step(lights, self.updates, &context);
        self.is_stale |= step.is_news;
        if step.has_sampled {
            self.baked_changes.note_better_samples();
        }
        step.rays
    }

    /// Ends an update after its steps: sums up the light of all lights if it has changed, and moves the shown light toward
    /// it.
    pub fn show(&mut self, settings: &UpdateSettings, mut update: Update) -> Update {
        if core::mem::take(&mut self.is_stale) {
            self.sum_up(settings.bounces > 0);
        }
        let Self { level, lights, is_enabled, baked_changes, light, .. } = self;
        // Contributions change at once, so what replaces them must not follow slowly.
        let keep = if baked_changes.have_crossed(lights, *is_enabled) { 0.0 } else { settings.keep };
        let [are_patches_new, are_elements_new] = light.approach(keep);
        update.is_smoothing = light.is_under_way();
        let is_baked_new = baked_changes.update(lights, level.content, *is_enabled);
        update.behind = self.behind(settings.bounces > 0);
        let are_others_new = are_elements_new | is_baked_new | core::mem::take(&mut self.has_moved);
        update.is_new = are_patches_new || are_others_new;
        if are_others_new || (update.is_new && self.baked_changes.has_better_samples) {
            self.add_up_elements();
        }
        update
    }

    /// Sums up the change of all lights over patches, and the refined results of settled lights over elements, in the
    /// order of the tracked lights.
    fn sum_up(&mut self, may_refine: bool) {
        let Self { lights, weights, light, queue, is_enabled, .. } = self;
        let (mut patches, mut elements) = (vec![Vec3::ZERO; weights.len()], Vec::new());
        if *is_enabled {
            let responses = lights.iter().flat_map(TrackedLight::shown);
            responses.for_each(|(strength, response)| response.add(strength, weights, &mut patches));
            elements = if may_refine { queue.sum_up(lights) } else { Vec::new() };
        }
        light.patches.want(patches);
        light.elements.want(elements);
    }

    /// Returns the value of [`Update::behind`]. `is_refined` is true if refined results are shown.
    fn behind(&self, is_refined: bool) -> f32 {
        let Self { lights, queue, weights, order, baked_changes, .. } = self;
        if self.is_enabled && has_unsampled(lights) {
            return 1.0;
        }
        let shown = lights.iter().enumerate().filter(|_| self.is_enabled);
        let unrefined = shown.filter(|(index, _)| !(is_refined && queue.is_refined(lights, *index)));
        let by_patches = unrefined.flat_map(|(index, light)| {
            let baked = light.baked_emitter().map(|_| BakedLightId(index as u32));
            light.shown().map(move |(strength, response)| ByPatches { strength, response, baked })
        });
        let transport = &self.level.precomputed.transport;
        self.distance.of(transport, &self.light, by_patches, (weights, order), baked_changes.scaled())
    }

    /// Sums up the additional irradiance of elements: refined results, and the changes of baked lights.
    fn add_up_elements(&mut self) {
        let Self { level, lights, light, baked_changes, elements, .. } = self;
        elements.clear();
        elements.extend(light.elements.displayed());
        baked_changes.add(lights, level.precomputed.transport.elements(), elements);
        self.edition += 1;
    }

    /// Draws all pages. Returns the indices of those that have changed.
    pub fn draw(&mut self) -> Vec<usize> {
        let Self { level, light, elements, edition, pages, .. } = self;
        pages.draw(level, &Difference { patches: light.patches.displayed(), elements, edition: *edition })
    }

    /// Returns the change of irradiance of all elements, in lux by row, for [`draw_part`](Self::draw_part).
    pub fn change(&mut self) -> Arc<[Vec3]> {
        let Self { level, light, elements, edition, pages, .. } = self;
        pages.change(level, &Difference { patches: light.patches.displayed(), elements, edition: *edition })
    }

    /// Draws some texels of a page, for callers that pause between parts. Returns true when they have changed.
    pub fn draw_part(&mut self, page: usize, texels: Range<usize>, change: &[Vec3]) -> bool {
        self.pages.draw_part(&self.level, page, texels, change)
    }

    /// Returns the light to show in addition to the bake.
    pub fn difference(&self) -> Difference<'_> {
        Difference { patches: self.light.patches.displayed(), elements: &self.elements, edition: self.edition }
    }

    /// Returns the level that is relit, with its current doors and colors.
    pub fn level(&self) -> &RelightInput {
        &self.level
    }

    /// Returns the filter that averages irradiance over neighbors.
    pub fn smoothing(&self) -> &Smoothing {
        self.pages.smoothing()
    }

    /// Returns the map from texels to receivers of each page.
    pub fn texels(&self) -> &[TexelReceivers] {
        self.pages.texels()
    }

    /// Returns a page as it is to be shown: irradiance / pi in cd/m2, rows from the top.
    pub fn page(&self, index: usize) -> &[Vec3] {
        self.pages.page(index)
    }

    /// Returns the shown change of indirect irradiance of all elements, in lux by row, without that of baked lights
    /// that scale their stored contribution.
    pub fn indirect(&self) -> Vec<Vec3> {
        let mut indirect = self.pages.spread(&self.level.precomputed.transport, self.light.patches.displayed());
        indirect.iter_mut().zip(self.light.elements.displayed()).for_each(|(light, more)| *light += *more);
        indirect
    }

    /// Returns the ids of lamps that have moved, so that their direct light was removed from the pages. The renderer
    /// must draw it.
    pub fn moved(&self) -> Vec<u64> {
        self.baked_changes.moved(&self.lights, self.level.content)
    }
}

/// Returns true when a light has no samples at its current place.
fn has_unsampled(lights: &[TrackedLight]) -> bool {
    lights.iter().any(|light| light.state == LightState::Unsampled)
}
