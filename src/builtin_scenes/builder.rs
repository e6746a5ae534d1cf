//! Construction of built-in scenes: one mesh and one material at a time, each under a unique name.

use std::sync::Arc;

use glam::{Affine3A, Vec3};

use crate::scene::shapes::{cuboid_faces, icosphere, quad};
use crate::scene::{Camera, Material, MaterialId, MeshData, MeshId, Scene, Surface, SurfaceKey};

/// Walls of a room, in the order of [`cuboid_faces`].
pub(super) const ALL_WALLS: [&str; 6] = ["left", "right", "floor", "ceiling", "back", "front"];

/// Mesh with its material, to be placed once or several times.
#[derive(Clone, Copy)]
pub(super) struct Thing {
    mesh: MeshId,
    material: MaterialId,
}

/// Builder of a scene.
#[derive(Default)]
pub(super) struct Builder {
    /// Prefix of all names added from now on.
    pub prefix: String,
    /// Scene built so far.
    pub scene: Scene,
    /// Recommended cameras.
    pub cameras: Vec<Camera>,
}

impl Builder {
    pub fn add(&mut self, mesh: MeshData, reflectance: Vec3, emission: Vec3) {
        let name = format!("{}{}", self.prefix, mesh.name);
        let material = Material { emission, ..Material::diffuse(name, reflectance) };
        self.add_made_of(mesh, material);
    }

    pub fn add_made_of(&mut self, mut mesh: MeshData, material: Material) {
        mesh.name = format!("{}{}", self.prefix, mesh.name);
        let name = mesh.name.clone();
        let thing = self.make(mesh, material);
        self.push(name, thing, Affine3A::IDENTITY);
    }

    /// Adds a ball of 20,480 triangles that has the name of its material.
    pub fn add_ball(&mut self, center: Vec3, radius: f32, material: Material) {
        let mut ball = icosphere(&material.name, radius, 5);
        ball.positions.iter_mut().for_each(|position| *position += center);
        self.add_made_of(ball, material);
    }

    /// Adds a mesh and a material without a surface; [placing](Self::place) the thing adds one.
    pub fn make(&mut self, mesh: MeshData, material: Material) -> Thing {
        let thing = Thing {
            mesh: MeshId::from_index(self.scene.meshes.len()),
            material: MaterialId::from_index(self.scene.materials.len()),
        };
        self.scene.materials.push(material);
        self.scene.meshes.push(Arc::new(mesh));
        thing
    }

    /// Adds a diffuse [thing](Self::make).
    pub fn make_diffuse(&mut self, mesh: MeshData, reflectance: Vec3) -> Thing {
        let material = Material::diffuse(mesh.name.clone(), reflectance);
        self.make(mesh, material)
    }

    /// Adds an emissive [thing](Self::make) with zero reflectance.
    pub fn make_lamp(&mut self, mesh: MeshData, emission: Vec3) -> Thing {
        let material = Material { emission, ..Material::diffuse(mesh.name.clone(), Vec3::ZERO) };
        self.make(mesh, material)
    }

    /// Adds an instance of a thing to the scene.
    pub fn place(&mut self, name: &str, thing: Thing, to_world: Affine3A) {
        self.push(format!("{}{name}", self.prefix), thing, to_world);
    }

    /// Adds a diffuse mesh to the scene, as one instance.
    pub fn place_diffuse(&mut self, name: &str, mesh: MeshData, reflectance: impl Into<Vec3>, to_world: Affine3A) {
        let thing = self.make_diffuse(mesh, reflectance.into());
        self.place(name, thing, to_world);
    }

    fn push(&mut self, name: String, thing: Thing, to_world: Affine3A) {
        let key = SurfaceKey::from_node(&name, 0);
        self.scene.surfaces.push(Surface { to_world, ..Surface::new(key, thing.mesh, thing.material) });
    }

    /// Adds a box seen from inside. `material` returns reflectance and emission of a wall.
    pub fn add_room(&mut self, min: Vec3, max: Vec3, walls: &[&str], material: impl Fn(&str) -> (Vec3, Vec3)) {
        let prefix = self.prefix.clone();
        self.add_walls(min, max, walls, |wall| {
            let (reflectance, emission) = material(wall);
            Material { emission, ..Material::diffuse(format!("{prefix}{wall}"), reflectance) }
        });
    }

    /// Adds walls of a box seen from inside, each of the material that `material` returns for it.
    pub fn add_walls(&mut self, min: Vec3, max: Vec3, walls: &[&str], material: impl Fn(&str) -> Material) {
        for (wall, mut corners) in ALL_WALLS.into_iter().zip(cuboid_faces(min, max)) {
            if walls.contains(&wall) {
                corners.reverse();
                self.add_made_of(quad(wall, corners), material(wall));
            }
        }
    }

    /// Adds a horizontal panel that emits downwards and has zero reflectance.
    pub fn add_panel(&mut self, name: &str, center: Vec3, half_x: f32, half_z: f32, emission: Vec3) {
        let corner = |x: f32, z: f32| center + Vec3::new(x * half_x, 0.0, z * half_z);
        let corners = [corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
        self.add(quad(name, corners), Vec3::ZERO, emission);
    }

    /// Adds a named camera that looks from one point at another.
    pub fn add_camera(&mut self, name: &str, eye: Vec3, target: Vec3, vertical_fov_degrees: f32) {
        let camera = Camera::looking_at(eye, target, vertical_fov_degrees.to_radians());
        self.cameras.extend(camera.map(|camera| Camera { name: name.to_owned(), ..camera }));
    }
}
