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
        let area: Vec<f32> = elements.area.iter().zip(visible).map(|(area, visible)| area * visible).collect();
        let viewers = Viewers { elements, area: &area, views, coarse: self.len() };
        let mut done: Vec<Cut> = Vec::new();
        let first = self.groups().into_iter().enumerate();
        let mut list: Vec<Cut> = first.map(|(coarse, group)| Cut { coarse, path: 0, depth: 0, group }).collect();
        // The list's order is kept: those of a round are looked at before any that they are cut into.
        while !list.is_empty() {
            let halves: Vec<Option<[Cut; 2]>> = list.par_iter().map(|cut| viewers.halves(cut, coherence)).collect();
            let mut next = Vec::new();
            for (cut, halves) in list.into_iter().zip(halves) {
                match halves {
                    Some(halves) => next.extend(halves),
                    None => done.push(cut),
                }
            }
            list = next;
        }
        done.sort_by_key(|cut| (cut.coarse, cut.path));
        let groups: Vec<Vec<ElementId>> = done.into_iter().map(|cut| cut.group).collect();
        Self::new(&groups, &area)
    }
}

/// A part of a coarse patch.
struct Cut {
    coarse: usize,
    /// Which half of which half it is, from the highest bit on, so that neighbours sort together.
    path: u64,
    depth: u32,
    group: Vec<ElementId>,
}

/// Cuts deeper than this would not be told apart.
const DEEPEST: u32 = 64;

struct Viewers<'a> {
    elements: &'a Elements,
    /// What of each element light reaches, square metres.
    area: &'a [f32],
    views: [&'a Rows; 2],
    coarse: usize,
}

impl Viewers<'_> {
    /// The halves of a patch that has to be cut.
    fn halves(&self, cut: &Cut, coherence: Coherence) -> Option<[Cut; 2]> {
        let whole: f32 = cut.group.iter().map(|id| self.elements.area[id.index()]).sum();
        if whole <= coherence.least_area || cut.depth == DEEPEST {
            return None;
        }
        let halves = self.split(&cut.group)?;
        if self.difference(&halves) <= coherence.most_difference {
            return None;
        }
        let [first, second] = halves;
        let half = |group, second: bool| {
            let path = cut.path | u64::from(second) << (DEEPEST - 1 - cut.depth);
            Cut { coarse: cut.coarse, path, depth: cut.depth + 1, group }
        };
        Some([half(first, false), half(second, true)])
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
