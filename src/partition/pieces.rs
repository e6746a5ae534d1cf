//! Pieces of polygons with their loads, while a cell is being cut.

use glam::DVec3;

use super::Polygons;
use super::tree::Tree;
use crate::geometry::clip::{Corner, split, vector_area};

/// Maximum number of pieces in all cells together, about two gigabytes.
pub(super) const MAX_PIECES: usize = 1 << 24;

/// Pieces of polygons inside a cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    corners: Vec<Corner>,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// End of the piece's corners.
    end: u32,
    load: f64,
    /// Vector area, in square meters: the normal times the area.
    area: DVec3,
}

/// One piece with its corners.
#[derive(Clone, Copy)]
pub(super) struct PieceRef<'a> {
    corners: &'a [Corner],
    pub load: f64,
    area: DVec3,
}

impl PieceRef<'_> {
    /// Returns the minimum and maximum coordinate on an axis.
    pub fn extent(&self, axis: usize) -> (f64, f64) {
        self.corners.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), corner| {
            (min.min(corner.position[axis]), max.max(corner.position[axis]))
        })
    }

    /// Returns the load below a plane. A piece in the plane belongs to the side that its front faces.
    pub fn load_below(&self, axis: usize, position: f64) -> f64 {
        match self.side_of(axis, position) {
            Side::Below => self.load,
            Side::Above => 0.0,
            Side::Both => {
                // Area of the part below, as a triangle fan accumulated corner by corner.
                let (mut first, mut previous, mut area) = (None, None, DVec3::ZERO);
                let add = |corner: Corner| match (first, previous) {
                    (None, _) => first = Some(corner.position),
                    (Some(_), None) => previous = Some(corner.position),
                    (Some(origin), Some(before)) => {
                        area += 0.5 * (before - origin).cross(corner.position - origin);
                        previous = Some(corner.position);
                    }
                };
                cut(self.corners, axis, position, add, |_| ());
                self.load * (area.length() / self.area.length()).min(1.0)
            }
        }
    }

    fn side_of(&self, axis: usize, position: f64) -> Side {
        let (min, max) = self.extent(axis);
        if min == position && max == position {
            return if self.area[axis] > 0.0 { Side::Above } else { Side::Below };
        }
        if max <= position {
            Side::Below
        } else if min >= position {
            Side::Above
        } else {
            Side::Both
        }
    }
}

enum Side {
    Below,
    Above,
    Both,
}

impl Pieces {
    /// Creates pieces of whole polygons with the given loads. Polygons without area are left out.
    pub fn whole(polygons: &Polygons, loads: &[f64]) -> Self {
        let mut pieces = Self::default();
        for (polygon, &load) in loads.iter().enumerate() {
            pieces.corners.extend(polygons.with_attributes(polygon, |_| ()));
            pieces.finish(load);
        }
        pieces
    }

    /// Makes a piece of the corners added last, unless they enclose no area.
    fn finish(&mut self, load: f64) {
        let first = self.pieces.last().map_or(0, |before| before.end) as usize;
        let area = vector_area(&self.corners[first..]);
        if area == DVec3::ZERO {
            self.corners.truncate(first);
        } else {
            self.pieces.push(Piece { end: self.corners.len() as u32, load, area });
        }
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = PieceRef<'_>> {
        (0..self.pieces.len()).map(|index| self.get(index))
    }

    pub fn get(&self, index: usize) -> PieceRef<'_> {
        let first = index.checked_sub(1).map_or(0, |before| self.pieces[before].end);
        let Piece { end, load, area } = self.pieces[index];
        PieceRef { corners: &self.corners[first as usize..end as usize], load, area }
    }

    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the total load.
    pub fn load(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.load).sum()
    }

    /// Returns the minimum and maximum corner of the bounding box.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        self.corners.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(min, max), corner| {
            (min.min(corner.position), max.max(corner.position))
        })
    }

    /// Splits the pieces at a plane. A piece in the plane goes to the side that its front faces.
    pub fn split(&self, axis: usize, position: f32) -> [Self; 2] {
        let position = f64::from(position);
        let (mut below, mut above) = (Self::default(), Self::default());
        for piece in self.iter() {
            match piece.side_of(axis, position) {
                Side::Below => below.push(piece),
                Side::Above => above.push(piece),
                Side::Both => {
                    let share = piece.load_below(axis, position);
                    let (lower, upper) = (&mut below.corners, &mut above.corners);
                    cut(piece.corners, axis, position, |corner| lower.push(corner), |corner| upper.push(corner));
                    below.finish(share);
                    above.finish(piece.load - share);
                }
            }
        }
        [below, above]
    }

    /// Counts the pieces in all cells of a tree. Counting stops soon after `max` is exceeded.
    pub fn count_in(&self, tree: &Tree, max: usize) -> usize {
        match tree {
            Tree::Cut { axis, position, halves } if self.len() <= max => {
                let [below, above] = self.split(*axis, *position);
                let first = below.count_in(&halves[0], max);
                first + if first > max { 0 } else { above.count_in(&halves[1], max - first) }
            }
            _ => self.len(),
        }
    }

    fn push(&mut self, piece: PieceRef) {
        self.corners.extend_from_slice(piece.corners);
        self.pieces.push(Piece { end: self.corners.len() as u32, load: piece.load, area: piece.area });
    }
}

fn cut(corners: &[Corner], axis: usize, position: f64, below: impl FnMut(Corner), above: impl FnMut(Corner)) {
    let cross = |from: &Corner, to: &Corner, t: f64| {
        let mut corner = from.between(to, t);
        corner.position[axis] = position;
        corner
    };
    split(corners, |corner| corner.position[axis] - position, cross, below, above);
}
