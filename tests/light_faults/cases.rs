//! Scenes that lightmap bakers are known to light wrongly, with their correct light.
//!
//! The scenes follow public bug reports. The correct values come from closed forms, from the balance of energy in
//! closed rooms, and from counts of sky directions that boxes leave open.

use core::f32::consts::PI;
use std::path::Path;
use std::sync::Arc;

use bevy_radiosity::bake::{BakeSettings, BakedScene};
use bevy_radiosity::pathtrace::Receiver;
use bevy_radiosity::radiosity::Method;
use bevy_radiosity::scene::shapes::{cuboid, floor, inside_out, quad};
use bevy_radiosity::scene::{
    AlphaMode, Light, LightKind, Material, MaterialId, MeshData, MeshId, Scene, Sides, Sky, Surface, SurfaceKey,
};
use glam::{Affine3A, Vec3, Vec4};

/// A scene, and the light that some of its places must have.
pub struct Case {
    pub name: &'static str,
    pub scene: Scene,
    pub texels_per_meter: f32,
    pub places: Vec<Place>,
    /// Whether a bake may say that it gives up the light here, in place of finding it.
    pub may_give_up: bool,
}

/// Points whose mean light is known.
pub struct Place {
    pub name: &'static str,
    pub points: Vec<Receiver>,
    /// Mean irradiance, lux.
    pub lux: f32,
    /// The largest error, lux.
    pub tolerance: f32,
}

impl Case {
    fn new(name: &'static str, scene: Scene, texels_per_meter: f32, places: Vec<Place>) -> Self {
        Self { name, scene, texels_per_meter, places, may_give_up: false }
    }

    /// Returns settings of a bake of the case by a method.
    pub fn settings(&self, method: Method) -> BakeSettings {
        let mut settings = BakeSettings { volume: None, ..BakeSettings::default() };
        settings.layout.texels_per_meter = self.texels_per_meter;
        settings.solver.method = method;
        settings
    }

    /// Asserts that the bake in a folder has the right light.
    ///
    /// # Panics
    /// When a place has other light, and no warning says so.
    pub fn assert_right(&self, folder: &Path, how: &str) {
        let report = std::fs::read_to_string(folder.join("report.json")).expect("it was just written");
        let report: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
        let warnings: Vec<&str> =
            report["warnings"].as_array().into_iter().flatten().flat_map(|text| text.as_str()).collect();
        if self.may_give_up && warnings.iter().any(|warning| warning.contains("rays hardly ever meet what lights them"))
        {
            return;
        }
        let baked = BakedScene::read(folder, &self.scene).expect("it was just written");
        for place in &self.places {
            let light = baked.irradiance_at(&place.points);
            let known: Vec<f32> = light.iter().map(|light| light.expect("each point has texels").y).collect();
            let mean = known.iter().sum::<f32>() / known.len() as f32;
            assert!(
                (mean - place.lux).abs() <= place.tolerance,
                "{}, {how}, {}: {mean} lux instead of {}; warnings: {warnings:?}",
                self.name,
                place.name,
                place.lux
            );
        }
    }
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    vec![
        double_sided_room(),
        room_and_its_turned_copy(),
        room_far_from_the_origin(),
        room_of_vertex_colors(),
        cellar_under_sunlit_ground(),
        crate_on_a_floor(),
        stairs_of_flush_boxes(),
        hut_sunk_into_the_ground(),
        board_close_to_smooth_ground(),
        pane_of_many_triangles(),
        lamp_close_to_a_ceiling(),
    ]
}

const REFLECTANCE: f32 = 0.5;
const LUMENS: f32 = 1000.0;

fn gray(reflectance: f32) -> Material {
    Material::diffuse("gray", Vec3::splat(reflectance))
}

fn add(scene: &mut Scene, mesh: MeshData, material: Material, sides: Sides) -> &mut Surface {
    let (mesh_id, material_id) = (MeshId(scene.meshes.len() as u32), MaterialId(scene.materials.len() as u32));
    let mut surface = Surface::new(SurfaceKey(mesh.name.clone()), mesh_id, material_id);
    surface.sides = sides;
    scene.meshes.push(Arc::new(mesh));
    scene.materials.push(material);
    scene.surfaces.push(surface);
    scene.surfaces.last_mut().expect("just added")
}

fn lamp(position: Vec3, lumens: f32) -> Light {
    let intensity = Vec3::splat(lumens / (4.0 * PI));
    Light { name: "lamp".into(), kind: LightKind::Point { position, intensity, radius: 0.0, range: f32::INFINITY } }
}

fn sun(lux: f32) -> Light {
    let kind = LightKind::Directional { direction: Vec3::NEG_Y, illuminance: Vec3::splat(lux), angular_diameter: 0.0 };
    Light { name: "sun".into(), kind }
}

