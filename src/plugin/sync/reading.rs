//! Incremental reading of the Bevy world, within a time budget per frame.

use std::collections::VecDeque;
use std::time::Duration;

use super::{AssetCache, Needed, Purpose, SceneCounts, SceneRead, SceneReader, WorldScene};
use crate::clock::{self, Instant};

/// Main thread time per frame for a reading.
const BUDGET: Duration = Duration::from_micros(1000);

/// Reading of the Bevy world in progress.
pub struct WorldReading {
    purpose: Purpose,
    /// Assets that have yet to be converted, once they are listed.
    needed: Option<VecDeque<Needed>>,
    read: SceneRead,
}

impl WorldReading {
    /// Creates a reading that has not begun.
    pub fn new(purpose: Purpose) -> Self {
        Self { purpose, needed: None, read: SceneRead::default() }
    }

    /// Continues within the frame's budget. Returns the scene and the cost at the end.
    pub fn advance(&mut self, reader: &SceneReader, cache: &mut AssetCache) -> Option<(WorldScene, SceneRead)> {
        let started = clock::now();
        let is_read = self.read_some(reader, cache, started);
        let scene = is_read.then(|| reader.assemble(cache, self.purpose));
        self.read.note_frame(started.elapsed());
        let scene = scene?;
        let mut read = core::mem::take(&mut self.read);
        read.rebuilt = SceneCounts {
            materials: scene.scene.materials.len(),
            surfaces: scene.scene.surfaces.len(),
            lights: scene.scene.lights.len(),
            ..read.rebuilt
        };
        read.warnings.clone_from(&scene.warnings);
        Some((scene, read))
    }

    fn read_some(&mut self, reader: &SceneReader, cache: &mut AssetCache, started: Instant) -> bool {
        let needed = self.needed.get_or_insert_with(|| reader.needed(self.purpose).into());
        for _ in 0..needed.len() {
            if started.elapsed() > BUDGET {
                return false;
            }
            let Some(asset) = needed.pop_front() else {
                break;
            };
            match (reader.read(asset, cache), asset) {
                // A bake waits for loading assets, whereas a view shows what is there.
                (None, _) if self.purpose == Purpose::Bake => needed.push_back(asset),
                (Some(true), Needed::Mesh(_)) => self.read.rebuilt.meshes += 1,
                (Some(true), Needed::Texture(_) | Needed::Sky(_)) => self.read.rebuilt.textures += 1,
                (Some(false) | None, _) => {}
            }
        }
        needed.is_empty()
    }
}
