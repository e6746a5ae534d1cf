//! Tests of double-sided surfaces in bakes: which sides have texels, and what lies inside solids.

use std::sync::Arc;

use glam::{Affine3A, Quat, Vec3};

use super::{BakeOutput, BakeSettings, Unobserved, run_on};
use crate::Device;
use crate::accel::{Preset, World};
use crate::geometry::SurfaceId;
use crate::lightmap::ElementId;
use crate::pathtrace::VolumeSettings;
use crate::pathtrace::fixtures::{add_part, lamp};
use crate::radiosity::Method;
use crate::scene::check::repair;
use crate::scene::{Material, MeshData, Scene, Sides, Sky, Surface, shapes};

const METHODS: [Method; 5] = [Method::Gather, Method::Stochastic, Method::Progressive, Method::Counted, Method::Path];

fn gray() -> Material {
    Material::diffuse("gray", Vec3::splat(0.5))
}

fn add(scene: &mut Scene, mesh: MeshData) -> &mut Surface {
    let surface = add_part(scene, mesh, gray());
    surface.sides = Sides::Both;
    surface
}

fn cuboid(name: &str, min: [f32; 3], max: [f32; 3]) -> MeshData {
    shapes::cuboid(name, min.into(), max.into())
}

fn room() -> MeshData {
    cuboid("room", [-2.0, 0.0, -2.0], [2.0, 3.0, 2.0])
}

fn crate_on_floor() -> MeshData {
    cuboid("crate", [-0.53, 0.0, -0.47], [0.51, 1.0, 0.55])
}

/// Returns a glowing square with edges of half a meter that faces down.
fn panel(height: f32) -> (MeshData, Material) {
    let mut mesh = shapes::inside_out(shapes::floor("panel", 0.5));
    mesh.positions.iter_mut().for_each(|position| position.y = height);
    (mesh, Material { emission: Vec3::splat(1000.0), ..gray() })
}

fn joined(name: &str, parts: &[MeshData]) -> MeshData {
    let mut mesh = MeshData { name: name.to_owned(), ..MeshData::default() };
    for part in parts {
        let first = mesh.positions.len() as u32;
        mesh.positions.extend(&part.positions);
        mesh.normals.extend(&part.normals);
        mesh.uv0.extend(&part.uv0);
        mesh.triangles.extend(part.triangles.iter().map(|triangle| triangle.map(|vertex| vertex + first)));
    }
    mesh
}

fn sealed(scene: Scene) -> Scene {
    let scene = Arc::new(scene);
    scene.with_sealed_sides(&World::build(scene.clone(), Preset::fast()))
}

/// Returns for each surface if its front and its back can be seen.
fn open_sides(scene: &Scene) -> Vec<[bool; 2]> {
    let scene = sealed(scene.clone());
    scene.surface_ids().map(|surface| scene.open_sides(surface)).collect()
}

const FRONT: [bool; 2] = [true, false];
const BACK: [bool; 2] = [false, true];
const BOTH: [bool; 2] = [true, true];

#[test]
fn a_closed_crate_is_open_outside_whichever_way_it_is_turned() {
    let mut scene = Scene { sky: Sky::Uniform(Vec3::ONE), ..Scene::default() };
    add(&mut scene, shapes::floor("floor", 8.0));
    add(&mut scene, crate_on_floor());
    add(&mut scene, shapes::inside_out(crate_on_floor())).to_world = Affine3A::from_translation(Vec3::X * 2.0);
    add(&mut scene, crate_on_floor()).to_world =
        Affine3A::from_scale_rotation_translation(Vec3::new(-1.0, 1.0, 1.0), Quat::IDENTITY, Vec3::X * -2.0);
    assert_eq!(open_sides(&scene), [BOTH, FRONT, BACK, FRONT]);
}

#[test]
fn a_crate_whose_faces_are_turned_at_random_is_open_outside() {
    let mut scene = Scene { sky: Sky::Uniform(Vec3::ONE), ..Scene::default() };
    let mut mesh = crate_on_floor();
    let front: Vec<bool> = (0..12).map(|triangle| [0, 3, 4, 9].contains(&triangle)).collect();
    for (triangle, _) in mesh.triangles.iter_mut().zip(&front).filter(|(_, is_front)| !**is_front) {
        triangle.swap(1, 2);
    }
    add(&mut scene, mesh);
    let scene = sealed(scene);
    for (triangle, is_front) in (0..).zip(front) {
        let [front, back] = [false, true].map(|back| scene.is_sealed(SurfaceId(0), triangle, back));
        assert_eq!([front, back], [!is_front, is_front], "{triangle}");
    }
}

