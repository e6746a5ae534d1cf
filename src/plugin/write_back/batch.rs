//! Batches: surfaces that get their lightmaps in the same frame.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bevy::pbr::StandardMaterial;
use bevy::prelude::*;

use super::copy::MeshCopies;
use super::entity::{FRAMES_FOR_THE_RENDERER, Shown, hide, release, show};
use super::lights::mark_lights;
use super::material::{StandInMaterials, Uv1Change, choose_material, original_material};
use super::page::{PagePixels, place};
use super::removal::remove_level;
use crate::clock;
use crate::lightmap::{LayoutSettings, Unwrap};
use crate::plugin::state::{AppBake, Baked, LevelFrame, LitLights, Pages, StandInMaterial};

/// Main thread time per frame for staging.
const STAGING_BUDGET: Duration = Duration::from_micros(1000);

/// Surface that gets a lightmap.
#[derive(Clone, Debug)]
pub struct Target {
    /// Entity of the surface.
    pub entity: Entity,
    /// Mesh that was baked.
    pub original: Handle<Mesh>,
    /// Unwrap of the mesh.
    pub unwrap: Arc<Unwrap>,
    /// Index of the page.
    pub page: usize,
    /// UV rectangle on the page, in 0..1.
    pub uv_rect: Rect,
}

/// Main thread time of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
#[reflect(Default, Debug, Clone)]
pub struct BatchTimes {
    /// Longest staging time in one frame, in seconds.
    pub longest_staging_seconds: f32,
    /// Time of the frame that attached the lightmaps, in seconds.
    pub attach_seconds: f32,
}

/// Owner of lightmaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// A bake of this app. It replaces all levels, and disappears with its last lit surface.
    #[default]
    App,
    /// The entity with the [`BakedLevel`](crate::plugin::BakedLevel) of a level that was baked before. It replaces a bake
    /// of this app, and stands beside other levels.
    Level(Entity),
}

impl Owner {
    /// Returns the entity of the owner's components, and spawns that of a bake of this app. `None` if the level is gone.
    fn entity(self, world: &mut World) -> Option<Entity> {
        match self {
            Self::Level(level) => world.get_entity(level).is_ok().then_some(level),
            Self::App => {
                let found = self.find(world);
                Some(found.unwrap_or_else(|| world.spawn((AppBake, Name::new("bake of the app"))).id()))
            }
        }
    }

    /// Returns the entity of the owner's components, if there is one.
    fn find(self, world: &mut World) -> Option<Entity> {
        match self {
            Self::Level(level) => Some(level),
            Self::App => world.query_filtered::<Entity, With<AppBake>>().iter(world).next(),
        }
    }
}

/// Owner and lights of new lightmaps.
#[derive(Clone, Debug, Default)]
pub struct NewBake {
    pub owner: Owner,
    pub lit: LitLights,
    /// Baked lights.
    pub lights: Vec<Entity>,
    /// Minimum number of empty texels between charts.
    pub padding: u32,
}

/// Surfaces of one owner that get their lightmaps in one frame.
pub struct Batch {
    owner: Owner,
    targets: Vec<Target>,
    /// Pages that have yet to become images. Empty for a batch that uses the current pages.
    new_pages: VecDeque<PagePixels>,
    /// Bake of the new pages. All other surfaces of the owner and of owners that it replaces lose their lightmaps. `None`
    /// for a batch that uses the owner's current pages.
    bake: Option<NewBake>,
    on_attached: Option<OnAttached>,

    pages: Vec<Handle<Image>>,
    pixels: Vec<(Handle<Image>, Vec<u8>)>,
    copies: Vec<Option<StagedCopy>>,
    phase: Phase,
    times: BatchTimes,
}

/// Callback after a batch has been attached, with the entity of the owner's components.
pub type OnAttached = Box<dyn FnOnce(&mut World, Entity, BatchTimes) + Send + Sync>;

/// Mesh copy that a surface will show.
#[derive(Clone, Debug)]
pub(super) struct StagedCopy {
    pub mesh: Handle<Mesh>,
    /// Change of its material for lack of UV_1.
    pub uv1: Uv1Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Staging,
    Waiting { frames_left: u32 },
}

