//! Scene of a furnished room, alone or with its mirror image.

use glam::{Affine3A, Vec3};

use super::builder::{ALL_WALLS, Builder, Thing};
use super::furniture::{
    board_height, books, bowl, canvas, chair, cupboard, frame, fruit, globe, lamp_stand, plane, rod, shade, shelf,
    slab, turned_table, vase,
};
use super::model::{at, quarter_turned_at, turned_at};

const MIN: Vec3 = Vec3::new(-5.0, 0.0, -2.0);
const MAX: Vec3 = Vec3::new(0.0, 2.8, 2.0);
const WOOD: Vec3 = Vec3::new(0.42, 0.25, 0.13);

/// Builds the room alone.
pub(super) fn habitacion() -> Builder {
    let mut builder = Builder::default();
    add_shell(&mut builder, MAX, &ALL_WALLS);
    let things = lasting_things(&mut builder);
    place_all(&mut builder, &things, Affine3A::IDENTITY);
    add_lamps_shelf_and_plane(&mut builder);
    builder.add_camera("inside", Vec3::new(-0.25, 1.65, 1.75), Vec3::new(-3.0, 0.95, -0.6), 62.0);
    builder
}

/// Builds the room, and beyond the plane x = 0 its mirror image without lamps, shelf and plane.
pub(super) fn habitacion_grande() -> Builder {
    let mut builder = Builder::default();
    let mirror = Affine3A::from_scale(Vec3::new(-1.0, 1.0, 1.0));
    add_shell(&mut builder, MAX, &["left", "floor", "ceiling", "back", "front"]);
    builder.prefix = "mirrored_".to_owned();
    add_shell(&mut builder, Vec3::new(-MIN.x, MAX.y, MAX.z), &["right", "floor", "ceiling", "back", "front"]);
    builder.prefix.clear();
    let things = lasting_things(&mut builder);
    place_all(&mut builder, &things, Affine3A::IDENTITY);
    add_lamps_shelf_and_plane(&mut builder);
    builder.prefix = "mirrored_".to_owned();
    place_all(&mut builder, &things, mirror);
    builder.add_camera("inside", Vec3::new(4.7, 1.7, 1.1), Vec3::new(-2.0, 0.8, -0.5), 65.0);
    builder
}

/// Adds the walls on one side of the plane x = 0.
fn add_shell(builder: &mut Builder, max: Vec3, walls: &[&str]) {
    let min = if max.x > 0.0 { Vec3::new(0.0, MIN.y, MIN.z) } else { MIN };
    builder.add_room(min, max, walls, |wall| {
        let reflectance = match wall {
            "floor" => Vec3::new(0.38, 0.27, 0.18),
            "left" | "right" => Vec3::new(0.6, 0.5, 0.36),
            "ceiling" => Vec3::splat(0.8),
            _ => Vec3::new(0.62, 0.62, 0.55),
        };
        (reflectance, Vec3::ZERO)
    });
}

/// Returns the furniture of both halves with its transforms.
fn lasting_things(builder: &mut Builder) -> Vec<(String, Thing, Affine3A)> {
    const RUG: f32 = 0.012;
    let mut things = Vec::new();
    let mut put = |name: &str, thing: Thing, place: Affine3A| things.push((name.to_owned(), thing, place));
    let rug = builder.make_diffuse(slab("rug", 3.0, RUG, 2.6), Vec3::new(0.4, 0.12, 0.1));
    put("rug", rug, at([-2.8, 0.0, 0.1]));
    let table = builder.make_diffuse(turned_table(1.6, 0.76, 0.9, 7), WOOD);
    put("table", table, at([-2.8, RUG, 0.1]));
    let chairs = builder.make_diffuse(chair(), Vec3::new(0.5, 0.32, 0.16));
    for (number, (x, z, degrees)) in
        [(-3.2, 0.85, 178.0), (-2.4, 0.9, 190.0), (-3.2, -0.65, 3.0), (-2.35, -0.7, -12.0)].into_iter().enumerate()
    {
        put(&format!("chair_{number}"), chairs, turned_at([x, RUG, z], degrees));
    }
    let vase = builder.make_diffuse(vase(0.11, 0.34, 13), Vec3::new(0.15, 0.25, 0.55));
    put("vase", vase, at([-3.2, 0.76 + RUG, 0.0]));
    let bowl = builder.make_diffuse(bowl(0.18, 15), Vec3::new(0.7, 0.68, 0.62));
    put("bowl", bowl, at([-2.6, 0.76 + RUG, 0.2]));
    let fruit = builder.make_diffuse(fruit(1), Vec3::new(0.65, 0.28, 0.05));
    put("fruit", fruit, at([-2.6, 0.76 + RUG, 0.2]));
    let frame = (
        builder.make_diffuse(frame(1.1, 0.75), WOOD),
        builder.make_diffuse(canvas(1.1, 0.75), Vec3::new(0.2, 0.4, 0.5)),
    );
    put("frame", frame.0, at([-3.0, 1.65, MIN.z]));
    put("canvas", frame.1, at([-3.0, 1.65, MIN.z]));
    let cupboard = builder.make_diffuse(cupboard(1.6, 0.85, 0.45), Vec3::new(0.32, 0.18, 0.1));
    put("cupboard", cupboard, quarter_turned_at([MIN.x, 0.0, 0.5], 1));
    things
}

fn place_all(builder: &mut Builder, things: &[(String, Thing, Affine3A)], place: Affine3A) {
    for (name, thing, to_world) in things {
        builder.place(name, *thing, place * *to_world);
    }
}

fn add_lamps_shelf_and_plane(builder: &mut Builder) {
    let put = |thing: Thing, name: &str, place: [f32; 3], builder: &mut Builder| builder.place(name, thing, at(place));
    const SHELF: [f32; 3] = [-1.1, 0.0, MIN.z];
    const BOARDS: u32 = 5;
    let shelf = builder.make_diffuse(shelf(1.3, 1.9, 0.3, BOARDS), WOOD);
    put(shelf, "shelf", SHELF, builder);
    let colors = [[0.45, 0.1, 0.08], [0.1, 0.2, 0.35], [0.15, 0.3, 0.15], [0.5, 0.45, 0.35], [0.3, 0.12, 0.3]];
    for (board, color) in (0..BOARDS).zip(colors) {
        let books = builder.make_diffuse(books(20 + 3 * (board % 2), board + 1), color.into());
        let height = board_height(1.9, BOARDS, board);
        put(books, &format!("books_{board}"), [SHELF[0] - 0.6, height, SHELF[2]], builder);
    }
    let stand = builder.make_diffuse(lamp_stand(16), Vec3::splat(0.15));
    put(stand, "lamp_stand", [-4.5, 0.0, -1.5], builder);
    let shade = builder.make_lamp(shade(19), Vec3::new(1500.0, 1150.0, 700.0));
    put(shade, "shade", [-4.5, 0.0, -1.5], builder);
    let globe = builder.make_lamp(globe(0.16, 28), Vec3::new(3600.0, 3100.0, 2400.0));
    put(globe, "globe", [-2.8, 2.3, 0.1], builder);
    let cord = builder.make_diffuse(rod(0.4), Vec3::splat(0.2));
    put(cord, "cord", [-2.8, MAX.y, 0.1], builder);
    let plane = builder.make_diffuse(plane(16), Vec3::new(0.65, 0.15, 0.1));
    builder.place("plane", plane, turned_at([-1.15, 2.1, 0.5], -125.0));
    let thread = builder.make_diffuse(rod(0.64), Vec3::splat(0.5));
    put(thread, "thread", [-1.15, MAX.y, 0.5], builder);
}