#[test]
fn a_crate_of_squares_that_nearly_touch_is_closed_and_one_with_wide_gaps_is_not() {
    for (gap, open) in [(0.001, FRONT), (0.2, BOTH)] {
        let mut scene = Scene { sky: Sky::Uniform(Vec3::ONE), ..Scene::default() };
        let mut mesh = cuboid("crate", [-0.5; 3], [0.5; 3]);
        for corners in mesh.positions.chunks_mut(4) {
            let middle = corners.iter().sum::<Vec3>() / 4.0;
            corners.iter_mut().for_each(|corner| *corner = corner.lerp(middle, gap));
        }
        add(&mut scene, mesh);
        assert_eq!(open_sides(&scene), [open], "{gap}");
    }
}

#[test]
fn a_crate_without_a_bottom_is_open_outside_while_it_stands_on_a_floor() {
    for (height, open) in [(0.0, FRONT), (0.5, BOTH)] {
        let mut scene = Scene { sky: Sky::Uniform(Vec3::ONE), ..Scene::default() };
        add(&mut scene, shapes::floor("floor", 8.0));
        let mut mesh = crate_on_floor();
        mesh.triangles.retain(|triangle| triangle.iter().any(|&vertex| mesh.positions[vertex as usize].y > 0.0));
        add(&mut scene, mesh).to_world = Affine3A::from_translation(Vec3::Y * height);
        assert_eq!(open_sides(&scene)[1], open, "{height}");
    }
}

#[test]
fn a_room_is_open_inside_for_what_lights_it_and_outside_for_a_sky() {
    for (mesh, inside) in [(room(), BACK), (shapes::inside_out(room()), FRONT)] {
        for (sky, open) in [(Sky::Dark, inside), (Sky::Uniform(Vec3::ONE), BOTH)] {
            let mut scene = Scene { sky, ..Scene::default() };
            add(&mut scene, mesh.clone());
            let (mesh, glow) = panel(2.98);
            add_part(&mut scene, mesh, glow);
            assert_eq!(open_sides(&scene)[0], open);
            scene.surfaces.pop();
            scene.lights.push(lamp(Vec3::Y, 100.0));
            assert_eq!(open_sides(&scene)[0], open);
        }
    }
}

#[test]
fn a_dark_room_is_open_inside_for_its_furniture() {
    let mut scene = Scene { sky: Sky::Uniform(Vec3::ONE), ..Scene::default() };
    add(&mut scene, room());
    add(&mut scene, crate_on_floor());
    assert_eq!(open_sides(&scene), [BOTH, FRONT]);
}

#[test]
fn a_room_of_several_materials_is_one_room() {
    let mut scene = Scene::default();
    let (mut walls, mut ceiling) = (room(), room());
    let is_ceiling =
        |mesh: &MeshData, triangle: &[u32; 3]| triangle.iter().all(|&vertex| mesh.positions[vertex as usize].y > 2.9);
    let whole = room();
    walls.triangles.retain(|triangle| !is_ceiling(&whole, triangle));
    ceiling.triangles.retain(|triangle| is_ceiling(&whole, triangle));
    add(&mut scene, walls);
    add(&mut scene, ceiling);
    scene.lights.push(lamp(Vec3::Y, 100.0));
    assert_eq!(open_sides(&scene), [BACK, BACK]);
}

#[test]
fn a_lampshade_is_open_inside_for_its_bulb_and_outside_for_the_room() {
    let mut scene = Scene::default();
    add(&mut scene, shapes::inside_out(room()));
    let mut shade = shapes::icosphere("shade", 0.2, 2);
    shade.positions.iter_mut().for_each(|position| *position += Vec3::Y * 2.0);
    add(&mut scene, shade);
    scene.lights.push(lamp(Vec3::Y * 2.0, 100.0));
    assert_eq!(open_sides(&scene), [FRONT, BOTH]);
}

#[test]
fn a_long_tunnel_and_a_cave_with_a_mouth_are_open_on_both_sides() {
    let mut scene = Scene { sky: Sky::Uniform(Vec3::ONE), ..Scene::default() };
    let mut tunnel = cuboid("tunnel", [0.0; 3], [400.0, 3.0, 3.0]);
    let whole = tunnel.clone();
    tunnel.triangles.retain(|triangle| {
        let x = triangle.map(|vertex| whole.positions[vertex as usize].x);
        x[0] != x[1] || x[1] != x[2]
    });
    add(&mut scene, tunnel);
    let mut cave = shapes::icosphere("cave", 4.0, 3);
    let whole = cave.clone();
    cave.triangles.retain(|triangle| triangle.iter().any(|&vertex| whole.positions[vertex as usize].x < 3.8));
    add(&mut scene, cave).to_world = Affine3A::from_translation(Vec3::Z * 40.0);
    assert_eq!(open_sides(&scene), [BOTH, BOTH]);
}

