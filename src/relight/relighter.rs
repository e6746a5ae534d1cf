//! State of live relighting, and its update.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use glam::Vec3;

use super::contributions::BakedContributions;
use super::distance::{ByPatches, Distance};
use super::doors::PlacedOccluder;
use super::element_refinement::{Stage, SweepContext};
use super::input::RelightInput;
use super::light::{Difference, Light};
use super::lights::{Emitter, LiveLight, LivePanel, Shape, baked_lights, fault_of, lit, plain};
use super::order::Order;
use super::pages::Pages;
use super::response::{Received, Receiving};
use super::restricted_query::RestrictedQuery;
use super::scheduler::RefinementScheduler;
use super::texel_receivers::TexelReceivers;
use super::tracked_light::{ResponseKind, TrackedLight};
use super::unmapped_light::UnmappedPoints;
use crate::geometry::{Aabb, SurfaceId};
use crate::lights::OneLight;
use crate::low_rank::{BakedLightId, Smoothing};
use crate::radiosity::Content;
use crate::scene::Scene;
use crate::scene::check::fault_of_strength;

/// Divisor for the rays of an update that settled lights get while others move.
const REFINEMENT_SHARE: u64 = 4;

/// Budget and smoothing of one update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateSettings {
    /// Ray budget. At least one part of one light is traced, whatever its cost. Default 30,000.
    pub rays: u32,
    /// Fraction of the previous state that stays, from 0 to below 1: temporal smoothing. Default 0.
    pub keep: f32,
    /// Number of per-element bounces after a light has settled, one per update. 0 keeps the coarse patch solution.
    /// Default 3.
    ///
    /// Higher values reduce the error where patches are large. Later updates add adaptive direct light, one more
    /// bounce, rays to the brightest elements and noise filtering. Eight lights cache their own refined result for any
    /// strength. All other lights share one cache entry, which any change of them invalidates.
    pub bounces: u32,
}

impl Default for UpdateSettings {
    fn default() -> Self {
        Self { rays: 30_000, keep: 0.0, bounces: 3 }
    }
}

/// Report of one update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Number of rays traced, or the equivalent cost.
    pub rays: u64,
    /// Number of lights that need further updates.
    pub waiting: usize,
    /// Estimated mean difference between the shown pages and pages of the current lights, as a fraction of their light.
    ///
    /// 1 while a light has no samples. It covers temporal smoothing, unsampled receivers, and the error of the patch
    /// solution until a light has a refined result. It leaves out the error of refined results, and that of the bake.
    pub behind: f32,
    /// True while the shown light approaches its target, by temporal smoothing.
    pub is_smoothing: bool,
    /// True while the refined result of settled lights is incomplete.
    pub is_refining: bool,
    /// True when pages must be drawn again.
    pub is_new: bool,
    /// Indices of pages that have changed, if pages have been drawn.
    pub pages: Vec<usize>,
}

impl Update {
    /// Returns true when further updates would change nothing.
    pub fn is_settled(&self) -> bool {
        self.waiting == 0 && !self.is_smoothing && !self.is_refining
    }
}

