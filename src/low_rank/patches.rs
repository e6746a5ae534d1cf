//! Assignment of elements to patches.

use core::ops::Range;

use rayon::prelude::*;

use crate::geometry::define_id;
use crate::lightmap::ElementId;

define_id! {
    /// Index of a patch.
    PatchId
}

/// Minimum number of patches in a task.
const MIN_PATCHES: usize = 16;

/// Partition of all elements into patches, sorted by patch (`001` sections 3.1 and 4).
///
/// This is the matrix V. Each row has one value, the element's share of its patch's area. The order determines the
/// column. Rows of all other matrices have the same order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patches {
    /// Indices of the elements, patch by patch.
    pub order: Vec<u32>,
    /// Start of each patch in `order`, followed by the number of elements: k + 1 entries, strictly increasing.
    pub offsets: Vec<u32>,
    /// Share of each element in the area of its patch, in the same order.
    pub shares: Vec<f32>,
}

impl Patches {
    /// Creates patches from groups that contain every element once. Empty groups are left out. `area` is the visible
    /// area of each element, in any unit.
    pub fn new(groups: &[Vec<ElementId>], area: &[f32]) -> Self {
        let mut patches = Self { offsets: vec![0], ..Self::default() };
        for group in groups.iter().filter(|group| !group.is_empty()) {
            let all: f32 = group.iter().map(|id| area[id.index()]).sum();
            let share = |id: &ElementId| if all > 0.0 { area[id.index()] / all } else { 1.0 / group.len() as f32 };
            patches.shares.extend(group.iter().map(share));
            patches.order.extend(group.iter().map(|id| id.0));
            patches.offsets.push(patches.order.len() as u32);
        }
        patches
    }

    /// Returns the number of patches, the rank k.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns true if there are no patches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the range of a patch's elements in the order.
    pub fn of(&self, patch: PatchId) -> Range<usize> {
        self.offsets[patch.index()] as usize..self.offsets[patch.index() + 1] as usize
    }

    /// Returns the ids of all patches, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = PatchId> + use<> {
        (0..self.len()).map(PatchId::from_index)
    }

    /// Returns the patch of each element, by element index.
    pub fn of_elements(&self) -> Vec<PatchId> {
        let mut patch_of = vec![PatchId(0); self.order.len()];
        for patch in self.ids() {
            self.order[self.of(patch)].iter().for_each(|&element| patch_of[element as usize] = patch);
        }
        patch_of
    }

    /// Returns the product with V^T: values of elements times their weights, summed over each patch, for `C` channels.
    /// Sums that are not finite become zero.
    ///
    /// # Panics
    /// Panics unless there is a weight and a value for each element.
    pub fn sums<const C: usize>(&self, weights: &[[f32; C]], values: &[[f32; C]]) -> Vec<[f32; C]> {
        assert_eq!([weights.len(), values.len()], [self.order.len(); 2], "one for each element");
        let sum = |patch: usize| {
            let range = self.of(PatchId::from_index(patch));
            let mut sums = [0.0f32; C];
            for (weight, value) in weights[range.clone()].iter().zip(&values[range]) {
                (0..C).for_each(|channel| sums[channel] += weight[channel] * value[channel]);
            }
            if sums.iter().all(|sum| sum.is_finite()) { sums } else { [0.0; C] }
        };
        (0..self.len()).into_par_iter().with_min_len(MIN_PATCHES).map(sum).collect()
    }

    /// Returns the elements of each patch.
    pub fn groups(&self) -> Vec<Vec<ElementId>> {
        let ids = |patch| self.order[self.of(patch)].iter().copied().map(ElementId).collect();
        self.ids().map(ids).collect()
    }

    /// Returns true if every element is in exactly one patch, and no patch is empty.
    pub fn are_whole(&self) -> bool {
        let mut seen = vec![false; self.order.len()];
        self.order.iter().for_each(|&element| {
            if let Some(seen) = seen.get_mut(element as usize) {
                *seen = true;
            }
        });
        self.offsets.first() == Some(&0)
            && self.offsets.last().is_some_and(|&last| last as usize == self.order.len())
            && self.offsets.is_sorted_by(|a, b| a < b)
            && self.shares.len() == self.order.len()
            && seen.iter().all(|&seen| seen)
    }
}
