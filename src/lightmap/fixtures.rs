//! Small scenes with hand-made lightmap coordinates, for tests.

use std::sync::Arc;

use glam::{Affine3A, Vec2, Vec3};

use super::{Layout, PageSize, Placement, Rectangle, Unwrap, Voxels};
use crate::scene::{Material, MaterialId, MeshData, MeshId, Scene, Sides, Surface, SurfaceKey};

/// Builds a quad from a corner along two edges, with its front along `u x v`. Texture coordinates cover the unit
/// square.
pub fn quad(corner: Vec3, u: Vec3, v: Vec3) -> MeshData {
    MeshData {
        name: "quad".into(),
        positions: vec![corner, corner + u, corner + u + v, corner + v],
        normals: Vec::new(),
        uv0: Vec::new(),
        uv1: vec![Vec2::ZERO, Vec2::X, Vec2::ONE, Vec2::Y],
        other_uv: Vec::new(),
        colors: Vec::new(),
        triangles: vec![[0, 1, 2], [0, 2, 3]],
    }
}

/// Builds the six faces of a box as quads, fronts outside.
pub fn cuboid(min: Vec3, max: Vec3) -> Vec<MeshData> {
    let e = max - min;
    let (x, y, z) = (Vec3::X * e.x, Vec3::Y * e.y, Vec3::Z * e.z);
    vec![
        quad(min, z, y),
        quad(min + x, y, z),
        quad(min, x, z),
        quad(min + y, z, x),
        quad(min, y, x),
        quad(min + z, x, y),
    ]
}

/// Merges meshes into one, as one chart each, side by side in texture space with gaps between.
pub fn merged(parts: &[MeshData]) -> (MeshData, Vec<u32>) {
    let mut mesh = MeshData { name: "merged".into(), ..MeshData::default() };
    let mut charts = Vec::new();
    let columns = parts.len() as f32;
    for (chart, part) in parts.iter().enumerate() {
        let first = mesh.positions.len() as u32;
        mesh.positions.extend(&part.positions);
        mesh.uv1.extend(part.uv1.iter().map(|uv| {
            let inside = Vec2::new(0.125, 0.125) + *uv * 0.75;
            Vec2::new((chart as f32 + inside.x) / columns, inside.y)
        }));
        mesh.triangles.extend(part.triangles.iter().map(|triangle| triangle.map(|vertex| vertex + first)));
        charts.extend(part.triangles.iter().map(|_| chart as u32));
    }
    (mesh, charts)
}

/// Builds a ball with smooth normals and fronts outside. Its texture coordinates are longitude and latitude.
pub fn ball(radius: f32, columns: u32, rows: u32) -> MeshData {
    let mut mesh = MeshData { name: "ball".into(), ..MeshData::default() };
    for row in 0..=rows {
        for column in 0..=columns {
            let uv = Vec2::new(column as f32 / columns as f32, row as f32 / rows as f32);
            let (sine, cosine) = (uv.x * core::f32::consts::TAU).sin_cos();
            let (ring, height) = (uv.y * core::f32::consts::PI).sin_cos();
            let normal = Vec3::new(ring * cosine, height, -ring * sine);
            mesh.positions.push(normal * radius);
            mesh.normals.push(normal);
            mesh.uv1.push(uv);
        }
    }
    for row in 0..rows {
        for column in 0..columns {
            let a = row * (columns + 1) + column;
            let (b, c, d) = (a + 1, a + columns + 1, a + columns + 2);
            mesh.triangles.extend([[a, c, b], [b, c, d]]);
        }
    }
    mesh
}

/// Scene under construction, with its layout.
#[derive(Default)]
pub struct Fixture {
    pub scene: Scene,
    pub layout: Layout,
    pub volume: Option<Voxels>,
    pub relight: Option<Vec<u8>>,
}

impl Fixture {
    /// Adds a surface of one chart on its own page.
    pub fn add(&mut self, mesh: MeshData, sides: Sides, size: [u32; 2]) -> &mut Self {
        let charts = vec![0; mesh.triangles.len()];
        self.add_charts(mesh, charts, sides, size)
    }

    /// Adds a surface on its own page.
    pub fn add_charts(
        &mut self,
        mesh: MeshData,
        charts: Vec<u32>,
        sides: Sides,
        [width, height]: [u32; 2],
    ) -> &mut Self {
        let number = self.scene.surfaces.len();
        let mut surface = Surface::new(SurfaceKey(format!("surface {number}")), MeshId(number as u32), MaterialId(0));
        surface.sides = sides;
        self.scene.surfaces.push(surface);
        self.scene.meshes.push(Arc::new(mesh.clone()));
        self.scene.materials.resize(1, Material::diffuse("gray", Vec3::splat(0.5)));
        let source_vertices = (0..mesh.positions.len() as u32).collect();
        self.layout.placements.push(Some(Placement {
            unwrap: Arc::new(Unwrap {
                reversed_from: mesh.triangles.len() as u32,
                mesh,
                source_vertices,
                charts,
                width,
                height,
            }),
            page: number as u32,
            rectangle: Rectangle { x: 0, y: 0, width, height },
        }));
        self.layout.pages.push(PageSize { width, height });
        self
    }

    /// Gives the back of the last surface, which has one chart, its own texels. They follow to the right on a page of
    /// twice the width.
    pub fn two_sided(&mut self) -> &mut Self {
        let placement = self.layout.placements.last_mut().and_then(Option::as_mut).expect("a surface was added");
        let mut unwrap = (*placement.unwrap).clone();
        let count = unwrap.mesh.positions.len() as u32;
        let mesh = &mut unwrap.mesh;
        mesh.positions.extend_from_within(..);
        mesh.normals.extend(mesh.normals.clone().iter().map(|normal| -*normal));
        mesh.uv1 =
            [0.0, 0.5].iter().flat_map(|x| mesh.uv1.iter().map(move |uv| Vec2::new(x + uv.x * 0.5, uv.y))).collect();
        mesh.triangles.extend(mesh.triangles.clone().iter().map(|&[a, b, c]| [a + count, c + count, b + count]));
        unwrap.source_vertices.extend_from_within(..);
        unwrap.charts.extend(vec![1; unwrap.charts.len()]);
        unwrap.width *= 2;
        placement.rectangle.width *= 2;
        self.layout.pages[placement.page as usize].width *= 2;
        placement.unwrap = Arc::new(unwrap);
        self
    }

    /// Sets the transform of the last surface.
    pub fn placed(&mut self, to_world: Affine3A) -> &mut Self {
        self.scene.surfaces.last_mut().expect("a surface was added").to_world = to_world;
        self
    }
}
