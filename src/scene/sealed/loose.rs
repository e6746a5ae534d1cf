//! Open shells: decides whether other objects close their holes. Examples are sheets, and boxes without a bottom.

use glam::{Vec2, Vec3};

use super::HiddenSides;
use super::contents::above;
use super::shells::Shells;
use crate::geometry::sampling::{cosine_hemisphere, uniform_sphere, uniform_triangle};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Aabb, Hit, Ray, RayQuery, SurfaceId};
use crate::scene::{LightKind, Scene, Sides};

/// Number of test rays on each side.
const RAYS_PER_SIDE: u32 = 64;
/// Maximum number of bounces before a ray counts as trapped in a closed space.
const BOUNCES: u32 = 8;
/// Fraction of a side's rays that must hit the same side for it to count as enclosing. The inside of a crate does, a
/// curtain does not.
const ENCLOSING: f32 = 0.6;
/// Fraction of a side's rays that must be absorbed for it to count as embedded in another object.
const EMBEDDED: f32 = 0.9;
/// Fraction of a side's rays that must hit within a distance for a covered side. The back of a picture on a wall is
/// covered. The distance is given in meters and as a fraction of the shell's size.
const COVERED: f32 = 0.7;
const COVER: f32 = 0.02;
const COVER_OF_SIZE: f32 = 0.05;
/// Minimum fraction of a side's rays that find open space, for an open side. Fewer rays come through cracks.
const MIN_OPEN: f32 = 0.1;
/// Distance in meters from a hole's rim at which rays start. Cracks are narrower.
const INSET: f32 = 0.02;
/// Maximum number of open shells of one surface that are tested individually.
const MAX_SHELLS: usize = 1024;
/// Number of rays from a lamp toward its surroundings, and the fraction that must hit the shell around it.
const LAMP_RAYS: u32 = 32;
const LAMP_ENCLOSED: f32 = 0.3;

/// Seals sides of double-sided open shells whose holes other objects close.
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
        // Six squares without shared edges still form a box.
        let whole = Loose::new(scene, world, shells, &faces);
        if whole.seal(sides) || parts.len() == 1 || parts.len() > MAX_SHELLS {
            continue;
        }
        for part in parts {
            Loose::new(scene, world, shells, part).seal(sides);
        }
    }
}

/// Groups faces by surface, and joins surfaces that share a shell.
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
    /// Cumulative areas of the faces.
    sums: Vec<f64>,
}

/// Hit counts of the rays from one side.
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

    /// Seals an invisible side; returns false if there is none.
    fn seal(&self, sides: &mut HiddenSides) -> bool {
        let share = |count: u32| count as f32 / RAYS_PER_SIDE as f32;
        let found = [false, true].map(|back| self.trace_side(back, sides));
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

    /// Returns a point and normal on a side.
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

    /// Traces the primary rays from a side.
    fn trace_side(&self, back: bool, sides: &HiddenSides) -> Found {
        let cover = COVER.min(self.bounds.diagonal() * COVER_OF_SIZE);
        let mut found = Found::default();
        for index in 0..RAYS_PER_SIDE {
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

    /// Returns true if the space enclosed by a side is visible from outside, or holds light.
    fn is_open(&self, back: bool, sides: &HiddenSides) -> bool {
        let finds =
            |&(index, (point, normal)): &(u32, (Vec3, Vec3))| self.finds_open(point, normal, index, back, sides);
        let open = (0..RAYS_PER_SIDE).map(|index| (index, self.point(index, back))).filter(finds).count();
        let rim = self.rim(back);
        let open_rim = (0..).zip(rim.iter().copied()).filter(finds).count();
        open as f32 >= MIN_OPEN * RAYS_PER_SIDE as f32
            || (!rim.is_empty() && open_rim as f32 >= MIN_OPEN * rim.len() as f32)
            || self.holds_light(back)
    }

    /// Returns points beside the holes.
    fn rim(&self, back: bool) -> Vec<(Vec3, Vec3)> {
        let own: Vec<(usize, usize)> = (self.shells.rims.iter())
            .map(|&(face, side)| (face as usize, usize::from(side)))
            .filter(|&(face, _)| self.is_own(face))
            .collect();
        let count = own.len().min(RAYS_PER_SIDE as usize);
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

    /// Returns true if a bouncing ray leaves the scene, or hits a light source or furniture.
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
            // Furniture is a separate object within the bounds, unlike the floor that a crate stands on.
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

    /// Returns true if the hit belongs to another shell within this one's bounds, and this one is room-sized.
    fn is_within(&self, hit: &Hit) -> bool {
        let extent = self.bounds.extent();
        let is_room = extent.min_element() >= 1.2 && extent.y >= 1.6;
        is_room
            && self.shells.face_at(hit).filter(|&face| !self.is_own(face)).is_some_and(|face| {
                let thing = self.shells.shells[self.shells.faces[face].shell as usize].bounds;
                self.bounds.contains(thing.min) && self.bounds.contains(thing.max)
            })
    }

    /// Returns true if a lamp or an emissive surface lies in the space that a side encloses.
    fn holds_light(&self, back: bool) -> bool {
        let lamps = self.scene.lights.iter().filter_map(|light| match light.kind {
            LightKind::Point { position, .. } | LightKind::Spot { position, .. } => Some(position),
            LightKind::Rectangle { center, normal, .. } => Some(above(center, normal)),
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
            (0..LAMP_RAYS).filter(meets_side).count() as f32 >= LAMP_ENCLOSED * LAMP_RAYS as f32
        })
    }
}
