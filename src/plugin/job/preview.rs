//! The light so far, on its way from the solver's thread to the entities.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bevy::prelude::World;

use super::Watch;
use super::solve::{Originals, pixels, targets};
use crate::bake::{BakePass, Observer, Preview, Progress};
use crate::plugin::relight::RelightOrigin;
use crate::plugin::write_back::{Batch, LitLights, PagePixels, Target};

/// The newest preview, while there is one that waits.
#[derive(Default)]
pub struct Previews {
    wanted: bool,
    waiting: Mutex<Option<Waiting>>,
    /// True from the frame in which one is taken until the frame in which it is seen.
    is_on_its_way: Arc<AtomicBool>,
}

struct Waiting {
    targets: Vec<Target>,
    pages: Vec<PagePixels>,
}

impl Previews {
    pub fn wanted() -> Self {
        Self { wanted: true, ..Self::default() }
    }

    /// The preview that waits, for entities to show.
    pub fn take(&self, lights: &LitLights) -> Option<Batch> {
        let Waiting { targets, pages } = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        self.is_on_its_way.store(true, Ordering::Relaxed);
        let is_on_its_way = Arc::clone(&self.is_on_its_way);
        let arrive = move |world: &mut World, _| {
            is_on_its_way.store(false, Ordering::Relaxed);
            world.insert_resource(RelightOrigin::Gone);
        };
        Some(Batch::bake(targets, pages, lights.clone()).on_attached(arrive))
    }

    fn is_next_wanted(&self) -> bool {
        let nobody_waits = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_none();
        self.wanted && !self.is_on_its_way.load(Ordering::Relaxed) && nobody_waits()
    }
}

/// Watches a bake from the solver's thread, where previews are brought into a form that the main thread only has to hand
/// on.
pub struct PreviewingWatch<'a> {
    pub watch: &'a Watch,
    pub originals: &'a Originals,
}

impl Observer for PreviewingWatch<'_> {
    fn progress(&self, progress: Progress) {
        self.watch.progress(progress);
    }

    fn pass_finished(&self, pass: BakePass) {
        self.watch.pass_finished(pass);
    }

    fn wants_preview(&self) -> bool {
        self.watch.previews.is_next_wanted()
    }

    fn preview(&self, Preview { scene, layout, pages }: Preview<'_>) {
        let waiting = Waiting { targets: targets(self.originals, scene, layout), pages: pixels(&pages) };
        *self.watch.previews.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
    }

    fn is_cancelled(&self) -> bool {
        self.watch.is_cancelled()
    }
}
