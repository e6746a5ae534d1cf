//! Measures of parallel runs: efficiency and load balance (`002` 5.4.1).

/// Returns the efficiency of `workers` equal workers, from the time of one and the time of all. 1 is ideal.
pub fn efficiency(time_of_one: f64, time_of_all: f64, workers: u32) -> f64 {
    time_of_one / (time_of_all * f64::from(workers))
}

/// Returns the harmonic mean of the times that each worker alone would take, H of the document. It is the time of a
/// worker with the mean speed.
pub fn harmonic_mean(times: &[f64]) -> f64 {
    times.len() as f64 / times.iter().map(|time| 1.0 / time).sum::<f64>()
}

/// Returns the efficiency of unequal workers, from the time that each alone would take and the time of all. 1 is ideal.
pub fn efficiency_of_unequal(times: &[f64], time_of_all: f64) -> f64 {
    efficiency(harmonic_mean(times), time_of_all, times.len() as u32)
}

/// Returns the maximum speedup by any number of workers, if a fraction of the work is serial (Amdahl's law).
pub fn max_speedup(serial_fraction: f64) -> f64 {
    1.0 / serial_fraction
}

/// Load balance of workers.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Balance {
    /// Mean load, in seconds.
    pub mean: f64,
    /// Standard deviation of the loads, in seconds.
    pub sigma: f64,
    /// Imbalance: the standard deviation divided by the mean.
    pub delta: f64,
    /// Balance factor, `1 - delta`: 1 for equal loads. With more than two workers it can be below zero.
    pub beta: f64,
}

impl Balance {
    /// Returns the balance of loads in seconds. Without any load it is ideal.
    pub fn of(loads: &[f64]) -> Self {
        let count = loads.len().max(1) as f64;
        let mean = loads.iter().sum::<f64>() / count;
        let sigma = (loads.iter().map(|load| (load - mean).powi(2)).sum::<f64>() / count).sqrt();
        let delta = if mean > 0.0 { sigma / mean } else { 0.0 };
        Self { mean, sigma, delta, beta: 1.0 - delta }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that efficiencies of equal workers are those of a table, whose rows hold the time of one worker, the
    /// number of workers, their time and their efficiency to two digits.
    fn assert_table(rows: &[(f64, u32, f64, f64)]) {
        for &(time_of_one, workers, time, published) in rows {
            let found = efficiency(time_of_one, time, workers);
            assert!((found - published).abs() <= 0.005, "{workers} workers: {found}, published {published}");
        }
    }

    #[test]
    fn efficiencies_of_cores_are_those_of_table_2() {
        assert_table(&[
            (386_631.0, 1, 386_631.0, 1.00),
            (386_631.0, 4, 133_605.0, 0.72),
            (1_219_451.0, 4, 418_904.0, 0.73),
            (6_875_196.0, 4, 2_320_158.0, 0.74),
        ]);
    }

    #[test]
    fn efficiencies_of_scenes_are_those_of_table_11() {
        assert_table(&[
            (133_605.0, 16, 8_326.0, 1.00),
            (418_904.0, 16, 23_532.0, 1.11),
            (2_320_158.0, 16, 163_933.0, 0.88),
        ]);
    }

    #[test]
    fn a_tenth_of_serial_work_allows_a_speedup_of_ten() {
        assert_eq!(max_speedup(0.1), 10.0);
    }

    #[test]
    fn balance_is_one_less_the_relative_deviation() {
        // Deviations of 1 from a mean of 3.
        let balance = Balance::of(&[2.0, 4.0]);
        assert_eq!(balance, Balance { mean: 3.0, sigma: 1.0, delta: 1.0 / 3.0, beta: 1.0 - 1.0 / 3.0 });
        assert_eq!(Balance::of(&[5.0; 3]).beta, 1.0);
        assert_eq!(Balance::of(&[0.0; 3]).beta, 1.0);
        // One of nine works: the deviation is the root of 8 means.
        let one_works = Balance::of(&[9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!((one_works.beta - (1.0 - 8.0f64.sqrt())).abs() < 1e-12);
    }
}
