//! A room that several examples share: white but for a blue wall, with a block and a pillar in it.

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;

/// Spawns what rooms are made of.
#[derive(SystemParam)]
pub struct Furnisher<'w, 's> {
    pub commands: Commands<'w, 's>,
    pub meshes: ResMut<'w, Assets<Mesh>>,
    pub materials: ResMut<'w, Assets<StandardMaterial>>,
}

impl Furnisher<'_, '_> {
    /// The room, 4 m wide and 3 m high, open toward the viewer.
    pub fn spawn_room(&mut self) {
        let white = self.materials.add(matt(0.73, 0.73, 0.73));
        let blue = self.materials.add(matt(0.15, 0.2, 0.6));
        // Half sizes go with the axes that the plane's own were turned to. Walls end where they meet: what would stand out
        // of the room is dark, and texels across the edge would show it inside.
        let wall = |normal: Vec3, x: f32, y: f32| Plane3d::new(normal, Vec2::new(x, y));
        self.spawn("floor", wall(Vec3::Y, 2.0, 2.0), &white, Vec3::ZERO);
        self.spawn("ceiling", wall(Vec3::NEG_Y, 2.0, 2.0), &white, Vec3::new(0.0, 3.0, 0.0));
        self.spawn("back", wall(Vec3::Z, 2.0, 1.5), &white, Vec3::new(0.0, 1.5, -2.0));
        self.spawn("left", wall(Vec3::X, 1.5, 2.0), &blue, Vec3::new(-2.0, 1.5, 0.0));
        self.spawn("right", wall(Vec3::NEG_X, 1.5, 2.0), &white, Vec3::new(2.0, 1.5, 0.0));
        self.spawn("block", Cuboid::new(0.7, 0.7, 0.7), &white, Vec3::new(-0.7, 0.35, 0.5));
        self.spawn("pillar", Cylinder::new(0.2, 3.0), &white, Vec3::new(0.3, 1.5, -0.9));
    }

    /// One thing, with its middle at a place.
    pub fn spawn(&mut self, name: &str, mesh: impl Into<Mesh>, material: &Handle<StandardMaterial>, place: Vec3) {
        let drawn = (Mesh3d(self.meshes.add(mesh)), MeshMaterial3d(material.clone()));
        self.commands.spawn((Name::new(name.to_owned()), drawn, Transform::from_translation(place)));
    }
}

/// Scatters so much of red, green and blue light, the same toward all sides.
pub fn matt(red: f32, green: f32, blue: f32) -> StandardMaterial {
    let base_color = Color::linear_rgb(red, green, blue);
    StandardMaterial { base_color, perceptual_roughness: 1.0, reflectance: 0.0, ..default() }
}
