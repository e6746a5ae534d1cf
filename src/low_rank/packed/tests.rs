//! Tests of packed matrices against the original ones.

use super::*;
use crate::geometry::sobol::{hash2, unit_float};

/// Returns pseudorandom numbers in [0, 1), most of them small, with zeros among them.
fn entry(row: usize, column: usize) -> f32 {
    let number = unit_float(hash2(row as u32, column as u32));
    if number < 0.25 { 0.0 } else { number.powi(4) }
}

pub fn filled(rows: usize, columns: usize, loss: f32) -> Packed {
    Packed::new(rows, columns, loss, |row, dense| {
        dense.iter_mut().enumerate().for_each(|(column, value)| *value = entry(row, column));
    })
}

pub fn vector(columns: usize) -> Vec<[f32; 3]> {
    let of_channel = |column: usize, channel: usize| unit_float(hash2(column as u32, 1000 + channel as u32));
    (0..columns).map(|column| core::array::from_fn(|channel| of_channel(column, channel))).collect()
}

fn product(packed: &Packed, vector: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let mut products = vec![[0.0; 3]; packed.rows()];
    packed.multiply(&tiles(vector), &mut products);
    products
}

#[test]
fn products_are_those_of_the_matrix_that_was_packed() {
    for [rows, columns] in [[1, 1], [31, 7], [32, 8], [33, 9], [100, 65]] {
        let vector = vector(columns);
        let products = product(&filled(rows, columns, 0.0), &vector);
        for (row, product) in products.iter().enumerate() {
            for channel in 0..3 {
                let terms = (0..columns).map(|column| entry(row, column) * vector[column][channel]);
                // The worst-case error is half of 1/65,535 of the row's maximum, for each of its values.
                let rounding = columns as f32 * 0.5 / ONE + 1e-6;
                assert!((product[channel] - terms.sum::<f32>()).abs() < rounding, "{rows} x {columns}: {row}");
            }
        }
    }
}

#[test]
fn sums_of_rows_survive_packing_and_what_is_left_out() {
    for loss in [0.0, 0.02, 0.3] {
        let packed = filled(64, 400, loss);
        let products = product(&packed, &vec![[1.0; 3]; 400]);
        for (row, product) in products.iter().enumerate() {
            let sum: f32 = (0..400).map(|column| entry(row, column)).sum();
            assert!((product[0] / sum - 1.0).abs() < 1e-4, "{loss}, {row}: {} for {sum}", product[0]);
        }
    }
}

#[test]
fn no_row_loses_more_than_it_may() {
    let (whole, thinned) = (filled(40, 800, 0.0), filled(40, 800, 0.1));
    assert!(thinned.bytes() < whole.bytes() && thinned.density() < 1.0);
    for row in 0..40 {
        let kept: Vec<usize> = thinned.row(row).map(|(column, _)| column / LANES).collect();
        let lost = whole.row(row).filter(|(column, _)| kept.binary_search(&(column / LANES)).is_err());
        let lost: f32 = lost.map(|(_, value)| value).sum();
        let sum: f32 = whole.row(row).map(|(_, value)| value).sum();
        assert!(lost <= 0.1 * sum + 1e-4, "{row}: {lost} of {sum}");
    }
}

#[test]
fn what_no_row_of_a_block_has_takes_no_memory() {
    let packed = Packed::new(64, 80, 0.0, |row, dense| dense[if row < 32 { 3 } else { 77 }] = 0.5);
    assert_eq!(packed.parts().tiles, [0, 9]);
    assert!(packed.row(40).eq([(77, 0.5)]));
    let nothing = Packed::new(5, 3, 0.0, |_, _| ());
    assert_eq!(product(&nothing, &[[1.0; 3]; 3]), [[0.0; 3]; 5]);
}

#[test]
fn more_columns_of_zeros_change_nothing() {
    let vector = vector(70);
    let padded: Vec<[f32; 3]> = vector.iter().copied().chain([[9.0; 3]; 26]).collect();
    let wide = Packed::new(50, 96, 0.0, |row, dense| {
        (0..70).for_each(|column| dense[column] = entry(row, column));
    });
    assert_eq!(product(&filled(50, 70, 0.0), &vector), product(&wide, &padded));
}

#[test]
fn any_number_of_threads_brings_the_same_bytes() {
    let packed = filled(700, 120, 0.0);
    let vector = vector(120);
    let in_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| product(&packed, &vector))
    };
    assert_eq!(in_threads(1), in_threads(3));
}

#[test]
fn arrays_that_contradict_each_other_are_no_matrix() {
    let packed = filled(40, 20, 0.0);
    let PackedParts { tile_offsets, tiles, values, scales } = packed.parts();
    let [offsets, tiles] = [tile_offsets, tiles].map(<[u32]>::to_vec);
    let of = |rows, offsets: &[u32], tiles: &[u32], count: usize| {
        let values = values[..count].to_vec();
        Packed::from_parts([rows, 20], offsets.to_vec(), tiles.to_vec(), values, scales.to_vec())
    };
    assert_eq!(of(40, &offsets, &tiles, values.len()), Some(packed.clone()));
    assert_eq!(of(80, &offsets, &tiles, values.len()), None);
    assert_eq!(of(40, &[0, 9, 6], &tiles, values.len()), None);
    assert_eq!(of(40, &offsets, &[0, 1, 2, 0, 1, 3], values.len()), None);
    assert_eq!(of(40, &offsets, &tiles, values.len() - 1), None);
    for scale in [-1.0, f32::NAN, f32::INFINITY] {
        let scales = core::iter::once(scale).chain(scales[1..].iter().copied()).collect();
        assert_eq!(Packed::from_parts([40, 20], offsets.clone(), tiles.clone(), values.to_vec(), scales), None);
    }
}
