//! What paths meet: surfaces, lights and the sky, with light that may be found in two ways counted once.

use std::sync::Arc;

use glam::Vec3;

use super::Bsdf;
use super::looks::{Facts, Look};
use crate::geometry::sobol::unit_float;
use crate::geometry::{Hit, Ray, RayQuery};
use crate::scene::{Facets, LightSampler, MOST_DENSITY, Scene};

/// A scene, what its rays meet, and where its light comes from.
#[derive(Clone)]
pub(super) struct Surroundings<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub lights: &'a LightSampler<'a>,
    facets: Arc<Facets>,
    /// Of each surface.
    facts: Arc<[Facts]>,
}

/// A point that light reaches: on a surface, or of the air.
pub(super) struct Vertex {
    /// Lifted off its surface.
    pub position: Vec3,
    /// The same on the other side of the surface.
    pub behind: Vec3,
    pub geometric_normal: Vec3,
    pub shading_normal: Vec3,
}

impl Vertex {
    #[inline(always)]
    pub fn new(on_surface: Vec3, geometric_normal: Vec3, shading_normal: Vec3) -> Self {
        // A hundred times what rounding moves a point of the surface by.
        let lift = 1e-5 * on_surface.abs().max_element().max(1.0);
        let [position, behind] = [1.0, -1.0].map(|side| on_surface + geometric_normal * (side * lift));
        Self { position, behind, geometric_normal, shading_normal }
    }

    /// The same with the normal that the surface scatters light by.
    #[inline(always)]
    pub fn bent(self, bsdf: &Bsdf) -> Self {
        Self { shading_normal: bsdf.normal(), ..self }
    }
}

/// Where a path goes on that met a surface.
#[expect(
    clippy::large_enum_variant,
    reason = "it lives for one bounce, and boxing it would cost every path an allocation"
)]
pub(super) enum Crossing {
    /// Before it, with this weight.
    Stays(f32),
    /// Behind it.
    Goes { vertex: Vertex, bsdf: Bsdf, outgoing: Vec3 },
}

/// Light that comes straight from an emitter.
pub(super) struct Aimed {
    /// Unit vector toward it.
    pub direction: Vec3,
    /// Irradiance in lux, divided by the chance of aiming there.
    pub irradiance: Vec3,
    /// A ray may also meet it by chance.
    pub can_be_met: bool,
}

