//! Footprints: the parts of triangles behind the texels of a surface's rectangle.

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

/// Index of texels without a footprint.
const NONE: u32 = u32::MAX;
/// Bit set in [`Footprints::home`] if one footprint holds the whole triangle.
const WHOLE: u32 = 1 << 31;
/// Bit set in [`Footprints::grid`] if the texel is divided into parts.
const DIVIDED: u32 = 1 << 31;
/// Area in texels below which pieces are merged into their triangle's other pieces. Rounding of texture coordinates
/// makes slivers along every chart that ends on a texel's edge. Slivers are not worth elements.
const MIN_AREA: f64 = 1e-3;
/// Distance in texels between sample points and a texel's edge. So rounding of barycentric coordinates moves no sample
/// into the next texel. It is half a unit in the last place over a rectangle of 4096 texels.
const INSET: f64 = 2.5e-4;
/// Maximum barycentric weight. Larger weights belong to triangles that collapse to lines within rounding.
const MAX_WEIGHT: f64 = 1e12;

/// Part of one triangle that lies in one texel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fragment {
    /// Triangle of the unwrapped mesh.
    pub triangle: u32,
    /// Area in square meters.
    pub area: f32,
    /// Index of its first corner; its corners end at the next fragment's. A fragment without corners is the whole
    /// texel, or the whole triangle if [`Footprints::home`] says so.
    corners: u32,
}

/// Footprints of a surface's texels, in rows from the top. A texel crossed by other geometry has one footprint per
/// part.
#[derive(Clone, Debug, Default)]
pub(super) struct Footprints {
    width: u32,
    height: u32,
    /// Row-major texel index of each footprint.
    texels: Vec<u32>,
    /// Chart of each footprint; that of its first triangle if charts share a texel.
    charts: Vec<u32>,
    /// First fragment of each footprint, and the number of fragments at the end.
    offsets: Vec<u32>,
    fragments: Vec<Fragment>,
    /// Corners of fragments within their texel, in 1/65535ths of a texel.
    corners: Vec<[u16; 2]>,
    /// Footprint of each texel of the rectangle, or its division's index with [`DIVIDED`], or [`NONE`].
    grid: Vec<u32>,
    /// First footprints of the divided texels, with the division into parts.
    divisions: Vec<(u32, Division)>,
    /// Footprint that holds most of each triangle, with [`WHOLE`] if it holds all of it.
    home: Vec<u32>,
}

/// Piece of a triangle, not yet assigned to its texel.
#[derive(Clone, Debug)]
struct Piece {
    texel: u32,
    triangle: u32,
    /// Area in texels, then in square meters.
    area: f64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Texel,
    Triangle,
    /// Boxed, because most pieces are whole texels, and there are millions of them.
    Polygon(Box<Polygon>),
}

