//! Shots, one after another, the strongest first.

use core::sync::atomic::{AtomicU64, Ordering};

use glam::Vec3;
use rayon::prelude::*;

use super::interactions::{Between, InteractionCache, Interactions};
use super::occluders::Occluders;
use super::patches::{Facet, Patch, facets_of};
use super::receivers::{Receiver, ReceiverId};
use super::shooter::{Geometry, Part, Shining, Shooter, Straight};
use super::{Found, PatchId, Visibility};
use crate::geometry::sobol::hash2;
use crate::geometry::{Aabb, RayQuery};
use crate::lightmap::{ElementId, Elements};
use crate::radiosity::partial::Shots;
use crate::scene::Scene;

/// What light meets, and who answers.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub elements: &'a Elements,
    /// The part of each element that light reaches.
    pub visible: &'a [f32],
}

/// How to refine.
#[derive(Clone, Copy)]
pub struct Options {
    pub visibility: Visibility,
    /// Error that rays which ask what is in sight may cause, over the mean irradiance, about.
    pub noise: f32,
    /// Memory for interactions.
    pub most_bytes: usize,
    pub seed: u32,
}

/// A solution that each shot brings nearer to the end (`000` S1).
pub struct Refinement<'a> {
    place: Place<'a>,
    visibility: Visibility,
    patches: Vec<Patch>,
    receivers: Vec<Receiver>,
    /// The box around each patch, and around the points that it looks from.
    bounds: Vec<Aabb>,
    occluders: Occluders,
    interactions: InteractionCache,
    states: Vec<State>,
    light_per_ray: f32,
    seed: u32,
    shots: u32,
    rays: u64,
}

/// Light of a patch's receivers, in their order.
pub struct State {
    /// Irradiance that shots brought, lux.
    pub received: Vec<Vec3>,
    /// Radiosity that has not been shot, lm/m2.
    unshot: Vec<Vec3>,
    /// Its power, lumens.
    power: Vec3,
}

impl State {
    /// Before any shot: `source` is what a receiver sends out of itself, lm/m2.
    pub fn new(patch: &Patch, receivers: &[Receiver], source: impl Fn(&ReceiverId) -> Vec3) -> Self {
        let unshot: Vec<Vec3> = patch.receivers.iter().map(source).collect();
        let power = |(id, unshot): (&ReceiverId, &Vec3)| *unshot * receivers[id.index()].area;
        let power = patch.receivers.iter().zip(&unshot).map(power).sum();
        Self { received: vec![Vec3::ZERO; unshot.len()], unshot, power }
    }

    /// Power that has not been shot, lumens, the mean of the channels.
    pub fn unshot_power(&self) -> f64 {
        mean(self.power)
    }

    /// Takes all that has not been shot: power, and the radiosity of each receiver.
    pub fn take(&mut self) -> (Vec3, Vec<Vec3>) {
        let none = vec![Vec3::ZERO; self.unshot.len()];
        (core::mem::take(&mut self.power), core::mem::replace(&mut self.unshot, none))
    }

    /// Adds light to one of the receivers, lux.
    pub fn receive(&mut self, index: usize, receiver: &Receiver, light: Vec3) {
        let reflected = light * receiver.reflectance;
        self.received[index] += light;
        self.unshot[index] += reflected;
        self.power += reflected * receiver.area;
    }
}

/// What was shot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    /// By whom.
    pub patch: PatchId,
    /// How much, lumens, the mean of the channels.
    pub power: f64,
}

impl<'a> Refinement<'a> {
    /// Prepares to shoot what elements send out of themselves, lm/m2.
    pub fn new(place: Place<'a>, sources: &[Vec3], options: &Options) -> Self {
        let Place { scene, world, elements, visible } = place;
        let mut patches = super::patches::patches(scene, elements, visible);
        let mut receivers = super::receivers::receivers(scene, world, elements, visible, options.seed);
        super::bare::add(scene, elements, &mut patches, &mut receivers);
        let bounds = |patch: &Patch| {
            let origins = patch.receivers.iter().flat_map(|id| receivers[id.index()].points);
            patch.bounds().union(Aabb::around(origins))
        };
        let source = |id: &ReceiverId| sources.get(id.index()).copied().unwrap_or(Vec3::ZERO);
        let state = |patch: &Patch| State::new(patch, &receivers, source);
        let mut refinement = Self {
            place,
            visibility: options.visibility,
            bounds: patches.iter().map(bounds).collect(),
            states: patches.iter().map(state).collect(),
            occluders: Occluders::new(scene),
            interactions: InteractionCache::new(patches.len(), options.most_bytes),
            patches,
            receivers,
            light_per_ray: 0.0,
            seed: options.seed,
            shots: 0,
            rays: 0,
        };
        let area = refinement.patches.iter().map(|patch| patch.visible_area).sum();
        refinement.light_per_ray = light_per_ray(refinement.unshot_power(), area, options.noise);
        refinement
    }

    /// How many patches there are.
    pub fn patches(&self) -> usize {
        self.patches.len()
    }

    /// How many shots there were.
    #[cfg(test)]
    pub fn shots(&self) -> u32 {
        self.shots
    }

    /// Rays traced.
    #[cfg(test)]
    pub fn rays(&self) -> u64 {
        self.rays
    }

    /// How many times the interactions of a patch were found.
    #[cfg(test)]
    pub fn builds(&self) -> u64 {
        self.interactions.builds
    }

    /// All power that has not been shot, lumens, the mean of the channels.
    pub fn unshot_power(&self) -> f64 {
        self.states.iter().map(State::unshot_power).sum()
    }

