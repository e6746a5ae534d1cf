//! Building of the level: hall with a gallery, corridor, library and workshop, with openings, frames, boards and
//! stairs.
//!
//! East is +X, south is +Z. The hall's tall windows look south. The corridor lies behind its north wall, and the
//! library and the workshop lie behind the corridor.

use glam::{Affine3A, Quat, Vec2, Vec3, vec2, vec3};
use serde_json::json;

use super::furniture::baluster;
use super::gltf_writer::{Document, MaterialRef, Pose};
use super::palette::Palette;
use super::shapes::{Face, Shape};
use super::solid::{Facing, Solid, Space};

/// Height of the gallery floor above the hall floor, in meters.
pub const GALLERY: f32 = 3.0;
/// Thickness of the hall's south wall, in meters.
const SOUTH_WALL: f32 = 0.5;
const STEPS: usize = 17;
const TREAD: f32 = 0.28;
const RISE: f32 = GALLERY / STEPS as f32;
const STAIR_WIDTH: f32 = 1.2;
/// X coordinate where the gallery ends and the stairs arrive, in meters.
pub const GALLERY_EDGE: f32 = 2.6;
const STAIR_FOOT: f32 = GALLERY_EDGE + STEPS as f32 * TREAD;

/// Box of open air, and the materials of its faces.
struct Opening {
    name: &'static str,
    min: Vec3,
    max: Vec3,
    floor: MaterialRef,
    wall: MaterialRef,
    ceiling: MaterialRef,
    /// True if each of its planes becomes a separate node. The reveals of a door or window are one node.
    is_room: bool,
}

const OUTSIDE: Space = Space(0);

/// Windows of the hall: name, west edge, width, sill and head, in meters.
const WINDOWS: [(&str, f32, f32, f32, f32); 5] = [
    ("hall_window_1", 3.2, 1.5, 0.9, 5.0),
    ("hall_window_2", 5.4, 1.5, 0.9, 5.0),
    ("hall_window_3", 7.6, 1.5, 0.9, 5.0),
    ("hall_window_4", 9.8, 1.5, 0.9, 5.0),
    ("gallery_window", 0.6, 1.4, 3.8, 5.2),
];

/// Adds the building to a file.
pub fn build(file: &mut Document, palette: &Palette) {
    shell(file, palette);
    windows(file, palette);
    doors(file, palette);
    boards(file, palette);
    beams_and_columns(file, palette);
    stairs(file, palette);
    balustrade(file, palette);
}

fn openings(palette: &Palette) -> Vec<Opening> {
    let room = |name, min, max, floor, wall, ceiling| Opening { name, min, max, floor, wall, ceiling, is_room: true };
    let lined = |name, min, max, lining| Opening {
        name,
        min,
        max,
        floor: lining,
        wall: lining,
        ceiling: lining,
        is_room: false,
    };
    let Palette { planks, plaster_white, plaster_ochre, plaster_green, ceiling, brick, tiles, stone, .. } = *palette;
    let mut openings = vec![
        room("hall", Vec3::ZERO, vec3(12.0, 6.0, 8.0), planks, plaster_white, ceiling),
        room("corridor", vec3(0.0, 0.0, -2.4), vec3(12.0, 2.8, -0.4), tiles, plaster_ochre, ceiling),
        room("library", vec3(0.0, 0.0, -8.8), vec3(7.0, 3.4, -2.8), planks, plaster_green, ceiling),
        room("workshop", vec3(7.4, 0.0, -8.8), vec3(12.0, 3.4, -2.8), stone, brick, ceiling),
        lined("hall_door_reveal", vec3(10.2, 0.0, -0.4), vec3(11.4, 2.2, 0.0), palette.dark_wood),
        lined("library_door_reveal", vec3(1.0, 0.0, -2.8), vec3(2.1, 2.15, -2.4), palette.dark_wood),
        lined("workshop_door_reveal", vec3(7.0, 0.0, -6.5), vec3(7.4, 2.15, -5.4), palette.dark_wood),
        lined("entrance_reveal", vec3(12.0, 0.0, 3.2), vec3(12.2, 2.6, 4.8), palette.dark_wood),
    ];
    openings.extend(WINDOWS.map(|(name, west, width, sill, head)| {
        let (min, max) = (vec3(west, sill, 8.0), vec3(west + width, head, 8.0 + SOUTH_WALL));
        lined(name, min, max, plaster_white)
    }));
    openings
}

