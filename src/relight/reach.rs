//! What a light of strength one brings, traced little by little.

use core::f32::consts::{FRAC_1_PI, PI};

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::finer::Finer;
use super::level::Level;
use super::order::Order;
use super::resting::Resting;
use crate::geometry::RayQuery;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, ElementSampler, SurfacePoint};
use crate::scene::{OneLight, share};

/// Which random numbers: those of no stage of a bake.
const SEED: u32 = 0x11f3_0a75;
const SEED_OF_CHANCE: u32 = 0x5b0e_93c1;

/// The part of a receiver that light reaches counts as this much at least: points of less say too little.
const LEAST_VISIBLE: f32 = 1.0 / 8.0;

/// Patches that a thread takes at least.
const FEWEST_PATCHES: usize = 16;

/// What lights are asked with.
#[derive(Clone, Copy)]
pub struct Receiving<'a> {
    pub level: &'a Level,
    /// What answers rays, in place of the level's own world.
    pub world: &'a dyn RayQuery,
    pub order: &'a Order,
    /// Asked all over their footprints, for receivers whose own light is shown, and not only in their middles.
    pub is_spread: bool,
}

/// Direct light of one receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    pub row: u32,
    /// Lux for a strength of one.
    pub light: Vec3,
}

/// What a light of strength one brings to patches and to receivers, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reach {
    /// Weighed light of the receivers asked so far, by patch.
    brought: Vec<Vec3>,
    /// Their weights.
    asked: Vec<Vec3>,
    /// Parts of the order done.
    steps: u32,
    /// How often each receiver is asked.
    rounds: u32,
    /// What receivers got, part by part, while they are asked: sums over the rounds, of those that got any, by row.
    sums: Vec<Vec<Received>>,
    /// The light of all receivers that get any, once all have been asked.
    lit: Option<Vec<Received>>,
    /// The same, better known.
    finer: Finer,
    /// What all of that comes to, once it rests.
    pub resting: Resting,
}

impl Reach {
    /// Nothing is known yet.
    pub fn new(receiving: &Receiving, rounds: u32) -> Self {
        let patches = receiving.level.precomputed.transport.patches.len();
        Self {
            brought: vec![Vec3::ZERO; patches],
            asked: vec![Vec3::ZERO; patches],
            rounds,
            sums: vec![Vec::new(); receiving.order.len()],
            ..Self::default()
        }
    }

    /// All receivers have been asked for a light that brings them nothing.
    pub fn dark(receiving: &Receiving, rounds: u32) -> Self {
        let steps = receiving.order.len() as u32 * rounds;
        Self { steps, lit: Some(Vec::new()), ..Self::new(receiving, rounds) }
    }

    /// How many steps have been done.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// True when every receiver has been asked as often as it should.
    pub fn is_done(&self, order: &Order) -> bool {
        self.steps as usize >= order.len() * self.rounds as usize
    }

    /// True when something is known.
    pub fn is_begun(&self) -> bool {
        self.steps > 0
    }

    /// The light of all receivers that get any, by row, once all have been asked: the best that is known.
    pub fn receivers(&self) -> Option<&[Received]> {
        self.finer.receivers().or(self.lit.as_deref())
    }

    /// The same as it was known before receivers were asked again.
    pub fn first_known(&self) -> Option<&[Received]> {
        self.lit.as_deref()
    }

    /// True when nothing better will be known of receivers' light.
    pub fn is_fine(&self) -> bool {
        self.finer.is_done()
    }

    /// Asks some more receivers all over their footprints; how many rays that took.
    pub fn refine(&mut self, light: Option<&OneLight>, receiving: &Receiving) -> u64 {
        self.finer.step(light, receiving)
    }

    /// Asks one more part of the receivers; how many rays that took.
    pub fn step(&mut self, light: Option<&OneLight>, receiving: &Receiving) -> u64 {
        let part = receiving.order.part(self.steps as usize % receiving.order.len());
        self.count(self.steps, receiving);
        let rays = self.ask(self.steps, 1.0, light, receiving);
        self.steps += 1;
        if self.is_done(receiving.order) {
            self.lit = Some(self.means());
        }
        // Turning receivers away takes time too.
        rays.max(part.len() as u64 / 16)
    }

    /// Asks all receivers again that have been asked, and puts the answers in the place of those before. Both sides are
    /// to answer none but rays that something which has moved may have to do with. What was known better is not, nor what it came to.
    pub fn follow(&mut self, light: Option<&OneLight>, before: &Receiving, after: &Receiving) {
        (self.finer, self.resting) = (Finer::default(), Resting::default());
        let lit = self.lit.take();
        let was_done = lit.is_some();
        if let Some(lit) = lit {
            self.sums = vec![Vec::new(); before.order.len()];
            let sum = |received: Received| Received { light: received.light * self.rounds as f32, ..received };
            self.sums[0] = lit.into_iter().map(sum).collect();
        }
        for step in 0..self.steps {
            self.ask(step, -1.0, light, before);
            self.ask(step, 1.0, light, after);
        }
        if was_done {
            self.lit = Some(self.means());
        }
    }

