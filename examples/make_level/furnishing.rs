//! Furnishing of the rooms: placements, lights and cameras.

use glam::{Vec3, vec3};
use serde_json::json;

use super::furniture;
use super::gltf_writer::{Document, Lamp, MeshRef, Pose};
use super::palette::Palette;
use super::rooms::GALLERY;
use super::walker::walker;

/// Adds everything except the building to a file.
pub fn furnish(file: &mut Document, palette: &Palette) {
    let models = Models::new(file, palette);
    hall(file, palette, &models);
    corridor(file, &models);
    library(file, palette, &models);
    workshop(file, palette, &models);
    sun(file);
    cameras(file);
}

/// Meshes that several rooms use.
struct Models {
    chair: MeshRef,
    table: MeshRef,
    bookcase: MeshRef,
    round_vase: MeshRef,
    slender_vase: MeshRef,
    plant: MeshRef,
    floor_lamp: MeshRef,
    crate_box: MeshRef,
    barrel: MeshRef,
    carpet: MeshRef,
    picture: MeshRef,
    armchair: MeshRef,
}

impl Models {
    fn new(file: &mut Document, palette: &Palette) -> Self {
        Self {
            chair: furniture::chair(palette).mesh(file, "chair"),
            table: furniture::table(palette, 1.8, 0.9).mesh(file, "table"),
            bookcase: furniture::bookcase(palette).mesh(file, "bookcase"),
            round_vase: furniture::vase(palette, false).mesh(file, "round_vase"),
            slender_vase: furniture::vase(palette, true).mesh(file, "slender_vase"),
            plant: furniture::plant(palette).mesh(file, "plant"),
            floor_lamp: furniture::floor_lamp(palette).mesh(file, "floor_lamp"),
            crate_box: furniture::crate_box(palette).mesh(file, "crate"),
            barrel: furniture::barrel(palette).mesh(file, "barrel"),
            carpet: furniture::carpet(palette).mesh(file, "carpet"),
            picture: furniture::framed_picture(palette).mesh(file, "picture"),
            armchair: furniture::armchair(palette).mesh(file, "armchair"),
        }
    }
}

/// Thickness of a carpet, in meters: objects on it are raised by this much.
const PILE: f32 = 0.012;

fn hall(file: &mut Document, palette: &Palette, models: &Models) {
    let (x, z) = (7.2, 4.3);
    file.place("hall_carpet", models.carpet, Pose::at(x, 0.0, z).scaled(vec3(4.6, 1.0, 3.0)));
    let table = furniture::table(palette, 3.0, 1.05).mesh(file, "long_table");
    file.place("hall_table", table, Pose::at(x, PILE, z));
    for (number, offset) in [-1.0, 0.0, 1.0].into_iter().enumerate() {
        let (south, north) = (format!("hall_chair_south_{}", number + 1), format!("hall_chair_north_{}", number + 1));
        let turn = [4.0, -7.0, 3.0][number];
        file.place(&south, models.chair, Pose::at(x + offset, PILE, z + 0.62).turned(turn));
        file.place(&north, models.chair, Pose::at(x + offset, PILE, z - 0.62).turned(180.0 - turn));
    }
    // The same chair, mirrored.
    let end = Pose::at(x + 1.75, PILE, z).turned(82.0).scaled(vec3(-1.0, 1.0, 1.0));
    file.place("hall_chair_mirrored", models.chair, end);
    file.place("hall_chair_pulled_out", models.chair, Pose::at(x - 1.85, PILE, z + 0.1).turned(-65.0));
    let top = PILE + 0.75;
    file.place("hall_table_vase", models.round_vase, Pose::at(x + 0.1, top, z));
    file.place(
        "hall_table_vase_small",
        models.slender_vase,
        Pose::at(x - 0.75, top, z + 0.15).scaled(Vec3::splat(0.7)),
    );
    file.place("hall_table_bowl", models.round_vase, Pose::at(x + 0.9, top, z - 0.1).scaled(vec3(1.2, 0.45, 1.2)));

    file.place("hall_plant_1", models.plant, Pose::at(11.4, 0.0, 7.4).turned(30.0).scaled(Vec3::splat(1.15)));
    file.place("hall_plant_2", models.plant, Pose::at(5.05, 0.0, 7.45).turned(200.0));
    file.place("hall_plant_3", models.plant, Pose::at(9.45, 0.0, 7.5).turned(100.0).scaled(Vec3::splat(0.85)));
    let ball = furniture::ball_on_plinth(palette).mesh(file, "ball_on_plinth");
    file.place("hall_ball", ball, Pose::at(9.5, 0.0, 0.6).turned(20.0));
    let banner = furniture::banner(palette).mesh(file, "banner");
    file.place("hall_banner_west", banner, Pose::at(5.6, 5.35, 0.3));
    file.place("hall_banner_east", banner, Pose::at(8.1, 5.35, 0.3));
    file.place("hall_picture", models.picture, Pose::at(11.999, 2.0, 1.7).turned(-90.0).scaled(vec3(1.4, 1.4, 1.0)));
    file.place(
        "hall_picture_large",
        models.picture,
        Pose::at(11.999, 2.6, 6.4).turned(-90.0).scaled(vec3(2.0, 2.0, 1.2)),
    );

    let pendant = furniture::pendant(palette, 2.9).mesh(file, "pendant");
    for (number, x) in [6.0, 8.4].into_iter().enumerate() {
        let name = format!("hall_pendant_{}", number + 1);
        file.place(&name, pendant, Pose::at(x, 5.68, 4.3));
        let light = Pose::at(x, 5.68 - 2.9 + 0.06, 4.3);
        file.light(&format!("{name}_light"), WARM, Lamp::Point { lumens: 1100.0 }, light);
    }

    file.place("gallery_bookcase_1", models.bookcase, Pose::at(0.0, GALLERY, 1.4).turned(90.0));
    file.place("gallery_bookcase_2", models.bookcase, Pose::at(0.0, GALLERY, 3.0).turned(90.0));
    file.place("gallery_armchair", models.armchair, Pose::at(0.8, GALLERY, 4.6).turned(-70.0));
    file.place("gallery_lamp", models.floor_lamp, Pose::at(0.5, GALLERY, 5.6));
    file.place("gallery_plant", models.plant, Pose::at(1.9, GALLERY, 7.4).scaled(Vec3::splat(0.8)));
    file.place("nook_armchair_1", models.armchair, Pose::at(0.9, 0.0, 5.0).turned(-60.0));
    file.place("nook_armchair_2", models.armchair, Pose::at(0.9, 0.0, 3.2).turned(-120.0));
    file.place("nook_lamp", models.floor_lamp, Pose::at(0.45, 0.0, 4.1));
    file.place("nook_carpet", models.carpet, Pose::at(1.9, 0.0, 4.1).turned(90.0).scaled(vec3(1.6, 0.8, 1.1)));

    walker(file, palette, vec3(4.4, 0.0, 2.3), vec3(9.9, 0.0, 2.3));
}

