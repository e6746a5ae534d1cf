//! Precomputed triangles and normals for ray hits.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::Scene;
use crate::geometry::{SurfaceId, Triangle};

/// All triangles of all surfaces in world space, with their normals.
///
/// Paths need both at every vertex. Computing them from the scene takes nine look-ups, three transforms and a normal in
/// double precision.
pub(crate) struct Facets {
    /// Index of each surface's first facet.
    first: Vec<u32>,
    facets: Vec<Facet>,
}

/// One triangle, aligned to a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Facet {
    triangle: Triangle,
    geometric_normal: Vec3,
    /// Shading normal, if constant over the triangle.
    shading_normal: Option<Vec3>,
}

impl Facets {
    /// Precomputes the facets of a scene, whose surfaces must not move afterwards.
    pub fn new(scene: &Scene) -> Self {
        let all: Vec<_> = scene.surface_ids().flat_map(|id| scene.triangles_of(id)).collect();
        let facets = all.into_par_iter().map(|(id, triangle)| Facet::new(scene, id, triangle)).collect();
        Self { first: scene.first_triangles(), facets }
    }

    /// Returns a point of a triangle in world space, with [`Scene::geometric_normal`] and [`Scene::shading_normal`]
    /// there.
    #[inline(always)]
    pub fn point_and_normals(
        &self,
        scene: &Scene,
        id: SurfaceId,
        triangle: u32,
        barycentric: Vec2,
    ) -> (Vec3, Vec3, Vec3) {
        let facet = &self.facets[(self.first[id.index()] + triangle) as usize];
        let geometric = facet.geometric_normal;
        let shading = match facet.shading_normal {
            Some(normal) => normal,
            None => scene.interpolated_normal(id, triangle, barycentric, geometric),
        };
        (facet.triangle.at(barycentric), geometric, shading)
    }
}

impl Facet {
    fn new(scene: &Scene, id: SurfaceId, index: u32) -> Self {
        let triangle = scene.triangle(id, index);
        let geometric_normal = scene.front_of(id, &triangle);
        let corners = scene.mesh_of(id).corner_normals(index);
        let is_flat = corners.is_none_or(|[a, b, c]| a == b && a == c);
        let shading_normal = is_flat.then(|| scene.interpolated_normal(id, index, Vec2::ZERO, geometric_normal));
        Self { triangle, geometric_normal, shading_normal }
    }
}

#[cfg(test)]
mod tests {
    use glam::{Affine3A, Quat};

    use super::*;
    use crate::geometry::sampling::uniform_triangle;
    use crate::geometry::sobol::OwenSobol;
    use crate::scene::{Material, MaterialId, MeshId, Surface, SurfaceKey, shapes};

    #[test]
    fn facets_know_to_the_last_bit_what_the_scene_says_of_flat_bent_turned_and_mirrored_surfaces() {
        let mut scene = Scene::default();
        scene.materials.push(Material::default());
        let flat = shapes::cuboid("flat", Vec3::NEG_ONE, Vec3::ONE);
        let without_normals = crate::scene::MeshData { normals: Vec::new(), ..flat.clone() };
        let mut bent = flat.clone();
        bent.normals.iter_mut().zip(&flat.positions).for_each(|(normal, position)| *normal = position.normalize());
        let turned = Affine3A::from_scale_rotation_translation(
            Vec3::new(1.0, 0.3, 2.0),
            Quat::from_rotation_y(0.7),
            Vec3::new(5.0, -2.0, 0.1),
        );
        let mirrored = turned * Affine3A::from_scale(Vec3::new(-1.0, 1.0, 1.0));
        for (index, mesh) in [flat, without_normals, bent].into_iter().enumerate() {
            scene.meshes.push(mesh.into());
            for to_world in [Affine3A::IDENTITY, turned, mirrored] {
                let surface =
                    Surface::new(SurfaceKey(String::new()), MeshId::from_index(index), MaterialId::from_index(0));
                scene.surfaces.push(Surface { to_world, ..surface });
            }
        }
        let facets = Facets::new(&scene);
        for id in scene.surface_ids() {
            for triangle in 0..scene.mesh_of(id).triangles.len() as u32 {
                let [x, y, ..] = OwenSobol::new(id.0).point(triangle);
                let barycentric = uniform_triangle(Vec2::new(x, y));
                let expected = (
                    scene.triangle(id, triangle).at(barycentric),
                    scene.geometric_normal(id, triangle),
                    scene.shading_normal(id, triangle, barycentric),
                );
                assert_eq!(facets.point_and_normals(&scene, id, triangle, barycentric), expected, "{id:?} {triangle}");
            }
        }
    }
}
