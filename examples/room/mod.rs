//! Shared room of several examples: white with a blue wall, a block and a pillar.

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;

/// Spawner of rooms and objects.
#[derive(SystemParam)]
pub struct Furnisher<'w, 's> {
    pub commands: Commands<'w, 's>,
    pub meshes: ResMut<'w, Assets<Mesh>>,
    pub materials: ResMut<'w, Assets<StandardMaterial>>,
}

impl Furnisher<'_, '_> {
    /// Spawns the room, 4 m wide and 3 m high, open toward the viewer.
    pub fn spawn_room(&mut self) {
        let white = self.materials.add(diffuse(0.73, 0.73, 0.73));
        let blue = self.materials.add(diffuse(0.15, 0.2, 0.6));
        // The half sizes refer to the plane's own axes after rotation. Walls end where they meet: a part outside the
        // room would be dark, and texels across the edge would show that inside.
        let wall = |normal: Vec3, x: f32, y: f32| Plane3d::new(normal, Vec2::new(x, y));
        self.spawn("floor", wall(Vec3::Y, 2.0, 2.0), &white, Vec3::ZERO);
        self.spawn("ceiling", wall(Vec3::NEG_Y, 2.0, 2.0), &white, Vec3::new(0.0, 3.0, 0.0));
        self.spawn("back", wall(Vec3::Z, 2.0, 1.5), &white, Vec3::new(0.0, 1.5, -2.0));
        self.spawn("left", wall(Vec3::X, 1.5, 2.0), &blue, Vec3::new(-2.0, 1.5, 0.0));
        self.spawn("right", wall(Vec3::NEG_X, 1.5, 2.0), &white, Vec3::new(2.0, 1.5, 0.0));
        self.spawn("block", Cuboid::new(0.7, 0.7, 0.7), &white, Vec3::new(-0.7, 0.35, 0.5));
        self.spawn("pillar", Cylinder::new(0.2, 3.0), &white, Vec3::new(0.3, 1.5, -0.9));
    }

    /// Spawns one object with its center at a place.
    pub fn spawn(&mut self, name: &str, mesh: impl Into<Mesh>, material: &Handle<StandardMaterial>, place: Vec3) {
        let drawn = (Mesh3d(self.meshes.add(mesh)), MeshMaterial3d(material.clone()));
        self.commands.spawn((Name::new(name.to_owned()), drawn, Transform::from_translation(place)));
    }
}

/// Returns a diffuse material of the given reflectance.
pub fn diffuse(red: f32, green: f32, blue: f32) -> StandardMaterial {
    let base_color = Color::linear_rgb(red, green, blue);
    StandardMaterial { base_color, perceptual_roughness: 1.0, reflectance: 0.0, ..default() }
}
