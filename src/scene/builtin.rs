//! Scenes that need no file.
//!
//! Rooms of one quad a surface, so that closed forms and outside renderers can be held against them. Emission is in
//! cd/m2; the Cornell box has the reflectances and the light of the well-known rendering of it.

use std::sync::Arc;

use glam::{Affine3A, Quat, Vec3};

use super::shapes::{bezier_patch, cuboid_faces, icosphere, inside_out, quad, torus};
use super::{Glass, Material, MaterialId, MeshData, MeshId, Scene, Sides, Surface, SurfaceKey};

const WHITE: Vec3 = Vec3::new(0.885_809, 0.698_859, 0.666_422);
const GREEN: Vec3 = Vec3::new(0.105_421, 0.377_98, 0.076_425);
const RED: Vec3 = Vec3::new(0.570_068, 0.043_013_5, 0.044_370_6);
const LIGHT: Vec3 = Vec3::new(18.387, 13.987_3, 6.753_57);

/// Names of all built-in scenes and what they are.
pub fn names() -> impl ExactSizeIterator<Item = (&'static str, &'static str)> {
    BUILDERS.iter().map(|(name, description, _)| (*name, *description))
}

/// The built-in scene of that name.
pub fn build(name: &str) -> Option<Scene> {
    BUILDERS.iter().find(|(known, ..)| *known == name).map(|(.., build)| build())
}

/// A ball of radius 1 seen from inside, of `20 * 4^subdivisions` triangles, where everything reflects `reflectance` and
/// emits `emission`: its radiance is `emission / (1 - reflectance)` everywhere.
pub fn sphere(subdivisions: u32, reflectance: f32, emission: f32) -> Scene {
    let mut builder = Builder::new("sphere");
    let ball = inside_out(icosphere("ball", 1.0, subdivisions));
    builder.add(ball, Vec3::splat(reflectance), Vec3::splat(emission));
    builder.scene
}

/// A cube of edge 1 seen from inside whose ceiling emits a radiance of 1 and whose six walls reflect `reflectance`.
pub fn unit_cube(reflectance: f32) -> Scene {
    let mut builder = Builder::new("unit_cube");
    builder.add_room(Vec3::splat(-0.5), Vec3::splat(0.5), &ALL_WALLS, |wall| {
        (Vec3::splat(reflectance), if wall == "ceiling" { Vec3::ONE } else { Vec3::ZERO })
    });
    builder.scene
}

type Builders = [(&'static str, &'static str, fn() -> Scene); 10];

const BUILDERS: Builders = [
    ("cornell_box", "the Cornell box with its two blocks, open to the front", || cornell(true)),
    ("cornell_empty", "the Cornell box without blocks", || cornell(false)),
    ("furnace", "a closed box that glows and reflects alike everywhere", furnace),
    ("ceil", "a closed box whose whole ceiling glows", ceiling),
    ("unit_cube", "a closed grey cube of edge 1 whose ceiling glows", || unit_cube(0.5)),
    ("sphere", "the inside of a ball that glows and reflects alike everywhere", || sphere(3, 0.5, 1.0)),
    ("two_rooms", "two rooms and a doorway, a lamp in one of them", two_rooms),
    ("doorless_rooms", "two rooms without a doorway, a lamp in one of them: the other stays black", closed_rooms),
    ("shining_things", "a golden ball, a plastic ring and a wavy sheet of steel in a lit room", shining_things),
    ("glass_and_mirrors", "a ball of glass, one of steel and two matt ones under two lamps", glass_and_mirrors),
];

const ALL_WALLS: [&str; 6] = ["left", "right", "floor", "ceiling", "back", "front"];

fn cornell(with_blocks: bool) -> Scene {
    let mut builder = Builder::new(if with_blocks { "cornell_box" } else { "cornell_empty" });
    let walls = ["left", "right", "floor", "ceiling", "back"];
    builder.add_room(Vec3::NEG_ONE, Vec3::ONE, &walls, |wall| (red_green_white(wall), Vec3::ZERO));
    builder.add_panel("light", Vec3::new(0.0, 0.99, 0.0), 0.23, 0.19, LIGHT);
    if with_blocks {
        builder.add_block("small", Vec3::new(0.335, -0.7, 0.38), Vec3::splat(0.3), -17.0);
        builder.add_block("large", Vec3::new(-0.33, -0.4, -0.28), Vec3::new(0.3, 0.6, 0.3), 18.25);
    }
    builder.scene
}

fn furnace() -> Scene {
    let mut builder = Builder::new("furnace");
    let (reflectance, emission) = (Vec3::new(0.2, 0.5, 0.8), Vec3::new(0.8, 0.5, 0.2));
    builder.add_room(Vec3::NEG_ONE, Vec3::ONE, &ALL_WALLS, |_| (reflectance, emission));
    builder.scene
}

