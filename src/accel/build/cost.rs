//! Surface area heuristic (`004` equations 2 to 5), for leaves tested several triangles at a time.

use crate::geometry::Aabb;

use super::Preset;

/// Cost evaluator for the splits of one node.
pub(super) struct NodeCost {
    bounds: Aabb,
    /// For each axis: half the area of the two faces perpendicular to that axis, and half the area per meter of the
    /// four parallel faces.
    faces: [(f32, f32); 3],
    scale: f32,
    bonus: f32,
    width: u64,
    reciprocal: u64,
}

impl NodeCost {
    pub fn new(preset: &Preset, bounds: Aabb) -> Self {
        let extent = bounds.extent();
        let faces = core::array::from_fn(|axis| {
            let (other, another) = (extent[(axis + 1) % 3], extent[(axis + 2) % 3]);
            (other * another, other + another)
        });
        let area = faces[0].0 + faces[0].1 * extent[0];
        let width = u64::from(preset.leaf_width.max(1));
        Self {
            bounds,
            faces,
            scale: preset.intersection_cost / area,
            bonus: preset.empty_bonus,
            width,
            reciprocal: (1u64 << 32).div_ceil(width),
        }
    }

    /// Returns the expected cost of a split for a ray that reaches the node, if both children become leaves.
    #[inline(always)]
    pub fn split(&self, axis: usize, position: f32, below: usize, above: usize) -> f32 {
        let (across, along) = self.faces[axis];
        let area_below = across + along * (position - self.bounds.min[axis]);
        let area_above = across + along * (self.bounds.max[axis] - position);
        let cost = 1.0 + self.scale * (area_below * self.tests(below) + area_above * self.tests(above));
        if below == 0 || above == 0 { cost * self.bonus } else { cost }
    }

    /// Returns the number of leaf tests for a number of references: the number divided by the width, rounded up.
    #[inline(always)]
    fn tests(&self, references: usize) -> f32 {
        // Multiplication by the reciprocal, exact below 2^32 / width^2 references. A division would dominate the sweep.
        (((references as u64 + self.width - 1) * self.reciprocal) >> 32) as f32
    }
}

/// Returns the cost of a leaf for a ray that reaches the leaf.
pub(super) fn leaf(preset: &Preset, references: usize) -> f32 {
    preset.intersection_cost * (references as u32).div_ceil(preset.leaf_width.max(1)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;

    #[test]
    fn a_cube_cut_in_half_costs_what_the_heuristic_says() {
        let preset = Preset { intersection_cost: 2.0, leaf_width: 1, empty_bonus: 0.5, ..Preset::best() };
        let cube = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
        let cost = NodeCost::new(&preset, cube);
        // Each half has 4 of the cube's 6 square meters, so 2/3 of the rays reach it.
        assert!((cost.split(1, 0.5, 3, 6) - (1.0 + 2.0 * (2.0 / 3.0) * 9.0)).abs() < 1e-5);
        assert!((cost.split(1, 0.5, 3, 0) - 0.5 * (1.0 + 2.0 * (2.0 / 3.0) * 3.0)).abs() < 1e-5);
        assert_eq!(leaf(&preset, 3), 6.0);
    }

    #[test]
    fn leaves_are_tested_as_many_triangles_at_a_time_as_the_width_says() {
        for leaf_width in [1, 2, 3, 8] {
            let preset = Preset { leaf_width, ..Preset::best() };
            let cost = NodeCost::new(&preset, Aabb { min: Vec3::ZERO, max: Vec3::ONE });
            for references in 0..10_000 {
                assert_eq!(cost.tests(references), references.div_ceil(leaf_width as usize) as f32);
            }
        }
    }
}
