//! Fly camera: W, A, S, D, Q and E move, the right mouse button turns, Shift speeds up, L switches lightmaps.

use bevy::input::mouse::AccumulatedMouseMotion;
use bevy::prelude::*;
use bevy_radiosity::prelude::Lightmaps;

const METERS_PER_SECOND: f32 = 3.0;
const HURRY: f32 = 4.0;
const RADIANS_PER_PIXEL: f32 = 0.003;

/// Movement keys and their directions, in camera space.
const KEYS: [(KeyCode, Vec3); 6] = [
    (KeyCode::KeyW, Vec3::NEG_Z),
    (KeyCode::KeyS, Vec3::Z),
    (KeyCode::KeyA, Vec3::NEG_X),
    (KeyCode::KeyD, Vec3::X),
    (KeyCode::KeyE, Vec3::Y),
    (KeyCode::KeyQ, Vec3::NEG_Y),
];

/// Adds the controls to an app with a window.
pub fn add(app: &mut App) {
    let has_keys = resource_exists::<ButtonInput<KeyCode>>;
    app.add_systems(Update, (fly, turn, switch_lightmaps).run_if(has_keys));
}

fn fly(mut cameras: Query<&mut Transform, With<Camera3d>>, keys: Res<ButtonInput<KeyCode>>, time: Res<Time>) {
    let way: Vec3 = KEYS.iter().filter(|(key, _)| keys.pressed(*key)).map(|(_, way)| *way).sum();
    if way == Vec3::ZERO {
        return;
    }
    let speed = METERS_PER_SECOND * if keys.pressed(KeyCode::ShiftLeft) { HURRY } else { 1.0 };
    for mut camera in &mut cameras {
        let step = camera.rotation * way.normalize() * speed * time.delta_secs();
        camera.translation += step;
    }
}

#[allow(clippy::disallowed_methods, reason = "no bake looks at this camera")]
fn turn(
    mut cameras: Query<&mut Transform, With<Camera3d>>,
    buttons: Res<ButtonInput<MouseButton>>,
    motion: Res<AccumulatedMouseMotion>,
) {
    if !buttons.pressed(MouseButton::Right) || motion.delta == Vec2::ZERO {
        return;
    }
    for mut camera in &mut cameras {
        let (yaw, pitch, _) = camera.rotation.to_euler(EulerRot::YXZ);
        let yaw = yaw - motion.delta.x * RADIANS_PER_PIXEL;
        let pitch = (pitch - motion.delta.y * RADIANS_PER_PIXEL).clamp(-1.54, 1.54);
        camera.rotation = Quat::from_euler(EulerRot::YXZ, yaw, pitch, 0.0);
    }
}

fn switch_lightmaps(keys: Res<ButtonInput<KeyCode>>, mut lightmaps: ResMut<Lightmaps>) {
    if keys.just_pressed(KeyCode::KeyL) {
        lightmaps.enabled = !lightmaps.enabled;
        info!("lightmaps {}", if lightmaps.enabled { "on" } else { "off" });
    }
}