    /// Takes patches for what they reflect in a level: what receivers got is summed up anew. What it came to is not known.
    pub fn weigh(&mut self, receiving: &Receiving) {
        let transport = &receiving.level.precomputed.transport;
        let mut found = vec![Vec3::ZERO; transport.elements()];
        for Received { row, light } in self.lit.iter().flatten() {
            found[*row as usize] += light * self.rounds as f32;
        }
        for Received { row, light } in self.sums.iter().flatten() {
            found[*row as usize] += light;
        }
        self.brought = transport.first_bounce(&found).into_iter().map(Vec3::from).collect();
        self.asked = vec![Vec3::ZERO; transport.patches.len()];
        (0..self.steps).for_each(|step| self.count(step, receiving));
        self.resting = Resting::default();
    }

    /// Adds the weights of the receivers of a step.
    fn count(&mut self, step: u32, receiving: &Receiving) {
        let part = receiving.order.part(step as usize % receiving.order.len());
        let weights = &receiving.level.precomputed.transport.weights;
        for (patch, asked) in self.asked.iter_mut().enumerate() {
            *asked += part.of(patch).iter().map(|&row| weights[row as usize]).sum::<Vec3>();
        }
    }

    /// Adds what the receivers of a step get, times a factor; how many rays that took.
    fn ask(&mut self, step: u32, factor: f32, light: Option<&OneLight>, receiving: &Receiving) -> u64 {
        let index = step as usize % receiving.order.len();
        let part = receiving.order.part(index);
        let round = step / receiving.order.len() as u32;
        let weights = &receiving.level.precomputed.transport.weights;
        let Some(light) = light else { return 0 };
        let asked: Vec<(Vec<Received>, u64)> = (self.brought.par_iter_mut().enumerate())
            .with_min_len(FEWEST_PATCHES)
            .map(|(patch, brought)| {
                let (mut kept, mut rays) = (Vec::new(), 0);
                for &row in part.of(patch) {
                    let (found, traced) = if receiving.is_spread {
                        let (found, traced) = receiving.spread(row).ask(light, round);
                        (found / receiving.visible(row), traced)
                    } else {
                        receiving.ask_middle(light, row, round)
                    };
                    let found = found * factor;
                    rays += traced;
                    *brought += weights[row as usize] * found;
                    if found != Vec3::ZERO {
                        kept.push(Received { row, light: found });
                    }
                }
                (kept, rays)
            })
            .collect();
        add_by_row(&mut self.sums[index], asked.iter().flat_map(|(kept, _)| kept));
        asked.iter().map(|(_, rays)| rays).sum()
    }

    /// The mean over all rounds, of receivers of all parts, which are no longer needed.
    fn means(&mut self) -> Vec<Received> {
        let mut all = Vec::new();
        add_by_row(&mut all, core::mem::take(&mut self.sums).iter().flatten());
        all.iter_mut().for_each(|received| received.light /= self.rounds as f32);
        all.retain(|received| received.light != Vec3::ZERO);
        all
    }

    /// Direct irradiance of receivers from a light of a given strength, added to `sums`, lux by row, once all have been asked.
    pub fn add_direct(&self, strength: Vec3, sums: &mut [Vec3]) {
        let known = self.receivers().unwrap_or_default();
        known.iter().for_each(|&Received { row, light }| sums[row as usize] += light * strength);
    }

    /// Mean radiosity of each patch that reflects the light of a given strength once, added to `sums`: of the receivers
    /// asked so far, taken for all. `weights` are those of all receivers of each patch.
    pub fn add(&self, strength: Vec3, weights: &[Vec3], sums: &mut [Vec3]) {
        for (((sum, brought), asked), weight) in sums.iter_mut().zip(&self.brought).zip(&self.asked).zip(weights) {
            let mean = (brought * weight) / asked.max(Vec3::splat(f32::MIN_POSITIVE));
            *sum += mean * strength;
        }
    }
}

/// Adds light to sums, which are by rising row.
fn add_by_row<'a>(sums: &mut Vec<Received>, more: impl Iterator<Item = &'a Received>) {
    sums.extend(more);
    sums.sort_by_key(|received| received.row);
    sums.dedup_by(|later, earlier| {
        let is_same = later.row == earlier.row;
        if is_same {
            earlier.light += later.light;
        }
        is_same
    });
}

