//! Khronos PBR Neutral tone mapping.

use glam::Vec3;

/// Start of highlight compression.
const START: f32 = 0.8 - REFLECTANCE;
/// Reflectance of a dielectric at normal incidence, which is subtracted.
const REFLECTANCE: f32 = 0.04;
/// Rate at which compressed colors desaturate.
const PALING: f32 = 0.15;

/// Maps light with Khronos PBR Neutral. Base colors under gray light are preserved up to the start of highlight
/// compression.
pub(super) fn pbr_neutral(light: Vec3) -> Vec3 {
    let min_channel = light.min_element();
    let offset = if min_channel < 2.0 * REFLECTANCE {
        min_channel - min_channel * min_channel / (4.0 * REFLECTANCE)
    } else {
        REFLECTANCE
    };
    let color = light - offset;
    let peak = color.max_element();
    if peak < START {
        return color;
    }
    let left = 1.0 - START;
    let compressed = 1.0 - left * left / (peak + left - START);
    let pale = 1.0 - 1.0 / (PALING * (peak - compressed) + 1.0);
    (color * (compressed / peak)).lerp(Vec3::splat(compressed), pale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dielectric_adds_is_taken_away_and_highlights_are_compressed() {
        assert!((pbr_neutral(Vec3::new(0.54, 0.34, 0.14)) - Vec3::new(0.5, 0.3, 0.1)).abs().max_element() < 1e-6);
        // Below 0.08, x - 6.25 x^2 is subtracted: 0.04 becomes 6.25 * 0.0016.
        assert!((pbr_neutral(Vec3::splat(0.04)) - 0.01).abs().max_element() < 1e-6);
        // Peak 1.96: 1 - 0.24^2 / (1.96 + 0.24 - 0.76) = 0.96.
        assert!((pbr_neutral(Vec3::splat(2.0)) - 0.96).abs().max_element() < 1e-6);
    }
}
