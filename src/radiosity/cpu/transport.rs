//! Rays between elements and lights, and what they carry.

use core::f32::consts::{FRAC_1_PI, PI};

use glam::{Vec2, Vec3};

use super::buried::Burial;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2, unit_float};
use crate::geometry::{Hit, Ray, RayQuery};
use crate::lightmap::{ElementId, Elements, SurfacePoint};
use crate::radiosity::bright::BrightElement;
use crate::radiosity::seeds::{Stage, seed_of_stage};
use crate::scene::{Chances, LightSampler, Place, Scene, share};

/// Emitters that a sample of an element's direct light visits: all of them, or with more those that promise most.
const VISITS: usize = 4;

/// The same on a surface without elements.
const DETOUR_VISITS: usize = 2;

/// Bounces that a ray makes before chance decides whether it goes on.
const CERTAIN_BOUNCES: u32 = 3;

/// Bounces after which a ray counts as absorbed: only between mirrors that swallow nothing are there as many.
pub(crate) const MOST_BOUNCES: u32 = 1024;

/// Everything that rays ask for.
pub(in crate::radiosity) struct Transport<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub elements: &'a Elements,
    pub lights: LightSampler<'a>,
    burial: Burial<'a>,
    /// Some material scatters light through its surface.
    is_translucent: bool,
    pub seed: u32,
}

/// What rays know of the element that they leave.
pub(in crate::radiosity) struct Source<'a> {
    pub element: usize,
    /// It is known to have buried points.
    pub suspect: bool,
    /// With what chance its samples of direct light visit each emitter.
    pub chances: Chances,
    pub until: Until,
    /// Elements that are sampled as lights.
    pub bright: &'a [BrightElement],
}

/// How far a gather ray is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::radiosity) enum Until {
    /// To the first element, however many surfaces without elements it has to bounce off.
    Element,
    /// Through elements as well, until it has bounced so often.
    Bounces(u32),
}

impl Until {
    fn most_bounces(self) -> u32 {
        match self {
            Self::Element => MOST_BOUNCES,
            Self::Bounces(bounces) => bounces.min(MOST_BOUNCES),
        }
    }
}

/// What a gather ray found.
pub(in crate::radiosity) struct Arrival {
    pub end: End,
    /// Share of the end's radiosity that arrives, per channel.
    pub tint: Vec3,
    /// Irradiance that the ray stands for: direct light of what it met.
    pub direct: Vec3,
    /// Indirect light that it collected where it bounced.
    pub detour: Vec3,
    /// Rays traced.
    pub rays: u32,
}

/// Where a gather ray ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::radiosity) enum End {
    /// On an element.
    Element(ElementId),
    /// It escaped or was absorbed.
    Lost,
    /// It started inside other geometry, or below its own surface: it does not count.
    Buried,
}

