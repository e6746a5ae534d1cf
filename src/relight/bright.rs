//! What bright elements bring to all others, by rays between them, once lights rest.
//!
//! Few of a receiver's stored hits are on a bright spot that is small from where it is, so they say little of what that
//! brings. Rays from point to point do not miss it, but are of no use where elements are as near as they are large. Each
//! pair is known by both, and the farther its elements are apart, as seen by their size, the more by rays. A receiver has
//! few rays for many bright elements: each stands for as many as together are likely to bring as much as others do, and
//! counts for less where those are large. How much is settled by where elements are and what they shine with, whatever has
//! been found, so that the mean stays right.

use core::f32::consts::FRAC_1_PI;

use glam::{Vec2, Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;

use super::reach::Receiving;
use crate::geometry::sobol::{OwenSobol, hash2, unit_float};
use crate::geometry::{Ray, Transmittance};
use crate::lightmap::{ElementSampler, SurfacePoint};
use crate::scene::luminance;

/// Which random numbers: those of no stage of a bake, nor of direct light.
const SEED: u32 = 0x77aa_1234;

/// Rays of a receiver.
const RAYS: f32 = 64.0;

/// Bright elements are as many as hold this part of what stored hits are likely to miss, but no more than so many.
const PART: f32 = 0.99;
const MOST: usize = 4096;

/// Squared distance in areas of both elements, below which points say nothing of a pair.
const NEAREST: f32 = 1.0;

/// Cosines of both ends, times each other, of pairs whose middles do not face each other: points of them may.
const LEAST_COSINES: f32 = 0.02;

/// A hit that is one of many stands for a share of what is seen. Its squared error, as a part of what a pair comes to,
/// grows with the squared distance, and that of a ray between them falls with it, so that the one is the other's match where
/// the fourth power of the distance, in square roots of both areas, times that share is so much.
const EVEN: f32 = 0.6;

/// Receivers that are asked at a time.
const CHUNK: usize = 512;

/// Senders that a receiver looks at in the time of a ray.
const LOOKS: usize = 64;

/// Receivers that a thread takes at least.
const FEWEST: usize = 32;

/// Nobody among the bright.
const NONE: u32 = u32::MAX;

/// What rays between bright elements and others say more than stored hits do.
#[derive(Clone, Debug, PartialEq)]
pub struct Bright {
    senders: Vec<Sender>,
    /// Which of them each row is, or none.
    places: Vec<u32>,
    asked: usize,
    /// By row.
    more: Vec<More>,
}

/// What a receiver gets beside what its hits tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct More {
    /// Lux; less than nothing where hits tell too much.
    pub light: Vec3,
    /// The variance of its luminance that rays leave, at most.
    pub noise: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sender {
    row: u32,
    centre: Vec3,
    normal: Vec3,
    area: f32,
    /// lm/m2.
    radiosity: Vec3,
}

/// How a receiver asks a sender.
#[derive(Clone, Copy, Default)]
struct Question {
    /// How many rays there are for it on the average.
    rays: f32,
    /// How much of what the pair comes to these are to tell; the rest is the hits'.
    weight: f32,
}

impl Bright {
    /// Takes the brightest elements, by row, for those to ask of: those whose light stored hits know worst.
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
        let mut bright: Vec<u32> = rows.iter().take(MOST).take_while(is_wanted).map(|(_, row)| *row).collect();
        // Neighbours follow each other, so that rays are spread over all of a spot.
        bright.sort_unstable();
        let receivers = &receiving.level.precomputed.receivers;
        let sender = |&row: &u32| Sender {
            row,
            centre: receivers.centre[row as usize],
            normal: receivers.shading_normal[row as usize],
            area: receiving.area(row),
            radiosity: radiosity[row as usize].xyz(),
        };
        let mut places = vec![NONE; radiosity.len()];
        (0..).zip(&bright).for_each(|(place, &row)| places[row as usize] = place);
        let senders = bright.iter().map(sender).collect();
        Self { senders, places, asked: 0, more: vec![More::default(); radiosity.len()] }
    }

    /// True once all receivers have been asked.
    pub fn is_done(&self) -> bool {
        self.senders.is_empty() || self.asked == self.more.len()
    }

    /// Asks some more receivers; how many rays that took, or what takes as long.
    pub fn step(&mut self, receiving: &Receiving) -> u64 {
        let end = (self.asked + CHUNK).min(self.more.len());
        let senders = self.senders.par_iter().with_min_len(FEWEST);
        let samplers: Vec<ElementSampler> = senders.map(|sender| receiving.sampler(sender.row)).collect();
        let rows = (self.asked as u32..end as u32).into_par_iter().with_min_len(FEWEST);
        let found: Vec<(More, u64)> = rows.map(|row| self.ask(row, &samplers, receiving)).collect();
        for (more, (found, _)) in self.more[self.asked..end].iter_mut().zip(&found) {
            *more = *found;
        }
        self.asked = end;
        // Turning receivers away takes time too.
        found.iter().map(|(_, rays)| rays).sum::<u64>().max((CHUNK / 16) as u64)
    }

    /// What receivers get beside what their hits tell, by row.
    pub fn more(&self) -> &[More] {
        &self.more
    }

    /// Leaves out of what rows reflect that of bright elements. Of pairs that are near, hits tell most of it, noise and all;
    /// taking that for noise as well was tried, and evens out shadows.
    pub fn leave_out(&self, radiosity: &mut [Vec4]) {
        self.senders.iter().for_each(|sender| radiosity[sender.row as usize] = Vec4::ZERO);
    }

    /// What a receiver gets beside what its hits tell, and how many rays' time that took.
    fn ask(&self, receiver: u32, samplers: &[ElementSampler], receiving: &Receiving) -> (More, u64) {
        let hits = &receiving.level.precomputed.hits;
        let share = hits.share(receiver as usize);
        if share == 0.0 || receiving.is_dark(receiver) {
            return (More::default(), 0);
        }
        let questions = self.questions(receiver, share, receiving);
        let mut more = Vec3::ZERO;
        for hit in hits.hits(receiver as usize) {
            if let Some(sender) = self.senders.get(self.places[hit] as usize) {
                more -= sender.radiosity * (share * questions[self.places[hit] as usize].weight);
            }
        }
        let (here, points) = (receiving.sampler(receiver), OwenSobol::new(hash2(SEED, receiver)));
        let (mut passed, mut asked) = (unit_float(hash2(receiver, SEED)), 0);
        let (mut sum, mut squares) = (0.0, 0.0);
        for ((sender, sampler), question) in self.senders.iter().zip(samplers).zip(&questions) {
            passed += question.rays;
            while asked as f32 + 1.0 <= passed {
                let [x, y, u, v] = points.point(asked);
                let [from, to] = [here.sample(Vec2::new(x, y)), sampler.sample(Vec2::new(u, v))];
                asked += 1;
                if question.weight > 0.0
                    && let Some(unhidden) = form_factor(&from, &to)
                {
                    let seen = uncoloured(receiving.world.blocked(&Ray::between(from.origin(), to.origin())));
                    let all = unhidden * seen * sender.area / receiving.visible(receiver);
                    let light = sender.radiosity * (all * question.weight / question.rays);
                    more += light;
                    sum += luminance(light);
                    squares += luminance(light).powi(2);
                }
            }
        }
        // As if each ray had been drawn by itself.
        let noise = (squares - sum * sum / asked.max(1) as f32).max(0.0);
        // Points that do not face each other take their time too, and so does finding out whom to ask.
        (More { light: more, noise }, u64::from(asked) + (self.senders.len() / LOOKS) as u64)
    }

    /// How a receiver, each of whose hits stands for a share of what it sees, asks each sender.
    fn questions(&self, receiver: u32, share: f32, receiving: &Receiving) -> Vec<Question> {
        let receivers = &receiving.level.precomputed.receivers;
        let (centre, normal) = (receivers.centre[receiver as usize], receivers.shading_normal[receiver as usize]);
        let area = receiving.area(receiver);
        let likely = |sender: &Sender| {
            let step = sender.centre - centre;
            let squared = step.length_squared();
            if squared < NEAREST * (area + sender.area) {
                return 0.0;
            }
            let cosines = normal.dot(step).max(0.0) * sender.normal.dot(-step).max(0.0) / squared;
            luminance(sender.radiosity.abs()) * sender.area * cosines.max(LEAST_COSINES) / squared
        };
        let likely: Vec<f32> = self.senders.iter().map(likely).collect();
        let all: f32 = likely.iter().sum();
        let question = |(sender, likely): (&Sender, f32)| {
            if likely == 0.0 {
                return Question::default();
            }
            let rays = RAYS * likely / all;
            let apart = centre.distance_squared(sender.centre) / (area + sender.area / rays.min(1.0));
            let known = apart * apart * share;
            let weight = if apart < NEAREST { 0.0 } else { known / (known + EVEN) };
            Question { rays, weight }
        };
        self.senders.iter().zip(likely).map(question).collect()
    }
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
    use crate::relight::order::Order;
    use crate::relight::{LazyShowing, Level};

    /// A room of two metres, with elements of a quarter of a metre of which 64 rays each are known.
    fn room() -> Level {
        let mut test = TestScene::default();
        test.room(Vec3::splat(2.0), 8, |_| grey(0.5));
        let elements = Arc::new(test.elements());
        let scene = Arc::new(test.scene);
        let world = Arc::new(World::build(scene.clone(), Preset::fast()));
        let precomputed = Arc::new(precomputed(&scene, &*world, &elements, 6, 32));
        let showing = LazyShowing::default();
        Level { scene, world, elements, precomputed, pages: Arc::new([]), content: Content::Indirect, showing }
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
        assert!(bright.senders.iter().map(|sender| sender.row as usize).eq(spot));
        while !bright.is_done() {
            assert!(bright.step(&receiving) > 0);
        }
        let mut by_hits = vec![Vec3::ZERO; centre.len()];
        level.precomputed.hits.gather(&radiosity, &mut by_hits);
        let by_both: Vec<Vec3> = by_hits.iter().zip(bright.more()).map(|(hits, more)| hits + more.light).collect();

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
        println!("{} by hits, {} by rays too; {arrived} arrives", error(&by_hits), error(&by_both));
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
