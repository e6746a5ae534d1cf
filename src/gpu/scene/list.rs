//! Bounding volume hierarchy of moving objects, as a list with skip links. Traversal needs no stack.

use bytemuck::{Pod, Zeroable};

use super::NONE;
use crate::geometry::{Aabb, SurfaceId};

/// Bounding box of one moving object, or of all entries before `rest`. Four nodes long, read by `enter_next_mover` in
/// `kdtree.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Entry {
    min: [f32; 3],
    max: [f32; 3],
    /// Node index at which traversal continues if the ray misses the box.
    rest: u32,
    /// Surface of a leaf entry, or `NONE`.
    surface: u32,
}

/// Bits of a tree node.
pub(super) type Node = [u32; 2];
/// Number of nodes that an entry occupies.
pub(super) const NODES: usize = 4;
/// Index of the node that holds start and end of the list, which trees leave unused.
pub(super) const PLACE: u32 = 1;

/// Outward margin of boxes, relative to their largest coordinate: eight single-precision roundings, as in
/// `kdtree.wgsl`.
const MARGIN: f32 = 1.0 / 1_048_576.0;

/// Returns the maximum number of entries for a number of moving objects.
pub(super) fn longest(movers: usize) -> usize {
    (2 * movers).saturating_sub(1)
}

/// Builds the list for the given boxes. Its first entry is stored at node `start`.
pub(super) fn list_of(mut movers: Vec<(Aabb, SurfaceId)>, start: u32) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(longest(movers.len()));
    if !movers.is_empty() {
        add(&mut movers, start, &mut entries);
    }
    entries
}

fn add(movers: &mut [(Aabb, SurfaceId)], start: u32, entries: &mut Vec<Entry>) {
    let bounds = movers.iter().fold(Aabb::EMPTY, |bounds, mover| bounds.union(mover.0));
    let margin = bounds.min.abs().max(bounds.max.abs()).max_element() * MARGIN;
    let own = entries.len();
    let surface = if let [(_, surface)] = movers { surface.0 } else { NONE };
    let (min, max) = ((bounds.min - margin).to_array(), (bounds.max + margin).to_array());
    entries.push(Entry { min, max, rest: 0, surface });
    if movers.len() > 1 {
        let centers = Aabb::around(movers.iter().map(|(bounds, _)| bounds.center()));
        let axis = centers.extent().max_position();
        let middle = movers.len() / 2;
        movers.select_nth_unstable_by(middle, |(a, first), (b, second)| {
            a.center()[axis].total_cmp(&b.center()[axis]).then(first.cmp(second))
        });
        let (below, above) = movers.split_at_mut(middle);
        add(below, start, entries);
        add(above, start, entries);
    }
    entries[own].rest = start + (entries.len() * NODES) as u32;
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    fn boxes(count: u32) -> Vec<(Aabb, SurfaceId)> {
        let at = |index: u32| Vec3::new((index * 7 % 10) as f32, (index * 3 % 10) as f32, index as f32 / 10.0);
        (0..count).map(|index| (Aabb { min: at(index), max: at(index) + 1.0 }, SurfaceId(index))).collect()
    }

    #[test]
    fn every_mover_is_listed_once_and_lies_in_all_boxes_that_it_is_behind() {
        const START: u32 = 1000;
        let list = list_of(boxes(100), START);
        assert_eq!(list.len(), longest(100));
        let index_of = |node: u32| (node - START) as usize / NODES;
        let mut seen = vec![0; 100];
        for (index, entry) in list.iter().enumerate() {
            let within = index + 1..index_of(entry.rest);
            assert_eq!(entry.surface == NONE, !within.is_empty(), "boxes of one mover have nothing behind them");
            if entry.surface != NONE {
                seen[entry.surface as usize] += 1;
            }
            for inner in &list[within] {
                let is_in = |axis: usize| inner.min[axis] >= entry.min[axis] && inner.max[axis] <= entry.max[axis];
                assert!((0..3).all(is_in), "{inner:?} lies in {entry:?}");
            }
        }
        assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
        assert_eq!(index_of(list[0].rest), list.len(), "a ray that misses the first box is done");
    }

    #[test]
    fn one_mover_and_none_are_lists_too() {
        assert_eq!(list_of(boxes(0), 8), []);
        let [one] = list_of(boxes(1), 8)[..] else { panic!("one mover has one box") };
        assert_eq!((one.rest, one.surface), (12, 0));
    }
}
