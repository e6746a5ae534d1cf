//! Products of large dense matrices with the same bytes on all processors.
//!
//! Matrix libraries use fused multiplication where the processor has it, which changes the last bits. Here, the terms of
//! each entry are added in ascending order, and each multiplication is rounded.

use nalgebra::{DMatrix, RealField};
use rayon::prelude::*;

/// Number of columns in a task, which share the loads of the left matrix.
const COLUMNS: usize = 16;

/// Number of rows in a block, small enough for a task's sums to stay in the first-level cache.
const ROWS: usize = 128;

/// Number of terms that are added between loading and storing a sum.
const TERMS: usize = 4;

/// Returns the product of two matrices.
///
/// # Panics
/// Panics unless `left` has as many columns as `right` has rows.
pub(super) fn product<T: RealField + Copy>(left: &DMatrix<T>, right: &DMatrix<T>) -> DMatrix<T> {
    assert_eq!(left.ncols(), right.nrows(), "matrices that can be multiplied");
    let (rows, inner) = left.shape();
    let mut product = DMatrix::zeros(rows, right.ncols());
    if product.is_empty() || inner == 0 {
        return product;
    }
    let add = add_products::<T>();
    let sums = product.as_mut_slice().par_chunks_mut(COLUMNS * rows);
    sums.zip(right.as_slice().par_chunks(COLUMNS * inner)).for_each(|(sums, right)| add(left, right, sums));
    product
}

/// Adds the products of a matrix with some columns to `sums`.
type AddProducts<T> = fn(&DMatrix<T>, &[T], &mut [T]);

fn add_products<T: RealField + Copy>() -> AddProducts<T> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn with_avx2<T: RealField + Copy>(left: &DMatrix<T>, right: &[T], sums: &mut [T]) {
            add_products_by(left, right, sums);
        }
        // SAFETY: the CPU has the feature for which the function is compiled.
        return |left, right, sums| unsafe { with_avx2(left, right, sums) };
    }
    add_products_by
}

#[inline(always)]
fn add_products_by<T: RealField + Copy>(left: &DMatrix<T>, right: &[T], sums: &mut [T]) {
    let (rows, inner) = left.shape();
    for first in (0..rows).step_by(ROWS) {
        let block = first..rows.min(first + ROWS);
        for term in (0..inner).step_by(TERMS) {
            let terms = term..inner.min(term + TERMS);
            let column = |term: usize| &left.as_slice()[term * rows..][block.clone()];
            for (sums, right) in sums.chunks_exact_mut(rows).zip(right.chunks_exact(inner)) {
                let (sums, factors) = (&mut sums[block.clone()], &right[terms.clone()]);
                if let &[f0, f1, f2, f3] = factors {
                    let columns = column(term).iter().zip(column(term + 1)).zip(column(term + 2)).zip(column(term + 3));
                    for (sum, (((l0, l1), l2), l3)) in sums.iter_mut().zip(columns) {
                        *sum = *sum + *l0 * f0 + *l1 * f1 + *l2 * f2 + *l3 * f3;
                    }
                } else {
                    for (&factor, term) in factors.iter().zip(term..) {
                        sums.iter_mut().zip(column(term)).for_each(|(sum, left)| *sum += *left * factor);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sobol::{hash2, unit_float};

    #[test]
    fn each_entry_is_the_sum_of_rounded_terms_in_their_order() {
        for (rows, inner, columns) in [(1, 1, 1), (3, 6, 17), (130, 9, 40), (0, 4, 3), (2, 0, 2)] {
            let of = |seed: u32, rows, columns| {
                DMatrix::from_fn(rows, columns, |row, column| unit_float(hash2(seed + row as u32, column as u32)) - 0.5)
            };
            let (left, right) = (of(0, rows, inner), of(1000, inner, columns));
            let expected = DMatrix::from_fn(rows, columns, |row, column| {
                (0..inner).fold(0.0f32, |sum, term| sum + left[(row, term)] * right[(term, column)])
            });
            assert_eq!(product(&left, &right), expected, "bit for bit");
        }
    }
}