impl<'a> Transport<'a> {
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery, elements: &'a Elements, seed: u32) -> Self {
        let is_translucent = scene.materials.iter().any(|material| material.diffuse_transmission > 0.0);
        let (lights, burial) = (LightSampler::new(scene), Burial::new(scene, world));
        Self { scene, world, elements, lights, burial, is_translucent, seed }
    }

    /// The seed of an element's points in a stage of a half.
    pub fn seed_of(&self, half: usize, stage: Stage, element: usize) -> u32 {
        hash2(seed_of_stage(self.seed, half, stage), element as u32)
    }

    /// With what chance a sample of an element's direct light visits each emitter.
    pub fn chances(&self, element: usize) -> Chances {
        let (at, normal) = (self.elements.centre[element], self.elements.geometric_normal[element]);
        self.lights.chances(&Place { at, normal, radius: self.elements.area[element].sqrt() }, VISITS)
    }

    /// Irradiance that one point of one emitter brings, shadows and the weight of aimed rays included, and whether a
    /// ray was traced. `chance` is that of the visit.
    pub fn aimed_light(&self, emitter: usize, chance: f32, point: &SurfacePoint, u: [f32; 2]) -> (Vec3, bool) {
        let Some(sample) = self.lights.sample_emitter(emitter, point.origin(), point.shading_normal, u) else {
            return (Vec3::ZERO, false);
        };
        if sample.direction.dot(point.geometric_normal) <= 0.0 {
            return (Vec3::ZERO, false);
        }
        let by_chance = point.shading_normal.dot(sample.direction).max(0.0) * FRAC_1_PI;
        let weight = sample.density.map_or(1.0, |density| share(chance * density, by_chance));
        (self.world.blocked(&sample.ray).0 * sample.irradiance * (weight / chance), true)
    }

    /// Follows a gather ray from a point, along a direction that was chosen with a density of cosine over pi.
    ///
    /// A point of a suspect element, one that has buried points, is asked first whether it is one of them; other
    /// points only when their ray meets a back that absorbs.
    // Every ray comes through here, and what it found need not go through memory.
    #[inline(always)]
    pub fn gather(&self, source: &Source, point: &SurfacePoint, direction: Vec3, seed: u32) -> Arrival {
        let mut arrival = Arrival { end: End::Lost, tint: Vec3::ONE, direct: Vec3::ZERO, detour: Vec3::ZERO, rays: 0 };
        if direction.dot(point.geometric_normal) <= 0.0 {
            arrival.end = End::Buried;
            return arrival;
        }
        if source.suspect && self.buries(point, direction, &mut arrival) {
            return arrival;
        }
        let ray = point.ray(direction);
        arrival.rays += 1;
        let met = self.world.trace(&ray);
        let hit = met.ok();
        if hit.is_some_and(|hit| self.scene.absorbs(&hit)) {
            if !source.suspect {
                self.buries(point, direction, &mut arrival);
            }
            return arrival;
        }
        let by_chance = point.shading_normal.dot(direction) * FRAC_1_PI;
        let shining = self.radiance(&ray, hit.as_ref(), by_chance, &source.chances);
        let hit = match met {
            Ok(hit) => hit,
            Err(escaped) => {
                arrival.direct = shining * escaped.filter;
                return arrival;
            }
        };
        arrival.direct = shining * hit.filter;
        arrival.tint = hit.filter;
        let crossing = self.crossing(&hit, hash2(seed, 0));
        let ends_here = self.end_at(&hit, source.until).filter(|_| crossing.is_none());
        match ends_here {
            Some(element) => arrival.end = End::Element(element),
            None => self.detour(hit, crossing, source.until, seed, &mut arrival),
        }
        if let End::Element(element) = arrival.end
            && let Some(bright) = BrightElement::find(source.bright, element)
        {
            // Where a ray has bounced, nothing was aimed at bright elements.
            let weight = ends_here.map_or(1.0, |_| {
                let leaving = direction.dot(SurfacePoint::from_hit(self.scene, &hit).geometric_normal);
                share(by_chance, bright.density(hit.t * hit.t, leaving))
            });
            arrival.detour += arrival.tint * bright.radiosity * weight;
        }
        arrival
    }

    /// The tint with which a ray goes on behind a surface that scatters light through; `None` for rays that stay before it.
    /// Chance is that of the bounce.
    #[inline(always)]
    fn crossing(&self, hit: &Hit, seed: u32) -> Option<Vec3> {
        if self.is_translucent { self.crossing_by_chance(hit, seed) } else { None }
    }

    #[cold]
    fn crossing_by_chance(&self, hit: &Hit, seed: u32) -> Option<Vec3> {
        let (material, mesh) = (self.scene.material_of(hit.surface), self.scene.mesh_of(hit.surface));
        let crossing = material.crossing_at(self.scene, mesh, hit.triangle, hit.barycentric)?;
        (unit_float(hash2(seed, 3)) < crossing.chance).then(|| crossing.tint())
    }

    /// The element that a ray ends at, if it does.
    #[inline(always)]
    fn end_at(&self, hit: &Hit, until: Until) -> Option<ElementId> {
        if until == Until::Element { self.elements.element_at(hit) } else { None }
    }

    #[cold]
    fn buries(&self, point: &SurfacePoint, direction: Vec3, arrival: &mut Arrival) -> bool {
        let (buried, rays) = self.burial.is_buried(point, direction);
        arrival.rays += rays;
        if buried {
            arrival.end = End::Buried;
        }
        buried
    }

    /// Irradiance that a ray stands for which met a shining surface or the sky by chance, weighed against rays aimed
    /// there.
    fn radiance(&self, ray: &Ray, hit: Option<&Hit>, by_chance: f32, chances: &Chances) -> Vec3 {
        let (radiance, density, emitter) = match hit {
            None => (
                self.scene.sky.radiance(ray.direction),
                self.lights.sky_density(ray.direction),
                self.lights.sky_emitter(),
            ),
            Some(hit) => match self.lights.emitter_of(hit.surface) {
                None => return Vec3::ZERO,
                emitter => (self.lights.hit_radiance(hit), self.lights.hit_density(ray, hit), emitter),
            },
        };
        let aimed = emitter.map_or(0.0, |emitter| chances.of(emitter) * density);
        radiance * (PI * share(by_chance, aimed))
    }

    /// Carries on from where a ray does not end, as a path tracer does: before the surface, or behind it with a tint.
    #[inline(never)]
    fn detour(&self, first: Hit, crossing: Option<Vec3>, until: Until, ray_seed: u32, arrival: &mut Arrival) {
        let mut hit = first;
        let mut crossing = crossing;
        for bounce in 0..until.most_bounces() {
            let mesh = self.scene.mesh_of(hit.surface);
            let material = self.scene.material_of(hit.surface);
            let reflectance = || material.reflectance_at(self.scene, mesh, hit.triangle, hit.barycentric);
            arrival.tint *= crossing.unwrap_or_else(reflectance);
            hit.back ^= crossing.is_some();
            let seed = hash2(ray_seed, bounce);
            // Those that go on stand for those that do not.
            let stays = if bounce < CERTAIN_BOUNCES { 1.0 } else { arrival.tint.max_element() };
            if arrival.tint == Vec3::ZERO || unit_float(hash2(seed, 2)) >= stays {
                return;
            }
            arrival.tint /= stays;
            let point = SurfacePoint::from_hit(self.scene, &hit);
            let [x, y, u, v] = OwenSobol::new(seed).point(0);
            let place = Place { at: point.position, normal: point.geometric_normal, radius: 0.0 };
            let chances = self.lights.chances(&place, DETOUR_VISITS);
            for (emitter, chance) in chances.visited(unit_float(hash2(seed, 1))) {
                let (light, traced) = self.aimed_light(emitter, chance, &point, [u, v]);
                arrival.detour += arrival.tint * light;
                arrival.rays += u32::from(traced);
            }
            let direction = cosine_hemisphere(point.shading_normal, Vec2::new(x, y));
            if direction.dot(point.geometric_normal) <= 0.0 {
                return;
            }
            let ray = point.ray(direction);
            arrival.rays += 1;
            let met = self.world.trace(&ray);
            let next = met.ok();
            if next.is_some_and(|next| self.scene.absorbs(&next)) {
                return;
            }
            let by_chance = point.shading_normal.dot(direction) * FRAC_1_PI;
            let shining = self.radiance(&ray, next.as_ref(), by_chance, &chances);
            let next = match met {
                Ok(next) => next,
                Err(escaped) => {
                    arrival.detour += arrival.tint * escaped.filter * shining;
                    return;
                }
            };
            arrival.tint *= next.filter;
            arrival.detour += arrival.tint * shining;
            crossing = self.crossing(&next, hash2(ray_seed, bounce + 1));
            if let Some(element) = self.end_at(&next, until).filter(|_| crossing.is_none()) {
                arrival.end = End::Element(element);
                return;
            }
            hit = next;
        }
    }
}
