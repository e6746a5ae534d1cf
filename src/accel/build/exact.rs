//! Exact SAH build: tries every plane where a reference starts or ends, in O(n log n) per subtree (Wald and Havran
//! 2006).
//!
//! Events are sorted once. Filtering events by a split keeps them sorted. Only references that straddle the plane get
//! new events, which are sorted and merged.

use crate::geometry::Aabb;

use super::cost::{self, NodeCost};
use super::event::{Event, EventKind, merge, push_events};
use super::{Builder, Cell, Output, PARALLEL_ABOVE, Planes, Reference, halves};

/// Sorted events of a node on the three axes.
type Events = [Vec<Event>; 3];

/// Child or children that receive a reference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Above,
    Both,
}

#[derive(Clone, Copy)]
struct Split {
    axis: usize,
    position: f32,
    cost: f32,
    /// Number of references of both children together, at most.
    references: usize,
    /// True if references that lie in the plane go below.
    planar_below: bool,
}

/// Builds the subtree of a cell.
pub(super) fn subtree(builder: &Builder, references: &[Reference], cell: Cell, slot: usize, output: &mut Output) {
    let mut events = Events::default();
    for (axis, events) in events.iter_mut().enumerate() {
        events.reserve(references.len() * 2);
        for (index, reference) in references.iter().enumerate() {
            push_events(events, &reference.bounds, axis, index as u32);
        }
        events.sort_unstable();
    }
    Sweeper::new(builder, references).node(events, references.len(), cell, slot, output);
}

/// Builder of one subtree on one thread. References keep the numbers they had at the subtree's root.
struct Sweeper<'a> {
    builder: &'a Builder<'a>,
    references: &'a [Reference],
    sides: Vec<Side>,
    /// Empty lists kept for reuse.
    spare: Vec<Vec<Event>>,
}

impl<'a> Sweeper<'a> {
    fn new(builder: &'a Builder<'a>, references: &'a [Reference]) -> Self {
        Self { builder, references, sides: vec![Side::Both; references.len()], spare: Vec::new() }
    }

    fn node(&mut self, events: Events, count: usize, cell: Cell, slot: usize, output: &mut Output) {
        let preset = self.builder.preset;
        let leaf_cost = cost::leaf(preset, count);
        let split = (cell.depth < self.builder.depth_limit)
            .then(|| match preset.planes {
                Planes::Middle => middle(&events, count, cell),
                planes => find_split(&events, count, &NodeCost::new(preset, cell.bounds), cell.bounds, planes),
            })
            .flatten()
            .filter(|split| split.cost < leaf_cost && split.references <= cell.room);
        let Some(split) = split else {
            let held = events[0].iter().filter(|event| event.kind() != EventKind::End);
            let held = held.map(|event| self.references[event.reference()].triangle);
            output.leaf(slot, extent(&events), held, self.builder.alignment);
            self.spare.extend(events);
            return;
        };
        let [(below_events, below_count), (above_events, above_count)] = self.divide(events, split, cell.bounds);
        let (below, above) = halves(cell, split.axis, split.position, [below_count, above_count]);
        let first = output.split(slot, split.axis, split.position);
        if count > PARALLEL_ABOVE {
            let (builder, references) = (self.builder, self.references);
            let ((), right) = rayon::join(
                || self.node(below_events, below_count, below, first, output),
                || {
                    let mut right = Output::new();
                    Sweeper::new(builder, references).node(above_events, above_count, above, 0, &mut right);
                    right
                },
            );
            output.append(right, first + 1);
        } else {
            self.node(below_events, below_count, below, first, output);
            self.node(above_events, above_count, above, first + 1, output);
        }
    }

