//! Closed shells: decides whether their interiors are visible.

use glam::Vec3;

use super::HiddenSides;
use super::shells::{Shell, Shells};
use crate::geometry::sampling::uniform_triangle;
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Aabb, Ray, RayQuery, SurfaceId};
use crate::scene::{LightKind, Scene, Sides, Sky};

/// Directions in which ray crossings are counted to tell inside from outside, skewed against usual building axes. Most
/// of them must agree, since a ray along an edge or through a crack may miscount.
const DIRECTIONS: [Vec3; 5] = [
    Vec3::new(0.563, 0.712, 0.419),
    Vec3::new(-0.741, 0.283, 0.609),
    Vec3::new(0.317, -0.847, -0.427),
    Vec3::new(0.198, 0.361, -0.911),
    Vec3::new(-0.482, -0.519, 0.706),
];
const MIN_VOTES: usize = 3;

/// Height in meters above a face at which a point belongs to the space in front of the face.
const RAY_EPSILON: f32 = 1e-4;
/// Number of sample points on an emissive surface, and the fraction inside a space that makes it lit.
const GLOWING_POINTS: u32 = 32;
const MIN_GLOWING: f32 = 0.1;
/// Number of sample points on a shell, and the fraction that must agree on the shells around it.
const CONTAINED_POINTS: usize = 8;
const MIN_CONTAINED: f32 = 0.75;
/// Minimum width and height in meters, and volume in cubic meters, of a space that a viewer fits into.
const ROOM_WIDTH: f32 = 1.2;
const ROOM_HEIGHT: f32 = 1.6;
const ROOM_VOLUME: f64 = 2.5;
/// Maximum number of shells for which containment in rooms is tested.
const MAX_SHELLS: usize = 4096;

/// Visibility analysis of closed shells.
pub struct Contents<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub shells: &'a Shells,
}

impl Contents<'_> {
    /// Seals the invisible sides of closed shells.
    pub fn seal(&self, sides: &mut HiddenSides) {
        let closed: Vec<usize> =
            (0..self.shells.shells.len()).filter(|&shell| self.shells.shells[shell].is_closed).collect();
        if !closed.iter().any(|&shell| self.shells.shells[shell].is_double) {
            return;
        }
        let space = Space { contents: self, closed: &closed };
        let hollow = space.hollow();
        let is_void = space.is_void_outside(&hollow);
        for &index in closed.iter().filter(|&&index| self.shells.shells[index].is_double) {
            let parent = if hollow[index] { space.parent(index) } else { None };
            let hides_outside = hollow[index] && parent.map_or(is_void, |parent| !hollow[parent]);
            // An inward-facing shell in the middle of a solid is a deliberate cave.
            let is_cave = !hollow[index] && self.shells.shells[index].volume < 0.0 && {
                let parent = space.parent(index);
                parent.is_some_and(|parent| !hollow[parent] && space.is_cave_in(index, parent))
            };
            for face in
                self.shells.faces_of(&self.shells.shells[index]).filter(|&face| self.shells.faces[face].is_double)
            {
                let front_is_inside = self.shells.front_is_inside(face);
                if hides_outside || is_cave {
                    sides.seal(face, front_is_inside);
                } else if !hollow[index] {
                    sides.seal(face, !front_is_inside);
                }
            }
        }
    }
}

/// Interiors of closed shells.
struct Space<'a> {
    contents: &'a Contents<'a>,
    /// Indices of the closed shells.
    closed: &'a [usize],
}

