//! Repair of a document's JSON, so that a fault in one part does not lose the rest.
//!
//! Exporters write `4.0` instead of integers, omit required fields, and damage parts that a bake never reads. Numbers
//! are corrected, fields that cannot be read are dropped, and each loss is reported.

use gltf::json::extensions::scene::khr_lights_punctual::Light;
use gltf::json::{
    Accessor, Buffer, Camera, Image, Material, Mesh, Node, Root, Scene, Texture, buffer, mesh::Primitive,
    texture::Sampler,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{metal, specular_glossiness};
use crate::scene::Problem;

/// Most fields of an object that is repaired field by field. The time grows with the square of their number.
const MAX_MENDED_FIELDS: usize = 64;
/// Largest integer up to which all integers are exact in `f64`.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// A repaired document in the `gltf` crate's types, with the parts that these types would lose.
pub struct Mended {
    pub root: Root,
    /// Animations as unparsed JSON: a damaged one must not make the scene unreadable.
    pub animations: Vec<Value>,
    /// For each material, true if it is a metal only because glTF's default says so.
    pub is_metal_by_omission: Vec<bool>,
    /// `extras` of the asset, the document and the default scene.
    pub extras: Vec<Value>,
    /// True if Blender wrote the file.
    pub is_from_blender: bool,
}

/// Error of a document that cannot be read at all.
pub enum Unreadable {
    /// The document has another version of glTF.
    Version(String),
    /// The document is not glTF.
    Damaged(String),
}

/// Parses a document's text. `default_metallic` replaces the metalness of materials that omit it.
///
/// # Errors
/// When the text is not a JSON object, or is another version of glTF than 2.
pub fn parse(text: &[u8], default_metallic: Option<f32>, warnings: &mut Vec<Problem>) -> Result<Mended, Unreadable> {
    let damaged = |reason: String| Unreadable::Damaged(reason);
    let mut document: Value = serde_json::from_slice(text).map_err(|error| damaged(error.to_string()))?;
    write_integers(&mut document);
    let Value::Object(fields) = &mut document else {
        return Err(damaged("its text is no JSON object".to_owned()));
    };
    let extras = extras_of(fields);
    let generator = fields.get("asset").and_then(|asset| asset.get("generator")).and_then(Value::as_str);
    let is_from_blender = generator.is_some_and(|generator| generator.contains("Blender"));
    check_version(fields, warnings)?;
    let animations = match fields.remove("animations") {
        Some(Value::Array(animations)) => animations,
        _ => Vec::new(),
    };
    // Skinned meshes are recognized by their nodes alone.
    fields.remove("skins");
    items(fields, "materials").for_each(specular_glossiness::rewrite);
    let is_metal_by_omission = items(fields, "materials").map(|material| metal::is_by_omission(material)).collect();
    for material in items(fields, "materials") {
        metal::set_default(material, default_metallic);
    }
    items(fields, "textures").for_each(choose_image);
    let root = match Root::deserialize(&document) {
        Ok(root) => root,
        Err(_) => {
            mend(&mut document, warnings);
            Root::deserialize(&document).map_err(|error| damaged(error.to_string()))?
        }
    };
    Ok(Mended { root, animations, is_metal_by_omission, extras, is_from_blender })
}

/// Replaces floats with integral values by integers, such as `4.0` by `4`.
fn write_integers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|_| number.is_f64()).unwrap_or(0.5);
            let is_integer = float.fract() == 0.0 && float.abs() <= MAX_EXACT_INTEGER;
            if is_integer && !(float == 0.0 && float.is_sign_negative()) {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_integers),
        Value::Object(fields) => fields.values_mut().for_each(write_integers),
        _ => {}
    }
}

/// Checks the version. glTF 1 keeps its parts by name, in objects; glTF 2 by index, in arrays.
fn check_version(document: &mut Map<String, Value>, warnings: &mut Vec<Problem>) -> Result<(), Unreadable> {
    let version = document.get("asset").and_then(|asset| asset.get("version"));
    let version = version.map(|version| version.as_str().map_or_else(|| version.to_string(), str::to_owned));
    let is_first = ["meshes", "nodes", "accessors"].iter().any(|key| document.get(*key).is_some_and(Value::is_object));
    match version {
        Some(version) if version.trim() == "2" || version.trim().starts_with("2.") => {}
        _ if is_first => return Err(Unreadable::Version("1.0".to_owned())),
        Some(version) => return Err(Unreadable::Version(version)),
        None if document.keys().any(|key| ["meshes", "nodes", "scenes"].contains(&key.as_str())) => {
            let reason = "it is read as glTF 2.0".to_owned();
            warnings.push(Problem::DamagedPart { part: "the file's 'asset'".to_owned(), reason });
        }
        None => return Err(Unreadable::Damaged("it has no 'asset' that says which glTF it is".to_owned())),
    }
    document.insert("asset".to_owned(), json!({"version": "2.0"}));
    Ok(())
}

fn extras_of(document: &Map<String, Value>) -> Vec<Value> {
    let scene = document.get("scene").and_then(Value::as_u64).unwrap_or(0);
    let scene = document.get("scenes").and_then(|scenes| scenes.get(usize::try_from(scene).ok()?)?.get("extras"));
    let own = [document.get("extras"), document.get("asset").and_then(|asset| asset.get("extras"))];
    scene.into_iter().chain(own.into_iter().flatten()).cloned().collect()
}

fn items<'a>(document: &'a mut Map<String, Value>, list: &str) -> impl Iterator<Item = &'a mut Value> {
    document.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Makes a texture refer to the image of an extension, if that image is supported or the only one.
