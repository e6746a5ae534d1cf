//! Scene of a living room, and a corridor lit only through its door.

use glam::{Affine3A, Vec3};

use super::builder::Builder;
use super::creature::creature;
use super::furniture::{
    board_height, books, bowl, canvas, chair, cupboard, frame, fruit, globe, lamp_stand, pile, plant, pot, rod,
    round_table, shade, shelf, slab, sofa, standing_ring, turned_table, vase,
};
use super::model::{at, quarter_turned_at, turned_at};
use super::walls::{passage, wall_with_door};

const MIN: Vec3 = Vec3::new(-3.5, 0.0, -2.5);
const MAX: Vec3 = Vec3::new(3.5, 2.7, 2.5);
/// Thickness of the wall between room and corridor, in meters.
const WALL: f32 = 0.2;
const CORRIDOR_MIN: Vec3 = Vec3::new(MAX.x + WALL, 0.0, -3.5);
const CORRIDOR_MAX: Vec3 = Vec3::new(5.1, 2.5, 2.5);
/// Edges of the door along z, and its height, in meters.
const DOOR: [f32; 3] = [0.9, 1.9, 2.05];
const RUG: f32 = 0.015;
const WOOD: Vec3 = Vec3::new(0.4, 0.24, 0.13);
const CREAM: Vec3 = Vec3::new(0.68, 0.62, 0.5);

pub(super) fn salon() -> Builder {
    let mut builder = Builder::default();
    add_walls(&mut builder);
    add_seats(&mut builder);
    add_dining_corner(&mut builder);
    add_edges(&mut builder);
    add_corridor(&mut builder);
    builder.add_camera("inside", Vec3::new(-2.7, 1.65, 2.3), Vec3::new(1.0, 0.8, -0.9), 68.0);
    builder.add_camera("corridor", Vec3::new(4.85, 1.6, 2.3), Vec3::new(4.2, 0.9, -1.5), 62.0);
    builder
}

fn add_walls(builder: &mut Builder) {
    let material = |wall: &str| {
        let reflectance = match wall {
            "floor" => Vec3::new(0.4, 0.3, 0.2),
            "ceiling" => Vec3::splat(0.8),
            "left" => Vec3::new(0.35, 0.45, 0.4),
            _ => CREAM,
        };
        (reflectance, Vec3::ZERO)
    };
    builder.add_room(MIN, MAX, &["left", "floor", "ceiling", "back", "front"], material);
    let in_room = wall_with_door([MIN.z, MAX.z], MAX.y, 0.0, DOOR);
    builder.place_diffuse("right", in_room, CREAM, quarter_turned_at([MAX.x, 0.0, 0.0], 3));
    let way = passage(DOOR, 0.0, WALL);
    builder.place_diffuse("passage", way, WOOD, quarter_turned_at([MAX.x, 0.0, 0.0], 3));
    builder.prefix = "corridor_".to_owned();
    builder.add_room(CORRIDOR_MIN, CORRIDOR_MAX, &["right", "floor", "ceiling", "back", "front"], material);
    let [near, far, top] = DOOR;
    let in_corridor = wall_with_door([-CORRIDOR_MAX.z, -CORRIDOR_MIN.z], CORRIDOR_MAX.y, 0.0, [-far, -near, top]);
    builder.place_diffuse("left", in_corridor, CREAM, quarter_turned_at([CORRIDOR_MIN.x, 0.0, 0.0], 1));
    builder.prefix.clear();
}

fn add_seats(builder: &mut Builder) {
    builder.place_diffuse("rug", slab("rug", 2.6, RUG, 1.9), [0.45, 0.36, 0.26], at([-0.9, 0.0, -0.35]));
    builder.place_diffuse("sofa", sofa(2.3), [0.2, 0.28, 0.4], at([-1.2, 0.0, -1.85]));
    builder.place_diffuse("armchair", sofa(1.05), [0.5, 0.2, 0.12], turned_at([1.35, 0.0, -1.5], -38.0));
    builder.place_diffuse("low_table", turned_table(1.15, 0.42, 0.6, 10), WOOD, turned_at([-0.95, RUG, -0.4], 9.0));
    let top = RUG + 0.42;
    builder.place_diffuse("tall_vase", vase(0.08, 0.32, 18), [0.2, 0.4, 0.38], at([-1.25, top, -0.45]));
    builder.place_diffuse("small_vase", vase(0.07, 0.14, 16), [0.6, 0.45, 0.15], at([-1.05, top, -0.25]));
    builder.place_diffuse("bowl", bowl(0.18, 18), [0.7, 0.7, 0.66], at([-0.65, top, -0.4]));
    builder.place_diffuse("fruit", fruit(1), [0.5, 0.5, 0.1], turned_at([-0.65, top, -0.4], 40.0));
    builder.place_diffuse("lamp_stand", lamp_stand(10), [0.2, 0.2, 0.2], at([-3.0, 0.0, -2.0]));
    let shade = builder.make_lamp(shade(20), Vec3::new(1700.0, 1300.0, 800.0));
    builder.place("shade", shade, at([-3.0, 0.0, -2.0]));
}

