//! The points that elements receive light at.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{RayQuery, define_id};
use crate::lightmap::{ElementId, Elements, SurfacePoint};
use crate::radiosity::cpu::Burial;
use crate::scene::Scene;

/// Points of an element that is partly buried which are tried until enough are in the open.
const TRIES: u32 = 128;

define_id! {
    /// Which receiver: that of an element has the element's number, and those of bare surfaces come after.
    ReceiverId
}

/// Points that share out a receiver's area, where rays start. The first of them share it out as well: between near patches
/// form factors are means over those.
pub const POINTS: usize = 16;
pub const NEAR_POINTS: usize = 4;

/// What receives light: an element, or a piece of a surface without texels.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    /// Its middle, metres.
    pub centre: Vec3,
    /// Points that share out its area, where rays start: a hair off the surface.
    pub points: [Vec3; POINTS],
    /// Unit shading normal.
    pub normal: Vec3,
    /// Unit normal of the surface itself.
    pub horizon: Vec3,
    /// Share of the light that is reflected, per channel.
    pub reflectance: Vec3,
    /// Square metres that light reaches.
    pub area: f32,
}

impl Receiver {
    /// What receives around a point of a surface.
    pub fn new(centre: &SurfacePoint, points: [Vec3; POINTS], reflectance: Vec3, area: f32) -> Self {
        Self {
            centre: centre.position,
            points,
            normal: centre.shading_normal,
            horizon: centre.geometric_normal,
            reflectance,
            area,
        }
    }

    /// The middle of its points.
    pub fn place(&self) -> Vec3 {
        self.points.iter().sum::<Vec3>() / POINTS as f32
    }
}

/// The receivers of all elements. Where parts of an element lie inside other geometry, its points do not. `visible` is the
/// part of each that light reaches.
pub fn receivers(
    scene: &Scene,
    world: &dyn RayQuery,
    elements: &Elements,
    visible: &[f32],
    seed: u32,
) -> Vec<Receiver> {
    let burial = Burial::new(scene, world);
    let receiver = |index: usize| {
        let id = ElementId::from_index(index);
        let visible = visible[index];
        let (mut centre, sampler) = (elements.centre_point(scene, id), elements.sampler(scene, id));
        let numbers = OwenSobol::new(hash2(seed, index as u32));
        let point = |number| {
            let [x, y, ..] = numbers.point(number);
            sampler.sample(QUARTERS.get(number as usize).copied().unwrap_or(Vec2::new(x, y)))
        };
        let mut points = core::array::from_fn(|number| point(number as u32).origin());
        if visible > 0.0 && visible < 1.0 {
            let is_open = |point: &SurfacePoint| !burial.is_buried(point, point.geometric_normal).0;
            let open: Vec<SurfacePoint> = (0..TRIES).map(point).filter(is_open).take(POINTS).collect();
            if let Some(first) = open.first() {
                centre = *first;
                points = core::array::from_fn(|point| open[point % open.len()].origin());
            }
        }
        Receiver::new(&centre, points, elements.reflectance[index], elements.area[index] * visible)
    };
    (0..elements.len()).into_par_iter().with_min_len(64).map(receiver).collect()
}

/// The middles of the quarters of the unit square.
const QUARTERS: [Vec2; NEAR_POINTS] =
    [Vec2::new(0.25, 0.25), Vec2::new(0.75, 0.75), Vec2::new(0.75, 0.25), Vec2::new(0.25, 0.75)];
