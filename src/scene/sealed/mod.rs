//! Sides of double-sided surfaces that nothing can see.
//!
//! Files mark most solids as double-sided. A side is sealed when it faces a space that nobody looks into: the inside of
//! a crate, or all that lies beyond a room without windows. A sealed side has no texels. Like the back of a single-sided
//! surface it absorbs light, and it tells rays that they leave a solid.
//!
//! Geometry decides. Triangles that share edges form shells ([`shells`]). The inside of a closed shell is open when it
//! holds a light, something that glows, or, in a shell of a room's size, other things ([`contents`]). A shell with holes
//! is sealed inside only where other things close the holes ([`loose`]). A sheet is open on both sides, unless it lies
//! on something, as a picture on its wall.

mod contents;
mod loose;
mod shells;

use std::sync::Arc;

use self::contents::Contents;
use self::shells::Shells;
use super::{Scene, Sides};
use crate::geometry::{Hit, RayQuery, SurfaceId};

const FRONT: u8 = 1;
const BACK: u8 = 2;

/// The sides of a surface's triangles that nothing can see.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SealedSides {
    /// No side is known to be hidden.
    #[default]
    None,
    /// The front of every triangle.
    Front,
    /// The back of every triangle.
    Back,
    /// One entry a triangle of the mesh: 1 for the front, 2 for the back, 0 for neither.
    Each(Arc<[u8]>),
}

impl SealedSides {
    /// True when nothing can see that side of a triangle.
    #[inline]
    pub fn contains(&self, triangle: u32, back: bool) -> bool {
        match self {
            Self::None => false,
            Self::Front => !back,
            Self::Back => back,
            Self::Each(sides) => sides[triangle as usize] & side_bit(back) != 0,
        }
    }

    /// Those of a mesh made of some of this mesh's triangles.
    pub(crate) fn of_triangles(&self, triangles: impl Iterator<Item = u32>) -> Self {
        match self {
            Self::Each(sides) => Self::Each(triangles.map(|triangle| sides[triangle as usize]).collect()),
            whole => whole.clone(),
        }
    }

    fn new(sides: Vec<u8>) -> Self {
        match sides.first() {
            None => Self::None,
            Some(first) if sides.iter().any(|side| side != first) => Self::Each(sides.into()),
            Some(&FRONT) => Self::Front,
            Some(&BACK) => Self::Back,
            Some(_) => Self::None,
        }
    }
}

fn side_bit(back: bool) -> u8 {
    if back { BACK } else { FRONT }
}

impl Scene {
    /// True when nothing can see that side of a triangle; false until [`Scene::with_sealed_sides`] has looked.
    #[inline]
    pub fn is_sealed(&self, surface: SurfaceId, triangle: u32, back: bool) -> bool {
        self.surface(surface).sealed.contains(triangle, back)
    }

    /// True when a ray that crosses the surface there enters a solid: the other side absorbs.
    #[inline]
    pub fn enters_solid(&self, hit: &Hit) -> bool {
        self.absorbs(&Hit { back: !hit.back, ..*hit })
    }

    /// True when some triangle of a surface shows its front, and when some shows its back.
    pub fn open_sides(&self, surface: SurfaceId) -> [bool; 2] {
        let placed = self.surface(surface);
        let triangles = 0..self.mesh_of(surface).triangles.len() as u32;
        [false, true].map(|back| {
            (!back || placed.sides == Sides::Both)
                && match &placed.sealed {
                    SealedSides::None => true,
                    sealed => triangles.clone().any(|triangle| !sealed.contains(triangle, back)),
                }
        })
    }

    /// The same scene, in which double-sided surfaces know their sealed sides. `world` answers rays among all that is in
    /// the bake.
    pub fn with_sealed_sides(&self, world: &dyn RayQuery) -> Self {
        let mut scene = self.clone();
        for surface in &mut scene.surfaces {
            surface.sealed = SealedSides::None;
        }
        let is_double = |id: SurfaceId| {
            let surface = scene.surface(id);
            surface.is_in_bake() && surface.sides == Sides::Both && !scene.material_of(id).can_be_passed()
        };
        let double: Vec<bool> = scene.surface_ids().map(is_double).collect();
        if !double.contains(&true) {
            return scene;
        }
        let shells = Shells::of(&scene, &double);
        let mut sides = HiddenSides { bits: vec![0; shells.faces.len()] };
        Contents { scene: &scene, world, shells: &shells }.seal(&mut sides);
        loose::seal(&scene, world, &shells, &mut sides);
        for (index, _) in double.iter().enumerate().filter(|(_, is_double)| **is_double) {
            let id = SurfaceId::from_index(index);
            let count = scene.mesh_of(id).triangles.len() as u32;
            let of_triangle = |triangle| shells.face_of(id, triangle).map_or(0, |face: usize| sides.bits[face]);
            scene.surfaces[index].sealed = SealedSides::new((0..count).map(of_triangle).collect());
        }
        scene
    }
}

/// The sealed sides of all faces, while they are looked for.
struct HiddenSides {
    bits: Vec<u8>,
}

impl HiddenSides {
    /// Seals a side of a face; one side always stays open.
    fn seal(&mut self, face: usize, back: bool) {
        if self.bits[face] == 0 {
            self.bits[face] = side_bit(back);
        }
    }

    fn is_sealed(&self, face: usize, back: bool) -> bool {
        self.bits[face] & side_bit(back) != 0
    }
}
