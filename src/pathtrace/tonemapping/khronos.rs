//! Khronos' PBR Neutral tone mapper.

use glam::Vec3;

/// Where highlights begin to be compressed.
const START: f32 = 0.8 - REFLECTANCE;
/// What a dielectric mirrors straight on, which is taken away.
const REFLECTANCE: f32 = 0.04;
/// How fast compressed colours pale.
const PALING: f32 = 0.15;

/// Base colours in grey light come out as they are, up to where highlights are compressed.
pub(super) fn pbr_neutral(light: Vec3) -> Vec3 {
    let least = light.min_element();
    let offset = if least < 2.0 * REFLECTANCE { least - least * least / (4.0 * REFLECTANCE) } else { REFLECTANCE };
    let colour = light - offset;
    let peak = colour.max_element();
    if peak < START {
        return colour;
    }
    let left = 1.0 - START;
    let compressed = 1.0 - left * left / (peak + left - START);
    let pale = 1.0 - 1.0 / (PALING * (peak - compressed) + 1.0);
    (colour * (compressed / peak)).lerp(Vec3::splat(compressed), pale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dielectric_adds_is_taken_away_and_highlights_are_compressed() {
        assert!((pbr_neutral(Vec3::new(0.54, 0.34, 0.14)) - Vec3::new(0.5, 0.3, 0.1)).abs().max_element() < 1e-6);
        // Below 0.08, x - 6.25 x^2 is taken: 6.25 * 0.0016 is left of 0.04.
        assert!((pbr_neutral(Vec3::splat(0.04)) - 0.01).abs().max_element() < 1e-6);
        // 1.96 at the peak: 1 - 0.24^2 / (1.96 + 0.24 - 0.76) = 0.96.
        assert!((pbr_neutral(Vec3::splat(2.0)) - 0.96).abs().max_element() < 1e-6);
    }
}