    /// The patch with most unshot power, and that power; the first of equals. `None` when all has been shot.
    pub fn strongest(&self) -> Option<Shot> {
        strongest(&self.states)
    }

    /// Shoots all that a patch has.
    pub fn shoot(&mut self, patch: PatchId) {
        let Self { place, visibility, patches, receivers, bounds, occluders, interactions, states, .. } = self;
        let (power, each) = states[patch.index()].take();
        let geometry = Geometry {
            world: place.world,
            patches,
            receivers,
            bounds,
            occluders,
            visibility: *visibility,
            light_per_ray: self.light_per_ray,
        };
        let shines = &patches[patch.index()];
        let whole = power / shines.visible_area;
        let facets = |id: &ReceiverId| facets_of(place.scene, place.elements, &[ElementId(id.0)]);
        let parts = parts(shines, whole, &each, facets);
        let shining = Shining { patch: shines, bounds: bounds[patch.index()], whole, parts: &parts };
        let shooter = Shooter::new(geometry, shining, Some(patch), hash2(self.seed, self.shots));
        let rays = AtomicU64::new(0);
        let build = || Interactions::build(patches.len(), |receiver| shooter.candidates(receiver));
        interactions.with(patch, build, |interactions| {
            states.par_iter_mut().with_min_len(4).enumerate().for_each(|(receiver, state)| {
                let receiver = PatchId::from_index(receiver);
                let Some(between) = interactions.with(receiver) else { return };
                let look = (between != Between::Nothing).then_some(Straight { geometry, patch: shines, between });
                rays.fetch_add(
                    shooter.light(receiver, look.as_ref(), |index, id, light| {
                        state.receive(index, &receivers[id.index()], light)
                    }),
                    Ordering::Relaxed,
                );
            });
        });
        self.rays += rays.into_inner();
        self.shots += 1;
    }

    /// All that shots have come to, for a checkpoint.
    pub fn state(&self) -> Shots {
        let all = |light: fn(&State) -> &[Vec3]| self.states.iter().flat_map(light).copied().collect();
        Shots {
            count: self.shots,
            rays: self.rays,
            received: all(|state| &state.received),
            unshot: all(|state| &state.unshot),
            power: self.states.iter().map(|state| state.power).collect(),
        }
    }

    /// Goes on from what [`Refinement::state`] answered; false, and nothing is changed, if that was of other patches.
    pub fn resume(&mut self, from: &Shots) -> bool {
        let receivers: usize = self.states.iter().map(|state| state.received.len()).sum();
        if [from.received.len(), from.unshot.len()] != [receivers; 2] || from.power.len() != self.states.len() {
            return false;
        }
        let (mut received, mut unshot) = (&*from.received, &*from.unshot);
        for (state, power) in self.states.iter_mut().zip(&from.power) {
            let count = state.received.len();
            state.received.copy_from_slice(take(&mut received, count));
            state.unshot.copy_from_slice(take(&mut unshot, count));
            state.power = *power;
        }
        (self.shots, self.rays) = (from.count, from.rays);
        true
    }

    /// What all shots came to, of so much power.
    pub(super) fn found(&self, all: f64) -> Found {
        Found {
            received: self.received(),
            unshot: (self.unshot_power() / all) as f32,
            shots: self.shots,
            rays: self.rays,
        }
    }

    /// Irradiance that each element has received, lux.
    pub fn received(&self) -> Vec<Vec3> {
        let mut all = vec![Vec3::ZERO; self.place.elements.len()];
        for (patch, state) in self.patches.iter().zip(&self.states) {
            for (id, light) in patch.receivers.iter().zip(&state.received) {
                if let Some(element) = all.get_mut(id.index()) {
                    *element = *light;
                }
            }
        }
        all
    }
}

/// Splits so many off the front.
fn take<'a>(rest: &mut &'a [Vec3], count: usize) -> &'a [Vec3] {
    let (taken, after) = rest.split_at(count);
    *rest = after;
    taken
}

/// The patch with most unshot power, and that power; the first of equals. `None` when all has been shot.
pub fn strongest(states: &[State]) -> Option<Shot> {
    let mut strongest = None::<Shot>;
    for (index, state) in states.iter().enumerate() {
        let power = state.unshot_power();
        if power > strongest.map_or(0.0, |shot| shot.power) {
            strongest = Some(Shot { patch: PatchId::from_index(index), power });
        }
    }
    strongest
}

/// What the parts of a patch shine with: `whole` is the mean of what its receivers send out, which is `each`, and `facets`
/// are those of one receiver.
pub fn parts(patch: &Patch, whole: Vec3, each: &[Vec3], facets: impl Fn(&ReceiverId) -> Vec<Facet>) -> Vec<Part> {
    match &*patch.receivers {
        [_] => vec![(patch.facets.clone(), whole)],
        several => several.iter().map(facets).zip(each.iter().copied()).collect(),
    }
}

/// Light that a ray should decide on, lux, where so much power, in lumens, lies on so many square metres.
///
/// So many rays of n decide on equal shares of the light that their error is at most a half of it over the root of n:
/// those that are seen and those that are not are as many.
pub fn light_per_ray(power: f64, area: f32, noise: f32) -> f32 {
    power as f32 / area.max(f32::MIN_POSITIVE) * (2.0 * noise).powi(2)
}

/// Mean of the channels.
fn mean(power: Vec3) -> f64 {
    f64::from(power.element_sum()) / 3.0
}
