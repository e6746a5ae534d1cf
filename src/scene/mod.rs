//! The scene as plain data: what light meets.
//!
//! A [`Scene`] holds meshes in their own space, [`Surface`]s that place them in the world, [`Material`]s, [`Texture`]s,
//! [`Light`]s and a [`Sky`]. It comes from a file ([`load`]), from a built-in description ([`builtin`]) or from a Bevy
//! world (the plugin's sync), and all routes yield the same data. [`check`] finds what is wrong with one and names it.
//!
//! [`LightSampler`] is how solvers choose points on lights.
//!
//! This room sees only `geometry`.

mod abridged;
mod albedo;
pub mod builtin;
mod camera;
pub mod check;
mod facets;
mod files;
mod footprint;
mod glass;
mod hash;
pub(crate) mod key;
mod light;
mod light_sampler;
mod material;
mod mesh;
mod normal_map;
mod problem;
mod pyramid;
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

pub use abridged::abridged;
pub use camera::{Camera, Projection, Sights};
pub(crate) use facets::Facets;
#[cfg(feature = "plugin")]
pub(crate) use files::Overrides;
#[cfg(feature = "gltf")]
pub(crate) use files::animated_nodes;
pub use files::{
    LUMENS_PER_WATT, Loaded, OutdoorsError, SceneError, SceneOptions, Sun, Units, load, load_for_pictures,
    load_for_pictures_with, load_with,
};
pub use glass::Glass;
pub use hash::{Hash, NoHash, hash, hash_light, hash_materials, hash_mesh, hash_transform};
pub use key::{KeyIndex, SurfaceKey, shorten};
pub use light::{Light, LightKind};
pub use light_sampler::{
    AliasEntry, AliasTable, Chances, Emission, EmissionSampler, LightSample, LightSampler, OneLight, Place, luminance,
};
#[cfg(feature = "gpu")]
pub(crate) use light_sampler::{EmitterDescription, LightNode, LightTree, light_node_of, weigh_surface};
pub(crate) use light_sampler::{MOST_DENSITY, share};
pub(crate) use material::PICTURES;
pub use material::{AlphaMode, Appearance, Material, Passage};
pub use mesh::MeshData;
pub use problem::{Problem, Severity};
pub use pyramid::{Pyramids, Weight};
pub use sealed::SealedSides;
pub use sky::{EnvironmentMap, Sky};
pub use surface::{LightmapPlace, Role, Sides, Surface};
#[cfg(feature = "gpu")]
pub(crate) use texture::linear_of_srgb;
pub use texture::{Texels, Texture, Wrap};
pub use texture_ref::{TextureRef, UvChannel, UvSets};

define_id! {
    /// Which mesh of the scene.
    MeshId
}
define_id! {
    /// Which material of the scene.
    MaterialId
}
define_id! {
    /// Which texture of the scene.
    TextureId
}
define_id! {
    /// Which light of the scene.
    LightId
}

/// Everything that light meets, in metres and linear Rec. 709.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Triangles in their own space; several surfaces may show the same mesh.
    pub meshes: Vec<Arc<MeshData>>,
    /// Meshes placed in the world.
    pub surfaces: Vec<Surface>,
    /// What surfaces are made of.
    pub materials: Vec<Material>,
    /// Pictures that materials refer to.
    pub textures: Vec<Arc<Texture>>,
    /// Lights that are not surfaces.
    pub lights: Vec<Light>,
    /// What rays see that leave the scene.
    pub sky: Sky,
}

impl Scene {
    /// The ids of all surfaces, in order.
    pub fn surface_ids(&self) -> impl ExactSizeIterator<Item = SurfaceId> + use<> {
        (0..self.surfaces.len()).map(SurfaceId::from_index)
    }

    /// A surface by its id.
    #[inline]
    pub fn surface(&self, id: SurfaceId) -> &Surface {
        &self.surfaces[id.index()]
    }

