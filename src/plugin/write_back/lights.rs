//! Baked lights: they do not light lightmapped meshes while the lightmaps are shown.

use std::collections::HashSet;

use bevy::core_pipeline::prepass::DeferredPrepass;
use bevy::light::{
    DirectionalLight, EnvironmentMapLight, GeneratedEnvironmentMapLight, GlobalAmbientLight, PointLight, SpotLight,
};
use bevy::pbr::DefaultOpaqueRendererMethod;
use bevy::prelude::*;
use bevy::reflect::PartialReflect;

use super::entity::Shown;
use crate::plugin::state::{BakedLight, LitLights, RemovedFromLightmaps, SilencedLight};

/// The app's value of `GlobalAmbientLight::affects_lightmapped_meshes`, while the ambient light is baked.
#[derive(Resource, Clone, Copy, Debug)]
struct BakedAmbient(bool);

/// Levels that have marked a light. It tells their mark from one of the app.
#[derive(Component, Default)]
struct MarkOfLevels(HashSet<Entity>);

/// Marks the lights of a level's new lightmaps, and removes its earlier marks. Marks of the app and of other levels stay.
pub fn mark_lights(world: &mut World, level: Entity, lit: LitLights, lights: &[Entity]) {
    let mut outdated = marked_by(world, level);
    outdated.retain(|light| !lights.contains(light));
    remove_marks(world, level, &outdated);
    // Previews of a bake mark its lights again and again.
    let is_new = world.get::<LitLights>(level).copied().unwrap_or_default() != lit;
    if is_new
        && lit.is_direct
        && let Some(camera) = deferred_camera(world)
    {
        warn!(
            "{camera} draws deferred, which lights lightmapped meshes twice, since it ignores flags of lights; bake with \
             `Content::Indirect`"
        );
    }
    add_marks(world, level, lit, lights);
}

/// Removes all marks of a level, which no longer lights anything.
pub fn unmark_lights(world: &mut World, level: Entity) {
    let marked = marked_by(world, level);
    remove_marks(world, level, &marked);
    if let Ok(mut level) = world.get_entity_mut(level) {
        level.remove::<LitLights>();
    }
    apply_lights(world);
}

/// Returns the lights that a level has marked.
fn marked_by(world: &mut World, level: Entity) -> Vec<Entity> {
    let mut marked = world.query::<(Entity, &MarkOfLevels)>();
    marked.iter(world).filter(|(_, mark)| mark.0.contains(&level)).map(|(entity, _)| entity).collect()
}

/// Removes a level's marks of some lights. Those of the app and of other levels stay.
pub fn remove_marks(world: &mut World, level: Entity, lights: &[Entity]) {
    for &light in lights {
        if let Ok(mut entity) = world.get_entity_mut(light)
            && let Some(mut mark) = entity.get_mut::<MarkOfLevels>()
            && mark.0.remove(&level)
            && mark.0.is_empty()
        {
            entity.remove::<(MarkOfLevels, BakedLight)>();
        }
    }
}

/// Marks more lights of a level, and applies all marks at once.
pub fn add_marks(world: &mut World, level: Entity, lit: LitLights, lights: &[Entity]) {
    for &light in lights {
        let Ok(mut entity) = world.get_entity_mut(light) else {
            continue;
        };
        let is_marked = entity.contains::<BakedLight>();
        match entity.get_mut::<MarkOfLevels>() {
            Some(mut mark) => {
                mark.0.insert(level);
                entity.insert_if_new(BakedLight);
            }
            None if !is_marked => _ = entity.insert((BakedLight, MarkOfLevels([level].into()))),
            // A mark of the app.
            None => {}
        }
    }
    if let Ok(mut level) = world.get_entity_mut(level) {
        level.insert(lit);
    }
    apply_lights(world);
}

/// Returns the name of a camera that draws meshes by deferred rendering, which ignores the flags of lights.
fn deferred_camera(world: &mut World) -> Option<String> {
    let deferred = DefaultOpaqueRendererMethod::deferred();
    let is_default = world
        .get_resource::<DefaultOpaqueRendererMethod>()
        .is_some_and(|method| method.reflect_partial_eq(&deferred) == Some(true));
    let mut cameras = world.query_filtered::<(Entity, Option<&Name>), With<DeferredPrepass>>();
    let (camera, name) = cameras.iter(world).next().filter(|_| is_default)?;
    Some(name.map_or_else(|| format!("camera {camera}"), |name| format!("camera '{name}'")))
}

type LightComponentChanged = Or<(Changed<PointLight>, Changed<SpotLight>, Changed<DirectionalLight>)>;

