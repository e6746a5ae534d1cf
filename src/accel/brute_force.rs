//! Brute-force reference for the tree: tests every triangle. Slow and simple; tests compare the tree with the
//! reference.

use std::collections::HashSet;

use glam::Vec3;

use crate::geometry::{Escaped, Hit, Ray, RayQuery, SurfaceId, Transmittance, Triangle, WatertightRay};
use crate::scene::Scene;

use super::passage;
use super::twins::{gap, twins};
use super::world::static_triangles;

/// Ray queries answered by testing every triangle of a scene.
pub struct BruteForce<'a> {
    scene: &'a Scene,
    triangles: Vec<(Triangle, SurfaceId, u32)>,
    /// Triangles that coincide with triangles facing the opposite way; see [`twins`](super::twins).
    twins: HashSet<(SurfaceId, u32)>,
}

impl<'a> BruteForce<'a> {
    /// Takes the triangles of all surfaces in the bake, except degenerate ones.
    pub fn new(scene: &'a Scene) -> Self {
        let (triangles, sources) = static_triangles(scene);
        let is_twin = twins(scene, &triangles, &sources);
        let twins = sources.iter().zip(is_twin).filter(|(_, is_twin)| *is_twin).map(|(source, _)| *source).collect();
        let with_source = |(triangle, (surface, index))| (triangle, surface, index);
        let triangles = triangles.into_iter().zip(sources).map(with_source).collect();
        Self { scene, triangles, twins }
    }

    /// Returns the distance used to order hits: back faces of twins count as slightly farther away.
    fn counts_at(&self, ray: &Ray, hit: &Hit) -> f32 {
        let is_behind = hit.back && self.twins.contains(&(hit.surface, hit.triangle));
        if is_behind { hit.t + gap(ray, hit.t) } else { hit.t }
    }

    fn hits(&self, ray: &Ray) -> impl Iterator<Item = Hit> {
        let prepared = WatertightRay::new(ray);
        self.triangles.iter().filter_map(move |&(triangle, surface, index)| {
            let hit = triangle.intersect(&prepared)?;
            if self.scene.material_of(surface).can_be_passed() && !triangle.counts_crossing(&prepared) {
                return None;
            }
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
            .min_by(|a, b| self.counts_at(ray, a).total_cmp(&self.counts_at(ray, b)));
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
