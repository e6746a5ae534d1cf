//! Tests of cells, borders and the distribution of polygons.

use super::*;
use crate::geometry::clip::vector_area;

#[test]
fn prime_factors_go_to_the_axis_with_the_fewest_parts() {
    let known = [
        (1, [1, 1, 1]),
        (2, [2, 1, 1]),
        (3, [3, 1, 1]),
        (4, [2, 2, 1]),
        (6, [3, 2, 1]),
        (8, [2, 2, 2]),
        (10, [5, 2, 1]),
        (12, [3, 2, 2]),
        (16, [4, 2, 2]),
        (24, [3, 4, 2]),
        (32, [4, 4, 2]),
        (36, [3, 3, 4]),
        (64, [4, 4, 4]),
        (128, [8, 4, 4]),
        (256, [8, 8, 4]),
        (512, [8, 8, 8]),
    ];
    for (count, expected) in known {
        assert_eq!(divisions(count), expected, "{count}");
    }
    for count in [7, 97, 1_001, 30_030, 65_521] {
        assert_eq!(divisions(count).iter().product::<u32>(), count);
    }
}

#[test]
fn uniform_cells_have_one_size_and_x_changes_fastest() {
    let polygons = soup(50, false);
    for count in [1, 2, 7, 30, 36] {
        let partition = Partition::new(&polygons, &settings(PartitionKind::Uniform, count)).unwrap();
        assert_eq!(partition.cells().len(), count as usize);
        let parts = glam::UVec3::from(divisions(count)).as_vec3();
        let bounds = polygons.bounds();
        assert_eq!(partition.bounds(), bounds);
        for id in partition.ids() {
            let [nx, ny, _] = divisions(count);
            let place = glam::UVec3::new(id.0 % nx, id.0 / nx % ny, id.0 / (nx * ny)).as_vec3();
            let expected = bounds.min + bounds.extent() * place / parts;
            assert!((partition.cell(id).min - expected).length() < 1e-5);
            assert!((partition.cell(id).extent() - bounds.extent() / parts).length() < 1e-5);
        }
    }
}

#[test]
fn cells_fill_the_box_and_every_inner_face_is_made_of_borders() {
    for partition in partitions(&soup(300, true)) {
        let filled: f64 = partition.cells().iter().map(|&cell| volume(cell)).sum();
        assert!((filled / volume(partition.bounds()) - 1.0).abs() < 1e-5, "{:?}", partition.kind());
        for id in partition.ids() {
            let cell = partition.cell(id);
            for face in Face::ALL {
                let borders = partition.borders_of(id, face).iter().map(|border| partition.borders()[border.index()]);
                let is_outer = cell.position_of(face) == partition.bounds().position_of(face);
                let extent = cell.extent();
                let [a, b] = [1, 2].map(|step| extent[(usize::from(face.axis) + step) % 3]);
                let expected = if is_outer { 0.0 } else { f64::from(a) * f64::from(b) };
                let area: f64 = borders.clone().map(|border| f64::from(border.area())).sum();
                assert!((area - expected).abs() < 1e-4, "{:?}: {area} of {expected}", partition.kind());
                for border in borders {
                    let other = partition.cell(border.beyond(id));
                    assert_eq!(border.face_of(id), face);
                    assert_eq!(other.position_of(face.opposite()), cell.position_of(face));
                }
            }
            assert!(partition.neighbors(id).iter().all(|&other| partition.neighbors(other).contains(&id)));
        }
    }
}

#[test]
fn inner_cells_of_a_grid_have_six_neighbors() {
    let partition = Partition::new(&soup(50, false), &settings(PartitionKind::Uniform, 27)).unwrap();
    let count = |id: u32| partition.neighbors(CellId(id)).len();
    assert_eq!((count(13), count(0), count(1), count(4)), (6, 3, 4, 5));
    assert_eq!(partition.borders().len(), 3 * 2 * 9);
}

#[test]
fn siblings_share_a_whole_face() {
    let partition = Partition::new(&soup(400, true), &settings(PartitionKind::Balanced, 32)).unwrap();
    let mut shared = 0;
    for border in partition.borders() {
        if partition.index_of(border.below).unwrap().sibling() == partition.index_of(border.above) {
            for id in [border.below, border.above] {
                let (mut face, axis) = (partition.cell(id), usize::from(border.axis));
                face.min[axis] = border.rectangle.min[axis];
                face.max[axis] = border.rectangle.max[axis];
                assert_eq!(face, border.rectangle);
            }
            shared += 1;
        }
    }
    assert_eq!(shared, 16);
}

