//! Sine, cosine and their inverses by polynomials, the same on every machine and in the shaders.
//!
//! The standard library's functions differ between platforms in the last bits, and WGSL's by much more. A bake is to
//! give the same bytes everywhere, so both sides evaluate these polynomials instead.

/// Returns sine and cosine of an angle in turns (1.0 is a full circle).
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

/// Returns the angle of the point `(x, y)`, seen from the origin, in radians from minus to plus pi. Zero for the
/// origin.
///
/// The error is below 4e-7 in absolute terms, and below 3e-7 of the angle where that is below one.
#[inline]
pub fn arc_tangent(y: f32, x: f32) -> f32 {
    use core::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    let (across, along) = (y.abs(), x.abs());
    let (less, more) = if across < along { (across, along) } else { (along, across) };
    // Folded to an eighth of a circle, then to half of that: tan(a - pi / 4) = (tan a - 1) / (tan a + 1).
    let is_steep = less > TAN_EIGHTH_PI * more;
    let (start, ratio) = if is_steep { (FRAC_PI_4, (less - more) / (less + more)) } else { (0.0, less / more) };
    let ratio = if more > 0.0 { ratio } else { 0.0 };
    let square = ratio * ratio;
    // Minimax polynomial of the inverse tangent up to tan(pi / 8) (Moshier, Cephes library, atanf).
    let series = ((8.053_744_5e-2 * square - 1.387_768_6e-1) * square + 1.997_771_1e-1) * square - 3.333_295e-1;
    let eighth = start + (series * square * ratio + ratio);
    let quarter = if across < along { eighth } else { FRAC_PI_2 - eighth };
    let quarter = if more > 0.0 { quarter } else { 0.0 };
    let half = if x < 0.0 { PI - quarter } else { quarter };
    if y < 0.0 { -half } else { half }
}

/// The tangent of a sixteenth of a circle.
const TAN_EIGHTH_PI: f32 = 0.414_213_57;

/// Returns the arc cosine in radians, from zero to pi. Values outside -1..=1 are clamped.
///
/// The error is below 4e-7, plus the effect of rounding in `cosine`.
#[inline]
pub fn arc_cosine(cosine: f32) -> f32 {
    let cosine = cosine.clamp(-1.0, 1.0);
    arc_tangent(((1.0 - cosine) * (1.0 + cosine)).sqrt(), cosine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arc_tangents_agree_with_the_standard_library() {
        for step in 0..40_000 {
            let angle = (f64::from(step) / 20_000.0 - 1.0) * core::f64::consts::PI;
            for scale in [1e-20, 1.0, 3e15] {
                let (y, x) = ((angle.sin() * scale) as f32, (angle.cos() * scale) as f32);
                let (found, expected) = (f64::from(arc_tangent(y, x)), f64::from(y).atan2(f64::from(x)));
                let allowed = if expected.abs() < 1.0 { 3e-7 * expected.abs() } else { 4e-7 };
                assert!((found - expected).abs() <= allowed, "{y} {x}: {found}, not {expected}");
            }
        }
        assert_eq!(arc_tangent(0.0, 0.0), 0.0);
        assert_eq!([arc_tangent(0.0, 2.0), arc_tangent(1e-30, 1.0)], [0.0, 1e-30]);
    }

    #[test]
    fn arc_cosines_agree_with_the_standard_library() {
        for step in -10_000..=10_000 {
            let cosine = step as f32 / 10_000.0;
            assert!((f64::from(arc_cosine(cosine)) - f64::from(cosine).acos()).abs() < 4e-7, "{cosine}");
        }
        assert_eq!(arc_cosine(1.5), 0.0);
    }

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
