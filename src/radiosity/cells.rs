//! Cells of neighboring elements with similar orientation.

use std::collections::HashMap;

use glam::{IVec3, Vec3};

use crate::lightmap::Elements;

/// Partition of all elements by position and orientation.
pub struct Cells {
    /// Cell of each element.
    pub of_element: Vec<u32>,
    /// Number of cells.
    count: usize,
}

impl Cells {
    /// Creates cells about `texels` texels wide, where `texels` is a power of two. Wider cells contain whole narrower
    /// ones.
    pub fn new(elements: &Elements, texels: f32) -> Self {
        let mut numbers = HashMap::new();
        let mut of_element = Vec::with_capacity(elements.len());
        for surface in elements.surface_offsets.windows(2).map(|ends| ends[0] as usize..ends[1] as usize) {
            let area: f32 = elements.area[surface.clone()].iter().sum();
            // Widths are powers of two, so that surfaces of similar texel density share cells.
            let texel = (area / surface.len().max(1) as f32).sqrt().max(f32::MIN_POSITIVE);
            let width = texels * libm::exp2f(libm::log2(f64::from(texel)).round() as f32);
            for element in surface {
                let place = (elements.center[element] / width).floor().as_ivec3();
                let key: (IVec3, u8, u32) = (place, facing(elements.geometric_normal[element]), width.to_bits());
                let next = numbers.len() as u32;
                of_element.push(*numbers.entry(key).or_insert(next));
            }
        }
        Self { count: numbers.len(), of_element }
    }

    /// Returns the elements of each cell, in ascending order.
    pub fn members(&self) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); self.count];
        for (element, &cell) in (0..).zip(&self.of_element) {
            members[cell as usize].push(element);
        }
        members
    }

    /// Returns the number of members of each cell, and the sum of their values.
    pub fn sums(&self, values: &[f32]) -> Vec<(u32, f32)> {
        let mut sums = vec![(0, 0.0); self.count];
        for (&cell, value) in self.of_element.iter().zip(values) {
            let (members, sum) = &mut sums[cell as usize];
            *members += 1;
            *sum += value;
        }
        sums
    }
}

/// Returns the index of the axis direction nearest to a normal: x, -x, y, -y, z, -z.
fn facing(normal: Vec3) -> u8 {
    let axis = normal.abs().max_position() as u8;
    2 * axis + u8::from(normal[axis as usize] < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radiosity::test_scene::{TestScene, gray};

    #[test]
    fn cells_hold_each_element_once_and_neighbors_that_face_alike() {
        let mut test = TestScene::default();
        test.room(Vec3::splat(2.0), 16, |_| gray(0.5));
        let elements = test.elements();
        let cells = Cells::new(&elements, 4.0);
        let members_of = |cell: usize| -> Vec<usize> {
            (0..elements.len()).filter(|&element| cells.of_element[element] as usize == cell).collect()
        };
        let mut seen = vec![0; elements.len()];
        for cell in 0..cells.count {
            let members = members_of(cell);
            for &element in &members {
                seen[element] += 1;
                let apart = elements.center[element] - elements.center[members[0]];
                assert!(apart.length() < 0.5 * 2.0f32.sqrt(), "cells are half a meter wide");
                let aligned = elements.geometric_normal[element].dot(elements.geometric_normal[members[0]]);
                assert!(aligned > 0.99);
            }
        }
        assert!(seen.iter().all(|&times| times == 1));
    }

    #[test]
    fn wide_cells_hold_whole_narrow_ones_also_of_surfaces_between_two_widths() {
        let mut test = TestScene::default();
        // Texels of the second surface are sqrt(1/8) m wide, equally near to 1/2 and 1/4.
        for (corner, v) in [(Vec3::ZERO, Vec3::X), (Vec3::X, Vec3::X * 0.5), (Vec3::X * 1.5, Vec3::X * 2.0)] {
            test.quad(corner, Vec3::Z, v, [2; 2], gray(0.5));
        }
        let elements = test.elements();
        let [narrow, wide] = [4.0, 16.0].map(|texels| Cells::new(&elements, texels).of_element);
        for (index, cell) in narrow.iter().enumerate() {
            let first = narrow.iter().position(|other| other == cell).unwrap();
            assert_eq!(wide[index], wide[first], "{index} and {first} share a narrow cell");
        }
    }
}