fn shell(file: &mut Document, palette: &Palette) {
    let openings = openings(palette);
    let ground = -0.15;
    let mut solid = Solid::new(vec3(-9.0, -0.4, -14.0), vec3(21.0, 8.0, 20.0), OUTSIDE);
    solid.fill(vec3(-9.0, -0.4, -14.0), vec3(21.0, ground, 20.0));
    solid.fill(vec3(-0.5, ground, -9.3), vec3(12.5, 3.8, 8.0 + SOUTH_WALL));
    solid.fill(vec3(-0.5, 3.8, -0.4), vec3(12.5, 6.4, 8.0 + SOUTH_WALL));
    for (index, opening) in openings.iter().enumerate() {
        solid.carve(opening.min, opening.max, Space(index + 1));
    }
    solid.fill(vec3(0.0, GALLERY - 0.25, 0.0), vec3(GALLERY_EDGE, GALLERY, 8.0));

    let mut reveals: Vec<Shape> = openings.iter().map(|_| Shape::default()).collect();
    let mut outside = [Shape::default(), Shape::default(), Shape::default()];
    for ((space, facing, _), face) in solid.faces() {
        if space == OUTSIDE {
            let kind = match facing {
                Facing::Up if face.positions[0].y < 0.0 => 0,
                Facing::Up => 1,
                _ => 2,
            };
            outside[kind].add(&face, Affine3A::IDENTITY);
            continue;
        }
        let index = space.0 - 1;
        let opening = &openings[index];
        if !opening.is_room {
            reveals[index].add(&face, Affine3A::IDENTITY);
            continue;
        }
        let (part, material) = match facing {
            Facing::Up => ("floor", opening.floor),
            Facing::Down => ("ceiling", opening.ceiling),
            Facing::East => ("west_wall", opening.wall),
            Facing::West => ("east_wall", opening.wall),
            Facing::South => ("north_wall", opening.wall),
            Facing::North => ("south_wall", opening.wall),
        };
        let within = |plane: f32, low: f32, high: f32| plane > low && plane < high;
        let Vec3 { x, y, .. } = face.positions[0];
        let is_gallery = match facing {
            Facing::Up | Facing::Down => within(y, opening.min.y, opening.max.y),
            Facing::East | Facing::West => within(x, opening.min.x, opening.max.x),
            Facing::South | Facing::North => false,
        };
        let name = match (is_gallery, part) {
            (false, _) => format!("{}_{part}", opening.name),
            (true, "ceiling") => "gallery_underside".to_owned(),
            (true, "floor") => "gallery_floor".to_owned(),
            (true, _) => "gallery_edge".to_owned(),
        };
        one(file, &name, &face, material);
    }
    for (opening, reveal) in openings.iter().zip(&reveals).filter(|(opening, _)| !opening.is_room) {
        one(file, opening.name, reveal, opening.wall);
    }
    for ((name, shape), material) in
        ["ground", "roofs", "facades"].into_iter().zip(&outside).zip([palette.ground, palette.stone, palette.brick])
    {
        let mesh = file.mesh(name, &[(shape, material)]);
        let node = file.place(name, mesh, Pose::HERE);
        // These surfaces are seen through the windows only, so a quarter of the texel density suffices.
        file.instruct(node, json!({ "density": 0.25 }));
    }
}

/// Adds a mesh of one material that is used once, at the origin.
fn one(file: &mut Document, name: &str, shape: &Shape, material: MaterialRef) {
    let mesh = file.mesh(name, &[(shape, material)]);
    file.place(name, mesh, Pose::HERE);
}

