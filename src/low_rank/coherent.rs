//! Patches of coherent views (two meshes with spatial coherence, 2MCE, `001` section 3.1, algorithm 1).
//!
//! A patch is coherent if both halves of it have nearly the same view. The view of a half is the mean row of its
//! elements over some coarse patches. The difference is the length of the difference of both means, relative to the
//! length of the patch's mean. Noise of rows from rays would look like a difference. Rows therefore exist twice, from
//! independent random numbers. Squares are products of both, so their expected value is free of noise.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Patches, Rows};
use crate::lightmap::{ElementId, Elements};

/// Conditions for the division of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
pub struct Coherence {
    /// Maximum difference between the views of a patch's halves, relative to the view. Lower values give more patches.
    pub max_difference: f32,
    /// Area up to which a patch is not divided, in square meters. Lower values give more patches.
    pub min_area: f32,
}

impl Patches {
    /// Divides coarse patches until each is coherent or small.
    ///
    /// `views` are two independent estimates of each element's form factors to the coarse patches. `visible` is the
    /// visible fraction of each element. The division of a patch depends only on the patch. A lower limit of either
    /// kind therefore never gives fewer patches.
    pub fn coherent(&self, elements: &Elements, visible: &[f32], views: [&Rows; 2], coherence: Coherence) -> Self {
        let viewers = Viewers::new(self, elements, visible, views, |difference, _| difference);
        viewers.patches(viewers.cuts(self, coherence), coherence.max_difference)
    }

    /// Divides coarse patches into at most `max` patches, but never into fewer than the coarse ones. The limit follows
    /// from this number. Patches below a tenth of the mean area are not divided. The measure is the difference of
    /// views times area, because large patches cause larger errors. Division by difference alone had a larger error of
    /// the light.
    pub fn coherent_up_to(&self, elements: &Elements, visible: &[f32], views: [&Rows; 2], max: usize) -> Self {
        let viewers = Viewers::new(self, elements, visible, views, |difference, area| difference * area);
        let min_area = SMALLEST * viewers.area.iter().sum::<f32>() / max.max(1) as f32;
        let cuts = viewers.cuts(self, Coherence { max_difference: 0.0, min_area });
        let mut limits: Vec<f32> = cuts.iter().map(|cut| cut.is_cut_below).collect();
        limits.sort_by(|a, b| b.total_cmp(a));
        let limit = limits.get(max.saturating_sub(self.len())).copied().unwrap_or_default();
        viewers.patches(cuts, limit)
    }
}

/// Node of the division of a coarse patch.
struct Cut {
    coarse: usize,
    /// Path of halves from the coarse patch, from the highest bit on. Neighbors sort together.
    path: u64,
    depth: u32,
    group: Vec<ElementId>,
    /// Limit below which this node exists, and the one below which it is divided.
    exists_below: f32,
    is_cut_below: f32,
}

/// Area below which patches are not divided, relative to the mean area for the requested number.
const SMALLEST: f32 = 0.1;

/// Maximum depth, limited by the bits of a path.
const DEEPEST: u32 = 64;

struct Viewers<'a> {
    elements: &'a Elements,
    /// Visible area of each element, in square meters.
    area: Vec<f32>,
    views: [&'a Rows; 2],
    coarse: usize,
    /// Measure compared with the limit, from a difference and an area.
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

    /// Divides coarse patches, their halves, and so on.
    fn cuts(&self, coarse: &Patches, coherence: Coherence) -> Vec<Cut> {
        let first = coarse.groups().into_iter().enumerate();
        let whole =
            |(coarse, group)| Cut { coarse, path: 0, depth: 0, group, exists_below: f32::INFINITY, is_cut_below: 0.0 };
        let mut list: Vec<Cut> = first.map(whole).collect();
        let mut done: Vec<Cut> = Vec::new();
        // Breadth first: all nodes of a depth come before their halves.
        while !list.is_empty() {
            let halves: Vec<[Cut; 2]> =
                list.par_iter_mut().with_max_len(1).filter_map(|cut| self.halves(cut, coherence)).collect();
            done.extend(list);
            list = halves.into_iter().flatten().collect();
        }
        done
    }

    /// Returns the halves of a node that must be divided.
    fn halves(&self, cut: &mut Cut, coherence: Coherence) -> Option<[Cut; 2]> {
        let whole: f32 = cut.group.iter().map(|id| self.elements.area[id.index()]).sum();
        if whole <= coherence.min_area || cut.depth == DEEPEST {
            return None;
        }
        let halves = self.split(&cut.group)?;
        cut.is_cut_below = (self.measure)(self.difference(&halves), whole).min(cut.exists_below);
        if cut.is_cut_below <= coherence.max_difference {
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

    /// Returns the patches that remain with a limit.
    fn patches(&self, mut cuts: Vec<Cut>, limit: f32) -> Patches {
        cuts.retain(|cut| cut.exists_below > limit && cut.is_cut_below <= limit);
        cuts.sort_by_key(|cut| (cut.coarse, cut.path));
        let groups: Vec<Vec<ElementId>> = cuts.into_iter().map(|cut| cut.group).collect();
        Patches::new(&groups, &self.area)
    }

    /// Splits elements at the center of their bounds, along the longest axis.
    fn split(&self, group: &[ElementId]) -> Option<[Vec<ElementId>; 2]> {
        let center = |id: &ElementId| self.elements.center[id.index()];
        let min = group.iter().map(center).reduce(glam::Vec3::min)?;
        let max = group.iter().map(center).reduce(glam::Vec3::max)?;
        let axis = (max - min).max_position();
        let middle = 0.5 * (min[axis] + max[axis]);
        let (first, second): (Vec<_>, Vec<_>) = group.iter().partition(|id| center(id)[axis] <= middle);
        (!first.is_empty() && !second.is_empty()).then_some([first, second])
    }

    /// Returns the difference between the views of two groups, relative to their common view.
    fn difference(&self, groups: &[Vec<ElementId>; 2]) -> f32 {
        let [first, second] = self.views.map(|views| groups.each_ref().map(|group| self.mean(views, group)));
        let (mut difference, mut whole) = (0.0, 0.0);
        for patch in 0..self.coarse {
            difference += (first[0][patch] - first[1][patch]) * (second[0][patch] - second[1][patch]);
            whole += 0.25 * (first[0][patch] + first[1][patch]) * (second[0][patch] + second[1][patch]);
        }
        if whole > 0.0 { (difference.max(0.0) / whole).sqrt() } else { 0.0 }
    }

    /// Returns the mean form factors from some elements to each coarse patch.
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
