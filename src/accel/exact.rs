//! Curved shapes beside a tree, which rays meet exactly (`004` item 22).

use std::sync::Arc;

use glam::DAffine3;

use crate::geometry::{Aabb, Ray, Shape};
use crate::scene::{MeshId, Role, Scene};

/// Curved shapes of a scene, placed in the world. A ray tests each one that may be in its way.
#[derive(Clone, Debug, Default)]
pub struct ExactShapes<'a> {
    placed: Vec<Placed<'a>>,
}

#[derive(Clone, Debug)]
struct Placed<'a> {
    shape: &'a Shape,
    to_shape: DAffine3,
    bounds: Aabb,
    /// First triangle of its surface when all triangles of the scene are counted in order.
    first_triangle: u32,
}

impl<'a> ExactShapes<'a> {
    /// Takes the opaque surfaces that stand for curved shapes out of a scene. `shapes` ascend by mesh. Returns the rest of
    /// the scene, where triangles keep their numbers, and the shapes.
    ///
    /// Surfaces that let rays pass stay, because their materials are defined on triangles.
    pub fn take_from(scene: &Arc<Scene>, shapes: &'a [(MeshId, Shape)]) -> (Arc<Scene>, Self) {
        let mut rest = Arc::clone(scene);
        if shapes.is_empty() {
            return (rest, Self::default());
        }
        let mut placed = Vec::new();
        for (id, first_triangle) in scene.surface_ids().zip(scene.first_triangles()) {
            let surface = scene.surface(id);
            let Ok(found) = shapes.binary_search_by_key(&surface.mesh, |(mesh, _)| *mesh) else { continue };
            let to_world = DAffine3::from_cols_array(&surface.to_world.to_cols_array().map(f64::from));
            let to_shape = to_world.inverse();
            if surface.role == Role::Excluded || scene.material_of(id).can_be_passed() || !to_shape.is_finite() {
                continue;
            }
            let shape = &shapes[found].1;
            let bounds = shape.bounds().transformed(&surface.to_world);
            placed.push(Placed { shape, to_shape, bounds, first_triangle });
            Arc::make_mut(&mut rest).surfaces[id.index()].role = Role::Excluded;
        }
        (rest, Self { placed })
    }

    /// Returns the number of shapes.
    pub fn count(&self) -> usize {
        self.placed.len()
    }

    /// Returns the distance to the closest hit within the ray's interval, and the first triangle of its surface.
    pub fn closest(&self, ray: &Ray) -> Option<(f32, u32)> {
        let mut ray = *ray;
        let mut closest = None;
        for placed in &self.placed {
            if placed.bounds.entered_by(&ray).is_some_and(|near| near <= ray.t_max)
                && let Some(t) = placed.shape.intersect(&ray, &placed.to_shape)
            {
                ray.t_max = t;
                closest = Some((t, placed.first_triangle));
            }
        }
        closest
    }
}

#[cfg(test)]
mod tests {
    use glam::{Affine3A, Vec3};

    use super::*;
    use crate::scene::shapes::{Tessellation, floor};
    use crate::scene::{AlphaMode, Material, MaterialId, Surface, SurfaceKey};

    /// Returns a floor and two balls of radius one in a row above it, the second of a material that rays may pass.
    fn balls(shape: &Shape) -> Arc<Scene> {
        let meshes = [floor("floor", 9.0), Tessellation::new(shape, 0.1).build("ball")];
        let surface = |mesh, material, place| Surface {
            to_world: Affine3A::from_translation(place),
            ..Surface::new(SurfaceKey(format!("{place}")), MeshId(mesh), MaterialId(material))
        };
        Arc::new(Scene {
            meshes: meshes.map(Arc::new).to_vec(),
            surfaces: vec![surface(0, 0, Vec3::ZERO), surface(1, 0, Vec3::Y * 2.0), surface(1, 1, Vec3::Y * 5.0)],
            materials: vec![Material::default(), Material { alpha: AlphaMode::Blend, ..Material::default() }],
            ..Scene::default()
        })
    }

    #[test]
    fn opaque_shapes_are_met_exactly_and_others_stay_in_the_tree() {
        let shapes = [(MeshId(1), Shape::Sphere { radius: 1.0 })];
        let scene = balls(&shapes[0].1);
        let (rest, exact) = ExactShapes::take_from(&scene, &shapes);
        assert_eq!(exact.count(), 1);
        let roles: Vec<Role> = rest.surfaces.iter().map(|surface| surface.role).collect();
        assert_eq!(roles, [Role::Static, Role::Excluded, Role::Static]);
        assert_eq!(exact.closest(&Ray::new(Vec3::Y * 9.0, Vec3::NEG_Y)), Some((6.0, 2)));
        assert_eq!(exact.closest(&Ray { t_max: 5.9, ..Ray::new(Vec3::Y * 9.0, Vec3::NEG_Y) }), None);
        assert_eq!(exact.closest(&Ray::new(Vec3::new(1.01, 9.0, 0.0), Vec3::NEG_Y)), None);
    }
}
