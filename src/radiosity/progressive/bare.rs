//! Surfaces without texels: nobody looks at their light, but they reflect it.

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

/// Pieces that all bare surfaces together are cut into, about.
const PIECES: f32 = 1024.0;

/// Times that a triangle is halved at most.
const MOST_CUTS: u32 = 12;

/// Pieces of surfaces without texels: each is a patch of one receiver, whose number comes after those of all elements.
#[derive(Default)]
pub struct Pieces {
    pub patches: Vec<Patch>,
    pub receivers: Vec<Receiver>,
    pub responses: Vec<Response>,
}

/// Cuts the triangles of surfaces that own no elements until none is much larger than its share. What they reflect of
/// direct light has already reached the elements, so they start without any.
pub fn pieces(place: Place) -> Pieces {
    let Place { scene, elements, .. } = place;
    let is_bare = |&id: &SurfaceId| scene.surface(id).is_in_bake() && elements.of_surface(id).is_empty();
    let triangles: Vec<(SurfaceId, u32)> = scene
        .surface_ids()
        .filter(is_bare)
        .flat_map(|id| (0..scene.mesh_of(id).triangles.len() as u32).map(move |triangle| (id, triangle)))
        .collect();
    let all: f32 = triangles.iter().map(|&(surface, triangle)| scene.triangle(surface, triangle).area()).sum();
    let mut found = Pieces::default();
    for (surface, triangle) in triangles {
        let area = scene.triangle(surface, triangle).area();
        let mut pieces = vec![[Vec2::ZERO, Vec2::X, Vec2::Y]];
        for _ in 0..MOST_CUTS {
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

/// A part of a triangle, seen from one side.
struct Piece {
    surface: SurfaceId,
    triangle: u32,
    back: bool,
    /// Weights of the triangle's second and third corner.
    corners: [Vec2; 3],
}

/// The halves of a triangle, cut across its longest edge. Corners are weights of the second and third of the whole.
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
    /// Adds one that reflects.
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

/// Rays that look for elements whose light a bare piece reflects.
const LOOKS: u32 = 8;

/// The weight of power around a point of a surface without texels: the mean over the elements that it sees.
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
    let (sum, count) = (0..LOOKS).filter_map(weight).fold((0.0, 0), |(sum, count), weight| (sum + weight, count + 1));
    if count > 0 { sum / count as f32 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::kdtree::BruteForce;
    use crate::radiosity::test_scene::{TestScene, grey};

    #[test]
    fn bare_surfaces_are_cut_evenly_and_add_up_and_black_ones_are_left_out() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [2; 2], grey(0.5));
        let bare = test.quad(Vec3::Y, Vec3::X * 3.0, Vec3::Z * 2.0, [0; 2], grey(0.7));
        test.quad(Vec3::Y * 2.0, Vec3::X * 3.0, Vec3::Z * 2.0, [0; 2], grey(0.0));
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
        test.scene.surfaces[bare.index()].sides = Sides::Both;
        assert_eq!(found(&test).patches.len(), 2 * patches.len());
    }
}
