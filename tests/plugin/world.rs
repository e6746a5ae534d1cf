//! Tests of reading the world, baking it and writing back, on the level of the ECS.

use std::time::Duration;

use bevy::asset::RenderAssetUsages;
use bevy::light::{EnvironmentMapLight, Skybox};
use bevy::pbr::Lightmap;
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, Face, TextureDimension, TextureFormat};
use bevy_radiosity::plugin::WorldScene;
use bevy_radiosity::prelude::*;
use bevy_radiosity::radiosity::{Method, SolverSettings};
use bevy_radiosity::scene::{LightKind, Role, Sides, Sky};

use crate::app::*;

/// Returns the scene that a bake would read.
pub fn read_scene(app: &mut App) -> WorldScene {
    bevy_radiosity::plugin::read_scene(app.world_mut())
}

fn role_of(scene: &WorldScene, entity: Entity) -> Option<Role> {
    let (key, _) = scene.surfaces.iter().find(|(_, (owner, _))| *owner == entity)?;
    scene.scene.surfaces.iter().find(|surface| surface.key == *key).map(|surface| surface.role)
}

#[test]
fn plain_entities_are_static_and_wishes_come_from_the_nearest_ancestor() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 2.0, 1.0);
    let mesh = app.world().get::<Mesh3d>(floor).unwrap().clone();
    let material = app.world().get::<MeshMaterial3d<StandardMaterial>>(floor).unwrap().clone();
    let mut child_of = |parent: Entity, extra: fn(&mut EntityWorldMut)| {
        let mut child = app.world_mut().spawn((mesh.clone(), material.clone(), ChildOf(parent)));
        extra(&mut child);
        child.id()
    };
    let gone = child_of(floor, |entity| {
        entity.insert(BakeRole::Excluded);
    });
    let below_gone = child_of(gone, |_| {});
    let again_static = child_of(gone, |entity| {
        entity.insert(BakeRole::Lightmapped);
    });
    let clutter = child_of(floor, |entity| {
        entity.insert((BakeRole::Occluder, BakeResolution(0.5)));
    });
    tick_app_times(&mut app, 2);
    let scene = read_scene(&mut app);
    assert_eq!(role_of(&scene, floor), Some(Role::Static));
    assert_eq!(role_of(&scene, gone), None);
    assert_eq!(role_of(&scene, below_gone), None);
    assert_eq!(role_of(&scene, again_static), Some(Role::Static));
    assert_eq!(role_of(&scene, clutter), Some(Role::Occluder));
    assert_eq!(scene.scene.meshes.len(), 1, "instances share their mesh");
}

#[test]
fn unlit_entities_let_light_pass_unless_they_are_told_to_block_it() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 2.0, 1.0);
    let mesh = app.world().get::<Mesh3d>(floor).unwrap().clone();
    let unlit = StandardMaterial { unlit: true, emissive: LinearRgba::WHITE, ..default() };
    let material = MeshMaterial3d(app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(unlit));
    let dome = app.world_mut().spawn((Name::new("dome"), mesh.clone(), material.clone())).id();
    let wall = app.world_mut().spawn((mesh, material, BakeRole::Occluder)).id();
    tick_app_times(&mut app, 2);
    let scene = read_scene(&mut app);
    assert_eq!((role_of(&scene, dome), role_of(&scene, wall)), (None, Some(Role::Occluder)));
    assert!(scene.scene.materials.iter().all(|material| !material.is_emissive()));
    let is_said = |warning: &String| warning.contains("of 'dome' is unlit") && warning.contains("radiosity_role");
    assert_eq!(scene.warnings.iter().filter(|warning| is_said(warning)).count(), 1, "{:?}", scene.warnings);
}

#[test]
fn lights_are_read_in_bevys_units_and_ambient_light_only_when_asked() {
    let mut app = create_world_app();
    spawn_lit_floor(&mut app, 2.0, 100.0);
    app.world_mut().spawn((DirectionalLight { illuminance: 5000.0, ..default() }, Visibility::Hidden));
    app.insert_resource(GlobalAmbientLight { brightness: 80.0, ..default() });
    tick_app_times(&mut app, 2);
    let scene = read_scene(&mut app).scene;
    assert_eq!(scene.lights.len(), 1, "hidden lights are off");
    let LightKind::Point { intensity, .. } = scene.lights[0].kind else {
        panic!("not a point light");
    };
    assert!((intensity.x - 100.0).abs() < 1e-3);
    assert_eq!(scene.sky, Sky::Dark);
    app.world_mut().resource_mut::<SceneSettings>().ambient_is_sky = true;
    assert_eq!(read_scene(&mut app).scene.sky, Sky::Uniform(Vec3::splat(80.0)));
}

