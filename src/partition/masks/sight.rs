//! A source, looked at from the inside of a subscene.

use glam::Vec3;

use super::mask::{all_bits, bit_of, bits_of};
use super::raster::Raster;
use super::{Gate, InMask, Interface, Mask, Source};
use crate::geometry::{Aabb, Ray};

/// A source and what is known of the way to it.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// The subscene that one looks from.
    pub interface: &'a Interface,
    /// Where one looks to.
    pub source: &'a Source,
    /// The masks of all borders that the source's light comes in by; none where it is in the subscene itself.
    pub masks: &'a [InMask],
}

/// What a point of a subscene sees of a viewpoint, as far as others know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glance {
    /// One for the channels that come through the border, zero for the others.
    pub light: Vec3,
    /// The part of the way from the point to the viewpoint that lies in the subscene.
    pub local: Ray,
}

/// What masks say of all ways from a box to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// All come through.
    Clear,
    /// None does.
    Dark,
    /// Some do.
    Mixed,
}

/// How far beyond a border's plane occluders still count, so that those in the plane itself do: more than rounding, less
/// than anything modelled.
pub(super) fn hair(point: Vec3) -> f32 {
    1e-5 * (1.0 + point.abs().max_element())
}

impl Sight<'_> {
    /// Looks from a point of the subscene to one of the source's viewpoints.
    pub fn look(&self, point: Vec3, viewpoint: usize) -> Glance {
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
        let beyond = hair(point) / whole.direction.length().max(f32::MIN_POSITIVE);
        Glance { light, local: Ray { t_max: (t + beyond).min(whole.t_max), ..whole } }
    }

    /// True in the subscene that the source is in.
    pub fn is_home(&self) -> bool {
        self.masks.is_empty()
    }

    /// True when nothing of the source is seen from anywhere in the subscene.
    pub fn is_dark(&self) -> bool {
        !self.is_home() && self.masks.iter().all(|arrived| arrived.mask.is_dark())
    }

    /// What masks say of all ways from the points of a box in the subscene to the source's viewpoints.
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

    /// Where the way from a point to a viewpoint crosses a border, and the bits there. Of several borders the one that the
    /// way is nearest to, which rounding may place beside all of them.
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

/// The part of a border's plane that all ways between two boxes cross it in.
fn crossing(gate: &Gate, from: &Aabb, to: &Aabb) -> Aabb {
    let axis = gate.axis;
    // How far the ends of either box are from the plane, the nearer one first.
    let distances = |aabb: &Aabb| {
        let (below, above) = (gate.position - aabb.min[axis], aabb.max[axis] - gate.position);
        let near = if below < 0.0 || above < 0.0 { below.abs().min(above.abs()) } else { 0.0 };
        [near, below.abs().max(above.abs())]
    };
    let ([from_near, from_far], [to_near, to_far]) = (distances(from), distances(to));
    let share = |near: f32, far: f32| if near + far > 0.0 { near / (near + far) } else { 0.0 };
    let (least, most) = (share(from_near, to_far), 1.0 - share(to_near, from_far));
    let between = |start: Vec3, end: Vec3, t: f32| start + (end - start) * t;
    let margin = Vec3::splat(hair(from.min.abs().max(from.max.abs())));
    Aabb {
        min: between(from.min, to.min, least).min(between(from.min, to.min, most)) - margin,
        max: between(from.max, to.max, least).max(between(from.max, to.max, most)) + margin,
    }
}
