//! Built-in scenes, which need no file.
//!
//! - `boxes` and `two_rooms` are rooms of one quad per surface, for comparison with closed forms and other renderers.
//! - `shining_things` shows glossy, metallic and refractive objects, which no lightmap can show.
//! - `mirror_rooms` and `ball_flake` follow the descriptions of the scenes in Romano's thesis on light tracing (Naples,
//!   2011); `cornell_box` and `glass_and_mirrors` are two more of them.
//! - `car` and the variant of the Cornell box with a mirror follow Martinez's project on ray tracing clusters (Zaragoza,
//!   2016).
//! - `habitacion`, `armadillo`, `edificio`, `salon` and `estudio` are furnished rooms. They follow the descriptions of
//!   the scenes in Sanjurjo's thesis on radiosity (A Coruna, 2011).
//! - `furniture`, `creature`, `walls` and `model` build their meshes, `finishes` their metal and glass; `builder`
//!   assembles the scenes.
//!
//! Emission is in cd/m2. The Cornell box has the reflectances and the light of its well-known rendering.

mod armadillo;
mod ball_flake;
mod boxes;
mod builder;
mod car;
mod creature;
mod edificio;
mod estudio;
mod finishes;
mod furniture;
mod habitacion;
mod mirror_rooms;
mod model;
mod salon;
mod shining_things;
mod two_rooms;
mod walls;

use crate::scene::{Camera, Scene};
use builder::Builder;

/// Returns the names and descriptions of all built-in scenes.
pub fn names() -> impl ExactSizeIterator<Item = (&'static str, &'static str)> {
    BUILDERS.iter().map(|(name, description, _)| (*name, *description))
}

/// Builds a scene by name; `None` if no built-in scene has the name.
pub fn build(name: &str) -> Option<Scene> {
    open(name).map(|(scene, _)| scene)
}

/// Builds a scene by name, with its recommended cameras; `None` if no built-in scene has the name.
pub fn open(name: &str) -> Option<(Scene, Vec<Camera>)> {
    let (.., build) = BUILDERS.iter().find(|(known, ..)| *known == name)?;
    let Builder { scene, cameras, .. } = build();
    Some((scene, cameras))
}

/// Builds a ball of radius 1 seen from inside, with `20 * 4^subdivisions` triangles of uniform `reflectance` and
/// `emission`. Its radiance is `emission / (1 - reflectance)` everywhere.
pub fn sphere(subdivisions: u32, reflectance: f32, emission: f32) -> Scene {
    boxes::sphere(subdivisions, reflectance, emission).scene
}

/// Builds a cube of edge length 1 seen from inside. The ceiling emits a radiance of 1, and all six walls have the given
/// `reflectance`.
pub fn unit_cube(reflectance: f32) -> Scene {
    boxes::unit_cube(reflectance).scene
}

type Builders = [(&'static str, &'static str, fn() -> Builder); 24];

const BUILDERS: Builders = [
    ("cornell_box", "the Cornell box with its two blocks, open to the front", || boxes::cornell(true)),
    ("cornell_empty", "the Cornell box without blocks", || boxes::cornell(false)),
    ("cornell_mirror", "the Cornell box with a mirror as its large block", boxes::cornell_mirror),
    ("furnace", "a closed box that glows and reflects alike everywhere", boxes::furnace),
    ("ceil", "a closed box whose whole ceiling glows", boxes::ceiling),
    ("unit_cube", "a closed gray cube of edge 1 whose ceiling glows", || boxes::unit_cube(0.5)),
    ("sphere", "the inside of a ball that glows and reflects alike everywhere", || boxes::sphere(3, 0.5, 1.0)),
    ("two_rooms", "two rooms and a doorway, a lamp in one of them", two_rooms::two_rooms),
    (
        "doorless_rooms",
        "two rooms without a doorway, a lamp in one of them: the other stays black",
        two_rooms::closed_rooms,
    ),
    (
        "shining_things",
        "a golden ball, a plastic ring and a wavy sheet of steel in a lit room",
        shining_things::shining_things,
    ),
    (
        "glass_and_mirrors",
        "a ball of glass, one of steel and two diffuse ones under two lamps",
        shining_things::glass_and_mirrors,
    ),
    ("cornell_balls", "the Cornell box with a mirroring ball and a ball of glass", mirror_rooms::cornell_balls),
    ("hidden_lamp", "a room whose only light comes from a mirror above a lamp in a shade", mirror_rooms::hidden_lamp),
    ("mirror_walls", "a room with mirrors as left and right walls", mirror_rooms::mirror_walls),
    ("mirror_floor", "diffuse balls around one of glass, on a mirror as floor", mirror_rooms::mirror_floor),
    ("ball_flake", "780 balls of six materials on a larger one, five upon each", ball_flake::ball_flake),
    ("car", "a car under an environment map", car::car),
    ("habitacion", "a furnished room with a shelf, two lamps and a model plane", habitacion::habitacion),
    ("habitacion_grande", "the same room and its mirror image, which has no lamps", habitacion::habitacion_grande),
    ("armadillo", "an armored creature in an empty room", armadillo::armadillo),
    ("armadillos", "two armored creatures in an empty room", armadillo::armadillos),
    ("edificio", "a building of four by four by four rooms, with doors on each floor", edificio::edificio),
    ("salon", "a living room of irregular things, and a corridor without a lamp", salon::salon),
    ("estudio", "a studio full of irregular things under rows of equal lamps", estudio::estudio),
];

#[cfg(test)]
mod tests;
