//! Emissive surfaces as area lights.

use glam::{Vec2, Vec3};

use super::tree::joined_cones;
use super::{Distribution, Emission, LightNode, LightPoint, LightSample, Place, expected_of_diffuse};
use crate::geometry::sampling::{cosine_hemisphere, uniform_triangle};
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Aabb, Hit, Ray, SurfaceId, Triangle};
use crate::scene::luminance;
use crate::scene::{Scene, Sides};

/// Triangles of an emissive surface, sampled by power.
pub(super) struct EmissiveSurface {
    pub(super) surface: SurfaceId,
    facets: Vec<Facet>,
    pub(super) triangles: Distribution,
    power: f32,
    pub(super) bounds: Aabb,
    /// Area of all sides in square meters.
    pub(super) area: f32,
    both_sides: bool,
    /// Radiance in cd/m2, if uniform over the surface.
    constant_radiance: Option<Vec3>,
}

/// Triangle in world space.
struct Facet {
    triangle: Triangle,
    /// Unit normal of the front.
    normal: Vec3,
    area: f32,
}

impl EmissiveSurface {
    /// Builds the light of a surface; `None` if the surface emits nothing.
    pub fn new(scene: &Scene, surface: SurfaceId) -> Option<Self> {
        let material = scene.material_of(surface);
        if !material.is_emissive() {
            return None;
        }
        let both_sides = scene.surface(surface).sides == Sides::Both;
        let sides = if both_sides { 2.0 } else { 1.0 };
        let facets: Vec<Facet> = (0..scene.mesh_of(surface).triangles.len() as u32)
            .map(|index| {
                let triangle = scene.triangle(surface, index);
                Facet { triangle, normal: scene.geometric_normal(surface, index), area: triangle.area() }
            })
            .collect();
        let bounds = facets.iter().fold(Aabb::EMPTY, |bounds, facet| bounds.union(facet.triangle.bounds()));
        let area = sides * facets.iter().map(|facet| facet.area).sum::<f32>();
        let power_of = |(index, facet): (usize, &Facet)| facet.area * mean_luminance(scene, surface, index as u32);
        let powers: Vec<f32> = facets.iter().enumerate().map(power_of).collect();
        let power = core::f32::consts::PI * sides * powers.iter().sum::<f32>();
        (power > 0.0).then(|| Self {
            surface,
            facets,
            triangles: Distribution::new(powers),
            power,
            bounds,
            area,
            both_sides,
            constant_radiance: (material.emission_texture.is_none() && !material.can_be_passed())
                .then_some(material.emission),
        })
    }

    /// Returns the emitted luminous flux in lumens.
    pub fn power(&self) -> f32 {
        self.power
    }

    /// Returns the approximate unoccluded illuminance in lux at a receiver.
    pub fn expected(&self, place: &Place) -> f32 {
        let nearest = place.at.clamp(self.bounds.min, self.bounds.max);
        expected_of_diffuse(self.power, self.area, place.view_of(nearest))
    }

    /// Returns the leaf for the light tree.
    pub fn node(&self) -> LightNode {
        node_of(self.facets.iter().map(|facet| (facet.triangle, facet.normal)), self.power, self.both_sides)
    }

    #[inline(always)]
    pub fn sample(&self, scene: &Scene, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        let choice = self.triangles.sample(u[0]);
        let index = choice.index as u32;
        let barycentric = uniform_triangle(Vec2::new(choice.rest, u[1]));
        let point = self.facets[choice.index].triangle.at(barycentric);
        let offset = point - at;
        let direction = offset.try_normalize()?;
        let cosine = normal.dot(direction);
        if cosine <= 0.0 {
            return None;
        }
        let (seen, chosen) = (self.seen_area(index, direction)?, choice.probability * offset.length_squared());
        let radiance = self.stopped_radiance(scene, index, barycentric);
        // Two independent divisions can run in parallel.
        let (pdf, irradiance) = (chosen / seen, radiance * (cosine * seen / chosen));
        Some(LightSample { ray: Ray::between(at, point), direction, irradiance, pdf: Some(pdf) })
    }

    /// Samples an emitted ray by four numbers in `[0, 1)`.
    pub fn emit(&self, scene: &Scene, u: [f32; 4]) -> Option<Emission> {
        let choice = self.triangles.sample(u[0]);
        let facet = &self.facets[choice.index];
        let barycentric = uniform_triangle(Vec2::new(choice.rest, u[1]));
        // Selecting the side uses one bit of a number that has many more.
        let (is_back, along) = if self.both_sides { (u[2] >= 0.5, (u[2] * 2.0).fract()) } else { (false, u[2]) };
        let sides = if self.both_sides { 2.0 } else { 1.0 };
        let point = self.point(scene, choice.index as u32, is_back, barycentric);
        let power = point.radiance * (core::f32::consts::PI * facet.area * sides / choice.probability);
        let ray = Ray::new(point.position, cosine_hemisphere(point.normal, Vec2::new(along, u[3])));
        Some(Emission { ray, power, radiance: Some(point.radiance), range: f32::INFINITY })
    }

