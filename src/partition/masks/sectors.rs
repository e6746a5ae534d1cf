//! Which points are on the same sides of all planes.

use glam::Vec3;

use crate::partition::{Border, Partition};

/// Where a point is among the planes of a partition, on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sector([u16; 3]);

/// All planes that cut a partition, each as if it cut the whole scene.
#[derive(Clone, Debug)]
pub struct Sectors {
    planes: [Vec<f32>; 3],
}

impl Sectors {
    /// The planes that the cells of a partition meet at.
    pub fn new(partition: &Partition) -> Self {
        let planes = [0, 1, 2].map(|axis| {
            let on_axis = |border: &&Border| usize::from(border.axis) == axis;
            let mut planes: Vec<f32> =
                partition.borders().iter().filter(on_axis).map(|border| border.rectangle.min[axis]).collect();
            planes.sort_by(f32::total_cmp);
            planes.dedup();
            planes
        });
        Self { planes }
    }

    /// The sector of a point; a point in a plane is above it.
    pub fn at(&self, point: Vec3) -> Sector {
        Sector([0, 1, 2].map(|axis| self.planes[axis].partition_point(|plane| *plane <= point[axis]) as u16))
    }
}
