//! Patches of unmapped surfaces, which reflect light but have no texels.

use glam::Vec2;

use super::Place;
use super::groups::Groups;
use super::patches::{Facet, Patch};
use super::receivers::{Receiver, ReceiverId, Response};
use crate::geometry::SurfaceId;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::OwenSobol;
use crate::lightmap::SurfacePoint;
use crate::scene::{Scene, Sides};

/// Approximate number of pieces of all unmapped surfaces together.
const PIECES: f32 = 1024.0;

/// Maximum number of bisections of a triangle.
const MAX_CUTS: u32 = 12;

/// Pieces of unmapped surfaces. Each piece is a patch with one receiver. The indices of these receivers follow those of
/// all elements.
#[derive(Default)]
pub struct Pieces {
    pub patches: Vec<Patch>,
    pub receivers: Vec<Receiver>,
    pub responses: Vec<Response>,
}

/// Divides the triangles of unmapped surfaces until none is much larger than its share. Pieces start without unshot
/// power, because direct light that they reflect has already reached the elements.
pub fn pieces(place: Place) -> Pieces {
    let Place { scene, elements, .. } = place;
    let triangles: Vec<(SurfaceId, u32)> = elements.unmapped_triangles(scene).collect();
    let all: f32 = triangles.iter().map(|&(surface, triangle)| scene.triangle(surface, triangle).area()).sum();
    let mut found = Pieces::default();
    for (surface, triangle) in triangles {
        let area = scene.triangle(surface, triangle).area();
        let mut pieces = vec![[Vec2::ZERO, Vec2::X, Vec2::Y]];
        for _ in 0..MAX_CUTS {
            if area / pieces.len() as f32 <= all / PIECES {
                break;
            }
            pieces = pieces.into_iter().flat_map(|piece| halve(scene, surface, triangle, piece)).collect();
        }
        let sides: &[bool] = if scene.surface(surface).sides == Sides::Both { &[false, true] } else { &[false] };
        for (&back, piece) in sides.iter().flat_map(|back| pieces.iter().map(move |piece| (back, piece))) {
            found.add(place, &Piece { surface, triangle, back, corners: *piece });
        }
    }
    found
}

/// Part of a triangle, on one side.
struct Piece {
    surface: SurfaceId,
    triangle: u32,
    back: bool,
    /// Barycentric weights of the triangle's second and third vertex.
    corners: [Vec2; 3],
}

/// Bisects a triangle across its longest edge. Corners are weights of the second and third vertex of the whole
/// triangle.
fn halve(scene: &Scene, surface: SurfaceId, triangle: u32, [a, b, c]: [Vec2; 3]) -> [[Vec2; 3]; 2] {
    let flat = scene.triangle(surface, triangle);
    let length = |from: Vec2, to: Vec2| flat.at(from).distance_squared(flat.at(to));
    let (ab, bc, ca) = (length(a, b), length(b, c), length(c, a));
    let [a, b, c] = if ab >= bc && ab >= ca {
        [a, b, c]
    } else if bc >= ca {
        [b, c, a]
    } else {
        [c, a, b]
    };
    let middle = 0.5 * (a + b);
    [[a, middle, c], [middle, b, c]]
}

impl Pieces {
    /// Adds a piece, unless it reflects nothing.
    fn add(&mut self, place: Place, &Piece { surface, triangle, back, corners }: &Piece) {
        let Place { scene, elements, .. } = place;
        let (reflectance, _) =
            scene.material_of(surface).average_over(scene, scene.mesh_of(surface), triangle, &corners);
        if reflectance.max_element() <= 0.0 {
            return;
        }
        let middle = (corners[0] + corners[1] + corners[2]) / 3.0;
        let point = SurfacePoint::new(scene, surface, triangle, middle, back);
        let flat = scene.triangle(surface, triangle);
        let facet = Facet::new(corners.map(|corner| flat.at(corner)).to_vec(), point.geometric_normal);
        let area = facet.as_ref().map_or(0.0, |facet| facet.area);
        let id = ReceiverId::from_index(elements.len() + self.receivers.len());
        if let Some(patch) = Patch::new(vec![id], Groups::of_one(), facet.into_iter().collect(), area) {
            let [a, b, c] = corners.map(|corner| 0.5 * (corner + middle));
            let origin = |at: Vec2| SurfacePoint::new(scene, surface, triangle, at, back).origin();
            let quarters = [a, b, c, middle].map(origin);
            let points = core::array::from_fn(|point| quarters[point % quarters.len()]);
            self.receivers.push(Receiver::new(&point, points));
            let covers = place.covers();
            let shown = if covers.hide(surface, &point, None) { 0.0 } else { covers.opacity(surface, &point) };
            let weight = weight_around(place, &point);
            self.responses.push(Response { reflectance, area, shown, weight });
            self.patches.push(patch);
        }
    }
}

/// Number of rays that find the elements around an unmapped piece.
const SAMPLES: u32 = 8;

/// Returns the weight of power at a point of an unmapped surface: the mean over the elements that it sees.
fn weight_around(place: Place, point: &SurfacePoint) -> f32 {
    if place.weights.is_empty() {
        return 1.0;
    }
    let points = OwenSobol::new(0);
    let weight = |index: u32| {
        let [u, v, ..] = points.point(index);
        let hit = place.world.closest(&point.ray(cosine_hemisphere(point.geometric_normal, Vec2::new(u, v))))?;
        Some(place.weights[place.elements.element_at(&hit)?.index()])
    };
    let (sum, count) = (0..SAMPLES).filter_map(weight).fold((0.0, 0), |(sum, count), weight| (sum + weight, count + 1));
    if count > 0 { sum / count as f32 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::accel::BruteForce;
    use crate::radiosity::test_scene::{TestScene, gray};

    #[test]
    fn bare_surfaces_are_cut_evenly_and_add_up_and_black_ones_are_left_out() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [2; 2], gray(0.5));
        let unmapped = test.quad(Vec3::Y, Vec3::X * 3.0, Vec3::Z * 2.0, [0; 2], gray(0.7));
        test.quad(Vec3::Y * 2.0, Vec3::X * 3.0, Vec3::Z * 2.0, [0; 2], gray(0.0));
        let found = |test: &TestScene| {
            let (elements, world) = (test.elements(), BruteForce::new(&test.scene));
            let visible = vec![1.0; elements.len()];
            pieces(Place { scene: &test.scene, world: &world, elements: &elements, visible: &visible, weights: &[] })
        };
        let Pieces { patches, receivers, responses } = found(&test);
        assert_eq!([patches.len(); 2], [receivers.len(), responses.len()]);
        let area: f32 = patches.iter().map(|patch| patch.visible_area).sum();
        assert!((area - 6.0).abs() < 1e-3, "{area}");
        assert!(patches.iter().all(|patch| patch.visible_area <= 12.0 / PIECES * 1.001));
        assert!(responses.iter().all(|response| response.reflectance == Vec3::splat(0.7) && response.shown == 1.0));
        assert!(receivers.iter().all(|receiver| receiver.horizon.y < -0.99), "the front faces down");
        test.scene.surfaces[unmapped.index()].sides = Sides::Both;
        assert_eq!(found(&test).patches.len(), 2 * patches.len());
    }
}
