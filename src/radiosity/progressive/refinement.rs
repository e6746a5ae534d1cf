//! Shots, one after another, the strongest first.

use core::sync::atomic::{AtomicU64, Ordering};

use glam::Vec3;

use super::exchanges::{ExchangeCache, Exchanges};
use super::occluders::Occluders;
use super::patches::{Patch, parts};
use super::receivers::{ElementReceivers, Receiver, ReceiverId, Response};
use super::shooter::{Geometry, Shining, Shooter, Straight};
use super::start::Start;
use super::{PatchId, Refine};
use crate::geometry::sobol::hash2;
use crate::geometry::{Aabb, RayQuery};
use crate::lightmap::{ElementId, Elements};
use crate::radiosity::partial::Shots;
use crate::radiosity::shown::Covers;
use crate::scene::{Scene, luminance};

/// What light meets, and who answers.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub elements: &'a Elements,
    /// The part of each element that light reaches.
    pub visible: &'a [f32],
    /// The weight of each element's power where patches are compared: more in dim surroundings. Empty where all count
    /// alike.
    pub weights: &'a [f32],
}

impl<'a> Place<'a> {
    /// Tells what other surfaces cover.
    pub fn covers(&self) -> Covers<'a> {
        Covers { scene: self.scene, world: self.world, elements: self.elements }
    }
}

/// How to refine.
#[derive(Clone, Copy)]
pub struct Options {
    /// The longest list of triangles in a shaft that rays are tested against, instead of the scene's tree.
    pub most_candidates: usize,
    /// Error that rays which ask what is in sight may cause, over the mean irradiance, about.
    pub noise: f32,
    /// Memory for exchanges.
    pub most_bytes: usize,
    pub seed: u32,
}

/// A solution that each shot brings nearer to the end (`000` S1).
pub struct Refinement<'a> {
    place: Place<'a>,
    most_candidates: usize,
    patches: Vec<Patch>,
    receivers: Vec<Receiver>,
    responses: Vec<Response>,
    /// The box around each patch, and around the points that it looks from.
    bounds: Vec<Aabb>,
    occluders: Occluders,
    exchanges: ExchangeCache,
    states: Vec<State>,
    /// What each patch will send out in the end, about.
    glow: Vec<f32>,
    light_per_ray: f32,
    seed: u32,
    shots: u32,
    /// Rays that found what each patch sends to whom.
    rays: Vec<u64>,
}

/// Light of a patch's receivers, in their order.
pub struct State {
    /// Irradiance that shots brought, lux.
    pub received: Vec<Vec3>,
    /// Radiosity that has not been shot, lm/m2.
    unshot: Vec<Vec3>,
    /// Its power, lumens.
    power: Vec3,
    /// The weight of its power: the mean over the patch's area.
    weight: f64,
}

impl State {
    /// Before any shot: `source` is what a receiver sends out of itself, lm/m2.
    pub fn new(patch: &Patch, responses: &[Response], source: impl Fn(&ReceiverId) -> Vec3) -> Self {
        let shown = |id: &ReceiverId| source(id) * responses[id.index()].shown;
        let unshot: Vec<Vec3> = patch.receivers.iter().map(shown).collect();
        let power = |(id, unshot): (&ReceiverId, &Vec3)| *unshot * responses[id.index()].area;
        let power = patch.receivers.iter().zip(&unshot).map(power).sum();
        let (weight, area) = patch.receivers.iter().fold((0.0, 0.0), |(weight, area), id| {
            let response = &responses[id.index()];
            (weight + f64::from(response.weight * response.area), area + f64::from(response.area))
        });
        let weight = if area > 0.0 { weight / area } else { 1.0 };
        Self { received: vec![Vec3::ZERO; unshot.len()], unshot, power, weight }
    }

    /// Weighted power that has not been shot, lumens, the mean of the channels. Power that is to be taken back counts as
    /// well.
    pub fn unshot_power(&self) -> f64 {
        self.weight * mean(self.power).abs()
    }

    /// Power that has not been shot, without its weight, lumens, the mean of the channels.
    pub fn unshot_lumens(&self) -> f64 {
        mean(self.power).abs()
    }

    /// The weight of its power.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Takes all that has not been shot: power, and the radiosity of each receiver.
    pub fn take(&mut self) -> (Vec3, Vec<Vec3>) {
        let none = vec![Vec3::ZERO; self.unshot.len()];
        (core::mem::take(&mut self.power), core::mem::replace(&mut self.unshot, none))
    }

    /// Adds light to one of the receivers, lux.
    pub fn receive(&mut self, index: usize, response: &Response, light: Vec3) {
        let reflected = light * response.reflectance * response.shown;
        self.received[index] += light;
        self.unshot[index] += reflected;
        self.power += reflected * response.area;
    }
}

