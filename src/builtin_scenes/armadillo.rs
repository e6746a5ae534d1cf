//! Scene of one or two armored creatures in an empty room.

use core::f32::consts::TAU;

use glam::{Affine3A, Vec2, Vec3, Vec3Swizzles};

use super::builder::{ALL_WALLS, Builder};
use super::creature::creature;
use super::model::turned_at;
use crate::scene::MeshData;

const HEIGHT: f32 = 3.2;

/// Builds the room with one creature.
pub(super) fn armadillo() -> Builder {
    room(&[turned_at([-1.2, 0.0, -1.1], 25.0)])
}

/// Builds the room with a creature and its copy, both on the same side.
pub(super) fn armadillos() -> Builder {
    room(&[turned_at([-1.2, 0.0, -1.1], 25.0), turned_at([-1.2, 0.0, 1.2], 60.0)])
}

fn room(places: &[Affine3A]) -> Builder {
    let mut builder = Builder::default();
    builder.add_room(Vec3::new(-2.5, 0.0, -2.5), Vec3::new(2.5, HEIGHT, 2.5), &ALL_WALLS, |wall| {
        let reflectance = match wall {
            "left" => Vec3::new(0.55, 0.25, 0.2),
            "right" => Vec3::new(0.25, 0.35, 0.55),
            "floor" => Vec3::new(0.45, 0.4, 0.35),
            _ => Vec3::splat(0.7),
        };
        (reflectance, Vec3::ZERO)
    });
    builder.add(lamp(), Vec3::ZERO, Vec3::new(2200.0, 2000.0, 1700.0));
    let skin = builder.make_diffuse(creature(), Vec3::new(0.5, 0.42, 0.3));
    for (number, place) in places.iter().enumerate() {
        builder.place(&format!("creature_{number}"), skin, *place);
    }
    builder.add_camera("inside", Vec3::new(2.2, 1.7, 2.3), Vec3::new(-0.8, 1.0, -0.6), 55.0);
    builder
}

/// Builds a polygonal plate below the ceiling that emits downwards.
fn lamp() -> MeshData {
    const SIDES: u32 = 43;
    let corner = |side: u32| {
        let (sine, cosine) = libm::sincosf(side as f32 / SIDES as f32 * TAU);
        Vec2::new(cosine, sine)
    };
    MeshData {
        name: "lamp".to_owned(),
        positions: (0..SIDES)
            .map(|side| Vec3::new(0.5, HEIGHT - 0.02, 0.0) + corner(side).extend(0.0).xzy() * 0.5)
            .collect(),
        normals: vec![Vec3::NEG_Y; SIDES as usize],
        uv0: (0..SIDES).map(|side| Vec2::splat(0.5) + corner(side) * 0.5).collect(),
        uv1: Vec::new(),
        other_uv: Vec::new(),
        colors: Vec::new(),
        triangles: (1..SIDES - 1).map(|side| [0, side, side + 1]).collect(),
    }
}
