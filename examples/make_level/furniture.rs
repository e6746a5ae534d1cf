//! Furniture models, each built around the point where it stands.
//!
//! Faces on which an object stands are left out, since they would coincide with the floor.

use bevy_radiosity::geometry::sobol::{hash2, unit_float};
use glam::{Affine3A, Quat, Vec3, vec2, vec3};

use super::gltf_writer::{Document, MaterialRef, MeshRef};
use super::palette::Palette;
use super::shapes::{Face, Shape};

/// Model of one or more materials.
#[derive(Default)]
pub struct Model {
    parts: Vec<(Shape, MaterialRef)>,
}

impl Model {
    fn with(mut self, shape: Shape, material: MaterialRef) -> Self {
        self.parts.push((shape, material));
        self
    }

    /// Adds the model to a file as a mesh.
    pub fn mesh(&self, file: &mut Document, name: &str) -> MeshRef {
        let parts: Vec<(&Shape, MaterialRef)> = self.parts.iter().map(|(shape, material)| (shape, *material)).collect();
        file.mesh(name, &parts)
    }
}

/// Returns a turned baluster with a square foot and head.
pub fn baluster(height: f32) -> Shape {
    const HALF: f32 = 0.025;
    let (foot, head) = (0.12, height - 0.1);
    let at = |share: f32| foot + (head - foot) * share;
    let mut shape = Shape::default();
    shape.cuboid(vec3(-HALF, 0.0, -HALF), vec3(HALF, foot, HALF), &[Face::Bottom]);
    shape.cuboid(vec3(-HALF, head, -HALF), vec3(HALF, height, HALF), &[Face::Top]);
    shape.lathe(
        8,
        &[&[
            (0.012, foot),
            (0.018, at(0.05)),
            (0.013, at(0.1)),
            (0.023, at(0.25)),
            (0.02, at(0.45)),
            (0.011, at(0.75)),
            (0.016, at(0.9)),
            (0.012, head),
        ]],
    );
    shape
}

/// Returns a turned leg from the floor to a height.
fn turned_leg(height: f32, radius: f32) -> Shape {
    let mut leg = Shape::default();
    leg.lathe(
        10,
        &[&[
            (radius * 0.6, 0.0),
            (radius * 0.75, height * 0.05),
            (radius * 0.5, height * 0.12),
            (radius * 0.8, height * 0.5),
            (radius * 0.55, height * 0.72),
            (radius, height * 0.78),
            (radius * 0.9, height),
        ]],
    );
    leg
}

/// Returns a table with a top of the given length and width, in meters.
pub fn table(palette: &Palette, length: f32, width: f32) -> Model {
    const HEIGHT: f32 = 0.75;
    const TOP: f32 = 0.04;
    let mut top = Shape::default();
    top.cuboid(vec3(-length / 2.0, HEIGHT - TOP, -width / 2.0), vec3(length / 2.0, HEIGHT, width / 2.0), &[]);
    let mut frame = Shape::default();
    let (x, z) = (length / 2.0 - 0.1, width / 2.0 - 0.1);
    let under = HEIGHT - TOP;
    for (from, to) in [
        (vec3(-x, under - 0.1, -z - 0.012), vec3(x, under, -z + 0.012)),
        (vec3(-x, under - 0.1, z - 0.012), vec3(x, under, z + 0.012)),
        (vec3(-x - 0.012, under - 0.1, -z), vec3(-x + 0.012, under, z)),
        (vec3(x - 0.012, under - 0.1, -z), vec3(x + 0.012, under, z)),
    ] {
        frame.cuboid(from, to, &[Face::Top]);
    }
    let leg = turned_leg(under, 0.045);
    for (x, z) in [(-x, -z), (x, -z), (x, z), (-x, z)] {
        frame.add(&leg, Affine3A::from_translation(vec3(x, 0.0, z)));
    }
    Model::default().with(top, palette.wood).with(frame, palette.dark_wood)
}

