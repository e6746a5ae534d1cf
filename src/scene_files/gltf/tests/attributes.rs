//! Tests of vertex colors, sets of texture coordinates, and transforms of textures.

use glam::{Vec2, Vec3, Vec4};
use serde_json::json;

use super::*;

impl Asset {
    /// Adds an attribute of the panel's four vertices.
    pub(super) fn with_attribute(
        mut self,
        name: &str,
        component: u32,
        shape: &str,
        normalized: bool,
        bytes: &[u8],
    ) -> Self {
        let view = self.json["bufferViews"].as_array().unwrap().len();
        let accessor = self.json["accessors"].as_array().unwrap().len();
        let stride = bytes.len() / 4;
        let of_view = json!({
            "buffer": 0, "byteOffset": self.binary.len(), "byteLength": bytes.len(), "byteStride": stride
        });
        self.binary.extend(bytes);
        self.json["bufferViews"].as_array_mut().unwrap().push(of_view);
        self.json["accessors"].as_array_mut().unwrap().push(json!({
            "bufferView": view, "componentType": component, "count": 4, "type": shape, "normalized": normalized
        }));
        self.json["buffers"][0]["byteLength"] = self.binary.len().into();
        self.json["meshes"][0]["primitives"][0]["attributes"][name] = accessor.into();
        self
    }

    /// Adds a set of texture coordinates that are equal at all four vertices.
    fn with_coordinates(self, name: &str, uv: [f32; 2]) -> Self {
        let bytes: Vec<u8> = [uv; 4].as_flattened().iter().flat_map(|value| value.to_le_bytes()).collect();
        self.with_attribute(name, 5126, "VEC2", false, &bytes)
    }
}

/// Middle of the panel's first triangle.
const MIDDLE: Vec2 = Vec2::splat(1.0 / 3.0);
/// Centers of the left and of the right texel.
const LEFT: [f32; 2] = [0.25, 0.5];
const RIGHT: [f32; 2] = [0.75, 0.5];

fn base_color(parsed: &Parsed) -> Vec4 {
    parsed.scene.materials[0].base_color_at(&parsed.scene, &parsed.scene.meshes[0], 0, MIDDLE)
}

#[test]
fn vertex_colors_of_every_type_multiply_the_base_color() {
    // A quarter of red, half of green, all of blue, three quarters of alpha.
    let color = [0.25_f32, 0.5, 1.0, 0.75];
    let floats = |channels: usize| color[..channels].iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let bytes =
        |channels: usize| color[..channels].iter().map(|value| (value * 255.0).round() as u8).collect::<Vec<u8>>();
    let shorts = |channels: usize| {
        let values = color[..channels].iter().map(|value| (value * 65_535.0).round() as u16);
        values.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    let material = json!({"pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.5, 0.5, 0.5], "metallicFactor": 0}});
    for channels in [3, 4] {
        let shape = if channels == 3 { "VEC3" } else { "VEC4" };
        let kinds: [(u32, Vec<u8>); 3] = [(5126, floats(channels)), (5121, bytes(channels)), (5123, shorts(channels))];
        for (component, mut vertex) in kinds {
            vertex.resize(vertex.len().next_multiple_of(4), 0);
            let asset = Asset::quad().with("/materials/0", material.clone());
            let asset = asset.with_attribute("COLOR_0", component, shape, component != 5126, &vertex.repeat(4));
            let parsed = asset.load();
            assert_eq!(sentences(&parsed), "");
            let alpha = if channels == 3 { 0.5 } else { 0.375 };
            let expected = Vec4::new(0.125, 0.25, 0.5, alpha);
            assert!(base_color(&parsed).abs_diff_eq(expected, 2e-3), "{component} {shape}: {}", base_color(&parsed));
        }
    }
}

#[test]
fn a_texture_reads_the_set_of_coordinates_that_it_asks_for_and_other_sets_are_dropped() {
    let color_at = |set: u32, sets: &[(&str, [f32; 2])]| {
        let mut asset = Asset::quad().with(
            "/materials/0",
            json!({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "texCoord": set}, "metallicFactor": 0}}),
        );
        for (name, uv) in sets {
            asset = asset.with_coordinates(name, *uv);
        }
        let parsed = asset.load();
        assert_eq!(sentences(&parsed), "");
        (base_color(&parsed), parsed.scene.meshes[0].other_uv.iter().map(Vec::len).collect::<Vec<_>>())
    };
    let sets = [("TEXCOORD_1", LEFT), ("TEXCOORD_2", LEFT), ("TEXCOORD_3", RIGHT)];
    let (third, kept) = color_at(2, &sets);
    assert_eq!(kept, [4]);
    let (fourth, kept) = color_at(3, &sets);
    assert_eq!(kept, [0, 4]);
    let (second, kept) = color_at(1, &sets);
    assert_eq!(kept, [0; 0]);
    assert_eq!(second, third);
    assert!((third - fourth).abs().max_element() > 0.5, "{third} {fourth}");
}

#[test]
fn a_set_beyond_those_that_are_read_is_said_by_its_number() {
    let asset = Asset::quad().with(
        "/materials/0",
        json!({"name": "paint", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "texCoord": 99}}}),
    );
    let text = sentences(&asset.load());
    assert!(text.contains("a texture of material 'paint' wants TEXCOORD_99"), "{text}");
}

