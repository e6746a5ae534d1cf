//! What it takes to find what a ray meets.

use core::ops::ControlFlow;

use crate::geometry::{Ray, WatertightRay};

use super::block::{BlockRay, set_bits};
use super::lanes::Portable;
use super::preset::LEAF_WIDTH;
use super::walk::{Order, walk_counted};
use super::{Tracer, World};

/// Work that one ray makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraversalCost {
    /// Wide nodes, each of up to eight cells, that the ray looked into.
    pub nodes: u32,
    /// Triangles that it was held against, eight at a time and gaps included.
    pub triangles: u32,
}

impl Tracer {
    /// What [`Tracer::closest`] does for a ray when all triangles count.
    pub fn cost(&self, ray: &Ray) -> TraversalCost {
        let watertight = WatertightRay::new(ray);
        let mut prepared = BlockRay::<Portable>::new(&watertight);
        let (mut nodes, mut blocks, mut nearest) = (0, 0, ray.t_max);
        let mut visit = |first: u32, count: u32| {
            for block in &self.blocks[first as usize..(first + count) as usize] {
                blocks += 1;
                let (hits, distances) = block.intersect(&prepared);
                let met = set_bits(hits).map(|lane| distances[lane]).fold(nearest, f32::min);
                if met < nearest {
                    nearest = met;
                    prepared.set_t_max(met);
                }
            }
            ControlFlow::Continue(nearest)
        };
        match self.wide.only_run() {
            Some((first, count)) => _ = visit(first, count),
            None => walk_counted::<Portable>(&self.wide, ray, Order::NearestFirst, visit, || nodes += 1),
        }
        TraversalCost { nodes, triangles: blocks * LEAF_WIDTH as u32 }
    }
}

impl World {
    /// What it takes to find the nearest of all triangles that do not move.
    pub fn cost(&self, ray: &Ray) -> TraversalCost {
        self.tracer.cost(ray)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::Vec3;

    use super::*;
    use crate::kdtree::Preset;
    use crate::scene::builtin;

    #[test]
    fn rays_beside_the_scene_cost_nothing_and_those_through_many_triangles_look_at_few_of_them() {
        let scene = Arc::new(builtin::sphere(5, 0.5, 1.0));
        let world = World::build(scene.clone(), Preset::best());
        let beside = world.cost(&Ray::new(Vec3::new(3.0, 0.0, 3.0), Vec3::Y));
        assert!(beside.nodes <= 1 && beside.triangles == 0, "{beside:?}");
        let through = world.cost(&Ray::new(Vec3::ZERO, Vec3::new(0.3, 0.5, 0.8).normalize()));
        assert!(through.nodes > 0 && through.triangles >= 8, "{through:?}");
        assert!(through.triangles < scene.triangle_count() as u32 / 50, "{through:?} of {}", scene.triangle_count());
    }
}
