//! Construction of the tracer's tables.

use glam::{DVec3, Vec2, Vec3};

use super::records::{BorderRecord, CellRecord, FineRecord, SurfaceRecord};
use super::{Fineness, Simplified, Tables};
use crate::geometry::clip::{Corner, SutherlandHodgman, vector_area};
use crate::geometry::{Aabb, Face};
use crate::partition::distribute::PolygonRegion;
use crate::partition::{CellId, Partition, PartitionError, Polygons};

/// Margin within which surfaces near a cell count as inside, relative to the largest coordinate. Larger than the
/// rounding error of hit points.
const MARGIN: f32 = 1.0 / 65_536.0;

/// Maximum number of grid cells of a surface's lookup grid. Cells of larger surfaces list several triangles each.
const MAX_FIELDS: u32 = 1 << 16;

pub(super) fn tables(partition: &Partition, simplified: &Simplified, triangles: Vec<FineRecord>) -> Tables {
    let mut tables = Tables {
        cells: Vec::new(),
        borders: Vec::new(),
        surfaces: Vec::new(),
        indices: Vec::new(),
        corners: Vec::new(),
        triangles,
    };
    for (cell, surfaces) in partition.ids().zip(surfaces_near(partition, simplified.surfaces())) {
        tables.add_cell(partition, cell, &surfaces);
    }
    for surface in 0..simplified.surfaces().len() {
        tables.add_surface(simplified.surfaces().corners(surface), simplified.members(surface));
    }
    tables
}

/// Returns all fine triangles, each divided into elements of at most `largest_element` square meters.
pub(super) fn triangles(
    polygons: &Polygons,
    largest_element: f32,
    has_back: impl Fn(usize) -> bool,
) -> Result<Vec<FineRecord>, PartitionError> {
    let max = Fineness::MAX_ELEMENTS;
    let mut elements: u64 = 0;
    let record = |polygon: usize| {
        let [a, b, c] = [0, 1, 2].map(|corner| polygons.corners(polygon)[corner].to_array());
        // Both halves of a square must have equally many elements, however their areas are rounded.
        let parts = polygons.area(polygon) / f64::from(largest_element) * (1.0 - 1e-6);
        let divisions = (parts.sqrt().ceil() as u32).max(1);
        let sides = 1 + u32::from(has_back(polygon));
        let first_element = elements as u32;
        elements = elements.saturating_add(u64::from(divisions).pow(2).saturating_mul(u64::from(sides)));
        let is_room = elements <= u64::from(max);
        is_room
            .then_some(FineRecord { a, divisions, b, first_element, c, sides })
            .ok_or(PartitionError::TooManyElements { area: largest_element, max })
    };
    (0..polygons.len()).map(record).collect()
}

/// Returns the surfaces in each cell, including surfaces close enough for rounding to matter.
fn surfaces_near(partition: &Partition, surfaces: &Polygons) -> Vec<Vec<u32>> {
    let bounds = partition.bounds();
    let margin = Vec3::splat(bounds.min.abs().max(bounds.max.abs()).max_element() * MARGIN);
    let widened = |bounds: Aabb| Aabb { min: bounds.min - margin, max: bounds.max + margin };
    let mut near = vec![Vec::new(); partition.cells().len()];
    let mut clipper = SutherlandHodgman::default();
    for surface in 0..surfaces.len() {
        let corners = surfaces.with_attributes(surface, |_| ());
        partition.visit(&PolygonRegion::of_box(widened(surfaces.bounds_of(surface))), &mut |cell| {
            if !clipper.clip(&corners, &widened(partition.cell(cell))).is_empty() {
                near[cell.index()].push(surface as u32);
            }
        });
    }
    near
}

impl Tables {
    fn add_cell(&mut self, partition: &Partition, id: CellId, surfaces: &[u32]) {
        let Aabb { min, max } = partition.cell(id);
        let mut borders = [0; 8];
        for (face, start) in Face::ALL.into_iter().zip(&mut borders) {
            *start = self.borders.len() as u32;
            let of_face = partition.borders_of(id, face).iter().map(|border| &partition.borders()[border.index()]);
            self.borders.extend(of_face.map(|border| BorderRecord {
                low: across(border.rectangle.min, face.axis).to_array(),
                high: across(border.rectangle.max, face.axis).to_array(),
                beyond: border.beyond(id).0,
                padding: [0; 3],
            }));
        }
        borders[6] = self.borders.len() as u32;
        borders[7] = borders[6];
        let first_surface = self.indices.len() as u32;
        self.indices.extend(surfaces);
        let end_surface = self.indices.len() as u32;
        self.cells.push(CellRecord { low: min.to_array(), first_surface, high: max.to_array(), end_surface, borders });
    }

