//! Materials and their textures.

use std::sync::Arc;

use glam::{Affine2, Vec2, Vec3, Vec4};
use gltf::json::extensions::texture::TextureTransform;
use gltf::json::material::{AlphaMode as JsonAlphaMode, Material as JsonMaterial, NormalTexture};
use gltf::json::texture::Info;
use gltf::json::validation::Checked;
use serde_json::Value;

use super::container::Document;
use super::name_or;
use super::specular_glossiness::{self, Conversion};
use super::textures::{self, Model, Wanted};
use crate::scene::{AlphaMode, Glass, Material, Problem, TEXTURE_SLOTS, TextureId, TextureRef, UvChannel, UvSets};
use crate::scene_files::images::ColorSpace;
use crate::scene_files::source::Source;
use crate::scene_files::{Parsed, Purpose};

/// Default alpha threshold of glTF.
const DEFAULT_CUTOFF: f32 = 0.5;

const DIFFUSE_TRANSMISSION: &str = "KHR_materials_diffuse_transmission";

/// Adds all materials of the document, in its order, and their textures.
pub async fn read(document: &Document, source: &Source, purpose: Purpose, parsed: &mut Parsed) {
    let mut wanted = Wanted::of(document);
    let materials: Vec<(Material, [Option<usize>; TEXTURE_SLOTS])> = document
        .root
        .materials
        .iter()
        .enumerate()
        .map(|(index, material)| {
            let name = name_or(material.name.as_ref(), "Material", index);
            convert(material, name, purpose, &mut wanted, &mut parsed.warnings)
        })
        .collect();

    let ids = textures::load(&wanted, document, source, &mut parsed.scene.textures).await;
    for (mut material, requests) in materials {
        let name = material.name.clone();
        // A material may use the same texture for several properties.
        let mut reported = Vec::new();
        let mut has_lost_specular = false;
        for (slot, request) in material.textures_mut().into_iter().zip(requests) {
            let (Some(reference), Some(request)) = (slot.as_mut(), request) else { continue };
            match &ids[request] {
                Ok(id) => reference.texture = *id,
                Err(missing) => {
                    *slot = None;
                    has_lost_specular |= wanted.is_specular_tint(request);
                    let problem = Problem::MissingTexture {
                        material: name.clone(),
                        texture: missing.name.clone(),
                        reason: missing.reason.clone(),
                    };
                    if !reported.contains(&problem) {
                        reported.push(problem);
                    }
                }
            }
        }
        parsed.warnings.extend(reported);
        if has_lost_specular {
            material.reflectance = Material::default().reflectance;
        }
        parsed.scene.materials.push(material);
    }
}

/// Returns glTF's material for primitives without one. With glTF's default metalness of 1 it is a metal.
pub fn default_material(metallic: f32) -> Material {
    Material { name: "glTF default".to_owned(), metallic, perceptual_roughness: 1.0, ..Material::default() }
}

/// Indices in the order of [`Material::textures_mut`].
const BASE_COLOR: usize = 0;
const METALLIC_ROUGHNESS: usize = 1;
const SPECULAR_TINT: usize = 8;

/// Reference of a material to a texture.
struct Use {
    texture: usize,
    tex_coord: u32,
    transform: Option<TextureTransform>,
    space: ColorSpace,
    /// Recipe of a texture that is computed from others.
    model: Option<Model>,
}

impl Use {
    /// Returns the set of texture coordinates and their transform.
    fn layout(&self) -> (u32, Affine2) {
        let moved = self.transform.as_ref().and_then(|transform| transform.tex_coord);
        (moved.unwrap_or(self.tex_coord), transform(self))
    }

    fn of(info: &Info, space: ColorSpace) -> Self {
        let transform = info.extensions.as_ref().and_then(|extensions| extensions.texture_transform.clone());
        Self { texture: info.index.value(), tex_coord: info.tex_coord, transform, space, model: None }
    }

    fn of_normals(normals: &NormalTexture) -> Self {
        let extension = |name: &str| normals.extensions.as_ref()?.others.get(name).cloned();
        let transform = extension("KHR_texture_transform").and_then(|value| serde_json::from_value(value).ok());
        let (texture, tex_coord) = (normals.index.value(), normals.tex_coord);
        Self { texture, tex_coord, transform, space: ColorSpace::Linear, model: None }
    }
}

