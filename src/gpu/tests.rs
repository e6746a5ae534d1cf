//! Tests of shaders against their Rust counterparts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use glam::{Affine2, Affine3A, Quat, UVec2, Vec2, Vec3, Vec3Swizzles, Vec4};

use super::context::test_device;
use super::*;
use crate::accel::{Preset, World};
use crate::geometry::sampling::uniform_sphere;
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Ray, RayQuery};
use crate::lights::LightSampler;
use crate::pathtrace::fixtures::{add_part, low_sun, patchy_sky, window};
use crate::pathtrace::{Film, PathTracer, Pixel, PixelFilter, RenderSettings, View};
use crate::progress::{Monitor, Unmonitored};
use crate::scene::{
    AlphaMode, Camera, Glass, Light, LightKind, LightmapPlace, Material, MeshData, Projection, Scene, Sides, Sky,
    Texels, Texture, TextureId, TextureRef, UvChannel, Wrap, shapes,
};

/// Returns rays from points in a scene's bounds, in all directions; every eighth along an axis.
pub(super) fn rays_in(scene: &Scene, count: u32) -> Vec<Ray> {
    const AXES: [Vec3; 6] = [Vec3::X, Vec3::Y, Vec3::Z, Vec3::NEG_X, Vec3::NEG_Y, Vec3::NEG_Z];
    let bounds = scene.bounds();
    let (places, directions) = (OwenSobol::new(1), OwenSobol::new(2));
    let ray = |index: u32| {
        let [x, y, z, _] = places.point(index);
        let [u, v, ..] = directions.point(index);
        let along_axis = index.is_multiple_of(8);
        let direction = if along_axis { AXES[index as usize / 8 % 6] } else { uniform_sphere(Vec2::new(u, v)) };
        Ray::new(bounds.min + bounds.extent() * Vec3::new(x, y, z), direction)
    };
    (0..count).map(ray).collect()
}

/// Counts the rays whose hit differs from the CPU's, except at equal distances.
fn disagreements(scene: &Scene, rays: &[Ray], stack: Stack) -> Option<usize> {
    let gpu = test_device()?;
    let trees = GpuTree::build(scene, &Preset::narrow()).for_stack(stack);
    let on_gpu = GpuScene::with_tree(&gpu, scene, &trees).unwrap();
    let kernels = RayKernels::new(&gpu, stack, on_gpu.trees());
    let answers = kernels.trace(&gpu, &on_gpu, rays, Question::Closest).unwrap();
    assert_eq!(answers.unfinished, 0);
    let answers = answers.of_rays;
    let world = World::build(Arc::new(scene.clone()), Preset::best()).with_movers();
    let differs = |(ray, answer): (&Ray, &RayAnswer)| match (world.closest(ray), on_gpu.source(answer.triangle)) {
        (None, None) => false,
        (Some(hit), Some(source)) => {
            source != (hit.surface, hit.triangle) && (hit.t - answer.t).abs() > 1e-5 * hit.t.max(1.0)
        }
        _ => true,
    };
    Some(rays.iter().zip(&answers).filter(|pair| differs(*pair)).count())
}

fn cornell() -> Scene {
    Scene::clone(&crate::scene_files::load("builtin:cornell_box").unwrap().scene)
}

#[test]
fn rays_meet_the_same_triangles_as_on_the_cpu_however_little_a_thread_remembers() {
    let scene = cornell();
    let rays = rays_in(&scene, 20_000);
    for stack in Stack::ALL {
        let Some(different) = disagreements(&scene, &rays, stack) else { return };
        assert_eq!(different, 0, "{stack:?}");
    }
}