impl Space<'_> {
    fn shell(&self, index: usize) -> &Shell {
        &self.contents.shells.shells[index]
    }

    /// Returns the closed shells that contain a point.
    fn around(&self, point: Vec3) -> Vec<usize> {
        let may_hold = |&&index: &&usize| self.shell(index).bounds.contains(point);
        let candidates: Vec<usize> = self.closed.iter().filter(may_hold).copied().collect();
        if candidates.is_empty() {
            return candidates;
        }
        let mut votes = vec![0; candidates.len()];
        for direction in DIRECTIONS {
            let mut crossed = vec![false; candidates.len()];
            for hit in self.contents.world.all_hits(&Ray::new(point, direction)) {
                let shell = self.contents.shells.face_at(&hit).map(|face| self.contents.shells.faces[face].shell);
                if let Some(place) = candidates.iter().position(|&other| Some(other as u32) == shell) {
                    crossed[place] ^= true;
                }
            }
            votes.iter_mut().zip(crossed).for_each(|(votes, odd)| *votes += usize::from(odd));
        }
        candidates.into_iter().zip(votes).filter(|(_, votes)| *votes >= MIN_VOTES).map(|(index, _)| index).collect()
    }

    fn smallest(&self, shells: impl IntoIterator<Item = usize>) -> Option<usize> {
        shells.into_iter().min_by(|&a, &b| self.shell(a).volume.abs().total_cmp(&self.shell(b).volume.abs()))
    }

    /// Returns the closed shells that contain a shell.
    fn holders(&self, index: usize) -> Vec<usize> {
        let shells = self.contents.shells;
        let faces: Vec<usize> = shells.faces_of(self.shell(index)).collect();
        let count = CONTAINED_POINTS.min(faces.len());
        let mut tally: Vec<(usize, usize)> = Vec::new();
        for sample in 0..count {
            let face = &shells.faces[faces[sample * faces.len() / count]];
            let triangle = self.contents.scene.triangle(face.surface, face.triangle);
            let normal = self.contents.scene.geometric_normal(face.surface, face.triangle);
            let point = above(triangle.corners.iter().sum::<Vec3>() / 3.0, normal);
            for holder in self.around(point).into_iter().filter(|&holder| holder != index) {
                match tally.iter_mut().find(|(other, _)| *other == holder) {
                    Some((_, votes)) => *votes += 1,
                    None => tally.push((holder, 1)),
                }
            }
        }
        let agree = |&(_, votes): &(usize, usize)| votes as f32 >= MIN_CONTAINED * count as f32;
        tally.into_iter().filter(agree).map(|(holder, _)| holder).collect()
    }

    /// Returns the innermost closed shell that contains a shell.
    fn parent(&self, index: usize) -> Option<usize> {
        self.smallest(self.holders(index))
    }

    /// Returns true if `inner` is the inner face of a wall whose outer face is `outer`.
    fn is_cave_in(&self, inner: usize, outer: usize) -> bool {
        self.shell(inner).is_closed && self.shell(inner).volume < 0.0 && self.shell(outer).volume > 0.0
    }

    /// Returns, for each shell, whether its interior may be visible.
    fn hollow(&self) -> Vec<bool> {
        let mut hollow = vec![false; self.contents.shells.shells.len()];
        for light in &self.contents.scene.lights {
            let place = match light.kind {
                LightKind::Point { position, .. } | LightKind::Spot { position, .. } => position,
                LightKind::Rectangle { center, normal, .. } => above(center, normal),
                LightKind::Directional { .. } => continue,
            };
            if let Some(shell) = self.smallest(self.around(place)) {
                hollow[shell] = true;
            }
        }
        self.add_glowing(&mut hollow);
        // A light inside a lampshade or a bulb implies that the surrounding shell is a room too.
        let mut asked: Vec<usize> = self.closed.iter().copied().filter(|&shell| hollow[shell]).collect();
        while let Some(shell) = asked.pop() {
            if let Some(parent) = self.parent(shell).filter(|&parent| !self.is_cave_in(shell, parent))
                && !hollow[parent]
            {
                hollow[parent] = true;
                asked.push(parent);
            }
        }
        self.add_furnished(&mut hollow);
        hollow
    }

    /// Marks shells that contain emissive surfaces.
    fn add_glowing(&self, hollow: &mut [bool]) {
        let scene = self.contents.scene;
        let mut own = vec![0.0; hollow.len()];
        let glows = |&id: &SurfaceId| scene.surface(id).is_in_bake() && scene.material_of(id).is_emissive();
        for surface in scene.surface_ids().filter(glows) {
            let sums = area_sums(scene, surface);
            let Some(&total) = sums.last() else { continue };
            let sides: &[f32] = if scene.surface(surface).sides == Sides::Both { &[1.0, -1.0] } else { &[1.0] };
            let mut tally: Vec<(usize, u32)> = Vec::new();
            for index in 0..GLOWING_POINTS {
                let [x, y, z, _] = OwenSobol::new(0x51DE).point(index);
                let triangle = sums.partition_point(|&sum| sum <= f64::from(z) * total).min(sums.len() - 1) as u32;
                let place = scene.triangle(surface, triangle).at(uniform_triangle([x, y].into()));
                let normal = scene.geometric_normal(surface, triangle);
                let face = self.contents.shells.face_of(surface, triangle);
                let of_itself = face.map(|face| self.contents.shells.faces[face].shell as usize);
                if let Some(shell) = of_itself {
                    own[shell] += total / f64::from(GLOWING_POINTS);
                }
                for side in sides {
                    let around = self.around(above(place, normal * *side));
                    let others = around.into_iter().filter(|&shell| Some(shell) != of_itself);
                    if let Some(shell) = self.smallest(others) {
                        match tally.iter_mut().find(|(other, _)| *other == shell) {
                            Some((_, votes)) => *votes += 1,
                            None => tally.push((shell, 1)),
                        }
                    }
                }
            }
            for (shell, votes) in tally {
                hollow[shell] |= votes as f32 >= MIN_GLOWING * GLOWING_POINTS as f32;
            }
        }
        // A partly emissive shell is a room with a built-in lamp. A fully emissive shell is not.
        for &index in self.closed {
            let shell = self.shell(index);
            let is_part = own[index] > 0.0 && own[index] < 0.5 * shell.area;
            hollow[index] |= is_part && (shell.volume < 0.0 || is_room(shell));
        }
        // A lamp is never baked alone: a fully emissive shell with nothing beside it is a room of light.
        if let ([glowing], true) = (&mut hollow[..], scene.lights.is_empty() && matches!(scene.sky, Sky::Dark)) {
            *glowing |= own[0] > 0.0;
        }
    }

    /// Marks room-sized shells that contain other objects.
    fn add_furnished(&self, hollow: &mut [bool]) {
        let dark = |&index: &usize| !hollow[index] && self.shell(index).is_double && is_room(self.shell(index));
        let mut rooms: Vec<usize> = self.closed.iter().copied().filter(dark).collect();
        for thing in 0..hollow.len() {
            let middle = self.shell(thing).bounds.center();
            if !rooms.iter().any(|&room| room != thing && self.shell(room).bounds.contains(middle)) {
                continue;
            }
            if let Some(room) = self.parent(thing).filter(|&room| !self.is_cave_in(thing, room)) {
                hollow[room] = true;
                rooms.retain(|&other| other != room);
            }
        }
    }

    /// Returns true if there is neither light nor any object outside all rooms.
    fn is_void_outside(&self, hollow: &[bool]) -> bool {
        let scene = self.contents.scene;
        let rooms: Vec<usize> = self.closed.iter().copied().filter(|&index| hollow[index]).collect();
        if rooms.is_empty() || !matches!(scene.sky, Sky::Dark) || hollow.len() > MAX_SHELLS {
            return false;
        }
        let shines_in = |light: &LightKind| match *light {
            LightKind::Point { position, .. } | LightKind::Spot { position, .. } => {
                self.around(position).iter().any(|&shell| hollow[shell])
            }
            LightKind::Rectangle { center, normal, .. } => {
                self.around(above(center, normal)).iter().any(|&shell| hollow[shell])
            }
            LightKind::Directional { .. } => false,
        };
        let is_in_room = |index: usize| {
            hollow[index] && self.shell(index).is_closed || self.holders(index).iter().any(|&holder| hollow[holder])
        };
        let passable = |&id: &SurfaceId| scene.surface(id).is_in_bake() && scene.material_of(id).can_be_passed();
        let pane_in_room = |id: SurfaceId| {
            let bounds = bounds_of(scene, id);
            rooms.iter().any(|&room| holds(self.shell(room).bounds, bounds))
        };
        scene.lights.iter().all(|light| shines_in(&light.kind))
            && scene.surface_ids().filter(passable).all(pane_in_room)
            && (0..hollow.len()).all(is_in_room)
    }
}

