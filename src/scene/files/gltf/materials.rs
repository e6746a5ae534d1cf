//! Materials and the textures that they need.

use std::sync::Arc;

use glam::{Affine2, Vec2, Vec3, Vec4};
use gltf::json::material::{AlphaMode as JsonAlphaMode, Material as JsonMaterial};
use gltf::json::texture::{Info, WrappingMode};
use gltf::json::validation::Checked;
use rayon::prelude::*;
use serde_json::Value;

use super::accessors::Accessors;
use super::container::Document;
use super::{lookup, name_or};
use crate::scene::files::Loaded;
use crate::scene::files::pictures::{self, ColorSpace};
use crate::scene::files::source::{Source, describe_uri};
use crate::scene::{AlphaMode, Material, Problem, Texture, TextureId, TextureRef, UvChannel, Wrap};

/// glTF's default alpha threshold.
const DEFAULT_CUTOFF: f32 = 0.5;

/// Adds all materials of the document, in its order, and their textures.
pub fn read(document: &Document, source: &Source, loaded: &mut Loaded) {
    let mut wanted = Wanted::default();
    let materials: Vec<(Material, [Option<usize>; 3])> = document
        .root
        .materials
        .iter()
        .enumerate()
        .map(|(index, material)| {
            let name = name_or(material.name.as_ref(), "Material", index);
            convert(material, name, &mut wanted, &mut loaded.warnings)
        })
        .collect();

    // Decoding is the slowest part of loading; the order of the textures does not depend on which is done first.
    let accessors_of = || Accessors::new(document);
    let decoded: Vec<Result<Texture, MissingPicture>> =
        wanted.0.par_iter().map_init(accessors_of, |accessors, key| decode(key, document, source, accessors)).collect();
    let ids: Vec<Result<TextureId, MissingPicture>> = decoded
        .into_iter()
        .map(|texture| {
            let id = TextureId::from_index(loaded.scene.textures.len());
            loaded.scene.textures.push(Arc::new(texture?));
            Ok(id)
        })
        .collect();
    for (mut material, wishes) in materials {
        let slots = [
            &mut material.base_color_texture,
            &mut material.metallic_roughness_texture,
            &mut material.emission_texture,
        ];
        for (slot, wish) in slots.into_iter().zip(wishes) {
            let (Some(reference), Some(wish)) = (slot.as_mut(), wish) else { continue };
            match &ids[wish] {
                Ok(id) => reference.texture = *id,
                Err(missing) => {
                    *slot = None;
                    loaded.warnings.push(Problem::MissingTexture {
                        material: material.name.clone(),
                        texture: missing.name.clone(),
                        reason: missing.reason.clone(),
                    });
                }
            }
        }
        loaded.scene.materials.push(material);
    }
}

/// glTF's material for primitives that have none: a metal.
pub fn default_material() -> Material {
    Material { name: "glTF default".to_owned(), metallic: 1.0, perceptual_roughness: 1.0, ..Material::default() }
}

/// A picture as one material reads it. The same image may be wanted in more than one way.
#[derive(Clone, PartialEq)]
struct PictureKey {
    texture: usize,
    space: ColorSpace,
}

/// All pictures that materials want, each once.
#[derive(Default)]
struct Wanted(Vec<PictureKey>);

impl Wanted {
    fn add(&mut self, key: PictureKey) -> usize {
        self.0.iter().position(|known| *known == key).unwrap_or_else(|| {
            self.0.push(key);
            self.0.len() - 1
        })
    }
}

struct MissingPicture {
    name: String,
    reason: String,
}

/// Translates a material; its texture ids are filled in once the wanted pictures are decoded.
fn convert(
    material: &JsonMaterial,
    name: String,
    wanted: &mut Wanted,
    warnings: &mut Vec<Problem>,
) -> (Material, [Option<usize>; 3]) {
    let pbr = &material.pbr_metallic_roughness;
    let uses = [
        (pbr.base_color_texture.as_ref(), ColorSpace::Srgb),
        (pbr.metallic_roughness_texture.as_ref(), ColorSpace::Linear),
        (material.emissive_texture.as_ref(), ColorSpace::Srgb),
    ];
    // A texture that cannot matter is not worth decoding, nor worth a warning when it is missing.
    let has_factors = pbr.metallic_factor.0 > 0.0 || pbr.roughness_factor.0 > 0.0;
    let matters = [true, has_factors, material.emissive_factor.0 != [0.0; 3]];
    let mut wishes = [None; 3];
    let mut references = [None; 3];
    for (slot, (info, space)) in uses.into_iter().enumerate() {
        let Some(info) = info.filter(|_| matters[slot]) else { continue };
        wishes[slot] = Some(wanted.add(PictureKey { texture: info.index.value(), space }));
        references[slot] = Some(TextureRef { texture: TextureId(0), channel: channel(info, &name, warnings) });
    }
    let transforms: Vec<Affine2> =
        uses.iter().zip(matters).filter_map(|((info, _), matters)| info.filter(|_| matters)).map(transform).collect();
    let uv_transform = transforms.first().copied().unwrap_or(Affine2::IDENTITY);
    if transforms.iter().any(|other| *other != uv_transform) {
        warnings.push(Problem::DifferentTextureTransforms { material: name.clone() });
    }
    let strength = material.extensions.as_ref().and_then(|extensions| extensions.emissive_strength.as_ref());
    let strength = strength.map_or(1.0, |strength| strength.emissive_strength.0);
    let cutoff = material.alpha_cutoff.map_or(DEFAULT_CUTOFF, |cutoff| cutoff.0);
    let [base_color_texture, metallic_roughness_texture, emission_texture] = references;
    let converted = Material {
        name,
        base_color: Vec4::from_array(pbr.base_color_factor.0),
        base_color_texture,
        metallic: pbr.metallic_factor.0,
        perceptual_roughness: pbr.roughness_factor.0,
        metallic_roughness_texture,
        reflectance: reflectance(material),
        emission: Vec3::from_array(material.emissive_factor.0) * strength,
        emission_texture,
        alpha: match material.alpha_mode {
            Checked::Valid(JsonAlphaMode::Mask) => AlphaMode::Mask(cutoff),
            Checked::Valid(JsonAlphaMode::Blend) => AlphaMode::Blend,
            _ => AlphaMode::Opaque,
        },
        uv_transform,
    };
    (converted.with_transmission(transmission(material)), wishes)
}

