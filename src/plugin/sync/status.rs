//! Status of the scene: changes of the Bevy world, and the cost of reading it.

use std::collections::HashSet;
use std::time::Duration;

use bevy::prelude::*;

/// Numbers of items by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Default, Debug, Clone)]
pub struct SceneCounts {
    /// Number of meshes.
    pub meshes: usize,
    /// Number of textures.
    pub textures: usize,
    /// Number of materials.
    pub materials: usize,
    /// Number of mesh entities.
    pub surfaces: usize,
    /// Number of lights.
    pub lights: usize,
}

impl SceneCounts {
    /// Returns true when all counts are zero.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// Result and cost of one reading of the Bevy world.
#[derive(Clone, Debug, Default, Reflect)]
#[reflect(Default, Debug, Clone)]
pub struct SceneRead {
    /// Converted meshes and textures, and all materials, surfaces and lights, which are never cached.
    pub rebuilt: SceneCounts,
    /// Total main thread time, in seconds.
    pub seconds: f32,
    /// Longest main thread time in one frame, in seconds.
    pub longest_frame_seconds: f32,
    /// Messages about what was left out or could not be read.
    pub warnings: Vec<String>,
}

impl SceneRead {
    /// Adds the time of a frame.
    pub fn note_frame(&mut self, time: Duration) {
        self.seconds += time.as_secs_f32();
        self.longest_frame_seconds = self.longest_frame_seconds.max(time.as_secs_f32());
    }
}

/// Changes of the Bevy world since the shown bake, and the cost of readings.
#[derive(Resource, Clone, Debug, Default, Reflect)]
#[reflect(Resource, Default, Debug)]
pub struct SceneStatus {
    /// Changes since the last reading for a bake, or since a baked level found its surfaces and lights. While they are
    /// not zero, baked lightmaps are out of date.
    pub changed: SceneCounts,
    /// Latest reading for a bake, if any.
    pub last_read: Option<SceneRead>,
    /// Latest rebuild of the live view's scene, if any.
    pub last_live_rebuild: Option<LiveRebuild>,
    /// Latest update of movers in live views, if any.
    pub last_live_move: Option<LiveMove>,
    #[reflect(ignore)]
    entities: ChangedEntities,
}

/// Entities that have changed. Each counts once.
#[derive(Clone, Debug, Default)]
struct ChangedEntities {
    surfaces: Changes,
    lights: Changes,
}

/// Changed entities of one kind.
#[derive(Clone, Debug, Default)]
struct Changes {
    living: HashSet<Entity>,
    /// Number of removed entities that had not changed before.
    removed: usize,
}

impl Changes {
    fn add(&mut self, changed: Vec<Entity>, removed: Vec<Entity>) {
        self.living.extend(changed);
        for entity in removed {
            self.removed += usize::from(!self.living.remove(&entity));
        }
    }

    fn count(&self) -> usize {
        self.living.len() + self.removed
    }
}

impl SceneStatus {
    /// Forgets all changes, since a bake has read the world.
    pub(crate) fn forget_changes(&mut self) {
        self.changed = SceneCounts::default();
        self.entities = ChangedEntities::default();
    }

    /// Adds changes of assets.
    pub(super) fn add_assets(&mut self, counts: SceneCounts) {
        self.changed.meshes += counts.meshes;
        self.changed.textures += counts.textures;
        self.changed.materials += counts.materials;
    }

    /// Adds changed and removed surfaces.
    pub(super) fn add_surfaces(&mut self, changed: Vec<Entity>, removed: Vec<Entity>) {
        self.entities.surfaces.add(changed, removed);
        self.count_entities();
    }

    /// Adds changed and removed lights.
    pub(super) fn add_lights(&mut self, changed: Vec<Entity>, removed: Vec<Entity>) {
        self.entities.lights.add(changed, removed);
        self.count_entities();
    }

    /// Takes surfaces and lights that a baked level has found for unchanged.
    pub(crate) fn take_for_unchanged(&mut self, found: impl IntoIterator<Item = Entity>) {
        for entity in found {
            self.entities.surfaces.living.remove(&entity);
            self.entities.lights.living.remove(&entity);
        }
        self.count_entities();
    }

    fn count_entities(&mut self) {
        self.changed.surfaces = self.entities.surfaces.count();
        self.changed.lights = self.entities.lights.count();
    }
}

/// Cost of an update of movers in live views, within a frame and without a rebuild.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
#[reflect(Default, Debug, Clone, PartialEq)]
pub struct LiveMove {
    /// Number of moved surfaces.
    pub surfaces: usize,
    /// Main thread time, in seconds.
    pub seconds: f32,
}

/// Cost of a rebuild of the live view's scene.
#[derive(Clone, Debug, Default, Reflect)]
#[reflect(Default, Debug, Clone)]
pub struct LiveRebuild {
    /// Reading, with its main thread time.
    pub read: SceneRead,
    /// Time to build the acceleration structures on a thread, in seconds. `None` if they were kept, since only lights
    /// or materials had changed.
    pub tree_seconds: Option<f32>,
    /// Time to fill the GPU's buffers on that thread, in seconds.
    pub buffer_seconds: f32,
}
