//! Worker of one subscene.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::Arc;

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::super::exchanges::{ExchangeCache, Exchanges};
use super::super::occluders::Candidates;
use super::super::patches::{Part, Patch};
use super::super::receivers::{ReceiverId, Response};
use super::super::refinement::{self, State};
use super::super::shooter::{Geometry, Shooter, Straight, Target, Visibility};
use super::super::{CandidateSearch, PatchId};
use super::message::{Flash, Message, Shape};
use super::ray_count::RayCount;
use super::site::{Site, SiteAccess};
use crate::geometry::Aabb;
use crate::geometry::sobol::hash2;
use crate::partition::CellId;
use crate::partition::masks::{InMask, Interface, Mask, Pending, Sight, Through};

/// Parameters common to all subscenes.
#[derive(Clone, Copy)]
pub struct Common {
    /// Number of patches in all subscenes.
    pub patches: usize,
    pub light_per_ray: f32,
    pub search: CandidateSearch,
    /// Memory limit of each subscene for form-factor rows, in bytes, and the same for masks.
    pub max_bytes: usize,
    pub seed: u32,
}

/// Contents of one subscene, with local indices.
pub struct Contents {
    pub patches: Vec<Patch>,
    pub responses: Vec<Response>,
    /// Bounding box of each patch and the points of its receivers.
    pub bounds: Vec<Aabb>,
    /// Bounding box of the points of each patch's receivers.
    pub eyes: Vec<Aabb>,
    pub states: Vec<State>,
    /// Copy of each patch for other subscenes.
    pub shapes: Vec<Arc<Shape>>,
    /// Global index of the first patch.
    pub first: usize,
}

/// Shot of another subscene, with the masks of all borders that its light enters through.
pub struct CompleteShot {
    pub flash: Arc<Flash>,
    pub masks: Vec<InMask>,
}

/// Worker of one subscene, with its own borders, and with messages from other subscenes. Results computed at its site
/// are cached, so that sites are rarely needed again.
pub struct Worker {
    common: Common,
    interface: Interface,
    contents: Contents,
    /// Shots with missing masks.
    pending: Pending,
    exchanges: ExchangeCache,
    masks: MaskCache,
    /// Number of visibility rays for light received here.
    sight_rays: RayCount,
    /// Number of rays for masks.
    mask_rays: RayCount,
}

impl Worker {
    pub fn new(common: Common, interface: Interface, contents: Contents) -> Self {
        Self {
            common,
            interface,
            contents,
            pending: Pending::default(),
            exchanges: ExchangeCache::new(common.max_bytes),
            masks: MaskCache { max_bytes: common.max_bytes, ..MaskCache::default() },
            sight_rays: RayCount::new(common.patches),
            mask_rays: RayCount::new(common.patches),
        }
    }

    /// Returns the cell of the subscene.
    pub fn cell(&self) -> CellId {
        self.interface.cell()
    }

    /// Returns the contents of the subscene.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Returns the number of traced rays: for visibility, and for masks.
    pub fn rays(&self) -> [u64; 2] {
        [&self.sight_rays, &self.mask_rays].map(RayCount::traced)
    }

    /// Serializes the ray counts for [`Worker::restore_rays`].
    pub fn rays_in_words(&self) -> impl Iterator<Item = u64> {
        self.sight_rays.to_words().chain(self.mask_rays.to_words())
    }

    /// Restores the ray counts. The first half of the words is for visibility, the second for masks.
    pub fn restore_rays(&mut self, words: &[u64]) {
        let (sight, masks) = words.split_at(words.len() / 2);
        self.sight_rays.restore(sight);
        self.mask_rays.restore(masks);
    }

    /// Returns the light of the patches.
    pub fn states_mut(&mut self) -> &mut [State] {
        &mut self.contents.states
    }

    /// Adds irradiance to the receivers, in lux. The reflected part becomes unshot power.
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

    /// Returns the patch with the most unshot power.
    pub fn strongest(&self) -> Option<refinement::Shot> {
        refinement::strongest(&self.contents.states)
    }

    /// Returns the total weighted unshot power, in lumens.
    pub fn unshot_power(&self) -> f64 {
        self.contents.states.iter().map(State::unshot_power).sum()
    }

    /// Processes a message. After the last message of a shot, the subscene receives its light and passes the shot on.
    pub fn receive(&mut self, message: Message, sites: &mut dyn SiteAccess, post: &mut Vec<Message>) {
        if let Some(shot) = self.collect(message) {
            self.receive_light(&shot, sites);
            self.pass_on(&shot, sites, post);
        }
    }

