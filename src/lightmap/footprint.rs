//! Which part of which triangle lies in which texel of a surface's rectangle.

#[cfg(feature = "gpu")]
mod description;
mod divide;

use std::ops::Range;

use glam::{DVec2, Vec2};
use rayon::prelude::*;

use self::divide::{Divided, Division};
#[cfg(feature = "gpu")]
pub(crate) use self::{
    description::{PieceDescription, PieceShape, TexelDescription, TriangleDescription},
    divide::BranchDescription,
};
use super::Unwrap;
use super::polygon::{Line, Polygon};
use crate::geometry::sampling::uniform_triangle;

/// Marks texels without a footprint.
const NONE: u32 = u32::MAX;
/// Set in [`Footprints::home`] where one footprint holds the whole triangle.
const WHOLE: u32 = 1 << 31;
/// Set in [`Footprints::grid`] where the texel is cut into parts.
const DIVIDED: u32 = 1 << 31;
/// Pieces of less area (in texels) are left to their triangle's other pieces: rounding of texture coordinates makes
/// slivers along every chart that ends on a texel's edge, and a sliver is not worth an element.
const LEAST_AREA: f64 = 1e-3;
/// Sample points keep this distance (in texels) from a texel's edge, so that rounding of their barycentric coordinates
/// does not carry them into the next texel: half a unit in the last place over a rectangle of 4096 texels.
const INSET: f64 = 2.5e-4;
/// Barycentric weights beyond this are those of a triangle that is a line but for rounding.
const MOST_WEIGHT: f64 = 1e12;

/// The part of one triangle that lies in one texel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fragment {
    /// The triangle of the unwrapped mesh.
    pub triangle: u32,
    /// Area in square metres.
    pub area: f32,
    /// Where its corners start; they end where the next fragment's start. A fragment without corners is the whole
    /// texel, or the whole triangle where [`Footprints::home`] says so.
    corners: u32,
}

/// The footprints of a surface's texels, in rows from the top. A texel that other geometry crosses has one for each part.
#[derive(Clone, Debug, Default)]
pub(super) struct Footprints {
    width: u32,
    height: u32,
    /// Row-major texel of each footprint.
    texels: Vec<u32>,
    /// The chart of each footprint; of its first triangle where charts share a texel.
    charts: Vec<u32>,
    /// First fragment of each footprint, and the number of fragments at the end.
    offsets: Vec<u32>,
    fragments: Vec<Fragment>,
    /// Corners of fragments within their texel, 65535 to a texel.
    corners: Vec<[u16; 2]>,
    /// The footprint of each texel of the rectangle, the number of its division with [`DIVIDED`], or [`NONE`].
    grid: Vec<u32>,
    /// First footprints of the texels that are cut into parts, and which part is where.
    divisions: Vec<(u32, Division)>,
    /// The footprint that holds most of each triangle, with [`WHOLE`] where it holds all of it.
    home: Vec<u32>,
}

/// A piece of a triangle before it has been sorted into its texel.
#[derive(Clone, Debug)]
struct Piece {
    texel: u32,
    triangle: u32,
    /// Area in texels, then in square metres.
    area: f64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Texel,
    Triangle,
    /// Boxed: most pieces are whole texels, and there are millions of them.
    Polygon(Box<Polygon>),
}

impl Footprints {
    /// Clips every triangle of an unwrapped mesh against the texels of a rectangle.
    ///
    /// `area` tells the area of a triangle in square metres; the fragments of each triangle add up to it. Degenerate
    /// triangles own nothing. A triangle too small to be clipped, or without an extent in texture space, belongs to the
    /// texel at its centre. `lines` tells where other geometry crosses a polygon of a triangle, both in texels of the
    /// rectangle: texels are cut along them.
    pub fn build(
        unwrap: &Unwrap,
        width: u32,
        height: u32,
        area: impl Fn(u32) -> f32 + Sync,
        lines: impl Fn(u32, &Polygon) -> Vec<Line> + Sync,
    ) -> Self {
        let triangles = unwrap.mesh.triangles.len() as u32;
        let mut pieces: Vec<Piece> = (0..triangles)
            .into_par_iter()
            .with_min_len(64)
            .flat_map_iter(|triangle| match area(triangle) {
                area if area > 0.0 && unwrap.charts[triangle as usize] != Unwrap::NO_CHART => {
                    pieces_of(texel_corners(unwrap, triangle, width, height), width, height, triangle, f64::from(area))
                }
                _ => Vec::new(),
            })
            .collect();
        // Stable: within a texel the fragments stay in the order of the triangles.
        pieces.par_sort_by_key(|piece| piece.texel);
        let divided = pieces
            .par_chunk_by(|a, b| a.texel == b.texel)
            .filter_map(|pieces| divide::divided(pieces, unwrap, [width, height], &lines))
            .collect();
        Self::sorted(unwrap, width, height, &pieces, divided)
    }

