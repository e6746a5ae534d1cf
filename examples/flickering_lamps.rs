//! Lamps that flicker and go out, a panel that changes its colour, and a door to a dark chamber, in a room whose lightmaps
//! follow: no ray is traced for a lamp that only changes its strength, and the door is followed in the background.
//!
//! ```text
//! cargo run --release --features viewer --example flickering_lamps
//! cargo run --release --example flickering_lamps -- --screenshot lamps.png      (needs no window)
//! ```

use bevy::diagnostic::LogDiagnosticsPlugin;
use bevy::prelude::*;
use bevy_radiosity::plugin::{RELIGHT_MAIN_THREAD, RELIGHT_UPDATE, TakeScreenshot, ViewerPlugin};
use bevy_radiosity::prelude::*;

/// A lamp, its lumens, and when it goes out, in seconds of each ten.
#[derive(Component)]
struct Flickering {
    lumens: f32,
    goes_out_at: f32,
}

/// A door that turns about an upright edge.
#[derive(Component)]
struct Swinging {
    hinge: Vec3,
}

/// Doors stay open, for a picture.
#[derive(Resource)]
struct StayOpen(bool);

/// The panel's material.
#[derive(Resource)]
struct Glow(Handle<StandardMaterial>);

fn main() -> AppExit {
    let arguments: Vec<String> = std::env::args().collect();
    let screenshot = arguments.iter().position(|argument| argument == "--screenshot");
    let screenshot = screenshot.and_then(|index| arguments.get(index + 1)).map(Into::into);
    let is_picture = screenshot.is_some();
    let eye = Vec3::new(0.0, 1.6, 4.6);
    let viewer = ViewerPlugin { eye, target: Vec3::new(0.0, 1.4, 0.0), ev100: 4.0, screenshot, ..default() };

    App::new()
        .add_plugins((viewer.default_plugins(), RadiosityPlugins))
        .add_plugins(viewer)
        .add_plugins(LogDiagnosticsPlugin::filtered([RELIGHT_MAIN_THREAD, RELIGHT_UPDATE].into()))
        .insert_resource(Relight::default())
        .insert_resource(StayOpen(is_picture))
        .add_systems(Startup, (spawn_room, bake).chain())
        .add_systems(Update, (flicker, glow, swing, take_screenshot_after_some_time))
        .run()
}

fn bake(mut commands: Commands) {
    let mut settings = BakeSettings { relight: Some(500), ..default() };
    settings.layout.texels_per_metre = 16.0;
    commands.trigger(Bake { settings, ..default() });
}

/// Lamps are baked as they are at first, and flicker once that is done.
fn flicker(mut lamps: Query<(&Flickering, &mut PointLight)>, status: Res<RelightStatus>, time: Res<Time>) {
    if !status.is_active {
        return;
    }
    for (lamp, mut light) in &mut lamps {
        let seconds = time.elapsed_secs() + lamp.goes_out_at;
        let flame = 0.8 + 0.2 * (13.0 * seconds).sin() * (7.3 * seconds).sin();
        light.intensity = if seconds % 10.0 < 8.0 { lamp.lumens * flame } else { 0.0 };
    }
}

fn glow(glow: Res<Glow>, mut materials: ResMut<Assets<StandardMaterial>>, status: Res<RelightStatus>, time: Res<Time>) {
    if status.is_active
        && let Some(mut material) = materials.get_mut(&glow.0)
    {
        let phase = 0.5 + 0.5 * (0.7 * time.elapsed_secs()).sin();
        material.emissive = LinearRgba::rgb(60.0 * phase, 20.0, 60.0 * (1.0 - phase));
    }
}

/// It opens in a second, and shuts in another five seconds later.
fn swing(
    mut doors: Query<(&Swinging, &mut Transform)>,
    stay: Res<StayOpen>,
    status: Res<RelightStatus>,
    time: Res<Time>,
) {
    let seconds = if stay.0 { 3.0 } else { time.elapsed_secs() % 12.0 };
    let opened = if status.is_active { seconds.min(6.0 - seconds).clamp(0.0, 1.0) } else { 0.0 };
    for (door, mut place) in &mut doors {
        let turned = Quat::from_rotation_y(opened * 80f32.to_radians());
        *place = Transform::from_translation(door.hinge + turned * Vec3::Z * 0.5).with_rotation(turned);
    }
}

