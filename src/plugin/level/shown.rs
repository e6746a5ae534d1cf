//! State of the shown level, as plain data.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use bevy::math::Affine3A;
use bevy::prelude::*;

use super::files::Place;
use crate::lightmap::Unwrap;
use crate::lightmap::files::{Level, LevelLight, LevelMesh};
use crate::plugin::state::are_near;
use crate::scene::{KeyIndex, SurfaceKey};

/// Surfaces of the app, and the levels' need of work.
#[derive(Resource, Default)]
pub struct Shown {
    /// Surfaces that wait to be matched.
    pub waiting: VecDeque<Entity>,
    /// True while only changes of the app give work.
    pub is_at_rest: bool,
    /// Number of levels read so far.
    pub count: u32,
}

/// Level whose files have been read. Its lightmaps may be about to be attached.
#[derive(Component)]
pub struct ShownLevel {
    /// Number of levels that were read before.
    pub number: u32,
    /// Path of the level, for messages.
    pub name: String,
    pub lights: LevelLights,
    pub surfaces: HashMap<SurfaceKey, Place>,
    pub index: KeyIndex,
    /// Entity of each key.
    pub owners: HashMap<SurfaceKey, Entity>,
    pub meshes: Vec<LevelMesh>,
    /// One unwrap per mesh asset and level mesh, so that instances share their copy.
    pub unwraps: HashMap<(AssetId<Mesh>, usize), Option<Arc<Unwrap>>>,
    /// Transforms of the entity at the time of the bake, according to single surfaces.
    votes: Vec<Affine3A>,
    /// Transform of the entity at the time of the bake, by majority. `None` before a surface tells it.
    pub frame: Option<Affine3A>,
    /// True until the world knows the frame.
    pub has_new_frame: bool,
    pub has_warned: bool,
    /// True once it has lit all its surfaces that are there.
    pub is_announced: bool,
    /// Later level that has taken a surface of this one.
    pub taken_by: Option<Entity>,
}

impl ShownLevel {
    pub fn new(
        number: u32,
        name: String,
        surfaces: HashMap<SurfaceKey, Place>,
        meshes: Vec<LevelMesh>,
        lights: LevelLights,
    ) -> Self {
        Self {
            number,
            name,
            lights,
            index: KeyIndex::new(sorted_keys(&surfaces)),
            surfaces,
            owners: HashMap::new(),
            meshes,
            unwraps: HashMap::new(),
            votes: Vec::new(),
            frame: None,
            has_new_frame: false,
            has_warned: false,
            is_announced: false,
            taken_by: None,
        }
    }

    /// Returns true while more surfaces may tell where the level stood.
    pub fn wants_votes(&self) -> bool {
        /// Number of surfaces that tell where a level stood at the time of the bake.
        const VOTES: usize = 15;
        self.votes.len() < VOTES
    }

    /// Counts a surface's vote for the transform of the entity at the time of the bake.
    pub fn count_vote(&mut self, vote: Affine3A) {
        self.votes.push(vote);
        let supporters = |vote: &Affine3A| self.votes.iter().filter(|other| are_near(vote, other)).count();
        // The first of equals wins.
        let frame = self.votes.iter().rev().max_by_key(|vote| supporters(vote)).copied();
        self.has_new_frame |= frame != self.frame;
        self.frame = frame;
    }
}

/// Returns the keys by length and then by name, so that numbered keys are in sequence.
fn sorted_keys(places: &HashMap<SurfaceKey, Place>) -> Vec<SurfaceKey> {
    let mut keys: Vec<SurfaceKey> = places.keys().cloned().collect();
    keys.sort_by(|a, b| a.0.len().cmp(&b.0.len()).then_with(|| a.cmp(b)));
    keys
}

/// Entity of a baked light.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundEntity {
    pub entity: Entity,
    /// False if only its name told it. A light at the baked place replaces it, however late it comes.
    pub is_at_place: bool,
}

/// Lights of a level, and their entities in the app.
pub struct LevelLights {
    pub baked: Vec<LevelLight>,
    pub has_sky: bool,
    /// Entity of each baked light.
    pub found: Vec<Option<FoundEntity>>,
    /// Cameras with the baked sky.
    pub cameras: HashSet<Entity>,
    /// True once the lightmaps are attached. Before, no light is marked.
    pub is_attached: bool,
    /// True once lights without a counterpart have been reported.
    pub has_reported: bool,
}

impl LevelLights {
    pub fn new(level: &Level) -> Self {
        Self {
            baked: level.lights.clone(),
            has_sky: level.has_sky,
            found: vec![None; level.lights.len()],
            cameras: HashSet::new(),
            is_attached: false,
            has_reported: false,
        }
    }

    /// Returns the entities of all baked lights that were found.
    pub fn entities(&self) -> HashSet<Entity> {
        self.found.iter().flatten().map(|found| found.entity).collect()
    }
}