/// Adds wooden frames with colored glass in their top row. One window has a lattice in front of its lower part.
fn windows(file: &mut Document, palette: &Palette) {
    const BAR: f32 = 0.06;
    for (number, (name, west, width, sill, head)) in WINDOWS.into_iter().enumerate() {
        let height = head - sill;
        let rows = if height > 3.0 { 4 } else { 2 };
        let depth = 8.0 + 0.3;
        let pane_width = (width - 3.0 * BAR) / 2.0;
        let pane_height = (height - (rows + 1) as f32 * BAR) / rows as f32;
        let mut frame = Solid::new(vec3(west, sill, depth - 0.1), vec3(west + width, head, depth + 0.17), OUTSIDE);
        frame.fill(vec3(west, sill, depth), vec3(west + width, head, depth + 0.07));
        for row in 0..rows {
            for column in 0..2 {
                let min = vec3(
                    west + BAR + column as f32 * (pane_width + BAR),
                    sill + BAR + row as f32 * (pane_height + BAR),
                    depth,
                );
                frame.carve(min, min + vec3(pane_width, pane_height, 0.07), OUTSIDE);
                if row + 1 == rows {
                    // A pane reaches 1 cm into its bars.
                    let mut pane = Shape::default();
                    let corner = min + vec3(-0.01, -0.01, 0.035);
                    pane.rectangle(corner, Vec3::X * (pane_width + 0.02), Vec3::Y * (pane_height + 0.02));
                    let glass = palette.glass[(2 * number + column) % palette.glass.len()];
                    let pane_name = format!("{name}_pane_{}", column + 1);
                    let mesh = file.mesh(&pane_name, &[(&pane, glass)]);
                    let node = file.place(&pane_name, mesh, Pose::HERE);
                    file.instruct(node, json!({ "role": "occluder" }));
                }
            }
        }
        one(file, &format!("{name}_frame"), &frame.shape(OUTSIDE), palette.painted_wood);

        let mut sill_board = Shape::default();
        sill_board.cuboid(vec3(west - 0.08, sill - 0.04, 7.88), vec3(west + width + 0.08, sill, 8.0), &[Face::Front]);
        one(file, &format!("{name}_sill"), &sill_board, palette.painted_wood);
    }
    let (_, west, width, sill, _) = WINDOWS[3];
    let mut lattice = Shape::default();
    lattice.rectangle(vec3(west, sill, 8.12), Vec3::X * width, Vec3::Y * 2.1);
    one(file, "hall_lattice", &lattice, palette.lattice);
    let mut rail = Shape::default();
    rail.cuboid(vec3(west, sill + 2.1, 8.1), vec3(west + width, sill + 2.15, 8.14), &[Face::Left, Face::Right]);
    one(file, "hall_lattice_rail", &rail, palette.dark_wood);
}

/// Returns a casing of boards around a doorway. The lower left corner of its opening is at the origin, facing +Z.
fn casing(width: f32, height: f32) -> Shape {
    const BOARD: f32 = 0.12;
    const DEPTH: f32 = 0.025;
    let mut solid =
        Solid::new(vec3(-2.0 * BOARD, 0.0, 0.0), vec3(width + 2.0 * BOARD, height + 2.0 * BOARD, 2.0 * DEPTH), OUTSIDE);
    solid.fill(vec3(-BOARD, 0.0, 0.0), vec3(width + BOARD, height + BOARD, DEPTH));
    solid.carve(Vec3::ZERO, vec3(width, height, DEPTH), OUTSIDE);
    solid.shape(OUTSIDE)
}

