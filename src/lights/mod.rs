//! Sampling of light sources for the solvers (next event estimation).
//!
//! [`LightSampler`] lists all light sources as [emitters](LightSampler::emitters): the scene's lights, each emissive
//! surface, and the environment map. [`LightSampler::sample_emitter`] samples a point of one emitter, for a shadow ray.
//! Two methods select emitters when there are too many to visit all:
//! - [`LightSampler::light_pmf`] (`choice.rs`) computes a probability for each emitter;
//! - [`LightSampler::draw`] (`tree.rs`) draws one or two emitters from a light tree, in logarithmic time.
//!
//! BSDF-sampled rays can also hit emissive surfaces and the environment map. Solvers that count both kinds of rays
//! combine them by multiple importance sampling (Veach and Guibas 1995). The PDFs for the weights are
//! [`LightSample::pdf`], [`LightSampler::hit_pdf`] and [`LightSampler::sky_pdf`]. A uniform sky is no
//! emitter, because escaping rays sample it best.
//!
//! [`OneLight`] samples a single light, which need not be part of any scene. [`EmissionSampler`] samples the start of
//! light paths, [`LightAreaSampler`] points on luminous surfaces.

mod alias;
mod area;
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
    distribution::Distribution, emission::BoundingSphere, emissive_surface::EmissiveSurface, environment::Environment,
    lamp::Lamp, rectangle::RectangleLight,
};
use crate::geometry::{Hit, Ray, SurfaceId};
use crate::scene::{LightKind, Scene, Sky, Surface};

pub use self::alias::{AliasEntry, AliasTable};
pub use self::area::{LightAreaSampler, LightPoint};
pub use self::choice::{LightPmf, Place};
#[cfg(feature = "gpu")]
pub(crate) use self::description::{EmitterDescription, weigh_surface};
pub use self::emission::{Emission, EmissionSampler};
#[cfg(feature = "gpu")]
pub(crate) use self::emissive_surface::light_node_of;
pub(crate) use self::tree::{LightNode, LightTree};

/// Sampled point on a light, as seen from a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightSample {
    /// Shadow ray: the segment from the receiver to just short of the light.
    pub ray: Ray,
    /// Unit vector from the receiver to the sampled point.
    pub direction: Vec3,
    /// Unoccluded irradiance in lux per channel, divided by the PDF of the choice.
    pub irradiance: Vec3,
    /// PDF of the direction, per steradian; `None` for lights that BSDF-sampled rays cannot hit.
    pub pdf: Option<f32>,
}

/// Maximum PDF used for weights, per steradian: its square and the sum of two squares are finite. Slivers that are seen
/// edge-on reach it.
pub(crate) const MAX_PDF: f32 = 1e18;

/// Returns the power heuristic (Veach and Guibas 1995): the MIS weight of a sample with PDF `own` against a technique
/// with PDF `other`. Squares matter: a small lamp that one gather ray in a hundred hits must not add noise to
/// light-sampled estimates.
#[inline]
pub(crate) fn power_heuristic(own: f32, other: f32) -> f32 {
    let (own, other) = (own.min(MAX_PDF).powi(2), other.min(MAX_PDF).powi(2));
    if own > 0.0 { own / (own + other) } else { 0.0 }
}

enum Emitter {
    Lamp(Lamp),
    Rectangle(RectangleLight),
    Surface(EmissiveSurface),
    Environment(Environment),
}

impl Emitter {
    /// Samples a point of the emitter; see [`LightSampler::sample_emitter`].
    #[inline(always)]
    fn sample(&self, scene: &Scene, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        // Each arm filters its own sample, so that the samples need no common memory location.
        match self {
            Self::Lamp(lamp) => usable(lamp.sample(at, normal, u)),
            Self::Rectangle(rectangle) => usable(rectangle.sample(at, normal, u)),
            Self::Surface(surface) => usable(surface.sample(scene, at, normal, u)),
            Self::Environment(environment) => usable(environment.sample(at, normal, u)),
        }
    }

    /// Returns the approximate unoccluded illuminance in lux at a receiver.
    fn expected(&self, place: &Place) -> f32 {
        match self {
            Self::Lamp(lamp) => lamp.expected(place),
            Self::Rectangle(rectangle) => rectangle.expected(place),
            Self::Surface(surface) => surface.expected(place),
            Self::Environment(environment) => environment.expected(place),
        }
    }

    /// Returns the leaf for the light tree.
    fn node(&self) -> LightNode {
        match self {
            Self::Lamp(lamp) => lamp.node(),
            Self::Rectangle(rectangle) => rectangle.node(),
            Self::Surface(surface) => surface.node(),
            Self::Environment(environment) => environment.node(),
        }
    }

    /// Returns the luminous flux in lumens sent into a scene. `disc` is the scene's projected area in square meters for
    /// distant light.
    fn power(&self, disc: impl FnOnce() -> f32) -> f32 {
        match self {
            Self::Lamp(lamp) => lamp.power(disc),
            Self::Rectangle(rectangle) => rectangle.power(),
            Self::Surface(surface) => surface.power(),
            Self::Environment(environment) => environment.power() * disc(),
        }
    }
}

/// Drops samples without light, and those with infinite or NaN irradiance.
#[inline(always)]
fn usable(sample: Option<LightSample>) -> Option<LightSample> {
    sample.filter(|sample| sample.irradiance.is_finite() && sample.irradiance.max_element() > 0.0)
}

/// Returns the sphere around a scene's bounding box.
fn distant_disc(scene: &Scene) -> BoundingSphere {
    let bounds = scene.bounds();
    let diagonal = (bounds.max - bounds.min).max(Vec3::ZERO);
    BoundingSphere { center: bounds.min.min(bounds.max) + 0.5 * diagonal, radius: 0.5 * diagonal.length() }
}

