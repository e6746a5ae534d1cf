//! Doors, where they are, and colours; and a thread that works out what they make of the level.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;

use super::origin::RelightLevel;
use super::worker::Worker;
use crate::geometry::SurfaceId;
use crate::plugin::components::BakeOccluder;
use crate::plugin::sync::{Names, RestPose};
use crate::progress::{Cancelled, Unmonitored};
use crate::relight::{Door, Doors, Level, Paint, Placed};
use crate::scene::{KeyIndex, SurfaceKey};

/// The entity and its descendants are doors: where they move, relit light goes another way.
///
/// A door is baked where it stands, as an occluder: it casts and reflects light, and has no lightmap of its own. From then on
/// it may move, turn, be hidden or despawned, which makes it gone. What comes of that is worked out on a thread of its own
/// ([`RelightStatus::door_milliseconds`](super::RelightStatus) says how long it took); of a door that moves all the time, it
/// always takes the newest place. The sky's light stays as it was baked.
///
/// Movers of files, such as doors that are animated, may be doors as well; those were not there when the level was baked.
/// A place that is not finite is ignored. What was baked with a lightmap of its own, shines, or came after the bake is no
/// door, and a warning says so.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
#[require(BakeOccluder)]
pub struct RelightDoor;

/// Doors of the world and what hangs from them.
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
}

/// What a level's doors and colours are doing.
pub struct Doorway {
    index: KeyIndex,
    surfaces: HashMap<SurfaceKey, SurfaceId>,
    owners: HashMap<SurfaceId, Entity>,
    /// Which surface each entity is that has been met; none for those that came after the bake.
    met: HashMap<Entity, Option<SurfaceId>>,
    now: Wanted,
    /// What the thread has been asked for last.
    asked: Wanted,
    state: State,
}

/// What differs from what was baked.
#[derive(Clone, Default, PartialEq)]
struct Wanted {
    doors: Vec<Door>,
    paints: Vec<Paint>,
}

enum State {
    /// Nothing has differed yet.
    Idle(Box<Level>),
    Open(Worker<Wanted, Opened>),
    /// Neither can be followed.
    Shut,
}

/// What the thread has done.
struct Opened {
    /// None when nothing differs from what was placed last.
    placed: Result<Option<Placed>, String>,
    warnings: Vec<String>,
    time: Duration,
}

/// What the thread works with.
struct Keeper {
    level: Level,
    doors: Result<Doors, Cancelled>,
    warned: HashSet<(SurfaceId, &'static str)>,
}

impl Doorway {
    pub fn new(level: &RelightLevel) -> Self {
        let scene = &level.level.scene;
        Self {
            index: KeyIndex::new(scene.surfaces.iter().map(|surface| surface.key.clone())),
            surfaces: scene.surface_ids().map(|id| (scene.surface(id).key.clone(), id)).collect(),
            owners: level.owners.clone(),
            met: HashMap::new(),
            now: Wanted::default(),
            asked: Wanted::default(),
            state: State::Idle(Box::new(level.level.clone())),
        }
    }

    /// Takes note of the surfaces whose colours are others than baked.
    pub fn paint(&mut self, paints: Vec<Paint>) {
        self.now.paints = paints;
    }

    /// Looks where the doors are.
    pub fn read(&mut self, world: &DoorWorld) {
        if matches!(self.state, State::Shut) {
            return;
        }
        let known = self.now.doors.iter().filter(|door| !world.living.contains(self.owners[&door.surface]));
        let mut doors: Vec<Door> = known.map(|door| Door { to_world: None, ..*door }).collect();
        for door in &world.doors {
            for leaf in core::iter::once(door).chain(world.children.iter_descendants(door)) {
                doors.extend(self.read_leaf(leaf, world));
            }
        }
        doors.sort_by_key(|door| (door.surface, door.to_world.is_none()));
        doors.dedup_by_key(|door| door.surface);
        self.now.doors = doors;
    }

