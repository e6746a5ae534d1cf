//! A bake on a thread of its own.

use std::sync::Arc;

use super::events::{Bake, BakeFailure};
use super::preview::{PreviewingObserver, PreviewingWatch};
use super::solve::{Solved, open, owners, places, relight_origin, repair_and_bake};
use super::targets::{pixels, targets};
use crate::plugin::background::{RadiosityThreads, Task};
use crate::plugin::relight::level_of_bake;
use crate::plugin::state::{PageValidity, TexelValidity};
use crate::plugin::sync::WorldScene;
use crate::plugin::tree_cells::TreeCells;

/// Bake that a thread solves.
pub struct Solver(Task<Result<Solved, BakeFailure>>);

impl Solver {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the system has no threads.
    pub fn start(bake: Bake, world: WorldScene, observer: PreviewingWatch) -> Result<Self, BakeFailure> {
        let threads = RadiosityThreads { max: bake.threads };
        let task = Task::start("bake", threads, move || async move { solve(&bake, world, &observer) });
        task.map(Self).map_err(BakeFailure::Threads)
    }

    /// Returns the result once the bake has ended, and `None` before.
    pub fn poll(&mut self) -> Option<Result<Solved, BakeFailure>> {
        self.0.poll().map(|ended| ended.unwrap_or(Err(BakeFailure::Fault)))
    }
}

/// Bakes a scene that was read from the Bevy world.
pub fn solve(bake: &Bake, world: WorldScene, watch: &PreviewingWatch) -> Result<Solved, BakeFailure> {
    let (folder, device) = open(bake)?;
    let WorldScene { scene, surfaces, .. } = world;
    let observer = PreviewingObserver { watch, originals: &surfaces };
    let mut baked = repair_and_bake(scene, &bake.settings, &device, &observer)?;
    if let Some(folder) = folder {
        baked.draw_preview(None);
        folder.write(&mut baked)?;
    }
    let relight =
        relight_origin(level_of_bake(&baked, owners(&surfaces, baked.scene.surfaces.iter().map(|it| &it.key))));
    let placed = || baked.scene.surfaces.iter().map(|surface| (&surface.key, surface.to_world));
    let places = places(&surfaces, placed());
    let targets = targets(&surfaces, placed().map(|(key, _)| key), &baked.layout);
    let pages = pixels(&baked.pages);
    let validity = TexelValidity(baked.pages.iter().map(|page| Arc::new(PageValidity::from(page))).collect());
    let tree = TreeCells::of(baked.world.tree());
    Ok(Solved { targets, pages, report: baked.report, volume: baked.volume, validity, tree, relight, places })
}
