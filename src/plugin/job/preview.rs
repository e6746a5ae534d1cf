//! Previews of a running bake, passed from the solver's thread to the main thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bevy::prelude::{Entity, World};

use super::progress::Watch;
use super::targets::{Originals, pixels, targets};
use crate::bake::{BakePass, Observer, Preview, Progress};
use crate::plugin::state::RelightOrigin;
use crate::plugin::write_back::{Batch, NewBake, PagePixels, Target};

/// Newest preview that is not yet shown.
#[derive(Default)]
pub struct Previews {
    wanted: bool,
    waiting: Mutex<Option<Waiting>>,
    /// True from taking a preview until it is attached.
    is_on_its_way: Arc<AtomicBool>,
}

struct Waiting {
    targets: Vec<Target>,
    pages: Vec<PagePixels>,
}

impl Previews {
    /// Creates previews, which are made only if they are wanted.
    pub fn new(wanted: bool) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Returns the waiting preview as a batch.
    pub fn take(&self, bake: &NewBake) -> Option<Batch> {
        let Waiting { targets, pages } = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        self.is_on_its_way.store(true, Ordering::Relaxed);
        let is_on_its_way = Arc::clone(&self.is_on_its_way);
        let arrive = move |world: &mut World, entity: Entity, _| {
            is_on_its_way.store(false, Ordering::Relaxed);
            RelightOrigin::Gone.set(world, entity);
        };
        Some(Batch::bake(bake.clone(), targets, pages).on_attached(arrive))
    }

    fn is_next_wanted(&self) -> bool {
        let nobody_waits = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_none();
        self.wanted && !self.is_on_its_way.load(Ordering::Relaxed) && nobody_waits()
    }
}

/// Progress and previews, shared with the solver's thread.
pub struct PreviewingWatch {
    pub watch: Arc<Watch>,
    pub previews: Arc<Previews>,
}

/// Observer on the solver's thread. It converts previews there, so that the main thread only has to attach them.
pub struct PreviewingObserver<'a> {
    pub watch: &'a PreviewingWatch,
    pub originals: &'a Originals,
}

impl Observer for PreviewingObserver<'_> {
    fn progress(&self, progress: Progress) {
        self.watch.watch.progress(progress);
    }

    fn pass_finished(&self, pass: BakePass) {
        self.watch.watch.pass_finished(pass);
    }

    fn wants_preview(&self) -> bool {
        self.watch.previews.is_next_wanted()
    }

    fn preview(&self, Preview { scene, layout, pages }: Preview<'_>) {
        let keys = scene.surfaces.iter().map(|surface| &surface.key);
        let waiting = Waiting { targets: targets(self.originals, keys, layout), pages: pixels(&pages) };
        *self.watch.previews.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
    }

    fn is_cancelled(&self) -> bool {
        self.watch.watch.is_cancelled()
    }
}