impl<'a> Surroundings<'a> {
    /// Of a scene as it is now.
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery, lights: &'a LightSampler<'a>) -> Self {
        let facts = Facts::of_all(scene, lights).into();
        Self { scene, world, lights, facets: Arc::new(Facets::new(scene)), facts }
    }

    /// Light that comes straight from one emitter, which is visited with some chance; its share where chance may find
    /// it too, with a density that depends on the direction.
    #[inline(always)]
    pub fn aim_at_light(
        &self,
        vertex: &Vertex,
        (emitter, chance): (usize, f32),
        u: [f32; 2],
        density: impl FnOnce(Vec3) -> f32,
    ) -> Option<Aimed> {
        let sample = self.lights.sample_emitter(emitter, vertex.position, vertex.shading_normal, u)?;
        if sample.direction.dot(vertex.geometric_normal) <= 0.0 {
            return None;
        }
        let share = sample.density.map_or(1.0, |aimed| share(chance * aimed, density(sample.direction)));
        let irradiance = sample.irradiance * (share / chance) * self.world.blocked(&sample.ray).0;
        Some(Aimed { direction: sample.direction, irradiance, can_be_met: sample.density.is_some() })
    }

    /// Radiance of the sky that a ray escaped to; its share where the ray's direction was chosen with some density by a
    /// vertex that also aimed at each emitter with some chance.
    pub fn met_sky(&self, direction: Vec3, density: Option<f32>, chance_of: impl Fn(usize) -> f32) -> Vec3 {
        let aimed =
            || self.lights.sky_emitter().map_or(0.0, |emitter| chance_of(emitter) * self.lights.sky_density(direction));
        self.scene.sky.radiance(direction) * density.map_or(1.0, |density| share(density, aimed()))
    }

    /// Radiance of the surface that a ray met; its share where the ray's direction was chosen with some density by a
    /// vertex that also aimed at each emitter with some chance.
    #[inline(always)]
    pub fn met_emission(&self, ray: &Ray, hit: &Hit, density: Option<f32>, chance_of: impl Fn(usize) -> f32) -> Vec3 {
        if !self.facts[hit.surface.index()].shines {
            return Vec3::ZERO;
        }
        let Some(emitter) = self.lights.emitter_of(hit.surface) else {
            return self.emission_of_mover(hit);
        };
        let aimed = || chance_of(emitter) * self.lights.hit_density(ray, hit);
        self.lights.hit_radiance(hit) * density.map_or(1.0, |density| share(density, aimed()))
    }

    /// Radiance of a surface that is not in the bake and therefore no emitter to aim at.
    fn emission_of_mover(&self, hit: &Hit) -> Vec3 {
        let material = self.scene.material_of(hit.surface);
        if self.scene.surface(hit.surface).is_in_bake() || !material.is_emissive() || self.scene.absorbs(hit) {
            return Vec3::ZERO;
        }
        material.emission_at(self.scene, self.scene.mesh_of(hit.surface), hit.triangle, hit.barycentric)
    }

    /// The point that a ray met and how it scatters light toward the ray's origin; not at all where it is the back of a
    /// surface that has none.
    #[inline(always)]
    pub fn scatterer(&self, hit: &Hit, outgoing: Vec3) -> (Vertex, Option<Bsdf>) {
        let vertex = self.vertex(hit);
        match self.look(hit) {
            Some(look) => {
                let bsdf = self.bsdf(look, hit, &vertex, outgoing);
                (vertex.bent(&bsdf), Some(bsdf))
            }
            None => (vertex, None),
        }
    }

    /// The far side of a surface that a ray met and that scatters light through, by chance: the point there, how light scatters
    /// from it, the direction toward the ray's origin as that side sees it, and what all this counts. The rest of the time
    /// the weight of the near side. Nothing of this where no light is scattered through.
    pub fn crossing(&self, hit: &Hit, outgoing: Vec3, random: u32) -> Crossing {
        let (scene, material) = (self.scene, self.scene.material_of(hit.surface));
        if material.diffuse_transmission <= 0.0 || scene.absorbs(hit) {
            return Crossing::Stays(1.0);
        }
        let crossing = material.crossing_at(scene, scene.mesh_of(hit.surface), hit.triangle, hit.barycentric);
        let Some(crossing) = crossing.filter(|crossing| crossing.chance > 0.0) else {
            return Crossing::Stays(1.0);
        };
        if unit_float(random) >= crossing.chance {
            return Crossing::Stays(1.0 / (1.0 - crossing.chance));
        }
        let Vertex { position, behind, geometric_normal, shading_normal } = self.vertex(hit);
        let vertex = Vertex {
            position: behind,
            behind: position,
            geometric_normal: -geometric_normal,
            shading_normal: -shading_normal,
        };
        let outgoing = outgoing - shading_normal * (2.0 * outgoing.dot(shading_normal));
        let bsdf = Bsdf::matt(crossing.tint(), vertex.shading_normal, outgoing);
        Crossing::Goes { vertex: vertex.bent(&bsdf), bsdf, outgoing }
    }

    /// What the surface looks like that a ray met; `None` where it is the back of one that has none.
    #[inline(always)]
    pub fn look(&self, hit: &Hit) -> Option<&Look> {
        let facts = &self.facts[hit.surface.index()];
        (!(hit.back && facts.is_one_sided)).then_some(&facts.look)
    }

    /// How a point that a ray met scatters light toward the ray's origin.
    #[inline(always)]
    pub fn bsdf(&self, look: &Look, hit: &Hit, vertex: &Vertex, outgoing: Vec3) -> Bsdf {
        let scene = self.scene;
        let material = scene.material_of(hit.surface);
        let appearance = match *look {
            Look::Matt(reflectance) => return Bsdf::matt(reflectance, vertex.shading_normal, outgoing),
            Look::Plain(appearance) => appearance,
            Look::Pictured => material.appearance_at(scene, scene.mesh_of(hit.surface), hit.triangle, hit.barycentric),
        };
        let appearance = if hit.back { appearance.from_within() } else { appearance };
        let normal = if material.normal_texture.is_some() {
            let side = if hit.back { -1.0 } else { 1.0 };
            scene.bumpy_normal(hit.surface, hit.triangle, hit.barycentric) * side
        } else {
            vertex.shading_normal
        };
        Bsdf::new(&appearance, normal, outgoing)
    }

    /// The point that a ray met, on the side that it met.
    #[inline(always)]
    pub fn vertex(&self, hit: &Hit) -> Vertex {
        let side = if hit.back { -1.0 } else { 1.0 };
        let (point, geometric, shading) =
            self.facets.point_and_normals(self.scene, hit.surface, hit.triangle, hit.barycentric);
        Vertex::new(point, geometric * side, shading * side)
    }
}

/// What part of the light in a direction counts for the way of choosing directions whose density is `own`, when another
/// way with density `other` could have chosen it too: the balance heuristic (Veach and Guibas 1995).
fn share(own: f32, other: f32) -> f32 {
    let (own, other) = (own.min(MOST_DENSITY), other.min(MOST_DENSITY));
    if own > 0.0 { own / (own + other) } else { 0.0 }
}

/// Reflections that no path is ended before.
const CERTAIN_REFLECTIONS: u32 = 3;
/// Most of the paths that roulette lets live, so that paths end between perfect reflectors too.
const HIGHEST_SURVIVAL: f32 = 0.95;

/// Ends a path by chance, and what goes on counts more, so that the mean stays: the weight to go on with. What carries
/// nothing always ends.
pub(super) fn roulette(weight: Vec3, reflections: u32, u: f32) -> Option<Vec3> {
    if reflections < CERTAIN_REFLECTIONS {
        return (weight != Vec3::ZERO).then_some(weight);
    }
    let survival = weight.max_element().min(HIGHEST_SURVIVAL);
    (u < survival).then(|| weight / survival)
}
