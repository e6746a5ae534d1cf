//! Tests of the order in which masks travel between subscenes.

use std::collections::HashSet;

use super::*;
use crate::geometry::sobol::OwenSobol;
use crate::partition::tests::{partitions, soup};

/// Checks that a source reaches every cell once and crosses every border once, in any message order.
fn check(partition: &Partition, workers: &mut Workers, source: &MaskSource, order: u32) {
    let home = partition.cell_at(source.place()).unwrap();
    let spread = workers.spread(home, source, order);
    let reached: HashSet<CellId> = spread.reached.iter().map(|(cell, _)| *cell).collect();
    assert_eq!((spread.reached.len(), reached.len()), (partition.cells().len(), partition.cells().len()));
    let crossed: HashSet<BorderId> = spread.sent.iter().map(|(.., border)| *border).collect();
    assert_eq!((spread.sent.len(), crossed.len()), (partition.borders().len(), partition.borders().len()));
    assert!(workers.0.iter().all(|worker| worker.pending.is_empty()));
    // Senders must have been reached before, and never send back towards the source.
    let place = |cell| spread.reached.iter().position(|(reached, _)| *reached == cell);
    assert!(spread.sent.iter().all(|(from, to, _)| place(*from) < place(*to)));
}

#[test]
fn in_any_grid_every_source_comes_to_every_cell_once() {
    for count in 0..64 {
        let parts = [count % 4 + 1, count / 4 % 4 + 1, count / 16 + 1];
        let partition = grid(parts);
        let mut workers = Workers::new(&partition, &Polygons::default(), 1);
        for cell in partition.ids() {
            check(&partition, &mut workers, &eye(partition.cell(cell).center()), hash2(count, cell.0));
        }
    }
}

#[test]
fn in_a_grid_the_rule_is_that_of_the_thesis() {
    let partition = grid([4, 3, 2]);
    let place = |cell: CellId| partition.cell(cell).min.as_ivec3();
    for source in partition.ids() {
        let eye = eye(partition.cell(source).center());
        for cell in partition.ids() {
            let interface = Interface::new(&partition, cell, 1).unwrap();
            let inward: HashSet<CellId> = interface.inward(&eye).map(|gate| gate.beyond).collect();
            assert!(inward.len() <= 3);
            for neighbor in partition.neighbors(cell) {
                let axis = (0..3).find(|&axis| place(neighbor)[axis] != place(cell)[axis]).unwrap();
                let (s, c) = (place(source)[axis], place(cell)[axis]);
                let is_in = if place(neighbor)[axis] > c { s > c } else { s < c };
                assert_eq!(inward.contains(&neighbor), is_in, "{s} {c}");
            }
        }
    }
}

#[test]
fn in_partitions_of_unequal_cells_every_source_comes_to_every_cell_once_too() {
    for (kind, partition) in partitions(&soup(300, true)).iter().enumerate() {
        let mut workers = Workers::new(partition, &Polygons::default(), 1);
        for cell in partition.ids() {
            // Source points lie anywhere in the cell, since planes of other cells extend through it.
            for corner in 0..9u32 {
                let share = Vec3::new((corner % 3) as f32, (corner / 3 % 3) as f32, (corner % 2) as f32) * 0.45 + 0.05;
                let Aabb { min, max } = partition.cell(cell);
                let point = min + (max - min) * share;
                check(partition, &mut workers, &eye(point), hash2(kind as u32, corner));
            }
        }
    }
}

/// Returns the partition of figure 3.6 of the thesis: the left and the right half are cut at different heights.
fn four_cells() -> Partition {
    let halves = |height| Tree::cut(1, height, [Tree::Cell, Tree::Cell]);
    let bounds = Aabb { min: Vec3::ZERO, max: Vec3::new(2.0, 1.0, 1.0) };
    Partition::assemble(PartitionKind::Balanced, bounds, &Tree::cut(0, 1.0, [halves(0.4), halves(0.7)]))
}

