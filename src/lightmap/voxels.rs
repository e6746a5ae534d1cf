//! Irradiance volumes: light in the space between surfaces.

use core::f32::consts::PI;

use glam::{IVec3, UVec3, Vec3};
use serde::{Deserialize, Serialize};

use super::{Page, PageSize};
use crate::geometry::Aabb;

/// Irradiance volume: a box of voxels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Voxels {
    /// World-space box, in meters.
    pub bounds: Aabb,
    /// Number of voxels along each axis.
    pub count: UVec3,
    /// Irradiance / pi of each voxel in cd/m2, for surfaces that face each of [`Voxels::DIRECTIONS`]. Voxels are
    /// ordered with x fastest, then y, then z.
    #[serde(with = "crate::raw_values")]
    pub values: Vec<[Vec3; 6]>,
}

impl Voxels {
    /// Directions of a voxel in Bevy's order: along each axis, then against it.
    pub const DIRECTIONS: [Vec3; 6] = [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z];

    /// Returns the coordinates of `count` voxels, in storage order.
    pub fn cells(count: UVec3) -> impl Iterator<Item = UVec3> {
        (0..count.z).flat_map(move |z| (0..count.y).flat_map(move |y| (0..count.x).map(move |x| UVec3::new(x, y, z))))
    }

    /// Returns the storage index of a voxel.
    pub fn index(&self, cell: UVec3) -> usize {
        (cell.x + self.count.x * (cell.y + self.count.y * cell.z)) as usize
    }

    /// Returns the irradiance of a surface with the given unit normal, in lux, filtered as by Bevy. `None` outside the box.
    pub fn irradiance_at(&self, position: Vec3, normal: Vec3) -> Option<Vec3> {
        let Aabb { min, max } = self.bounds;
        if !(position.cmpge(min).all() && position.cmple(max).all()) {
            return None;
        }
        let last = self.count.as_vec3() - 1.0;
        let place = ((position - min) / (max - min) * self.count.as_vec3() - 0.5).clamp(Vec3::ZERO, last);
        let corner = place.floor();
        let fraction = place - corner;
        let faced: [f32; 6] = Self::DIRECTIONS.map(|direction| direction.dot(normal).max(0.0).powi(2));
        let mut sum = Vec3::ZERO;
        for step in
            [0.0, 1.0].into_iter().flat_map(|z| [0.0, 1.0].map(|y| [0.0, 1.0].map(|x| Vec3::new(x, y, z)))).flatten()
        {
            let share = (1.0 - step) * (1.0 - fraction) + step * fraction;
            let cell = (corner + step).min(last).as_uvec3();
            let values = self.values[self.index(cell)];
            let irradiance: Vec3 = values.iter().zip(faced).map(|(value, weight)| value * weight).sum();
            sum += irradiance * share.element_product();
        }
        Some(sum * PI)
    }

    /// Returns the size of the page that holds `count` voxels; `None` if no texture can have that size.
    pub fn page_size(count: UVec3) -> Option<PageSize> {
        let (width, height) = (count.x.checked_mul(count.z)?, count.y.checked_mul(6)?);
        Some(PageSize { width, height }).filter(PageSize::is_possible)
    }

    /// Returns the values as a page: slices along z from left to right, directions from top to bottom.
    pub(super) fn page(&self) -> Option<Page> {
        let mut page = Page::new(Self::page_size(self.count)?);
        for (cell, texels) in Self::cells(self.count).zip(&self.values) {
            for (direction, texel) in texels.iter().enumerate() {
                let place = self.place_on_page(cell, direction);
                page.texels[place] = *texel;
            }
        }
        Some(page)
    }

    /// Restores voxels from a page made by [`page`](Self::page).
    pub(super) fn from_page(bounds: Aabb, count: UVec3, page: &Page) -> Self {
        let mut voxels = Self { bounds, count, values: Vec::new() };
        let texels = |cell| core::array::from_fn(|direction| page.texels[voxels.place_on_page(cell, direction)]);
        voxels.values = Self::cells(count).map(texels).collect();
        voxels
    }

