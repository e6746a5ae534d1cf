//! Sectors: regions of space between the planes of a partition.

use glam::Vec3;

use crate::partition::{Border, Partition};

/// Sector of a point: the number of planes below the point on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sector([u16; 3]);

/// Planes of a partition, each extended through the whole scene.
#[derive(Clone, Debug)]
pub struct Sectors {
    planes: [Vec<f32>; 3],
}

impl Sectors {
    /// Collects the planes on which cells of a partition meet.
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

    /// Returns the sector of a point. A point in a plane counts as above that plane.
    pub fn at(&self, point: Vec3) -> Sector {
        Sector([0, 1, 2].map(|axis| self.planes[axis].partition_point(|plane| *plane <= point[axis]) as u16))
    }
}