fn add_dining_corner(builder: &mut Builder) {
    builder.place_diffuse("dining_table", round_table(0.6, 0.75, 28), WOOD, at([1.5, 0.0, 1.0]));
    let chairs = builder.make_diffuse(chair(), Vec3::new(0.55, 0.5, 0.42));
    for (number, (x, z, degrees)) in
        [(0.75, 1.25, 110.0), (1.75, 0.2, -14.0), (1.6, 1.8, 187.0)].into_iter().enumerate()
    {
        builder.place(&format!("chair_{number}"), chairs, turned_at([x, 0.0, z], degrees));
    }
    builder.place_diffuse("jug", vase(0.1, 0.24, 14), [0.65, 0.62, 0.6], at([1.6, 0.75, 1.1]));
    let globe = builder.make_lamp(globe(0.17, 20), Vec3::new(3800.0, 3300.0, 2500.0));
    builder.place("globe", globe, at([1.5, 1.9, 1.0]));
    builder.place_diffuse("cord", rod(MAX.y - 2.0), [0.2, 0.2, 0.2], at([1.5, MAX.y, 1.0]));
}

/// Adds the furniture along the walls.
fn add_edges(builder: &mut Builder) {
    builder.place_diffuse("cupboard", cupboard(1.3, 0.8, 0.4), WOOD, at([2.4, 0.0, MIN.z]));
    let figure = Affine3A::from_scale(Vec3::splat(0.32));
    builder.place_diffuse("figure", creature(), [0.5, 0.45, 0.35], turned_at([2.1, 0.8, MIN.z + 0.37], -20.0) * figure);
    builder.place_diffuse(
        "ring",
        standing_ring(0.14, 0.045, 24),
        [0.6, 0.2, 0.2],
        turned_at([2.75, 0.8, MIN.z + 0.2], 35.0),
    );
    builder.place_diffuse("pot", pot(0.2, 0.36, 20), [0.5, 0.25, 0.15], at([0.35, 0.0, -2.2]));
    builder.place_diffuse("plant", plant(0.9, 15), [0.12, 0.32, 0.08], at([0.35, 0.3, -2.2]));
    builder.place_diffuse("shelf", shelf(1.6, 1.8, 0.3, 4), WOOD, quarter_turned_at([MIN.x, 0.0, 0.3], 1));
    for (board, (count, color)) in
        [(26, [0.45, 0.14, 0.1]), (11, [0.15, 0.25, 0.4]), (19, [0.5, 0.45, 0.3]), (7, [0.2, 0.3, 0.18])]
            .into_iter()
            .enumerate()
    {
        let height = board_height(1.8, 4, board as u32);
        let place = quarter_turned_at([MIN.x, height, 1.05 - 0.2 * board as f32], 1);
        builder.place_diffuse(&format!("books_{board}"), books(count, 5 + board as u32), color, place);
    }
    builder.place_diffuse("boxes", pile(3), [0.45, 0.35, 0.22], turned_at([-3.05, 0.0, 1.75], 12.0));
    for (number, (x, y, width, height, color)) in
        [(-1.7, 1.75, 0.9, 0.65, [0.3, 0.4, 0.5]), (-0.6, 1.65, 0.5, 0.8, [0.55, 0.4, 0.15])].into_iter().enumerate()
    {
        builder.place_diffuse(&format!("frame_{number}"), frame(width, height), [0.15, 0.1, 0.07], at([x, y, MIN.z]));
        builder.place_diffuse(&format!("canvas_{number}"), canvas(width, height), color, at([x, y, MIN.z]));
    }
}

fn add_corridor(builder: &mut Builder) {
    builder.prefix = "corridor_".to_owned();
    let at_right = |z: f32| quarter_turned_at([CORRIDOR_MAX.x, 0.0, z], 3);
    builder.place_diffuse("cupboard", cupboard(0.9, 0.75, 0.3), WOOD, at_right(0.0));
    builder.place_diffuse("vase", vase(0.1, 0.35, 16), [0.3, 0.35, 0.6], at([CORRIDOR_MAX.x - 0.15, 0.75, 0.1]));
    builder.place_diffuse("rug", slab("rug", 0.8, RUG, 2.4), [0.4, 0.15, 0.15], at([4.3, 0.0, 0.6]));
    builder.place_diffuse("frame", frame(0.7, 0.5), [0.15, 0.1, 0.07], at_right(1.4) * at([0.0, 1.6, 0.0]));
    builder.place_diffuse("canvas", canvas(0.7, 0.5), [0.5, 0.5, 0.4], at_right(1.4) * at([0.0, 1.6, 0.0]));
    builder.place_diffuse("boxes", pile(4), [0.45, 0.35, 0.22], turned_at([4.15, 0.0, -3.0], 31.0));
    builder.place_diffuse("pot", pot(0.16, 0.3, 16), [0.5, 0.25, 0.15], at([4.8, 0.0, -1.8]));
    builder.place_diffuse("plant", plant(0.7, 9), [0.15, 0.3, 0.1], at([4.8, 0.25, -1.8]));
    builder.prefix.clear();
}
