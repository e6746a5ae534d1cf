//! Patches of one size (two fixed meshes, 2MF, `001` section 3.1).

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::Patches;
use super::halving::Halving;
use crate::lightmap::{ElementId, Elements};
use crate::radiosity::blocks;

/// Number of bisection steps for the size of patches, far more than needed to change their number.
const STEPS: u32 = 40;

impl Patches {
    /// Creates patches of similar size, as many as possible up to `max_patches`.
    ///
    /// Either charts are divided into rows and columns of texels, or all elements are bisected regardless of charts.
    /// The result with the smaller spread of patches is used. Charts suit rooms, and bisection suits levels with many
    /// small objects. `visible` is the visible fraction of each element.
    pub fn uniform(elements: &Elements, visible: &[f32], max_patches: usize) -> Self {
        let area: Vec<f32> = elements.area.iter().zip(visible).map(|(area, visible)| area * visible).collect();
        let charts: Vec<Chart> =
            blocks(elements, u16::MAX, |_| true).into_iter().map(|chart| Chart::new(elements, chart)).collect();
        let halving = Halving::new(elements, &area, max_patches);
        let halved = halving.groups(max_patches);
        if charts.len() > max_patches {
            return Self::new(&halved, &area);
        }
        let cells = cells_of(&charts, max_patches);
        let cut: Vec<Vec<Vec<ElementId>>> =
            charts.par_iter().zip(cells).map(|(chart, cells)| chart.cut(cells)).collect();
        let cut = cut.concat();
        let by_charts = halving.inertia(&cut) <= halving.inertia(&halved);
        Self::new(if by_charts { &cut } else { &halved }, &area)
    }
}

/// Elements of one side and chart of a surface.
struct Chart {
    elements: Vec<ElementId>,
    /// Column and row of each element, relative to the smallest ones.
    places: Vec<[u32; 2]>,
    /// Number of columns and rows of texels.
    size: [u32; 2],
    /// Edge of a texel, in meters.
    texel: f32,
}

impl Chart {
    fn new(all: &Elements, elements: Vec<ElementId>) -> Self {
        let place = |id: &ElementId| {
            let texel = all.texel[id.index()];
            [u32::from(texel.x), u32::from(texel.y)]
        };
        let corner = |pick: fn(u32, u32) -> u32| {
            let corner = elements.iter().map(place).reduce(|a, b| [pick(a[0], b[0]), pick(a[1], b[1])]);
            corner.unwrap_or_default()
        };
        let (min, max) = (corner(u32::min), corner(u32::max));
        let area: f32 = elements.iter().map(|id| all.area[id.index()]).sum();
        Self {
            places: elements.iter().map(place).map(|[x, y]| [x - min[0], y - min[1]]).collect(),
            size: [max[0] - min[0] + 1, max[1] - min[1] + 1],
            texel: (area / elements.len().max(1) as f32).sqrt(),
            elements,
        }
    }

    /// Returns the number of columns and rows of patches with edges of `edge` meters.
    fn cells(&self, edge: f32) -> [u32; 2] {
        self.size.map(|texels| ((texels as f32 * self.texel / edge).round() as u32).clamp(1, texels))
    }

    fn cell_of(&self, [x, y]: [u32; 2], [columns, rows]: [u32; 2]) -> [u32; 2] {
        [x * columns / self.size[0], y * rows / self.size[1]]
    }

    /// Returns the number of patches with elements, for a number of columns and rows.
    fn count(&self, cells: [u32; 2]) -> usize {
        let mut occupied = vec![false; (cells[0] * cells[1]) as usize];
        for &place in &self.places {
            let [column, row] = self.cell_of(place, cells);
            occupied[(row * cells[0] + column) as usize] = true;
        }
        occupied.into_iter().filter(|&occupied| occupied).count()
    }

    /// Divides the chart into patches. Neighbors are in sequence.
    fn cut(&self, cells: [u32; 2]) -> Vec<Vec<ElementId>> {
        let mut placed: Vec<(u64, ElementId)> = self
            .places
            .iter()
            .map(|&place| interleaved(self.cell_of(place, cells)))
            .zip(self.elements.iter().copied())
            .collect();
        placed.sort_by_key(|&(cell, _)| cell);
        placed.chunk_by(|a, b| a.0 == b.0).map(|cell| cell.iter().map(|&(_, id)| id).collect()).collect()
    }
}

/// Returns the number of columns and rows of patches in each chart. All charts start with the same edge of patches.
/// Unused patches then add columns or rows with the widest patches.
fn cells_of(charts: &[Chart], max_patches: usize) -> Vec<[u32; 2]> {
    let edge = edge_for(charts, max_patches);
    let mut cells: Vec<[u32; 2]> = charts.iter().map(|chart| chart.cells(edge)).collect();
    let mut counts: Vec<usize> = charts.iter().zip(&cells).map(|(chart, &cells)| chart.count(cells)).collect();
    let mut left = max_patches - counts.iter().sum::<usize>().min(max_patches);
    // Lengths are in thousandths of the edge. Integers have a total order, and rounding of the last digits does not
    // matter.
    let width = |chart: usize, axis: usize, cells: &[[u32; 2]]| {
        let Chart { size, texel, .. } = &charts[chart];
        (1e3 * size[axis] as f32 * texel / cells[chart][axis] as f32 / edge) as u64
    };
    let mut widest: BinaryHeap<(u64, Reverse<(usize, usize)>)> = (0..charts.len())
        .flat_map(|chart| [(chart, 0), (chart, 1)])
        .map(|(chart, axis)| (width(chart, axis, &cells), Reverse((chart, axis))))
        .collect();
    while left > 0
        && let Some((_, Reverse((chart, axis)))) = widest.pop()
    {
        let mut more = cells[chart];
        more[axis] += 1;
        let count = if more[axis] <= charts[chart].size[axis] { charts[chart].count(more) } else { usize::MAX };
        if count.saturating_sub(counts[chart]) <= left && count >= counts[chart] {
            left -= count - counts[chart];
            (cells[chart], counts[chart]) = (more, count);
            widest.push((width(chart, axis, &cells), Reverse((chart, axis))));
        }
    }
    cells
}