/// Converts a material. Its texture ids are set once the textures are decoded.
fn convert(
    material: &JsonMaterial,
    name: String,
    purpose: Purpose,
    wanted: &mut Wanted,
    warnings: &mut Vec<Problem>,
) -> (Material, [Option<usize>; TEXTURE_SLOTS]) {
    let uses = uses(material, &name, purpose, warnings);
    let mut requests = [None; TEXTURE_SLOTS];
    let mut references = [None; TEXTURE_SLOTS];
    for (slot, texture_info) in uses.iter().enumerate() {
        let Some(texture_info) = texture_info else { continue };
        requests[slot] = match &texture_info.model {
            Some(model) => wanted.add_made(model),
            None => Some(wanted.add(texture_info.texture, texture_info.space)),
        };
        let place = TextureRef::new(TextureId(0)).with_transform(transform(texture_info));
        references[slot] = Some(place.with_channel(channel(texture_info, &name, warnings)));
    }
    let converted = Material { name, drawn_uv: drawn_uv(material), ..without_textures(material) };
    let transmission = transmission(material);
    let mut converted = match glass(material, transmission) {
        Some(glass) => converted.with_glass(glass),
        None => converted.with_transmission(transmission),
    };
    for (slot, reference) in converted.textures_mut().into_iter().zip(references) {
        *slot = reference;
    }
    (converted, requests)
}

/// Returns the textures of a material that matter, in the order of [`Material::textures_mut`]. All others are neither
/// decoded nor reported as missing.
fn uses(
    material: &JsonMaterial,
    name: &str,
    purpose: Purpose,
    warnings: &mut Vec<Problem>,
) -> [Option<Use>; TEXTURE_SLOTS] {
    let (colors, numbers) = (|info| Use::of(info, ColorSpace::Srgb), |info| Use::of(info, ColorSpace::Linear));
    let pbr = &material.pbr_metallic_roughness;
    let has_factors = pbr.metallic_factor.0 > 0.0 || pbr.roughness_factor.0 > 0.0;
    let glow = material.emissive_texture.as_ref().filter(|_| material.emissive_factor.0 != [0.0; 3]);
    let normals = material.normal_texture.as_ref().filter(|_| purpose == Purpose::Picture);
    let coat = extension(material, "KHR_materials_clearcoat").filter(|_| clearcoat(material) > 0.0);
    let coat = coat.as_ref();
    if purpose == Purpose::Picture && texture_info(coat, "clearcoatNormalTexture").is_some() {
        warnings.push(Problem::IgnoredTexture {
            material: name.to_owned(),
            texture: "clearcoatNormalTexture".to_owned(),
            reason: "a clear coat has the bumps of what is below it".to_owned(),
        });
    }
    let rough_coat = coat.filter(|_| clearcoat_roughness(material) > 0.0);
    let pane = material.extensions.as_ref().and_then(|extensions| extensions.transmission.as_ref());
    let specular = extension(material, "KHR_materials_specular");
    let pane = pane.filter(|_| transmission(material) > 0.0);
    let translucent = extension(material, DIFFUSE_TRANSMISSION);
    let translucent = translucent.filter(|extension| diffuse_transmission(extension) > 0.0);
    let mut uses = [
        pbr.base_color_texture.as_ref().map(colors),
        pbr.metallic_roughness_texture.as_ref().filter(|_| has_factors).map(numbers),
        glow.map(colors),
        normals.map(Use::of_normals),
        texture_info(coat, "clearcoatTexture").as_ref().map(numbers),
        texture_info(rough_coat, "clearcoatRoughnessTexture").as_ref().map(numbers),
        pane.and_then(|pane| pane.transmission_texture.as_ref()).map(numbers),
        texture_info(specular.as_ref(), "specularTexture").as_ref().map(numbers),
        texture_info(specular.as_ref(), "specularColorTexture").as_ref().map(colors),
        texture_info(translucent.as_ref(), "diffuseTransmissionTexture").as_ref().map(numbers),
        texture_info(translucent.as_ref(), "diffuseTransmissionColorTexture").as_ref().map(colors),
    ];
    if let Some(model) = extension(material, specular_glossiness::NAME) {
        use_specular_glossiness(model, &mut uses, name, warnings);
    }
    uses
}

