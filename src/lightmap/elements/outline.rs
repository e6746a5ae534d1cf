//! Exact shape of an element.

use glam::Vec2;

use super::{ElementId, Elements, SurfacePoint};
use crate::scene::Scene;

/// Part of an element on one triangle.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementPiece {
    /// Triangle of the surface's mesh.
    pub triangle: u32,
    /// Corners of a convex outline, each as barycentric weights of the triangle's second and third corner.
    pub outline: Vec<Vec2>,
}

impl Elements {
    /// Returns the pieces of an element.
    pub fn pieces(&self, id: ElementId) -> impl Iterator<Item = ElementPiece> + '_ {
        self.sheet(self.surface(id)).into_iter().flat_map(move |sheet| {
            sheet.footprints.outlines(&sheet.unwrap, self.footprint(id)).map(|(fragment, outline)| {
                let in_scene = |corner: &Vec2| sheet.unwrap.in_scene(fragment.triangle, *corner).1;
                let (triangle, ..) = sheet.unwrap.in_scene(fragment.triangle, Vec2::ZERO);
                ElementPiece { triangle, outline: outline.iter().map(in_scene).collect() }
            })
        })
    }

    /// Returns the centroid of an element in texture space, on the triangle that covers it or else on the nearest.
    pub fn center_point(&self, scene: &Scene, id: ElementId) -> SurfacePoint {
        let surface = self.surface(id);
        let (triangle, barycentric) = self.sheet(surface).map_or((0, Vec2::ZERO), |sheet| {
            let (triangle, barycentric) = sheet.footprints.center(&sheet.unwrap, self.footprint(id));
            let (triangle, barycentric, _) = sheet.unwrap.in_scene(triangle, barycentric);
            (triangle, barycentric)
        });
        let point = SurfacePoint::new(scene, surface, triangle, barycentric, self.back[id.index()]);
        SurfacePoint { clearance: self.clearance[id.index()], ..point }
    }

    /// Returns the chart of an element in its surface's unwrap; that of its first piece if charts share a texel.
    pub fn chart(&self, id: ElementId) -> u32 {
        self.sheet(self.surface(id)).map_or(0, |sheet| sheet.footprints.chart(self.footprint(id)))
    }
}