#[test]
fn walks_that_never_end_are_counted_for_rays_and_for_pictures() {
    let limit = format!("const STEP_LIMIT: u32 = {MAX_DEVICE_STEPS}u;");
    assert!(Shader::Rays(Stack::Short, Trees::Static).source().contains(&limit));
    let Some(gpu) = test_device() else { return };
    let scene = cornell();
    let tied = |stack| {
        let mut trees = GpuTree::build(&scene, &Preset::narrow()).for_stack(stack);
        trees.tie_root();
        GpuScene::with_tree(&gpu, &scene, &trees).unwrap()
    };
    // A ray beside the scene does not enter the tree.
    let rays = [Ray::new(Vec3::ZERO, Vec3::X), Ray::new(Vec3::ZERO, Vec3::NEG_Y), Ray::new(Vec3::Z * 50.0, Vec3::X)];
    for stack in Stack::ALL {
        let (kernels, on_gpu) = (RayKernels::new(&gpu, stack, Trees::Static), tied(stack));
        for question in [Question::Closest, Question::Any] {
            let found = kernels.trace(&gpu, &on_gpu, &rays, question).unwrap();
            assert_eq!((found.of_rays.len(), found.unfinished), (3, 2), "{stack:?} {question:?}");
        }
    }
    let on_gpu = tied(Stack::default());
    // Each path ends with its first walk. The camera is in the scene, so that no ray misses the tree.
    let camera = Camera::looking_at(Vec3::new(0.0, 0.0, 0.5), Vec3::ZERO, 0.7).unwrap();
    let view = View { camera, size: UVec2::splat(8), lens: None, filter: PixelFilter::Box };
    let settings = RenderSettings { samples: 2, ..Default::default() };
    let found = render(&gpu, &paths(&gpu, &on_gpu), &on_gpu, &view, None, &settings, &Unmonitored).unwrap();
    assert_eq!(found.unfinished, 2 * 64);
    let from_lights = FromLights::default();
    let found = render_from_lights(&gpu, &on_gpu, &view, from_lights, &settings, &Unmonitored).unwrap();
    assert_eq!((found.light_paths, found.unfinished), (2 * 64, found.light_paths + found.eye_paths));
}

#[test]
fn every_traversal_meets_in_a_hundred_thousand_triangles_what_the_cpu_meets() {
    let mut scene = Scene::default();
    add_part(&mut scene, shapes::torus("ring", 1.0, 0.5, 250, 200), Material::default());
    assert_eq!(scene.triangle_count(), 100_000);
    let rays = rays_in(&scene, 10_000);
    for stack in Stack::ALL {
        let Some(different) = disagreements(&scene, &rays, stack) else { return };
        assert_eq!(different, 0, "{stack:?}");
    }
}

#[test]
fn rays_and_pictures_are_the_same_in_blocks_of_any_size() {
    let Some(gpu) = test_device() else { return };
    let scene = cornell();
    let on_gpu = GpuScene::new(&gpu, &scene).unwrap();
    let rays = rays_in(&scene, 5_000);
    let view = View { camera: room_camera(), size: UVec2::splat(20), lens: None, filter: PixelFilter::Tent };
    let settings = RenderSettings { samples: 2, ..Default::default() };
    let answers = |block| {
        let kernels = RayKernels::with_block(&gpu, Stack::Short, Trees::Static, block);
        [Question::Closest, Question::Any].map(|question| kernels.trace(&gpu, &on_gpu, &rays, question).unwrap())
    };
    let usual = answers(Block::default());
    for threads in [8, 200] {
        assert!(answers(Block::new(&gpu, threads).unwrap()) == usual, "{threads} threads");
    }
    // Both kinds of paths. Twenty rows and columns leave parts of the last blocks empty.
    let picture = |block| {
        let from_lights = FromLights { hybrid: true, block, ..Default::default() };
        render_from_lights(&gpu, &on_gpu, &view, from_lights, &settings, &Unmonitored).unwrap()
    };
    assert!(picture(Block::new(&gpu, 40).unwrap()) == picture(Block::default()));
}

#[test]
fn blocks_that_a_device_does_not_have_are_refused_with_its_limit() {
    let Some(gpu) = test_device() else { return };
    let limit = gpu.device.limits().max_compute_invocations_per_workgroup;
    assert_eq!((Block::default().threads(), Block::new(&gpu, limit).unwrap().threads()), (64, limit));
    for threads in [0, 7, 60, limit + 8, u32::MAX - 7] {
        let refusal = Block::new(&gpu, threads).unwrap_err().to_string();
        assert!(refusal.contains(&format!("blocks of {threads} threads")), "{refusal}");
        assert!(refusal.contains(&format!("a multiple of 8, at most {limit}")), "{refusal}");
    }
}