#[test]
fn a_skybox_is_the_sky_in_its_own_units_unless_that_is_switched_off_or_ambient_light_is_asked_for() {
    let mut app = create_world_app();
    spawn_lit_floor(&mut app, 2.0, 100.0);
    let gray = Image::new(
        Extent3d { width: 1, height: 1, depth_or_array_layers: 6 },
        TextureDimension::D2,
        [51, 51, 51, 255].repeat(6),
        TextureFormat::Rgba8Unorm,
        RenderAssetUsages::default(),
    );
    let image = app.world_mut().resource_mut::<Assets<Image>>().add(gray);
    let skybox = Skybox { image: Some(image.clone()), brightness: 1000.0, ..default() };
    let camera = app.world_mut().spawn((Name::new("eye"), Camera3d::default(), skybox.clone())).id();
    let of_map = EnvironmentMapLight { intensity: 1000.0, ..default() };
    app.world_mut().entity_mut(camera).insert(of_map);
    tick_app_times(&mut app, 2);
    let scene = read_scene(&mut app);
    let seen = scene.scene.sky.radiance(Vec3::new(0.6, 0.0, 0.8));
    assert!((seen - Vec3::splat(200.0)).length() < 1e-2, "a fifth of the brightness, not {seen}");
    assert!(scene.lights.contains(&camera), "the camera's own light from the surroundings is in the bake");

    app.world_mut().resource_mut::<SceneSettings>().skybox_is_sky = false;
    let scene = read_scene(&mut app);
    assert!(scene.scene.sky == Sky::Dark && !scene.lights.contains(&camera));
    app.world_mut().resource_mut::<SceneSettings>().skybox_is_sky = true;
    app.world_mut().resource_mut::<SceneSettings>().ambient_is_sky = true;
    assert!(matches!(read_scene(&mut app).scene.sky, Sky::Uniform(_)));

    app.world_mut().resource_mut::<SceneSettings>().ambient_is_sky = false;
    let brighter = Skybox { brightness: 2000.0, ..skybox };
    let second = app.world_mut().spawn((Camera3d::default(), Camera { order: 1, ..default() }, brighter)).id();
    let scene = read_scene(&mut app);
    let warning = "cameras have different skyboxes: that of the camera with the lowest order is the sky of all";
    assert_eq!(scene.warnings, [warning]);
    assert!((scene.scene.sky.radiance(Vec3::X) - Vec3::splat(200.0)).length() < 1e-2);
    app.world_mut().despawn(second);

    app.world_mut().resource_mut::<Assets<Image>>().get_mut(&image).unwrap().data = None;
    tick_app_times(&mut app, 2);
    let scene = read_scene(&mut app);
    assert_eq!(scene.scene.sky, Sky::Dark);
    let [warning] = &scene.warnings[..] else { panic!("{:?}", scene.warnings) };
    let (start, end) = ("skybox of 'eye' cannot be read (", "): the sky is dark");
    assert!(warning.starts_with(start) && warning.ends_with(end) && warning.contains("MAIN_WORLD"), "{warning}");
}

#[test]
fn what_moves_after_it_was_placed_is_a_mover() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 2.0, 1.0);
    let mesh = app.world().get::<Mesh3d>(floor).unwrap().clone();
    let material = app.world().get::<MeshMaterial3d<StandardMaterial>>(floor).unwrap().clone();
    let walker = app.world_mut().spawn((mesh, material, Transform::default())).id();
    tick_app(&mut app);
    app.world_mut().get_mut::<Transform>(walker).unwrap().translation.y = 1.0;
    tick_app_times(&mut app, 6);
    assert_eq!(role_of(&read_scene(&mut app), walker), Some(Role::Static), "placing is not moving");
    app.world_mut().get_mut::<Transform>(walker).unwrap().translation.y = 2.0;
    tick_app_times(&mut app, 2);
    let scene = read_scene(&mut app);
    assert_eq!(role_of(&scene, walker), Some(Role::Mover));
    assert!(scene.warnings.iter().any(|warning| warning.contains("BakeRole::Lightmapped")), "{:?}", scene.warnings);
    app.world_mut().entity_mut(walker).insert(BakeRole::Lightmapped);
    assert_eq!(role_of(&read_scene(&mut app), walker), Some(Role::Static));
}

