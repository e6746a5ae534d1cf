//! Irradiance from the brightest elements, by rays between element pairs, once lights have settled.
//!
//! A receiver has few stored hits on a small bright spot, so stored hits estimate its contribution badly. Rays between
//! two elements do not miss the spot. They are useless where elements are as near as they are large. So each pair
//! blends both estimates. The weight of the rays grows with the distance relative to the element sizes.
//!
//! A receiver has few rays for many bright elements. Rays are distributed in proportion to the expected contribution.
//! Weights depend on positions and radiosities only, never on traced results, so the blended estimate stays unbiased.

use core::f32::consts::FRAC_1_PI;

use glam::{Vec2, Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;

use super::chunks::{self, MIN_RAYS};
use super::receiving::Receiving;
use crate::geometry::sobol::{OwenSobol, hash2, unit_float};
use crate::geometry::{Ray, Transmittance};
use crate::lightmap::{ElementSampler, SurfacePoint};
use crate::scene::luminance;

/// Seed of the sample sequences. No stage of a bake uses it, and direct light does not either.
const SEED: u32 = 0x77aa_1234;

/// Rays per receiver.
const RAYS: f32 = 64.0;

/// Fraction of the expected error of stored hits that bright elements cover. There are at most `MAX_SENDERS` of them.
const PART: f32 = 0.99;
const MAX_SENDERS: usize = 4096;

/// Smallest squared distance, in units of both areas, at which rays between points are used for a pair.
const NEAREST: f32 = 1.0;

/// Lower bound of the product of both cosines, for pairs whose centers face away: other points of them may not.
const MIN_COSINES: f32 = 0.02;

/// Blend constant of a shadow ray against stored hits.
///
/// With `a = d^2 / (A_i + A_j)` and `k = a^2 * hit_share`, the weight of the ray is `k / (k + EVEN)`. `A_j` is divided
/// by the number of rays where a sender has less than one. The squared relative error of one hit grows with `d^2`, and
/// that of a ray falls with it. So rays win for far pairs that few hits sample.
const EVEN: f32 = 0.6;

/// Senders that a receiver can weigh in the time of one ray.
const SENDERS_PER_RAY: usize = 64;

/// Minimum number of senders per thread.
const MIN_CHUNK: usize = 32;

/// Marks a row that is no bright element.
const NONE: u32 = u32::MAX;

/// Correction of stored hits by rays to the brightest elements.
#[derive(Clone, Debug, PartialEq)]
pub struct BrightestSenders {
    senders: Vec<Sender>,
    /// Index into `senders` for each row, or [`NONE`].
    places: Vec<u32>,
    /// Correction of each row processed so far.
    more: Vec<Correction>,
}

/// Correction of a receiver's irradiance relative to its stored hits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Correction {
    /// Irradiance to add, in lux. It is negative where stored hits overestimate.
    pub light: Vec3,
    /// Upper bound of the luminance variance that the rays leave.
    pub noise: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sender {
    row: u32,
    center: Vec3,
    normal: Vec3,
    area: f32,
    /// Radiosity, in lm/m2.
    radiosity: Vec3,
}

/// Sampling plan of one receiver for one sender.
#[derive(Clone, Copy, Default)]
struct PairPlan {
    /// Expected number of rays.
    rays: f32,
    /// Weight of the rays in the blend, from 0 to 1. Stored hits have the remainder.
    weight: f32,
}

impl BrightestSenders {
    /// Selects the brightest elements: those with the largest expected error by stored hits. `radiosity` is by row, in
    /// lm/m2.
    pub fn of(radiosity: &[Vec4], receiving: &Receiving) -> Self {
        let noise = |row: u32| luminance(radiosity[row as usize].xyz().abs()).powi(2) * receiving.reached_area(row);
        let mut rows: Vec<(f32, u32)> =
            (0..radiosity.len() as u32).map(|row| (noise(row), row)).filter(|(noise, _)| *noise > 0.0).collect();
        rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let wanted = PART * rows.iter().map(|(noise, _)| noise).sum::<f32>();
        let mut held = 0.0;
        let is_wanted = |(noise, _): &&(f32, u32)| {
            let is_wanted = held < wanted;
            held += noise;
            is_wanted
        };
        let mut bright: Vec<u32> = rows.iter().take(MAX_SENDERS).take_while(is_wanted).map(|(_, row)| *row).collect();
        // Neighbors follow each other, so that rays are spread over all of a bright spot.
        bright.sort_unstable();
        let receivers = &receiving.level.precomputed.receivers;
        let sender = |&row: &u32| Sender {
            row,
            center: receivers.center[row as usize],
            normal: receivers.shading_normal[row as usize],
            area: receiving.area(row),
            radiosity: radiosity[row as usize].xyz(),
        };
        let mut places = vec![NONE; radiosity.len()];
        (0..).zip(&bright).for_each(|(place, &row)| places[row as usize] = place);
        let senders = bright.iter().map(sender).collect();
        let more = if bright.is_empty() { vec![Correction::default(); radiosity.len()] } else { Vec::new() };
        Self { senders, places, more }
    }

    /// Returns true once all receivers have been processed.
    pub fn is_done(&self) -> bool {
        self.more.len() == self.places.len()
    }

    /// Processes further receivers within a ray budget. Returns the number of rays traced, or the equivalent cost.
    pub fn step(&mut self, receiving: &Receiving, budget: u64) -> u64 {
        let senders = self.senders.par_iter().with_min_len(MIN_CHUNK);
        let samplers: Vec<ElementSampler> = senders.map(|sender| receiving.sampler(sender.row)).collect();
        let mut more = core::mem::take(&mut self.more);
        let correction = |row: u32| self.correction_of(row, &samplers, receiving);
        let rays = chunks::extend(&mut more, self.places.len(), budget, MIN_RAYS, correction);
        self.more = more;
        rays
    }

    /// Returns the correction of each receiver, by row.
    pub fn more(&self) -> &[Correction] {
        &self.more
    }

    /// Removes the radiosity of bright elements, for the noise estimate.
    ///
    /// Near pairs take most of their light from stored hits, noise included. Counting that as noise as well was tried,
    /// and blurs shadows.
    pub fn leave_out(&self, radiosity: &mut [Vec4]) {
        self.senders.iter().for_each(|sender| radiosity[sender.row as usize] = Vec4::ZERO);
    }

    /// Returns the correction of a receiver, and the cost in rays.
    fn correction_of(&self, receiver: u32, samplers: &[ElementSampler], receiving: &Receiving) -> (Correction, u64) {
        let hits = &receiving.level.precomputed.hits;
        let share = hits.share(receiver as usize);
        if share == 0.0 || receiving.is_dark(receiver) {
            return (Correction::default(), 0);
        }
        let plans = self.plans(receiver, share, receiving);
        let mut more = Vec3::ZERO;
        for hit in hits.hits(receiver as usize) {
            if let Some(sender) = self.senders.get(self.places[hit] as usize) {
                more -= sender.radiosity * (share * plans[self.places[hit] as usize].weight);
            }
        }
        let (here, points) = (receiving.sampler(receiver), OwenSobol::new(hash2(SEED, receiver)));
        let (mut passed, mut processed) = (unit_float(hash2(receiver, SEED)), 0);
        let (mut sum, mut squares) = (0.0, 0.0);
        for ((sender, sampler), plan) in self.senders.iter().zip(samplers).zip(&plans) {
            passed += plan.rays;
            while processed as f32 + 1.0 <= passed {
                let [x, y, u, v] = points.point(processed);
                let [from, to] = [here.sample(Vec2::new(x, y)), sampler.sample(Vec2::new(u, v))];
                processed += 1;
                if plan.weight > 0.0
                    && let Some(unhidden) = form_factor(&from, &to)
                {
                    let seen = uncolored(receiving.world.blocked(&Ray::between(from.origin(), to.origin())));
                    let all = unhidden * seen * sender.area / receiving.visible(receiver);
                    let light = sender.radiosity * (all * plan.weight / plan.rays);
                    more += light;
                    sum += luminance(light);
                    squares += luminance(light).powi(2);
                }
            }
        }
        // Variance as if all rays were independent.
        let noise = (squares - sum * sum / processed.max(1) as f32).max(0.0);
        // Rays between points that face away cost time too, and so does the sampling plan.
        (Correction { light: more, noise }, u64::from(processed) + (self.senders.len() / SENDERS_PER_RAY) as u64)
    }

    /// Returns the sampling plan of a receiver for all senders. `share` is the fraction of irradiance of one stored
    /// hit.
    fn plans(&self, receiver: u32, share: f32, receiving: &Receiving) -> Vec<PairPlan> {
        let receivers = &receiving.level.precomputed.receivers;
        let (center, normal) = (receivers.center[receiver as usize], receivers.shading_normal[receiver as usize]);
        let area = receiving.area(receiver);
        let likely = |sender: &Sender| {
            let step = sender.center - center;
            let squared = step.length_squared();
            if squared < NEAREST * (area + sender.area) {
                return 0.0;
            }
            let cosines = normal.dot(step).max(0.0) * sender.normal.dot(-step).max(0.0) / squared;
            luminance(sender.radiosity.abs()) * sender.area * cosines.max(MIN_COSINES) / squared
        };
        let likely: Vec<f32> = self.senders.iter().map(likely).collect();
        let all: f32 = likely.iter().sum();
        let plan = |(sender, likely): (&Sender, f32)| {
            if likely == 0.0 {
                return PairPlan::default();
            }
            let rays = RAYS * likely / all;
            let apart = center.distance_squared(sender.center) / (area + sender.area / rays.min(1.0));
            let known = apart * apart * share;
            let weight = if apart < NEAREST { 0.0 } else { known / (known + EVEN) };
            PairPlan { rays, weight }
        };
        self.senders.iter().zip(likely).map(plan).collect()
    }
}

/// Returns the transmittance if all channels agree, else 0. Colored rays stay with stored hits, which keep them
/// separate: some have passed around a corner.
fn uncolored(Transmittance(through): Transmittance) -> f32 {
    if through == Vec3::splat(through.x) { through.x } else { 0.0 }
}

/// Returns the unoccluded form factor from a point to a square meter around another, in 1/m2. `None` where they face
/// away.
fn form_factor(from: &SurfacePoint, to: &SurfacePoint) -> Option<f32> {
    let step = to.position - from.position;
    let squared = step.length_squared();
    let direction = step / squared.sqrt();
    let cosines = [from.shading_normal.dot(direction), -to.geometric_normal.dot(direction)];
    let faces = from.geometric_normal.dot(direction) > 0.0 && cosines.iter().all(|cosine| *cosine > 0.0);
    faces.then(|| cosines[0] * cosines[1] * FRAC_1_PI / squared)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::accel::{Preset, World};
    use crate::radiosity::Content;
    use crate::radiosity::test_scene::{TestScene, gray, precomputed};
    use crate::relight::order::Order;
    use crate::relight::{LazyTexelMapping, RelightInput};

    /// Builds a room of 2 m with elements of 0.25 m and 64 stored rays each.
    fn room() -> RelightInput {
        let mut test = TestScene::default();
        test.room(Vec3::splat(2.0), 8, |_| gray(0.5));
        let elements = Arc::new(test.elements());
        let scene = Arc::new(test.scene);
        let world = Arc::new(World::build(scene.clone(), Preset::fast()));
        let precomputed = Arc::new(precomputed(&scene, &*world, &elements, 6, 32));
        let texel_mapping = LazyTexelMapping::default();
        RelightInput {
            scene,
            world,
            elements,
            precomputed,
            pages: Arc::new([]),
            content: Content::Indirect,
            texel_mapping,
        }
    }

    #[test]
    fn a_bright_spot_lights_what_is_far_from_it_evenly_and_all_of_its_light_arrives() {
        let level = room();
        let order = Order::new(&level.precomputed.transport.patches, &level.precomputed.receivers.visible);
        let receiving = Receiving { level: &level, world: &*level.world, order: &order, lit: &level.scene };
        let center = &level.precomputed.receivers.center;
        let middle = Vec3::new(1.125, 0.0, 1.125);
        let spot = (0..center.len()).min_by(|&a, &b| center[a].distance(middle).total_cmp(&center[b].distance(middle)));
        let mut radiosity = vec![Vec4::ZERO; center.len()];
        radiosity[spot.unwrap()] = Vec4::new(1.0, 1.0, 1.0, 0.0);
        let mut bright = BrightestSenders::of(&radiosity, &receiving);
        assert!(bright.senders.iter().map(|sender| sender.row as usize).eq(spot));
        while !bright.is_done() {
            assert!(bright.step(&receiving, 1) > 0);
        }
        let mut by_hits = vec![Vec3::ZERO; center.len()];
        level.precomputed.hits.gather(&radiosity, &mut by_hits);
        let by_both: Vec<Vec3> = by_hits.iter().zip(bright.more()).map(|(hits, more)| hits + more.light).collect();

        // Parallel squares of 0.25 m, 2 m apart: the form factor is `A cos^2 / (pi d^2)`.
        let far: Vec<usize> = (0..center.len()).filter(|&row| center[row].y > 1.99).collect();
        let error = |light: &[Vec3]| {
            let of_row = |&row: &usize| {
                let squared = center[row].distance_squared(middle);
                light[row].x / (0.0625 * (4.0 / squared) * FRAC_1_PI / squared) - 1.0
            };
            (far.iter().map(|row| of_row(row).powi(2)).sum::<f32>() / far.len() as f32).sqrt()
        };
        let arrived = by_both.iter().map(|light| light.x).sum::<f32>();
        println!("{} by hits, {} by rays too; {arrived} arrives", error(&by_hits), error(&by_both));
        assert_eq!(far.len(), 64);
        assert!(error(&by_hits) > 1.0 && error(&by_both) < 0.12, "{} {}", error(&by_hits), error(&by_both));
        assert!((arrived - 1.0).abs() < 0.05, "{arrived}");
    }

    #[test]
    fn rays_through_colored_glass_are_left_to_hits_and_those_through_gray_glass_are_not() {
        let through = |red: f32, others: f32| uncolored(Transmittance(Vec3::new(red, others, others)));
        assert_eq!([through(1.0, 1.0), through(0.5, 0.5), through(1.0, 0.5), through(0.0, 0.0)], [1.0, 0.5, 0.0, 0.0]);
    }
}