/// Run condition: marks were added or removed since the previous frame, or lights with marks were changed.
pub fn has_marks(
    added: Query<(), Added<BakedLight>>,
    changed: Query<(), (With<SilencedLight>, LightComponentChanged)>,
    mut removed: RemovedComponents<BakedLight>,
) -> bool {
    removed.read().count() > 0 || !added.is_empty() || !changed.is_empty()
}

/// Applies marks that were added or removed, also to components that the app has replaced.
pub fn notice_marks(mut commands: Commands) {
    commands.queue(apply_lights);
}

/// Silences the marked lights while lightmaps with direct light are shown, and restores all others.
pub fn apply_lights(world: &mut World) {
    let mut lit = world.query::<&LitLights>();
    let (is_direct, ambient) = lit.iter(world).fold((false, false), |(is_direct, ambient), lit| {
        (is_direct || lit.is_direct, ambient || lit.is_direct && lit.ambient)
    });
    let mut silent = HashSet::new();
    let is_shown = is_direct && world.resource::<Shown>().enabled;
    if is_shown {
        let mut removed = world.query::<&RemovedFromLightmaps>();
        let removed: HashSet<Entity> = removed.iter(world).flat_map(|removed| removed.0.iter().copied()).collect();
        let mut marked = world.query_filtered::<Entity, With<BakedLight>>();
        silent.extend(marked.iter(world).filter(|light| !removed.contains(light)));
    }
    restore(world, |light| !silent.contains(&light));
    silence(world, &silent);
    set_ambient(world, is_shown && ambient);
}

/// Stops lights from lighting lightmapped meshes a second time. Rectangular lights have no such flag in Bevy 0.19.
fn silence(world: &mut World, lights: &HashSet<Entity>) {
    for &entity in lights {
        let is_silenced = world.get::<SilencedLight>(entity).is_some_and(|mark| mark.is_silenced);
        match flag(world, entity) {
            // The app may have replaced the component of a silenced light.
            Some(affected_lightmapped) if affected_lightmapped || !is_silenced => {
                set_flag(world, entity, false);
                world.entity_mut(entity).insert(SilencedLight { affected_lightmapped, is_silenced: true });
            }
            _ => {}
        }
    }
}

/// Restores the flags of some silenced lights.
fn restore(world: &mut World, is_meant: impl Fn(Entity) -> bool) {
    let silenced: Vec<(Entity, SilencedLight)> =
        world.query::<(Entity, &SilencedLight)>().iter(world).map(|(entity, mark)| (entity, *mark)).collect();
    for (entity, mark) in silenced {
        if mark.is_silenced && is_meant(entity) {
            if flag(world, entity) == Some(false) {
                set_flag(world, entity, mark.affected_lightmapped);
            }
            // The component stays, to tell this change from one by the app.
            world.entity_mut(entity).insert(SilencedLight { is_silenced: false, ..mark });
        }
    }
}

/// Silences or restores Bevy's ambient light.
fn set_ambient(world: &mut World, is_silent: bool) {
    if !is_silent {
        if let Some(BakedAmbient(was)) = world.remove_resource() {
            world.resource_mut::<GlobalAmbientLight>().affects_lightmapped_meshes = was;
        }
    } else if !world.contains_resource::<BakedAmbient>()
        && let Some(mut light) = world.get_resource_mut::<GlobalAmbientLight>()
    {
        let was = core::mem::replace(&mut light.affects_lightmapped_meshes, false);
        world.insert_resource(BakedAmbient(was));
    }
}

/// Returns a light's flag. `None` if the entity has no such flag or is gone.
fn flag(world: &World, entity: Entity) -> Option<bool> {
    let entity = world.get_entity(entity).ok()?;
    let flags = [
        entity.get::<PointLight>().map(|light| light.affects_lightmapped_mesh_diffuse),
        entity.get::<SpotLight>().map(|light| light.affects_lightmapped_mesh_diffuse),
        entity.get::<DirectionalLight>().map(|light| light.affects_lightmapped_mesh_diffuse),
        entity.get::<EnvironmentMapLight>().map(|light| light.affects_lightmapped_mesh_diffuse),
        entity.get::<GeneratedEnvironmentMapLight>().map(|light| light.affects_lightmapped_mesh_diffuse),
    ];
    flags.into_iter().flatten().reduce(|a, b| a || b)
}

