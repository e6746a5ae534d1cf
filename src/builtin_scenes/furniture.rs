//! Furniture meshes. All stand on the plane y = 0, without faces at their base, and face positive z.

use core::f32::consts::FRAC_PI_2;

use glam::{Affine3A, Quat, Vec3};

use super::model::{Model, at, faces, tipped, turned_at};
use crate::geometry::{rotation_x, rotation_y, rotation_z};
use crate::scene::MeshData;
use crate::scene::shapes::{icosphere, torus};

/// Builds a chair of 44 by 44 cm with three boards as its back.
pub(super) fn chair() -> MeshData {
    let mut chair = Model::new("chair").cuboid([-0.22, 0.43, -0.22], [0.22, 0.47, 0.22], faces::WHOLE);
    for x in [-0.21, 0.17] {
        chair = chair.cuboid([x, 0.0, 0.17], [x + 0.04, 0.43, 0.21], faces::SIDES);
        chair = chair.cuboid([x, 0.0, -0.21], [x + 0.04, 0.43, -0.17], faces::SIDES);
        chair = chair.cuboid([x, 0.47, -0.21], [x + 0.04, 0.98, -0.17], faces::STANDING);
    }
    for y in [0.6, 0.72, 0.84] {
        chair = chair.cuboid([-0.17, y, -0.2], [0.17, y + 0.07, -0.18], faces::BETWEEN);
    }
    chair.mesh()
}

/// Builds a table with square legs.
pub(super) fn table(width: f32, height: f32, depth: f32) -> MeshData {
    let (x, z, top) = (0.5 * width, 0.5 * depth, height - 0.04);
    let mut table = Model::new("table").cuboid([-x, top, -z], [x, height, z], faces::WHOLE);
    for (x, z) in [(-x, -z), (-x, z - 0.07), (x - 0.07, -z), (x - 0.07, z - 0.07)] {
        let (x, z) = (x + 0.01, z + 0.01);
        table = table.cuboid([x, 0.0, z], [x + 0.05, top, z + 0.05], faces::SIDES);
    }
    table.mesh()
}

/// Profile of a turned leg: radius in meters, and fraction of the height.
const LEG: [[f32; 2]; 9] = [
    [0.03, 0.0],
    [0.04, 0.04],
    [0.025, 0.11],
    [0.028, 0.42],
    [0.04, 0.62],
    [0.045, 0.7],
    [0.03, 0.75],
    [0.045, 0.8],
    [0.045, 1.0],
];

/// Builds a table with turned legs of `around` sides.
pub(super) fn turned_table(width: f32, height: f32, depth: f32, around: u32) -> MeshData {
    let (x, z, top) = (0.5 * width, 0.5 * depth, height - 0.04);
    let leg = LEG.map(|[radius, rise]| [radius, rise * top]);
    let mut table = Model::new("table").cuboid([-x, top, -z], [x, height, z], faces::WHOLE);
    for (x, z) in [(-x, -z), (-x, z), (x, -z), (x, z)] {
        table = table.turned([x - 0.08f32.copysign(x), 0.0, z - 0.08f32.copysign(z)], &leg, around);
    }
    table.mesh()
}

/// Builds a round table on one leg.
pub(super) fn round_table(radius: f32, height: f32, around: u32) -> MeshData {
    let top = height - 0.04;
    let profile = [
        [0.5 * radius, 0.0],
        [0.45 * radius, 0.03],
        [0.06, 0.08],
        [0.04, 0.3],
        [0.06, top],
        [radius, top],
        [radius, height],
        [0.0, height],
    ];
    Model::new("round_table").turned([0.0; 3], &profile, around).mesh()
}

/// Builds a shelf of `boards` boards, open at the back toward the wall.
pub(super) fn shelf(width: f32, height: f32, depth: f32, boards: u32) -> MeshData {
    let x = 0.5 * width;
    let mut shelf = Model::new("shelf");
    for x in [-x, x - 0.03] {
        shelf = shelf.cuboid([x, 0.0, 0.0], [x + 0.03, height, depth], faces::AT_WALL);
    }
    for board in 0..boards {
        let y = board_height(height, boards, board);
        shelf = shelf.cuboid([-x + 0.03, y - 0.03, 0.0], [x - 0.03, y, depth], faces::BOARD_AT_WALL);
    }
    shelf.mesh()
}

/// Returns the height of a board's upper face in a [`shelf`].
pub(super) fn board_height(height: f32, boards: u32, board: u32) -> f32 {
    0.1 + (height - 0.1) / boards as f32 * board as f32
}

