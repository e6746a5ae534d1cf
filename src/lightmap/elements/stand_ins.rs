//! Stand-ins: visible elements that replace hidden neighbors in texels.
//!
//! A wall that is sunk into the ground continues below it. Its hidden part receives light from below the world, and no
//! camera sees it. But a texel that the ground crosses would show that light at the foot of the wall. So would the
//! adjacent texel, through linear filtering.

use std::sync::OnceLock;

use glam::Vec2;

use super::contacts::{HEIGHT, PARALLEL};
use super::{ElementId, Elements};
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Hit, Ray, RayQuery, SurfaceId};
use crate::parts::map;
use crate::scene::{Scene, Sides};

/// Number of test rays from an element toward the space below the world.
const DIRECTIONS: u32 = 32;
/// Minimum downward component of rays that count. Flatter rays may pass beyond the edge of the ground.
const MIN_FALL: f32 = 0.25;
/// Fractions of rays that leave the world downwards. An element below the ground exceeds the first, an element above
/// stays below the second.
const BELOW: f32 = 0.15;
const ABOVE: f32 = 0.03;
/// Maximum length of chains of stand-ins, as in a corner where two sheets meet.
const LONGEST_CHAIN: usize = 4;
/// Number of texels that a thread takes at a time.
const TEXELS: usize = 64;
/// Offsets of adjacent texels, the nearest first.
const AROUND: [[i32; 2]; 8] = [[0, -1], [-1, 0], [1, 0], [0, 1], [-1, -1], [1, -1], [-1, 1], [1, 1]];

/// Index of empty texels.
const NONE: u32 = u32::MAX;

/// Finds the elements of a scene that have stand-ins, in order, each with its stand-in.
///
/// A neighbor hides an element if a sheet separates both and only the neighbor is in front of the sheet. For a
/// single-sided sheet the front is known. For a double-sided sheet, it is the side from which the space below the world
/// is not visible. Neighbors lie in one texel or in adjacent texels.
pub(super) async fn find(scene: &Scene, world: &dyn RayQuery, elements: &Elements) -> Vec<(u32, u32)> {
    let of_surface = |index| Neighborhood::new(scene, world, elements, SurfaceId::from_index(index));
    let surfaces = map(scene.surfaces.len(), 1, of_surface).await;
    let texels_of = |(index, surface): (usize, &Neighborhood)| (0..surface.texels.len()).map(move |at| (index, at));
    let texels: Vec<(usize, usize)> = surfaces.iter().enumerate().flat_map(texels_of).collect();
    let is_crossed = |index: usize| surfaces[texels[index].0].is_crossed(texels[index].1);
    let is_crossed = map(texels.len(), TEXELS, is_crossed).await;
    let hidden = |index: usize| {
        let (surface, at) = texels[index];
        surfaces[surface].hidden(at, &is_crossed[index - at..])
    };
    let direct = map(texels.len(), TEXELS, hidden).await.concat();
    let next = |element: u32| Some(direct[direct.binary_search_by_key(&element, |pair| pair.0).ok()?].1);
    let last = |first: u32| (0..LONGEST_CHAIN).fold(first, |element, _| next(element).unwrap_or(element));
    direct.iter().map(|&(hidden, stand_in)| (hidden, last(stand_in))).filter(|pair| pair.0 != pair.1).collect()
}

/// Elements of one surface, by texel.
struct Neighborhood<'a> {
    scene: &'a Scene,
    world: &'a dyn RayQuery,
    elements: &'a Elements,
    /// First element of the surface.
    start: usize,
    /// Elements of each texel, in order.
    texels: Vec<Texel>,
    /// Column and row of the surface's first texel, and the number of columns and rows.
    corner: [i32; 2],
    size: [i32; 2],
    /// Index in `texels` of each texel of the rectangle, for the front and for the back.
    grids: [Vec<u32>; 2],
    /// Fraction of each element's rays that leave the world downwards, computed on first use.
    fall: Vec<OnceLock<f32>>,
}

struct Texel {
    first: usize,
    end: usize,
}

impl<'a> Neighborhood<'a> {
    fn new(scene: &'a Scene, world: &'a dyn RayQuery, elements: &'a Elements, surface: SurfaceId) -> Self {
        let range = elements.of_surface(surface);
        let texels: Vec<Texel> =
            elements.texels_of(surface).map(|texel| Texel { first: texel.start, end: texel.end }).collect();
        let place = |texel: &Texel| [elements.texel[texel.first].x, elements.texel[texel.first].y].map(i32::from);
        let extreme = |pick: fn(i32, i32) -> i32| {
            texels.iter().map(place).reduce(|a, b| [pick(a[0], b[0]), pick(a[1], b[1])]).unwrap_or([0; 2])
        };
        let (corner, last) = (extreme(i32::min), extreme(i32::max));
        let size = [last[0] - corner[0] + 1, last[1] - corner[1] + 1];
        let mut grids = [Vec::new(), Vec::new()];
        for (index, texel) in texels.iter().enumerate() {
            let grid = &mut grids[usize::from(elements.back[texel.first])];
            grid.resize((size[0] * size[1]) as usize, NONE);
            let [x, y] = place(texel);
            grid[((y - corner[1]) * size[0] + x - corner[0]) as usize] = index as u32;
        }
        let fall = (0..range.len()).map(|_| OnceLock::new()).collect();
        Self { scene, world, elements, start: range.start, texels, corner, size, grids, fall }
    }

