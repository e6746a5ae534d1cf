//! Tone mapping and sRGB encoding, equal to Bevy's.

mod agx;
mod khronos;
mod tony;

use glam::{Mat3, Vec3};

use crate::scene::{encode_srgb, luminance};

/// Tone mapping operator, equal to Bevy's operator of that name, without color grading.
///
/// Bevy's `BlenderFilmic` is missing, because no license allows its table to be redistributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tonemapping {
    /// No tone mapping: values above one are clipped.
    None,
    /// `x / (1 + x)` of each channel, which desaturates bright colors.
    Reinhard,
    /// `x / (1 + x)` of luminance: keeps saturation, and clips the brightest colors.
    ReinhardLuminance,
    /// Stephen Hill's fit of the ACES reference and output transforms: high contrast, with hue shifts.
    #[default]
    AcesFitted,
    /// Troy Sobotka's AgX: low contrast; bright colors desaturate as on film.
    AgX,
    /// Tomasz Stachowiak's operator, between the two Reinhard operators.
    SomewhatBoringDisplayTransform,
    /// Tony McMapface, by Tomasz Stachowiak; Bevy's default. Preserves perceived hue and adds no contrast.
    TonyMcMapface,
    /// Khronos PBR Neutral, for product display: preserves base colors under gray light.
    KhronosPbrNeutral,
}

impl Tonemapping {
    /// Maps exposed light (linear Rec. 709, any intensity) to display colors (linear Rec. 709, in [0, 1]).
    pub fn apply(self, exposed: Vec3) -> Vec3 {
        let light = exposed.max(Vec3::ZERO);
        let shown = match self {
            Self::None => light,
            Self::Reinhard => light / (light + 1.0),
            Self::ReinhardLuminance => light / (1.0 + luminance(light)),
            Self::AcesFitted => aces_fitted(light),
            Self::AgX => agx::agx(light),
            Self::SomewhatBoringDisplayTransform => somewhat_boring(light),
            Self::TonyMcMapface => tony::tony_mc_mapface(light),
            Self::KhronosPbrNeutral => khronos::pbr_neutral(light),
        };
        shown.clamp(Vec3::ZERO, Vec3::ONE)
    }
}

fn aces_fitted(light: Vec3) -> Vec3 {
    const INTO: Mat3 = Mat3::from_cols_array_2d(&[
        [0.59719, 0.07600, 0.02840],
        [0.35458, 0.90834, 0.13383],
        [0.04823, 0.01566, 0.83777],
    ]);
    const BACK: Mat3 = Mat3::from_cols_array_2d(&[
        [1.60475, -0.10208, -0.00327],
        [-0.53108, 1.10813, -0.07276],
        [-0.07367, -0.00605, 1.07602],
    ]);
    let v = INTO * light;
    let fitted = (v * (v + 0.024_578_6) - 0.000_090_537) / (v * (0.983_729 * v + 0.432_951) + 0.238_081);
    BACK * fitted
}

/// Maps dull colors by luminance, which keeps saturation, and vivid colors by channel, which desaturates.
fn somewhat_boring(light: Vec3) -> Vec3 {
    let compressed = |value: f32| 1.0 - libm::exp(f64::from(-value)) as f32;
    let luma = luminance(light);
    let chroma = [Vec3::new(-0.1146, -0.3854, 0.5), Vec3::new(0.5, -0.4542, -0.0458)].map(|axis| light.dot(axis));
    let vividness = compressed(libm::hypot(f64::from(chroma[0]), f64::from(chroma[1])) as f32 * 2.4);
    let paling = ((vividness - 0.7) * 0.8).max(0.0).powi(2);
    let by_luminance = light * (compressed(luma) / luma.max(1e-5));
    let by_channel = light.lerp(Vec3::splat(luma), paling).map(compressed);
    by_luminance.lerp(by_channel, vividness * vividness) * 0.97
}

