//! Tests of relighting with moving doors.

use bevy::pbr::Lightmap;
use bevy::prelude::*;
use bevy::render::render_resource::TextureFormat;
use bevy_radiosity::bake::{self, Unobserved};
use bevy_radiosity::lightmap::files::rgb9e5;
use bevy_radiosity::plugin::RELIGHT_DOORS;
use bevy_radiosity::prelude::*;
use bevy_radiosity::scene_files;

use crate::app::*;
use crate::relight::{at_once, change, diagnosed, f32_of_half, move_to, page_of, relightable, settle, status};
use crate::spawn::spawn_scene;

/// Positions of a board between the floor and its lamp, and aside.
pub const BELOW: Vec3 = Vec3::new(0.0, 1.0, 0.0);
pub const ASIDE: Vec3 = Vec3::new(8.0, 1.0, 0.0);

/// Spawns a board of 1 m, halfway between the floor and a lamp of 100 cd.
pub fn spawn_board(app: &mut App) -> Entity {
    let mesh = app.world_mut().resource_mut::<Assets<Mesh>>().add(Cuboid::new(1.0, 0.1, 1.0));
    let material = spawn_material(app, Color::linear_rgb(0.5, 0.5, 0.5));
    let place = Transform::from_translation(BELOW);
    app.world_mut().spawn((Name::new("board"), Mesh3d(mesh), MeshMaterial3d(material), place, RelightDoor)).id()
}

/// Returns the page value at the center of a square, in cd/m2.
fn middle_of(app: &App, floor: Entity) -> f32 {
    let Lightmap { image, uv_rect, .. } = app.world().get::<Lightmap>(floor).unwrap();
    let image = app.world().resource::<Assets<Image>>().get(image).unwrap();
    let pixel = (uv_rect.center() * image.size().as_vec2()).as_uvec2();
    let &[a, b, c, d, ..] = image.pixel_bytes(pixel.extend(0)).unwrap() else { panic!("four bytes at least") };
    match image.texture_descriptor.format {
        TextureFormat::Rgb9e5Ufloat => rgb9e5::decode(u32::from_le_bytes([a, b, c, d])).x,
        _ => f32_of_half(u16::from_le_bytes([a, b])),
    }
}

#[test]
fn light_goes_another_way_where_a_door_has_moved_and_comes_back_byte_for_byte() {
    let mut app = create_world_app();
    let (floor, _) = spawn_lit_floor(&mut app, 4.0, 100.0);
    spawn_wall(&mut app);
    let board = spawn_board(&mut app);
    tick_app_times(&mut app, 2);
    app.insert_resource(at_once());
    bake(&mut app, relightable(Content::Full)).unwrap();
    settle(&mut app, 0);
    assert!(app.world().get::<Lightmap>(board).is_none(), "an occluder has none");
    let baked = page_of(&app, floor);
    // 100 cd at 2 m are 25 lx.
    let lit = 25.0 / core::f32::consts::PI;
    assert!(middle_of(&app, floor) < 0.2 * lit, "in the shadow of the board");

    change(&mut app, |app| move_to(app, board, ASIDE));
    let took = diagnosed(&app, &RELIGHT_DOORS);
    assert!(took > 0.0 && (f64::from(status(&app).door_milliseconds) / took - 1.0).abs() < 1e-6, "{took} ms");
    let moved = middle_of(&app, floor);
    assert!(moved > 0.97 * lit && moved < 1.2 * lit, "{moved} of {lit}");
    change(&mut app, |app| move_to(app, board, BELOW));
    assert_eq!(page_of(&app, floor), baked);

    change(&mut app, |app| *app.world_mut().get_mut::<Visibility>(board).unwrap() = Visibility::Hidden);
    let gone = page_of(&app, floor);
    assert!((middle_of(&app, floor) / moved - 1.0).abs() < 0.02, "what is hidden is gone");
    change(&mut app, |app| *app.world_mut().get_mut::<Visibility>(board).unwrap() = Visibility::Inherited);
    assert_eq!(page_of(&app, floor), baked);

    move_to(&mut app, board, Vec3::NAN);
    tick_app_times(&mut app, 20);
    assert!(!status(&app).are_doors_moving && status(&app).is_active);
    assert_eq!(page_of(&app, floor), baked, "what cannot be is ignored");
    move_to(&mut app, board, BELOW);

    // The board moves in every frame, and the newest place wins.
    let before = status(&app).updates;
    for step in 0..40 {
        move_to(&mut app, board, BELOW.lerp(ASIDE, step as f32 / 39.0));
        tick_app(&mut app);
    }
    settle(&mut app, before);
    assert!((middle_of(&app, floor) / moved - 1.0).abs() < 1e-3, "whichever way it came");

    change(&mut app, |app| _ = app.world_mut().despawn(board));
    assert_eq!(page_of(&app, floor), gone);
    change(&mut app, |app| app.world_mut().resource_mut::<Relight>().enabled = false);
    assert_eq!(page_of(&app, floor), baked, "switched off, they are as they were baked");
}

