//! Approximate SAH splits at the borders of equal bins (Shevtsov, Soupikov and Kapustin 2007).

use rayon::prelude::*;

use crate::geometry::Aabb;
use crate::parts::Part;

use super::cost::{self, NodeCost};
use super::{Builder, Cell, Output, PARALLEL_ABOVE, Planes, Reference, exact, halves};

/// Subtree to build: its references, its cell, and the slot of its root.
pub(super) struct Subtree {
    pub references: Vec<Reference>,
    pub cell: Cell,
    pub slot: usize,
}

/// Builds a subtree by all threads.
pub(super) fn build(builder: &Builder, subtree: Subtree, output: &mut Output) {
    let Some([below, mut above]) = split(builder, subtree, output) else {
        return;
    };
    if below.references.len() + above.references.len() > PARALLEL_ABOVE {
        let slot = core::mem::take(&mut above.slot);
        let ((), other) = rayon::join(
            || build(builder, below, output),
            || {
                let mut other = Output::new();
                build(builder, above, &mut other);
                other
            },
        );
        output.append(other, slot);
    } else {
        build(builder, below, output);
        build(builder, above, output);
    }
}

/// Builds the same subtree with pauses.
pub(super) async fn build_in_parts(builder: &Builder<'_>, subtree: Subtree, output: &mut Output) {
    let mut part = Part::begin();
    // The last is built first.
    let mut waiting = vec![subtree];
    while let Some(next) = waiting.pop() {
        if let Some([below, above]) = split(builder, next, output) {
            waiting.extend([above, below]);
        }
        part.end_if_long().await;
    }
}

/// Splits a subtree and returns its halves. Uses bins while it has more than [`Preset::exact_below`](super::Preset)
/// references; below that, builds it by the exact sweep. Other [`Planes`] are for the exact sweep alone.
fn split(builder: &Builder, subtree: Subtree, output: &mut Output) -> Option<[Subtree; 2]> {
    let Subtree { references, cell, slot } = subtree;
    if references.len() <= builder.preset.exact_below || builder.preset.planes != Planes::AnyAxis {
        exact::subtree(builder, &references, cell, slot, output);
        return None;
    }
    let leaf_cost = cost::leaf(builder.preset, references.len());
    let split = (cell.depth < builder.depth_limit).then(|| find_split(builder, &references, cell.bounds)).flatten();
    let Some(split) = split.filter(|split| split.cost < leaf_cost && split.references <= cell.room) else {
        exact::subtree(builder, &references, cell, slot, output);
        return None;
    };
    let (left, right) = partition(builder, &references, split, cell.bounds);
    let (below, above) = halves(cell, split.axis, split.position, [left.len(), right.len()]);
    let first = output.split(slot, split.axis, split.position);
    Some([
        Subtree { references: left, cell: below, slot: first },
        Subtree { references: right, cell: above, slot: first + 1 },
    ])
}

#[derive(Clone, Copy)]
struct Split {
    axis: usize,
    position: f32,
    cost: f32,
    /// Number of references of both children together, at most.
    references: usize,
}

/// Number of references that start and end in each bin of each axis.
struct Histogram {
    starts: [Vec<u32>; 3],
    ends: [Vec<u32>; 3],
}

impl Histogram {
    fn new(references: &[Reference], bounds: Aabb, bins: usize) -> Self {
        let empty = || [0; 3].map(|_: u8| vec![0; bins]);
        let mut histogram = Self { starts: empty(), ends: empty() };
        let scale = bounds.extent().recip() * bins as f32;
        let bin = |distance: f32| (distance as usize).min(bins - 1);
        for reference in references {
            let start = (reference.bounds.min - bounds.min) * scale;
            let end = (reference.bounds.max - bounds.min) * scale;
            for axis in 0..3 {
                histogram.starts[axis][bin(start[axis])] += 1;
                histogram.ends[axis][bin(end[axis])] += 1;
            }
        }
        histogram
    }

    fn plus(mut self, other: Self) -> Self {
        for axis in 0..3 {
            let pairs = [(&mut self.starts[axis], &other.starts[axis]), (&mut self.ends[axis], &other.ends[axis])];
            for (sums, counts) in pairs {
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
        }
        self
    }
}

/// Returns the cheapest bin border over all axes, or `None` if no border lies inside the cell.
fn find_split(builder: &Builder, references: &[Reference], bounds: Aabb) -> Option<Split> {
    let bins = builder.preset.bins.max(2);
    let histogram = references
        .par_chunks(PARALLEL_ABOVE)
        .map(|chunk| Histogram::new(chunk, bounds, bins))
        .reduce_with(Histogram::plus)?;
    let cost = NodeCost::new(builder.preset, bounds);
    let mut best: Option<Split> = None;
    for axis in 0..3 {
        let (start, end) = (bounds.min[axis], bounds.max[axis]);
        let (mut below, mut above) = (0, references.len());
        for border in 1..bins {
            below += histogram.starts[axis][border - 1] as usize;
            above -= histogram.ends[axis][border - 1] as usize;
            let position = start + (end - start) * (border as f32 / bins as f32);
            let cost = cost.split(axis, position, below, above);
            if position > start && position < end && best.is_none_or(|best| cost < best.cost) {
                best = Some(Split { axis, position, cost, references: below + above });
            }
        }
    }
    best
}

/// Distributes the references to both children. References that straddle the plane go to both.
fn partition(
    builder: &Builder,
    references: &[Reference],
    split: Split,
    cell: Aabb,
) -> (Vec<Reference>, Vec<Reference>) {
    let Split { axis, position, .. } = split;
    let (mut left, mut right) = (Vec::with_capacity(references.len()), Vec::with_capacity(references.len()));
    for reference in references {
        let bounds = reference.bounds;
        if bounds.max[axis] <= position {
            left.push(*reference);
        } else if bounds.min[axis] >= position {
            right.push(*reference);
        } else {
            let halves = builder.halves(reference, cell, axis, position);
            for (half, side) in halves.into_iter().zip([&mut left, &mut right]) {
                if let Some(half) = half {
                    side.push(Reference { bounds: half.intersection(bounds), ..*reference });
                }
            }
        }
    }
    (left, right)
}