/// Returns a chair that faces -Z (its back is at +Z).
pub fn chair(palette: &Palette) -> Model {
    const SEAT: f32 = 0.45;
    let mut wood = Shape::default();
    let leg = turned_leg(SEAT - 0.04, 0.024);
    for (x, z) in [(-0.18, -0.18), (0.18, -0.18), (-0.18, 0.18), (0.18, 0.18)] {
        wood.add(&leg, Affine3A::from_translation(vec3(x, 0.0, z)));
    }
    wood.cuboid(vec3(-0.22, SEAT - 0.04, -0.22), vec3(0.22, SEAT, 0.22), &[]);
    let lean = Affine3A::from_rotation_translation(Quat::from_rotation_x(0.14), vec3(0.0, SEAT, 0.185));
    let mut back = Shape::default();
    for x in [-0.19_f32, -0.1, -0.035, 0.035, 0.1, 0.19] {
        let half = if x.abs() > 0.15 { 0.018 } else { 0.012 };
        back.cuboid(vec3(x - half, 0.0, -half), vec3(x + half, 0.42, half), &[Face::Bottom, Face::Top]);
    }
    back.cuboid(vec3(-0.215, 0.42, -0.02), vec3(0.215, 0.5, 0.02), &[]);
    wood.add(&back, lean);
    let mut cushion = Shape::default();
    cushion.lathe(20, &[&[(0.17, 0.0), (0.185, 0.015), (0.17, 0.035), (0.1, 0.045), (0.0, 0.048)]]);
    let cushion = cushion.moved(Affine3A::from_translation(Vec3::Y * SEAT));
    Model::default().with(wood, palette.dark_wood).with(cushion, palette.leather)
}

/// Returns a bookcase with books that faces +Z, its back at z = 0.
pub fn bookcase(palette: &Palette) -> Model {
    const WIDTH: f32 = 1.2;
    const HEIGHT: f32 = 2.2;
    const DEPTH: f32 = 0.32;
    const BOARD: f32 = 0.025;
    const SHELVES: usize = 5;
    let (mut frame, mut books) = (Shape::default(), Shape::default());
    let side = WIDTH / 2.0;
    frame.cuboid(vec3(-side, 0.0, 0.0), vec3(-side + BOARD, HEIGHT, DEPTH), &[Face::Bottom]);
    frame.cuboid(vec3(side - BOARD, 0.0, 0.0), vec3(side, HEIGHT, DEPTH), &[Face::Bottom]);
    let inside = side - BOARD;
    frame.cuboid(vec3(-inside, 0.08, 0.0), vec3(inside, HEIGHT, 0.012), &[Face::Left, Face::Right, Face::Bottom]);
    frame.cuboid(vec3(-side - 0.02, HEIGHT, 0.0), vec3(side + 0.02, HEIGHT + 0.05, DEPTH + 0.03), &[]);
    let pitch = (HEIGHT - 0.08) / SHELVES as f32;
    let mut serial = 0;
    for shelf in 0..SHELVES {
        let bottom = 0.08 + shelf as f32 * pitch;
        let hidden: &[Face] = &[Face::Left, Face::Right, Face::Back];
        let plinth: &[Face] = &[Face::Left, Face::Right, Face::Bottom];
        let (from, without) = if shelf == 0 { (0.0, plinth) } else { (bottom - BOARD, hidden) };
        frame.cuboid(vec3(-inside, from, 0.012), vec3(inside, bottom, DEPTH - 0.01), without);
        let mut x = -inside + 0.004;
        let mut random = || {
            serial += 1;
            unit_float(hash2(serial, 7))
        };
        loop {
            let (thick, tall, deep) = (0.024 + 0.04 * random(), 0.22 + 0.14 * random(), 0.16 + 0.07 * random());
            if x + thick > inside - 0.004 {
                break;
            }
            if random() < 0.93 {
                let spine = (random() * 16.0).floor();
                book(&mut books, vec3(x, bottom, DEPTH - 0.03 - deep), vec3(thick, tall, deep), spine);
            }
            // A small gap between books keeps their faces separate.
            x += thick + 0.002;
        }
    }
    Model::default().with(frame, palette.wood).with(books, palette.books)
}

/// Adds a book with its spine at +Z. The covers take the color of a strip of the same spine.
fn book(books: &mut Shape, min: Vec3, size: Vec3, spine: f32) {
    let first = books.positions.len();
    let foot: &[Face] = &[Face::Bottom];
    books.cuboid(min, min + size, foot);
    for index in first..books.positions.len() {
        let (place, normal) = ((books.positions[index] - min) / size, books.normals[index]);
        let across = if normal.z > 0.5 { 0.06 + 0.88 * place.x } else { 0.06 + 0.04 * place.z };
        books.uvs[index] = vec2((spine + across) / 16.0, 0.95 - 0.9 * place.y);
    }
}