#[test]
fn rays_through_a_level_with_cut_out_leaves_agree_with_the_cpu() {
    let level = crate::scene_files::load("assets/level.glb").unwrap().scene;
    let rays = rays_in(&level, 20_000);
    for stack in [Stack::Short, Stack::Ropes] {
        let Some(different) = disagreements(&level, &rays, stack) else { return };
        assert_eq!(different, 0, "{stack:?}");
    }
}

#[test]
fn as_much_light_gets_along_a_segment_as_on_the_cpu() {
    let Some(gpu) = test_device() else { return };
    let scene = room_of_everything();
    let segments = rays_in(&scene, 20_000).into_iter().map(|ray| Ray { t_max: 1.5, ..ray }).collect::<Vec<_>>();
    let on_gpu = GpuScene::new(&gpu, &scene).unwrap();
    let kernels = RayKernels::new(&gpu, Stack::Short, Trees::All);
    let answers = kernels.trace(&gpu, &on_gpu, &segments, Question::Any).unwrap().of_rays;
    let world = World::build(Arc::new(scene), Preset::best());
    let differs =
        |(segment, answer): &(&Ray, &RayAnswer)| (world.blocked(segment).0.max_element() - answer.t).abs() > 1e-5;
    let different = segments.iter().zip(&answers).filter(differs).count();
    let tinted = answers.iter().filter(|answer| answer.t > 0.0 && answer.t < 1.0).count();
    // Differences occur for rays that pass a leaf within rounding of a cut-out texel.
    assert!(different <= 4 && tinted > 100, "{different} differ, {tinted} are tinted");
}

fn paths(gpu: &Gpu, scene: &GpuScene) -> PathKernel {
    PathKernel::new(gpu, Stack::default(), scene.trees())
}

/// Returns pictures of a scene with equal random numbers, from the CPU and from the device.
fn pictures(scene: &Scene, camera: Camera, samples: u32) -> Option<[Film; 2]> {
    let gpu = test_device()?;
    let view = View { camera, size: UVec2::splat(32), lens: None, filter: PixelFilter::Box };
    let settings = RenderSettings { samples, seed: 3, ..Default::default() };
    let world = World::build(Arc::new(scene.clone()), Preset::best()).with_movers();
    let lights = LightSampler::with_movers(scene);
    let tracer = PathTracer::new(scene, &world, &lights, None);
    let on_cpu = crate::pathtrace::render(&tracer, &view, &settings, &Unmonitored);
    let on_gpu = GpuScene::new(&gpu, scene).unwrap();
    let on_gpu = render(&gpu, &paths(&gpu, &on_gpu), &on_gpu, &view, None, &settings, &Unmonitored).unwrap().film;
    Some([on_cpu, on_gpu])
}