/// Encodes linear colors in [0, 1] as sRGB bytes.
pub fn to_srgb8(linear: Vec3) -> [u8; 3] {
    linear.to_array().map(|value| (encode_srgb(value.clamp(0.0, 1.0)) * 255.0).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Tonemapping; 8] = [
        Tonemapping::None,
        Tonemapping::Reinhard,
        Tonemapping::ReinhardLuminance,
        Tonemapping::AcesFitted,
        Tonemapping::AgX,
        Tonemapping::SomewhatBoringDisplayTransform,
        Tonemapping::TonyMcMapface,
        Tonemapping::KhronosPbrNeutral,
    ];

    fn assert_close(found: Vec3, expected: impl Into<Vec3>, tolerance: f32) {
        let expected = expected.into();
        assert!((found - expected).abs().max_element() < tolerance, "{found}, not {expected}");
    }

    #[test]
    fn light_becomes_the_bytes_that_bevys_shader_makes_of_it() {
        // Mid-scale by hand: v = 0.18 on all channels (rows of the first matrix sum to one).
        let fitted =
            (0.18f32 * (0.18 + 0.024_578_6) - 0.000_090_537) / (0.18 * (0.983_729 * 0.18 + 0.432_951) + 0.238_081);
        assert_close(Tonemapping::AcesFitted.apply(Vec3::splat(0.18)), Vec3::splat(fitted), 1e-4);
        // A saturated red desaturates slightly.
        let red = Tonemapping::AcesFitted.apply(Vec3::new(4.0, 0.0, 0.0));
        assert!(red.x > 0.8 && red.y > 0.01 && red.z > 0.01, "{red}");
        assert_eq!(to_srgb8(Vec3::new(0.0, 0.214_041_14, 2.0)), [0, 128, 255]);
    }

    #[test]
    fn formulas_give_what_they_give_by_hand() {
        let light = Vec3::new(1.0, 3.0, 0.0);
        assert_eq!(Tonemapping::None.apply(light), Vec3::new(1.0, 1.0, 0.0));
        assert_eq!(Tonemapping::Reinhard.apply(light), Vec3::new(0.5, 0.75, 0.0));
        // Luminance 0.2126 + 3 * 0.7152 = 2.3582: a channel of one maps to 1 / 3.3582.
        assert_close(Tonemapping::ReinhardLuminance.apply(light), [1.0 / 3.3582, 3.0 / 3.3582, 0.0], 1e-6);
        // Gray has no vividness: 0.97 * (1 - e^-1).
        let boring = Tonemapping::SomewhatBoringDisplayTransform;
        assert_close(boring.apply(Vec3::ONE), Vec3::splat(0.97 * 0.632_120_6), 1e-4);
        // Red of one: luminance 0.2126 and chroma (-0.1146, 0.5). Vividness is 1 - e^(-2.4 * 0.51297) = 0.70805, paling
        // (0.8 * 0.00805)^2. By luminance: 1 - e^-0.2126 = 0.19152 over 0.2126. By channel: 0.63211 and nearly zero.
        let part = 0.708_05f32.powi(2);
        let red = 0.97 * ((1.0 - part) * 0.191_52 / 0.2126 + part * 0.632_11);
        assert_close(boring.apply(Vec3::X), [red, 0.0, 0.0], 1e-3);
    }

    #[test]
    fn more_light_never_looks_darker_and_gray_stays_gray() {
        for tonemapping in ALL {
            let gray = |stops: i32| tonemapping.apply(Vec3::splat(0.18 * (stops as f32 * 0.5).exp2()));
            for stops in -30..30 {
                let (less, more) = (gray(stops), gray(stops + 1));
                assert!(more.min_element() >= less.max_element() - 2e-3, "{tonemapping:?}: {less} {more}");
                assert!(less.max_element() - less.min_element() < 4e-3, "{tonemapping:?}: {less}");
            }
            assert!(tonemapping.apply(Vec3::splat(1e6)).min_element() > 0.96, "{tonemapping:?}");
            assert!(tonemapping.apply(Vec3::NEG_ONE).max_element() < 1e-3, "{tonemapping:?}");
        }
    }
}