    fn place_on_page(&self, cell: UVec3, direction: usize) -> usize {
        let (column, row) = (cell.x + cell.z * self.count.x, cell.y + direction as u32 * self.count.y);
        column as usize + row as usize * self.count.x as usize * self.count.z as usize
    }

    /// Fills voxels inside geometry with the mean of their neighbors, ring by ring. So linear filtering leaks no
    /// darkness out of walls.
    pub fn fill_invalid(&mut self, mut is_known: Vec<bool>) {
        if !is_known.contains(&true) {
            return;
        }
        while is_known.contains(&false) {
            let known = is_known.clone();
            for cell in Self::cells(self.count) {
                let index = self.index(cell);
                if known[index] {
                    continue;
                }
                let neighbors: Vec<usize> =
                    self.neighbors(cell).map(|near| self.index(near)).filter(|&near| known[near]).collect();
                if neighbors.is_empty() {
                    continue;
                }
                let share = 1.0 / neighbors.len() as f32;
                self.values[index] = core::array::from_fn(|direction| {
                    neighbors.iter().map(|&near| self.values[near][direction]).sum::<Vec3>() * share
                });
                is_known[index] = true;
            }
        }
    }

    fn neighbors(&self, cell: UVec3) -> impl Iterator<Item = UVec3> + use<> {
        let count = self.count.as_ivec3();
        Self::DIRECTIONS
            .into_iter()
            .map(move |direction| cell.as_ivec3() + direction.as_ivec3())
            .filter(move |near| near.cmpge(IVec3::ZERO).all() && near.cmplt(count).all())
            .map(|near| near.as_uvec3())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irradiance_is_filtered_between_voxels_and_faces_one_way() {
        let bounds = Aabb { min: Vec3::ZERO, max: Vec3::new(2.0, 1.0, 1.0) };
        let lit_from_above = |value: f32| [0.0, 0.0, value, 0.0, 0.0, 0.0].map(Vec3::splat);
        let values = vec![lit_from_above(1.0), lit_from_above(3.0)];
        let voxels = Voxels { bounds, count: UVec3::new(2, 1, 1), values };
        let at = |x: f32, normal: Vec3| voxels.irradiance_at(Vec3::new(x, 0.5, 0.5), normal).map(|found| found.x / PI);
        assert_eq!([0.25, 0.5, 1.0, 1.5, 2.0].map(|x| at(x, Vec3::Y)), [1.0, 1.0, 2.0, 3.0, 3.0].map(Some));
        assert_eq!((at(1.0, Vec3::NEG_Y), at(2.5, Vec3::Y)), (Some(0.0), None));
        // The squared cosines of all six directions add up to one.
        let slanted = at(1.0, Vec3::new(1.0, 1.0, 0.0).normalize()).unwrap();
        assert!((slanted - 1.0).abs() < 1e-6, "{slanted}");
    }

    fn two_by_two() -> Voxels {
        let bounds = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
        let values = (0..8).map(|index| [Vec3::splat(index as f32); 6]).collect();
        Voxels { bounds, count: UVec3::splat(2), values }
    }

    #[test]
    fn buried_voxels_take_the_mean_of_their_neighbors() {
        let mut voxels = two_by_two();
        // Voxel 0 touches 1, 2 and 4; voxel 7 touches 3, 5 and 6.
        voxels.fill_invalid((0..8).map(|index| index != 0).collect());
        assert!((voxels.values[0][0].x - 7.0 / 3.0).abs() < 1e-6);
    }

    #[test]
    fn a_picture_gives_back_every_voxel() {
        let count = UVec3::new(2, 3, 4);
        let value = |index: usize| core::array::from_fn(|direction| Vec3::splat((index * 6 + direction) as f32));
        let bounds = Aabb { min: Vec3::NEG_ONE, max: Vec3::ONE };
        let voxels = Voxels { bounds, count, values: (0..24).map(value).collect() };
        let page = voxels.page().unwrap();
        assert_eq!((page.width, page.height), (8, 18));
        assert_eq!(Voxels::from_page(bounds, count, &page), voxels);
    }
}
