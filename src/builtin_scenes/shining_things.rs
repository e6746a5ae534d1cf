//! Scenes of glossy, refractive and mirroring objects, which no lightmap can show.

use glam::Vec3;

use super::boxes::red_green_white;
use super::builder::Builder;
use super::finishes::{GREENISH, STEEL, glass, metal};
use crate::scene::shapes::{bezier_patch, icosphere, torus};
use crate::scene::{Material, MeshData, Sides};

/// Builds a room of 4 by 4 by 2.5 m, open to the front, with glossy objects.
pub(super) fn shining_things() -> Builder {
    let mut builder = Builder::default();
    let walls = ["left", "right", "floor", "ceiling", "back"];
    builder.add_room(Vec3::new(-2.0, 0.0, -2.0), Vec3::new(2.0, 2.5, 2.0), &walls, |wall| {
        (red_green_white(wall) * 0.8, Vec3::ZERO)
    });
    builder.add_panel("lamp", Vec3::new(0.0, 2.49, 0.0), 0.6, 0.6, Vec3::splat(1000.0));
    let mut ball = icosphere("ball", 0.6, 4);
    ball.positions.iter_mut().for_each(|position| *position += Vec3::new(-0.9, 0.6, -0.4));
    builder.add_made_of(ball, metal("gold", Vec3::new(1.0, 0.77, 0.34), 0.25));
    let mut ring = torus("ring", 0.5, 0.2, 96, 48);
    ring.positions.iter_mut().for_each(|position| *position += Vec3::new(0.7, 0.2, 0.6));
    let red = Material { metallic: 0.0, ..metal("plastic", Vec3::new(0.6, 0.03, 0.02), 0.2) };
    builder.add_made_of(ring, red);
    builder.add_made_of(wavy_sheet(), metal("steel", Vec3::new(0.66, 0.65, 0.63), 0.45));
    if let Some(sheet) = builder.scene.surfaces.last_mut() {
        sheet.sides = Sides::Both;
    }
    builder.add_camera("whole", Vec3::new(0.0, 1.3, 5.2), Vec3::new(0.0, 1.0, 0.0), 45.0);
    builder
}

/// Builds a room of 4 by 3 by 4 m, open to the front. Diffuse, mirroring and clear balls lie under two lamps. Light
/// also reaches the floor through the glass.
pub(super) fn glass_and_mirrors() -> Builder {
    let mut builder = Builder::default();
    let walls = ["left", "right", "floor", "ceiling", "back"];
    builder.add_room(Vec3::new(-2.0, 0.0, -2.0), Vec3::new(2.0, 3.0, 2.0), &walls, |wall| {
        (red_green_white(wall) * 0.9, Vec3::ZERO)
    });
    builder.add_panel("lamp_left", Vec3::new(-0.9, 2.99, -0.3), 0.3, 0.3, Vec3::new(1500.0, 1200.0, 800.0));
    builder.add_panel("lamp_right", Vec3::new(1.1, 2.99, 0.6), 0.15, 0.15, Vec3::new(3000.0, 3300.0, 4200.0));
    builder.add_ball(Vec3::new(-0.95, 0.65, -0.9), 0.65, metal("steel", STEEL, 0.0));
    builder.add_ball(Vec3::new(0.55, 0.5, 0.45), 0.5, glass("glass", GREENISH));
    builder.add_ball(Vec3::new(-0.5, 0.4, 0.7), 0.4, Material::diffuse("blue", Vec3::new(0.1, 0.2, 0.6)));
    builder.add_ball(Vec3::new(1.1, 0.45, -0.9), 0.45, Material::diffuse("yellow", Vec3::new(0.75, 0.6, 0.1)));
    builder.add_camera("whole", Vec3::new(0.0, 1.4, 5.0), Vec3::new(0.0, 1.1, 0.0), 46.0);
    builder
}

/// Builds a wavy sheet at the right of the back wall, with upright waves.
fn wavy_sheet() -> MeshData {
    let depth = [-1.9, -0.7, -1.9, -0.7];
    let control = core::array::from_fn(|row: usize| {
        core::array::from_fn(|column: usize| Vec3::new(column as f32 * 0.5, row as f32 * 0.6 + 0.02, depth[column]))
    });
    bezier_patch("sheet", control, 32)
}
