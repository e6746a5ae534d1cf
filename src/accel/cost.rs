//! Traversal cost of a ray.

use core::ops::ControlFlow;

use crate::geometry::{Ray, WatertightRay};

use super::block::{BlockRay, set_bits};
use super::lanes::Portable;
use super::preset::LEAF_WIDTH;
use super::traversal::{Order, traverse_counted};
use super::{Tracer, World};

/// Work done to trace one ray.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraversalCost {
    /// Number of wide (BVH8) nodes visited.
    pub nodes: u32,
    /// Number of triangle tests, in blocks of eight including empty lanes.
    pub triangles: u32,
}

impl Tracer {
    /// Returns the work of [`Tracer::closest`] for a ray when every triangle counts as a hit.
    pub fn cost(&self, ray: &Ray) -> TraversalCost {
        let watertight = WatertightRay::new(ray);
        let mut prepared = BlockRay::<Portable>::new(&watertight);
        let (mut nodes, mut blocks, mut nearest) = (0, 0, ray.t_max);
        let mut visit = |first: u32, count: u32| {
            for block in &self.blocks[first as usize..(first + count) as usize] {
                blocks += 1;
                let (hits, distances) = block.intersect(&prepared);
                let closest = set_bits(hits).map(|lane| distances[lane]).fold(nearest, f32::min);
                if closest < nearest {
                    nearest = closest;
                    prepared.set_t_max(closest);
                }
            }
            ControlFlow::Continue(nearest)
        };
        match self.wide.only_leaf() {
            Some((first, count)) => _ = visit(first, count),
            None => traverse_counted::<Portable>(&self.wide, ray, Order::NearestFirst, visit, || nodes += 1),
        }
        TraversalCost { nodes, triangles: blocks * LEAF_WIDTH as u32 }
    }
}

impl World {
    /// Returns the work to find the closest hit among all static triangles.
    pub fn cost(&self, ray: &Ray) -> TraversalCost {
        self.tracer.cost(ray)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::Vec3;

    use super::*;
    use crate::accel::Preset;
    use crate::builtin_scenes;

    #[test]
    fn rays_beside_the_scene_cost_nothing_and_those_through_many_triangles_look_at_few_of_them() {
        let scene = Arc::new(builtin_scenes::sphere(5, 0.5, 1.0));
        let world = World::build(scene.clone(), Preset::best());
        let beside = world.cost(&Ray::new(Vec3::new(3.0, 0.0, 3.0), Vec3::Y));
        assert!(beside.nodes <= 1 && beside.triangles == 0, "{beside:?}");
        let through = world.cost(&Ray::new(Vec3::ZERO, Vec3::new(0.3, 0.5, 0.8).normalize()));
        assert!(through.nodes > 0 && through.triangles >= 8, "{through:?}");
        assert!(through.triangles < scene.triangle_count() as u32 / 50, "{through:?} of {}", scene.triangle_count());
    }
}
