//! Light transport along rays between elements and lights.

use core::cell::OnceCell;
use core::f32::consts::{FRAC_1_PI, PI};

use glam::{Vec2, Vec3};

use super::inside_test::InsideTest;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2, unit_float};
use crate::geometry::{Hit, Ray, RayQuery};
use crate::lightmap::{ElementId, Elements, SurfacePoint};
use crate::lights::{LightPmf, LightSampler, Place, power_heuristic};
use crate::radiosity::bright::BrightElement;
use crate::radiosity::seeds::{Stage, seed_of_stage};
use crate::scene::Scene;

/// Number of emitters in a direct light sample of an element. With more emitters, the sample selects the most promising
/// ones.
const VISITS: usize = 4;

/// Number of emitters in a direct light sample on an unmapped surface.
const CONTINUATION_VISITS: usize = 2;

/// Number of bounces before Russian roulette.
const CERTAIN_BOUNCES: u32 = 3;

/// Number of bounces after which a ray counts as absorbed. Only mirrors without absorption reach this number.
pub(crate) const MAX_BOUNCES: u32 = 1024;

/// Shared data of all rays.
pub(in crate::radiosity) struct Transport<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub elements: &'a Elements,
    pub lights: LightSampler<'a>,
    inside_test: InsideTest<'a>,
    /// True if a material has diffuse transmission.
    is_translucent: bool,
    pub seed: u32,
}

/// Properties of the element from which rays start.
pub(in crate::radiosity) struct Source<'a> {
    pub element: usize,
    /// True if points of the element may lie inside geometry, so that each is tested.
    pub may_be_inside: bool,
    /// Probability of each emitter for light samples, computed for the first ray that needs them. Computing them takes
    /// time in proportion to the number of emitters, and few rays hit an emitter.
    pub light_pmf: OnceCell<LightPmf>,
    pub until: Until,
    /// Elements sampled as lights.
    pub bright: &'a [BrightElement],
}

/// End condition of gather rays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::radiosity) enum Until {
    /// Ends at the first element, after any number of bounces off unmapped surfaces.
    Element,
    /// Continues at elements too, up to this number of bounces.
    Bounces(u32),
}

impl Until {
    fn max_bounces(self) -> u32 {
        match self {
            Self::Element => MAX_BOUNCES,
            Self::Bounces(bounces) => bounces.min(MAX_BOUNCES),
        }
    }
}

/// Result of a gather ray.
pub(in crate::radiosity) struct Arrival {
    pub end: End,
    /// Fraction of the end element's radiosity that arrives, per color channel.
    pub tint: Vec3,
    /// Irradiance from an emitter or the sky at the first hit, in lux, with its MIS weight.
    pub direct: Vec3,
    /// Indirect irradiance collected along the path, in lux.
    pub continuation: Vec3,
    /// Number of traced rays.
    pub rays: u32,
}

/// End of a gather ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::radiosity) enum End {
    /// Hit on an element.
    Element(ElementId),
    /// Escape or absorption.
    Lost,
    /// Invalid sample: the ray started inside other geometry, or below its own surface.
    Inside,
}

