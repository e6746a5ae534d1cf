//! Light in the air between the surfaces.

use glam::{IVec3, UVec3, Vec3};

use super::{Page, PageSize};
use crate::geometry::Aabb;

/// Voxels in a box: an irradiance volume.
#[derive(Clone, Debug, PartialEq)]
pub struct Voxels {
    /// The box, world space, metres.
    pub bounds: Aabb,
    /// How many voxels stand along each axis.
    pub count: UVec3,
    /// For each voxel, x fastest, then y, then z: irradiance / pi in cd/m2 of a surface that faces each of
    /// [`Voxels::DIRECTIONS`].
    pub values: Vec<[Vec3; 6]>,
}

impl Voxels {
    /// The directions of a voxel, as Bevy keeps them: along an axis, then against it.
    pub const DIRECTIONS: [Vec3; 6] = [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z];

    /// The places of `count` voxels, in order.
    pub fn cells(count: UVec3) -> impl Iterator<Item = UVec3> {
        (0..count.z).flat_map(move |z| (0..count.y).flat_map(move |y| (0..count.x).map(move |x| UVec3::new(x, y, z))))
    }

    /// Where a voxel stands in the values.
    pub fn index(&self, cell: UVec3) -> usize {
        (cell.x + self.count.x * (cell.y + self.count.y * cell.z)) as usize
    }

    /// Size of the picture that holds the values of `count` voxels; `None` for sizes that no picture has.
    pub(super) fn page_size(count: UVec3) -> Option<PageSize> {
        let (width, height) = (count.x.checked_mul(count.z)?, count.y.checked_mul(6)?);
        (width > 0 && height > 0).then_some(PageSize { width, height })
    }

    /// The values as a picture: slices along z from left to right, directions from top to bottom.
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

    /// Voxels from the picture that [`page`](Self::page) made.
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

    /// Gives voxels inside of walls the mean of their neighbours, ring by ring, so that linear filtering drags no
    /// darkness out of walls.
    pub fn fill_buried(&mut self, mut is_known: Vec<bool>) {
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
                let neighbours: Vec<usize> =
                    self.neighbours(cell).map(|near| self.index(near)).filter(|&near| known[near]).collect();
                if neighbours.is_empty() {
                    continue;
                }
                let share = 1.0 / neighbours.len() as f32;
                self.values[index] = core::array::from_fn(|direction| {
                    neighbours.iter().map(|&near| self.values[near][direction]).sum::<Vec3>() * share
                });
                is_known[index] = true;
            }
        }
    }

    fn neighbours(&self, cell: UVec3) -> impl Iterator<Item = UVec3> + use<> {
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

    fn two_by_two() -> Voxels {
        let bounds = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
        let values = (0..8).map(|index| [Vec3::splat(index as f32); 6]).collect();
        Voxels { bounds, count: UVec3::splat(2), values }
    }

    #[test]
    fn buried_voxels_take_the_mean_of_their_neighbours() {
        let mut voxels = two_by_two();
        // Voxel 0 touches 1, 2 and 4; voxel 7 touches 3, 5 and 6.
        voxels.fill_buried((0..8).map(|index| index != 0).collect());
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
