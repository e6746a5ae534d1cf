//! Detection of surface points inside other geometry.

use std::sync::OnceLock;

use glam::Vec3;

use crate::accel::twin_gap;
use crate::geometry::sampling::orthonormal_basis;
use crate::geometry::{Hit, Ray, RayQuery, SurfaceId, sin_cos_turns};
use crate::lightmap::SurfacePoint;
use crate::scene::Scene;

/// Slope above the surface of the rays that test a point.
const HORIZON: f32 = 0.1;

/// Number of directions in a test, and the number of them that must leave a solid. An odd number has no opposite
/// directions. Two opposite ones may both run along a wall, and leave it where its ends are flush with other faces.
const HORIZON_RAYS: u32 = 5;
const MIN_LEAVING: u32 = 4;

/// Maximum number of surfaces that one test ray passes.
const MAX_PASSED: u32 = 16;

/// Barycentric coordinate below which a hit lies on the opposite edge.
const EDGE: f32 = 1e-6;

/// Test for points inside solids.
pub(in crate::radiosity) struct InsideTest<'a> {
    scene: &'a Scene,
    world: &'a dyn RayQuery,
    /// Lazily computed flag of each mesh: true if the mesh is closed.
    closed: Vec<OnceLock<bool>>,
}

impl<'a> InsideTest<'a> {
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery) -> Self {
        Self { scene, world, closed: vec![OnceLock::new(); scene.meshes.len()] }
    }

    /// Returns true if a point lies inside a solid, and the number of traced rays. A ray from inside a solid finally
    /// hits a back face, in every direction. Rays run near the surface, where a single back face overhead is out of
    /// reach. One direction may fail, because of a crack or an edge.
    pub fn is_inside(&self, point: &SurfacePoint, direction: Vec3) -> (bool, u32) {
        let normal = point.geometric_normal;
        let across = (direction - normal * direction.dot(normal)).normalize_or(orthonormal_basis(normal).0);
        let aside = normal.cross(across);
        let (mut leaving, mut rays) = (0, 0);
        for index in 0..HORIZON_RAYS {
            let (sine, cosine) = sin_cos_turns(index as f32 / HORIZON_RAYS as f32);
            let ray = point.ray(across * cosine + aside * sine + normal * HORIZON);
            leaving += u32::from(self.leaves_a_solid(ray, &mut rays));
            let left = HORIZON_RAYS - 1 - index;
            if leaving >= MIN_LEAVING || leaving + left < MIN_LEAVING {
                break;
            }
        }
        (leaving >= MIN_LEAVING, rays)
    }

    /// Follows a ray in and out of solids until it leaves one that it has not entered. Returns false for a ray that
    /// hits the back of a sheet open on both sides, which bounds no solid.
    fn leaves_a_solid(&self, mut ray: Ray, rays: &mut u32) -> bool {
        let mut entered = Vec::new();
        for _ in 0..MAX_PASSED {
            *rays += 1;
            let Some(nearest) = self.world.closest(&ray) else { return false };
            let gap = twin_gap(&ray, nearest.t);
            let mut entered_here = Vec::new();
            for hit in self.all_in_place(&ray, nearest, gap) {
                let solid = self.solid_of(hit.surface);
                if self.scene.enters_solid(&hit) {
                    entered_here.push(solid);
                } else if !self.scene.absorbs(&hit) {
                    return false;
                } else if let Some(place) = entered.iter().position(|&other| other == solid) {
                    entered.swap_remove(place);
                } else if entered_here.pop().is_none() {
                    // Leaving one solid and entering another, or crossing a doubled wall, changes nothing.
                    return true;
                }
            }
            entered.append(&mut entered_here);
            ray.t_min = nearest.t + gap;
        }
        false
    }

    /// Returns all faces that coincide with the nearest hit of a ray, entered ones first. Flush solids have several
    /// faces in one place, and each solid is entered or left there. A ray through an edge hits both adjacent triangles,
    /// which count as one.
    fn all_in_place(&self, ray: &Ray, nearest: Hit, gap: f32) -> Vec<Hit> {
        let place = Ray { t_min: (nearest.t - gap).max(ray.t_min), t_max: nearest.t + gap, ..*ray };
        let mut hits = self.world.all_hits(&place);
        hits.retain(|hit| !self.scene.material_of(hit.surface).can_be_passed());
        if hits.len() < 2 {
            return vec![nearest];
        }
        let order = |hit: &Hit| (!self.scene.enters_solid(hit), !self.scene.absorbs(hit));
        hits.sort_by_key(|hit| (order(hit), hit.surface, hit.back, is_on_edge(hit), hit.triangle));
        hits.dedup_by(|next, kept| is_on_edge(next) && (next.back, next.surface) == (kept.back, kept.surface));
        hits
    }

    /// Returns the solid bounded by a surface: the surface itself if its mesh is closed. Open surfaces may bound a
    /// solid together, and count as one solid (`None`).
    fn solid_of(&self, surface: SurfaceId) -> Option<SurfaceId> {
        let mesh = self.scene.surface(surface).mesh;
        let closed = self.closed[mesh.index()].get_or_init(|| self.scene.mesh_of(surface).is_closed());
        closed.then_some(surface)
    }
}

/// Returns true if a ray hit a triangle on its edge, within rounding.
fn is_on_edge(hit: &Hit) -> bool {
    hit.barycentric.min_element() <= EDGE || hit.barycentric.element_sum() >= 1.0 - EDGE
}
