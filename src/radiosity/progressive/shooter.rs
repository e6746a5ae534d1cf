//! One patch that shoots.

use glam::{Vec2, Vec3};

use super::PatchId;
use super::exchanges::Factors;
use super::groups::Group;
use super::occluders::{Candidates, Occluders};
use super::patches::{Facet, Part, Patch};
use super::receivers::{NEAR_POINTS, POINTS, Receiver, ReceiverId};
use super::shaft::Shaft;
use crate::geometry::sobol::{OwenSobol, hash2, unit_float};
use crate::geometry::{Aabb, Ray, RayQuery};
use crate::radiosity::form_factor::point_to_polygon;

/// Rays with which a receiver looks at a patch at most.
const MOST_RAYS: f32 = 1024.0;

/// Patches and groups of them that are nearer to each other than this many times their size see more of each other than their
/// means. Groups told apart up to twice as far are four times as many, and spare three quarters of what uneven brightness
/// within them makes wrong; rays correct that anyway.
const NEAR: f32 = 1.0;

/// What receives, and what stands there.
#[derive(Clone, Copy)]
pub struct Geometry<'a> {
    pub world: &'a dyn RayQuery,
    pub patches: &'a [Patch],
    pub receivers: &'a [Receiver],
    pub bounds: &'a [Aabb],
    pub occluders: &'a Occluders,
    /// The longest list of triangles that rays are tested against.
    pub most_candidates: usize,
    /// Light that a ray should decide on, lux: brighter pairs of patches get more rays, dimmer ones one now and then.
    pub light_per_ray: f32,
}

/// A patch as it shines.
#[derive(Clone, Copy)]
pub struct Shining<'a> {
    pub patch: &'a Patch,
    /// The box around it and around the points that it looks from.
    pub bounds: Aabb,
    /// What each of its groups shines with.
    pub parts: &'a [Part],
    /// What it will send out in the end, lm/m2, about: luminance.
    pub glow: f32,
}

/// A point of a patch that shines.
#[derive(Clone, Copy)]
pub struct Target {
    pub position: Vec3,
    pub normal: Vec3,
    /// Which of the patch's viewpoints it is, where it has those.
    pub viewpoint: usize,
}

/// How receivers look at a patch that shines.
pub trait Look {
    /// One of its points, for a `u` that is uniform in the unit square.
    fn target(&self, u: Vec2) -> Target;

    /// How much of its light comes to a receiver's point, per channel.
    fn crosses(&self, point: Vec3, target: &Target) -> Vec3;
}

/// A look straight at any point of a patch.
pub struct Straight<'a> {
    pub geometry: Geometry<'a>,
    pub patch: &'a Patch,
    pub between: &'a Candidates,
}

impl Look for Straight<'_> {
    fn target(&self, u: Vec2) -> Target {
        let (position, normal) = self.patch.sample(u);
        Target { position, normal, viewpoint: 0 }
    }

    fn crosses(&self, point: Vec3, target: &Target) -> Vec3 {
        self.geometry.crosses(self.between, &Ray::between(point, target.position))
    }
}

impl Geometry<'_> {
    /// How much light crosses a ray's interval, past what may stand there.
    pub fn crosses(&self, between: &Candidates, ray: &Ray) -> Vec3 {
        match between {
            Candidates::Triangles(candidates) if self.occluders.block(candidates, ray) => Vec3::ZERO,
            Candidates::Triangles(_) => Vec3::ONE,
            Candidates::Many => self.world.blocked(ray).0,
        }
    }
}

/// A patch that shoots at others.
pub struct Shooter<'a> {
    geometry: Geometry<'a>,
    shining: Shining<'a>,
    /// Which of those that receive it is.
    own: Option<PatchId>,
    seed: u32,
}

impl<'a> Shooter<'a> {
    /// `own` tells which of the receiving patches it is that shoots, if any.
    pub fn new(geometry: Geometry<'a>, shining: Shining<'a>, own: Option<PatchId>, seed: u32) -> Self {
        Self { geometry, shining, own, seed }
    }

    /// What may stand between the shooter and a patch; `None` where one lies behind the other.
    pub fn candidates(&self, receiver: PatchId) -> Option<Candidates> {
        let (shining, receiving) = (self.shining.patch, &self.geometry.patches[receiver.index()]);
        let (from, to) = (self.shining.bounds, self.geometry.bounds[receiver.index()]);
        let flat = self.own == Some(receiver) && shining.plane_normal.is_some();
        if flat || lies_behind(shining, receiving) || lies_behind(receiving, shining) {
            return None;
        }
        let mut shaft = Shaft::between(to, from);
        for patch in [shining, receiving] {
            if let Some(normal) = patch.plane_normal {
                shaft.keep_above(patch.facets[0].corners[0], normal);
            }
        }
        Some(self.geometry.occluders.within(&shaft, self.geometry.most_candidates))
    }

