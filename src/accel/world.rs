//! Ray queries against a scene.

use std::sync::Arc;

use glam::{Affine3A, Vec3};

use crate::geometry::{Escaped, Hit, Ray, RayQuery, SurfaceId, Transmittance, Triangle};
use crate::parts::{IS_ALONE, finish, pause};
use crate::scene::{Role, Scene};

use super::movers::Movers;
use super::passage;
use super::twins::{gap, twins};
use super::{Preset, Statistics, Tracer, Tree, TreeHit, Walk, WalkCost};

/// Ray queries against a scene: one tree over all surfaces in the bake, plus moving objects.
#[derive(Clone, Debug)]
pub struct World {
    scene: Arc<Scene>,
    pub(super) tracer: Tracer,
    /// Surface and mesh triangle of each triangle of the tree.
    sources: Vec<(SurfaceId, u32)>,
    surfaces: Vec<SurfaceRecord>,
    /// Per triangle of the tree: true if it coincides with a triangle facing the opposite way.
    twins: Vec<bool>,
    movers: Option<Movers>,
}

/// Surface properties needed for every hit.
#[derive(Clone, Copy, Debug)]
struct SurfaceRecord {
    mirrored: bool,
    passable: bool,
    first_triangle: u32,
}

impl World {
    /// Builds the tree of a scene's static and occluding surfaces, without degenerate triangles.
    pub fn build(scene: Arc<Scene>, preset: Preset) -> Self {
        finish(Self::build_in_parts(scene, preset))
    }

    /// Does the same as [`build`](Self::build), with pauses.
    pub(crate) async fn build_in_parts(scene: Arc<Scene>, preset: Preset) -> Self {
        let record = |(id, first_triangle)| SurfaceRecord {
            mirrored: scene.surface(id).is_mirrored(),
            passable: scene.material_of(id).can_be_passed(),
            first_triangle,
        };
        let surfaces: Vec<_> = scene.surface_ids().zip(scene.first_triangles()).map(record).collect();
        let (triangles, sources) = static_triangles(&scene);
        pause().await;
        let twins = twins(&scene, &triangles, &sources);
        pause().await;
        let marked = |triangle: u32| {
            let triangle = triangle as usize;
            twins[triangle] || surfaces[sources[triangle].0.index()].passable
        };
        let tracer = if IS_ALONE {
            Tracer::build_in_parts(triangles, &preset, marked).await
        } else {
            Tracer::build(triangles, &preset, marked)
        };
        Self { tracer, sources, surfaces, twins, movers: None, scene }
    }

    /// Places surfaces that are not in the bake, and removes earlier placements.
    ///
    /// Cheap enough for every frame: mesh trees are built once and kept, and only the small tree over instances is
    /// rebuilt. Surfaces with a singular transform are left out.
    pub fn set_movers(&mut self, movers: impl IntoIterator<Item = (SurfaceId, Affine3A)>) {
        let movers = self.movers.take().unwrap_or_default().moved(&self.scene, movers, &Preset::fast());
        self.movers = Some(movers);
    }

    /// Adds the scene's moving surfaces at their transforms in the scene, if there are any.
    pub fn with_movers(mut self) -> Self {
        let scene = self.scene.clone();
        let mut movers = scene.surface_ids().filter(|id| scene.surface(*id).role == Role::Mover).peekable();
        if movers.peek().is_some() {
            self.set_movers(movers.map(|id| (id, scene.surface(id).to_world)));
        }
        self
    }

    /// Returns size and quality of the tree of static surfaces.
    pub fn statistics(&self) -> Statistics {
        self.tracer.statistics()
    }

    /// Returns the scene.
    pub fn scene(&self) -> &Arc<Scene> {
        &self.scene
    }

    /// Returns the tree of all static triangles, in world space.
    pub fn tree(&self) -> &Tree {
        self.tracer.tree()
    }

    /// Returns the surface and the mesh triangle of a triangle of the tree.
    pub fn source(&self, triangle: u32) -> (SurfaceId, u32) {
        self.sources[triangle as usize]
    }

    /// Returns the scene-wide index of the triangle hit, counting all triangles of all surfaces in order.
    pub fn triangle_in_scene(&self, hit: &Hit) -> u32 {
        self.surfaces[hit.surface.index()].first_triangle + hit.triangle
    }

