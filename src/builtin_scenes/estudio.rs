//! Scene of a sculptor's and painter's studio.

use glam::{Affine3A, Vec3};

use super::builder::{ALL_WALLS, Builder};
use super::creature::{creature, stone};
use super::furniture::{
    bowl, canvas, chair, easel, lens, pile, plant, pot, round_table, shelf, slab, standing_ring, table, turned_table,
    vase,
};
use super::model::{Model, at, faces, quarter_turned_at, tipped, turned_at};
use crate::geometry::rotation_z;
use crate::scene::MeshData;

const MIN: Vec3 = Vec3::new(-4.0, 0.0, -3.0);
const MAX: Vec3 = Vec3::new(4.0, 3.2, 3.0);
const WOOD: Vec3 = Vec3::new(0.5, 0.36, 0.22);
const CLAY: Vec3 = Vec3::new(0.55, 0.3, 0.2);

pub(super) fn estudio() -> Builder {
    let mut builder = Builder::default();
    builder.add_room(MIN, MAX, &ALL_WALLS, |wall| {
        (if wall == "floor" { Vec3::new(0.42, 0.4, 0.38) } else { Vec3::splat(0.74) }, Vec3::ZERO)
    });
    add_lamps(&mut builder);
    add_easels(&mut builder);
    add_sculptures(&mut builder);
    add_tables(&mut builder);
    builder.add_camera("inside", Vec3::new(3.7, 1.75, 2.75), Vec3::new(-1.2, 0.75, -0.9), 62.0);
    builder
}

/// Adds four rows of three equal lamps.
fn add_lamps(builder: &mut Builder) {
    let mesh = Model::new("lamp").cuboid([-0.45, -0.07, -0.15], [0.45, 0.0, 0.15], faces::HANGING).mesh();
    let lamp = builder.make_lamp(mesh, Vec3::new(2100.0, 2100.0, 2000.0));
    for (row, column) in (0..4).flat_map(|row| (0..3).map(move |column| (row, column))) {
        let place = [-3.0 + 2.0 * row as f32, MAX.y, -2.0 + 2.0 * column as f32];
        builder.place(&format!("lamp_{row}_{column}"), lamp, at(place));
    }
}

fn add_easels(builder: &mut Builder) {
    let easels = builder.make_diffuse(easel(), WOOD);
    let painted = Model::new("painted").cuboid([-0.4, 0.0, -0.015], [0.4, 0.62, 0.015], faces::WHOLE).mesh();
    let leaning = tipped(-0.16);
    for (number, (x, z, degrees, color)) in [
        (-2.9, -1.6, 40.0, [0.2, 0.35, 0.5]),
        (-1.1, -2.2, -8.0, [0.6, 0.5, 0.2]),
        (1.9, -1.9, -35.0, [0.5, 0.15, 0.15]),
    ]
    .into_iter()
    .enumerate()
    {
        let place = turned_at([x, 0.0, z], degrees);
        builder.place(&format!("easel_{number}"), easels, place);
        let picture = builder.make_diffuse(painted.clone(), color.into());
        builder.place(&format!("painted_{number}"), picture, place * at([0.0, 0.765, 0.05]) * leaning);
    }
    for (number, (x, width, height)) in [(-2.6, 0.8, 1.1), (0.3, 1.3, 0.9), (1.7, 0.6, 0.6)].into_iter().enumerate() {
        let color = [0.3 + 0.1 * number as f32, 0.35, 0.5 - 0.12 * number as f32];
        builder.place_diffuse(
            &format!("canvas_{number}"),
            canvas(width, height),
            color,
            at([x, 1.9, MIN.z]) * at([0.0, 0.0, -0.02]),
        );
    }
}