#[test]
fn indices_are_the_cuts_in_binary() {
    let index = BinaryIndex::new(0b011, 3);
    assert_eq!(index.to_string(), "011");
    assert_eq!(index.sibling().unwrap().to_string(), "010");
    assert_eq!(index.parent().unwrap().to_string(), "01");
    assert_eq!(index.parent().unwrap().parent().unwrap().parent().and_then(BinaryIndex::parent), None);
    let partition = Partition::new(&soup(50, false), &settings(PartitionKind::Balanced, 8)).unwrap();
    // The first digit distinguishes cells 0xx from 1xx: a plane lies between them.
    let lower = partition.cells()[..4].iter().fold(Aabb::EMPTY, |all, cell| all.union(*cell));
    let upper = partition.cells()[4..].iter().fold(Aabb::EMPTY, |all, cell| all.union(*cell));
    assert_eq!((0..3).filter(|&axis| lower.max[axis] == upper.min[axis]).count(), 1);
}

#[test]
fn polygons_overlap_cells_in_the_ways_of_figure_2_5() {
    let cell = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
    let flat = |corners: [[f32; 2]; 3]| overlap(&corners.map(|[x, y]| Vec3::new(x, y, 0.5)), &cell);
    assert_eq!(flat([[0.2, 0.2], [0.8, 0.2], [0.5, 0.8]]), Overlap::Inside);
    assert_eq!(flat([[0.5, 0.5], [3.0, 0.5], [0.5, 3.0]]), Overlap::SomeCorners);
    assert_eq!(flat([[-0.5, 0.4], [1.5, 0.4], [0.5, -0.3]]), Overlap::SomeEdges);
    assert_eq!(flat([[-5.0, -5.0], [5.0, -5.0], [0.0, 9.0]]), Overlap::Pierced);
    assert_eq!(flat([[1.2, 0.0], [3.0, 0.0], [2.0, 1.0]]), Overlap::Outside);
    assert_eq!(flat([[1.0, 0.0], [3.0, 0.0], [2.0, 1.0]]), Overlap::Outside, "it touches");
}

#[test]
fn polygons_out_of_one_plane_overlap_cells_by_where_their_corners_and_edges_are() {
    let cell = Aabb { min: Vec3::NEG_ONE, max: Vec3::ONE };
    let (first, second) = (OwenSobol::new(41), OwenSobol::new(42));
    let mut counts = [0; 4];
    for index in 0..20_000 {
        let numbers = [first.point(index), second.point(index), first.point(index + 50_000)];
        let [a, b, c, d] =
            [0, 1, 2, 3].map(|corner| Vec3::from_array(numbers.map(|number| 4.0 * number[corner] - 2.0)));
        let corners = [a, b, c, d];
        let inside = corners.iter().filter(|corner| cell.contains(**corner)).count();
        let along = |step: u16| move |(from, to): (Vec3, Vec3)| from.lerp(to, f32::from(step) / 500.0);
        let edges = [(a, b), (b, c), (c, d), (d, a)];
        let passes = || (0..500).any(|step| edges.map(along(step)).into_iter().any(|point| cell.contains(point)));
        let found = overlap(&corners, &cell);
        let expected = match inside {
            4 => Overlap::Inside,
            0 if passes() => Overlap::SomeEdges,
            // Sampling steps are too coarse to detect an edge that only cuts off a corner of the cell.
            0 if found == Overlap::SomeEdges => continue,
            0 => Overlap::Pierced,
            _ => Overlap::SomeCorners,
        };
        // A cut part may have no area, wherever its corners lie.
        if found != Overlap::Outside {
            assert_eq!(found, expected, "{corners:?}");
            counts[found as usize] += 1;
        }
    }
    let [_, some_corners, some_edges, pierced] = counts;
    assert!(some_corners > 5_000 && some_edges > 5_000 && pierced > 100, "{counts:?}");
}

#[test]
fn every_piece_of_every_polygon_is_in_one_cell() {
    for clustered in [false, true] {
        let polygons = soup(500, clustered);
        for partition in partitions(&polygons) {
            let subscenes = partition.distribute(&polygons, corner_weights);
            let mut areas = vec![glam::DVec3::ZERO; polygons.len()];
            for (id, subscene) in partition.ids().zip(&subscenes) {
                assert_eq!(*subscene, partition.subscene(id, &polygons, corner_weights));
                let cell = partition.cell(id);
                for (polygon, piece) in subscene.pieces() {
                    areas[polygon] += vector_area(piece);
                    let [a, b, c] = [0, 1, 2].map(|corner| polygons.corners(polygon)[corner].as_dvec3());
                    for corner in piece {
                        let (at, weights) = (corner.position, corner.attribute);
                        assert!((a + (b - a) * weights.x + (c - a) * weights.y).distance(at) < 1e-9);
                        assert!(at.clamp(cell.min.as_dvec3(), cell.max.as_dvec3()) == at);
                    }
                }
            }
            for (polygon, area) in areas.iter().enumerate() {
                let whole = vector_area(&polygons.with_attributes(polygon, |_| ()));
                assert!((*area - whole).length() < 1e-9, "{:?} {polygon}: {area} of {whole}", partition.kind());
            }
        }
    }
}

