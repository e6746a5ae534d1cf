//! Tests of surface functions: positions, normals, appearance and transmittance.

use glam::{UVec2, Vec2, Vec4};

use super::super::tests::{room_camera, room_of_everything};
use super::{Pieces, assert_alike, numbers};
use crate::geometry::SurfaceId;
use crate::geometry::sampling::uniform_triangle;
use crate::pathtrace::{PixelFilter, View};
use crate::scene::{Material, MeshData, Scene};

const COUNT: u32 = 4096;

/// Wraps WGSL code into an answer function with the hit of a triangle.
fn by_hit(answer: &str) -> String {
    format!(
        "fn answer(asked: Rows) -> Rows {{
            let hit = Hit(1.0, u32(asked[0].x), asked[0].yz, vec3(1.0), asked[0].w > 0.5, 0u, false);
            {answer}
        }}"
    )
}

/// Point of a triangle, on either side.
struct Point {
    on_gpu: u32,
    surface: SurfaceId,
    triangle: u32,
    barycentric: Vec2,
    back: bool,
}

impl Point {
    fn made_of<'a>(&self, scene: &'a Scene) -> (&'a Material, &'a MeshData) {
        (scene.material_of(self.surface), scene.mesh_of(self.surface))
    }
}

fn pieces_and_points() -> Option<(Pieces, Vec<Point>)> {
    let view = View { camera: room_camera(), size: UVec2::ONE, lens: None, filter: PixelFilter::Box };
    let pieces = Pieces::new(room_of_everything(), view)?;
    let triangles: Vec<_> = (0..).map_while(|index| pieces.on_gpu.source(index)).collect();
    let points = numbers(1, COUNT).map(|[x, y, which, side]| {
        let on_gpu = (which * triangles.len() as f32) as u32;
        let (surface, triangle) = triangles[on_gpu as usize];
        Point { on_gpu, surface, triangle, barycentric: uniform_triangle(Vec2::new(x, y)), back: side < 0.5 }
    });
    let points = points.collect();
    Some((pieces, points))
}

fn questions<const ROWS: usize>(points: &[Point]) -> Vec<[Vec4; ROWS]> {
    let question = |point: &Point| {
        let back = if point.back { 1.0 } else { 0.0 };
        [Vec4::new(point.on_gpu as f32, point.barycentric.x, point.barycentric.y, back); ROWS]
    };
    points.iter().map(question).collect()
}

#[test]
fn points_stand_where_they_do_and_face_the_same_way() {
    let Some((pieces, points)) = pieces_and_points() else { return };
    let scene = &pieces.scene;
    let answer = by_hit(
        "let vertex = vertex_of(hit);
        return Rows(
            vec4(0.5 * (vertex.position + vertex.behind), 0.0),
            vec4(vertex.geometric_normal, 0.0),
            vec4(vertex.shading_normal, 0.0),
        );",
    );
    let expected = points.iter().map(|point| {
        let side = if point.back { -1.0 } else { 1.0 };
        let Point { surface, triangle, barycentric, .. } = *point;
        [
            scene.triangle(surface, triangle).at(barycentric),
            scene.geometric_normal(surface, triangle) * side,
            scene.bumpy_normal(surface, triangle, barycentric) * side,
        ]
        .map(|vector| vector.extend(0.0))
    });
    // The bump texture has tiles, and rounding decides on which side of an edge a point lies.
    assert_alike("points", &pieces.answers(&answer, &questions(&points)), expected, 1e-5, 40);
}

#[test]
fn points_look_the_same() {
    let Some((pieces, points)) = pieces_and_points() else { return };
    let scene = &pieces.scene;
    let answer = by_hit(
        "let surface = surface_of(hit.triangle);
        let appearance = appearance_at(surface, hit, is_back(hit));
        return Rows(
            vec4(appearance.base_color, appearance.metallic),
            vec4(appearance.reflectance, appearance.roughness),
            vec4(appearance.clearcoat, select(0.0, appearance.clearcoat_roughness, appearance.clearcoat > 0.0), appearance.transmission, appearance.relative_ior),
            vec4(emission_at(surface, hit.triangle, hit.barycentric), 0.0),
            vec4(transmittance(hit.triangle, hit.barycentric), 0.0),
        );",
    );
    let expected = points.iter().map(|point| {
        let Point { triangle, barycentric, .. } = *point;
        let (material, mesh) = point.made_of(scene);
        let appearance = material.appearance_at(scene, mesh, triangle, barycentric);
        let appearance = if point.back { appearance.from_within() } else { appearance };
        // Without a clear coat, its roughness is irrelevant.
        let coat_roughness = if appearance.clearcoat > 0.0 { appearance.clearcoat_perceptual_roughness } else { 0.0 };
        [
            appearance.base_color.extend(appearance.metallic),
            appearance.reflectance.extend(appearance.perceptual_roughness),
            Vec4::new(appearance.clearcoat, coat_roughness, appearance.transmission, appearance.relative_ior),
            material.emission_at(scene, mesh, triangle, barycentric).extend(0.0),
            material.transmittance_at(scene, mesh, triangle, barycentric).extend(0.0),
        ]
    });
    assert_alike("appearances", &pieces.answers(&answer, &questions(&points)), expected, 1e-3, 0);
}

#[test]
fn points_reflect_and_pass_on_the_same_share_of_light() {
    let Some((pieces, points)) = pieces_and_points() else { return };
    let scene = &pieces.scene;
    let answer = by_hit(
        "let appearance = reflection_at(hit);
        let passage = passage_at(hit.triangle, hit.barycentric);
        return Rows(
            vec4(stopped_reflectance(appearance), crossing_probability(appearance)),
            vec4(scattered_through(appearance), passage.probability),
        );",
    );
    let expected = points.iter().map(|point| {
        let Point { triangle, barycentric, .. } = *point;
        let (material, mesh) = point.made_of(scene);
        let appearance = material.appearance_at(scene, mesh, triangle, barycentric);
        let passage = material.passage_at(scene, mesh, triangle, barycentric);
        [
            material.reflectance_at(scene, mesh, triangle, barycentric).extend(appearance.crossing_probability()),
            appearance.total_diffuse_transmittance().extend(passage.probability),
        ]
    });
    assert_alike("shares", &pieces.answers(&answer, &questions(&points)), expected, 1e-3, 0);
}
