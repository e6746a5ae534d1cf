//! Tests of the light that masks transmit.

use super::*;
use crate::geometry::sobol::OwenSobol;
use crate::partition::tests::{partitions, soup};

fn words(mask: &Mask, resolution: u32) -> Vec<u32> {
    (0..(resolution * resolution) as usize).map(|rectangle| mask.word(rectangle)).collect()
}

#[test]
fn without_occluders_all_that_a_source_faces_is_in_sight() {
    let partition = grid([3, 3, 2]);
    let mut workers = Workers::new(&partition, &Polygons::default(), 5);
    let position = Vec3::new(1.5, 1.2, 0.3);
    let upright = MaskSource::new(position, vec![Viewpoint { position, normal: Vec3::Y }]);
    for source in [&eye(upright.place()), &upright] {
        let spread = workers.spread(CellId(4), source, 1);
        for (cell, masks) in &spread.reached {
            for InMask { border, mask } in masks {
                let rectangle = partition.borders()[border.index()].rectangle;
                if source == &upright && rectangle.max.y < 1.2 {
                    assert!(mask.is_dark(), "{cell:?} is below");
                } else if source == &upright && rectangle.min.y < 1.2 {
                    // A row cut by the source's tangent plane counts as visible.
                    let seen = words(mask, 5).iter().filter(|&&word| word != 0).count();
                    assert_eq!(seen, 20, "{border:?}");
                } else if source == &upright {
                    assert!(words(mask, 5).iter().all(|&word| word == mask::all_bits(1)));
                } else {
                    assert!(words(mask, 5).iter().all(|&word| word != 0));
                }
            }
        }
    }
}

#[test]
fn a_wall_leaves_nothing_of_what_is_behind_it_and_tokens_go_on() {
    let partition = grid([4, 2, 1]);
    let mut polygons = Polygons::default();
    quad(&mut polygons, Vec3::new(1.5, -1.0, -1.0), Vec3::Y * 4.0, Vec3::Z * 3.0);
    let mut workers = Workers::new(&partition, &polygons, 8);
    let spread = workers.spread(CellId(0), &eye(Vec3::new(0.5, 0.5, 0.5)), 3);
    assert_eq!(spread.sent.len(), partition.borders().len());
    assert_eq!(spread.reached.len(), 8);
    for (cell, masks) in &spread.reached {
        let is_behind = partition.cell(*cell).min.x >= 2.0;
        for InMask { border, mask } in masks {
            let is_upright = partition.borders()[border.index()].axis == 0;
            assert!(!is_behind || mask.is_dark(), "{cell:?}");
            assert!(is_behind || !is_upright || words(mask, 8).iter().all(|&word| word != 0), "{cell:?}");
        }
    }
}

#[test]
fn a_wall_in_a_border_hides_whichever_way_it_faces() {
    let partition = grid([2, 1, 1]);
    for [u, v] in [[Vec3::Y, Vec3::Z], [Vec3::Z, Vec3::Y]] {
        let mut polygons = Polygons::default();
        quad(&mut polygons, Vec3::X, u, v);
        let mut workers = Workers::new(&partition, &polygons, 8);
        for (home, other) in [(0, 1), (1, 0)] {
            let at = |cell: u32| partition.cell(CellId(cell)).center();
            let source = eye(at(home));
            let spread = workers.spread(CellId(home), &source, 0);
            let (cell, masks) = &spread.reached[1];
            assert_eq!(*cell, CellId(other));
            for near in [at(other), Vec3::new(1.0 + (at(other).x - 1.0) * 1e-4, 0.3, 0.8)] {
                assert_eq!(workers.0[cell.index()].light(&source, masks, near, 0), Vec3::ZERO, "{home} {u}");
            }
        }
    }
}

#[test]
fn colored_glass_lets_its_part_of_each_channel_through() {
    let partition = grid([3, 1, 1]);
    let mut polygons = Polygons::default();
    quad(&mut polygons, Vec3::new(0.7, -1.0, -1.0), Vec3::Y * 4.0, Vec3::Z * 4.0);
    let color = Vec3::new(0.2, 0.5, 1.0);
    let mut workers = Workers::with(&partition, &polygons, 128, color);
    let source = eye(Vec3::splat(0.5));
    let spread = workers.spread(CellId(0), &source, 0);
    let (cell, masks) = &spread.reached[2];
    let points = OwenSobol::new(3);
    let sum: Vec3 = (0..8192)
        .map(|index| {
            let [x, y, z, _] = points.point(index);
            workers.0[cell.index()].light(&source, masks, Vec3::new(2.0 + x, y, z), 0)
        })
        .sum();
    assert!((sum / 8192.0 - color).abs().max_element() < 0.03, "{}", sum / 8192.0);
}

