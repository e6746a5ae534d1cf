//! Example: the project's level at night. Lamps flicker and go out, panels change their color, a door swings, and the
//! lightmaps follow.
//!
//! A lamp that only changes its strength needs no rays, and a background thread updates the light past the door.
//!
//! ```text
//! cargo run --release --features viewer --example flickering_lamps
//! cargo run --release --features gltf --example flickering_lamps -- --screenshot lamps.png   (needs no window)
//! ```
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

mod level;
#[path = "../src/cli/viewer/mod.rs"]
mod viewer;

use bevy::diagnostic::LogDiagnosticsPlugin;
use bevy::prelude::*;
use bevy_radiosity::prelude::*;
use level::{cast_shadows, is_complete, remove_suns, spawn_level, value_of};
use viewer::{TakeScreenshot, ViewerPlugin};

/// Door between the library and the corridor. It is open in the file.
const DOOR: &str = "library_door_leaf";

/// Period of the door, in seconds. It is open for half of the time.
const PERIOD: f32 = 40.0;

/// Angles of the shut and the open door, in degrees.
const ANGLES: [f32; 2] = [0.0, 105.0];

/// Flickering lamp: its flux in lumens, and the phase of its ten-second cycle, in seconds.
#[derive(Component)]
struct Flickering {
    lumens: f32,
    goes_out_at: f32,
}

#[derive(Component)]
struct Swinging;

/// True if the door stays open, for a screenshot.
#[derive(Resource)]
struct StayOpen(bool);

/// Materials of panels and bulbs.
#[derive(Resource)]
struct Glowing {
    panels: Handle<StandardMaterial>,
    bulbs: Handle<StandardMaterial>,
}

fn main() -> AppExit {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let screenshot = value_of(&mut arguments, "--screenshot").map(Into::into);
    let is_picture = screenshot.is_some();
    let (eye, target) = (Vec3::new(6.2, 1.7, -6.6), Vec3::new(1.2, 1.3, -3.4));
    let viewer = ViewerPlugin { eye, target, ev100: 5.0, screenshot, ..default() };

    App::new()
        .add_plugins((viewer.default_plugins(), RadiosityPlugins))
        .add_plugins(viewer)
        .add_plugins(LogDiagnosticsPlugin::filtered([RELIGHT_DOORS, RELIGHT_MAIN_THREAD, RELIGHT_UPDATE].into()))
        .insert_resource(SceneSettings { emissive_units: EmissiveUnits::Nits, ..default() })
        .insert_resource(Relight::default())
        .insert_resource(StayOpen(is_picture))
        .add_systems(Startup, |world: &mut World| spawn_level(world, "level.glb"))
        .add_systems(Update, (cast_shadows, remove_suns::<()>, (prepare, bake).chain().run_if(is_complete)))
        .add_systems(Update, (flicker, glow.run_if(resource_exists::<Glowing>), swing, take_screenshot_after_some_time))
        .run()
}

/// Finds the lamps and materials to change, and shuts the door.
fn prepare(
    mut commands: Commands,
    mut named: Query<(Entity, &Name, &mut Transform)>,
    lamps: Query<(Entity, &PointLight)>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    drawn: Query<&MeshMaterial3d<StandardMaterial>>,
) {
    for (door, _, mut place) in named.iter_mut().filter(|(_, name, _)| name.as_str() == DOOR) {
        place.rotation = turned(0.0);
        commands.entity(door).insert((Swinging, RelightDoor));
    }
    for (index, (lamp, light)) in lamps.iter().enumerate() {
        commands.entity(lamp).insert(Flickering { lumens: light.intensity, goes_out_at: 4.0 * index as f32 });
    }
    // The bulbs have the brightest material, and the panels the next.
    let strength = |handle: &Handle<StandardMaterial>| materials.get(handle).map_or(0.0, |it| it.emissive.red);
    let mut glowing: Vec<Handle<StandardMaterial>> = drawn.iter().map(|drawn| drawn.0.clone()).collect();
    glowing.retain(|handle| strength(handle) > 0.0);
    glowing.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
    glowing.dedup();
    if let [bulbs, panels] = &*glowing {
        for handle in [bulbs, panels] {
            // Cameras must see the same brightness as the lightmaps.
            materials.get_mut(handle).into_iter().for_each(|mut material| material.emissive_exposure_weight = 1.0);
        }
        commands.insert_resource(Glowing { panels: panels.clone(), bulbs: bulbs.clone() });
    }
}

fn turned(opened: f32) -> Quat {
    Quat::from_rotation_y(ANGLES[0].lerp(ANGLES[1], opened).to_radians())
}

fn bake(mut commands: Commands) {
    let mut settings = BakeSettings { relight: Some(RelightPatches(1000)), ..default() };
    settings.layout.texels_per_meter = 5.0;
    commands.trigger(Bake { settings, ..default() });
}

/// Makes lamps flicker after the bake.
fn flicker(mut lamps: Query<(&Flickering, &mut PointLight)>, status: Single<&RelightStatus>, time: Res<Time>) {
    if !status.is_active {
        return;
    }
    for (lamp, mut light) in &mut lamps {
        let seconds = time.elapsed_secs() + lamp.goes_out_at;
        light.intensity = if seconds % 10.0 < 8.0 { lamp.lumens * flame(seconds) } else { 0.0 };
    }
}

fn flame(seconds: f32) -> f32 {
    0.8 + 0.2 * (13.0 * seconds).sin() * (7.3 * seconds).sin()
}

/// Alternates panels between blue and red, and makes bulbs flicker.
fn glow(
    glowing: Res<Glowing>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    status: Single<&RelightStatus>,
    time: Res<Time>,
) {
    if !status.is_active {
        return;
    }
    let seconds = time.elapsed_secs();
    let phase = 0.5 + 0.5 * (0.7 * seconds).sin();
    let panels = LinearRgba::rgb(160.0 * phase, 50.0, 160.0 * (1.0 - phase));
    let bulbs = LinearRgba::rgb(9000.0, 6800.0, 4100.0) * flame(seconds);
    for (handle, emissive) in [(&glowing.panels, panels), (&glowing.bulbs, bulbs)] {
        materials.get_mut(handle).into_iter().for_each(|mut material| material.emissive = emissive);
    }
}

/// Opens the door within a second, and shuts it within another when its light has had time to settle.
fn swing(
    mut doors: Query<&mut Transform, With<Swinging>>,
    stay: Res<StayOpen>,
    status: Single<&RelightStatus>,
    time: Res<Time>,
) {
    let seconds = if stay.0 { 0.25 * PERIOD } else { time.elapsed_secs() % PERIOD };
    let opened = if status.is_active { seconds.min(0.5 * PERIOD - seconds).clamp(0.0, 1.0) } else { 0.0 };
    for mut place in &mut doors {
        place.rotation = turned(opened);
    }
}

fn take_screenshot_after_some_time(mut commands: Commands, status: Single<&RelightStatus>, mut is_taken: Local<bool>) {
    let has_opened = status.door_milliseconds > 0.0 && !status.are_doors_moving;
    if status.updates >= 30 && has_opened && !core::mem::replace(&mut *is_taken, true) {
        info!("the door took {:.0} ms, an update {:.1} ms", status.door_milliseconds, status.update_milliseconds);
        commands.trigger(TakeScreenshot);
    }
}