#[test]
fn paths_end_at_lightmaps_on_the_device_as_on_the_cpu() {
    let Some(gpu) = test_device() else { return };
    let mut scene = crate::builtin_scenes::build("cornell_empty").unwrap();
    let value = |u: u32| Vec4::splat(1.0 + (u % 5) as f32);
    let page = Texture {
        name: "page".into(),
        width: 8,
        height: 8,
        texels: Texels::Float((0..64).map(value).collect()),
        wrap: [Wrap::Clamp; 2],
        mip_chains: Default::default(),
    };
    scene.textures.push(Arc::new(page));
    for mesh in &mut scene.meshes {
        let mesh = Arc::make_mut(mesh);
        mesh.uv1 = mesh.positions.iter().map(|position| (position.xy() + position.yz()).fract()).collect();
    }
    let place = LightmapPlace {
        page: TextureId::from_index(scene.textures.len() - 1),
        corner: Vec2::new(0.25, 0.5),
        size: Vec2::splat(0.5),
        is_direct_too: true,
    };
    // Some surfaces have direct light in their lightmap, some do not, and some have no lightmap.
    for (index, surface) in scene.surfaces.iter_mut().enumerate() {
        let is_direct_too = index % 3 == 0;
        surface.lightmap = (index % 3 < 2).then_some(LightmapPlace { is_direct_too, ..place });
    }
    let bounds = scene.bounds();
    let (middle, size) = ((bounds.min + bounds.max) * 0.5, bounds.extent());
    let camera = Camera::looking_at(middle + size * Vec3::new(0.1, 0.1, 0.3), middle, 1.2).unwrap();
    let view = View { camera, size: UVec2::splat(32), lens: None, filter: PixelFilter::Box };
    let world = World::build(Arc::new(scene.clone()), Preset::best()).with_movers();
    let lights = LightSampler::with_movers(&scene);
    let tracer = PathTracer::new(&scene, &world, &lights, None);
    let settings = RenderSettings { samples: 2, seed: 3, ..Default::default() };
    let full = crate::pathtrace::render(&tracer, &view, &settings, &Unmonitored);
    let ended = crate::pathtrace::render(&tracer.ending_at_lightmaps(), &view, &settings, &Unmonitored);

    let on_gpu = GpuScene::new(&gpu, &scene).unwrap();
    let kernel = PathKernel::new(&gpu, Stack::Short, Trees::Static);
    let film = GpuFilm::new(&gpu, view.size).unwrap();
    for sample in 0..2 {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let pass = PathPass {
            sample,
            seed: 3,
            max_bounces: None,
            rows: 0..32,
            ends_at_lightmaps: true,
            in_hybrid: false,
            background: Vec3::ZERO,
        };
        kernel.record(&gpu, &mut encoder, &on_gpu, &film, &view, &pass);
        gpu.queue.submit([encoder.finish()]);
    }
    let on_gpu = film.read(&gpu).unwrap();
    let (median, far, mean) = compare(&[ended.clone(), on_gpu]);
    assert!(median < 1e-5 && far < 0.02 && mean < 1e-2, "{median} {far} {mean}");
    assert!(compare(&[full, ended]).2 > 0.05, "other light than that of all paths");
}

#[test]
fn an_orthographic_camera_sees_on_the_device_what_it_sees_on_the_cpu() {
    let scene = crate::builtin_scenes::build("cornell_box").unwrap();
    let bounds = scene.bounds();
    let (middle, above) = ((bounds.min + bounds.max) * 0.5, 0.4 * bounds.extent());
    let camera = Camera {
        projection: Projection::Orthographic { height: 0.5 * bounds.extent().y },
        ..Camera::looking_at(middle + above, middle, 1.0).unwrap()
    };
    let Some(films) = pictures(&scene, camera, 2) else { return };
    let (median, far, mean) = compare(&films);
    assert!(median < 1e-5 && far < 0.02 && mean < 1e-2, "{median} {far} {mean}");
    assert!(films[0].pixels().iter().any(|pixel| pixel.radiance.max_element() > 0.0));
}

/// Compares two films: median relative difference of pixels, fraction of pixels that differ by more than 1e-3, and
/// relative difference of means.
pub(super) fn compare([a, b]: &[Film; 2]) -> (f32, f32, f32) {
    let difference = |a: Vec3, b: Vec3| (a - b).length() / a.length().max(1e-6);
    let mut differences: Vec<f32> =
        a.pixels().iter().zip(b.pixels()).map(|(a, b)| difference(a.radiance, b.radiance)).collect();
    differences.sort_by(f32::total_cmp);
    let far = differences.iter().filter(|difference| **difference > 1e-3).count();
    let mean = |film: &Film| film.pixels().iter().map(|pixel| pixel.radiance).sum::<Vec3>();
    (differences[differences.len() / 2], far as f32 / differences.len() as f32, difference(mean(a), mean(b)))
}

