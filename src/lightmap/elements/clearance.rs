//! Surfaces that lie on others, so close that rounding decides between which of them a ray starts.

use glam::Vec2;
use rayon::prelude::*;

use super::{ElementId, Elements, SurfacePoint};
use crate::geometry::{Ray, RayQuery};
use crate::scene::Scene;

/// Points of an element at which layers are looked for: the middles of the quarters of the unit square.
const POINTS: [Vec2; 4] = [Vec2::new(0.25, 0.25), Vec2::new(0.75, 0.75), Vec2::new(0.75, 0.25), Vec2::new(0.25, 0.75)];
/// Layers are this high above the surface, in hairs (see [`SurfacePoint::origin`]). Rays start well above lower ones, and
/// well below higher ones: a surface below those is buried.
const LOWEST: f32 = 0.25;
const HIGHEST: f32 = 4.0;
/// Layers above each other, at most.
const MOST_LAYERS: u32 = 8;
/// Cosine of 15 degrees: surfaces at larger angles cross each other.
const PARALLEL: f32 = 0.966;

/// The height of what lies on each of all elements, metres.
pub(super) fn find(scene: &Scene, world: &dyn RayQuery, elements: &Elements) -> Vec<f32> {
    let highest = |index| {
        let sampler = elements.sampler(scene, ElementId::from_index(index));
        POINTS.into_iter().map(|at| highest_layer(scene, world, &sampler.sample(at))).fold(0.0, f32::max)
    };
    (0..elements.len()).into_par_iter().with_min_len(256).map(highest).collect()
}

fn highest_layer(scene: &Scene, world: &dyn RayQuery, point: &SurfacePoint) -> f32 {
    let (hair, up) = (point.hair(), point.geometric_normal);
    let mut height = 0.0;
    let mut ray = Ray { t_min: LOWEST * hair, t_max: HIGHEST * hair, ..Ray::new(point.position, up) };
    for _ in 0..MOST_LAYERS {
        let Some(hit) = world.closest(&ray) else { break };
        if scene.triangle(hit.surface, hit.triangle).normal().dot(up).abs() < PARALLEL {
            break;
        }
        height = hit.t;
        ray.t_min = hit.t.next_up();
    }
    height
}