/// Builds a row of books to the right from x = 0, with their spines to positive z. Thicknesses and heights follow from
/// `seed`.
pub(super) fn books(count: u32, seed: u32) -> MeshData {
    let mut books = Model::new("books");
    let mut x = 0.0;
    for book in 0..count {
        let varied = |salt: u32| ((seed * 31 + book * 7 + salt) * 37 % 101) as f32 / 100.0;
        let (width, height, depth) = (0.02 + 0.03 * varied(1), 0.18 + 0.1 * varied(2), 0.14 + 0.06 * varied(3));
        books = books.cuboid([x, 0.0, 0.02], [x + width, height, 0.02 + depth], faces::STANDING);
        x += width + 0.004;
    }
    books.mesh()
}

/// Builds an open vase with a wall thickness. The profile is a bottle's, scaled to `radius` and `height`.
pub(super) fn vase(radius: f32, height: f32, around: u32) -> MeshData {
    const OUTSIDE: [[f32; 2]; 9] = [
        [0.5, 0.0],
        [0.55, 0.04],
        [0.8, 0.15],
        [1.0, 0.32],
        [0.95, 0.5],
        [0.65, 0.68],
        [0.4, 0.8],
        [0.4, 0.9],
        [0.55, 1.0],
    ];
    const INSIDE: [[f32; 2]; 6] = [[0.47, 0.99], [0.32, 0.9], [0.32, 0.8], [0.85, 0.5], [0.5, 0.08], [0.0, 0.06]];
    let profile: Vec<[f32; 2]> = OUTSIDE.iter().chain(&INSIDE).map(|[x, y]| [x * radius, y * height]).collect();
    Model::new("vase").turned([0.0; 3], &profile, around).mesh()
}

/// Builds a bowl with a wall thickness.
pub(super) fn bowl(radius: f32, around: u32) -> MeshData {
    const PROFILE: [[f32; 2]; 8] =
        [[0.4, 0.0], [0.45, 0.05], [0.75, 0.2], [0.95, 0.42], [1.0, 0.5], [0.93, 0.5], [0.6, 0.2], [0.0, 0.1]];
    Model::new("bowl").turned([0.0; 3], &PROFILE.map(|place| place.map(|length| length * radius)), around).mesh()
}

/// Builds fruit for a [`bowl`] of radius 0.18.
pub(super) fn fruit(subdivisions: u32) -> MeshData {
    let ball = icosphere("", 0.05, subdivisions);
    let places = [[0.06, 0.07, 0.0], [-0.04, 0.07, 0.06], [-0.03, 0.075, -0.06], [0.01, 0.14, 0.0]];
    places.into_iter().fold(Model::new("fruit"), |fruit, place| fruit.piece(&ball, at(place))).mesh()
}

/// Builds a picture frame around the origin, its back at the wall z = 0. The picture itself is [`canvas`].
pub(super) fn frame(width: f32, height: f32) -> MeshData {
    let (x, y) = (0.5 * width, 0.5 * height);
    Model::new("frame").cuboid([-x, -y, 0.0], [x, y, 0.02], faces::ON_WALL).mesh()
}

/// Builds the picture inside a [`frame`].
pub(super) fn canvas(width: f32, height: f32) -> MeshData {
    let (x, y) = (0.5 * width - 0.05, 0.5 * height - 0.05);
    Model::new("canvas").cuboid([-x, -y, 0.02], [x, y, 0.03], faces::ON_WALL).mesh()
}

/// Builds a slab, such as a rug or a plinth.
pub(super) fn slab(name: &str, width: f32, height: f32, depth: f32) -> MeshData {
    let (x, z) = (0.5 * width, 0.5 * depth);
    Model::new(name).cuboid([-x, 0.0, -z], [x, height, z], faces::STANDING).mesh()
}

/// Builds a cupboard at the wall z = 0, with two doors and two knobs.
pub(super) fn cupboard(width: f32, height: f32, depth: f32) -> MeshData {
    let x = 0.5 * width;
    let mut cupboard = Model::new("cupboard").cuboid([-x, 0.0, 0.0], [x, height, depth], faces::AT_WALL);
    for side in [-1.0, 1.0] {
        let (inner, outer) = (side * 0.005, side * (x - 0.01));
        let (left, right) = (f32::min(inner, outer), f32::max(inner, outer));
        cupboard = cupboard.cuboid([left, 0.06, depth], [right, height - 0.02, depth + 0.015], faces::ON_WALL).cuboid(
            [side * 0.06 - 0.015, 0.55 * height, depth + 0.015],
            [side * 0.06 + 0.015, 0.55 * height + 0.03, depth + 0.035],
            faces::ON_WALL,
        );
    }
    cupboard.mesh()
}