/// Returns true if the shell is large enough for a person to stand in.
pub(super) fn is_room(shell: &Shell) -> bool {
    let extent = shell.bounds.extent();
    extent.x.min(extent.z) >= ROOM_WIDTH && extent.y >= ROOM_HEIGHT && shell.volume.abs() >= ROOM_VOLUME
}

/// Returns a point just above a surface, in the space in front of the face.
pub(super) fn above(place: Vec3, normal: Vec3) -> Vec3 {
    place + normal * (RAY_EPSILON + 1e-6 * place.abs().max_element())
}

fn holds(room: Aabb, thing: Aabb) -> bool {
    room.contains(thing.min) && room.contains(thing.max)
}

fn bounds_of(scene: &Scene, surface: SurfaceId) -> Aabb {
    let count = scene.mesh_of(surface).triangles.len() as u32;
    (0..count).fold(Aabb::EMPTY, |bounds, triangle| bounds.union(scene.triangle(surface, triangle).bounds()))
}

/// Returns the cumulative areas of a surface's triangles.
fn area_sums(scene: &Scene, surface: SurfaceId) -> Vec<f64> {
    let mut sum = 0.0;
    let count = scene.mesh_of(surface).triangles.len() as u32;
    let sums = (0..count).map(|triangle| {
        sum += f64::from(scene.triangle(surface, triangle).area());
        sum
    });
    sums.collect()
}
