//! What lights that rest come to: their light followed from element to element, twice.
//!
//! Patches spread light as far as they reach. Once each element has been asked for lights that rest, sweeps over stored hits
//! say what that comes to, one bounce an update: what has gone wrong by way of patches is reflected once for each sweep, and
//! what is seen of it dwindles (final gather). Then elements are asked again, as often as each is worth (`finer`), and sweeps
//! follow what that comes to. The last bounce is told by rays to the brightest elements too (`bright`).

use glam::{Vec3, Vec4};

use super::bright::Bright;
use super::reach::{Received, Receiving};
use super::slot::Slot;
use crate::radiosity::low_rank::StoredTransport;
use crate::scene::luminance;

/// Light on its way from element to element.
pub struct Resting {
    /// What is to be done; none when nothing better is to be had.
    next: Option<Next>,
    /// Direct irradiance that has come and gone, lux by row.
    direct: Vec<Vec3>,
    /// What rows reflect of the part of that which has come, lm/m2, once direct light is known as well as it will be.
    come: Option<Vec<Vec4>>,
    /// Indirect irradiance as patches tell it.
    spread: Vec<Vec3>,
    /// The same, as far as it has been followed, and for how many bounces.
    light: Vec<Vec3>,
    swept: u32,
}

/// What is next for lights that rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Following direct light for a bounce.
    Sweep,
    /// Asking for direct light more precisely.
    Ask,
    /// Asking what bright elements bring.
    Look,
}

impl Resting {
    /// Begins with what was known first of direct light, whatever is known since, so that the outcome has no memory, and
    /// with what patches tell of the indirect light.
    pub fn new(slots: &[Slot], spread: Vec<Vec3>) -> Self {
        let direct = direct(slots, spread.len(), false, |_| true);
        Self { next: Some(Next::Sweep), direct, come: None, light: spread.clone(), spread, swept: 0 }
    }

    /// What is to be done; none when nothing better is to be had.
    pub fn next(&self) -> Option<Next> {
        self.next
    }

    /// Follows light for one bounce more, of so many; true when that was the last.
    pub fn sweep(&mut self, hits: &StoredTransport, sweeps: u32) -> bool {
        hits.sweep(&self.direct, &mut self.light);
        self.swept += 1;
        let is_last = self.swept >= sweeps;
        if is_last {
            self.next = Some(if self.come.is_some() { Next::Look } else { Next::Ask });
        }
        is_last
    }

    /// Direct light is known as well as it will be.
    pub fn refined(&mut self, slots: &[Slot], hits: &StoredTransport) {
        let direct = |counts: fn(Vec3) -> bool| direct(slots, self.light.len(), true, counts);
        let come = hits.radiosity(&direct(|strength| luminance(strength) > 0.0), &vec![Vec3::ZERO; self.light.len()]);
        (self.direct, self.come) = (direct(|_| true), Some(come));
        (self.next, self.swept) = (Some(Next::Sweep), 0);
    }

    /// Follows light for the last bounce as soon as rays to bright elements have told what they bring of light that has
    /// come; how many have been traced. What has gone is known by the hits that it was baked with, noise and all.
    pub fn look(&mut self, bright: &mut Bright, receiving: &Receiving, budget: u64) -> u64 {
        let come = self.come.as_deref().unwrap_or_default();
        bright.choose(come, receiving);
        let mut rays = 0;
        while rays < budget && !bright.is_done(receiving) {
            rays += bright.step(receiving);
        }
        if bright.is_done(receiving) {
            receiving.level.precomputed.hits.sweep(&self.direct, &mut self.light);
            bright.add(come, &mut self.light);
            self.next = None;
        }
        rays
    }

    /// Indirect irradiance as patches tell it, lux by row.
    pub fn spread(&self) -> &[Vec3] {
        &self.spread
    }

    /// Indirect irradiance as it has been followed, lux by row.
    pub fn light(&self) -> &[Vec3] {
        &self.light
    }
}

/// Direct light that has changed, by row: of changes whose strength counts.
fn direct(slots: &[Slot], rows: usize, is_fine: bool, counts: fn(Vec3) -> bool) -> Vec<Vec3> {
    let mut direct = vec![Vec3::ZERO; rows];
    let changes = slots.iter().flat_map(|slot| slot.direct_changes(is_fine));
    for (strength, receivers) in changes.filter(|(strength, _)| counts(*strength)) {
        receivers.iter().for_each(|&Received { row, light }| direct[row as usize] += strength * light);
    }
    direct
}
