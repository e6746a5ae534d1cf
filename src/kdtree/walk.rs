//! Walks wide nodes along a ray.

use core::mem::MaybeUninit;
use core::ops::ControlFlow;

use crate::geometry::Ray;

use super::lanes::Lanes;
use super::plan::CELLS;
use super::wide::{Content, WideNode, WideTree};

/// In which order leaves are visited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    NearestFirst,
    /// Where there is most to block the ray (Nah and Manocha 2014, "SATO").
    FullestFirst,
}

/// How far boxes are moved outwards, in parts of the largest coordinate that has a say: sixteen roundings of single
/// precision.
///
/// The distances of faces and of triangles are rounded differently, and the watertight test may shift a hit sideways to
/// the neighbour across an edge. Without a margin such a hit could lie outside the box of its triangle.
const MARGIN: f32 = 1.0 / (1 << 20) as f32;

/// A ray as wide nodes see it.
struct Slabs<L> {
    /// Offsets of the faces that the ray passes first.
    near: [usize; 3],
    inverse: [L; 3],
    /// The origin over the direction, with the margin towards which the ray enters early and leaves late.
    enter: [L; 3],
    leave: [L; 3],
    octant: usize,
}

impl<L: Lanes> Slabs<L> {
    #[inline(always)]
    fn new(ray: &Ray, reach: f32) -> Self {
        let margin = ray.origin.abs().max_element().max(reach) * MARGIN;
        let steepest = ray.direction.abs().max_element();
        let axis = |axis: usize| {
            let (origin, direction) = (ray.origin[axis], ray.direction[axis]);
            // Along the other axes a ray covers less than the margin before it is out of reach. So much it may be bent,
            // which keeps all products finite.
            let least = steepest * 1e-9;
            let direction = if direction.abs() < least { least } else { direction };
            let inverse = 1.0 / direction;
            let outwards = margin.copysign(inverse);
            let distance = |origin: f32| L::splat(origin * inverse);
            let falls = inverse < 0.0;
            (falls, L::splat(inverse), distance(origin + outwards), distance(origin - outwards))
        };
        let (x, y, z) = (axis(0), axis(1), axis(2));
        Self {
            near: [WideNode::offset_of(0, x.0), WideNode::offset_of(1, y.0), WideNode::offset_of(2, z.0)],
            inverse: [x.1, y.1, z.1],
            enter: [x.2, y.2, z.2],
            leave: [x.3, y.3, z.3],
            octant: usize::from(x.0) | usize::from(y.0) << 1 | usize::from(z.0) << 2,
        }
    }

    /// Where the ray enters and leaves the slabs between the faces of an axis.
    #[inline(always)]
    fn cross(&self, node: &WideNode, axis: usize) -> (L, L) {
        // SAFETY: `new` took the offset from the node.
        let (near, far) =
            unsafe { (node.faces_at(self.near[axis]), node.faces_at(self.near[axis] ^ WideNode::OPPOSITE)) };
        let (near, far) = (L::load(near), L::load(far));
        (near.mul_sub(self.inverse[axis], self.enter[axis]), far.mul_sub(self.inverse[axis], self.leave[axis]))
    }
}

/// The cells of a node that a ray crosses and has yet to visit, in cache lines of their own.
#[repr(align(64))]
struct Frame {
    starts: [f32; CELLS],
    cells: [u32; CELLS],
    /// A bit for each.
    pending: u32,
}

/// More than there are levels in any tree: see `build::depth_limit`; leaves of absurd size add a few.
const FRAMES: usize = 64;

/// Visits the leaves along a ray. `visit` is given a run of what they hold, and answers how far the ray still reaches.
#[inline(always)]
pub(super) fn walk<L: Lanes>(
    tree: &WideTree,
    ray: &Ray,
    order: Order,
    visit: impl FnMut(u32, u32) -> ControlFlow<(), f32>,
) {
    walk_counted::<L>(tree, ray, order, visit, || ());
}

/// [`walk`], telling of every node that it looks into.
#[inline(always)]
pub(super) fn walk_counted<L: Lanes>(
    tree: &WideTree,
    ray: &Ray,
    order: Order,
    mut visit: impl FnMut(u32, u32) -> ControlFlow<(), f32>,
    mut enter: impl FnMut(),
) {
    let slabs = Slabs::<L>::new(ray, tree.reach());
    let t_min = L::splat(ray.t_min);
    let mut limit = ray.t_max;
    let mut frames = [const { MaybeUninit::<Frame>::uninit() }; FRAMES];
    let mut top = 0;
    let mut cell = WideTree::ROOT;
    loop {
        // SAFETY: all cells but the root come from nodes.
        match unsafe { tree.content(cell) } {
            Content::Node(node) => {
                enter();
                let (x, y, z) = (slabs.cross(node, 0), slabs.cross(node, 1), slabs.cross(node, 2));
                let starts = y.0.max(z.0).max(x.0.max(t_min));
                let ends = y.1.min(z.1).min(x.1.min(L::splat(limit)));
                let lanes = match order {
                    Order::NearestFirst => node.orders[slabs.octant],
                    Order::FullestFirst => WideNode::IN_ORDER,
                };
                let (starts, ends) = (starts.permute(lanes), ends.permute(lanes));
                let crossed = starts.at_most(ends);
                if crossed != 0 {
                    let cells = L::load(bytemuck::cast_ref(&node.cells)).permute(lanes);
                    let pending = crossed & (crossed - 1);
                    // SAFETY: no tree has so many levels, and each has one frame.
                    let frame = unsafe { frames.get_unchecked_mut(top) };
                    let frame =
                        frame.write(Frame { starts: starts.store(), cells: bytemuck::cast(cells.store()), pending });
                    top += usize::from(pending != 0);
                    // Branches where one expression would do: a processor guesses them, and has the next node at hand
                    // before it knows.
                    cell = if crossed & 1 != 0 {
                        node.cells[lanes as usize & 7]
                    } else if crossed & 2 != 0 {
                        node.cells[lanes as usize >> 4 & 7]
                    } else {
                        frame.cells[crossed.trailing_zeros() as usize & 7]
                    };
                    continue;
                }
            }
            Content::Run { first, count } => match visit(first, count) {
                ControlFlow::Continue(reach) => limit = reach,
                ControlFlow::Break(()) => return,
            },
        }
        loop {
            if top == 0 {
                return;
            }
            // SAFETY: all frames below the top were written.
            let frame = unsafe { frames.get_unchecked_mut(top - 1).assume_init_mut() };
            let next = frame.pending.trailing_zeros() as usize & 7;
            frame.pending &= frame.pending - 1;
            top -= usize::from(frame.pending == 0);
            if frame.starts[next] <= limit {
                cell = frame.cells[next];
                break;
            }
        }
    }
}
