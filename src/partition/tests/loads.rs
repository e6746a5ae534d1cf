//! How evenly cells share loads out.

use super::*;

fn loads(polygons: &Polygons, settings: &PartitionSettings, factor: Factor) -> Vec<f64> {
    let partition = Partition::new(polygons, settings).unwrap();
    partition.loads(polygons, &factor.loads(polygons).unwrap())
}

#[test]
fn imbalance_is_the_relative_standard_deviation() {
    assert_eq!(imbalance(&[2.0, 2.0, 2.0]), 0.0);
    assert_eq!(imbalance(&[0.0, 2.0]), 1.0);
    assert!((imbalance(&[1.0, 2.0, 3.0]) - (2.0f64 / 3.0).sqrt() / 2.0).abs() < 1e-15);
    assert_eq!(imbalance_of_two(3.0, 1.0), 0.5);
    assert_eq!((imbalance(&[0.0; 4]), imbalance_of_two(0.0, 0.0)), (0.0, 0.0));
}

#[test]
fn halves_of_halves_have_the_same_load() {
    let polygons = soup(600, true);
    for axis in [AxisChoice::Middle, AxisChoice::Volume] {
        for count in [2, 16, 64] {
            let balanced = PartitionSettings { axis, ..settings(PartitionKind::Balanced, count) };
            let balanced = imbalance(&loads(&polygons, &balanced, Factor::Area));
            let uniform = imbalance(&loads(&polygons, &settings(PartitionKind::Uniform, count), Factor::Area));
            assert!(balanced < 0.02, "{axis:?}, {count} cells: {balanced}");
            assert!(uniform > 0.5, "{uniform}");
        }
    }
}

#[test]
fn the_axis_is_chosen_by_load_at_the_middle_or_by_volume() {
    let mut polygons = Polygons::default();
    let mut square = |x: f32, y: f32, z: f32| {
        let corner = Vec3::new(x, y, z);
        polygons.push(&[corner, corner + Vec3::X, corner + Vec3::new(1.0, 0.0, 1.0), corner + Vec3::Z], 0.0);
    };
    // Three quarters of the load have x < 1; half of it has y < 4 of 8; the squares reach from z = 0 to 1.
    [(0.0, 0.0), (0.0, 2.0), (0.0, 6.0), (9.0, 8.0)].iter().for_each(|&(x, y)| square(x, y, 0.0));
    let axis_of = |axis| {
        let chosen = PartitionSettings { axis, ..settings(PartitionKind::Balanced, 2) };
        let partition = Partition::new(&polygons, &chosen).unwrap();
        let extent = partition.cell(CellId(0)).extent();
        (0..3).find(|&axis| extent[axis] < partition.bounds().extent()[axis]).unwrap()
    };
    // A plane through the middle divides it 3 to 1 along x, 2 to 2 along y and z; y comes first.
    assert_eq!(axis_of(AxisChoice::Middle), 1);
    // Each axis can be cut evenly: x at 2/3 m of 10 m, y and z in the middle.
    assert_eq!(axis_of(AxisChoice::Volume), 1);
    // With one more square at y = 0 the middle of y is uneven: the load is halved at half a metre of z still.
    polygons.push(&[Vec3::ZERO, Vec3::X, Vec3::new(1.0, 0.0, 1.0), Vec3::Z], 0.0);
    let partition = Partition::new(&polygons, &settings(PartitionKind::Balanced, 2)).unwrap();
    assert_eq!(partition.cell(CellId(0)).max.z, 0.5);
}

