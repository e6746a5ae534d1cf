//! A mesh placed in the world.

use glam::{Affine3A, Mat3, Vec2, Vec3};
use serde::{Deserialize, Serialize};

use super::{MaterialId, MeshId, SealedSides, SurfaceKey, TextureId};

/// What a surface does in a bake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Casts, reflects and receives light; owns a lightmap rectangle.
    #[default]
    Static,
    /// Casts and reflects light but has no lightmap: something whose texels would be wasted.
    Occluder,
    /// Moves through the level: not part of a bake.
    Mover,
    /// Does not exist for the bake.
    Excluded,
}

/// Which sides of a surface's triangles reflect light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sides {
    /// The front only; the back absorbs what reaches it.
    #[default]
    Front,
    /// Both.
    Both,
}

/// Where the light is that was baked for a surface: a rectangle of a page, filled by the mesh's second texture coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightmapPlace {
    /// The page: irradiance / pi, cd/m2.
    pub page: TextureId,
    /// The corner of the rectangle with the smallest coordinates, in parts of the page.
    pub corner: Vec2,
    /// Its width and height.
    pub size: Vec2,
    /// True where the page holds light that comes straight from lamps, emissive surfaces and the sky, too.
    pub is_direct_too: bool,
}

/// One mesh instance of the scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Its name across runs.
    pub key: SurfaceKey,
    /// The triangles.
    pub mesh: MeshId,
    /// From the mesh's own space to the world.
    pub to_world: Affine3A,
    /// What it is made of.
    pub material: MaterialId,
    /// What it does in a bake.
    pub role: Role,
    /// Which sides reflect.
    pub sides: Sides,
    /// Sides of double-sided triangles that nothing can see; none until [`Scene::with_sealed_sides`](super::Scene) has
    /// looked. Follows from the scene, so hashes leave it out.
    pub sealed: SealedSides,
    /// Factor on the bake's texel density; 1.0 keeps it.
    pub density_scale: f32,
    /// Light at which paths may end; bakes know nothing of it.
    pub lightmap: Option<LightmapPlace>,
}

impl Surface {
    /// A static, single-sided surface where the mesh stands.
    pub fn new(key: SurfaceKey, mesh: MeshId, material: MaterialId) -> Self {
        Self {
            key,
            mesh,
            to_world: Affine3A::IDENTITY,
            material,
            role: Role::Static,
            sides: Sides::Front,
            sealed: SealedSides::None,
            density_scale: 1.0,
            lightmap: None,
        }
    }

    /// True when the transform turns left into right, so that the corners of triangles seen from the front turn
    /// clockwise.
    #[inline]
    pub fn is_mirrored(&self) -> bool {
        self.to_world.matrix3.determinant() < 0.0
    }

    /// Takes normals of the mesh to normals of the world, whose lengths it does not keep.
    #[inline]
    pub fn normal_matrix(&self) -> Mat3 {
        // The cofactor matrix: the inverse transpose times the determinant, but finite for flattened transforms.
        let m = self.to_world.matrix3;
        let (x, y, z) = (Vec3::from(m.x_axis), Vec3::from(m.y_axis), Vec3::from(m.z_axis));
        let across = y.cross(z);
        let cofactors = Mat3::from_cols(across, z.cross(x), x.cross(y));
        if x.dot(across) < 0.0 { -cofactors } else { cofactors }
    }

    /// Takes a normal of the mesh to a unit normal of the world.
    #[inline]
    pub fn normal_to_world(&self, normal: Vec3) -> Vec3 {
        (self.normal_matrix() * normal).normalize_or_zero()
    }

    /// True when pictures show the surface.
    #[inline]
    pub fn is_shown(&self) -> bool {
        self.role != Role::Excluded
    }

    /// True when the surface takes part in a bake at all.
    #[inline]
    pub fn is_in_bake(&self) -> bool {
        matches!(self.role, Role::Static | Role::Occluder)
    }
}
