//! Unit-strength response of a light, traced incrementally.

use core::f32::consts::{FRAC_1_PI, PI};

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::adaptive_samples::AdaptiveSamples;
use super::element_refinement::ElementRefinement;
use super::input::RelightInput;
use super::order::Order;
use crate::geometry::RayQuery;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, ElementSampler, SurfacePoint};
use crate::lights::{OneLight, power_heuristic};

/// Seeds of the sample sequences. No stage of a bake uses them.
const SEED: u32 = 0x11f3_0a75;
const BSDF_SEED: u32 = 0x5b0e_93c1;

/// Lower bound of the unoccluded fraction in divisions. Samples of a smaller fraction are too noisy.
const MIN_VISIBILITY: f32 = 1.0 / 8.0;

/// Minimum number of patches per thread.
const MIN_PATCHES: usize = 16;

/// Context for tracing the direct light of receivers.
#[derive(Clone, Copy)]
pub struct Receiving<'a> {
    pub level: &'a RelightInput,
    /// Ray tracing structure that replaces the level's own.
    pub world: &'a dyn RayQuery,
    pub order: &'a Order,
    /// If true, samples cover the footprints of receivers, whose own direct light is shown. Else they lie at the
    /// centers.
    pub is_spread: bool,
}

/// Direct light of one receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    pub row: u32,
    /// Direct irradiance at unit strength, in lux.
    pub light: Vec3,
}

/// Sums over receivers, by patch.
#[derive(Clone, Debug, Default, PartialEq)]
struct PatchSums {
    /// Irradiance times weight.
    light: Vec<Vec3>,
    weights: Vec<Vec3>,
}

impl PatchSums {
    fn new(patches: usize) -> Self {
        Self { light: vec![Vec3::ZERO; patches], weights: vec![Vec3::ZERO; patches] }
    }
}

/// Response of patches and receivers to a light of unit strength, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LightResponse {
    /// Sums over the receivers sampled so far, of even parts and of odd ones. Their difference tells the noise.
    halves: [PatchSums; 2],
    /// Number of parts of the order that are done.
    steps: u32,
    /// Samples per receiver.
    rounds: u32,
    /// Irradiance of lit receivers while sampling continues: sums over the rounds, by part and row.
    sums: Vec<Vec<Received>>,
    /// Direct light of all lit receivers, once all have been sampled.
    lit: Option<Vec<Received>>,
    /// Direct light with adaptive sampling.
    adaptive_samples: AdaptiveSamples,
    /// Refined indirect light, once the light has settled.
    pub refinement: ElementRefinement,
}

impl LightResponse {
    /// Starts without samples.
    pub fn new(receiving: &Receiving, rounds: u32) -> Self {
        let patches = receiving.level.precomputed.transport.patches.len();
        Self {
            halves: [PatchSums::new(patches), PatchSums::new(patches)],
            rounds,
            sums: vec![Vec::new(); receiving.order.len()],
            ..Self::default()
        }
    }

    /// Returns the finished response to a light that reaches no receiver.
    pub fn dark(receiving: &Receiving, rounds: u32) -> Self {
        let steps = receiving.order.len() as u32 * rounds;
        Self { steps, lit: Some(Vec::new()), ..Self::new(receiving, rounds) }
    }

    /// Returns the number of steps done.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Returns true when every receiver has all its samples.
    pub fn is_done(&self, order: &Order) -> bool {
        self.steps as usize >= order.len() * self.rounds as usize
    }

    /// Returns true when at least one step is done.
    pub fn is_begun(&self) -> bool {
        self.steps > 0
    }

    /// Returns the radiosity of each patch that receivers without samples may add or take away, at unit strength. It is
    /// half the difference between even and odd parts. `None` once all receivers have been sampled.
    pub fn noise(&self, weights: &[Vec3], order: &Order) -> Option<Vec<Vec3>> {
        let unsampled = 1.0 - self.steps as f32 / order.len() as f32;
        let [even, odd] = &self.halves;
        let noise = |patch: usize| {
            let mean = |half: &PatchSums| half.light[patch] / half.weights[patch].max(Vec3::splat(f32::MIN_POSITIVE));
            0.5 * (mean(even) - mean(odd)) * weights[patch] * unsampled.sqrt()
        };
        (unsampled > 0.0).then(|| (0..weights.len()).map(noise).collect())
    }

