//! `KHR_materials_pbrSpecularGlossiness`, converted to metallic roughness.
//!
//! | specular glossiness | becomes |
//! | --- | --- |
//! | diffuse color, its texture | base color times one less the largest specular channel, its texture |
//! | specular color, its texture | the reflectance straight on of a dielectric, by `KHR_materials_specular` |
//! | glossiness, its texture | roughness, one less it |

use glam::{Vec3, Vec4};
use serde_json::{Value, json};

use crate::scene::{MipChains, Texels, Texture, nearest_srgb};
use crate::scene_files::images::texel_at_size;

pub const NAME: &str = "KHR_materials_pbrSpecularGlossiness";

/// Fields that name textures.
pub const DIFFUSE_TEXTURE: &str = "diffuseTexture";
pub const TEXTURE: &str = "specularGlossinessTexture";

/// Reflectance of most dielectrics at normal incidence, for an index of refraction of 1.5.
const USUAL_SPECULAR: f32 = 0.04;

/// Factors of the extension.
struct Factors {
    diffuse: [f32; 4],
    specular: Vec3,
    glossiness: f32,
    has_texture: bool,
}

impl Factors {
    fn of(model: &Value) -> Self {
        let number = |value: Option<&Value>| value.and_then(Value::as_f64).unwrap_or(1.0) as f32;
        let color =
            |key: &str| core::array::from_fn(|channel| number(model.get(key).and_then(|color| color.get(channel))));
        let [red, green, blue, _] = color("specularFactor");
        Self {
            diffuse: color("diffuseFactor"),
            specular: Vec3::new(red, green, blue).clamp(Vec3::ZERO, Vec3::ONE),
            glossiness: number(model.get("glossinessFactor")).clamp(0.0, 1.0),
            has_texture: model.get(TEXTURE).is_some(),
        }
    }
}

/// Converts a material that has the extension. Its specular and glossiness texture is kept for [`Conversion`]s.
pub fn rewrite(material: &mut Value) {
    let Some(model) = material.get("extensions").and_then(|extensions| extensions.get(NAME)).cloned() else { return };
    let Value::Object(fields) = material else { return };
    let Factors { diffuse: [r, g, b, alpha], specular, glossiness, has_texture } = Factors::of(&model);
    // If there is a texture, the textures that are computed from it contain these factors.
    let (left, roughness) = if has_texture { (1.0, 1.0) } else { (1.0 - specular.max_element(), 1.0 - glossiness) };
    let specular = if has_texture { Vec3::ONE } else { specular };
    let mut metallic_roughness = json!({
        "baseColorFactor": [r * left, g * left, b * left, alpha],
        "metallicFactor": 0,
        "roughnessFactor": roughness,
    });
    if let Some(texture) = model.get(DIFFUSE_TEXTURE) {
        metallic_roughness["baseColorTexture"] = texture.clone();
    }
    fields.insert("pbrMetallicRoughness".to_owned(), metallic_roughness);
    // An index of refraction of 1.5 reflects 0.04. Bevy's reflectance grows with the square root of the reflected part.
    let tint = (specular / USUAL_SPECULAR).map(f32::sqrt).to_array();
    fields["extensions"]["KHR_materials_ior"] = json!({"ior": 1.5});
    fields["extensions"]["KHR_materials_specular"] = json!({"specularColorFactor": tint});
}

/// Texture for metallic roughness that is computed from a specular and glossiness texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// Roughness in the green channel.
    Roughness,
    /// Tint of [`Material::reflectance`](crate::scene::Material::reflectance): a square root of the specular color.
    SpecularTint,
    /// Diffuse color, without the part that the specular layer reflects.
    BaseColor,
}

impl Conversion {
    /// Computes the texture. `diffuse` is the texture of the diffuse color, if there is one.
    pub fn source_image(self, model: &Value, texture: &Texture, diffuse: Option<&Texture>) -> Texture {
        let factors = Factors::of(model);
        let specular = |texel: Vec4| factors.specular * texel.truncate();
        let (width, height) = diffuse.map_or((texture.width, texture.height), |diffuse| {
            (texture.width.max(diffuse.width), texture.height.max(diffuse.height))
        });
        let read = |texture: &Texture, index| texel_at_size(texture, [width, height], index);
        let texels = (0..width as usize * height as usize).map(|index| {
            let texel = read(texture, index);
            match self {
                Self::Roughness => {
                    let roughness = 1.0 - factors.glossiness * texel.w;
                    [255, (roughness * 255.0).round() as u8, 255, 255]
                }
                Self::SpecularTint => srgb(specular(texel).map(f32::sqrt).extend(1.0)),
                Self::BaseColor => {
                    let color = diffuse.map_or(Vec4::ONE, |diffuse| read(diffuse, index));
                    srgb((color.truncate() * (1.0 - specular(texel).max_element())).extend(color.w))
                }
            }
        });
        let texels = texels.collect();
        Texture {
            name: diffuse.unwrap_or(texture).name.clone(),
            width,
            height,
            texels: if self == Self::Roughness { Texels::Linear8(texels) } else { Texels::Srgb8(texels) },
            wrap: diffuse.unwrap_or(texture).wrap,
            mip_chains: MipChains::default(),
        }
    }
}

fn srgb(color: Vec4) -> [u8; 4] {
    let [red, green, blue] = color.truncate().to_array().map(nearest_srgb);
    [red, green, blue, (color.w * 255.0).round() as u8]
}
