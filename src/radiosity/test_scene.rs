//! Test scenes of quadrilaterals for the solvers.

use std::sync::Arc;

use glam::{Vec2, Vec3};

use super::{CpuBackend, Hits, Solution, SolverSettings, Step, TransportBackend, solve};
use crate::accel::{Preset, World};
use crate::geometry::{RayQuery, SurfaceId};
use crate::lightmap::{Elements, Layout, PageSize, Placement, Rectangle, Unwrap};
use crate::low_rank::{Contributions, LowRank, Patches, Precomputed, Receivers, Rows, StoredTransport};
use crate::progress::Unmonitored;
use crate::scene::{Light, LightKind, Material, MaterialId, MeshData, MeshId, Role, Scene, Surface, SurfaceKey};

/// Scene with surfaces that are grids of texels, and their layout.
#[derive(Default)]
pub struct TestScene {
    pub scene: Scene,
    pub layout: Layout,
}

impl TestScene {
    /// Adds a parallelogram with the normal `u x v` and `texels` texels. With 0 texels it is an occluder.
    pub fn quad(&mut self, corner: Vec3, u: Vec3, v: Vec3, texels: [u32; 2], material: Material) -> SurfaceId {
        let uv = [Vec2::ZERO, Vec2::X, Vec2::ONE, Vec2::Y];
        let mesh = MeshData {
            positions: uv.iter().map(|uv| corner + u * uv.x + v * uv.y).collect(),
            uv0: uv.to_vec(),
            uv1: uv.to_vec(),
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            ..MeshData::default()
        };
        self.mesh(mesh, texels, material)
    }

    /// Adds a mesh with a `uv1` that fills the unit square.
    pub fn mesh(&mut self, mesh: MeshData, texels: [u32; 2], material: Material) -> SurfaceId {
        let id = self.scene.surfaces.len();
        let mut surface = Surface::new(SurfaceKey(format!("{id}")), MeshId(id as u32), MaterialId(id as u32));
        let [width, height] = texels;
        let owns_texels = width > 0;
        surface.role = if owns_texels { Role::Static } else { Role::Occluder };
        self.scene.surfaces.push(surface);
        self.scene.materials.push(material);
        self.layout.placements.push(owns_texels.then(|| Placement {
            unwrap: Arc::new(Unwrap {
                reversed_from: mesh.triangles.len() as u32,
                source_vertices: (0..mesh.positions.len() as u32).collect(),
                charts: vec![0; mesh.triangles.len()],
                mesh: mesh.clone(),
                width,
                height,
            }),
            page: id as u32,
            rectangle: Rectangle { x: 0, y: 0, width, height },
        }));
        self.layout.pages.push(PageSize { width, height });
        self.scene.meshes.push(Arc::new(mesh));
        SurfaceId::from_index(id)
    }

    /// Adds the six inward faces of a box, `texels` along each edge: floor, ceiling, then walls.
    pub fn room(&mut self, size: Vec3, texels: u32, material: impl Fn(usize) -> Material) -> [SurfaceId; 6] {
        let (x, y, z) = (Vec3::X * size.x, Vec3::Y * size.y, Vec3::Z * size.z);
        let faces = [(Vec3::ZERO, z, x), (y, x, z), (Vec3::ZERO, x, y), (z, y, x), (Vec3::ZERO, y, z), (x, z, y)];
        core::array::from_fn(|face| {
            let (corner, u, v) = faces[face];
            self.quad(corner, u, v, [texels; 2], material(face))
        })
    }

    /// Adds the six outward faces of a box.
    pub fn block(&mut self, min: Vec3, max: Vec3, texels: u32, material: &Material) -> Vec<SurfaceId> {
        let (x, y, z) = (Vec3::X * (max.x - min.x), Vec3::Y * (max.y - min.y), Vec3::Z * (max.z - min.z));
        [(min, x, z), (min + y, z, x), (min, y, x), (min + z, x, y), (min, z, y), (min + x, y, z)]
            .map(|(corner, u, v)| self.quad(corner, u, v, [texels; 2], material.clone()))
            .to_vec()
    }

