//! Nodes that animations move.
//!
//! A channel moves its node if its values differ from the node's own transform: exporters also write channels for
//! static objects. Channels that cannot be played move nothing, and are reported.

use std::collections::HashMap;
#[cfg(feature = "gltf")]
use std::sync::Arc;

use glam::{Affine3A, Quat, Vec3};
use gltf::json::Index;
use serde_json::Value;

use super::accessors::Accessors;
use super::container::Document;
use super::name_or;
use super::nodes::local_transform;
use crate::geometry::quaternion_length;
use crate::scene::Problem;

/// Largest change that counts as rounding, of positions (meters), scales and quaternions.
const TOLERANCE: f32 = 1e-4;

/// Name of the first animation of each node that is moved.
pub type Moved = HashMap<usize, String>;

/// Animated property of a node.
#[derive(Clone, Copy, PartialEq)]
enum Property {
    Translation,
    Rotation,
    Scale,
    Visibility,
}

/// Target of a channel.
enum Target<'a> {
    Node(usize, Property),
    /// A material, a light or the like, by its list and index.
    Material(&'a str, usize),
    /// Nothing that changes the light, or nothing at all.
    Nothing,
}

/// Returns the moved nodes of a file that Bevy's loader has parsed. Data outside of the file's binary part is not
/// available: its channels count as moving their nodes.
#[cfg(feature = "gltf")]
pub fn animated_nodes(document: &gltf::Document, binary: Option<&[u8]>) -> Moved {
    let root = document.as_json().clone();
    let Ok(Value::Array(animations)) = serde_json::to_value(&root.animations) else { return Moved::new() };
    let is_at_hand = root.buffers.iter().all(|buffer| buffer.uri.is_none());
    let buffers = binary.map(|binary| Arc::new(binary.to_vec())).into_iter().collect();
    let parsed = Document { root, buffers, animations, ..Document::default() };
    moved(&parsed, is_at_hand, &mut Vec::new())
}

/// Returns the nodes that a document's animations move.
pub fn read(document: &Document, warnings: &mut Vec<Problem>) -> Moved {
    moved(document, true, warnings)
}

fn moved(document: &Document, is_at_hand: bool, warnings: &mut Vec<Problem>) -> Moved {
    let mut moved = Moved::new();
    let accessors = Accessors::new(document);
    for (index, animation) in document.animations.iter().enumerate() {
        let name = animation.get("name").and_then(Value::as_str).map(str::to_owned);
        let name = name_or(name.as_ref(), "Animation", index);
        let mut fault = None;
        let mut materials = Vec::new();
        for channel in animation.get("channels").and_then(Value::as_array).into_iter().flatten() {
            match target(channel) {
                Target::Node(node, property) => {
                    let does_move = match moves(animation, channel, node, property, document, &accessors) {
                        Ok(does_move) => does_move,
                        Err(_) if !is_at_hand => true,
                        Err(reason) => {
                            fault = fault.or(Some(reason));
                            false
                        }
                    };
                    if does_move {
                        moved.entry(node).or_insert_with(|| name.clone());
                    }
                }
                Target::Material(list, number) if !materials.contains(&(list, number)) => {
                    materials.push((list, number))
                }
                Target::Material(..) | Target::Nothing => {}
            }
        }
        if let Some(reason) = fault {
            warnings.push(Problem::BrokenAnimation { animation: name.clone(), reason });
        }
        warnings.extend(materials.first().map(|&(list, number)| Problem::AnimatedMaterial {
            animation: name,
            target: describe(list, number, document),
            more: materials.len() - 1,
        }));
    }
    moved
}

fn target(channel: &Value) -> Target<'_> {
    let Some(target) = channel.get("target") else { return Target::Nothing };
    let property = match target.get("path").and_then(Value::as_str) {
        Some("translation") => Property::Translation,
        Some("rotation") => Property::Rotation,
        Some("scale") => Property::Scale,
        Some("pointer") => return pointed(target).unwrap_or(Target::Nothing),
        _ => return Target::Nothing,
    };
    // The specification says to ignore channels without a node.
    let node = target.get("node").and_then(Value::as_u64).and_then(|node| usize::try_from(node).ok());
    node.map_or(Target::Nothing, |node| Target::Node(node, property))
}

