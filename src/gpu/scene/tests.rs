//! Tests of moving objects against the CPU, and against scenes built with the final transforms.

use std::sync::Arc;

use glam::{Affine3A, EulerRot, Quat, UVec2, Vec3};

use super::super::context::test_device;
use super::super::tests::{rays_in, room_of_everything};
use super::super::{
    Gpu, GpuFilm, GpuScene, GpuTree, PathKernel, PathPass, Question, RayAnswer, RayKernels, Stack, Trees,
};
use crate::accel::{Preset, World};
use crate::geometry::{Ray, RayQuery, SurfaceId};
use crate::pathtrace::fixtures::add_part;
use crate::pathtrace::{Film, PixelFilter, View};
use crate::scene::{AlphaMode, Camera, Material, MeshData, Role, Scene, Sides, shapes};

/// Returns a transform with rotation and non-uniform scale, mirrored if one scale factor is negative.
fn pose(index: u32, scale: Vec3, at: Vec3) -> Affine3A {
    let turn = Quat::from_euler(EulerRot::YXZ, index as f32, 0.3 * index as f32, 0.7);
    Affine3A::from_scale_rotation_translation(scale, turn, at)
}

/// Returns a room with moving objects of several meshes: rotated, stretched, mirrored, and one around all others.
fn lively_room() -> Scene {
    let mut scene = crate::builtin_scenes::build("cornell_empty").unwrap();
    let with_normals = |mesh: MeshData| {
        let normals = mesh.positions.iter().map(|position| position.normalize()).collect();
        MeshData { normals, ..mesh }
    };
    add_part(&mut scene, with_normals(shapes::icosphere("ball", 0.3, 2)), Material::default());
    let leaf = Material {
        alpha: AlphaMode::Blend,
        tints: true,
        base_color: glam::Vec4::new(0.9, 0.5, 0.5, 0.4),
        ..Material::default()
    };
    let pane = add_part(&mut scene, shapes::floor("pane", 0.5), leaf);
    pane.sides = Sides::Both;
    add_part(&mut scene, shapes::icosphere("bubble", 0.9, 1), Material::default()).sides = Sides::Both;
    let first = scene.surfaces.len() - 3;
    for index in 0..40 {
        let mut more = scene.surfaces[first + index as usize % 2].clone();
        more.key.0 = format!("mover {index}");
        let mirror = if index % 3 == 0 { -1.0 } else { 1.0 };
        let scale = Vec3::new(mirror * (0.2 + 0.02 * index as f32), 0.5, 0.3 + 0.1 * (index % 5) as f32);
        let around = index as f32 * 0.7;
        more.to_world =
            pose(index, scale, Vec3::new(0.7 * around.cos(), 0.04 * index as f32 - 0.8, 0.7 * around.sin()));
        scene.surfaces.push(more);
    }
    for mover in &mut scene.surfaces[first..] {
        mover.role = Role::Mover;
    }
    scene
}

/// Returns the scene on the device, for kernels with a stack.
fn for_stack(gpu: &Gpu, scene: &Scene, stack: Stack) -> GpuScene {
    GpuScene::with_tree(gpu, scene, &GpuTree::build(scene, &Preset::narrow()).for_stack(stack)).unwrap()
}

fn answers(gpu: &Gpu, scene: &GpuScene, rays: &[Ray], question: Question) -> Vec<RayAnswer> {
    answers_by(gpu, scene, rays, question, Stack::Short)
}

fn answers_by(gpu: &Gpu, scene: &GpuScene, rays: &[Ray], question: Question, stack: Stack) -> Vec<RayAnswer> {
    RayKernels::new(gpu, stack, scene.trees()).trace(gpu, scene, rays, question).unwrap().of_rays
}

/// Returns the scene with all moving objects made static, in one tree in world space.
fn at_rest(mut scene: Scene) -> Scene {
    for surface in scene.surfaces.iter_mut().filter(|surface| surface.role == Role::Mover) {
        surface.role = Role::Static;
    }
    scene
}