    /// Returns the best known direct light of all lit receivers, by row, or `None` before all have been sampled.
    pub fn receivers(&self) -> Option<&[Received]> {
        self.adaptive_samples.receivers().or(self.lit.as_deref())
    }

    /// Returns the direct light of all lit receivers before adaptive sampling.
    pub fn first_known(&self) -> Option<&[Received]> {
        self.lit.as_deref()
    }

    /// Returns true when adaptive sampling is done.
    pub fn is_fine(&self) -> bool {
        self.adaptive_samples.is_done()
    }

    /// Continues adaptive sampling over the footprints of receivers. Returns the number of rays.
    pub fn refine(&mut self, light: Option<&OneLight>, receiving: &Receiving) -> u64 {
        self.adaptive_samples.step(self.lit.as_deref().unwrap_or_default(), light, receiving)
    }

    /// Samples the next part of the receivers. Returns the number of rays.
    pub fn step(&mut self, light: Option<&OneLight>, receiving: &Receiving) -> u64 {
        let part = receiving.order.part(self.steps as usize % receiving.order.len());
        self.count(self.steps, receiving);
        let rays = self.sample(self.steps, 1.0, light, receiving);
        self.steps += 1;
        if self.is_done(receiving.order) {
            self.lit = Some(self.means());
        }
        // Rejecting receivers takes time too.
        rays.max(part.len() as u64 / 16)
    }

    /// Replaces all samples so far after a change of geometry: subtracts those of `before`, adds those of `after`.
    ///
    /// Both contexts must answer only rays that the change may affect; see
    /// [`RestrictedQuery`](super::restricted_query::Near). Adaptive samples and the refined indirect light are
    /// discarded.
    pub fn follow(&mut self, light: Option<&OneLight>, before: &Receiving, after: &Receiving) {
        (self.adaptive_samples, self.refinement) = (AdaptiveSamples::default(), ElementRefinement::default());
        let lit = self.lit.take();
        let was_done = lit.is_some();
        if let Some(lit) = lit {
            self.sums = vec![Vec::new(); before.order.len()];
            let sum = |received: Received| Received { light: received.light * self.rounds as f32, ..received };
            self.sums[0] = lit.into_iter().map(sum).collect();
        }
        for step in 0..self.steps {
            self.sample(step, -1.0, light, before);
            self.sample(step, 1.0, light, after);
        }
        if was_done {
            self.lit = Some(self.means());
        }
    }

    /// Recomputes the sums of patches for another reflectance. The refined indirect light is discarded.
    pub fn weigh(&mut self, receiving: &Receiving) {
        let transport = &receiving.level.precomputed.transport;
        let mut found = [0, 1].map(|_| vec![Vec3::ZERO; transport.elements()]);
        // With all samples, only the sum of both halves matters.
        for Received { row, light } in self.lit.iter().flatten() {
            found[0][*row as usize] += light * self.rounds as f32;
        }
        for (index, sums) in self.sums.iter().enumerate() {
            sums.iter().for_each(|&Received { row, light }| found[index % 2][row as usize] += light);
        }
        self.halves = found.map(|found| PatchSums {
            light: transport.first_bounce(&found).into_iter().map(Vec3::from).collect(),
            weights: vec![Vec3::ZERO; transport.patches.len()],
        });
        (0..self.steps).for_each(|step| self.count(step, receiving));
        self.refinement = ElementRefinement::default();
    }

    /// Adds the weights of the receivers of a step.
    fn count(&mut self, step: u32, receiving: &Receiving) {
        let index = step as usize % receiving.order.len();
        let part = receiving.order.part(index);
        let weights = &receiving.level.precomputed.transport.weights;
        for (patch, sum) in self.halves[index % 2].weights.iter_mut().enumerate() {
            *sum += part.of(patch).iter().map(|&row| weights[row as usize]).sum::<Vec3>();
        }
    }

