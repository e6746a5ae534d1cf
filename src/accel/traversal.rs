//! Ray traversal of wide nodes.

use core::mem::MaybeUninit;
use core::ops::ControlFlow;

use crate::geometry::Ray;

use super::collapse::MAX_CHILDREN;
use super::lanes::Lanes;
use super::wide::{Child, WideNode, WideTree};

/// Order in which children are visited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    NearestFirst,
    /// Child with the most surface area first, which finds blockers early (Nah and Manocha 2014, "SATO").
    LargestFirst,
}

/// Outward margin of boxes, relative to the largest coordinate involved: sixteen single-precision roundings.
///
/// Distances to faces and to triangles round differently. The watertight test may also move a hit sideways across an
/// edge to the neighbor. Without the margin, such a hit could lie outside its triangle's box.
const MARGIN: f32 = 1.0 / (1 << 20) as f32;

/// Ray prepared for slab tests.
struct Slabs<L> {
    /// Byte offsets of the faces that the ray passes first.
    near: [usize; 3],
    inverse: [L; 3],
    /// Origin divided by direction, with the margin applied so that the ray enters early and leaves late.
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
            // A direction component this small moves the ray by less than the margin within reach. Clamping the
            // component keeps all products finite.
            let smallest = steepest * 1e-9;
            let direction = if direction.abs() < smallest { smallest } else { direction };
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

    /// Returns the distances at which the ray enters and leaves the slabs of an axis.
    #[inline(always)]
    fn cross(&self, node: &WideNode, axis: usize) -> (L, L) {
        // SAFETY: `new` took the offset from `WideNode::offset_of`.
        let (near, far) =
            unsafe { (node.faces_at(self.near[axis]), node.faces_at(self.near[axis] ^ WideNode::OPPOSITE)) };
        let (near, far) = (L::load(near), L::load(far));
        (near.mul_sub(self.inverse[axis], self.enter[axis]), far.mul_sub(self.inverse[axis], self.leave[axis]))
    }
}

/// Crossed children of a node that are still to be visited, in cache lines of their own.
#[repr(align(64))]
struct Frame {
    starts: [f32; MAX_CHILDREN],
    children: [u32; MAX_CHILDREN],
    /// Bit mask of the remaining children.
    pending: u32,
}

/// Stack size: above the number of levels of any tree (see `build::depth_limit`). Oversized leaves add a few levels.
const FRAMES: usize = 64;

/// Visits the leaves along a ray. `visit` receives a leaf range and returns the ray's remaining length.
#[inline(always)]
pub(super) fn traverse<L: Lanes>(
    tree: &WideTree,
    ray: &Ray,
    order: Order,
    visit: impl FnMut(u32, u32) -> ControlFlow<(), f32>,
) {
    traverse_counted::<L>(tree, ray, order, visit, || ());
}

/// Traverses as [`traverse`] does, and calls `enter` for each node visited.
#[inline(always)]
pub(super) fn traverse_counted<L: Lanes>(
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
    let mut child = WideTree::ROOT;
    loop {
        // SAFETY: all cells but the root come from nodes of the tree.
        match unsafe { tree.child(child) } {
            Child::Node(node) => {
                enter();
                let (x, y, z) = (slabs.cross(node, 0), slabs.cross(node, 1), slabs.cross(node, 2));
                let starts = y.0.max(z.0).max(x.0.max(t_min));
                let ends = y.1.min(z.1).min(x.1.min(L::splat(limit)));
                let lanes = match order {
                    Order::NearestFirst => node.orders[slabs.octant],
                    Order::LargestFirst => WideNode::IN_ORDER,
                };
                let (starts, ends) = (starts.permute(lanes), ends.permute(lanes));
                let crossed = starts.at_most(ends);
                if crossed != 0 {
                    let children = L::load(bytemuck::cast_ref(&node.children)).permute(lanes);
                    let pending = crossed & (crossed - 1);
                    // SAFETY: no tree has so many levels, and each level uses one frame.
                    let frame = unsafe { frames.get_unchecked_mut(top) };
                    let frame = frame.write(Frame {
                        starts: starts.store(),
                        children: bytemuck::cast(children.store()),
                        pending,
                    });
                    top += usize::from(pending != 0);
                    // Branches instead of one expression: branch prediction lets the processor fetch the next node
                    // early.
                    child = if crossed & 1 != 0 {
                        node.children[lanes as usize & 7]
                    } else if crossed & 2 != 0 {
                        node.children[lanes as usize >> 4 & 7]
                    } else {
                        frame.children[crossed.trailing_zeros() as usize & 7]
                    };
                    continue;
                }
            }
            Child::LeafRange { first, count } => match visit(first, count) {
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
                child = frame.children[next];
                break;
            }
        }
    }
}
