//! Tests of partition cells that follow the world.

use bevy::prelude::*;
use bevy_radiosity::geometry::Aabb;
use bevy_radiosity::partition::{Factor, PartitionError, PartitionKind, PartitionSettings};
use bevy_radiosity::plugin::{CutScene, PartitionCells};
use bevy_radiosity::prelude::*;

use crate::app::*;

fn want(app: &mut App, kind: PartitionKind, count: u32, factor: Factor) {
    let settings = PartitionSettings { kind, count, factor, ..PartitionSettings::default() };
    app.world_mut().resource_mut::<PartitionCells>().wanted = Some(settings);
}

/// Runs frames until the cells are as expected.
fn tick_app_until_cut(app: &mut App, what: &str, is_right: impl Fn(&CutScene) -> bool) {
    tick_app_until(app, what, |app| {
        let cut = &app.world().resource::<PartitionCells>().cut;
        cut.as_ref().and_then(|cut| cut.as_ref().ok()).is_some_and(&is_right)
    });
}

/// Returns the extent of all cells along +x and +y.
fn reach(cut: &CutScene) -> [f32; 2] {
    let bounds = cut.cells.iter().copied().fold(Aabb::EMPTY, Aabb::union);
    [bounds.max.x, bounds.max.y]
}

#[test]
fn cells_follow_meshes_and_places_and_are_of_what_a_bake_would_take() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 4.0, 100.0);
    let mesh = app.world().get::<Mesh3d>(floor).unwrap().0.clone();
    let cube = app.world_mut().resource_mut::<Assets<Mesh>>().add(Cuboid::from_length(1.0));
    let material = spawn_material(&mut app, Color::WHITE);
    let cubes = [0.0, 1.0].map(|x| {
        let place = Transform::from_xyz(x, 0.5, 0.0);
        app.world_mut().spawn((Mesh3d(cube.clone()), MeshMaterial3d(material.clone()), place)).id()
    });
    app.world_mut().entity_mut(cubes[0]).insert(BakeRole::Lightmapped);
    tick_app_times(&mut app, 5);
    assert!(app.world().resource::<PartitionCells>().last_read.is_none(), "nothing is read unless cells are wanted");

    want(&mut app, PartitionKind::Uniform, 6, Factor::Area);
    tick_app_until_cut(&mut app, "six cells", |cut| cut.cells.len() == 6 && reach(cut) == [2.0, 1.0]);
    let wider = Plane3d::default().mesh().size(8.0, 8.0).build();
    app.world_mut().resource_mut::<Assets<Mesh>>().insert(mesh.id(), wider).unwrap();
    tick_app_until_cut(&mut app, "the mesh that took the floor's place", |cut| reach(cut) == [4.0, 1.0]);
    app.world_mut().get_mut::<Mesh3d>(floor).unwrap().0 = cube.clone();
    tick_app_until_cut(&mut app, "another mesh", |cut| reach(cut) == [1.5, 1.0]);
    for x in [3.0, 5.0] {
        app.world_mut().get_mut::<Transform>(cubes[0]).unwrap().translation.x = x;
        tick_app_until_cut(&mut app, "what stays static wherever it is", |cut| reach(cut) == [x + 0.5, 1.0]);
    }
    for cube in cubes {
        app.world_mut().get_mut::<Transform>(cube).unwrap().translation.y = 9.0;
    }
    tick_app_until_cut(&mut app, "what begins to move to be left out", |cut| reach(cut) == [5.5, 9.5]);
    app.world_mut().entity_mut(cubes[0]).insert(BakeRole::Excluded);
    tick_app_until_cut(&mut app, "what is excluded to be left out", |cut| reach(cut) == [0.5, 0.5]);

    app.world_mut().resource_mut::<PartitionCells>().wanted = None;
    tick_app(&mut app);
    assert!(app.world().resource::<PartitionCells>().cut.is_none());
}

