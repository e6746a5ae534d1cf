//! Organic bodies: an armored creature on its hind legs, composed of smoothly joined limbs, and stones.

use glam::{IVec3, UVec3, Vec3};

use crate::scene::MeshData;
use crate::scene::shapes::implicit;

/// Limb: its end points, and its radii there, in meters.
struct Limb {
    ends: [Vec3; 2],
    radii: [f32; 2],
}

/// Limbs of the creature. Limbs at positive x are mirrored to negative x.
const LIMBS: [Limb; 16] = [
    limb([0.0, 0.85, -0.05], [0.0, 1.22, 0.0], [0.31, 0.35]),
    limb([0.0, 1.35, 0.05], [0.0, 1.6, 0.14], [0.24, 0.15]),
    limb([0.0, 1.72, 0.16], [0.0, 1.62, 0.5], [0.18, 0.07]),
    limb([0.0, 0.8, -0.3], [0.0, 0.48, -0.68], [0.16, 0.12]),
    limb([0.0, 0.48, -0.68], [0.0, 0.36, -1.1], [0.12, 0.05]),
    limb([0.1, 1.84, 0.12], [0.23, 2.08, 0.04], [0.075, 0.055]),
    limb([0.26, -0.04, -0.02], [0.28, 0.5, 0.05], [0.13, 0.16]),
    limb([0.28, -0.04, 0.06], [0.32, -0.04, 0.24], [0.12, 0.1]),
    limb([0.28, 0.5, 0.05], [0.17, 0.85, -0.02], [0.17, 0.2]),
    limb([0.28, 1.34, 0.06], [0.58, 1.16, 0.14], [0.13, 0.1]),
    limb([0.58, 1.16, 0.14], [0.62, 1.42, 0.4], [0.105, 0.09]),
    limb([0.62, 1.42, 0.4], [0.54, 1.58, 0.52], [0.06, 0.045]),
    limb([0.62, 1.42, 0.4], [0.64, 1.62, 0.48], [0.06, 0.045]),
    limb([0.62, 1.42, 0.4], [0.73, 1.56, 0.46], [0.06, 0.045]),
    limb([0.0, 1.66, 0.36], [0.0, 1.8, 0.36], [0.06, 0.045]),
    limb([0.0, 1.0, 0.2], [0.0, 1.1, 0.26], [0.2, 0.16]),
];

const fn limb(from: [f32; 3], to: [f32; 3], radii: [f32; 2]) -> Limb {
    Limb { ends: [Vec3::from_array(from), Vec3::from_array(to)], radii }
}

/// Builds the creature, 2.1 m tall. It stands at the origin on the plane y = 0 and faces positive z.
pub(super) fn creature() -> MeshData {
    const EDGE: f32 = 0.0692;
    implicit("creature", Vec3::new(-0.96, 0.0, -1.26), EDGE, UVec3::new(28, 33, 29), distance)
}

/// Builds a stone of about half a meter around the origin, cut at the plane y = 0. Each `number` gives another stone.
pub(super) fn stone(number: u32) -> MeshData {
    let other = Vec3::splat(11.0 * number as f32);
    implicit("stone", Vec3::new(-0.42, 0.0, -0.42), 0.06, UVec3::new(14, 9, 14), |place| {
        let center = Vec3::new(0.0, 0.12, 0.0);
        place.distance(center) - 0.26 - 0.1 * noise(place * 5.0 + other) - 0.02 * noise(place * 13.0 + other)
    })
}

/// Returns the approximate distance to the creature's skin in meters, negative inside. Its arithmetic gives the same
/// result on every machine.
fn distance(place: Vec3) -> f32 {
    let mirrored = Vec3::new(place.x.abs(), place.y, place.z);
    let body =
        LIMBS.iter().map(|limb| to_limb(mirrored, limb)).reduce(|a, b| smooth_min(a, b, 0.08)).unwrap_or(f32::MAX);
    body - 0.045 * noise(place * 7.0) - plates(place)
}

fn to_limb(place: Vec3, limb: &Limb) -> f32 {
    let [from, to] = limb.ends;
    let way = to - from;
    let along = ((place - from).dot(way) / way.length_squared()).clamp(0.0, 1.0);
    place.distance(from + way * along) - (limb.radii[0] + (limb.radii[1] - limb.radii[0]) * along)
}

/// Returns a smooth minimum, rounded where both values differ by less than `width`.
fn smooth_min(a: f32, b: f32, width: f32) -> f32 {
    let nearness = (1.0 - (a - b).abs() / width).max(0.0);
    a.min(b) - 0.25 * width * nearness * nearness
}

/// Returns the height of armor bands across back and tail, in meters.
fn plates(place: Vec3) -> f32 {
    let band = (place.y * 5.0 - place.z).rem_euclid(1.0);
    let is_behind = (0.2 - 4.0 * place.z).clamp(0.0, 1.0);
    0.07 * is_behind * band * (place.y * 2.0 - 0.5).clamp(0.0, 1.0)
}

/// Returns smooth noise in -1..=1 with a wavelength of about one.
fn noise(place: Vec3) -> f32 {
    let (cell, within) = (place.floor().as_ivec3(), place - place.floor());
    let weight = within * within * (Vec3::splat(3.0) - 2.0 * within);
    (0..8)
        .map(|corner| IVec3::new(corner & 1, corner >> 1 & 1, corner >> 2))
        .map(|corner| {
            let near = corner.as_vec3();
            let share = near * weight + (Vec3::ONE - near) * (Vec3::ONE - weight);
            lattice_value(cell + corner) * share.x * share.y * share.z
        })
        .sum()
}

/// Returns a hash of a lattice point in -1..=1.
fn lattice_value(point: IVec3) -> f32 {
    let mut bits = (point.x as u32).wrapping_mul(0x9e37_79b1)
        ^ (point.y as u32).wrapping_mul(0x85eb_ca6b)
        ^ (point.z as u32).wrapping_mul(0xc2b2_ae35);
    for _ in 0..2 {
        bits = (bits ^ bits >> 15).wrapping_mul(0x2c1b_3c6d);
    }
    (bits >> 8) as f32 / (1 << 23) as f32 - 1.0
}
