//! Texels that other geometry crosses are cut into parts.

use glam::DVec2;

use super::{Piece, Shape, texel_corners};
use crate::lightmap::Unwrap;
use crate::lightmap::polygon::{Line, Polygon};

/// How often a part may be cut again: a thin wall takes two cuts, the corner of one three.
const MOST_CUTS: u32 = 3;
/// No part is smaller than this, in texels.
const LEAST_PART: f64 = 1.0 / 32.0;
/// Sample points keep this distance (in texels) from cuts, so that neither rounding of their barycentric coordinates nor
/// that of the parts' corners carries them beyond.
const INSET: f64 = 3e-4;

/// Which part of a texel its points belong to: a tree of lines, its root first.
#[derive(Clone, Debug)]
pub(super) struct Division {
    cuts: Vec<Cut>,
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    line: Line,
    below: Branch,
    above: Branch,
}

#[derive(Clone, Copy, Debug)]
enum Branch {
    Cut(u32),
    Part(u32),
}

impl Division {
    /// The number of the part at a point, in texels of the rectangle.
    pub fn part_at(&self, point: DVec2) -> u32 {
        let mut branch = Branch::Cut(0);
        loop {
            match branch {
                Branch::Part(part) => return part,
                Branch::Cut(cut) => {
                    let Cut { line, below, above } = self.cuts[cut as usize];
                    branch = if line.height_of(point) < 0.0 { below } else { above };
                }
            }
        }
    }
}

/// A cut as plain data, in texels from the texel's corner.
#[cfg(feature = "gpu")]
pub(crate) struct CutDescription {
    /// Unit normal of the line.
    pub normal: glam::Vec2,
    /// Height of the texel's corner above it.
    pub height: f32,
    /// What lies below and above.
    pub branches: [BranchDescription; 2],
}

/// Where one side of a cut leads.
#[cfg(feature = "gpu")]
pub(crate) enum BranchDescription {
    /// To another cut.
    Cut(u32),
    /// To a part.
    Part(u32),
}

#[cfg(feature = "gpu")]
impl Division {
    /// All cuts, the root first.
    pub fn description(&self, corner: DVec2) -> Vec<CutDescription> {
        let branch = |branch: Branch| match branch {
            Branch::Cut(cut) => BranchDescription::Cut(cut),
            Branch::Part(part) => BranchDescription::Part(part),
        };
        let cut = |&Cut { line, below, above }: &Cut| CutDescription {
            normal: line.normal.as_vec2(),
            height: line.height_of(corner) as f32,
            branches: [branch(below), branch(above)],
        };
        self.cuts.iter().map(cut).collect()
    }
}

/// A texel that is cut into parts.
pub(super) struct Divided {
    pub texel: u32,
    pub division: Division,
    /// What each part consists of.
    pub parts: Vec<Vec<Piece>>,
}

/// Cuts what lies in one texel; `None` where nothing crosses it.
///
/// `lines` tells where other geometry crosses a polygon of a triangle; both are in texels of the rectangle.
pub(super) fn divided(
    pieces_of_texel: &[Piece],
    unwrap: &Unwrap,
    size: [u32; 2],
    lines: &impl Fn(u32, &Polygon) -> Vec<Line>,
) -> Option<Divided> {
    let shards = pieces_of_texel.iter().map(|piece| Shard::of(piece, unwrap, size)).collect();
    let mut knife = Knife { lines, cuts: Vec::new(), parts: Vec::new() };
    knife.cut(shards, MOST_CUTS);
    let Knife { cuts, parts, .. } = knife;
    let pieces = |shards: Vec<Shard>| shards.into_iter().map(Shard::into_piece).collect();
    (parts.len() > 1).then(|| Divided {
        texel: pieces_of_texel[0].texel,
        division: Division { cuts },
        parts: parts.into_iter().map(pieces).collect(),
    })
}

/// What cuts have left of a piece.
#[derive(Clone)]
struct Shard {
    piece: Piece,
    polygon: Polygon,
    is_cut: bool,
}

impl Shard {
    fn of(piece: &Piece, unwrap: &Unwrap, [width, height]: [u32; 2]) -> Self {
        let polygon = match &piece.shape {
            Shape::Texel => Polygon::from_corner(super::texel_origin(piece.texel, width)),
            Shape::Triangle => Polygon::from_triangle(texel_corners(unwrap, piece.triangle, width, height)),
            Shape::Polygon(polygon) => **polygon,
        };
        Self { piece: piece.clone(), polygon, is_cut: false }
    }

    /// The parts below and above a line.
    ///
    /// They share the piece's area by what they add up to: rounding may turn the corners of a sliver round, so that its own
    /// area is zero although those of its parts are not.
    fn split(self, line: &Line) -> [Option<Self>; 2] {
        let (below, above) = self.polygon.split_along(line);
        let [less, more] = [below.area(), above.area()];
        let area = less + more;
        if less <= 0.0 || more <= 0.0 {
            let is_below = line.height_of(self.polygon.centroid()) < 0.0;
            return if is_below { [Some(self), None] } else { [None, Some(self)] };
        }
        let part = |polygon: Polygon, share: f64| {
            let piece = Piece { area: self.piece.area * share / area, ..self.piece.clone() };
            Some(Self { piece, polygon, is_cut: true })
        };
        [part(below, less), part(above, more)]
    }

    fn into_piece(self) -> Piece {
        match self.is_cut {
            true => Piece { shape: Shape::Polygon(Box::new(self.polygon.shrunk(INSET))), ..self.piece },
            false => self.piece,
        }
    }
}

/// A texel while it is being cut.
struct Knife<'a, L> {
    lines: &'a L,
    cuts: Vec<Cut>,
    parts: Vec<Vec<Shard>>,
}

impl<L: Fn(u32, &Polygon) -> Vec<Line>> Knife<'_, L> {
    fn cut(&mut self, shards: Vec<Shard>, most_cuts: u32) -> Branch {
        let halves = if most_cuts > 0 { self.halves(&shards) } else { None };
        let Some((line, below, above)) = halves else {
            self.parts.push(shards);
            return Branch::Part(self.parts.len() as u32 - 1);
        };
        let place = self.cuts.len();
        self.cuts.push(Cut { line, below: Branch::Part(0), above: Branch::Part(0) });
        self.cuts[place].below = self.cut(below, most_cuts - 1);
        self.cuts[place].above = self.cut(above, most_cuts - 1);
        Branch::Cut(place as u32)
    }

    /// What lies on either side of the first line that leaves enough on both.
    fn halves(&self, shards: &[Shard]) -> Option<(Line, Vec<Shard>, Vec<Shard>)> {
        let area = |shards: &[Shard]| shards.iter().map(|shard| shard.polygon.area()).sum::<f64>();
        let large = shards.iter().filter(|shard| shard.polygon.area() >= LEAST_PART);
        let lines = large.flat_map(|shard| (self.lines)(shard.piece.triangle, &shard.polygon));
        lines.into_iter().find_map(|line| {
            let (mut below, mut above) = (Vec::new(), Vec::new());
            for shard in shards {
                let [under, over] = shard.clone().split(&line);
                below.extend(under);
                above.extend(over);
            }
            (area(&below) >= LEAST_PART && area(&above) >= LEAST_PART).then_some((line, below, above))
        })
    }
}