#[test]
fn several_doors_move_at_once_and_lights_go_on_meanwhile() {
    let mut app = create_world_app();
    let (floor, lamp) = spawn_lit_floor(&mut app, 4.0, 100.0);
    spawn_wall(&mut app);
    let boards = [spawn_board(&mut app), spawn_board(&mut app)];
    move_to(&mut app, boards[1], BELOW * 0.5);
    tick_app_times(&mut app, 2);
    app.insert_resource(at_once());
    bake(&mut app, relightable(Content::Full)).unwrap();
    settle(&mut app, 0);
    let lit = 25.0 / core::f32::consts::PI;
    change(&mut app, |app| move_to(app, boards[0], ASIDE));
    let one_left = middle_of(&app, floor);
    assert!(one_left < 0.2 * lit, "the other one is still there: {one_left}");
    change(&mut app, |app| {
        move_to(app, boards[1], ASIDE + Vec3::Z * 3.0);
        app.world_mut().get_mut::<PointLight>(lamp).unwrap().intensity *= 0.5;
    });
    let half = middle_of(&app, floor);
    assert!(half > 0.97 * 0.5 * lit && half < 1.2 * 0.5 * lit, "{half} of {lit}");
}

/// Nodes of a floor of 4 m, a board and a lightmapped shelf above it, and a lamp of 100 cd.
const NODES: &str = r#"[
    {"name": "floor", "mesh": 0, "scale": [4, 1, 4]},
    {"name": "board", "mesh": 0, "translation": [0, 1, 0], "extras": {"radiosity_role": "occluder"}},
    {"name": "shelf", "mesh": 0, "translation": [4, 1, 0]},
    {"name": "lamp", "translation": [0, 2, 0], "extensions": {"KHR_lights_punctual": {"light": 0}}}
]"#;

#[test]
fn a_door_of_a_file_is_followed_and_what_has_a_lightmap_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("level.gltf");
    std::fs::write(&file, file_of_squares("[0, 1, 2, 3]", NODES, 100)).unwrap();
    let level = scene_files::load(&file.to_string_lossy()).unwrap().scene;
    let settings = relightable(Content::Full).settings;
    bake::run(level.clone(), &settings, &Unobserved).unwrap().write(&folder.path().join("baked")).unwrap();
    let mut app = create_world_app();
    app.insert_resource(at_once());
    spawn_scene(app.world_mut(), &level);
    let mut named = |part: &str| {
        let mut names = app.world_mut().query_filtered::<(Entity, &Name), With<Mesh3d>>();
        names.iter(app.world()).find(|(_, name)| name.contains(part)).map(|(entity, _)| entity).unwrap()
    };
    let [floor, board, shelf] = ["floor", "board", "shelf"].map(&mut named);
    let level = baked_level(&app, folder.path().join("baked")).with_source(file.clone());
    app.world_mut().spawn(level);
    tick_app_until_lit(&mut app);
    settle(&mut app, 0);
    let lit = 25.0 / core::f32::consts::PI;
    assert!(middle_of(&app, floor) < 0.05 * lit, "in the shadow of the board");
    app.world_mut().entity_mut(board).insert(RelightDoor);
    app.world_mut().entity_mut(shelf).insert(RelightDoor);
    change(&mut app, |app| move_to(app, board, ASIDE));
    let moved = middle_of(&app, floor);
    assert!((moved / lit - 1.0).abs() < 0.03, "{moved} of {lit}");
    let followed = page_of(&app, floor);
    let updates = status(&app).updates;
    move_to(&mut app, shelf, BELOW);
    tick_app_until(&mut app, "a look at the shelf", |app| status(app).are_doors_moving);
    tick_app_until(&mut app, "an end of that", |app| !status(app).are_doors_moving);
    tick_app_times(&mut app, 3);
    assert_eq!((page_of(&app, floor), status(&app).updates), (followed, updates));
}

#[test]
fn a_live_view_beside_lightmaps_that_follow_shows_the_same_lights() {
    let Some(mut app) = create_drawing_app() else { return };
    let drawn = spawn_camera(&mut app, Vec3::Y, Vec3::ZERO);
    let traced = spawn_camera(&mut app, Vec3::Y, Vec3::ZERO);
    let camera = last_camera(&mut app);
    app.world_mut().entity_mut(camera).insert(LiveView { frame_budget: 100.0, ..default() });
    let (_, lamp) = spawn_lit_floor(&mut app, 4.0, 4000.0);
    tick_app_times(&mut app, 2);
    app.insert_resource(at_once());
    bake(&mut app, relightable(Content::Full)).unwrap();
    // The value right below a lamp of 4000 cd at 2 m.
    let below = 0.5 * 1000.0 / core::f32::consts::PI * exposure();
    for strength in [1.0, 0.25] {
        app.world_mut().get_mut::<PointLight>(lamp).unwrap().intensity =
            strength * 4000.0 * 4.0 * core::f32::consts::PI;
        assert_red(&mut app, &drawn, strength * below, 0.03);
        assert_red(&mut app, &traced, strength * below, 0.05);
    }
    assert!(status(&app).is_active && status(&app).updates > 0);
}

fn last_camera(app: &mut App) -> Entity {
    app.world_mut().query_filtered::<Entity, With<Camera3d>>().iter(app.world()).max().expect("two of them")
}
