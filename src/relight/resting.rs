//! What lights that rest come to: their light followed from element to element, twice.
//!
//! Patches spread light as far as they reach. Once each element has been asked for a light that rests, sweeps over stored
//! hits say what that comes to, one bounce an update: what has gone wrong by way of patches is reflected once for each sweep,
//! and what is seen of it dwindles (final gather). Then elements are asked again, as often as each is worth (`finer`), and
//! sweeps follow what that comes to, one more than before. Last, rays to the brightest elements tell more (`bright`), and
//! what noise is left is evened out where it is all that smoothing would change.
//!
//! All of that is linear: it holds for a light of strength one, and so for every strength.

use glam::Vec3;
use rayon::prelude::*;

use super::bright::Bright;
use super::pages::Pages;
use super::reach::{Reach, Received, Receiving};
use crate::scene::luminance;

/// Elements that a thread takes at least.
const FEWEST: usize = 4096;

/// What light is followed with.
pub struct Following<'a> {
    pub receiving: Receiving<'a>,
    pub pages: &'a Pages,
    /// Weights of all receivers of each patch.
    pub weights: &'a [Vec3],
    /// Bounces that are followed at a time.
    pub sweeps: u32,
    /// Rays for one update.
    pub budget: u64,
}

/// Light on its way from element to element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resting {
    stage: Stage,
    sweeping: Option<Sweeping>,
    looking: Option<Bright>,
    /// Indirect irradiance beside what patches tell, as it was known last, lux by row; none before.
    beside: Vec<Vec3>,
    /// What rays to the brightest elements tell beside that, and what evens out all of it; none before.
    more: Vec<Vec3>,
    /// The sum of all indirect irradiance.
    whole: Vec3,
}

/// What is next for light that rests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Following direct light as it was known first, whatever is known since, so that the outcome has no memory.
    #[default]
    First,
    /// Asking for direct light more precisely.
    Ask,
    /// Following what that has come to.
    Second,
    /// Asking what bright elements bring.
    Look,
    /// Nothing better is to be had.
    Done,
}

/// Sweeps under way, lux by row.
#[derive(Clone, Debug, PartialEq)]
struct Sweeping {
    direct: Vec<Vec3>,
    /// Indirect irradiance as patches tell it, and as it has been followed.
    spread: Vec<Vec3>,
    light: Vec<Vec3>,
    swept: u32,
}

impl Stage {
    /// True when that takes rays.
    pub fn is_by_rays(self) -> bool {
        matches!(self, Self::Ask | Self::Look)
    }
}

impl Resting {
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// What is to be done; none when nothing better is to be had. What has gone is known by the hits that it was baked with,
    /// noise and all: rays to bright elements are for light that has come.
    pub fn next(&self, has_come: bool) -> Option<Stage> {
        let is_done = self.stage == Stage::Done || (self.stage == Stage::Look && !has_come);
        (!is_done).then_some(self.stage)
    }

    /// True when something is known beside what patches tell.
    pub fn is_known(&self) -> bool {
        self.stage > Stage::First
    }

    /// Direct light is known as well as it will be.
    pub fn set_asked(&mut self) {
        self.stage = Stage::Second;
    }

    /// Follows changes of light, strengths of what they bring, a bit further; how many rays that took, and whether more is
    /// known by that.
    pub fn step(&mut self, changes: &[(Vec3, &Reach)], following: &Following) -> (u64, bool) {
        if self.stage == Stage::Look { self.look(changes, following) } else { (0, self.sweep(changes, following)) }
    }

    /// Follows light for one bounce more; true when that was the last.
    fn sweep(&mut self, changes: &[(Vec3, &Reach)], following: &Following) -> bool {
        let Self { stage, sweeping, beside, whole, .. } = self;
        let is_second = *stage == Stage::Second;
        let Sweeping { direct, spread, light, swept } = sweeping.get_or_insert_with(|| {
            let spread = spread(changes, following);
            let mut light = spread.clone();
            add(&mut light, beside, Vec3::ONE);
            Sweeping { direct: direct(changes, spread.len(), is_second), spread, light, swept: 0 }
        });
        following.receiving.level.precomputed.hits.sweep(direct, light);
        *swept += 1;
        let is_last = *swept >= following.sweeps + u32::from(is_second);
        if is_last {
            *whole = light.iter().map(|light| light.abs()).sum();
            *beside = light.iter().zip(&*spread).map(|(light, spread)| light - spread).collect();
            (*stage, *sweeping) = (if is_second { Stage::Look } else { Stage::Ask }, None);
        }
        is_last
    }