#[test]
fn rays_meet_movers_where_the_cpu_meets_them_and_where_one_tree_over_all_has_them() {
    let Some(gpu) = test_device() else { return };
    let mut scene = lively_room();
    // Passage through panes is a random decision that depends on the last bits.
    for material in &mut scene.materials {
        material.alpha = AlphaMode::Opaque;
    }
    let rays = rays_in(&scene, 20_000);
    let static_world = World::build(Arc::new(at_rest(scene.clone())), Preset::best());
    let moving = World::build(Arc::new(scene.clone()), Preset::best()).with_movers();
    for stack in [Stack::Short, Stack::Ropes] {
        let on_gpu = for_stack(&gpu, &scene, stack);
        let found = answers_by(&gpu, &on_gpu, &rays, Question::Closest, stack);
        let sources = found.iter().filter_map(|answer| on_gpu.source(answer.triangle));
        let movers = sources.filter(|(surface, _)| scene.surface(*surface).role == Role::Mover).count();
        assert!(movers > 10_000, "{movers} of {} rays meet movers", rays.len());
        // The moving version tests triangles in object space, so rays along an edge may pass on its other side.
        for (world, max_different) in [(&static_world, 0), (&moving, 10)] {
            let differs =
                |(ray, answer): &(&Ray, &RayAnswer)| match (world.closest(ray), on_gpu.source(answer.triangle)) {
                    (None, None) => false,
                    (Some(hit), Some(source)) => {
                        source != (hit.surface, hit.triangle) && (hit.t - answer.t).abs() > 1e-5 * hit.t.max(1.0)
                    }
                    _ => true,
                };
            let different = rays.iter().zip(&found).filter(differs).count();
            assert!(different <= max_different, "{stack:?}: {different} rays differ");
        }
    }
}

#[test]
fn as_much_light_gets_past_movers_as_on_the_cpu() {
    let Some(gpu) = test_device() else { return };
    let scene = lively_room();
    let segments: Vec<Ray> = rays_in(&scene, 20_000).into_iter().map(|ray| Ray { t_max: 0.5, ..ray }).collect();
    let world = World::build(Arc::new(at_rest(scene.clone())), Preset::best());
    for stack in [Stack::Short, Stack::Ropes] {
        let found = answers_by(&gpu, &for_stack(&gpu, &scene, stack), &segments, Question::Any, stack);
        let differs =
            |(segment, answer): &(&Ray, &RayAnswer)| (world.blocked(segment).0.max_element() - answer.t).abs() > 1e-5;
        let different = segments.iter().zip(&found).filter(differs).count();
        let tinted = found.iter().filter(|answer| answer.t > 0.0 && answer.t < 1.0).count();
        let clear = found.iter().filter(|answer| answer.t == 1.0).count();
        let counts = format!("{stack:?}: {different} differ, {tinted} tinted, {clear} clear");
        assert!(different <= 4 && tinted > 100 && clear > 1000, "{counts}");
    }
}

#[test]
fn movers_far_from_the_origin_and_of_any_size_are_met() {
    let Some(gpu) = test_device() else { return };
    for (size, at) in [(1e-3, Vec3::ZERO), (1.0, Vec3::new(2e3, -1e3, 5e2)), (1e4, Vec3::X), (1e-4, Vec3::splat(0.9))] {
        let mut scene = Scene::default();
        for (index, name) in ["a", "b"].into_iter().enumerate() {
            let ball = add_part(&mut scene, shapes::icosphere(name, 1.0, 2), Material::default());
            let apart = Vec3::X * (index as f32 * 2.5 * size);
            (ball.role, ball.to_world) = (Role::Mover, pose(1, Vec3::new(size, 0.7 * size, -size), at + apart));
        }
        let rays = rays_in(&scene, 4_000);
        let on_gpu = GpuScene::new(&gpu, &scene).unwrap();
        let found = answers(&gpu, &on_gpu, &rays, Question::Closest);
        let world = World::build(Arc::new(at_rest(scene)), Preset::best());
        let is_same =
            |(ray, answer): &(&Ray, &RayAnswer)| world.closest(ray).is_some() == (answer.triangle != u32::MAX);
        let same = rays.iter().zip(&found).filter(is_same).count();
        assert_eq!(same, rays.len(), "balls of {size} m at {at}");
    }
}

