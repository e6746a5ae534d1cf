//! Surfaces that get their lightmaps together.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bevy::pbr::StandardMaterial;
use bevy::prelude::*;

use super::copy::MeshCopies;
use super::material::{Uv1Change, choose_material, original_material};
use super::page::{PagePixels, Pages};
use super::{Baked, FRAMES_FOR_THE_RENDERER, Shown, hide, lights, release, show};
use crate::lightmap::Unwrap;
use crate::plugin::relight::HandedOver;

/// Main thread time that staging may take of a frame.
const STAGING_BUDGET: Duration = Duration::from_micros(1000);

/// A surface that is to have baked light.
#[derive(Clone, Debug)]
pub struct Target {
    /// Who gets it.
    pub entity: Entity,
    /// The mesh that was baked.
    pub original: Handle<Mesh>,
    /// How it was cut into charts.
    pub unwrap: Arc<Unwrap>,
    /// Which page.
    pub page: usize,
    /// Which part of the page, from 0 to 1.
    pub uv_rect: Rect,
}

/// Lights whose direct light is in the pages.
#[derive(Resource, Clone, Debug, Default)]
pub struct LitLights {
    /// Light entities.
    pub lights: Vec<Entity>,
    /// Bevy's global ambient light is in them, too.
    pub ambient: bool,
    /// They hold light straight from what shines, whatever it is.
    pub is_direct: bool,
}

/// What a batch took of the main thread, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
#[reflect(Default, Debug, Clone)]
pub struct BatchTimes {
    /// The longest frame of staging.
    pub longest_staging_seconds: f32,
    /// The frame in which the lightmaps came.
    pub attach_seconds: f32,
}

/// Surfaces that get their lightmaps in one frame.
pub struct Batch {
    targets: Vec<Target>,
    /// Pages that have yet to become images; empty for a batch that uses the pages that are there.
    new_pages: VecDeque<PagePixels>,
    /// Whether surfaces that are not in the batch lose their lightmaps.
    replaces_all: bool,
    lights: Option<LitLights>,
    on_attached: Option<OnAttached>,

    pages: Vec<Handle<Image>>,
    pixels: Vec<(Handle<Image>, Vec<u8>)>,
    copies: Vec<Option<StagedCopy>>,
    phase: Phase,
    times: BatchTimes,
}

/// What to do when a batch has been attached.
pub type OnAttached = Box<dyn FnOnce(&mut World, BatchTimes) + Send + Sync>;

/// The mesh that a surface will show.
#[derive(Clone, Debug)]
pub(super) struct StagedCopy {
    pub mesh: Handle<Mesh>,
    /// What its material must do without UV_1.
    pub uv1: Uv1Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Staging,
    Waiting { frames_left: u32 },
}

impl Batch {
    /// A whole bake: it replaces all lightmaps that there are, and the pages that they are on.
    pub fn bake(targets: Vec<Target>, pages: Vec<PagePixels>, lights: LitLights) -> Self {
        Self { new_pages: pages.into(), replaces_all: true, lights: Some(lights), ..Self::more(targets) }
    }

    /// More surfaces for the pages that are there.
    pub fn more(targets: Vec<Target>) -> Self {
        Self {
            targets,
            new_pages: VecDeque::new(),
            replaces_all: false,
            lights: None,
            on_attached: None,
            pages: Vec::new(),
            pixels: Vec::new(),
            copies: Vec::new(),
            phase: Phase::Staging,
            times: BatchTimes::default(),
        }
    }

    /// Calls back in the frame in which the lightmaps come.
    pub fn on_attached(mut self, call: impl FnOnce(&mut World, BatchTimes) + Send + Sync + 'static) -> Self {
        self.on_attached = Some(Box::new(call));
        self
    }

    /// Makes images and mesh copies until the frame's time is up; true when all are made.
    fn stage(&mut self, world: &mut World) -> bool {
        let started = Instant::now();
        let mut is_done = false;
        while !is_done && started.elapsed() < STAGING_BUDGET {
            is_done = self.stage_one(world);
        }
        let seconds = started.elapsed().as_secs_f32();
        self.times.longest_staging_seconds = self.times.longest_staging_seconds.max(seconds);
        is_done
    }

    fn stage_one(&mut self, world: &mut World) -> bool {
        if let Some(pixels) = self.new_pages.pop_front() {
            let pages = world.resource::<Pages>().clone();
            let (handle, data) = pages.place(self.pages.len(), pixels, &mut world.resource_mut::<Assets<Image>>());
            self.pixels.extend(data.map(|data| (handle.clone(), data)));
            self.pages.push(handle);
            return false;
        }
        let Some(target) = self.targets.get(self.copies.len()) else {
            return true;
        };
        let copy = stage_copy(world, target.entity, &target.original, &target.unwrap);
        self.copies.push(copy);
        false
    }

    /// The image that a target will show.
    fn image(&self, target: &Target, world: &World) -> Option<Handle<Image>> {
        let pages = if self.pages.is_empty() { &world.resource::<Pages>().0 } else { &self.pages };
        pages.get(target.page).cloned()
    }

    /// Takes the lightmap off every surface that will show another image, for Bevy does not notice an exchange.
    fn detach(&self, world: &mut World) {
        let mut staying = HashSet::new();
        for target in &self.targets {
            let image = self.image(target, world);
            if world.get::<Baked>(target.entity).is_some_and(|baked| Some(&baked.image) == image.as_ref()) {
                staying.insert(target.entity);
            }
        }
        let mut baked = world.query_filtered::<Entity, With<Baked>>();
        let all: Vec<Entity> = if self.replaces_all {
            baked.iter(world).collect()
        } else {
            self.targets.iter().map(|target| target.entity).collect()
        };
        for entity in all.into_iter().filter(|entity| !staying.contains(entity)) {
            if let Ok(mut entity) = world.get_entity_mut(entity) {
                hide(&mut entity);
            }
        }
    }

