//! Progressive refinement: sequence of shots, the strongest first.

use core::sync::atomic::{AtomicU64, Ordering};

use glam::Vec3;

use super::exchanges::{ExchangeCache, Exchanges};
use super::occluders::Occluders;
use super::patches::{Patch, parts};
use super::receivers::{ElementReceivers, Receiver, ReceiverId, Response};
use super::shooter::{Geometry, MAX_RAYS, Shooter, ShotSource, Straight};
use super::start::Start;
use super::{CandidateSearch, PatchId, Refine, USUAL_SEARCH};
use crate::geometry::sobol::hash2;
use crate::geometry::{Aabb, RayQuery};
use crate::lightmap::{ElementId, Elements};
use crate::radiosity::exposed_area::CoincidentSurfaces;
use crate::radiosity::solver_checkpoint::Shots;
use crate::radiosity::{SolverSettings, StepError};
use crate::scene::{Scene, luminance};

/// Scene context of shots.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub elements: &'a Elements,
    /// Visible fraction of each element.
    pub visible: &'a [f32],
    /// Weight of each element's power in comparisons between patches, larger in dim surroundings. Empty if all weights
    /// are one.
    pub weights: &'a [f32],
}

impl<'a> Place<'a> {
    /// Returns the test for coincident surfaces.
    pub fn covers(&self) -> CoincidentSurfaces<'a> {
        CoincidentSurfaces { scene: self.scene, world: self.world, elements: self.elements }
    }
}

/// Options of progressive refinement.
#[derive(Clone, Copy)]
pub struct Options {
    /// Search for triangles in a shaft, which rays test directly. Without a list, rays query the scene's tree.
    pub search: CandidateSearch,
    /// Approximate accepted error of visibility rays, relative to the mean irradiance.
    pub noise: f32,
    /// Memory limit of form-factor rows, in bytes.
    pub max_bytes: usize,
    pub seed: u32,
}

/// Fraction of the requested error that visibility rays may cause, and the minimum error that visibility rays aim for.
/// Other errors of form factors are larger than the minimum.
const VISIBILITY_SHARE: f32 = 0.3;
const MIN_VISIBILITY_ERROR: f32 = 0.01;

impl Options {
    /// Returns the options of a bake.
    pub fn of(settings: &SolverSettings) -> Self {
        Self {
            search: if settings.faithful { CandidateSearch::All } else { USUAL_SEARCH },
            noise: (VISIBILITY_SHARE * settings.error).max(MIN_VISIBILITY_ERROR),
            max_bytes: usize::try_from(u64::from(settings.memory_mib) << 18).unwrap_or(usize::MAX),
            seed: settings.seed,
        }
    }
}

/// Solution by progressive refinement (`000` S1).
pub struct Refinement<'a> {
    place: Place<'a>,
    search: CandidateSearch,
    patches: Vec<Patch>,
    receivers: Vec<Receiver>,
    responses: Vec<Response>,
    /// Bounding box of each patch and the points of its receivers.
    bounds: Vec<Aabb>,
    occluders: Occluders,
    exchanges: ExchangeCache,
    states: Vec<State>,
    /// Approximate final radiosity of each patch, as luminance in lm/m2.
    glow: Vec<f32>,
    light_per_ray: f32,
    seed: u32,
    shots: u32,
    /// Number of visibility rays in each patch's form-factor row.
    rays: Vec<u64>,
}

/// Light of a patch's receivers, in their order.
pub struct State {
    /// Irradiance from shots, in lux.
    pub received: Vec<Vec3>,
    /// Unshot radiosity, in lm/m2.
    unshot: Vec<Vec3>,
    /// Unshot power, in lumens.
    power: Vec3,
    /// Weight of the power: the area-weighted mean over the receivers.
    weight: f64,
}

impl State {
    /// Creates the state before any shot. `source` is the initial radiosity of a receiver, in lm/m2.
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

    /// Returns the weighted unshot power, in lumens, as mean of the channels. Negative power counts with its absolute
    /// value.
    pub fn unshot_power(&self) -> f64 {
        self.weight * mean(self.power).abs()
    }

    /// Returns the unshot power without its weight, in lumens, as mean of the channels.
    pub fn unshot_lumens(&self) -> f64 {
        mean(self.power).abs()
    }

