//! Materials that are metals only because their file omits the metalness.
//!
//! glTF's default is a white metal. Blender writes Diffuse BSDF, Mix Shader and Add Shader without
//! `pbrMetallicRoughness`. Files that are written by hand often give only a color.

use serde_json::{Value, json};

/// Extensions that replace the model with metalness.
const OTHER_MODELS: [&str; 3] =
    ["KHR_materials_unlit", "KHR_materials_transmission", "KHR_materials_pbrSpecularGlossiness"];

/// Returns true for a material that gives neither metalness nor roughness and has no other model.
pub fn is_by_omission(material: &Value) -> bool {
    let has = |key: &str| material.get("pbrMetallicRoughness").is_some_and(|pbr| pbr.get(key).is_some());
    let extensions = material.get("extensions");
    let is_other = OTHER_MODELS.iter().any(|name| extensions.is_some_and(|extensions| extensions.get(name).is_some()));
    material.is_object()
        && !is_other
        && !["metallicFactor", "roughnessFactor", "metallicRoughnessTexture"].into_iter().any(has)
}

/// Sets the metalness of a material that omits it.
pub fn set_default(material: &mut Value, metallic: Option<f32>) {
    let Some(metallic) = metallic.filter(|_| is_by_omission(material)) else { return };
    let Value::Object(fields) = material else { return };
    let model = fields.entry("pbrMetallicRoughness").or_insert_with(|| json!({}));
    if let Value::Object(model) = model {
        model.insert("metallicFactor".to_owned(), json!(metallic));
    }
}

/// Returns true for an emissive material. As a rule, its reflected light does not matter.
pub fn glows(material: &gltf::json::Material) -> bool {
    material.emissive_factor.0 != [0.0; 3]
}
