//! Materials of `.mtl` files: `Kd`, `Ke`, `d`, `Tr`, `Pr`, `Pm`, `map_Kd`, `map_Ke`, `map_d`.
//!
//! Colors are linear. `d` below one makes a blended material. `Pr` (roughness) or `Pm` (metalness) makes a material
//! glossy; all others are diffuse. `Ks` and `Ns` are ignored, as exporters disagree on their meaning. A factor of zero
//! on a texture, as some exporters write it, counts as one, as in Blender.

use std::collections::HashMap;

use glam::{Affine2, Vec2, Vec3};

use super::names::unquoted;
use super::text::{for_each_line, without_comment};
use crate::scene::{AlphaMode, Material, Problem};

/// Default reflectance of materials.
pub(super) const DEFAULT_REFLECTANCE: Vec3 = Vec3::splat(0.8);

/// A material and its texture files.
#[derive(Clone, Debug, PartialEq)]
pub struct MtlMaterial {
    pub material: Material,
    pub base_color: Option<Map>,
    pub emission: Option<Map>,
    pub opacity: Option<Map>,
}

/// A texture file and its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// File name as written, without quotes.
    pub file: String,
    /// Repetitions of the texture in a unit of the coordinates (`-s`).
    pub scale: Vec2,
    /// Offset that is added to the scaled coordinates (`-o`).
    pub offset: Vec2,
    /// True if the texture is not repeated (`-clamp on`).
    pub is_clamped: bool,
    /// Offset that is added to the texture's values, and the factor that is applied before (`-mm`).
    pub base_and_gain: [f32; 2],
    /// Channel from which a single number is read (`-imfchan`).
    pub channel: Option<char>,
    /// True if the texture holds transparency instead of opacity.
    pub is_inverted: bool,
}

impl Map {
    /// Returns the transform from our texture coordinates, whose v counts from the top, to the texture's.
    pub fn uv_transform(&self) -> Affine2 {
        let offset = Vec2::new(self.offset.x, 1.0 - self.scale.y - self.offset.y);
        Affine2::from_scale_angle_translation(self.scale, 0.0, offset)
    }
}

/// Ignored options of a `map_` line, with the number of words that follow each.
const OTHER_OPTIONS: [(&str, usize); 8] = [
    ("-blendu", 1),
    ("-blendv", 1),
    ("-cc", 1),
    ("-texres", 1),
    ("-boost", 1),
    ("-bm", 1),
    ("-type", 1),
    ("-colorspace", 1),
];

/// A material, and those of its lines that are resolved once all lines have been read.
struct Entry {
    result: MtlMaterial,
    opacity: Option<f32>,
    transparency: Option<f32>,
}

/// Reads all materials, and returns problems where a value is probably meant otherwise.
///
/// Invalid lines are ignored, and the material is kept.
pub fn read(text: &str) -> (Vec<MtlMaterial>, Vec<Problem>) {
    // MeshLab writes opacity as `Tr`, which others write as `d`.
    let tr_is_opacity = text.lines().any(|line| line.starts_with('#') && line.contains("Meshlab"));
    let mut entries: Vec<Entry> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut current = None;
    for_each_line(text, |_, keyword, rest| {
        if keyword == "newmtl" {
            current = Some(*known.entry(rest.to_owned()).or_insert_with(|| {
                let material = Material::diffuse(rest, DEFAULT_REFLECTANCE);
                let result = MtlMaterial { material, base_color: None, emission: None, opacity: None };
                entries.push(Entry { result, opacity: None, transparency: None });
                entries.len() - 1
            }));
        } else if let Some(index) = current {
            let entry: &mut Entry = &mut entries[index];
            match keyword {
                "d" => entry.opacity = last_number(rest),
                "tr" if tr_is_opacity => entry.opacity = entry.opacity.or(last_number(rest)),
                "tr" => entry.transparency = last_number(rest),
                _ => set(&mut entry.result, keyword, rest),
            }
        }
    });
    let mut problems = Vec::new();
    let materials = entries.into_iter().map(|entry| finished(entry, &mut problems)).collect();
    (materials, problems)
}

/// Returns the last word, after any options, if it is a finite number.
fn last_number(value: &str) -> Option<f32> {
    without_comment(value).split_whitespace().next_back()?.parse().ok().filter(|number: &f32| number.is_finite())
}