/// Returns a vase: a smooth surface of revolution with an inside.
pub fn vase(palette: &Palette, slender: bool) -> Model {
    let mut vase = Shape::default();
    if slender {
        vase.lathe(
            24,
            &[
                &[(0.0, 0.004), (0.06, 0.0)],
                &[(0.06, 0.0), (0.075, 0.03), (0.1, 0.12), (0.095, 0.2), (0.05, 0.3), (0.035, 0.38), (0.045, 0.43)],
                &[(0.045, 0.43), (0.04, 0.434), (0.032, 0.42), (0.028, 0.38), (0.045, 0.3), (0.05, 0.2), (0.0, 0.16)],
            ],
        );
        Model::default().with(vase, palette.glaze)
    } else {
        vase.lathe(
            24,
            &[
                &[(0.0, 0.004), (0.07, 0.0)],
                &[(0.07, 0.0), (0.11, 0.04), (0.15, 0.12), (0.155, 0.18), (0.12, 0.25), (0.1, 0.27)],
                &[(0.1, 0.27), (0.125, 0.3)],
                &[(0.125, 0.3), (0.118, 0.303)],
                &[(0.118, 0.303), (0.092, 0.272)],
                &[(0.092, 0.272), (0.11, 0.2), (0.08, 0.08), (0.0, 0.05)],
            ],
        );
        Model::default().with(vase, palette.porcelain)
    }
}

/// Returns a plant of cut-out leaves in a clay pot.
pub fn plant(palette: &Palette) -> Model {
    let mut pot = Shape::default();
    pot.lathe(
        24,
        &[
            &[(0.15, 0.0), (0.2, 0.3)],
            &[(0.2, 0.3), (0.225, 0.305)],
            &[(0.225, 0.305), (0.23, 0.37)],
            &[(0.23, 0.37), (0.205, 0.37)],
            &[(0.205, 0.37), (0.195, 0.315)],
        ],
    );
    let mut earth = Shape::default();
    earth.lathe(24, &[&[(0.2, 0.32), (0.1, 0.335), (0.0, 0.34)]]);
    let mut leaves = Shape::default();
    for leaf in 0..26u32 {
        let random = |salt: u32| unit_float(hash2(leaf, 1000 + salt));
        let turn = Quat::from_rotation_y(leaf as f32 * 2.399_963);
        let (lift, length) = (0.35 + 0.95 * random(1), 0.55 + 0.45 * random(2));
        // A leaf leaves the pot along its lift and bends down under its weight.
        let droop = 0.5 + 0.7 * random(3);
        let spine = |along: f32| {
            let angle = lift - droop * along;
            vec3(0.05 + along * length * (0.25 + 0.75 * angle.cos()), 0.33 + along * length * (0.2 + angle.sin()), 0.0)
        };
        let width = 0.16 * length;
        leaves.sheet(2, 6, vec2(1.0, 1.0), |uv| {
            let across = (uv.x - 0.5) * 2.0;
            let cupped = width * 0.3 * across * across;
            turn * (spine(1.0 - uv.y) + vec3(0.0, cupped, across * width))
        });
    }
    Model::default().with(pot, palette.clay).with(earth, palette.earth).with(leaves, palette.leaf)
}

/// Returns a floor lamp: an open shade around a bare bulb.
pub fn floor_lamp(palette: &Palette) -> Model {
    let mut stand = Shape::default();
    stand.lathe(
        16,
        &[
            &[(0.16, 0.0), (0.16, 0.015), (0.1, 0.03), (0.02, 0.05), (0.012, 0.1), (0.012, 1.38), (0.02, 1.4)],
            &[(0.02, 1.4), (0.0, 1.4)],
        ],
    );
    let mut shade = Shape::default();
    shade.lathe(24, &[&[(0.24, 1.32), (0.14, 1.68)]]);
    let mut bulb = Shape::default();
    bulb.ball(0.05, 16);
    let bulb = bulb.moved(Affine3A::from_translation(Vec3::Y * 1.452));
    Model::default().with(stand, palette.brass).with(shade, palette.shade).with(bulb, palette.bulb)
}

