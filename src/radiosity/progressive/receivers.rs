//! The points that elements receive light at.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::Place;
use crate::geometry::define_id;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, Elements, SurfacePoint};
use crate::radiosity::cpu::Burial;
use crate::radiosity::shown::QUARTERS;

/// Points of an element that is partly buried which are tried until enough are in the open.
const TRIES: u32 = 128;

define_id! {
    /// Which receiver: that of an element has the element's number, and those of bare surfaces come after.
    ReceiverId
}

/// Points that share out a receiver's area, where rays start. The first of them share it out as well: between near patches
/// form factors are means over those.
pub const POINTS: usize = 16;
pub const NEAR_POINTS: usize = QUARTERS.len();

/// Where light is received: by an element, or by a piece of a surface without texels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receiver {
    /// Its middle, metres.
    pub centre: Vec3,
    /// Points that share out its area, where rays start: a hair off the surface.
    pub points: [Vec3; POINTS],
    /// Unit shading normal.
    pub normal: Vec3,
    /// Unit normal of the surface itself.
    pub horizon: Vec3,
}

/// What becomes of light that is received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Share of the light that is reflected, per channel.
    pub reflectance: Vec3,
    /// Square metres that light reaches.
    pub area: f32,
    /// The part of it that sends light out: of things that coincide each receives light, but rays meet one alone.
    pub shown: f32,
    /// The weight of its power where patches are compared.
    pub weight: f32,
}

impl Receiver {
    /// What receives around a point of a surface.
    pub fn new(centre: &SurfacePoint, points: [Vec3; POINTS]) -> Self {
        Self { centre: centre.position, points, normal: centre.shading_normal, horizon: centre.geometric_normal }
    }

    /// The middle of its points.
    pub fn place(&self) -> Vec3 {
        self.points.iter().sum::<Vec3>() / POINTS as f32
    }
}

/// Finds the receivers of elements; the same ones each time.
pub struct ElementReceivers<'a> {
    place: Place<'a>,
    burial: Burial<'a>,
    seed: u32,
}

impl<'a> ElementReceivers<'a> {
    pub fn new(place: Place<'a>, seed: u32) -> Self {
        Self { place, burial: Burial::new(place.scene, place.world), seed }
    }

    /// How each of all elements responds.
    pub fn responses(&self) -> Vec<Response> {
        let Elements { reflectance, area, .. } = self.place.elements;
        let response = |(index, shown)| Response {
            reflectance: reflectance[index],
            area: area[index] * self.place.visible[index],
            shown,
            weight: self.place.weights.get(index).copied().unwrap_or(1.0),
        };
        self.place.covers().shown().into_iter().enumerate().map(response).collect()
    }

    /// Something of each of all receivers.
    pub fn of_all<T: Send>(&self, something: impl Fn(Receiver) -> T + Sync) -> Vec<T> {
        let of = |index| something(self.of(ElementId::from_index(index)));
        (0..self.place.elements.len()).into_par_iter().with_min_len(64).map(of).collect()
    }

    /// The receiver of one element. Where parts of the element lie inside other geometry, its points do not.
    pub fn of(&self, id: ElementId) -> Receiver {
        let Place { scene, elements, visible, .. } = self.place;
        let visible = visible[id.index()];
        let (mut centre, sampler) = (elements.centre_point(scene, id), elements.sampler(scene, id));
        let numbers = OwenSobol::new(hash2(self.seed, id.0));
        let point = |number| {
            let [x, y, ..] = numbers.point(number);
            sampler.sample(QUARTERS.get(number as usize).copied().unwrap_or(Vec2::new(x, y)))
        };
        let mut points = core::array::from_fn(|number| point(number as u32).origin());
        if visible > 0.0 && visible < 1.0 {
            let is_open = |point: &SurfacePoint| !self.burial.is_buried(point, point.geometric_normal).0;
            let open: Vec<SurfacePoint> = (0..TRIES).map(point).filter(is_open).take(POINTS).collect();
            if let Some(first) = open.first() {
                centre = *first;
                points = core::array::from_fn(|point| open[point % open.len()].origin());
            }
        }
        Receiver::new(&centre, points)
    }
}