    /// `divided` holds the parts of texels that are cut, in order of the texels.
    fn sorted(unwrap: &Unwrap, width: u32, height: u32, pieces: &[Piece], divided: Vec<Divided>) -> Self {
        let mut footprints = Self {
            width,
            height,
            grid: vec![NONE; width as usize * height as usize],
            home: vec![NONE; unwrap.mesh.triangles.len()],
            fragments: Vec::with_capacity(pieces.len()),
            ..Self::default()
        };
        let mut largest = vec![0.0; unwrap.mesh.triangles.len()];
        let mut divided = divided.into_iter().peekable();
        for pieces in pieces.chunk_by(|a, b| a.texel == b.texel) {
            let texel = pieces[0].texel;
            let first = footprints.len() as u32;
            match divided.next_if(|divided| divided.texel == texel) {
                None => {
                    footprints.grid[texel as usize] = first;
                    footprints.add(pieces, unwrap, &mut largest);
                }
                Some(Divided { division, parts, .. }) => {
                    footprints.grid[texel as usize] = footprints.divisions.len() as u32 | DIVIDED;
                    footprints.divisions.push((first, division));
                    parts.iter().for_each(|part| footprints.add(part, unwrap, &mut largest));
                }
            }
        }
        footprints.offsets.push(footprints.fragments.len() as u32);
        for list in [&mut footprints.texels, &mut footprints.charts, &mut footprints.offsets] {
            list.shrink_to_fit();
        }
        footprints.fragments.shrink_to_fit();
        footprints.corners.shrink_to_fit();
        footprints
    }

    /// Adds a footprint that consists of the pieces. `largest` is the area of the largest piece of each triangle so far.
    fn add(&mut self, pieces: &[Piece], unwrap: &Unwrap, largest: &mut [f64]) {
        let footprint = self.len() as u32;
        let texel = pieces[0].texel;
        self.texels.push(texel);
        self.charts.push(unwrap.charts[pieces[0].triangle as usize]);
        self.offsets.push(self.fragments.len() as u32);
        for piece in pieces {
            let triangle = piece.triangle as usize;
            if piece.area > largest[triangle] {
                largest[triangle] = piece.area;
                let whole = if matches!(piece.shape, Shape::Triangle) { WHOLE } else { 0 };
                self.home[triangle] = footprint | whole;
            }
            let corners = self.corners.len() as u32;
            self.fragments.push(Fragment { triangle: piece.triangle, area: piece.area as f32, corners });
            if let Shape::Polygon(polygon) = &piece.shape {
                let origin = texel_origin(texel, self.width);
                self.corners.extend(polygon.corners().iter().map(|&corner| {
                    ((corner - origin).clamp(DVec2::ZERO, DVec2::ONE) * 65_535.0)
                        .round()
                        .as_uvec2()
                        .to_array()
                        .map(|value| value as u16)
                }));
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.texels.len()
    }

    /// Column and row of a footprint in the rectangle.
    pub fn texel(&self, footprint: usize) -> [u32; 2] {
        let texel = self.texels[footprint];
        [texel % self.width, texel / self.width]
    }

    /// The chart that a footprint belongs to.
    pub fn chart(&self, footprint: usize) -> u32 {
        self.charts[footprint]
    }

    /// What a footprint consists of, each piece with its outline as weights of its triangle's second and third corner.
    pub fn outlines<'a>(
        &'a self,
        unwrap: &'a Unwrap,
        footprint: usize,
    ) -> impl Iterator<Item = (Fragment, Vec<Vec2>)> + 'a {
        let origin = texel_origin(self.texels[footprint], self.width);
        self.range(footprint).map(move |index| {
            let fragment = self.fragments[index];
            let weights = |local: DVec2| self.clamped_barycentric(unwrap, index, origin + local);
            let outline = match self.corners_of(index) {
                [] if self.is_whole(fragment.triangle) => vec![Vec2::ZERO, Vec2::X, Vec2::Y],
                [] => [DVec2::ZERO, DVec2::X, DVec2::ONE, DVec2::Y].map(weights).to_vec(),
                corners => Polygon::from_texel(corners).corners().iter().map(|corner| weights(*corner)).collect(),
            };
            (fragment, outline)
        })
    }