impl<'a> Transport<'a> {
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery, elements: &'a Elements, seed: u32) -> Self {
        let is_translucent = scene.materials.iter().any(|material| material.diffuse_transmission > 0.0);
        let (lights, inside_test) = (LightSampler::new(scene), InsideTest::new(scene, world));
        Self { scene, world, elements, lights, inside_test, is_translucent, seed }
    }

    /// Returns the seed of an element's points in a stage of a half.
    pub fn seed_of(&self, half: usize, stage: Stage, element: usize) -> u32 {
        hash2(seed_of_stage(self.seed, half, stage), element as u32)
    }

    /// Returns the probability of each emitter in an element's direct light samples.
    pub fn light_pmf(&self, element: usize) -> LightPmf {
        let (at, normal) = (self.elements.center[element], self.elements.geometric_normal[element]);
        self.lights.light_pmf(&Place { at, normal, radius: self.elements.area[element].sqrt() }, VISITS)
    }

    /// Samples one point on one emitter. Returns its irradiance in lux, with shadows and the MIS weight, and true if a
    /// ray was traced. `probability` is the probability of the emitter.
    pub fn sample_direct_light(
        &self,
        emitter: usize,
        probability: f32,
        point: &SurfacePoint,
        u: [f32; 2],
    ) -> (Vec3, bool) {
        let Some(sample) = self.lights.sample_emitter(emitter, point.origin(), point.shading_normal, u) else {
            return (Vec3::ZERO, false);
        };
        if sample.direction.dot(point.geometric_normal) <= 0.0 {
            return (Vec3::ZERO, false);
        }
        let cosine_pdf = point.shading_normal.dot(sample.direction).max(0.0) * FRAC_1_PI;
        let weight = sample.pdf.map_or(1.0, |pdf| power_heuristic(probability * pdf, cosine_pdf));
        (self.world.blocked(&sample.ray).0 * sample.irradiance * (weight / probability), true)
    }

    /// Traces a gather ray from a point. The PDF of `direction` must be cosine over pi.
    ///
    /// Points of elements that `may_be_inside` are first tested for lying inside geometry. Other points are tested only
    /// if their ray hits an absorbing back face.
    // Inlining keeps the result of this hot function in registers.
    #[inline(always)]
    pub fn gather(&self, source: &Source, point: &SurfacePoint, direction: Vec3, seed: u32) -> Arrival {
        let mut arrival =
            Arrival { end: End::Lost, tint: Vec3::ONE, direct: Vec3::ZERO, continuation: Vec3::ZERO, rays: 0 };
        if direction.dot(point.geometric_normal) <= 0.0 {
            arrival.end = End::Inside;
            return arrival;
        }
        if source.may_be_inside && self.ends_inside(point, direction, &mut arrival) {
            return arrival;
        }
        let ray = point.ray(direction);
        arrival.rays += 1;
        let traced = self.world.trace(&ray);
        let hit = traced.ok();
        if hit.is_some_and(|hit| self.scene.absorbs(&hit)) {
            if !source.may_be_inside {
                self.ends_inside(point, direction, &mut arrival);
            }
            return arrival;
        }
        let cosine_pdf = point.shading_normal.dot(direction) * FRAC_1_PI;
        let light_pmf = || source.light_pmf.get_or_init(|| self.light_pmf(source.element));
        let emitted = self.radiance(&ray, hit.as_ref(), cosine_pdf, light_pmf);
        let hit = match traced {
            Ok(hit) => hit,
            Err(escaped) => {
                arrival.direct = emitted * escaped.filter;
                return arrival;
            }
        };
        arrival.direct = emitted * hit.filter;
        arrival.tint = hit.filter;
        let crossing = self.crossing(&hit, hash2(seed, 0));
        let ends_here = self.end_at(&hit, source.until).filter(|_| crossing.is_none());
        match ends_here {
            Some(element) => arrival.end = End::Element(element),
            None => self.continuation(hit, crossing, source.until, seed, &mut arrival),
        }
        if let End::Element(element) = arrival.end
            && let Some(bright) = BrightElement::find(source.bright, element)
        {
            // After a bounce no light sample covers the bright elements, so the weight is 1.
            let weight = ends_here.map_or(1.0, |_| {
                let leaving = direction.dot(SurfacePoint::from_hit(self.scene, &hit).geometric_normal);
                power_heuristic(cosine_pdf, bright.pdf(hit.t * hit.t, leaving))
            });
            arrival.continuation += arrival.tint * bright.radiosity * weight;
        }
        arrival
    }

    /// Returns the tint of a ray that continues behind a translucent surface, or `None` if it stays in front. The
    /// choice is random, seeded by the bounce.
    #[inline(always)]
    fn crossing(&self, hit: &Hit, seed: u32) -> Option<Vec3> {
        if self.is_translucent { self.crossing_at_random(hit, seed) } else { None }
    }

    #[cold]
    fn crossing_at_random(&self, hit: &Hit, seed: u32) -> Option<Vec3> {
        let (material, mesh) = (self.scene.material_of(hit.surface), self.scene.mesh_of(hit.surface));
        let crossing = material.crossing_at(self.scene, mesh, hit.triangle, hit.barycentric)?;
        (unit_float(hash2(seed, 3)) < crossing.probability).then(|| crossing.tint())
    }

    /// Returns the element at which a ray ends, if any.
    #[inline(always)]
    fn end_at(&self, hit: &Hit, until: Until) -> Option<ElementId> {
        if until == Until::Element { self.elements.element_at(hit) } else { None }
    }

    #[cold]
    fn ends_inside(&self, point: &SurfacePoint, direction: Vec3, arrival: &mut Arrival) -> bool {
        let (inside, rays) = self.inside_test.is_inside(point, direction);
        arrival.rays += rays;
        if inside {
            arrival.end = End::Inside;
        }
        inside
    }

    /// Returns the irradiance from an emissive surface or the sky hit by a ray, weighted against light samples (MIS).
    fn radiance<'c>(
        &self,
        ray: &Ray,
        hit: Option<&Hit>,
        cosine_pdf: f32,
        light_pmf: impl FnOnce() -> &'c LightPmf,
    ) -> Vec3 {
        let (radiance, pdf, emitter) = match hit {
            None => {
                (self.scene.sky.radiance(ray.direction), self.lights.sky_pdf(ray.direction), self.lights.sky_emitter())
            }
            Some(hit) => match self.lights.emitter_of(hit.surface) {
                None => return Vec3::ZERO,
                emitter => (self.lights.hit_radiance(hit), self.lights.hit_pdf(ray, hit), emitter),
            },
        };
        let light_pdf = emitter.map_or(0.0, |emitter| light_pmf().of(emitter) * pdf);
        radiance * (PI * power_heuristic(cosine_pdf, light_pdf))
    }

    /// Continues the path at surfaces where a ray does not end, in front of them or tinted behind them. It samples
    /// lights as a path tracer does.
    #[inline(never)]
    fn continuation(&self, first: Hit, crossing: Option<Vec3>, until: Until, ray_seed: u32, arrival: &mut Arrival) {
        let mut hit = first;
        let mut crossing = crossing;
        for bounce in 0..until.max_bounces() {
            let mesh = self.scene.mesh_of(hit.surface);
            let material = self.scene.material_of(hit.surface);
            let reflectance = || material.reflectance_at(self.scene, mesh, hit.triangle, hit.barycentric);
            arrival.tint *= crossing.unwrap_or_else(reflectance);
            hit.back ^= crossing.is_some();
            let seed = hash2(ray_seed, bounce);
            // Russian roulette: surviving rays carry the energy of the others.
            let stays = if bounce < CERTAIN_BOUNCES { 1.0 } else { arrival.tint.max_element() };
            if arrival.tint == Vec3::ZERO || unit_float(hash2(seed, 2)) >= stays {
                return;
            }
            arrival.tint /= stays;
            let point = SurfacePoint::from_hit(self.scene, &hit);
            let [x, y, u, v] = OwenSobol::new(seed).point(0);
            let place = Place { at: point.position, normal: point.geometric_normal, radius: 0.0 };
            let light_pmf = self.lights.light_pmf(&place, CONTINUATION_VISITS);
            light_pmf.visit([unit_float(hash2(seed, 1))], |_, emitter, probability| {
                let (light, traced) = self.sample_direct_light(emitter, probability, &point, [u, v]);
                arrival.continuation += arrival.tint * light;
                arrival.rays += u32::from(traced);
            });
            let direction = cosine_hemisphere(point.shading_normal, Vec2::new(x, y));
            if direction.dot(point.geometric_normal) <= 0.0 {
                return;
            }
            let ray = point.ray(direction);
            arrival.rays += 1;
            let traced = self.world.trace(&ray);
            let next = traced.ok();
            if next.is_some_and(|next| self.scene.absorbs(&next)) {
                return;
            }
            let cosine_pdf = point.shading_normal.dot(direction) * FRAC_1_PI;
            let emitted = self.radiance(&ray, next.as_ref(), cosine_pdf, || &light_pmf);
            let next = match traced {
                Ok(next) => next,
                Err(escaped) => {
                    arrival.continuation += arrival.tint * escaped.filter * emitted;
                    return;
                }
            };
            arrival.tint *= next.filter;
            arrival.continuation += arrival.tint * emitted;
            crossing = self.crossing(&next, hash2(ray_seed, bounce + 1));
            if let Some(element) = self.end_at(&next, until).filter(|_| crossing.is_none()) {
                arrival.end = End::Element(element);
                return;
            }
            hit = next;
        }
    }
}