fn add_sculptures(builder: &mut Builder) {
    let plinth = builder.make_diffuse(slab("plinth", 0.8, 0.5, 0.8), Vec3::splat(0.6));
    builder.place("plinth_0", plinth, turned_at([-1.0, 0.0, 0.4], 15.0));
    let small = Affine3A::from_scale(Vec3::splat(0.55));
    builder.place_diffuse("creature", creature(), CLAY, turned_at([-1.0, 0.5, 0.45], 60.0) * small);
    builder.place("plinth_1", plinth, turned_at([0.6, 0.0, -1.0], -20.0));
    builder.place_diffuse("ring", standing_ring(0.38, 0.12, 28), [0.35, 0.45, 0.5], turned_at([0.6, 0.5, -1.0], 30.0));
    for (number, (x, z, degrees)) in [(-3.3, 1.2, 20.0), (-2.6, 2.2, 140.0), (3.2, -0.2, 250.0)].into_iter().enumerate()
    {
        let color = Vec3::new(0.42, 0.4, 0.37) * (1.0 - 0.12 * number as f32);
        builder.place_diffuse(&format!("stone_{number}"), stone(number as u32), color, turned_at([x, 0.0, z], degrees));
    }
    builder.place_diffuse("egg", egg(), [0.7, 0.66, 0.6], turned_at([-2.3, 0.0, 0.9], 0.0));
    builder.place_diffuse("boxes", pile(4), WOOD, at([3.4, 0.0, -2.5]));
}

/// Builds a leaning egg on a base.
fn egg() -> MeshData {
    let body = Affine3A::from_scale_rotation_translation(
        Vec3::new(0.22, 0.34, 0.22),
        rotation_z(0.35),
        Vec3::new(0.0, 0.42, 0.0),
    );
    Model::new("egg").cuboid([-0.15, 0.0, -0.15], [0.15, 0.2, 0.15], faces::STANDING).piece(&lens(24), body).mesh()
}

fn add_tables(builder: &mut Builder) {
    builder.place_diffuse("bench", table(2.2, 0.85, 0.8), WOOD, at([1.9, 0.0, 0.9]));
    for (number, (x, z, radius, height)) in
        [(1.2, 0.8, 0.12, 0.4), (1.55, 1.05, 0.09, 0.2), (1.75, 0.7, 0.07, 0.45), (2.8, 1.0, 0.15, 0.3)]
            .into_iter()
            .enumerate()
    {
        let color = [0.6 - 0.12 * number as f32, 0.3 + 0.05 * number as f32, 0.2 + 0.12 * number as f32];
        builder.place_diffuse(&format!("vase_{number}"), vase(radius, height, 14), color, at([x, 0.85, z]));
    }
    builder.place_diffuse("bowl", bowl(0.2, 18), [0.3, 0.4, 0.35], at([2.3, 0.85, 1.05]));
    builder.place_diffuse("stool_table", round_table(0.4, 0.7, 20), WOOD, at([-0.3, 0.0, 2.2]));
    builder.place_diffuse("jug", vase(0.12, 0.26, 14), CLAY, at([-0.25, 0.7, 2.2]));
    builder.place_diffuse("low_table", turned_table(0.9, 0.45, 0.6, 9), WOOD, turned_at([-3.2, 0.0, -0.3], 75.0));
    let chairs = builder.make_diffuse(chair(), Vec3::new(0.25, 0.3, 0.35));
    for (number, (x, z, degrees)) in [(1.5, 1.7, 170.0), (2.5, 0.1, 15.0), (-1.0, -0.9, -70.0)].into_iter().enumerate()
    {
        builder.place(&format!("chair_{number}"), chairs, turned_at([x, 0.0, z], degrees));
    }
    builder.place_diffuse("shelf", shelf(1.4, 1.7, 0.35, 4), WOOD, quarter_turned_at([MIN.x, 0.0, 0.6], 1));
    builder.place_diffuse("pot", pot(0.22, 0.4, 18), CLAY, at([-3.5, 0.0, -2.5]));
    builder.place_diffuse("plant", plant(1.1, 14), [0.15, 0.35, 0.1], at([-3.5, 0.33, -2.5]));
}
