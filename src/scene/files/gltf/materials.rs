//! Materials and the textures that they need.

use std::collections::HashMap;
use std::sync::Arc;

use glam::{Affine2, Vec2, Vec3, Vec4};
use gltf::json::Root;
use gltf::json::extensions::texture::TextureTransform;
use gltf::json::material::{AlphaMode as JsonAlphaMode, Material as JsonMaterial, NormalTexture};
use gltf::json::texture::{Info, Texture as JsonTexture, WrappingMode};
use gltf::json::validation::Checked;
use rayon::prelude::*;
use serde_json::Value;

use super::accessors::Accessors;
use super::container::Document;
use super::{lookup, name_or};
use crate::input;
use crate::scene::files::pictures::{self, ColorSpace};
use crate::scene::files::source::{Source, describe_uri};
use crate::scene::files::{Loaded, Purpose};
use crate::scene::key;
use crate::scene::{
    AlphaMode, Glass, Material, PICTURES, Problem, Texture, TextureId, TextureRef, UvChannel, UvSets, Wrap,
};

/// glTF's default alpha threshold.
const DEFAULT_CUTOFF: f32 = 0.5;

const DIFFUSE_TRANSMISSION: &str = "KHR_materials_diffuse_transmission";

/// Adds all materials of the document, in its order, and their textures.
pub fn read(document: &Document, source: &Source, purpose: Purpose, loaded: &mut Loaded) {
    let mut wanted = Wanted::of(document);
    let materials: Vec<(Material, [Option<usize>; PICTURES])> = document
        .root
        .materials
        .iter()
        .enumerate()
        .map(|(index, material)| {
            let name = name_or(material.name.as_ref(), "Material", index);
            convert(material, name, purpose, &mut wanted, &mut loaded.warnings)
        })
        .collect();

    // Decoding is the slowest part of loading; the order of the textures does not depend on which is done first.
    let accessors_of = || Accessors::new(document);
    let decoded: Vec<Result<Texture, MissingPicture>> = wanted
        .pictures
        .par_iter()
        .map_init(accessors_of, |accessors, key| decode(key, document, source, accessors))
        .collect();
    let ids: Vec<Result<TextureId, MissingPicture>> = decoded
        .into_iter()
        .map(|texture| {
            let id = TextureId::from_index(loaded.scene.textures.len());
            loaded.scene.textures.push(Arc::new(texture?));
            Ok(id)
        })
        .collect();
    for (mut material, wishes) in materials {
        let name = material.name.clone();
        // A material may want the same picture for more than one thing.
        let mut said = Vec::new();
        for (slot, wish) in material.textures_mut().into_iter().zip(wishes) {
            let (Some(reference), Some(wish)) = (slot.as_mut(), wish) else { continue };
            match &ids[wish] {
                Ok(id) => reference.texture = *id,
                Err(missing) => {
                    *slot = None;
                    let problem = Problem::MissingTexture {
                        material: name.clone(),
                        texture: missing.name.clone(),
                        reason: missing.reason.clone(),
                    };
                    if !said.contains(&problem) {
                        said.push(problem);
                    }
                }
            }
        }
        loaded.warnings.extend(said);
        loaded.scene.materials.push(material);
    }
}

/// glTF's material for primitives that have none: a metal, unless another default is asked for.
pub fn default_material(metallic: f32) -> Material {
    Material { name: "glTF default".to_owned(), metallic, perceptual_roughness: 1.0, ..Material::default() }
}

/// A texture as one material reads it. The same texture may be wanted in more than one way.
#[derive(Clone)]
struct PictureKey {
    texture: usize,
    space: ColorSpace,
}

/// The place of a picture's bytes.
#[derive(PartialEq, Eq, Hash)]
enum Place<'a> {
    Address(&'a str),
    View {
        buffer: usize,
        offset: u64,
        length: u64,
    },
    /// Nowhere: a texture of this number that has no picture.
    Missing(usize),
}

/// All pictures that materials want, each once however many textures and images show it.
struct Wanted<'a> {
    root: &'a Root,
    pictures: Vec<PictureKey>,
    known: HashMap<(Place<'a>, ColorSpace, [Wrap; 2]), usize>,
}