/// Returns a checkered texture of two values.
fn checkers(texels: fn([f32; 4]) -> [u8; 4], kind: fn(Vec<[u8; 4]>) -> Texels, a: [f32; 4], b: [f32; 4]) -> Texture {
    let colors = (0..64).map(|index| if (index + index / 8) % 2 == 0 { texels(a) } else { texels(b) });
    Texture {
        name: "checkers".into(),
        width: 8,
        height: 8,
        texels: kind(colors.collect()),
        wrap: [Wrap::Repeat, Wrap::Mirror],
        mip_chains: Default::default(),
    }
}

/// Returns a room with lights of every kind, an environment map, and objects of every material.
pub(super) fn room_of_everything() -> Scene {
    let mut scene = crate::builtin_scenes::build("cornell_empty").unwrap();
    let eight_bits = |value: [f32; 4]| value.map(|channel| (channel * 255.0) as u8);
    let textures = [
        checkers(eight_bits, Texels::Srgb8, [0.9, 0.4, 0.1, 1.0], [0.2, 0.7, 0.9, 0.1]),
        checkers(eight_bits, Texels::Linear8, [0.5, 0.5, 1.0, 1.0], [0.8, 0.35, 0.8, 1.0]),
        checkers(eight_bits, Texels::Linear8, [1.0, 0.3, 0.0, 1.0], [0.4, 1.0, 0.0, 1.0]),
    ];
    scene.textures = textures.map(Arc::new).into();
    let texture = |index| Some(TextureRef::new(TextureId(index)));
    let mut add = |mesh: MeshData, material: Material, at: Vec3| {
        let surface = add_part(&mut scene, mesh, material);
        (surface.to_world, surface.sides) = (Affine3A::from_translation(at), Sides::Both);
    };
    let square = |name: &str| shapes::floor(name, 0.8);
    let ball = |name: &str| {
        let mesh = shapes::icosphere(name, 0.3, 2);
        let uv0 = mesh.positions.iter().map(|position| position.xy() * 10.0).collect();
        let normals = mesh.positions.iter().map(|position| position.normalize()).collect();
        MeshData { uv0, normals, ..mesh }
    };
    let glass = Glass { transmission: 0.9, ior: 1.5, absorption: Vec3::new(0.5, 0.1, 0.2) };
    add(
        ball("glass"),
        Material { glass: Some(glass), transmission_texture: texture(2), ..Material::default() },
        Vec3::new(-0.5, -0.5, 0.3),
    );
    let metal =
        Material { metallic: 1.0, base_color_texture: texture(0), normal_texture: texture(1), ..Material::default() };
    add(ball("metal"), metal, Vec3::new(0.5, -0.5, 0.0));
    let glow = Material { emission: Vec3::new(0.2, 0.6, 2.0), emission_texture: texture(0), ..Material::default() };
    add(square("glow"), glow, Vec3::new(0.0, 0.4, -0.6));
    let coated = Material {
        clearcoat: 0.8,
        clearcoat_texture: texture(2),
        clearcoat_perceptual_roughness: 0.3,
        clearcoat_roughness_texture: texture(2),
        ..Material::default()
    };
    let leaf = Material {
        base_color_texture: texture(0),
        alpha: AlphaMode::Mask(0.5),
        diffuse_transmission: 0.4,
        diffuse_transmission_texture: texture(0),
        diffuse_transmission_color: Vec3::new(0.3, 0.9, 0.2),
        diffuse_transmission_color_texture: texture(2),
        ..coated
    };
    add(square("leaf"), leaf, Vec3::new(-0.4, 0.2, 0.3));
    let tinted = Material { base_color: Vec4::new(0.9, 0.5, 0.5, 0.4), ..Material::default() };
    let pane = Material { alpha: AlphaMode::Blend, transmission: 0.5, transmission_texture: texture(2), ..tinted };
    add(square("pane"), pane, Vec3::new(0.4, 0.0, 0.3));
    // Vertex colors, and textures with a UV channel and transform of their own.
    let patchwork = Material {
        base_color: Vec4::new(0.9, 0.8, 0.7, 1.0),
        base_color_texture: texture(0).map(|place| place.with_channel(UvChannel::Other(1))),
        specular_texture: texture(0),
        specular_tint_texture: texture(2).map(|place| place.with_channel(UvChannel::Uv1)),
        metallic_roughness_texture: texture(2).map(|place| place.with_transform(Affine2::from_angle(0.4))),
        ..Material::default()
    };
    let mut motley = ball("motley");
    motley.colors = motley.positions.iter().map(|position| (position.abs() * 3.0).extend(1.0)).collect();
    motley.uv1 = motley.positions.iter().map(|position| position.yz() * 5.0).collect();
    motley.other_uv = vec![Vec::new(), motley.positions.iter().map(|position| position.xz() * 7.0).collect()];
    add(motley, patchwork, Vec3::new(0.0, -0.6, 0.6));
    let light = |name: &str, kind| Light { name: name.into(), kind };
    scene.lights = vec![
        light(
            "lamp",
            LightKind::Point { position: Vec3::new(0.5, 0.3, 0.2), intensity: Vec3::ONE, radius: 0.05, range: 4.0 },
        ),
        light(
            "spot",
            LightKind::Spot {
                position: Vec3::new(-0.5, 0.8, 0.5),
                direction: Vec3::NEG_Y,
                intensity: Vec3::new(1.0, 0.5, 0.2),
                radius: 0.0,
                range: f32::INFINITY,
                inner_angle: 0.3,
                outer_angle: 0.7,
            },
        ),
        low_sun(),
        window(),
    ];
    scene.sky = patchy_sky(3, 0.5, Quat::from_rotation_y(0.7));
    scene
}