fn ceiling() -> Scene {
    let mut builder = Builder::new("ceil");
    builder.add_room(Vec3::NEG_ONE, Vec3::ONE, &ALL_WALLS, |wall| match wall {
        "ceiling" => (Vec3::splat(0.3), Vec3::new(1.0, 0.8, 0.6)),
        wall => (red_green_white(wall), Vec3::ZERO),
    });
    builder.scene
}

fn red_green_white(wall: &str) -> Vec3 {
    match wall {
        "left" => RED,
        "right" => GREEN,
        _ => WHITE,
    }
}

/// Half the thickness of the wall between the two rooms, metres.
const HALF_WALL: f32 = 0.1;
const ROOM_HEIGHT: f32 = 3.0;
const DOOR_HEIGHT: f32 = 2.0;
const HALF_DOOR: f32 = 0.5;
const HALF_DEPTH: f32 = 2.0;
const ROOM_REACH: f32 = 4.0;

/// Two rooms of 3.9 by 4 by 3 m, one on either side of the plane x = 0, the one at negative x with a lamp.
fn add_rooms(builder: &mut Builder, walls: &[&str], reflectance: Vec3) {
    for (side, name) in [(-1.0, "west"), (1.0, "east")] {
        let (near, far) = (side * HALF_WALL, side * ROOM_REACH);
        let min = Vec3::new(near.min(far), 0.0, -HALF_DEPTH);
        let max = Vec3::new(near.max(far), ROOM_HEIGHT, HALF_DEPTH);
        let dividing = if side < 0.0 { "right" } else { "left" };
        let walls: Vec<&str> = ALL_WALLS.into_iter().filter(|wall| *wall != dividing || walls.contains(wall)).collect();
        builder.prefix = format!("{name}_");
        builder.add_room(min, max, &walls, |_| (reflectance, Vec3::ZERO));
    }
    builder.prefix.clear();
    builder.add_panel("lamp", Vec3::new(-2.0, ROOM_HEIGHT - 0.01, 0.0), 0.5, 0.5, Vec3::splat(100.0));
}

/// A room of 4 by 4 by 2.5 m, open to the front, with things that no lightmap can show.
fn shining_things() -> Scene {
    let mut builder = Builder::new("shining_things");
    let walls = ["left", "right", "floor", "ceiling", "back"];
    builder.add_room(Vec3::new(-2.0, 0.0, -2.0), Vec3::new(2.0, 2.5, 2.0), &walls, |wall| {
        (red_green_white(wall) * 0.8, Vec3::ZERO)
    });
    builder.add_panel("lamp", Vec3::new(0.0, 2.49, 0.0), 0.6, 0.6, Vec3::splat(1000.0));
    let metal = |name: &str, colour: Vec3, perceptual_roughness: f32| Material {
        name: name.into(),
        base_color: colour.extend(1.0),
        metallic: 1.0,
        perceptual_roughness,
        ..Material::default()
    };
    let mut ball = icosphere("ball", 0.6, 4);
    ball.positions.iter_mut().for_each(|position| *position += Vec3::new(-0.9, 0.6, -0.4));
    builder.add_made_of(ball, metal("gold", Vec3::new(1.0, 0.77, 0.34), 0.25));
    let mut ring = torus("ring", 0.5, 0.2, 96, 48);
    ring.positions.iter_mut().for_each(|position| *position += Vec3::new(0.7, 0.2, 0.6));
    let red = Material { metallic: 0.0, ..metal("plastic", Vec3::new(0.6, 0.03, 0.02), 0.2) };
    builder.add_made_of(ring, red);
    builder.add_made_of(wavy_sheet(), metal("steel", Vec3::new(0.66, 0.65, 0.63), 0.45));
    if let Some(sheet) = builder.scene.surfaces.last_mut() {
        sheet.sides = Sides::Both;
    }
    builder.scene
}

