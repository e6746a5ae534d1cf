//! Scattering context of paths: surfaces, lights and the sky, with multiple importance sampling.

use std::sync::Arc;

use glam::Vec3;

use super::Bsdf;
use super::material_class::{MaterialClass, SurfaceProperties};
use crate::geometry::sobol::unit_float;
use crate::geometry::{Hit, Ray, RayQuery};
use crate::lights::{LightSampler, MAX_PDF};
use crate::scene::{Facets, Scene};

/// Scene, ray queries and light sampler, shared by all vertices of a path.
#[derive(Clone)]
pub(super) struct ScatteringContext<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub lights: &'a LightSampler<'a>,
    facets: Arc<Facets>,
    /// Properties of each surface, indexed by surface.
    properties: Arc<[SurfaceProperties]>,
}

/// Path vertex: a point on a surface or in the air.
pub(super) struct Vertex {
    /// Position offset to the front side of the surface, in meters.
    pub position: Vec3,
    /// Position offset to the other side of the surface, in meters.
    pub behind: Vec3,
    pub geometric_normal: Vec3,
    pub shading_normal: Vec3,
}

impl Vertex {
    #[inline(always)]
    pub fn new(on_surface: Vec3, geometric_normal: Vec3, shading_normal: Vec3) -> Self {
        // The offset is a hundred times the rounding error of a surface point.
        let ray_epsilon = 1e-5 * on_surface.abs().max_element().max(1.0);
        let [position, behind] = [1.0, -1.0].map(|side| on_surface + geometric_normal * (side * ray_epsilon));
        Self { position, behind, geometric_normal, shading_normal }
    }

    /// Returns the vertex with the shading normal of the BSDF.
    #[inline(always)]
    pub fn bent(self, bsdf: &Bsdf) -> Self {
        Self { shading_normal: bsdf.normal(), ..self }
    }
}

/// Continuation of a path after a hit.
#[expect(
    clippy::large_enum_variant,
    reason = "it lives for one bounce, and boxing it would cost every path an allocation"
)]
pub(super) enum Crossing {
    /// Same side, with this weight.
    Stays(f32),
    /// Other side of the surface.
    Goes { vertex: Vertex, bsdf: Bsdf, outgoing: Vec3 },
}

/// Direct light from an emitter.
pub(super) struct DirectSample {
    /// Unit direction to the emitter.
    pub direction: Vec3,
    /// Irradiance in lux, divided by the sampling PDF.
    pub irradiance: Vec3,
    /// True if a ray can also hit the emitter.
    pub can_be_hit: bool,
}

