//! Normal mapping.

use glam::{Vec2, Vec3};

use super::{Scene, facing};
use crate::geometry::SurfaceId;

impl Scene {
    /// Returns [`Scene::shading_normal`], perturbed by the material's normal map if there is one.
    ///
    /// The texture's red channel points along growing u, its green channel against growing v, as in glTF. Both
    /// directions follow from the triangle's own texture coordinates.
    pub fn bumpy_normal(&self, id: SurfaceId, triangle: u32, barycentric: Vec2) -> Vec3 {
        let smooth = self.shading_normal(id, triangle, barycentric);
        let material = self.material_of(id);
        let Some((picture, [along_b, along_c])) = material.bump_at(self, self.mesh_of(id), triangle, barycentric)
        else {
            return smooth;
        };
        let [a, b, c] = self.triangle(id, triangle).corners;
        // Derivatives of position by u and v, scaled by twice the triangle's signed area in texture space.
        let (ab, ac) = (b - a, c - a);
        let turn = (along_b.x * along_c.y - along_b.y * along_c.x).signum();
        let with_u = (ab * along_c.y - ac * along_b.y) * turn;
        let with_v = (ac * along_b.x - ab * along_c.x) * turn;
        let Some(tangent) = (with_u - smooth * smooth.dot(with_u)).try_normalize() else {
            return smooth;
        };
        let across = smooth.cross(tangent);
        let bitangent = if across.dot(with_v) > 0.0 { -across } else { across };
        let bump = (tangent * picture.x + bitangent * picture.y + smooth * picture.z).normalize_or(smooth);
        facing(bump, self.geometric_normal(id, triangle))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::{Affine3A, Vec4};

    use super::*;
    use crate::scene::{
        Material, MaterialId, MeshData, MeshId, MipChains, Surface, SurfaceKey, Texels, Texture, TextureId, TextureRef,
        Wrap,
    };

    /// Builds a triangle in the XY plane that faces +Z, with a map of one normal. u points right, v down.
    fn bumpy(normal: Vec3, uv0: [Vec2; 3]) -> Scene {
        let mesh = MeshData {
            positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y],
            uv0: uv0.to_vec(),
            triangles: vec![[0, 1, 2]],
            ..MeshData::default()
        };
        let map = Texture {
            name: "bumps".into(),
            width: 1,
            height: 1,
            texels: Texels::Float(vec![Vec4::from((normal * 0.5 + 0.5, 1.0))]),
            wrap: [Wrap::Repeat; 2],
            mip_chains: MipChains::default(),
        };
        let normal_texture = Some(TextureRef::new(TextureId(0)));
        Scene {
            meshes: vec![Arc::new(mesh)],
            surfaces: vec![Surface::new(SurfaceKey("bumpy".into()), MeshId(0), MaterialId(0))],
            materials: vec![Material { normal_texture, ..Material::default() }],
            textures: vec![Arc::new(map)],
            ..Scene::default()
        }
    }

    const UPRIGHT: [Vec2; 3] = [Vec2::new(0.0, 1.0), Vec2::ONE, Vec2::ZERO];

    fn normal_of(scene: &Scene) -> Vec3 {
        scene.bumpy_normal(SurfaceId(0), 0, Vec2::splat(0.25))
    }

    fn assert_close(found: Vec3, expected: Vec3) {
        assert!((found - expected).length() < 1e-6, "{found}, not {expected}");
    }

    #[test]
    fn red_leans_to_the_right_of_the_picture_and_green_to_its_top() {
        assert_close(normal_of(&bumpy(Vec3::Z, UPRIGHT)), Vec3::Z);
        assert_close(normal_of(&bumpy(Vec3::new(0.6, 0.0, 0.8), UPRIGHT)), Vec3::new(0.6, 0.0, 0.8));
        assert_close(normal_of(&bumpy(Vec3::new(0.0, 0.6, 0.8), UPRIGHT)), Vec3::new(0.0, 0.6, 0.8));
    }

    #[test]
    fn pictures_that_are_turned_or_mirrored_turn_their_bumps_with_them() {
        // A quarter turn: the texture's right is up. Mirrored: its right is left.
        let turned = [Vec2::ZERO, Vec2::Y, Vec2::X];
        assert_close(normal_of(&bumpy(Vec3::new(0.6, 0.0, 0.8), turned)), Vec3::new(0.0, 0.6, 0.8));
        let mirrored = [Vec2::ONE, Vec2::new(0.0, 1.0), Vec2::new(1.0, 0.0)];
        assert_close(normal_of(&bumpy(Vec3::new(0.6, 0.0, 0.8), mirrored)), Vec3::new(-0.6, 0.0, 0.8));
        assert_close(normal_of(&bumpy(Vec3::new(0.0, 0.6, 0.8), mirrored)), Vec3::new(0.0, 0.6, 0.8));
    }

    #[test]
    fn the_scale_flattens_bumps_and_transforms_carry_them_along() {
        let mut scene = bumpy(Vec3::new(0.6, 0.0, 0.8), UPRIGHT);
        scene.surfaces[0].to_world = Affine3A::from_rotation_y(core::f32::consts::FRAC_PI_2);
        assert_close(normal_of(&scene), Vec3::new(0.8, 0.0, -0.6));
        scene.surfaces[0].to_world = Affine3A::IDENTITY;
        scene.materials[0].normal_scale = 0.5;
        assert_close(normal_of(&scene), Vec3::new(0.3, 0.0, 0.8).normalize());
        scene.materials[0].normal_scale = 0.0;
        assert_close(normal_of(&scene), Vec3::Z);
    }

    #[test]
    fn triangles_without_a_place_in_the_picture_are_smooth() {
        assert_close(normal_of(&bumpy(Vec3::new(0.6, 0.0, 0.8), [Vec2::ONE; 3])), Vec3::Z);
    }
}