impl Footprints {
    /// Clips every triangle of an unwrapped mesh against the texels of a rectangle.
    ///
    /// `area` returns the area of a triangle in square meters, and the fragments of each triangle add up to it.
    /// Degenerate triangles get no footprint. A triangle that is too small to clip belongs to the texel at its center.
    /// So does one without extent in texture space. `lines` returns the lines along which other geometry crosses a
    /// polygon of a triangle, both in texels of the rectangle. Texels are divided along these lines.
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
        // A stable sort keeps the fragments of a texel in the order of the triangles.
        pieces.par_sort_by_key(|piece| piece.texel);
        let divided = pieces
            .par_chunk_by(|a, b| a.texel == b.texel)
            .filter_map(|pieces| divide::divided(pieces, unwrap, [width, height], &lines))
            .collect();
        Self::sorted(unwrap, width, height, &pieces, divided)
    }

    /// Assembles the footprints. `divided` holds the divided texels, in texel order.
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

    /// Adds a footprint made of the pieces. `largest` is the area of each triangle's largest piece so far.
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

    /// Returns the number of footprints.
    pub fn len(&self) -> usize {
        self.texels.len()
    }

    /// Returns the column and row of a footprint in the rectangle.
    pub fn texel(&self, footprint: usize) -> [u32; 2] {
        let texel = self.texels[footprint];
        [texel % self.width, texel / self.width]
    }

    /// Returns the chart of a footprint.
    pub fn chart(&self, footprint: usize) -> u32 {
        self.charts[footprint]
    }

    /// Returns the fragments of a footprint with their outlines. Outline points are barycentric weights of the
    /// triangle's second and third corner.
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

    /// Returns true if one texel holds the whole triangle.
    fn is_whole(&self, triangle: u32) -> bool {
        self.home[triangle as usize] & WHOLE != 0
    }

    fn range(&self, footprint: usize) -> Range<usize> {
        self.offsets[footprint] as usize..self.offsets[footprint + 1] as usize
    }

    /// Returns the footprint at a point of a triangle: that of its texel if the triangle's chart covers it, else the
    /// nearest covered by the chart. Returns `None` only for triangles without area.
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

    /// Returns the footprint of a texel, or of its part at the point, if the chart covers it.
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

    /// Returns the nearest adjacent footprint of the chart, for a point whose own texel the chart does not cover.
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

    /// Returns samplers of a footprint's fragments.
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

    /// Returns the centroid of a footprint in texture space. The point lies on the triangle that covers the centroid,
    /// or else on the nearest fragment.
    pub fn center(&self, unwrap: &Unwrap, footprint: usize) -> (u32, Vec2) {
        let middles: Vec<(u32, f32, DVec2, Vec2)> = self
            .range(footprint)
            .map(|index| {
                let Fragment { triangle, area, .. } = self.fragments[index];
                let barycentric = self.fragment_center(unwrap, footprint, index);
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

    fn fragment_center(&self, unwrap: &Unwrap, footprint: usize, fragment: usize) -> Vec2 {
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

/// Sampler of points on one fragment.
#[derive(Clone, Debug)]
pub(super) struct FragmentSampler {
    /// Triangle of the unwrapped mesh.
    pub triangle: u32,
    /// Area in square meters.
    pub area: f32,
    shape: Shape,
    /// Barycentric weights of the triangle's second and third corner at the texel's corner. `across` and `down` are
    /// their changes over the texel's width and height.
    origin: DVec2,
    across: DVec2,
    down: DVec2,
}

impl FragmentSampler {
    /// Samples barycentric weights of the triangle's second and third corner, uniformly in area for a uniform `u`. If
    /// one triangle fills the texel, the mapping from the unit square is affine, so stratified numbers stay stratified.
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

/// Returns the upper left corner of a texel of a rectangle.
fn texel_origin(texel: u32, width: u32) -> DVec2 {
    DVec2::new(f64::from(texel % width), f64::from(texel / width))
}

/// Returns the corners of a triangle in texels of its rectangle.
pub(super) fn texel_corners(unwrap: &Unwrap, triangle: u32, width: u32, height: u32) -> [DVec2; 3] {
    let size = DVec2::new(f64::from(width), f64::from(height));
    // `max` before `min` turns NaN coordinates into zero.
    unwrap.mesh.triangles[triangle as usize]
        .map(|vertex| (unwrap.mesh.uv1[vertex as usize].as_dvec2() * size).max(DVec2::ZERO).min(size))
}

fn from_barycentric([a, b, c]: [DVec2; 3], barycentric: Vec2) -> DVec2 {
    a + (b - a) * f64::from(barycentric.x) + (c - a) * f64::from(barycentric.y)
}

/// Returns the barycentric weights of the second and third corner at a point. `None` for triangles without extent, or
/// with so little that the weights overflow.
pub(super) fn to_barycentric([a, b, c]: [DVec2; 3], point: DVec2) -> Option<DVec2> {
    let (ab, ac, ap) = (b - a, c - a, point - a);
    let weights = DVec2::new(ap.perp_dot(ac), ab.perp_dot(ap)) / ab.perp_dot(ac);
    (weights.abs().max_element() < MAX_WEIGHT).then_some(weights)
}

/// Cuts a triangle (corners in texels) into its parts in each texel. The areas add up to `area`.
fn pieces_of(corners: [DVec2; 3], width: u32, height: u32, triangle: u32, area: f64) -> Vec<Piece> {
    let mut pieces = clipped(&Polygon::from_triangle(corners), width, height, triangle);
    pieces.retain(|piece| piece.area >= MIN_AREA);
    if pieces.len() <= 1 {
        let center = (corners[0] + corners[1] + corners[2]) / 3.0;
        let at_center = || texel_number(center.y, height) * width + texel_number(center.x, width);
        let texel = pieces.first().map_or_else(at_center, |piece| piece.texel);
        return vec![Piece { texel, triangle, area, shape: Shape::Triangle }];
    }
    let scale = area / pieces.iter().map(|piece| piece.area).sum::<f64>();
    for piece in &mut pieces {
        piece.area *= scale;
    }
    pieces
}

/// Returns the column or row of a coordinate; the last one at the far edge.
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
    let (min, max) = polygon.extent(axis);
    let (first, last) = (texel_number(min, count), texel_number(max, count));
    let mut rest = polygon;
    (first..=last).filter_map(move |number| {
        let (slice, beyond) = rest.split(axis, f64::from(number + 1));
        rest = beyond;
        (!slice.is_empty()).then_some((number, slice))
    })
}