    /// The mesh that a surface shows.
    #[inline]
    pub fn mesh_of(&self, id: SurfaceId) -> &MeshData {
        &self.meshes[self.surface(id).mesh.index()]
    }

    /// True when a ray met a side that takes all light: the back of a single-sided surface, or a side that nothing can
    /// see.
    #[inline]
    pub fn absorbs(&self, hit: &Hit) -> bool {
        let surface = self.surface(hit.surface);
        (hit.back && surface.sides == Sides::Front) || surface.sealed.contains(hit.triangle, hit.back)
    }

    /// Where a surface's baked light is, if the scene has that page.
    pub(crate) fn lightmap_of(&self, id: SurfaceId) -> Option<LightmapPlace> {
        self.surface(id).lightmap.filter(|place| place.page.index() < self.textures.len())
    }

    /// The light that was baked for where a ray met a surface (irradiance / pi, cd/m2), and whether direct light is in it.
    pub fn baked_light(&self, hit: &Hit) -> Option<(Vec3, bool)> {
        let LightmapPlace { page, corner, size, is_direct_too } = self.lightmap_of(hit.surface)?;
        let mesh = self.mesh_of(hit.surface);
        let uv_of = |vertex: u32| mesh.uv1.get(vertex as usize).copied();
        let [a, b, c] = mesh.triangles[hit.triangle as usize].map(uv_of);
        let (a, b, c) = (a?, b?, c?);
        let uv = a + (b - a) * hit.barycentric.x + (c - a) * hit.barycentric.y;
        Some((self.texture(page).sample(corner + uv * size).truncate(), is_direct_too))
    }

    /// The material of a surface.
    #[inline]
    pub fn material_of(&self, id: SurfaceId) -> &Material {
        &self.materials[self.surface(id).material.index()]
    }

    /// A texture by its id.
    #[inline]
    pub fn texture(&self, id: TextureId) -> &Texture {
        &self.textures[id.index()]
    }

    /// A triangle of a surface in world space, corners in the mesh's order.
    ///
    /// Where [`Surface::is_mirrored`], the corners turn clockwise seen from the front; [`Scene::geometric_normal`]
    /// knows that, [`Triangle::normal`] cannot.
    #[inline]
    pub fn triangle(&self, id: SurfaceId, triangle: u32) -> Triangle {
        let surface = self.surface(id);
        let mesh = &self.meshes[surface.mesh.index()];
        Triangle {
            corners: mesh.triangles[triangle as usize]
                .map(|vertex| surface.to_world.transform_point3(mesh.positions[vertex as usize])),
        }
    }

    /// The unit normal of a triangle's front in world space, zero for a degenerate one.
    #[inline]
    pub fn geometric_normal(&self, id: SurfaceId, triangle: u32) -> Vec3 {
        self.front_of(id, &self.triangle(id, triangle))
    }

    /// The interpolated unit normal of the front in world space; the geometric one where the mesh has none.
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

    /// For each surface the number of its first triangle when all triangles of all surfaces are counted in order.
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

    /// Triangles of all surfaces together.
    pub fn triangle_count(&self) -> usize {
        self.surface_ids().map(|id| self.mesh_of(id).triangles.len()).sum()
    }

    /// The smallest box around all surfaces.
    pub fn bounds(&self) -> Aabb {
        self.surface_ids()
            .flat_map(|id| (0..self.mesh_of(id).triangles.len() as u32).map(move |triangle| (id, triangle)))
            .fold(Aabb::EMPTY, |bounds, (id, triangle)| bounds.union(self.triangle(id, triangle).bounds()))
    }
}

/// A shading normal, or the geometric one where the shading normal points away from its own face: that is a modelling
/// fault, and the face is to be trusted.
#[inline]
pub(crate) fn facing(shading: Vec3, geometric: Vec3) -> Vec3 {
    if shading.dot(geometric) > 0.0 { shading } else { geometric }
}
