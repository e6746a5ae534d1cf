//! Conversion of standard materials.

use bevy::color::ColorToComponents;
use bevy::material::AlphaMode as BevyAlphaMode;
use bevy::pbr::StandardMaterial;
use bevy::render::render_resource::Face;
use glam::{Vec3, Vec4};

use super::super::components::{EmissiveUnits, SceneSettings};
use super::pictures::drawn_uv;
use crate::scene::{AlphaMode, Glass, Material, Sides};
use crate::scene_files::LUMENS_PER_WATT;

/// Returns the factor from an emissive color to cd/m2.
///
/// Bevy draws `emissive * mix(1, exposure, weight)`, and multiplies everything else by `exposure`. So a weight of zero
/// means a brightness in the image, whose luminance depends on the camera's exposure.
fn emission_factor(settings: &SceneSettings, exposure_weight: f32) -> f32 {
    match settings.emissive_units {
        EmissiveUnits::Nits => 1.0,
        EmissiveUnits::Blender => LUMENS_PER_WATT,
        EmissiveUnits::Bevy => {
            let per_exposure = 1.2 * libm::exp2f(settings.reference_ev100);
            per_exposure + (1.0 - per_exposure) * exposure_weight
        }
    }
}

/// Returns the emitted radiance, in cd/m2. Bevy draws unlit materials in their base color alone.
pub fn emission_of(material: &StandardMaterial, settings: &SceneSettings) -> Vec3 {
    if material.unlit {
        Vec3::ZERO
    } else {
        material.emissive.to_vec3() * emission_factor(settings, material.emissive_exposure_weight)
    }
}

/// Converts a standard material without its textures.
///
/// Alpha is coverage where Bevy blends. With `Multiply`, a surface tints what it covers and reflects nothing. `Add`
/// hides nothing and therefore reflects nothing, unless it emits light. Specular transmission passes the transmitted
/// fraction; with a thickness, light refracts in path traced images.
pub fn material_from_standard(name: &str, material: &StandardMaterial, settings: &SceneSettings) -> Material {
    let alpha = match material.alpha_mode {
        BevyAlphaMode::Opaque => AlphaMode::Opaque,
        BevyAlphaMode::Mask(threshold) => AlphaMode::Mask(threshold),
        BevyAlphaMode::AlphaToCoverage => AlphaMode::Mask(0.5),
        BevyAlphaMode::Blend | BevyAlphaMode::Premultiplied | BevyAlphaMode::Add | BevyAlphaMode::Multiply => {
            AlphaMode::Blend
        }
    };
    let mut read = Material {
        name: name.to_owned(),
        base_color: Vec4::from(material.base_color.to_linear().to_f32_array()),
        metallic: material.metallic,
        perceptual_roughness: material.perceptual_roughness,
        reflectance: material.specular_tint.to_linear().to_vec3() * material.reflectance,
        emission: emission_of(material, settings),
        is_unlit: material.unlit,
        clearcoat: material.clearcoat,
        clearcoat_perceptual_roughness: material.clearcoat_perceptual_roughness,
        // Bevy tints diffuse transmission by the base color.
        diffuse_transmission: material.diffuse_transmission,
        diffuse_transmission_color: material.base_color.to_linear().to_vec3(),
        alpha,
        drawn_uv: drawn_uv(material),
        ..Material::default()
    };
    match material.alpha_mode {
        BevyAlphaMode::Premultiplied if read.base_color.w > 0.0 => {
            let color = (read.base_color.truncate() / read.base_color.w).min(Vec3::ONE);
            read.base_color = color.extend(read.base_color.w);
        }
        BevyAlphaMode::Multiply => (read.transmission, read.metallic) = (1.0, 0.0),
        BevyAlphaMode::Add if !read.is_emissive() => read.base_color.w = 0.0,
        _ => {}
    }
    if material.specular_transmission > 0.0 && material.thickness > 0.0 {
        let color = material.attenuation_color.to_linear().to_vec3();
        return read.with_glass(Glass {
            transmission: material.specular_transmission,
            ior: material.ior,
            absorption: Glass::absorption_of(color, material.attenuation_distance),
        });
    }
    // `Multiply` already transmits everything.
    let transmission = read.transmission.max(material.specular_transmission);
    read.with_transmission(transmission)
}

/// Returns the sides of a surface that are visible and reflect.
///
/// `bevy_gltf` culls the front of mirrored nodes, since a mirroring transform reverses the winding: that is an ordinary
/// front side. A culled front without a mirroring transform shows the back, so both sides count.
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
    fn an_emissive_color_means_what_bevy_draws() {
        // At the default EV100 of 9.7, Bevy multiplies radiance by 1 / (1.2 * 2^9.7) = 0.0010019.
        assert!((emission(EmissiveUnits::Bevy, 0.0) / (10.0 / 0.001_001_9) - 1.0).abs() < 1e-3);
        assert!((emission(EmissiveUnits::Bevy, 1.0) - 10.0).abs() < 1e-2);
        assert_eq!(emission(EmissiveUnits::Nits, 0.0), 10.0);
        assert_eq!(emission(EmissiveUnits::Blender, 0.0), 6830.0);
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
        assert_eq!((material.alpha, material.transmission, material.glass), (AlphaMode::Opaque, 0.9, None));
    }

    #[test]
    fn what_passes_and_what_is_reflected_is_as_bevys_blending_has_it() {
        let color = Vec3::new(0.4, 0.2, 0.1);
        let drawn = |alpha_mode| {
            let standard = StandardMaterial {
                base_color: Color::linear_rgba(0.4, 0.2, 0.1, 0.5),
                reflectance: 0.0,
                alpha_mode,
                ..Default::default()
            };
            let material = material_from_standard("veil", &standard, &SceneSettings::default());
            let (scene, mesh) = (crate::scene::Scene::default(), crate::scene::MeshData::default());
            let passage = material.passage_at(&scene, &mesh, 0, glam::Vec2::ZERO);
            let reflected = material.reflectance_at(&scene, &mesh, 0, glam::Vec2::ZERO) * (1.0 - passage.probability);
            (passage.transmittance, reflected)
        };
        let is_near = |(through, reflected): (Vec3, Vec3), a: Vec3, b: Vec3| {
            through.abs_diff_eq(a, 1e-5) && reflected.abs_diff_eq(b, 1e-5)
        };
        // Bevy's blend functions of source `c`, alpha `a` and destination `d`, in this order: c * a + d * (1 - a); c +
        // d * (1 - a); d * (c * a + 1 - a); c * a + d.
        let half = Vec3::splat(0.5);
        assert!(is_near(drawn(BevyAlphaMode::Blend), half, color * 0.5));
        assert!(is_near(drawn(BevyAlphaMode::Premultiplied), half, color));
        assert!(is_near(drawn(BevyAlphaMode::Multiply), color * 0.5 + 0.5, Vec3::ZERO));
        // Additive blending must not count light twice.
        assert!(is_near(drawn(BevyAlphaMode::Add), Vec3::ONE, Vec3::ZERO));
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
        assert_eq!((glass.transmission, glass.ior, material.transmission), (0.9, 1.4, 0.9));
        assert!((glass.absorption.x - core::f32::consts::LN_2 / 2.0).abs() < 1e-6, "{}", glass.absorption);
        assert_eq!(glass.absorption.y, 0.0);
    }
}