#[test]
fn a_wall_in_a_border_belongs_to_the_cell_that_it_faces() {
    let mut polygons = Polygons::default();
    let wall = |x: f32| [[x, 0.0, 0.0], [x, 1.0, 0.0], [x, 0.0, 1.0]].map(Vec3::from);
    let turned = |[a, b, c]: [Vec3; 3]| [c, b, a];
    for x in [0.0, 1.0, 2.0] {
        polygons.push(&wall(x), 0.0);
        polygons.push(&turned(wall(x)), 0.0);
    }
    let partition = Partition::new(&polygons, &settings(PartitionKind::Uniform, 2)).unwrap();
    let found: Vec<Vec<usize>> = partition
        .distribute(&polygons, corner_weights)
        .iter()
        .map(|subscene| subscene.pieces().map(|(polygon, _)| polygon).collect())
        .collect();
    // The second and fourth face -x. There is no neighboring cell at the ends.
    assert_eq!(found, [vec![0, 1, 3], vec![2, 4, 5]]);
}

#[test]
fn flat_scenes_are_cut_across_only() {
    let mut floor = Polygons::default();
    for tile in 0..64u8 {
        let corner = Vec3::new(f32::from(tile % 8), 0.0, f32::from(tile / 8));
        floor.push(&[corner, corner + Vec3::Z, corner + Vec3::X + Vec3::Z, corner + Vec3::X], 0.0);
    }
    for (kind, cells) in [(PartitionKind::Uniform, 6), (PartitionKind::Balanced, 8), (PartitionKind::Hybrid, 4)] {
        let partition = Partition::new(&floor, &settings(kind, if cells == 4 { 8 } else { cells })).unwrap();
        assert_eq!(partition.cells().len(), cells as usize, "{kind:?}");
        let areas = Factor::Area.loads(&floor).unwrap();
        assert!((partition.loads(&floor, &areas).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(imbalance(&partition.loads(&floor, &areas)) < 1e-3, "{kind:?}");
    }
}

#[test]
fn thousands_of_triangles_that_coincide_are_cut_merged_and_met_like_one() {
    let corners = [Vec3::ZERO, Vec3::new(2.0, 0.0, 1.0), Vec3::new(0.0, 1.0, 2.0)];
    let mut polygons = Polygons::default();
    (0..4_000).for_each(|_| polygons.push(&corners, 0.0));
    let simplified = Simplified::new(&polygons, &vec![0; polygons.len()], 1e-3);
    assert_eq!(simplified.surfaces().len(), polygons.len(), "none of them continues another");
    let area = polygons.area(0);
    for partition in partitions(&polygons) {
        let subscenes = partition.distribute(&polygons, |_, _| ());
        let pieces = subscenes.iter().flat_map(|subscene| subscene.pieces());
        let cut: f64 = pieces.map(|(_, piece)| vector_area(piece).length()).sum();
        assert!((cut / (4_000.0 * area) - 1.0).abs() < 1e-9, "{:?}", partition.kind());
        let areas = Factor::Area.loads(&polygons).unwrap();
        let loads = partition.loads(&polygons, &areas);
        let is_even = partition.kind() != PartitionKind::Balanced || imbalance(&loads) < 0.01;
        assert!(is_even && (loads.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{:?}: {loads:?}", partition.kind());
    }
}

#[test]
fn what_cannot_be_cut_is_said() {
    let polygons = soup(20, false);
    let error = |polygons: &Polygons, kind, count| Partition::new(polygons, &settings(kind, count)).err();
    assert_eq!(error(&Polygons::default(), PartitionKind::Uniform, 2), Some(PartitionError::Nothing));
    assert_eq!(error(&polygons, PartitionKind::Uniform, 0), Some(PartitionError::NoCells));
    let refused = PartitionError::NoPowerOfTwo { count: 12, below: 8, above: 16 };
    assert_eq!(error(&polygons, PartitionKind::Balanced, 12), Some(refused));
    assert_eq!(error(&polygons, PartitionKind::Hybrid, 7), Some(PartitionError::FewerThanEight { count: 7 }));
    let max = Partition::MAX_CELLS;
    let too_many = PartitionError::TooMany { count: max + 1, max };
    assert_eq!(error(&polygons, PartitionKind::Uniform, max + 1), Some(too_many));
    let mut sliver = Polygons::default();
    let at = 1.0f32;
    sliver.push(&[Vec3::new(at, 0.0, 0.0), Vec3::new(at, 1.0, 0.0), Vec3::new(at.next_up(), 0.0, 1.0)], 0.0);
    assert!(matches!(error(&sliver, PartitionKind::Uniform, 2), Some(PartitionError::TooThin { axis: 'x', .. })));
    assert_eq!(error(&sliver, PartitionKind::Uniform, 1), None);
    assert_eq!(error(&sliver, PartitionKind::Balanced, 8), None);
}