    /// Adds the irradiance of the receivers of a step, times a factor. Returns the number of rays.
    fn sample(&mut self, step: u32, factor: f32, light: Option<&OneLight>, receiving: &Receiving) -> u64 {
        let index = step as usize % receiving.order.len();
        let part = receiving.order.part(index);
        let round = step / receiving.order.len() as u32;
        let weights = &receiving.level.precomputed.transport.weights;
        let Some(light) = light else { return 0 };
        let found: Vec<(Vec<Received>, u64)> = (self.halves[index % 2].light.par_iter_mut().enumerate())
            .with_min_len(MIN_PATCHES)
            .map(|(patch, sum)| {
                let (mut kept, mut rays) = (Vec::new(), 0);
                for &row in part.of(patch) {
                    let (found, traced) = if receiving.is_spread {
                        let (found, traced) = receiving.spread(row).sample(light, round);
                        (found / receiving.visible(row), traced)
                    } else {
                        receiving.sample_center(light, row, round)
                    };
                    let found = found * factor;
                    rays += traced;
                    *sum += weights[row as usize] * found;
                    if found != Vec3::ZERO {
                        kept.push(Received { row, light: found });
                    }
                }
                (kept, rays)
            })
            .collect();
        add_by_row(&mut self.sums[index], found.iter().flat_map(|(kept, _)| kept));
        found.iter().map(|(_, rays)| rays).sum()
    }

    /// Returns the mean over all rounds for the receivers of all parts, and drops the sums.
    fn means(&mut self) -> Vec<Received> {
        let mut all = Vec::new();
        add_by_row(&mut all, core::mem::take(&mut self.sums).iter().flatten());
        all.iter_mut().for_each(|received| received.light /= self.rounds as f32);
        all.retain(|received| received.light != Vec3::ZERO);
        all
    }

    /// Adds the direct irradiance of receivers to `sums`, in lux by row. It adds nothing before all have been sampled.
    pub fn add_direct(&self, strength: Vec3, sums: &mut [Vec3]) {
        let known = self.receivers().unwrap_or_default();
        known.iter().for_each(|&Received { row, light }| sums[row as usize] += light * strength);
    }

    /// Adds the mean first-bounce radiosity of each patch to `sums`. It extrapolates from the receivers sampled so far.
    /// `weights` are the sums over all receivers of each patch.
    pub fn add(&self, strength: Vec3, weights: &[Vec3], sums: &mut [Vec3]) {
        let [even, odd] = &self.halves;
        for (patch, (sum, weight)) in sums.iter_mut().zip(weights).enumerate() {
            let sampled = (even.weights[patch] + odd.weights[patch]).max(Vec3::splat(f32::MIN_POSITIVE));
            *sum += (even.light[patch] + odd.light[patch]) * weight / sampled * strength;
        }
    }
}

/// Adds light to sums, which stay sorted by row.
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

/// Returns the random numbers of a sample: two for the point on the receiver, two for the point on the light.
fn numbers(row: u32, round: u32) -> [f32; 4] {
    OwenSobol::new(hash2(SEED, row)).point(round)
}

/// Sampler of points over the footprint of a receiver.
pub struct Spread<'a> {
    receiving: &'a Receiving<'a>,
    row: u32,
    sampler: ElementSampler,
}

impl Spread<'_> {
    /// Returns the direct irradiance at one point from one point of a light, and the number of rays. Points inside
    /// other geometry receive nothing.
    pub fn sample(&self, light: &OneLight, round: u32) -> (Vec3, u64) {
        let [x, y, u, v] = numbers(self.row, round);
        let point = self.sampler.sample(Vec2::new(x, y));
        self.receiving.sample(light, &point, [u, v], (self.row, round))
    }
}