    /// Returns the events and the number of references of both children.
    fn divide(&mut self, mut events: Events, split: Split, bounds: Aabb) -> [(Events, usize); 2] {
        let straddlers = self.classify(&events[split.axis], split);
        let mut added = [Events::default(), Events::default()];
        for &reference in &straddlers {
            let straddler = &self.references[reference as usize];
            let halves = self.builder.halves(straddler, bounds, split.axis, split.position);
            for (half, added) in halves.iter().zip(&mut added) {
                if let Some(half) = half {
                    for (axis, events) in added.iter_mut().enumerate() {
                        push_events(events, half, axis, reference);
                    }
                }
            }
        }
        let count = |added: &Events| added[0].iter().filter(|event| event.kind() != EventKind::End).count();
        let [mut below_count, mut above_count] = [count(&added[0]), count(&added[1])];
        let mut children = [Events::default(), Events::default()];
        for axis in 0..3 {
            let (mut below, mut above) = self.filter(&events[axis]);
            if axis == 0 {
                below_count += below.iter().filter(|event| event.kind() != EventKind::End).count();
                above_count += above.iter().filter(|event| event.kind() != EventKind::End).count();
            }
            for (child, added) in [&mut below, &mut above].into_iter().zip(&mut added) {
                added[axis].sort_unstable();
                merge(child, &added[axis]);
            }
            children[0][axis] = below;
            children[1][axis] = above;
            self.spare.push(core::mem::take(&mut events[axis]));
        }
        let [below, above] = children;
        [(below, below_count), (above, above_count)]
    }

    /// Records the side of each reference, and returns the references that straddle the plane.
    fn classify(&mut self, events: &[Event], split: Split) -> Vec<u32> {
        let mut straddlers = Vec::new();
        for event in events {
            let position = event.position();
            let side = &mut self.sides[event.reference()];
            match event.kind() {
                EventKind::Start => *side = if position < split.position { Side::Both } else { Side::Above },
                EventKind::End if position <= split.position => *side = Side::Below,
                EventKind::End => {
                    if *side == Side::Both {
                        straddlers.push(event.reference() as u32);
                    }
                }
                EventKind::Planar => {
                    let below = position < split.position || (position == split.position && split.planar_below);
                    *side = if below { Side::Below } else { Side::Above };
                }
            }
        }
        straddlers
    }

    /// Returns the events of the references that lie entirely below and entirely above.
    fn filter(&mut self, events: &[Event]) -> (Vec<Event>, Vec<Event>) {
        let (mut below, mut above) = (self.spare.pop().unwrap_or_default(), self.spare.pop().unwrap_or_default());
        below.resize(events.len(), Event::default());
        above.resize(events.len(), Event::default());
        let (mut below_len, mut above_len) = (0, 0);
        for &event in events {
            // Each event is written to both lists and counted in one, which avoids a branch.
            let side = self.sides[event.reference()];
            below[below_len] = event;
            above[above_len] = event;
            below_len += usize::from(side == Side::Below);
            above_len += usize::from(side == Side::Above);
        }
        below.truncate(below_len);
        above.truncate(above_len);
        (below, above)
    }
}

/// Returns the bounding box of all references of a node.
fn extent(events: &Events) -> Aabb {
    let mut extent = Aabb::EMPTY;
    for (axis, events) in events.iter().enumerate() {
        if let (Some(first), Some(last)) = (events.first(), events.last()) {
            (extent.min[axis], extent.max[axis]) = (first.position(), last.position());
        }
    }
    extent
}

/// Returns the cheapest of the given planes, strictly inside the node.
fn find_split(events: &Events, count: usize, cost: &NodeCost, bounds: Aabb, planes: Planes) -> Option<Split> {
    let mut best: Option<Split> = None;
    let is_tried = |axis: usize| planes == Planes::AnyAxis || axis == longest_axis(bounds);
    for (axis, events) in events.iter().enumerate().filter(|(axis, _)| is_tried(*axis)) {
        let (start, end) = (bounds.min[axis], bounds.max[axis]);
        let mut consider = |position: f32, below: usize, above: usize, planar_below: bool| {
            let cost = cost.split(axis, position, below, above);
            if position > start && position < end && best.is_none_or(|best| cost < best.cost) {
                best = Some(Split { axis, position, cost, references: below + above, planar_below });
            }
        };
        let (mut below, mut above) = (0, count);
        let mut rest = events.iter().peekable();
        while let Some(&first) = rest.peek() {
            let mut here = [0; 3];
            while let Some(event) = rest.next_if(|event| event.is_at(*first)) {
                here[event.kind() as usize] += 1;
            }
            let [ends, planar, starts] = here;
            above -= ends + planar;
            let position = first.position();
            consider(position, below + planar, above, true);
            if planar > 0 {
                consider(position, below, above + planar, false);
            }
            below += starts + planar;
        }
    }
    best
}

