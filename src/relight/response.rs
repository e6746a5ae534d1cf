//! Unit-strength response of a light, traced incrementally.

use glam::Vec3;
use rayon::prelude::*;

use super::adaptive_samples::AdaptiveSamples;
use super::element_refinement::ElementRefinement;
use super::lights::Shape;
use super::order::Order;
use super::receiving::Receiving;
use crate::lights::OneLight;

/// Samples per receiver for a point-like light and for an extended light.
const ROUNDS: [u32; 2] = [1, 4];

/// Samples per receiver where its own direct light is shown.
const ROUNDS_SHOWN: u32 = 16;

/// Returns the samples per receiver of a light. `shows_direct` is true for pages that hold direct light.
pub fn rounds(shape: &Shape, shows_direct: bool) -> u32 {
    if shows_direct { ROUNDS_SHOWN } else { ROUNDS[usize::from(shape.has_extent())] }
}

/// Minimum number of patches per thread.
const MIN_PATCHES: usize = 16;

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
#[derive(Clone, Debug, PartialEq)]
pub struct LightResponse {
    pub shape: Shape,
    /// Sums over the receivers sampled so far, of even parts and of odd ones. Their difference tells the noise.
    halves: [PatchSums; 2],
    /// Number of steps done. Each samples one part of the order; each round has all parts.
    steps: u32,
    /// Samples per receiver.
    rounds: u32,
    /// If true, samples cover the footprints of receivers, whose own direct light is shown. Else they lie at the
    /// centers.
    is_spread: bool,
    direct: DirectLight,
    /// Refined indirect light, once the light has settled.
    pub refinement: ElementRefinement,
}

/// Direct light of lit receivers at unit strength.
#[derive(Clone, Debug, PartialEq)]
enum DirectLight {
    /// Sums over the rounds so far, by part and row.
    Partial(Vec<Vec<Received>>),
    /// Means over all rounds, and better ones by adaptive sampling.
    Complete { means: Vec<Received>, adaptive: AdaptiveSamples },
}

impl LightResponse {
    /// Starts without samples.
    pub fn new(shape: Shape, rounds: u32, is_spread: bool, receiving: &Receiving) -> Self {
        let patches = receiving.level.precomputed.transport.patches.len();
        Self {
            shape,
            halves: [PatchSums::new(patches), PatchSums::new(patches)],
            steps: 0,
            rounds,
            is_spread,
            direct: DirectLight::Partial(vec![Vec::new(); receiving.order.len()]),
            refinement: ElementRefinement::default(),
        }
    }

    /// Returns the finished response to a light that reaches no receiver.
    pub fn dark(shape: Shape, rounds: u32, is_spread: bool, receiving: &Receiving) -> Self {
        let direct = DirectLight::Complete { means: Vec::new(), adaptive: AdaptiveSamples::default() };
        let steps = receiving.order.len() as u32 * rounds;
        Self { steps, direct, ..Self::new(shape, rounds, is_spread, receiving) }
    }

