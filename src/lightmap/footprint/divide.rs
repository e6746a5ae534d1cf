//! Division of texels along other geometry that crosses them.

use glam::DVec2;

use super::{Piece, Shape, texel_corners};
use crate::lightmap::Unwrap;
use crate::lightmap::polygon::{Line, Polygon};

/// Maximum depth of cuts. A thin wall takes two cuts, the corner of one three.
const MAX_CUTS: u32 = 3;
/// Minimum area of a part, in texels.
const MIN_PART: f64 = 1.0 / 32.0;
/// Distance in texels between sample points and cuts. So rounding of barycentric coordinates and of the parts' corners
/// moves no sample across.
const INSET: f64 = 3e-4;

/// Binary tree of lines that divides a texel into parts, the root first.
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
    /// Returns the index of the part at a point, in texels of the rectangle.
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

/// Plain-data cut, in texels from the texel's corner.
#[cfg(feature = "gpu")]
pub(crate) struct CutDescription {
    /// Unit normal of the line.
    pub normal: glam::Vec2,
    /// Height of the texel's corner above the line.
    pub height: f32,
    /// Children below and above the line.
    pub branches: [BranchDescription; 2],
}

/// Child of a cut.
#[cfg(feature = "gpu")]
pub(crate) enum BranchDescription {
    /// Another cut.
    Cut(u32),
    /// A part.
    Part(u32),
}

#[cfg(feature = "gpu")]
impl Division {
    /// Returns all cuts, the root first.
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

/// Texel that is divided into parts.
pub(super) struct Divided {
    pub texel: u32,
    pub division: Division,
    /// Pieces of each part.
    pub parts: Vec<Vec<Piece>>,
}

/// Divides the pieces of one texel; returns `None` if nothing crosses it.
///
/// `lines` returns the lines along which other geometry crosses a polygon of a triangle. Both are in texels of the
/// rectangle.
pub(super) fn divided(
    pieces_of_texel: &[Piece],
    unwrap: &Unwrap,
    size: [u32; 2],
    lines: &impl Fn(u32, &Polygon) -> Vec<Line>,
) -> Option<Divided> {
    let shards = pieces_of_texel.iter().map(|piece| Shard::of(piece, unwrap, size)).collect();
    let mut knife = Knife { lines, cuts: Vec::new(), parts: Vec::new() };
    knife.cut(shards, MAX_CUTS);
    let Knife { cuts, parts, .. } = knife;
    let pieces = |shards: Vec<Shard>| shards.into_iter().map(Shard::into_piece).collect();
    (parts.len() > 1).then(|| Divided {
        texel: pieces_of_texel[0].texel,
        division: Division { cuts },
        parts: parts.into_iter().map(pieces).collect(),
    })
}

/// Remainder of a piece after cuts.
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

    /// Splits the remainder into the parts below and above a line.
    ///
    /// The parts share the piece's area in proportion to their own areas. Rounding may flip the corners of a sliver.
    /// Then its computed area is zero, but those of its parts are not.
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

/// State of a texel's division.
struct Knife<'a, L> {
    lines: &'a L,
    cuts: Vec<Cut>,
    parts: Vec<Vec<Shard>>,
}

impl<L: Fn(u32, &Polygon) -> Vec<Line>> Knife<'_, L> {
    fn cut(&mut self, shards: Vec<Shard>, max_cuts: u32) -> Branch {
        let halves = if max_cuts > 0 { self.halves(&shards) } else { None };
        let Some((line, below, above)) = halves else {
            self.parts.push(shards);
            return Branch::Part(self.parts.len() as u32 - 1);
        };
        let place = self.cuts.len();
        self.cuts.push(Cut { line, below: Branch::Part(0), above: Branch::Part(0) });
        self.cuts[place].below = self.cut(below, max_cuts - 1);
        self.cuts[place].above = self.cut(above, max_cuts - 1);
        Branch::Cut(place as u32)
    }

    /// Splits the remainders by the first line that leaves enough area on both sides.
    fn halves(&self, shards: &[Shard]) -> Option<(Line, Vec<Shard>, Vec<Shard>)> {
        let area = |shards: &[Shard]| shards.iter().map(|shard| shard.polygon.area()).sum::<f64>();
        let large = shards.iter().filter(|shard| shard.polygon.area() >= MIN_PART);
        let lines = large.flat_map(|shard| (self.lines)(shard.piece.triangle, &shard.polygon));
        lines.into_iter().find_map(|line| {
            let (mut below, mut above) = (Vec::new(), Vec::new());
            for shard in shards {
                let [under, over] = shard.clone().split(&line);
                below.extend(under);
                above.extend(over);
            }
            (area(&below) >= MIN_PART && area(&above) >= MIN_PART).then_some((line, below, above))
        })
    }
}
