//! Ray tracing through a partition, without any other acceleration structure (thesis section 5.4).
//!
//! A ray walks from cell to cell, and is tested against all coarse surfaces of each cell. The first cell with a hit
//! holds the closest hit. Otherwise the border through which the ray leaves gives the next cell. All data lie in plain
//! single-precision tables, so that `shaders/partition/cells.wgsl` can do the same.

mod build;
mod fine;
mod records;
mod trace;

use glam::Vec2;

use super::{CellId, Partition, PartitionError, PartitionSettings, Polygons, Simplified};
use crate::geometry::SurfaceId;
use crate::scene::{Scene, Sides};

pub(crate) use fine::{FinePart, swap_if_mirrored};
pub use trace::CellWork;

pub(crate) use records::{BorderRecord, CellRecord, FineRecord, SurfaceRecord};

/// Partition with the coarse surfaces of each cell, prepared for ray tests.
pub struct CellTracer {
    partition: Partition,
    simplified: Simplified,
    /// Surface and mesh triangle of each fine triangle.
    sources: Vec<(SurfaceId, u32)>,
    pub(crate) tables: Tables,
}

/// Tables for tracing, in the layout of the shaders.
pub(crate) struct Tables {
    pub cells: Vec<CellRecord>,
    /// Borders, grouped by cell and face.
    pub borders: Vec<BorderRecord>,
    pub surfaces: Vec<SurfaceRecord>,
    /// Surface indices of each cell, then the lookup grid of each surface.
    pub indices: Vec<u32>,
    /// Outline corners of all surfaces.
    pub corners: Vec<[f32; 4]>,
    pub triangles: Vec<FineRecord>,
}

/// Hit of a ray on a coarse surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellHit {
    /// Distance along the ray, in units of its direction.
    pub t: f32,
    /// Index of the coarse surface.
    pub surface: u32,
    /// Index of the fine triangle; see [`CellTracer::source`].
    pub triangle: u32,
    /// Weights of the fine triangle's second and third corner.
    pub barycentric: Vec2,
    /// True if the ray hit the back side.
    pub back: bool,
}

/// Level of detail of a [`CellTracer`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fineness {
    /// Distance of unit normals below which triangles are merged into one coarse surface. Zero merges nothing. Default
    /// 1e-3.
    pub threshold: f64,
    /// Area above which triangles are divided into several elements, in square meters. Default infinite.
    pub largest_element: f32,
}

impl Default for Fineness {
    fn default() -> Self {
        Self { threshold: 1e-3, largest_element: f32::INFINITY }
    }
}

impl Fineness {
    /// Maximum number of elements, about five gigabytes with their accumulators.
    pub const MAX_ELEMENTS: u32 = 1 << 26;

    /// Checks for values that fit no scene.
    ///
    /// # Errors
    /// Returns an error that names the invalid value and the valid range.
    pub fn check(&self) -> Result<(), PartitionError> {
        if self.threshold.is_nan() || self.threshold < 0.0 {
            return Err(PartitionError::Threshold(self.threshold));
        }
        if self.largest_element.is_nan() || self.largest_element <= 0.0 {
            return Err(PartitionError::LargestElement(self.largest_element));
        }
        Ok(())
    }
}

impl CellTracer {
    /// Simplifies the surfaces in the bake, and partitions the result into cells.
    ///
    /// All materials count as opaque.
    ///
    /// # Errors
    /// Returns an error if there is nothing to cut, or if the settings do not fit the scene. Too many elements are an
    /// error too.
    pub fn new(scene: &Scene, fineness: &Fineness, settings: &PartitionSettings) -> Result<Self, PartitionError> {
        fineness.check()?;
        let (polygons, sources) = Polygons::of_scene(scene);
        let owners: Vec<u32> = sources.iter().map(|(surface, _)| surface.0).collect();
        let has_back = |polygon: usize| scene.surface(sources[polygon].0).sides == Sides::Both;
        let triangles = build::triangles(&polygons, fineness.largest_element, has_back)?;
        let simplified = Simplified::new(&polygons, &owners, fineness.threshold);
        let partition = Partition::new(simplified.surfaces(), settings)?;
        let tables = build::tables(&partition, &simplified, triangles);
        Ok(Self { partition, simplified, sources, tables })
    }

    /// Returns the partition.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }

    /// Returns the coarse surfaces.
    pub fn simplified(&self) -> &Simplified {
        &self.simplified
    }

    /// Returns the scene surface and mesh triangle of a fine triangle.
    pub fn source(&self, triangle: u32) -> (SurfaceId, u32) {
        self.sources[triangle as usize]
    }

    /// Returns the number of coarse surfaces listed in a cell.
    pub fn surfaces_in(&self, cell: CellId) -> usize {
        let cell = &self.tables.cells[cell.index()];
        (cell.end_surface - cell.first_surface) as usize
    }
}