/// Light bounces at most as often as in a room that reflects this much of it.
const MOST_REFLECTED: f64 = 0.9;

/// A shot that is to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    /// By whom.
    pub patch: PatchId,
    /// Its weighted power, lumens, the mean of the channels.
    pub power: f64,
}

impl<'a> Refinement<'a> {
    /// Prepares to shoot what elements send out of themselves, lm/m2.
    pub fn new(place: Place<'a>, sources: &[Vec3], options: &Options) -> Self {
        let of_elements = ElementReceivers::new(place, options.seed);
        let of_texels = super::patches::patches(place.scene, place.elements, place.visible);
        let Start { patches, responses, states, brightness, bare } =
            Start::new(place, &of_elements, of_texels, sources);
        let mut receivers = of_elements.of_all(|receiver| receiver);
        receivers.extend(bare);
        let bounds = |patch: &Patch| {
            let origins = patch.receivers.iter().flat_map(|id| receivers[id.index()].points);
            patch.bounds().union(Aabb::around(origins))
        };
        let glow = |(patch, state)| brightness.glow(patch, state);
        Self {
            place,
            most_candidates: options.most_candidates,
            bounds: patches.iter().map(bounds).collect(),
            occluders: Occluders::new(place.scene),
            exchanges: ExchangeCache::new(options.most_bytes),
            glow: patches.iter().zip(&states).map(glow).collect(),
            rays: vec![0; patches.len()],
            states,
            patches,
            receivers,
            responses,
            light_per_ray: brightness.light_per_ray(options.noise),
            seed: options.seed,
            shots: 0,
        }
    }

    /// How many times the exchanges of a patch were found.
    #[cfg(test)]
    pub fn builds(&self) -> u64 {
        self.exchanges.builds
    }

    /// What shafts were asked.
    #[cfg(test)]
    pub fn tally(&self) -> super::tally::Sums {
        super::tally::Sums::of([&self.occluders.tally])
    }

    /// The patch with most unshot power, and that power; the first of equals. `None` when all has been shot.
    pub fn strongest(&self) -> Option<Shot> {
        strongest(&self.states)
    }

    /// Shoots all that a patch has.
    pub fn shoot(&mut self, patch: PatchId) {
        let Self {
            place,
            most_candidates,
            patches,
            receivers,
            responses,
            bounds,
            occluders,
            exchanges,
            states,
            rays,
            ..
        } = self;
        let (power, each) = states[patch.index()].take();
        let shines = &patches[patch.index()];
        let groups = shining(shines, responses, power / shines.visible_area, &each);
        let build = || {
            let geometry = Geometry {
                world: place.world,
                patches,
                receivers,
                bounds,
                occluders,
                most_candidates: *most_candidates,
                light_per_ray: self.light_per_ray,
            };
            let parts = parts(place.scene, place.elements, shines, |id| ElementId(id.0));
            let glow = self.glow[patch.index()];
            let shining = Shining { patch: shines, bounds: bounds[patch.index()], parts: &parts, glow };
            let shooter = Shooter::new(geometry, shining, Some(patch), hash2(self.seed, patch.0));
            let traced = AtomicU64::new(0);
            let exchanges = Exchanges::build(patches.len(), |receiver| {
                let between = &shooter.candidates(receiver)?;
                let look = (!between.are_none()).then_some(Straight { geometry, patch: shines, between });
                let (factors, rays) = shooter.factors(receiver, look.as_ref());
                traced.fetch_add(rays, Ordering::Relaxed);
                Some(factors)
            });
            rays[patch.index()] = traced.into_inner();
            exchanges
        };
        exchanges.with(patch, build, |exchanges| {
            exchanges.light(&groups, |to, index, light| {
                let id = patches[to.index()].receivers[index];
                states[to.index()].receive(index, &responses[id.index()], light);
            });
        });
        self.shots += 1;
    }
}

