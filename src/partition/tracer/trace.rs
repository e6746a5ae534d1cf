//! Tracing of one ray; the CPU counterpart of `cells.wgsl`, operation for operation.

use glam::{Vec2, Vec3};

use super::build::across;
use super::records::{BorderRecord, CellRecord, NONE, SurfaceRecord};
use super::{CellHit, CellTracer, Tables};
use crate::accel::twin_gap;
use crate::geometry::{Ray, WatertightRay};
use crate::partition::CellId;

/// Work done to trace one ray.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellWork {
    /// Number of cells visited.
    pub cells: u32,
    /// Number of coarse surfaces tested.
    pub surfaces: u32,
    /// Number of borders tested to find the next cells.
    pub borders: u32,
}

/// Exit of a ray from a cell.
#[derive(Clone, Copy)]
struct Exit {
    t: f32,
    /// Index of the face, in the order of [`Face::ALL`](crate::geometry::Face::ALL).
    face: usize,
}

impl CellTracer {
    /// Returns the closest hit of a ray, and the work done to find it.
    pub fn closest(&self, ray: &Ray) -> (Option<CellHit>, CellWork) {
        match self.partition.traverse(ray).next() {
            Some(first) => self.closest_from(ray, first.cell),
            None => (None, CellWork::default()),
        }
    }

    /// Returns the closest hit of a ray that starts in a known cell, and the work done.
    pub fn closest_from(&self, ray: &Ray, first: CellId) -> (Option<CellHit>, CellWork) {
        let prepared = WatertightRay::new(ray);
        let mut work = CellWork::default();
        let mut cell = first.0;
        // Backs count a little farther away, so that the front wins of two faces in one place.
        let (mut closest, mut nearest) = ((ray.t_max, NONE), f32::MAX);
        // No ray enters a cell twice.
        while (work.cells as usize) < self.tables.cells.len() {
            let record = &self.tables.cells[cell as usize];
            let exit = record.exit(ray.origin, ray.direction);
            // Hits beyond the last cell are due to rounding, and count.
            let is_last = record.borders[exit.face] == record.borders[exit.face + 1];
            let limit = if is_last { f32::MAX } else { exit.t }.min(ray.t_max);
            work.cells += 1;
            for &surface in &self.tables.indices[record.first_surface as usize..record.end_surface as usize] {
                work.surfaces += 1;
                let Some((t, back)) = self.tables.surfaces[surface as usize].reach(ray) else { continue };
                let counted = if back { t + twin_gap(ray, t) } else { t };
                let is_nearer = counted < nearest || (counted == nearest && surface < closest.1);
                if t >= ray.t_min && t <= limit && is_nearer && self.tables.encloses(surface, &prepared) {
                    (closest, nearest) = ((t, surface), counted);
                }
            }
            if closest.1 != NONE || is_last || exit.t >= ray.t_max {
                break;
            }
            cell = self.tables.behind(record, exit, ray, &mut work);
        }
        let hit = (closest.1 != NONE).then(|| self.tables.hit(ray, closest.1, closest.0));
        (hit, work)
    }

    /// Returns the cell that contains the point `to`, searched from a nearby point in a known cell.
    pub(crate) fn cell_towards(&self, from: Vec3, to: Vec3, cell: u32) -> u32 {
        let mut cell = cell;
        let direction = to - from;
        for _ in 0..self.tables.cells.len() {
            let record = &self.tables.cells[cell as usize];
            let exit = record.exit(from, direction);
            if exit.t >= 1.0 {
                break;
            }
            let ray = Ray::new(from, direction);
            match self.tables.behind(record, exit, &ray, &mut CellWork::default()) {
                NONE => break,
                next => cell = next,
            }
        }
        cell
    }
}

impl CellRecord {
    fn exit(&self, origin: Vec3, direction: Vec3) -> Exit {
        let mut exit = Exit { t: f32::MAX, face: 0 };
        for axis in 0..3 {
            let is_upper = direction[axis] > 0.0;
            let position = if is_upper { self.high[axis] } else { self.low[axis] };
            let t = (position - origin[axis]) / direction[axis];
            if direction[axis] != 0.0 && t < exit.t {
                exit = Exit { t, face: 2 * axis + usize::from(is_upper) };
            }
        }
        exit
    }
}

