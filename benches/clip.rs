//! Speed of clipping polygons to cells, by an ordered list of corners and by Sutherland and Hodgman.
//!
//! Prints a table. The efficiency of the list is (T_SH - T) / T_SH (Sanjurjo 2011, equation 2.12). Both methods
//! alternate in short rounds, so that other load affects both. The fastest round of each counts.
#![allow(clippy::disallowed_methods, reason = "no browser runs this")]

use std::hint::black_box;
use std::time::Instant;

use bevy_radiosity::geometry::Aabb;
use bevy_radiosity::geometry::clip::{Corner, OrderedClipper, SutherlandHodgman};
use bevy_radiosity::partition::{Overlap, Partition, PartitionKind, PartitionSettings, Polygons, overlap};
use bevy_radiosity::scene::shapes::{cuboid_faces, icosphere};
use glam::Vec3;

/// Number of rounds of each method.
const TURNS: usize = 200;
/// Minimum number of polygons per round, for a few milliseconds.
const CUT_IN_A_TURN: usize = 20_000;

/// Returns a ball of 5120 triangles in an empty room.
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

/// Returns all pairs of a polygon and a cell that contains only a part of it.
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

/// Returns the time of a call, in seconds.
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
