//! Tests of several baked levels in one app.

use std::collections::HashMap;

use bevy::light::IrradianceVolume;
use bevy::prelude::*;
use bevy_radiosity::plugin::{Baked, BakedLight};
use bevy_radiosity::prelude::*;

use crate::app::*;
use crate::levels::{brightest_of, save_bake};

/// Spawns a floor and a lamp below one entity. All floors and lamps have the same names.
fn spawn_room(app: &mut App, x: f32, candela: f32) -> Entity {
    let (floor, lamp) = spawn_lit_floor(app, 2.0, candela);
    let root = app.world_mut().spawn((Transform::from_xyz(x, 0.0, 0.0), Visibility::default())).id();
    app.world_mut().entity_mut(root).add_children(&[floor, lamp]);
    root
}

/// Returns the largest value on the page of each lit surface, by level, in cd/m2.
fn brightest_by_level(app: &mut App) -> HashMap<Entity, f32> {
    let mut surfaces = app.world_mut().query::<&Baked>();
    let images = app.world().resource::<Assets<Image>>();
    let page = |baked: &Baked| images.get(&baked.image).unwrap().data.as_ref().unwrap();
    surfaces.iter(app.world()).map(|baked| (baked.level, brightest_of(page(baked)))).collect()
}

fn count<F: bevy::ecs::query::QueryFilter>(app: &mut App) -> usize {
    app.world_mut().query_filtered::<(), F>().iter(app.world()).count()
}

#[test]
fn levels_stand_beside_each_other_and_each_goes_with_its_entity() {
    let folders = [100.0, 50.0].map(|candela| save_bake(|app| _ = spawn_room(app, 0.0, candela)));
    let mut app = create_world_app();
    let mut rooms = [Entity::PLACEHOLDER; 2];
    for (index, folder) in folders.iter().enumerate() {
        let room = spawn_room(&mut app, 10.0 * index as f32, 100.0);
        let level = baked_level(&app, folder.path());
        app.world_mut().entity_mut(room).insert(level);
        rooms[index] = room;
    }
    tick_app_until(&mut app, "both levels", |app| count::<With<Baked>>(app) == 2);
    tick_app_times(&mut app, 5);
    let light = brightest_by_level(&mut app);
    let ratio = light[&rooms[1]] / light[&rooms[0]];
    assert!((ratio - 0.5).abs() < 0.05, "the second level was baked with half the light: {ratio}");
    assert_eq!(count::<With<IrradianceVolume>>(&mut app), 2);
    assert_eq!(count::<With<BakedLight>>(&mut app), 2);
    let changed = app.world().resource::<SceneStatus>().changed;
    assert_eq!((changed.surfaces, changed.lights), (0, 0));

    app.world_mut().despawn(rooms[0]);
    tick_app_times(&mut app, 10);
    assert_eq!(brightest_by_level(&mut app), HashMap::from([(rooms[1], light[&rooms[1]])]));
    assert_eq!(count::<With<IrradianceVolume>>(&mut app), 1);
    let lamp = app.world_mut().query::<&PointLight>().single(app.world()).unwrap();
    assert!(!lamp.affects_lightmapped_mesh_diffuse, "its level is still shown");

    app.world_mut().entity_mut(rooms[1]).remove::<BakedLevel>();
    tick_app_times(&mut app, 10);
    assert_eq!(count::<With<Baked>>(&mut app) + count::<With<IrradianceVolume>>(&mut app), 0);
    let lamp = app.world_mut().query::<&PointLight>().single(app.world()).unwrap();
    assert!(lamp.affects_lightmapped_mesh_diffuse);
}

#[test]
fn surfaces_of_equal_names_without_a_common_entity_are_told_apart_by_their_places() {
    let spawn_at = |app: &mut App, x: f32, candela: f32| {
        let (floor, lamp) = spawn_lit_floor(app, 2.0, candela);
        app.world_mut().get_mut::<Transform>(floor).unwrap().translation.x = x;
        app.world_mut().get_mut::<Transform>(lamp).unwrap().translation.x = x;
        floor
    };
    let folders = [(0.0, 100.0), (10.0, 50.0)].map(|(x, candela)| save_bake(|app| _ = spawn_at(app, x, candela)));
    let mut app = create_world_app();
    // The later level meets the surface of the earlier one first.
    let floors = [0.0, 10.0].map(|x| spawn_at(&mut app, x, 100.0));
    let levels = folders.each_ref().map(|folder| spawn_baked_level(&mut app, folder.path()));
    tick_app_until(&mut app, "both levels", |app| count::<With<Baked>>(app) == 2);
    tick_app_times(&mut app, 5);
    assert_eq!(floors.map(|floor| app.world().get::<Baked>(floor).unwrap().level), levels);
}