fn doors(file: &mut Document, palette: &Palette) {
    // (name, corner at the viewer's lower left, degrees about +Y, width, height)
    let casings = [
        ("hall_door_casing", vec3(10.2, 0.0, 0.0), 0.0, 1.2, 2.2),
        ("corridor_door_casing", vec3(11.4, 0.0, -0.4), 180.0, 1.2, 2.2),
        ("corridor_library_casing", vec3(1.0, 0.0, -2.4), 0.0, 1.1, 2.15),
        ("library_door_casing", vec3(2.1, 0.0, -2.8), 180.0, 1.1, 2.15),
        ("library_workshop_casing", vec3(7.0, 0.0, -6.5), -90.0, 1.1, 2.15),
        ("workshop_door_casing", vec3(7.4, 0.0, -5.4), 90.0, 1.1, 2.15),
        ("entrance_casing", vec3(12.0, 0.0, 3.2), -90.0, 1.6, 2.6),
    ];
    for (name, corner, degrees, width, height) in casings {
        let shape = casing(width, height)
            .moved(Affine3A::from_rotation_translation(Quat::from_rotation_y(f32::to_radians(degrees)), corner));
        one(file, name, &shape, palette.dark_wood);
    }
    let leaf = door_leaf();
    let mesh = file.mesh("door_leaf", &[(&leaf, palette.wood)]);
    file.place("hall_door_leaf", mesh, Pose::at(10.19, 0.006, -0.44).turned(173.0).scaled(vec3(1.1, 2.14, 1.0)));
    file.place("library_door_leaf", mesh, Pose::at(1.04, 0.006, -2.86).turned(105.0).scaled(vec3(1.0, 2.1, 1.0)));

    let mut entrance = Shape::default();
    for south in [3.24, 4.02] {
        for (bottom, top) in [(0.2, 1.15), (1.35, 2.35)] {
            entrance.cuboid(vec3(12.16, bottom, south + 0.1), vec3(12.2, top, south + 0.64), &[Face::Right]);
        }
    }
    one(file, "entrance_panels", &entrance, palette.wood);
}

/// Returns a door with sunk panels, 1 m wide and high (to be scaled), hinged at the origin, along +X.
fn door_leaf() -> Shape {
    const THICK: f32 = 0.04;
    let margin = Vec3::splat(0.1);
    let mut solid = Solid::new(-margin, vec3(1.0, 1.0, THICK) + margin, OUTSIDE);
    solid.fill(Vec3::ZERO, vec3(1.0, 1.0, THICK));
    for (bottom, top) in [(0.07, 0.42), (0.5, 0.93)] {
        for left in [0.12, 0.55] {
            for (near, far) in [(0.0, 0.012), (THICK - 0.012, THICK)] {
                solid.carve(vec3(left, bottom, near), vec3(left + 0.33, top, far), OUTSIDE);
            }
        }
    }
    solid.shape(OUTSIDE)
}

/// Board against a wall between two points of the floor plan. It is on the left when going from `from` to `to`.
struct Run {
    from: Vec2,
    to: Vec2,
}

/// Returns boards of some height and depth along walls. Where runs meet in a corner, those along X reach it and those
/// along Z stop at them. `hidden` faces lie against other objects, as the faces at the wall do.
fn along_walls(runs: &[Run], bottom: f32, height: f32, depth: f32, hidden: &[Face]) -> Shape {
    let mut shape = Shape::default();
    for Run { from, to } in runs {
        let inward = (*to - *from).normalize().perp() * -depth;
        let (min, max) = (from.min(*to).min(*from + inward), from.max(*to).max(*to + inward));
        let against = match (inward.x, inward.y) {
            (x, _) if x > 0.0 => Face::Left,
            (x, _) if x < 0.0 => Face::Right,
            (_, z) if z > 0.0 => Face::Back,
            _ => Face::Front,
        };
        let without = [hidden, &[against]].concat();
        shape.cuboid(vec3(min.x, bottom, min.y), vec3(max.x, bottom + height, max.y), &without);
    }
    shape
}

/// Returns runs along the walls of a rectangular room, with gaps along its four sides: north, south, west, east.
fn around(min: Vec2, max: Vec2, depth: f32, gaps: [&[(f32, f32)]; 4]) -> Vec<Run> {
    let spans = |from: f32, to: f32, gaps: &[(f32, f32)]| {
        let starts = std::iter::once(from).chain(gaps.iter().map(|gap| gap.1));
        let ends = gaps.iter().map(|gap| gap.0).chain(std::iter::once(to));
        starts.zip(ends).filter(|(start, end)| end > start).collect::<Vec<_>>()
    };
    let mut runs = Vec::new();
    runs.extend(
        spans(min.x, max.x, gaps[0]).into_iter().map(|(a, b)| Run { from: vec2(b, min.y), to: vec2(a, min.y) }),
    );
    runs.extend(
        spans(min.x, max.x, gaps[1]).into_iter().map(|(a, b)| Run { from: vec2(a, max.y), to: vec2(b, max.y) }),
    );
    let (near, far) = (min.y + depth, max.y - depth);
    runs.extend(spans(near, far, gaps[2]).into_iter().map(|(a, b)| Run { from: vec2(min.x, a), to: vec2(min.x, b) }));
    runs.extend(spans(near, far, gaps[3]).into_iter().map(|(a, b)| Run { from: vec2(max.x, b), to: vec2(max.x, a) }));
    runs
}