#[test]
fn a_wall_that_holds_most_of_the_load_goes_to_one_side() {
    let mut polygons = Polygons::default();
    let wall = |x: f32, edge: f32| [[x, 0.0, 0.0], [x, edge, 0.0], [x, 0.0, edge]].map(Vec3::from);
    polygons.push(&wall(0.0, 1.0), 0.0);
    polygons.push(&wall(3.0, 9.0), 0.0);
    polygons.push(&wall(4.0, 1.0), 0.0);
    let along_x = PartitionSettings { axis: AxisChoice::Middle, ..settings(PartitionKind::Balanced, 4) };
    for settings in [along_x, settings(PartitionKind::Balanced, 16)] {
        let loads = loads(&polygons, &settings, Factor::Area);
        assert!((loads.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(imbalance(&loads) < 0.1, "{loads:?}");
    }
}

#[test]
fn power_weighs_as_much_as_it_is_told_to() {
    let polygons = soup(600, false);
    let cut = |factor| Partition::new(&polygons, &PartitionSettings { factor, ..settings(PartitionKind::Balanced, 8) });
    let cells = |factor| cut(factor).unwrap().cells().to_vec();
    assert_eq!(cells(Factor::Both(0.0)), cells(Factor::Area));
    assert_ne!(cells(Factor::Both(15.0)), cells(Factor::Area));
    let power = Factor::Power.loads(&polygons).unwrap();
    let dark = |factor| cut(factor).unwrap().loads(&polygons, &power).iter().filter(|&&power| power < 0.01).count();
    assert!(dark(Factor::Area) >= 4, "lamps are at one end");
    assert_eq!(dark(Factor::Both(15.0)), 0);
    assert!(imbalance(&cut(Factor::Power).unwrap().loads(&polygons, &power)) < 0.01);
}

#[test]
fn factors_are_shares() {
    let mut polygons = Polygons::default();
    polygons.push(&[Vec3::ZERO, Vec3::X, Vec3::Y], 3.0);
    polygons.push(&[Vec3::ZERO, 3.0 * Vec3::X, Vec3::Y], 1.0);
    assert_eq!(Factor::Area.loads(&polygons).unwrap(), [0.25, 0.75]);
    assert_eq!(Factor::Power.loads(&polygons).unwrap(), [0.75, 0.25]);
    assert_eq!(Factor::Both(2.0).loads(&polygons).unwrap(), [1.75, 1.25]);
    assert_eq!(Factor::Both(-1.0).loads(&polygons), Err(PartitionError::Weight(-1.0)));
    let mut dark = Polygons::default();
    dark.push(&[Vec3::ZERO, Vec3::X, Vec3::Y], 0.0);
    assert_eq!(Factor::Power.loads(&dark), Err(PartitionError::NoPower));
}

#[test]
fn full_cells_of_a_hybrid_partition_become_eight() {
    let polygons = soup(600, true);
    let count = |most| Partition::new(&polygons, &settings(PartitionKind::Hybrid, most)).unwrap().cells().len();
    assert_eq!([8, 14, 15, 64, 100].map(count), [8, 8, 15, 64, 99]);
    let imbalance_of = |kind| imbalance(&loads(&polygons, &settings(kind, 64), Factor::Area));
    let (uniform, hybrid) = (imbalance_of(PartitionKind::Uniform), imbalance_of(PartitionKind::Hybrid));
    assert!(hybrid < 0.7 * uniform, "{hybrid} against {uniform}");
}

#[test]
fn loads_of_a_scene_are_its_areas_and_its_lamps() {
    let scene = crate::scene::builtin::build("ceil").unwrap();
    let (polygons, sources) = Polygons::of_scene(&scene);
    assert_eq!((polygons.len(), sources.len()), (12, 12));
    let area: f64 = (0..12).map(|polygon| polygons.area(polygon)).sum();
    let power: f64 = (0..12).map(|polygon| polygons.power(polygon)).sum();
    let lamp = crate::scene::LightSampler::new(&scene);
    let expected: f32 = sources.iter().map(|&(surface, triangle)| lamp.power_of_triangle(surface, triangle)).sum();
    assert!(area > 0.0 && power > 0.0 && (power - f64::from(expected)).abs() < 1e-6 * power);
    // The normal of each points into the room.
    let centre = polygons.bounds().centre();
    for polygon in 0..12 {
        let [a, b, c] = [0, 1, 2].map(|corner| polygons.corners(polygon)[corner]);
        assert!((b - a).cross(c - a).dot(centre - a) > 0.0);
    }
}
