//! Tests of materials that read UV_1, which lightmaps reserve.

use bevy::mesh::{UvChannel, VertexAttributeValues};
use bevy::pbr::Lightmap;
use bevy::prelude::*;
use bevy_radiosity::prelude::*;

use crate::app::*;

/// Spawns a square 1 m above the floor. Its UV_1 are its UV_0 times `tiles`.
fn spawn_square(app: &mut App, x: f32, tiles: f32, material: StandardMaterial) -> Entity {
    let mut mesh = Mesh::from(Plane3d::default().mesh().size(1.0, 1.0));
    let tiled: Vec<[f32; 2]> = pairs(&mesh, true).iter().map(|uv| uv.map(|value| value * tiles)).collect();
    mesh.insert_attribute(Mesh::ATTRIBUTE_UV_1, tiled);
    let mesh = app.world_mut().resource_mut::<Assets<Mesh>>().add(mesh);
    let material = app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(material);
    app.world_mut().spawn((Mesh3d(mesh), MeshMaterial3d(material), Transform::from_xyz(x, 1.0, 0.0))).id()
}

fn pairs(mesh: &Mesh, first: bool) -> Vec<[f32; 2]> {
    let attribute = if first { Mesh::ATTRIBUTE_UV_0 } else { Mesh::ATTRIBUTE_UV_1 };
    match mesh.attribute(attribute) {
        Some(VertexAttributeValues::Float32x2(values)) => values.clone(),
        _ => panic!("the mesh has no such coordinates"),
    }
}

fn add_picture(app: &mut App) -> Handle<Image> {
    app.world_mut().resource_mut::<Assets<Image>>().add(Image::default())
}

/// Returns the current mesh and material of an entity.
fn shown(app: &App, entity: Entity) -> (&Mesh, &StandardMaterial) {
    let world = app.world();
    let mesh = world.resource::<Assets<Mesh>>().get(&world.get::<Mesh3d>(entity).unwrap().0).unwrap();
    let material = &world.get::<MeshMaterial3d<StandardMaterial>>(entity).unwrap().0;
    (mesh, world.resource::<Assets<StandardMaterial>>().get(material).unwrap())
}

#[test]
fn textures_that_read_uv1_are_drawn_as_before_or_the_surface_shows_no_lightmap() {
    let mut app = create_world_app();
    spawn_lit_floor(&mut app, 6.0, 100.0);
    let image = add_picture(&mut app);
    let reads_uv1 =
        StandardMaterial { base_color_texture: Some(image.clone()), base_color_channel: UvChannel::Uv1, ..default() };
    let reads_both = StandardMaterial { emissive_texture: Some(image.clone()), ..reads_uv1.clone() };
    let occluded = StandardMaterial {
        base_color_texture: Some(image.clone()),
        occlusion_texture: Some(image.clone()),
        occlusion_channel: UvChannel::Uv1,
        ..default()
    };
    let tiled = spawn_square(&mut app, -2.0, 3.0, reads_uv1.clone());
    let fitting = spawn_square(&mut app, -0.7, 1.0, reads_uv1.clone());
    let torn = spawn_square(&mut app, 0.7, 3.0, reads_both);
    let shaded = spawn_square(&mut app, 2.0, 3.0, occluded);
    tick_app_times(&mut app, 2);
    let own = pairs(shown(&app, tiled).0, false);
    bake(&mut app, quick_bake()).unwrap();

    let has_light = |app: &App, entity: Entity| app.world().get::<Lightmap>(entity).is_some();
    // Tiled coordinates move to UV_0, which is free.
    let (mesh, material) = shown(&app, tiled);
    let mut moved = pairs(mesh, true);
    moved.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let mut expected = own;
    expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(moved, expected);
    assert!(material.base_color_channel == UvChannel::Uv0 && has_light(&app, tiled));
    assert!(pairs(mesh, false).as_flattened().iter().all(|value| (0.0..=1.0).contains(value)));
    // Coordinates that suit the lightmap stay.
    let (mesh, material) = shown(&app, fitting);
    assert!(material.base_color_channel == UvChannel::Uv1 && has_light(&app, fitting));
    assert_eq!(pairs(mesh, false), pairs(mesh, true), "UV_1 were the same as UV_0");
    // A material that reads both sets stays unchanged.
    let (mesh, material) = shown(&app, torn);
    assert!(material.base_color_channel == UvChannel::Uv1 && !has_light(&app, torn));
    assert!(pairs(mesh, false).as_flattened().contains(&3.0));
    // The occlusion texture is dropped, since baked light includes occlusion.
    assert!(shown(&app, shaded).1.occlusion_texture.is_none() && has_light(&app, shaded));

    // A later material that reads both sets leaves no coordinates for the lightmap.
    let both = StandardMaterial { emissive_texture: Some(image), ..reads_uv1 };
    let both = app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(both);
    app.world_mut().get_mut::<MeshMaterial3d<StandardMaterial>>(tiled).unwrap().0 = both.clone();
    tick_app_times(&mut app, 2);
    assert!(!has_light(&app, tiled) && pairs(shown(&app, tiled).0, false).as_flattened().contains(&3.0));
    assert_eq!(app.world().get::<MeshMaterial3d<StandardMaterial>>(tiled).unwrap().0, both);

    app.world_mut().trigger(RemoveLightmaps);
    tick_app_times(&mut app, 2);
    assert!(shown(&app, shaded).1.occlusion_texture.is_some());
    assert!(pairs(shown(&app, shaded).0, false).as_flattened().contains(&3.0));
}
