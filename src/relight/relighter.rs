//! The state of live relighting, and what one update does.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use glam::Vec3;

use super::doors::Placed;
use super::level::Level;
use super::light::{Difference, Light};
use super::lights::{LiveLight, LivePanel, Shape, Shining, baked_lights, fault_of, lit, plain};
use super::near::Near;
use super::order::Order;
use super::pages::Pages;
use super::reach::{Received, Receiving};
use super::resting::{Following, Stage};
use super::slot::{Slot, Which};
use super::texels::Texels;
use super::turns::Turns;
use crate::geometry::{Aabb, SurfaceId};
use crate::radiosity::Content;
use crate::radiosity::low_rank::Smoothing;
use crate::scene::check::fault_of_strength;
use crate::scene::{OneLight, Scene};

/// The part of an update's rays that is left for lights that rest while others move: one in so many.
const SHARE_OF_REST: u64 = 4;

/// How much one update may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateSettings {
    /// Rays; at least one part of one light's is traced, whatever it takes.
    pub rays: u32,
    /// The part of what was shown before that stays, from 0 for none to below 1: smooths over time.
    pub keep: f32,
    /// Bounces that are followed from element to element once a light rests, one an update, rather than from patch to patch;
    /// then elements are asked again for it, up to 256 times each, one bounce more is followed anew, what the brightest
    /// elements bring is asked for by rays, and noise is evened out. More are nearer where patches are large; none leaves
    /// what patches tell. Eight lights keep what each comes to, whatever strength it has and whatever others do; the others
    /// keep what they come to together while all of them stay as they are.
    pub sweeps: u32,
}

impl Default for UpdateSettings {
    fn default() -> Self {
        Self { rays: 30_000, keep: 0.0, sweeps: 3 }
    }
}

/// What one update did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Rays traced, or what takes as long.
    pub rays: u64,
    /// Lights of which more will be known after further updates.
    pub waiting: usize,
    /// How far what is shown is from what it goes to, as a part of the whole change: smoothing, and lights of which nothing
    /// is known yet.
    pub behind: f32,
    /// True while what is shown of lights that rest will become finer.
    pub is_refining: bool,
    /// True when pages are to be drawn anew.
    pub is_new: bool,
    /// Pages that look different from before, where they have been drawn.
    pub pages: Vec<usize>,
}

impl Update {
    /// True when further updates would change nothing.
    pub fn is_settled(&self) -> bool {
        self.waiting == 0 && self.behind == 0.0 && !self.is_refining
    }
}

/// Keeps the pages of a level in line with its lights.
pub struct Relighter {
    level: Level,
    /// The scene with panels that emit one.
    lit: Arc<Scene>,
    order: Order,
    /// Weights of all receivers of each patch.
    weights: Vec<Vec3>,
    /// Baked lights in the scene's order, then panels, then what came later.
    slots: Vec<Slot>,
    panels: BTreeMap<SurfaceId, usize>,
    warned: HashSet<u64>,
    is_enabled: bool,
    updates: u64,
    /// Something is to be summed up anew.
    is_stale: bool,
    /// Boxes around what is not where it was baked, and pages that are yet to show that.
    moved: Vec<Aabb>,
    has_moved: bool,
    /// Indirect light that has come and gone.
    light: Light,
    /// What lights come to that rest.
    turns: Turns,
    /// Which lights' direct light has been changed in the pages, and how; what is known of it may be more by now.
    direct: Vec<(usize, Vec3)>,
    is_direct_known_better: bool,
    /// [`Difference::elements`], and which edition.
    elements: Vec<Vec3>,
    edition: u64,
    pages: Pages,
}

impl Relighter {
    /// All lights are as they were baked.
    pub fn new(level: Level) -> Self {
        let Level { scene, precomputed, .. } = &level;
        let (transport, receivers) = (&precomputed.transport, &precomputed.receivers);
        let order = Order::new(&transport.patches, &receivers.visible);
        let mut slots: Vec<Slot> = Vec::new();
        let mut panels = BTreeMap::new();
        for (name, shining) in baked_lights(scene) {
            if let Shape::Panel(surface) = shining.shape {
                panels.insert(surface, slots.len());
            }
            slots.push(Slot::baked(&name, shining));
        }
        Self {
            lit: lit(scene),
            weights: order.weights(transport),
            order,
            slots,
            panels,
            warned: HashSet::new(),
            is_enabled: true,
            updates: 0,
            is_stale: false,
            moved: Vec::new(),
            has_moved: false,
            light: Light::new(transport.patches.len()),
            turns: Turns::default(),
            direct: Vec::new(),
            is_direct_known_better: false,
            elements: Vec::new(),
            edition: 0,
            pages: Pages::new(&level),
            level,
        }
    }

