//! From exposed light to the bytes of a screen, as Bevy's `Tonemapping::AcesFitted` does it.

use glam::{Mat3, Vec3};

/// Bevy's fit of the ACES reference and output transforms: any light to colours between zero and one, linear Rec. 709.
pub fn aces_fitted(exposed: Vec3) -> Vec3 {
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
    let v = INTO * exposed.max(Vec3::ZERO);
    let fitted = (v * (v + 0.024_578_6) - 0.000_090_537) / (v * (0.983_729 * v + 0.432_951) + 0.238_081);
    (BACK * fitted).clamp(Vec3::ZERO, Vec3::ONE)
}

/// Linear colours between zero and one as sRGB bytes.
pub fn to_srgb8(linear: Vec3) -> [u8; 3] {
    let encode = |value: f32| if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 };
    linear.to_array().map(|value| (encode(value.clamp(0.0, 1.0)) * 255.0).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_becomes_the_bytes_that_bevys_shader_makes_of_it() {
        // The middle of the scale by hand: v = 0.18 on all channels (the rows of the first matrix sum to one).
        let grey = aces_fitted(Vec3::splat(0.18));
        let fitted =
            (0.18f32 * (0.18 + 0.024_578_6) - 0.000_090_537) / (0.18 * (0.983_729 * 0.18 + 0.432_951) + 0.238_081);
        assert!((grey - fitted).abs().max_element() < 1e-4, "{grey} {fitted}");
        assert_eq!(aces_fitted(Vec3::ZERO), Vec3::ZERO);
        assert!(aces_fitted(Vec3::splat(1e6)).min_element() > 0.99);
        // A saturated red loses some of its colour.
        let red = aces_fitted(Vec3::new(4.0, 0.0, 0.0));
        assert!(red.x > 0.8 && red.y > 0.01 && red.z > 0.01, "{red}");
        assert_eq!(to_srgb8(Vec3::new(0.0, 0.214_041_14, 2.0)), [0, 128, 255]);
    }
}