impl Receiving<'_> {
    /// Returns true when no light reaches a receiver.
    pub fn is_dark(&self, row: u32) -> bool {
        self.level.precomputed.receivers.visible[row as usize] == 0.0
    }

    /// Returns the unoccluded fraction of a receiver, at least [`MIN_VISIBILITY`].
    pub fn visible(&self, row: u32) -> f32 {
        self.level.precomputed.receivers.visible[row as usize].abs().max(MIN_VISIBILITY)
    }

    /// Returns the area of a receiver, in m2.
    pub fn area(&self, row: u32) -> f32 {
        self.level.elements.area[self.id(row).index()]
    }

    /// Returns the unoccluded area of a receiver, in m2.
    pub fn reached_area(&self, row: u32) -> f32 {
        self.area(row) * self.level.precomputed.receivers.visible[row as usize].abs()
    }

    /// Returns a sampler over the footprint of a receiver.
    pub fn spread(&self, row: u32) -> Spread<'_> {
        Spread { receiving: self, row, sampler: self.sampler(row) }
    }

    /// Returns a sampler of surface points of a receiver.
    pub fn sampler(&self, row: u32) -> ElementSampler {
        self.level.elements.sampler(&self.level.scene, self.id(row))
    }

    fn id(&self, row: u32) -> ElementId {
        ElementId(self.level.precomputed.transport.patches.order[row as usize])
    }

    /// Returns the center of a receiver.
    pub fn middle(&self, row: u32) -> SurfacePoint {
        let receivers = &self.level.precomputed.receivers;
        SurfacePoint {
            position: receivers.center[row as usize],
            geometric_normal: receivers.geometric_normal[row as usize],
            shading_normal: receivers.shading_normal[row as usize],
            triangle: 0,
            barycentric: Vec2::ZERO,
            clearance: self.level.elements.clearance[self.id(row).index()],
        }
    }

    /// Returns the direct irradiance at a receiver's center from one point of a light, and the number of rays.
    fn sample_center(&self, light: &OneLight, row: u32, round: u32) -> (Vec3, u64) {
        let [.., u, v] = numbers(row, round);
        self.sample(light, &self.middle(row), [u, v], (row, round))
    }

    /// Returns the direct irradiance at a point, and the number of rays. `u` selects the point on the light.
    ///
    /// `seed` seeds the BSDF-sampled ray: the row of the receiver and the round. Both estimates are combined by
    /// multiple importance sampling.
    fn sample(&self, light: &OneLight, point: &SurfacePoint, u: [f32; 2], seed: (u32, u32)) -> (Vec3, u64) {
        let (mut found, mut rays) = (Vec3::ZERO, 0);
        if let Some(sample) = light.sample(point.origin(), point.shading_normal, u)
            && sample.direction.dot(point.geometric_normal) > 0.0
        {
            let cosine_pdf = point.shading_normal.dot(sample.direction).max(0.0) * FRAC_1_PI;
            let weight = sample.pdf.map_or(1.0, |pdf| power_heuristic(pdf, cosine_pdf));
            found = self.world.blocked(&sample.ray).0 * sample.irradiance * weight;
            rays = 1;
        }
        if light.can_be_hit() {
            let (row, round) = seed;
            let [x, y, ..] = OwenSobol::new(hash2(BSDF_SEED, row)).point(round);
            found += self.meet(light, point, Vec2::new(x, y));
            rays += 1;
        }
        (found, rays)
    }

    /// Returns the irradiance from a BSDF-sampled ray that hits the light. It complements light sampling for surfaces
    /// close by.
    fn meet(&self, light: &OneLight, point: &SurfacePoint, u: Vec2) -> Vec3 {
        let direction = cosine_hemisphere(point.shading_normal, u);
        if direction.dot(point.geometric_normal) <= 0.0 {
            return Vec3::ZERO;
        }
        let ray = point.ray(direction);
        let hit = self.world.closest(&ray);
        let emission = hit.and_then(|hit| Some((light.eval_hit(&ray, &hit)?, hit.filter)));
        emission.map_or(Vec3::ZERO, |((radiance, pdf), filter)| {
            let cosine_pdf = point.shading_normal.dot(direction) * FRAC_1_PI;
            radiance * filter * (PI * power_heuristic(cosine_pdf, pdf))
        })
    }
}