/// Builds foot and pole of a floor lamp of 1.7 m; [`shade`] is its emitter.
pub(super) fn lamp_stand(around: u32) -> MeshData {
    let profile = [[0.16, 0.0], [0.16, 0.02], [0.05, 0.04], [0.015, 0.06], [0.015, 1.6], [0.0, 1.6]];
    Model::new("lamp_stand")
        .turned([0.0; 3], &profile, around)
        .cuboid([-0.165, 1.52, -0.006], [0.165, 1.532, 0.006], faces::WHOLE)
        .mesh()
}

/// Builds the shade of a floor lamp: a thin cone, open at both ends, that hangs on the [`lamp_stand`].
pub(super) fn shade(around: u32) -> MeshData {
    let profile = [[0.22, 1.35], [0.12, 1.7], [0.11, 1.7], [0.21, 1.35], [0.22, 1.35]];
    Model::new("shade").turned([0.0; 3], &profile, around).mesh()
}

/// Builds a thin rod that hangs from a ceiling at y = 0.
pub(super) fn rod(length: f32) -> MeshData {
    Model::new("rod").cuboid([-0.008, -length, -0.008], [0.008, 0.0, 0.008], faces::HANGING).mesh()
}

/// Builds a model plane around the origin, 1.1 m long, with its nose to positive z. Hull and wings have `around` sides.
pub(super) fn plane(around: u32) -> MeshData {
    let hull = [
        [0.0, -0.55],
        [0.02, -0.54],
        [0.04, -0.4],
        [0.07, -0.2],
        [0.09, 0.0],
        [0.095, 0.2],
        [0.09, 0.35],
        [0.07, 0.45],
        [0.03, 0.5],
        [0.0, 0.51],
    ];
    let forwards = tipped(FRAC_PI_2);
    let hull = Model::new("").turned([0.0; 3], &hull, around).mesh();
    let ball = lens(around);
    let blade = |scale: [f32; 3], place: [f32; 3], turn: f32| {
        let turn = rotation_z(turn);
        Affine3A::from_scale_rotation_translation(scale.into(), turn, place.into())
    };
    Model::new("plane")
        .piece(&hull, forwards)
        .piece(&ball, blade([0.7, 0.018, 0.11], [0.0, -0.02, 0.15], 0.0))
        .piece(&ball, blade([0.25, 0.012, 0.06], [0.0, 0.01, -0.47], 0.0))
        .piece(&ball, blade([0.14, 0.012, 0.07], [0.0, 0.1, -0.47], FRAC_PI_2))
        .piece(&ball, blade([0.05, 0.06, 0.12], [0.0, 0.08, 0.2], 0.0))
        .piece(&ball, blade([0.17, 0.014, 0.008], [0.0, 0.0, 0.515], 0.6))
        .mesh()
}

/// Builds a ball around the origin that hangs on a [`rod`].
pub(super) fn globe(radius: f32, around: u32) -> MeshData {
    Model::new("globe").piece(&lens(around), Affine3A::from_scale(Vec3::splat(radius))).mesh()
}

/// Builds a ball of radius 1 with `around` meridians and half as many bands.
pub(super) fn lens(around: u32) -> MeshData {
    let bands = around / 2;
    let circle = |band: u32| {
        let (sine, cosine) = libm::sincosf(band as f32 / bands as f32 * core::f32::consts::PI);
        // The poles lie exactly on the axis.
        [if band.is_multiple_of(bands) { 0.0 } else { sine }, -cosine]
    };
    Model::new("").turned([0.0; 3], &(0..=bands).map(circle).collect::<Vec<_>>(), around).mesh()
}