    /// Returns the number of steps done.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Returns true when every receiver has all its samples.
    pub fn is_done(&self) -> bool {
        matches!(self.direct, DirectLight::Complete { .. })
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

    /// Returns the best known direct light of all lit receivers by row. Empty before all have been sampled.
    pub fn receivers(&self) -> &[Received] {
        match &self.direct {
            DirectLight::Complete { adaptive: AdaptiveSamples::Complete(receivers), .. } => receivers,
            _ => self.first_known(),
        }
    }

    /// Returns the direct light of all lit receivers before adaptive sampling.
    pub fn first_known(&self) -> &[Received] {
        match &self.direct {
            DirectLight::Complete { means, .. } => means,
            DirectLight::Partial(_) => &[],
        }
    }

    /// Returns true when adaptive sampling is done.
    pub fn is_fine(&self) -> bool {
        matches!(self.direct, DirectLight::Complete { adaptive: AdaptiveSamples::Complete(_), .. })
    }

    /// Continues adaptive sampling over the footprints of receivers within a ray budget. Returns the number of rays.
    pub fn refine(&mut self, receiving: &Receiving, budget: u64) -> u64 {
        match &mut self.direct {
            DirectLight::Complete { means, adaptive } if budget > 0 => {
                adaptive.step(means, self.shape.sampler(receiving.lit).as_ref(), receiving, budget)
            }
            _ => 0,
        }
    }

    /// Samples the next part of the receivers. Returns the number of rays.
    pub fn step(&mut self, light: Option<&OneLight>, receiving: &Receiving) -> u64 {
        let part = receiving.order.part(self.steps as usize % receiving.order.len());
        self.count(self.steps, receiving);
        let rays = self.sample(self.steps, 1.0, light, receiving);
        self.steps += 1;
        if self.steps as usize == receiving.order.len() * self.rounds as usize {
            self.complete();
        }
        // Rejecting receivers takes time too.
        rays.max(part.len() as u64 / 16)
    }

    /// Replaces all samples so far after a change of geometry: subtracts those of `before`, adds those of `after`.
    ///
    /// Both contexts must answer only rays that the change may affect; see
    /// [`RestrictedQuery`](super::restricted_query::RestrictedQuery). Adaptive samples and the refined indirect light
    /// are discarded.
    pub fn follow(&mut self, before: &Receiving, after: &Receiving) {
        let light = self.shape.sampler(after.lit);
        self.refinement = ElementRefinement::default();
        let was_done = self.is_done();
        if let DirectLight::Complete { means, .. } = &mut self.direct {
            let mut sums = vec![Vec::new(); before.order.len()];
            sums[0] = core::mem::take(means);
            sums[0].iter_mut().for_each(|received: &mut Received| received.light *= self.rounds as f32);
            self.direct = DirectLight::Partial(sums);
        }
        for step in 0..self.steps {
            self.sample(step, -1.0, light.as_ref(), before);
            self.sample(step, 1.0, light.as_ref(), after);
        }
        if was_done {
            self.complete();
        }
    }

    /// Recomputes the sums of patches for another reflectance. The refined indirect light is discarded.
    pub fn weigh(&mut self, receiving: &Receiving) {
        let transport = &receiving.level.precomputed.transport;
        let mut found = [0, 1].map(|_| vec![Vec3::ZERO; transport.elements()]);
        let mut add = |half: usize, received: &[Received], factor: f32| {
            received.iter().for_each(|&Received { row, light }| found[half][row as usize] += light * factor);
        };
        match &self.direct {
            // With all samples, only the sum of both halves matters.
            DirectLight::Complete { means, .. } => add(0, means, self.rounds as f32),
            DirectLight::Partial(sums) => {
                sums.iter().enumerate().for_each(|(index, sums)| add(index % 2, sums, 1.0));
            }
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
        let (Some(light), DirectLight::Partial(sums)) = (light, &mut self.direct) else { return 0 };
        let found: Vec<(Vec<Received>, u64)> = (self.halves[index % 2].light.par_iter_mut().enumerate())
            .with_min_len(MIN_PATCHES)
            .with_max_len(MIN_PATCHES)
            .map(|(patch, sum)| {
                let (mut kept, mut rays) = (Vec::new(), 0);
                for &row in part.of(patch) {
                    let (found, traced) = if self.is_spread {
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
        add_by_row(&mut sums[index], found.iter().flat_map(|(kept, _)| kept));
        found.iter().map(|(_, rays)| rays).sum()
    }

    /// Replaces the sums of all parts by their means over all rounds.
    fn complete(&mut self) {
        if let DirectLight::Partial(sums) = &self.direct {
            let mut means = Vec::new();
            add_by_row(&mut means, sums.iter().flatten());
            means.iter_mut().for_each(|received| received.light /= self.rounds as f32);
            means.retain(|received| received.light != Vec3::ZERO);
            self.direct = DirectLight::Complete { means, adaptive: AdaptiveSamples::default() };
        }
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
