//! What the brightest elements bring to all others, by rays between them, once lights rest.
//!
//! Few of a receiver's stored hits are on a bright spot that is small from where it is, so they say little of what that
//! brings. Rays from point to point do not miss it, but are of no use where elements are as near as they are large. Each
//! pair is known by both, and the farther its elements are apart, as seen by their size, the more by rays: how much is
//! settled by where they are, whatever has been found, so that the mean stays right.

use core::f32::consts::FRAC_1_PI;

use glam::{Vec2, Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;

use super::reach::Receiving;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Ray, Transmittance};
use crate::lightmap::{ElementSampler, SurfacePoint};
use crate::scene::luminance;

/// Which random numbers: those of no stage of a bake, nor of direct light.
const SEED: u32 = 0x77aa_1234;

/// Elements that are taken for the brightest.
const MOST: usize = 64;

/// Squared distance in areas of both elements, below which points say nothing of a pair.
const NEAREST: f32 = 1.0;

/// A hit that is one of many stands for a share of what is seen. Its squared error, as a part of what a pair comes to,
/// grows with the squared distance, and that of a ray between them falls with it, so that the one is the other's match where
/// the fourth power of the distance, in square roots of both areas, times that share is so much.
const EVEN: f32 = 0.6;

/// Receivers that are asked at a time.
const CHUNK: usize = 512;

/// Receivers that a thread takes at least.
const FEWEST: usize = 32;

/// What rays between the brightest elements and others say more than stored hits do.
#[derive(Clone, Debug, PartialEq)]
pub struct Bright {
    /// The brightest, rising.
    senders: Vec<u32>,
    asked: usize,
    more: Vec<More>,
}

/// What a receiver gets of a sender's radiosity beside what its hits tell; less than nothing where these tell too much.
#[derive(Clone, Copy, Debug, PartialEq)]
struct More {
    receiver: u32,
    sender: u32,
    share: f32,
}

impl Bright {
    /// Takes the brightest elements, by row, for those to ask of: those whose light stored hits know worst.
    pub fn of(radiosity: &[Vec4], receiving: &Receiving) -> Self {
        let noise = |&row: &u32| luminance(radiosity[row as usize].xyz().abs()).powi(2) * receiving.reached_area(row);
        let mut rows: Vec<(f32, u32)> =
            (0..radiosity.len() as u32).map(|row| (noise(&row), row)).filter(|(noise, _)| *noise > 0.0).collect();
        let by_noise = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if rows.len() > MOST {
            rows.select_nth_unstable_by(MOST, by_noise);
            rows.truncate(MOST);
        }
        let mut senders: Vec<u32> = rows.into_iter().map(|(_, row)| row).collect();
        senders.sort_unstable();
        Self { senders, asked: 0, more: Vec::new() }
    }

    /// True once all receivers have been asked.
    pub fn is_done(&self, receiving: &Receiving) -> bool {
        self.asked >= receiving.level.precomputed.hits.len()
    }

    /// Asks some more receivers; how many rays that took.
    pub fn step(&mut self, receiving: &Receiving) -> u64 {
        let all = receiving.level.precomputed.hits.len();
        let end = if self.senders.is_empty() { all } else { (self.asked + CHUNK).min(all) };
        let samplers: Vec<ElementSampler> = self.senders.iter().map(|&row| receiving.sampler(row)).collect();
        let rows = (self.asked as u32..end as u32).into_par_iter().with_min_len(FEWEST);
        let found: Vec<(Vec<More>, u64)> = rows.map(|row| self.ask(row, &samplers, receiving)).collect();
        self.more.extend(found.iter().flat_map(|(more, _)| more));
        self.asked = end;
        // Turning receivers away takes time too.
        found.iter().map(|(_, rays)| rays).sum::<u64>().max((CHUNK / 16) as u64)
    }

    /// What a receiver gets of each sender, and how many rays that took.
    fn ask(&self, receiver: u32, samplers: &[ElementSampler], receiving: &Receiving) -> (Vec<More>, u64) {
        let hits = &receiving.level.precomputed.hits;
        let share = hits.share(receiver as usize);
        if share == 0.0 || receiving.is_dark(receiver) {
            return (Vec::new(), 0);
        }
        let weights: Vec<f32> =
            self.senders.iter().map(|&sender| by_rays(receiver, sender, share, receiving)).collect();
        let mut more = vec![0.0; self.senders.len()];
        for hit in hits.hits(receiver as usize) {
            if let Ok(index) = self.senders.binary_search(&(hit as u32)) {
                more[index] -= share * weights[index];
            }
        }
        let (here, points) = (receiving.sampler(receiver), OwenSobol::new(hash2(SEED, receiver)));
        let mut rays = 0;
        for (index, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let [x, y, u, v] = points.point(index as u32);
            let [from, to] = [here.sample(Vec2::new(x, y)), samplers[index].sample(Vec2::new(u, v))];
            if let Some(unhidden) = form_factor(&from, &to) {
                let seen = uncoloured(receiving.world.blocked(&Ray::between(from.origin(), to.origin())));
                let area = receiving.area(self.senders[index]);
                more[index] += weight * unhidden * seen * area / receiving.visible(receiver);
                rays += 1;
            }
        }
        let found = self.senders.iter().zip(more).filter(|(_, share)| *share != 0.0);
        (found.map(|(&sender, share)| More { receiver, sender, share }).collect(), rays)
    }