fn choose_image(texture: &mut Value) {
    let of = |extension: &str| texture.get("extensions")?.get(extension)?.get("source").cloned();
    let has_own = texture.get("source").is_some();
    let others = ["KHR_texture_basisu", "EXT_texture_avif", "MSFT_texture_dds"];
    let image = of("EXT_texture_webp").or_else(|| others.into_iter().find_map(of).filter(|_| !has_own));
    if let (Some(image), Value::Object(fields)) = (image, texture) {
        fields.insert("source".to_owned(), image);
    }
}

/// Drops fields that cannot be read, part by part.
fn mend(document: &mut Value, warnings: &mut Vec<Problem>) {
    let Value::Object(fields) = document else { return };
    for mesh in items(fields, "meshes") {
        let name = mesh.get("name").and_then(Value::as_str).map(str::to_owned);
        let Some(primitives) = mesh.get_mut("primitives").and_then(Value::as_array_mut) else { continue };
        for (number, primitive) in primitives.iter_mut().enumerate() {
            let part = || format!("primitive {number} of mesh '{}'", name.as_deref().unwrap_or_default());
            mend_part::<Primitive>(primitive, json!({"attributes": {}}), part, warnings);
        }
    }
    let lights = fields.get_mut("extensions").and_then(|extensions| extensions.get_mut("KHR_lights_punctual"));
    if let Some(Value::Array(lights)) = lights.and_then(|extension| extension.get_mut("lights")) {
        mend_items::<Light>(lights, "light", json!({"type": "none"}), warnings);
    }
    // An unreadable part is replaced by a blank one, so that indices of the others stay valid.
    mend_list::<Accessor>(fields, "accessors", json!({"componentType": 0, "count": 0, "type": "none"}), warnings);
    mend_list::<buffer::View>(fields, "bufferViews", json!({"buffer": u32::MAX, "byteLength": 0}), warnings);
    mend_list::<Buffer>(fields, "buffers", json!({"byteLength": 0}), warnings);
    mend_list::<Camera>(fields, "cameras", json!({"type": "none"}), warnings);
    mend_list::<Image>(fields, "images", json!({}), warnings);
    mend_list::<Material>(fields, "materials", json!({}), warnings);
    mend_list::<Mesh>(fields, "meshes", json!({"primitives": []}), warnings);
    mend_list::<Node>(fields, "nodes", json!({}), warnings);
    mend_list::<Sampler>(fields, "samplers", json!({}), warnings);
    mend_list::<Scene>(fields, "scenes", json!({"nodes": []}), warnings);
    mend_list::<Texture>(fields, "textures", json!({}), warnings);
    mend_part::<Root>(document, json!({"asset": {"version": "2.0"}}), || "the file".to_owned(), warnings);
}

fn mend_list<T: DeserializeOwned>(
    document: &mut Map<String, Value>,
    list: &str,
    blank: Value,
    warnings: &mut Vec<Problem>,
) {
    if let Some(Value::Array(items)) = document.get_mut(list) {
        mend_items::<T>(items, list.trim_end_matches('s'), blank, warnings);
    }
}

fn mend_items<T: DeserializeOwned>(items: &mut [Value], kind: &str, blank: Value, warnings: &mut Vec<Problem>) {
    for (index, item) in items.iter_mut().enumerate() {
        let name = item.get("name").and_then(Value::as_str).map(str::to_owned);
        let part = || name.map_or_else(|| format!("{kind} {index}"), |name| format!("{kind} '{name}'"));
        mend_part::<T>(item, blank.clone(), part, warnings);
    }
}

/// Fills a blank part with the readable fields of a damaged one.
fn mend_part<T: DeserializeOwned>(
    value: &mut Value,
    blank: Value,
    part: impl FnOnce() -> String,
    warnings: &mut Vec<Problem>,
) {
    if T::deserialize(&*value).is_ok() {
        return;
    }
    let old = std::mem::replace(value, blank);
    let mut dropped = Vec::new();
    match old {
        Value::Object(fields) => fill::<T>(value, &mut Vec::new(), fields, &mut dropped),
        _ => dropped.push("content".to_owned()),
    }
    if !dropped.is_empty() {
        let reason = format!("{} cannot be understood and is ignored", dropped.join(", "));
        warnings.push(Problem::DamagedPart { part: part(), reason });
    }
}

/// Adds fields to the object at a path of `whole`, as long as `whole` can still be parsed.
fn fill<T: DeserializeOwned>(
    whole: &mut Value,
    path: &mut Vec<String>,
    fields: Map<String, Value>,
    dropped: &mut Vec<String>,
) {
    let are_few = fields.len() <= MAX_MENDED_FIELDS;
    for (key, value) in fields {
        let inner = value.as_object().cloned();
        let before = put(whole, path, &key, Some(value));
        if are_few && T::deserialize(&*whole).is_ok() {
            continue;
        }
        if let Some(inner) = inner.filter(|_| are_few) {
            put(whole, path, &key, Some(json!({})));
            if T::deserialize(&*whole).is_ok() {
                path.push(key);
                fill::<T>(whole, path, inner, dropped);
                path.pop();
                continue;
            }
        }
        put(whole, path, &key, before);
        dropped.push(format!("'{key}'"));
    }
}

/// Sets or removes a field of the object at a path. Returns the old value.
fn put(whole: &mut Value, path: &[String], key: &str, value: Option<Value>) -> Option<Value> {
    let place = path.iter().try_fold(whole, |value, key| value.get_mut(key))?.as_object_mut()?;
    match value {
        Some(value) => place.insert(key.to_owned(), value),
        None => place.remove(key),
    }
}
