//! What lights that rest come to: their light followed from element to element, twice.
//!
//! Patches spread light as far as they reach. Once each element has been asked for lights that rest, sweeps over stored hits
//! say what that comes to, one bounce an update: what has gone wrong by way of patches is reflected once for each sweep, and
//! what is seen of it dwindles (final gather). Then elements are asked again, as often as each is worth (`finer`), and sweeps
//! follow what that comes to.

use glam::Vec3;

use super::slot::Slot;
use crate::radiosity::low_rank::StoredTransport;

/// Light on its way from element to element.
pub struct Resting {
    /// Direct irradiance that has come and gone, lux by row; none while it is asked for.
    direct: Option<Vec<Vec3>>,
    /// Indirect irradiance as patches tell it.
    spread: Vec<Vec3>,
    /// The same, as far as it has been followed, and for how many bounces.
    light: Vec<Vec3>,
    swept: u32,
    is_fine: bool,
}

/// What is next for lights that rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Asking for direct light more precisely.
    Ask,
    /// Following it for a bounce.
    Sweep,
}

impl Resting {
    /// Begins with what was known first of direct light, whatever is known since, so that the outcome has no memory, and
    /// with what patches tell of the indirect light.
    pub fn new(slots: &[Slot], spread: Vec<Vec3>) -> Self {
        let direct = Some(direct(slots, false, spread.len()));
        Self { direct, light: spread.clone(), spread, swept: 0, is_fine: false }
    }

    pub fn next(&self) -> Next {
        if self.direct.is_none() { Next::Ask } else { Next::Sweep }
    }

    /// True when nothing better is to be had.
    pub fn is_over(&self) -> bool {
        self.is_fine && self.direct.is_none()
    }

    /// Follows light for one bounce more, of so many; true when that was the last.
    pub fn sweep(&mut self, hits: &StoredTransport, sweeps: u32) -> bool {
        if let Some(direct) = &self.direct {
            hits.sweep(direct, &mut self.light);
        }
        self.swept += 1;
        let is_last = self.swept >= sweeps;
        if is_last {
            self.direct = None;
        }
        is_last
    }

    /// Direct light is known as well as it will be.
    pub fn refined(&mut self, slots: &[Slot]) {
        (self.direct, self.swept, self.is_fine) = (Some(direct(slots, true, self.light.len())), 0, true);
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

fn direct(slots: &[Slot], is_fine: bool, rows: usize) -> Vec<Vec3> {
    let mut direct = vec![Vec3::ZERO; rows];
    slots.iter().for_each(|slot| slot.add_direct(is_fine, &mut direct));
    direct
}
