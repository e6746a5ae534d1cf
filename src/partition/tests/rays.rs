//! Tests of point location and ray traversal.

use super::*;
use crate::geometry::sampling::uniform_sphere;
use crate::geometry::{Ray, Triangle, WatertightRay};
use glam::Vec2;

/// Returns rays in all directions from points in and around a box.
fn rays(bounds: Aabb, count: u32) -> impl Iterator<Item = Ray> {
    let (origins, directions) = (OwenSobol::new(21), OwenSobol::new(22));
    (0..count).map(move |index| {
        let ([x, y, z, _], [u, v, ..]) = (origins.point(index), directions.point(index));
        let origin = bounds.min + bounds.extent() * (Vec3::new(x, y, z) * 1.5 - 0.25);
        Ray::new(origin, uniform_sphere(Vec2::new(u, v)))
    })
}

/// Checks that a ray's steps are contiguous and that each lies in its cell. Returns the number of steps.
fn check(partition: &Partition, ray: &Ray) -> usize {
    let steps: Vec<CellStep> = partition.traverse(ray).collect();
    assert!(steps.len() <= partition.cells().len(), "{ray:?}");
    for pair in steps.windows(2) {
        let border = partition.borders()[pair[0].border.unwrap().index()];
        assert_eq!(border.beyond(pair[0].cell), pair[1].cell);
        assert_eq!(pair[0].exit, pair[1].enter);
    }
    for step in &steps {
        let cell = partition.cell(step.cell);
        let (origin, direction) = (ray.origin.as_dvec3(), ray.direction.as_dvec3());
        for t in [step.enter, step.exit] {
            let at = origin + direction * t;
            let nearest = at.clamp(cell.min.as_dvec3(), cell.max.as_dvec3());
            assert!(at.distance(nearest) < 1e-9, "{ray:?} is at {at} in {cell:?}");
        }
    }
    if let Some(last) = steps.last() {
        let (end, bounds) = (ray.at(last.exit as f32), partition.bounds());
        let is_outside = |axis: usize| {
            let plane = if ray.direction[axis] > 0.0 { bounds.max[axis] } else { bounds.min[axis] };
            ray.direction[axis] != 0.0 && (end[axis] - plane).abs() < 1e-4
        };
        assert!(last.border.is_none() && (last.exit == f64::from(ray.t_max) || (0..3).any(is_outside)), "{ray:?}");
    }
    steps.len()
}

#[test]
fn a_ray_goes_through_cells_until_it_leaves_them_all() {
    for partition in partitions(&soup(300, true)) {
        let bounds = partition.bounds();
        let mut missed = 0;
        for ray in rays(bounds, 5_000) {
            let count = check(&partition, &ray);
            missed += usize::from(count == 0);
            if bounds.contains(ray.origin) {
                assert_eq!(partition.traverse(&ray).next().map(|step| step.cell), partition.cell_at(ray.origin));
            }
            check(&partition, &Ray { t_min: 0.3, t_max: 0.9, ..ray });
        }
        assert!(missed > 500, "{missed} pass by");
    }
}

#[test]
fn no_ray_is_lost_at_edges_and_corners_of_cells() {
    for partition in partitions(&soup(300, true)) {
        for id in partition.ids() {
            let cell = partition.cell(id);
            for corner in 0..8 {
                let pick = |axis: usize| if corner >> axis & 1 == 0 { cell.min[axis] } else { cell.max[axis] };
                let corner = Vec3::new(pick(0), pick(1), pick(2));
                for direction in 0..27u8 {
                    let step = |place: u8| f32::from(direction / place % 3) - 1.0;
                    let direction = Vec3::new(step(1), step(3), step(9));
                    if direction == Vec3::ZERO {
                        continue;
                    }
                    // Cell coordinates may or may not be exact binary fractions. Rays start at the corner, and pass
                    // through it.
                    assert!(check(&partition, &Ray::new(corner, direction)) > 0);
                    check(&partition, &Ray::new(corner - direction, direction));
                    check(&partition, &Ray::new(corner - 0.5 * direction, direction * Vec3::new(1.0, 0.5, 0.25)));
                }
            }
        }
    }
}