/// Returns a pendant lamp, its rose at the origin on the ceiling. The light belongs below the top of its shade.
pub fn pendant(palette: &Palette, drop: f32) -> Model {
    let mut stem = Shape::default();
    stem.lathe(8, &[&[(0.008, -drop + 0.1), (0.008, -0.03)], &[(0.008, -0.03), (0.05, -0.02), (0.05, 0.0)]]);
    let mut dome = Shape::default();
    dome.lathe(
        24,
        &[
            &[(0.25, -drop), (0.24, -drop + 0.05), (0.18, -drop + 0.12), (0.04, -drop + 0.17), (0.0, -drop + 0.17)],
            &[
                (0.0, -drop + 0.165),
                (0.038, -drop + 0.165),
                (0.176, -drop + 0.115),
                (0.235, -drop + 0.046),
                (0.246, -drop),
            ],
            &[(0.246, -drop), (0.25, -drop)],
        ],
    );
    Model::default().with(stem, palette.iron).with(dome, palette.brass)
}

/// Returns a ceiling panel that emits downward, in a frame. Its top is at the height of the origin.
pub fn light_panel(palette: &Palette) -> Model {
    let (mut frame, mut panel) = (Shape::default(), Shape::default());
    for (min, max) in
        [(vec3(-0.62, -0.05, -0.32), vec3(0.62, 0.0, -0.3)), (vec3(-0.62, -0.05, 0.3), vec3(0.62, 0.0, 0.32))]
    {
        frame.cuboid(min, max, &[Face::Top]);
    }
    for (min, max) in [(vec3(-0.62, -0.05, -0.3), vec3(-0.6, 0.0, 0.3)), (vec3(0.6, -0.05, -0.3), vec3(0.62, 0.0, 0.3))]
    {
        frame.cuboid(min, max, &[Face::Top, Face::Back, Face::Front]);
    }
    panel.rectangle(vec3(-0.6, -0.03, -0.3), Vec3::X * 1.2, Vec3::Z * 0.6);
    Model::default().with(frame, palette.iron).with(panel, palette.panel)
}

/// Returns a plinth with a ball on it.
pub fn ball_on_plinth(palette: &Palette) -> Model {
    let mut plinth = Shape::default();
    plinth.cuboid(vec3(-0.3, 0.0, -0.3), vec3(0.3, 0.12, 0.3), &[Face::Bottom]);
    plinth.cuboid(vec3(-0.24, 0.12, -0.24), vec3(0.24, 0.8, 0.24), &[Face::Bottom, Face::Top]);
    plinth.cuboid(vec3(-0.28, 0.8, -0.28), vec3(0.28, 0.88, 0.28), &[]);
    let mut ball = Shape::default();
    ball.ball(0.28, 32);
    let ball = ball.moved(Affine3A::from_translation(Vec3::Y * 1.165));
    Model::default().with(plinth, palette.stone).with(ball, palette.porcelain)
}

/// Returns a crate of boards, 1 m along each edge.
pub fn crate_box(palette: &Palette) -> Model {
    let mut wood = Shape::default();
    wood.cuboid(vec3(-0.47, 0.0, -0.47), vec3(0.47, 1.0, 0.47), &[Face::Bottom]);
    let mut side = Shape::default();
    // At each corner, one side's stile covers the end of the next one's.
    side.cuboid(vec3(-0.47, 0.0, 0.47), vec3(-0.4, 1.0, 0.5), &[Face::Bottom, Face::Back, Face::Left]);
    side.cuboid(vec3(0.4, 0.0, 0.47), vec3(0.5, 1.0, 0.5), &[Face::Bottom, Face::Back]);
    for (bottom, top) in [(0.0, 0.1), (0.9, 1.0)] {
        let hidden: &[Face] = if bottom == 0.0 { &[Face::Bottom] } else { &[] };
        let without = [&[Face::Left, Face::Right, Face::Back][..], hidden].concat();
        side.cuboid(vec3(-0.4, bottom, 0.47), vec3(0.4, top, 0.5), &without);
    }
    for quarter in 0..4 {
        wood.add(&side, Affine3A::from_rotation_y(quarter as f32 * core::f32::consts::FRAC_PI_2));
    }
    Model::default().with(wood, palette.wood)
}

