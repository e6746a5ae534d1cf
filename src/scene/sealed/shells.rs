//! Connected pieces of a scene's surfaces.

use std::collections::HashMap;
use std::ops::Range;

use glam::Vec3;
use rayon::prelude::*;

use crate::geometry::{Aabb, Hit, SurfaceId};
use crate::scene::Scene;

/// Corners closer than this count as one, metres; less in small scenes, and more far from the origin.
const WELD: f32 = 1e-4;
/// The same in parts of the scene's size, and of the largest coordinate.
const WELD_OF_SIZE: f32 = 1e-5;
const WELD_OF_REACH: f32 = 4e-7;
/// A closed shell encloses at least this many welding distances below each square meter of it.
const LEAST_DEPTH: f64 = 0.5;

const NONE: u32 = u32::MAX;

/// A triangle that rays cannot pass.
#[derive(Clone, Copy, Debug)]
pub struct Face {
    pub surface: SurfaceId,
    pub triangle: u32,
    /// Its surface is double-sided.
    pub is_double: bool,
    /// Its shell's front is its back.
    pub is_flipped: bool,
    /// The shell that it belongs to.
    pub shell: u32,
}

/// Triangles that share edges.
#[derive(Clone, Debug)]
pub struct Shell {
    /// Its faces, as a range of [`Shells::order`].
    pub faces: Range<usize>,
    pub bounds: Aabb,
    /// Square meters.
    pub area: f64,
    /// Cubic meters that it encloses; negative where its front faces the inside.
    pub volume: f64,
    /// It has an inside: no edge is free.
    pub is_closed: bool,
    /// Some of its faces are double-sided.
    pub is_double: bool,
}

/// All faces of a scene, and the shells that they form.
pub struct Shells {
    pub faces: Vec<Face>,
    pub shells: Vec<Shell>,
    /// Numbers of the faces, shell by shell.
    pub order: Vec<u32>,
    /// Free edges: a face, and which of its corners the edge starts at.
    pub rims: Vec<(u32, u8)>,
    /// For each triangle of the scene its face.
    numbers: Vec<u32>,
    /// The first triangle of each surface.
    first: Vec<u32>,
}

/// Who lies beyond an edge of a face, and whether that one's corners turn the other way.
#[derive(Clone, Copy)]
struct Neighbor {
    face: u32,
    is_turned: bool,
}

impl Shells {
    /// Finds the shells of all surfaces in the bake that rays cannot pass.
    pub fn of(scene: &Scene, double: &[bool]) -> Self {
        let first = scene.first_triangles();
        let mut shells = Self {
            faces: Vec::new(),
            shells: Vec::new(),
            order: Vec::new(),
            rims: Vec::new(),
            numbers: vec![NONE; scene.triangle_count()],
            first,
        };
        let (positions, mut corners) = shells.collect(scene, double);
        let tolerance = tolerance(&positions);
        let welded = weld(&positions, tolerance);
        for vertex in corners.iter_mut().flatten() {
            *vertex = welded[*vertex as usize];
        }
        let neighbors = shells.neighbors(&corners);
        shells.flood(&positions, &corners, &neighbors, f64::from(tolerance));
        shells
    }

    /// The face that a triangle is; `None` for one that rays pass, or that has no area.
    pub fn face_of(&self, surface: SurfaceId, triangle: u32) -> Option<usize> {
        let number = self.numbers[(self.first[surface.index()] + triangle) as usize];
        (number != NONE).then_some(number as usize)
    }

    /// The face that a ray met.
    pub fn face_at(&self, hit: &Hit) -> Option<usize> {
        self.face_of(hit.surface, hit.triangle)
    }

