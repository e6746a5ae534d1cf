//! Location of points, and traversal of cells by rays.

use core::cmp::Ordering;

use glam::{DVec3, Vec3};
use robust::{Coord, orient2d};

use super::tree::Node;
use super::{BorderId, CellId, Partition};
use crate::geometry::{Face, Ray};

/// Segment of a ray in one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellStep {
    /// Cell that the ray passes.
    pub cell: CellId,
    /// Parameter at which the ray enters, in units of its direction.
    pub enter: f64,
    /// Parameter at which the ray leaves or ends, in units of its direction.
    pub exit: f64,
    /// Border through which the ray leaves; `None` if the ray ends or leaves the partition.
    pub border: Option<BorderId>,
}

/// Iterator over the cells that a ray passes, in order. See [`Partition::traverse`].
#[derive(Clone, Debug)]
pub struct CellTraversal<'a> {
    partition: &'a Partition,
    origin: DVec3,
    direction: DVec3,
    t: f64,
    t_max: f64,
    next: Option<CellId>,
}

impl Partition {
    /// Returns the cell that contains a point, or `None` outside the partition. A point on a border belongs to the cell
    /// above.
    pub fn cell_at(&self, point: Vec3) -> Option<CellId> {
        self.bounds.contains(point).then(|| {
            self.descend(|axis, position| if point[axis] < position { Ordering::Less } else { Ordering::Greater })
        })
    }

    /// Returns the cell that contains a point, or the one nearest to a point outside the partition. A point on a border
    /// belongs to the cell that the direction points into.
    pub fn cell_ahead(&self, point: Vec3, direction: Vec3) -> CellId {
        let point = point.clamp(self.bounds.min, self.bounds.max);
        self.descend(|axis, position| side(f64::from(point[axis] - position), f64::from(direction[axis])))
    }

    /// Returns the parameter at which a ray leaves a cell that it passes, in units of its direction, and the cell behind.
    /// There is none behind if the ray ends or leaves the partition.
    pub(crate) fn leave(&self, ray: &Ray, cell: CellId) -> (f64, Option<CellId>) {
        let (origin, direction, t_max) = (ray.origin.as_dvec3(), ray.direction.as_dvec3(), f64::from(ray.t_max));
        let mut way = CellTraversal { partition: self, origin, direction, t: 0.0, t_max, next: Some(cell) };
        let exit = way.next().map_or(t_max, |step| step.exit);
        (exit, way.next)
    }

    /// Follows a ray from cell to cell.
    ///
    /// Exit borders are determined exactly, so that no ray is lost where cells meet. Through an edge or a corner, the
    /// ray crosses one border at a time, x before y before z. The steps in between have zero length. A ray that starts
    /// on a border starts in the cell that its direction points into. The number of steps never exceeds the number of
    /// cells.
    pub fn traverse(&self, ray: &Ray) -> CellTraversal<'_> {
        let (origin, direction) = (ray.origin.as_dvec3(), ray.direction.as_dvec3());
        let start = self.start(ray);
        let next = start.map(|t| {
            let (min, max) = (self.bounds.min.as_dvec3(), self.bounds.max.as_dvec3());
            let point = (origin + direction * t).clamp(min, max);
            self.descend(|axis, position| side(point[axis] - f64::from(position), direction[axis]))
        });
        CellTraversal {
            partition: self,
            origin,
            direction,
            t: start.unwrap_or_default(),
            t_max: f64::from(ray.t_max),
            next,
        }
    }

    /// Returns the parameter at which a ray enters the bounds of all cells.
    fn start(&self, ray: &Ray) -> Option<f64> {
        let (mut enter, mut exit) = (f64::from(ray.t_min), f64::from(ray.t_max));
        for axis in 0..3 {
            let (origin, direction) = (f64::from(ray.origin[axis]), f64::from(ray.direction[axis]));
            let (min, max) = (f64::from(self.bounds.min[axis]), f64::from(self.bounds.max[axis]));
            if direction == 0.0 {
                if origin < min || origin > max {
                    return None;
                }
                continue;
            }
            let (near, far) = if direction > 0.0 { (min, max) } else { (max, min) };
            enter = enter.max((near - origin) / direction);
            exit = exit.min((far - origin) / direction);
        }
        (ray.is_valid() && enter <= exit).then_some(enter)
    }

    /// Descends from the root to a cell: below each plane where `side` returns `Less`, above otherwise.
    fn descend(&self, side: impl Fn(usize, f32) -> Ordering) -> CellId {
        let mut node = 0;
        loop {
            match self.nodes[node as usize] {
                Node::Cell(cell) => return cell,
                Node::Cut { axis, position, below, above } => {
                    node = if side(axis, position).is_lt() { below } else { above };
                }
            }
        }
    }
}

