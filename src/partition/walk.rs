//! Where points and rays are.

use core::cmp::Ordering;

use glam::{DVec3, Vec3};
use robust::{Coord, orient2d};

use super::tree::Node;
use super::{BorderId, CellId, Partition};
use crate::geometry::{Face, Ray};

/// A ray's way through one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The cell.
    pub cell: CellId,
    /// Where the ray is when it comes in, in units of its direction.
    pub enter: f64,
    /// Where it leaves, or ends.
    pub exit: f64,
    /// The border that it leaves through; `None` where it ends or leaves the partition.
    pub border: Option<BorderId>,
}

/// The cells that a ray passes, in order. See [`Partition::walk`].
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    partition: &'a Partition,
    origin: DVec3,
    direction: DVec3,
    t: f64,
    t_max: f64,
    next: Option<CellId>,
}

impl Partition {
    /// The cell that holds a point; a point on a border is in the cell above it.
    pub fn cell_at(&self, point: Vec3) -> Option<CellId> {
        self.bounds.contains(point).then(|| {
            self.descend(|axis, position| if point[axis] < position { Ordering::Less } else { Ordering::Greater })
        })
    }

    /// Follows a ray from cell to cell.
    ///
    /// Which border the ray leaves a cell through is decided exactly, so none is lost where cells meet: through an edge
    /// or a corner it passes the cells between, one border at a time, x before y before z, whose steps then have no
    /// length. It begins in the cell that it goes into where it begins on a border. There are at most as many steps as
    /// cells.
    pub fn walk(&self, ray: &Ray) -> Walk<'_> {
        let (origin, direction) = (ray.origin.as_dvec3(), ray.direction.as_dvec3());
        let start = self.start(ray);
        let next = start.map(|t| {
            let (min, max) = (self.bounds.min.as_dvec3(), self.bounds.max.as_dvec3());
            let point = (origin + direction * t).clamp(min, max);
            self.descend(|axis, position| side(point[axis] - f64::from(position), direction[axis]))
        });
        Walk { partition: self, origin, direction, t: start.unwrap_or_default(), t_max: f64::from(ray.t_max), next }
    }

    /// Where a ray comes into the box of all cells.
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

    /// Goes from the root to a cell: below each plane for which `side` is less, above all others.
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

/// The side of a plane that a ray is on, or that it goes to where its height above the plane is zero.
fn side(height: f64, direction: f64) -> Ordering {
    if height < 0.0 || (height == 0.0 && direction < 0.0) { Ordering::Less } else { Ordering::Greater }
}

impl Walk<'_> {
    /// How far above a plane the ray is when it crosses another, times the positive length of its direction along that
    /// other's axis; the sign is exact.
    fn height_at(&self, (axis, position): (usize, f64), (other, plane): (usize, f64)) -> f64 {
        let to_plane = Coord { x: plane - self.origin[other], y: position - self.origin[axis] };
        let along = Coord { x: self.direction[other], y: self.direction[axis] };
        orient2d(to_plane, along, Coord { x: 0.0, y: 0.0 }) * along.x.signum()
    }

    /// The face that the ray leaves a cell through; `None` only for a ray without direction.
    fn exit_face(&self, cell: CellId) -> Option<Face> {
        let bounds = self.partition.cell(cell);
        let ahead = (0..3u8).filter(|&axis| self.direction[usize::from(axis)] != 0.0);
        let faces = ahead.map(|axis| Face { axis, is_upper: self.direction[usize::from(axis)] > 0.0 });
        faces.reduce(|first, face| {
            // When it crosses the first face, it has crossed the other if it is beyond that.
            let plane = |face: Face| (usize::from(face.axis), f64::from(bounds.position_of(face)));
            let height = self.height_at(plane(face), plane(first));
            let is_beyond = if face.is_upper { height > 0.0 } else { height < 0.0 };
            if is_beyond { face } else { first }
        })
    }

    /// The cell behind a face where the ray crosses it.
    fn cell_behind(&self, cell: CellId, face: Face) -> CellId {
        let bounds = self.partition.cell(cell);
        let crossed = (usize::from(face.axis), f64::from(bounds.position_of(face)));
        self.partition.descend(|axis, position| {
            if axis == crossed.0 {
                return side(crossed.1 - f64::from(position), self.direction[axis]);
            }
            // It crosses one border at a time.
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

impl Iterator for Walk<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let (cell, enter) = (self.next.take()?, self.t);
        let face = self.exit_face(cell)?;
        let axis = usize::from(face.axis);
        let position = self.partition.cell(cell).position_of(face);
        let exit = ((f64::from(position) - self.origin[axis]) / self.direction[axis]).max(enter);
        if exit >= self.t_max || position == self.partition.bounds.position_of(face) {
            return Some(Step { cell, enter, exit: exit.min(self.t_max), border: None });
        }
        let next = self.cell_behind(cell, face);
        let borders = self.partition.borders_of(cell, face);
        let all = self.partition.borders();
        let border = borders.iter().copied().find(|border| all[border.index()].beyond(cell) == next);
        self.next = border.map(|_| next);
        self.t = exit;
        Some(Step { cell, enter, exit, border })
    }
}
