//! Albedo of a material under uniform illumination.
//!
//! Bakes treat all reflected light as diffuse. Specular layers and metals reflect light too, and a room would be too
//! dark without that light. So bounces use the albedo of all lobes of the path tracer's BSDF, averaged over
//! cosine-weighted directions. The lobes are the microfacets, the diffuse base below them, which gets the rest, and a
//! clearcoat over both.

use glam::Vec3;

use super::Appearance;

/// Minimum perceptual roughness, as in the path tracer.
const MIN_ROUGHNESS: f32 = 0.03;

/// Reflectance of a clearcoat at normal incidence.
const COAT_STRAIGHT: f32 = 0.04;

/// Mean single-scattering albedos of microfacets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FacetAlbedo {
    /// Albedo if every facet reflects everything.
    pub white: f32,
    /// Albedo if every facet reflects `(1 - cos)^5`, by the cosine of its viewing angle.
    pub rim: f32,
}

impl FacetAlbedo {
    /// Evaluates polynomials fitted to GGX with height-correlated Smith masking, to within 0.003 and 0.0004.
    /// `shaders/scene/material.wgsl` holds the same coefficients.
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
    /// Returns the albedo per channel under uniform illumination, in 0..=1.
    ///
    /// Light that passes a [thin pane](super::Material::transmission) or a hole is not counted. Neither is light
    /// scattered [through](Self::diffuse_transmission) the surface.
    pub fn total_reflectance(&self) -> Vec3 {
        let base = self.base_color * ((1.0 - self.metallic) * (1.0 - self.diffuse_transmission));
        let layer = self.layer_albedo();
        self.below_coat(layer + base * (Vec3::ONE - layer))
    }

    /// Returns the fraction of light scattered through the surface, per channel.
    pub fn total_diffuse_transmittance(&self) -> Vec3 {
        if self.diffuse_transmission <= 0.0 {
            return Vec3::ZERO;
        }
        let through = self.diffuse_transmission_color * (self.diffuse_transmission * (1.0 - self.metallic));
        through * (Vec3::ONE - self.layer_albedo()) * (1.0 - self.coat_albedo())
    }

    /// Returns the probability that a bake's ray continues behind the surface, because light is scattered through.
    pub(crate) fn crossing_probability(&self) -> f32 {
        if self.diffuse_transmission <= 0.0 {
            return 0.0;
        }
        let reflected = self.below_coat(self.layer_albedo()).max_element();
        (1.0 - reflected) * self.diffuse_transmission * (1.0 - self.metallic)
    }

    /// Returns the albedo that applies to the rays that do not continue behind the surface.
    pub(crate) fn stopped_reflectance(&self) -> Vec3 {
        let probability = self.crossing_probability();
        if probability <= 0.0 {
            return self.total_reflectance();
        }
        let stops = (1.0 - probability).max(f32::MIN_POSITIVE);
        (self.total_reflectance() / stops).min(Vec3::ONE)
    }

    /// Returns the albedo of the glossy layer, including multiple scattering.
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

    fn appearance(material: Material) -> Appearance {
        material.constant_appearance(&crate::scene::MeshData::default()).expect("it has no picture")
    }

    #[test]
    fn diffuse_surfaces_reflect_their_color_and_white_ones_everything() {
        let color = Vec3::new(0.2, 0.5, 0.8);
        assert_eq!(appearance(Material::diffuse("diffuse", color)).total_reflectance(), color);
        for roughness in [0.0, 0.3, 0.7, 1.0] {
            for metallic in [0.0, 1.0] {
                let white =
                    Material { metallic, perceptual_roughness: roughness, clearcoat: 0.5, ..Material::default() };
                let found = appearance(white).total_reflectance();
                assert!((found - 1.0).abs().max_element() < 2e-3, "{roughness} {metallic}: {found}");
                assert!(found.max_element() <= 1.0 + 1e-6, "{found}");
            }
        }
    }

    #[test]
    fn a_black_smooth_dielectric_reflects_the_mean_of_schlicks_term_and_a_smooth_metal_its_own() {
        let black = Material { base_color: glam::Vec4::W, perceptual_roughness: 0.0, ..Material::default() };
        // 0.04 + 0.96 / 21 for a grazing reflectance of one; Bevy's is 0.04 * 3 * 50 * 0.33 = 1.98, which is one.
        let found = appearance(black).total_reflectance().x;
        assert!((found - (0.04 + 0.96 / 21.0)).abs() < 2e-3, "{found}");
        let steel = Material { base_color: glam::Vec4::new(0.6, 0.6, 0.6, 1.0), metallic: 1.0, ..Material::default() };
        let found = appearance(Material { perceptual_roughness: 0.0, ..steel }).total_reflectance().x;
        assert!((found - (0.6 + 0.4 / 21.0)).abs() < 2e-3, "{found}");
    }

    #[test]
    fn what_is_scattered_through_and_what_is_reflected_never_exceed_one() {
        for factor in [0.0, 0.5, 1.0] {
            let sheet = Appearance { diffuse_transmission: factor, ..appearance(Material::default()) };
            let sum = sheet.total_reflectance() + sheet.total_diffuse_transmittance();
            assert!((sum - 1.0).abs().max_element() < 2e-3, "{factor}: {sum}");
        }
    }
}