impl Refine for Refinement<'_> {
    fn patches(&self) -> usize {
        self.patches.len()
    }

    fn shots(&self) -> u32 {
        self.shots
    }

    fn rays(&self) -> u64 {
        self.rays.iter().sum()
    }

    fn unshot_power(&self) -> f64 {
        self.states.iter().map(State::unshot_power).sum()
    }

    fn unshot_lumens(&self) -> f64 {
        self.states.iter().map(State::unshot_lumens).sum()
    }

    fn strongest_power(&self) -> Option<f64> {
        self.strongest().map(|shot| shot.power)
    }

    fn shoot_on(&mut self, tolerance: f64, go_on: &dyn Fn() -> bool) -> bool {
        if let Some(shot) = self.strongest().filter(|shot| shot.power > tolerance && go_on()) {
            self.shoot(shot.patch);
        }
        true
    }

    /// A shot is made as a whole or not at all.
    fn undo(&mut self) {}

    fn state(&self) -> Shots {
        shots_of(&self.states, self.shots, self.rays.clone())
    }

    fn add(&mut self, light: &[Vec3]) {
        let Self { patches, responses, states, .. } = self;
        for (patch, state) in patches.iter().zip(states) {
            for (index, id) in patch.receivers.iter().enumerate() {
                if let Some(light) = light.get(id.index()) {
                    state.receive(index, &responses[id.index()], *light);
                }
            }
        }
    }

    fn resume(&mut self, from: &Shots) -> bool {
        if !fit(&self.states, from) || from.rays.len() != self.states.len() {
            return false;
        }
        restore(&mut self.states, from);
        self.shots = from.count;
        self.rays.copy_from_slice(&from.rays);
        true
    }

    fn received(&self) -> Vec<Vec3> {
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

/// What a checkpoint holds of all patches.
pub fn shots_of<'a>(states: impl IntoIterator<Item = &'a State>, count: u32, rays: Vec<u64>) -> Shots {
    let mut shots = Shots { count, rays, ..Shots::default() };
    for state in states {
        shots.received.extend(&state.received);
        shots.unshot.extend(&state.unshot);
        shots.power.push(state.power);
    }
    shots
}

/// True when a checkpoint is of so many patches with so many receivers.
pub fn fit<'a>(states: impl IntoIterator<Item = &'a State>, shots: &Shots) -> bool {
    let (patches, receivers) = (states.into_iter())
        .fold((0, 0), |(patches, receivers), state| (patches + 1, receivers + state.received.len()));
    [shots.received.len(), shots.unshot.len()] == [receivers; 2] && shots.power.len() == patches
}

/// Restores what a checkpoint that fits held.
pub fn restore<'a>(states: impl IntoIterator<Item = &'a mut State>, from: &Shots) {
    let (mut received, mut unshot) = (&*from.received, &*from.unshot);
    for (state, power) in states.into_iter().zip(&from.power) {
        let count = state.received.len();
        state.received.copy_from_slice(take(&mut received, count));
        state.unshot.copy_from_slice(take(&mut unshot, count));
        state.power = *power;
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

/// What each group of a patch sends out, lm/m2: `whole` on the average of all, and `each` by receiver.
pub fn shining(patch: &Patch, responses: &[Response], whole: Vec3, each: &[Vec3]) -> Vec<Vec3> {
    let of_one = |place: usize| {
        let area = responses[patch.receivers[place].index()].area;
        (each[place] * area, area)
    };
    let powers = patch.groups.join(of_one, |first, second| (first.0 + second.0, first.1 + second.1));
    let mut shining: Vec<Vec3> = powers.iter().map(|(power, area)| *power / area.max(f32::MIN_POSITIVE)).collect();
    shining[0] = whole;
    shining
}

/// How bright a scene is.
#[derive(Clone, Copy)]
pub struct Brightness {
    /// What surfaces send out of themselves, on the average: luminance, lm/m2.
    source: f32,
    /// What they will send out once light has bounced everywhere, were all of them alike: luminance, lm/m2.
    ambient: f32,
}

impl Brightness {
    /// That of patches before any shot.
    pub fn of<'a>(
        patches: impl IntoIterator<Item = &'a Patch>,
        responses: &[Response],
        states: impl IntoIterator<Item = &'a State>,
    ) -> Self {
        let (mut area, mut reflecting) = (0.0f64, 0.0f64);
        for id in patches.into_iter().flat_map(|patch| &patch.receivers) {
            let response = &responses[id.index()];
            area += f64::from(response.area);
            reflecting += f64::from(response.area * luminance(response.reflectance));
        }
        let area = area.max(f64::MIN_POSITIVE);
        let power: f64 = states.into_iter().map(|state| f64::from(luminance(state.power))).sum();
        let source = power / area;
        let reflectance = (reflecting / area).min(MOST_REFLECTED);
        Self { source: source as f32, ambient: (source * reflectance / (1.0 - reflectance)) as f32 }
    }

    /// What a patch will send out in the end: luminance, lm/m2, about.
    pub fn glow(&self, patch: &Patch, state: &State) -> f32 {
        luminance(state.power) / patch.visible_area.max(f32::MIN_POSITIVE) + self.ambient
    }

    /// Light that a ray should decide on, lux.
    ///
    /// So many rays of n decide on equal shares of the light that their error is at most a half of it over the root of n:
    /// those that are seen and those that are not are as many.
    pub fn light_per_ray(&self, noise: f32) -> f32 {
        (self.source + self.ambient) * (2.0 * noise).powi(2)
    }
}

/// Mean of the channels.
pub fn mean(power: Vec3) -> f64 {
    f64::from(power.element_sum()) / 3.0
}
