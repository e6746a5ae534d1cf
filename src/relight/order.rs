//! Sampling order of the receivers of each patch.

use glam::Vec3;

use crate::low_rank::{LowRank, Patches};

/// Maximum number of parts. With more, the overhead exceeds the benefit.
const MAX_PARTS: usize = 256;

/// Fractional part of the golden ratio: its multiples form a low-discrepancy sequence.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// All receivers that light reaches, in parts. Each part holds some receivers of every patch, spread over the patch.
///
/// One part gives a first estimate of each patch, and all parts together give the exact result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    parts: Vec<Part>,
}

/// Receivers of each patch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Start of each patch in `rows`, and the number of rows at the end.
    offsets: Vec<u32>,
    rows: Vec<u32>,
}

impl Order {
    /// Divides receivers into parts, as many as the mean number of receivers of a patch. `visible` is the unoccluded
    /// fraction of each receiver; receivers with zero are left out.
    pub fn new(patches: &Patches, visible: &[f32]) -> Self {
        let reached = visible.iter().filter(|visible| **visible != 0.0).count();
        let count = (reached / patches.len().max(1)).clamp(1, MAX_PARTS);
        let empty = Part { offsets: vec![0], rows: Vec::new() };
        let mut parts = vec![empty; count];
        for patch in patches.ids() {
            let rows: Vec<u32> = patches.of(patch).filter(|&row| visible[row] != 0.0).map(|row| row as u32).collect();
            for (rank, &index) in spread(rows.len()).iter().enumerate() {
                parts[rank * count / rows.len()].rows.push(rows[index]);
            }
            for part in &mut parts {
                let first = part.offsets[part.offsets.len() - 1] as usize;
                // Neighbors in memory are neighbors in space, and so are their rays.
                part.rows[first..].sort_unstable();
                part.offsets.push(part.rows.len() as u32);
            }
        }
        Self { parts }
    }

    /// Returns the sum of the receiver weights of each patch.
    pub fn weights(&self, transport: &LowRank) -> Vec<Vec3> {
        let mut weights = vec![Vec3::ZERO; transport.patches.len()];
        for part in &self.parts {
            for (patch, sum) in weights.iter_mut().enumerate() {
                *sum += part.of(patch).iter().map(|&row| transport.weights[row as usize]).sum::<Vec3>();
            }
        }
        weights
    }

    /// Returns the number of parts.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns one part.
    pub fn part(&self, index: usize) -> &Part {
        &self.parts[index]
    }
}

impl Part {
    /// Returns the receivers of a patch, as rows.
    pub fn of(&self, patch: usize) -> &[u32] {
        &self.rows[self.offsets[patch] as usize..self.offsets[patch + 1] as usize]
    }

    /// Returns the number of receivers.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
}

/// Returns a permutation of `0..count` in which every prefix is spread over the whole range.
fn spread(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let place = |index: usize| (0.5 + (index + 1) as f64 * GOLDEN).fract();
    order.sort_by(|&a, &b| place(a).total_cmp(&place(b)));
    // Sorting multiples of the ratio gives a permutation; its inverse visits places in the order of the multiples.
    let mut visited = vec![0; count];
    order.iter().enumerate().for_each(|(place, &index)| visited[index] = place);
    visited
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lightmap::ElementId;

    #[test]
    fn the_first_few_of_many_are_spread_over_all() {
        let order = spread(64);
        let mut quarters = [0; 4];
        order[..8].iter().for_each(|&place| quarters[place / 16] += 1);
        assert_eq!(quarters, [2; 4], "{order:?}");
        let mut sorted = order;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..64));
    }

    #[test]
    fn every_receiver_is_in_one_part_and_every_part_has_some_of_each_large_patch() {
        let groups: Vec<Vec<ElementId>> = [0..40u32, 40..43, 43..100].map(|ids| ids.map(ElementId).collect()).into();
        let patches = Patches::new(&groups, &[1.0; 100]);
        let mut visible = vec![1.0; 100];
        visible[50] = 0.0;
        visible[51] = -0.5;
        let order = Order::new(&patches, &visible);
        assert_eq!(order.len(), 33);
        let mut seen: Vec<u32> = (0..order.len()).flat_map(|part| (0..3).flat_map(move |patch| [(part, patch)])).fold(
            Vec::new(),
            |mut seen, (part, patch)| {
                seen.extend(order.part(part).of(patch));
                seen
            },
        );
        seen.sort_unstable();
        assert!(seen.into_iter().eq((0..100).filter(|&row| row != 50)));
        for part in 0..order.len() {
            assert!(!order.part(part).of(0).is_empty() && !order.part(part).of(2).is_empty(), "{part}");
        }
        assert_eq!(order.part(0).of(1).len(), 1, "small patches are asked first of all");
    }
}
