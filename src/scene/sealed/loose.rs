//! Shells with holes, and whether something else closes the holes: sheets, and boxes without a bottom.

use glam::{Vec2, Vec3};

use super::HiddenSides;
use super::contents::above;
use super::shells::Shells;
use crate::geometry::sampling::{cosine_hemisphere, uniform_sphere, uniform_triangle};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Aabb, Hit, Ray, RayQuery, SurfaceId};
use crate::scene::{LightKind, Scene, Sides};

/// Points on each side from which rays look.
const LOOKS: u32 = 64;
/// Surfaces that a look bounces off before it counts as lost in a closed space.
const BOUNCES: u32 = 8;
/// A side looks at itself when so many of its looks meet it first: the inside of a crate does, a curtain does not.
const ENCLOSING: f32 = 0.6;
/// A side lies in something else when so many of its looks end there.
const EMBEDDED: f32 = 0.9;
/// A side faces something it lies on, as a picture its wall, when so many of its looks end within this distance, meters
/// and in parts of the shell's size.
const COVERED: f32 = 0.7;
const COVER: f32 = 0.02;
const COVER_OF_SIZE: f32 = 0.05;
/// A side is open when so many of its looks find open space: fewer come through cracks.
const LEAST_OPEN: f32 = 0.1;
/// How far from a hole's rim its looks start, meters: cracks are narrower than that.
const INSET: f32 = 0.02;
/// Shells with holes of one surface, up to which each is judged alone.
const MOST_SHELLS: usize = 1024;
/// Directions in which a lamp looks for the shell around it, and the share of them that must find it.
const LAMP_LOOKS: u32 = 32;
const LAMP_ENCLOSED: f32 = 0.3;

/// Seals sides of double-sided shells with holes whose holes are closed by other things.
pub(super) fn seal(scene: &Scene, world: &dyn RayQuery, shells: &Shells, sides: &mut HiddenSides) {
    let mut of_surface: Vec<Vec<usize>> = vec![Vec::new(); scene.surfaces.len()];
    for (face, one) in shells.faces.iter().enumerate() {
        if one.is_double && !shells.shells[one.shell as usize].is_closed {
            of_surface[one.surface.index()].push(face);
        }
    }
    for mut faces in joined(of_surface, shells) {
        faces.sort_by_key(|&face| (shells.faces[face].shell, face));
        let parts: Vec<&[usize]> = faces.chunk_by(|&a, &b| shells.faces[a].shell == shells.faces[b].shell).collect();
        // Six squares that no edge connects are a box all the same.
        let whole = Loose::new(scene, world, shells, &faces);
        if whole.seal(sides) || parts.len() == 1 || parts.len() > MOST_SHELLS {
            continue;
        }
        for part in parts {
            Loose::new(scene, world, shells, part).seal(sides);
        }
    }
}

/// Groups of faces: those of one surface, and those of surfaces that a shell connects.
fn joined(mut of_surface: Vec<Vec<usize>>, shells: &Shells) -> Vec<Vec<usize>> {
    let mut home: Vec<Option<usize>> = vec![None; shells.shells.len()];
    let mut root: Vec<usize> = (0..of_surface.len()).collect();
    fn find(root: &mut [usize], mut one: usize) -> usize {
        while root[one] != one {
            root[one] = root[root[one]];
            one = root[one];
        }
        one
    }
    for (surface, faces) in of_surface.iter().enumerate() {
        for &face in faces {
            let home = &mut home[shells.faces[face].shell as usize];
            let (a, b) = (find(&mut root, surface), find(&mut root, home.unwrap_or(surface)));
            root[a.max(b)] = a.min(b);
            home.get_or_insert(surface);
        }
    }
    for surface in (0..of_surface.len()).rev() {
        let first = find(&mut root, surface);
        if first != surface {
            let faces = core::mem::take(&mut of_surface[surface]);
            of_surface[first].extend(faces);
        }
    }
    of_surface.retain(|faces| !faces.is_empty());
    of_surface
}

/// Faces that may enclose a space together.
struct Loose<'a> {
    scene: &'a Scene,
    world: &'a dyn RayQuery,
    shells: &'a Shells,
    faces: &'a [usize],
    bounds: Aabb,
    /// Area of all faces up to and with each.
    sums: Vec<f64>,
}

/// What looks from one side find.
#[derive(Default)]
struct Found {
    itself: u32,
    absorbed: u32,
    covered: u32,
}

