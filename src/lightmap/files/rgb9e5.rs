//! Pictures in four or eight bytes a texel.
//!
//! `Rgb9e5`: nine bits for each channel and a five-bit exponent that they share (`EXT_texture_shared_exponent`). The
//! largest channel is within 0.2 %, the others within 0.2 % of the largest. `Rgba16Float` is for pages that are
//! rewritten while they are shown.

use exr::prelude::f16;
use glam::Vec3;

/// The largest value of a channel: 511 / 512 * 2^16.
pub const MAX: f32 = 65_408.0;
/// The largest value of a channel of `Rgba16Float`.
pub const MAX_HALF: f32 = 65_504.0;

const MANTISSA_BITS: i32 = 9;
const BIAS: i32 = 15;

/// A colour in four bytes: red in the lowest nine bits, then green and blue, the exponent in the highest five.
///
/// Channels are clamped to zero and [`MAX`]; one that is not a number becomes zero.
pub fn encode(colour: Vec3) -> u32 {
    let colour = within(colour, MAX);
    let largest = colour.max_element();
    // The exponent bits of a positive float are its floored logarithm, exactly.
    let logarithm = (largest.to_bits() >> 23) as i32 - 127;
    let mut exponent = logarithm.max(-BIAS - 1) + 1 + BIAS;
    if (largest * step_reciprocal(exponent)).round() as u32 == 1 << MANTISSA_BITS {
        exponent += 1;
    }
    let [red, green, blue] = (colour * step_reciprocal(exponent)).round().to_array().map(|value| value as u32);
    red | green << 9 | blue << 18 | (exponent as u32) << 27
}

/// The colour that [`encode`] made four bytes of.
pub fn decode(texel: u32) -> Vec3 {
    let channel = |shift: u32| (texel >> shift & 511) as f32;
    Vec3::new(channel(0), channel(9), channel(18)) / step_reciprocal((texel >> 27) as i32)
}

/// One over what the lowest bit of a mantissa stands for.
fn step_reciprocal(exponent: i32) -> f32 {
    ((MANTISSA_BITS + BIAS - exponent) as f32).exp2()
}

/// A colour as `Rgba16Float`, opaque; clamped to zero and [`MAX_HALF`].
pub fn encode_half(colour: Vec3) -> [u16; 4] {
    let [red, green, blue] = within(colour, MAX_HALF).to_array().map(|value| f16::from_f32(value).to_bits());
    [red, green, blue, f16::ONE.to_bits()]
}

/// True when a colour cannot be kept: a channel is negative, too large or not a number.
pub fn is_clamped(colour: Vec3) -> bool {
    within(colour, MAX) != colour
}

fn within(colour: Vec3, most: f32) -> Vec3 {
    // `max` first: it answers zero for a channel that is not a number.
    Vec3::from_array(colour.to_array().map(|value| value.max(0.0).min(most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_channel_is_within_a_fifth_of_a_percent() {
        let mut value = 1e-4f32;
        while value < MAX {
            let colour = Vec3::new(value, value * 0.37, value * 0.01);
            let error = (decode(encode(colour)) - colour).abs() / value;
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