    /// Switched off, pages go back to how they were baked.
    pub fn set_enabled(&mut self, is_enabled: bool) {
        self.is_stale |= self.is_enabled != is_enabled;
        self.is_enabled = is_enabled;
    }

    /// Goes on in the same level with some of its surfaces elsewhere or of another colour; see [`Doors`](super::Doors). What
    /// is known of lights follows, and the next update shows it.
    ///
    /// # Panics
    /// When the level has other elements.
    pub fn set_level(&mut self, placed: Placed) {
        let Placed { level, boxes, .. } = placed;
        let elements = |level: &Level| level.precomputed.transport.elements();
        assert_eq!(elements(&level), elements(&self.level), "the same level");
        let moved = [&*self.moved, &*boxes].concat();
        let [before, after] = [&self.level, &level].map(|level| Near { world: &*level.world, boxes: &moved });
        let receiving = |level, world| Receiving { level, world, order: &self.order, is_spread: false };
        let shows_direct = level.content == Content::Full;
        let is_painted = level.precomputed.transport.weights != self.level.precomputed.transport.weights;
        for slot in &mut self.slots {
            let [before, after] = [receiving(&self.level, &before), receiving(&level, &after)];
            if !moved.is_empty() {
                slot.follow(&self.lit, shows_direct, &before, &after);
            }
            if is_painted {
                slot.weigh(&after);
            }
        }
        self.weights = self.order.weights(&level.precomputed.transport);
        (self.level, self.moved, self.turns) = (level, boxes, Turns::default());
        self.pages.forget();
        (self.is_stale, self.has_moved) = (true, true);
    }