/// Returns the fraction of point pairs in different cells for which masks disagree with a shadow ray.
fn mistakes(partition: &Partition, polygons: &Polygons, resolution: u32) -> f64 {
    let mut workers = Workers::new(partition, polygons, resolution);
    let corners = |polygon| Triangle { corners: polygons.corners(polygon).try_into().unwrap() };
    let all = Pile { triangles: (0..polygons.len()).map(corners).collect(), lets_through: Vec3::ZERO };
    let within = |cell: Aabb, [x, y, z, _]: [f32; 4]| cell.min + cell.extent() * Vec3::new(x, y, z);
    let (mut asked, mut wrong, mut hidden) = (0, 0, 0);
    for home in partition.ids().step_by(5) {
        let source = eye(within(partition.cell(home), OwenSobol::new(1).point(home.0)));
        let spread = workers.spread(home, &source, 5);
        for (cell, masks) in &spread.reached {
            let worker = &workers.0[cell.index()];
            for index in 0..32 {
                let point = within(partition.cell(*cell), OwenSobol::new(2).point(index));
                // Viewpoint that faces the point.
                let way = point - source.place();
                let viewpoint = source
                    .viewpoints()
                    .iter()
                    .position(|seen_from| seen_from.normal.dot(way) > 0.5 * way.length())
                    .unwrap();
                let truth = all.hides(point, source.place());
                asked += 1;
                hidden += u32::from(truth);
                wrong += u32::from((worker.light(&source, masks, point, viewpoint) == Vec3::ZERO) != truth);
            }
        }
    }
    let share = f64::from(hidden) / f64::from(asked);
    assert!((0.03..0.9).contains(&share), "{share} of all pairs do not see each other");
    f64::from(wrong) / f64::from(asked)
}

#[test]
fn masks_come_to_what_rays_between_points_say_as_their_cells_become_small() {
    let polygons = soup(40, true);
    let mut kinds = partitions(&polygons);
    kinds.push(grid([1, 1, 1]));
    for partition in &kinds {
        let mistakes = [4, 16, 64].map(|resolution| mistakes(partition, &polygons, resolution));
        if partition.cells().len() == 1 {
            assert_eq!(mistakes, [0.0; 3]);
            continue;
        }
        // Borders of thin cells appear at grazing angles, which needs finer masks.
        let is_uniform = partition.kind() == PartitionKind::Uniform;
        let (falls_by, max_mistake) = if is_uniform { (0.5, 0.02) } else { (0.7, 0.1) };
        let falls = mistakes.windows(2).all(|pair| pair[1] < falls_by * pair[0]);
        assert!(falls && mistakes[2] < max_mistake, "{:?}: {mistakes:?}", partition.kind());
    }
}

#[test]
fn what_masks_say_of_a_box_holds_for_all_its_points() {
    let polygons = soup(40, true);
    for partition in partitions(&polygons) {
        let mut workers = Workers::new(&partition, &polygons, 16);
        let (mut clear, mut dark, mut mixed) = (0, 0, 0);
        // Eyes that face all ways, and one that faces a single way, whose viewpoints may all be visible at once.
        let sources = partition.ids().step_by(3).flat_map(|home| {
            let place = partition.cell(home).center();
            let upwards = MaskSource::new(place, vec![Viewpoint { position: place, normal: Vec3::Y }]);
            [(home, eye(place)), (home, upwards)]
        });
        for (home, source) in sources {
            let spread = workers.spread(home, &source, 5);
            for (cell, masks) in spread.reached.iter().skip(1) {
                let sight = Sight { interface: &workers.0[cell.index()].interface, source: &source, masks };
                let numbers = OwenSobol::new(cell.0);
                let bounds = partition.cell(*cell);
                for index in 0..20 {
                    let [x, y, z, size] = numbers.point(index);
                    let min = bounds.min + bounds.extent() * Vec3::new(x, y, z);
                    let part = Aabb { min, max: (min + bounds.extent() * (0.2 * size)).min(bounds.max) };
                    let through = sight.through(&part);
                    let seen = |inner: u32| {
                        let [x, y, z, which] = numbers.point(100 + 16 * index + inner);
                        let point = part.min + part.extent() * Vec3::new(x, y, z);
                        sight.visibility(point, (which * source.viewpoints().len() as f32) as usize).light
                    };
                    match through {
                        Through::Clear => (0..16).for_each(|inner| assert_eq!(seen(inner), Vec3::ONE)),
                        Through::Dark => (0..16).for_each(|inner| assert_eq!(seen(inner), Vec3::ZERO)),
                        Through::Mixed => mixed += 1,
                    }
                    clear += u32::from(through == Through::Clear);
                    dark += u32::from(through == Through::Dark);
                }
            }
        }
        assert!(clear > 0 && dark > 0 && mixed > 0, "{clear} {dark} {mixed}");
    }
}