impl Tables {
    /// Returns the cell behind the border through which a ray leaves a cell, or `NONE` at the end of the partition.
    fn behind(&self, cell: &CellRecord, exit: Exit, ray: &Ray, work: &mut CellWork) -> u32 {
        let axis = (exit.face / 2) as u8;
        let at = across(ray.origin, axis) + across(ray.direction, axis) * exit.t;
        let (mut next, mut nearest) = (NONE, f32::MAX);
        for border in &self.borders[cell.borders[exit.face] as usize..cell.borders[exit.face + 1] as usize] {
            work.borders += 1;
            let distance = border.distance(at);
            if distance < nearest {
                (next, nearest) = (border.beyond, distance);
            }
            if distance <= 0.0 {
                break;
            }
        }
        next
    }

    /// Returns true if a ray passes through a surface's outline, by its nonzero winding number. Contributions of shared
    /// edges cancel bit for bit, so no ray slips between adjacent surfaces.
    fn encloses(&self, surface: u32, ray: &WatertightRay) -> bool {
        let surface = &self.surfaces[surface as usize];
        let rim = &self.corners[surface.first_corner as usize..surface.end_corner as usize];
        let sheared = |corner: &[f32; 4]| ray.sheared(Vec3::new(corner[0], corner[1], corner[2])).truncate();
        let mut winding = 0;
        let mut from = rim.last().map(sheared).unwrap_or_default();
        for corner in rim {
            let to = sheared(corner);
            let (starts_above, ends_above) = (from.y > 0.0, to.y > 0.0);
            if starts_above != ends_above {
                let side = edge(from, to);
                winding += i32::from(ends_above && side > 0.0) - i32::from(starts_above && side < 0.0);
            }
            from = to;
        }
        winding != 0
    }

    /// Finds the fine triangle at a hit: among the candidates of the grid cell, the one that contains the point most
    /// deeply.
    fn hit(&self, ray: &Ray, surface: u32, t: f32) -> CellHit {
        let record = &self.surfaces[surface as usize];
        let axis = record.axis as u8;
        let at = across(ray.at(t), axis);
        let place = (at - Vec2::from_array(record.lattice_low)) * Vec2::from_array(record.lattice_scale);
        let [columns, rows] = record.lattice_size;
        let field = (place.y as u32).min(rows - 1) * columns + (place.x as u32).min(columns - 1);
        let ends = (record.lattice + field) as usize;
        let (mut triangle, mut deepest, mut barycentric) = (0, f32::MIN, Vec2::ZERO);
        for &fine in &self.indices[self.indices[ends] as usize..self.indices[ends + 1] as usize] {
            let weights = weights(at, self.triangles[fine as usize].seen_along(axis));
            let depth = weights.min_element().min(1.0 - weights.x - weights.y);
            if depth > deepest {
                (triangle, deepest, barycentric) = (fine, depth, weights);
            }
        }
        let back = Vec3::from_array(record.normal).dot(ray.direction) > 0.0;
        CellHit { t, surface, triangle, barycentric, back }
    }
}

impl BorderRecord {
    /// Returns the Manhattan distance of a point from the border's rectangle, in meters.
    fn distance(&self, at: Vec2) -> f32 {
        let outside = (Vec2::from_array(self.low) - at).max(at - Vec2::from_array(self.high)).max(Vec2::ZERO);
        outside.x + outside.y
    }
}

impl SurfaceRecord {
    /// Returns the parameter at which a ray meets the plane, and whether it meets the back; `None` for parallel rays.
    fn reach(&self, ray: &Ray) -> Option<(f32, bool)> {
        let normal = Vec3::from_array(self.normal);
        let slope = normal.dot(ray.direction);
        (slope != 0.0).then(|| (normal.dot(Vec3::from_array(self.anchor) - ray.origin) / slope, slope > 0.0))
    }
}

/// Returns a signed area that tells on which side of the origin the edge from p to q passes.
fn edge(p: Vec2, q: Vec2) -> f32 {
    p.x * q.y - p.y * q.x
}

/// Returns the weights of a triangle's second and third corner at a point.
fn weights(at: Vec2, [a, b, c]: [Vec2; 3]) -> Vec2 {
    let (ab, ac, ap) = (b - a, c - a, at - a);
    Vec2::new(ap.perp_dot(ac), ab.perp_dot(ap)) / ab.perp_dot(ac)
}
