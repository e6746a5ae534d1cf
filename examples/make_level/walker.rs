//! Person who walks through the hall, made of turned limbs. It is a mover, so no bake includes it.

use core::f32::consts::{PI, TAU};

use glam::{Affine3A, Quat, Vec3, vec3};
use serde_json::json;

use super::gltf_writer::{Document, NodeRef, Pose};
use super::palette::Palette;
use super::shapes::Shape;

/// Duration of two steps, in seconds.
const STRIDE_SECONDS: f32 = 1.1;
/// Walking speed, in m/s.
const SPEED: f32 = 1.25;
const KEYS: usize = 8;

/// Returns a limb that hangs from the origin.
fn limb(length: f32, top: f32, bottom: f32) -> Shape {
    let mut shape = Shape::default();
    shape.lathe(
        14,
        &[&[
            (0.0, -length - bottom * 0.7),
            (bottom * 0.8, -length - bottom * 0.45),
            (bottom, -length),
            ((top + bottom) * 0.52, -length * 0.45),
            (top, -top * 0.3),
            (top * 0.8, top * 0.6),
            (0.0, top * 0.8),
        ]],
    );
    shape
}

/// Adds the person and the walk animation to a file.
pub fn walker(file: &mut Document, palette: &Palette, from: Vec3, to: Vec3) {
    let way = to - from;
    let heading = way.z.atan2(way.x);
    let root =
        file.group("walker", Pose { rotation: Quat::from_rotation_y(-heading), ..Pose::at(from.x, from.y, from.z) });
    file.instruct(root, json!({ "role": "mover" }));
    let seconds = way.length() / SPEED;
    file.animate_translation(root, &[(0.0, from), (seconds, to)]);

    let mut torso = Shape::default();
    torso.lathe(
        18,
        &[&[
            (0.0, -0.14),
            (0.16, -0.1),
            (0.175, 0.0),
            (0.15, 0.16),
            (0.19, 0.38),
            (0.17, 0.5),
            (0.07, 0.56),
            (0.06, 0.6),
        ]],
    );
    let torso = torso.moved(Affine3A::from_scale(vec3(0.72, 1.0, 1.0)));
    let mut head = Shape::default();
    head.ball(0.115, 18);
    let head = head.moved(Affine3A::from_scale_rotation_translation(
        vec3(0.95, 1.2, 0.88),
        Quat::IDENTITY,
        vec3(0.02, 0.72, 0.0),
    ));
    let body = file.mesh("walker_body", &[(&torso, palette.coat), (&head, palette.skin)]);
    let body = file.place("walker_body", body, Pose::at(0.0, 0.93, 0.0));
    file.attach(body, root);

    let mut shoe = Shape::default();
    shoe.ball(0.07, 12);
    let foot = shoe.moved(Affine3A::from_scale_rotation_translation(
        vec3(1.7, 0.62, 0.75),
        Quat::IDENTITY,
        vec3(0.06, -0.44, 0.0),
    ));
    let thigh = file.mesh("walker_thigh", &[(&limb(0.42, 0.085, 0.06), palette.trousers)]);
    let shin = file.mesh("walker_shin", &[(&limb(0.38, 0.06, 0.042), palette.trousers), (&foot, palette.leather)]);
    let arm = file.mesh("walker_upper_arm", &[(&limb(0.27, 0.058, 0.043), palette.coat)]);
    let mut hand = Shape::default();
    hand.ball(0.045, 10);
    let hand = hand.moved(Affine3A::from_translation(Vec3::NEG_Y * 0.29));
    let forearm = file.mesh("walker_forearm", &[(&limb(0.23, 0.043, 0.034), palette.coat), (&hand, palette.skin)]);

    for (side, z, phase) in [("left", -1.0, 0.0), ("right", 1.0, PI)] {
        let hip = file.place(&format!("walker_{side}_thigh"), thigh, Pose::at(0.0, 0.92, 0.095 * z));
        let knee = file.place(&format!("walker_{side}_shin"), shin, Pose::at(0.0, -0.42, 0.0));
        let shoulder = file.place(&format!("walker_{side}_upper_arm"), arm, Pose::at(0.0, 1.4, 0.225 * z));
        let elbow = file.place(&format!("walker_{side}_forearm"), forearm, Pose::at(0.0, -0.27, 0.0));
        for (child, parent) in [(hip, root), (knee, hip), (shoulder, root), (elbow, shoulder)] {
            file.attach(child, parent);
        }
        swing(file, hip, seconds, |turn| 0.45 * (turn + phase).sin());
        swing(file, knee, seconds, |turn| -0.15 - 0.5 * (turn + phase + 0.9).cos().max(0.0));
        swing(file, shoulder, seconds, |turn| -0.4 * (turn + phase).sin());
        swing(file, elbow, seconds, |turn| 0.35 + 0.15 * (turn + phase + PI).sin());
    }
}

/// Animates a limb that swings forward by an angle as a function of the stride's phase. Its rest pose is that at a
/// phase of 1 rad.
fn swing(file: &mut Document, limb: NodeRef, seconds: f32, angle: impl Fn(f32) -> f32) {
    let pose = |turn: f32| Quat::from_rotation_z(angle(turn));
    let keys: Vec<(f32, Quat)> = (0..)
        .map(|key| key as f32 / KEYS as f32)
        .take_while(|strides| strides * STRIDE_SECONDS <= seconds)
        .map(|strides| (strides * STRIDE_SECONDS, pose(strides * TAU)))
        .collect();
    file.rest(limb, pose(1.0));
    file.animate_rotation(limb, &keys);
}