/// Renders a view; `max_bounces` as in [`PathPass`].
fn picture(
    gpu: &Gpu,
    kernel: &PathKernel,
    on_gpu: &GpuScene,
    camera: &Camera,
    samples: u32,
    max_bounces: Option<u32>,
) -> Film {
    let view = View { camera: camera.clone(), size: UVec2::splat(24), lens: None, filter: PixelFilter::Box };
    let film = GpuFilm::new(gpu, view.size).unwrap();
    for sample in 0..samples {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let pass = PathPass {
            sample,
            seed: 5,
            max_bounces,
            rows: 0..24,
            ends_at_lightmaps: false,
            in_hybrid: false,
            background: Vec3::ZERO,
        };
        kernel.record(gpu, &mut encoder, on_gpu, &film, &view, &pass);
        gpu.queue.submit([encoder.finish()]);
    }
    film.read(gpu).unwrap()
}

#[test]
fn a_mover_that_was_put_elsewhere_is_as_if_the_scene_had_been_built_so() {
    let Some(gpu) = test_device() else { return };
    let kernel = PathKernel::new(&gpu, Stack::Short, Trees::All);
    let camera = Camera::looking_at(Vec3::new(0.0, 0.2, 3.0), Vec3::new(0.0, -0.1, 0.0), 0.7).unwrap();
    let picture = |on_gpu: &GpuScene| picture(&gpu, &kernel, on_gpu, &camera, 2, None);
    // Emissive surfaces, glass, panes and textured surfaces move as well.
    for mut scene in [lively_room(), room_of_everything()] {
        let first = scene.surfaces.iter().position(|surface| surface.key.0 == "glass").unwrap_or(0);
        for surface in &mut scene.surfaces[first..] {
            surface.role = Role::Mover;
        }
        let trees = GpuTree::build(&scene, &Preset::narrow());
        let moved_scene = GpuScene::with_tree(&gpu, &scene, &trees).unwrap();
        let before = picture(&moved_scene);
        let mut movers = moved_scene.movers();
        // Two moves, because the second starts from the result of the first.
        for step in 1..3 {
            let ids: Vec<SurfaceId> =
                scene.surface_ids().filter(|id| scene.surface(*id).role == Role::Mover && id.0 % 2 == 0).collect();
            for id in &ids {
                let mirror = if id.0 % 4 == 0 { -1.0 } else { 1.0 };
                let to_world = &mut scene.surfaces[id.index()].to_world;
                *to_world *= pose(step, Vec3::new(mirror, 0.8, 0.6), Vec3::new(0.02, 0.0, 0.01 * step as f32));
            }
            movers.place(&scene, &trees, ids).write(&gpu);
        }
        let built = GpuScene::new(&gpu, &scene).unwrap();
        let rays = rays_in(&scene, 5_000);
        for question in [Question::Closest, Question::Any] {
            assert_eq!(answers(&gpu, &moved_scene, &rays, question), answers(&gpu, &built, &rays, question));
        }
        let (seen, expected) = (picture(&moved_scene), picture(&built));
        assert!(seen == expected && seen != before);
    }
}

#[test]
fn a_mover_that_is_flattened_is_gone_until_it_has_its_depth_again() {
    let Some(gpu) = test_device() else { return };
    let mut scene = Scene::default();
    add_part(&mut scene, shapes::icosphere("ball", 1.0, 2), Material::default()).role = Role::Mover;
    let trees = GpuTree::build(&scene, &Preset::narrow());
    let on_gpu = GpuScene::with_tree(&gpu, &scene, &trees).unwrap();
    let mut movers = on_gpu.movers();
    let ray = Ray::new(Vec3::new(0.1, 0.2, 5.0), Vec3::NEG_Z);
    for (depth, is_hit) in [(1.0, true), (0.0, false), (0.5, true), (f32::INFINITY, false), (f32::NAN, false)] {
        scene.surfaces[0].to_world = Affine3A::from_scale(Vec3::new(1.0, 1.0, depth));
        movers.place(&scene, &trees, [SurfaceId(0)]).write(&gpu);
        let [answer] = answers(&gpu, &on_gpu, &[ray], Question::Closest)[..] else { panic!("one ray, one answer") };
        assert_eq!(answer.triangle != u32::MAX, is_hit, "depth {depth}");
    }
}