    /// Returns the hidden elements of a texel with their stand-ins. `is_crossed` tells it of the surface's texels.
    fn hidden(&self, at: usize, is_crossed: &[bool]) -> Vec<(u32, u32)> {
        if !(is_crossed[at] || self.around(at).any(|beside| is_crossed[beside])) {
            return Vec::new();
        }
        let Texel { first, end } = self.texels[at];
        (first..end).filter_map(|element| Some((element as u32, self.stand_in(at, element)? as u32))).collect()
    }

    /// Returns true if geometry divides the texel, or separates it from the next one to the right or below.
    fn is_crossed(&self, at: usize) -> bool {
        let Texel { first, end } = self.texels[at];
        let next = [[1, 0], [0, 1]].into_iter().filter_map(|step| self.beside(at, step));
        end - first > 1 || next.into_iter().any(|next| self.ray_between(first, self.texels[next].first).is_some())
    }

    fn beside(&self, at: usize, [dx, dy]: [i32; 2]) -> Option<usize> {
        let element = self.texels[at].first;
        let texel = self.elements.texel[element];
        let (x, y) = (i32::from(texel.x) - self.corner[0] + dx, i32::from(texel.y) - self.corner[1] + dy);
        let is_inside = (0..self.size[0]).contains(&x) && (0..self.size[1]).contains(&y);
        let found = is_inside
            .then(|| self.grids[usize::from(self.elements.back[element])][(y * self.size[0] + x) as usize] as usize)?;
        let chart = |element| self.elements.chart(ElementId::from_index(element));
        (found != NONE as usize && chart(self.texels[found].first) == chart(element)).then_some(found)
    }

    fn around(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        AROUND.into_iter().filter_map(move |step| self.beside(at, step))
    }

    /// Returns the nearest element that can stand in for an element of a texel.
    fn stand_in(&self, at: usize, element: usize) -> Option<usize> {
        let texels = core::iter::once(at).chain(self.around(at));
        let mut others = texels.flat_map(|at| self.texels[at].first..self.texels[at].end);
        others.find(|&other| other != element && self.hides(other, element))
    }

    /// Returns true if a sheet separates two elements and only `seen` is in front of it.
    fn hides(&self, seen: usize, element: usize) -> bool {
        let Some(hit) = self.ray_between(element, seen) else { return false };
        if self.scene.absorbs(&hit) {
            return self.ray_between(seen, element).is_some_and(|hit| !self.scene.absorbs(&hit));
        }
        let is_open_on_both = self.scene.surface(hit.surface).sides == Sides::Both;
        is_open_on_both && self.fall(element) >= BELOW && self.fall(seen) <= ABOVE
    }

    /// Returns the first opaque surface on the way from one element to another.
    fn ray_between(&self, from: usize, to: usize) -> Option<Hit> {
        let Elements { center, geometric_normal, .. } = self.elements;
        let height = center[from].distance(center[to]) * HEIGHT;
        let [start, end] = [from, to].map(|element| center[element] + geometric_normal[element] * height);
        let hit = self.world.closest(&Ray::between(start, end))?;
        let normal = self.scene.triangle(hit.surface, hit.triangle).normal();
        let crosses = normal.dot(geometric_normal[from]).abs() < PARALLEL;
        (crosses && !self.scene.material_of(hit.surface).can_be_passed()).then_some(hit)
    }

    /// Returns the fraction of an element's rays that leave the world downwards.
    fn fall(&self, element: usize) -> f32 {
        let share = || {
            let Elements { center, geometric_normal, .. } = self.elements;
            let normal = geometric_normal[element];
            let start = center[element] + normal * (self.elements.area[element].sqrt() * HEIGHT);
            let points = OwenSobol::new(element as u32);
            let directions = (0..DIRECTIONS).map(|index| {
                let [x, y, ..] = points.point(index);
                cosine_hemisphere(normal, Vec2::new(x, y))
            });
            let falling = directions.filter(|direction| {
                direction.y < -MIN_FALL && self.world.closest(&Ray::new(start, *direction)).is_none()
            });
            falling.count() as f32 / DIRECTIONS as f32
        };
        *self.fall[element - self.start].get_or_init(share)
    }
}
