//! Data that the main world and the render world share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bevy::prelude::*;

use super::rebuild::LiveWorld;
use crate::gpu::SceneChange;
use crate::plugin::components::{LiveView, LiveViewStatus};

/// Settings of an enabled view, in the render world.
#[derive(Component, Clone, Copy)]
pub struct Wanted {
    pub settings: LiveView,
}

/// Status of views, passed from the render world to the main world.
#[derive(Resource, Clone, Default)]
pub struct Reports(Arc<Mutex<HashMap<Entity, LiveViewStatus>>>);

impl Reports {
    /// Sets the status of a view.
    pub fn set(&self, view: Entity, status: LiveViewStatus) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(view, status);
    }

    /// Takes all statuses since the last call.
    pub fn take(&self) -> HashMap<Entity, LiveViewStatus> {
        core::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Scene of the render world.
#[derive(Resource, Default)]
pub struct Shown {
    pub world: Option<Arc<LiveWorld>>,
    pub revision: u64,
    /// Updates to write into its buffers.
    pub changes: Vec<Arc<SceneChange>>,
}