#[test]
fn a_room_and_a_crate_of_one_mesh_have_each_their_own_side() {
    let mut scene = Scene::default();
    add(&mut scene, joined("both", &[room(), crate_on_floor()]));
    scene.lights.push(lamp(Vec3::new(1.0, 2.0, 1.0), 100.0));
    let scene = sealed(scene);
    let is_open = |triangle, back| !scene.is_sealed(SurfaceId(0), triangle, back);
    assert!((0..12).all(|triangle| is_open(triangle, true) && !is_open(triangle, false)), "the room");
    assert!((12..24).all(|triangle| is_open(triangle, false) && !is_open(triangle, true)), "the crate");
}

#[test]
fn a_wall_between_two_shells_is_solid() {
    let mut scene = Scene { sky: Sky::Uniform(Vec3::ONE), ..Scene::default() };
    add(&mut scene, cuboid("facade", [-2.5, -0.5, -2.5], [2.5, 3.5, 2.5]));
    add(&mut scene, shapes::inside_out(room()));
    scene.lights.push(lamp(Vec3::Y, 100.0));
    assert_eq!(open_sides(&scene), [FRONT, FRONT]);
}

#[test]
fn a_picture_is_open_away_from_its_wall_and_a_curtain_on_both_sides() {
    let mut scene = Scene::default();
    add_part(&mut scene, shapes::inside_out(room()), gray());
    for (name, distance) in [("picture", 0.01), ("curtain", 0.3)] {
        let mut sheet = shapes::floor(name, 1.0);
        sheet.positions.iter_mut().for_each(|position| position.y = distance);
        add(&mut scene, sheet);
    }
    scene.lights.push(lamp(Vec3::Y, 100.0));
    assert_eq!(open_sides(&scene), [FRONT, FRONT, BOTH]);
}

fn settings(method: Method, texels_per_meter: f32) -> BakeSettings {
    let mut settings = BakeSettings::default();
    settings.layout.texels_per_meter = texels_per_meter;
    (settings.solver.method, settings.solver.error, settings.volume) = (method, 0.03, None);
    settings
}

fn bake(device: &Device, scene: &Scene, settings: &BakeSettings) -> BakeOutput {
    run_on(device, repair(scene.clone()).0, settings, &Unobserved).expect("a small scene")
}

/// Returns the mean radiance (irradiance / pi) of the elements for which `holds` is true.
fn mean(bake: &BakeOutput, holds: impl Fn(&BakeOutput, ElementId) -> bool) -> f32 {
    let elements: Vec<ElementId> = bake.elements.ids().filter(|&id| holds(bake, id)).collect();
    assert!(!elements.is_empty());
    let texel = |id: &ElementId| {
        let texel = bake.elements.texel[id.index()];
        let page = &bake.pages[texel.page as usize];
        page.texels[page.index(texel.x.into(), texel.y.into())].x
    };
    elements.iter().map(texel).sum::<f32>() / elements.len() as f32
}

fn looks_inwards(bake: &BakeOutput, id: ElementId) -> bool {
    let (place, normal) = (bake.elements.center[id.index()], bake.elements.geometric_normal[id.index()]);
    bake.elements.surface(id) == SurfaceId(0) && normal.dot(Vec3::Y * 1.5 - place) > 0.0
}

/// Returns a room with a panel: double-sided and turned outwards under a sky, or single-sided.
fn lit_room(sides: Sides) -> Scene {
    let mut scene = Scene::default();
    let mesh = if sides == Sides::Both { room() } else { shapes::inside_out(room()) };
    add(&mut scene, mesh).sides = sides;
    let (mesh, glow) = panel(2.9);
    add_part(&mut scene, mesh, glow);
    if sides == Sides::Both {
        scene.sky = Sky::Uniform(Vec3::splat(30.0));
    }
    scene
}

/// Returns a crate on a floor under a sky.
fn crate_scene(sides: Sides) -> Scene {
    let mut scene = Scene { sky: Sky::Uniform(Vec3::splat(1000.0)), ..Scene::default() };
    add(&mut scene, shapes::floor("floor", 4.0));
    add(&mut scene, crate_on_floor()).sides = sides;
    scene
}

