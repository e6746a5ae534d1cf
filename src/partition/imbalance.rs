//! Load imbalance.

/// Returns the relative standard deviation of loads (equation 3.2 of the thesis). The result is 0 if all loads are
/// equal or zero.
pub fn imbalance(loads: &[f64]) -> f64 {
    let count = loads.len() as f64;
    let mean = loads.iter().sum::<f64>() / count;
    if loads.is_empty() || mean <= 0.0 {
        return 0.0;
    }
    (loads.iter().map(|load| (load - mean).powi(2)).sum::<f64>() / count).sqrt() / mean
}

/// Returns the imbalance of two loads: their absolute difference divided by their sum (equation 3.5 of the thesis).
pub fn imbalance_of_two(first: f64, second: f64) -> f64 {
    let sum = first + second;
    if sum > 0.0 { (first - second).abs() / sum } else { 0.0 }
}