#[test]
fn a_face_with_two_neighbors_waits_for_the_masks_of_both() {
    let partition = four_cells();
    let mut workers = Workers::new(&partition, &Polygons::default(), 4);
    for order in 0..20 {
        let spread = workers.spread(CellId(0), &eye(Vec3::new(0.5, 0.2, 0.5)), order);
        let order: Vec<u32> = spread.reached.iter().map(|(cell, _)| cell.0).collect();
        assert_eq!(order, [0, 1, 2, 3], "01, then 10 that joins the masks of 00 and 01, then 11");
        let masks: Vec<usize> = spread.reached.iter().map(|(_, masks)| masks.len()).collect();
        assert_eq!(masks, [0, 1, 2, 2]);
        let mut sent: Vec<(u32, u32)> = spread.sent.iter().map(|(from, to, _)| (from.0, to.0)).collect();
        sent.sort_unstable();
        assert_eq!(sent, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]);
    }
}

#[test]
fn cells_whose_indices_differ_in_more_than_the_last_digit_may_share_a_whole_face() {
    // After two cuts along one axis, cells 01 and 10 share a whole face.
    let halves = |position| Tree::cut(0, position, [Tree::Cell, Tree::Cell]);
    let bounds = Aabb { min: Vec3::ZERO, max: Vec3::new(4.0, 1.0, 1.0) };
    let row = Partition::assemble(PartitionKind::Balanced, bounds, &Tree::cut(0, 2.0, [halves(1.0), halves(3.0)]));
    let mut workers = Workers::new(&row, &Polygons::default(), 2);
    let spread = workers.spread(CellId(0), &eye(Vec3::splat(0.5)), 0);
    let sent: Vec<(u32, u32)> = spread.sent.iter().map(|(from, to, _)| (from.0, to.0)).collect();
    assert_eq!(sent, [(0, 1), (1, 2), (2, 3)]);
}

#[test]
fn a_mask_that_comes_twice_counts_once() {
    let partition = grid([2, 2, 1]);
    let interface = Interface::new(&partition, CellId(3), 1).unwrap();
    let source = eye(Vec3::splat(0.5));
    let borders: Vec<BorderId> = interface.inward(&source).map(|gate| gate.border).collect();
    let mask = |border| InMask { border, mask: Arc::new(Mask::dark()) };
    let mut pending = Pending::default();
    assert_eq!(pending.arrive(&interface, 1, &source, mask(borders[0])), None);
    assert_eq!(pending.arrive(&interface, 1, &source, mask(borders[0])), None);
    assert_eq!(pending.arrive(&interface, 2, &source, mask(borders[1])), None, "another source");
    assert!(pending.arrive(&interface, 1, &source, mask(borders[1])).is_some());
    assert!(!pending.is_empty());
}

#[test]
fn masks_of_no_cells_or_of_too_many_are_refused_in_a_sentence() {
    let partition = grid([2, 1, 1]);
    for resolution in [0, 257, u32::MAX] {
        let refusal = Interface::new(&partition, CellId(0), resolution).unwrap_err().to_string();
        assert!(refusal.contains(&resolution.to_string()) && refusal.contains("1 to 256"), "{refusal}");
    }
}

#[test]
fn points_of_one_sector_send_their_light_the_same_ways() {
    for partition in partitions(&soup(300, true)) {
        let sectors = Sectors::new(&partition);
        let interfaces: Vec<Interface> =
            partition.ids().map(|cell| Interface::new(&partition, cell, 1).unwrap()).collect();
        let ways = |point: Vec3| -> Vec<BorderId> {
            let source = eye(point);
            interfaces.iter().flat_map(|interface| interface.outward(&source)).map(|gate| gate.border).collect()
        };
        let points = OwenSobol::new(4);
        let Aabb { min, max } = partition.bounds();
        let mut known: Vec<(Sector, Vec<BorderId>)> = Vec::new();
        for index in 0..500 {
            let [x, y, z, _] = points.point(index);
            let point = min + (max - min) * Vec3::new(x, y, z);
            let sector = sectors.at(point);
            match known.iter().find(|(other, _)| *other == sector) {
                Some((_, same)) => assert_eq!(*same, ways(point)),
                None => known.push((sector, ways(point))),
            }
        }
    }
}
