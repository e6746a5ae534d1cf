//! One subscene at work.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::Arc;

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::super::interactions::{Between, InteractionCache, Interactions};
use super::super::patches::{Facet, Patch};
use super::super::receivers::{Receiver, ReceiverId};
use super::super::refinement::{self, State, parts};
use super::super::shooter::{Geometry, Look, Shooter, Straight, Target};
use super::super::{PatchId, Visibility};
use super::local::Local;
use super::message::{Flash, Message, Shape};
use crate::geometry::Aabb;
use crate::geometry::sobol::hash2;
use crate::partition::masks::{InMask, Interface, Mask, Pending, Sight, Through};

/// What all subscenes have in common.
#[derive(Clone, Copy)]
pub struct Common {
    /// Patches of all of them.
    pub patches: usize,
    pub light_per_ray: f32,
    pub visibility: Visibility,
    /// Memory of one of them for interactions, and as much for masks.
    pub most_bytes: usize,
    pub seed: u32,
}

/// What lies in one subscene, in numbers of its own.
pub struct Contents {
    pub patches: Vec<Patch>,
    pub receivers: Vec<Receiver>,
    /// The box around each patch and around the points that it looks from.
    pub bounds: Vec<Aabb>,
    /// The box around the points that each patch looks from.
    pub eyes: Vec<Aabb>,
    pub states: Vec<State>,
    /// How others know each patch.
    pub shapes: Vec<Arc<Shape>>,
    /// The number of the first patch among those of all subscenes.
    pub first: usize,
}

/// One subscene: it knows its own geometry, its borders, and what others tell it in messages.
pub struct Worker {
    common: Common,
    interface: Interface,
    local: Local,
    contents: Contents,
    /// Shots whose masks are not all there.
    pending: Pending,
    interactions: InteractionCache,
    masks: MaskCache,
    rays: u64,
}

impl Worker {
    pub fn new(common: Common, interface: Interface, local: Local, contents: Contents) -> Self {
        Self {
            common,
            interface,
            local,
            contents,
            pending: Pending::default(),
            interactions: InteractionCache::new(common.patches, common.most_bytes),
            masks: MaskCache { most_bytes: common.most_bytes, ..MaskCache::default() },
            rays: 0,
        }
    }

    /// What lies in it.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Rays that asked what is in sight.
    pub fn rays(&self) -> u64 {
        self.rays + self.local.mask_rays()
    }

    /// Its patch with most unshot power.
    pub fn strongest(&self) -> Option<refinement::Shot> {
        refinement::strongest(&self.contents.states)
    }

    /// All its power that has not been shot, lumens.
    pub fn unshot_power(&self) -> f64 {
        self.contents.states.iter().map(State::unshot_power).sum()
    }

    /// Takes a message. When it is the last that the shot needs, the subscene receives its light and tells those behind.
    pub fn receive(&mut self, message: Message, post: &mut Vec<Message>) {
        let Message { flash, mask, .. } = message;
        let arrived = self.pending.arrive(&self.interface, flash.number, &flash.shape.source, mask);
        if let Some(masks) = arrived {
            self.light(&flash, &masks, None);
            self.send(&flash, &masks, post);
        }
    }

    /// Shoots all that one of its patches has, as shot `number` of all. `facets` are those of one of its receivers.
    pub fn shoot(
        &mut self,
        patch: PatchId,
        number: u64,
        facets: impl Fn(ReceiverId) -> Vec<Facet>,
        post: &mut Vec<Message>,
    ) {
        let contents = &mut self.contents;
        let (power, each) = contents.states[patch.index()].take();
        let shines = &contents.patches[patch.index()];
        let whole = power / shines.visible_area;
        let flash = Arc::new(Flash {
            number,
            patch: contents.first + patch.index(),
            shape: contents.shapes[patch.index()].clone(),
            whole,
            parts: parts(shines, whole, &each, |id| facets(*id)),
        });
        self.light(&flash, &[], Some(patch));
        self.send(&flash, &[], post);
    }