    /// True when one texel holds all of a triangle.
    fn is_whole(&self, triangle: u32) -> bool {
        self.home[triangle as usize] & WHOLE != 0
    }

    fn range(&self, footprint: usize) -> Range<usize> {
        self.offsets[footprint] as usize..self.offsets[footprint + 1] as usize
    }

    /// The footprint at a point of a triangle: that of its texel where the triangle's chart covers it, else the nearest
    /// that the chart covers. `None` only for triangles without area.
    pub fn at(&self, unwrap: &Unwrap, triangle: u32, barycentric: Vec2) -> Option<usize> {
        let home = self.home[triangle as usize];
        if home == NONE {
            return None;
        }
        if home & WHOLE != 0 {
            return Some((home & !WHOLE) as usize);
        }
        let corners = texel_corners(unwrap, triangle, self.width, self.height);
        let point = from_barycentric(corners, barycentric);
        let chart = unwrap.charts[triangle as usize];
        let (x, y) = (point.x as i64, point.y as i64);
        Some(self.covered(x, y, point, chart).or_else(|| self.nearest(point, chart)).unwrap_or(home) as usize)
    }

    /// The footprint of a texel, or of its part that the point lies in, where the chart covers it.
    fn covered(&self, x: i64, y: i64, point: DVec2, chart: u32) -> Option<u32> {
        let x = x.clamp(0, i64::from(self.width) - 1);
        let y = y.clamp(0, i64::from(self.height) - 1);
        let footprint = match self.grid[(y * i64::from(self.width) + x) as usize] {
            NONE => return None,
            number if number & DIVIDED != 0 => {
                let (first, division) = &self.divisions[(number & !DIVIDED) as usize];
                first + division.part_at(point)
            }
            footprint => footprint,
        };
        (self.charts[footprint as usize] == chart).then_some(footprint)
    }

