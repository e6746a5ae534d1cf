//! How fast polygons are cut to the cells of a partition, by an ordered list of corners and by Sutherland and Hodgman.
//!
//! The efficiency of the list is (T_SH - T) / T_SH, from the two times of a count (Sanjurjo 2011, equation 2.12).

use std::hint::black_box;
use std::time::Duration;

use bevy_radiosity::geometry::Aabb;
use bevy_radiosity::geometry::clip::{Corner, OrderedClipper, SutherlandHodgman};
use bevy_radiosity::partition::{Overlap, Partition, PartitionKind, PartitionSettings, Polygons, overlap};
use bevy_radiosity::scene::shapes::{cuboid_faces, icosphere};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use glam::Vec3;

/// A ball of 5120 triangles in an empty room.
fn room() -> Polygons {
    let mut polygons = Polygons::default();
    let ball = icosphere("ball", 1.0, 4);
    for wall in cuboid_faces(Vec3::splat(-2.0), Vec3::new(2.0, 1.5, 2.5)) {
        polygons.push(&wall, 0.0);
    }
    for triangle in &ball.triangles {
        polygons.push(&triangle.map(|vertex| ball.positions[vertex as usize]), 0.0);
    }
    polygons
}

/// Every polygon and every cell that it lies partly in.
fn partial(polygons: &Polygons, count: u32) -> Vec<(Vec<Corner>, Aabb)> {
    let settings = PartitionSettings { kind: PartitionKind::Uniform, count, ..PartitionSettings::default() };
    let partition = Partition::new(polygons, &settings).expect("the room can be cut");
    let corner = |corner: &Vec3| Corner { position: corner.as_dvec3(), attribute: () };
    let subscenes = partition.distribute(polygons, |_, _| ());
    let pairs = partition.cells().iter().zip(&subscenes).flat_map(|(cell, subscene)| {
        subscene.pieces().map(|(polygon, _)| (polygons.corners(polygon), *cell)).collect::<Vec<_>>()
    });
    let cut = pairs.filter(|(corners, cell)| overlap(corners, cell) != Overlap::Inside);
    cut.map(|(corners, cell)| (corners.iter().map(corner).collect(), cell)).collect()
}

fn clip(criterion: &mut Criterion) {
    let polygons = room();
    let mut group = criterion.benchmark_group("clip");
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for count in [2, 3, 4, 8, 10, 16, 32, 64, 128, 512] {
        let pairs = partial(&polygons, count);
        group.throughput(Throughput::Elements(pairs.len() as u64));
        group.bench_function(format!("ordered/{count}"), |bencher| {
            let mut clipper = OrderedClipper::default();
            bencher.iter(|| {
                pairs.iter().map(|(polygon, cell)| clipper.clip(black_box(polygon), cell).len()).sum::<usize>()
            });
        });
        group.bench_function(format!("sutherland_hodgman/{count}"), |bencher| {
            let mut clipper = SutherlandHodgman::default();
            bencher.iter(|| {
                pairs.iter().map(|(polygon, cell)| clipper.clip(black_box(polygon), cell).len()).sum::<usize>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, clip);
criterion_main!(benches);
