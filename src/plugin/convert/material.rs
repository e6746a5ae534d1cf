//! Standard materials.

use bevy::color::ColorToComponents;
use bevy::material::AlphaMode as BevyAlphaMode;
use bevy::pbr::StandardMaterial;
use bevy::render::render_resource::Face;
use glam::Vec4;

use super::super::components::{EmissiveUnits, SceneSettings};
use super::pictures::drawn_uv;
use crate::scene::{AlphaMode, Glass, Material, Sides};

/// What an emissive colour is multiplied with to give cd/m2.
///
/// Bevy draws `emissive * mix(1, exposure, weight)` on top of everything else times `exposure`, so a weight of zero is
/// a brightness in the picture, and what it takes to be that bright depends on the camera's exposure.
pub fn emission_factor(settings: &SceneSettings, exposure_weight: f32) -> f32 {
    match settings.emissive_units {
        EmissiveUnits::Nits => 1.0,
        EmissiveUnits::Bevy => {
            let per_exposure = 1.2 * settings.reference_ev100.exp2();
            per_exposure + (1.0 - per_exposure) * exposure_weight
        }
    }
}

/// Reads a standard material without its pictures.
///
/// Glass (specular and diffuse transmission) becomes a blend that lets the transmitted share through; where it has a
/// thickness, pictures refract light in it.
pub fn material_from_standard(name: &str, material: &StandardMaterial, settings: &SceneSettings) -> Material {
    let transmission = 1.0 - (1.0 - material.specular_transmission) * (1.0 - material.diffuse_transmission);
    let alpha = match material.alpha_mode {
        BevyAlphaMode::Opaque => AlphaMode::Opaque,
        BevyAlphaMode::Mask(threshold) => AlphaMode::Mask(threshold),
        BevyAlphaMode::AlphaToCoverage => AlphaMode::Mask(0.5),
        BevyAlphaMode::Blend | BevyAlphaMode::Premultiplied | BevyAlphaMode::Add | BevyAlphaMode::Multiply => {
            AlphaMode::Blend
        }
    };
    let read = Material {
        name: name.to_owned(),
        base_color: Vec4::from(material.base_color.to_linear().to_f32_array()),
        metallic: material.metallic,
        perceptual_roughness: material.perceptual_roughness,
        reflectance: material.specular_tint.to_linear().to_vec3() * material.reflectance,
        emission: material.emissive.to_vec3() * emission_factor(settings, material.emissive_exposure_weight),
        clearcoat: material.clearcoat,
        clearcoat_perceptual_roughness: material.clearcoat_perceptual_roughness,
        alpha,
        drawn_uv: drawn_uv(material),
        ..Material::default()
    };
    if material.specular_transmission > 0.0 && material.thickness > 0.0 {
        let colour = material.attenuation_color.to_linear().to_vec3();
        return read.with_glass(Glass {
            transmission: material.specular_transmission,
            ior: material.ior,
            absorption: Glass::absorption_of(colour, material.attenuation_distance),
        });
    }
    read.with_transmission(transmission)
}

/// Which sides of a surface are seen and reflect.
///
/// `bevy_gltf` culls the front of mirrored nodes, because a mirroring transform turns the triangles round: that is a
/// front like any other. A front culled without a mirror shows the back.
pub fn sides_of(material: &StandardMaterial, is_mirrored: bool) -> Sides {
    match material.cull_mode {
        _ if material.double_sided => Sides::Both,
        Some(Face::Back) => Sides::Front,
        Some(Face::Front) if is_mirrored => Sides::Front,
        Some(Face::Front) | None => Sides::Both,
    }
}

#[cfg(test)]
mod tests {
    use bevy::prelude::{Color, LinearRgba};

    use super::*;

    fn emission(units: EmissiveUnits, weight: f32) -> f32 {
        let settings = SceneSettings { emissive_units: units, ..Default::default() };
        let material = StandardMaterial {
            emissive: LinearRgba::rgb(10.0, 10.0, 10.0),
            emissive_exposure_weight: weight,
            ..Default::default()
        };
        material_from_standard("lamp", &material, &settings).emission.x
    }

    #[test]
    fn an_emissive_colour_means_what_bevy_draws() {
        // At the default EV100 of 9.7 Bevy multiplies radiance with 1 / (1.2 * 2^9.7) = 0.0010019.
        assert!((emission(EmissiveUnits::Bevy, 0.0) / (10.0 / 0.001_001_9) - 1.0).abs() < 1e-3);
        assert!((emission(EmissiveUnits::Bevy, 1.0) - 10.0).abs() < 1e-2);
        assert_eq!(emission(EmissiveUnits::Nits, 0.0), 10.0);
    }

    #[test]
    fn mirrored_fronts_are_single_sided_and_unculled_faces_have_two_sides() {
        let culls = |cull_mode| StandardMaterial { cull_mode, ..Default::default() };
        assert_eq!(sides_of(&culls(Some(Face::Back)), false), Sides::Front);
        assert_eq!(sides_of(&culls(Some(Face::Front)), true), Sides::Front);
        assert_eq!(sides_of(&culls(Some(Face::Front)), false), Sides::Both);
        assert_eq!(sides_of(&culls(None), false), Sides::Both);
    }

    #[test]
    fn clear_glass_lets_its_share_through() {
        let glass = StandardMaterial { specular_transmission: 0.9, ..Default::default() };
        let material = material_from_standard("glass", &glass, &SceneSettings::default());
        assert_eq!(material.alpha, AlphaMode::Blend);
        assert!((material.base_color.w - 0.1).abs() < 1e-6 && material.glass.is_none());
    }

    #[test]
    fn glass_with_a_thickness_is_solid_and_fades_light_as_bevy_has_it() {
        let glass = StandardMaterial {
            specular_transmission: 0.9,
            thickness: 0.2,
            ior: 1.4,
            attenuation_color: Color::linear_rgb(0.5, 1.0, 1.0),
            attenuation_distance: 2.0,
            ..Default::default()
        };
        let material = material_from_standard("glass", &glass, &SceneSettings::default());
        let glass = material.glass.expect("it is solid");
        assert_eq!((glass.transmission, glass.ior, material.alpha), (0.9, 1.4, AlphaMode::Blend));
        assert!((glass.absorption.x - core::f32::consts::LN_2 / 2.0).abs() < 1e-6, "{}", glass.absorption);
        assert_eq!(glass.absorption.y, 0.0);
    }
}
