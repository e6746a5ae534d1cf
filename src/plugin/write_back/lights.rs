//! Baked lights leave lightmapped meshes alone, and get their say back when lightmaps go.

use bevy::light::{
    DirectionalLight, EnvironmentMapLight, GeneratedEnvironmentMapLight, GlobalAmbientLight, PointLight, SpotLight,
};
use bevy::prelude::*;

/// Marks a light whose direct light is, or was, in the lightmaps.
#[derive(Component, Clone, Copy, Debug, Reflect)]
#[reflect(Component, Debug, Clone)]
pub struct BakedLight {
    /// What the app had set `affects_lightmapped_mesh_diffuse` to.
    affected_lightmapped: bool,
    /// True while the light leaves lightmapped meshes alone.
    is_silenced: bool,
}

/// What the app had set `GlobalAmbientLight::affects_lightmapped_meshes` to, while the ambient light is baked.
#[derive(Resource, Clone, Copy, Debug)]
struct BakedAmbient(bool);

/// Tells lights that are in the lightmaps not to light lightmapped meshes a second time.
///
/// Rectangular lights have no such switch in Bevy 0.19, and deferred rendering ignores it for all.
pub fn silence(world: &mut World, lights: &[Entity], ambient: bool) {
    for &entity in lights {
        if world.get::<BakedLight>(entity).is_some_and(|mark| mark.is_silenced) {
            continue;
        }
        if let Some(affected_lightmapped) = exchange(world, entity, false) {
            world.entity_mut(entity).insert(BakedLight { affected_lightmapped, is_silenced: true });
        }
    }
    if ambient && !world.contains_resource::<BakedAmbient>() {
        let mut light = world.resource_mut::<GlobalAmbientLight>();
        let was = core::mem::replace(&mut light.affects_lightmapped_meshes, false);
        world.insert_resource(BakedAmbient(was));
    }
}

/// Gives baked lights back what they had before.
pub fn restore(world: &mut World) {
    restore_some(world, |_| true);
    if let Some(BakedAmbient(was)) = world.remove_resource() {
        world.resource_mut::<GlobalAmbientLight>().affects_lightmapped_meshes = was;
    }
}

/// The same for some of the lights alone.
pub fn restore_some(world: &mut World, is_meant: impl Fn(Entity) -> bool) {
    let marked: Vec<(Entity, BakedLight)> =
        world.query::<(Entity, &BakedLight)>().iter(world).map(|(entity, mark)| (entity, *mark)).collect();
    for (entity, mark) in marked {
        if mark.is_silenced && is_meant(entity) {
            exchange(world, entity, mark.affected_lightmapped);
            // The mark stays: it tells this change of the light from one of the app's.
            world.entity_mut(entity).insert(BakedLight { is_silenced: false, ..mark });
        }
    }
}

/// Sets a light's switch and returns what it was; `None` for what has no such switch or is gone.
fn exchange(world: &mut World, entity: Entity, value: bool) -> Option<bool> {
    let mut entity = world.get_entity_mut(entity).ok()?;
    if let Some(mut light) = entity.get_mut::<PointLight>() {
        return Some(core::mem::replace(&mut light.affects_lightmapped_mesh_diffuse, value));
    }
    if let Some(mut light) = entity.get_mut::<SpotLight>() {
        return Some(core::mem::replace(&mut light.affects_lightmapped_mesh_diffuse, value));
    }
    if let Some(mut light) = entity.get_mut::<DirectionalLight>() {
        return Some(core::mem::replace(&mut light.affects_lightmapped_mesh_diffuse, value));
    }
    // Bevy copies what generates a map's light into that light, which may not be there yet.
    let filtered = entity.get_mut::<EnvironmentMapLight>();
    let filtered = filtered.map(|mut light| core::mem::replace(&mut light.affects_lightmapped_mesh_diffuse, value));
    let generated = entity.get_mut::<GeneratedEnvironmentMapLight>();
    let generated = generated.map(|mut light| core::mem::replace(&mut light.affects_lightmapped_mesh_diffuse, value));
    generated.or(filtered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silenced_lights_remember_what_the_app_had_chosen() {
        let mut world = World::new();
        world.insert_resource(GlobalAmbientLight::default());
        let shining = world.spawn(PointLight::default()).id();
        let apart = world.spawn(SpotLight { affects_lightmapped_mesh_diffuse: false, ..Default::default() }).id();
        let affects = |world: &World| {
            (
                world.get::<PointLight>(shining).unwrap().affects_lightmapped_mesh_diffuse,
                world.get::<SpotLight>(apart).unwrap().affects_lightmapped_mesh_diffuse,
                world.resource::<GlobalAmbientLight>().affects_lightmapped_meshes,
            )
        };
        for _ in 0..2 {
            silence(&mut world, &[shining, apart], true);
            assert_eq!(affects(&world), (false, false, false));
        }
        restore(&mut world);
        assert_eq!(affects(&world), (true, false, true));
    }

    #[test]
    fn both_lights_of_a_map_are_silenced_and_get_their_say_back() {
        let mut world = World::new();
        let maps = (EnvironmentMapLight::default(), GeneratedEnvironmentMapLight::default());
        let camera = world.spawn(maps).id();
        let affects = |world: &World| {
            (
                world.get::<EnvironmentMapLight>(camera).unwrap().affects_lightmapped_mesh_diffuse,
                world.get::<GeneratedEnvironmentMapLight>(camera).unwrap().affects_lightmapped_mesh_diffuse,
            )
        };
        silence(&mut world, &[camera], false);
        assert_eq!(affects(&world), (false, false));
        restore(&mut world);
        assert_eq!(affects(&world), (true, true));
    }

    #[test]
    fn lights_that_are_gone_are_no_trouble() {
        let mut world = World::new();
        let gone = world.spawn(PointLight::default()).id();
        world.despawn(gone);
        silence(&mut world, &[gone], false);
        restore(&mut world);
    }
}
