//! Transform of a moving object, for rays into object space.

use bytemuck::{Pod, Zeroable};
use glam::{Affine3A, DAffine3, DVec3, Vec3};

use crate::geometry::Aabb;

/// Counterpart of `Placement` in `material.wgsl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Placement {
    from_world: [[f32; 4]; 3],
    tree_min: [f32; 3],
    first_triangle: u32,
    tree_max: [f32; 3],
    root: u32,
    reach: [f32; 3],
    padding_0: u32,
    stretch: [f32; 3],
    padding_1: u32,
}

impl Placement {
    /// Creates a placement, or `None` for an empty mesh or a singular transform.
    pub fn new(to_world: &Affine3A, tree_bounds: Aabb, root: u32, first_triangle: u32) -> Option<Self> {
        if tree_bounds.is_empty() {
            return None;
        }
        let to_world = DAffine3::from_mat3_translation(
            glam::Mat3::from(to_world.matrix3).as_dmat3(),
            Vec3::from(to_world.translation).as_dvec3(),
        );
        let from_world = to_world.inverse();
        let magnitudes = |transform: &DAffine3, of: DVec3| {
            transform.matrix3.x_axis.abs() * of.x
                + transform.matrix3.y_axis.abs() * of.y
                + transform.matrix3.z_axis.abs() * of.z
        };
        // Each intermediate number between object space and world space carries a rounding error. These are bounds on
        // the magnitude of all such numbers, first in world space, then in object space.
        let tree_reach = tree_bounds.min.abs().max(tree_bounds.max.abs()).as_dvec3();
        let world_reach = (magnitudes(&to_world, tree_reach) + to_world.translation.abs()).max_element();
        let stretch = magnitudes(&from_world, DVec3::ONE);
        let reach = (stretch * world_reach + from_world.translation.abs() + tree_reach).as_vec3();
        let rows = from_world.matrix3.transpose();
        let row = |axis: usize| rows.col(axis).extend(from_world.translation[axis]).as_vec4();
        let rows = [0, 1, 2].map(row);
        let is_usable = reach.is_finite() && rows.iter().all(|row| row.is_finite());
        is_usable.then(|| Self {
            from_world: rows.map(|row| row.to_array()),
            tree_min: tree_bounds.min.to_array(),
            first_triangle,
            tree_max: tree_bounds.max.to_array(),
            root,
            reach: reach.to_array(),
            stretch: stretch.as_vec3().to_array(),
            ..Self::default()
        })
    }
}

/// Returns the world-space bounding box of a box in object space.
pub(super) fn box_in_world(to_world: &Affine3A, bounds: Aabb) -> Aabb {
    let corner = |corner: usize| {
        let of_axis = |axis: usize| if corner >> axis & 1 == 0 { bounds.min[axis] } else { bounds.max[axis] };
        to_world.transform_point3(Vec3::from_array(core::array::from_fn(of_axis)))
    };
    Aabb::around((0..8).map(corner))
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    Placement as Placement { from_world, tree_min, first_triangle, tree_max, root, reach, padding_0, stretch, padding_1 }
}
