//! Distance of the shown pages from pages of the current lights, as far as it is known.

use core::f32::consts::PI;

use glam::Vec3;

use super::input::RelightInput;
use super::light::SmoothedLight;
use super::order::Order;
use super::response::LightResponse;
use crate::low_rank::{BakedLightId, LowRank};
use crate::scene::luminance;

/// Mean error of the patch solution, relative to the light, for levels whose bake measured none.
const USUAL_ERROR: f32 = 0.25;

/// Number of elements of which one is asked how much noise it receives.
const ELEMENTS_FOR_ONE_ASKED: usize = 16;

/// Change of a light that pages show by patches, without a refined result.
pub struct ByPatches<'a> {
    pub strength: Vec3,
    pub response: &'a LightResponse,
    /// The baked light, if it is one.
    pub baked: Option<BakedLightId>,
}

/// Weights by which changes of patches and elements become a distance of pages.
///
/// Light is summed up over all elements, as luminance of irradiance times visible area, in lumens.
pub struct Distance {
    /// Luminance that all elements receive for a unit once-reflected radiosity of each patch, by channel.
    importance: Vec<Vec3>,
    /// Visible area of each element in m2, by row.
    area: Vec<f32>,
    /// Light of the baked pages.
    baked: f32,
    /// Light of each stored contribution for a unit strength, by channel, and the mean error of its patch solution.
    contributions: Vec<(BakedLightId, Vec3, f32)>,
    usual_error: f32,
}

impl Distance {
    /// Computes the weights of a level.
    pub fn new(level: &RelightInput) -> Self {
        let RelightInput { elements, precomputed, pages, .. } = level;
        let (transport, receivers) = (&precomputed.transport, &precomputed.receivers);
        let rows = transport.patches.order.iter().zip(&receivers.visible);
        let area: Vec<f32> = rows.map(|(&element, visible)| elements.area[element as usize] * visible.abs()).collect();
        let texel_light = receivers.texel.iter().zip(&area).map(|(texel, area)| {
            let page = &pages[texel.page as usize];
            luminance(page.texels[page.index(texel.x.into(), texel.y.into())]) * PI * area
        });
        let sum = |irradiance: &[Vec3]| irradiance.iter().zip(&area).map(|(light, area)| light * area).sum::<Vec3>();
        let contributions: Vec<_> = precomputed
            .contributions
            .lights
            .iter()
            .map(|one| (one.light, sum(&one.irradiance), one.mean_error))
            .collect();
        let errors: f32 = contributions.iter().map(|(.., error)| error).sum();
        Self {
            importance: transport.importance(&area),
            baked: texel_light.sum(),
            usual_error: if contributions.is_empty() { USUAL_ERROR } else { errors / contributions.len() as f32 },
            contributions,
            area,
        }
    }

    /// Returns the distance, as a fraction of the light of the wanted pages, from 0 to 1.
    ///
    /// It is the light that the shown state lacks of its target, plus the expected errors of `by_patches`. `weights` are
    /// the sums of receiver weights by patch, `scaled` the shown changes of stored contributions.
    pub fn of<'a>(
        &self,
        transport: &LowRank,
        light: &SmoothedLight,
        by_patches: impl Iterator<Item = ByPatches<'a>>,
        (weights, order): (&[Vec3], &Order),
        scaled: &[(BakedLightId, Vec3)],
    ) -> f32 {
        let errors: f32 = by_patches.map(|change| self.error(&change, transport, weights, order)).sum();
        let SmoothedLight { patches, elements } = light;
        let missing = self.received(patches.missing().map(Vec3::abs)) + self.sum(elements.missing().map(Vec3::abs));
        let distance = missing + errors;
        if distance <= 0.0 {
            return 0.0;
        }
        let wanted = self.received(patches.wanted()) + self.sum(elements.wanted());
        let of_scaled = |(light, change): &(BakedLightId, Vec3)| {
            self.contribution(*light).map_or(0.0, |(of_unit, _)| luminance(of_unit * *change))
        };
        let whole = self.baked + wanted + scaled.iter().map(of_scaled).sum::<f32>();
        distance / whole.max(distance)
    }

    /// Returns the expected light that the patch solution of a change puts in the wrong place: by the size of patches,
    /// and by receivers without samples.
    fn error(&self, change: &ByPatches, transport: &LowRank, weights: &[Vec3], order: &Order) -> f32 {
        let ByPatches { strength, response, baked } = change;
        let mut patches = vec![Vec3::ZERO; weights.len()];
        response.add(*strength, weights, &mut patches);
        let of_baked = baked.and_then(|light| self.contribution(light));
        let received = self.received(patches.into_iter().map(Vec3::abs));
        let of_patches = received * of_baked.map_or(self.usual_error, |(_, error)| error);
        let of_samples = match response.noise(weights, order) {
            None => 0.0,
            Some(_) if response.steps() < 2 => received,
            Some(noise) => self.spread(transport, noise.into_iter().map(|noise| noise * *strength)),
        };
        libm::hypotf(of_patches, of_samples)
    }

    /// Returns the light that all elements receive from patches, each as an amount without a sign. It asks some of the
    /// elements.
    fn spread(&self, transport: &LowRank, first: impl Iterator<Item = Vec3>) -> f32 {
        let first: Vec<[f32; 3]> = first.map(Into::into).collect();
        let radiosity = transport.all_bounces(&first);
        let (mut sum, mut area) = (0.0, 0.0);
        for row in (0..self.area.len()).step_by(ELEMENTS_FOR_ONE_ASKED) {
            let seen = transport.views.row(row).map(|(patch, share)| Vec3::from(radiosity[patch]) * share);
            sum += luminance(seen.sum::<Vec3>().abs()) * self.area[row];
            area += self.area[row];
        }
        if area > 0.0 { sum / area * self.area.iter().sum::<f32>() } else { 0.0 }
    }

    /// Returns the light of a stored contribution for a unit strength, and its mean error.
    fn contribution(&self, light: BakedLightId) -> Option<(Vec3, f32)> {
        self.contributions.iter().find(|(of, ..)| *of == light).map(|&(_, of_unit, error)| (of_unit, error))
    }

    /// Returns the light that all elements receive from patches.
    fn received(&self, patches: impl Iterator<Item = Vec3>) -> f32 {
        patches.zip(&self.importance).map(|(radiosity, importance)| luminance(radiosity * importance)).sum()
    }

    /// Returns the light of irradiances in lux, by row.
    fn sum(&self, irradiance: impl Iterator<Item = Vec3>) -> f32 {
        irradiance.zip(&self.area).map(|(light, area)| luminance(light) * area).sum()
    }
}