#[test]
fn meshes_that_left_the_cpu_are_reported_by_name() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 2.0, 1.0);
    let mut gone = Plane3d::default().mesh().build();
    gone.take_gpu_data().unwrap();
    let gone = app.world_mut().resource_mut::<Assets<Mesh>>().add(gone);
    app.world_mut().get_mut::<Mesh3d>(floor).unwrap().0 = gone;
    tick_app(&mut app);
    let warnings = read_scene(&mut app).warnings;
    assert!(warnings.iter().any(|text| text.contains("'floor'") && text.contains("MAIN_WORLD")), "{warnings:?}");
}

#[test]
fn pictures_that_left_the_cpu_are_reported_by_field_and_entity_with_the_remedy() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 2.0, 100.0);
    let gone = Image { data: None, ..default() };
    let gone = app.world_mut().resource_mut::<Assets<Image>>().add(gone);
    let textured = StandardMaterial { base_color_texture: Some(gone), ..default() };
    let textured = app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(textured);
    app.world_mut().entity_mut(floor).insert(MeshMaterial3d(textured));
    #[derive(Resource, Default)]
    struct Warnings(Vec<String>);
    app.init_resource::<Warnings>().add_observer(|done: On<BakeFinished>, mut warnings: ResMut<Warnings>| {
        warnings.0.clone_from(&done.report.warnings)
    });
    bake(&mut app, quick_bake()).unwrap();
    let warnings = &app.world().resource::<Warnings>().0;
    let is_of_floor = |text: &&String| text.contains("base_color_texture of 'floor'") && text.contains("MAIN_WORLD");
    assert_eq!(warnings.iter().filter(is_of_floor).count(), 1, "{warnings:?}");
    assert!(warnings.iter().all(|text| !text.contains("AssetId")), "{warnings:?}");
}

#[test]
fn a_material_whose_picture_never_came_is_baked_with_its_factor_and_a_warning() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 2.0, 100.0);
    let missing = app.world().resource::<Assets<Image>>().reserve_handle();
    let material = spawn_material(&mut app, Color::linear_rgb(0.25, 0.25, 0.25));
    app.world_mut().resource_mut::<Assets<StandardMaterial>>().get_mut(&material).unwrap().base_color_texture =
        Some(missing);
    app.world_mut().entity_mut(floor).insert(MeshMaterial3d(material));
    tick_app(&mut app);
    let warnings = read_scene(&mut app).warnings;
    assert!(warnings.iter().any(|text| text.contains("its factor alone is used")), "{warnings:?}");
    bake(&mut app, quick_bake()).unwrap();
    assert!(app.world().get::<Baked>(floor).is_some());
}

#[test]
fn a_bake_that_is_triggered_before_the_first_frame_sees_what_was_spawned() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 2.0, 1000.0);
    bake(&mut app, quick_bake()).unwrap();
    assert!(app.world().get::<Baked>(floor).is_some());
}