/// Adds skirting boards and the paneling of the library.
fn boards(file: &mut Document, palette: &Palette) {
    const DEPTH: f32 = 0.02;
    let hall = around(
        Vec2::ZERO,
        vec2(12.0, 8.0),
        DEPTH,
        [&[(GALLERY_EDGE, STAIR_FOOT), (10.08, 11.52)], &[], &[], &[(3.08, 4.92)]],
    );
    one(file, "hall_skirting", &along_walls(&hall, 0.0, 0.14, DEPTH, &[Face::Bottom]), palette.dark_wood);
    let corridor = around(vec2(0.0, -2.4), vec2(12.0, -0.4), DEPTH, [&[(0.88, 2.22)], &[(10.08, 11.52)], &[], &[]]);
    one(file, "corridor_skirting", &along_walls(&corridor, 0.0, 0.12, DEPTH, &[Face::Bottom]), palette.painted_wood);
    let workshop = around(vec2(7.4, -8.8), vec2(12.0, -2.8), DEPTH, [&[], &[], &[(-6.62, -5.28)], &[]]);
    one(file, "workshop_skirting", &along_walls(&workshop, 0.0, 0.1, DEPTH, &[Face::Bottom]), palette.dark_wood);

    const PANELING: f32 = 0.03;
    let doors: [&[(f32, f32)]; 4] = [&[], &[(0.88, 2.22)], &[], &[(-6.62, -5.28)]];
    let library = around(vec2(0.0, -8.8), vec2(7.0, -2.8), PANELING, doors);
    one(
        file,
        "library_panelling",
        &along_walls(&library, 0.0, 1.0, PANELING, &[Face::Bottom, Face::Top]),
        palette.dark_wood,
    );
    let rail = around(vec2(0.0, -8.8), vec2(7.0, -2.8), PANELING + 0.02, doors);
    one(file, "library_dado_rail", &along_walls(&rail, 1.0, 0.05, PANELING + 0.02, &[]), palette.wood);
}

fn beams_and_columns(file: &mut Document, palette: &Palette) {
    let mut beam = Shape::default();
    beam.cuboid(vec3(-0.14, -0.32, 0.0), vec3(0.14, 0.0, 8.0), &[Face::Top, Face::Back, Face::Front]);
    let mesh = file.mesh("beam", &[(&beam, palette.dark_wood)]);
    for (number, x) in [1.2, 3.6, 6.0, 8.4, 10.8].into_iter().enumerate() {
        file.place(&format!("hall_beam_{}", number + 1), mesh, Pose::at(x, 6.0, 0.0));
    }

    let top = GALLERY - 0.25;
    let mut column = Shape::default();
    column.lathe(
        24,
        &[
            &[(0.2, 0.0), (0.2, 0.1)],
            &[(0.2, 0.1), (0.17, 0.1)],
            &[(0.17, 0.1), (0.185, 0.125), (0.18, 0.15), (0.15, 0.17)],
            &[(0.15, 0.17), (0.147, 0.8), (0.14, 1.5), (0.125, top - 0.22)],
            &[(0.125, top - 0.22), (0.145, top - 0.2), (0.145, top - 0.18), (0.125, top - 0.16)],
            &[(0.125, top - 0.16), (0.13, top - 0.12), (0.19, top - 0.06)],
            &[(0.19, top - 0.06), (0.19, top)],
        ],
    );
    let mesh = file.mesh("column", &[(&column, palette.stone)]);
    for (number, z) in [2.4, 5.2, 7.5].into_iter().enumerate() {
        file.place(&format!("hall_column_{}", number + 1), mesh, Pose::at(2.3, 0.0, z));
    }
}

