//! Scene description as plain data: geometry, materials, textures and lights.
//!
//! A [`Scene`] holds meshes in object space, [`Surface`]s that place meshes in the world, [`Material`]s, [`Texture`]s,
//! [`Light`]s and a [`Sky`]. Scenes come from a file ([`load`](crate::scene_files::load)), from a built-in description
//! ([`builtin_scenes`](crate::builtin_scenes)) or from a Bevy world (the plugin's sync). All three sources yield the
//! same data. [`check`] finds faults in a scene, and repairs or reports them.
//! - [`shapes`] builds meshes for built-in scenes and for tests.
//! - `material.rs`, `texture.rs`, `texture_ref.rs`, `mip_chain.rs` and `footprint.rs` evaluate materials and textures.
//! - `sealed` finds sides of double-sided surfaces that are never visible.
//!
//! This module depends on `geometry` only.

mod albedo;
mod camera;
pub mod check;
mod color;
mod dedup_warnings;
mod facets;
mod footprint;
mod glass;
mod hash;
pub(crate) mod key;
mod light;
mod material;
mod mesh;
mod mip_chain;
mod normal_map;
mod problem;
mod sealed;
pub mod shapes;
mod sky;
mod surface;
mod texture;
mod texture_ref;
mod vertex_colors;

use std::sync::Arc;

use glam::{Vec2, Vec3};

use crate::geometry::{Aabb, Hit, SurfaceId, Triangle, define_id};

pub use camera::{Camera, Projection, Sights};
pub use check::CheckedScene;
pub use color::luminance;
pub use dedup_warnings::dedup_warnings;
pub(crate) use facets::Facets;
pub use glass::Glass;
pub use hash::{Hash, NoHash, hash, hash_light, hash_materials, hash_mesh, hash_transform};
pub use key::{KeyIndex, SurfaceKey, shorten};
pub use light::{Light, LightKind, LightPlace};
pub(crate) use material::TEXTURE_SLOTS;
pub use material::{AlphaMode, Appearance, Material, Passage};
pub use mesh::MeshData;
pub use mip_chain::{MipChains, Weight};
#[cfg(feature = "plugin")]
pub(crate) use problem::and_more;
pub use problem::{Problem, Severity};
pub use sealed::SealedSides;
pub use sky::{EnvironmentMap, Sky};
pub use surface::{LightmapPlace, Role, Sides, Surface};
#[cfg(feature = "gpu")]
pub(crate) use texture::linear_of_srgb;
pub use texture::{Texels, Texture, Wrap};
pub(crate) use texture::{decode_srgb, encode_srgb, nearest_srgb};
pub use texture_ref::{TextureRef, UvChannel, UvSets};

define_id! {
    /// Index of a mesh in the scene.
    MeshId
}
define_id! {
    /// Index of a material in the scene.
    MaterialId
}
define_id! {
    /// Index of a texture in the scene.
    TextureId
}
define_id! {
    /// Index of a light in the scene.
    LightId
}

/// Complete scene, in meters and linear Rec. 709. Its data are unchecked until [`check::repair`] has returned a
/// [`CheckedScene`].
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Meshes in object space. Several surfaces may share one mesh.
    pub meshes: Vec<Arc<MeshData>>,
    /// Meshes placed in the world.
    pub surfaces: Vec<Surface>,
    /// Materials of the surfaces.
    pub materials: Vec<Material>,
    /// Textures that materials refer to.
    pub textures: Vec<Arc<Texture>>,
    /// Lights that are not emissive surfaces.
    pub lights: Vec<Light>,
    /// Radiance of rays that leave the scene.
    pub sky: Sky,
}

impl Scene {
    /// Returns the ids of all surfaces, in order.
    pub fn surface_ids(&self) -> impl ExactSizeIterator<Item = SurfaceId> + use<> {
        (0..self.surfaces.len()).map(SurfaceId::from_index)
    }

    /// Returns a surface by id.
    #[inline]
    pub fn surface(&self, id: SurfaceId) -> &Surface {
        &self.surfaces[id.index()]
    }

    /// Returns the mesh of a surface.
    #[inline]
    pub fn mesh_of(&self, id: SurfaceId) -> &MeshData {
        &self.meshes[self.surface(id).mesh.index()]
    }

    /// Returns true if a ray hit an absorbing side: the back of a single-sided surface, or a sealed side.
    #[inline]
    pub fn absorbs(&self, hit: &Hit) -> bool {
        let surface = self.surface(hit.surface);
        (hit.back && surface.sides == Sides::Front) || surface.sealed.contains(hit.triangle, hit.back)
    }

