//! How solvers choose points on lights.
//!
//! [`LightSampler`] lists everything that shines as [emitters](LightSampler::emitters): the scene's lights, each
//! emissive surface, and the environment map. [`LightSampler::sample_emitter`] aims one shadow ray at one of them,
//! [`LightSampler::chances`] says which of them are worth one where there are too many to visit all, and
//! [`LightSampler::draw`] draws one or two in much less time, by about the same.
//!
//! Emissive surfaces and the environment map can also be met by chance, by a ray that was not aimed at them. A solver
//! that counts both kinds of rays weighs them against each other (multiple importance sampling, Veach and Guibas 1995)
//! with [`LightSample::density`], [`LightSampler::hit_density`] and [`LightSampler::sky_density`]. A uniform sky is no
//! emitter: rays that escape find it best.
//!
//! [`OneLight`] aims at a single light, which need not be part of any scene.

mod alias;
mod choice;
#[cfg(feature = "gpu")]
mod description;
mod distribution;
mod emission;
mod emissive_surface;
mod environment;
mod lamp;
mod one_light;
mod rectangle;
mod tree;

use glam::Vec3;

pub use self::one_light::OneLight;
use self::{
    distribution::Distribution, emission::Surroundings, emissive_surface::EmissiveSurface, environment::Environment,
    lamp::Lamp, rectangle::RectangleLight,
};
use super::{LightKind, Scene, Sky, Surface};
use crate::geometry::{Hit, Ray, SurfaceId};

pub use self::alias::{AliasEntry, AliasTable};
pub use self::choice::{Chances, Place};
#[cfg(feature = "gpu")]
pub(crate) use self::description::{EmitterDescription, weigh_surface};
pub use self::emission::{Emission, EmissionSampler};
#[cfg(feature = "gpu")]
pub(crate) use self::emissive_surface::light_node_of;
pub(crate) use self::tree::{LightNode, LightTree};

/// A point chosen on a light, as seen from a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightSample {
    /// The segment that must be clear: from the receiver to just short of the light.
    pub ray: Ray,
    /// Unit vector from the receiver to the chosen point.
    pub direction: Vec3,
    /// Irradiance in lux per channel if nothing stands in the way, divided by the probability density of the choice.
    pub irradiance: Vec3,
    /// Probability density of the direction, per steradian; `None` for lights that a ray cannot meet by chance.
    pub density: Option<f32>,
}

/// Relative luminance of a linear Rec. 709 colour: what importance is measured in.
#[inline]
pub fn luminance(colour: Vec3) -> f32 {
    colour.dot(Vec3::new(0.2126, 0.7152, 0.0722))
}

/// The largest density that weights are found of, per steradian: its square and the sum of two are finite. Slivers that
/// are seen edge-on reach it.
pub(crate) const MOST_DENSITY: f32 = 1e18;

/// The weight of light found in a way that finds it with density `own`, where another way finds it with density `other`
/// (the power heuristic of Veach and Guibas 1995). Squares matter: a small lamp that one gather ray in a hundred meets
/// must not spoil what aimed rays know well.
#[inline]
pub(crate) fn share(own: f32, other: f32) -> f32 {
    let (own, other) = (own.min(MOST_DENSITY).powi(2), other.min(MOST_DENSITY).powi(2));
    if own > 0.0 { own / (own + other) } else { 0.0 }
}

enum Emitter {
    Lamp(Lamp),
    Rectangle(RectangleLight),
    Surface(EmissiveSurface),
    Environment(Environment),
}

impl Emitter {
    /// Aims at a point of it; see [`LightSampler::sample_emitter`].
    #[inline(always)]
    fn sample(&self, scene: &Scene, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        // Each by itself: what all of them wrote to one place would have to be read from there.
        match self {
            Self::Lamp(lamp) => usable(lamp.sample(at, normal, u)),
            Self::Rectangle(rectangle) => usable(rectangle.sample(at, normal, u)),
            Self::Surface(surface) => usable(surface.sample(scene, at, normal, u)),
            Self::Environment(environment) => usable(environment.sample(at, normal, u)),
        }
    }