/// Bevy's reflectance: what KHR_materials_specular says, of which one is the four percent of most materials.
fn reflectance(material: &JsonMaterial) -> Vec3 {
    let specular = material.extensions.as_ref().and_then(|extensions| extensions.others.get("KHR_materials_specular"));
    let number = |value: &Value| value.as_f64().map(|number| number as f32);
    let factor = specular.and_then(|specular| number(specular.get("specularFactor")?)).unwrap_or(1.0);
    let tint = specular.and_then(|specular| {
        let channels: Vec<f32> = specular.get("specularColorFactor")?.as_array()?.iter().filter_map(number).collect();
        <[f32; 3]>::try_from(channels).ok().map(Vec3::from)
    });
    tint.unwrap_or(Vec3::ONE) * (0.5 * factor)
}

/// The part of the light that KHR_materials_transmission lets through. Glass that has no thickness is meant.
fn transmission(material: &JsonMaterial) -> f32 {
    let extension = material.extensions.as_ref().and_then(|extensions| extensions.transmission.as_ref());
    let factor = extension.map_or(0.0, |transmission| transmission.transmission_factor.0);
    if factor.is_finite() { factor.clamp(0.0, 1.0) } else { 0.0 }
}

fn channel(info: &Info, material: &str, warnings: &mut Vec<Problem>) -> UvChannel {
    let transform = info.extensions.as_ref().and_then(|extensions| extensions.texture_transform.as_ref());
    match transform.and_then(|transform| transform.tex_coord).unwrap_or(info.tex_coord) {
        0 => UvChannel::Uv0,
        1 => UvChannel::Uv1,
        other => {
            warnings.push(Problem::IgnoredAttribute {
                mesh: material.to_owned(),
                attribute: format!("TEXCOORD_{other}"),
                reason: "only the first two are read; TEXCOORD_0 is used".to_owned(),
            });
            UvChannel::Uv0
        }
    }
}

/// A texture's KHR_texture_transform: scaled, turned, moved. Turned the way Bevy does it.
fn transform(info: &Info) -> Affine2 {
    let transform = info.extensions.as_ref().and_then(|extensions| extensions.texture_transform.as_ref());
    let affine = transform.map_or(Affine2::IDENTITY, |transform| {
        let (scale, offset) = (Vec2::from_array(transform.scale.0), Vec2::from_array(transform.offset.0));
        Affine2::from_scale_angle_translation(scale, -transform.rotation.0, offset)
    });
    if affine.is_finite() { affine } else { Affine2::IDENTITY }
}

fn decode(
    key: &PictureKey,
    document: &Document,
    source: &Source,
    accessors: &Accessors,
) -> Result<Texture, MissingPicture> {
    let root = &document.root;
    let nameless = |reason: &str| MissingPicture { name: format!("Texture{}", key.texture), reason: reason.to_owned() };
    let texture = root.textures.get(key.texture).ok_or_else(|| nameless("the file has no such texture"))?;
    let image = lookup(&root.images, texture.source).ok_or_else(|| nameless("it has no image of a known format"))?;
    let uri = image.uri.as_deref();
    let name = image
        .name
        .clone()
        .filter(|name| !name.is_empty())
        .or_else(|| uri.map(|uri| describe_uri(uri).to_owned()))
        .unwrap_or_else(|| format!("Image{}", texture.source.value()));
    let sampler = texture.sampler.and_then(|sampler| lookup(&root.samplers, sampler));
    let wrap = sampler.map_or([Wrap::Repeat; 2], |sampler| [sampler.wrap_s, sampler.wrap_t].map(wrap_mode));
    let decode = |bytes: &[u8]| pictures::decode(&name, bytes, key.space, wrap);
    let decoded = match (uri, image.buffer_view) {
        (Some(uri), _) => source.fetch(uri).map_err(|error| error.to_string()).and_then(|bytes| decode(&bytes)),
        (None, Some(view)) => accessors.view(view).and_then(decode),
        (None, None) => Err("it has neither an address nor data".to_owned()),
    };
    decoded.map_err(|reason| MissingPicture { name: name.clone(), reason })
}

fn wrap_mode(mode: Checked<WrappingMode>) -> Wrap {
    match mode {
        Checked::Valid(WrappingMode::ClampToEdge) => Wrap::Clamp,
        Checked::Valid(WrappingMode::MirroredRepeat) => Wrap::Mirror,
        _ => Wrap::Repeat,
    }
}