/// Returns a barrel with iron hoops.
pub fn barrel(palette: &Palette) -> Model {
    let mut wood = Shape::default();
    wood.lathe(
        24,
        &[
            &[(0.27, 0.0), (0.32, 0.22), (0.335, 0.45), (0.32, 0.68), (0.27, 0.9)],
            &[(0.27, 0.9), (0.25, 0.9)],
            &[(0.25, 0.9), (0.25, 0.87)],
            &[(0.25, 0.87), (0.0, 0.87)],
        ],
    );
    let mut hoops = Shape::default();
    for (radius, height) in [(0.288, 0.06), (0.325, 0.24), (0.325, 0.62), (0.288, 0.8)] {
        let lean = if height < 0.45 { 0.008 } else { -0.008 };
        hoops.lathe(24, &[&[(radius, height), (radius + lean, height + 0.04)]]);
        hoops.lathe(24, &[&[(radius + lean, height + 0.04), (radius + lean - 0.02, height + 0.04)]]);
        hoops.lathe(24, &[&[(radius - 0.02, height), (radius, height)]]);
    }
    Model::default().with(wood, palette.wood).with(hoops, palette.iron)
}

/// Returns a workbench along X.
pub fn workbench(palette: &Palette) -> Model {
    let (mut top, mut frame) = (Shape::default(), Shape::default());
    top.cuboid(vec3(-1.0, 0.82, -0.35), vec3(1.0, 0.9, 0.35), &[]);
    for (x, z) in [(-0.9, -0.28), (0.9, -0.28), (-0.9, 0.28), (0.9, 0.28)] {
        frame.cuboid(vec3(x - 0.05, 0.0, z - 0.05), vec3(x + 0.05, 0.82, z + 0.05), &[Face::Bottom, Face::Top]);
    }
    let ends: &[Face] = &[Face::Left, Face::Right];
    frame.cuboid(vec3(-0.85, 0.2, -0.3), vec3(0.85, 0.3, -0.26), ends);
    frame.cuboid(vec3(-0.85, 0.2, 0.26), vec3(0.85, 0.3, 0.3), ends);
    // A vise at the front edge.
    frame.cuboid(vec3(0.5, 0.76, 0.35), vec3(0.75, 0.9, 0.41), &[Face::Back]);
    Model::default().with(top, palette.wood).with(frame, palette.dark_wood)
}

/// Returns an armchair that faces -Z.
pub fn armchair(palette: &Palette) -> Model {
    let mut leather = Shape::default();
    let arm = |leather: &mut Shape, x: f32| {
        leather.cuboid(vec3(x - 0.09, 0.0, -0.4), vec3(x + 0.09, 0.52, 0.4), &[Face::Bottom, Face::Top]);
        let mut roll = Shape::default();
        roll.lathe(16, &[&[(0.0, 0.0), (0.105, 0.0)], &[(0.105, 0.0), (0.105, 0.82)], &[(0.105, 0.82), (0.0, 0.82)]]);
        let lying = Quat::from_rotation_x(core::f32::consts::FRAC_PI_2);
        leather.add(&roll, Affine3A::from_rotation_translation(lying, vec3(x, 0.55, -0.41)));
    };
    arm(&mut leather, -0.38);
    arm(&mut leather, 0.38);
    leather.cuboid(
        vec3(-0.29, 0.0, -0.36),
        vec3(0.29, 0.3, 0.26),
        &[Face::Bottom, Face::Left, Face::Right, Face::Back],
    );
    leather.cuboid(
        vec3(-0.29, 0.0, -0.36),
        vec3(0.29, 0.3, -0.355),
        &[Face::Bottom, Face::Left, Face::Right, Face::Top, Face::Front],
    );
    let mut cushion = Shape::default();
    cushion.cuboid(vec3(-0.28, 0.3, -0.38), vec3(0.28, 0.44, 0.24), &[Face::Bottom]);
    leather.add(&cushion, Affine3A::IDENTITY);
    let lean = Affine3A::from_rotation_translation(Quat::from_rotation_x(0.18), vec3(0.0, 0.0, 0.26));
    let mut back = Shape::default();
    back.cuboid(vec3(-0.285, 0.05, 0.0), vec3(0.285, 1.0, 0.16), &[Face::Bottom]);
    leather.add(&back, lean);
    Model::default().with(leather, palette.leather)
}

