//! Discrete sampling in proportion to weights, by inversion of the cumulative distribution.

/// Discrete distribution.
pub(super) struct Distribution {
    /// Sum of the probabilities before each entry, and one at the end.
    cumulative: Vec<f32>,
}

/// Sampled entry.
pub(super) struct Choice {
    pub index: usize,
    pub probability: f32,
    /// Rescaled random number, uniform in `[0, 1)` again.
    pub rest: f32,
}

impl Distribution {
    /// Builds the distribution from weights that are not negative. It is uniform if no weight is positive.
    pub fn new(weights: impl IntoIterator<Item = f32>) -> Self {
        let mut sum = 0.0f64;
        let mut sums: Vec<f64> = vec![0.0];
        for weight in weights {
            sum += f64::from(weight);
            sums.push(sum);
        }
        let count = (sums.len() - 1).max(1) as f64;
        let normalized =
            |(index, &partial): (usize, &f64)| (if sum > 0.0 { partial / sum } else { index as f64 / count }) as f32;
        Self { cumulative: sums.iter().enumerate().map(normalized).collect() }
    }

    /// Samples an entry by a number in `[0, 1)`.
    #[inline]
    pub fn sample(&self, u: f32) -> Choice {
        let last = self.cumulative.len() - 2;
        let index = (self.cumulative.partition_point(|&before| before <= u).saturating_sub(1)).min(last);
        let probability = self.probability(index);
        let rest = ((u - self.cumulative[index]) / probability).clamp(0.0, 1.0 - f32::EPSILON);
        Choice { index, probability, rest }
    }

    /// Returns the sum of the probabilities before each entry, and one at the end.
    #[cfg(feature = "gpu")]
    pub fn cumulative(&self) -> &[f32] {
        &self.cumulative
    }

    /// Returns the probability of an entry.
    #[inline]
    pub fn probability(&self, index: usize) -> f32 {
        self.cumulative[index + 1] - self.cumulative[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_chosen_in_proportion_and_never_without_weight() {
        let weights = Distribution::new([0.0, 1.0, 0.0, 3.0, 0.0]);
        let mut counts = [0; 5];
        for step in 0..1000 {
            let choice = weights.sample((step as f32 + 0.5) / 1000.0);
            assert!((0.0..1.0).contains(&choice.rest));
            counts[choice.index] += 1;
        }
        assert_eq!(counts, [0, 250, 0, 750, 0]);
        assert_eq!(weights.probability(3), 0.75);
    }
}
