//! Which points of surfaces lie inside other geometry.

use std::sync::OnceLock;

use glam::Vec3;

use crate::geometry::sampling::orthonormal_basis;
use crate::geometry::{Hit, Ray, RayQuery, SurfaceId, sin_cos_turns};
use crate::kdtree::twin_gap;
use crate::lightmap::SurfacePoint;
use crate::scene::Scene;

/// Slope above the surface at which a point looks around.
const HORIZON: f32 = 0.1;

/// Directions that a point looks in, and how many of them must leave a solid. An odd number has no two opposite
/// directions: of those, both may go along a wall and leave it where its ends are flush with other faces.
const DIRECTIONS: u32 = 5;
const ENOUGH: u32 = 4;

/// Surfaces that one look passes at most.
const MOST_PASSED: u32 = 16;

/// Weights of a corner below which a hit lies on the edge across from it.
const EDGE: f32 = 1e-6;

/// Tells points inside solids from those in the open.
pub(in crate::radiosity) struct Burial<'a> {
    scene: &'a Scene,
    world: &'a dyn RayQuery,
    /// Which meshes are closed, found out when first asked.
    closed: Vec<OnceLock<bool>>,
}

impl<'a> Burial<'a> {
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery) -> Self {
        Self { scene, world, closed: vec![OnceLock::new(); scene.meshes.len()] }
    }

    /// Tells a point inside a solid from one in the open: whichever way one leaves a solid, it shows its back in the
    /// end. Looks around along the surface, where a lone back overhead does not reach; one way may fail, through a
    /// crack or along an edge. Also says how many rays that took.
    pub fn is_buried(&self, point: &SurfacePoint, direction: Vec3) -> (bool, u32) {
        let normal = point.geometric_normal;
        let across = (direction - normal * direction.dot(normal)).normalize_or(orthonormal_basis(normal).0);
        let aside = normal.cross(across);
        let (mut leaving, mut rays) = (0, 0);
        for looked in 0..DIRECTIONS {
            let (sine, cosine) = sin_cos_turns(looked as f32 / DIRECTIONS as f32);
            let ray = point.ray(across * cosine + aside * sine + normal * HORIZON);
            leaving += u32::from(self.leaves_a_solid(ray, &mut rays));
            let left = DIRECTIONS - 1 - looked;
            if leaving >= ENOUGH || leaving + left < ENOUGH {
                break;
            }
        }
        (leaving >= ENOUGH, rays)
    }

    /// Follows a ray through sides by which it enters solids, and out of those again, until it leaves a solid that it has
    /// not entered. A sheet that is open on both sides stands in no solid.
    fn leaves_a_solid(&self, mut ray: Ray, rays: &mut u32) -> bool {
        let mut entered = Vec::new();
        for _ in 0..MOST_PASSED {
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
                    // Where one solid is left and another entered, or a wall was doubled, nothing changes.
                    return true;
                }
            }
            entered.append(&mut entered_here);
            ray.t_min = nearest.t + gap;
        }
        false
    }

    /// All faces that a ray meets where it meets the nearest, those first by which it enters solids: solids that are flush
    /// with each other have several in one place, and each of them is entered or left there. A ray through an edge meets
    /// the triangles on both sides of it, which count as one.
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

    /// The solid that a surface bounds: itself where it is closed. Open surfaces may bound solids together, and count as
    /// one.
    fn solid_of(&self, surface: SurfaceId) -> Option<SurfaceId> {
        let mesh = self.scene.surface(surface).mesh;
        let closed = self.closed[mesh.index()].get_or_init(|| self.scene.mesh_of(surface).is_closed());
        closed.then_some(surface)
    }
}

/// True when a ray met a triangle at its rim, as far as rounding tells.
fn is_on_edge(hit: &Hit) -> bool {
    hit.barycentric.min_element() <= EDGE || hit.barycentric.element_sum() >= 1.0 - EDGE
}
