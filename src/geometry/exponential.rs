//! The exponential function by a polynomial, the same on every machine and in the shaders.

use glam::Vec3;

/// `e` to the power of each number; below -87 it is zero.
///
/// The relative error is below 3e-7.
#[inline]
pub fn exponential(exponents: Vec3) -> Vec3 {
    exponents.map(exponential_of)
}

/// Below it the result is too small for a normal number, above its opposite too large.
const FARTHEST: f32 = 87.0;

fn exponential_of(exponent: f32) -> f32 {
    if exponent < -FARTHEST {
        return 0.0;
    }
    let exponent = exponent.min(FARTHEST);
    // A power of two, and a remainder of at most half of ln 2. ln 2 is split in two parts; the first has few bits, so
    // that its products are exact.
    let whole = (exponent * core::f32::consts::LOG2_E + 0.5).floor();
    let x = (exponent - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let series = 1.0
        + x * (1.0
            + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * (1.0 / 120.0 + x * (1.0 / 720.0 + x / 5040.0))))));
    series * f32::from_bits(((whole as i32 + 127) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn it_agrees_with_the_standard_library() {
        for step in -87_000..=87_000 {
            let exponent = step as f32 / 1000.0;
            let (found, expected) = (f64::from(exponential(Vec3::splat(exponent)).x), f64::from(exponent).exp());
            assert!((found / expected - 1.0).abs() < 3e-7, "{exponent}: {found}, not {expected}");
        }
        assert_eq!(exponential(Vec3::new(0.0, -0.0, -1e9)), Vec3::new(1.0, 1.0, 0.0));
    }

    /// Tests `powi`, whose rounding the standard library leaves open. `clippy.toml` allows it because of this test.
    #[test]
    fn whole_powers_are_products_of_squares() {
        for step in 1..1000 {
            let base = black_box(0.0037 * step as f32);
            let (square, fourth) = (base * base, (base * base) * (base * base));
            for (exponent, expected) in [(2, square), (3, base * square), (4, fourth), (5, base * fourth)] {
                let found = base.powi(black_box(exponent));
                assert_eq!([found, base.powi(black_box(-exponent))], [expected, 1.0 / expected], "{base}^{exponent}");
            }
            assert_eq!([base.powi(2), base.powi(3), base.powi(4)], [square, base * square, fourth]);
            assert_eq!([base.powi(5), base.powi(-2)], [base * fourth, 1.0 / square]);
            let base = f64::from(base);
            assert_eq!([base.powi(2), base.powi(black_box(3))], [base * base, base * (base * base)]);
        }
    }
}