/// Returns the axis of the longest edge; of equal edges the first.
fn longest_axis(bounds: Aabb) -> usize {
    let extent = bounds.extent();
    (1..3).fold(0, |longest, axis| if extent[axis] > extent[longest] { axis } else { longest })
}

/// Number of triangles at which splits through the middle end.
const MAX_IN_LEAF: usize = 8;

/// Returns the plane through the middle of a node, on an axis by its depth. `None` for a node that is to be a leaf.
fn middle(events: &Events, count: usize, cell: Cell) -> Option<Split> {
    let axis = cell.depth % 3;
    let (start, end) = (cell.bounds.min[axis], cell.bounds.max[axis]);
    let position = start + (end - start) * 0.5;
    let is_inside = position > start && position < end;
    if count <= MAX_IN_LEAF || !is_inside {
        return None;
    }
    let straddlers = events[axis].iter().fold(0usize, |held, event| match event.kind() {
        EventKind::Start if event.position() < position => held + 1,
        EventKind::End if event.position() <= position => held.saturating_sub(1),
        _ => held,
    });
    Some(Split { axis, position, cost: 0.0, references: count + straddlers, planar_below: true })
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::super::Preset;
    use super::*;

    #[test]
    fn the_longest_edge_is_that_of_the_document_and_x_comes_before_y_before_z() {
        for (extent, axis) in [
            ([2.0, 2.0, 2.0], 0),
            ([2.0, 2.0, 1.0], 0),
            ([2.0, 1.0, 2.0], 0),
            ([1.0, 2.0, 2.0], 1),
            ([1.0, 1.0, 2.0], 2),
            ([1.0, 3.0, 2.0], 1),
        ] {
            let min = Vec3::new(-1.0, 0.5, 3.0);
            assert_eq!(longest_axis(Aabb { min, max: min + Vec3::from(extent) }), axis, "{extent:?}");
        }
    }

    #[test]
    fn the_chosen_plane_is_the_cheapest_of_all_that_bound_a_triangle() {
        use crate::geometry::sobol::OwenSobol;

        let cell = Aabb { min: Vec3::ZERO, max: Vec3::new(3.0, 2.0, 1.0) };
        let preset = Preset { leaf_width: 1, empty_bonus: 1.0, intersection_cost: 0.7, ..Preset::best() };
        for seed in 0..20 {
            let boxes: Vec<Aabb> = (0..12)
                .map(|index| {
                    let [x, y, z, size] = OwenSobol::new(seed).point(index);
                    let min = Vec3::new(x, y, z) * cell.max * 0.8;
                    Aabb { min, max: min + (0.05 + 0.15 * size) * cell.max }
                })
                .collect();
            let mut events = Events::default();
            for (axis, events) in events.iter_mut().enumerate() {
                boxes.iter().zip(0..).for_each(|(bounds, index)| push_events(events, bounds, axis, index));
                events.sort_unstable();
            }
            // Equation 4, with a step that costs one.
            let cost_of = |axis: usize, position: f32| {
                let held = [
                    boxes.iter().filter(|bounds| bounds.min[axis] < position).count(),
                    boxes.iter().filter(|bounds| bounds.max[axis] > position).count(),
                ];
                let expected = cell.halves(axis, position).into_iter().zip(held);
                let expected = expected.map(|(half, held)| half.surface_area() * held as f32).sum::<f32>();
                1.0 + 0.7 * expected / cell.surface_area()
            };
            for planes in [Planes::AnyAxis, Planes::LongestAxis] {
                let axes = if planes == Planes::AnyAxis { 0..3 } else { 0..1 };
                let positions = |axis: usize| boxes.iter().flat_map(move |of| [of.min[axis], of.max[axis]]);
                let costs = axes.flat_map(|axis| positions(axis).map(move |position| (axis, position)));
                let cheapest = costs.map(|(axis, position)| cost_of(axis, position)).fold(f32::INFINITY, f32::min);
                let split = find_split(&events, boxes.len(), &NodeCost::new(&preset, cell), cell, planes).unwrap();
                assert!((split.cost - cheapest).abs() < 1e-5, "{seed} {planes:?}: {} {cheapest}", split.cost);
                assert!((cost_of(split.axis, split.position) - cheapest).abs() < 1e-5, "{seed} {planes:?}");
            }
        }
    }
}