/// Returns a room of 4 m by 3 m by 4 m, its fronts outside.
fn room() -> MeshData {
    cuboid("room", ROOM[0], ROOM[1])
}

const ROOM: [Vec3; 2] = [Vec3::new(-2.0, 0.0, -2.0), Vec3::new(2.0, 3.0, 2.0)];

/// Returns all inner faces of the room. Their mean irradiance follows from the balance of energy: all flux is
/// absorbed in the end.
fn all_of_the_room(at: Vec3, lumens: f32) -> Place {
    let size = ROOM[1] - ROOM[0];
    let mut points = Vec::new();
    for axis in 0..3 {
        let [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
        let counts = [u, v].map(|axis| (size[axis] * 4.0) as usize);
        for step in 0..2 * counts[0] * counts[1] {
            let (side, step) = (step % 2, step / 2);
            let mut position = ROOM[side];
            position[u] = ROOM[0][u] + ((step % counts[0]) as f32 + 0.5) / 4.0;
            position[v] = ROOM[0][v] + ((step / counts[0]) as f32 + 0.5) / 4.0;
            let mut normal = Vec3::ZERO;
            normal[axis] = 1.0 - 2.0 * side as f32;
            points.push(Receiver { position: position + at, normal });
        }
    }
    let area = 2.0 * (size.x * size.y + size.y * size.z + size.z * size.x);
    let lux = lumens / (area * (1.0 - REFLECTANCE));
    Place { name: "all of the room", points, lux, tolerance: 0.04 * lux }
}

fn double_sided_room() -> Case {
    let mut scene =
        Scene { sky: Sky::Uniform(Vec3::splat(30.0)), lights: vec![lamp(Vec3::Y, LUMENS)], ..Scene::default() };
    add(&mut scene, room(), gray(REFLECTANCE), Sides::Both);
    Case::new("a closed double-sided room under a sky", scene, 4.0, vec![all_of_the_room(Vec3::ZERO, LUMENS)])
}

fn room_and_its_turned_copy() -> Case {
    let mut scene = Scene { lights: vec![lamp(Vec3::Y, LUMENS)], ..Scene::default() };
    add(&mut scene, inside_out(room()), gray(REFLECTANCE), Sides::Front);
    let copy = MeshData { name: "copy".into(), ..room() };
    add(&mut scene, copy, gray(REFLECTANCE), Sides::Front);
    Case::new("a room and its turned copy", scene, 4.0, vec![all_of_the_room(Vec3::ZERO, LUMENS)])
}

fn room_far_from_the_origin() -> Case {
    let at = Vec3::new(3000.0, 0.0, -2000.0);
    let mut scene = Scene { lights: vec![lamp(at + Vec3::Y, LUMENS)], ..Scene::default() };
    add(&mut scene, inside_out(room()), gray(REFLECTANCE), Sides::Front).to_world = Affine3A::from_translation(at);
    Case::new("a room 3.6 km from the origin", scene, 4.0, vec![all_of_the_room(at, LUMENS)])
}

fn room_of_vertex_colors() -> Case {
    let mut scene = Scene { lights: vec![lamp(Vec3::Y, LUMENS)], ..Scene::default() };
    let mut mesh = inside_out(room());
    mesh.colors = vec![Vec3::splat(REFLECTANCE).extend(1.0); mesh.positions.len()];
    add(&mut scene, mesh, gray(1.0), Sides::Front);
    Case::new("a white room of gray vertices", scene, 4.0, vec![all_of_the_room(Vec3::ZERO, LUMENS)])
}

fn cellar_under_sunlit_ground() -> Case {
    let at = Vec3::NEG_Y * 4.0;
    let mut scene = Scene { lights: vec![sun(100_000.0), lamp(at + Vec3::Y, 100.0)], ..Scene::default() };
    add(&mut scene, floor("ground", 12.0), gray(REFLECTANCE), Sides::Both);
    add(&mut scene, inside_out(room()), gray(REFLECTANCE), Sides::Front).to_world = Affine3A::from_translation(at);
    let ground = Place {
        name: "the ground",
        points: vec![Receiver { position: Vec3::X, normal: Vec3::Y }],
        lux: 100_000.0,
        tolerance: 1000.0,
    };
    Case::new("a cellar under sunlit ground", scene, 4.0, vec![all_of_the_room(at, 100.0), ground])
}

const SKY: f32 = 1000.0;

/// A box by two corners.
type Cuboid = [Vec3; 2];

/// Returns true if a ray from a point hits a box.
fn meets([min, max]: Cuboid, point: Vec3, direction: Vec3) -> bool {
    let (a, b) = ((min - point) / direction, (max - point) / direction);
    a.min(b).max_element().max(0.0) < a.max(b).min_element()
}

/// Returns five points in a row on a black floor or step under a uniform sky, of which boxes hide a part. Directions
/// are counted.
fn under_the_sky(name: &'static str, middle: Vec3, boxes: &[Cuboid]) -> Place {
    const SIDE: u32 = 200;
    let points = [-0.2, -0.1, 0.0, 0.1, 0.2].map(|z| middle + Vec3::Z * z);
    let is_open = |point: Vec3, index: u32| {
        let (u, v) = ((index % SIDE) as f32 + 0.5, (index / SIDE) as f32 + 0.5);
        let (radius, angle) = ((u / SIDE as f32).sqrt(), (v + 0.37) / SIDE as f32 * 2.0 * PI);
        let direction = Vec3::new(radius * angle.cos(), (1.0 - radius * radius).sqrt(), radius * angle.sin());
        !boxes.iter().any(|cuboid| meets(*cuboid, point + Vec3::Y * 1e-4, direction))
    };
    let open: usize = points.map(|point| (0..SIDE * SIDE).filter(|index| is_open(point, *index)).count()).iter().sum();
    let lux = PI * SKY * open as f32 / (5 * SIDE * SIDE) as f32;
    let points = points.map(|position| Receiver { position, normal: Vec3::Y }).to_vec();
    Place { name, points, lux, tolerance: 0.06 * lux }
}

fn crate_on_a_floor() -> Case {
    let mut scene = Scene { sky: Sky::Uniform(Vec3::splat(SKY)), ..Scene::default() };
    let corners = [Vec3::new(-0.53, 0.0, -0.47), Vec3::new(0.51, 1.0, 0.55)];
    add(&mut scene, floor("floor", 6.0), gray(0.0), Sides::Both);
    add(&mut scene, cuboid("crate", corners[0], corners[1]), gray(0.0), Sides::Both);
    let at = |name, x: f32| under_the_sky(name, Vec3::new(x, 0.0, 0.03), &[corners]);
    let places = vec![at("beside it", 0.54), at("a texel away", 0.58), at("half a meter away", 1.01)];
    Case::new("a double-sided crate on a floor", scene, 16.0, places)
}

fn stairs_of_flush_boxes() -> Case {
    let mut scene = Scene { sky: Sky::Uniform(Vec3::splat(SKY)), ..Scene::default() };
    let boxes =
        [0.0, 1.0, 2.0].map(|step: f32| [Vec3::new(0.3 * step, 0.0, 0.0), Vec3::new(0.9, 0.18 * (step + 1.0), 1.2)]);
    let mut stairs = MeshData { name: "stairs".into(), ..MeshData::default() };
    for part in boxes.map(|[min, max]| cuboid("step", min, max)) {
        let first = stairs.positions.len() as u32;
        stairs.triangles.extend(part.triangles.iter().map(|triangle| triangle.map(|vertex| vertex + first)));
        stairs.positions.extend(part.positions);
        stairs.normals.extend(part.normals);
        stairs.uv0.extend(part.uv0);
    }
    add(&mut scene, stairs, gray(0.0), Sides::Front);
    let at = |name, x: f32, y: f32| under_the_sky(name, Vec3::new(x, y, 0.6), &boxes);
    let places = vec![
        at("the first step", 0.15, 0.18),
        at("its end", 0.28, 0.18),
        at("the second step", 0.45, 0.36),
        at("the third step", 0.75, 0.54),
    ];
    Case::new("stairs of boxes that are flush with each other", scene, 16.0, places)
}

fn hut_sunk_into_the_ground() -> Case {
    let mut scene = Scene { sky: Sky::Uniform(Vec3::splat(SKY)), ..Scene::default() };
    add(&mut scene, floor("ground", 10.0), gray(REFLECTANCE), Sides::Both);
    let (outer, inner) = (
        cuboid("outside", [-1.2, -0.05, -1.2].into(), [1.2, 2.2, 1.2].into()),
        inside_out(cuboid("inside", [-1.0, -0.05, -1.0].into(), [1.0, 2.0, 1.0].into())),
    );
    // Below the ground the hut is open.
    let open = |mut mesh: MeshData| {
        let is_below = |triangle: &[u32; 3]| triangle.iter().all(|&vertex| mesh.positions[vertex as usize].y < 0.0);
        let kept: Vec<[u32; 3]> = mesh.triangles.iter().copied().filter(|triangle| !is_below(triangle)).collect();
        mesh.triangles = kept;
        mesh
    };
    add(&mut scene, open(outer), gray(REFLECTANCE), Sides::Front);
    add(&mut scene, open(inner), gray(REFLECTANCE), Sides::Front);
    let dark = |name, position: [f32; 3], normal| Place {
        name,
        points: vec![Receiver { position: position.into(), normal }],
        lux: 0.0,
        tolerance: 0.005 * SKY,
    };
    let places = vec![
        dark("the foot of a wall", [0.999, 0.01, 0.3], Vec3::NEG_X),
        dark("the middle of a wall", [0.999, 1.0, 0.3], Vec3::NEG_X),
        dark("the floor", [0.3, 0.0, 0.2], Vec3::Y),
    ];
    Case::new("a dark hut whose walls go on below the ground", scene, 8.0, places)
}

fn board_close_to_smooth_ground() -> Case {
    let mut scene = Scene { lights: vec![sun(10_000.0)], ..Scene::default() };
    // A ground of two by two squares with the normals of a hill.
    let mut ground = MeshData { name: "ground".into(), ..MeshData::default() };
    for index in 0..9_u32 {
        let (x, z) = ((index % 3) as f32 * 2.0 - 2.0, (index / 3) as f32 * 2.0 - 2.0);
        ground.positions.push(Vec3::new(x, 0.0, z));
        ground.normals.push(Vec3::new(0.4 * x, 1.0, 0.4 * z).normalize());
    }
    for corner in [0, 1, 3, 4] {
        ground.triangles.extend([[corner, corner + 3, corner + 4], [corner, corner + 4, corner + 1]]);
    }
    add(&mut scene, ground, gray(0.0), Sides::Front);
    let corners = [[0.3, -0.6], [1.5, -0.6], [1.5, 0.6], [0.3, 0.6]].map(|[x, z]| Vec3::new(x, 0.03, z));
    add(&mut scene, quad("board", corners), gray(0.0), Sides::Both);
    let points = [[0.5, 0.0], [0.9, 0.3], [1.3, -0.3]]
        .map(|[x, z]| Receiver { position: Vec3::new(x, 0.0, z), normal: Vec3::Y });
    let below = Place { name: "below the board", points: points.to_vec(), lux: 0.0, tolerance: 20.0 };
    Case::new("a board 3 cm above smooth ground of few triangles", scene, 8.0, vec![below])
}

fn pane_of_many_triangles() -> Case {
    let mut scene = Scene { lights: vec![sun(1000.0)], ..Scene::default() };
    add(&mut scene, floor("floor", 6.0), gray(0.0), Sides::Front);
    // A disc of 24 triangles about one vertex, above the middle of a texel.
    let hub = Vec3::new(0.0625, 1.0, 0.0625);
    let mut pane = MeshData { name: "pane".into(), positions: vec![hub], ..MeshData::default() };
    for corner in 0..24 {
        let angle = corner as f32 / 24.0 * 2.0 * PI;
        pane.positions.push(hub + Vec3::new(angle.cos(), 0.0, -angle.sin()));
        pane.triangles.push([0, corner + 1, (corner + 1) % 24 + 1]);
    }
    let material = Material { base_color: Vec4::new(0.8, 0.1, 0.1, 0.6), alpha: AlphaMode::Blend, ..gray(0.0) };
    add(&mut scene, pane, material, Sides::Both);
    let below = |name, x: f32, z: f32| Place {
        name,
        points: vec![Receiver { position: Vec3::new(x, 0.0, z), normal: Vec3::Y }],
        lux: 400.0,
        tolerance: 4.0,
    };
    let places = vec![below("below its hub", hub.x, hub.z), below("below its middle", 0.4, 0.3)];
    Case::new("a red pane of 24 triangles that lets 0.4 through", scene, 8.0, places)
}

fn lamp_close_to_a_ceiling() -> Case {
    // The lamp's upper half lights the ceiling, whose reflected light is as bright below as a small source: F / (pi
    // h^2).
    let candela = 300.0;
    let mut scene = Scene { lights: vec![lamp(Vec3::new(0.03, 2.995, 0.03), candela * 4.0 * PI)], ..Scene::default() };
    let walls = MeshData { name: "walls".into(), ..inside_out(room()) };
    let is_ceiling = |triangle: &[u32; 3]| triangle.iter().all(|&vertex| walls.positions[vertex as usize].y > 2.9);
    let [ceiling, walls] = [true, false].map(|wanted| {
        let mut part = walls.clone();
        part.triangles.retain(|triangle| is_ceiling(triangle) == wanted);
        part.name = if wanted { "ceiling" } else { "walls" }.into();
        part
    });
    add(&mut scene, ceiling, gray(REFLECTANCE), Sides::Front);
    add(&mut scene, walls, gray(0.0), Sides::Front);
    let points = (0..25)
        .map(|index| Vec3::new((index % 5) as f32 * 0.1 - 0.2, 0.0, (index / 5) as f32 * 0.1 - 0.2))
        .map(|position| Receiver { position, normal: Vec3::Y });
    let lux = candela / 9.0 * (1.0 + 2.0 * REFLECTANCE);
    let below = Place { name: "below the lamp", points: points.collect(), lux, tolerance: 0.05 * lux };
    Case { may_give_up: true, ..Case::new("a lamp 5 mm below a ceiling", scene, 6.0, vec![below]) }
}