/// Returns an edge of patches that gives at most `max_patches` patches, and as many as possible.
fn edge_for(charts: &[Chart], max_patches: usize) -> f32 {
    let count = |edge: f32| charts.par_iter().map(|chart| chart.count(chart.cells(edge))).sum::<usize>();
    let finest = charts.iter().map(|chart| chart.texel).fold(f32::INFINITY, f32::min);
    let largest = charts.iter().map(|chart| chart.texel * chart.size[0].max(chart.size[1]) as f32);
    let (mut fine, mut coarse) = (0.5 * finest, 4.0 * largest.fold(finest, f32::max));
    if !(fine > 0.0 && coarse.is_finite()) || count(fine) <= max_patches {
        return fine.max(f32::MIN_POSITIVE);
    }
    for _ in 0..STEPS {
        let middle = (fine * coarse).sqrt();
        if count(middle) <= max_patches { coarse = middle } else { fine = middle }
    }
    coarse
}

/// Interleaves the bits of column and row (Morton code), so that close numbers mean close cells.
fn interleaved([column, row]: [u32; 2]) -> u64 {
    (0..32).fold(0, |bits, bit| {
        bits | u64::from(column >> bit & 1) << (2 * bit) | u64::from(row >> bit & 1) << (2 * bit + 1)
    })
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::radiosity::test_scene::{TestScene, gray};

    fn box_of(texels: u32) -> Elements {
        let mut test = TestScene::default();
        test.room(Vec3::ONE, texels, |_| gray(0.5));
        test.elements()
    }

    fn uniform(elements: &Elements, max_patches: usize) -> Patches {
        Patches::uniform(elements, &vec![1.0; elements.len()], max_patches)
    }

    #[test]
    fn the_papers_meshes_have_just_as_many_patches() {
        let elements = box_of(24);
        assert_eq!(elements.len(), 3456);
        for (max_patches, texels) in [(54, 64), (216, 16), (864, 4), (3456, 1)] {
            let patches = uniform(&elements, max_patches);
            assert_eq!(patches.len(), max_patches);
            assert!(patches.are_whole());
            assert!(patches.ids().all(|patch| patches.of(patch).len() == texels));
            for patch in patches.ids() {
                let sum: f32 = patches.shares[patches.of(patch)].iter().sum();
                assert!((sum - 1.0).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn there_are_never_more_patches_than_asked_for_and_seldom_many_fewer() {
        let elements = box_of(24);
        for max_patches in [6, 7, 53, 100, 500, 1000, 3455, 100_000] {
            let patches = uniform(&elements, max_patches);
            assert!(patches.len() <= max_patches && patches.are_whole(), "{max_patches}: {}", patches.len());
            assert!(4 * patches.len() >= 3 * max_patches.min(3456), "{max_patches}: {}", patches.len());
        }
    }

    #[test]
    fn elements_know_the_patch_that_has_them() {
        let elements = box_of(8);
        let patches = uniform(&elements, 24);
        let patch_of = patches.of_elements();
        for patch in patches.ids() {
            assert!(patches.order[patches.of(patch)].iter().all(|&element| patch_of[element as usize] == patch));
        }
    }

    #[test]
    fn elements_of_small_charts_go_to_the_nearest_patch_that_faces_their_way() {
        let mut test = TestScene::default();
        let quad = |test: &mut TestScene, corner: Vec3, size: f32| {
            test.quad(corner, Vec3::Z * size, Vec3::X * size, [2, 2], gray(0.5))
        };
        let large = [quad(&mut test, Vec3::ZERO, 1.0), quad(&mut test, Vec3::X * 5.0, 1.0)];
        let underside = test.quad(Vec3::new(0.0, -0.01, 0.0), Vec3::X, Vec3::Z, [2, 2], gray(0.5));
        let small = [quad(&mut test, Vec3::new(0.4, 0.01, 0.4), 0.1), quad(&mut test, Vec3::new(4.9, 0.0, 0.0), 0.1)];
        let elements = test.elements();
        let patches = uniform(&elements, 3);
        let patch_of = patches.of_elements();
        let of = |surface| patch_of[elements.of_surface(surface).start];
        assert_eq!(patches.len(), 3);
        assert!(patches.are_whole());
        assert_eq!([of(small[0]), of(small[1])], large.map(of));
        assert_ne!(of(underside), of(small[0]));
    }

    #[test]
    fn shares_are_those_of_the_area_that_light_reaches() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [2, 1], gray(0.5));
        let elements = test.elements();
        let patches = Patches::uniform(&elements, &[1.0, 0.25], 1);
        assert!((patches.shares[0] - 0.8).abs() < 1e-6 && (patches.shares[1] - 0.2).abs() < 1e-6);
        let inside = Patches::uniform(&elements, &[0.0, 0.0], 1);
        assert_eq!(inside.shares, [0.5, 0.5]);
    }
}