/// A room of 4 by 3 by 4 m, open to the front: matt, mirrored and clear balls in the light of two lamps, which comes to the
/// floor through the glass too.
fn glass_and_mirrors() -> Scene {
    let mut builder = Builder::new("glass_and_mirrors");
    let walls = ["left", "right", "floor", "ceiling", "back"];
    builder.add_room(Vec3::new(-2.0, 0.0, -2.0), Vec3::new(2.0, 3.0, 2.0), &walls, |wall| {
        (red_green_white(wall) * 0.9, Vec3::ZERO)
    });
    builder.add_panel("lamp_left", Vec3::new(-0.9, 2.99, -0.3), 0.3, 0.3, Vec3::new(1500.0, 1200.0, 800.0));
    builder.add_panel("lamp_right", Vec3::new(1.1, 2.99, 0.6), 0.15, 0.15, Vec3::new(3000.0, 3300.0, 4200.0));
    let mut add_ball = |name: &str, radius: f32, at: [f32; 2], material: Material| {
        let mut ball = icosphere(name, radius, 5);
        let centre = Vec3::new(at[0], radius, at[1]);
        ball.positions.iter_mut().for_each(|position| *position += centre);
        builder.add_made_of(ball, Material { name: name.into(), ..material });
    };
    let smooth = Material { perceptual_roughness: 0.0, ..Material::default() };
    let steel = Material { metallic: 1.0, base_color: Vec3::new(0.86, 0.85, 0.83).extend(1.0), ..smooth.clone() };
    add_ball("steel", 0.65, [-0.95, -0.9], steel);
    let absorption = Glass::absorption_of(Vec3::new(0.8, 0.95, 0.9), 1.0);
    add_ball("glass", 0.5, [0.55, 0.45], smooth.with_glass(Glass { transmission: 1.0, ior: 1.5, absorption }));
    add_ball("blue", 0.4, [-0.5, 0.7], Material::diffuse("blue", Vec3::new(0.1, 0.2, 0.6)));
    add_ball("yellow", 0.45, [1.1, -0.9], Material::diffuse("yellow", Vec3::new(0.75, 0.6, 0.1)));
    builder.scene
}

/// Stands at the back wall on the right, its waves upright.
fn wavy_sheet() -> MeshData {
    let depth = [-1.9, -0.7, -1.9, -0.7];
    let control = core::array::from_fn(|row: usize| {
        core::array::from_fn(|column: usize| Vec3::new(column as f32 * 0.5, row as f32 * 0.6 + 0.02, depth[column]))
    });
    bezier_patch("sheet", control, 32)
}

fn closed_rooms() -> Scene {
    let mut builder = Builder::new("doorless_rooms");
    add_rooms(&mut builder, &["left", "right"], Vec3::splat(0.7));
    builder.scene
}

fn two_rooms() -> Scene {
    let mut builder = Builder::new("two_rooms");
    let reflectance = Vec3::splat(0.7);
    add_rooms(&mut builder, &[], reflectance);
    let mut wall = |name: &str, corners: [Vec3; 4]| builder.add(quad(name, corners), reflectance, Vec3::ZERO);
    let at = Vec3::new;
    // Beside and above the doorway, on both faces of the wall.
    for (side, room) in [(-1.0, "west"), (1.0, "east")] {
        let x = side * HALF_WALL;
        let pieces = [
            ("beside_back", -HALF_DEPTH, -HALF_DOOR, 0.0),
            ("beside_front", HALF_DOOR, HALF_DEPTH, 0.0),
            ("above", -HALF_DOOR, HALF_DOOR, DOOR_HEIGHT),
        ];
        for (piece, z_min, z_max, y_min) in pieces {
            let mut corners =
                [at(x, y_min, z_min), at(x, y_min, z_max), at(x, ROOM_HEIGHT, z_max), at(x, ROOM_HEIGHT, z_min)];
            if side > 0.0 {
                corners.reverse();
            }
            wall(&format!("{room}_{piece}"), corners);
        }
    }
    let (w, d, h) = (HALF_WALL, HALF_DOOR, DOOR_HEIGHT);
    wall("sill", [at(-w, 0.0, d), at(w, 0.0, d), at(w, 0.0, -d), at(-w, 0.0, -d)]);
    wall("lintel", [at(-w, h, -d), at(w, h, -d), at(w, h, d), at(-w, h, d)]);
    wall("jamb_back", [at(-w, 0.0, -d), at(w, 0.0, -d), at(w, h, -d), at(-w, h, -d)]);
    wall("jamb_front", [at(w, 0.0, d), at(-w, 0.0, d), at(-w, h, d), at(w, h, d)]);
    builder.scene
}

/// Puts quads together to a scene, each with a material of its own.
struct Builder {
    source: String,
    prefix: String,
    scene: Scene,
}

impl Builder {
    fn new(name: &str) -> Self {
        Self { source: format!("builtin:{name}"), prefix: String::new(), scene: Scene::default() }
    }

    fn add(&mut self, mesh: MeshData, reflectance: Vec3, emission: Vec3) {
        let name = format!("{}{}", self.prefix, mesh.name);
        let material = Material { emission, ..Material::diffuse(name, reflectance) };
        self.add_made_of(mesh, material);
    }

