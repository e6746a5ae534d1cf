//! Whether lights are other than they were.

use bevy::ecs::system::SystemParam;
use bevy::light::{DirectionalLight, PointLight, RectLight, SpotLight, SunDisk};
use bevy::prelude::*;

type AnyLight = Or<(With<PointLight>, With<SpotLight>, With<DirectionalLight>, With<RectLight>)>;
type AnyLightChanged = Or<(
    Changed<PointLight>,
    Changed<SpotLight>,
    Changed<DirectionalLight>,
    Changed<RectLight>,
    Changed<SunDisk>,
    (Or<(Changed<GlobalTransform>, Changed<InheritedVisibility>)>, AnyLight),
)>;

/// What has happened to lights since the system that asks ran last.
#[derive(SystemParam)]
pub struct LightChanges<'w, 's> {
    changed: Query<'w, 's, (), AnyLightChanged>,
    points: RemovedComponents<'w, 's, PointLight>,
    spots: RemovedComponents<'w, 's, SpotLight>,
    suns: RemovedComponents<'w, 's, DirectionalLight>,
    rectangles: RemovedComponents<'w, 's, RectLight>,
}

impl LightChanges<'_, '_> {
    /// True when a light has come, gone, moved, or changed. Forgets which have gone.
    pub fn any(&mut self) -> bool {
        let Self { changed, points, spots, suns, rectangles } = self;
        let gone = points.read().count() + spots.read().count() + suns.read().count() + rectangles.read().count();
        gone > 0 || !changed.is_empty()
    }
}
