//! Removal of the baked light of one level.

use bevy::prelude::*;

use super::entity::release;
use super::lights::unmark_lights;
use super::volume::remove_volume;
use crate::plugin::state::{AppBake, Baked, LevelFrame, Pages, RelightOrigin, RemovedFromLightmaps, TexelValidity};

/// Removes the lightmaps, the volume and the marks of lights of a level, or of a bake of the app. The level's entity may
/// be gone. The plugin drops mesh copies in the same frame or the next.
pub fn remove_level(world: &mut World, level: Entity) {
    let mut baked = world.query::<(Entity, &Baked)>();
    let surfaces: Vec<Entity> =
        baked.iter(world).filter(|(_, baked)| baked.level == level).map(|(entity, _)| entity).collect();
    for entity in surfaces {
        release(&mut world.entity_mut(entity));
    }
    remove_volume(world, level);
    if let Ok(mut entity) = world.get_entity_mut(level) {
        entity.remove::<(Pages, TexelValidity, LevelFrame, RemovedFromLightmaps)>();
    }
    unmark_lights(world, level);
    RelightOrigin::Gone.set(world, level);
    if world.get::<AppBake>(level).is_some() {
        world.despawn(level);
    }
}
