//! Hidden sides of double-sided surfaces.
//!
//! Files mark most solids as double-sided. A side is sealed if it faces a space without viewers: the inside of a crate,
//! or the outside of a room without windows. A sealed side has no texels. It absorbs light like the back of a
//! single-sided surface, and it tells rays that they leave a solid.
//!
//! Geometry alone decides:
//! - [`shells`] joins triangles that share edges into shells.
//! - [`contents`] treats closed shells. Their inside is open if it holds a light, an emissive surface, or, in
//!   room-sized shells, other objects.
//! - [`loose`] treats shells with holes. They are sealed inside only if other objects close the holes.
//!
//! A sheet is open on both sides, unless it lies on something, as a picture on its wall.

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

/// Hidden sides of a surface's triangles.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SealedSides {
    /// No side is known to be hidden.
    #[default]
    None,
    /// The front of every triangle is hidden.
    Front,
    /// The back of every triangle is hidden.
    Back,
    /// One entry per triangle of the mesh: 1 if the front is hidden, 2 for the back, 0 for neither.
    Each(Arc<[u8]>),
}

impl SealedSides {
    /// Returns true if the side of the triangle is hidden.
    #[inline]
    pub fn contains(&self, triangle: u32, back: bool) -> bool {
        match self {
            Self::None => false,
            Self::Front => !back,
            Self::Back => back,
            Self::Each(sides) => sides[triangle as usize] & side_bit(back) != 0,
        }
    }

    /// Returns the hidden sides of a mesh made of some of this mesh's triangles.
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
    /// Returns true if the side of the triangle is hidden; always false before [`Scene::with_sealed_sides`].
    #[inline]
    pub fn is_sealed(&self, surface: SurfaceId, triangle: u32, back: bool) -> bool {
        self.surface(surface).sealed.contains(triangle, back)
    }

    /// Returns true if a ray that crosses the surface at the hit enters a solid: the other side absorbs.
    #[inline]
    pub fn enters_solid(&self, hit: &Hit) -> bool {
        self.absorbs(&Hit { back: !hit.back, ..*hit })
    }

    /// Returns whether any triangle of a surface shows its front, and whether any shows its back.
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

    /// Returns the scene with the sealed sides of double-sided surfaces filled in. `world` answers rays among all
    /// surfaces in the bake.
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

/// Sealed sides of all faces, during the analysis.
struct HiddenSides {
    bits: Vec<u8>,
}

impl HiddenSides {
    /// Seals a side of a face, unless the other side is sealed already.
    fn seal(&mut self, face: usize, back: bool) {
        if self.bits[face] == 0 {
            self.bits[face] = side_bit(back);
        }
    }

    fn is_sealed(&self, face: usize, back: bool) -> bool {
        self.bits[face] & side_bit(back) != 0
    }
}
