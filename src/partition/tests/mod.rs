//! Tests of partitions of random triangles, with all methods.

mod cells;
mod loads;
mod rays;
mod simplify;
mod tracer;

use glam::{DVec2, Vec3};

use super::*;
use crate::geometry::sobol::OwenSobol;

/// Returns random triangles of about unit size in a room of 4 x 2 x 3 meters; `clustered` crowds them in its lower
/// corner. Corners lie on a 1/8 m lattice, as in typical levels.
pub(super) fn soup(count: u32, clustered: bool) -> Polygons {
    let (places, corners, more) = (OwenSobol::new(5), OwenSobol::new(6), OwenSobol::new(7));
    let mut polygons = Polygons::default();
    for index in 0..count {
        let ([x, y, z, power], [a, b, c, d], [e, f, ..]) =
            (places.point(index), corners.point(index), more.point(index));
        let place = Vec3::new(x, y, z);
        let place = if clustered { place * place * place } else { place } * Vec3::new(4.0, 2.0, 3.0);
        let on_lattice = |corner: Vec3| (corner * 8.0).round() / 8.0;
        let [first, second] = [Vec3::new(a, b, c), Vec3::new(d, e, f)].map(|arm| arm * 1.5 - 0.75);
        let corners = [place, place + first, place + second].map(on_lattice);
        let is_lamp = power > 0.95 && place.x < 1.0;
        if (corners[1] - corners[0]).cross(corners[2] - corners[0]) != Vec3::ZERO {
            polygons.push(&corners, if is_lamp { f64::from(power) } else { 0.0 });
        }
    }
    polygons
}

fn settings(kind: PartitionKind, count: u32) -> PartitionSettings {
    PartitionSettings { kind, count, ..PartitionSettings::default() }
}

/// Returns one partition of each kind.
pub(super) fn partitions(polygons: &Polygons) -> Vec<Partition> {
    let kinds = [(PartitionKind::Uniform, 30), (PartitionKind::Balanced, 32), (PartitionKind::Hybrid, 40)];
    let mut partitions: Vec<Partition> =
        kinds.iter().map(|&(kind, count)| Partition::new(polygons, &settings(kind, count)).unwrap()).collect();
    let middle = PartitionSettings { axis: AxisChoice::Middle, ..settings(PartitionKind::Balanced, 16) };
    partitions.push(Partition::new(polygons, &middle).unwrap());
    partitions
}

fn volume(cell: Aabb) -> f64 {
    cell.extent().as_dvec3().element_product()
}

/// Returns the weights of the second and third corner.
fn corner_weights(_: usize, corner: usize) -> DVec2 {
    [DVec2::ZERO, DVec2::X, DVec2::Y][corner]
}
