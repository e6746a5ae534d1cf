//! Pieces of polygons and their loads, while a cell is being cut.

use glam::DVec3;

use super::Polygons;
use super::tree::Tree;
use crate::geometry::clip::{Corner, split, vector_area};

/// Pieces of polygons in all cells together, at most: some two gigabytes of them.
pub(super) const MOST_PIECES: usize = 1 << 24;

/// What of some polygons lies in a cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    corners: Vec<Corner>,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The end of its corners.
    end: u32,
    load: f64,
    /// Which way it faces, as long as its area.
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
    /// Smallest and largest coordinate on an axis.
    pub fn extent(&self, axis: usize) -> (f64, f64) {
        self.corners.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), corner| {
            (least.min(corner.position[axis]), most.max(corner.position[axis]))
        })
    }

    /// How much of its load lies below a plane. A piece in the plane lies on the side that it faces.
    pub fn load_below(&self, axis: usize, position: f64) -> f64 {
        match self.side_of(axis, position) {
            Side::Below => self.load,
            Side::Above => 0.0,
            Side::Both => {
                // A fan of what lies below, added up as its corners come.
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
        let (least, most) = self.extent(axis);
        if least == position && most == position {
            return if self.area[axis] > 0.0 { Side::Above } else { Side::Below };
        }
        if most <= position {
            Side::Below
        } else if least >= position {
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
    /// Whole polygons with the given loads; those without area are left out.
    pub fn whole(polygons: &Polygons, loads: &[f64]) -> Self {
        let mut pieces = Self::default();
        for (polygon, &load) in loads.iter().enumerate() {
            pieces.corners.extend(polygons.with_attributes(polygon, |_| ()));
            pieces.finish(load);
        }
        pieces
    }

    /// Makes a piece of the corners that were added last, unless it has no area.
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

    /// The load of all of them.
    pub fn load(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.load).sum()
    }

    /// Smallest and largest coordinates of the box around them.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        self.corners.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(min, max), corner| {
            (min.min(corner.position), max.max(corner.position))
        })
    }

    /// The parts below and above a plane. What lies in the plane goes to the side that it faces.
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

    /// How many there are in all cells of a tree together; no more than `most` and a few are counted.
    pub fn count_in(&self, tree: &Tree, most: usize) -> usize {
        match tree {
            Tree::Cut { axis, position, halves } if self.len() <= most => {
                let [below, above] = self.split(*axis, *position);
                let first = below.count_in(&halves[0], most);
                first + if first > most { 0 } else { above.count_in(&halves[1], most - first) }
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