/// Returns the approximate illuminance in lux from a diffuse emitter of `power` lumens. The view is that of the
/// emitter's nearest point. `area` bounds the result for close receivers, as radiance is bounded.
fn expected_of_diffuse(power: f32, area: f32, (distance_squared, facing): (f32, f32)) -> f32 {
    use core::f32::consts::PI;
    power / PI * facing / (distance_squared + area / PI)
}

/// Sampler of points on all light sources of a scene.
pub struct LightSampler<'a> {
    scene: &'a Scene,
    emitters: Vec<Emitter>,
    /// Index of each surface's emitter.
    emitter_of_surface: Vec<Option<usize>>,
    tree: LightTree,
}

impl<'a> LightSampler<'a> {
    /// Lists the emitters that bakes include: those with power that do not move.
    pub fn new(scene: &'a Scene) -> Self {
        Self::of(scene, Surface::is_in_bake)
    }

    /// Lists the emitters that images include: movers too, at their current transforms.
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

    /// Returns the luminous flux in lumens that each emitter sends into the scene. `disc` is the scene's projected area
    /// for distant light.
    fn powers_into(&self, disc: impl Fn() -> f32) -> Vec<f64> {
        self.emitters.iter().map(|emitter| f64::from(emitter.power(&disc).min(f32::MAX))).collect()
    }

    /// Returns the number of emitters.
    pub fn emitters(&self) -> usize {
        self.emitters.len()
    }

    /// Returns the probability of visiting each emitter for a sample of a receiver's light, with about `visits` visits.
    /// Probabilities grow with expected unoccluded illuminance, and none is zero.
    ///
    /// Takes time proportional to the number of emitters.
    pub fn light_pmf(&self, place: &Place, visits: usize) -> LightPmf {
        if self.emitters.len() <= visits {
            return LightPmf::All(self.emitters.len());
        }
        LightPmf::new(self.emitters.iter().map(|emitter| emitter.expected(place)).collect(), visits)
    }

    /// Samples one distant and one nearby emitter from the light tree, in proportion to estimated contribution. The
    /// receiver is at `at` with unit normal `normal`. Returns index and probability, or `None` where the estimate is
    /// zero.
    ///
    /// Takes time proportional to the logarithm of the number of emitters.
    #[inline(always)]
    pub fn draw(&self, at: Vec3, normal: Vec3, u: f32) -> [Option<(usize, f32)>; 2] {
        self.tree.draw(at, normal, u)
    }

    /// Returns the probability with which [`LightSampler::draw`] draws an emitter.
    #[inline]
    pub fn probability_of(&self, emitter: usize, at: Vec3, normal: Vec3) -> f32 {
        self.tree.probability_of(emitter, at, normal)
    }

    /// Returns the light tree leaf of each emitter.
    #[cfg(feature = "gpu")]
    pub(crate) fn light_nodes(&self) -> Vec<LightNode> {
        self.emitters.iter().map(Emitter::node).collect()
    }

    /// Samples a point of one emitter, from a receiver at `at` with unit normal `normal`.
    ///
    /// Returns `None` if light from that point cannot reach the receiver even unoccluded. Such a sample counts as zero.
    #[inline(always)]
    pub fn sample_emitter(&self, emitter: usize, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        self.emitters[emitter].sample(self.scene, at, normal, u)
    }

    /// Returns the index of a surface's emitter, if the surface emits light.
    #[inline]
    pub fn emitter_of(&self, surface: SurfaceId) -> Option<usize> {
        self.emitter_of_surface[surface.index()]
    }

    /// Returns the luminous flux in lumens emitted by a triangle of a surface, both sides together; zero if it is no
    /// emitter.
    pub fn power_of_triangle(&self, surface: SurfaceId, triangle: u32) -> f32 {
        match self.emitter_of(surface).map(|emitter| &self.emitters[emitter]) {
            Some(Emitter::Surface(surface)) => surface.power() * surface.triangles.probability(triangle as usize),
            _ => 0.0,
        }
    }

    /// Returns the PDF, per steradian, with which [`LightSampler::sample_emitter`] would have sampled a hit on an
    /// emissive surface. Zero if the surface is no emitter or shows its dark side.
    #[inline]
    pub fn hit_pdf(&self, ray: &Ray, hit: &Hit) -> f32 {
        match self.emitter_of(hit.surface).map(|emitter| &self.emitters[emitter]) {
            Some(Emitter::Surface(surface)) => surface.pdf(ray, hit),
            _ => 0.0,
        }
    }

    /// Returns the radiance in cd/m2 that leaves a surface at a hit, toward the ray's origin.
    pub fn hit_radiance(&self, hit: &Hit) -> Vec3 {
        match self.emitter_of(hit.surface).map(|emitter| &self.emitters[emitter]) {
            Some(Emitter::Surface(surface)) => surface.radiance(self.scene, hit),
            _ => Vec3::ZERO,
        }
    }

    /// Returns the index of the environment map's emitter, if there is one.
    pub fn sky_emitter(&self) -> Option<usize> {
        self.emitters.len().checked_sub(1).filter(|&last| matches!(self.emitters[last], Emitter::Environment(_)))
    }

    /// Returns the PDF, per steradian, with which [`LightSampler::sample_emitter`] would have sampled a direction (a
    /// unit vector) of the environment map. Zero if the sky is no map.
    pub fn sky_pdf(&self, direction: Vec3) -> f32 {
        match self.emitters.last() {
            Some(Emitter::Environment(environment)) => environment.pdf(direction),
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