/// Returns a framed picture on a wall at z = 0, seen from +Z. It is 1 m wide, to be scaled.
pub fn framed_picture(palette: &Palette) -> Model {
    let (mut frame, mut canvas) = (Shape::default(), Shape::default());
    for (min, max) in [(vec3(-0.5, -0.4, 0.0), vec3(0.5, -0.34, 0.04)), (vec3(-0.5, 0.34, 0.0), vec3(0.5, 0.4, 0.04))] {
        frame.cuboid(min, max, &[Face::Back]);
    }
    for (min, max) in
        [(vec3(-0.5, -0.34, 0.0), vec3(-0.44, 0.34, 0.04)), (vec3(0.44, -0.34, 0.0), vec3(0.5, 0.34, 0.04))]
    {
        frame.cuboid(min, max, &[Face::Back, Face::Bottom, Face::Top]);
    }
    canvas.polygon(
        &[vec3(-0.44, -0.34, 0.02), vec3(0.44, -0.34, 0.02), vec3(0.44, 0.34, 0.02), vec3(-0.44, 0.34, 0.02)],
        &[vec2(0.0, 1.0), vec2(1.0, 1.0), vec2(1.0, 0.0), vec2(0.0, 0.0)],
    );
    Model::default().with(frame, palette.brass).with(canvas, palette.painting)
}

/// Returns a carpet of 1 m by 1 m on the floor, to be scaled.
pub fn carpet(palette: &Palette) -> Model {
    let mut carpet = Shape::default();
    carpet.cuboid(vec3(-0.5, 0.0, -0.5), vec3(0.5, 0.012, 0.5), &[Face::Bottom]);
    for index in 0..carpet.positions.len() {
        let place = carpet.positions[index];
        carpet.uvs[index] = vec2(place.x + 0.5, place.z + 0.5);
    }
    Model::default().with(carpet, palette.carpet)
}

/// Returns a wavy banner, visible from both sides, that hangs from a rod along X at the origin.
pub fn banner(palette: &Palette) -> Model {
    let (width, height) = (1.1, 2.4);
    let mut cloth = Shape::default();
    cloth.sheet(12, 24, vec2(1.0, 1.0), |uv| {
        let wave = 0.05 * uv.y * ((uv.x * 11.0 + uv.y * 2.0).sin() + 0.6 * (uv.y * 7.0 - uv.x * 3.0).sin());
        vec3((uv.x - 0.5) * width, -0.02 - uv.y * height, wave)
    });
    let mut rod = Shape::default();
    rod.lathe(10, &[&[(0.0, -0.66), (0.014, -0.66)], &[(0.014, -0.66), (0.014, 0.66)], &[(0.014, 0.66), (0.0, 0.66)]]);
    let rod = rod.moved(Affine3A::from_rotation_z(-core::f32::consts::FRAC_PI_2));
    Model::default().with(cloth, palette.banner).with(rod, palette.brass)
}

/// Returns a pegboard on a wall at z = 0, with a saw, hammers and a shelf.
pub fn tool_board(palette: &Palette) -> Model {
    let (mut board, mut iron, mut wood) = (Shape::default(), Shape::default(), Shape::default());
    board.rectangle(vec3(-0.9, 0.0, 0.03), Vec3::X * 1.8, Vec3::Y * 0.9);
    for (min, max) in
        [(vec3(-0.93, -0.03, 0.0), vec3(0.93, 0.0, 0.04)), (vec3(-0.93, 0.9, 0.0), vec3(0.93, 0.93, 0.04))]
    {
        wood.cuboid(min, max, &[Face::Back]);
    }
    for (number, x) in [-0.65, -0.45, -0.25].into_iter().enumerate() {
        let length = 0.32 + 0.05 * number as f32;
        wood.cuboid(vec3(x - 0.012, 0.75 - length, 0.045), vec3(x + 0.012, 0.74, 0.065), &[Face::Top]);
        iron.cuboid(vec3(x - 0.06, 0.74, 0.04), vec3(x + 0.05, 0.78, 0.07), &[]);
    }
    iron.cuboid(vec3(0.05, 0.55, 0.045), vec3(0.5, 0.65, 0.049), &[]);
    wood.cuboid(vec3(0.5, 0.53, 0.038), vec3(0.62, 0.68, 0.058), &[]);
    wood.cuboid(vec3(0.0, 0.2, 0.04), vec3(0.8, 0.22, 0.18), &[]);
    Model::default().with(board, palette.pegboard).with(iron, palette.iron).with(wood, palette.dark_wood)
}
