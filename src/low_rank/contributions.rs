//! Contributions of single baked lights to the light of a level.

use glam::Vec3;

/// Largest irradiance of a contribution, in lux.
pub const MAX_LUX: f32 = 1e30;

/// Number of a baked light: the lamps of the scene in their order, then its emissive surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BakedLightId(pub u32);

impl BakedLightId {
    /// Returns the place in a list of all baked lights.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Contribution of one baked light.
#[derive(Clone, Debug, PartialEq)]
pub struct LightContribution {
    /// Light that contributes.
    pub light: BakedLightId,
    /// Irradiance at unit strength by all bounces, in lux by row. Direct light is part of it if the pages hold that.
    pub irradiance: Vec<Vec3>,
    /// Error of the light's low-rank indirect irradiance: area-weighted RMS, relative to the RMS of its indirect
    /// irradiance.
    pub error: f32,
    /// Mean error of the light's low-rank indirect irradiance: area-weighted, relative to its mean.
    pub mean_error: f32,
}

/// Contributions of the strongest baked lights, and of all others together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contributions {
    /// Contributions of single lights, sorted by light.
    pub lights: Vec<LightContribution>,
    /// Irradiance of the sky and of all other lights as baked, in lux by row. Empty if there are none.
    pub rest: Vec<Vec3>,
}

impl Contributions {
    /// Returns the memory size, in bytes.
    pub fn bytes(&self) -> usize {
        self.lists().map(|irradiance| size_of_val(&**irradiance)).sum()
    }

    /// Returns true if all lists have a value for each of the elements, and the values can be irradiances.
    pub(super) fn is_whole(&self, elements: usize) -> bool {
        let is_whole = |irradiance: &Vec<Vec3>| {
            let are_sound = irradiance
                .iter()
                .all(|light| (0.0..=MAX_LUX).contains(&light.min_element()) && light.max_element() <= MAX_LUX);
            irradiance.len() == elements && are_sound
        };
        let is_error = |one: &LightContribution| {
            [one.error, one.mean_error].iter().all(|error| error.is_finite() && *error >= 0.0)
        };
        let is_sorted = self.lights.is_sorted_by(|a, b| a.light < b.light);
        let is_rest_whole = self.rest.is_empty() || is_whole(&self.rest);
        is_sorted && is_rest_whole && self.lights.iter().all(|one| is_error(one) && is_whole(&one.irradiance))
    }

    fn lists(&self) -> impl Iterator<Item = &Vec<Vec3>> {
        self.lights.iter().map(|one| &one.irradiance).chain([&self.rest])
    }
}