impl<'a> Wanted<'a> {
    fn of(document: &'a Document) -> Self {
        Self { root: &document.root, pictures: Vec::new(), known: HashMap::new() }
    }

    fn add(&mut self, key: PictureKey) -> usize {
        let texture = self.root.textures.get(key.texture);
        let place = texture.and_then(|texture| self.place(texture)).unwrap_or(Place::Missing(key.texture));
        let wrap = texture.map_or_else(Default::default, |texture| wrap(self.root, texture));
        *self.known.entry((place, key.space, wrap)).or_insert_with(|| {
            self.pictures.push(key);
            self.pictures.len() - 1
        })
    }

    fn place(&self, texture: &JsonTexture) -> Option<Place<'a>> {
        let image = lookup(&self.root.images, texture.source)?;
        if let Some(uri) = &image.uri {
            return Some(Place::Address(uri));
        }
        let view = lookup(&self.root.buffer_views, image.buffer_view?)?;
        let offset = view.byte_offset.unwrap_or_default().0;
        Some(Place::View { buffer: view.buffer.value(), offset, length: view.byte_length.0 })
    }
}

fn wrap(root: &Root, texture: &JsonTexture) -> [Wrap; 2] {
    let sampler = texture.sampler.and_then(|sampler| lookup(&root.samplers, sampler));
    sampler.map_or([Wrap::Repeat; 2], |sampler| [sampler.wrap_s, sampler.wrap_t].map(wrap_mode))
}

struct MissingPicture {
    name: String,
    reason: String,
}

/// A picture as a material refers to it.
struct Use {
    texture: usize,
    tex_coord: u32,
    transform: Option<TextureTransform>,
    space: ColorSpace,
}

impl Use {
    fn of(info: &Info, space: ColorSpace) -> Self {
        let transform = info.extensions.as_ref().and_then(|extensions| extensions.texture_transform.clone());
        Self { texture: info.index.value(), tex_coord: info.tex_coord, transform, space }
    }

    fn of_normals(normals: &NormalTexture) -> Self {
        let extension = |name: &str| normals.extensions.as_ref()?.others.get(name).cloned();
        let transform = extension("KHR_texture_transform").and_then(|value| serde_json::from_value(value).ok());
        Self { texture: normals.index.value(), tex_coord: normals.tex_coord, transform, space: ColorSpace::Linear }
    }
}

/// Translates a material; its texture ids are filled in once the wanted pictures are decoded.
fn convert(
    material: &JsonMaterial,
    name: String,
    purpose: Purpose,
    wanted: &mut Wanted,
    warnings: &mut Vec<Problem>,
) -> (Material, [Option<usize>; PICTURES]) {
    let uses = uses(material, &name, purpose, warnings);
    let mut wishes = [None; PICTURES];
    let mut references = [None; PICTURES];
    for (slot, picture) in uses.iter().enumerate() {
        let Some(picture) = picture else { continue };
        wishes[slot] = Some(wanted.add(PictureKey { texture: picture.texture, space: picture.space }));
        let place = TextureRef::new(TextureId(0)).with_transform(transform(picture));
        references[slot] = Some(place.with_channel(channel(picture, &name, warnings)));
    }
    let converted = Material { name, drawn_uv: drawn_uv(material), ..without_pictures(material) };
    let transmission = transmission(material);
    let mut converted = match glass(material, transmission) {
        Some(glass) => converted.with_glass(glass),
        None => converted.with_transmission(transmission),
    };
    for (slot, reference) in converted.textures_mut().into_iter().zip(references) {
        *slot = reference;
    }
    (converted, wishes)
}

