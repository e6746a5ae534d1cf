//! The scene as rays meet it.

use std::sync::Arc;

use glam::{Affine3A, Vec3};

use crate::geometry::{Escaped, Hit, Ray, RayQuery, SurfaceId, Transmittance, Triangle};
use crate::scene::{Role, Scene};

use super::movers::Movers;
use super::passage;
use super::twins::{gap, twins};
use super::{Preset, Statistics, Tracer, Tree, TreeHit};

/// Answers what rays meet in a scene: one tree over all surfaces that are in the bake, and the movers beside it.
#[derive(Clone, Debug)]
pub struct World {
    scene: Arc<Scene>,
    pub(super) tracer: Tracer,
    /// Where each triangle of the tree comes from.
    sources: Vec<(SurfaceId, u32)>,
    surfaces: Vec<SurfaceFacts>,
    /// Which triangles of the tree lie in one place with others that look the other way.
    twins: Vec<bool>,
    movers: Option<Movers>,
}

/// What every hit asks about its surface.
#[derive(Clone, Copy, Debug)]
struct SurfaceFacts {
    mirrored: bool,
    passable: bool,
    first_triangle: u32,
}

impl World {
    /// Builds the tree of a scene's static and occluding surfaces; degenerate triangles are left out.
    pub fn build(scene: Arc<Scene>, preset: Preset) -> Self {
        let facts = |(id, first_triangle)| SurfaceFacts {
            mirrored: scene.surface(id).is_mirrored(),
            passable: scene.material_of(id).can_be_passed(),
            first_triangle,
        };
        let surfaces: Vec<_> = scene.surface_ids().zip(scene.first_triangles()).map(facts).collect();
        let (triangles, sources) = resting_triangles(&scene);
        let twins = twins(&scene, &triangles, &sources);
        let marked = |triangle: u32| {
            let triangle = triangle as usize;
            twins[triangle] || surfaces[sources[triangle].0.index()].passable
        };
        Self { tracer: Tracer::build(triangles, &preset, marked), sources, surfaces, twins, movers: None, scene }
    }

    /// Puts surfaces that are not in the bake somewhere, instead of where movers stood before.
    ///
    /// Meant for every frame: trees of meshes are built when first seen and kept, and only the small tree over the
    /// movers is built again. A surface whose transform flattens it is left out.
    pub fn set_movers(&mut self, movers: impl IntoIterator<Item = (SurfaceId, Affine3A)>) {
        let movers = self.movers.take().unwrap_or_default().moved(&self.scene, movers, &Preset::fast());
        self.movers = Some(movers);
    }

    /// Adds the scene's movers where the scene has them.
    pub fn with_movers(mut self) -> Self {
        let scene = self.scene.clone();
        let mut movers = scene.surface_ids().filter(|id| scene.surface(*id).role == Role::Mover).peekable();
        if movers.peek().is_some() {
            self.set_movers(movers.map(|id| (id, scene.surface(id).to_world)));
        }
        self
    }

    /// Size and quality of the tree of all that does not move.
    pub fn statistics(&self) -> Statistics {
        self.tracer.statistics()
    }

    /// The scene that the rays are sent into.
    pub fn scene(&self) -> &Arc<Scene> {
        &self.scene
    }

    /// The tree of all triangles that do not move, in world space.
    pub fn tree(&self) -> &Tree {
        self.tracer.tree()
    }

    /// The surface and the triangle of its mesh that a triangle of the tree is.
    pub fn source(&self, triangle: u32) -> (SurfaceId, u32) {
        self.sources[triangle as usize]
    }

    /// The number of the triangle that was hit when all triangles of all surfaces are counted in order.
    pub fn triangle_in_scene(&self, hit: &Hit) -> u32 {
        self.surfaces[hit.surface.index()].first_triangle + hit.triangle
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

/// The triangles of all that takes part in a bake in world space, and where each comes from; degenerate ones are left out.
pub(crate) fn resting_triangles(scene: &Scene) -> (Vec<Triangle>, Vec<(SurfaceId, u32)>) {
    let resting = scene.surface_ids().filter(|&id| scene.surface(id).is_in_bake());
    resting
        .flat_map(|surface| (0..scene.mesh_of(surface).triangles.len() as u32).map(move |triangle| (surface, triangle)))
        .map(|(surface, triangle)| (scene.triangle(surface, triangle), (surface, triangle)))
        .filter(|(triangle, _)| triangle.normal() != Vec3::ZERO)
        .unzip()
}

impl RayQuery for World {
    fn trace(&self, ray: &Ray) -> Result<Hit, Escaped> {
        let mut passed = Passed::default();
        let mut stops = |hit: &Hit| {
            let tint = passage::passed(&self.scene, ray, hit);
            if let Some(tint) = tint {
                passed.push(*hit, tint);
            }
            tint.is_none()
        };
        let resting = self.tracer.closest(ray, |candidate, is_crossed| {
            let hit = self.hit(candidate);
            let counts = !self.surfaces[hit.surface.index()].passable || (is_crossed && stops(&hit));
            let is_behind = hit.back && self.twins[candidate.triangle as usize];
            counts.then_some(if is_behind { hit.t + gap(ray, hit.t) } else { hit.t })
        });
        let Some(movers) = &self.movers else {
            return match resting {
                Some(hit) => Ok(Hit { filter: passed.product(hit.place.t), ..self.hit(hit) }),
                None => Err(Escaped { filter: passed.product(f32::INFINITY) }),
            };
        };
        let t_max = resting.map_or(ray.t_max, |hit| hit.place.t);
        match movers.closest(&Ray { t_max, ..*ray }, stops).or(resting.map(|hit| self.hit(hit))) {
            Some(stop) => Ok(Hit { filter: passed.product(stop.t), ..stop }),
            None => Err(Escaped { filter: passed.product(f32::INFINITY) }),
        }
    }

    fn blocked(&self, ray: &Ray) -> Transmittance {
        let mut passed = Passed::default();
        let mut stops = |hit: &Hit| {
            let through = passage::transmittance(&self.scene, hit);
            passed.push(*hit, through);
            through == Vec3::ZERO
        };
        let of_resting = |candidate, is_crossed| {
            let hit = self.hit(candidate);
            !self.surfaces[hit.surface.index()].passable || (is_crossed && stops(&hit))
        };
        let blocked =
            self.tracer.any(ray, of_resting) || self.movers.as_ref().is_some_and(|movers| movers.any(ray, stops));
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

/// What a ray passed on its way. A triangle may be met in several leaves and counts once.
#[derive(Default)]
struct Passed(Vec<(Hit, Vec3)>);

impl Passed {
    fn push(&mut self, hit: Hit, tint: Vec3) {
        if tint != Vec3::ONE {
            self.0.push((hit, tint));
        }
    }

    /// The product of all tints up to a distance.
    #[inline(always)]
    fn product(self, t_max: f32) -> Vec3 {
        if self.0.is_empty() { Vec3::ONE } else { self.product_of_some(t_max) }
    }

    /// In the order of the triangles, and so independent of the walk.
    #[cold]
    #[inline(never)]
    fn product_of_some(mut self, t_max: f32) -> Vec3 {
        self.0.sort_by_key(|(hit, _)| (hit.surface, hit.triangle));
        self.0.dedup_by_key(|(hit, _)| (hit.surface, hit.triangle));
        self.0.iter().filter(|(hit, _)| hit.t <= t_max).fold(Vec3::ONE, |product, (_, tint)| product * *tint)
    }
}