impl Batch {
    /// Creates the batch of a whole bake, which replaces all lightmaps, pages and marks of lights of its owner.
    pub fn bake(bake: NewBake, targets: Vec<Target>, pages: Vec<PagePixels>) -> Self {
        Self { new_pages: pages.into(), bake: Some(bake.clone()), ..Self::more(bake.owner, targets) }
    }

    /// Creates a batch of more surfaces for the current pages of an owner.
    pub fn more(owner: Owner, targets: Vec<Target>) -> Self {
        Self {
            owner,
            targets,
            new_pages: VecDeque::new(),
            bake: None,
            on_attached: None,
            pages: Vec::new(),
            pixels: Vec::new(),
            copies: Vec::new(),
            phase: Phase::Staging,
            times: BatchTimes::default(),
        }
    }

    /// Sets the callback for the frame in which the lightmaps are attached.
    pub fn on_attached(mut self, call: impl FnOnce(&mut World, Entity, BatchTimes) + Send + Sync + 'static) -> Self {
        self.on_attached = Some(Box::new(call));
        self
    }

    /// Creates images and mesh copies within the frame's budget. Returns true when all are done.
    fn stage(&mut self, world: &mut World) -> bool {
        let started = clock::now();
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
            let pages = self.current_pages(world);
            let images = &mut world.resource_mut::<Assets<Image>>();
            let (handle, data) = place(&pages, self.pages.len(), pixels, images);
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

    /// Returns the pages that the owner shows now.
    fn current_pages(&self, world: &mut World) -> Pages {
        self.owner.find(world).and_then(|owner| world.get::<Pages>(owner)).cloned().unwrap_or_default()
    }

    /// Returns the pages that the owner will show.
    fn pages(&self, world: &mut World) -> Pages {
        match &self.bake {
            Some(bake) => {
                let allow_bicubic = bake.padding >= LayoutSettings::BICUBIC_PADDING;
                Pages { images: self.pages.clone(), allow_bicubic }
            }
            None => self.current_pages(world),
        }
    }

    /// Returns the other surfaces that lose their lightmaps.
    fn losing(&self, world: &mut World) -> Vec<Entity> {
        let targets: HashSet<Entity> = self.targets.iter().map(|target| target.entity).collect();
        let replaced = self.replaced(world);
        let mut baked = world.query::<(Entity, &Baked)>();
        let loses = |(entity, baked): &(Entity, &Baked)| replaced.contains(&baked.level) && !targets.contains(entity);
        baked.iter(world).filter(loses).map(|(entity, _)| entity).collect()
    }

    /// Returns the owners of lightmaps that this batch replaces, among them its own.
    fn replaced(&self, world: &mut World) -> HashSet<Entity> {
        let Some(bake) = &self.bake else {
            return HashSet::new();
        };
        let mut owners = world.query_filtered::<(Entity, Has<AppBake>), With<Pages>>();
        let is_replaced = |&(entity, is_app): &(Entity, bool)| {
            is_app
                || match bake.owner {
                    Owner::App => true,
                    Owner::Level(level) => level == entity,
                }
        };
        owners.iter(world).filter(is_replaced).map(|(entity, _)| entity).collect()
    }

    /// Removes the lightmap of every surface that will show another image or filter, since Bevy ignores an exchanged one.
    fn detach(&self, world: &mut World) {
        let pages = self.pages(world);
        let stays = |target: &Target, world: &World| {
            world.get::<Baked>(target.entity).is_some_and(|baked| {
                Some(&baked.image) == pages.images.get(target.page) && baked.allows_bicubic == pages.allow_bicubic
            })
        };
        let mut hidden = self.losing(world);
        hidden.extend(self.targets.iter().filter(|target| !stays(target, world)).map(|target| target.entity));
        for entity in hidden {
            if let Ok(mut entity) = world.get_entity_mut(entity) {
                hide(&mut entity);
            }
        }
    }

    fn attach(mut self, world: &mut World) {
        let started = clock::now();
        let Some(owner) = self.owner.entity(world) else {
            return;
        };
        let pages = self.pages(world);
        for entity in self.losing(world) {
            release(&mut world.entity_mut(entity));
        }
        let mut images = world.resource_mut::<Assets<Image>>();
        for (handle, data) in self.pixels.drain(..) {
            if let Some(mut image) = images.get_mut(&handle) {
                image.data = Some(data);
            }
        }
        let is_shown = world.resource::<Shown>().enabled;
        for (target, copy) in self.targets.iter().zip(&self.copies) {
            match (copy, pages.images.get(target.page)) {
                (Some(copy), Some(image)) => {
                    let page = PageOfTarget { level: owner, image, allows_bicubic: pages.allow_bicubic };
                    attach_one(world, target, copy, page, is_shown);
                }
                _ => {
                    if let Ok(mut entity) = world.get_entity_mut(target.entity) {
                        release(&mut entity);
                    }
                }
            }
        }
        let replaced = self.replaced(world);
        if let Some(NewBake { lit, lights, .. }) = self.bake.take() {
            for other in replaced.into_iter().filter(|&other| other != owner) {
                remove_level(world, other);
            }
            world.entity_mut(owner).insert((pages, LevelFrame::default()));
            drop_unused_copies(world);
            mark_lights(world, owner, lit, &lights);
        }
        self.times.attach_seconds = started.elapsed().as_secs_f32();
        if let Some(call) = self.on_attached.take() {
            call(world, owner, self.times);
        }
    }
}

/// Returns the mesh copy with lightmap coordinates for an entity, and creates it if needed.
///
/// `None` when the unwrap belongs to another mesh. Also `None`, with a warning, when the entity's material needs the
/// coordinates that the lightmap would replace.
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

/// Page that a surface will show.
struct PageOfTarget<'a> {
    level: Entity,
    image: &'a Handle<Image>,
    allows_bicubic: bool,
}