#[test]
fn a_level_that_has_gone_leaves_its_surfaces_to_another_that_was_baked_with_them() {
    let folders = [100.0, 50.0].map(|candela| save_bake(|app| _ = spawn_room(app, 0.0, candela)));
    let mut app = create_world_app();
    let room = spawn_room(&mut app, 0.0, 100.0);
    // Both levels are above the floor, the first one nearer.
    let outer = app.world_mut().spawn((Transform::default(), Visibility::default())).id();
    app.world_mut().entity_mut(outer).add_child(room);
    for (level, folder) in [room, outer].into_iter().zip(&folders) {
        let baked = baked_level(&app, folder.path());
        app.world_mut().entity_mut(level).insert(baked);
    }
    tick_app_until(&mut app, "the nearer level", |app| brightest_by_level(app).contains_key(&room));
    tick_app_times(&mut app, 20);
    assert_eq!(brightest_by_level(&mut app).into_keys().collect::<Vec<_>>(), [room]);
    app.world_mut().entity_mut(room).remove::<BakedLevel>();
    tick_app_until(&mut app, "the outer level", |app| brightest_by_level(app).contains_key(&outer));
}

#[cfg(feature = "gltf")]
#[test]
fn each_level_is_relit_by_its_own_lamps() {
    use crate::levels::{bake_scene, write_corner};
    use crate::relight::{at_once, page_of, relightable};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("level.gltf");
    let level = write_corner(&file);
    let baked = folder.path().join("baked");
    bake_scene(&level, relightable(Content::Full), &baked);

    let mut app = create_world_app();
    app.insert_resource(at_once());
    let rooms = [0.0, 100.0].map(|x| {
        let room = crate::spawn::spawn_scene(app.world_mut(), &level);
        let shown = baked_level(&app, &baked).with_source(file.clone());
        app.world_mut().entity_mut(room).insert((shown, Transform::from_xyz(x, 0.0, 0.0)));
        room
    });
    let rest = |app: &mut App, updates: [u64; 2]| {
        tick_app_until(app, "light that rests", |app| {
            rooms.iter().zip(updates).all(|(room, before)| {
                let status = app.world().get::<RelightStatus>(*room);
                status.is_some_and(|status| {
                    status.updates > before && status.waiting == 0 && status.behind == 0.0 && !status.is_refining
                })
            })
        });
    };
    tick_app_until(&mut app, "both levels", |app| count::<With<Baked>>(app) == 4);
    rest(&mut app, [0; 2]);
    let below = |app: &mut App, room: Entity| {
        let parts: Vec<Entity> = app.world().get::<Children>(room).unwrap().iter().collect();
        let floor = parts.iter().copied().find(|&part| app.world().get::<Baked>(part).is_some()).unwrap();
        let lamp = parts.into_iter().find(|&part| app.world().get::<PointLight>(part).is_some()).unwrap();
        (floor, lamp)
    };
    let [(near, lamp), (far, _)] = rooms.map(|room| below(&mut app, room));
    let pages = [near, far].map(|floor| page_of(&app, floor));
    assert_eq!(pages[0].1, pages[1].1, "both are the same level");
    let updates = rooms.map(|room| app.world().get::<RelightStatus>(room).unwrap().updates);
    app.world_mut().get_mut::<PointLight>(lamp).unwrap().intensity = 0.0;
    rest(&mut app, updates);
    // Texels that no filter reaches keep their light.
    let page = page_of(&app, near).1;
    let lit = page.chunks(4).filter(|texel| brightest_of(texel) > 1e-4).count();
    assert!(lit < page.len() / 4 / 20, "its only lamp is off, and {lit} texels are lit");
    assert_eq!(page_of(&app, far), pages[1], "the other lamp is on");

    app.world_mut().despawn(rooms[0]);
    tick_app_times(&mut app, 5);
    assert_eq!(page_of(&app, far), pages[1]);
    assert_eq!(count::<With<RelightStatus>>(&mut app), 1);
}