#[test]
fn a_bake_lights_the_floor_and_removing_it_leaves_no_trace() {
    let mut app = create_world_app();
    let (floor, lamp) = spawn_lit_floor(&mut app, 2.0, 100.0);
    tick_app_times(&mut app, 2);
    let original = app.world().get::<Mesh3d>(floor).unwrap().0.clone();
    bake(&mut app, quick_bake()).unwrap();

    let shown = app.world().get::<Mesh3d>(floor).unwrap().0.clone();
    assert_ne!(shown, original);
    let mesh = app.world().resource::<Assets<Mesh>>().get(&shown).unwrap();
    assert!(mesh.contains_attribute(Mesh::ATTRIBUTE_UV_1));
    assert!(app.world().get::<Lightmap>(floor).is_some());
    let affects = |app: &App| app.world().get::<PointLight>(lamp).unwrap().affects_lightmapped_mesh_diffuse;
    assert!(!affects(&app), "the lamp's light is in the lightmap");

    app.world_mut().resource_mut::<Lightmaps>().enabled = false;
    tick_app_times(&mut app, 5);
    assert!(app.world().get::<Lightmap>(floor).is_none() && affects(&app));
    app.world_mut().resource_mut::<Lightmaps>().enabled = true;
    tick_app_times(&mut app, 5);
    assert!(app.world().get::<Lightmap>(floor).is_some() && !affects(&app));

    app.world_mut().trigger(RemoveLightmaps);
    tick_app_times(&mut app, 2);
    assert_eq!(app.world().get::<Mesh3d>(floor).unwrap().0, original);
    assert!(app.world().get::<Lightmap>(floor).is_none() && app.world().get::<Baked>(floor).is_none());
    assert!(affects(&app));
}

#[test]
fn a_sheet_is_split_for_its_two_sides_and_becomes_whole_again() {
    let mut app = create_world_app();
    spawn_lit_floor(&mut app, 4.0, 100.0);
    let mesh = app.world_mut().resource_mut::<Assets<Mesh>>().add(Plane3d::default().mesh().size(1.0, 1.0));
    let cloth = |base_color| StandardMaterial { base_color, double_sided: true, cull_mode: None, ..default() };
    let mut add_cloth = |color| app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(cloth(color));
    let (linen, silk) = (add_cloth(Color::WHITE), add_cloth(Color::BLACK));
    let mirrored = Vec3::new(-1.0, 1.0, 1.0);
    let sheets = [(-1.5, Vec3::ONE), (0.0, Vec3::ONE), (1.5, mirrored)].map(|(x, scale)| {
        let place = Transform::from_xyz(x, 1.0, 0.0).with_scale(scale);
        app.world_mut().spawn((Mesh3d(mesh.clone()), MeshMaterial3d(linen.clone()), place)).id()
    });
    tick_app_times(&mut app, 2);
    let count = |app: &App| app.world().resource::<Assets<StandardMaterial>>().len();
    let before = count(&app);
    bake(&mut app, quick_bake()).unwrap();

    let shown = |app: &App, sheet: Entity| {
        let handle = app.world().get::<MeshMaterial3d<StandardMaterial>>(sheet).unwrap().0.clone();
        let material = app.world().resource::<Assets<StandardMaterial>>().get(&handle).unwrap();
        (handle.id(), material.cull_mode, material.double_sided, material.base_color)
    };
    for (sheet, culled) in sheets.into_iter().zip([Face::Back, Face::Back, Face::Front]) {
        let mesh = &app.world().get::<Mesh3d>(sheet).unwrap().0;
        let mesh = app.world().resource::<Assets<Mesh>>().get(mesh).unwrap();
        assert_eq!(mesh.indices().unwrap().len(), 2 * 2 * 3, "two triangles, seen from two sides");
        let (_, cull_mode, double_sided, _) = shown(&app, sheet);
        assert_eq!((cull_mode, double_sided), (Some(culled), false));
    }
    assert_eq!(shown(&app, sheets[0]).0, shown(&app, sheets[1]).0, "they had the same material");
    assert_eq!(count(&app), before + 2);
    assert!(read_scene(&mut app).scene.surfaces.iter().filter(|surface| surface.sides == Sides::Both).count() == 3);

    app.world_mut().resource_mut::<Assets<StandardMaterial>>().get_mut(&linen).unwrap().base_color =
        Color::srgb(1.0, 0.0, 0.0);
    app.world_mut().get_mut::<MeshMaterial3d<StandardMaterial>>(sheets[1]).unwrap().0 = silk.clone();
    tick_app_times(&mut app, 2);
    let of_linen = shown(&app, sheets[2]);
    assert_eq!((of_linen.1, of_linen.3), (Some(Face::Front), Color::srgb(1.0, 0.0, 0.0)));
    let of_silk = shown(&app, sheets[1]);
    assert_eq!((of_silk.1, of_silk.3), (Some(Face::Back), Color::BLACK));

    app.world_mut().trigger(RemoveLightmaps);
    tick_app_times(&mut app, 2);
    for (sheet, material) in sheets.into_iter().zip([&linen, &silk, &linen]) {
        assert_eq!(app.world().get::<Mesh3d>(sheet).unwrap().0, mesh);
        assert_eq!(shown(&app, sheet).0, material.id());
    }
    assert_eq!(count(&app), before);
}

