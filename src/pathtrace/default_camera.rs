//! Camera for scenes whose file has none.

use glam::{Vec2, Vec3};

use super::ASPECT;
use crate::geometry::sampling::uniform_sphere;
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Ray, RayQuery};
use crate::scene::{Camera, Scene};

/// Default vertical field of view, in radians.
pub(crate) const DEFAULT_FOV: f32 = 1.0;

/// Number of rays that test a camera position.
const TEST_RAYS: u32 = 256;

/// Tested positions in a room: fractions of the scene's size, from its center.
const PLACES: [Vec3; 6] = [
    Vec3::new(0.2, 0.1, 0.35),
    Vec3::new(-0.2, 0.1, 0.35),
    Vec3::new(0.0, 0.05, 0.45),
    Vec3::new(0.4, 0.15, 0.4),
    Vec3::new(-0.4, 0.15, 0.4),
    Vec3::new(0.0, 0.05, -0.45),
];

/// Returns a camera inside a room that looks at its center, or one that sees all of another scene from outside. `None`
/// for a scene without extent.
pub fn default_camera(scene: &Scene, world: &dyn RayQuery) -> Option<Camera> {
    let bounds = scene.bounds();
    let eye = default_eye(scene, world, DEFAULT_FOV);
    Camera::looking_at(eye, (bounds.min + bounds.max) * 0.5, DEFAULT_FOV)
}

/// Returns the default camera position: the one inside a room that sees farthest, or else far enough away to see
/// everything.
pub(crate) fn default_eye(scene: &Scene, world: &dyn RayQuery, vertical_fov: f32) -> Vec3 {
    let bounds = scene.bounds();
    let (middle, size) = ((bounds.min + bounds.max) * 0.5, bounds.max - bounds.min);
    let view = |place: &Vec3| {
        let eye = middle + size * *place;
        let camera = Camera::looking_at(eye, middle, vertical_fov)?;
        is_in_room(scene, world, eye).then(|| (eye, sight_distance(world, &camera)))
    };
    let farthest = PLACES.iter().filter_map(view).reduce(|best, other| if other.1 > best.1 { other } else { best });
    if let Some((eye, _)) = farthest {
        return eye;
    }
    let distance = 0.5 * bounds.diagonal() / libm::sinf(0.5 * vertical_fov);
    middle + Vec3::new(0.5, 0.4, 1.0).normalize() * distance
}

/// Returns true if most rays from a point hit front faces.
fn is_in_room(scene: &Scene, world: &dyn RayQuery, eye: Vec3) -> bool {
    let points = OwenSobol::new(0);
    let sees_front = |index: &u32| {
        let [x, y, ..] = points.point(*index);
        let hit = world.closest(&Ray::new(eye, uniform_sphere(Vec2::new(x, y))));
        // The inside of a single double-sided solid is no room.
        hit.is_some_and(|hit| !hit.back || (scene.surfaces.len() > 1 && !scene.absorbs(&hit)))
    };
    (0..TEST_RAYS).filter(sees_front).count() * 2 > TEST_RAYS as usize
}

/// Returns the mean logarithm of the distances to the surfaces in a picture, in meters.
fn sight_distance(world: &dyn RayQuery, camera: &Camera) -> f64 {
    let points = OwenSobol::new(0);
    let distance = |index: u32| {
        let [x, y, ..] = points.point(index);
        let ray = camera.sight_line(2.0 * Vec2::new(x * ASPECT, y) - Vec2::new(ASPECT, 1.0));
        world.closest(&ray).map(|hit| libm::log(f64::from(hit.t)))
    };
    let logarithms: Vec<f64> = (0..TEST_RAYS).filter_map(distance).collect();
    logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64
}
