//! Shooting of one patch: form factors and visibility.

use glam::{Vec2, Vec3};

use super::exchanges::Factors;
use super::groups::Group;
use super::occluders::{Candidates, Occluders};
use super::patches::{Facet, Part, Patch};
use super::receivers::{NEAR_POINTS, POINTS, Receiver, ReceiverId};
use super::shaft::Shaft;
use super::{CandidateSearch, PatchId};
use crate::geometry::sobol::{OwenSobol, hash2, unit_float};
use crate::geometry::{Aabb, Ray, RayQuery};
use crate::radiosity::form_factor::point_to_polygon;

/// Maximum number of visibility rays of a receiver.
pub const MAX_RAYS: f32 = 1024.0;

/// Distance in units of their size below which patches or groups are near, and are subdivided. A factor of two would
/// mean four times as many pairs. It would remove three quarters of the error due to uneven brightness within groups,
/// which rays correct anyway.
const NEAR: f32 = 1.0;

/// Receiving patches and occluders.
#[derive(Clone, Copy)]
pub struct Geometry<'a> {
    pub world: &'a dyn RayQuery,
    pub patches: &'a [Patch],
    pub receivers: &'a [Receiver],
    pub bounds: &'a [Aabb],
    pub occluders: &'a Occluders,
    /// Search for triangles in a shaft, which rays test directly.
    pub search: CandidateSearch,
    /// Irradiance that one visibility ray should represent, in lux. Brighter pairs of patches get more rays, dimmer
    /// ones less than one on average.
    pub light_per_ray: f32,
}

/// Shooting patch with derived data.
#[derive(Clone, Copy)]
pub struct ShotSource<'a> {
    pub patch: &'a Patch,
    /// Bounding box of the patch and the points of its receivers.
    pub bounds: Aabb,
    /// Emitting polygons of each group.
    pub parts: &'a [Part],
    /// Approximate final radiosity, as luminance in lm/m2.
    pub glow: f32,
}

/// Sampled point of a shooting patch.
#[derive(Clone, Copy)]
pub struct Target {
    pub position: Vec3,
    pub normal: Vec3,
    /// Index of the patch's viewpoint, if it has viewpoints.
    pub viewpoint: usize,
}

/// Visibility test between receivers and a shooting patch.
pub trait Visibility {
    /// Returns a point of the patch. `u` must be uniform in the unit square.
    fn target(&self, u: Vec2) -> Target;

    /// Returns the transmittance from a target to a receiver's point, per channel.
    fn crosses(&self, point: Vec3, target: &Target) -> Vec3;
}

/// Visibility test by rays to any point of a patch.
pub struct Straight<'a> {
    pub geometry: Geometry<'a>,
    pub patch: &'a Patch,
    pub between: &'a Candidates,
}

impl Visibility for Straight<'_> {
    fn target(&self, u: Vec2) -> Target {
        let (position, normal) = self.patch.sample(u);
        Target { position, normal, viewpoint: 0 }
    }

    fn crosses(&self, point: Vec3, target: &Target) -> Vec3 {
        self.geometry.crosses(self.between, &Ray::between(point, target.position))
    }
}

impl Geometry<'_> {
    /// Returns the transmittance along a ray's interval, given potential occluders.
    pub fn crosses(&self, between: &Candidates, ray: &Ray) -> Vec3 {
        match between {
            Candidates::Triangles(candidates) if self.occluders.block(candidates, ray) => Vec3::ZERO,
            Candidates::Triangles(_) => Vec3::ONE,
            Candidates::Many => self.world.blocked(ray).0,
        }
    }
}

/// Computation of a shooting patch's form factors.
pub struct Shooter<'a> {
    geometry: Geometry<'a>,
    source: ShotSource<'a>,
    /// Index of the shooting patch among the receiving ones.
    own: Option<PatchId>,
    seed: u32,
}

impl<'a> Shooter<'a> {
    /// Creates a shooter. `own` is the index of the shooting patch among the receiving ones, if it is there.
    pub fn new(geometry: Geometry<'a>, source: ShotSource<'a>, own: Option<PatchId>, seed: u32) -> Self {
        Self { geometry, source, own, seed }
    }

    /// Returns potential occluders between the shooter and a patch, or `None` if one lies behind the other.
    pub fn candidates(&self, receiver: PatchId) -> Option<Candidates> {
        let (source, receiving) = (self.source.patch, &self.geometry.patches[receiver.index()]);
        let (from, to) = (self.source.bounds, self.geometry.bounds[receiver.index()]);
        let flat = self.own == Some(receiver) && source.plane_normal.is_some();
        if flat || lies_behind(source, receiving) || lies_behind(receiving, source) {
            return None;
        }
        let mut shaft = Shaft::between(to, from);
        for patch in [source, receiving] {
            if let Some(normal) = patch.plane_normal {
                shaft.keep_above(patch.facets[0].corners[0], normal);
            }
        }
        Some(self.geometry.occluders.within(&shaft, self.geometry.search))
    }