    /// Creates a box of colored walls, with a lamp below its ceiling and a floating block. No element lies inside
    /// geometry.
    pub fn cornell() -> Self {
        let mut test = Self::default();
        test.room(Vec3::splat(2.0), 8, |face| {
            let color = [[0.7; 3], [0.7; 3], [0.7; 3], [0.7; 3], [0.6, 0.1, 0.1], [0.1, 0.4, 0.1]][face];
            Material::diffuse("wall", color.into())
        });
        test.quad(Vec3::new(0.5, 1.7, 0.5), Vec3::X, Vec3::Z, [4; 2], emissive(0.0, 10.0));
        test.block(Vec3::new(0.5, 0.2, 0.5), Vec3::new(1.0, 1.0, 1.25), 4, &gray(0.6));
        test
    }

    /// Creates a closed gray room with a luminous ceiling, and `count` coincident triangles in its middle.
    pub fn with_copies(count: usize, texels: u32) -> Self {
        let mut test = Self::default();
        test.room(Vec3::splat(2.0), 4, |face| if face == 1 { emissive(0.5, 5.0) } else { gray(0.5) });
        let uv = vec![Vec2::ZERO, Vec2::X, Vec2::Y];
        let mesh = MeshData {
            positions: [[0.6, 0.9, 0.6], [0.6, 1.1, 1.5], [1.5, 1.0, 0.6]].map(Vec3::from).to_vec(),
            uv0: uv.clone(),
            uv1: uv,
            triangles: vec![[0, 1, 2]],
            ..MeshData::default()
        };
        for _ in 0..count {
            test.mesh(mesh.clone(), [texels; 2], gray(0.7));
        }
        test
    }

    pub fn point_light(&mut self, position: Vec3, candela: f32) {
        let kind = LightKind::Point { position, intensity: Vec3::splat(candela), radius: 0.0, range: f32::INFINITY };
        self.scene.lights.push(Light { name: "lamp".into(), kind });
    }

    /// Solves the scene, and returns its elements and the solution.
    pub fn solve(&self, settings: &SolverSettings) -> (Elements, Solution) {
        let scene = Arc::new(self.scene.clone());
        let world = World::build(scene.clone(), Preset::fast());
        let elements = Elements::build(&scene, &self.layout, &world, &Unmonitored).expect("nobody cancels");
        let solution = solve(&scene, &world, &elements, settings, None, &Unmonitored).expect("nobody cancels");
        (elements, solution)
    }

    pub fn elements(&self) -> Elements {
        let world = World::build(Arc::new(self.scene.clone()), Preset::fast());
        Elements::build(&self.scene, &self.layout, &world, &Unmonitored).expect("nobody cancels")
    }
}

/// Returns the area-weighted mean over a surface's elements.
pub fn mean_over(elements: &Elements, surface: SurfaceId, of: impl Fn(usize) -> f32) -> f32 {
    let (sum, area) = elements.of_surface(surface).fold((0.0, 0.0), |(sum, area), element| {
        (sum + of(element) * elements.area[element], area + elements.area[element])
    });
    sum / area
}

pub fn gray(reflectance: f32) -> Material {
    Material::diffuse("gray", Vec3::splat(reflectance))
}

/// Creates a pane that transmits a color and reflects nothing.
pub fn colored_pane(color: Vec3) -> Material {
    Material { transmission: 1.0, ..Material::diffuse("pane", color) }
}

pub fn emissive(reflectance: f32, radiance: f32) -> Material {
    Material { emission: Vec3::splat(radiance), ..gray(reflectance) }
}

/// Precomputes relighting data of a scene with fully visible elements. It has `patches` patches, and `rays` rays for
/// each half of an element.
pub fn precomputed(
    scene: &Arc<Scene>,
    world: &dyn RayQuery,
    elements: &Elements,
    patches: usize,
    rays: u32,
) -> Precomputed {
    let mut backend = CpuBackend::new(scene, world, elements, 1);
    backend.run(&Step::Gather { rays: vec![rays; elements.len()], hits: Hits::Store }, &Unmonitored).unwrap();
    let halves = backend.snapshot().unwrap();
    let stored = || halves.iter().flat_map(|half| &half.stored);
    let visible = vec![1.0; elements.len()];
    let patches = Patches::uniform(elements, &visible, patches);
    let rows = Rows::of_hits(&patches, stored());
    let receivers = Receivers::new(elements, &visible, &patches);
    let hits = StoredTransport::new(&patches.order, &elements.reflectance, stored());
    Precomputed {
        transport: LowRank::new(patches, &elements.reflectance, &rows, 0.01),
        receivers,
        hits,
        contributions: Contributions::default(),
    }
}
