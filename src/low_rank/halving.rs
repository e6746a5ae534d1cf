//! Patches by recursive bisection: the group of elements with the largest spread is divided, until there are enough
//! groups.
//!
//! The method ignores charts, so it suits levels with more charts than patches. Small parts join close ones of the same
//! orientation, and large parts are divided.

use std::collections::BinaryHeap;

use glam::Vec3;

use crate::lightmap::{ElementId, Elements};

/// Minimum area of an element, in square meters.
const MIN_AREA: f64 = 1e-9;

/// Recursive bisection of elements.
pub(super) struct Halving<'a> {
    elements: &'a Elements,
    /// Visible area of each element, in square meters.
    area: &'a [f32],
    /// Edge of a mean patch, in meters. A unit of difference between normals counts as this distance.
    edge: f32,
}

/// Spread of a group.
struct Spread {
    /// Area times squared distance from the mean, summed over positions and normals. Low values mean little blur of the
    /// light that a patch averages.
    inertia: f64,
    /// Axis of the largest inertia, one of six, and the mean on this axis.
    axis: usize,
    mean: f64,
}

/// Group of elements, and the index of the next group.
struct Group {
    ids: Vec<ElementId>,
    spread: Spread,
    next: Option<usize>,
}

impl<'a> Halving<'a> {
    /// Prepares the division of all elements into `max` groups.
    pub fn new(elements: &'a Elements, area: &'a [f32], max: usize) -> Self {
        let edge = (area.iter().sum::<f32>() / max.max(1) as f32).sqrt();
        Self { elements, area, edge }
    }

    /// Returns groups of all elements, neighbors in sequence. There are `max` groups, or fewer if no group can be
    /// divided.
    pub fn groups(&self, max: usize) -> Vec<Vec<ElementId>> {
        let mut groups = vec![self.group(self.elements.ids().collect(), None)];
        let mut widest = BinaryHeap::from([(groups[0].spread.inertia.to_bits(), 0)]);
        while groups.len() < max
            && let Some((_, index)) = widest.pop()
        {
            let (second, Group { ids, spread, next }) = (groups.len(), &groups[index]);
            let (lower, upper): (Vec<_>, Vec<_>) =
                ids.iter().partition(|&&id| f64::from(self.place(id, spread.axis)) <= spread.mean);
            if lower.is_empty() || upper.is_empty() {
                continue;
            }
            let upper = self.group(upper, *next);
            groups[index] = self.group(lower, Some(second));
            groups.push(upper);
            widest.extend([index, second].map(|group| (groups[group].spread.inertia.to_bits(), group)));
        }
        let mut in_order = Vec::with_capacity(groups.len());
        let mut at = Some(0);
        while let Some(index) = at {
            in_order.push(core::mem::take(&mut groups[index].ids));
            at = groups[index].next;
        }
        in_order
    }

    /// Returns the total inertia of the groups.
    pub fn inertia(&self, groups: &[Vec<ElementId>]) -> f64 {
        groups.iter().map(|ids| self.spread(ids).inertia).sum()
    }

    fn group(&self, ids: Vec<ElementId>, next: Option<usize>) -> Group {
        Group { spread: self.spread(&ids), ids, next }
    }

    fn spread(&self, ids: &[ElementId]) -> Spread {
        let weight = |id: &ElementId| f64::from(self.area[id.index()]).max(MIN_AREA);
        let all: f64 = ids.iter().map(weight).sum();
        let mut spread = Spread { inertia: 0.0, axis: 0, mean: 0.0 };
        let mut max = -1.0;
        for axis in 0..6 {
            let place = |id: &ElementId| f64::from(self.place(*id, axis));
            let mean = ids.iter().map(|id| weight(id) * place(id)).sum::<f64>() / all;
            let along: f64 = ids.iter().map(|id| weight(id) * (place(id) - mean).powi(2)).sum();
            spread.inertia += along;
            if along > max {
                max = along;
                (spread.axis, spread.mean) = (axis, mean);
            }
        }
        spread
    }

    /// Returns a coordinate of an element, in meters. Axes 0 to 2 are the position, axes 3 to 5 the scaled normal.
    fn place(&self, id: ElementId, axis: usize) -> f32 {
        let along = |vector: Vec3| vector[axis % 3];
        if axis < 3 {
            along(self.elements.center[id.index()])
        } else {
            self.edge * along(self.elements.geometric_normal[id.index()])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radiosity::test_scene::{TestScene, gray};

    #[test]
    fn one_large_wall_is_cut_though_small_things_outnumber_the_patches() {
        let mut test = TestScene::default();
        let wall = test.quad(Vec3::ZERO, Vec3::Z * 8.0, Vec3::X * 8.0, [32, 32], gray(0.5));
        for thing in 0..40 {
            let corner = Vec3::new(0.2 * (thing % 8) as f32, 1.0, 0.2 * (thing / 8) as f32);
            test.quad(corner, Vec3::Z * 0.1, Vec3::X * 0.1, [1, 1], gray(0.5));
        }
        let elements = test.elements();
        let halving = Halving::new(&elements, &elements.area, 20);
        let groups = halving.groups(20);
        assert_eq!(groups.len(), 20);
        assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), elements.len());
        let of_wall = elements.of_surface(wall);
        let on_wall = |ids: &Vec<ElementId>| ids.iter().any(|id| of_wall.contains(&id.index()));
        // The wall has all but 0.4 of 64.4 square meters.
        assert!(groups.iter().filter(|ids| on_wall(ids)).count() >= 16);
        // A square patch of edge e has an inertia of e^4 / 6. A rectangle of two squares has five times as much, for
        // twice the area. All normals are equal.
        let square = f64::from(halving.edge).powi(4) / 6.0;
        assert!(halving.inertia(&groups) < 20.0 * 2.0 * square, "{}", halving.inertia(&groups) / square);
    }

    #[test]
    fn groups_end_where_there_is_nothing_left_to_cut() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [3, 1], gray(0.5));
        let elements = test.elements();
        let groups = Halving::new(&elements, &elements.area, 10).groups(10);
        let sorted: Vec<usize> = groups.iter().map(|ids| ids[0].index()).collect();
        assert_eq!(groups.len(), 3);
        assert!(sorted.is_sorted() || sorted.iter().rev().is_sorted(), "{sorted:?}");
    }
}
