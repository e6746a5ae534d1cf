//! Benchmarks of BVH construction and ray queries.
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

use std::hint::black_box;
use std::sync::Arc;

use bevy_radiosity::accel::{Preset, World};
use bevy_radiosity::geometry::sampling::uniform_sphere;
use bevy_radiosity::geometry::sobol::OwenSobol;
use bevy_radiosity::geometry::{Ray, RayQuery};
use bevy_radiosity::scene::{Material, MaterialId, MeshData, MeshId, Scene, Surface, SurfaceKey};
use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use glam::{Vec2, Vec3};

/// Returns hills with a hundred thousand triangles.
fn hills() -> Scene {
    const SIDE: u32 = 224;
    let height = |x: u32, z: u32| (x as f32 * 0.13).sin() * (z as f32 * 0.09).cos() * 3.0 + (x * z % 7) as f32 * 0.1;
    let vertex = |x: u32, z: u32| Vec3::new(x as f32, height(x, z), z as f32) - Vec3::new(112.0, 0.0, 112.0);
    let positions = (0..=SIDE).flat_map(|z| (0..=SIDE).map(move |x| vertex(x, z))).collect();
    let triangles = (0..SIDE)
        .flat_map(|z| (0..SIDE).map(move |x| z * (SIDE + 1) + x))
        .flat_map(|a| [[a, a + SIDE + 1, a + 1], [a + 1, a + SIDE + 1, a + SIDE + 2]])
        .collect();
    Scene {
        meshes: vec![Arc::new(MeshData { positions, triangles, ..MeshData::default() })],
        surfaces: vec![Surface::new(SurfaceKey("hills".into()), MeshId(0), MaterialId(0))],
        materials: vec![Material::default()],
        ..Scene::default()
    }
}

fn build(criterion: &mut Criterion) {
    let scene = Arc::new(hills());
    let mut group = criterion.benchmark_group("kdtree/build");
    group
        .sample_size(10)
        .sampling_mode(SamplingMode::Flat)
        .throughput(Throughput::Elements(scene.triangle_count() as u64));
    for (name, preset) in [("fast", Preset::fast()), ("best", Preset::best())] {
        group.bench_function(name, |bencher| bencher.iter(|| World::build(scene.clone(), black_box(preset))));
    }
    group.finish();
}

fn rays(criterion: &mut Criterion) {
    let world = World::build(Arc::new(hills()), Preset::best());
    let points = OwenSobol::new(1);
    let rays: Vec<Ray> = (0..4_096)
        .map(|index| {
            let [x, z, a, b] = points.point(index);
            let origin = Vec3::new(x * 200.0 - 100.0, 5.0, z * 200.0 - 100.0);
            Ray::new(origin, uniform_sphere(Vec2::new(a, b)))
        })
        .collect();
    let mut group = criterion.benchmark_group("kdtree/rays");
    group.sample_size(50).throughput(Throughput::Elements(rays.len() as u64));
    group.bench_function("closest", |bencher| {
        bencher.iter(|| rays.iter().filter(|ray| world.closest(ray).is_some()).count());
    });
    group.bench_function("blocked", |bencher| {
        bencher.iter(|| rays.iter().filter(|ray| world.blocked(ray).is_blocked()).count());
    });
    group.finish();
}

criterion_group!(benches, build, rays);
criterion_main!(benches);
