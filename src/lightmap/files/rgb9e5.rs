//! Encoding of colors in four or eight bytes per texel.
//!
//! `Rgb9e5` has nine bits for each channel and a shared five-bit exponent (`EXT_texture_shared_exponent`). The relative
//! error of the largest channel is below 0.2 %. The errors of the others are below 0.2 % of the largest. `Rgba16Float`
//! is for pages that are updated while they are visible.

use exr::prelude::f16;
use glam::Vec3;

/// Largest value of a channel: 511 / 512 * 2^16.
pub const MAX: f32 = 65_408.0;
/// Largest value of a channel of `Rgba16Float`.
pub const MAX_HALF: f32 = 65_504.0;

const MANTISSA_BITS: i32 = 9;
const BIAS: i32 = 15;

/// Encodes a color in four bytes: red in the lowest nine bits, then green and blue, the exponent in the highest five.
///
/// Channels are clamped to 0 and [`MAX`]. NaN becomes zero.
pub fn encode(color: Vec3) -> u32 {
    let color = within(color, MAX);
    let largest = color.max_element();
    // The exponent bits of a positive float are exactly its floored logarithm.
    let logarithm = (largest.to_bits() >> 23) as i32 - 127;
    let mut exponent = logarithm.max(-BIAS - 1) + 1 + BIAS;
    if (largest * step_reciprocal(exponent)).round() as u32 == 1 << MANTISSA_BITS {
        exponent += 1;
    }
    let [red, green, blue] = (color * step_reciprocal(exponent)).round().to_array().map(|value| value as u32);
    red | green << 9 | blue << 18 | (exponent as u32) << 27
}

/// Decodes a color of [`encode`].
pub fn decode(texel: u32) -> Vec3 {
    let channel = |shift: u32| (texel >> shift & 511) as f32;
    Vec3::new(channel(0), channel(9), channel(18)) / step_reciprocal((texel >> 27) as i32)
}

/// Returns the reciprocal of the value of a mantissa's lowest bit.
fn step_reciprocal(exponent: i32) -> f32 {
    libm::exp2f((MANTISSA_BITS + BIAS - exponent) as f32)
}

/// Encodes a color as opaque `Rgba16Float`. Channels are clamped to 0 and [`MAX_HALF`].
pub fn encode_half(color: Vec3) -> [u16; 4] {
    let [red, green, blue] = within(color, MAX_HALF).to_array().map(|value| f16::from_f32(value).to_bits());
    [red, green, blue, f16::ONE.to_bits()]
}

/// Returns true if [`encode`] changes a color by clamping: a channel is negative, too large or NaN.
pub fn is_clamped(color: Vec3) -> bool {
    within(color, MAX) != color
}

fn within(color: Vec3, max: f32) -> Vec3 {
    // `max` comes first, because it turns NaN into zero.
    Vec3::from_array(color.to_array().map(|value| value.max(0.0).min(max)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_channel_is_within_a_fifth_of_a_percent() {
        let mut value = 1e-4f32;
        while value < MAX {
            let color = Vec3::new(value, value * 0.37, value * 0.01);
            let error = (decode(encode(color)) - color).abs() / value;
            assert!(error.max_element() <= 0.002, "{value}: {error}");
            value *= 1.003;
        }
    }

    #[test]
    fn what_has_been_encoded_once_does_not_change_again() {
        for texel in (0..u32::MAX).step_by(65_537) {
            let once = decode(texel);
            assert_eq!(decode(encode(once)), once, "{texel:#x}");
        }
    }

    #[test]
    fn rounding_up_to_a_power_of_two_carries_into_the_exponent() {
        assert_eq!(decode(encode(Vec3::splat(0.999_9))), Vec3::ONE);
        assert_eq!(decode(encode(Vec3::new(511.9, 1.0, 0.0))), Vec3::new(512.0, 2.0, 0.0));
    }

    #[test]
    fn what_does_not_fit_is_clamped_and_said() {
        assert_eq!(decode(encode(Vec3::new(1e9, f32::NAN, -1.0))), Vec3::new(MAX, 0.0, 0.0));
        assert_eq!(encode_half(Vec3::splat(1e9))[0], f16::MAX.to_bits());
        assert!(is_clamped(Vec3::new(1.0, f32::NAN, 0.0)) && is_clamped(Vec3::splat(65_409.0)));
        assert!(!is_clamped(Vec3::splat(MAX)) && !is_clamped(Vec3::ZERO));
    }
}
