//! Inverses of large matrices.

use nalgebra::{DMatrix, RealField};

/// Rows below which a matrix is inverted in one piece.
const SMALL: usize = 96;

/// The inverse of `I - M`, where the rows of `M` have no negative value and sums below one. Such a matrix is dominated by
/// its diagonal, as are its Schur complements, so quarters of it can be inverted one after the other: nearly all the work is
/// products of matrices.
pub(super) fn inverse_of_one_minus<T: RealField + Copy>(matrix: DMatrix<T>) -> DMatrix<T> {
    inverse(DMatrix::identity(matrix.nrows(), matrix.nrows()) - matrix)
}

/// The inverse of `A - C`, from that of `A`, where `C` has nothing but the rows `changed`, which are those of `change`.
pub(super) fn inverse_of_change<T: RealField + Copy>(
    inverse: DMatrix<T>,
    changed: &[usize],
    change: &DMatrix<T>,
) -> DMatrix<T> {
    let passed_on = change * &inverse;
    let count = changed.len();
    let small = DMatrix::identity(count, count) - passed_on.select_columns(changed);
    let columns = inverse.select_columns(changed);
    let mut all = inverse;
    if let Some(more) = small.lu().solve(&passed_on) {
        all.gemm(T::one(), &columns, &more, T::one());
    }
    all
}

fn inverse<T: RealField + Copy>(matrix: DMatrix<T>) -> DMatrix<T> {
    let count = matrix.nrows();
    if count <= SMALL {
        // Without an inverse, no light is passed on: that takes rows that sum to one.
        return matrix.try_inverse().unwrap_or_else(|| DMatrix::identity(count, count));
    }
    let half = count / 2;
    let rest = count - half;
    let first = inverse(matrix.view((0, 0), (half, half)).into_owned());
    let (above, below) = (matrix.view((0, half), (half, rest)), matrix.view((half, 0), (rest, half)));
    let (first_above, below_first) = (&first * above, below * &first);
    let mut complement = matrix.view((half, half), (rest, rest)).into_owned();
    complement.gemm(-T::one(), &below, &first_above, T::one());
    let second = inverse(complement);
    let corner = -(&second * &below_first);
    let mut all = DMatrix::zeros(count, count);
    all.view_mut((half, 0), (rest, half)).copy_from(&corner);
    all.view_mut((0, half), (half, rest)).gemm(-T::one(), &first_above, &second, T::zero());
    let mut top = first;
    top.gemm(-T::one(), &first_above, &corner, T::one());
    all.view_mut((0, 0), (half, half)).copy_from(&top);
    all.view_mut((half, half), (rest, rest)).copy_from(&second);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sobol::{hash2, unit_float};

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        for count in [1, 7, 96, 97, 333] {
            // Rows sum to about 0.9.
            let scale = 1.8 / count as f64;
            let matrix = DMatrix::from_fn(count, count, |row, column| {
                scale * f64::from(unit_float(hash2(row as u32, column as u32))) * 0.99
            });
            let inverse = inverse_of_one_minus(matrix.clone());
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
        let followed = inverse_of_change(inverse_of_one_minus(before), &changed, &change);
        assert!((followed - inverse_of_one_minus(after)).amax() < 1e-12);
    }
}
