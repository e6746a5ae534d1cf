//! Rays through a partition, which is all that speeds them up (section 5.4 of the thesis).
//!
//! A ray goes from cell to cell. In each it is tested against all coarse surfaces there, one by one; the first cell in
//! which it meets one holds the nearest. Where it meets none, the border that it leaves through says which cell is next:
//! a face of a cell has one border for each cell behind it. All is in plain tables of single precision, so that a shader
//! does the same (`shaders/cells.wgsl`).

mod build;
mod fine;
mod records;
mod trace;

use glam::Vec2;

use super::{CellId, Partition, PartitionError, PartitionSettings, Polygons, Simplified};
use crate::geometry::SurfaceId;
use crate::scene::{Scene, Sides};

pub(crate) use fine::FinePart;
pub use trace::CellWork;

pub(crate) use records::{BorderRecord, CellRecord, FineRecord, SurfaceRecord};

/// A partition, and in each cell the coarse surfaces that rays are to be tested against.
pub struct CellTracer {
    partition: Partition,
    simplified: Simplified,
    /// Where each fine triangle comes from.
    sources: Vec<(SurfaceId, u32)>,
    pub(crate) tables: Tables,
}

/// What rays need, as shaders see it.
pub(crate) struct Tables {
    pub cells: Vec<CellRecord>,
    /// The borders of each face of each cell, grouped.
    pub borders: Vec<BorderRecord>,
    pub surfaces: Vec<SurfaceRecord>,
    /// The surfaces of each cell, and for each surface its lattice: where the fine triangles of each field are listed.
    pub indices: Vec<u32>,
    /// The rims of all surfaces.
    pub corners: Vec<[f32; 4]>,
    pub triangles: Vec<FineRecord>,
}

/// What a ray met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellHit {
    /// Distance along the ray, in units of its direction.
    pub t: f32,
    /// The coarse surface.
    pub surface: u32,
    /// The fine triangle, by its number in [`CellTracer::source`].
    pub triangle: u32,
    /// Weights of the fine triangle's second and third corner.
    pub barycentric: Vec2,
    /// The ray came from behind.
    pub back: bool,
}

/// How fine a scene is for a [`CellTracer`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fineness {
    /// Normals that differ by less are merged into one coarse surface; zero merges nothing.
    pub threshold: f64,
    /// Triangles with a larger area, in square metres, count as several elements.
    pub largest_element: f32,
}

impl Default for Fineness {
    fn default() -> Self {
        Self { threshold: 1e-3, largest_element: f32::INFINITY }
    }
}

impl Fineness {
    /// More elements than this are refused: some five gigabytes of them, and of what is counted at each.
    pub const MOST_ELEMENTS: u32 = 1 << 26;

    /// Finds values that no scene can be divided by.
    ///
    /// # Errors
    /// Names what is wrong, and what may be asked for.
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
    /// Simplifies what takes part in a bake, and cuts what that leaves into cells.
    ///
    /// Materials count as opaque.
    ///
    /// # Errors
    /// When there is nothing to cut, or not into so many cells of that kind, or there would be too many elements.
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

    /// The cells.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }

    /// The coarse surfaces.
    pub fn simplified(&self) -> &Simplified {
        &self.simplified
    }

    /// The surface of the scene, and the triangle of its mesh, that a fine triangle is.
    pub fn source(&self, triangle: u32) -> (SurfaceId, u32) {
        self.sources[triangle as usize]
    }

    /// How many coarse surfaces are listed in each cell.
    pub fn surfaces_in(&self, cell: CellId) -> usize {
        let cell = &self.tables.cells[cell.index()];
        (cell.end_surface - cell.first_surface) as usize
    }
}