impl<'a> ScatteringContext<'a> {
    /// Creates the context of a scene in its current state.
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery, lights: &'a LightSampler<'a>) -> Self {
        let properties = SurfaceProperties::of_all(scene, lights).into();
        Self { scene, world, lights, facets: Arc::new(Facets::new(scene)), properties }
    }

    /// Samples direct light from one emitter, selected with the given probability. Applies the MIS weight against
    /// `pdf`, the PDF of direction sampling.
    #[inline(always)]
    pub fn sample_light(
        &self,
        vertex: &Vertex,
        (emitter, probability): (usize, f32),
        u: [f32; 2],
        pdf: impl FnOnce(Vec3) -> f32,
    ) -> Option<DirectSample> {
        let sample = self.lights.sample_emitter(emitter, vertex.position, vertex.shading_normal, u)?;
        if sample.direction.dot(vertex.geometric_normal) <= 0.0 {
            return None;
        }
        let share =
            sample.pdf.map_or(1.0, |light_pdf| balance_heuristic(probability * light_pdf, pdf(sample.direction)));
        let irradiance = sample.irradiance * (share / probability) * self.world.blocked(&sample.ray).0;
        Some(DirectSample { direction: sample.direction, irradiance, can_be_hit: sample.pdf.is_some() })
    }

    /// Returns the radiance of the sky in the direction of an escaped ray. With a PDF, applies the MIS weight against
    /// light sampling, where `probability_of` is the selection probability of an emitter.
    pub fn eval_environment(&self, direction: Vec3, pdf: Option<f32>, probability_of: impl Fn(usize) -> f32) -> Vec3 {
        let light_pdf = || {
            self.lights.sky_emitter().map_or(0.0, |emitter| probability_of(emitter) * self.lights.sky_pdf(direction))
        };
        self.scene.sky.radiance(direction) * pdf.map_or(1.0, |pdf| balance_heuristic(pdf, light_pdf()))
    }

    /// Returns the emitted radiance at a hit. With a PDF, applies the MIS weight against light sampling, where
    /// `probability_of` is the selection probability of an emitter.
    #[inline(always)]
    pub fn eval_emission(&self, ray: &Ray, hit: &Hit, pdf: Option<f32>, probability_of: impl Fn(usize) -> f32) -> Vec3 {
        if !self.properties[hit.surface.index()].shines {
            return Vec3::ZERO;
        }
        let Some(emitter) = self.lights.emitter_of(hit.surface) else {
            return self.emission_of_mover(hit);
        };
        let light_pdf = || probability_of(emitter) * self.lights.hit_pdf(ray, hit);
        self.lights.hit_radiance(hit) * pdf.map_or(1.0, |pdf| balance_heuristic(pdf, light_pdf()))
    }

    /// Returns the emitted radiance of a surface outside the bake, which light sampling does not know.
    fn emission_of_mover(&self, hit: &Hit) -> Vec3 {
        let material = self.scene.material_of(hit.surface);
        if self.scene.surface(hit.surface).is_in_bake() || !material.is_emissive() || self.scene.absorbs(hit) {
            return Vec3::ZERO;
        }
        material.emission_at(self.scene, self.scene.mesh_of(hit.surface), hit.triangle, hit.barycentric)
    }

    /// Returns the vertex at a hit and its BSDF towards the ray's origin. The BSDF is `None` on the back of a one-sided
    /// surface.
    #[inline(always)]
    pub fn scatterer(&self, hit: &Hit, outgoing: Vec3) -> (Vertex, Option<Bsdf>) {
        let vertex = self.vertex(hit);
        match self.class(hit) {
            Some(class) => {
                let bsdf = self.bsdf(class, hit, &vertex, outgoing);
                (vertex.bent(&bsdf), Some(bsdf))
            }
            None => (vertex, None),
        }
    }

    /// Decides randomly whether the path crosses a surface with diffuse transmission. After a crossing, returns the
    /// vertex and the BSDF of the far side, and the viewing direction mirrored to that side. Otherwise returns the
    /// weight of the near side. The weight is 1 for surfaces without diffuse transmission.
    pub fn crossing(&self, hit: &Hit, outgoing: Vec3, random: u32) -> Crossing {
        let (scene, material) = (self.scene, self.scene.material_of(hit.surface));
        if material.diffuse_transmission <= 0.0 || scene.absorbs(hit) {
            return Crossing::Stays(1.0);
        }
        let crossing = material.crossing_at(scene, scene.mesh_of(hit.surface), hit.triangle, hit.barycentric);
        let Some(crossing) = crossing.filter(|crossing| crossing.probability > 0.0) else {
            return Crossing::Stays(1.0);
        };
        if unit_float(random) >= crossing.probability {
            return Crossing::Stays(1.0 / (1.0 - crossing.probability));
        }
        let Vertex { position, behind, geometric_normal, shading_normal } = self.vertex(hit);
        let vertex = Vertex {
            position: behind,
            behind: position,
            geometric_normal: -geometric_normal,
            shading_normal: -shading_normal,
        };
        let outgoing = outgoing - shading_normal * (2.0 * outgoing.dot(shading_normal));
        let bsdf = Bsdf::diffuse(crossing.tint(), vertex.shading_normal, outgoing);
        Crossing::Goes { vertex: vertex.bent(&bsdf), bsdf, outgoing }
    }

    /// Returns the material class at a hit, or `None` on the back of a one-sided surface.
    #[inline(always)]
    pub fn class(&self, hit: &Hit) -> Option<&MaterialClass> {
        let properties = &self.properties[hit.surface.index()];
        (!(hit.back && properties.is_one_sided)).then_some(&properties.class)
    }

    /// Returns the BSDF at a hit, towards the ray's origin.
    #[inline(always)]
    pub fn bsdf(&self, class: &MaterialClass, hit: &Hit, vertex: &Vertex, outgoing: Vec3) -> Bsdf {
        let scene = self.scene;
        let material = scene.material_of(hit.surface);
        let appearance = match *class {
            MaterialClass::Diffuse(reflectance) => return Bsdf::diffuse(reflectance, vertex.shading_normal, outgoing),
            MaterialClass::Constant(appearance) => appearance,
            MaterialClass::Textured => {
                material.appearance_at(scene, scene.mesh_of(hit.surface), hit.triangle, hit.barycentric)
            }
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

    /// Returns the vertex at a hit, on the side that the ray hit.
    #[inline(always)]
    pub fn vertex(&self, hit: &Hit) -> Vertex {
        let side = if hit.back { -1.0 } else { 1.0 };
        let (point, geometric, shading) =
            self.facets.point_and_normals(self.scene, hit.surface, hit.triangle, hit.barycentric);
        Vertex::new(point, geometric * side, shading * side)
    }
}

/// Returns the MIS weight of a technique with PDF `own` against another with PDF `other`: the balance heuristic (Veach
/// and Guibas 1995).
fn balance_heuristic(own: f32, other: f32) -> f32 {
    let (own, other) = (own.min(MAX_PDF), other.min(MAX_PDF));
    if own > 0.0 { own / (own + other) } else { 0.0 }
}

/// Number of reflections before Russian roulette starts.
const CERTAIN_REFLECTIONS: u32 = 3;
/// Maximum survival probability, so that paths end even between perfect reflectors.
const HIGHEST_SURVIVAL: f32 = 0.95;

/// Plays Russian roulette: returns the weight of a surviving path, scaled to keep the mean. Paths without weight always
/// end.
pub(super) fn roulette(weight: Vec3, reflections: u32, u: f32) -> Option<Vec3> {
    if reflections < CERTAIN_REFLECTIONS {
        return (weight != Vec3::ZERO).then_some(weight);
    }
    let survival = weight.max_element().min(HIGHEST_SURVIVAL);
    (u < survival).then(|| weight / survival)
}