    /// How much each receiver of a patch gets of the shooter's light, and how many rays that took. Without a `look`, nothing
    /// hides the two from each other.
    pub fn factors(&self, patch: PatchId, look: Option<&impl Look>) -> (Factors, u64) {
        let Shining { parts, glow, .. } = self.shining;
        let receivers = &self.geometry.patches[patch.index()].receivers;
        let near = is_near(&self.shining.bounds, &self.geometry.bounds[patch.index()]);
        let (mut links, mut values) = (Vec::new(), Vec::with_capacity(receivers.len()));
        let mut whole = vec![0.0; receivers.len()];
        self.link(patch, near, |group, receiving, near| {
            let facets = &parts[group.index].facets;
            for place in receiving.places() {
                let receiver = &self.geometry.receivers[receivers[place].index()];
                let factor = match near {
                    true => receiver.mean_form_factor(facets),
                    false => receiver.form_factor(receiver.centre, facets),
                };
                whole[place] += factor;
                values.push(Vec3::splat(factor));
            }
            links.push((group, receiving));
        });
        let mut rays = 0;
        if let Some(look) = look {
            let least = if near { POINTS as f32 } else { 0.0 };
            let seen = |(&id, whole): (&ReceiverId, f32)| {
                let wanted = (whole * glow / self.geometry.light_per_ray).clamp(least, MOST_RAYS);
                let receiver = &self.geometry.receivers[id.index()];
                if whole > 0.0 { self.seen(receiver, id, wanted, look, &mut rays) } else { Vec3::ZERO }
            };
            let seen: Vec<Vec3> = receivers.iter().zip(whole).map(seen).collect();
            let places = links.iter().flat_map(|(_, receiving)| receiving.places());
            values.iter_mut().zip(places).for_each(|(value, place)| *value *= seen[place]);
        }
        (Factors { links, values }, rays)
    }

    /// Tells pairs of groups, of the shooter and of a patch, that stand for all pairs of their receivers: each as far from
    /// each other as they are large, but for single receivers, which may be nearer; then it is said.
    fn link(&self, patch: PatchId, near: bool, mut tell: impl FnMut(Group, Group, bool)) {
        let (shining, receiving) = (self.shining.patch, &self.geometry.patches[patch.index()]);
        if !near {
            return tell(shining.groups.whole(), receiving.groups.whole(), false);
        }
        let eyes = |place: usize| Aabb::around(self.geometry.receivers[receiving.receivers[place].index()].points);
        let eyes = receiving.groups.join(eyes, |first, second| first.union(*second));
        let mut pending = vec![(shining.groups.whole(), receiving.groups.whole())];
        while let Some((from, to)) = pending.pop() {
            let (shines, looks) = (&self.shining.parts[from.index].bounds, &eyes[to.index]);
            let near = is_near(shines, looks);
            let (halves, others) = (shining.groups.halves(from), receiving.groups.halves(to));
            let larger_shines = shines.diagonal() >= looks.diagonal();
            match (halves, others) {
                (Some(halves), others) if near && (larger_shines || others.is_none()) => {
                    pending.extend(halves.map(|half| (half, to)));
                }
                (_, Some(halves)) if near => pending.extend(halves.map(|half| (from, half))),
                _ => tell(from, to, near),
            }
        }
    }

    /// How much of the shooter's light finds its way to a receiver, per channel, on the average of many; so many rays are
    /// asked, by chance one more or less.
    fn seen(&self, receiver: &Receiver, id: ReceiverId, wanted: f32, look: &impl Look, rays: &mut u64) -> Vec3 {
        let seed = hash2(self.seed, id.index() as u32);
        let points = receiver.points.iter().cycle().skip(hash2(seed, 2) as usize % POINTS);
        let count = (wanted + unit_float(seed)) as u32;
        let numbers = OwenSobol::new(hash2(seed, 1));
        let (mut all, mut arrived) = (0.0, Vec3::ZERO);
        for (ray, point) in (0..count).zip(points) {
            let [x, y, ..] = numbers.point(ray);
            let target = look.target(Vec2::new(x, y));
            let weight = receiver.weight(*point, target.position, target.normal);
            if weight <= 0.0 {
                continue;
            }
            all += weight;
            *rays += 1;
            arrived += weight * look.crosses(*point, &target);
        }
        // Whoever is asked for less than one ray stands for those who were not asked.
        if all > 0.0 { arrived / (all * wanted.min(1.0)) } else { Vec3::ZERO }
    }
}

/// True for things so close that the light of their parts differs much from point to point.
fn is_near(from: &Aabb, to: &Aabb) -> bool {
    let gap = (to.min - from.max).max(from.min - to.max).max(Vec3::ZERO).length();
    gap < NEAR * from.diagonal().max(to.diagonal())
}

/// True when all of a patch lies behind another that is flat, or in its plane.
fn lies_behind(flat: &Patch, other: &Patch) -> bool {
    flat.plane_normal.is_some_and(|normal| {
        let foot = flat.facets[0].corners[0];
        let tolerance = 1e-6 * (1.0 + foot.abs().max_element());
        other.facets.iter().flat_map(|facet| &facet.corners).all(|corner| normal.dot(*corner - foot) <= tolerance)
    })
}

impl Receiver {
    /// The part of the hemisphere above one of its points that facets fill, if nothing hides them.
    fn form_factor(&self, point: Vec3, facets: &[Facet]) -> f32 {
        facets.iter().map(|facet| point_to_polygon(point, self.normal, self.horizon, &facet.corners)).sum()
    }

    /// The mean of that over its area.
    fn mean_form_factor(&self, facets: &[Facet]) -> f32 {
        let points = &self.points[..NEAR_POINTS];
        points.iter().map(|point| self.form_factor(*point, facets)).sum::<f32>() / NEAR_POINTS as f32
    }

    /// How much a point that shines brings to one of its own, up to a constant.
    fn weight(&self, point: Vec3, target: Vec3, normal: Vec3) -> f32 {
        let way = target - point;
        let above = way.dot(self.horizon) > 0.0;
        let cosines = way.dot(self.normal).max(0.0) * -way.dot(normal).min(0.0);
        if above { cosines / way.length_squared().powi(2).max(f32::MIN_POSITIVE) } else { 0.0 }
    }
}