    fn add_made_of(&mut self, mut mesh: MeshData, material: Material) {
        mesh.name = format!("{}{}", self.prefix, mesh.name);
        let key = SurfaceKey::from_node(&self.source, &mesh.name, 0);
        let (mesh_id, material_id) =
            (MeshId::from_index(self.scene.meshes.len()), MaterialId::from_index(self.scene.materials.len()));
        self.scene.materials.push(material);
        self.scene.surfaces.push(Surface::new(key, mesh_id, material_id));
        self.scene.meshes.push(Arc::new(mesh));
    }

    /// A box seen from inside; `look` gives reflectance and emission of a wall.
    fn add_room(&mut self, min: Vec3, max: Vec3, walls: &[&str], look: impl Fn(&str) -> (Vec3, Vec3)) {
        for (wall, mut corners) in ALL_WALLS.into_iter().zip(cuboid_faces(min, max)) {
            if walls.contains(&wall) {
                corners.reverse();
                let (reflectance, emission) = look(wall);
                self.add(quad(wall, corners), reflectance, emission);
            }
        }
    }

    /// A horizontal panel that shines down and reflects nothing.
    fn add_panel(&mut self, name: &str, centre: Vec3, half_x: f32, half_z: f32, emission: Vec3) {
        let corner = |x: f32, z: f32| centre + Vec3::new(x * half_x, 0.0, z * half_z);
        let corners = [corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
        self.add(quad(name, corners), Vec3::ZERO, emission);
    }

    /// A white block on the floor, turned about the vertical. It has no underside.
    fn add_block(&mut self, name: &str, centre: Vec3, half: Vec3, degrees: f32) {
        let place = Affine3A::from_rotation_translation(Quat::from_rotation_y(degrees.to_radians()), centre);
        let [left, right, _, top, back, front] = cuboid_faces(-half, half);
        for (face, corners) in [("top", top), ("z+", front), ("z-", back), ("x+", right), ("x-", left)] {
            let corners = corners.map(|corner| place.transform_point3(corner));
            self.add(quad(&format!("{name}_{face}"), corners), WHITE, Vec3::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::SurfaceId;

    fn area(scene: &Scene, name: &str) -> f32 {
        let of = |id: SurfaceId| {
            let triangles = 0..scene.mesh_of(id).triangles.len() as u32;
            triangles.map(|triangle| scene.triangle(id, triangle).area()).sum::<f32>()
        };
        scene.surface_ids().filter(|id| scene.mesh_of(*id).name.contains(name)).map(of).sum()
    }

    #[test]
    fn every_name_builds_a_scene_and_no_other_does() {
        for (name, _) in names() {
            let scene = build(name).unwrap();
            assert!(scene.materials.iter().any(Material::is_emissive), "{name}");
        }
        assert!(build("teapot").is_none());
    }

    #[test]
    fn closed_rooms_enclose_their_volume_with_fronts_inside() {
        let ball = 4.0 / 3.0 * core::f32::consts::PI;
        let rooms = 2.0 * 3.9 * 4.0 * 3.0;
        let doorway = 2.0 * HALF_WALL * 2.0 * HALF_DOOR * DOOR_HEIGHT;
        for (name, expected, tolerance) in [
            ("furnace", 8.0, 1e-5),
            ("ceil", 8.0, 1e-5),
            ("unit_cube", 1.0, 1e-5),
            ("sphere", ball, 0.02),
            ("doorless_rooms", rooms, 1e-5),
            ("two_rooms", rooms + doorway, 1e-5),
        ] {
            let scene = build(name).unwrap();
            let volume: f32 = scene
                .surface_ids()
                .filter(|id| scene.mesh_of(*id).name != "lamp")
                .flat_map(|id| (0..scene.mesh_of(id).triangles.len() as u32).map(move |triangle| (id, triangle)))
                .map(|(id, triangle)| {
                    let [a, b, c] = scene.triangle(id, triangle).corners;
                    -a.dot(b.cross(c)) / 6.0
                })
                .sum();
            assert!((volume / expected - 1.0).abs() < tolerance, "{name}: {volume}, not {expected}");
        }
    }

    #[test]
    fn the_cornell_box_is_the_well_known_one() {
        let scene = build("cornell_box").unwrap();
        assert_eq!(scene.surfaces.len(), 16);
        assert!((area(&scene, "light") - 0.46 * 0.38).abs() < 1e-6);
        assert!((area(&scene, "small_top") - 0.36).abs() < 1e-5);
        assert!((area(&scene, "large_z+") - 0.72).abs() < 1e-5);
        let light = scene.surface_ids().find(|id| scene.mesh_of(*id).name == "light").unwrap();
        assert!((scene.geometric_normal(light, 0) - Vec3::NEG_Y).length() < 1e-6);
    }
}
