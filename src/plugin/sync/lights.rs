//! Change detection for lights.

use bevy::ecs::system::SystemParam;
use bevy::light::{DirectionalLight, PointLight, RectLight, SpotLight, SunDisk};
use bevy::prelude::*;

type AnyLight = Or<(With<PointLight>, With<SpotLight>, With<DirectionalLight>, With<RectLight>)>;
/// Filter for lights that were added, moved, shown, hidden or changed.
pub type AnyLightChanged = Or<(
    Changed<PointLight>,
    Changed<SpotLight>,
    Changed<DirectionalLight>,
    Changed<RectLight>,
    Changed<SunDisk>,
    (Or<(Changed<GlobalTransform>, Changed<InheritedVisibility>)>, AnyLight),
)>;

/// Lights that were removed since the last run of the system.
#[derive(SystemParam)]
pub struct RemovedLights<'w, 's> {
    points: RemovedComponents<'w, 's, PointLight>,
    spots: RemovedComponents<'w, 's, SpotLight>,
    suns: RemovedComponents<'w, 's, DirectionalLight>,
    rectangles: RemovedComponents<'w, 's, RectLight>,
}

impl RemovedLights<'_, '_> {
    /// Returns the removed lights. It consumes them.
    pub fn read(&mut self) -> Vec<Entity> {
        let Self { points, spots, suns, rectangles } = self;
        points.read().chain(spots.read()).chain(suns.read()).chain(rectangles.read()).collect()
    }
}

/// Changes of lights since the last run of the system.
#[derive(SystemParam)]
pub struct LightChanges<'w, 's> {
    changed: Query<'w, 's, (), AnyLightChanged>,
    removed: RemovedLights<'w, 's>,
}

impl LightChanges<'_, '_> {
    /// Returns true when a light was added, removed, moved or changed. It consumes the removals.
    pub fn any(&mut self) -> bool {
        !self.removed.read().is_empty() || !self.changed.is_empty()
    }
}
