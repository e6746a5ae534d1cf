//! Chi-squared tests of random sampling.

use glam::Vec2;

use rand::RngExt;

use super::CounterRng;

/// Returns Pearson's statistic of drawn against expected counts, and its degrees of freedom. Rare bins are merged.
fn chi_squared(drawn: &[f64], expected: &[f64]) -> (f64, f64) {
    let (mut statistic, mut bins, mut rare) = (0.0, 0.0, (0.0, 0.0));
    for (&drawn, &expected) in drawn.iter().zip(expected) {
        if expected < 10.0 {
            rare = (rare.0 + drawn, rare.1 + expected);
        } else {
            statistic += (drawn - expected).powi(2) / expected;
            bins += 1.0;
        }
    }
    if rare.1 > 5.0 {
        statistic += (rare.0 - rare.1).powi(2) / rare.1;
        bins += 1.0;
    }
    (statistic, bins - 1.0)
}

/// Returns the number of standard deviations of a chi-squared statistic above its expectation. By Wilson and Hilferty,
/// the cube root of a chi-squared variable is nearly normal.
pub fn deviations(drawn: &[f64], expected: &[f64]) -> f64 {
    let (statistic, freedom) = chi_squared(drawn, expected);
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Returns [`deviations`] for equally likely bins. `draw` maps some fifty thousand points of the unit square to bins.
pub fn deviations_from_even(bins: usize, draw: impl Fn(Vec2) -> usize) -> f64 {
    const DRAWS: u32 = 50_000;
    let mut drawn = vec![0.0; bins];
    for index in 0..DRAWS {
        drawn[draw(Vec2::from(CounterRng::new(index).random::<[f32; 2]>()))] += 1.0;
    }
    deviations(&drawn, &vec![f64::from(DRAWS) / bins as f64; bins])
}

/// Returns the bin, of `rows * columns` bins, for two numbers in the unit interval.
pub fn bin(rows: usize, columns: usize, [row, column]: [f32; 2]) -> usize {
    let cell = |number: f32, cells: usize| ((number * cells as f32) as usize).min(cells - 1);
    cell(row, rows) * columns + cell(column, columns)
}

/// Returns the azimuth of a direction about an axis, in turns, given its other two coordinates.
pub fn turn(x: f32, y: f32) -> f32 {
    let turns = y.atan2(x) / core::f32::consts::TAU;
    turns - turns.floor()
}
