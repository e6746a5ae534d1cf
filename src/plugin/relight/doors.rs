//! State of doors and colors, and the thread that computes their effect on the level.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;

use crate::clock;
use crate::geometry::SurfaceId;
use crate::plugin::background::{RadiosityThreads, Worker};
use crate::plugin::components::BakeRole;
use crate::plugin::state::{LevelFrame, LevelPlaces, RelightLevel};
use crate::plugin::sync::{Names, RestPose};
use crate::progress::{Cancelled, Unmonitored};
use crate::relight::{Door, Doors, Paint, PlacedOccluder, RelightInput};
use crate::scene::{KeyIndex, SurfaceKey};

/// Marks the entity and its descendants as doors, whose movement changes relit light.
///
/// A door is baked at its place as an occluder: it blocks and reflects light, and has no lightmap of its own. Afterward
/// it may move, turn, be hidden or be despawned; hidden and despawned doors count as removed. A separate thread
/// computes the effect, and always takes the newest place. [`RelightStatus::door_milliseconds`](super::RelightStatus)
/// reports its time. The sky's light stays as baked.
///
/// Movers of files, such as animated doors, may be doors as well; they were absent in the bake.
///
/// A non-finite transform is ignored. An entity with its own lightmap is no door, nor is one that emits light or was
/// added after the bake. A warning says so.
///
/// It requires [`BakeRole::Occluder`]; give a door no other role.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
#[require(BakeRole = BakeRole::Occluder)]
pub struct RelightDoor;

/// Doors of the world and their descendants.
#[derive(SystemParam)]
pub struct DoorWorld<'w, 's> {
    doors: Query<'w, 's, Entity, With<RelightDoor>>,
    children: Query<'w, 's, &'static Children>,
    leaves: Query<
        'w,
        's,
        (&'static Mesh3d, &'static GlobalTransform, Option<&'static InheritedVisibility>, Option<&'static RestPose>),
    >,
    living: Query<'w, 's, ()>,
    names: Names<'w, 's>,
    assets: Res<'w, AssetServer>,
    places: LevelPlaces<'w, 's>,
    levels: Query<'w, 's, (), With<LevelFrame>>,
}

/// Door and color state of a level.
pub struct DoorState {
    index: KeyIndex,
    surfaces: HashMap<SurfaceKey, SurfaceId>,
    owners: HashMap<SurfaceId, Entity>,
    /// Surface of each entity seen so far. `None` for entities added after the bake.
    known_surfaces: HashMap<Entity, Option<SurfaceId>>,
    threads: RadiosityThreads,
    now: Wanted,
    /// Latest request to the thread.
    asked: Wanted,
    state: State,
}

/// Differences from the bake.
#[derive(Clone, Default, PartialEq)]
struct Wanted {
    doors: Vec<Door>,
    paints: Vec<Paint>,
}

enum State {
    /// No difference so far, so no thread.
    Idle(Box<RelightInput>),
    Open(Worker<Wanted, Opened>),
    /// Failed: neither doors nor colors are updated.
    Shut,
}

/// Result of the thread.
struct Opened {
    /// `None` if nothing differs from the previous placement.
    placed: Result<Option<PlacedOccluder>, String>,
    warnings: Vec<String>,
    time: Duration,
}

/// State of the thread.
struct DoorWorker {
    level: RelightInput,
    doors: Result<Doors, Cancelled>,
    warned: HashSet<(SurfaceId, &'static str)>,
}

impl DoorState {
    pub fn new(level: &RelightLevel, threads: RadiosityThreads) -> Self {
        let scene = &level.level.scene;
        Self {
            index: KeyIndex::new(scene.surfaces.iter().map(|surface| surface.key.clone())),
            surfaces: scene.surface_ids().map(|id| (scene.surface(id).key.clone(), id)).collect(),
            owners: level.owners.clone(),
            known_surfaces: HashMap::new(),
            threads,
            now: Wanted::default(),
            asked: Wanted::default(),
            state: State::Idle(Box::new(level.level.clone())),
        }
    }

    /// Sets the surfaces with other colors than baked.
    pub fn paint(&mut self, paints: Vec<Paint>) {
        self.now.paints = paints;
    }

    /// Returns true if doors were found before, also if they are gone since.
    pub fn has_doors(&self) -> bool {
        !self.now.doors.is_empty()
    }

    /// Reads the places of all doors of a level.
    pub fn read(&mut self, level: Entity, frame: &LevelFrame, world: &DoorWorld) {
        if matches!(self.state, State::Shut) {
            return;
        }
        let known = self.now.doors.iter().filter(|door| !world.living.contains(self.owners[&door.surface]));
        let mut doors: Vec<Door> = known.map(|door| Door { to_world: None, ..*door }).collect();
        for door in world.doors.iter().filter(|&door| !world.places.is_elsewhere(door, level)) {
            for leaf in core::iter::once(door).chain(world.children.iter_descendants(door)) {
                doors.extend(self.read_leaf(leaf, frame, world));
            }
        }
        doors.sort_by_key(|door| (door.surface, door.to_world.is_none()));
        doors.dedup_by_key(|door| door.surface);
        self.now.doors = doors;
    }