    fn add_surface(&mut self, rim: &[Vec3], members: &[u32]) {
        let corners: Vec<Corner> =
            rim.iter().map(|corner| Corner { position: corner.as_dvec3(), attribute: () }).collect();
        let normal = vector_area(&corners).normalize_or_zero().as_vec3();
        let anchor = corners.iter().map(|corner| corner.position).sum::<DVec3>() / corners.len() as f64;
        let axis = normal.abs().max_position() as u8;

        let fine: Vec<[Vec2; 3]> =
            members.iter().map(|&triangle| self.triangles[triangle as usize].seen_along(axis)).collect();
        let lattice = Lattice::around(&fine);
        let lists = lattice.lists(&fine);
        let first_corner = self.corners.len() as u32;
        self.corners.extend(rim.iter().map(|corner| corner.extend(0.0).to_array()));
        let record = SurfaceRecord {
            normal: normal.to_array(),
            first_corner,
            anchor: anchor.as_vec3().to_array(),
            end_corner: self.corners.len() as u32,
            lattice_low: lattice.low.to_array(),
            lattice_scale: lattice.scale.to_array(),
            lattice_size: lattice.size,
            lattice: self.indices.len() as u32,
            axis: u32::from(axis),
        };
        self.surfaces.push(record);
        let mut end = (self.indices.len() + lists.len() + 1) as u32;
        self.indices.push(end);
        for list in &lists {
            end += list.len() as u32;
            self.indices.push(end);
        }
        self.indices.extend(lists.iter().flatten().map(|&member| members[member as usize]));
    }
}

impl FineRecord {
    /// Returns the corners projected along an axis.
    pub(super) fn seen_along(&self, axis: u8) -> [Vec2; 3] {
        [self.a, self.b, self.c].map(|corner| across(Vec3::from_array(corner), axis))
    }
}

/// Returns the coordinates on the two axes that follow `axis` cyclically.
pub(super) fn across(point: Vec3, axis: u8) -> Vec2 {
    let axis = usize::from(axis);
    Vec2::new(point[(axis + 1) % 3], point[(axis + 2) % 3])
}

/// Lookup grid over a coarse surface, with about one grid cell per fine triangle.
struct Lattice {
    low: Vec2,
    scale: Vec2,
    size: [u32; 2],
}

impl Lattice {
    fn around(triangles: &[[Vec2; 3]]) -> Self {
        let corners = triangles.iter().flatten();
        let (low, high) = corners
            .fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |(low, high), corner| (low.min(*corner), high.max(*corner)));
        let extent = (high - low).max(Vec2::splat(f32::MIN_POSITIVE));
        let fields = (triangles.len() as u32).min(MAX_FIELDS);
        let columns = ((fields as f32 * extent.x / extent.y).sqrt().round() as u32).clamp(1, fields);
        let size = [columns, fields.div_ceil(columns)];
        Self { low, scale: Vec2::new(size[0] as f32, size[1] as f32) / extent, size }
    }

    /// Returns for each grid cell, in row-major order, the triangles that may cover a point of that cell. Cells without
    /// any list the nearest triangle.
    fn lists(&self, triangles: &[[Vec2; 3]]) -> Vec<Vec<u32>> {
        let [columns, rows] = self.size;
        let mut lists = vec![Vec::new(); (columns * rows) as usize];
        for (number, corners) in triangles.iter().enumerate() {
            let place = corners.map(|corner| (corner - self.low) * self.scale);
            let low = place[0].min(place[1]).min(place[2]) - ROUNDING;
            let high = place[0].max(place[1]).max(place[2]) + ROUNDING;
            let field = |at: f32, count: u32| (at as u32).min(count - 1);
            for row in field(low.y, rows)..=field(high.y, rows) {
                for column in field(low.x, columns)..=field(high.x, columns) {
                    lists[(row * columns + column) as usize].push(number as u32);
                }
            }
        }
        for (field, list) in lists.iter_mut().enumerate().filter(|(_, list)| list.is_empty()) {
            let place = Vec2::new((field as u32 % columns) as f32 + 0.5, (field as u32 / columns) as f32 + 0.5);
            let middle = self.low + place / self.scale;
            let distance = |number: &u32| {
                let [a, b, c] = triangles[*number as usize];
                ((a + b + c) / 3.0).distance_squared(middle)
            };
            list.extend((0..triangles.len() as u32).min_by(|a, b| distance(a).total_cmp(&distance(b))));
        }
        lists
    }
}

/// Rounding tolerance of a point's position, in grid cells.
const ROUNDING: f32 = 1e-2;