    /// About what illuminance in lux it brings to a place if nothing stands in the way.
    fn expected(&self, place: &Place) -> f32 {
        match self {
            Self::Lamp(lamp) => lamp.expected(place),
            Self::Rectangle(rectangle) => rectangle.expected(place),
            Self::Surface(surface) => surface.expected(place),
            Self::Environment(environment) => environment.expected(place),
        }
    }

    /// What a tree of lights knows of it.
    fn node(&self) -> LightNode {
        match self {
            Self::Lamp(lamp) => lamp.node(),
            Self::Rectangle(rectangle) => rectangle.node(),
            Self::Surface(surface) => surface.node(),
            Self::Environment(environment) => environment.node(),
        }
    }

    /// Luminous flux in lumens that it sends into a scene, which light from far away meets with an area of `disc` m2.
    fn power(&self, disc: impl FnOnce() -> f32) -> f32 {
        match self {
            Self::Lamp(lamp) => lamp.power(disc),
            Self::Rectangle(rectangle) => rectangle.power(),
            Self::Surface(surface) => surface.power(),
            Self::Environment(environment) => environment.power() * disc(),
        }
    }
}

/// What brings light, and no more than numbers can tell.
#[inline(always)]
fn usable(sample: Option<LightSample>) -> Option<LightSample> {
    sample.filter(|sample| sample.irradiance.is_finite() && sample.irradiance.max_element() > 0.0)
}

/// The sphere around a scene's bounding box.
fn distant_disc(scene: &Scene) -> Surroundings {
    let bounds = scene.bounds();
    let diagonal = (bounds.max - bounds.min).max(Vec3::ZERO);
    Surroundings { centre: bounds.min.min(bounds.max) + 0.5 * diagonal, radius: 0.5 * diagonal.length() }
}

/// About what illuminance in lux a surface brings that shines like a matt one with `power` lumens, when a place sees
/// its nearest point so: bounded, as radiance is, where the place is near.
fn expected_of_matt(power: f32, area: f32, (distance_squared, facing): (f32, f32)) -> f32 {
    use core::f32::consts::PI;
    power / PI * facing / (distance_squared + area / PI)
}

/// Chooses points on everything in a scene that shines.
pub struct LightSampler<'a> {
    scene: &'a Scene,
    emitters: Vec<Emitter>,
    /// Which emitter each surface of the scene is.
    emitter_of_surface: Vec<Option<usize>>,
    tree: LightTree,
}

impl<'a> LightSampler<'a> {
    /// Lists the emitters of a scene as bakes see it: those without power are left out, and all that moves.
    pub fn new(scene: &'a Scene) -> Self {
        Self::of(scene, Surface::is_in_bake)
    }

    /// The same as pictures show the scene: with the light of movers, where they stand.
    pub fn with_movers(scene: &'a Scene) -> Self {
        Self::of(scene, Surface::is_shown)
    }

    fn of(scene: &'a Scene, counts: impl Fn(&Surface) -> bool) -> Self {
        let mut emitters = Vec::new();
        let mut add = |emitter: Emitter, power: f32| -> Option<usize> {
            (power > 0.0 && power.is_finite()).then(|| {
                emitters.push(emitter);
                emitters.len() - 1
            })
        };
        for light in &scene.lights {
            match light.kind {
                LightKind::Rectangle { .. } => {
                    if let Some(rectangle) = RectangleLight::new(&light.kind) {
                        let power = rectangle.power();
                        add(Emitter::Rectangle(rectangle), power);
                    }
                }
                kind => {
                    add(Emitter::Lamp(Lamp(kind)), Lamp(kind).strength());
                }
            }
        }
        let emitter_of_surface = scene
            .surface_ids()
            .map(|id| {
                let surface = counts(scene.surface(id)).then(|| EmissiveSurface::new(scene, id)).flatten()?;
                let power = surface.power();
                add(Emitter::Surface(surface), power)
            })
            .collect();
        if let Sky::Map(map) = &scene.sky
            && let Some(environment) = Environment::new(map)
        {
            let power = environment.power();
            add(Emitter::Environment(environment), power);
        }
        let tree = LightTree::new(&emitters.iter().map(Emitter::node).collect::<Vec<_>>());
        Self { scene, emitters, emitter_of_surface, tree }
    }