    /// Numbers of a shell's faces.
    pub fn faces_of(&self, shell: &Shell) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.order[shell.faces.clone()].iter().map(|&face| face as usize)
    }

    /// True when a face's front looks into its closed shell.
    pub fn front_is_inside(&self, face: usize) -> bool {
        let face = &self.faces[face];
        (self.shells[face.shell as usize].volume < 0.0) != face.is_flipped
    }

    /// Makes the faces; answers positions and, for each face, the corners' places among them.
    fn collect(&mut self, scene: &Scene, double: &[bool]) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let (mut positions, mut corners) = (Vec::new(), Vec::new());
        for surface in scene.surface_ids() {
            let placed = scene.surface(surface);
            if !placed.is_in_bake() || scene.material_of(surface).can_be_passed() {
                continue;
            }
            let (mesh, base) = (scene.mesh_of(surface), positions.len() as u32);
            positions.extend(mesh.positions.iter().map(|&position| placed.to_world.transform_point3(position)));
            for (triangle, &[a, b, c]) in mesh.triangles.iter().enumerate() {
                if scene.triangle(surface, triangle as u32).normal() == Vec3::ZERO {
                    continue;
                }
                self.numbers[self.first[surface.index()] as usize + triangle] = self.faces.len() as u32;
                let is_double = double[surface.index()];
                let triangle = triangle as u32;
                self.faces.push(Face { surface, triangle, is_double, is_flipped: false, shell: NONE });
                // Seen from the front, corners turn counter-clockwise.
                let turned = if placed.is_mirrored() { [a, c, b] } else { [a, b, c] };
                corners.push(turned.map(|vertex| vertex + base));
            }
        }
        (positions, corners)
    }

    /// Who lies beyond each edge of each face. Edges that more than two faces share are shared out among those of one
    /// surface first, so that a crate keeps its edges whatever touches them.
    fn neighbors(&mut self, corners: &[[u32; 3]]) -> Vec<[Option<Neighbor>; 3]> {
        let mut edges: Vec<Edge> = corners
            .par_iter()
            .enumerate()
            .filter(|(_, [a, b, c])| a != b && b != c && c != a)
            .flat_map_iter(|(face, corners)| {
                let surface = self.faces[face].surface.0;
                (0..3u8).map(move |side| {
                    let (from, to) = (corners[usize::from(side)], corners[usize::from(side + 1) % 3]);
                    let ends = (from.min(to), from.max(to));
                    Edge { ends, surface, face: face as u32, side, is_upward: from < to }
                })
            })
            .collect();
        edges.par_sort_unstable();
        let mut pairs = Pairs { neighbors: vec![[None; 3]; corners.len()] };
        for shared in edges.chunk_by(|a, b| a.ends == b.ends) {
            let mut rest: Vec<Edge> = Vec::new();
            if shared.len() > 2 {
                for own in shared.chunk_by(|a, b| a.surface == b.surface) {
                    pairs.join_all(own, &mut rest);
                }
            } else {
                rest.extend(shared);
            }
            let mut free = Vec::new();
            pairs.join_all(&rest, &mut free);
            self.rims.extend(free.iter().map(|edge| (edge.face, edge.side)));
        }
        pairs.neighbors
    }

    /// Goes from face to face and makes a shell of all that are reached.
    fn flood(&mut self, positions: &[Vec3], corners: &[[u32; 3]], neighbors: &[[Option<Neighbor>; 3]], weld: f64) {
        let mut has_rim = vec![false; self.faces.len()];
        self.rims.iter().for_each(|&(face, _)| has_rim[face as usize] = true);
        for start in 0..self.faces.len() {
            if self.faces[start].shell != NONE {
                continue;
            }
            let shell = self.shells.len() as u32;
            let begin = self.order.len();
            let mut is_whole = true;
            self.faces[start].shell = shell;
            self.order.push(start as u32);
            let mut next = begin;
            while next < self.order.len() {
                let face = self.order[next] as usize;
                next += 1;
                is_whole &= !has_rim[face];
                for neighbor in neighbors[face].iter().flatten() {
                    let flipped = self.faces[face].is_flipped != neighbor.is_turned;
                    let other = &mut self.faces[neighbor.face as usize];
                    if other.shell == NONE {
                        (other.shell, other.is_flipped) = (shell, flipped);
                        self.order.push(neighbor.face);
                    } else {
                        // A band with one side has no inside.
                        is_whole &= other.is_flipped == flipped;
                    }
                }
            }
            self.finish(begin, is_whole, positions, corners, weld);
        }
    }

    /// Measures a shell whose faces have been found. Its front is that of most of its faces.
    fn finish(&mut self, begin: usize, is_whole: bool, positions: &[Vec3], corners: &[[u32; 3]], weld: f64) {
        let faces = begin..self.order.len();
        let places = |face: u32| corners[face as usize].map(|vertex| positions[vertex as usize]);
        let bounds = Aabb::around(self.order[faces.clone()].iter().flat_map(|&face| places(face)));
        let middle = bounds.centre().as_dvec3();
        let (mut area, mut flipped_area, mut volume) = (0.0, 0.0, 0.0);
        for &face in &self.order[faces.clone()] {
            let [a, b, c] = places(face).map(|place| place.as_dvec3() - middle);
            let normal = (b - a).cross(c - a);
            let is_flipped = self.faces[face as usize].is_flipped;
            area += 0.5 * normal.length();
            flipped_area += if is_flipped { 0.5 * normal.length() } else { 0.0 };
            volume += a.dot(normal) / 6.0 * if is_flipped { -1.0 } else { 1.0 };
        }
        if flipped_area > 0.5 * area {
            volume = -volume;
            for &face in &self.order[faces.clone()] {
                self.faces[face as usize].is_flipped ^= true;
            }
        }
        let is_closed = is_whole && volume.abs() > LEAST_DEPTH * weld * area;
        let is_double = self.order[faces.clone()].iter().any(|&face| self.faces[face as usize].is_double);
        self.shells.push(Shell { faces, bounds, area, volume, is_closed, is_double });
    }
}