    /// The nearest of the chart's texels around a point whose own texel is not the chart's.
    fn nearest(&self, point: DVec2, chart: u32) -> Option<u32> {
        let (x, y) = (point.x as i64, point.y as i64);
        let around = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];
        around
            .iter()
            .map(|&(dx, dy)| (x + dx, y + dy))
            .filter_map(|(x, y)| {
                let corner = DVec2::new(x as f64, y as f64);
                let distance = point.distance_squared(point.clamp(corner, corner + 1.0));
                Some((distance, self.covered(x, y, point, chart)?))
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, footprint)| footprint)
    }

    /// What a footprint consists of, ready to choose points on.
    pub fn samplers<'a>(
        &'a self,
        unwrap: &'a Unwrap,
        footprint: usize,
    ) -> impl ExactSizeIterator<Item = FragmentSampler> + 'a {
        self.range(footprint).map(move |fragment| self.sampler(unwrap, footprint, fragment))
    }

    fn sampler(&self, unwrap: &Unwrap, footprint: usize, fragment: usize) -> FragmentSampler {
        let Fragment { triangle, area, .. } = self.fragments[fragment];
        let shape = match self.corners_of(fragment) {
            [] if self.is_whole(triangle) => Shape::Triangle,
            [] => Shape::Texel,
            corners => Shape::Polygon(Box::new(Polygon::from_texel(corners))),
        };
        let corners = texel_corners(unwrap, triangle, self.width, self.height);
        let corner = texel_origin(self.texels[footprint], self.width);
        let weights = |local: DVec2| to_barycentric(corners, corner + local).unwrap_or(DVec2::splat(1.0 / 3.0));
        let origin = weights(DVec2::ZERO);
        FragmentSampler {
            triangle,
            area,
            shape,
            origin,
            across: weights(DVec2::X) - origin,
            down: weights(DVec2::Y) - origin,
        }
    }

    /// The centroid of a footprint in texture space, taken to the triangle that covers it, or else to the fragment that
    /// is nearest.
    pub fn centre(&self, unwrap: &Unwrap, footprint: usize) -> (u32, Vec2) {
        let middles: Vec<(u32, f32, DVec2, Vec2)> = self
            .range(footprint)
            .map(|index| {
                let Fragment { triangle, area, .. } = self.fragments[index];
                let barycentric = self.fragment_centre(unwrap, footprint, index);
                let corners = texel_corners(unwrap, triangle, self.width, self.height);
                (triangle, area, from_barycentric(corners, barycentric), barycentric)
            })
            .collect();
        let total: f64 = middles.iter().map(|middle| f64::from(middle.1)).sum();
        let share = |area: f32| if total > 0.0 { f64::from(area) / total } else { 1.0 / middles.len() as f64 };
        let centroid = middles.iter().map(|middle| middle.2 * share(middle.1)).sum::<DVec2>();
        let covering = middles.iter().find_map(|&(triangle, ..)| {
            let barycentric = to_barycentric(texel_corners(unwrap, triangle, self.width, self.height), centroid)?;
            let inside = barycentric.min_element() >= 0.0 && barycentric.element_sum() <= 1.0;
            inside.then(|| (triangle, barycentric.as_vec2()))
        });
        let distance = |middle: &(u32, f32, DVec2, Vec2)| middle.2.distance_squared(centroid);
        covering.unwrap_or_else(|| {
            let nearest = middles.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
            nearest.map_or((0, Vec2::ZERO), |middle| (middle.0, middle.3))
        })
    }

    fn fragment_centre(&self, unwrap: &Unwrap, footprint: usize, fragment: usize) -> Vec2 {
        match self.corners_of(fragment) {
            [] => self.sampler(unwrap, footprint, fragment).sample(Vec2::splat(0.5)),
            corners => {
                let origin = texel_origin(self.texels[footprint], self.width);
                self.clamped_barycentric(unwrap, fragment, origin + Polygon::from_texel(corners).centroid())
            }
        }
    }

    fn corners_of(&self, fragment: usize) -> &[[u16; 2]] {
        let end = self.fragments.get(fragment + 1).map_or(self.corners.len(), |next| next.corners as usize);
        &self.corners[self.fragments[fragment].corners as usize..end]
    }

    fn clamped_barycentric(&self, unwrap: &Unwrap, fragment: usize, point: DVec2) -> Vec2 {
        let triangle = self.fragments[fragment].triangle;
        let corners = texel_corners(unwrap, triangle, self.width, self.height);
        let third = DVec2::splat(1.0 / 3.0);
        let weights = to_barycentric(corners, point).unwrap_or(third).max(DVec2::ZERO);
        (weights / weights.element_sum().max(1.0)).as_vec2()
    }
}

/// Chooses points on one fragment.
#[derive(Clone, Debug)]
pub(super) struct FragmentSampler {
    /// The triangle of the unwrapped mesh.
    pub triangle: u32,
    /// Area in square metres.
    pub area: f32,
    shape: Shape,
    /// Weights of the triangle's second and third corner at the texel's corner, and by how much they change over the
    /// texel's width and height.
    origin: DVec2,
    across: DVec2,
    down: DVec2,
}

