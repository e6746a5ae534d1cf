//! Discrete sampling in constant time: Walker's alias method, built by Vose's algorithm (1991).

use bytemuck::{Pod, Zeroable};

/// Alias table: draws an index in proportion to weights, with one look-up regardless of their number.
///
/// Shaders read the same entries. A number `u` in `[0, 1)` falls into entry `floor(u * n)`, and its remainder selects
/// the entry itself or its alias.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AliasTable {
    entries: Vec<AliasEntry>,
}

/// Entry of an alias table.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct AliasEntry {
    /// Fraction of this entry's interval that selects the entry itself.
    pub threshold: f32,
    /// Index selected by the rest of the interval.
    pub alias_index: u32,
    /// Probability of drawing this index, over all intervals.
    pub probability: f32,
}

/// Fraction of draws made uniformly, because weights may be poor predictions of importance.
const EVEN_SHARE: f64 = 0.25;

impl AliasTable {
    /// Builds the table from weights that are finite and not negative. Three draws in four follow the weights, one is
    /// uniform.
    pub fn new(weights: &[f64]) -> Self {
        let count = weights.len();
        let sum: f64 = weights.iter().sum();
        let even = 1.0 / count as f64;
        let probability =
            |weight: &f64| if sum > 0.0 { EVEN_SHARE * even + (1.0 - EVEN_SHARE) * weight / sum } else { even };
        let probabilities: Vec<f64> = weights.iter().map(probability).collect();
        let mut entries: Vec<AliasEntry> = probabilities
            .iter()
            .enumerate()
            .map(|(index, &probability)| AliasEntry {
                threshold: 1.0,
                alias_index: index as u32,
                probability: probability as f32,
            })
            .collect();
        // Remaining probability of each entry, in units of an interval. Entries with less than one are filled up from
        // one with more.
        let mut left: Vec<f64> = probabilities.iter().map(|probability| probability * count as f64).collect();
        let (mut poor, mut rich): (Vec<usize>, Vec<usize>) = (0..count).partition(|&index| left[index] < 1.0);
        while let (Some(taker), Some(&giver)) = (poor.pop(), rich.last()) {
            entries[taker].threshold = left[taker] as f32;
            entries[taker].alias_index = giver as u32;
            left[giver] -= 1.0 - left[taker];
            if left[giver] < 1.0 {
                rich.pop();
                poor.push(giver);
            }
        }
        Self { entries }
    }

    /// Returns all entries, in the order of the weights.
    pub fn entries(&self) -> &[AliasEntry] {
        &self.entries
    }

    /// Draws an index by a number in `[0, 1)`. Returns the index and its probability; `None` if the table is empty.
    #[inline]
    pub fn draw(&self, u: f32) -> Option<(usize, f32)> {
        let place = u * self.entries.len() as f32;
        let own = (place as usize).min(self.entries.len().checked_sub(1)?);
        let entry = self.entries[own];
        let drawn = if place - (own as f32) < entry.threshold { own } else { entry.alias_index as usize };
        Some((drawn, self.entries[drawn].probability))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_drawn_as_often_as_their_weights_say() {
        const DRAWS: u32 = 1 << 16;
        let weights = [5.0, 0.0, 1.0, 14.0, 0.001];
        let sum: f64 = weights.iter().sum();
        let table = AliasTable::new(&weights);
        let mut counts = [0u32; 5];
        for draw in 0..DRAWS {
            let (drawn, probability) = table.draw(draw as f32 / DRAWS as f32).unwrap();
            assert_eq!(probability, table.entries()[drawn].probability);
            counts[drawn] += 1;
        }
        for (index, weight) in weights.into_iter().enumerate() {
            let expected = 0.25 / 5.0 + 0.75 * weight / sum;
            assert!((f64::from(table.entries()[index].probability) - expected).abs() < 1e-7, "{index}");
            // Each of the five intervals may be off by one draw.
            assert!((f64::from(counts[index]) - expected * f64::from(DRAWS)).abs() <= 5.0, "{index}: {counts:?}");
        }
    }

    #[test]
    fn things_without_weights_are_alike_and_nothing_gives_nothing() {
        let table = AliasTable::new(&[0.0; 3]);
        assert!(table.entries().iter().all(|entry| (entry.probability - 1.0 / 3.0).abs() < 1e-7));
        assert_eq!(AliasTable::new(&[]).draw(0.5), None);
        assert_eq!(AliasTable::new(&[2.0]).draw(0.999_999_9), Some((0, 1.0)));
    }
}