/// Returns true for elements on the upper side of the floor that the crate's sides cut or touch.
fn beside_crate(bake: &BakeOutput, id: ElementId) -> bool {
    let (place, normal) = (bake.elements.center[id.index()], bake.elements.geometric_normal[id.index()]);
    let (x, z) = (place.x + 0.01, place.z - 0.04);
    let distance = (x.abs() - 0.52).max(z.abs() - 0.51);
    bake.elements.surface(id) == SurfaceId(0) && normal.y > 0.5 && distance > 0.0 && distance < 0.1
}

fn assert_near(value: f32, expected: f32, tolerance: f32, which: &str) {
    assert!((value - expected).abs() < tolerance * expected, "{which}: {value}, not {expected}");
}

#[test]
fn a_double_sided_room_under_a_sky_is_lit_as_a_single_sided_one_by_all_methods() {
    let truth = mean(&bake(&Device::Cpu, &lit_room(Sides::Front), &settings(Method::Gather, 3.0)), looks_inwards);
    for method in METHODS {
        let baked = bake(&Device::Cpu, &lit_room(Sides::Both), &settings(method, 3.0));
        assert_near(mean(&baked, looks_inwards), truth, 0.05, &format!("{method:?}"));
    }
}

#[test]
fn the_floor_beside_a_double_sided_crate_is_as_bright_as_beside_a_single_sided_one_by_all_methods() {
    let truth = mean(&bake(&Device::Cpu, &crate_scene(Sides::Front), &settings(Method::Gather, 8.0)), beside_crate);
    for method in METHODS {
        let baked = bake(&Device::Cpu, &crate_scene(Sides::Both), &settings(method, 8.0));
        assert_near(mean(&baked, beside_crate), truth, 0.03, &format!("{method:?}"));
    }
}

#[test]
fn a_room_and_its_turned_copy_are_as_bright_as_the_room_alone_by_all_methods() {
    let alone = lit_room(Sides::Front);
    let truth = mean(&bake(&Device::Cpu, &alone, &settings(Method::Gather, 3.0)), looks_inwards);
    for method in METHODS {
        let baked = bake(&Device::Cpu, &doubled_room(), &settings(method, 3.0));
        assert_near(mean(&baked, looks_inwards), truth, 0.04, &format!("{method:?}"));
    }
}

/// Returns the single-sided room with an outward-facing copy in the same place, by another node.
fn doubled_room() -> Scene {
    let mut scene = lit_room(Sides::Front);
    let mut copy = room();
    copy.name = "copy".to_owned();
    copy.positions.iter_mut().for_each(|position| *position -= Vec3::new(0.3, 0.7, 0.1));
    add(&mut scene, copy).to_world = Affine3A::from_translation(Vec3::new(0.3, 0.7, 0.1));
    scene.surfaces[2].sides = Sides::Front;
    scene
}

#[test]
fn no_voxel_in_a_double_sided_crate_is_dark() {
    let mut settings = settings(Method::Gather, 2.0);
    settings.volume = Some(VolumeSettings { spacing: 0.3, ..VolumeSettings::default() });
    let volume = bake(&Device::Cpu, &crate_scene(Sides::Both), &settings).volume.expect("it was asked for");
    let darkest = volume.values.iter().map(|voxel| voxel.iter().map(|light| light.x).sum::<f32>());
    assert!(darkest.clone().count() > 200 && darkest.fold(f32::INFINITY, f32::min) > 100.0);
}

#[cfg(feature = "gpu")]
#[test]
fn the_graphics_card_tells_solids_rooms_and_turned_copies_alike() {
    let Some(gpu) = crate::gpu::test_device_of_its_own() else { return };
    let gpu = Device::Gpu(gpu);
    let settings_of_room = settings(Method::Gather, 3.0);
    for scene in [lit_room(Sides::Both), doubled_room()] {
        let [on_gpu, on_cpu] = [&gpu, &Device::Cpu].map(|device| bake(device, &scene, &settings_of_room));
        assert_near(mean(&on_gpu, looks_inwards), mean(&on_cpu, looks_inwards), 0.02, "room");
    }
    let settings = settings(Method::Gather, 8.0);
    let [on_gpu, on_cpu] = [&gpu, &Device::Cpu].map(|device| bake(device, &crate_scene(Sides::Both), &settings));
    assert_near(mean(&on_gpu, beside_crate), mean(&on_cpu, beside_crate), 0.02, "crate");
}
