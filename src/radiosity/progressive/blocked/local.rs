//! Geometry of one subscene.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

use glam::{Affine3A, DVec2, Vec2};

use super::super::occluders::{CandidateSearch, Occluders};
use super::super::shaft::Shaft;
use crate::accel::{Preset, World};
use crate::geometry::clip::Corner;
use crate::geometry::{Aabb, Ray, RayQuery, SurfaceId, Transmittance};
use crate::partition::{Polygons, Subscene, masks};
use crate::scene::{MaterialId, MeshData, MeshId, Role, Scene, Surface};

/// Geometry inside one subscene, without any beyond.
pub struct Local {
    pub world: World,
    pub occluders: Occluders,
    /// Number of rays traced for masks.
    rays: AtomicU64,
}

impl Local {
    /// Collects the parts of a scene's triangles inside a subscene. The attribute of a corner is its barycentric
    /// weights of the triangle's second and third vertex.
    pub fn new(origins: &Origins, subscene: &Subscene<DVec2>) -> Self {
        let scene = Arc::new(part_of(origins, subscene));
        Self { occluders: Occluders::new(&scene), world: World::build(scene, Preset::fast()), rays: AtomicU64::new(0) }
    }

    /// Returns the approximate memory size, in bytes.
    pub fn bytes(&self) -> usize {
        self.world.statistics().bytes + self.occluders.bytes()
    }

    /// Returns the number of rays traced for masks.
    pub fn mask_rays(&self) -> u64 {
        self.rays.load(Ordering::Relaxed)
    }
}

impl masks::Occluders for Local {
    fn blocked(&self, ray: &Ray) -> Transmittance {
        self.rays.fetch_add(1, Ordering::Relaxed);
        self.world.blocked(ray)
    }

    fn are_clear(&self, from: &Aabb, to: &Aabb) -> bool {
        let found = self.occluders.within(&Shaft::between(*from, *to), CandidateSearch::Tree { max_count: 0 });
        found.are_none()
    }

    fn starts_inside(&self, ray: &Ray) -> bool {
        self.world.closest(ray).is_some_and(|hit| self.world.scene().absorbs(&hit))
    }
}

/// Sources of a scene's polygons.
pub struct Origins<'a> {
    scene: &'a Scene,
    /// Surface and triangle of each polygon.
    sources: Vec<(SurfaceId, u32)>,
}

impl<'a> Origins<'a> {
    /// Collects all polygons of a scene.
    pub fn of(scene: &'a Scene) -> (Polygons, Self) {
        let (polygons, sources) = Polygons::of_scene(scene);
        (polygons, Self { scene, sources })
    }

    /// Returns the barycentric weights of a polygon's corner in its triangle.
    pub fn weights(&self, polygon: usize, corner: usize) -> DVec2 {
        let is_reversed = self.scene.surface(self.sources[polygon].0).is_mirrored();
        [DVec2::ZERO, DVec2::X, DVec2::Y][if is_reversed { 2 - corner } else { corner }]
    }
}

/// Returns the part of a scene inside a subscene, in world space: surfaces with parts there, and their materials.
fn part_of(Origins { scene, sources }: &Origins, subscene: &Subscene<DVec2>) -> Scene {
    // Mesh of each surface, and the original triangle of each of its triangles.
    let mut meshes: BTreeMap<SurfaceId, (MeshData, Vec<u32>)> = BTreeMap::new();
    for (polygon, corners) in subscene.pieces() {
        let (surface, triangle) = sources[polygon];
        let (mesh, origins) = meshes.entry(surface).or_default();
        add_piece(mesh, scene.mesh_of(surface), triangle, corners);
        origins.resize(mesh.triangles.len(), triangle);
    }
    let mut part = Scene { textures: scene.textures.clone(), ..Scene::default() };
    let mut materials = BTreeMap::new();
    for (id, (mesh, origins)) in meshes {
        let whole = scene.surface(id);
        let role = if whole.is_in_bake() { Role::Occluder } else { Role::Excluded };
        let material = *materials.entry(whole.material).or_insert_with(|| {
            part.materials.push(scene.material_of(id).clone());
            MaterialId::from_index(part.materials.len() - 1)
        });
        let mesh_id = MeshId::from_index(part.meshes.len());
        part.meshes.push(Arc::new(mesh));
        let (to_world, sealed) = (Affine3A::IDENTITY, whole.sealed.of_triangles(origins.into_iter()));
        part.surfaces.push(Surface { mesh: mesh_id, material, to_world, role, sealed, ..whole.clone() });
    }
    part
}

fn add_piece(part: &mut MeshData, whole: &MeshData, triangle: u32, corners: &[Corner<DVec2>]) {
    let first = part.positions.len() as u32;
    for corner in corners {
        part.positions.push(corner.position.as_vec3());
        let at = |uv: &[Vec2]| whole.interpolate_uv(uv, triangle, corner.attribute.as_vec2());
        part.uv0.extend(at(&whole.uv0));
        part.uv1.extend(at(&whole.uv1));
        part.other_uv.resize(whole.other_uv.len(), Vec::new());
        for (set, uv) in part.other_uv.iter_mut().zip(&whole.other_uv) {
            set.extend(at(uv));
        }
        if !whole.colors.is_empty() {
            part.colors.push(whole.color_at(triangle, corner.attribute.as_vec2()));
        }
    }
    let last = part.positions.len() as u32;
    part.triangles.extend((first + 1..last - 1).map(|second| [first, second, second + 1]));
}