#[test]
fn changes_are_counted_and_our_own_are_not() {
    let mut app = create_world_app();
    let (floor, lamp) = spawn_lit_floor(&mut app, 2.0, 100.0);
    tick_app_times(&mut app, 2);
    bake(&mut app, quick_bake()).unwrap();
    tick_app_times(&mut app, 3);
    let status = app.world().resource::<SceneStatus>().clone();
    assert!(status.changed.is_zero(), "{:?}", status.changed);
    assert_eq!(status.last_read.as_ref().unwrap().rebuilt.meshes, 1);

    app.world_mut().get_mut::<PointLight>(lamp).unwrap().intensity *= 2.0;
    let material = app.world().get::<MeshMaterial3d<StandardMaterial>>(floor).unwrap().0.clone();
    app.world_mut().resource_mut::<Assets<StandardMaterial>>().get_mut(&material).unwrap().base_color = Color::WHITE;
    tick_app_times(&mut app, 2);
    let changed = app.world().resource::<SceneStatus>().changed;
    assert_eq!((changed.lights, changed.materials, changed.meshes), (1, 1, 0));

    bake(&mut app, quick_bake()).unwrap();
    let read = app.world().resource::<SceneStatus>().last_read.clone().unwrap();
    assert_eq!(read.rebuilt.meshes, 0, "an unchanged mesh is not read twice");
}

#[test]
fn an_empty_world_and_a_cancelled_bake_fail_with_a_sentence() {
    let mut app = create_world_app();
    let failure = bake(&mut app, quick_bake()).unwrap_err();
    assert!(failure.contains("no surface to bake"), "{failure}");

    spawn_lit_floor(&mut app, 20.0, 100.0);
    tick_app_times(&mut app, 2);
    app.world_mut().trigger(Bake { settings: fine_settings(), ..quick_bake() });
    tick_app_until(&mut app, "the solver", |app| app.world().resource::<BakeProgress>().fraction > 0.0);
    app.world_mut().trigger(CancelBake);
    tick_app_until(&mut app, "the end", |app| !app.world().resource::<BakeProgress>().is_baking());
    let ended = app.world().resource::<Ended>().0.clone();
    assert!(ended.unwrap().unwrap_err().contains("cancelled"));
}

/// Returns settings of a bake that takes minutes.
fn fine_settings() -> bevy_radiosity::bake::BakeSettings {
    let mut settings = quick_bake().settings;
    settings.layout.texels_per_meter = 16.0;
    settings.solver.error = 0.001;
    settings
}

#[test]
fn previews_are_shown_while_the_bake_goes_on_and_stay_when_it_is_cancelled() {
    let mut app = create_world_app();
    let (floor, lamp) = spawn_lit_floor(&mut app, 4.0, 100.0);
    spawn_wall(&mut app);
    tick_app_times(&mut app, 2);
    let mut settings = quick_bake().settings;
    settings.solver.error = 1e-5;
    app.world_mut().trigger(Bake { settings, preview: true, ..quick_bake() });
    tick_app_until(&mut app, "a preview", |app| app.world().get::<Lightmap>(floor).is_some());
    assert!(app.world().resource::<BakeProgress>().is_baking());
    assert!(!app.world().get::<PointLight>(lamp).unwrap().affects_lightmapped_mesh_diffuse);
    let page = app.world().get::<Lightmap>(floor).unwrap().image.clone();
    let texels = |app: &App| app.world().resource::<Assets<Image>>().get(&page).unwrap().data.clone().unwrap();
    let first = texels(&app);
    assert!(first.iter().any(|byte| *byte != 0));
    tick_app_until(&mut app, "a better one in its place", |app| texels(app) != first);
    assert!(app.world().resource::<BakeProgress>().is_baking());
    app.world_mut().trigger(CancelBake);
    tick_app_until(&mut app, "the end", |app| !app.world().resource::<BakeProgress>().is_baking());
    tick_app_times(&mut app, 5);
    assert_eq!(app.world().get::<Lightmap>(floor).map(|lightmap| &lightmap.image), Some(&page));
    assert!(app.world().resource::<SceneStatus>().changed.is_zero(), "nothing of the app's has changed");
}