/// Adds a closed flight of stairs along the north wall, rising westward to the gallery.
fn stairs(file: &mut Document, palette: &Palette) {
    let (mut treads, mut side) = (Shape::default(), Shape::default());
    let corner = |step: usize| (STAIR_FOOT - step as f32 * TREAD, step as f32 * RISE);
    let mut outline = vec![vec3(GALLERY_EDGE, 0.0, STAIR_WIDTH), vec3(STAIR_FOOT, 0.0, STAIR_WIDTH)];
    for step in 0..STEPS {
        let (east, bottom) = corner(step);
        let (west, top) = corner(step + 1);
        treads.rectangle(vec3(east, bottom, STAIR_WIDTH), vec3(0.0, 0.0, -STAIR_WIDTH), Vec3::Y * RISE);
        treads.rectangle(vec3(west, top, STAIR_WIDTH), Vec3::X * TREAD, vec3(0.0, 0.0, -STAIR_WIDTH));
        outline.extend([vec3(east, top, STAIR_WIDTH), vec3(west, top, STAIR_WIDTH)]);
    }
    let uvs: Vec<Vec2> = outline.iter().map(|point| vec2(point.x, -point.y)).collect();
    side.polygon(&outline, &uvs);
    // The end of the flight is visible under the gallery.
    side.rectangle(vec3(GALLERY_EDGE, 0.0, 0.0), Vec3::Z * STAIR_WIDTH, Vec3::Y * (GALLERY - 0.25));
    one(file, "stair_steps", &treads, palette.wood);
    one(file, "stair_side", &side, palette.plaster_white);
}

/// Adds turned balusters and handrails along the gallery's edge and up the stairs.
fn balustrade(file: &mut Document, palette: &Palette) {
    const HEIGHT: f32 = 0.9;
    let baluster = baluster(HEIGHT);
    let mut gallery = Shape::default();
    let edge = GALLERY_EDGE - 0.08;
    for post in 0..34 {
        let z = STAIR_WIDTH + 0.16 + post as f32 * 0.2;
        gallery.add(&baluster, Affine3A::from_translation(vec3(edge, GALLERY, z)));
    }
    one(file, "gallery_balusters", &gallery, palette.painted_wood);

    let mut flight = Shape::default();
    for step in 1..STEPS {
        let (x, y) = (STAIR_FOOT - (step as f32 + 0.5) * TREAD, (step + 1) as f32 * RISE);
        flight.add(&baluster, Affine3A::from_translation(vec3(x, y, STAIR_WIDTH - 0.08)));
    }
    one(file, "stair_balusters", &flight, palette.painted_wood);

    let mut rails = Shape::default();
    rails.cuboid(
        vec3(edge - 0.04, GALLERY + HEIGHT, STAIR_WIDTH + 0.02),
        vec3(edge + 0.04, GALLERY + HEIGHT + 0.06, 8.0),
        &[Face::Front],
    );
    // The stairs' rail touches the tops of its balusters, and their line is parallel to the flight.
    let (foot, head) = (vec2(STAIR_FOOT, RISE * 0.5), vec2(GALLERY_EDGE + 0.02, GALLERY + RISE * 0.43));
    let along = head - foot;
    let mut rail = Shape::default();
    rail.cuboid(vec3(0.0, 0.0, -0.04), vec3(along.length(), 0.06, 0.04), &[]);
    let tilt = Quat::from_rotation_z(along.y.atan2(along.x));
    rails.add(&rail, Affine3A::from_rotation_translation(tilt, vec3(foot.x, foot.y + HEIGHT, STAIR_WIDTH - 0.08)));
    rails.cuboid(
        vec3(STAIR_FOOT - 0.12, RISE, STAIR_WIDTH - 0.13),
        vec3(STAIR_FOOT - 0.02, 1.25, STAIR_WIDTH - 0.03),
        &[Face::Bottom],
    );
    one(file, "handrails", &rails, palette.dark_wood);
}
