//! What lights that rest come to: their light followed from element to element.
//!
//! Patches spread light as far as they reach. Once it is known what each element gets of lights that rest, sweeps over
//! stored hits say what that comes to, one bounce an update: what has gone wrong by way of patches is reflected once for
//! each sweep, and what is seen of it dwindles (final gather).

use glam::Vec3;

use super::slot::Slot;
use crate::radiosity::low_rank::StoredTransport;

/// Light on its way from element to element.
pub struct Resting {
    /// Direct irradiance that has come and gone, lux by row.
    direct: Vec<Vec3>,
    /// Indirect irradiance, as far as it has been followed.
    light: Vec<Vec3>,
}

impl Resting {
    /// Begins with what patches tell of the indirect light.
    pub fn new(slots: &[Slot], indirect: &[Vec3]) -> Self {
        let mut direct = vec![Vec3::ZERO; indirect.len()];
        slots.iter().for_each(|slot| slot.add_direct(&mut direct));
        Self { direct, light: indirect.to_vec() }
    }

    /// Follows light for one bounce more.
    pub fn sweep(&mut self, hits: &StoredTransport) {
        hits.sweep(&self.direct, &mut self.light);
    }

    /// Indirect irradiance, lux by row.
    pub fn light(&self) -> &[Vec3] {
        &self.light
    }
}