/// Adds the textures that are computed from a specular and glossiness texture.
fn use_specular_glossiness(
    model: Value,
    uses: &mut [Option<Use>; TEXTURE_SLOTS],
    name: &str,
    warnings: &mut Vec<Problem>,
) {
    let Some(texture) = texture_info(Some(&model), specular_glossiness::TEXTURE) else { return };
    let extension = Arc::new(model);
    let made = |info: &Info, space, conversion| {
        let model = Some(Model { conversion, extension: extension.clone() });
        Some(Use { model, ..Use::of(info, space) })
    };
    uses[METALLIC_ROUGHNESS] = made(&texture, ColorSpace::Srgb, Conversion::Roughness);
    uses[SPECULAR_TINT] = made(&texture, ColorSpace::Srgb, Conversion::SpecularTint);
    let diffuse = texture_info(Some(&extension), specular_glossiness::DIFFUSE_TEXTURE);
    let base = diffuse.as_ref().unwrap_or(&texture);
    let (base, laid) = (made(base, ColorSpace::Srgb, Conversion::BaseColor), Use::of(&texture, ColorSpace::Srgb));
    if base.as_ref().is_some_and(|base| base.layout() == laid.layout()) {
        uses[BASE_COLOR] = base;
    } else {
        warnings.push(Problem::IgnoredTexture {
            material: name.to_owned(),
            texture: specular_glossiness::TEXTURE.to_owned(),
            reason: "for the diffuse color, which has other texture coordinates".to_owned(),
        });
    }
}

/// Converts a material without its textures.
fn without_textures(material: &JsonMaterial) -> Material {
    let pbr = &material.pbr_metallic_roughness;
    let strength = material.extensions.as_ref().and_then(|extensions| extensions.emissive_strength.as_ref());
    let strength = strength.map_or(1.0, |strength| strength.emissive_strength.0);
    let translucent = extension(material, DIFFUSE_TRANSMISSION);
    let cutoff = material.alpha_cutoff.map_or(DEFAULT_CUTOFF, |cutoff| cutoff.0);
    let is_unlit = extension(material, "KHR_materials_unlit").is_some();
    Material {
        base_color: Vec4::from_array(pbr.base_color_factor.0),
        metallic: pbr.metallic_factor.0,
        perceptual_roughness: pbr.roughness_factor.0,
        reflectance: reflectance(material),
        // An unlit material has its base color and no emission.
        emission: if is_unlit { Vec3::ZERO } else { Vec3::from_array(material.emissive_factor.0) * strength },
        is_unlit,
        normal_scale: material.normal_texture.as_ref().map_or(1.0, |normals| normals.scale),
        clearcoat: clearcoat(material),
        clearcoat_perceptual_roughness: clearcoat_roughness(material),
        diffuse_transmission: translucent.as_ref().map_or(0.0, diffuse_transmission),
        diffuse_transmission_color: color(translucent.as_ref(), "diffuseTransmissionColorFactor").unwrap_or(Vec3::ONE),
        alpha: match material.alpha_mode {
            Checked::Valid(JsonAlphaMode::Mask) => AlphaMode::Mask(cutoff),
            Checked::Valid(JsonAlphaMode::Blend) => AlphaMode::Blend,
            _ => AlphaMode::Opaque,
        },
        ..Material::default()
    }
}

/// Returns the part of the diffuse light that KHR_materials_diffuse_transmission lets through.
fn diffuse_transmission(extension: &Value) -> f32 {
    number(Some(extension), "diffuseTransmissionFactor").unwrap_or(0.0).clamp(0.0, 1.0)
}

/// Returns the strength of the clearcoat by KHR_materials_clearcoat, from 0 to 1.
fn clearcoat(material: &JsonMaterial) -> f32 {
    number(extension(material, "KHR_materials_clearcoat").as_ref(), "clearcoatFactor").unwrap_or(0.0)
}

fn clearcoat_roughness(material: &JsonMaterial) -> f32 {
    number(extension(material, "KHR_materials_clearcoat").as_ref(), "clearcoatRoughnessFactor").unwrap_or(0.0)
}

/// Returns a material's extension as JSON. The `gltf` crate parses some extensions into types of its own, depending on
/// its enabled features, which Bevy may change.
fn extension(material: &JsonMaterial, name: &str) -> Option<Value> {
    let extensions = material.extensions.as_ref()?;
    let typed = || serde_json::to_value(extensions).ok()?.get(name).cloned();
    extensions.others.get(name).cloned().or_else(typed)
}

fn number(extension: Option<&Value>, key: &str) -> Option<f32> {
    Some(extension?.get(key)?.as_f64()? as f32)
}

/// Returns a texture that an extension refers to.
fn texture_info(extension: Option<&Value>, key: &str) -> Option<Info> {
    serde_json::from_value(extension?.get(key)?.clone()).ok()
}