    /// Traces rays to the elements that are the brightest by what has come; how many, and whether those were all.
    fn look(&mut self, changes: &[(Vec3, &Reach)], following: &Following) -> (u64, bool) {
        let Following { receiving, budget, .. } = following;
        let hits = &receiving.level.precomputed.hits;
        let bright = self.looking.get_or_insert_with(|| {
            let come: Vec<(Vec3, &Reach)> =
                changes.iter().copied().filter(|(strength, _)| has_come(*strength)).collect();
            let radiosity = hits.radiosity(&direct(&come, hits.len(), true), &vec![Vec3::ZERO; hits.len()]);
            Bright::of(&radiosity, receiving)
        });
        let mut rays = 0;
        while rays < *budget && !bright.is_done() {
            rays += bright.step(receiving);
        }
        let Some(bright) = self.looking.take_if(|bright| bright.is_done()) else {
            return (rays, false);
        };
        self.more = self.evened(&bright, changes, following);
        self.stage = Stage::Done;
        (rays, true)
    }

    /// What rays to bright elements tell, and what makes the sum with all that is known beside as smooth as the noise that
    /// is left allows: a wall that is lit evenly shows it, though it is but some per cent.
    fn evened(&self, bright: &Bright, changes: &[(Vec3, &Reach)], following: &Following) -> Vec<Vec3> {
        let hits = &following.receiving.level.precomputed.hits;
        let mut light = spread(changes, following);
        add(&mut light, &self.beside, Vec3::ONE);
        let mut radiosity = hits.radiosity(&direct(changes, hits.len(), true), &light);
        bright.leave_out(&mut radiosity);
        let mut noise = hits.noise(&radiosity);
        noise.iter_mut().zip(bright.more()).for_each(|(noise, more)| *noise += more.noise);
        let mut more: Vec<Vec3> = bright.more().iter().map(|more| more.light).collect();
        add(&mut light, &more, Vec3::ONE);
        add(&mut more, &following.pages.smoothing().evened(&light, &noise), Vec3::ONE);
        more
    }

    /// Adds what is known beside what patches tell, times a strength, to that of elements, none of which is nothing; all
    /// light that it is a part of.
    pub fn add(&self, strength: Vec3, elements: &mut Vec<Vec3>) -> f32 {
        elements.resize(self.beside.len(), Vec3::ZERO);
        add(elements, &self.beside, strength);
        if has_come(strength) {
            add(elements, &self.more, strength);
        }
        luminance(strength.abs() * self.whole)
    }
}

/// True for the strength of light that has come, and not for that of light that has gone.
pub fn has_come(strength: Vec3) -> bool {
    luminance(strength) > 0.0
}

/// Adds light to that of the same rows, times a strength.
fn add(sums: &mut [Vec3], light: &[Vec3], strength: Vec3) {
    sums.par_iter_mut().zip(light).with_min_len(FEWEST).for_each(|(sum, light)| *sum += light * strength);
}

/// Direct irradiance that changes come to, by row.
fn direct(changes: &[(Vec3, &Reach)], rows: usize, is_fine: bool) -> Vec<Vec3> {
    let mut direct = vec![Vec3::ZERO; rows];
    for (strength, reach) in changes {
        let receivers = if is_fine { reach.receivers() } else { reach.first_known() };
        receivers
            .unwrap_or_default()
            .iter()
            .for_each(|&Received { row, light }| direct[row as usize] += strength * light);
    }
    direct
}

/// Indirect irradiance that patches spread, lux by row.
fn spread(changes: &[(Vec3, &Reach)], following: &Following) -> Vec<Vec3> {
    let mut patches = vec![Vec3::ZERO; following.weights.len()];
    changes.iter().for_each(|(strength, reach)| reach.add(*strength, following.weights, &mut patches));
    following.pages.spread(&following.receiving.level.precomputed.transport, &patches)
}
