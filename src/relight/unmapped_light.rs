//! Irradiance by way of unmapped surfaces, such as panes, which have no elements, once lights have settled.
//!
//! Stored hits carry light from element to element, also off panes on the way. They do not hold the direct light of a
//! pane. So points of these surfaces receive direct light, and rays carry to elements what the points scatter.

use core::f32::consts::PI;

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::chunks;
use super::input::RelightInput;
use super::receiving::Receiving;
use crate::geometry::sampling::uniform_triangle;
use crate::geometry::sobol::{OwenSobol, hash2, unit_float};
use crate::geometry::{Ray, SurfaceId};
use crate::lightmap::SurfacePoint;
use crate::lights::OneLight;
use crate::scene::{Scene, Sides, luminance};

/// Seed of the sample sequences. No stage of a bake uses it, and no other stage of relighting does either.
const SEED: u32 = 0x5e3d_90b7;

/// Number of points on all unmapped surfaces together.
const POINTS: usize = 1024;

/// Samples of direct light of each point and side.
const LIGHT_SAMPLES: u32 = 16;

/// Number of times that light is scattered between points, beyond the first.
const SCATTERINGS: u32 = 2;

/// Rays from each receiver to points.
const RAYS: f32 = 64.0;

/// Senders that a receiver can weigh in the time of one ray.
const SENDERS_PER_RAY: usize = 64;

/// Minimum number of points per thread.
const MIN_CHUNK: usize = 32;

/// Points of unmapped surfaces, spread evenly by area.
#[derive(Clone, Debug, Default)]
pub struct UnmappedPoints {
    points: Vec<UnmappedPoint>,
    /// Area that each point stands for, in m2.
    area: f32,
}

#[derive(Clone, Debug)]
struct UnmappedPoint {
    /// Front, and back unless it absorbs all light.
    sides: Vec<SurfacePoint>,
    /// Fractions of light that are scattered on the same side and through the surface, per channel.
    reflectance: Vec3,
    transmittance: Vec3,
}

impl UnmappedPoints {
    /// Chooses the points of a level.
    pub fn new(level: &RelightInput) -> Self {
        let RelightInput { scene, elements, .. } = level;
        let area = |(id, triangle)| (id, triangle, f64::from(scene.triangle(id, triangle).area()));
        let triangles = || elements.unmapped_triangles(scene).map(area);
        let share = triangles().map(|(.., area)| area).sum::<f64>() / POINTS as f64;
        let mut points = Vec::new();
        let (mut passed, mut taken) = (0.5 * share, 0);
        for (surface, triangle, area) in triangles().filter(|(.., area)| *area > 0.0) {
            passed += area;
            while passed >= share && taken < POINTS {
                let [u, v, ..] = OwenSobol::new(SEED).point(taken as u32);
                points.extend(UnmappedPoint::new(scene, surface, triangle, uniform_triangle(Vec2::new(u, v))));
                (passed, taken) = (passed - share, taken + 1);
            }
        }
        Self { points, area: share as f32 }
    }
}

impl UnmappedPoint {
    /// Returns `None` where all light is absorbed or passes straight.
    fn new(scene: &Scene, surface: SurfaceId, triangle: u32, barycentric: Vec2) -> Option<Self> {
        let (material, mesh) = (scene.material_of(surface), scene.mesh_of(surface));
        let stops = 1.0 - material.passage_at(scene, mesh, triangle, barycentric).probability;
        let appearance = material.appearance_at(scene, mesh, triangle, barycentric);
        let reflectance = stops * appearance.total_reflectance();
        let transmittance = stops * appearance.total_diffuse_transmittance();
        let placed = scene.surface(surface);
        let sides: &[bool] = if placed.sides == Sides::Both { &[false, true] } else { &[false] };
        let open = sides.iter().filter(|&&back| !placed.sealed.contains(triangle, back));
        let sides: Vec<_> = open.map(|&back| SurfacePoint::new(scene, surface, triangle, barycentric, back)).collect();
        let scatters = (reflectance + transmittance).max_element() > 0.0 && !sides.is_empty();
        scatters.then_some(Self { sides, reflectance, transmittance })
    }