/// Builds a sofa of blocks and cushions.
pub(super) fn sofa(width: f32) -> MeshData {
    let x = 0.5 * width;
    let cushion = lens(16);
    let mut sofa = Model::new("sofa").cuboid([-x, 0.0, -0.42], [x, 0.32, 0.42], faces::STANDING).cuboid(
        [-x + 0.16, 0.32, -0.42],
        [x - 0.16, 0.85, -0.2],
        faces::STANDING,
    );
    for x in [-x, x - 0.16] {
        sofa = sofa.cuboid([x, 0.32, -0.42], [x + 0.16, 0.6, 0.42], faces::STANDING);
    }
    let seats = (width / 0.75) as u32;
    let seat = (width - 0.32) / seats as f32;
    for place in 0..seats {
        let center = -x + 0.16 + seat * (place as f32 + 0.5);
        let flat = Affine3A::from_scale_rotation_translation(
            Vec3::new(0.49 * seat, 0.11, 0.3),
            Quat::IDENTITY,
            Vec3::new(center, 0.38, 0.11),
        );
        let leaning = Affine3A::from_scale_rotation_translation(
            Vec3::new(0.4 * seat, 0.2, 0.09),
            rotation_x(-0.25),
            Vec3::new(center, 0.64, -0.13),
        );
        sofa = sofa.piece(&cushion, flat).piece(&cushion, leaning);
    }
    sofa.mesh()
}

/// Builds a pot filled with earth.
pub(super) fn pot(radius: f32, height: f32, around: u32) -> MeshData {
    let profile = [[0.75, 0.0], [0.95, 0.85], [1.0, 0.85], [1.0, 1.0], [0.9, 1.0], [0.85, 0.88], [0.0, 0.9]];
    let profile = profile.map(|[x, y]| [x * radius, y * height]);
    Model::new("pot").turned([0.0; 3], &profile, around).mesh()
}

/// Builds a plant with `count` leaves that grows from the plane y = 0.
pub(super) fn plant(height: f32, count: u32) -> MeshData {
    let leaf = lens(10);
    let mut plant = Model::new("plant").turned([0.0; 3], &[[0.02, 0.0], [0.012, height], [0.0, height]], 8);
    for number in 0..count {
        let rise = (number as f32 + 0.5) / count as f32;
        // Consecutive leaves differ by the golden angle.
        let turn = rotation_y(number as f32 * 2.399_963) * rotation_z(0.2 + 0.9 * rise);
        let length = 0.2 * (1.3 - rise);
        let middle = Vec3::Y * height * (0.35 + 0.65 * rise) + turn * Vec3::X * length;
        let scale = Vec3::new(length, 0.006, 0.35 * length);
        plant = plant.piece(&leaf, Affine3A::from_scale_rotation_translation(scale, turn, middle));
    }
    plant.mesh()
}

/// Builds a ring that stands upright on a base.
pub(super) fn standing_ring(radius: f32, tube: f32, around: u32) -> MeshData {
    let ring = torus("", radius, tube, around, around / 2);
    let upright = at([0.0, radius + tube + 0.02, 0.0]) * tipped(FRAC_PI_2);
    let foot = radius * 0.6;
    Model::new("ring").piece(&ring, upright).cuboid([-foot, 0.0, -foot], [foot, 0.06, foot], faces::STANDING).mesh()
}

/// Builds a painter's easel with three legs, without a painting.
pub(super) fn easel() -> MeshData {
    let mut easel = Model::new("easel");
    let leg = Model::new("").cuboid([-0.02, 0.0, -0.02], [0.02, 1.8, 0.02], faces::STANDING).mesh();
    for (x, lean) in [(-0.35, -0.16), (0.35, 0.16)] {
        easel = easel.piece(&leg, sheared([x, 0.0, 0.1], [-lean, -0.16]));
    }
    easel
        .piece(&leg, sheared([0.0, 0.0, -0.65], [0.0, 0.25]))
        .cuboid([-0.45, 0.72, -0.05], [0.45, 0.76, 0.12], faces::WHOLE)
        .mesh()
}

/// Returns a transform that shears upright objects and keeps their feet flat on the floor. `lean` is the offset to x
/// and z in meters per meter of height.
pub(super) fn sheared(foot: [f32; 3], lean: [f32; 2]) -> Affine3A {
    let mut place = at(foot);
    place.matrix3.y_axis = Vec3::new(lean[0], 1.0, lean[1]).into();
    place
}

/// Builds a pile of boxes that are rotated against each other.
pub(super) fn pile(count: u32) -> MeshData {
    (0..count)
        .fold(Model::new("pile"), |pile, number| {
            let half = 0.24 - 0.03 * number as f32;
            let block = Model::new("").cuboid([-half, 0.0, -half], [half, 0.22, half], faces::STANDING).mesh();
            pile.piece(&block, turned_at([0.0, 0.22 * number as f32, 0.0], 23.0 * number as f32))
        })
        .mesh()
}
