//! Comparison of a level with the scene file that it was baked from.

use std::sync::Arc;

use bevy::asset::LoadState;
use bevy::prelude::*;

use crate::parts::pause;
use crate::plugin::assets::{ReadLevel, SceneFile, load_scene};
use crate::plugin::background::{RadiosityThreads, Task};
use crate::plugin::components::BakedLevel;
use crate::scene::hash;
use crate::scene_files::SceneBytes;

/// Level that waits for its scene file, or is compared with it.
#[derive(Component)]
pub struct Comparison {
    scene: Handle<SceneFile>,
    name: String,
    content_hash: String,
    task: Option<Task<()>>,
}

impl Comparison {
    /// Starts to load the source of a level, if there is one.
    pub fn of(baked: &BakedLevel, read: &ReadLevel, assets: &AssetServer) -> Option<Self> {
        let source = baked.source.as_ref()?;
        let scene = load_scene(assets, source);
        Some(Self { scene, name: source.to_string(), content_hash: read.level.content_hash.clone(), task: None })
    }
}

/// Run condition: a level waits for its scene file, or is compared with it.
pub fn is_pending(pending: Query<(), With<Comparison>>) -> bool {
    !pending.is_empty()
}

/// Compares levels with scene files that have loaded, on threads.
pub fn compare(
    mut commands: Commands,
    mut pending: Query<(Entity, &mut Comparison)>,
    scenes: Res<Assets<SceneFile>>,
    server: Res<AssetServer>,
    threads: Res<RadiosityThreads>,
) {
    for (entity, mut comparison) in &mut pending {
        if let Some(task) = &mut comparison.task {
            if task.poll().is_some() {
                commands.entity(entity).remove::<Comparison>();
            }
            continue;
        }
        let Comparison { scene, name, content_hash, .. } = &*comparison;
        match (scenes.get(scene), server.load_state(scene)) {
            (Some(SceneFile(scene)), _) => {
                let (scene, name, content_hash) = (Arc::clone(scene), name.clone(), content_hash.clone());
                let work = move || async move { warn_when_stale(&scene, &name, &content_hash).await };
                match Task::start("baked level's source", *threads, work) {
                    Ok(task) => {
                        comparison.task = Some(task);
                        continue;
                    }
                    Err(error) => warn!("no thread to compare a baked level with its source: {error}"),
                }
            }
            (None, LoadState::Loading) => continue,
            // Bevy has logged why it cannot be loaded.
            _ => {}
        }
        commands.entity(entity).remove::<Comparison>();
    }
}

/// Warns when a scene differs from the bake.
async fn warn_when_stale(scene: &SceneBytes, name: &str, content_hash: &str) {
    match scene.load_in_parts().await {
        Ok(loaded) => {
            pause().await;
            if hash(&loaded.scene).to_string() != content_hash {
                warn!("{name} has changed since it was baked: its lightmaps are out of date; bake it again");
            }
        }
        Err(error) => warn!("{name} cannot be compared with its lightmaps: {error}"),
    }
}