#[test]
fn each_texture_has_its_own_transform_and_its_own_set() {
    let moved = json!({"KHR_texture_transform": {"offset": [0.5, 0], "texCoord": 2}});
    let asset = Asset::quad()
        .with(
            "/materials/0",
            json!({
                "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "texCoord": 2}, "metallicFactor": 0},
                "emissiveTexture": {"index": 0, "extensions": moved}, "emissiveFactor": [1, 1, 1]
            }),
        )
        .with_coordinates("TEXCOORD_2", LEFT);
    let parsed = asset.load();
    let scene = &parsed.scene;
    let emission = scene.materials[0].emission_at(scene, &scene.meshes[0], 0, MIDDLE);
    // The texture has a left and a right texel. The emission is read half a texture to the right.
    let picture = scene.texture(scene.materials[0].base_color_texture.unwrap().texture);
    assert!(
        base_color(&parsed).truncate().abs_diff_eq(picture.texel(0, 0).truncate(), 1e-5),
        "{}",
        base_color(&parsed)
    );
    assert!(emission.abs_diff_eq(picture.texel(1, 0).truncate(), 1e-5), "{emission}");
    assert_ne!(picture.texel(0, 0), picture.texel(1, 0));
}

#[test]
fn specular_textures_are_factors_on_how_strongly_a_material_shines() {
    let picture = |specular: Value| {
        let extensions = json!({"KHR_materials_specular": specular});
        let asset = Asset::quad()
            .with("/materials/0", json!({"pbrMetallicRoughness": {"metallicFactor": 0}, "extensions": extensions}))
            .with_coordinates("TEXCOORD_0", LEFT);
        let parsed = asset.load();
        let scene = &parsed.scene;
        let texel = scene.textures.first().map_or(Vec4::ONE, |texture| texture.texel(0, 0));
        (scene.materials[0].appearance_at(scene, &scene.meshes[0], 0, MIDDLE).reflectance, texel)
    };
    // The test's texture has no alpha, which counts as one.
    assert_eq!(picture(json!({"specularTexture": {"index": 0}})).0, Vec3::splat(0.5));
    let (tinted, texel) = picture(json!({"specularColorTexture": {"index": 0}}));
    assert!(tinted.abs_diff_eq(texel.truncate() * 0.5, 1e-6), "{tinted} {texel}");
    assert!(texel.truncate().min_element() < 0.9, "{texel}");
}

#[test]
fn occlusion_does_not_keep_the_lightmap_from_coordinates_and_other_textures_do() {
    let drawn = |texture: &str| {
        let asset = Asset::quad().with("/materials/0", json!({texture: {"index": 0, "texCoord": 1}}));
        let material = asset.load().scene.materials[0].clone();
        (material.reads_uv(UvChannel::Uv0), material.reads_uv(UvChannel::Uv1))
    };
    assert_eq!(drawn("occlusionTexture"), (false, false));
    assert_eq!(drawn("normalTexture"), (false, true));
}