fn corridor(file: &mut Document, models: &Models) {
    // A smaller instance of the table and a narrower one of the carpet.
    file.place("corridor_table", models.table, Pose::at(5.6, 0.0, -2.14).scaled(vec3(0.8, 1.05, 0.45)));
    let top = 0.75 * 1.05;
    file.place("corridor_vase", models.slender_vase, Pose::at(5.6, top, -2.14));
    file.place("corridor_vase_small", models.round_vase, Pose::at(6.05, top, -2.14).scaled(Vec3::splat(0.55)));
    file.place("corridor_carpet", models.carpet, Pose::at(6.0, 0.0, -1.4).scaled(vec3(7.5, 0.8, 1.0)));
    for (number, x) in [3.6, 7.6].into_iter().enumerate() {
        let name = format!("corridor_picture_{}", number + 1);
        file.place(&name, models.picture, Pose::at(x, 1.65, -2.399));
    }
    file.place("corridor_chair", models.chair, Pose::at(8.9, 0.0, -2.1).turned(180.0));
    file.place("corridor_plant", models.plant, Pose::at(0.45, 0.0, -0.85).scaled(Vec3::splat(0.8)));
}

fn library(file: &mut Document, palette: &Palette, models: &Models) {
    for (number, x) in [0.75, 2.05, 3.35, 4.65, 5.95].into_iter().enumerate() {
        let name = format!("library_bookcase_north_{}", number + 1);
        file.place(&name, models.bookcase, Pose::at(x, 0.0, -8.75));
    }
    for (number, z) in [-7.0, -5.6, -4.2].into_iter().enumerate() {
        let name = format!("library_bookcase_west_{}", number + 1);
        file.place(&name, models.bookcase, Pose::at(0.05, 0.0, z).turned(90.0).scaled(vec3(1.05, 0.9, 0.9)));
    }
    file.place("library_carpet", models.carpet, Pose::at(3.7, 0.0, -5.7).scaled(vec3(3.6, 1.0, 2.4)));
    file.place("library_table", models.table, Pose::at(3.7, PILE, -5.7));
    for (number, (x, z, turn)) in
        [(3.3, -5.15, 6.0), (4.2, -5.1, -5.0), (3.2, -6.3, 172.0), (4.15, -6.25, 186.0)].into_iter().enumerate()
    {
        let name = format!("library_chair_{}", number + 1);
        file.place(&name, models.chair, Pose::at(x, PILE, z).turned(turn));
    }
    file.place("library_vase", models.slender_vase, Pose::at(3.7, PILE + 0.75, -5.7));
    file.place("library_armchair", models.armchair, Pose::at(3.5, 0.0, -3.45).turned(12.0));
    file.place("library_lamp", models.floor_lamp, Pose::at(2.75, 0.0, -3.15));
    let panel = furniture::light_panel(palette).mesh(file, "light_panel");
    for (number, (x, z)) in [(1.9, -7.0), (5.1, -7.0), (1.9, -4.6), (5.1, -4.6)].into_iter().enumerate() {
        file.place(&format!("library_panel_{}", number + 1), panel, Pose::at(x, 3.4, z));
    }
}

