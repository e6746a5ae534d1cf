//! Direct and iterative solutions of `K B = E`, `K_ij = delta_ij - rho_i F_ij`, to machine precision.

use super::Room;
use super::exchange::Exchange;

/// Solves by Gaussian elimination with pivoting. Returns irradiances.
pub(super) fn eliminate(room: &Room, exchange: &Exchange) -> Vec<f64> {
    let count = room.len();
    let mut rows: Vec<Vec<f64>> = (0..count)
        .map(|i| {
            let mut row = vec![0.0; count + 1];
            exchange.rows[i].iter().for_each(|&(j, share)| row[j] = -room.reflectance[i] * share);
            row[i] += 1.0;
            row[count] = room.emitted[i];
            row
        })
        .collect();
    for column in 0..count {
        let pivot = (column..count).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()));
        rows.swap(column, pivot.expect("there are rows left"));
        let (above, below) = rows.split_at_mut(column + 1);
        let pivot = &above[column];
        for row in below {
            let factor = row[column] / pivot[column];
            if factor != 0.0 {
                (column..=count).for_each(|k| row[k] -= factor * pivot[k]);
            }
        }
    }
    let mut radiosity = vec![0.0; count];
    for i in (0..count).rev() {
        let known: f64 = (i + 1..count).map(|j| rows[i][j] * radiosity[j]).sum();
        radiosity[i] = (rows[i][count] - known) / rows[i][i];
    }
    (0..count).map(|i| exchange.irradiance(i, &radiosity)).collect()
}

/// Solves by Gauss-Seidel iteration. Returns irradiances.
pub(super) fn gauss_seidel(room: &Room, exchange: &Exchange) -> Vec<f64> {
    let mut radiosity = room.emitted.clone();
    let largest = radiosity.iter().copied().fold(0.0, f64::max);
    for _ in 0..1000 {
        let mut change: f64 = 0.0;
        for i in 0..room.len() {
            let new = room.emitted[i] + room.reflectance[i] * exchange.irradiance(i, &radiosity);
            change = change.max((new - radiosity[i]).abs());
            radiosity[i] = new;
        }
        if change <= 1e-12 * largest {
            break;
        }
    }
    (0..room.len()).map(|i| exchange.irradiance(i, &radiosity)).collect()
}