    /// Returns the direct irradiance of each side in lux, for changes of lights with their strengths.
    fn direct(&self, lights: &[(Vec3, OneLight)], seed: u32, receiving: &Receiving) -> Vec<Vec3> {
        let direct = |point: &SurfacePoint| -> Vec3 {
            let of_light = |(strength, light): &(Vec3, OneLight)| {
                let sample = |round: u32| {
                    let [u, v, ..] = OwenSobol::new(seed).point(round);
                    let sample = light.sample(point.origin(), point.shading_normal, [u, v])?;
                    let is_above = sample.direction.dot(point.geometric_normal) > 0.0;
                    is_above.then(|| receiving.world.blocked(&sample.ray).0 * sample.irradiance)
                };
                strength * (0..LIGHT_SAMPLES).filter_map(sample).sum::<Vec3>() / LIGHT_SAMPLES as f32
            };
            lights.iter().map(of_light).sum()
        };
        self.sides.iter().map(direct).collect()
    }

    /// Returns the sides that send out light, for the irradiance of each.
    fn senders(&self, irradiance: &[Vec3]) -> impl Iterator<Item = Sender> {
        let all: Vec3 = irradiance.iter().sum();
        let sender = move |(point, here): (&SurfacePoint, &Vec3)| {
            let radiosity = self.reflectance * here + self.transmittance * (all - here);
            (radiosity != Vec3::ZERO).then_some(Sender { point: *point, radiosity })
        };
        self.sides.iter().zip(irradiance).filter_map(sender)
    }
}

/// Irradiance of elements that [`UnmappedPoints`] send, in lux by row.
#[derive(Clone, Debug, PartialEq)]
pub struct UnmappedLight {
    senders: Vec<Sender>,
    area: f32,
    /// Number of receivers: none where no point sends out light.
    count: usize,
    light: Vec<Vec3>,
}

#[derive(Clone, Debug, PartialEq)]
struct Sender {
    point: SurfacePoint,
    /// Light that it sends out, in lm/m2.
    radiosity: Vec3,
}

impl UnmappedLight {
    /// Computes the light that points send out, for changes of lights with their strengths. Returns the number of rays
    /// too: some hundred thousand where many points are lit, and few where none is.
    pub fn new(points: &UnmappedPoints, lights: &[(Vec3, OneLight)], receiving: &Receiving) -> (Self, u64) {
        let UnmappedPoints { points, area } = points;
        let seed = |index: usize| hash2(SEED, index as u32);
        let of_points = points.par_iter().enumerate().with_min_len(MIN_CHUNK);
        let direct: Vec<Vec<Vec3>> =
            of_points.map(|(index, point)| point.direct(lights, seed(index), receiving)).collect();
        let sides: usize = points.iter().map(|point| point.sides.len()).sum();
        let mut rays = (sides * lights.len()) as u64 * u64::from(LIGHT_SAMPLES);
        let senders = |irradiance: &[Vec<Vec3>]| -> Vec<Sender> {
            points.iter().zip(irradiance).flat_map(|(point, irradiance)| point.senders(irradiance)).collect()
        };
        let mut light = Self { senders: senders(&direct), area: *area, count: 0, light: Vec::new() };
        if light.senders.is_empty() {
            return (light, rays);
        }
        for _ in 0..SCATTERINGS {
            let received = |(index, point): (usize, &UnmappedPoint)| -> Vec<(Vec3, u64)> {
                let of_side = |side: &SurfacePoint| light.gather(side, seed(index), |_| *side, receiving);
                point.sides.iter().map(of_side).collect()
            };
            let received: Vec<_> = points.par_iter().enumerate().with_min_len(MIN_CHUNK).map(received).collect();
            rays += received.iter().flatten().map(|(_, rays)| rays).sum::<u64>();
            let sum = |(direct, received): (&Vec<Vec3>, &Vec<(Vec3, u64)>)| {
                direct.iter().zip(received).map(|(direct, (received, _))| direct + received).collect()
            };
            let irradiance: Vec<Vec<Vec3>> = direct.iter().zip(&received).map(sum).collect();
            light.senders = senders(&irradiance);
        }
        light.count = receiving.level.precomputed.transport.elements();
        (light, rays)
    }