fn take_screenshot_after_some_time(mut commands: Commands, status: Res<RelightStatus>, mut is_taken: Local<bool>) {
    let has_opened = status.door_milliseconds > 0.0 && !status.are_doors_moving;
    if status.updates >= 30 && has_opened && !core::mem::replace(&mut *is_taken, true) {
        commands.trigger(TakeScreenshot);
    }
}

/// A white room with a block, a pillar, two lamps behind them, and a panel on the wall that glows; beside it, behind a door,
/// a chamber without a lamp.
fn spawn_room(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let matt = |base_color| StandardMaterial { base_color, perceptual_roughness: 1.0, reflectance: 0.0, ..default() };
    let white = materials.add(matt(Color::linear_rgb(0.73, 0.73, 0.73)));
    let blue = materials.add(matt(Color::linear_rgb(0.15, 0.2, 0.6)));
    let glowing = materials.add(StandardMaterial {
        emissive: LinearRgba::rgb(30.0, 20.0, 30.0),
        emissive_exposure_weight: 1.0,
        ..matt(Color::BLACK)
    });
    commands.insert_resource(Glow(glowing.clone()));
    let mut spawn = |name: &str, mesh: Mesh, material: &Handle<StandardMaterial>, place: Transform| {
        commands.spawn((Name::new(name.to_owned()), Mesh3d(meshes.add(mesh)), MeshMaterial3d(material.clone()), place));
    };
    let wall = |normal: Vec3| Plane3d::new(normal, Vec2::splat(2.0)).mesh().build();
    spawn("floor", wall(Vec3::Y), &white, Transform::default());
    spawn("ceiling", wall(Vec3::NEG_Y), &white, Transform::from_xyz(0.0, 3.0, 0.0));
    spawn("back", wall(Vec3::Z), &white, Transform::from_xyz(0.0, 1.5, -2.0));
    spawn("left", wall(Vec3::X), &blue, Transform::from_xyz(-2.0, 1.5, 0.0));
    spawn("right", wall(Vec3::NEG_X), &white, Transform::from_xyz(2.0, 1.5, 0.0));
    spawn("block", Cuboid::new(0.7, 0.7, 0.7).into(), &white, Transform::from_xyz(-0.7, 0.35, 0.5));
    spawn("pillar", Cylinder::new(0.2, 3.0).into(), &white, Transform::from_xyz(0.3, 1.5, -0.9));
    spawn("panel", Cuboid::new(1.2, 0.8, 0.05).into(), &glowing, Transform::from_xyz(-1.0, 1.8, -1.97));
    spawn("beside the door", Cuboid::new(0.1, 3.0, 1.8).into(), &white, Transform::from_xyz(0.6, 1.5, -1.1));
    spawn("before the door", Cuboid::new(0.1, 3.0, 1.2).into(), &white, Transform::from_xyz(0.6, 1.5, 1.4));
    spawn("above the door", Cuboid::new(0.1, 0.9, 1.0).into(), &white, Transform::from_xyz(0.6, 2.55, 0.3));
    let door = (Mesh3d(meshes.add(Cuboid::new(0.04, 2.1, 1.0))), MeshMaterial3d(blue), RelightDoor);
    commands.spawn((Name::new("door"), Swinging { hinge: Vec3::new(0.6, 1.05, -0.2) }, door));
    let lamps = [(Vec3::new(-0.1, 1.2, -1.5), 0.0), (Vec3::new(-1.4, 0.4, -0.6), 5.0)];
    for (index, (place, goes_out_at)) in lamps.into_iter().enumerate() {
        let color = Color::linear_rgb(1.0, 0.6, 0.3);
        let light = PointLight { color, intensity: 1500.0, shadow_maps_enabled: true, ..default() };
        let flickering = Flickering { lumens: 1500.0, goes_out_at };
        commands.spawn((Name::new(format!("lamp {index}")), flickering, light, Transform::from_translation(place)));
    }
}