fn color(extension: Option<&Value>, key: &str) -> Option<Vec3> {
    let channels = extension?.get(key)?.as_array()?.iter();
    let channels: Vec<f32> = channels.filter_map(|channel| Some(channel.as_f64()? as f32)).collect();
    <[f32; 3]>::try_from(channels).ok().map(Vec3::from)
}

/// Default index of refraction in glTF, for a reflectance of 4 % at normal incidence.
const DEFAULT_IOR: f32 = 1.5;

fn ior(material: &JsonMaterial) -> f32 {
    let given = material.extensions.as_ref().and_then(|extensions| extensions.ior.as_ref());
    let ior = given.map_or(DEFAULT_IOR, |given| given.ior.0);
    // Zero means a surface that reflects all light.
    if ior >= 1.0 && ior.is_finite() { ior } else { DEFAULT_IOR }
}

/// Returns Bevy's reflectance from KHR_materials_ior and KHR_materials_specular. A value of 0.5 is 4 % at normal
/// incidence.
fn reflectance(material: &JsonMaterial) -> Vec3 {
    let specular = extension(material, "KHR_materials_specular");
    let factor = number(specular.as_ref(), "specularFactor").unwrap_or(1.0);
    let tint = color(specular.as_ref(), "specularColorFactor").unwrap_or(Vec3::ONE);
    let ior = ior(material);
    // At normal incidence, ((n - 1) / (n + 1))^2 is reflected, which is 0.16 times the square of Bevy's reflectance.
    tint * (2.5 * (ior - 1.0) / (ior + 1.0) * factor)
}

/// Returns the glass of a solid, if KHR_materials_volume has a thickness.
fn glass(material: &JsonMaterial, transmission: f32) -> Option<Glass> {
    let volume = material.extensions.as_ref()?.volume.as_ref().filter(|volume| volume.thickness_factor.0 > 0.0)?;
    let absorption = Glass::absorption_of(Vec3::from(volume.attenuation_color.0), volume.attenuation_distance.0);
    Some(Glass { transmission, ior: ior(material), absorption })
}

/// Returns the transmitted part of the light by KHR_materials_transmission, from 0 to 1.
fn transmission(material: &JsonMaterial) -> f32 {
    let extension = material.extensions.as_ref().and_then(|extensions| extensions.transmission.as_ref());
    let factor = extension.map_or(0.0, |transmission| transmission.transmission_factor.0);
    if factor.is_finite() { factor.clamp(0.0, 1.0) } else { 0.0 }
}

fn channel(texture_info: &Use, material: &str, warnings: &mut Vec<Problem>) -> UvChannel {
    let (set, _) = texture_info.layout();
    UvChannel::from_index(set).unwrap_or_else(|| {
        warnings.push(Problem::IgnoredTextureCoordinates { material: material.to_owned(), set });
        UvChannel::Uv0
    })
}

/// Returns all sets of texture coordinates that a renderer reads for a material, except for occlusion: baked light has
/// it already.
fn drawn_uv(material: &JsonMaterial) -> UvSets {
    let mut sets = UvSets::default();
    if let Ok(Value::Object(mut json)) = serde_json::to_value(material) {
        json.remove("occlusionTexture");
        collect_uv(&Value::Object(json), &mut sets);
    }
    sets
}

fn collect_uv(json: &Value, sets: &mut UvSets) {
    let Value::Object(members) = json else { return };
    for (key, value) in members {
        if key.ends_with("Texture") && value.get("index").is_some() {
            let moved = value.pointer("/extensions/KHR_texture_transform/texCoord");
            let set = moved.or_else(|| value.get("texCoord")).and_then(Value::as_u64).unwrap_or(0);
            let known = u32::try_from(set).ok().and_then(UvChannel::from_index);
            sets.insert(known.unwrap_or_default());
        } else {
            collect_uv(value, sets);
        }
    }
}

/// Returns a texture's KHR_texture_transform: scale, rotation, offset. The rotation follows Bevy's convention.
fn transform(texture_info: &Use) -> Affine2 {
    let affine = texture_info.transform.as_ref().map_or(Affine2::IDENTITY, |transform| {
        let (scale, offset) = (Vec2::from_array(transform.scale.0), Vec2::from_array(transform.offset.0));
        Affine2::from_scale_angle_translation(scale, -transform.rotation.0, offset)
    });
    if affine.is_finite() { affine } else { Affine2::IDENTITY }
}