/// Updates the pages of a level when its lights change.
pub struct Relighter {
    level: RelightInput,
    /// Scene with unit emission, for sampling panels.
    lit: Arc<Scene>,
    order: Order,
    /// Sum of the receiver weights of each patch.
    weights: Vec<Vec3>,
    /// Tracked lights: baked lamps in the order of the scene, then panels, then added lights.
    tracked_lights: Vec<TrackedLight>,
    panels: BTreeMap<SurfaceId, usize>,
    unmapped_points: UnmappedPoints,
    warned: HashSet<u64>,
    is_enabled: bool,
    updates: u64,
    /// True when the sum over lights is out of date.
    is_stale: bool,
    /// Boxes around displaced objects, and whether pages have yet to show the change.
    moved: Vec<Aabb>,
    has_moved: bool,
    /// Change of indirect light.
    light: Light,
    distance: Distance,
    /// Refinement scheduler of settled lights.
    scheduler: RefinementScheduler,
    /// Lights whose direct light in the pages has changed, with their factors, and whether better samples exist by now.
    direct: Vec<(usize, Vec3)>,
    is_direct_known_better: bool,
    /// Stored contributions of baked lights, and the shown changes of their strengths.
    contributions: BakedContributions,
    contribution_changes: Vec<(BakedLightId, Vec3)>,
    /// Lights with a contribution that are shown by a response instead.
    by_response: Vec<BakedLightId>,
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
        let mut tracked_lights: Vec<TrackedLight> = Vec::new();
        let mut panels = BTreeMap::new();
        for (name, emitter) in baked_lights(scene) {
            if let Shape::Panel(surface) = emitter.shape {
                panels.insert(surface, tracked_lights.len());
            }
            tracked_lights.push(TrackedLight::baked(&name, emitter));
        }
        let contributions = BakedContributions::new(&level);
        contributions.lights().for_each(|light| tracked_lights[light.index()].shows_contribution = true);
        Self {
            lit: lit(scene),
            weights: order.weights(transport),
            order,
            tracked_lights,
            panels,
            unmapped_points: UnmappedPoints::new(&level),
            warned: HashSet::new(),
            is_enabled: true,
            updates: 0,
            is_stale: false,
            moved: Vec::new(),
            has_moved: false,
            light: Light::new(transport.patches.len()),
            distance: Distance::new(&level),
            scheduler: RefinementScheduler::default(),
            direct: Vec::new(),
            is_direct_known_better: false,
            contributions,
            contribution_changes: Vec::new(),
            by_response: Vec::new(),
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
        let receiving = |level, world| Receiving { level, world, order: &self.order, is_spread: false };
        let shows_direct = level.content == Content::Full;
        let is_painted = level.precomputed.transport.weights != self.level.precomputed.transport.weights;
        for tracked_light in &mut self.tracked_lights {
            let [before, after] = [receiving(&self.level, &before), receiving(&level, &after)];
            if !moved.is_empty() {
                tracked_light.follow(&self.lit, shows_direct, &before, &after);
            }
            if is_painted {
                tracked_light.weigh(&after);
            }
        }
        self.weights = self.order.weights(&level.precomputed.transport);
        self.unmapped_points = UnmappedPoints::new(&level);
        self.distance = Distance::new(&level);
        (self.level, self.moved, self.scheduler) = (level, boxes, RefinementScheduler::default());
        self.pages.forget();
        self.choose_contributions();
        (self.is_stale, self.has_moved) = (true, true);
    }

