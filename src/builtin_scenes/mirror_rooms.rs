//! Rooms with mirrors and glass, after the descriptions of the scenes in Romano's thesis (Naples, 2011), figures 5.1.2,
//! 5.1.3 and 5.1.5. The thesis gives no dimensions, so these are models of our own.

use glam::{Vec2, Vec3};

use super::boxes::{self, red_green_white};
use super::builder::{ALL_WALLS, Builder};
use super::finishes::{GREENISH, STEEL, glass, metal};
use super::model::{Model, faces};
use crate::scene::shapes::{cuboid, lathe};
use crate::scene::{Material, MeshData};

/// Bounds of all rooms but the Cornell box, in meters.
const MIN: Vec3 = Vec3::new(-2.0, 0.0, -2.0);
const MAX: Vec3 = Vec3::new(2.0, 3.0, 2.0);

/// Radius of the lamp and of the shade around it.
const LAMP: f32 = 0.15;
/// Heights of the hidden lamp, of the rim of its shade, and of the mirror above it.
const HEIGHTS: [f32; 3] = [0.6, 1.2, 2.9];
/// Half of an edge of that mirror. Rays from the lamp past the rim reach 1 m from the axis there.
const HALF_MIRROR: f32 = 1.05;

/// Builds the Cornell box with a mirroring ball and one of glass in place of its blocks.
pub(super) fn cornell_balls() -> Builder {
    let mut builder = boxes::cornell(false);
    builder.add_ball(Vec3::new(-0.45, -0.6, -0.35), 0.4, metal("mirror", STEEL, 0.0));
    builder.add_ball(Vec3::new(0.45, -0.65, 0.3), 0.35, glass("glass", Vec3::ONE));
    builder
}

/// Builds a closed room with a lamp in a black shade. All its light meets a mirror below the ceiling.
pub(super) fn hidden_lamp() -> Builder {
    let mut builder = room(|wall| (red_green_white(wall) * 0.9, Vec3::ZERO));
    let [lamp, rim, mirror] = HEIGHTS;
    let profile = |points: &[[f32; 2]]| -> Vec<Vec2> { points.iter().copied().map(Vec2::from).collect() };
    builder.add(lathe("lamp", &profile(&[[LAMP, lamp], [0.0, lamp]]), 48), Vec3::ZERO, Vec3::splat(60_000.0));
    // Profiles that run downwards have their front inside.
    builder.add(lathe("shade_inside", &profile(&[[LAMP, rim], [LAMP, lamp]]), 48), Vec3::ZERO, Vec3::ZERO);
    builder.add(lathe("shade", &profile(&[[0.3, 0.0], [LAMP, rim]]), 48), Vec3::splat(0.6), Vec3::ZERO);
    builder.add_made_of(at_ceiling("mirror", [0.0, 0.0], HALF_MIRROR, mirror), metal("mirror", STEEL, 0.0));
    builder.add_ball(Vec3::new(1.0, 0.45, 0.2), 0.45, Material::diffuse("yellow", Vec3::new(0.75, 0.6, 0.1)));
    let block = cuboid("block", Vec3::new(-1.5, 0.0, -1.3), Vec3::new(-0.7, 1.0, -0.5));
    builder.add(block, Vec3::splat(0.7), Vec3::ZERO);
    builder
}

/// Builds a closed room with mirrors as left and right walls.
pub(super) fn mirror_walls() -> Builder {
    let is_mirror = |wall: &&str| ["left", "right"].contains(wall);
    let mut builder = Builder::default();
    let diffuse: Vec<&str> = ALL_WALLS.into_iter().filter(|wall| !is_mirror(wall)).collect();
    builder.add_room(MIN, MAX, &diffuse, |wall| match wall {
        "back" => (Vec3::new(0.2, 0.35, 0.65), Vec3::ZERO),
        _ => (Vec3::splat(0.7), Vec3::ZERO),
    });
    builder.add_walls(MIN, MAX, &["left", "right"], |wall| metal(wall, Vec3::splat(0.95), 0.0));
    builder.add(at_ceiling("lamp", [0.5, 0.0], 0.3, 2.98), Vec3::ZERO, Vec3::splat(1500.0));
    builder.add_ball(Vec3::new(-0.8, 0.5, -0.6), 0.5, Material::diffuse("red", Vec3::new(0.65, 0.1, 0.08)));
    builder.add_ball(Vec3::new(0.9, 0.35, 0.1), 0.35, Material::diffuse("yellow", Vec3::new(0.75, 0.6, 0.1)));
    builder.add_camera("whole", Vec3::new(-0.3, 1.6, 1.95), Vec3::new(0.2, 1.1, -2.0), 65.0);
    builder
}

/// Builds a closed white room with a mirror as its floor. Diffuse balls lie on it around one of glass.
pub(super) fn mirror_floor() -> Builder {
    let mut builder = Builder::default();
    builder.add_room(MIN, MAX, &["left", "right", "ceiling", "back", "front"], |_| (Vec3::splat(0.75), Vec3::ZERO));
    builder.add_walls(MIN, MAX, &["floor"], |wall| metal(wall, STEEL, 0.0));
    builder.add(at_ceiling("lamp", [0.0, 0.2], 0.35, 2.98), Vec3::ZERO, Vec3::splat(1500.0));
    builder.add_ball(Vec3::new(0.0, 0.45, 0.0), 0.45, glass("glass", GREENISH));
    for (name, x, z, radius, color) in [
        ("red", -1.2, -0.9, 0.4, Vec3::new(0.65, 0.08, 0.06)),
        ("yellow", 0.15, -1.5, 0.35, Vec3::new(0.75, 0.6, 0.1)),
        ("green", 1.3, -0.8, 0.45, Vec3::new(0.12, 0.5, 0.12)),
        ("blue", -0.9, 0.5, 0.25, Vec3::new(0.1, 0.2, 0.6)),
        ("violet", 0.95, 0.6, 0.3, Vec3::new(0.4, 0.12, 0.5)),
    ] {
        builder.add_ball(Vec3::new(x, radius, z), radius, Material::diffuse(name, color));
    }
    builder.add_camera("whole", Vec3::new(0.0, 1.3, 1.95), Vec3::new(0.0, 0.65, -0.6), 65.0);
    builder
}

/// Returns a square slab that hangs from the ceiling down to the height `bottom`.
fn at_ceiling(name: &str, [x, z]: [f32; 2], half: f32, bottom: f32) -> MeshData {
    Model::new(name).cuboid([x - half, bottom, z - half], [x + half, MAX.y, z + half], faces::HANGING).mesh()
}

/// Builds a closed room with a camera at its front wall.
fn room(material: impl Fn(&str) -> (Vec3, Vec3)) -> Builder {
    let mut builder = Builder::default();
    builder.add_room(MIN, MAX, &ALL_WALLS, material);
    builder.add_camera("whole", Vec3::new(0.0, 1.6, 1.95), Vec3::new(0.0, 1.2, -2.0), 65.0);
    builder
}
