//! Inverses of large dense matrices.

use std::hint::black_box;

use nalgebra::{DMatrix, RealField};

use super::product::product;
use super::relighting::CHANNELS;
use crate::clock;
use crate::progress::{Cancelled, Monitor};

/// Maximum number of rows of a matrix that is inverted directly.
const SMALL: usize = 96;

/// Returns the inverse of `I - M`, for a non-negative matrix `M` with row sums below one. `I - M` is diagonally
/// dominant, as are its Schur complements. Its blocks can therefore be inverted one after the other, and matrix
/// products take nearly all the time.
///
/// # Errors
/// Returns [`Cancelled`] if the monitor asks to stop. It is polled between products.
pub(super) fn inverse_of_one_minus<T: RealField + Copy>(
    matrix: DMatrix<T>,
    monitor: &dyn Monitor,
) -> Result<DMatrix<T>, Cancelled> {
    inverse(DMatrix::identity(matrix.nrows(), matrix.nrows()) - matrix, monitor)
}

/// Returns the inverse of `A - C`, given that of `A`. `C` is zero except for the rows `changed`, which `change`
/// contains (Sherman-Morrison-Woodbury).
pub(super) fn inverse_of_change<T: RealField + Copy>(
    inverse: DMatrix<T>,
    changed: &[usize],
    change: &DMatrix<T>,
) -> DMatrix<T> {
    let passed_on = product(change, &inverse);
    let count = changed.len();
    let small = DMatrix::identity(count, count) - passed_on.select_columns(changed);
    match small.lu().solve(&passed_on) {
        Some(more) => product(&inverse.select_columns(changed), &more) + inverse,
        None => inverse,
    }
}

/// Measures the time of the bounces between `patches` patches for all channels, in seconds.
///
/// # Errors
/// Returns [`Cancelled`] if the monitor asks to stop.
pub(crate) fn seconds_of_bounces(patches: usize, monitor: &dyn Monitor) -> Result<f32, Cancelled> {
    let started = clock::now();
    for _ in 0..CHANNELS {
        let even = DMatrix::from_element(patches, patches, 0.5 / patches as f32);
        black_box(inverse_of_one_minus(even, monitor)?);
    }
    Ok(started.elapsed().as_secs_f32())
}

fn inverse<T: RealField + Copy>(matrix: DMatrix<T>, monitor: &dyn Monitor) -> Result<DMatrix<T>, Cancelled> {
    monitor.check()?;
    let count = matrix.nrows();
    if count <= SMALL {
        // A matrix with row sums of one may be singular. No light is then passed on.
        return Ok(matrix.try_inverse().unwrap_or_else(|| DMatrix::identity(count, count)));
    }
    let half = count / 2;
    let rest = count - half;
    let block = |row, column, shape| matrix.view((row, column), shape).into_owned();
    let first = inverse(block(0, 0, (half, half)), monitor)?;
    let (above, below) = (block(0, half, (half, rest)), block(half, 0, (rest, half)));
    let (first_above, below_first) = (product(&first, &above), product(&below, &first));
    monitor.check()?;
    let second = inverse(block(half, half, (rest, rest)) - product(&below, &first_above), monitor)?;
    let corner = -product(&second, &below_first);
    let mut all = DMatrix::zeros(count, count);
    all.view_mut((0, 0), (half, half)).copy_from(&(first - product(&first_above, &corner)));
    all.view_mut((0, half), (half, rest)).copy_from(&-product(&first_above, &second));
    all.view_mut((half, 0), (rest, half)).copy_from(&corner);
    all.view_mut((half, half), (rest, rest)).copy_from(&second);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sobol::{hash2, unit_float};
    use crate::progress::Unmonitored;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        for count in [1, 7, 96, 97, 333] {
            // Rows sum to about 0.9.
            let scale = 1.8 / count as f64;
            let matrix = DMatrix::from_fn(count, count, |row, column| {
                scale * f64::from(unit_float(hash2(row as u32, column as u32))) * 0.99
            });
            let inverse = inverse_of_one_minus(matrix.clone(), &Unmonitored).unwrap();
            let one = DMatrix::<f64>::identity(count, count);
            let residual = ((&one - &matrix) * inverse - &one).amax();
            assert!(residual < 1e-12, "{count}: {residual}");
        }
    }

    #[test]
    fn an_inverse_follows_when_rows_change() {
        let count = 120;
        let entry = |seed: u32, row: usize, column: usize| {
            f64::from(unit_float(hash2(seed + row as u32, column as u32))) * 1.8 / count as f64
        };
        let before = DMatrix::from_fn(count, count, |row, column| entry(0, row, column));
        let changed = [3, 40, 41, 119];
        let after = DMatrix::from_fn(count, count, |row, column| {
            entry(if changed.contains(&row) { 1000 } else { 0 }, row, column)
        });
        let change = (&after - &before).select_rows(&changed);
        let [before, after] = [before, after].map(|matrix| inverse_of_one_minus(matrix, &Unmonitored).unwrap());
        let followed = inverse_of_change(before, &changed, &change);
        assert!((followed - after).amax() < 1e-12);
    }
}