    fn read_leaf(&mut self, entity: Entity, world: &DoorWorld) -> Option<Door> {
        let (mesh, transform, visibility, rest) = world.leaves.get(entity).ok()?;
        let surface = self.surface_of(entity, mesh, rest.map_or(*transform, RestPose::transform), world)?;
        let is_shown = visibility.is_none_or(|visibility| visibility.get());
        let to_world = transform.affine();
        if is_shown && !to_world.is_finite() {
            return self.now.doors.iter().find(|door| door.surface == surface).copied();
        }
        Some(Door { surface, to_world: is_shown.then_some(to_world) })
    }

    fn surface_of(
        &mut self,
        entity: Entity,
        mesh: &Mesh3d,
        place: GlobalTransform,
        world: &DoorWorld,
    ) -> Option<SurfaceId> {
        if let Some(&known) = self.met.get(&entity) {
            return known;
        }
        let owned = self.owners.iter().find_map(|(&surface, &owner)| (owner == entity).then_some(surface));
        let surface = owned.or_else(|| self.adopt(entity, mesh, place, world));
        self.met.insert(entity, surface);
        surface
    }

    /// Gives an entity the surface that it is by its name, if none that lives has that.
    fn adopt(&mut self, entity: Entity, mesh: &Mesh3d, place: GlobalTransform, world: &DoorWorld) -> Option<SurfaceId> {
        let key = world.names.surface_key(entity, world.assets.get_path(mesh.0.id()).as_ref(), place.translation());
        let is_free = |id: &SurfaceId| self.owners.get(id).is_none_or(|&owner| !world.living.contains(owner));
        let candidates = self.index.candidates(&key).into_iter();
        let free = candidates.filter_map(|key| self.surfaces.get(key).copied()).find(is_free);
        match free {
            Some(surface) => _ = self.owners.insert(surface, entity),
            None => {
                warn!(
                    "door {} is not followed: it was not there when the level was baked",
                    world.names.describe(entity)
                );
            }
        }
        free
    }

    /// True while the level is not yet known as it is with doors and colours as they are.
    pub fn is_behind(&self) -> bool {
        matches!(&self.state, State::Open(worker) if worker.is_busy())
    }

    /// Takes what has been worked out, and asks for more; without `is_enabled`, all is as it was baked.
    pub fn advance(&mut self, is_enabled: bool) -> Option<(Placed, Duration)> {
        let baked = Wanted::default();
        let wanted = if is_enabled { &self.now } else { &baked };
        self.state = match core::mem::replace(&mut self.state, State::Shut) {
            State::Idle(level) if *wanted != self.asked => match Keeper::start(*level) {
                Ok(worker) => State::Open(worker),
                Err(reason) => {
                    warn!("there are no threads to follow doors and colours with: {reason}");
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
            warn!("following doors and colours stopped by a fault of its own");
            self.state = State::Shut;
            return None;
        }
        let Opened { placed, warnings, time } = done?;
        warnings.iter().for_each(|warning| warn!("{warning}"));
        match placed {
            Ok(placed) => Some((placed?, time)),
            Err(reason) => {
                warn!("doors and colours are not followed: {reason}");
                self.state = State::Shut;
                None
            }
        }
    }
}

impl Keeper {
    fn start(level: Level) -> Result<Worker<Wanted, Opened>, String> {
        let make = move || Self { doors: Doors::new(level.clone(), &Unmonitored), level, warned: HashSet::new() };
        Worker::start("relight doors", make, Self::open)
    }

    fn open(&mut self, Wanted { doors: wanted, paints }: Wanted) -> Opened {
        let started = Instant::now();
        let Self { level, doors, warned } = self;
        let mut warnings = Vec::new();
        let placed = match doors {
            Err(error) => Err(error.to_string()),
            Ok(doors) => {
                let of_doors = wanted.iter().map(|door| ("door", door.surface, doors.fault_of(door.surface)));
                let of_paints = paints.iter().map(|paint| ("the colour of", paint.surface, paint.fault(level)));
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
        Opened { placed, warnings, time: started.elapsed() }
    }
}
