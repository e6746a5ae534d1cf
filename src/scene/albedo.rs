//! How much light a material reflects in all, when light comes alike from everywhere before it.
//!
//! Bakes take all reflected light for diffuse. A specular layer and a metal reflect as well, and a room of them is darker
//! without that light. So what bounces is the albedo of all lobes of the path tracer's BSDF, averaged over directions by
//! their cosine: that of the microfacets, of the diffuse base below them, which gets the rest, and of a clear coat over both.

use glam::Vec3;

use super::Appearance;

/// Smallest perceptual roughness, as the path tracer has it.
const MIN_ROUGHNESS: f32 = 0.03;

/// Reflectance of a clear coat straight on.
const COAT_STRAIGHT: f32 = 0.04;

/// Mean albedos of microfacets that light leaves after one reflection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FacetAlbedo {
    /// When each facet reflects everything.
    pub white: f32,
    /// When each facet reflects the fifth power of one minus the cosine that it is seen under.
    pub rim: f32,
}

impl FacetAlbedo {
    /// Fitted to GGX with height-correlated Smith masking, to within 0.003 and 0.0004. `shaders/material.wgsl` has the same
    /// numbers.
    pub fn of(perceptual_roughness: f32) -> Self {
        let r = perceptual_roughness.clamp(MIN_ROUGHNESS, 1.0);
        let horner = |coefficients: &[f32]| coefficients.iter().rev().fold(0.0, |sum, factor| sum * r + factor);
        Self {
            white: horner(&[0.99904, 0.02085, 0.18866, -2.00548, 1.20642]).min(1.0),
            rim: horner(&[0.04557, 0.01041, -0.00368, -1.16431, 2.99195, -2.79167, 0.91450]),
        }
    }
}

impl Appearance {
    /// The share of light that the surface reflects, per channel, of all that falls on it alike from everywhere; zero to one.
    ///
    /// Light that passes a [thin pane](super::Material::transmission) or a hole is not counted, and that which is scattered
    /// [through](Self::diffuse_transmission) the surface neither.
    pub fn total_reflectance(&self) -> Vec3 {
        let base = self.base_color * ((1.0 - self.metallic) * (1.0 - self.diffuse_transmission));
        let layer = self.layer_albedo();
        self.below_coat(layer + base * (Vec3::ONE - layer))
    }

    /// The share of light that is scattered through the surface, per channel.
    pub fn total_diffuse_transmittance(&self) -> Vec3 {
        if self.diffuse_transmission <= 0.0 {
            return Vec3::ZERO;
        }
        let through = self.diffuse_transmission_color * (self.diffuse_transmission * (1.0 - self.metallic));
        through * (Vec3::ONE - self.layer_albedo()) * (1.0 - self.coat_albedo())
    }

    /// The share of rays that bakes send on behind a surface that they meet, since light is scattered through it.
    pub(crate) fn crossing_chance(&self) -> f32 {
        if self.diffuse_transmission <= 0.0 {
            return 0.0;
        }
        let reflected = self.below_coat(self.layer_albedo()).max_element();
        (1.0 - reflected) * self.diffuse_transmission * (1.0 - self.metallic)
    }

    /// The share of light that is reflected where the other rays stop.
    pub(crate) fn stopped_reflectance(&self) -> Vec3 {
        let chance = self.crossing_chance();
        if chance <= 0.0 {
            return self.total_reflectance();
        }
        let stops = (1.0 - chance).max(f32::MIN_POSITIVE);
        (self.total_reflectance() / stops).min(Vec3::ONE)
    }

    /// The share that the glossy layer reflects, in one go and in several.
    fn layer_albedo(&self) -> Vec3 {
        let dielectric = 0.16 * self.reflectance * self.reflectance;
        let straight = dielectric.lerp(self.base_color, self.metallic).clamp(Vec3::ZERO, Vec3::ONE);
        if straight == Vec3::ZERO {
            return Vec3::ZERO;
        }
        let grazing = straight.dot(Vec3::splat(50.0 * 0.33)).min(1.0);
        let facets = FacetAlbedo::of(self.perceptual_roughness);
        let once = straight * (facets.white - facets.rim) + grazing * facets.rim;
        let mean = straight + (Vec3::splat(grazing) - straight) / 21.0;
        let multiple = mean * mean * facets.white / (Vec3::ONE - mean * (1.0 - facets.white));
        (once + multiple * (1.0 - facets.white)).clamp(Vec3::ZERO, Vec3::ONE)
    }

    fn coat_albedo(&self) -> f32 {
        if self.clearcoat <= 0.0 {
            return 0.0;
        }
        let facets = FacetAlbedo::of(self.clearcoat_perceptual_roughness);
        self.clearcoat * (COAT_STRAIGHT * (facets.white - facets.rim) + facets.rim)
    }

    fn below_coat(&self, below: Vec3) -> Vec3 {
        let coat = self.coat_albedo();
        below * (1.0 - coat) + coat
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Material;

    fn look(material: Material) -> Appearance {
        material.plain_appearance(&crate::scene::MeshData::default()).expect("it has no picture")
    }

    #[test]
    fn matt_surfaces_reflect_their_color_and_white_ones_everything() {
        let color = Vec3::new(0.2, 0.5, 0.8);
        assert_eq!(look(Material::diffuse("matt", color)).total_reflectance(), color);
        for roughness in [0.0, 0.3, 0.7, 1.0] {
            for metallic in [0.0, 1.0] {
                let white =
                    Material { metallic, perceptual_roughness: roughness, clearcoat: 0.5, ..Material::default() };
                let found = look(white).total_reflectance();
                assert!((found - 1.0).abs().max_element() < 2e-3, "{roughness} {metallic}: {found}");
                assert!(found.max_element() <= 1.0 + 1e-6, "{found}");
            }
        }
    }

    #[test]
    fn a_black_smooth_dielectric_reflects_the_mean_of_schlicks_term_and_a_smooth_metal_its_own() {
        let black = Material { base_color: glam::Vec4::W, perceptual_roughness: 0.0, ..Material::default() };
        // 0.04 + 0.96 / 21 for a grazing reflectance of one; Bevy's is 0.04 * 3 * 50 * 0.33 = 1.98, which is one.
        let found = look(black).total_reflectance().x;
        assert!((found - (0.04 + 0.96 / 21.0)).abs() < 2e-3, "{found}");
        let steel = Material { base_color: glam::Vec4::new(0.6, 0.6, 0.6, 1.0), metallic: 1.0, ..Material::default() };
        let found = look(Material { perceptual_roughness: 0.0, ..steel }).total_reflectance().x;
        assert!((found - (0.6 + 0.4 / 21.0)).abs() < 2e-3, "{found}");
    }

    #[test]
    fn what_is_scattered_through_and_what_is_reflected_never_exceed_one() {
        for factor in [0.0, 0.5, 1.0] {
            let sheet = Appearance { diffuse_transmission: factor, ..look(Material::default()) };
            let sum = sheet.total_reflectance() + sheet.total_diffuse_transmittance();
            assert!((sum - 1.0).abs().max_element() < 2e-3, "{factor}: {sum}");
        }
    }
}