#[test]
fn cells_are_of_the_kind_and_count_that_is_wanted_and_what_cannot_be_is_said() {
    let mut app = create_world_app();
    spawn_lit_floor(&mut app, 4.0, 100.0);
    want(&mut app, PartitionKind::Balanced, 4, Factor::Area);
    tick_app_until_cut(&mut app, "four cells", |cut| cut.cells.len() == 4);
    want(&mut app, PartitionKind::Uniform, 6, Factor::Area);
    tick_app_until_cut(&mut app, "six cells", |cut| cut.cells.len() == 6);
    let refused = PartitionError::NoPowerOfTwo { count: 5, below: 4, above: 8 };
    for (count, factor, error) in [(5, Factor::Area, refused), (4, Factor::Power, PartitionError::NoPower)] {
        want(&mut app, PartitionKind::Balanced, count, factor);
        tick_app_until(&mut app, "a refusal", |app| {
            app.world().resource::<PartitionCells>().cut == Some(Err(error.clone()))
        });
    }
}

#[test]
fn sigma_is_of_the_factor_that_is_wanted_and_follows_materials() {
    let mut app = create_world_app();
    let plane = app.world_mut().resource_mut::<Assets<Mesh>>().add(Plane3d::default().mesh().size(2.0, 2.0));
    let materials = [-1.0, 1.0].map(|x| {
        let emissive = if x < 0.0 { LinearRgba::WHITE } else { LinearRgba::BLACK };
        let material = StandardMaterial { emissive, ..default() };
        let material = app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(material);
        app.world_mut().spawn((
            Mesh3d(plane.clone()),
            MeshMaterial3d(material.clone()),
            Transform::from_xyz(x, 0.0, 0.0),
        ));
        material
    });
    want(&mut app, PartitionKind::Uniform, 2, Factor::Area);
    tick_app_until_cut(&mut app, "equal areas", |cut| cut.sigma < 1e-6);
    want(&mut app, PartitionKind::Uniform, 2, Factor::Power);
    tick_app_until_cut(&mut app, "all power in one of two cells", |cut| (cut.sigma - 1.0).abs() < 1e-6);
    app.world_mut().resource_mut::<Assets<StandardMaterial>>().get_mut(&materials[1]).unwrap().emissive =
        LinearRgba::WHITE;
    tick_app_until_cut(&mut app, "equal power", |cut| cut.sigma < 1e-6);
}

#[test]
fn the_role_of_a_group_holds_for_its_meshes_and_cells_follow_it() {
    let mut app = create_world_app();
    spawn_lit_floor(&mut app, 4.0, 100.0);
    let cube = app.world_mut().resource_mut::<Assets<Mesh>>().add(Cuboid::from_length(1.0));
    let material = spawn_material(&mut app, Color::WHITE);
    let group = app.world_mut().spawn((Transform::default(), Visibility::default())).id();
    let [near, _] = [3.0, 5.0].map(|x| {
        let drawn = (Mesh3d(cube.clone()), MeshMaterial3d(material.clone()));
        app.world_mut().spawn((drawn, Transform::from_xyz(x, 0.5, 0.0), ChildOf(group))).id()
    });
    want(&mut app, PartitionKind::Uniform, 6, Factor::Area);
    tick_app_until_cut(&mut app, "both cubes", |cut| reach(cut) == [5.5, 1.0]);
    app.world_mut().entity_mut(group).insert(BakeRole::Excluded);
    tick_app_until_cut(&mut app, "the floor alone", |cut| reach(cut)[0] == 2.0);
    app.world_mut().entity_mut(near).insert(BakeRole::Occluder);
    tick_app_until_cut(&mut app, "the cube with its own role", |cut| reach(cut) == [3.5, 1.0]);
    app.world_mut().entity_mut(group).remove::<BakeRole>();
    tick_app_until_cut(&mut app, "both cubes again", |cut| reach(cut) == [5.5, 1.0]);
}