#[test]
fn a_diagonal_through_a_grid_passes_one_border_at_a_time() {
    let mut cube = Polygons::default();
    cube.push(&[Vec3::ZERO, Vec3::new(4.0, 4.0, 0.0), Vec3::splat(4.0)], 0.0);
    let partition = Partition::new(&cube, &settings(PartitionKind::Uniform, 64)).unwrap();
    let steps: Vec<CellStep> = partition.traverse(&Ray::new(Vec3::ZERO, Vec3::ONE)).collect();
    let ids: Vec<u32> = steps.iter().map(|step| step.cell.0).collect();
    assert_eq!(ids, [0, 1, 5, 21, 22, 26, 42, 43, 47, 63]);
    assert_eq!(steps.iter().filter(|step| step.exit > step.enter).count(), 4);
    assert!(steps.iter().all(|step| [0.0, 1.0, 2.0, 3.0, 4.0].contains(&step.exit)));
}

#[test]
fn a_ray_begins_on_the_side_that_it_goes_to() {
    let mut square = Polygons::default();
    square.push(&[Vec3::ZERO, 2.0 * Vec3::X, Vec3::new(2.0, 1.0, 1.0)], 0.0);
    let partition = Partition::new(&square, &settings(PartitionKind::Uniform, 2)).unwrap();
    let first = |direction| partition.traverse(&Ray::new(Vec3::new(1.0, 0.5, 0.5), direction)).next().unwrap().cell.0;
    assert_eq!([Vec3::X, Vec3::NEG_X, Vec3::Y].map(first), [1, 0, 1]);
    assert_eq!(partition.cell_at(Vec3::new(1.0, 0.5, 0.5)), Some(CellId(1)));
    assert_eq!(partition.cell_at(Vec3::new(2.0, 1.0, 1.0)), Some(CellId(1)));
    assert_eq!(partition.cell_at(Vec3::new(2.1, 1.0, 1.0)), None);
    assert_eq!(partition.traverse(&Ray::new(Vec3::ZERO, Vec3::ZERO)).count(), 0);
}

#[test]
fn the_first_hit_in_the_first_cell_that_has_one_is_the_nearest() {
    let polygons = soup(300, true);
    let triangles: Vec<Triangle> = (0..polygons.len())
        .map(|polygon| Triangle { corners: polygons.corners(polygon).try_into().unwrap() })
        .collect();
    let nearest = |ray: &Ray, among: &mut dyn Iterator<Item = usize>| {
        let ray = WatertightRay::new(ray);
        let distances = among.filter_map(|index| triangles[index].intersect(&ray)).map(|hit| f64::from(hit.t));
        distances.min_by(f64::total_cmp)
    };
    for partition in partitions(&polygons) {
        let subscenes = partition.distribute(&polygons, corner_weights);
        let mut hits = 0;
        for ray in rays(partition.bounds(), 2_000) {
            let expected = nearest(&ray, &mut (0..triangles.len()));
            let found = partition.traverse(&ray).find_map(|step| {
                let mut local = subscenes[step.cell.index()].pieces().map(|(polygon, _)| polygon);
                nearest(&ray, &mut local).filter(|&t| t <= step.exit + 1e-6)
            });
            hits += usize::from(found.is_some());
            match (found, expected) {
                (Some(found), Some(expected)) => assert!((found - expected).abs() < 2e-6, "{ray:?}"),
                _ => assert_eq!(found, expected, "{ray:?}"),
            }
        }
        assert!(hits > 200, "{hits}");
    }
}

#[test]
fn traffic_counts_rays_in_cells_and_through_borders() {
    let mut square = Polygons::default();
    square.push(&[Vec3::ZERO, 4.0 * Vec3::X, Vec3::new(4.0, 1.0, 1.0)], 0.0);
    let partition = Partition::new(&square, &settings(PartitionKind::Uniform, 3)).unwrap();
    let from = |x: f32, direction: Vec3| Ray::new(Vec3::new(x, 0.5, 0.5), direction);
    let rays = [from(0.5, Vec3::X), from(0.5, Vec3::Y), Ray { t_max: 1.0, ..from(3.5, Vec3::NEG_X) }];
    let traffic = Traffic::of(&partition, &rays);
    assert_eq!(traffic, Traffic { rays: 3, traced: vec![2, 2, 2], crossings: 3 });
}