    /// Luminous flux in lumens that each emitter sends into the scene, which light from far away meets with some area.
    fn powers_into(&self, disc: impl Fn() -> f32) -> Vec<f64> {
        self.emitters.iter().map(|emitter| f64::from(emitter.power(&disc).min(f32::MAX))).collect()
    }

    /// How many emitters there are.
    pub fn emitters(&self) -> usize {
        self.emitters.len()
    }

    /// With what chance a sample of the light at a place is to visit each emitter, when it may make about `visits`
    /// visits: those that would bring most if nothing stood in the way are visited most, none never.
    ///
    /// Takes time in proportion to the number of emitters.
    pub fn chances(&self, place: &Place, visits: usize) -> Chances {
        if self.emitters.len() <= visits {
            return Chances::All(self.emitters.len());
        }
        Chances::new(self.emitters.iter().map(|emitter| emitter.expected(place)).collect(), visits)
    }

    /// Draws an emitter far away and one that is near for a receiver at `at` with unit normal `normal`, those that may bring it
    /// more more often: which, and with what chance. `None` where it comes to some that bring nothing.
    ///
    /// Takes time in proportion to the logarithm of the number of emitters.
    #[inline(always)]
    pub fn draw(&self, at: Vec3, normal: Vec3, u: f32) -> [Option<(usize, f32)>; 2] {
        self.tree.draw(at, normal, u)
    }

    /// With what chance [`LightSampler::draw`] draws an emitter.
    #[inline]
    pub fn chance_of(&self, emitter: usize, at: Vec3, normal: Vec3) -> f32 {
        self.tree.chance_of(emitter, at, normal)
    }

    /// What the tree that [`LightSampler::draw`] goes down knows of each emitter.
    #[cfg(feature = "gpu")]
    pub(crate) fn light_nodes(&self) -> Vec<LightNode> {
        self.emitters.iter().map(Emitter::node).collect()
    }

    /// Aims at a point of one emitter, from a receiver at `at` with unit normal `normal`.
    ///
    /// `None` when the light of that point cannot reach the receiver even unblocked; it counts as a sample that brought
    /// nothing.
    #[inline(always)]
    pub fn sample_emitter(&self, emitter: usize, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        self.emitters[emitter].sample(self.scene, at, normal, u)
    }

    /// The emitter that a surface is, if it shines.
    #[inline]
    pub fn emitter_of(&self, surface: SurfaceId) -> Option<usize> {
        self.emitter_of_surface[surface.index()]
    }

    /// Luminous flux in lumens that a triangle of a surface emits, both sides together; zero for one that is no emitter.
    pub fn power_of_triangle(&self, surface: SurfaceId, triangle: u32) -> f32 {
        match self.emitter_of(surface).map(|emitter| &self.emitters[emitter]) {
            Some(Emitter::Surface(surface)) => surface.power() * surface.triangles.probability(triangle as usize),
            _ => 0.0,
        }
    }

    /// With what density per steradian [`LightSampler::sample_emitter`] would have chosen the direction of a ray that
    /// met an emissive surface. Zero when the surface is none or shows its dark side.
    #[inline]
    pub fn hit_density(&self, ray: &Ray, hit: &Hit) -> f32 {
        match self.emitter_of(hit.surface).map(|emitter| &self.emitters[emitter]) {
            Some(Emitter::Surface(surface)) => surface.density(ray, hit),
            _ => 0.0,
        }
    }

    /// Radiance in cd/m2 that leaves a surface where a ray met it, toward the ray's origin.
    pub fn hit_radiance(&self, hit: &Hit) -> Vec3 {
        match self.emitter_of(hit.surface).map(|emitter| &self.emitters[emitter]) {
            Some(Emitter::Surface(surface)) => surface.radiance(self.scene, hit),
            _ => Vec3::ZERO,
        }
    }

    /// The emitter that the environment map is, if there is one.
    pub fn sky_emitter(&self) -> Option<usize> {
        self.emitters.len().checked_sub(1).filter(|&last| matches!(self.emitters[last], Emitter::Environment(_)))
    }

    /// With what density per steradian [`LightSampler::sample_emitter`] would have chosen a direction (a unit vector)
    /// of the environment map. Zero when the sky is no map.
    pub fn sky_density(&self, direction: Vec3) -> f32 {
        match self.emitters.last() {
            Some(Emitter::Environment(environment)) => environment.density(direction),
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
