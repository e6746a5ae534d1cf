//! Points at which elements receive light.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::Place;
use crate::geometry::define_id;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, Elements, SurfacePoint};
use crate::radiosity::cpu::InsideTest;
use crate::radiosity::exposed_area::QUARTERS;

/// Maximum number of candidate points for a partly visible element.
const TRIES: u32 = 128;

define_id! {
    /// Index of a receiver. Receivers of elements have the element's index. Those of unmapped surfaces follow.
    ReceiverId
}

/// Number of points stratified over a receiver's area, from which rays start. The first `NEAR_POINTS` are stratified
/// too. Form factors between near patches are means over these.
pub const POINTS: usize = 16;
pub const NEAR_POINTS: usize = QUARTERS.len();

/// Receiver of light: an element, or a piece of an unmapped surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receiver {
    /// Center, in meters.
    pub center: Vec3,
    /// Points stratified over the area, from which rays start, with a small offset from the surface.
    pub points: [Vec3; POINTS],
    /// Shading normal, a unit vector.
    pub normal: Vec3,
    /// Geometric normal, a unit vector.
    pub horizon: Vec3,
}

/// Response of a receiver to light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Fraction of the light that is reflected, per channel.
    pub reflectance: Vec3,
    /// Visible area, in square meters.
    pub area: f32,
    /// Exposed area fraction, which emits light. Each of several coincident surfaces receives light, but rays hit only
    /// one.
    pub shown: f32,
    /// Weight of the power in comparisons between patches.
    pub weight: f32,
}

impl Receiver {
    /// Creates a receiver around a surface point.
    pub fn new(center: &SurfacePoint, points: [Vec3; POINTS]) -> Self {
        Self { center: center.position, points, normal: center.shading_normal, horizon: center.geometric_normal }
    }

    /// Returns the mean of the points.
    pub fn place(&self) -> Vec3 {
        self.points.iter().sum::<Vec3>() / POINTS as f32
    }
}

/// Factory of element receivers, which are identical in each call.
pub struct ElementReceivers<'a> {
    place: Place<'a>,
    inside_test: InsideTest<'a>,
    seed: u32,
}

impl<'a> ElementReceivers<'a> {
    pub fn new(place: Place<'a>, seed: u32) -> Self {
        Self { place, inside_test: InsideTest::new(place.scene, place.world), seed }
    }

    /// Returns the response of each element.
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

    /// Applies a function to the receivers of all elements.
    pub fn of_all<T: Send>(&self, something: impl Fn(Receiver) -> T + Sync) -> Vec<T> {
        let of = |index| something(self.of(ElementId::from_index(index)));
        (0..self.place.elements.len()).into_par_iter().with_min_len(64).with_max_len(64).map(of).collect()
    }

    /// Creates the receiver of an element. Its points lie outside other geometry, if part of the element is visible.
    pub fn of(&self, id: ElementId) -> Receiver {
        let Place { scene, elements, visible, .. } = self.place;
        let visible = visible[id.index()];
        let (mut center, sampler) = (elements.center_point(scene, id), elements.sampler(scene, id));
        let numbers = OwenSobol::new(hash2(self.seed, id.0));
        let point = |number| {
            let [x, y, ..] = numbers.point(number);
            sampler.sample(QUARTERS.get(number as usize).copied().unwrap_or(Vec2::new(x, y)))
        };
        let mut points = core::array::from_fn(|number| point(number as u32).origin());
        if visible > 0.0 && visible < 1.0 {
            let is_open = |point: &SurfacePoint| !self.inside_test.is_inside(point, point.geometric_normal).0;
            let open: Vec<SurfacePoint> = (0..TRIES).map(point).filter(is_open).take(POINTS).collect();
            if let Some(first) = open.first() {
                center = *first;
                points = core::array::from_fn(|point| open[point % open.len()].origin());
            }
        }
        Receiver::new(&center, points)
    }
}