#[test]
fn shots_of_progressive_refinement_are_shown_in_place_while_the_bake_goes_on() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 4.0, 100.0);
    spawn_wall(&mut app);
    tick_app_times(&mut app, 2);
    let mut settings = quick_bake().settings;
    settings.layout.texels_per_meter = 16.0;
    // Pages of indirect light stay dark until the first shots. The time limit ends the direct light that comes before.
    settings.solver = SolverSettings {
        method: Method::Progressive,
        content: Content::Indirect,
        error: 1e-4,
        time_limit: Some(Duration::from_secs(30)),
        ..settings.solver
    };
    app.world_mut().trigger(Bake { settings, preview: true, ..quick_bake() });
    tick_app_until(&mut app, "a preview", |app| app.world().get::<Lightmap>(floor).is_some());
    let page = app.world().get::<Lightmap>(floor).unwrap().image.clone();
    let texels = |app: &App| app.world().resource::<Assets<Image>>().get(&page).unwrap().data.clone().unwrap();
    let mut seen = vec![texels(&app)];
    tick_app_until(&mut app, "brighter ones in its place", |app| {
        if seen.last() != Some(&texels(app)) {
            seen.push(texels(app));
        }
        seen.len() == 3 || !app.world().resource::<BakeProgress>().is_baking()
    });
    assert!(app.world().resource::<BakeProgress>().is_baking(), "{} pictures before the last", seen.len());
    assert_eq!(app.world().get::<Lightmap>(floor).map(|lightmap| &lightmap.image), Some(&page));
}

#[test]
fn entities_that_are_despawned_while_baking_are_no_trouble() {
    let mut app = create_world_app();
    let (floor, lamp) = spawn_lit_floor(&mut app, 2.0, 100.0);
    tick_app_times(&mut app, 2);
    app.world_mut().trigger(quick_bake());
    tick_app_until(&mut app, "the solver", |app| {
        matches!(app.world().resource::<BakeProgress>().phase, bevy_radiosity::plugin::BakePhase::Solving(_))
    });
    app.world_mut().despawn(floor);
    app.world_mut().despawn(lamp);
    tick_app_until(&mut app, "the end", |app| app.world().resource::<Ended>().0.is_some());
    assert!(app.world().resource::<Ended>().0.clone().unwrap().is_ok());
}

#[test]
fn a_mesh_that_loses_its_coordinates_gets_them_back_and_one_of_another_shape_loses_its_lightmap() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 2.0, 100.0);
    tick_app_times(&mut app, 2);
    bake(&mut app, quick_bake()).unwrap();
    let baked = app.world().get::<Baked>(floor).unwrap().clone();
    let has_coordinates = |app: &App| {
        let mesh = app.world().resource::<Assets<Mesh>>().get(&baked.mesh).unwrap();
        mesh.contains_attribute(Mesh::ATTRIBUTE_UV_1)
    };
    app.world_mut().resource_mut::<Assets<Mesh>>().get_mut(&baked.mesh).unwrap().remove_attribute(Mesh::ATTRIBUTE_UV_1);
    assert!(!has_coordinates(&app));
    tick_app(&mut app);
    assert!(has_coordinates(&app), "in the same frame");

    let reloaded = Plane3d::default().mesh().size(2.0, 2.0).build();
    app.world_mut().resource_mut::<Assets<Mesh>>().insert(baked.original.id(), reloaded).unwrap();
    tick_app_times(&mut app, 2);
    assert!(app.world().get::<Lightmap>(floor).is_some() && has_coordinates(&app), "the same shape keeps its light");

    let reshaped = Cuboid::default().mesh().build();
    app.world_mut().resource_mut::<Assets<Mesh>>().insert(baked.original.id(), reshaped).unwrap();
    tick_app(&mut app);
    assert!(app.world().get::<Lightmap>(floor).is_none(), "another shape has no use for it");
    assert_eq!(app.world().get::<Mesh3d>(floor).unwrap().0, baked.original);
}