/// Attaches the mesh copy and the lightmap, if the entity exists and still shows the baked mesh.
fn attach_one(world: &mut World, target: &Target, copy: &StagedCopy, page: PageOfTarget, is_shown: bool) {
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
    choose_material(&mut entity, target.unwrap.is_two_sided(), copy.uv1);
    entity.insert(Baked {
        level: page.level,
        original: target.original.clone(),
        mesh: copy.mesh.clone(),
        image: page.image.clone(),
        uv_rect: target.uv_rect,
        allows_bicubic: page.allows_bicubic,
    });
    if is_shown {
        show(&mut entity);
    }
}

/// Drops unused mesh copies and stand-ins.
pub fn drop_unused_copies(world: &mut World) {
    let mut baked = world.query::<&Baked>();
    let mut meshes: HashSet<AssetId<Mesh>> = baked.iter(world).map(|baked| baked.mesh.id()).collect();
    meshes.extend(world.resource::<Batches>().staged_meshes());
    let mut stand_ins = world.query_filtered::<&StandInMaterial, With<Baked>>();
    let materials = stand_ins.iter(world).map(|stand_in| stand_in.original.id()).collect();
    world.resource_mut::<MeshCopies>().keep_only(&meshes);
    world.resource_mut::<StandInMaterials>().keep_only(&materials);
}

/// Pending batches, in order.
#[derive(Resource, Default)]
pub struct Batches(VecDeque<Batch>);

impl Batches {
    /// Appends a batch.
    pub fn push(&mut self, batch: Batch) {
        self.0.push_back(batch);
    }

    /// Drops the pending batches of a level.
    pub fn drop_level(&mut self, level: Entity) {
        self.0.retain(|batch| batch.owner != Owner::Level(level));
    }

    /// Drops the pending batches of all levels. Those of bakes of the app stay.
    pub fn drop_levels(&mut self) {
        self.0.retain(|batch| batch.owner == Owner::App);
    }

    /// Returns true while lightmaps of a level are pending.
    pub fn holds(&self, level: Entity) -> bool {
        self.0.iter().any(|batch| batch.owner == Owner::Level(level))
    }

    /// Returns the mesh copies of pending batches.
    fn staged_meshes(&self) -> impl Iterator<Item = AssetId<Mesh>> {
        self.0.iter().flat_map(|batch| &batch.copies).flatten().map(|copy| copy.mesh.id())
    }

    /// Returns true when no batch is pending.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Advances the first batch by one step.
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
