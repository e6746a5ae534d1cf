//! Two meshes with spatial coherence: patches of one view (2MCE, `001` section 3.1, algorithm 1).
//!
//! A patch is coherent when both halves of it see about the same. What they see is the mean row of their elements over
//! some coarse patches; how much it differs is the length of the difference of both halves' means over the length of the
//! whole's. Rows that rays have found are noisy, and noise alone would look like a difference. So rows come twice, from
//! random numbers that have nothing in common, and squares are products of the one with the other: on average noise adds
//! nothing to them.

use rayon::prelude::*;

use super::{Patches, Rows};
use crate::lightmap::{ElementId, Elements};

/// When a patch is cut in two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coherence {
    /// How much the views of its halves may differ, as a share of the view: less brings more patches.
    pub most_difference: f32,
    /// Square metres that a patch is not cut below: less brings more patches.
    pub least_area: f32,
}

impl Patches {
    /// Cuts coarse patches in two until each is coherent or small: the patches that are not are put at the end of a list,
    /// and those at its head are looked at first. `views` has twice what each element sees of the coarse patches, as two
    /// halves found it; `visible` is the part of each element that light reaches.
    ///
    /// Whether a patch is cut depends on nothing but the patch, so a lower limit of either kind never brings fewer.
    pub fn coherent(&self, elements: &Elements, visible: &[f32], views: [&Rows; 2], coherence: Coherence) -> Self {
        let viewers = Viewers::new(self, elements, visible, views, |difference, _| difference);
        viewers.patches(viewers.cuts(self, coherence), coherence.most_difference)
    }

    /// As many patches as can be had up to `most`, by whatever limit that takes, none cut that is smaller than a tenth of
    /// what is theirs on average. Here a patch counts by its area too: large ones tell more light wrong, and cut by
    /// difference alone light was further off. There are never fewer than the coarse ones.
    pub fn coherent_up_to(&self, elements: &Elements, visible: &[f32], views: [&Rows; 2], most: usize) -> Self {
        let viewers = Viewers::new(self, elements, visible, views, |difference, area| difference * area);
        let least_area = SMALLEST * viewers.area.iter().sum::<f32>() / most.max(1) as f32;
        let cuts = viewers.cuts(self, Coherence { most_difference: 0.0, least_area });
        let mut limits: Vec<f32> = cuts.iter().map(|cut| cut.is_cut_below).collect();
        limits.sort_by(|a, b| b.total_cmp(a));
        let limit = limits.get(most.saturating_sub(self.len())).copied().unwrap_or_default();
        viewers.patches(cuts, limit)
    }
}

/// A part of a coarse patch.
struct Cut {
    coarse: usize,
    /// Which half of which half it is, from the highest bit on, so that neighbours sort together.
    path: u64,
    depth: u32,
    group: Vec<ElementId>,
    /// The limits below which there is such a part, and below which it is cut in two.
    exists_below: f32,
    is_cut_below: f32,
}

/// Parts of a patch's mean area that patches are not cut below, where so many of them are asked for.
const SMALLEST: f32 = 0.1;

/// Cuts deeper than this would not be told apart.
const DEEPEST: u32 = 64;

struct Viewers<'a> {
    elements: &'a Elements,
    /// What of each element light reaches, square metres.
    area: Vec<f32>,
    views: [&'a Rows; 2],
    coarse: usize,
    /// What is held against the limit, of a difference and an area.
    measure: fn(f32, f32) -> f32,
}