/// Sets a light's flag. Bevy copies that of a generated environment map into its map, so both are set.
fn set_flag(world: &mut World, entity: Entity, value: bool) {
    let Ok(mut entity) = world.get_entity_mut(entity) else {
        return;
    };
    if let Some(mut light) = entity.get_mut::<PointLight>() {
        light.affects_lightmapped_mesh_diffuse = value;
    }
    if let Some(mut light) = entity.get_mut::<SpotLight>() {
        light.affects_lightmapped_mesh_diffuse = value;
    }
    if let Some(mut light) = entity.get_mut::<DirectionalLight>() {
        light.affects_lightmapped_mesh_diffuse = value;
    }
    if let Some(mut light) = entity.get_mut::<EnvironmentMapLight>() {
        light.affects_lightmapped_mesh_diffuse = value;
    }
    if let Some(mut light) = entity.get_mut::<GeneratedEnvironmentMapLight>() {
        light.affects_lightmapped_mesh_diffuse = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: LitLights = LitLights { ambient: true, is_direct: true };

    fn world() -> (World, Entity) {
        let mut world = World::new();
        world.insert_resource(GlobalAmbientLight::default());
        world.insert_resource(Shown::default());
        let level = world.spawn_empty().id();
        (world, level)
    }

    #[test]
    fn silenced_lights_remember_the_flag_of_the_app() {
        let (mut world, level) = world();
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
            mark_lights(&mut world, level, ALL, &[shining, apart]);
            assert_eq!(affects(&world), (false, false, false));
        }
        unmark_lights(&mut world, level);
        assert_eq!(affects(&world), (true, false, true));
    }

    #[test]
    fn a_mark_of_the_app_silences_and_its_removal_restores() {
        let (mut world, level) = world();
        let [found, missed] = [(); 2].map(|()| world.spawn(PointLight::default()).id());
        mark_lights(&mut world, level, ALL, &[found]);
        world.entity_mut(missed).insert(BakedLight);
        world.entity_mut(found).remove::<BakedLight>();
        apply_lights(&mut world);
        let affects = |world: &World, light| world.get::<PointLight>(light).unwrap().affects_lightmapped_mesh_diffuse;
        assert_eq!([found, missed].map(|light| affects(&world, light)), [true, false]);
        // A new bake removes its own marks alone.
        mark_lights(&mut world, level, ALL, &[]);
        assert_eq!([found, missed].map(|light| affects(&world, light)), [true, false]);
    }

    #[test]
    fn a_light_with_a_replaced_component_stays_silent() {
        let (mut world, level) = world();
        let lamp = world.spawn(PointLight::default()).id();
        mark_lights(&mut world, level, ALL, &[lamp]);
        world.entity_mut(lamp).insert(PointLight { intensity: 7.0, ..Default::default() });
        apply_lights(&mut world);
        let affects = |world: &World| world.get::<PointLight>(lamp).unwrap().affects_lightmapped_mesh_diffuse;
        assert!(!affects(&world));
        unmark_lights(&mut world, level);
        assert!(affects(&world));
    }

    #[test]
    fn both_lights_of_an_environment_map_are_silenced_and_restored() {
        let (mut world, level) = world();
        let maps = (EnvironmentMapLight::default(), GeneratedEnvironmentMapLight::default());
        let camera = world.spawn(maps).id();
        let affects = |world: &World| {
            (
                world.get::<EnvironmentMapLight>(camera).unwrap().affects_lightmapped_mesh_diffuse,
                world.get::<GeneratedEnvironmentMapLight>(camera).unwrap().affects_lightmapped_mesh_diffuse,
            )
        };
        mark_lights(&mut world, level, ALL, &[camera]);
        assert_eq!(affects(&world), (false, false));
        unmark_lights(&mut world, level);
        assert_eq!(affects(&world), (true, true));
    }

    #[test]
    fn a_light_of_two_levels_shines_again_once_both_are_gone() {
        let (mut world, level) = world();
        let other = world.spawn_empty().id();
        let sun = world.spawn(DirectionalLight::default()).id();
        let affects = |world: &World| world.get::<DirectionalLight>(sun).unwrap().affects_lightmapped_mesh_diffuse;
        for level in [level, other] {
            mark_lights(&mut world, level, ALL, &[sun]);
        }
        unmark_lights(&mut world, level);
        assert!(!affects(&world) && world.get::<BakedLight>(sun).is_some());
        unmark_lights(&mut world, other);
        assert!(affects(&world) && world.get::<BakedLight>(sun).is_none());
    }

    #[test]
    fn despawned_lights_are_passed_over() {
        let (mut world, level) = world();
        let gone = world.spawn(PointLight::default()).id();
        world.despawn(gone);
        mark_lights(&mut world, level, ALL, &[gone]);
        unmark_lights(&mut world, level);
    }
}