pub(super) fn room_camera() -> Camera {
    Camera::looking_at(Vec3::new(0.0, 0.2, 3.0), Vec3::new(0.0, -0.1, 0.0), 0.7).unwrap()
}

#[test]
fn lights_and_materials_of_every_kind_look_as_on_the_cpu() {
    let Some(films) = pictures(&room_of_everything(), room_camera(), 8) else { return };
    let (median, far, means) = compare(&films);
    // At tile edges of the bumpy metal, the last bits decide too.
    println!("median {median}, {far} of the pixels far, means {means}");
    assert!(median < 1e-5 && far < 0.03 && means < 1e-3, "median {median}, {far} of the pixels far, means {means}");
    let is_alike = |(a, b): (&Pixel, &Pixel)| {
        let infinite = a.depth.is_infinite() && b.depth.is_infinite();
        (infinite || (a.depth - b.depth).abs() < 1e-4 * a.depth) && (a.albedo - b.albedo).length() < 0.01
    };
    let different = films[0].pixels().iter().zip(films[1].pixels()).filter(|pair| !is_alike(*pair)).count();
    assert!(different < 20, "{different} of 1024 pixels see other surfaces");
}

#[test]
fn an_empty_scene_shows_its_sky_and_no_more() {
    let scene = Scene { sky: Sky::Uniform(Vec3::new(1.0, 2.0, 3.0)), ..Scene::default() };
    let Some([_, film]) = pictures(&scene, room_camera(), 1) else { return };
    assert!(film.pixels().iter().all(|pixel| pixel.radiance == Vec3::new(1.0, 2.0, 3.0) && pixel.depth.is_infinite()));
}

/// Monitor that cancels after some samples.
struct Impatient(AtomicU32);

impl Monitor for Impatient {
    fn progress(&self, _fraction: f32) {}

    fn is_cancelled(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) >= 3
    }
}

#[test]
fn a_picture_that_is_stopped_has_the_samples_that_were_done() {
    let Some(gpu) = test_device() else { return };
    let scene = cornell();
    let on_gpu = GpuScene::new(&gpu, &scene).unwrap();
    let view = View { camera: room_camera(), size: UVec2::splat(16), lens: None, filter: PixelFilter::Tent };
    let draw = |samples, monitor: &dyn Monitor| {
        let settings = RenderSettings { samples, ..Default::default() };
        render(&gpu, &paths(&gpu, &on_gpu), &on_gpu, &view, None, &settings, monitor).unwrap().film
    };
    let stopped = draw(64, &Impatient(AtomicU32::new(0)));
    assert_eq!(stopped.samples(), 3);
    let whole = draw(3, &Unmonitored);
    assert!(stopped.pixels().iter().zip(whole.pixels()).all(|(a, b)| a.radiance == b.radiance));
}

