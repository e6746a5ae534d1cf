//! Sine and cosine by polynomials, the same on every machine and in the shaders.
//!
//! The standard library's functions differ between platforms in the last bits, and WGSL's by much more. A bake is to
//! give the same bytes everywhere, so both sides evaluate these polynomials instead.

/// Sine and cosine of an angle given in turns (1.0 is a full circle).
///
/// The error is below 2e-7 for any angle below 1e18; large angles lose what `f32` loses in `turns` itself.
#[inline]
pub fn sin_cos_turns(turns: f32) -> (f32, f32) {
    // Reduced to an eighth of a circle either side of the nearest quarter turn. Neither a branch nor a call of the
    // standard library: every ray comes through here.
    let quarters = turns * 4.0 + 0.5;
    let whole = quarters as i64;
    let quarter = whole - i64::from(quarters < whole as f32);
    let x = (turns - quarter as f32 * 0.25) * core::f32::consts::TAU;
    let square = x * x;
    // Taylor polynomials; |x| <= pi / 4 leaves the next term below 3e-8.
    let sine = x
        * (1.0
            + square * (-1.0 / 6.0 + square * (1.0 / 120.0 + square * (-1.0 / 5040.0 + square * (1.0 / 362_880.0)))));
    let cosine = 1.0
        + square
            * (-0.5
                + square
                    * (1.0 / 24.0
                        + square * (-1.0 / 720.0 + square * (1.0 / 40_320.0 - square * (1.0 / 3_628_800.0)))));
    let (sine, cosine) = if quarter & 1 == 0 { (sine, cosine) } else { (cosine, sine) };
    let negated = |value: f32, quarter: i64| f32::from_bits(value.to_bits() ^ ((quarter as u32 & 2) << 30));
    (negated(sine, quarter), negated(cosine, quarter + 1))
}

#[cfg(test)]
mod tests {
    use super::sin_cos_turns;

    #[test]
    fn polynomials_agree_with_the_standard_library() {
        for step in -20_000..20_000 {
            let turns = step as f32 / 7_321.0;
            let (sine, cosine) = sin_cos_turns(turns);
            let (true_sine, true_cosine) = (f64::from(turns) * core::f64::consts::TAU).sin_cos();
            assert!((f64::from(sine) - true_sine).abs() < 4e-7, "sin {turns}");
            assert!((f64::from(cosine) - true_cosine).abs() < 4e-7, "cos {turns}");
        }
    }
}