/// Returns the radiance seen from the origin along -Z, with plates in a dark scene.
fn seen_of(gpu: &Gpu, kernel: &PathKernel, plates: &[(f32, Material, Role)]) -> Vec3 {
    let mut scene = Scene::default();
    for (index, (z, material, role)) in plates.iter().enumerate() {
        let plate = add_part(&mut scene, shapes::floor(&format!("plate {index}"), 4.0), material.clone());
        let turn = Quat::from_rotation_x(core::f32::consts::FRAC_PI_2);
        (plate.to_world, plate.role) = (Affine3A::from_rotation_translation(turn, Vec3::Z * *z), *role);
        plate.sides = Sides::Both;
    }
    let on_gpu = GpuScene::new(gpu, &scene).unwrap();
    let camera = Camera::looking_at(Vec3::ZERO, Vec3::NEG_Z, 0.2).unwrap();
    let film = picture(gpu, kernel, &on_gpu, &camera, 8, Some(0));
    film.pixels().iter().map(|pixel| pixel.radiance).sum::<Vec3>() / film.pixels().len() as f32
}

#[test]
fn panes_tint_what_is_behind_them_and_nothing_before_them_whichever_of_both_moves() {
    let Some(gpu) = test_device() else { return };
    let pane = Material {
        base_color: glam::Vec4::new(0.2, 0.6, 1.0, 0.5),
        alpha: AlphaMode::Blend,
        tints: true,
        ..Material::default()
    };
    let glow = Material { emission: Vec3::ONE, base_color: Vec3::ZERO.extend(1.0), ..Material::default() };
    let tint = Vec3::new(0.1, 0.3, 0.5);
    let kernel = PathKernel::new(&gpu, Stack::Short, Trees::All);
    let roles = [Role::Static, Role::Mover];
    for (role_of_pane, role_of_glow) in roles.into_iter().flat_map(|a| roles.map(|b| (a, b))) {
        let through = |glow_at: f32| {
            // A wall behind both, so that rays pass the pane before they hit the emitter.
            let wall = (-9.0, Material::default(), Role::Static);
            seen_of(&gpu, &kernel, &[(-3.0, pane.clone(), role_of_pane), (glow_at, glow.clone(), role_of_glow), wall])
        };
        assert_eq!(through(-2.0), Vec3::ONE, "{role_of_pane:?} behind {role_of_glow:?}");
        let behind = through(-5.0);
        // Half of the 4608 rays pass.
        assert!((behind - tint).abs().max_element() < 0.03, "{role_of_pane:?} before {role_of_glow:?}: {behind}");
    }
}

#[test]
fn a_pane_dims_rays_once_at_its_seams_and_hub() {
    let Some(gpu) = test_device() else { return };
    for (rim, role) in [(4, Role::Static), (24, Role::Static), (24, Role::Mover)] {
        let spoke = |k: u32| {
            let angle = k as f32 / rim as f32 * core::f32::consts::TAU;
            Vec3::new(angle.cos(), angle.sin(), 0.0)
        };
        let mesh = MeshData {
            name: "pane".into(),
            positions: core::iter::once(Vec3::ZERO).chain((0..rim).map(spoke)).collect(),
            triangles: (0..rim).map(|k| [0, 1 + k, 1 + (k + 1) % rim]).collect(),
            ..MeshData::default()
        };
        let spokes = mesh.positions[1..].to_vec();
        let mut scene = Scene::default();
        let pane =
            Material { transmission: 1.0, base_color: glam::Vec4::new(0.8, 0.8, 0.8, 1.0), ..Material::default() };
        add_part(&mut scene, mesh, pane).role = role;
        let rays = (0..64).map(|k: usize| {
            let target = spokes[k % spokes.len()] * (k / 8) as f32 / 8.0;
            let slant =
                Vec3::new(0.25 * (k % 3) as f32, 0.125 * (k % 5) as f32, if k.is_multiple_of(2) { -1.0 } else { 1.0 });
            Ray { t_max: 4.0, ..Ray::new(target - slant * 2.0, slant) }
        });
        let rays: Vec<Ray> = rays.collect();
        let on_gpu = GpuScene::new(&gpu, &scene).unwrap();
        for (ray, answer) in answers(&gpu, &on_gpu, &rays, Question::Any).iter().enumerate() {
            assert!((answer.t - 0.8).abs() < 1e-5, "{rim} triangles, {role:?}, ray {ray}: {}", answer.t);
        }
    }
}