    /// Collects a message. Returns the shot after its last message.
    pub fn collect(&mut self, Message { flash, mask, .. }: Message) -> Option<CompleteShot> {
        let masks = self.pending.arrive(&self.interface, flash.number, &flash.shape.source, mask)?;
        Some(CompleteShot { flash, masks })
    }

    /// Receives the light of a shot of another subscene.
    pub fn receive_light(&mut self, shot: &CompleteShot, sites: &mut dyn SiteAccess) {
        self.light(&shot.flash, &shot.masks, None, sites);
    }

    /// Passes a shot of another subscene on.
    pub fn pass_on(&mut self, shot: &CompleteShot, sites: &mut dyn SiteAccess, post: &mut Vec<Message>) {
        self.send(&shot.flash, &shot.masks, sites, post);
    }

    /// Drops shots with missing masks.
    pub fn forget_masks_on_their_way(&mut self) {
        self.pending = Pending::default();
    }

    /// Shoots all unshot power of a patch, as the shot with index `number`. `parts` are the emitting polygons of the
    /// patch's groups.
    pub fn shoot(
        &mut self,
        patch: PatchId,
        number: u64,
        parts: Vec<Part>,
        sites: &mut dyn SiteAccess,
        post: &mut Vec<Message>,
    ) {
        let contents = &mut self.contents;
        let (power, each) = contents.states[patch.index()].take();
        let shines = &contents.patches[patch.index()];
        let flash = Arc::new(Flash {
            number,
            patch: contents.first + patch.index(),
            shape: contents.shapes[patch.index()].clone(),
            parts,
            groups: refinement::group_radiosities(shines, &contents.responses, power / shines.visible_area, &each),
            weight: contents.states[patch.index()].weight(),
        });
        self.light(&flash, &[], Some(patch), sites);
        self.send(&flash, &[], sites, post);
    }

    /// Receives the light of a shot.
    fn light(&mut self, flash: &Flash, masks: &[InMask], own: Option<PatchId>, sites: &mut dyn SiteAccess) {
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
                search: common.search,
                light_per_ray: common.light_per_ray,
            };
            let seed = hash2(hash2(common.seed, flash.patch as u32), interface.cell().0);
            let shooter = Shooter::new(geometry, flash.shot_source(), own, seed);
            let exchanges = Exchanges::build(patches.len(), |receiver| {
                let through = sight.through(&eyes[receiver.index()]);
                let between = &if through == Through::Dark { None } else { shooter.candidates(receiver) }?;
                let is_clear = between.are_none() && through == Through::Clear;
                let (factors, looked) = if own.is_some() {
                    let visibility = Straight { geometry, patch: &flash.shape.patch, between };
                    shooter.factors(receiver, (!is_clear).then_some(&visibility))
                } else {
                    let visibility = Masked { sight, geometry, targets: &flash.shape.targets, between };
                    shooter.factors(receiver, (!is_clear).then_some(&visibility))
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

    /// Sends a shot to the subscenes beyond the borders.
    fn send(&mut self, flash: &Arc<Flash>, masks: &[InMask], sites: &mut dyn SiteAccess, post: &mut Vec<Message>) {
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

/// Visibility test of a patch in another subscene, through masks.
struct Masked<'a> {
    sight: Sight<'a>,
    geometry: Geometry<'a>,
    targets: &'a [Target],
    between: &'a Candidates,
}

impl Visibility for Masked<'_> {
    fn target(&self, u: Vec2) -> Target {
        let count = self.targets.len();
        self.targets[((u.x * count as f32) as usize).min(count - 1)]
    }

    fn crosses(&self, point: Vec3, target: &Target) -> Vec3 {
        let glance = self.sight.visibility(point, target.viewpoint);
        if glance.light == Vec3::ZERO {
            return Vec3::ZERO;
        }
        glance.light * self.geometry.crosses(self.between, &glance.local)
    }
}

/// Masks of patches that have shot, for the borders that their light leaves through, within a memory limit. Masks do
/// not change from shot to shot.
#[derive(Default)]
struct MaskCache {
    kept: HashMap<usize, Vec<Arc<Mask>>>,
    bytes: usize,
    max_bytes: usize,
}

impl MaskCache {
    fn with(&mut self, patch: usize, make: impl FnOnce() -> Vec<Arc<Mask>>) -> Vec<Arc<Mask>> {
        if let Some(known) = self.kept.get(&patch) {
            return known.clone();
        }
        let masks = make();
        let bytes = masks.iter().map(|mask| mask.bytes() + size_of::<Mask>()).sum::<usize>();
        if self.bytes + bytes <= self.max_bytes {
            self.bytes += bytes;
            self.kept.insert(patch, masks.clone());
        }
        masks
    }
}