    /// Returns the lightmap place of a surface, if the surface has one and the scene holds its page.
    pub(crate) fn lightmap_of(&self, id: SurfaceId) -> Option<LightmapPlace> {
        self.surface(id).lightmap.filter(|place| place.page.index() < self.textures.len())
    }

    /// Returns the baked light at a hit (irradiance / pi, cd/m2), and true if direct light is included.
    pub fn baked_light(&self, hit: &Hit) -> Option<(Vec3, bool)> {
        let LightmapPlace { page, corner, size, is_direct_too } = self.lightmap_of(hit.surface)?;
        let mesh = self.mesh_of(hit.surface);
        let uv_of = |vertex: u32| mesh.uv1.get(vertex as usize).copied();
        let [a, b, c] = mesh.triangles[hit.triangle as usize].map(uv_of);
        let (a, b, c) = (a?, b?, c?);
        let uv = a + (b - a) * hit.barycentric.x + (c - a) * hit.barycentric.y;
        Some((self.texture(page).sample(corner + uv * size).truncate(), is_direct_too))
    }

    /// Returns the material of a surface.
    #[inline]
    pub fn material_of(&self, id: SurfaceId) -> &Material {
        &self.materials[self.surface(id).material.index()]
    }

    /// Returns a texture by id.
    #[inline]
    pub fn texture(&self, id: TextureId) -> &Texture {
        &self.textures[id.index()]
    }

    /// Returns a triangle of a surface in world space, corners in the mesh's order.
    ///
    /// If [`Surface::is_mirrored`], the corners are clockwise seen from the front. [`Scene::geometric_normal`] takes
    /// this into account; [`Triangle::normal`] cannot.
    #[inline]
    pub fn triangle(&self, id: SurfaceId, triangle: u32) -> Triangle {
        let surface = self.surface(id);
        let mesh = &self.meshes[surface.mesh.index()];
        Triangle {
            corners: mesh.triangles[triangle as usize]
                .map(|vertex| surface.to_world.transform_point3(mesh.positions[vertex as usize])),
        }
    }

    /// Returns the unit normal of a triangle's front in world space; zero for a degenerate triangle.
    #[inline]
    pub fn geometric_normal(&self, id: SurfaceId, triangle: u32) -> Vec3 {
        self.front_of(id, &self.triangle(id, triangle))
    }

    /// Returns the interpolated unit normal of the front in world space; the geometric normal if the mesh has no
    /// normals.
    #[inline]
    pub fn shading_normal(&self, id: SurfaceId, triangle: u32, barycentric: Vec2) -> Vec3 {
        self.interpolated_normal(id, triangle, barycentric, self.geometric_normal(id, triangle))
    }

    #[inline]
    fn front_of(&self, id: SurfaceId, in_world: &Triangle) -> Vec3 {
        let normal = in_world.normal();
        if self.surface(id).is_mirrored() { -normal } else { normal }
    }

    #[inline]
    fn interpolated_normal(&self, id: SurfaceId, triangle: u32, barycentric: Vec2, geometric: Vec3) -> Vec3 {
        let Some(normal) = self.mesh_of(id).interpolate_normal(triangle, barycentric) else {
            return geometric;
        };
        facing(self.surface(id).normal_to_world(normal), geometric)
    }

    /// Returns the index of each surface's first triangle when all triangles of all surfaces are counted in order.
    pub fn first_triangles(&self) -> Vec<u32> {
        let counts = self.surface_ids().map(|id| self.mesh_of(id).triangles.len() as u32);
        counts
            .scan(0, |next, count| {
                let first = *next;
                *next += count;
                Some(first)
            })
            .collect()
    }

    /// Returns the surface with the index of each of its triangles.
    pub fn triangles_of(&self, id: SurfaceId) -> impl ExactSizeIterator<Item = (SurfaceId, u32)> + use<> {
        (0..self.mesh_of(id).triangles.len() as u32).map(move |triangle| (id, triangle))
    }

    /// Returns the number of triangles of all surfaces.
    pub fn triangle_count(&self) -> usize {
        self.surface_ids().map(|id| self.mesh_of(id).triangles.len()).sum()
    }

    /// Returns the smallest world-space box around all surfaces.
    pub fn bounds(&self) -> Aabb {
        self.surface_ids()
            .flat_map(|id| self.triangles_of(id))
            .fold(Aabb::EMPTY, |bounds, (id, triangle)| bounds.union(self.triangle(id, triangle).bounds()))
    }
}

/// Returns the shading normal, or the geometric normal if the shading normal points away from its own face. Such a
/// shading normal is a modeling fault, so the face is trusted instead.
#[inline]
pub(crate) fn facing(shading: Vec3, geometric: Vec3) -> Vec3 {
    if shading.dot(geometric) > 0.0 { shading } else { geometric }
}