#[test]
fn what_a_device_has_no_room_for_is_refused_by_name() {
    let Some(gpu) = test_device() else { return };
    let Err(fault) = GpuFilm::new(&gpu, UVec2::splat(16_384)) else { panic!("8 GiB of pixels fit") };
    let message = fault.to_string();
    assert!(message.contains("the picture's light") && message.contains(gpu.name()), "{message}");
}

#[test]
fn what_finds_no_room_is_answered_and_the_device_works_on() {
    let Some(gpu) = test_device() else { return };
    let fault = gpu.guarded("buffers", || {
        let (size, usage) = (gpu.device.limits().max_buffer_size + 4, wgpu::BufferUsages::STORAGE);
        Ok(gpu.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false }))
    });
    let text = fault.err().unwrap().to_string();
    assert!(text.contains(gpu.name()) && text.contains("no room for buffers"), "{text}");
    gpu.wait().unwrap();
}

#[test]
fn pictures_that_a_device_has_no_layers_for_are_refused() {
    if test_device().is_none() {
        return;
    }
    let picture = |width: u32, height: u32| {
        let texels = Texels::Linear8(vec![[255; 4]; (width * height) as usize]);
        let wrap = [Wrap::Repeat; 2];
        Arc::new(Texture { name: "picture".into(), width, height, texels, wrap, mip_chains: Default::default() })
    };
    let refusal = |limits, pictures: &[[u32; 2]]| {
        let textures = pictures.iter().map(|&[width, height]| picture(width, height)).collect();
        let gpu = Gpu::open(|_| limits).unwrap();
        GpuScene::new(&gpu, &Scene { textures, ..Scene::default() }).err().map(|fault| fault.to_string())
    };
    let one_layer = wgpu::Limits { max_texture_array_layers: 1, ..Default::default() };
    assert_eq!(refusal(one_layer.clone(), &[[512, 1024], [512, 1024]]), None, "both on one layer");
    let message = refusal(one_layer, &[[1024, 1024], [1024, 1024]]).unwrap();
    assert!(message.contains("the pictures take 8388608 bytes, more than the 4194304"), "{message}");
    let narrow = wgpu::Limits { max_texture_dimension_2d: 512, ..Default::default() };
    let message = refusal(narrow, &[[600, 1]]).unwrap();
    assert!(message.contains("the pictures take") && message.contains("use the CPU"), "{message}");
}

#[test]
fn a_device_that_offers_less_than_webgpu_is_refused_by_what_it_lacks() {
    if test_device().is_none() {
        return;
    }
    let open = |limits: wgpu::Limits| Gpu::open(|_| limits).map(|_| ()).unwrap_err().to_string();
    let few = open(wgpu::Limits { max_storage_buffers_per_shader_stage: 7, ..Default::default() });
    assert!(few.contains("only 7 storage buffers in a shader where 8 are needed"), "{few}");
    let small = open(wgpu::Limits { max_compute_invocations_per_workgroup: 128, ..Default::default() });
    assert!(small.contains("only 128 threads in a workgroup where 256 are needed"), "{small}");
}

#[test]
fn a_picture_is_the_same_as_on_the_cpu_sample_for_sample() {
    let scene = cornell();
    let camera = Camera::looking_at(Vec3::new(0.0, 0.0, 3.8), Vec3::ZERO, 0.7).unwrap();
    let Some(films) = pictures(&scene, camera, 16) else { return };
    let (median, far, means) = compare(&films);
    assert!(median < 1e-5 && far < 0.01 && means < 2e-4, "median {median}, {far} of the pixels far, means {means}");
}