/// Returns the side of a plane that a ray is on, or moves to if its height is zero.
fn side(height: f64, direction: f64) -> Ordering {
    if height < 0.0 || (height == 0.0 && direction < 0.0) { Ordering::Less } else { Ordering::Greater }
}

impl CellTraversal<'_> {
    /// Returns the signed height of the ray above a plane when the ray crosses another. The height is scaled by the
    /// absolute direction component along the other's axis; the sign is exact.
    fn height_at(&self, (axis, position): (usize, f64), (other, plane): (usize, f64)) -> f64 {
        let to_plane = Coord { x: plane - self.origin[other], y: position - self.origin[axis] };
        let along = Coord { x: self.direction[other], y: self.direction[axis] };
        orient2d(to_plane, along, Coord { x: 0.0, y: 0.0 }) * along.x.signum()
    }

    /// Returns the face through which the ray leaves a cell; `None` only for a ray without direction.
    fn exit_face(&self, cell: CellId) -> Option<Face> {
        let bounds = self.partition.cell(cell);
        let ahead = (0..3u8).filter(|&axis| self.direction[usize::from(axis)] != 0.0);
        let faces = ahead.map(|axis| Face { axis, is_upper: self.direction[usize::from(axis)] > 0.0 });
        faces.reduce(|first, face| {
            // When the ray crosses the first face, a positive height means that the other face was crossed earlier.
            let plane = |face: Face| (usize::from(face.axis), f64::from(bounds.position_of(face)));
            let height = self.height_at(plane(face), plane(first));
            let is_beyond = if face.is_upper { height > 0.0 } else { height < 0.0 };
            if is_beyond { face } else { first }
        })
    }

    /// Returns the cell behind a face at the ray's crossing point.
    fn cell_behind(&self, cell: CellId, face: Face) -> CellId {
        let bounds = self.partition.cell(cell);
        let crossed = (usize::from(face.axis), f64::from(bounds.position_of(face)));
        self.partition.descend(|axis, position| {
            if axis == crossed.0 {
                return side(crossed.1 - f64::from(position), self.direction[axis]);
            }
            // The ray crosses one border at a time.
            if position >= bounds.max[axis] {
                return Ordering::Less;
            }
            if position <= bounds.min[axis] {
                return Ordering::Greater;
            }
            side(self.height_at((axis, f64::from(position)), crossed), self.direction[axis])
        })
    }
}

impl Iterator for CellTraversal<'_> {
    type Item = CellStep;

    fn next(&mut self) -> Option<CellStep> {
        let (cell, enter) = (self.next.take()?, self.t);
        let face = self.exit_face(cell)?;
        let axis = usize::from(face.axis);
        let position = self.partition.cell(cell).position_of(face);
        let exit = ((f64::from(position) - self.origin[axis]) / self.direction[axis]).max(enter);
        if exit >= self.t_max || position == self.partition.bounds.position_of(face) {
            return Some(CellStep { cell, enter, exit: exit.min(self.t_max), border: None });
        }
        let next = self.cell_behind(cell, face);
        let borders = self.partition.borders_of(cell, face);
        let all = self.partition.borders();
        let border = borders.iter().copied().find(|border| all[border.index()].beyond(cell) == next);
        self.next = border.map(|_| next);
        self.t = exit;
        Some(CellStep { cell, enter, exit, border })
    }
}