/// Parses the target of `KHR_animation_pointer`.
fn pointed(target: &Value) -> Option<Target<'_>> {
    let pointer = target.get("extensions")?.get("KHR_animation_pointer")?.get("pointer")?.as_str()?;
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    Some(match parts[..] {
        ["nodes", node, "translation"] => Target::Node(node.parse().ok()?, Property::Translation),
        ["nodes", node, "rotation"] => Target::Node(node.parse().ok()?, Property::Rotation),
        ["nodes", node, "scale"] => Target::Node(node.parse().ok()?, Property::Scale),
        ["nodes", node, "extensions", "KHR_node_visibility", "visible"] => {
            Target::Node(node.parse().ok()?, Property::Visibility)
        }
        [list @ "materials", number, ..] | ["extensions", "KHR_lights_punctual", list @ "lights", number, ..] => {
            Target::Material(list, number.parse().ok()?)
        }
        _ => Target::Nothing,
    })
}

fn describe(list: &str, number: usize, document: &Document) -> String {
    let root = &document.root;
    match list {
        "materials" => {
            let name = root.materials.get(number).and_then(|material| material.name.as_ref());
            format!("material '{}'", name_or(name, "Material", number))
        }
        _ => {
            let lights = root.extensions.as_ref().and_then(|extensions| extensions.khr_lights_punctual.as_ref());
            let name = lights.and_then(|lights| lights.lights.get(number)).and_then(|light| light.name.as_ref());
            format!("light '{}'", name_or(name, "Light", number))
        }
    }
}

/// Returns true if a channel moves its node away from the node's own transform.
///
/// # Errors
/// The reason why the channel cannot be played, as a sentence.
fn moves(
    animation: &Value,
    channel: &Value,
    node: usize,
    property: Property,
    document: &Document,
    accessors: &Accessors,
) -> Result<bool, String> {
    let node = document.root.nodes.get(node).ok_or("it moves a node that does not exist")?;
    let sampler = channel.get("sampler").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
    let sampler = sampler.and_then(|sampler| animation.get("samplers")?.get(sampler));
    let sampler = sampler.ok_or("a sampler of it does not exist")?;
    let is_cubic = match sampler.get("interpolation").map(Value::as_str) {
        None | Some(Some("LINEAR" | "STEP")) => false,
        Some(Some("CUBICSPLINE")) => true,
        Some(_) => return Err("its interpolation is unknown".to_owned()),
    };
    let accessor = |key: &str| {
        let index = sampler.get(key).and_then(Value::as_u64).and_then(|index| u32::try_from(index).ok());
        index.map(Index::new).ok_or_else(|| format!("a sampler of it has no {key}"))
    };
    accessors.vectors::<1>(accessor("input")?)?;
    let output = accessor("output")?;
    let rest = local_transform(node);
    let values: Vec<[f32; 4]> = match property {
        Property::Rotation => accessors.vectors::<4>(output)?,
        Property::Translation | Property::Scale => {
            accessors.vectors::<3>(output)?.into_iter().map(|[x, y, z]| [x, y, z, 0.0]).collect()
        }
        // A node whose visibility changes is not static.
        Property::Visibility => return Ok(true),
    };
    if values.is_empty() {
        return Err("a sampler of it has no values".to_owned());
    }
    Ok(if is_cubic {
        let is_flat = |tangent: [f32; 4]| tangent.iter().all(|value| value.abs() <= TOLERANCE);
        values.chunks(3).any(|key| match *key {
            [before, value, after] => !is_flat(before) || !is_flat(after) || !is_at(value, property, &rest),
            _ => false,
        })
    } else {
        values.into_iter().any(|value| !is_at(value, property, &rest))
    })
}

/// Returns true if a value equals the node's own.
fn is_at(value: [f32; 4], property: Property, rest: &Affine3A) -> bool {
    let (scale, rotation, translation) = rest.to_scale_rotation_translation();
    let is_near = |rest: Vec3| {
        let value = Vec3::new(value[0], value[1], value[2]);
        (value - rest).abs().cmple(Vec3::splat(TOLERANCE) * (1.0 + rest.abs())).all()
    };
    match property {
        Property::Translation => is_near(translation),
        Property::Scale => is_near(scale),
        Property::Rotation => {
            let value = Quat::from_array(value);
            // A quaternion and its negative are the same rotation.
            let apart = quaternion_length(value - rotation).min(quaternion_length(value + rotation));
            apart <= TOLERANCE
        }
        Property::Visibility => false,
    }
}
