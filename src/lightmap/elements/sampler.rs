//! Points of one element.

use glam::{Vec2, Vec2Swizzles};

use super::point::Facet;
use super::{ElementId, Elements, SurfacePoint};
use crate::geometry::sampling::choose;
use crate::lightmap::footprint::FragmentSampler;
use crate::scene::Scene;

/// Chooses points on one element; what they share has been worked out once.
#[derive(Clone, Debug)]
pub struct ElementSampler {
    pieces: Vec<Piece>,
    clearance: f32,
}

/// A part of the element that lies on one triangle.
#[derive(Clone, Debug)]
struct Piece {
    fragment: FragmentSampler,
    facet: Facet,
    /// The triangle was turned round when it was unwrapped.
    turned: bool,
}

impl Elements {
    /// Prepares to choose points on an element.
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
    /// A point of the element: uniform in area for a `u` that is uniform in the unit square, and stratified for one
    /// that is.
    pub fn sample(&self, u: Vec2) -> SurfacePoint {
        let (chosen, x) = choose(self.pieces.iter().map(|piece| piece.fragment.area), u.x);
        let Piece { fragment, facet, turned } = &self.pieces[chosen];
        let barycentric = fragment.sample(Vec2::new(x, u.y));
        let point = facet.at(if *turned { barycentric.yx() } else { barycentric });
        SurfacePoint { clearance: self.clearance, ..point }
    }
}