/// The pictures of a material that matter, in the order of [`Material::textures_mut`]. Others are not worth decoding, nor worth
/// a warning when they are missing.
fn uses(material: &JsonMaterial, name: &str, purpose: Purpose, warnings: &mut Vec<Problem>) -> [Option<Use>; PICTURES] {
    let (colours, numbers) = (|info| Use::of(info, ColorSpace::Srgb), |info| Use::of(info, ColorSpace::Linear));
    let pbr = &material.pbr_metallic_roughness;
    let has_factors = pbr.metallic_factor.0 > 0.0 || pbr.roughness_factor.0 > 0.0;
    let glow = material.emissive_texture.as_ref().filter(|_| material.emissive_factor.0 != [0.0; 3]);
    let normals = material.normal_texture.as_ref().filter(|_| purpose == Purpose::Picture);
    let coat = extension(material, "KHR_materials_clearcoat").filter(|_| clearcoat(material) > 0.0);
    let coat = coat.as_ref();
    if purpose == Purpose::Picture && picture(coat, "clearcoatNormalTexture").is_some() {
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
    for texture in ["diffuseTransmissionTexture", "diffuseTransmissionColorTexture"] {
        if picture(translucent.as_ref(), texture).is_some() {
            warnings.push(Problem::IgnoredTexture {
                material: name.to_owned(),
                texture: texture.to_owned(),
                reason: "its factor alone is used".to_owned(),
            });
        }
    }
    [
        pbr.base_color_texture.as_ref().map(colours),
        pbr.metallic_roughness_texture.as_ref().filter(|_| has_factors).map(numbers),
        glow.map(colours),
        normals.map(Use::of_normals),
        picture(coat, "clearcoatTexture").as_ref().map(numbers),
        picture(rough_coat, "clearcoatRoughnessTexture").as_ref().map(numbers),
        pane.and_then(|pane| pane.transmission_texture.as_ref()).map(numbers),
        picture(specular.as_ref(), "specularTexture").as_ref().map(numbers),
        picture(specular.as_ref(), "specularColorTexture").as_ref().map(colours),
    ]
}

/// A material's numbers.
fn without_pictures(material: &JsonMaterial) -> Material {
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
        // What is unlit has its base color and no emission.
        emission: if is_unlit { Vec3::ZERO } else { Vec3::from_array(material.emissive_factor.0) * strength },
        is_unlit,
        normal_scale: material.normal_texture.as_ref().map_or(1.0, |normals| normals.scale),
        clearcoat: clearcoat(material),
        clearcoat_perceptual_roughness: clearcoat_roughness(material),
        diffuse_transmission: number(translucent.as_ref(), "diffuseTransmissionFactor").unwrap_or(0.0).clamp(0.0, 1.0),
        diffuse_transmission_color: colour(translucent.as_ref(), "diffuseTransmissionColorFactor").unwrap_or(Vec3::ONE),
        alpha: match material.alpha_mode {
            Checked::Valid(JsonAlphaMode::Mask) => AlphaMode::Mask(cutoff),
            Checked::Valid(JsonAlphaMode::Blend) => AlphaMode::Blend,
            _ => AlphaMode::Opaque,
        },
        ..Material::default()
    }
}

/// How much of a material KHR_materials_clearcoat covers.
fn clearcoat(material: &JsonMaterial) -> f32 {
    number(extension(material, "KHR_materials_clearcoat").as_ref(), "clearcoatFactor").unwrap_or(0.0)
}

fn clearcoat_roughness(material: &JsonMaterial) -> f32 {
    number(extension(material, "KHR_materials_clearcoat").as_ref(), "clearcoatRoughnessFactor").unwrap_or(0.0)
}

/// A material's extension. Whether the crate that reads glTF knows it by a type of its own depends on what else is built:
/// Bevy has it know more of them than we do.
fn extension(material: &JsonMaterial, name: &str) -> Option<Value> {
    let extensions = material.extensions.as_ref()?;
    let typed = || serde_json::to_value(extensions).ok()?.get(name).cloned();
    extensions.others.get(name).cloned().or_else(typed)
}

fn number(extension: Option<&Value>, key: &str) -> Option<f32> {
    Some(extension?.get(key)?.as_f64()? as f32)
}

/// A picture that an extension refers to.
fn picture(extension: Option<&Value>, key: &str) -> Option<Info> {
    serde_json::from_value(extension?.get(key)?.clone()).ok()
}

fn colour(extension: Option<&Value>, key: &str) -> Option<Vec3> {
    let channels = extension?.get(key)?.as_array()?.iter();
    let channels: Vec<f32> = channels.filter_map(|channel| Some(channel.as_f64()? as f32)).collect();
    <[f32; 3]>::try_from(channels).ok().map(Vec3::from)
}

/// glTF's index of refraction, which gives most materials their four percent.
const DEFAULT_IOR: f32 = 1.5;