    /// Adds what receivers get more than hits tell to their irradiance, for the radiosity that was chosen by.
    pub fn add(&self, radiosity: &[Vec4], light: &mut [Vec3]) {
        for More { receiver, sender, share } in &self.more {
            light[*receiver as usize] += radiosity[*sender as usize].xyz() * *share;
        }
    }
}

/// How much of what a pair comes to rays are to tell; the rest is the hits', of which each stands for a share.
fn by_rays(receiver: u32, sender: u32, share: f32, receiving: &Receiving) -> f32 {
    let centre = &receiving.level.precomputed.receivers.centre;
    let squared = centre[receiver as usize].distance_squared(centre[sender as usize]);
    let apart = squared / (receiving.area(receiver) + receiving.area(sender));
    if apart < NEAREST {
        return 0.0;
    }
    let known = apart * apart * share;
    known / (known + EVEN)
}

/// How much of light gets through, if that is as much of each colour. Rays that are coloured on their way are left to stored
/// hits, which hold them apart: some have come round a corner.
fn uncoloured(Transmittance(through): Transmittance) -> f32 {
    if through == Vec3::splat(through.x) { through.x } else { 0.0 }
}

/// The form factor from one point to a square metre around another that nothing hides, 1/m2; none where these do not face
/// each other.
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
    use crate::kdtree::{Preset, World};
    use crate::radiosity::Content;
    use crate::radiosity::test_scene::{TestScene, grey, precomputed};
    use crate::relight::Level;
    use crate::relight::order::Order;

    /// A room of two metres, with elements of a quarter of a metre of which 64 rays each are known.
    fn room() -> Level {
        let mut test = TestScene::default();
        test.room(Vec3::splat(2.0), 8, |_| grey(0.5));
        let elements = Arc::new(test.elements());
        let scene = Arc::new(test.scene);
        let world = Arc::new(World::build(scene.clone(), Preset::fast()));
        let precomputed = Arc::new(precomputed(&scene, &*world, &elements, 6, 32));
        Level { scene, world, elements, precomputed, pages: Arc::new([]), content: Content::Indirect }
    }

    #[test]
    fn a_bright_spot_lights_what_is_far_from_it_evenly_and_all_of_its_light_arrives() {
        let level = room();
        let order = Order::new(&level.precomputed.transport.patches, &level.precomputed.receivers.visible);
        let receiving = Receiving { level: &level, world: &*level.world, order: &order, is_spread: true };
        let centre = &level.precomputed.receivers.centre;
        let middle = Vec3::new(1.125, 0.0, 1.125);
        let spot = (0..centre.len()).min_by(|&a, &b| centre[a].distance(middle).total_cmp(&centre[b].distance(middle)));
        let mut radiosity = vec![Vec4::ZERO; centre.len()];
        radiosity[spot.unwrap()] = Vec4::new(1.0, 1.0, 1.0, 0.0);
        let mut bright = Bright::of(&radiosity, &receiving);
        assert_eq!(bright.senders, [spot.unwrap() as u32]);
        while !bright.is_done(&receiving) {
            assert!(bright.step(&receiving) > 0);
        }
        let mut by_hits = vec![Vec3::ZERO; centre.len()];
        level.precomputed.hits.gather(&radiosity, &mut by_hits);
        let mut by_both = by_hits.clone();
        bright.add(&radiosity, &mut by_both);

        // Squares of a quarter of a metre that are parallel and two metres apart: A cos^2 / (pi d^2) for either.
        let far: Vec<usize> = (0..centre.len()).filter(|&row| centre[row].y > 1.99).collect();
        let error = |light: &[Vec3]| {
            let of_row = |&row: &usize| {
                let squared = centre[row].distance_squared(middle);
                light[row].x / (0.0625 * (4.0 / squared) * FRAC_1_PI / squared) - 1.0
            };
            (far.iter().map(|row| of_row(row).powi(2)).sum::<f32>() / far.len() as f32).sqrt()
        };
        let arrived = by_both.iter().map(|light| light.x).sum::<f32>();
        assert_eq!(far.len(), 64);
        assert!(error(&by_hits) > 1.0 && error(&by_both) < 0.12, "{} {}", error(&by_hits), error(&by_both));
        assert!((arrived - 1.0).abs() < 0.05, "{arrived}");
    }

    #[test]
    fn rays_through_coloured_glass_are_left_to_hits_and_those_through_grey_glass_are_not() {
        let through = |red: f32, others: f32| uncoloured(Transmittance(Vec3::new(red, others, others)));
        assert_eq!([through(1.0, 1.0), through(0.5, 0.5), through(1.0, 0.5), through(0.0, 0.0)], [1.0, 0.5, 0.0, 0.0]);
    }
}
