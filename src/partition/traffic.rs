//! Distribution of light rays over cells.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::Partition;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Hit, Ray, RayQuery};
use crate::lights::{EmissionSampler, LightSampler};
use crate::scene::{Scene, luminance};

/// Maximum number of reflections of a light path.
const MAX_BOUNCES: u32 = 16;

/// Traces light paths and returns their ray segments. Paths start at emitters in proportion to power, and reflect
/// diffusely until absorbed. Each segment ends at its hit.
pub fn light_rays(scene: &Scene, query: &dyn RayQuery, paths: u32, seed: u32) -> Vec<Ray> {
    let lights = LightSampler::new(scene);
    let emission = EmissionSampler::new(&lights);
    (0..paths).into_par_iter().flat_map_iter(|path| follow(scene, query, &emission, path, seed)).collect()
}

fn follow(scene: &Scene, query: &dyn RayQuery, emission: &EmissionSampler, path: u32, seed: u32) -> Vec<Ray> {
    let dimensions = |bounce: u32| OwenSobol::new(hash2(seed, bounce)).point(path);
    let ([choice, ..], emitted) = (dimensions(0), dimensions(1));
    let mut next = emission.sample(choice, emitted).map(|emission| emission.ray);
    let mut rays = Vec::new();
    while let Some(ray) = next.take().filter(|_| rays.len() < MAX_BOUNCES as usize) {
        let hit = query.closest(&ray);
        rays.push(Ray { t_max: hit.map_or(f32::INFINITY, |hit| hit.t), ..ray });
        next = hit.and_then(|hit| reflect(scene, &ray, &hit, dimensions(1 + rays.len() as u32)));
    }
    rays
}

/// Returns the reflected ray, or `None` if the surface absorbs the light.
fn reflect(scene: &Scene, ray: &Ray, hit: &Hit, [choice, u, v, _]: [f32; 4]) -> Option<Ray> {
    let material = scene.material_of(hit.surface);
    let color = material.base_color_at(scene, scene.mesh_of(hit.surface), hit.triangle, hit.barycentric);
    if scene.absorbs(hit) || choice >= luminance(color.truncate()) {
        return None;
    }
    let front = scene.geometric_normal(hit.surface, hit.triangle);
    let normal = if hit.back { -front } else { front };
    let point: Vec3 = ray.at(hit.t);
    let lifted = point + normal * (1e-5 * point.abs().max_element().max(1.0));
    Some(Ray::new(lifted, cosine_hemisphere(normal, Vec2::new(u, v))))
}

/// Ray counts of the cells of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of rays.
    pub rays: u64,
    /// Number of rays traced in each cell, whether they start there or enter.
    pub traced: Vec<u64>,
    /// Number of border crossings, a measure of communication between cells.
    pub crossings: u64,
}

impl Traffic {
    /// Counts rays along their way through the cells of a partition.
    pub fn of(partition: &Partition, rays: &[Ray]) -> Self {
        let none = || Self { traced: vec![0; partition.cells().len()], ..Self::default() };
        rays.par_iter().fold(none, |traffic, ray| traffic.with(partition, ray)).reduce(none, Self::sum)
    }

    fn with(mut self, partition: &Partition, ray: &Ray) -> Self {
        self.rays += 1;
        for step in partition.traverse(ray) {
            self.traced[step.cell.index()] += 1;
            self.crossings += u64::from(step.border.is_some());
        }
        self
    }

    fn sum(mut self, other: Self) -> Self {
        self.rays += other.rays;
        self.crossings += other.crossings;
        self.traced.iter_mut().zip(other.traced).for_each(|(sum, more)| *sum += more);
        self
    }
}