fn ior(material: &JsonMaterial) -> f32 {
    let given = material.extensions.as_ref().and_then(|extensions| extensions.ior.as_ref());
    let ior = given.map_or(DEFAULT_IOR, |given| given.ior.0);
    // Zero stands for a surface that mirrors everything.
    if ior >= 1.0 && ior.is_finite() { ior } else { DEFAULT_IOR }
}

/// Bevy's reflectance: what KHR_materials_ior and KHR_materials_specular say. One half is the four percent.
fn reflectance(material: &JsonMaterial) -> Vec3 {
    let specular = extension(material, "KHR_materials_specular");
    let factor = number(specular.as_ref(), "specularFactor").unwrap_or(1.0);
    let tint = colour(specular.as_ref(), "specularColorFactor").unwrap_or(Vec3::ONE);
    let ior = ior(material);
    // Straight on, ((n - 1) / (n + 1))^2 is mirrored, and 0.16 times the square of the reflectance.
    tint * (2.5 * (ior - 1.0) / (ior + 1.0) * factor)
}

/// What a solid is filled with, where KHR_materials_volume says that there is a solid.
fn glass(material: &JsonMaterial, transmission: f32) -> Option<Glass> {
    let volume = material.extensions.as_ref()?.volume.as_ref().filter(|volume| volume.thickness_factor.0 > 0.0)?;
    let absorption = Glass::absorption_of(Vec3::from(volume.attenuation_color.0), volume.attenuation_distance.0);
    Some(Glass { transmission, ior: ior(material), absorption })
}

/// The part of the light that KHR_materials_transmission lets through.
fn transmission(material: &JsonMaterial) -> f32 {
    let extension = material.extensions.as_ref().and_then(|extensions| extensions.transmission.as_ref());
    let factor = extension.map_or(0.0, |transmission| transmission.transmission_factor.0);
    if factor.is_finite() { factor.clamp(0.0, 1.0) } else { 0.0 }
}

fn channel(picture: &Use, material: &str, warnings: &mut Vec<Problem>) -> UvChannel {
    let moved = picture.transform.as_ref().and_then(|transform| transform.tex_coord);
    let set = moved.unwrap_or(picture.tex_coord);
    UvChannel::from_index(set).unwrap_or_else(|| {
        warnings.push(Problem::IgnoredTextureCoordinates { material: material.to_owned(), set });
        UvChannel::Uv0
    })
}

/// All texture coordinates that a renderer reads for a material, but for occlusion: what is baked has that already.
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

/// A texture's KHR_texture_transform: scaled, turned, moved. Turned the way Bevy does it.
fn transform(picture: &Use) -> Affine2 {
    let affine = picture.transform.as_ref().map_or(Affine2::IDENTITY, |transform| {
        let (scale, offset) = (Vec2::from_array(transform.scale.0), Vec2::from_array(transform.offset.0));
        Affine2::from_scale_angle_translation(scale, -transform.rotation.0, offset)
    });
    if affine.is_finite() { affine } else { Affine2::IDENTITY }
}

fn decode(
    wanted: &PictureKey,
    document: &Document,
    source: &Source,
    accessors: &Accessors,
) -> Result<Texture, MissingPicture> {
    let root = &document.root;
    let nameless =
        |reason: &str| MissingPicture { name: format!("Texture{}", wanted.texture), reason: reason.to_owned() };
    let texture = root.textures.get(wanted.texture).ok_or_else(|| nameless("the file has no such texture"))?;
    let image = lookup(&root.images, texture.source).ok_or_else(|| nameless("it has no image of a known format"))?;
    let uri = image.uri.as_deref();
    let name = image
        .name
        .as_deref()
        .filter(|name| !name.is_empty())
        .map(|name| key::cap(name).into_owned())
        .or_else(|| uri.map(|uri| describe_uri(uri).into_owned()))
        .unwrap_or_else(|| format!("Image{}", texture.source.value()));
    let wrap = wrap(root, texture);
    let decode = |bytes: &[u8]| pictures::decode(&name, bytes, wanted.space, wrap, &source.budget);
    let decoded = match (uri, image.buffer_view) {
        (Some(uri), _) => source
            .fetch(uri, source.budget.at_most(input::LARGEST_PICTURE))
            .map_err(|error| error.to_string())
            .and_then(|bytes| decode(&bytes)),
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