impl<'a> Loose<'a> {
    fn new(scene: &'a Scene, world: &'a dyn RayQuery, shells: &'a Shells, faces: &'a [usize]) -> Self {
        let triangle = |face: usize| scene.triangle(shells.faces[face].surface, shells.faces[face].triangle);
        let mut sum = 0.0;
        let sums = faces.iter().map(|&face| {
            sum += f64::from(triangle(face).area());
            sum
        });
        let sums = sums.collect();
        let bounds = faces.iter().fold(Aabb::EMPTY, |bounds, &face| bounds.union(triangle(face).bounds()));
        Self { scene, world, shells, faces, bounds, sums }
    }

    /// Seals a side that nothing can see; false when there is none.
    fn seal(&self, sides: &mut HiddenSides) -> bool {
        let share = |count: u32| count as f32 / LOOKS as f32;
        let found = [false, true].map(|back| self.look(back, sides));
        let encloses = found.each_ref().map(|found| share(found.itself) >= ENCLOSING);
        let hidden = [false, true].map(|back| {
            let side = usize::from(back);
            share(found[side].absorbed) >= EMBEDDED
                || share(found[side].covered) >= COVERED
                || (encloses[side] && !encloses[1 - side] && !self.is_open(back, sides))
        });
        let Some(back) = [false, true].into_iter().find(|&back| hidden[usize::from(back)]) else { return false };
        if hidden[0] && hidden[1] {
            return false;
        }
        for &face in self.faces {
            sides.seal(face, back != self.shells.faces[face].is_flipped);
        }
        true
    }

    /// A point on a side.
    fn point(&self, index: u32, back: bool) -> (Vec3, Vec3) {
        let [x, y, z, _] = OwenSobol::new(0x51DE).point(index);
        let wanted = f64::from(z) * self.sums.last().copied().unwrap_or(0.0);
        let place = self.sums.partition_point(|&sum| sum <= wanted).min(self.faces.len() - 1);
        let face = &self.shells.faces[self.faces[place]];
        let normal = self.normal(self.faces[place], back);
        let point = self.scene.triangle(face.surface, face.triangle).at(uniform_triangle(Vec2::new(x, y)));
        (above(point, normal), normal)
    }

    fn normal(&self, face: usize, back: bool) -> Vec3 {
        let face = &self.shells.faces[face];
        let front = self.scene.geometric_normal(face.surface, face.triangle);
        if face.is_flipped != back { -front } else { front }
    }

    fn is_own(&self, face: usize) -> bool {
        self.faces
            .binary_search_by_key(&(self.shells.faces[face].shell, face), |&own| (self.shells.faces[own].shell, own))
            .is_ok()
    }

    /// What the first looks from a side meet.
    fn look(&self, back: bool, sides: &HiddenSides) -> Found {
        let cover = COVER.min(self.bounds.diagonal() * COVER_OF_SIZE);
        let mut found = Found::default();
        for index in 0..LOOKS {
            let (point, normal) = self.point(index, back);
            let [x, y, ..] = OwenSobol::new(hash2(0x51DE, 0)).point(index);
            let Some(hit) = self.world.closest(&Ray::new(point, cosine_hemisphere(normal, Vec2::new(x, y)))) else {
                continue;
            };
            found.absorbed += u32::from(self.absorbs(&hit, sides));
            found.covered += u32::from(hit.t <= cover);
            found.itself += u32::from(self.is_own_side(&hit, back));
        }
        found
    }

    fn is_own_side(&self, hit: &Hit, back: bool) -> bool {
        let own = self.shells.face_at(hit).filter(|&face| self.is_own(face));
        own.is_some_and(|face| (hit.back != self.shells.faces[face].is_flipped) == back)
    }

    fn absorbs(&self, hit: &Hit, sides: &HiddenSides) -> bool {
        (hit.back && self.scene.surface(hit.surface).sides == Sides::Front)
            || self.shells.face_at(hit).is_some_and(|face| sides.is_sealed(face, hit.back))
    }

    /// True when the space that a side encloses can be looked into, or holds light.
    fn is_open(&self, back: bool, sides: &HiddenSides) -> bool {
        let finds =
            |&(index, (point, normal)): &(u32, (Vec3, Vec3))| self.finds_open(point, normal, index, back, sides);
        let open = (0..LOOKS).map(|index| (index, self.point(index, back))).filter(finds).count();
        let rim = self.rim(back);
        let open_rim = (0..).zip(rim.iter().copied()).filter(finds).count();
        open as f32 >= LEAST_OPEN * LOOKS as f32
            || (!rim.is_empty() && open_rim as f32 >= LEAST_OPEN * rim.len() as f32)
            || self.holds_light(back)
    }

