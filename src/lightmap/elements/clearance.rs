//! Stacked surfaces, so close that rounding decides from which of them a ray starts.

use glam::Vec2;

use super::{ElementId, Elements, SurfacePoint};
use crate::geometry::{Ray, RayQuery};
use crate::parts::map;
use crate::scene::Scene;

/// Sample points of an element: the centers of the quarters of the unit square.
const POINTS: [Vec2; 4] = [Vec2::new(0.25, 0.25), Vec2::new(0.75, 0.75), Vec2::new(0.75, 0.25), Vec2::new(0.25, 0.75)];
/// Range of heights of layers above the surface, in multiples of the ray epsilon (see [`SurfacePoint::origin`]). Rays
/// start well above lower layers, and well below higher ones, which bury the surface.
const LOWEST: f32 = 0.25;
const HIGHEST: f32 = 4.0;
/// Maximum number of stacked layers.
const MAX_LAYERS: u32 = 8;
/// Cosine of 15 degrees. Surfaces at larger angles intersect.
const PARALLEL: f32 = 0.966;

/// Returns the height of the topmost layer on each element, in meters.
pub(super) async fn find(scene: &Scene, world: &dyn RayQuery, elements: &Elements) -> Vec<f32> {
    let highest = |index| {
        let sampler = elements.sampler(scene, ElementId::from_index(index));
        POINTS.into_iter().map(|at| highest_layer(scene, world, &sampler.sample(at))).fold(0.0, f32::max)
    };
    map(elements.len(), 256, highest).await
}

fn highest_layer(scene: &Scene, world: &dyn RayQuery, point: &SurfacePoint) -> f32 {
    let (ray_epsilon, up) = (point.ray_epsilon(), point.geometric_normal);
    let mut height = 0.0;
    let mut ray = Ray { t_min: LOWEST * ray_epsilon, t_max: HIGHEST * ray_epsilon, ..Ray::new(point.position, up) };
    for _ in 0..MAX_LAYERS {
        let Some(hit) = world.closest(&ray) else { break };
        if scene.triangle(hit.surface, hit.triangle).normal().dot(up).abs() < PARALLEL {
            break;
        }
        height = hit.t;
        ray.t_min = hit.t.next_up();
    }
    height
}
