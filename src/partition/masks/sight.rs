//! Visibility of a source from within a subscene.

use glam::Vec3;

use super::mask::{all_bits, bit_of, bits_of};
use super::raster::Raster;
use super::{Gate, InMask, Interface, Mask, MaskSource};
use crate::geometry::{Aabb, Ray};

/// Visibility query: a source, and the masks between the source and a subscene.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// Interface of the observing subscene.
    pub interface: &'a Interface,
    /// Observed source.
    pub source: &'a MaskSource,
    /// Masks of all borders through which the source's light enters; empty in the source's own subscene.
    pub masks: &'a [InMask],
}

/// Visibility of a viewpoint from a point, without the subscene's own occluders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glance {
    /// Visibility per channel: one for channels that pass the border, zero for others.
    pub light: Vec3,
    /// Segment from the point towards the viewpoint, clipped to the subscene.
    pub local: Ray,
}

/// Visibility through masks of all segments from a box to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// All segments pass.
    Clear,
    /// No segment passes.
    Dark,
    /// Some segments pass, or the outcome is unknown.
    Mixed,
}

/// Returns the tolerance around a border's plane, in meters, so that occluders in the plane count. Larger than
/// rounding, smaller than modeled detail.
pub(super) fn ray_epsilon(point: Vec3) -> f32 {
    1e-5 * (1.0 + point.abs().max_element())
}

impl Sight<'_> {
    /// Looks from a point of the subscene towards one of the source's viewpoints.
    pub fn visibility(&self, point: Vec3, viewpoint: usize) -> Glance {
        let target = self.source.viewpoints()[viewpoint].position;
        let whole = Ray::between(point, target);
        let Some((t, word)) = self.crossed(point, target) else {
            return Glance { light: if self.is_home() { Vec3::ONE } else { Vec3::ZERO }, local: whole };
        };
        let light = match word & bits_of(viewpoint) {
            0 => Vec3::ZERO,
            bits if bits == bits_of(viewpoint) => Vec3::ONE,
            bits => Vec3::from([0, 1, 2].map(|channel| f32::from(u8::from(bits & bit_of(viewpoint, channel) != 0)))),
        };
        let beyond = ray_epsilon(point) / whole.direction.length().max(f32::MIN_POSITIVE);
        Glance { light, local: Ray { t_max: (t + beyond).min(whole.t_max), ..whole } }
    }

    /// Returns true in the source's own subscene.
    pub fn is_home(&self) -> bool {
        self.masks.is_empty()
    }

    /// Returns true if no part of the source is visible from anywhere in the subscene.
    pub fn is_dark(&self) -> bool {
        !self.is_home() && self.masks.iter().all(|arrived| arrived.mask.is_dark())
    }

    /// Returns the visibility of the source's viewpoints from all points of a box in the subscene.
    pub fn through(&self, from: &Aabb) -> Through {
        if self.is_home() {
            return Through::Clear;
        }
        let all = all_bits(self.source.viewpoints().len());
        let (mut any_seen, mut any_hidden, mut any) = (false, false, false);
        for (gate, mask) in self.gates() {
            let raster = self.raster(gate);
            let Some(block) = raster.touched(&crossing(gate, from, &self.source.bounds())) else { continue };
            for rectangle in raster.indices(&block) {
                let word = mask.word(rectangle);
                any_seen |= word != 0;
                any_hidden |= word != all;
                if any_seen && any_hidden {
                    return Through::Mixed;
                }
            }
            any = true;
        }
        match (any, any_seen, any_hidden) {
            (true, true, false) => Through::Clear,
            (true, false, _) => Through::Dark,
            _ => Through::Mixed,
        }
    }

    /// Returns the parameter at which the segment to a viewpoint crosses a border, and the mask bits there. Chooses the
    /// border nearest to the crossing, because rounding may place the crossing outside all borders.
    fn crossed(&self, point: Vec3, target: Vec3) -> Option<(f32, u32)> {
        let crossing = |(gate, mask): (&Gate, &Mask)| {
            let (height, way) = (gate.position - point[gate.axis], target[gate.axis] - point[gate.axis]);
            let t = if way == 0.0 { 0.0 } else { (height / way).clamp(0.0, 1.0) };
            let at = point + (target - point) * t;
            let [aside, along] = gate
                .along()
                .map(|axis| (gate.rectangle.min[axis] - at[axis]).max(at[axis] - gate.rectangle.max[axis]).max(0.0));
            (aside.max(along), t, mask.word(self.raster(gate).at(at)))
        };
        self.gates().map(crossing).min_by(|first, second| first.0.total_cmp(&second.0)).map(|(_, t, word)| (t, word))
    }

    fn gates(&self) -> impl Iterator<Item = (&Gate, &Mask)> {
        self.masks.iter().filter_map(|arrived| Some((self.interface.gate(arrived.border)?, &*arrived.mask)))
    }

    pub(super) fn raster<'g>(&self, gate: &'g Gate) -> Raster<'g> {
        Raster { gate, resolution: self.interface.resolution() }
    }
}

/// Returns the bounds of all crossings of a border's plane by segments between two boxes.
fn crossing(gate: &Gate, from: &Aabb, to: &Aabb) -> Aabb {
    let axis = gate.axis;
    // Distances of a box from the plane, minimum first.
    let distances = |aabb: &Aabb| {
        let (below, above) = (gate.position - aabb.min[axis], aabb.max[axis] - gate.position);
        let near = if below < 0.0 || above < 0.0 { below.abs().min(above.abs()) } else { 0.0 };
        [near, below.abs().max(above.abs())]
    };
    let ([from_near, from_far], [to_near, to_far]) = (distances(from), distances(to));
    let share = |near: f32, far: f32| if near + far > 0.0 { near / (near + far) } else { 0.0 };
    let (min, max) = (share(from_near, to_far), 1.0 - share(to_near, from_far));
    let between = |start: Vec3, end: Vec3, t: f32| start + (end - start) * t;
    let margin = Vec3::splat(ray_epsilon(from.min.abs().max(from.max.abs())));
    Aabb {
        min: between(from.min, to.min, min).min(between(from.min, to.min, max)) - margin,
        max: between(from.max, to.max, min).max(between(from.max, to.max, max)) + margin,
    }
}
