//! Visibility and removal of all baked light.

use bevy::prelude::*;

use super::batch::{Batches, drop_unused_copies};
use super::entity::{FRAMES_FOR_THE_RENDERER, Shown, baked_entities, hide, show};
use super::lights::apply_lights;
use super::removal::remove_level;
use super::volume::show_volume;
use crate::plugin::state::{AppBake, Baked, Pages};

/// Visibility and filter of baked light. Hiding lightmaps restores the lights, as if nothing were baked.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq, Reflect)]
#[reflect(Resource, Default, Debug, Clone)]
pub struct Lightmaps {
    /// True shows lightmaps, false Bevy's lights alone. Default true.
    pub enabled: bool,
    /// True filters lightmaps with a bicubic B-spline, which draws smooth edges of shadows. False filters them
    /// bilinearly, which is faster and draws steps along edges that cross texels diagonally. Default true.
    ///
    /// Lightmaps with a padding below [`LayoutSettings::BICUBIC_PADDING`](crate::lightmap::LayoutSettings) are always
    /// filtered bilinearly. A change takes some frames, which Bevy's lights alone light.
    pub bicubic: bool,
}

impl Default for Lightmaps {
    fn default() -> Self {
        Self { enabled: true, bicubic: true }
    }
}

/// Event that removes all baked light: meshes, lights and entities return to their original state.
#[derive(Event, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Event, Default, Debug, Clone)]
pub struct RemoveLightmaps;

impl Shown {
    fn is_as(&self, wanted: &Lightmaps) -> bool {
        (self.enabled, self.bicubic) == (wanted.enabled, wanted.bicubic)
    }
}

/// Run condition: [`Lightmaps`] has changed, or the renderer has yet to see the previous change.
pub fn is_due(wanted: Res<Lightmaps>, shown: Res<Shown>) -> bool {
    !shown.is_as(&wanted) || shown.frames_since_change < FRAMES_FOR_THE_RENDERER
}

/// Applies [`Lightmaps`]. A change waits until the renderer has seen the previous one.
pub fn toggle(world: &mut World) {
    let wanted = *world.resource::<Lightmaps>();
    let mut shown = world.resource_mut::<Shown>();
    shown.frames_since_change = shown.frames_since_change.saturating_add(1);
    if shown.is_as(&wanted) || shown.frames_since_change < FRAMES_FOR_THE_RENDERER {
        return;
    }
    // Bevy ignores another filter of a lightmap that it has, so each lightmap is absent for some frames.
    let enabled = wanted.enabled && !(shown.enabled && wanted.bicubic != shown.bicubic);
    *shown = Shown { enabled, bicubic: wanted.bicubic, frames_since_change: 0 };
    for entity in baked_entities(world) {
        let mut entity = world.entity_mut(entity);
        if enabled { show(&mut entity) } else { hide(&mut entity) }
    }
    show_volume(world, enabled);
    apply_lights(world);
}

/// Removes all baked light.
pub fn remove_lightmaps(_: On<RemoveLightmaps>, mut commands: Commands) {
    commands.queue(remove_all);
}

/// Removes all baked light that is shown.
pub fn remove_all(world: &mut World) {
    let levels: Vec<Entity> = world.query_filtered::<Entity, With<Pages>>().iter(world).collect();
    for level in levels {
        remove_level(world, level);
    }
    drop_unused_copies(world);
}

/// Run condition: surfaces have lost their lightmaps, or other lightmaps are shown.
pub fn has_removals(
    mut removed: RemovedComponents<Baked>,
    mut without_pages: RemovedComponents<Pages>,
    changed: Query<(), Changed<Pages>>,
) -> bool {
    removed.read().count() + without_pages.read().count() > 0 || !changed.is_empty()
}

/// Frees copies of despawned surfaces, and all lightmaps of a bake of the app whose last surface is gone.
pub fn notice_removals(
    mut commands: Commands,
    baked: Query<(), With<Baked>>,
    of_app: Query<Entity, With<AppBake>>,
    batches: Res<Batches>,
) {
    match of_app.iter().next() {
        Some(bake) if baked.is_empty() && batches.is_empty() => {
            commands.queue(move |world: &mut World| remove_level(world, bake));
        }
        _ => commands.queue(drop_unused_copies),
    }
}