fn set(entry: &mut MtlMaterial, keyword: &str, value: &str) {
    let material = &mut entry.material;
    match keyword {
        "kd" => {
            if let Some(color) = color(value) {
                material.base_color = color.extend(material.base_color.w);
            }
        }
        "ke" => material.emission = color(value).unwrap_or(material.emission),
        "pr" => set_shine(material, last_number(value), |material, roughness| {
            material.perceptual_roughness = roughness;
        }),
        "pm" => set_shine(material, last_number(value), |material, metallic| material.metallic = metallic),
        "map_kd" => entry.base_color = map(value),
        "map_ke" => entry.emission = map(value),
        "map_d" | "map_opacity" => entry.opacity = map(value),
        "map_tr" => entry.opacity = map(value).map(|map| Map { is_inverted: true, ..map }),
        _ => {}
    }
}

fn set_shine(material: &mut Material, number: Option<f32>, set: fn(&mut Material, f32)) {
    let Some(number) = number else { return };
    set(material, number.clamp(0.0, 1.0));
    material.reflectance = Material::default().reflectance;
}

/// Sets the properties that several lines decide together.
fn finished(entry: Entry, problems: &mut Vec<Problem>) -> MtlMaterial {
    let Entry { mut result, opacity, transparency } = entry;
    let material = &mut result.material;
    let mut guess = |guess: &str| {
        problems.push(Problem::GuessedMaterial { material: material.name.clone(), guess: guess.to_owned() });
    };
    let opacity = match (opacity, transparency) {
        // Many exporters write both `d` and `Tr`, and disagree on the meaning of `Tr`.
        (Some(opacity), _) => Some(opacity),
        (None, Some(transparency)) if transparency >= 1.0 => {
            guess("has Tr 1 and no d, which some exporters write for opaque: it is opaque; give it d 0 to hide it");
            Some(1.0)
        }
        (None, transparency) => transparency.map(|transparency| 1.0 - transparency),
    };
    if opacity.is_some_and(|opacity| opacity <= 0.0) {
        guess("has d 0: no light meets it; give it d 1 if it is meant to be seen");
    }
    if result.base_color.is_some() && material.base_color.truncate() == Vec3::ZERO {
        guess("has Kd 0 beside map_Kd, a product that is black: the picture alone is used; give it Kd 1 1 1");
        material.base_color = Vec3::ONE.extend(material.base_color.w);
    }
    if result.emission.is_some() && material.emission == Vec3::ZERO {
        guess("has map_Ke without a Ke: the picture's white is 1 cd/m2; give it a Ke in cd/m2");
        material.emission = Vec3::ONE;
    }
    if let Some(opacity) = opacity {
        material.base_color.w = opacity.clamp(0.0, 1.0);
        material.alpha = if opacity < 1.0 { AlphaMode::Blend } else { AlphaMode::Opaque };
    }
    result
}

/// Parses three numbers, or one for all channels.
fn color(value: &str) -> Option<Vec3> {
    let channels: Vec<f32> = value.split_whitespace().map_while(|number| number.parse().ok()).collect();
    match channels[..] {
        [gray] => Some(Vec3::splat(gray)),
        [r, g, b, ..] => Some(Vec3::new(r, g, b)),
        _ => None,
    }
}

/// Parses a `map_` line: options, then a file name that may contain blanks.
fn map(value: &str) -> Option<Map> {
    let mut map = Map {
        file: String::new(),
        scale: Vec2::ONE,
        offset: Vec2::ZERO,
        is_clamped: false,
        base_and_gain: [0.0, 1.0],
        channel: None,
        is_inverted: false,
    };
    let pair = |[u, v, _]: [f32; 3]| Vec2::new(u, v);
    let mut rest = value;
    while rest.starts_with('-') {
        let (option, behind) = rest.split_once(char::is_whitespace)?;
        rest = behind.trim_start();
        match option {
            "-s" => map.scale = pair(numbers(&mut rest, [1.0; 3])),
            "-o" => map.offset = pair(numbers(&mut rest, [0.0; 3])),
            "-t" => _ = numbers(&mut rest, [0.0; 3]),
            "-mm" => {
                let [base, gain, _] = numbers(&mut rest, [0.0, 1.0, 0.0]);
                map.base_and_gain = [base, gain];
            }
            "-clamp" => map.is_clamped = word(&mut rest)?.eq_ignore_ascii_case("on"),
            "-imfchan" => map.channel = word(&mut rest)?.chars().next(),
            _ => {
                let count = OTHER_OPTIONS.iter().find(|(known, _)| *known == option).map_or(0, |(_, count)| *count);
                for _ in 0..count {
                    word(&mut rest)?;
                }
            }
        }
    }
    map.file = unquoted(rest).to_owned();
    (!map.file.is_empty()).then_some(map)
}

/// Takes the next word if another one follows. The last one is the file name.
fn word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let (word, behind) = rest.split_once(char::is_whitespace)?;
    *rest = behind.trim_start();
    Some(word)
}

