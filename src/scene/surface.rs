//! Mesh instances in the world.

use glam::{Affine3A, Mat3, Vec2, Vec3};
use serde::{Deserialize, Serialize};

use super::{MaterialId, MeshId, SealedSides, SurfaceKey, TextureId};

/// Role of a surface in a bake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Casts, reflects and receives light; has a lightmap rectangle.
    #[default]
    Static,
    /// Casts and reflects light but has no lightmap, for objects that are not worth texels.
    Occluder,
    /// Moves through the level; not part of a bake.
    Mover,
    /// Takes no part in bakes or images.
    Excluded,
}

/// Sides of a surface's triangles that reflect light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sides {
    /// The front only; the back absorbs all light.
    #[default]
    Front,
    /// Both sides.
    Both,
}

/// Lightmap rectangle of a surface: part of a page, covered by the mesh's second texture coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LightmapPlace {
    /// Texture of the page: irradiance / pi, cd/m2.
    pub page: TextureId,
    /// Corner of the rectangle with the smallest coordinates, as fractions of the page.
    pub corner: Vec2,
    /// Width and height of the rectangle, as fractions of the page.
    pub size: Vec2,
    /// True if the page includes direct light from lamps, emissive surfaces and the sky.
    pub is_direct_too: bool,
}

/// Mesh instance of the scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Surface {
    /// Stable name across runs.
    pub key: SurfaceKey,
    /// Mesh with the triangles.
    pub mesh: MeshId,
    /// Transform from object space to world space.
    pub to_world: Affine3A,
    /// Material of the surface.
    pub material: MaterialId,
    /// Role in a bake.
    pub role: Role,
    /// Sides that reflect light.
    pub sides: Sides,
    /// Sides of double-sided triangles that are never visible; none until [`Scene::with_sealed_sides`](super::Scene)
    /// has run. Derived from the scene, so hashes leave the field out.
    #[serde(skip)]
    pub sealed: SealedSides,
    /// Factor on the bake's texel density; default 1.0.
    pub density_scale: f32,
    /// Baked light at which paths may end. Bakes ignore the field.
    pub lightmap: Option<LightmapPlace>,
}

impl Surface {
    /// Returns a static, single-sided surface with the identity transform.
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

    /// Returns true if the transform is a reflection, so that triangles seen from the front have clockwise corners.
    #[inline]
    pub fn is_mirrored(&self) -> bool {
        self.to_world.matrix3.determinant() < 0.0
    }

    /// Returns the matrix that transforms normals from object to world space. Lengths are not preserved.
    #[inline]
    pub fn normal_matrix(&self) -> Mat3 {
        // Cofactor matrix: the inverse transpose times the determinant, but finite for flattened transforms too.
        let m = self.to_world.matrix3;
        let (x, y, z) = (Vec3::from(m.x_axis), Vec3::from(m.y_axis), Vec3::from(m.z_axis));
        let across = y.cross(z);
        let cofactors = Mat3::from_cols(across, z.cross(x), x.cross(y));
        if x.dot(across) < 0.0 { -cofactors } else { cofactors }
    }

    /// Transforms a normal of the mesh to a unit normal in world space.
    #[inline]
    pub fn normal_to_world(&self, normal: Vec3) -> Vec3 {
        (self.normal_matrix() * normal).normalize_or_zero()
    }

    /// Returns true if images show the surface.
    #[inline]
    pub fn is_shown(&self) -> bool {
        self.role != Role::Excluded
    }

    /// Returns true if the surface takes part in a bake.
    #[inline]
    pub fn is_in_bake(&self) -> bool {
        matches!(self.role, Role::Static | Role::Occluder)
    }
}
