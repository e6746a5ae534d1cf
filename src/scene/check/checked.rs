//! A scene that has been repaired.

use std::ops::Deref;
use std::sync::Arc;

use super::{Problem, lights};
use crate::scene::{Light, Scene, Sky};

/// Scene that [`repair`](super::repair) has checked, and that cannot change any more. Bakes take no other.
///
/// Its numbers are finite, its indices exist, its normals have unit length, its reflectances are at most one, and its
/// keys are distinct. Clones share their data.
#[derive(Clone, Debug, Default)]
pub struct CheckedScene(Arc<Scene>);

impl CheckedScene {
    pub(super) fn new(repaired: Scene) -> Self {
        Self(Arc::new(repaired))
    }

    /// Returns the scene for use by several owners.
    pub fn shared(&self) -> &Arc<Scene> {
        &self.0
    }

    /// Returns the scene for changes, after which it must be checked again.
    pub fn into_inner(self) -> Scene {
        Arc::unwrap_or_clone(self.0)
    }

    /// Changes lights and sky, and repairs them as [`repair`](super::repair) does. Returns the problems found.
    #[must_use]
    pub fn with_lights(mut self, change: impl FnOnce(&mut Vec<Light>, &mut Sky)) -> (Self, Vec<Problem>) {
        let scene = Arc::make_mut(&mut self.0);
        change(&mut scene.lights, &mut scene.sky);
        let mut problems = Vec::new();
        lights::repair(scene, &mut problems);
        (self, problems)
    }

    /// Returns the scene as [`Scene::with_solid_glass`] does.
    #[must_use]
    pub fn with_solid_glass(self) -> Self {
        Self::new(self.into_inner().with_solid_glass())
    }
}

impl Deref for CheckedScene {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.0
    }
}
