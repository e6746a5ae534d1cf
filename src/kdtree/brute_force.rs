//! The naive twin of the tree: tests every triangle. Slow, and plainly right; tests hold the tree against it.

use glam::Vec3;

use crate::geometry::{Escaped, Hit, Ray, RayQuery, SurfaceId, Transmittance, Triangle, WatertightRay};
use crate::scene::Scene;

use super::passage;

/// Answers rays by testing every triangle of a scene.
pub struct BruteForce<'a> {
    scene: &'a Scene,
    triangles: Vec<(Triangle, SurfaceId, u32)>,
}

impl<'a> BruteForce<'a> {
    /// Takes the triangles of all surfaces that are in the bake; degenerate ones are left out.
    pub fn new(scene: &'a Scene) -> Self {
        let triangles = scene
            .surface_ids()
            .filter(|&id| scene.surface(id).is_in_bake())
            .flat_map(|id| (0..scene.mesh_of(id).triangles.len() as u32).map(move |triangle| (id, triangle)))
            .map(|(id, triangle)| (scene.triangle(id, triangle), id, triangle))
            .filter(|(triangle, ..)| triangle.normal() != Vec3::ZERO)
            .collect();
        Self { scene, triangles }
    }

    fn hits(&self, ray: &Ray) -> impl Iterator<Item = Hit> {
        let prepared = WatertightRay::new(ray);
        self.triangles.iter().filter_map(move |&(triangle, surface, index)| {
            let hit = triangle.intersect(&prepared)?;
            Some(Hit {
                t: hit.t,
                surface,
                triangle: index,
                barycentric: hit.barycentric,
                back: hit.back != self.scene.surface(surface).is_mirrored(),
                filter: Vec3::ONE,
            })
        })
    }
}

impl RayQuery for BruteForce<'_> {
    fn trace(&self, ray: &Ray) -> Result<Hit, Escaped> {
        let stop = self
            .hits(ray)
            .filter(|hit| passage::passed(self.scene, ray, hit).is_none())
            .min_by(|a, b| a.t.total_cmp(&b.t));
        let end = stop.map_or(f32::INFINITY, |stop| stop.t);
        let filter = self
            .hits(ray)
            .filter(|hit| hit.t <= end)
            .filter_map(|hit| passage::passed(self.scene, ray, &hit))
            .fold(Vec3::ONE, |product, tint| product * tint);
        stop.map(|stop| Hit { filter, ..stop }).ok_or(Escaped { filter })
    }

    fn blocked(&self, ray: &Ray) -> Transmittance {
        let through = self.hits(ray).map(|hit| passage::transmittance(self.scene, &hit));
        Transmittance(through.fold(Vec3::ONE, |product, tint| product * tint))
    }

    fn all_hits(&self, ray: &Ray) -> Vec<Hit> {
        self.hits(ray).collect()
    }
}
