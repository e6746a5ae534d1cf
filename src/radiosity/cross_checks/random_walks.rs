//! Random walks of particles with equal power, from emission to absorption.

use glam::{Vec2, Vec3};
use rand::RngExt;
use rayon::prelude::*;

use super::{Room, departure};
use crate::geometry::sobol::hash2;
use crate::geometry::{CounterRng, SurfaceId};
use crate::lightmap::ElementId;

/// Start of a reflected particle's next step.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Onwards {
    /// Random point of the element: radiosity is constant on elements, as in the matrix.
    FromElement,
    /// Point of arrival, as for real photons.
    FromPoint,
}

/// Counts of particle hits on each element. The emission of particles does not count, because it is known.
pub(super) struct RandomWalks {
    pub arrivals: Vec<u64>,
    pub survived: Vec<u64>,
    /// Power of one particle, in lumens.
    power: f64,
    /// Surface and position of each hit.
    hits: Vec<(SurfaceId, Vec3)>,
}

impl RandomWalks {
    /// Emits particles, from each element in proportion to its power, and traces them to absorption.
    pub fn go(room: &Room, count: u32, seed: u32, onwards: Onwards) -> Self {
        let powers: Vec<f64> = (0..room.len()).map(|i| room.emitted[i] * room.area[i]).collect();
        let until: Vec<f64> = powers
            .iter()
            .scan(0.0, |sum, power| {
                *sum += power;
                Some(*sum)
            })
            .collect();
        let all = until.last().copied().unwrap_or(0.0);
        let ends: Vec<Vec<Landing>> = (0..count)
            .into_par_iter()
            .map(|number| {
                let mut rng = CounterRng::new(hash2(seed, number));
                // Stratified over the power: one particle in each of `count` equal parts.
                let place = (f64::from(number) + f64::from(rng.random::<f32>())) / f64::from(count) * all;
                let source = until.partition_point(|end| *end <= place).min(room.len() - 1);
                walk(room, source, &mut rng, onwards)
            })
            .collect();
        let mut walks = Self {
            arrivals: vec![0; room.len()],
            survived: vec![0; room.len()],
            power: all / f64::from(count),
            hits: Vec::new(),
        };
        for Landing { element, position, survived } in ends.into_iter().flatten() {
            walks.arrivals[element] += 1;
            walks.survived[element] += u64::from(survived);
            walks.hits.push((room.elements.surface(ElementId::from_index(element)), position));
        }
        walks
    }

    /// Returns irradiances of the collision estimator, which counts all hits (`000` 1.23).
    pub fn by_collision(&self, room: &Room) -> Vec<f64> {
        (0..room.len()).map(|i| self.arrivals[i] as f64 * self.power / room.area[i]).collect()
    }

    /// Returns irradiances of the survival estimator, which counts reflected particles (`000` 1.22).
    pub fn by_survival(&self, room: &Room) -> Vec<f64> {
        let per_particle = |i: usize| self.power / room.area[i] / room.reflectance[i];
        (0..room.len()).map(|i| self.survived[i] as f64 * per_particle(i)).collect()
    }

    /// Returns irradiances of the absorption estimator, which counts absorbed particles (`000` 1.24).
    pub fn by_absorption(&self, room: &Room) -> Vec<f64> {
        let per_particle = |i: usize| self.power / room.area[i] / (1.0 - room.reflectance[i]);
        (0..room.len()).map(|i| (self.arrivals[i] - self.survived[i]) as f64 * per_particle(i)).collect()
    }

    /// Returns the root mean square noise of an estimate, relative to its mean, given the counted particles of each
    /// element. A count of n has a standard deviation of sqrt(n).
    pub fn noise(room: &Room, irradiance: &[f64], counted: impl Fn(usize) -> u64) -> f64 {
        let variance = |i: usize| irradiance[i].powi(2) / counted(i).max(1) as f64;
        room.mean(variance).sqrt() / room.mean(|i| irradiance[i])
    }

    /// Returns the irradiance at a surface point from the density of the `count` nearest hits. The last hit only
    /// defines the radius of the circle.
    pub fn by_density(&self, surface: SurfaceId, point: Vec3, count: usize) -> f64 {
        let mut distances: Vec<f32> =
            self.hits.iter().filter(|hit| hit.0 == surface).map(|hit| hit.1.distance_squared(point)).collect();
        let (_, last, _) = distances.select_nth_unstable_by(count - 1, f32::total_cmp);
        (count - 1) as f64 * self.power / (core::f64::consts::PI * f64::from(*last))
    }
}

/// Returns the irradiance of each element by walks that end with a probability `alpha` at each arrival, whatever the
/// reflectance there (`003` definition 3.1). The weight of those that go on is multiplied by the reflectance, and divided
/// by `1 - alpha` if `is_divided`. The definition leaves the division out.
pub(super) fn by_weighted_walks(room: &Room, count: u32, seed: u32, alpha: f64, is_divided: bool) -> Vec<f64> {
    let powers: Vec<f64> = (0..room.len()).map(|i| room.emitted[i] * room.area[i]).collect();
    let all: f64 = powers.iter().sum();
    let anywhere =
        |element: usize, rng: &mut CounterRng| room.samplers[element].sample(Vec2::from(rng.random::<[f32; 2]>()));
    let mut irradiance = vec![0.0; room.len()];
    for number in 0..count {
        let mut rng = CounterRng::new(hash2(seed, number));
        let mut place = (f64::from(number) + rng.random::<f64>()) / f64::from(count) * all;
        let first = powers.iter().position(|power| {
            place -= power;
            place < 0.0
        });
        let mut point = anywhere(first.unwrap_or(room.len() - 1), &mut rng);
        let mut weight = all / f64::from(count);
        while let Some((element, _)) = room.arrival(&departure(&point, rng.random(), rng.random())) {
            irradiance[element] += weight / room.area[element];
            if rng.random::<f64>() < alpha {
                break;
            }
            weight *= room.reflectance[element] / if is_divided { 1.0 - alpha } else { 1.0 };
            point = anywhere(element, &mut rng);
        }
    }
    irradiance
}

struct Landing {
    element: usize,
    position: Vec3,
    survived: bool,
}

fn walk(room: &Room, source: usize, rng: &mut CounterRng, onwards: Onwards) -> Vec<Landing> {
    let mut landings = Vec::new();
    let anywhere =
        |element: usize, rng: &mut CounterRng| room.samplers[element].sample(Vec2::from(rng.random::<[f32; 2]>()));
    let mut point = anywhere(source, rng);
    loop {
        let ray = departure(&point, rng.random(), rng.random());
        let Some((element, arrived)) = room.arrival(&ray) else { return landings };
        let survived = rng.random::<f64>() < room.reflectance[element];
        landings.push(Landing { element, position: arrived.position, survived });
        if !survived {
            return landings;
        }
        point = if onwards == Onwards::FromPoint { arrived } else { anywhere(element, rng) };
    }
}
