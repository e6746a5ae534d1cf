//! Particles that carry equal power from the light onwards, each until a surface absorbs it.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::{Dice, Room, departure};
use crate::geometry::SurfaceId;
use crate::lightmap::ElementId;

/// From where a particle that was reflected goes on.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Onwards {
    /// From anywhere on the element: the walk takes elements for evenly bright, as the matrix does.
    FromElement,
    /// From where it arrived, as light does.
    FromPoint,
}

/// What happened to particles at each element. What they did at their birth does not count: it is known.
pub(super) struct Walks {
    pub landed: Vec<u64>,
    pub survived: Vec<u64>,
    /// Power of one particle, lumens.
    power: f64,
    /// Where particles landed.
    hits: Vec<(SurfaceId, Vec3)>,
}

impl Walks {
    /// Sends particles off, from each element in proportion to its power.
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
                let mut dice = Dice::new(seed, number);
                // Evenly spread over the power: one particle in each of `count` equal parts of it.
                let place = (f64::from(number) + f64::from(dice.throw())) / f64::from(count) * all;
                let source = until.partition_point(|end| *end <= place).min(room.len() - 1);
                walk(room, source, &mut dice, onwards)
            })
            .collect();
        let mut walks = Self {
            landed: vec![0; room.len()],
            survived: vec![0; room.len()],
            power: all / f64::from(count),
            hits: Vec::new(),
        };
        for Landing { element, position, survived } in ends.into_iter().flatten() {
            walks.landed[element] += 1;
            walks.survived[element] += u64::from(survived);
            walks.hits.push((room.elements.surface(ElementId::from_index(element)), position));
        }
        walks
    }

    /// The irradiance as the collision estimator has it: each landing counts (`000` 1.23).
    pub fn by_collision(&self, room: &Room) -> Vec<f64> {
        (0..room.len()).map(|i| self.landed[i] as f64 * self.power / room.area[i]).collect()
    }

    /// The irradiance as the survival estimator has it: those count that are reflected (`000` 1.22).
    pub fn by_survival(&self, room: &Room) -> Vec<f64> {
        let per_particle = |i: usize| self.power / room.area[i] / room.reflectance[i];
        (0..room.len()).map(|i| self.survived[i] as f64 * per_particle(i)).collect()
    }

    /// The irradiance as the absorption estimator has it: those count that end (`000` 1.24).
    pub fn by_absorption(&self, room: &Room) -> Vec<f64> {
        let per_particle = |i: usize| self.power / room.area[i] / (1.0 - room.reflectance[i]);
        (0..room.len()).map(|i| (self.landed[i] - self.survived[i]) as f64 * per_particle(i)).collect()
    }

    /// Root mean square of the noise of an estimate that counted so many particles of each element, in parts of its mean:
    /// a count of n is uncertain by the root of n.
    pub fn noise(room: &Room, irradiance: &[f64], counted: impl Fn(usize) -> u64) -> f64 {
        let variance = |i: usize| irradiance[i].powi(2) / counted(i).max(1) as f64;
        room.mean(variance).sqrt() / room.mean(|i| irradiance[i])
    }

    /// The irradiance about a point of a surface from the density of the `count` nearest landings there, of which the last
    /// sets the circle's radius alone.
    pub fn by_density(&self, surface: SurfaceId, point: Vec3, count: usize) -> f64 {
        let mut distances: Vec<f32> =
            self.hits.iter().filter(|hit| hit.0 == surface).map(|hit| hit.1.distance_squared(point)).collect();
        let (_, last, _) = distances.select_nth_unstable_by(count - 1, f32::total_cmp);
        (count - 1) as f64 * self.power / (core::f64::consts::PI * f64::from(*last))
    }
}

struct Landing {
    element: usize,
    position: Vec3,
    survived: bool,
}

fn walk(room: &Room, source: usize, dice: &mut Dice, onwards: Onwards) -> Vec<Landing> {
    let mut landings = Vec::new();
    let anywhere = |element: usize, dice: &mut Dice| {
        let place = Vec2::new(dice.throw(), dice.throw());
        room.samplers[element].sample(place)
    };
    let mut point = anywhere(source, dice);
    loop {
        let ray = departure(&point, dice.throw(), dice.throw());
        let Some((element, arrived)) = room.arrival(&ray) else { return landings };
        let survived = f64::from(dice.throw()) < room.reflectance[element];
        landings.push(Landing { element, position: arrived.position, survived });
        if !survived {
            return landings;
        }
        point = if onwards == Onwards::FromPoint { arrived } else { anywhere(element, dice) };
    }
}
