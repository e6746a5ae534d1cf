//! Materials of `.mtl` files: `Kd`, `Ke`, `d`, `Tr`, `Pr`, `Pm`, `map_Kd`, `map_Ke`.
//!
//! Colours are taken as linear. `d` below one makes a blended material; `Pr` (roughness) or `Pm` (metalness) one that
//! shines, where others are matt: `Ks` and `Ns` have no meaning that files agree on.

use std::collections::HashMap;

use glam::Vec3;

use crate::scene::{AlphaMode, Material};

/// Reflectance where a file says none.
pub(super) const DEFAULT_REFLECTANCE: Vec3 = Vec3::splat(0.8);

/// A material and the pictures that it wants, by file name.
#[derive(Clone, Debug, PartialEq)]
pub struct MtlMaterial {
    pub material: Material,
    pub base_color_file: Option<String>,
    pub emission_file: Option<String>,
}

/// How many values follow an option of a `map_` line; the options themselves are not needed.
const MAP_OPTIONS: [(&str, usize); 11] = [
    ("-blendu", 1),
    ("-blendv", 1),
    ("-cc", 1),
    ("-clamp", 1),
    ("-texres", 1),
    ("-imfchan", 1),
    ("-boost", 1),
    ("-bm", 1),
    ("-mm", 2),
    ("-type", 1),
    ("-colorspace", 1),
];
/// Options that are followed by one to three numbers.
const VECTOR_OPTIONS: [&str; 3] = ["-o", "-s", "-t"];

/// Reads all materials. Lines that make no sense are passed over: a material without them is still one.
pub fn read(text: &str) -> Vec<MtlMaterial> {
    let mut materials: Vec<MtlMaterial> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut current = None;
    for line in text.lines().map(str::trim) {
        let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        if keyword == "newmtl" {
            current = Some(*known.entry(rest.to_owned()).or_insert_with(|| {
                let material = Material::diffuse(rest, DEFAULT_REFLECTANCE);
                materials.push(MtlMaterial { material, base_color_file: None, emission_file: None });
                materials.len() - 1
            }));
        } else if let Some(index) = current {
            set(&mut materials[index], keyword, rest);
        }
    }
    materials
}

fn set(entry: &mut MtlMaterial, keyword: &str, value: &str) {
    let number = || value.split_whitespace().next_back().and_then(|number| number.parse::<f32>().ok());
    match keyword {
        "Kd" => {
            if let Some(color) = color(value) {
                entry.material.base_color = color.extend(entry.material.base_color.w);
            }
        }
        "Ke" => entry.material.emission = color(value).unwrap_or(entry.material.emission),
        "Pr" => set_shine(&mut entry.material, number(), |material, roughness| {
            material.perceptual_roughness = roughness;
        }),
        "Pm" => set_shine(&mut entry.material, number(), |material, metallic| material.metallic = metallic),
        "d" => set_opacity(&mut entry.material, number()),
        "Tr" => set_opacity(&mut entry.material, number().map(|transparency| 1.0 - transparency)),
        "map_Kd" => entry.base_color_file = picture_file(value),
        "map_Ke" => entry.emission_file = picture_file(value),
        _ => {}
    }
}

fn set_opacity(material: &mut Material, opacity: Option<f32>) {
    let Some(opacity) = opacity.filter(|opacity| opacity.is_finite()) else { return };
    material.base_color.w = opacity.clamp(0.0, 1.0);
    material.alpha = if opacity < 1.0 { AlphaMode::Blend } else { AlphaMode::Opaque };
}

fn set_shine(material: &mut Material, number: Option<f32>, set: fn(&mut Material, f32)) {
    let Some(number) = number.filter(|number| number.is_finite()) else { return };
    set(material, number.clamp(0.0, 1.0));
    material.reflectance = Material::default().reflectance;
}

/// Three numbers, or one for all channels.
fn color(value: &str) -> Option<Vec3> {
    let channels: Vec<f32> = value.split_whitespace().map_while(|number| number.parse().ok()).collect();
    match channels[..] {
        [grey] => Some(Vec3::splat(grey)),
        [r, g, b, ..] => Some(Vec3::new(r, g, b)),
        _ => None,
    }
}

/// The file name behind the options, spaces and all.
fn picture_file(value: &str) -> Option<String> {
    let mut rest = value;
    while rest.starts_with('-') {
        let (option, behind) = rest.split_once(char::is_whitespace)?;
        rest = behind.trim_start();
        if VECTOR_OPTIONS.contains(&option) {
            for _ in 0..3 {
                let (word, behind) = rest.split_once(char::is_whitespace)?;
                if word.parse::<f32>().is_err() {
                    break;
                }
                rest = behind.trim_start();
            }
        } else {
            let count = MAP_OPTIONS.iter().find(|(known, _)| *known == option).map_or(0, |(_, count)| *count);
            for _ in 0..count {
                rest = rest.split_once(char::is_whitespace)?.1.trim_start();
            }
        }
    }
    (!rest.is_empty()).then(|| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffuse_emission_opacity_and_textures_are_read() {
        let materials = read(
            "# a comment\nnewmtl red wall\nKd 0.5 0.25 0\n\tKe 2 1 0.5\r\nmap_Kd -s 2 2 1 -clamp on my brick.png\n\
             newmtl glass\nd 0.25\nnewmtl grey\nKd 0.5\nTr 0\n",
        );
        let [red, glass, grey] = &materials[..] else { panic!("{materials:?}") };
        assert_eq!(red.material.name, "red wall");
        assert_eq!(red.material.base_color.truncate(), Vec3::new(0.5, 0.25, 0.0));
        assert_eq!(red.material.emission, Vec3::new(2.0, 1.0, 0.5));
        assert_eq!(red.base_color_file.as_deref(), Some("my brick.png"));
        assert_eq!((glass.material.alpha, glass.material.base_color.w), (AlphaMode::Blend, 0.25));
        assert_eq!((grey.material.alpha, grey.material.base_color.x), (AlphaMode::Opaque, 0.5));
    }

    #[test]
    fn roughness_and_metalness_make_a_material_shine() {
        let materials = read("newmtl brass\nKd 0.7 0.5 0.2\nPm 1\nPr 0.3\nnewmtl wall\nKs 1 1 1\nNs 200\n");
        let [brass, wall] = &materials[..] else { panic!("{materials:?}") };
        assert_eq!((brass.material.metallic, brass.material.perceptual_roughness), (1.0, 0.3));
        assert_eq!((brass.material.reflectance, wall.material.reflectance), (Vec3::splat(0.5), Vec3::ZERO));
    }

    #[test]
    fn lines_that_make_no_sense_change_nothing() {
        let materials = read("Kd 1 1 1\nnewmtl a\nKd x y\nd nan\nmap_Kd -s\nKe\n");
        assert_eq!(materials[0].material, Material::diffuse("a", DEFAULT_REFLECTANCE));
        assert_eq!(materials[0].base_color_file, None);
    }
}