impl<'a> Viewers<'a> {
    fn new(
        coarse: &Patches,
        elements: &'a Elements,
        visible: &[f32],
        views: [&'a Rows; 2],
        measure: fn(f32, f32) -> f32,
    ) -> Self {
        let area = elements.area.iter().zip(visible).map(|(area, visible)| area * visible).collect();
        Self { elements, area, views, coarse: coarse.len(), measure }
    }

    /// Coarse patches, their halves, and so on.
    fn cuts(&self, coarse: &Patches, coherence: Coherence) -> Vec<Cut> {
        let first = coarse.groups().into_iter().enumerate();
        let whole =
            |(coarse, group)| Cut { coarse, path: 0, depth: 0, group, exists_below: f32::INFINITY, is_cut_below: 0.0 };
        let mut list: Vec<Cut> = first.map(whole).collect();
        let mut done: Vec<Cut> = Vec::new();
        // The list's order is kept: those of a round are looked at before any that they are cut into.
        while !list.is_empty() {
            let halves: Vec<[Cut; 2]> = list.par_iter_mut().filter_map(|cut| self.halves(cut, coherence)).collect();
            done.extend(list);
            list = halves.into_iter().flatten().collect();
        }
        done
    }

    /// The halves of a patch that has to be cut.
    fn halves(&self, cut: &mut Cut, coherence: Coherence) -> Option<[Cut; 2]> {
        let whole: f32 = cut.group.iter().map(|id| self.elements.area[id.index()]).sum();
        if whole <= coherence.least_area || cut.depth == DEEPEST {
            return None;
        }
        let halves = self.split(&cut.group)?;
        cut.is_cut_below = (self.measure)(self.difference(&halves), whole).min(cut.exists_below);
        if cut.is_cut_below <= coherence.most_difference {
            return None;
        }
        let [first, second] = halves;
        let half = |group, second: bool| {
            let path = cut.path | u64::from(second) << (DEEPEST - 1 - cut.depth);
            let exists_below = cut.is_cut_below;
            Cut { coarse: cut.coarse, path, depth: cut.depth + 1, group, exists_below, is_cut_below: 0.0 }
        };
        Some([half(first, false), half(second, true)])
    }

    /// The patches that a limit leaves.
    fn patches(&self, mut cuts: Vec<Cut>, limit: f32) -> Patches {
        cuts.retain(|cut| cut.exists_below > limit && cut.is_cut_below <= limit);
        cuts.sort_by_key(|cut| (cut.coarse, cut.path));
        let groups: Vec<Vec<ElementId>> = cuts.into_iter().map(|cut| cut.group).collect();
        Patches::new(&groups, &self.area)
    }

    /// Both sides of the middle of the elements' centres, across the axis along which they reach furthest.
    fn split(&self, group: &[ElementId]) -> Option<[Vec<ElementId>; 2]> {
        let centre = |id: &ElementId| self.elements.centre[id.index()];
        let least = group.iter().map(centre).reduce(glam::Vec3::min)?;
        let most = group.iter().map(centre).reduce(glam::Vec3::max)?;
        let axis = (most - least).max_position();
        let middle = 0.5 * (least[axis] + most[axis]);
        let (first, second): (Vec<_>, Vec<_>) = group.iter().partition(|id| centre(id)[axis] <= middle);
        (!first.is_empty() && !second.is_empty()).then_some([first, second])
    }

    /// How much the views of two groups differ, as a share of what they see together.
    fn difference(&self, groups: &[Vec<ElementId>; 2]) -> f32 {
        let [first, second] = self.views.map(|views| groups.each_ref().map(|group| self.mean(views, group)));
        let (mut difference, mut whole) = (0.0, 0.0);
        for patch in 0..self.coarse {
            difference += (first[0][patch] - first[1][patch]) * (second[0][patch] - second[1][patch]);
            whole += 0.25 * (first[0][patch] + first[1][patch]) * (second[0][patch] + second[1][patch]);
        }
        if whole > 0.0 { (difference.max(0.0) / whole).sqrt() } else { 0.0 }
    }

    /// What some elements see of each coarse patch, on average.
    fn mean(&self, views: &Rows, group: &[ElementId]) -> Vec<f32> {
        let mut mean = vec![0.0; self.coarse];
        let all: f32 = group.iter().map(|id| self.area[id.index()]).sum();
        for id in group.iter().filter(|_| all > 0.0) {
            let weight = self.area[id.index()] / all;
            views.of(id.index()).iter().for_each(|&(patch, seen)| mean[patch.index()] += weight * seen);
        }
        mean
    }
}
