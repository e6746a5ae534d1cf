//! Rooms of one quad per wall, and the inside of a ball. Closed forms and other renderers provide references.

use glam::{Affine3A, Vec3};

use super::builder::{ALL_WALLS, Builder};
use super::finishes::{STEEL, metal};
use crate::geometry::rotation_y;
use crate::scene::Material;
use crate::scene::shapes::{cuboid_faces, icosphere, inside_out, quad};

const WHITE: Vec3 = Vec3::new(0.885_809, 0.698_859, 0.666_422);
const GREEN: Vec3 = Vec3::new(0.105_421, 0.377_98, 0.076_425);
const RED: Vec3 = Vec3::new(0.570_068, 0.043_013_5, 0.044_370_6);
const LIGHT: Vec3 = Vec3::new(18.387, 13.987_3, 6.753_57);

/// Builds the inside of a ball of radius 1 with uniform reflectance and emission.
pub(super) fn sphere(subdivisions: u32, reflectance: f32, emission: f32) -> Builder {
    let mut builder = Builder::default();
    let ball = inside_out(icosphere("ball", 1.0, subdivisions));
    builder.add(ball, Vec3::splat(reflectance), Vec3::splat(emission));
    builder
}

/// Builds a cube of edge length 1 with an emissive ceiling.
pub(super) fn unit_cube(reflectance: f32) -> Builder {
    let mut builder = Builder::default();
    builder.add_room(Vec3::splat(-0.5), Vec3::splat(0.5), &ALL_WALLS, |wall| {
        (Vec3::splat(reflectance), if wall == "ceiling" { Vec3::ONE } else { Vec3::ZERO })
    });
    builder
}

pub(super) fn cornell(with_blocks: bool) -> Builder {
    let mut builder = Builder::default();
    let walls = ["left", "right", "floor", "ceiling", "back"];
    builder.add_room(Vec3::NEG_ONE, Vec3::ONE, &walls, |wall| (red_green_white(wall), Vec3::ZERO));
    builder.add_panel("light", Vec3::new(0.0, 0.99, 0.0), 0.23, 0.19, LIGHT);
    if with_blocks {
        add_small_block(&mut builder);
        add_large_block(&mut builder, |name| Material::diffuse(name, WHITE));
    }
    builder.add_camera("whole", Vec3::new(0.0, 0.0, 3.9), Vec3::ZERO, 39.3);
    builder
}

/// Builds the Cornell box with a mirror as its large block.
pub(super) fn cornell_mirror() -> Builder {
    let mut builder = cornell(false);
    add_small_block(&mut builder);
    add_large_block(&mut builder, |name| metal(name, STEEL, 0.0));
    builder
}

pub(super) fn furnace() -> Builder {
    let mut builder = Builder::default();
    let (reflectance, emission) = (Vec3::new(0.2, 0.5, 0.8), Vec3::new(0.8, 0.5, 0.2));
    builder.add_room(Vec3::NEG_ONE, Vec3::ONE, &ALL_WALLS, |_| (reflectance, emission));
    builder
}

pub(super) fn ceiling() -> Builder {
    let mut builder = Builder::default();
    builder.add_room(Vec3::NEG_ONE, Vec3::ONE, &ALL_WALLS, |wall| match wall {
        "ceiling" => (Vec3::splat(0.3), Vec3::new(1.0, 0.8, 0.6)),
        wall => (red_green_white(wall), Vec3::ZERO),
    });
    builder
}

pub(super) fn red_green_white(wall: &str) -> Vec3 {
    match wall {
        "left" => RED,
        "right" => GREEN,
        _ => WHITE,
    }
}

fn add_small_block(builder: &mut Builder) {
    let material = |name: &str| Material::diffuse(name, WHITE);
    add_block(builder, "small", Vec3::new(0.335, -0.7, 0.38), Vec3::splat(0.3), -17.0, material);
}

fn add_large_block(builder: &mut Builder, material: impl Fn(&str) -> Material) {
    add_block(builder, "large", Vec3::new(-0.33, -0.4, -0.28), Vec3::new(0.3, 0.6, 0.3), 18.25, material);
}

/// Adds a block on the floor, rotated around the vertical. The block has no underside.
fn add_block(
    builder: &mut Builder,
    name: &str,
    center: Vec3,
    half: Vec3,
    degrees: f32,
    material: impl Fn(&str) -> Material,
) {
    let place = Affine3A::from_rotation_translation(rotation_y(degrees.to_radians()), center);
    let [left, right, _, top, back, front] = cuboid_faces(-half, half);
    for (face, corners) in [("top", top), ("z+", front), ("z-", back), ("x+", right), ("x-", left)] {
        let corners = corners.map(|corner| place.transform_point3(corner));
        let name = format!("{name}_{face}");
        builder.add_made_of(quad(&name, corners), material(&name));
    }
}