    /// Returns the form factors of a patch's receivers, and the number of traced rays. Without a `visibility`, the
    /// patches are fully visible to each other.
    pub fn factors(&self, patch: PatchId, visibility: Option<&impl Visibility>) -> (Factors, u64) {
        let ShotSource { parts, glow, .. } = self.source;
        let receivers = &self.geometry.patches[patch.index()].receivers;
        let near = is_near(&self.source.bounds, &self.geometry.bounds[patch.index()]);
        let (mut links, mut values) = (Vec::new(), Vec::with_capacity(receivers.len()));
        let mut whole = vec![0.0; receivers.len()];
        self.link(patch, near, |group, receiving, near| {
            let facets = &parts[group.index].facets;
            for place in receiving.places() {
                let receiver = &self.geometry.receivers[receivers[place].index()];
                let factor = match near {
                    true => receiver.mean_form_factor(facets),
                    false => receiver.form_factor(receiver.center, facets),
                };
                whole[place] += factor;
                values.push(Vec3::splat(factor));
            }
            links.push((group, receiving));
        });
        let mut rays = 0;
        if let Some(visibility) = visibility {
            let min_rays = if near { POINTS as f32 } else { 0.0 };
            let seen = |(&id, whole): (&ReceiverId, f32)| {
                let wanted = (whole * glow / self.geometry.light_per_ray).clamp(min_rays, MAX_RAYS);
                let receiver = &self.geometry.receivers[id.index()];
                if whole > 0.0 { self.seen(receiver, id, wanted, visibility, &mut rays) } else { Vec3::ZERO }
            };
            let seen: Vec<Vec3> = receivers.iter().zip(whole).map(seen).collect();
            let places = links.iter().flat_map(|(_, receiving)| receiving.places());
            values.iter_mut().zip(places).for_each(|(value, place)| *value *= seen[place]);
        }
        (Factors { links, values }, rays)
    }

    /// Passes pairs of groups, of the shooter and of a patch, to `tell`. The pairs cover all pairs of their receivers.
    /// The groups of a pair are at least as far apart as they are large. Only single receivers may be nearer, and are
    /// passed with `true`.
    fn link(&self, patch: PatchId, near: bool, mut tell: impl FnMut(Group, Group, bool)) {
        let (source, receiving) = (self.source.patch, &self.geometry.patches[patch.index()]);
        if !near {
            return tell(source.groups.whole(), receiving.groups.whole(), false);
        }
        let eyes = |place: usize| Aabb::around(self.geometry.receivers[receiving.receivers[place].index()].points);
        let eyes = receiving.groups.join(eyes, |first, second| first.union(*second));
        let mut pending = vec![(source.groups.whole(), receiving.groups.whole())];
        while let Some((from, to)) = pending.pop() {
            let (shines, receives) = (&self.source.parts[from.index].bounds, &eyes[to.index]);
            let near = is_near(shines, receives);
            let (halves, others) = (source.groups.halves(from), receiving.groups.halves(to));
            let larger_shines = shines.diagonal() >= receives.diagonal();
            match (halves, others) {
                (Some(halves), others) if near && (larger_shines || others.is_none()) => {
                    pending.extend(halves.map(|half| (half, to)));
                }
                (_, Some(halves)) if near => pending.extend(halves.map(|half| (from, half))),
                _ => tell(from, to, near),
            }
        }
    }

    /// Returns the visible fraction of the shooter's light at a receiver, per channel. `wanted` is the mean number of
    /// rays, which is rounded randomly.
    fn seen(
        &self,
        receiver: &Receiver,
        id: ReceiverId,
        wanted: f32,
        visibility: &impl Visibility,
        rays: &mut u64,
    ) -> Vec3 {
        let seed = hash2(self.seed, id.index() as u32);
        let points = receiver.points.iter().cycle().skip(hash2(seed, 2) as usize % POINTS);
        let count = (wanted + unit_float(seed)) as u32;
        let numbers = OwenSobol::new(hash2(seed, 1));
        let (mut all, mut arrived) = (0.0, Vec3::ZERO);
        for (ray, point) in (0..count).zip(points) {
            let [x, y, ..] = numbers.point(ray);
            let target = visibility.target(Vec2::new(x, y));
            let weight = receiver.weight(*point, target.position, target.normal);
            if weight <= 0.0 {
                continue;
            }
            all += weight;
            *rays += 1;
            arrived += weight * visibility.crosses(*point, &target);
        }
        // If less than one ray is wanted, each traced ray also represents receivers without one.
        if all > 0.0 { arrived / (all * wanted.min(1.0)) } else { Vec3::ZERO }
    }
}

/// Returns true if boxes are so close that the light of their parts varies much from point to point.
fn is_near(from: &Aabb, to: &Aabb) -> bool {
    let gap = (to.min - from.max).max(from.min - to.max).max(Vec3::ZERO).length();
    gap < NEAR * from.diagonal().max(to.diagonal())
}

/// Returns true if a patch lies completely behind another flat patch, or in its plane.
fn lies_behind(flat: &Patch, other: &Patch) -> bool {
    flat.plane_normal.is_some_and(|normal| {
        let foot = flat.facets[0].corners[0];
        let tolerance = 1e-6 * (1.0 + foot.abs().max_element());
        other.facets.iter().flat_map(|facet| &facet.corners).all(|corner| normal.dot(*corner - foot) <= tolerance)
    })
}

impl Receiver {
    /// Returns the unoccluded form factor from a point to facets.
    fn form_factor(&self, point: Vec3, facets: &[Facet]) -> f32 {
        facets.iter().map(|facet| point_to_polygon(point, self.normal, self.horizon, &facet.corners)).sum()
    }

    /// Returns the mean unoccluded form factor over the receiver's area.
    fn mean_form_factor(&self, facets: &[Facet]) -> f32 {
        let points = &self.points[..NEAR_POINTS];
        points.iter().map(|point| self.form_factor(*point, facets)).sum::<f32>() / NEAR_POINTS as f32
    }

    /// Returns the relative contribution of an emitting point to a point of the receiver.
    fn weight(&self, point: Vec3, target: Vec3, normal: Vec3) -> f32 {
        let way = target - point;
        let above = way.dot(self.horizon) > 0.0;
        let cosines = way.dot(self.normal).max(0.0) * -way.dot(normal).min(0.0);
        if above { cosines / way.length_squared().powi(2).max(f32::MIN_POSITIVE) } else { 0.0 }
    }
}
