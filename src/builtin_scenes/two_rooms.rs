//! Scenes of two rooms with a wall between them, and a lamp in one.

use glam::Vec3;

use super::builder::{ALL_WALLS, Builder};
use crate::scene::shapes::quad;

/// Half the thickness of the wall between the two rooms, in meters.
pub(super) const HALF_WALL: f32 = 0.1;
const ROOM_HEIGHT: f32 = 3.0;
pub(super) const DOOR_HEIGHT: f32 = 2.0;
pub(super) const HALF_DOOR: f32 = 0.5;
const HALF_DEPTH: f32 = 2.0;
const ROOM_REACH: f32 = 4.0;

/// Adds two rooms of 3.9 by 4 by 3 m, one on each side of the plane x = 0. The room at negative x has a lamp.
fn add_rooms(builder: &mut Builder, walls: &[&str], reflectance: Vec3) {
    for (side, name) in [(-1.0, "west"), (1.0, "east")] {
        let (near, far) = (side * HALF_WALL, side * ROOM_REACH);
        let min = Vec3::new(near.min(far), 0.0, -HALF_DEPTH);
        let max = Vec3::new(near.max(far), ROOM_HEIGHT, HALF_DEPTH);
        let dividing = if side < 0.0 { "right" } else { "left" };
        let walls: Vec<&str> = ALL_WALLS.into_iter().filter(|wall| *wall != dividing || walls.contains(wall)).collect();
        builder.prefix = format!("{name}_");
        builder.add_room(min, max, &walls, |_| (reflectance, Vec3::ZERO));
    }
    builder.prefix.clear();
    builder.add_panel("lamp", Vec3::new(-2.0, ROOM_HEIGHT - 0.01, 0.0), 0.5, 0.5, Vec3::splat(100.0));
}

pub(super) fn closed_rooms() -> Builder {
    let mut builder = Builder::default();
    add_rooms(&mut builder, &["left", "right"], Vec3::splat(0.7));
    builder
}

pub(super) fn two_rooms() -> Builder {
    let mut builder = Builder::default();
    let reflectance = Vec3::splat(0.7);
    add_rooms(&mut builder, &[], reflectance);
    let mut wall = |name: &str, corners: [Vec3; 4]| builder.add(quad(name, corners), reflectance, Vec3::ZERO);
    let at = Vec3::new;
    // Wall pieces beside and above the doorway, on both faces of the wall.
    for (side, room) in [(-1.0, "west"), (1.0, "east")] {
        let x = side * HALF_WALL;
        let pieces = [
            ("beside_back", -HALF_DEPTH, -HALF_DOOR, 0.0),
            ("beside_front", HALF_DOOR, HALF_DEPTH, 0.0),
            ("above", -HALF_DOOR, HALF_DOOR, DOOR_HEIGHT),
        ];
        for (piece, z_min, z_max, y_min) in pieces {
            let mut corners =
                [at(x, y_min, z_min), at(x, y_min, z_max), at(x, ROOM_HEIGHT, z_max), at(x, ROOM_HEIGHT, z_min)];
            if side > 0.0 {
                corners.reverse();
            }
            wall(&format!("{room}_{piece}"), corners);
        }
    }
    let (w, d, h) = (HALF_WALL, HALF_DOOR, DOOR_HEIGHT);
    wall("sill", [at(-w, 0.0, d), at(w, 0.0, d), at(w, 0.0, -d), at(-w, 0.0, -d)]);
    wall("lintel", [at(-w, h, -d), at(w, h, -d), at(w, h, d), at(-w, h, d)]);
    wall("jamb_back", [at(-w, 0.0, -d), at(w, 0.0, -d), at(w, h, -d), at(-w, h, -d)]);
    wall("jamb_front", [at(w, 0.0, d), at(-w, 0.0, d), at(-w, h, d), at(w, h, d)]);
    builder
}