    /// Sets the current state of all lights. Returns a warning for each light that cannot be relit, once per light; it
    /// keeps its state.
    ///
    /// A baked light that has never been in the list counts as baked. A light that has left the list is dark. Panels
    /// that are not in the list stay as they are.
    pub fn set_lights(&mut self, lights: &[LiveLight], panels: &[LivePanel]) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut living: HashSet<u64> = HashSet::new();
        for LiveLight { id, light, is_excluded } in lights {
            living.insert(*id);
            if let Some(fault) = fault_of(&light.kind).filter(|_| !is_excluded) {
                self.warn(*id, &light.name, fault, &mut warnings);
                continue;
            }
            let now = Emitter::lamp(light.kind);
            let known = self.tracked_lights.iter().position(|tracked_light| tracked_light.entity == Some(*id));
            match known.or_else(|| self.baked_light_of(&light.name, &now)) {
                Some(index) => {
                    let tracked_light = &mut self.tracked_lights[index];
                    tracked_light.is_excluded = *is_excluded;
                    self.is_stale |=
                        if known.is_some() { tracked_light.set(now) } else { tracked_light.adopt(*id, now) };
                }
                None if *is_excluded => {}
                None => {
                    self.tracked_lights.push(TrackedLight::added(&light.name, *id, now));
                    self.is_stale = true;
                }
            }
        }
        for tracked_light in &mut self.tracked_lights {
            if tracked_light.entity.is_some_and(|entity| !living.contains(&entity)) {
                self.is_stale |= tracked_light.leave();
            }
        }
        self.tracked_lights.retain(|tracked_light| !tracked_light.is_over());
        for panel in panels {
            if let Some(fault) = fault_of_strength(panel.emission) {
                let name = self.level.scene.surface(panel.surface).key.0.clone();
                self.warn(u64::MAX - u64::from(panel.surface.0), &name, fault, &mut warnings);
                continue;
            }
            let now = Emitter::panel(*panel);
            let tracked_light = self.panel_light(panel.surface);
            let tracked_light = &mut self.tracked_lights[tracked_light];
            let baked = tracked_light.baked_state().copied().filter(|baked| baked.is_nearly(&now));
            self.is_stale |= tracked_light.set(baked.unwrap_or(now));
        }
        warnings
    }

    fn warn(&mut self, id: u64, name: &str, fault: &str, warnings: &mut Vec<String>) {
        if self.warned.insert(id) {
            warnings.push(format!("light '{}' cannot be followed: {fault}; it stays as it was", plain(name)));
        }
    }

    /// Returns the baked light that matches a light seen for the first time.
    ///
    /// A light with nearly the same parameters matches, by name if there are several. Otherwise a light of the same
    /// kind and name matches, if it is the only one.
    fn baked_light_of(&self, name: &str, now: &Emitter) -> Option<usize> {
        let has_name = |tracked_light: &TrackedLight| plain(&tracked_light.name) == plain(name);
        let free = || self.tracked_lights.iter().enumerate().filter(|(_, tracked_light)| tracked_light.is_free());
        let same = || {
            free().filter(|(_, tracked_light)| tracked_light.baked_state().is_some_and(|baked| baked.is_nearly(now)))
        };
        let found = same().find(|(_, tracked_light)| has_name(tracked_light)).or_else(|| same().next());
        let named = || {
            free().filter(|(_, tracked_light)| {
                has_name(tracked_light) && tracked_light.baked_state().is_some_and(|baked| baked.is_alike(now))
            })
        };
        let found = found.or_else(|| named().next().filter(|_| named().count() == 1))?;
        Some(found.0)
    }

    /// Returns the index of the tracked light of a surface. A surface that was not emissive gets a new entry.
    fn panel_light(&mut self, surface: SurfaceId) -> usize {
        let Self { tracked_lights, panels, level, .. } = self;
        *panels.entry(surface).or_insert_with(|| {
            let dark = Emitter::panel(LivePanel { surface, emission: Vec3::ZERO });
            // Added lights come after all baked ones, since they are removed again.
            let place = tracked_lights
                .iter()
                .position(|tracked_light| tracked_light.baked_state().is_none())
                .unwrap_or(tracked_lights.len());
            tracked_lights.insert(place, TrackedLight::baked(&level.scene.surface(surface).key.0, dark));
            place
        })
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
        self.follow_lights(settings, true, &mut update);
        self.show(settings, update)
    }

    /// Updates without drawing, in steps of the ray budget, while there is work and `may_work` returns true. Changes
    /// that need no ray are shown in any case, and a light without samples gets some.
    pub fn advance_while(&mut self, settings: &UpdateSettings, mut may_work: impl FnMut() -> bool) -> Update {
        let mut update = Update::default();
        loop {
            let works = may_work();
            self.follow_lights(settings, works, &mut update);
            if !works || (update.waiting == 0 && !update.is_refining) {
                return self.show(settings, update);
            }
        }
    }

    /// Traces and refines within the budget if it `works`, and counts the remaining work.
    fn follow_lights(&mut self, settings: &UpdateSettings, works: bool, update: &mut Update) {
        self.updates += 1;
        let may_refine = self.is_enabled && settings.bounces > 0;
        let mut rays = 0;
        if self.is_enabled {
            self.prepare();
            // A light without samples gets some in any case.
            if works || self.has_unseen() {
                let budget = if works { u64::from(settings.rays) } else { 0 };
                let traces_for_refinement = may_refine && self.next_refinement().is_some_and(Stage::is_by_rays);
                rays = self.trace(if traces_for_refinement { budget - budget / REFINEMENT_SHARE } else { budget });
                self.is_stale |= rays > 0;
            }
            self.choose_contributions();
            let is_waiting = |tracked_light: &&TrackedLight| tracked_light.pending(&self.order).next().is_some();
            update.waiting = self.tracked_lights.iter().filter(is_waiting).count();
        }
        if may_refine {
            self.scheduler.prepare(&mut self.tracked_lights, &self.order);
            // A light without samples comes before the refinement of another.
            if works && !self.has_unseen() {
                rays += self.refine(settings, rays);
            }
            update.is_refining = self.next_refinement().is_some();
        }
        update.rays += rays;
    }

    /// Moves the shown light toward its target.
    fn show(&mut self, settings: &UpdateSettings, mut update: Update) -> Update {
        if core::mem::take(&mut self.is_stale) {
            self.sum_up(self.is_enabled && settings.bounces > 0);
        }
        // Contributions change at once, so what replaces them must not follow slowly.
        let keep = if self.has_crossed() { 0.0 } else { settings.keep };
        let [are_patches_new, are_elements_new] = self.light.approach(keep);
        update.is_smoothing = self.light.is_under_way();
        let is_direct_new = self.choose_direct() | self.scale_contributions();
        update.behind = self.behind(settings.bounces > 0);
        let has_moved = core::mem::take(&mut self.has_moved);
        update.is_new = are_patches_new || are_elements_new || is_direct_new || has_moved;
        let is_other = are_elements_new || is_direct_new || has_moved || self.is_direct_known_better;
        if update.is_new && is_other {
            self.add_up_elements();
        }
        update
    }

    /// Draws all pages. Returns the indices of those that have changed.
    pub fn draw(&mut self) -> Vec<usize> {
        let Self { level, light, elements, edition, pages, .. } = self;
        pages.draw(level, &Difference { patches: light.patches(), elements, edition: *edition })
    }

    /// Returns the light to show in addition to the bake.
    pub fn difference(&self) -> Difference<'_> {
        Difference { patches: self.light.patches(), elements: &self.elements, edition: self.edition }
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
        let mut indirect = self.pages.spread(&self.level.precomputed.transport, self.light.patches());
        indirect.iter_mut().zip(self.light.elements()).for_each(|(light, more)| *light += *more);
        indirect
    }

    /// Returns the ids of lamps that have moved, so that their direct light was removed from the pages. The renderer
    /// must draw it.
    pub fn moved(&self) -> Vec<u64> {
        let direct = self.direct.iter().map(|(tracked_light, _)| *tracked_light);
        let shows_direct = self.level.content == Content::Full;
        let changes = self.contribution_changes.iter().filter(|_| shows_direct).map(|(light, _)| light.index());
        let changed: BTreeSet<usize> = direct.chain(changes).collect();
        let tracked_lights = changed.into_iter().map(|tracked_light| &self.tracked_lights[tracked_light]);
        tracked_lights
            .filter(|tracked_light| tracked_light.has_moved())
            .filter_map(|tracked_light| tracked_light.entity)
            .collect()
    }

    /// Updates the responses of all lights to their places.
    fn prepare(&mut self) {
        let Self { level, order, tracked_lights, .. } = self;
        let receiving = Receiving { level, world: &*level.world, order, is_spread: false };
        let shows_direct = level.content == Content::Full;
        let is_as_baked = !level.precomputed.contributions.lights.is_empty();
        for tracked_light in tracked_lights.iter_mut() {
            tracked_light.prepare(&receiving, shows_direct, is_as_baked);
        }
    }

    /// Traces parts of lights within the budget, those with the fewest samples and the longest wait first. Every other
    /// part belongs to a light at its baked place, which is traced once.
    fn trace(&mut self, budget: u64) -> u64 {
        let Self { level, lit, order, tracked_lights, .. } = self;
        let receiving = |is_spread| Receiving { level, world: &*level.world, order, is_spread };
        let shows_direct = level.content == Content::Full;
        let mut samplers: BTreeMap<(usize, ResponseKind), (Shape, Option<OneLight>)> = BTreeMap::new();
        let (mut rays, mut step_count) = (0, 0u32);
        while rays < budget || step_count == 0 {
            let pending = |only_baked: bool| {
                let all = tracked_lights.iter().enumerate().flat_map(|(index, tracked_light)| {
                    tracked_light
                        .pending(order)
                        .map(move |(steps, last_traced, kind)| (steps, last_traced, index, kind))
                });
                all.filter(|(.., kind)| !only_baked || *kind == ResponseKind::Baked).min()
            };
            let is_for_baked = step_count % 2 == 1;
            let Some((_, _, index, kind)) = pending(is_for_baked).or_else(|| pending(false)) else {
                break;
            };
            let shape = tracked_lights[index].shape(kind);
            let key = (index, if kind == ResponseKind::Next { ResponseKind::Current } else { kind });
            let (sampled_shape, sampler) = samplers.entry(key).or_insert_with(|| (shape, shape.sampler(lit)));
            if *sampled_shape != shape {
                (*sampled_shape, *sampler) = (shape, shape.sampler(lit));
            }
            let is_spread = shows_direct && kind == ResponseKind::Baked;
            if let Some(response) = tracked_lights[index].begin(kind, self.updates) {
                rays += response.step(sampler.as_ref(), &receiving(is_spread)).max(1);
            }
            step_count += 1;
        }
        rays
    }

    /// Sums up the change of all lights over patches, and the refined results of settled lights, in the order of the
    /// tracked lights.
    fn sum_up(&mut self, may_refine: bool) {
        let Self { tracked_lights, weights, light, scheduler, .. } = self;
        let mut first = vec![Vec3::ZERO; weights.len()];
        if self.is_enabled {
            tracked_lights.iter().for_each(|tracked_light| tracked_light.add(weights, &mut first));
        }
        light.want(first, if may_refine { scheduler.sum_up(tracked_lights) } else { Vec::new() });
    }

    /// Returns the next stage of settled lights.
    fn next_refinement(&self) -> Option<Stage> {
        self.scheduler.next(&self.tracked_lights, &self.order)
    }

    /// Refines settled lights after `traced` rays. Returns the number of rays.
    fn refine(&mut self, settings: &UpdateSettings, traced: u64) -> u64 {
        let Self { level, lit, order, tracked_lights, pages, weights, unmapped_points, scheduler, updates, .. } = self;
        let receiving = Receiving { level, world: &*level.world, order, is_spread: true };
        let budget = u64::from(settings.rays).saturating_sub(traced).max(1);
        let context = SweepContext { receiving, pages, unmapped_points, weights, bounces: settings.bounces, budget };
        let step = scheduler.step(tracked_lights, *updates, lit, &context);
        self.is_stale |= step.is_news;
        self.is_direct_known_better |= step.has_sampled && !self.direct.is_empty();
        step.rays
    }

    /// Returns true when a light has no samples at its current place.
    fn has_unseen(&self) -> bool {
        self.tracked_lights.iter().any(|tracked_light| tracked_light.pending(&self.order).any(|(steps, ..)| steps == 0))
    }

    /// Returns the value of [`Update::behind`]. `is_refined` is true if refined results are shown.
    fn behind(&self, is_refined: bool) -> f32 {
        let Self { tracked_lights, scheduler, weights, order, contribution_changes, .. } = self;
        if self.is_enabled && self.has_unseen() {
            return 1.0;
        }
        let lights = tracked_lights
            .iter()
            .enumerate()
            .filter(|(index, _)| self.is_enabled && !(is_refined && scheduler.is_refined(tracked_lights, *index)));
        let by_patches = lights.flat_map(|(index, tracked_light)| {
            let baked = tracked_light.baked_state().map(|_| BakedLightId(index as u32));
            tracked_light.responses().map(move |(strength, response)| ByPatches { strength, response, baked })
        });
        let transport = &self.level.precomputed.transport;
        self.distance.of(transport, &self.light, by_patches, (weights, order), contribution_changes)
    }

    /// Chooses the lights whose direct light in the pages changes. Returns true when the choice is new.
    fn choose_direct(&mut self) -> bool {
        if self.level.content != Content::Full {
            return false;
        }
        let tracked_lights = self.tracked_lights.iter().enumerate().filter(|_| self.is_enabled);
        let chosen =
            tracked_lights.filter_map(|(index, tracked_light)| Some((index, tracked_light.direct()?.0))).collect();
        let is_new = self.direct != chosen;
        self.direct = chosen;
        is_new
    }

    /// Chooses the lights that show their stored contribution. With displaced or recolored surfaces, responses replace
    /// contributions once they are complete.
    fn choose_contributions(&mut self) {
        let Self { level, contributions, tracked_lights, order, is_stale, .. } = self;
        let is_as_baked = !level.precomputed.contributions.lights.is_empty();
        for light in contributions.lights() {
            *is_stale |= tracked_lights[light.index()].choose_contribution(is_as_baked, order);
        }
    }

    /// Returns true when a light has crossed between its contribution and a response.
    fn has_crossed(&mut self) -> bool {
        let Self { contributions, tracked_lights, is_enabled, by_response, .. } = self;
        let lights =
            contributions.lights().filter(|light| *is_enabled && tracked_lights[light.index()].is_by_response());
        let now: Vec<BakedLightId> = lights.collect();
        let has_crossed = *by_response != now;
        *by_response = now;
        has_crossed
    }

    /// Sets the shown changes of stored contributions. Returns true when they are new.
    fn scale_contributions(&mut self) -> bool {
        let Self { contributions, tracked_lights, is_enabled, contribution_changes, .. } = self;
        let change = |light: BakedLightId| (light, tracked_lights[light.index()].scale_contribution(*is_enabled));
        let changes: Vec<_> = contributions.lights().map(change).filter(|(_, change)| *change != Vec3::ZERO).collect();
        let is_new = *contribution_changes != changes;
        *contribution_changes = changes;
        is_new
    }

    /// Sums up the additional irradiance of elements: refined results, direct light in pages that hold it, and changes
    /// of stored contributions.
    fn add_up_elements(&mut self) {
        let Self { level, light, tracked_lights, direct, contributions, contribution_changes, elements, .. } = self;
        elements.clear();
        elements.extend(light.elements());
        if !direct.is_empty() || !contribution_changes.is_empty() {
            elements.resize(level.precomputed.transport.elements(), Vec3::ZERO);
        }
        for (tracked_light, factor) in direct {
            let receivers = tracked_lights[*tracked_light].direct().map_or(&[][..], |(_, receivers)| receivers);
            receivers.iter().for_each(|&Received { row, light }| elements[row as usize] += light * *factor);
        }
        contributions.add(contribution_changes, elements);
        self.edition += 1;
        self.is_direct_known_better = false;
    }
}