    /// Receives the light of a shot.
    fn light(&mut self, flash: &Flash, masks: &[InMask], own: Option<PatchId>) {
        let Self { common, interface, local, contents, interactions, .. } = self;
        let Contents { patches, receivers, bounds, eyes, states, .. } = contents;
        let sight = Sight { interface, source: &flash.shape.source, masks };
        if sight.is_dark() {
            return;
        }
        let geometry = Geometry {
            world: &local.world,
            patches,
            receivers,
            bounds,
            occluders: &local.occluders,
            visibility: common.visibility,
            light_per_ray: common.light_per_ray,
        };
        let seed = hash2(hash2(common.seed, flash.number as u32), interface.cell().0);
        let shooter = Shooter::new(geometry, flash.shining(), own, seed);
        let through = |receiver: PatchId| sight.through(&eyes[receiver.index()]);
        let build = || {
            Interactions::build(patches.len(), |receiver| {
                if through(receiver) == Through::Dark { None } else { shooter.candidates(receiver) }
            })
        };
        let rays = AtomicU64::new(0);
        interactions.with(PatchId::from_index(flash.patch), build, |interactions| {
            states.par_iter_mut().with_min_len(4).enumerate().for_each(|(receiver, state)| {
                let receiver = PatchId::from_index(receiver);
                let Some(between) = interactions.with(receiver) else { return };
                let add = |index: usize, id: ReceiverId, light: Vec3| {
                    state.receive(index, &receivers[id.index()], light);
                };
                let is_clear = between == Between::Nothing && through(receiver) == Through::Clear;
                let looked = if own.is_some() {
                    let look = Straight { geometry, patch: &flash.shape.patch, between };
                    shooter.light(receiver, (!is_clear).then_some(&look), add)
                } else {
                    let look = Masked { sight, geometry, targets: &flash.shape.targets, between };
                    shooter.light(receiver, (!is_clear).then_some(&look), add)
                };
                rays.fetch_add(looked, Ordering::Relaxed);
            });
        });
        self.rays += rays.into_inner();
    }

    /// Tells those behind its borders of a shot.
    fn send(&mut self, flash: &Arc<Flash>, masks: &[InMask], post: &mut Vec<Message>) {
        let Self { interface, local, masks: known, .. } = self;
        let source = &flash.shape.source;
        let sight = Sight { interface, source, masks };
        let gates: Vec<_> = interface.outward(source).collect();
        let make = || gates.par_iter().map(|gate| Arc::new(sight.mask(gate, local))).collect();
        for (gate, mask) in gates.iter().zip(known.with(flash.patch, make)) {
            let mask = InMask { border: gate.border, mask };
            post.push(Message { to: gate.beyond, flash: flash.clone(), mask });
        }
    }
}

/// A patch of another subscene, looked at through masks.
struct Masked<'a> {
    sight: Sight<'a>,
    geometry: Geometry<'a>,
    targets: &'a [Target],
    between: Between<'a>,
}

impl Look for Masked<'_> {
    fn target(&self, u: Vec2) -> Target {
        let count = self.targets.len();
        self.targets[((u.x * count as f32) as usize).min(count - 1)]
    }

    fn crosses(&self, point: Vec3, target: &Target) -> Vec3 {
        let glance = self.sight.look(point, target.viewpoint);
        if glance.light == Vec3::ZERO {
            return Vec3::ZERO;
        }
        glance.light * self.geometry.crosses(self.between, &glance.local)
    }
}

/// The masks of patches that have shot, for the borders that their light leaves by, within a bound of memory. They do not
/// change from shot to shot.
#[derive(Default)]
struct MaskCache {
    kept: HashMap<usize, Vec<Arc<Mask>>>,
    bytes: usize,
    most_bytes: usize,
}

impl MaskCache {
    fn with(&mut self, patch: usize, make: impl FnOnce() -> Vec<Arc<Mask>>) -> Vec<Arc<Mask>> {
        if let Some(known) = self.kept.get(&patch) {
            return known.clone();
        }
        let masks = make();
        let bytes = masks.iter().map(|mask| mask.bytes() + size_of::<Mask>()).sum::<usize>();
        if self.bytes + bytes <= self.most_bytes {
            self.bytes += bytes;
            self.kept.insert(patch, masks.clone());
        }
        masks
    }
}