    /// Returns the weight of the power.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Takes all unshot light: the power, and the radiosity of each receiver.
    pub fn take(&mut self) -> (Vec3, Vec<Vec3>) {
        let none = vec![Vec3::ZERO; self.unshot.len()];
        (core::mem::take(&mut self.power), core::mem::replace(&mut self.unshot, none))
    }

    /// Adds irradiance to a receiver, in lux.
    pub fn receive(&mut self, index: usize, response: &Response, light: Vec3) {
        let reflected = light * response.reflectance * response.shown;
        self.received[index] += light;
        self.unshot[index] += reflected;
        self.power += reflected * response.area;
    }
}

/// Maximum mean reflectance assumed for the ambient estimate.
const MAX_REFLECTED: f64 = 0.9;

/// Shot to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    /// Shooting patch.
    pub patch: PatchId,
    /// Weighted power, in lumens, as mean of the channels.
    pub power: f64,
}

impl<'a> Refinement<'a> {
    /// Prepares to shoot the initial radiosities of elements, in lm/m2.
    pub fn new(place: Place<'a>, sources: &[Vec3], options: &Options) -> Self {
        let of_elements = ElementReceivers::new(place, options.seed);
        let of_texels = super::patches::patches(place.scene, place.elements, place.visible);
        let Start { patches, responses, states, brightness, unmapped } =
            Start::new(place, &of_elements, of_texels, sources);
        let mut receivers = of_elements.of_all(|receiver| receiver);
        receivers.extend(unmapped);
        let bounds = |patch: &Patch| {
            let origins = patch.receivers.iter().flat_map(|id| receivers[id.index()].points);
            patch.bounds().union(Aabb::around(origins))
        };
        let glow = |(patch, state)| brightness.glow(patch, state);
        Self {
            place,
            search: options.search,
            bounds: patches.iter().map(bounds).collect(),
            occluders: Occluders::new(place.scene),
            exchanges: ExchangeCache::new(options.max_bytes),
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

    /// Returns the number of computed form-factor rows.
    #[cfg(test)]
    pub fn builds(&self) -> u64 {
        self.exchanges.builds
    }

    /// Returns the statistics of shaft queries.
    #[cfg(test)]
    pub fn tally(&self) -> super::tally::Sums {
        super::tally::Sums::of([&self.occluders.tally])
    }

    /// Returns the patch with the most unshot power, the first of equals, and this power. `None` if all power has been
    /// shot.
    pub fn strongest(&self) -> Option<Shot> {
        strongest(&self.states)
    }

    /// Shoots all unshot power of a patch.
    pub fn shoot(&mut self, patch: PatchId) {
        let Self { place, search, patches, receivers, responses, bounds, occluders, exchanges, states, rays, .. } =
            self;
        let (power, each) = states[patch.index()].take();
        let shines = &patches[patch.index()];
        let groups = group_radiosities(shines, responses, power / shines.visible_area, &each);
        let build = || {
            let geometry = Geometry {
                world: place.world,
                patches,
                receivers,
                bounds,
                occluders,
                search: *search,
                light_per_ray: self.light_per_ray,
            };
            let parts = parts(place.scene, place.elements, shines, |id| ElementId(id.0));
            let glow = self.glow[patch.index()];
            let source = ShotSource { patch: shines, bounds: bounds[patch.index()], parts: &parts, glow };
            let shooter = Shooter::new(geometry, source, Some(patch), hash2(self.seed, patch.0));
            let traced = AtomicU64::new(0);
            let exchanges = Exchanges::build(patches.len(), |receiver| {
                let between = &shooter.candidates(receiver)?;
                let visibility = (!between.are_none()).then_some(Straight { geometry, patch: shines, between });
                let (factors, rays) = shooter.factors(receiver, visibility.as_ref());
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

    fn shoot_on(&mut self, tolerance: f64, go_on: &dyn Fn() -> bool) -> Result<bool, StepError> {
        if let Some(shot) = self.strongest().filter(|shot| shot.power > tolerance && go_on()) {
            self.shoot(shot.patch);
        }
        Ok(true)
    }

    /// Does nothing, because a shot is never partial.
    fn undo(&mut self) {}

    fn state(&self) -> Shots {
        shots_of(&self.states, self.shots, self.rays.clone())
    }

    fn add(&mut self, light: &[Vec3]) -> Result<(), StepError> {
        let Self { patches, responses, states, .. } = self;
        for (patch, state) in patches.iter().zip(states) {
            for (index, id) in patch.receivers.iter().enumerate() {
                if let Some(light) = light.get(id.index()) {
                    state.receive(index, &responses[id.index()], *light);
                }
            }
        }
        Ok(())
    }

    fn resume(&mut self, from: &Shots) -> Result<bool, StepError> {
        let most = from.received.len() as u64 * MAX_RAYS as u64;
        let are_possible = from.rays.len() == self.states.len() && from.rays.iter().all(|&rays| rays <= most);
        if !fit(&self.states, from) || !are_possible {
            return Ok(false);
        }
        restore(&mut self.states, from);
        self.shots = from.count;
        self.rays.copy_from_slice(&from.rays);
        Ok(true)
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

/// Collects the checkpoint of all patches.
pub fn shots_of<'a>(states: impl IntoIterator<Item = &'a State>, count: u32, rays: Vec<u64>) -> Shots {
    let mut shots = Shots { count, rays, ..Shots::default() };
    for state in states {
        shots.received.extend(&state.received);
        shots.unshot.extend(&state.unshot);
        shots.power.push(state.power);
    }
    shots
}

/// Returns true if a checkpoint matches the numbers of patches and receivers.
pub fn fit<'a>(states: impl IntoIterator<Item = &'a State>, shots: &Shots) -> bool {
    let (patches, receivers) = (states.into_iter())
        .fold((0, 0), |(patches, receivers), state| (patches + 1, receivers + state.received.len()));
    [shots.received.len(), shots.unshot.len()] == [receivers; 2] && shots.power.len() == patches
}

/// Restores the states of a matching checkpoint.
pub fn restore<'a>(states: impl IntoIterator<Item = &'a mut State>, from: &Shots) {
    let (mut received, mut unshot) = (&*from.received, &*from.unshot);
    for (state, power) in states.into_iter().zip(&from.power) {
        let count = state.received.len();
        state.received.copy_from_slice(take(&mut received, count));
        state.unshot.copy_from_slice(take(&mut unshot, count));
        state.power = *power;
    }
}

/// Splits `count` values off the front.
fn take<'a>(rest: &mut &'a [Vec3], count: usize) -> &'a [Vec3] {
    let (taken, after) = rest.split_at(count);
    *rest = after;
    taken
}

/// Returns the patch with the most unshot power, the first of equals, and this power. `None` if all power has been
/// shot.
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

/// Returns the radiosity of each group of a patch, in lm/m2: `whole` for the whole patch, and means of `each` receiver
/// for other groups.
pub fn group_radiosities(patch: &Patch, responses: &[Response], whole: Vec3, each: &[Vec3]) -> Vec<Vec3> {
    let of_one = |place: usize| {
        let area = responses[patch.receivers[place].index()].area;
        (each[place] * area, area)
    };
    let powers = patch.groups.join(of_one, |first, second| (first.0 + second.0, first.1 + second.1));
    let mut radiosities: Vec<Vec3> = powers.iter().map(|(power, area)| *power / area.max(f32::MIN_POSITIVE)).collect();
    radiosities[0] = whole;
    radiosities
}

/// Estimates of a scene's brightness.
#[derive(Clone, Copy)]
pub struct Brightness {
    /// Mean initial radiosity of surfaces, as luminance in lm/m2.
    source: f32,
    /// Mean reflected radiosity after all bounces, if all surfaces had the mean reflectance, as luminance in lm/m2.
    ambient: f32,
}

impl Brightness {
    /// Computes the brightness of patches before any shot.
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
        let reflectance = (reflecting / area).min(MAX_REFLECTED);
        Self { source: source as f32, ambient: (source * reflectance / (1.0 - reflectance)) as f32 }
    }

    /// Returns the approximate final radiosity of a patch, as luminance in lm/m2.
    pub fn glow(&self, patch: &Patch, state: &State) -> f32 {
        luminance(state.power) / patch.visible_area.max(f32::MIN_POSITIVE) + self.ambient
    }

    /// Returns the irradiance that one visibility ray should represent, in lux.
    ///
    /// Each of n rays decides on an equal share of the light. The error is at most half of the light over sqrt(n). The
    /// worst case is a visibility of one half.
    pub fn light_per_ray(&self, noise: f32) -> f32 {
        (self.source + self.ambient) * (2.0 * noise).powi(2)
    }
}

/// Returns the mean of the channels.
pub fn mean(power: Vec3) -> f64 {
    f64::from(power.element_sum()) / 3.0
}