    /// Returns the closest hit as [`RayQuery::closest`] does, by another walk through the tree of static surfaces. Adds
    /// its work to `cost`.
    pub fn closest_by(&self, walk: Walk, ray: &Ray, cost: &mut WalkCost) -> Option<Hit> {
        self.trace_by(ray, Walker { walk, cost }).ok()
    }

    #[inline(always)]
    fn trace_by(&self, ray: &Ray, search: impl Search) -> Result<Hit, Escaped> {
        let mut passed = Passed::default();
        let mut stops = |hit: &Hit| {
            let tint = passage::passed(&self.scene, ray, hit);
            if let Some(tint) = tint {
                passed.push(*hit, tint);
            }
            tint.is_none()
        };
        let static_hit = search.closest(&self.tracer, ray, |candidate, is_crossed| {
            let hit = self.hit(candidate);
            let counts = !self.surfaces[hit.surface.index()].passable || (is_crossed && stops(&hit));
            let is_behind = hit.back && self.twins[candidate.triangle as usize];
            counts.then_some(if is_behind { hit.t + gap(ray, hit.t) } else { hit.t })
        });
        let Some(movers) = &self.movers else {
            return match static_hit {
                Some(hit) => Ok(Hit { filter: passed.product(hit.place.t), ..self.hit(hit) }),
                None => Err(Escaped { filter: passed.product(f32::INFINITY) }),
            };
        };
        let t_max = static_hit.map_or(ray.t_max, |hit| hit.place.t);
        match movers.closest(&Ray { t_max, ..*ray }, stops).or(static_hit.map(|hit| self.hit(hit))) {
            Some(stop) => Ok(Hit { filter: passed.product(stop.t), ..stop }),
            None => Err(Escaped { filter: passed.product(f32::INFINITY) }),
        }
    }

    #[inline(always)]
    fn hit(&self, hit: TreeHit) -> Hit {
        let (surface, triangle) = self.sources[hit.triangle as usize];
        Hit {
            t: hit.place.t,
            surface,
            triangle,
            barycentric: hit.place.barycentric,
            back: hit.place.back != self.surfaces[surface.index()].mirrored,
            filter: Vec3::ONE,
        }
    }
}

/// Returns the world-space triangles of all surfaces in the bake, and the source of each. Degenerate triangles are left
/// out.
pub(crate) fn static_triangles(scene: &Scene) -> (Vec<Triangle>, Vec<(SurfaceId, u32)>) {
    let static_surfaces = scene.surface_ids().filter(|&id| scene.surface(id).is_in_bake());
    static_surfaces
        .flat_map(|surface| scene.triangles_of(surface))
        .map(|(surface, triangle)| (scene.triangle(surface, triangle), (surface, triangle)))
        .filter(|(triangle, _)| triangle.normal() != Vec3::ZERO)
        .unzip()
}

/// Search for the closest triangle; `accept` works as in [`Tracer::closest`].
trait Search {
    fn closest(self, tracer: &Tracer, ray: &Ray, accept: impl FnMut(TreeHit, bool) -> Option<f32>) -> Option<TreeHit>;
}

/// Search through the wide nodes.
struct Wide;

impl Search for Wide {
    #[inline(always)]
    fn closest(self, tracer: &Tracer, ray: &Ray, accept: impl FnMut(TreeHit, bool) -> Option<f32>) -> Option<TreeHit> {
        tracer.closest(ray, accept)
    }
}

/// Search through the binary tree.
struct Walker<'a> {
    walk: Walk,
    cost: &'a mut WalkCost,
}

impl Search for Walker<'_> {
    fn closest(self, tracer: &Tracer, ray: &Ray, accept: impl FnMut(TreeHit, bool) -> Option<f32>) -> Option<TreeHit> {
        tracer.tree().closest(self.walk, ray, accept, self.cost)
    }
}

impl RayQuery for World {
    fn trace(&self, ray: &Ray) -> Result<Hit, Escaped> {
        self.trace_by(ray, Wide)
    }

    fn blocked(&self, ray: &Ray) -> Transmittance {
        let mut passed = Passed::default();
        let mut stops = |hit: &Hit| {
            let through = passage::transmittance(&self.scene, hit);
            passed.push(*hit, through);
            through == Vec3::ZERO
        };
        let of_static = |candidate, is_crossed| {
            let hit = self.hit(candidate);
            !self.surfaces[hit.surface.index()].passable || (is_crossed && stops(&hit))
        };
        let blocked =
            self.tracer.any(ray, of_static) || self.movers.as_ref().is_some_and(|movers| movers.any(ray, stops));
        if blocked { Transmittance::BLOCKED } else { Transmittance(passed.product(f32::INFINITY)) }
    }

