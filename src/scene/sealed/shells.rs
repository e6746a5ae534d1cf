//! Connected components of a scene's triangles.

use std::collections::HashMap;
use std::ops::Range;

use glam::Vec3;
use rayon::prelude::*;

use crate::geometry::{Aabb, Hit, SurfaceId};
use crate::scene::Scene;

/// Welding distance in meters; less in small scenes, more far from the origin.
const WELD: f32 = 1e-4;
/// Welding distance as a fraction of the scene's size, and of the largest coordinate.
const WELD_OF_SIZE: f32 = 1e-5;
const WELD_OF_REACH: f32 = 4e-7;
/// Minimum volume of a closed shell, in welding distances per square meter of its area.
const MIN_DEPTH: f64 = 0.5;

const NONE: u32 = u32::MAX;

/// Triangle that rays cannot pass.
#[derive(Clone, Copy, Debug)]
pub struct Face {
    pub surface: SurfaceId,
    pub triangle: u32,
    /// True if the surface is double-sided.
    pub is_double: bool,
    /// True if the face's orientation is opposite to its shell's.
    pub is_flipped: bool,
    /// Index of the face's shell.
    pub shell: u32,
}

/// Shell: triangles connected by shared edges.
#[derive(Clone, Debug)]
pub struct Shell {
    /// Range of [`Shells::order`] that holds the shell's faces.
    pub faces: Range<usize>,
    pub bounds: Aabb,
    /// Area in square meters.
    pub area: f64,
    /// Enclosed volume in cubic meters; negative if the front faces inside.
    pub volume: f64,
    /// True if the shell has an inside: no edge is free.
    pub is_closed: bool,
    /// True if any face is double-sided.
    pub is_double: bool,
}

/// All faces of a scene, and the shells that they form.
pub struct Shells {
    pub faces: Vec<Face>,
    pub shells: Vec<Shell>,
    /// Indices of the faces, grouped by shell.
    pub order: Vec<u32>,
    /// Free edges: a face, and the index of its corner where the edge starts.
    pub rims: Vec<(u32, u8)>,
    /// Index of each triangle's face, over all triangles of the scene.
    numbers: Vec<u32>,
    /// Index of each surface's first triangle.
    first: Vec<u32>,
}

/// Face beyond an edge, and whether its corners have the opposite orientation.
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

    /// Returns the face of a triangle; `None` if rays pass the triangle, or if it has no area.
    pub fn face_of(&self, surface: SurfaceId, triangle: u32) -> Option<usize> {
        let number = self.numbers[(self.first[surface.index()] + triangle) as usize];
        (number != NONE).then_some(number as usize)
    }

    /// Returns the face that a ray hit.
    pub fn face_at(&self, hit: &Hit) -> Option<usize> {
        self.face_of(hit.surface, hit.triangle)
    }

    /// Returns the indices of a shell's faces.
    pub fn faces_of(&self, shell: &Shell) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.order[shell.faces.clone()].iter().map(|&face| face as usize)
    }

    /// Returns true if a face's front faces the inside of its closed shell.
    pub fn front_is_inside(&self, face: usize) -> bool {
        let face = &self.faces[face];
        (self.shells[face.shell as usize].volume < 0.0) != face.is_flipped
    }

    /// Creates the faces. Returns positions, and for each face the indices of its corners.
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
                // Corners become counter-clockwise seen from the front.
                let turned = if placed.is_mirrored() { [a, c, b] } else { [a, b, c] };
                corners.push(turned.map(|vertex| vertex + base));
            }
        }
        (positions, corners)
    }

    /// Finds the face beyond each edge of each face. If more than two faces share an edge, faces of one surface are
    /// paired first. So a crate keeps its edges whatever touches them.
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

    /// Flood-fills faces across edges, and creates a shell for each component.
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
                        // A one-sided band has no inside.
                        is_whole &= other.is_flipped == flipped;
                    }
                }
            }
            self.finish(begin, is_whole, positions, corners, weld);
        }
    }

    /// Computes the measures of a shell. Its front is that of the larger part of its area.
    fn finish(&mut self, begin: usize, is_whole: bool, positions: &[Vec3], corners: &[[u32; 3]], weld: f64) {
        let faces = begin..self.order.len();
        let places = |face: u32| corners[face as usize].map(|vertex| positions[vertex as usize]);
        let bounds = Aabb::around(self.order[faces.clone()].iter().flat_map(|&face| places(face)));
        let middle = bounds.center().as_dvec3();
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
        let is_closed = is_whole && volume.abs() > MIN_DEPTH * weld * area;
        let is_double = self.order[faces.clone()].iter().any(|&face| self.faces[face as usize].is_double);
        self.shells.push(Shell { faces, bounds, area, volume, is_closed, is_double });
    }
}

/// Edge of a face.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    ends: (u32, u32),
    surface: u32,
    face: u32,
    side: u8,
    /// True if the face's corners run from the edge's lower end to the higher one.
    is_upward: bool,
}

struct Pairs {
    neighbors: Vec<[Option<Neighbor>; 3]>,
}

impl Pairs {
    /// Joins pairs of oppositely directed edges, or two edges that are alone. Remaining edges go to `rest`.
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

/// Returns, for each position, the index of the first position within the tolerance.
fn weld(positions: &[Vec3], tolerance: f32) -> Vec<u32> {
    let size = 8.0 * tolerance;
    let cell = |place: Vec3| (place / size).floor().to_array().map(|axis| axis as i64);
    // Latest position in each cell, and for each position the previous one in its cell.
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
