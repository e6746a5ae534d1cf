//! Balls upon balls, after the recursive object of 780 spheres in Romano's thesis (Naples, 2011), figure 5.1.6.

use glam::{Affine3A, Mat3, Vec3};

use super::boxes::red_green_white;
use super::builder::{ALL_WALLS, Builder, Thing};
use super::finishes::{GREENISH, STEEL, glass, metal};
use super::model::{Model, faces};
use crate::scene::Material;
use crate::scene::shapes::icosphere;

/// Radius of the ball that carries all others, in meters.
pub(super) const ROOT: f32 = 0.7;
/// Radius of a ball over that of the ball that carries it. Up to `sqrt(2) - 1` no two balls meet.
pub(super) const SHRINK: f32 = 0.4;
/// Number of generations, of `5 + 25 + 125 + 625 = 780` balls.
const GENERATIONS: usize = 4;
/// Subdivisions of a ball by its generation; small balls need fewer triangles.
const SUBDIVISIONS: [u32; GENERATIONS + 1] = [5, 4, 3, 2, 1];

/// Directions away from a ball.
const DIRECTIONS: [Vec3; 6] = [Vec3::Y, Vec3::X, Vec3::Z, Vec3::NEG_X, Vec3::NEG_Z, Vec3::NEG_Y];

/// Builds a closed room with a large ball. It carries five balls, each of which carries five, and so on.
pub(super) fn ball_flake() -> Builder {
    let mut builder = Builder::default();
    builder.add_room(Vec3::new(-2.5, 0.0, -2.5), Vec3::new(2.5, 3.5, 2.5), &ALL_WALLS, |wall| {
        (red_green_white(wall) * 0.9, Vec3::ZERO)
    });
    let lamp = Model::new("lamp").cuboid([0.4, 3.48, 0.4], [1.2, 3.5, 1.2], faces::HANGING).mesh();
    builder.add(lamp, Vec3::ZERO, Vec3::splat(1500.0));
    let balls: Vec<Vec<Thing>> = SUBDIVISIONS
        .iter()
        .map(|&subdivisions| {
            materials().map(|material| builder.make(icosphere(&material.name, 1.0, subdivisions), material)).into()
        })
        .collect();
    let mut generation = vec![(Vec3::Y * ROOT, Vec3::Y, 0)];
    let mut radius = ROOT;
    for (depth, things) in balls.iter().enumerate() {
        for (index, (center, _, material)) in generation.iter().enumerate() {
            let to_world = Affine3A::from_mat3_translation(Mat3::from_diagonal(Vec3::splat(radius)), *center);
            builder.place(&format!("ball_{depth}_{index}"), things[*material], to_world);
        }
        generation = generation.iter().flat_map(|ball| carried(ball, radius)).collect();
        radius *= SHRINK;
    }
    builder.add_camera("whole", Vec3::new(0.0, 2.3, 2.45), Vec3::new(0.0, 0.75, -0.3), 65.0);
    builder
}

/// Center of a ball, its direction from the ball that carries it, and the number of its material.
type Ball = (Vec3, Vec3, usize);

/// Returns the balls on all sides of a ball, except where it touches the one that carries it.
fn carried((center, away, material): &Ball, radius: f32) -> impl Iterator<Item = Ball> {
    let directions = DIRECTIONS.into_iter().filter(|direction| *direction != -*away);
    directions.enumerate().map(move |(number, direction)| {
        (center + direction * (radius * (1.0 + SHRINK)), direction, (material + number + 1) % MATERIALS)
    })
}

const MATERIALS: usize = 6;

fn materials() -> [Material; MATERIALS] {
    [
        metal("steel", STEEL, 0.0),
        Material::diffuse("red", Vec3::new(0.65, 0.08, 0.06)),
        metal("gold", Vec3::new(1.0, 0.77, 0.34), 0.3),
        Material::diffuse("blue", Vec3::new(0.1, 0.25, 0.65)),
        glass("glass", GREENISH),
        Material::diffuse("white", Vec3::splat(0.75)),
    ]
}
