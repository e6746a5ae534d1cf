//! Of surfaces in the very same place rays meet one. What the others reflect nobody sees.

use glam::Vec2;
use rayon::prelude::*;

use crate::geometry::{Ray, RayQuery, SurfaceId};
use crate::lightmap::{ElementId, Elements, SurfacePoint};
use crate::scene::Scene;

/// The middles of the quarters of the unit square.
pub(super) const QUARTERS: [Vec2; 4] =
    [Vec2::new(0.25, 0.25), Vec2::new(0.75, 0.75), Vec2::new(0.75, 0.25), Vec2::new(0.25, 0.75)];

/// Tells what is covered by another surface in the very same place.
#[derive(Clone, Copy)]
pub(super) struct Covers<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub elements: &'a Elements,
}

impl Covers<'_> {
    /// True when a ray that comes down on a point of a surface meets another surface in the very same place. `own` is the
    /// element that the point is of.
    pub fn hide(&self, surface: SurfaceId, point: &SurfacePoint, own: Option<ElementId>) -> bool {
        let (above, on) = (point.origin(), self.scene.triangle(surface, point.triangle).at(point.barycentric));
        let down = Ray::between(above, on - (above - on));
        self.world.closest(&down).is_some_and(|hit| {
            let is_own = (hit.surface, hit.triangle) == (surface, point.triangle)
                || (own.is_some() && self.elements.element_at(&hit) == own);
            !self.scene.absorbs(&hit) && !is_own
        })
    }

    /// The part of each element that rays meet, and that sends light out therefore.
    pub fn shown(&self) -> Vec<f32> {
        (0..self.elements.len()).into_par_iter().with_min_len(64).map(|index| self.shown_of(index)).collect()
    }

    fn shown_of(&self, index: usize) -> f32 {
        let id = ElementId::from_index(index);
        let (surface, sampler) = (self.elements.surface(id), self.elements.sampler(self.scene, id));
        let is_shown = |place: &&Vec2| !self.hide(surface, &sampler.sample(**place), Some(id));
        QUARTERS.iter().filter(is_shown).count() as f32 / QUARTERS.len() as f32
    }
}
