//! Sampling of points on one element.

use glam::{Vec2, Vec2Swizzles};

use super::point::Facet;
use super::{ElementId, Elements, SurfacePoint};
use crate::geometry::sampling::choose;
use crate::lightmap::footprint::FragmentSampler;
use crate::scene::Scene;

/// Sampler of points on one element, with shared data precomputed.
#[derive(Clone, Debug)]
pub struct ElementSampler {
    pieces: Vec<Piece>,
    clearance: f32,
}

/// Part of the element on one triangle.
#[derive(Clone, Debug)]
struct Piece {
    fragment: FragmentSampler,
    facet: Facet,
    /// True if the unwrap reversed the triangle.
    turned: bool,
}

impl Elements {
    /// Prepares a sampler of an element.
    pub fn sampler(&self, scene: &Scene, id: ElementId) -> ElementSampler {
        let surface = self.surface(id);
        let sheet = self.sheet(surface);
        let piece = |fragment: FragmentSampler, unwrap: &crate::lightmap::Unwrap| {
            let (triangle, _, turned) = unwrap.in_scene(fragment.triangle, Vec2::ZERO);
            let facet = Facet::new(scene, surface, triangle, self.back[id.index()]);
            Piece { fragment, facet, turned }
        };
        let pieces = sheet.into_iter().flat_map(|sheet| {
            let samplers = sheet.footprints.samplers(&sheet.unwrap, self.footprint(id));
            samplers.map(move |fragment| piece(fragment, &sheet.unwrap))
        });
        ElementSampler { pieces: pieces.collect(), clearance: self.clearance[id.index()] }
    }
}

impl ElementSampler {
    /// Samples a point of the element, uniformly in area for a uniform `u`. Stratified numbers stay stratified.
    pub fn sample(&self, u: Vec2) -> SurfacePoint {
        let (chosen, x) = choose(self.pieces.iter().map(|piece| piece.fragment.area), u.x);
        let Piece { fragment, facet, turned } = &self.pieces[chosen];
        let barycentric = fragment.sample(Vec2::new(x, u.y));
        let point = facet.at(if *turned { barycentric.yx() } else { barycentric });
        SurfacePoint { clearance: self.clearance, ..point }
    }
}
