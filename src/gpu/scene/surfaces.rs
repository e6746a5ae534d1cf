//! Surface records with their materials.

use bytemuck::{Pod, Zeroable};

use super::NONE;
use super::placement::Placement;
use super::textures::{TextureRecord, TextureWords, Textures};
use crate::scene::{AlphaMode, Scene, Sides, Surface, TEXTURE_SLOTS, TextureRef, UvChannel};

/// Counterpart of `Surface` in `material.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Record {
    base_color: [f32; 4],
    pub emission: [f32; 3],
    metallic: f32,
    reflectance: [f32; 3],
    roughness: f32,
    padding_before: [u32; 2],
    alpha_threshold: f32,
    flags: u32,
    absorption: [f32; 3],
    transmission: f32,
    diffuse_transmission_color: [f32; 3],
    diffuse_transmission: f32,
    textures: [TextureRecord; TEXTURE_SLOTS],
    lightmap: TextureWords,
    lightmap_corner: [f32; 2],
    lightmap_size: [f32; 2],
    pub emitter: u32,
    ior: f32,
    normal_scale: f32,
    clearcoat: f32,
    clearcoat_roughness: f32,
    pane: f32,
    padding: [u32; 2],
    placement: Placement,
}

const MASK: u32 = 1;
const BLEND: u32 = 2;
const BOTH_SIDES: u32 = 4;
const MIRRORED: u32 = 8;
const LIT_DIRECTLY: u32 = 16;
const HAS_COLORS: u32 = 128;
const TINTS: u32 = 32;
const PASSABLE: u32 = 64;

impl Record {
    /// Updates the record of a moving surface to its transform.
    pub fn stand(&mut self, surface: &Surface, placement: Placement) {
        self.flags = self.flags & !MIRRORED | mirrored(surface);
        self.placement = placement;
    }
}

fn mirrored(surface: &Surface) -> u32 {
    if surface.is_mirrored() { MIRRORED } else { 0 }
}

/// Creates the record of each surface. Emitter indices remain unset.
pub(super) fn records(scene: &Scene, textures: &Textures) -> Vec<Record> {
    let surfaces = scene.surface_ids().map(|id| {
        let (surface, material) = (scene.surface(id), scene.material_of(id));
        let (alpha, alpha_threshold) = match material.alpha {
            AlphaMode::Opaque => (0, 0.0),
            AlphaMode::Mask(threshold) => (MASK, threshold),
            AlphaMode::Blend => (BLEND, 0.0),
        };
        let tints = if material.tints { TINTS } else { 0 };
        let passable = if material.can_be_passed() { PASSABLE } else { 0 };
        let sides = if surface.sides == Sides::Both { BOTH_SIDES } else { 0 };
        let mirrored = mirrored(surface);
        let colored = if scene.mesh_of(id).colors.is_empty() { 0 } else { HAS_COLORS };
        let glass = material.solid_glass();
        let lightmap = scene.lightmap_of(id);
        let page = lightmap.map(|place| TextureRef::new(place.page).with_channel(UvChannel::Uv1));
        let lit = if lightmap.is_some_and(|place| place.is_direct_too) { LIT_DIRECTLY } else { 0 };
        Record {
            base_color: material.base_color.to_array(),
            emission: material.emission.to_array(),
            metallic: material.metallic,
            reflectance: material.reflectance.to_array(),
            roughness: material.perceptual_roughness,
            padding_before: [0; 2],
            alpha_threshold,
            flags: alpha | sides | mirrored | lit | colored | tints | passable,
            absorption: glass.map_or([0.0; 3], |glass| glass.absorption.to_array()),
            transmission: glass.map_or(0.0, |glass| glass.transmission),
            diffuse_transmission_color: material.diffuse_transmission_color.to_array(),
            diffuse_transmission: material.diffuse_transmission,
            textures: material.textures().map(|reference| textures.record(scene, reference)),
            lightmap: textures.words(scene, page),
            lightmap_corner: lightmap.map_or([0.0; 2], |place| place.corner.to_array()),
            lightmap_size: lightmap.map_or([0.0; 2], |place| place.size.to_array()),
            emitter: NONE,
            ior: glass.map_or(1.0, |glass| glass.ior),
            normal_scale: material.normal_scale,
            clearcoat: material.clearcoat,
            clearcoat_roughness: material.clearcoat_perceptual_roughness,
            pane: material.transmission,
            padding: [0; 2],
            placement: Placement::default(),
        }
    });
    surfaces.collect()
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    Record as Surface {
        base_color, emission, metallic, reflectance, roughness, padding_before, alpha_threshold, flags, absorption,
        transmission, diffuse_transmission_color, diffuse_transmission, textures, lightmap, lightmap_corner,
        lightmap_size, emitter, ior, normal_scale, clearcoat, clearcoat_roughness, pane, padding, placement
    }
}
