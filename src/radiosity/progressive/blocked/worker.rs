//! One subscene at work.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::Arc;

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::super::PatchId;
use super::super::exchanges::{ExchangeCache, Exchanges};
use super::super::occluders::Candidates;
use super::super::patches::{Part, Patch};
use super::super::receivers::{ReceiverId, Response};
use super::super::refinement::{self, State};
use super::super::shooter::{Geometry, Look, Shooter, Straight, Target};
use super::message::{Flash, Message, Shape};
use super::ray_count::RayCount;
use super::site::{Site, Sites};
use crate::geometry::Aabb;
use crate::geometry::sobol::hash2;
use crate::partition::CellId;
use crate::partition::masks::{InMask, Interface, Mask, Pending, Sight, Through};

/// What all subscenes have in common.
#[derive(Clone, Copy)]
pub struct Common {
    /// Patches of all of them.
    pub patches: usize,
    pub light_per_ray: f32,
    pub most_candidates: usize,
    /// Memory of one of them for exchanges, and as much for masks.
    pub most_bytes: usize,
    pub seed: u32,
}

/// What lies in one subscene, in numbers of its own.
pub struct Contents {
    pub patches: Vec<Patch>,
    pub responses: Vec<Response>,
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

/// One subscene: it knows its own site, its borders, and what others tell it in messages. What it found at its site it
/// keeps, so that it seldom goes there again.
pub struct Worker {
    common: Common,
    interface: Interface,
    contents: Contents,
    /// Shots whose masks are not all there.
    pending: Pending,
    exchanges: ExchangeCache,
    masks: MaskCache,
    /// Rays that found what patches send here.
    sight_rays: RayCount,
    /// Rays that made masks of patches.
    mask_rays: RayCount,
}

impl Worker {
    pub fn new(common: Common, interface: Interface, contents: Contents) -> Self {
        Self {
            common,
            interface,
            contents,
            pending: Pending::default(),
            exchanges: ExchangeCache::new(common.most_bytes),
            masks: MaskCache { most_bytes: common.most_bytes, ..MaskCache::default() },
            sight_rays: RayCount::new(common.patches),
            mask_rays: RayCount::new(common.patches),
        }
    }

    /// Which subscene it is.
    pub fn cell(&self) -> CellId {
        self.interface.cell()
    }

    /// What lies in it.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Rays that asked what is in sight: of those here, and for masks.
    pub fn rays(&self) -> [u64; 2] {
        [&self.sight_rays, &self.mask_rays].map(RayCount::traced)
    }

    /// What [`Worker::restore_rays`] goes on from.
    pub fn rays_in_words(&self) -> impl Iterator<Item = u64> {
        self.sight_rays.to_words().chain(self.mask_rays.to_words())
    }

    /// Goes on with its counts of rays, each half of the words.
    pub fn restore_rays(&mut self, words: &[u64]) {
        let (sight, masks) = words.split_at(words.len() / 2);
        self.sight_rays.restore(sight);
        self.mask_rays.restore(masks);
    }

    /// The light of its patches.
    pub fn states_mut(&mut self) -> &mut [State] {
        &mut self.contents.states
    }

    /// Adds light to its receivers, lux, of which they reflect their part.
    pub fn add(&mut self, light: impl Fn(ReceiverId) -> Option<Vec3>) {
        let Contents { patches, responses, states, .. } = &mut self.contents;
        for (patch, state) in patches.iter().zip(states) {
            for (index, &id) in patch.receivers.iter().enumerate() {
                if let Some(light) = light(id) {
                    state.receive(index, &responses[id.index()], light);
                }
            }
        }
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
    pub fn receive(&mut self, message: Message, sites: &mut Sites, post: &mut Vec<Message>) {
        let Message { flash, mask, .. } = message;
        let arrived = self.pending.arrive(&self.interface, flash.number, &flash.shape.source, mask);
        if let Some(masks) = arrived {
            self.light(&flash, &masks, None, sites);
            self.send(&flash, &masks, sites, post);
        }
    }

    /// Forgets shots of which masks are missing.
    pub fn forget_masks_on_their_way(&mut self) {
        self.pending = Pending::default();
    }

    /// Shoots all that one of its patches has, as shot `number` of all. `parts` are what the patch's groups shine with.
    pub fn shoot(&mut self, patch: PatchId, number: u64, parts: Vec<Part>, sites: &mut Sites, post: &mut Vec<Message>) {
        let contents = &mut self.contents;
        let (power, each) = contents.states[patch.index()].take();
        let shines = &contents.patches[patch.index()];
        let flash = Arc::new(Flash {
            number,
            patch: contents.first + patch.index(),
            shape: contents.shapes[patch.index()].clone(),
            parts,
            groups: refinement::shining(shines, &contents.responses, power / shines.visible_area, &each),
            weight: contents.states[patch.index()].weight(),
        });
        self.light(&flash, &[], Some(patch), sites);
        self.send(&flash, &[], sites, post);
    }

    /// Receives the light of a shot.
    fn light(&mut self, flash: &Flash, masks: &[InMask], own: Option<PatchId>, sites: &mut Sites) {
        let Self { common, interface, contents, exchanges, sight_rays, .. } = self;
        let Contents { patches, responses, bounds, eyes, states, .. } = contents;
        let sight = Sight { interface, source: &flash.shape.source, masks };
        if sight.is_dark() {
            return;
        }
        let build = || {
            let traced = AtomicU64::new(0);
            let Site { receivers, local } = sites.at(interface.cell());
            let geometry = Geometry {
                world: &local.world,
                patches,
                receivers,
                bounds,
                occluders: &local.occluders,
                most_candidates: common.most_candidates,
                light_per_ray: common.light_per_ray,
            };
            let seed = hash2(hash2(common.seed, flash.patch as u32), interface.cell().0);
            let shooter = Shooter::new(geometry, flash.shining(), own, seed);
            let exchanges = Exchanges::build(patches.len(), |receiver| {
                let through = sight.through(&eyes[receiver.index()]);
                let between = &if through == Through::Dark { None } else { shooter.candidates(receiver) }?;
                let is_clear = between.are_none() && through == Through::Clear;
                let (factors, looked) = if own.is_some() {
                    let look = Straight { geometry, patch: &flash.shape.patch, between };
                    shooter.factors(receiver, (!is_clear).then_some(&look))
                } else {
                    let look = Masked { sight, geometry, targets: &flash.shape.targets, between };
                    shooter.factors(receiver, (!is_clear).then_some(&look))
                };
                traced.fetch_add(looked, Ordering::Relaxed);
                Some(factors)
            });
            sight_rays.count(flash.patch, traced.into_inner());
            exchanges
        };
        exchanges.with(PatchId::from_index(flash.patch), build, |exchanges| {
            exchanges.light(&flash.groups, |to, index, light| {
                let id = patches[to.index()].receivers[index];
                states[to.index()].receive(index, &responses[id.index()], light);
            });
        });
    }

    /// Tells those behind its borders of a shot.
    fn send(&mut self, flash: &Arc<Flash>, masks: &[InMask], sites: &mut Sites, post: &mut Vec<Message>) {
        let Self { interface, masks: known, mask_rays, .. } = self;
        let source = &flash.shape.source;
        let sight = Sight { interface, source, masks };
        let gates: Vec<_> = interface.outward(source).collect();
        let make = || {
            let Site { local, .. } = sites.at(interface.cell());
            let before = local.mask_rays();
            let masks = gates.par_iter().map(|gate| Arc::new(sight.mask(gate, local))).collect();
            mask_rays.count(flash.patch, local.mask_rays() - before);
            masks
        };
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
    between: &'a Candidates,
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
