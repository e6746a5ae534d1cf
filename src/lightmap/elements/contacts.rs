//! Contact lines: other geometry that crosses a surface's texels.

use glam::{DVec2, Vec2, Vec3};

use super::OpenSides;
use crate::geometry::{Ray, RayQuery, SurfaceId};
use crate::lightmap::Placement;
use crate::lightmap::footprint::{texel_corners, to_barycentric};
use crate::lightmap::polygon::{Line, Polygon};
use crate::scene::Scene;

/// Height of test rays above the surface, as a fraction of their length. Lower geometry, such as a carpet or the gap
/// below a wall, does not count.
pub(super) const HEIGHT: f32 = 1.0 / 48.0;
/// Distance of test rays from the edge, as a fraction of the way to the center. Texels may have been cut along the
/// edge.
const INSET: f64 = 1.0 / 64.0;
/// Cosine of 15 degrees. Planes at smaller angles continue each other instead of crossing.
pub(super) const PARALLEL: f32 = 0.966;

/// Finder of contacts of a surface with all surfaces, itself included.
pub(super) struct Contacts<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub surface: SurfaceId,
    pub placement: &'a Placement,
    pub sides: OpenSides,
}

impl Contacts<'_> {
    /// Returns the lines along which other geometry crosses a convex polygon of an unwrapped triangle. Both are in
    /// texels of the surface's rectangle.
    ///
    /// Traces rays along chords that connect all corners. Anything that separates a corner from the others crosses a
    /// chord.
    pub fn lines(&self, triangle: u32, polygon: &Polygon) -> Vec<Line> {
        let Placement { unwrap, rectangle, .. } = self.placement;
        let (in_scene, _, turned) = unwrap.in_scene(triangle, Vec2::ZERO);
        let [a, b, c] = self.scene.triangle(self.surface, in_scene).corners;
        let facet = Facet {
            texels: texel_corners(unwrap, triangle, rectangle.width, rectangle.height),
            corners: if turned { [a, c, b] } else { [a, b, c] },
        };
        let front = self.scene.geometric_normal(self.surface, in_scene);
        let sides: &[bool] = match self.sides {
            _ if unwrap.is_two_sided() => &[turned],
            OpenSides::Front => &[false],
            OpenSides::Back => &[true],
            OpenSides::BothShowFront | OpenSides::BothShowBack => &[false, true],
        };
        let normals = sides.iter().map(|&back| if back { -front } else { front });
        let looks = normals.flat_map(|normal| chords(polygon).map(move |chord| (chord, normal)));
        looks.filter_map(|([from, to], normal)| self.line(&facet, from, to, normal)).collect()
    }

    /// Returns the line along which the obstacle between two points meets the facet.
    fn line(&self, facet: &Facet, from: DVec2, to: DVec2, normal: Vec3) -> Option<Line> {
        let (from, to) = (facet.place(from)?, facet.place(to)?);
        let offset = normal * (from.distance(to) * HEIGHT);
        let hit = self.world.closest(&Ray::between(from + offset, to + offset))?;
        let other = self.scene.triangle(hit.surface, hit.triangle);
        let plane = other.normal();
        let crosses = plane.dot(normal).abs() < PARALLEL;
        let heights = facet.corners.map(|corner| f64::from(plane.dot(corner - other.corners[0])));
        if crosses { facet.zero_line(heights) } else { None }
    }
}

/// Returns chords that connect all corners of a convex polygon. Each spans half of the outline, so any two of them
/// intersect.
fn chords(polygon: &Polygon) -> impl Iterator<Item = [DVec2; 2]> {
    let (polygon, center) = (*polygon, polygon.centroid());
    let count = polygon.corners().len();
    (0..count.div_ceil(2)).map(move |index| {
        let from = if index < count / 2 { index } else { count - 1 };
        [from, (from + count / 2) % count].map(|corner| polygon.corners()[corner].lerp(center, INSET))
    })
}

/// Triangle in texels and in world space.
struct Facet {
    texels: [DVec2; 3],
    corners: [Vec3; 3],
}

impl Facet {
    fn place(&self, point: DVec2) -> Option<Vec3> {
        let weights = to_barycentric(self.texels, point)?.as_vec2();
        let [a, b, c] = self.corners;
        Some(a + (b - a) * weights.x + (c - a) * weights.y)
    }

    /// Returns the line where a linear function with these corner values is zero.
    fn zero_line(&self, values: [f64; 3]) -> Option<Line> {
        let [a, b, c] = self.texels;
        let (ab, ac) = (b - a, c - a);
        let rise = DVec2::new(values[1] - values[0], values[2] - values[0]);
        let slope = DVec2::new(rise.x * ac.y - rise.y * ab.y, rise.y * ab.x - rise.x * ac.x) / ab.perp_dot(ac);
        let steepness = slope.length();
        (steepness > 0.0 && steepness.is_finite())
            .then(|| Line { normal: slope / steepness, height: (values[0] - slope.dot(a)) / steepness })
    }
}