impl FragmentSampler {
    /// The weights of the triangle's second and third corner at the point that stands for a point of the unit square:
    /// uniform in area for a uniform `u`. A texel that one triangle fills takes the square as it is, so stratified
    /// numbers stay stratified.
    pub fn sample(&self, u: Vec2) -> Vec2 {
        let local = match &self.shape {
            Shape::Triangle => return uniform_triangle(u),
            Shape::Texel => u.as_dvec2(),
            Shape::Polygon(polygon) => polygon.sample(u),
        };
        let inset = INSET + local * (1.0 - 2.0 * INSET);
        let weights = (self.origin + self.across * inset.x + self.down * inset.y).max(DVec2::ZERO);
        (weights / weights.element_sum().max(1.0)).as_vec2()
    }
}

/// The upper left corner of a texel of a rectangle.
fn texel_origin(texel: u32, width: u32) -> DVec2 {
    DVec2::new(f64::from(texel % width), f64::from(texel / width))
}

/// The corners of a triangle in texels of its rectangle.
pub(super) fn texel_corners(unwrap: &Unwrap, triangle: u32, width: u32, height: u32) -> [DVec2; 3] {
    let size = DVec2::new(f64::from(width), f64::from(height));
    // `max` before `min`: a coordinate that is not a number becomes zero.
    unwrap.mesh.triangles[triangle as usize]
        .map(|vertex| (unwrap.mesh.uv1[vertex as usize].as_dvec2() * size).max(DVec2::ZERO).min(size))
}

fn from_barycentric([a, b, c]: [DVec2; 3], barycentric: Vec2) -> DVec2 {
    a + (b - a) * f64::from(barycentric.x) + (c - a) * f64::from(barycentric.y)
}

/// Weights of the second and third corner at a point; `None` for a triangle without extent, or with so little that the
/// weights are beyond all numbers.
pub(super) fn to_barycentric([a, b, c]: [DVec2; 3], point: DVec2) -> Option<DVec2> {
    let (ab, ac, ap) = (b - a, c - a, point - a);
    let weights = DVec2::new(ap.perp_dot(ac), ab.perp_dot(ap)) / ab.perp_dot(ac);
    (weights.abs().max_element() < MOST_WEIGHT).then_some(weights)
}

/// Cuts a triangle (corners in texels) into what lies in each texel; the areas add up to `area`.
fn pieces_of(corners: [DVec2; 3], width: u32, height: u32, triangle: u32, area: f64) -> Vec<Piece> {
    let mut pieces = clipped(&Polygon::from_triangle(corners), width, height, triangle);
    pieces.retain(|piece| piece.area >= LEAST_AREA);
    if pieces.len() <= 1 {
        let centre = (corners[0] + corners[1] + corners[2]) / 3.0;
        let at_centre = || texel_number(centre.y, height) * width + texel_number(centre.x, width);
        let texel = pieces.first().map_or_else(at_centre, |piece| piece.texel);
        return vec![Piece { texel, triangle, area, shape: Shape::Triangle }];
    }
    let scale = area / pieces.iter().map(|piece| piece.area).sum::<f64>();
    for piece in &mut pieces {
        piece.area *= scale;
    }
    pieces
}

/// The column or row that a coordinate falls into; the last one at the far edge.
fn texel_number(coordinate: f64, count: u32) -> u32 {
    (coordinate as u32).min(count.saturating_sub(1))
}

fn clipped(polygon: &Polygon, width: u32, height: u32, triangle: u32) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (y, row) in slices(*polygon, 1, height) {
        for (x, square) in slices(row, 0, width) {
            let area = square.area();
            let shape = if area > 1.0 - 1e-9 { Shape::Texel } else { Shape::Polygon(Box::new(square)) };
            pieces.push(Piece { texel: y * width + x, triangle, area, shape });
        }
    }
    pieces
}

/// Cuts a polygon into slices one texel wide.
fn slices(polygon: Polygon, axis: usize, count: u32) -> impl Iterator<Item = (u32, Polygon)> {
    let (least, most) = polygon.extent(axis);
    let (first, last) = (texel_number(least, count), texel_number(most, count));
    let mut rest = polygon;
    (first..=last).filter_map(move |number| {
        let (slice, beyond) = rest.split(axis, f64::from(number + 1));
        rest = beyond;
        (!slice.is_empty()).then_some((number, slice))
    })
}
