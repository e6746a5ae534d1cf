//! Exposed area fraction of elements: the part of a surface at which rays stop. Rays hit only one of several coincident
//! surfaces, and nobody sees the light that the others reflect. Cut-out, blended and clear parts reflect nothing.

use glam::Vec2;
use rayon::prelude::*;

use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Ray, RayQuery, SurfaceId};
use crate::lightmap::{ElementId, Elements, SurfacePoint};
use crate::scene::Scene;

/// Centers of the quarters of the unit square.
pub(super) const QUARTERS: [Vec2; 4] =
    [Vec2::new(0.25, 0.25), Vec2::new(0.75, 0.75), Vec2::new(0.75, 0.25), Vec2::new(0.25, 0.75)];

/// Number of points over which the opacity of an element is averaged.
const OPACITY_SAMPLES: u32 = 64;

/// Test for coincident surfaces that cover a point.
#[derive(Clone, Copy)]
pub(super) struct CoincidentSurfaces<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub elements: &'a Elements,
}

impl CoincidentSurfaces<'_> {
    /// Returns true if a ray towards a surface point hits a coincident other surface. `own` is the element of the
    /// point.
    pub fn hide(&self, surface: SurfaceId, point: &SurfacePoint, own: Option<ElementId>) -> bool {
        let (above, on) = (point.origin(), self.scene.triangle(surface, point.triangle).at(point.barycentric));
        let down = Ray::between(above, on - (above - on));
        self.world.closest(&down).is_some_and(|hit| {
            let is_own = (hit.surface, hit.triangle) == (surface, point.triangle)
                || (own.is_some() && self.elements.element_at(&hit) == own);
            !self.scene.absorbs(&hit) && !is_own
        })
    }

    /// Returns the exposed area fraction of each element, which is also the part that emits light.
    pub fn shown(&self) -> Vec<f32> {
        (0..self.elements.len())
            .into_par_iter()
            .with_min_len(64)
            .with_max_len(64)
            .map(|index| self.exposed_area_of(index))
            .collect()
    }

    fn exposed_area_of(&self, index: usize) -> f32 {
        let id = ElementId::from_index(index);
        let (surface, sampler) = (self.elements.surface(id), self.elements.sampler(self.scene, id));
        let is_shown = |place: &&Vec2| !self.hide(surface, &sampler.sample(**place), Some(id));
        let uncovered = QUARTERS.iter().filter(is_shown).count() as f32 / QUARTERS.len() as f32;
        let material = self.scene.material_of(surface);
        if !material.can_be_passed() && material.diffuse_transmission <= 0.0 {
            return uncovered;
        }
        let points = OwenSobol::new(0);
        let stopped = (0..OPACITY_SAMPLES).map(|index| {
            let [x, y, ..] = points.point(index);
            self.opacity(surface, &sampler.sample(Vec2::new(x, y)))
        });
        uncovered * stopped.sum::<f32>() / OPACITY_SAMPLES as f32
    }

    /// Returns the fraction of rays that end at a surface point.
    pub fn opacity(&self, surface: SurfaceId, point: &SurfacePoint) -> f32 {
        let (material, mesh) = (self.scene.material_of(surface), self.scene.mesh_of(surface));
        let passage = material.passage_at(self.scene, mesh, point.triangle, point.barycentric);
        let crossing = material.crossing_at(self.scene, mesh, point.triangle, point.barycentric);
        (1.0 - passage.probability) * (1.0 - crossing.map_or(0.0, |crossing| crossing.probability))
    }
}