    /// Returns a point of a side of a triangle, lifted off the surface.
    pub fn point(&self, scene: &Scene, triangle: u32, is_back: bool, barycentric: Vec2) -> LightPoint {
        let facet = &self.facets[triangle as usize];
        let normal = if is_back { -facet.normal } else { facet.normal };
        let point = facet.triangle.at(barycentric);
        let position = point + normal * (1e-5 * point.abs().max_element().max(1.0));
        LightPoint { position, normal, radiance: self.stopped_radiance(scene, triangle, barycentric) }
    }

    /// Returns the sides that emit: the triangle of each, true for its back, and its area in square meters.
    pub fn sides(&self) -> impl Iterator<Item = (u32, bool, f32)> + '_ {
        let backs: &[bool] = if self.both_sides { &[false, true] } else { &[false] };
        let facets = self.facets.iter().enumerate();
        facets.flat_map(move |(index, facet)| backs.iter().map(move |&is_back| (index as u32, is_back, facet.area)))
    }

    /// Returns the PDF, per steradian, of the direction in which a ray hit this surface.
    #[inline]
    pub fn pdf(&self, ray: &Ray, hit: &Hit) -> f32 {
        let length = ray.direction.length();
        let distance = hit.t * length;
        let probability = self.triangles.probability(hit.triangle as usize);
        self.seen_area(hit.triangle, ray.direction / length)
            .map_or(0.0, |seen| probability * (distance * distance / seen))
    }

    /// Returns the radiance in cd/m2 toward a ray's origin.
    pub fn radiance(&self, scene: &Scene, hit: &Hit) -> Vec3 {
        if hit.back && !self.both_sides {
            return Vec3::ZERO;
        }
        self.constant_radiance.unwrap_or_else(|| emission(scene, self.surface, hit.triangle, hit.barycentric))
    }

    /// Returns the emission times the fraction of rays that the surface stops: zero at a cut-out texel.
    #[inline(always)]
    fn stopped_radiance(&self, scene: &Scene, triangle: u32, barycentric: Vec2) -> Vec3 {
        self.constant_radiance.unwrap_or_else(|| {
            let material = scene.material_of(self.surface);
            let passage = material.passage_at(scene, scene.mesh_of(self.surface), triangle, barycentric);
            emission(scene, self.surface, triangle, barycentric) * (1.0 - passage.probability)
        })
    }

    /// Returns the projected area of a triangle along a direction, in square meters; `None` for the dark side.
    #[inline(always)]
    fn seen_area(&self, triangle: u32, direction: Vec3) -> Option<f32> {
        let facet = &self.facets[triangle as usize];
        let facing = -direction.dot(facet.normal);
        let cosine = if self.both_sides { facing.abs() } else { facing };
        (cosine > 0.0).then_some(cosine * facet.area)
    }
}

/// Returns a light tree leaf for triangles with unit normals, given their total flux in lumens.
fn node_of(facets: impl Iterator<Item = (Triangle, Vec3)>, power: f32, both_sides: bool) -> LightNode {
    let mut bounds = Aabb::EMPTY;
    let mut cone: Option<(Vec3, f32)> = None;
    let (mut area, mut sum) = (0.0, Vec3::ZERO);
    for (triangle, normal) in facets.filter(|(_, normal)| *normal != Vec3::ZERO) {
        bounds = bounds.union(triangle.bounds());
        cone = Some(cone.map_or((normal, 1.0), |cone| joined_cones(cone, (normal, 1.0))));
        area += triangle.area();
        sum += normal * triangle.area();
    }
    let (axis, spread) = cone.filter(|_| !both_sides).unwrap_or((Vec3::Y, -1.0));
    // A flat surface emits with full intensity straight ahead, a ball with a quarter in any direction.
    let flatness = sum.length() / f32::max(area, f32::MIN_POSITIVE);
    let sides = if both_sides { 2.0 } else { 1.0 };
    let strength = power * (0.25 + 0.75 * flatness) / (core::f32::consts::PI * sides);
    LightNode::near(bounds, strength, axis, [spread, 0.0])
}

/// Returns the light tree leaf of an emissive surface with the given flux in lumens, at its current transform.
#[cfg(feature = "gpu")]
pub(crate) fn light_node_of(scene: &Scene, surface: SurfaceId, power: f32) -> LightNode {
    let triangles = 0..scene.mesh_of(surface).triangles.len() as u32;
    let facets = triangles.map(|index| (scene.triangle(surface, index), scene.geometric_normal(surface, index)));
    node_of(facets, power, scene.surface(surface).sides == Sides::Both)
}

fn emission(scene: &Scene, surface: SurfaceId, triangle: u32, barycentric: Vec2) -> Vec3 {
    scene.material_of(surface).emission_at(scene, scene.mesh_of(surface), triangle, barycentric)
}

/// Returns the luminance of the emission, averaged over a triangle.
fn mean_luminance(scene: &Scene, surface: SurfaceId, triangle: u32) -> f32 {
    const POINTS: u32 = 16;
    let material = scene.material_of(surface);
    let full = luminance(material.emission);
    if material.emission_texture.is_none() {
        return full;
    }
    let points = OwenSobol::new(triangle);
    let mean = (0..POINTS)
        .map(|index| {
            let [x, y, ..] = points.point(index);
            luminance(emission(scene, surface, triangle, uniform_triangle(Vec2::new(x, y))))
        })
        .sum::<f32>()
        / POINTS as f32;
    // The samples may have missed a small bright spot, and a triangle that is never chosen would lose its light.
    mean.max(full * 0.01)
}
