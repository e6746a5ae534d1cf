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
}
