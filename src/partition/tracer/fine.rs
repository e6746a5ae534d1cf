//! Elements of fine triangles; the CPU counterpart of `fine.wgsl`.
//!
//! Each triangle is subdivided into n x n congruent elements, with n parts per edge. Elements are numbered like the
//! cells of a square grid. Upright elements fill the half below its diagonal; inverted elements fill the other half,
//! rotated by 180 degrees.

use glam::{Vec2, Vec3};

use super::records::FineRecord;
use super::{CellHit, CellTracer};
use crate::geometry::{SurfaceId, Triangle};
use crate::scene::Scene;

/// One element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FinePart {
    /// Index of the fine triangle.
    pub triangle: u32,
    /// Index of the element within its triangle.
    pub part: u32,
    /// True for elements on the triangle's back side.
    pub back: bool,
}

impl CellTracer {
    /// Returns the number of elements.
    pub fn element_count(&self) -> usize {
        self.tables.triangles.last().map_or(0, |last| last.first_element + last.elements()) as usize
    }

    /// Returns the element at a hit, or `None` on a back side without elements.
    pub fn element_at(&self, hit: &CellHit) -> Option<u32> {
        self.tables.triangles[hit.triangle as usize].element_at(hit.barycentric, hit.back)
    }

    /// Returns the element at a point of one side of a mesh triangle, or `None` without elements there. `barycentric`
    /// holds weights of the second and third corner in the mesh.
    pub(crate) fn element_on(
        &self,
        scene: &Scene,
        source: (SurfaceId, u32),
        barycentric: Vec2,
        back: bool,
    ) -> Option<u32> {
        let triangle = self.sources.binary_search(&source).ok()?;
        let barycentric = swap_if_mirrored(scene, source.0, barycentric);
        self.tables.triangles[triangle].element_at(barycentric, back)
    }

    /// Iterates over all elements in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = FinePart> {
        self.tables.triangles.iter().zip(0..).flat_map(|(record, triangle)| {
            (0..record.elements()).map(move |index| record.part(triangle, record.first_element + index))
        })
    }
}

/// Converts weights of the second and third corner between a fine triangle and its mesh triangle, in either direction.
/// Fine triangles of mirrored surfaces have reversed corners.
pub(crate) fn swap_if_mirrored(scene: &Scene, surface: SurfaceId, weights: Vec2) -> Vec2 {
    if scene.surface(surface).is_mirrored() { Vec2::new(weights.x, 1.0 - weights.element_sum()) } else { weights }
}

impl FineRecord {
    pub fn triangle(&self) -> Triangle {
        Triangle { corners: [self.a, self.b, self.c].map(Vec3::from_array) }
    }

    /// Returns the element at a point of one side, or `None` on a back side without elements.
    pub fn element_at(&self, barycentric: Vec2, back: bool) -> Option<u32> {
        let side = u32::from(back);
        let first = self.first_element + side * self.divisions * self.divisions;
        (side < self.sides).then(|| first + self.part_at(barycentric))
    }

    /// Returns the place of an element of this triangle, which has the index `triangle`.
    pub fn part(&self, triangle: u32, element: u32) -> FinePart {
        let (index, parts) = (element - self.first_element, self.divisions * self.divisions);
        FinePart { triangle, part: index % parts, back: index >= parts }
    }

    /// Returns the part that contains a point, given by its barycentric coordinates in the triangle.
    fn part_at(&self, barycentric: Vec2) -> u32 {
        let last = self.divisions - 1;
        let place = barycentric * self.divisions as f32;
        let i = (place.x as u32).min(last);
        let j = (place.y as u32).min(last - i);
        let is_upside_down = (place.x - i as f32) + (place.y - j as f32) > 1.0 && i + j < last;
        let (i, j) = if is_upside_down { (last - i, last - j) } else { (i, j) };
        j * self.divisions + i
    }

    /// Converts weights of the second and third corner from a part to the whole triangle.
    pub fn in_part(&self, part: u32, weights: Vec2) -> Vec2 {
        let last = self.divisions - 1;
        let (i, j) = (part % self.divisions, part / self.divisions);
        let place = if i + j > last {
            Vec2::new((last - i + 1) as f32, (last - j + 1) as f32) - weights
        } else {
            Vec2::new(i as f32, j as f32) + weights
        };
        place / self.divisions as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sampling::uniform_triangle;
    use crate::geometry::sobol::OwenSobol;

    #[test]
    fn every_point_of_a_part_is_in_it_and_parts_fill_the_triangle() {
        for divisions in [1, 2, 7] {
            let record = FineRecord {
                a: [0.0; 3],
                divisions,
                b: [1.0, 0.0, 0.0],
                first_element: 0,
                c: [0.0, 1.0, 0.0],
                sides: 1,
            };
            let points = OwenSobol::new(4);
            let mut sum = Vec2::ZERO;
            for part in 0..divisions * divisions {
                sum += record.in_part(part, Vec2::splat(1.0 / 3.0));
                for index in 0..100 {
                    let [u, v, ..] = points.point(index);
                    // Points at the edges are avoided, because rounding decides their part.
                    let weights = uniform_triangle(Vec2::new(u, v)) * 0.98 + 0.005;
                    let at = record.in_part(part, weights);
                    assert!(at.min_element() > 0.0 && at.element_sum() < 1.0);
                    assert_eq!(record.part_at(at), part);
                }
            }
            assert!((sum / (divisions * divisions) as f32 - 1.0 / 3.0).length() < 1e-6);
        }
    }
}
