//! Following one ray: the twin of `cells.wgsl`, operation for operation.

use glam::{Vec2, Vec3};

use super::build::across;
use super::records::{BorderRecord, CellRecord, NONE, SurfaceRecord};
use super::{CellHit, CellTracer, Tables};
use crate::geometry::{Ray, WatertightRay};
use crate::partition::CellId;

/// What following a ray took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellWork {
    /// Cells that it went through.
    pub cells: u32,
    /// Coarse surfaces that it was tested against.
    pub surfaces: u32,
    /// Borders that were looked at to find the next cell.
    pub borders: u32,
}

/// Where a ray leaves a cell.
#[derive(Clone, Copy)]
struct Exit {
    t: f32,
    /// In the order of [`Face::ALL`](crate::geometry::Face::ALL).
    face: usize,
}

impl CellTracer {
    /// What a ray meets first, and what it took to find it.
    pub fn closest(&self, ray: &Ray) -> (Option<CellHit>, CellWork) {
        match self.partition.walk(ray).next() {
            Some(first) => self.closest_from(ray, first.cell),
            None => (None, CellWork::default()),
        }
    }

    /// What a ray meets first that begins in a cell.
    pub fn closest_from(&self, ray: &Ray, first: CellId) -> (Option<CellHit>, CellWork) {
        let prepared = WatertightRay::new(ray);
        let mut work = CellWork::default();
        let mut cell = first.0;
        let mut met = (ray.t_max, NONE);
        // No ray comes into a cell twice.
        while (work.cells as usize) < self.tables.cells.len() {
            let record = &self.tables.cells[cell as usize];
            let exit = record.exit(ray.origin, ray.direction);
            // What lies behind the last cell lies there by rounding.
            let is_last = record.borders[exit.face] == record.borders[exit.face + 1];
            let limit = if is_last { f32::MAX } else { exit.t }.min(ray.t_max);
            work.cells += 1;
            met.0 = limit;
            for &surface in &self.tables.indices[record.first_surface as usize..record.end_surface as usize] {
                work.surfaces += 1;
                let Some(t) = self.tables.surfaces[surface as usize].reach(ray) else { continue };
                let is_nearer = t < met.0 || (t == met.0 && surface < met.1);
                if t >= ray.t_min && is_nearer && self.tables.encloses(surface, &prepared) {
                    met = (t, surface);
                }
            }
            if met.1 != NONE || is_last || exit.t >= ray.t_max {
                break;
            }
            cell = self.tables.behind(record, exit, ray, &mut work);
        }
        let hit = (met.1 != NONE).then(|| self.tables.hit(ray, met.1, met.0));
        (hit, work)
    }

    /// The cell that holds a point, known to be near one that holds another.
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
    /// The cell behind the border that a ray leaves a cell through, or `NONE` where the partition ends.
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

    /// Whether a ray passes through a surface's rim: as often as edges pass the sheared ray on one side, upwards and
    /// downwards, they go around it. Edges that surfaces share cancel to the last bit, so that no ray slips between them.
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

    /// Finds the fine triangle: among those listed where the surface was met, the one that the point is deepest in.
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
    /// How far a point of the face lies beside it.
    fn distance(&self, at: Vec2) -> f32 {
        let outside = (Vec2::from_array(self.low) - at).max(at - Vec2::from_array(self.high)).max(Vec2::ZERO);
        outside.x + outside.y
    }
}

impl SurfaceRecord {
    /// Where a ray meets its plane, if it does not run along it.
    fn reach(&self, ray: &Ray) -> Option<f32> {
        let normal = Vec3::from_array(self.normal);
        let slope = normal.dot(ray.direction);
        (slope != 0.0).then(|| normal.dot(Vec3::from_array(self.anchor) - ray.origin) / slope)
    }
}

/// Which side of the origin the edge from p to q passes.
fn edge(p: Vec2, q: Vec2) -> f32 {
    p.x * q.y - p.y * q.x
}

/// Weights of the second and third corner of a triangle at a point.
fn weights(at: Vec2, [a, b, c]: [Vec2; 3]) -> Vec2 {
    let (ab, ac, ap) = (b - a, c - a, at - a);
    Vec2::new(ap.perp_dot(ac), ab.perp_dot(ap)) / ab.perp_dot(ac)
}
