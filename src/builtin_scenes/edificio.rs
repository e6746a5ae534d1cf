//! Scene of a building with equal rooms.

use glam::{UVec3, Vec3};

use super::builder::{Builder, Thing};
use super::furniture::{chair, pot, shelf, slab, table};
use super::model::{Model, at, faces, quarter_turned_at};
use super::walls::{passage, upright, wall_with_door};
use crate::scene::MeshData;
use crate::scene::shapes::quad;

/// Number of rooms along each axis.
const ROOMS: UVec3 = UVec3::splat(4);
const HALF: f32 = 1.9;
const HEIGHT: f32 = 2.7;
/// Thickness of walls between neighboring rooms, in meters.
const WALL: f32 = 0.2;
const SLAB: f32 = 0.3;
/// Left and right edge in meters of a door on the left of its wall, seen from the room.
const DOOR: [f32; 2] = [-1.5, -0.6];
const DOOR_HEIGHT: f32 = 2.05;

/// Builds four by four by four rooms. Each has a door to every neighbor on the same floor.
pub(super) fn edificio() -> Builder {
    let mut builder = Builder::default();
    let shell = Shell::new(&mut builder);
    let furniture = furniture(&mut builder);
    for room in
        (0..ROOMS.y).flat_map(|y| (0..ROOMS.z).flat_map(move |z| (0..ROOMS.x).map(move |x| UVec3::new(x, y, z))))
    {
        builder.prefix = format!("room_{}_{}_{}_", room.x, room.y, room.z);
        shell.place(&mut builder, room);
        for (name, thing, [x, y, z], quarters) in &furniture {
            let foot = center(room) + Vec3::new(*x, *y, *z);
            builder.place(name, *thing, quarter_turned_at(foot.to_array(), *quarters));
        }
    }
    builder.prefix.clear();
    let room = center(UVec3::new(1, 1, 1));
    builder.add_camera("inside", room + Vec3::new(1.75, 1.6, 1.75), room + Vec3::new(-0.9, 0.9, -0.9), 70.0);
    builder
}

/// Returns the center of a room's floor.
fn center(room: UVec3) -> Vec3 {
    let step = Vec3::new(2.0 * HALF + WALL, HEIGHT + SLAB, 2.0 * HALF + WALL);
    (room.as_vec3() - Vec3::new(1.5, 0.0, 1.5)) * step
}

/// Returns the furniture of a room: name, thing, position, and number of quarter turns to the left.
fn furniture(builder: &mut Builder) -> Vec<(&'static str, Thing, [f32; 3], usize)> {
    let wood = Vec3::new(0.45, 0.3, 0.18);
    let table = builder.make_diffuse(table(1.1, 0.74, 0.7), wood);
    let chair = builder.make_diffuse(chair(), Vec3::new(0.2, 0.3, 0.45));
    let pot = builder.make_diffuse(pot(0.11, 0.17, 8), Vec3::new(0.6, 0.2, 0.12));
    let shelf = builder.make_diffuse(shelf(0.9, 1.6, 0.3, 3), wood);
    let rug = builder.make_diffuse(slab("rug", 1.9, 0.01, 1.9), Vec3::new(0.3, 0.4, 0.25));
    let lamp = builder.make_lamp(lamp(), Vec3::new(2600.0, 2500.0, 2300.0));
    vec![
        ("rug", rug, [0.0, 0.0, 0.0], 0),
        ("table", table, [0.0, 0.01, 0.0], 0),
        ("chair", chair, [0.0, 0.01, -0.55], 0),
        ("pot", pot, [0.3, 0.75, 0.0], 0),
        ("shelf", shelf, [0.6, 0.0, -HALF], 0),
        ("lamp", lamp, [0.0, HEIGHT, 0.0], 0),
    ]
}

/// Builds a flat box below a ceiling at y = 0.
fn lamp() -> MeshData {
    Model::new("lamp").cuboid([-0.3, -0.06, -0.3], [0.3, 0.0, 0.3], faces::HANGING).mesh()
}

/// Floor, ceiling, walls and passages of a room.
struct Shell {
    floor: Thing,
    ceiling: Thing,
    wall: Thing,
    door_left: Thing,
    door_right: Thing,
    passage: Thing,
}

impl Shell {
    fn new(builder: &mut Builder) -> Self {
        let (h, white) = (HALF, Vec3::splat(0.72));
        let at = Vec3::new;
        let level = |name: &str, y: f32| quad(name, [at(-h, y, h), at(h, y, h), at(h, y, -h), at(-h, y, -h)]);
        let ceiling = {
            let mut corners = [at(-h, HEIGHT, h), at(h, HEIGHT, h), at(h, HEIGHT, -h), at(-h, HEIGHT, -h)];
            corners.reverse();
            quad("ceiling", corners)
        };
        let [left, right] = DOOR;
        Self {
            floor: builder.make_diffuse(level("floor", 0.0), Vec3::new(0.45, 0.38, 0.3)),
            ceiling: builder.make_diffuse(ceiling, Vec3::splat(0.8)),
            wall: builder.make_diffuse(upright("wall", -h, &[[-h, h, 0.0, HEIGHT]]), white),
            door_left: builder.make_diffuse(wall_with_door([-h, h], HEIGHT, -h, [left, right, DOOR_HEIGHT]), white),
            door_right: builder.make_diffuse(wall_with_door([-h, h], HEIGHT, -h, [-right, -left, DOOR_HEIGHT]), white),
            passage: builder.make_diffuse(passage([left, right, DOOR_HEIGHT], -h, WALL), Vec3::new(0.5, 0.4, 0.3)),
        }
    }

    /// Places a room. Doors face each other: left on two walls, right on the other two.
    fn place(&self, builder: &mut Builder, room: UVec3) {
        let foot = center(room).to_array();
        builder.place("floor", self.floor, at(foot));
        builder.place("ceiling", self.ceiling, at(foot));
        let walls = [
            ("back", self.door_left, room.z > 0),
            ("left", self.door_left, room.x > 0),
            ("front", self.door_right, room.z + 1 < ROOMS.z),
            ("right", self.door_right, room.x + 1 < ROOMS.x),
        ];
        for (quarters, (name, with_door, has_door)) in walls.into_iter().enumerate() {
            let place = quarter_turned_at(foot, quarters);
            builder.place(&format!("wall_{name}"), if has_door { with_door } else { self.wall }, place);
            // Only one of two adjoining rooms adds the passage.
            if has_door && quarters < 2 {
                builder.place(&format!("passage_{name}"), self.passage, place);
            }
        }
    }
}