/// An edge of a face.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    ends: (u32, u32),
    surface: u32,
    face: u32,
    side: u8,
    /// The face's corners run from the lower of its ends to the higher.
    is_upward: bool,
}

struct Pairs {
    neighbors: Vec<[Option<Neighbor>; 3]>,
}

impl Pairs {
    /// Joins edges in pairs that run opposite ways, or two that are alone; the others are left in `rest`.
    fn join_all(&mut self, edges: &[Edge], rest: &mut Vec<Edge>) {
        if let &[one, other] = edges {
            self.join(one, other);
            return;
        }
        let (up, down): (Vec<Edge>, Vec<Edge>) = edges.iter().partition(|edge| edge.is_upward);
        for (&one, &other) in up.iter().zip(&down) {
            self.join(one, other);
        }
        let paired = up.len().min(down.len());
        rest.extend(up[paired..].iter().chain(&down[paired..]));
    }

    fn join(&mut self, one: Edge, other: Edge) {
        let is_turned = one.is_upward == other.is_upward;
        for (edge, beyond) in [(one, other), (other, one)] {
            self.neighbors[edge.face as usize][usize::from(edge.side)] =
                Some(Neighbor { face: beyond.face, is_turned });
        }
    }
}

fn tolerance(positions: &[Vec3]) -> f32 {
    let bounds = Aabb::around(positions.iter().copied());
    let reach = bounds.min.abs().max(bounds.max.abs()).max_element();
    WELD.min(bounds.diagonal() * WELD_OF_SIZE) + reach * WELD_OF_REACH
}

/// For each position the number of the first one that is nearly the same.
fn weld(positions: &[Vec3], tolerance: f32) -> Vec<u32> {
    let size = 8.0 * tolerance;
    let cell = |place: Vec3| (place / size).floor().to_array().map(|axis| axis as i64);
    // The latest position of each cell, and for each position the one before it in its cell.
    let mut latest: HashMap<[i64; 3], u32> = HashMap::with_capacity(positions.len());
    let mut before: Vec<u32> = vec![NONE; positions.len()];
    let mut welded: Vec<u32> = Vec::with_capacity(positions.len());
    for (index, &place) in positions.iter().enumerate() {
        let (low, high) = (cell(place - tolerance), cell(place + tolerance));
        let mut found = NONE;
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                for z in low[2]..=high[2] {
                    let mut other = latest.get(&[x, y, z]).copied().unwrap_or(NONE);
                    while other != NONE {
                        if positions[other as usize].distance_squared(place) <= tolerance * tolerance {
                            found = found.min(other);
                        }
                        other = before[other as usize];
                    }
                }
            }
        }
        if found == NONE {
            found = index as u32;
            before[index] = latest.insert(cell(place), found).unwrap_or(NONE);
        }
        welded.push(found);
    }
    welded
}
