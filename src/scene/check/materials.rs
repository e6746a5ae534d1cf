//! Checks of materials.

use glam::{Affine2, Vec3};

use super::STRONGEST;
use crate::scene::{AlphaMode, Glass, Material, Problem, Scene, TextureRef};

/// Repairs all materials.
pub fn repair(scene: &mut Scene, problems: &mut Vec<Problem>) {
    let textures = scene.textures.len();
    for material in &mut scene.materials {
        repair_numbers(material, problems);
        repair_references(material, textures, problems);
    }
}

fn repair_numbers(material: &mut Material, problems: &mut Vec<Problem>) {
    let name = material.name.clone();
    let mut unusable = |property, repair| {
        problems.push(Problem::UnusableMaterial { material: name.clone(), property, repair });
    };
    if !material.base_color.is_finite() || material.base_color.min_element() < 0.0 {
        unusable("the base color", "what is not a number is one, what is negative zero");
        let usable = |value: f32| if value.is_finite() { value.max(0.0) } else { 1.0 };
        material.base_color = material.base_color.to_array().map(usable).into();
    }
    if !material.emission.is_finite() || material.emission.min_element() < 0.0 {
        unusable("the emission", "it does not glow");
        material.emission = Vec3::ZERO;
    } else if material.emission.max_element() > STRONGEST {
        unusable("the emission", "it is 1e11 cd/m2, which no light exceeds");
        material.emission = material.emission.min(Vec3::splat(STRONGEST));
    }
    if !material.metallic.is_finite() {
        unusable("the metalness", "it is no metal");
        material.metallic = 0.0;
    }
    if !material.perceptual_roughness.is_finite() {
        unusable("the roughness", "it is rough");
        material.perceptual_roughness = 1.0;
    }
    if !material.reflectance.is_finite() || material.reflectance.min_element() < 0.0 {
        unusable("the reflectance", "it is diffuse");
        material.reflectance = Vec3::ZERO;
    }
    if !material.normal_scale.is_finite() {
        unusable("the scale of its normal map", "one is used");
        material.normal_scale = 1.0;
    }
    if !material.clearcoat.is_finite() || !material.clearcoat_perceptual_roughness.is_finite() {
        unusable("the clear coat", "there is none");
        (material.clearcoat, material.clearcoat_perceptual_roughness) = (0.0, 0.5);
    }
    if !material.transmission.is_finite() {
        unusable("the transmission", "light does not go straight through");
        material.transmission = 0.0;
    }
    let scattered = material.diffuse_transmission_color;
    if !material.diffuse_transmission.is_finite() || !scattered.is_finite() || scattered.min_element() < 0.0 {
        unusable("the diffuse transmission", "no light is scattered through");
        (material.diffuse_transmission, material.diffuse_transmission_color) = (0.0, Vec3::ONE);
    }
    if material.glass.is_some_and(|glass| !is_usable(&glass)) {
        unusable("the glass", "light goes straight through");
        material.glass = None;
    }
    if matches!(material.alpha, AlphaMode::Mask(cutoff) if !cutoff.is_finite()) {
        unusable("the alpha threshold", "0.5 is used");
        material.alpha = AlphaMode::Mask(0.5);
    }
    material.metallic = material.metallic.clamp(0.0, 1.0);
    material.perceptual_roughness = material.perceptual_roughness.clamp(0.0, 1.0);
    material.transmission = material.transmission.clamp(0.0, 1.0);
    material.diffuse_transmission = material.diffuse_transmission.clamp(0.0, 1.0);
    material.diffuse_transmission_color = material.diffuse_transmission_color.min(Vec3::ONE);
    material.clearcoat = material.clearcoat.clamp(0.0, 1.0);
    material.clearcoat_perceptual_roughness = material.clearcoat_perceptual_roughness.clamp(0.0, 1.0);
    let reflectance = material.base_color.truncate().max_element();
    if reflectance > 1.0 {
        problems.push(Problem::ReflectanceAboveOne { material: name, reflectance });
    }
    material.base_color = material.base_color.min(glam::Vec4::ONE);
}

fn is_usable(glass: &Glass) -> bool {
    (0.0..=1.0).contains(&glass.transmission)
        && glass.ior.is_finite()
        && glass.ior >= 1.0
        && glass.absorption.is_finite()
        && glass.absorption.min_element() >= 0.0
}

fn repair_references(material: &mut Material, textures: usize, problems: &mut Vec<Problem>) {
    let name = material.name.clone();
    let unusable = |reference: &TextureRef| !reference.transform.is_finite();
    if material.textures_mut().into_iter().flatten().any(|reference| unusable(reference)) {
        let (property, repair) = ("a texture transform", "none is used");
        problems.push(Problem::UnusableMaterial { material: name.clone(), property, repair });
    }
    for slot in material.textures_mut() {
        if let Some(reference) = slot.as_mut().filter(|reference| unusable(reference)) {
            reference.transform = Affine2::IDENTITY;
        }
        if let Some(TextureRef { texture, .. }) = *slot
            && texture.index() >= textures
        {
            *slot = None;
            problems.push(Problem::MissingTexture {
                material: name.clone(),
                texture: format!("number {}", texture.index()),
                reason: "the scene has no such texture".to_owned(),
            });
        }
    }
}