/// Takes up to three numbers. Missing ones keep the given defaults.
fn numbers(rest: &mut &str, mut numbers: [f32; 3]) -> [f32; 3] {
    for number in &mut numbers {
        let mut behind = *rest;
        let Some(value) = word(&mut behind).and_then(|word| word.parse().ok()).filter(|value: &f32| value.is_finite())
        else {
            break;
        };
        *number = value;
        *rest = behind;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn materials(text: &str) -> Vec<MtlMaterial> {
        read(text).0
    }

    #[test]
    fn diffuse_emission_opacity_and_textures_are_read() {
        let materials = materials(
            "# a comment\nnewmtl red wall\nKd 0.5 0.25 0\n\tKe 2 1 0.5\r\nmap_Kd -s 2 2 1 -clamp on my brick.png\n\
             newmtl glass\nd 0.25\nnewmtl gray\nKd 0.5\nTr 0\n",
        );
        let [red, glass, gray] = &materials[..] else { panic!("{materials:?}") };
        assert_eq!(red.material.name, "red wall");
        assert_eq!(red.material.base_color.truncate(), Vec3::new(0.5, 0.25, 0.0));
        assert_eq!(red.material.emission, Vec3::new(2.0, 1.0, 0.5));
        assert_eq!(red.base_color.as_ref().map(|map| map.file.as_str()), Some("my brick.png"));
        assert_eq!((glass.material.alpha, glass.material.base_color.w), (AlphaMode::Blend, 0.25));
        assert_eq!((gray.material.alpha, gray.material.base_color.x), (AlphaMode::Opaque, 0.5));
    }

    #[test]
    fn options_of_pictures_are_read_in_any_order() {
        let text = "newmtl a\nMAP_kd\t-bm 1 -o 0.5 -mm 0.1 0.8 -imfchan l -s 4 2 1 \"C:\\my maps\\wood 1.png\"\n";
        let map = materials(text)[0].base_color.clone().unwrap();
        assert_eq!(map.file, "C:\\my maps\\wood 1.png");
        assert_eq!((map.scale, map.offset), (Vec2::new(4.0, 2.0), Vec2::new(0.5, 0.0)));
        assert_eq!((map.base_and_gain, map.channel, map.is_clamped), ([0.1, 0.8], Some('l'), false));
        // The file's lower left corner is (0, 1) in our coordinates, and samples the texture at (0.5, 0) from below.
        let place = map.uv_transform().transform_point2(Vec2::Y);
        assert!((place - Vec2::new(0.5, 1.0)).length() < 1e-6, "{place}");
    }

    #[test]
    fn d_counts_before_tr_and_tr_one_alone_is_taken_for_opaque_with_a_warning() {
        for (lines, opacity, warns) in [
            ("d 1.0\nTr 1.0", 1.0, false),
            ("Tr 1\nd 0.5", 0.5, false),
            ("Tr 0.25", 0.75, false),
            ("Tr 1.0", 1.0, true),
            ("d -halo 0.5", 0.5, false),
            ("d 0", 0.0, true),
        ] {
            let (materials, problems) = read(&format!("newmtl a\n{lines}\n"));
            assert_eq!(materials[0].material.base_color.w, opacity, "{lines}");
            assert_eq!(!problems.is_empty(), warns, "{lines}: {problems:?}");
        }
        let (materials, problems) = read("# Converted by Meshlab Group\nnewmtl a\nTr 0.3\n");
        assert_eq!((materials[0].material.base_color.w, problems.len()), (0.3, 0));
    }

    #[test]
    fn a_factor_of_zero_on_a_picture_is_one() {
        let (materials, problems) = read("newmtl a\nKd 0 0 0\nmap_Kd a.png\nKe 0 0 0\nmap_Ke b.png\n");
        assert_eq!(materials[0].material.base_color.truncate(), Vec3::ONE);
        assert_eq!((materials[0].material.emission, problems.len()), (Vec3::ONE, 2));
    }

    #[test]
    fn roughness_and_metalness_make_a_material_shine() {
        let materials = materials("newmtl brass\nKd 0.7 0.5 0.2\nPm 1\nPr 0.3\nnewmtl wall\nKs 1 1 1\nNs 200\n");
        let [brass, wall] = &materials[..] else { panic!("{materials:?}") };
        assert_eq!((brass.material.metallic, brass.material.perceptual_roughness), (1.0, 0.3));
        assert_eq!((brass.material.reflectance, wall.material.reflectance), (Vec3::splat(0.5), Vec3::ZERO));
    }

    #[test]
    fn lines_that_make_no_sense_change_nothing() {
        let materials = materials("Kd 1 1 1\nnewmtl a\nKd x y\nd nan\nmap_Kd -s\nKe\n");
        assert_eq!(materials[0].material, Material::diffuse("a", DEFAULT_REFLECTANCE));
        assert_eq!(materials[0].base_color, None);
    }
}