    fn all_hits(&self, ray: &Ray) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.tracer.all(ray, |hit| hits.push(self.hit(hit)));
        if let Some(movers) = &self.movers {
            movers.all(ray, |hit| hits.push(hit));
        }
        hits.sort_unstable_by_key(|hit| (hit.surface, hit.triangle));
        hits.dedup_by_key(|hit| (hit.surface, hit.triangle));
        hits
    }
}

/// Surfaces that a ray has passed. A triangle found in several leaves counts once.
#[derive(Default)]
struct Passed(Vec<(Hit, Vec3)>);

impl Passed {
    fn push(&mut self, hit: Hit, tint: Vec3) {
        if tint != Vec3::ONE {
            self.0.push((hit, tint));
        }
    }

    /// Returns the product of all tints up to a distance.
    #[inline(always)]
    fn product(self, t_max: f32) -> Vec3 {
        if self.0.is_empty() { Vec3::ONE } else { self.product_of_some(t_max) }
    }

    /// Multiplies in triangle order, so that the result does not depend on traversal order.
    #[cold]
    #[inline(never)]
    fn product_of_some(mut self, t_max: f32) -> Vec3 {
        self.0.sort_by_key(|(hit, _)| (hit.surface, hit.triangle));
        self.0.dedup_by_key(|(hit, _)| (hit.surface, hit.triangle));
        self.0.iter().filter(|(hit, _)| hit.t <= t_max).fold(Vec3::ONE, |product, (_, tint)| product * *tint)
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec2;

    use super::*;
    use crate::builtin_scenes;
    use crate::geometry::sampling::uniform_sphere;
    use crate::geometry::sobol::OwenSobol;

    const POINTS: u32 = 4_000;

    /// Returns a furnished room, and some points within it.
    fn room() -> (World, Vec<Vec3>) {
        let scene = Arc::new(builtin_scenes::build("habitacion").unwrap());
        let (bounds, places) = (scene.bounds(), OwenSobol::new(3));
        let place = |index| Vec3::from_slice(&places.point(index)[..3]);
        let points = (0..POINTS).map(|index| bounds.min + bounds.extent() * place(index)).collect();
        (World::build(scene, Preset::best()), points)
    }

    #[test]
    fn a_ray_back_from_where_a_ray_ends_comes_to_its_start() {
        let (world, points) = room();
        let directions = OwenSobol::new(4);
        let (mut pairs, mut elsewhere) = (0, 0);
        for (point, index) in points.into_iter().zip(0..) {
            let direction = uniform_sphere(Vec2::from_slice(&directions.point(index)));
            let ends = [direction, -direction].map(|direction| world.closest(&Ray::new(point, direction)));
            let [Some(ahead), Some(behind)] = ends else { continue };
            let chord = ahead.t + behind.t;
            for (to, direction, t) in [(behind, -direction, ahead.t), (ahead, direction, behind.t)] {
                let start = Ray { t_min: 1e-4, ..Ray::new(point - direction * t, direction) };
                let found = world.closest(&start).map(|hit| (hit.surface, hit.t));
                let is_there = found.is_some_and(|(surface, t)| surface == to.surface && (t - chord).abs() < 1e-4);
                pairs += 1;
                // Along edges a ray may meet what stands there first, by less than rounding.
                elsewhere += u32::from(!is_there);
            }
        }
        assert!(pairs > POINTS && elsewhere < 8, "{elsewhere} of {pairs}");
    }

    #[test]
    fn two_points_see_each_other_or_neither_does() {
        let (world, points) = room();
        let (mut seen, mut different) = (0, 0);
        for pair in points.chunks_exact(2) {
            let there = world.blocked(&Ray::between(pair[0], pair[1])).is_blocked();
            let back = world.blocked(&Ray::between(pair[1], pair[0])).is_blocked();
            (seen, different) = (seen + u32::from(!there), different + u32::from(there != back));
        }
        // A segment ends a ten-thousandth before its end, so a surface there is met from one side alone.
        assert!(seen > 200 && seen < POINTS / 2 - 200 && different < 4, "{seen} seen, {different} differ");
    }
}
