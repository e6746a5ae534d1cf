//! `KHR_materials_pbrSpecularGlossiness`, rewritten as metallic roughness.
//!
//! | specular glossiness | becomes |
//! | --- | --- |
//! | diffuse color, its texture | base color times what the specular layer leaves, its texture |
//! | specular color | the reflectance straight on of a dielectric, by `KHR_materials_specular` |
//! | glossiness | roughness, one less it |
//! | specular and glossiness texture | ignored, with a warning: the usual four percent are mirrored |

use serde_json::{Value, json};

const NAME: &str = "KHR_materials_pbrSpecularGlossiness";

/// Rewrites a material that has the extension; true when a texture of it is lost.
pub fn rewrite(material: &mut Value) -> bool {
    let Some(model) = material.get("extensions").and_then(|extensions| extensions.get(NAME)).cloned() else {
        return false;
    };
    let Value::Object(fields) = material else { return false };
    let number = |value: Option<&Value>, usual: f64| value.and_then(Value::as_f64).unwrap_or(usual);
    let color = |key: &str| -> [f64; 4] {
        let given = model.get(key);
        core::array::from_fn(|channel| number(given.and_then(|color| color.get(channel)), 1.0))
    };
    let is_textured = model.get("specularGlossinessTexture").is_some();
    let specular = color("specularFactor").map(|channel| if is_textured { 0.04 } else { channel.clamp(0.0, 1.0) });
    // Light that the specular layer mirrors does not reach what is below it.
    let [red, green, blue, _] = specular;
    let left = if is_textured { 1.0 } else { 1.0 - red.max(green).max(blue) };
    let [r, g, b, alpha] = color("diffuseFactor");
    let glossiness = if is_textured { 0.0 } else { number(model.get("glossinessFactor"), 1.0).clamp(0.0, 1.0) };
    let mut metallic_roughness = json!({
        "baseColorFactor": [r * left, g * left, b * left, alpha],
        "metallicFactor": 0,
        "roughnessFactor": 1.0 - glossiness,
    });
    if let Some(texture) = model.get("diffuseTexture") {
        metallic_roughness["baseColorTexture"] = texture.clone();
    }
    fields.insert("pbrMetallicRoughness".to_owned(), metallic_roughness);
    // An index of 1.5 mirrors 0.04, and the reflectance is the root of what is mirrored.
    let tint = [red, green, blue].map(|channel| (channel / 0.04).sqrt());
    fields["extensions"]["KHR_materials_ior"] = json!({"ior": 1.5});
    fields["extensions"]["KHR_materials_specular"] = json!({"specularColorFactor": tint});
    is_textured
}