    /// Points beside the holes.
    fn rim(&self, back: bool) -> Vec<(Vec3, Vec3)> {
        let own: Vec<(usize, usize)> = (self.shells.rims.iter())
            .map(|&(face, side)| (face as usize, usize::from(side)))
            .filter(|&(face, _)| self.is_own(face))
            .collect();
        let count = own.len().min(LOOKS as usize);
        (0..count)
            .map(|index| {
                let (number, side) = own[index * own.len() / count];
                let face = &self.shells.faces[number];
                let mut corners = self.scene.triangle(face.surface, face.triangle).corners;
                if self.scene.surface(face.surface).is_mirrored() {
                    corners.swap(1, 2);
                }
                let middle = (corners[side] + corners[(side + 1) % 3]) / 2.0;
                let inwards = corners[(side + 2) % 3] - middle;
                let place = middle + inwards * (INSET / inwards.length().max(INSET)).min(0.3);
                let normal = self.normal(number, back);
                (above(place, normal), normal)
            })
            .collect()
    }

    /// True when a look that bounces on leaves the scene, or meets a light or something that glows.
    fn finds_open(&self, point: Vec3, normal: Vec3, index: u32, back: bool, sides: &HiddenSides) -> bool {
        let (mut point, mut normal) = (point, normal);
        for bounce in 0..BOUNCES {
            let [x, y, ..] = OwenSobol::new(hash2(0x51DE, bounce)).point(index);
            let Some(hit) = self.world.closest(&Ray::new(point, cosine_hemisphere(normal, Vec2::new(x, y)))) else {
                return true;
            };
            if self.absorbs(&hit, sides) {
                return false;
            }
            if self.scene.material_of(hit.surface).is_emissive() {
                return true;
            }
            // Furniture: a thing of its own within the bounds, not the floor that a crate stands on.
            if !self.is_own_side(&hit, back) && self.is_within(&hit) {
                return true;
            }
            let front = self.scene.geometric_normal(hit.surface, hit.triangle);
            normal = if hit.back { -front } else { front };
            let place = self.scene.triangle(hit.surface, hit.triangle).at(hit.barycentric);
            point = above(place, normal);
        }
        false
    }

    /// True when what was met belongs to another shell that lies within the bounds of this one, which is of a room's
    /// size.
    fn is_within(&self, hit: &Hit) -> bool {
        let extent = self.bounds.extent();
        let is_room = extent.min_element() >= 1.2 && extent.y >= 1.6;
        is_room
            && self.shells.face_at(hit).filter(|&face| !self.is_own(face)).is_some_and(|face| {
                let thing = self.shells.shells[self.shells.faces[face].shell as usize].bounds;
                self.bounds.contains(thing.min) && self.bounds.contains(thing.max)
            })
    }

    /// True when a lamp, or something that glows, stands in the space that a side encloses.
    fn holds_light(&self, back: bool) -> bool {
        let lamps = self.scene.lights.iter().filter_map(|light| match light.kind {
            LightKind::Point { position, .. } | LightKind::Spot { position, .. } => Some(position),
            LightKind::Rectangle { centre, normal, .. } => Some(above(centre, normal)),
            LightKind::Directional { .. } => None,
        });
        let glows = |&id: &SurfaceId| {
            let is_other = !self.faces.iter().any(|&face| self.shells.faces[face].surface == id);
            is_other && self.scene.surface(id).is_in_bake() && self.scene.material_of(id).is_emissive()
        };
        let glowing = self.scene.surface_ids().filter(glows).flat_map(|id| {
            let count = self.scene.mesh_of(id).triangles.len().min(8);
            (0..count).map(move |sample| {
                let triangle = (sample * self.scene.mesh_of(id).triangles.len() / count) as u32;
                let middle = self.scene.triangle(id, triangle).corners.iter().sum::<Vec3>() / 3.0;
                above(middle, self.scene.geometric_normal(id, triangle))
            })
        });
        lamps.chain(glowing).filter(|&place| self.bounds.contains(place)).any(|place| {
            let meets_side = |&index: &u32| {
                let [x, y, ..] = OwenSobol::new(0x51DE).point(index);
                let hit = self.world.closest(&Ray::new(place, uniform_sphere(Vec2::new(x, y))));
                hit.is_some_and(|hit| self.is_own_side(&hit, back))
            };
            (0..LAMP_LOOKS).filter(meets_side).count() as f32 >= LAMP_ENCLOSED * LAMP_LOOKS as f32
        })
    }
}
