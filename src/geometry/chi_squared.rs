//! Whether what is drawn at random is drawn as often as it should be.

use glam::Vec2;

use super::sobol::{hash2, unit_float};

/// Pearson's statistic of drawn against expected numbers and its degrees of freedom; rare bins count together.
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

/// How many standard deviations a chi-squared statistic is above what is expected of it: by Wilson and Hilferty, the cube
/// root of a chi-squared number is nearly normal.
pub fn deviations(drawn: &[f64], expected: &[f64]) -> f64 {
    let (statistic, freedom) = chi_squared(drawn, expected);
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// The same where all bins are as likely, for what `draw` makes of some fifty thousand points of the unit square.
pub fn deviations_from_even(bins: usize, draw: impl Fn(Vec2) -> usize) -> f64 {
    const DRAWS: u32 = 50_000;
    let mut drawn = vec![0.0; bins];
    for index in 0..DRAWS {
        let [x, y] = [0, 1].map(|dimension| unit_float(hash2(index, dimension)));
        drawn[draw(Vec2::new(x, y))] += 1.0;
    }
    deviations(&drawn, &vec![f64::from(DRAWS) / bins as f64; bins])
}

/// Which of `rows * columns` bins two numbers in the unit interval fall into.
pub fn bin(rows: usize, columns: usize, [row, column]: [f32; 2]) -> usize {
    let cell = |number: f32, cells: usize| ((number * cells as f32) as usize).min(cells - 1);
    cell(row, rows) * columns + cell(column, columns)
}

/// The part of a turn at which a direction lies about an axis whose other two coordinates are given.
pub fn turn(x: f32, y: f32) -> f32 {
    let turns = y.atan2(x) / core::f32::consts::TAU;
    turns - turns.floor()
}