fn workshop(file: &mut Document, palette: &Palette, models: &Models) {
    let bench = furniture::workbench(palette).mesh(file, "workbench");
    file.place("workshop_bench", bench, Pose::at(9.8, 0.0, -8.3));
    let board = furniture::tool_board(palette).mesh(file, "tool_board");
    file.place("workshop_tools", board, Pose::at(9.8, 1.3, -8.799));
    file.place("workshop_crate_1", models.crate_box, Pose::at(11.35, 0.0, -3.5).turned(8.0));
    file.place("workshop_crate_2", models.crate_box, Pose::at(11.4, 0.0, -4.6).turned(-12.0).scaled(Vec3::splat(0.75)));
    file.place(
        "workshop_crate_3",
        models.crate_box,
        Pose::at(11.3, 1.002, -3.55).turned(33.0).scaled(Vec3::splat(0.55)),
    );
    file.place("workshop_crate_4", models.crate_box, Pose::at(10.3, 0.0, -3.3).scaled(vec3(0.9, 0.45, 0.6)));
    file.place("workshop_barrel_1", models.barrel, Pose::at(8.0, 0.0, -3.3));
    file.place("workshop_barrel_2", models.barrel, Pose::at(8.75, 0.0, -3.25).turned(50.0).scaled(Vec3::splat(0.8)));
    file.place("workshop_stool", models.chair, Pose::at(9.5, 0.0, -7.3).turned(170.0));
    file.place(
        "workshop_bookcase",
        models.bookcase,
        Pose::at(11.97, 0.0, -6.2).turned(-90.0).scaled(vec3(1.0, 0.8, 1.0)),
    );
    file.place("workshop_pot", models.round_vase, Pose::at(9.0, 0.9, -8.2).turned(40.0));

    let pendant = furniture::pendant(palette, 0.7).mesh(file, "short_pendant");
    file.place("workshop_lamp_bench", pendant, Pose::at(9.8, 3.4, -7.6));
    let bench_light = Pose::looking(vec3(9.8, 2.76, -7.6), vec3(9.8, 0.9, -8.1));
    file.light("workshop_lamp_bench_light", WARM, Lamp::Spot { lumens: 1600.0, inner: 30.0, outer: 55.0 }, bench_light);
    file.place("workshop_lamp_door", pendant, Pose::at(9.4, 3.4, -4.6));
    let door_light = Pose::at(9.4, 3.4 - 0.7 + 0.06, -4.6);
    file.light("workshop_lamp_door_light", WARM, Lamp::Point { lumens: 900.0 }, door_light);
}

/// Color of an incandescent lamp, normalized to a largest channel of one.
const WARM: Vec3 = vec3(1.0, 0.78, 0.52);

fn sun(file: &mut Document) {
    // The sun is in the south-southwest, 38 degrees high.
    let toward = vec3(-0.42, 0.78, 0.9);
    let sun =
        file.light("sun", vec3(1.0, 0.93, 0.82), Lamp::Sun { lux: 70_000.0 }, Pose::looking(toward * 20.0, Vec3::ZERO));
    file.instruct(sun, json!({ "angular_diameter": 0.53 }));
}

fn cameras(file: &mut Document) {
    let mut camera = |name: &str, from: Vec3, to: Vec3, degrees: f32| {
        file.camera(name, degrees, Pose::looking(from, to));
    };
    camera("camera_hall", vec3(11.3, 1.75, 0.9), vec3(4.4, 1.6, 5.6), 62.0);
    camera("camera_stairs", vec3(11.2, 1.75, 6.9), vec3(4.6, 1.8, 2.4), 60.0);
    camera("camera_gallery", vec3(1.2, GALLERY + 1.65, 6.2), vec3(8.4, 1.2, 3.4), 62.0);
    camera("camera_corridor", vec3(11.5, 1.6, -1.3), vec3(2.0, 1.2, -1.45), 58.0);
    camera("camera_library", vec3(6.5, 1.7, -3.3), vec3(2.0, 1.2, -7.0), 62.0);
    camera("camera_workshop", vec3(7.8, 1.7, -4.0), vec3(10.8, 1.05, -7.6), 62.0);
}