    /// Returns true once all receivers have been processed.
    pub fn is_done(&self) -> bool {
        self.light.len() == self.count
    }

    /// Returns the irradiance, or an empty list where no point sends out light.
    pub fn into_light(self) -> Vec<Vec3> {
        self.light
    }

    /// Processes further receivers within a ray budget. Returns the number of rays traced, or the equivalent cost.
    pub fn step(&mut self, receiving: &Receiving, budget: u64) -> u64 {
        let mut light = core::mem::take(&mut self.light);
        let rays = chunks::extend(&mut light, self.count, budget, 0, |row| self.receive(row, receiving));
        self.light = light;
        rays
    }

    /// Returns the irradiance of a receiver, and the cost in rays.
    fn receive(&self, row: u32, receiving: &Receiving) -> (Vec3, u64) {
        if receiving.is_dark(row) {
            return (Vec3::ZERO, 1);
        }
        let (middle, sampler) = (receiving.middle(row), receiving.sampler(row));
        let (light, rays) = self.gather(&middle, hash2(SEED, row), |u| sampler.sample(u), receiving);
        (light / receiving.visible(row), rays)
    }

    /// Returns the irradiance around a point, and the cost in rays. `sample` returns points to start from.
    fn gather(
        &self,
        middle: &SurfacePoint,
        seed: u32,
        sample: impl Fn(Vec2) -> SurfacePoint,
        receiving: &Receiving,
    ) -> (Vec3, u64) {
        let mut rays = (self.senders.len() / SENDERS_PER_RAY) as u64;
        let likely = |sender: &Sender| luminance(sender.radiosity.abs()) * self.form_factor(middle, sender);
        let likely: Vec<f32> = self.senders.iter().map(likely).collect();
        let all: f32 = likely.iter().sum();
        let points = OwenSobol::new(seed);
        let (mut passed, mut taken, mut light) = (unit_float(hash2(seed, 0)), 0, Vec3::ZERO);
        for (sender, likely) in self.senders.iter().zip(likely).filter(|_| all > 0.0) {
            let expected = RAYS * likely / all;
            passed += expected;
            let count = passed.floor();
            if count < 1.0 {
                continue;
            }
            // One ray stands for all that fall on a sender.
            passed -= count;
            let [x, y, ..] = points.point(taken);
            let from = sample(Vec2::new(x, y));
            (taken, rays) = (taken + 1, rays + 1);
            let (form_factor, to) = (self.form_factor(&from, sender), sender.point.origin());
            if form_factor > 0.0 && from.geometric_normal.dot(to - from.position) > 0.0 {
                let through = receiving.world.blocked(&Ray::between(from.origin(), to)).0;
                light += through * sender.radiosity * (form_factor * count / expected);
            }
        }
        (light, rays)
    }

    /// Returns the unoccluded form factor from a point to the area around a sender, as to a disc that faces it.
    fn form_factor(&self, from: &SurfacePoint, sender: &Sender) -> f32 {
        let step = sender.point.position - from.position;
        let squared = step.length_squared();
        let cosines = from.shading_normal.dot(step).max(0.0) * sender.point.geometric_normal.dot(-step).max(0.0);
        if cosines > 0.0 { self.area * cosines / (squared * (PI * squared + self.area)) } else { 0.0 }
    }
}