    /// Takes note of all lights as they are now. What was baked and has never been among them counts as it was baked; what
    /// has been among them and is no longer is dark. Panels that are not named stay as they are.
    ///
    /// Answers what cannot be followed, once for each light: it stays as it was.
    pub fn set_lights(&mut self, lights: &[LiveLight], panels: &[LivePanel]) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut living: HashSet<u64> = HashSet::new();
        for LiveLight { id, light, is_excluded } in lights {
            living.insert(*id);
            if let Some(fault) = fault_of(&light.kind).filter(|_| !is_excluded) {
                self.warn(*id, &light.name, fault, &mut warnings);
                continue;
            }
            let now = Shining::lamp(light.kind);
            let known = self.slots.iter().position(|slot| slot.owner == Some(*id));
            match known.or_else(|| self.baked_slot_of(&light.name, &now)) {
                Some(index) => {
                    let slot = &mut self.slots[index];
                    slot.is_excluded = *is_excluded;
                    self.is_stale |= if known.is_some() { slot.set(now) } else { slot.adopt(*id, now) };
                }
                None if *is_excluded => {}
                None => {
                    self.slots.push(Slot::newcomer(&light.name, *id, now));
                    self.is_stale = true;
                }
            }
        }
        for slot in &mut self.slots {
            if slot.owner.is_some_and(|owner| !living.contains(&owner)) {
                self.is_stale |= slot.leave();
            }
        }
        self.slots.retain(|slot| !slot.is_over());
        for panel in panels {
            if let Some(fault) = fault_of_strength(panel.emission) {
                let name = self.level.scene.surface(panel.surface).key.0.clone();
                self.warn(u64::MAX - u64::from(panel.surface.0), &name, fault, &mut warnings);
                continue;
            }
            let now = Shining::panel(*panel);
            let slot = self.panel_slot(panel.surface);
            let slot = &mut self.slots[slot];
            let rest = slot.rest().copied().filter(|rest| rest.is_nearly(&now));
            self.is_stale |= slot.set(rest.unwrap_or(now));
        }
        warnings
    }

    fn warn(&mut self, id: u64, name: &str, fault: &str, warnings: &mut Vec<String>) {
        if self.warned.insert(id) {
            warnings.push(format!("light '{}' cannot be followed: {fault}; it stays as it was", plain(name)));
        }
    }

    /// The baked light that a light which is seen for the first time is: one that is nearly the same, of the same name if
    /// there are several; else one of the same name, if there is no other.
    fn baked_slot_of(&self, name: &str, now: &Shining) -> Option<usize> {
        let has_name = |slot: &Slot| plain(&slot.name) == plain(name);
        let free = || self.slots.iter().enumerate().filter(|(_, slot)| slot.is_free());
        let same = || free().filter(|(_, slot)| slot.rest().is_some_and(|rest| rest.is_nearly(now)));
        let found = same().find(|(_, slot)| has_name(slot)).or_else(|| same().next());
        let named = || free().filter(|(_, slot)| has_name(slot) && slot.rest().is_some_and(|rest| rest.is_alike(now)));
        let found = found.or_else(|| named().next().filter(|_| named().count() == 1))?;
        Some(found.0)
    }

    /// The slot of a surface; one that was dark gets one.
    fn panel_slot(&mut self, surface: SurfaceId) -> usize {
        let Self { slots, panels, level, .. } = self;
        *panels.entry(surface).or_insert_with(|| {
            let dark = Shining::panel(LivePanel { surface, emission: Vec3::ZERO });
            // Those that come and go stand behind all others.
            let place = slots.iter().position(|slot| slot.rest().is_none()).unwrap_or(slots.len());
            slots.insert(place, Slot::baked(&level.scene.surface(surface).key.0, dark));
            place
        })
    }

    /// Traces what there is to trace, as far as the budget goes, and draws what has changed.
    pub fn update(&mut self, settings: &UpdateSettings) -> Update {
        let mut update = self.advance(settings);
        if update.is_new {
            update.pages = self.draw();
        }
        update
    }

    /// The same without drawing it, for those who draw [`difference`](Self::difference) themselves.
    pub fn advance(&mut self, settings: &UpdateSettings) -> Update {
        self.updates += 1;
        let mut update = Update::default();
        let may_rest = self.is_enabled && settings.sweeps > 0;
        if self.is_enabled {
            let budget = u64::from(settings.rays);
            let has_questions = may_rest && self.next_of_rest().is_some_and(Stage::is_by_rays);
            update.rays = self.trace(if has_questions { budget - budget / SHARE_OF_REST } else { budget });
            self.is_stale |= update.rays > 0;
            let is_waiting = |slot: &&Slot| slot.pending(&self.order).next().is_some();
            update.waiting = self.slots.iter().filter(is_waiting).count();
        }
        if may_rest {
            self.turns.prepare(&mut self.slots, &self.order);
            // A light of which nothing is shown yet comes before better knowledge of another.
            if !self.has_unseen() {
                update.rays += self.rest(settings, update.rays);
            }
            update.is_refining = self.next_of_rest().is_some();
        }
        if core::mem::take(&mut self.is_stale) {
            self.sum_up(may_rest);
        }
        let [are_patches_new, are_elements_new] = self.light.approach(settings.keep);
        update.behind = self.behind();
        let is_direct_new = self.choose_direct();
        let has_moved = core::mem::take(&mut self.has_moved);
        update.is_new = are_patches_new || are_elements_new || is_direct_new || has_moved;
        let is_other = are_elements_new || is_direct_new || has_moved || self.is_direct_known_better;
        if update.is_new && is_other {
            self.add_up_elements();
        }
        update
    }

    /// Draws all pages, and answers which of them look different.
    pub fn draw(&mut self) -> Vec<usize> {
        let Self { level, light, elements, edition, pages, .. } = self;
        pages.draw(level, &Difference { patches: light.patches(), elements, edition: *edition })
    }

    /// What pages are to show beside what was baked.
    pub fn difference(&self) -> Difference<'_> {
        Difference { patches: self.light.patches(), elements: &self.elements, edition: self.edition }
    }

    /// What is being relit, its doors where they are and its colours as they are.
    pub fn level(&self) -> &Level {
        &self.level
    }

    /// How light is averaged over neighbours before pages show it.
    pub fn smoothing(&self) -> &Smoothing {
        self.pages.smoothing()
    }

    /// Which texels of each page show which receivers.
    pub fn texels(&self) -> &[Texels] {
        self.pages.texels()
    }

    /// A page as it is to be shown: irradiance / pi, cd/m2, rows from the top.
    pub fn page(&self, index: usize) -> &[Vec3] {
        self.pages.page(index)
    }

    /// What is shown more than was baked of the indirect irradiance of all elements, lux, in the order of the patches.
    pub fn indirect(&self) -> Vec<Vec3> {
        let mut indirect = self.pages.spread(&self.level.precomputed.transport, self.light.patches());
        indirect.iter_mut().zip(self.light.elements()).for_each(|(light, more)| *light += *more);
        indirect
    }

    /// Lamps whose direct light is no longer in pages that held it, because they have moved: the renderer is to draw it.
    pub fn moved(&self) -> Vec<u64> {
        let slots = self.direct.iter().map(|(slot, _)| &self.slots[*slot]);
        slots.filter(|slot| slot.has_moved()).filter_map(|slot| slot.owner).collect()
    }

    /// Traces parts of what lights bring, those of which least is known first, and among them those that have waited
    /// longest. Every other part is of a light as it was baked, which is traced once and for all.
    fn trace(&mut self, budget: u64) -> u64 {
        let Self { level, lit, order, slots, .. } = self;
        let receiving = |is_spread| Receiving { level, world: &*level.world, order, is_spread };
        let shows_direct = level.content == Content::Full;
        slots.iter_mut().for_each(|slot| slot.prepare(&receiving(false), shows_direct));
        let mut aims: BTreeMap<(usize, Which), (Shape, Option<OneLight>)> = BTreeMap::new();
        let (mut rays, mut turn) = (0, 0u32);
        while rays < budget || turn == 0 {
            let pending = |only_rest: bool| {
                let all = slots.iter().enumerate().flat_map(|(index, slot)| {
                    slot.pending(order).map(move |(steps, served, which)| (steps, served, index, which))
                });
                all.filter(|(.., which)| !only_rest || *which == Which::Rest).min()
            };
            let is_turn_of_rest = turn % 2 == 1;
            let Some((_, _, index, which)) = pending(is_turn_of_rest).or_else(|| pending(false)) else {
                break;
            };
            let shape = slots[index].shape(which);
            let key = (index, if which == Which::Next { Which::Current } else { which });
            let (aimed, aim) = aims.entry(key).or_insert_with(|| (shape, shape.aim(lit)));
            if *aimed != shape {
                (*aimed, *aim) = (shape, shape.aim(lit));
            }
            let is_spread = shows_direct && which == Which::Rest;
            if let Some(reach) = slots[index].begin(which, self.updates) {
                rays += reach.step(aim.as_ref(), &receiving(is_spread)).max(1);
            }
            turn += 1;
        }
        rays
    }

    /// What all changed lights bring by way of patches, and what is known better of those that rest, in the order of the
    /// slots.
    fn sum_up(&mut self, may_rest: bool) {
        let Self { slots, weights, light, turns, .. } = self;
        let mut first = vec![Vec3::ZERO; weights.len()];
        if self.is_enabled {
            slots.iter().for_each(|slot| slot.add(weights, &mut first));
        }
        light.want(first, if may_rest { turns.sum_up(slots) } else { Default::default() });
    }

    /// What is next for lights that rest.
    fn next_of_rest(&self) -> Option<Stage> {
        self.turns.next(&self.slots, &self.order)
    }

    /// Goes on with what lights come to that rest, when so many rays have been traced; how many that took.
    fn rest(&mut self, settings: &UpdateSettings, traced: u64) -> u64 {
        let Self { level, lit, order, slots, pages, weights, turns, updates, .. } = self;
        let receiving = Receiving { level, world: &*level.world, order, is_spread: true };
        let budget = u64::from(settings.rays).saturating_sub(traced).max(1);
        let following = Following { receiving, pages, weights, sweeps: settings.sweeps, budget };
        let turn = turns.step(slots, *updates, lit, &following);
        self.is_stale |= turn.is_news;
        self.is_direct_known_better |= turn.has_asked && !self.direct.is_empty();
        turn.rays
    }

    /// True when there is a light of which nothing is known where it is.
    fn has_unseen(&self) -> bool {
        self.slots.iter().any(|slot| slot.pending(&self.order).any(|(steps, ..)| steps == 0))
    }

    fn behind(&self) -> f32 {
        if self.is_enabled && self.has_unseen() { 1.0 } else { self.light.behind() }
    }

    /// Whose direct light pages show differently from now on; true when that is another choice than before.
    fn choose_direct(&mut self) -> bool {
        if self.level.content != Content::Full {
            return false;
        }
        let slots = self.slots.iter().enumerate().filter(|_| self.is_enabled);
        let chosen = slots.filter_map(|(index, slot)| Some((index, slot.direct()?.0))).collect();
        let is_new = self.direct != chosen;
        self.direct = chosen;
        is_new
    }

    /// Sums up what elements get beside what patches spread: light that rests, and direct light in pages that hold it.
    fn add_up_elements(&mut self) {
        let Self { level, light, slots, direct, elements, .. } = self;
        elements.clear();
        elements.extend(light.elements());
        if !direct.is_empty() {
            elements.resize(level.precomputed.transport.elements(), Vec3::ZERO);
        }
        for (slot, factor) in direct {
            let receivers = slots[*slot].direct().map_or(&[][..], |(_, receivers)| receivers);
            receivers.iter().for_each(|&Received { row, light }| elements[row as usize] += light * *factor);
        }
        self.edition += 1;
        self.is_direct_known_better = false;
    }
}
