//! How fast polygons are cut to the cells of a partition, by an ordered list of corners and by Sutherland and Hodgman.
//!
//! Prints a table. The efficiency of the list is (T_SH - T) / T_SH, from the two times of a count (Sanjurjo 2011, equation
//! 2.12): the fastest of short turns, which both take one after the other, so that whatever else runs meets both.

use std::hint::black_box;
use std::time::Instant;

use bevy_radiosity::geometry::Aabb;
use bevy_radiosity::geometry::clip::{Corner, OrderedClipper, SutherlandHodgman};
use bevy_radiosity::partition::{Overlap, Partition, PartitionKind, PartitionSettings, Polygons, overlap};
use bevy_radiosity::scene::shapes::{cuboid_faces, icosphere};
use glam::Vec3;

/// Turns that each takes.
const TURNS: usize = 200;
/// Polygons that are cut in a turn, at least: some milliseconds' worth.
const CUT_IN_A_TURN: usize = 20_000;

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

/// Seconds that something takes.
fn seconds(work: impl FnOnce() -> usize) -> f64 {
    let started = Instant::now();
    black_box(work());
    started.elapsed().as_secs_f64()
}

fn main() {
    let polygons = room();
    let (mut ordered, mut plain) = (OrderedClipper::default(), SutherlandHodgman::default());
    println!("| cells | polygons cut | ordered list, ns each | Sutherland and Hodgman | efficiency |");
    println!("| --- | --- | --- | --- | --- |");
    for count in [2, 3, 4, 8, 10, 16, 32, 64, 128, 512] {
        let pairs = partial(&polygons, count);
        let repeats = 1 + CUT_IN_A_TURN / pairs.len();
        let cut = || (0..repeats).flat_map(|_| black_box(&pairs));
        let mut fastest = [f64::INFINITY; 2];
        for _ in 0..TURNS {
            let [list, faces] = &mut fastest;
            *list = list.min(seconds(|| cut().map(|(polygon, cell)| ordered.clip(polygon, cell).len()).sum()));
            *faces = faces.min(seconds(|| cut().map(|(polygon, cell)| plain.clip(polygon, cell).len()).sum()));
        }
        let [list, faces] = fastest.map(|seconds| seconds * 1e9 / (repeats * pairs.len()) as f64);
        let efficiency = 100.0 * (faces - list) / faces;
        println!("| {count} | {} | {list:.1} | {faces:.1} | {efficiency:.0} % |", pairs.len());
    }
}
