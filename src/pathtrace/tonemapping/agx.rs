//! AgX tone mapping, by Troy Sobotka.

use glam::{Mat3, Vec3};

/// Display-linear output at equal steps of the logarithmic input scale. The table is one channel of Bevy's lookup
/// table. Channels are equal and independent of each other.
const CURVE: [f32; 32] = [
    0.0,
    1.132_488e-6,
    6.735_325e-6,
    2.372_264_9e-5,
    5.710_125e-5,
    0.000_121_951_1,
    0.000_243_663_79,
    0.000_506_401_06,
    0.000_946_521_76,
    0.001_744_270_3,
    0.003_181_457_5,
    0.005_744_934,
    0.010_986_328,
    0.019_119_263,
    0.032_226_563,
    0.052_185_06,
    0.084_655_76,
    0.123_413_086,
    0.171_508_79,
    0.228_759_77,
    0.294_921_88,
    0.379_882_8,
    0.463_134_77,
    0.550_292_97,
    0.636_230_47,
    0.727_050_8,
    0.797_851_56,
    0.856_933_6,
    0.905_273_44,
    0.948_242_2,
    0.977_050_8,
    1.0,
];

/// Range of the curve in stops, relative to middle gray.
const DARKEST: f32 = -10.0;
const BRIGHTEST: f32 = 6.5;
const MIDDLE_GRAY: f32 = 0.18;

/// Maps light with AgX: insets the primaries, which desaturates bright colors, and applies the curve to each channel.
pub(super) fn agx(light: Vec3) -> Vec3 {
    const INSET: Mat3 = Mat3::from_cols_array_2d(&[
        [0.842_479_06, 0.042_328_24, 0.042_375_65],
        [0.078_433_6, 0.878_468_64, 0.078_433_6],
        [0.079_223_75, 0.079_166_13, 0.879_143],
    ]);
    (INSET * light).map(|channel| {
        let stops = libm::log2(f64::from(channel.max(f32::MIN_POSITIVE) / MIDDLE_GRAY)) as f32;
        let stops = stops.clamp(DARKEST, BRIGHTEST);
        let place = (stops - DARKEST) / (BRIGHTEST - DARKEST) * (CURVE.len() - 1) as f32;
        let before = (place as usize).min(CURVE.len() - 2);
        CURVE[before] + (CURVE[before + 1] - CURVE[before]) * (place - before as f32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_gray_lies_where_ten_of_sixteen_and_a_half_stops_are_below_it() {
        // 31 * 10 / 16.5 = 18.7879 steps, between 0.171509 and 0.228760; rows of the inset sum to nearly one.
        let expected = 0.171_509 + 0.787_88 * (0.228_760 - 0.171_509);
        assert!((agx(Vec3::splat(0.18)) - expected).abs().max_element() < 2e-4);
        assert_eq!((agx(Vec3::ZERO), agx(Vec3::splat(100.0))), (Vec3::ZERO, Vec3::ONE));
        let red = agx(Vec3::X * 50.0);
        assert!(red.x > 0.97 && red.y > 0.2 && red.z > 0.2, "bright red pales: {red}");
    }
}