    fn attach(mut self, world: &mut World) {
        let started = Instant::now();
        if !self.pages.is_empty() {
            world.resource_mut::<Pages>().0.clone_from(&self.pages);
        }
        let mut images = world.resource_mut::<Assets<Image>>();
        for (handle, data) in self.pixels.drain(..) {
            if let Some(mut image) = images.get_mut(&handle) {
                image.data = Some(data);
            }
        }
        if self.replaces_all {
            let targets: HashSet<Entity> = self.targets.iter().map(|target| target.entity).collect();
            for entity in super::baked_entities(world).into_iter().filter(|entity| !targets.contains(entity)) {
                release(&mut world.entity_mut(entity));
            }
        }
        let is_shown = world.resource::<Shown>().enabled;
        for (target, copy) in self.targets.iter().zip(&self.copies) {
            match (copy, self.image(target, world)) {
                (Some(copy), Some(image)) => attach_one(world, target, copy, image, is_shown),
                _ => {
                    if let Ok(mut entity) = world.get_entity_mut(target.entity) {
                        release(&mut entity);
                    }
                }
            }
        }
        if self.replaces_all {
            super::drop_unused_copies(world);
        }
        if let Some(lit) = self.lights.take() {
            lights::restore(world);
            world.insert_resource(lit);
            apply_lights(world);
        }
        self.times.attach_seconds = started.elapsed().as_secs_f32();
        if let Some(call) = self.on_attached.take() {
            call(world, self.times);
        }
    }
}

/// The mesh with lightmap coordinates for an entity, made unless there is one. `None` when the unwrap is of another mesh, or
/// when the entity's material needs the coordinates that the lightmap would replace, which is said.
pub(super) fn stage_copy(
    world: &mut World,
    entity: Entity,
    original: &Handle<Mesh>,
    unwrap: &Arc<Unwrap>,
) -> Option<StagedCopy> {
    let material = world.get_entity(entity).ok().and_then(original_material);
    let material = material.and_then(|material| world.resource::<Assets<StandardMaterial>>().get(&material));
    let mesh = world.resource::<Assets<Mesh>>().get(original)?;
    let Ok(uv1) = material.map_or(Ok(Uv1Change::None), |material| Uv1Change::of(material, mesh, unwrap)) else {
        let name = world.get::<Name>(entity).map_or_else(|| entity.to_string(), ToString::to_string);
        warn!(
            "'{name}' shows no lightmap: textures of its material read both UV_0 and UV_1, which the lightmap needs; let \
             all of them read UV_0 and bake again"
        );
        return None;
    };
    let mesh = world.resource_scope(|world, mut copies: Mut<MeshCopies>| {
        let mut meshes = world.resource_mut::<Assets<Mesh>>();
        copies.get_or_make(original, unwrap, uv1 == Uv1Change::Move, &mut meshes)
    })?;
    Some(StagedCopy { mesh, uv1 })
}

/// Gives one entity its mesh and its lightmap, if it is still there and still shows what was baked.
fn attach_one(world: &mut World, target: &Target, copy: &StagedCopy, image: Handle<Image>, is_shown: bool) {
    let Ok(mut entity) = world.get_entity_mut(target.entity) else {
        return;
    };
    let own = entity.get::<Baked>().map(|baked| baked.mesh.clone());
    let Some(mut mesh) = entity.get_mut::<Mesh3d>() else {
        return;
    };
    if mesh.0 != target.original && Some(&mesh.0) != own.as_ref() {
        return;
    }
    if mesh.0 != copy.mesh {
        mesh.0 = copy.mesh.clone();
    }
    let material = choose_material(&mut entity, target.unwrap.is_two_sided(), copy.uv1);
    entity.insert(Baked {
        original: target.original.clone(),
        mesh: copy.mesh.clone(),
        material,
        image,
        uv_rect: target.uv_rect,
    });
    if is_shown {
        show(&mut entity);
    }
}

/// Silences the lights that are in the lightmaps while those are shown, and no others.
pub fn apply_lights(world: &mut World) {
    let lit = world.resource::<LitLights>().clone();
    if world.resource::<Shown>().enabled {
        let moved = world.get_resource::<HandedOver>().cloned().unwrap_or_default();
        let silent: Vec<Entity> = lit.lights.iter().copied().filter(|light| !moved.0.contains(light)).collect();
        lights::restore_some(world, |light| moved.0.contains(&light));
        lights::silence(world, &silent, lit.ambient);
    } else {
        lights::restore(world);
    }
    if lit.lights.is_empty() && !lit.ambient {
        lights::restore(world);
    }
}

/// Batches on their way, in order.
#[derive(Resource, Default)]
pub struct Batches(VecDeque<Batch>);

impl Batches {
    /// Puts a batch behind those on their way.
    pub fn push(&mut self, batch: Batch) {
        self.0.push_back(batch);
    }

    /// True when no batch is on its way.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Takes the first batch one step further.
pub fn advance(world: &mut World) {
    let Some(mut batch) = world.resource_mut::<Batches>().0.pop_front() else {
        return;
    };
    match batch.phase {
        Phase::Staging => {
            if batch.stage(world) {
                batch.detach(world);
                batch.phase = Phase::Waiting { frames_left: FRAMES_FOR_THE_RENDERER };
            }
        }
        Phase::Waiting { frames_left: 0 } => return batch.attach(world),
        Phase::Waiting { frames_left } => batch.phase = Phase::Waiting { frames_left: frames_left - 1 },
    }
    world.resource_mut::<Batches>().0.push_front(batch);
}