/// What the next question of a receiver is asked with: two numbers for where on it, and two for where on the light.
fn numbers(row: u32, round: u32) -> [f32; 4] {
    OwenSobol::new(hash2(SEED, row)).point(round)
}

/// Points all over a receiver.
pub struct Spread<'a> {
    receiving: &'a Receiving<'a>,
    row: u32,
    sampler: ElementSampler,
}

impl Spread<'_> {
    /// Direct irradiance of a point of it from one point of a light, and how many rays that took. Nothing reaches points
    /// inside of other geometry.
    pub fn ask(&self, light: &OneLight, round: u32) -> (Vec3, u64) {
        let [x, y, u, v] = numbers(self.row, round);
        let point = self.sampler.sample(Vec2::new(x, y));
        self.receiving.ask(light, &point, [u, v], (self.row, round))
    }
}

impl Receiving<'_> {
    /// True when no light reaches a receiver.
    pub fn is_dark(&self, row: u32) -> bool {
        self.level.precomputed.receivers.visible[row as usize] == 0.0
    }

    /// The part of a receiver that light reaches, but no less than tells something of it.
    pub fn visible(&self, row: u32) -> f32 {
        self.level.precomputed.receivers.visible[row as usize].abs().max(LEAST_VISIBLE)
    }

    /// The area of a receiver, square metres.
    pub fn area(&self, row: u32) -> f32 {
        self.level.elements.area[self.id(row).index()]
    }

    /// The same of the part that light reaches.
    pub fn reached_area(&self, row: u32) -> f32 {
        self.area(row) * self.level.precomputed.receivers.visible[row as usize].abs()
    }

    /// All of a receiver.
    pub fn spread(&self, row: u32) -> Spread<'_> {
        Spread { receiving: self, row, sampler: self.sampler(row) }
    }

    /// Ready to choose points of a receiver.
    pub fn sampler(&self, row: u32) -> ElementSampler {
        self.level.elements.sampler(&self.level.scene, self.id(row))
    }

    fn id(&self, row: u32) -> ElementId {
        ElementId(self.level.precomputed.transport.patches.order[row as usize])
    }

    /// Direct irradiance of the middle of a receiver from one point of a light, and how many rays that took.
    fn ask_middle(&self, light: &OneLight, row: u32, round: u32) -> (Vec3, u64) {
        let receivers = &self.level.precomputed.receivers;
        let middle = SurfacePoint {
            position: receivers.centre[row as usize],
            geometric_normal: receivers.geometric_normal[row as usize],
            shading_normal: receivers.shading_normal[row as usize],
            triangle: 0,
            barycentric: Vec2::ZERO,
            clearance: self.level.elements.clearance[self.id(row).index()],
        };
        let [.., u, v] = numbers(row, round);
        self.ask(light, &middle, [u, v], (row, round))
    }

    /// Direct irradiance of a point of a receiver from the point of a light that two numbers choose, and how many rays that
    /// took. `question` tells chance apart: which receiver asks, and how often it has.
    fn ask(&self, light: &OneLight, point: &SurfacePoint, u: [f32; 2], question: (u32, u32)) -> (Vec3, u64) {
        let (mut found, mut rays) = (Vec3::ZERO, 0);
        if let Some(sample) = light.sample(point.origin(), point.shading_normal, u)
            && sample.direction.dot(point.geometric_normal) > 0.0
        {
            let by_chance = point.shading_normal.dot(sample.direction).max(0.0) * FRAC_1_PI;
            let weight = sample.density.map_or(1.0, |density| share(density, by_chance));
            found = self.world.blocked(&sample.ray).0 * sample.irradiance * weight;
            rays = 1;
        }
        if light.can_be_met() {
            let (row, round) = question;
            let [x, y, ..] = OwenSobol::new(hash2(SEED_OF_CHANCE, row)).point(round);
            found += self.meet(light, point, Vec2::new(x, y));
            rays += 1;
        }
        (found, rays)
    }

    /// Irradiance that a ray stands for which meets a light by chance: of surfaces close by, aimed rays tell badly.
    fn meet(&self, light: &OneLight, point: &SurfacePoint, u: Vec2) -> Vec3 {
        let direction = cosine_hemisphere(point.shading_normal, u);
        if direction.dot(point.geometric_normal) <= 0.0 {
            return Vec3::ZERO;
        }
        let ray = point.ray(direction);
        let hit = self.world.closest(&ray);
        let met = hit.and_then(|hit| Some((light.met(&ray, &hit)?, hit.filter)));
        met.map_or(Vec3::ZERO, |((radiance, density), filter)| {
            let by_chance = point.shading_normal.dot(direction) * FRAC_1_PI;
            radiance * filter * (PI * share(by_chance, density))
        })
    }
}