    fn read_leaf(&mut self, entity: Entity, frame: &LevelFrame, world: &DoorWorld) -> Option<Door> {
        let (mesh, transform, visibility, rest) = world.leaves.get(entity).ok()?;
        let rest = rest.map_or(*transform, RestPose::transform);
        let in_bake = (frame.of_bake * frame.at_attach.inverse()).transform_point3(rest.translation());
        let surface = self.surface_of(entity, mesh, [in_bake, rest.translation()], world)?;
        let is_shown = visibility.is_none_or(|visibility| visibility.get());
        let to_world = world.places.in_level(entity, transform, frame).affine();
        if is_shown && !to_world.is_finite() {
            return self.now.doors.iter().find(|door| door.surface == surface).copied();
        }
        Some(Door { surface, to_world: is_shown.then_some(to_world) })
    }

    fn surface_of(&mut self, entity: Entity, mesh: &Mesh3d, places: [Vec3; 2], world: &DoorWorld) -> Option<SurfaceId> {
        if let Some(&known) = self.known_surfaces.get(&entity) {
            return known;
        }
        let owned = self.owners.iter().find_map(|(&surface, &owner)| (owner == entity).then_some(surface));
        let surface = owned.or_else(|| self.adopt(entity, mesh, places, world));
        self.known_surfaces.insert(entity, surface);
        surface
    }

    /// Assigns an entity the surface with its key, unless another living entity owns that surface. `places` are its possible
    /// positions in the bake, in meters.
    fn adopt(&mut self, entity: Entity, mesh: &Mesh3d, places: [Vec3; 2], world: &DoorWorld) -> Option<SurfaceId> {
        let key = world.names.surface_key(entity, world.assets.get_path(mesh.0.id()).as_ref(), places[0]);
        let is_free = |id: &SurfaceId| self.owners.get(id).is_none_or(|&owner| !world.living.contains(owner));
        let candidates = self.index.candidates(&key).into_iter().filter(|key| key.may_be_at(&places));
        let free = candidates.filter_map(|key| self.surfaces.get(key).copied()).find(is_free);
        match free {
            Some(surface) => _ = self.owners.insert(surface, entity),
            // It may be a door of another level.
            None if world.levels.iter().len() > 1 => {}
            None => {
                warn!(
                    "door {} is not followed: it was not there when the level was baked",
                    world.names.describe(entity)
                );
            }
        }
        free
    }

    /// Returns true while the thread has yet to compute the current doors and colors.
    pub fn is_behind(&self) -> bool {
        matches!(&self.state, State::Open(worker) if worker.is_busy())
    }

    /// Returns the thread's result, and requests the next one. If `is_enabled` is false, everything is placed as baked.
    pub fn advance(&mut self, is_enabled: bool) -> Option<(PlacedOccluder, Duration)> {
        let baked = Wanted::default();
        let wanted = if is_enabled { &self.now } else { &baked };
        self.state = match core::mem::replace(&mut self.state, State::Shut) {
            State::Idle(level) if *wanted != self.asked => match DoorWorker::start(*level, self.threads) {
                Ok(worker) => State::Open(worker),
                Err(reason) => {
                    warn!("there are no threads to follow doors and colors with: {reason}");
                    State::Shut
                }
            },
            state => state,
        };
        let State::Open(worker) = &mut self.state else {
            return None;
        };
        let done = if worker.is_busy() { worker.take(Duration::ZERO) } else { None };
        if !worker.is_busy() && *wanted != self.asked {
            self.asked = wanted.clone();
            worker.give(self.asked.clone());
        }
        if worker.is_lost() {
            warn!("following doors and colors stopped by a fault of its own");
            self.state = State::Shut;
            return None;
        }
        let Opened { placed, warnings, time } = done?;
        warnings.iter().for_each(|warning| warn!("{warning}"));
        match placed {
            Ok(placed) => Some((placed?, time)),
            Err(reason) => {
                warn!("doors and colors are not followed: {reason}");
                self.state = State::Shut;
                None
            }
        }
    }
}

impl DoorWorker {
    fn start(level: RelightInput, threads: RadiosityThreads) -> Result<Worker<Wanted, Opened>, String> {
        let make = move || async move {
            Self { doors: Doors::new(level.clone(), &Unmonitored), level, warned: HashSet::new() }
        };
        Worker::start("relight doors", threads, make, Self::open)
    }

    async fn open(mut self, Wanted { doors: wanted, paints }: Wanted) -> (Self, Opened) {
        let started = clock::now();
        let Self { level, doors, warned } = &mut self;
        let mut warnings = Vec::new();
        let placed = match doors {
            Err(error) => Err(error.to_string()),
            Ok(doors) => {
                let of_doors = wanted.iter().map(|door| ("door", door.surface, doors.fault_of(door.surface)));
                let of_paints = paints.iter().map(|paint| ("the color of", paint.surface, paint.fault(level)));
                for (what, surface, fault) in of_doors.chain(of_paints) {
                    if let Some(fault) = fault
                        && warned.insert((surface, fault))
                    {
                        let name = &level.scene.surface(surface).key;
                        warnings.push(format!("{what} '{name}' is not followed: {fault}"));
                    }
                }
                doors.paint(&paints);
                doors.place(&wanted, &Unmonitored).map_err(|error| error.to_string())
            }
        };
        (self, Opened { placed, warnings, time: started.elapsed() })
    }
}
