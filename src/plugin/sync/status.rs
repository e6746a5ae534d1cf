//! What changed in the Bevy world, and what reading it took.

use std::time::Duration;

use bevy::prelude::*;

/// How many things of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Default, Debug, Clone)]
pub struct SceneCounts {
    /// Meshes.
    pub meshes: usize,
    /// Pictures.
    pub textures: usize,
    /// Materials.
    pub materials: usize,
    /// Mesh entities.
    pub surfaces: usize,
    /// Lights.
    pub lights: usize,
}

impl SceneCounts {
    /// True when nothing is counted.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// What one reading of the Bevy world rebuilt.
#[derive(Clone, Debug, Default, Reflect)]
#[reflect(Default, Debug, Clone)]
pub struct SceneRead {
    /// Meshes and pictures that were read anew, and materials, surfaces and lights, which always are.
    pub rebuilt: SceneCounts,
    /// Seconds of the main thread that it took, all frames together.
    pub seconds: f32,
    /// The longest that one frame took of it, seconds.
    pub longest_frame_seconds: f32,
    /// What was left out or could not be read, by name.
    pub warnings: Vec<String>,
}

impl SceneRead {
    /// Adds what a frame took.
    pub(in crate::plugin) fn note_frame(&mut self, time: Duration) {
        self.seconds += time.as_secs_f32();
        self.longest_frame_seconds = self.longest_frame_seconds.max(time.as_secs_f32());
    }
}

/// What changed in the Bevy world since it was read for a bake, and what that reading took.
#[derive(Resource, Clone, Debug, Default, Reflect)]
#[reflect(Resource, Default, Debug)]
pub struct SceneStatus {
    /// Changes since the last reading. While this is not zero, baked lightmaps are out of date.
    pub changed: SceneCounts,
    /// The last reading, if there was one.
    pub last_read: Option<SceneRead>,
    /// The last time that a live view's scene was built, if there was one.
    pub last_live_rebuild: Option<LiveRebuild>,
    /// The last time that live views followed something that moved, if they did.
    pub last_live_move: Option<LiveMove>,
}

/// What it took live views to follow what moved, within a frame and without building anything anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
#[reflect(Default, Debug, Clone, PartialEq)]
pub struct LiveMove {
    /// How many surfaces stood elsewhere.
    pub surfaces: usize,
    /// Seconds of the main thread.
    pub seconds: f32,
}

/// What one change of the Bevy world took a live view.
#[derive(Clone, Debug, Default, Reflect)]
#[reflect(Default, Debug, Clone)]
pub struct LiveRebuild {
    /// What was read, and the time that took of the main thread.
    pub read: SceneRead,
    /// Seconds in which a thread built new trees; none where only light or colours changed and the old ones were kept.
    pub tree_seconds: Option<f32>,
    /// Seconds in which the same thread filled the GPU's buffers.
    pub buffer_seconds: f32,
}
