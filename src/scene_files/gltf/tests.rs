use std::io::Cursor;
use std::path::Path;

use base64::Engine;
use glam::{Affine3A, Vec2, Vec3, Vec4};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod attributes;
mod materials;
mod mended;
mod movers;
mod seen;
mod shapes;

use crate::parts::finish;
use crate::scene::{LightKind, Material, Projection, Role, Sides, UvChannel, Wrap, check};
use crate::scene_files::SceneError;

/// A document with one buffer.
struct Asset {
    json: Value,
    binary: Vec<u8>,
}

impl Asset {
    /// Returns a textured quad in the XY plane, a lamp and a camera.
    fn quad() -> Self {
        let mut asset = Self { json: Value::Null, binary: Vec::new() };
        let corners = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        let uv = [[0.0f32, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]];
        let mut views = Vec::new();
        let mut add = |bytes: &[u8]| {
            views.push(json!({"buffer": 0, "byteOffset": asset.binary.len(), "byteLength": bytes.len()}));
            asset.binary.extend(bytes);
            asset.binary.resize(asset.binary.len().next_multiple_of(4), 0);
        };
        add(bytemuck::cast_slice(&corners));
        add(bytemuck::cast_slice(&[[0.0f32, 0.0, 1.0]; 4]));
        add(bytemuck::cast_slice(&uv));
        add(bytemuck::cast_slice(&[0u16, 1, 2, 0, 2, 3]));
        add(&png([255, 0, 0], [255; 3]));
        asset.json = json!({
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [
                {"name": "room", "children": [1, 2, 3]},
                {"name": "wall", "mesh": 0},
                {"name": "lamp", "translation": [0, 2, 0], "extensions": {"KHR_lights_punctual": {"light": 0}}},
                {"name": "eye", "translation": [0, 0, 5], "camera": 0}
            ],
            "meshes": [{"name": "panel", "primitives": [{
                "attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2}, "indices": 3, "material": 0
            }]}],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
                {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC3"},
                {"bufferView": 2, "componentType": 5126, "count": 4, "type": "VEC2"},
                {"bufferView": 3, "componentType": 5123, "count": 6, "type": "SCALAR"}
            ],
            "bufferViews": views,
            "buffers": [{"byteLength": asset.binary.len()}],
            "images": [{"bufferView": 4, "mimeType": "image/png", "name": "bricks"}],
            "samplers": [{"wrapS": 33071, "wrapT": 33648}],
            "textures": [{"source": 0, "sampler": 0}],
            "materials": [{
                "name": "paint",
                "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "baseColorFactor": [1, 0.5, 1, 1], "metallicFactor": 0},
                "emissiveFactor": [1, 0.5, 0],
                "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 20}}
            }],
            "cameras": [{"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1}}],
            "extensions": {"KHR_lights_punctual": {"lights": [
                {"type": "point", "intensity": 50, "color": [1, 0.5, 0.25], "range": 10}
            ]}},
            "extensionsUsed": ["KHR_lights_punctual", "KHR_materials_emissive_strength"]
        });
        asset
    }

    /// Replaces or adds a value at a JSON pointer of the document.
    fn with(mut self, pointer: &str, value: Value) -> Self {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match self.json.pointer_mut(parent).unwrap() {
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
            parent => parent[key] = value,
        }
        self
    }

    fn glb(&self) -> Vec<u8> {
        let mut text = self.json.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let chunk = |kind: &[u8], content: &[u8]| [&(content.len() as u32).to_le_bytes(), kind, content].concat();
        let body = [chunk(b"JSON", &text), chunk(b"BIN\0", &self.binary)].concat();
        let length = (12 + body.len() as u32).to_le_bytes();
        [b"glTF", &2u32.to_le_bytes()[..], &length, &body].concat()
    }

    fn text(&self) -> Vec<u8> {
        let mut json = self.json.clone();
        let data = base64::engine::general_purpose::STANDARD.encode(&self.binary);
        json["buffers"][0]["uri"] = format!("data:application/octet-stream;base64,{data}").into();
        json.to_string().into_bytes()
    }

    /// Replaces the image by two texels side by side.
    fn with_texels(self, texels: [[u8; 4]; 2], format: image::ImageFormat) -> Self {
        let picture = image::RgbaImage::from_fn(2, 1, |x, _| image::Rgba(texels[x as usize]));
        let mut bytes = Cursor::new(Vec::new());
        image::DynamicImage::from(picture).write_to(&mut bytes, format).unwrap();
        let data = base64::engine::general_purpose::STANDARD.encode(bytes.into_inner());
        self.with("/images/0", json!({"uri": format!("data:{};base64,{data}", format.to_mime_type())}))
    }

    fn load(&self) -> Parsed {
        read_bytes(&self.glb()).unwrap()
    }
}

/// Returns a PNG of two texels side by side.
fn png(left: [u8; 3], right: [u8; 3]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let picture = image::RgbImage::from_fn(2, 1, |x, _| image::Rgb(if x == 0 { left } else { right }));
    picture.write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
    bytes
}

fn read_bytes(bytes: &[u8]) -> Result<Parsed, SceneError> {
    finish(read(bytes, &Source::of(Path::new("room.glb")), Purpose::Picture, &SceneOptions::default()))
}

/// Reads an asset for a bake.
fn read_for_bake(asset: &Asset) -> Parsed {
    finish(read(&asset.glb(), &Source::of(Path::new("room.glb")), Purpose::Bake, &SceneOptions::default())).unwrap()
}

fn sentences(parsed: &Parsed) -> String {
    parsed.warnings.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn both_byte_forms_give_the_same_scene() {
    let asset = Asset::quad();
    let (binary, text) = (asset.load(), read_bytes(&asset.text()).unwrap());
    assert_eq!(crate::scene::hash(&binary.scene), crate::scene::hash(&text.scene));
    assert_eq!(binary.cameras, text.cameras);
    assert_eq!(sentences(&binary), "");
}

#[test]
fn everything_arrives_where_the_file_puts_it() {
    let parsed = Asset::quad().load();
    let scene = &parsed.scene;
    assert_eq!(scene.surfaces[0].key.0, "room/wall:0");
    assert_eq!(scene.meshes[0].triangles, [[0, 1, 2], [0, 2, 3]]);
    assert_eq!(scene.meshes[0].normals, [Vec3::Z; 4]);
    let material = &scene.materials[0];
    assert_eq!(material.base_color, Vec4::new(1.0, 0.5, 1.0, 1.0));
    assert_eq!(material.emission, Vec3::new(20.0, 10.0, 0.0), "cd/m2: factor times strength");
    assert_eq!(scene.textures[0].wrap, [Wrap::Clamp, Wrap::Mirror]);
    // The left half of the texture is red, the right half white.
    let diffuse = Material { reflectance: Vec3::ZERO, ..material.clone() };
    let (reflectance, _) = diffuse.average_over(scene, &scene.meshes[0], 0, &[Vec2::ZERO, Vec2::X, Vec2::Y]);
    assert!((reflectance - Vec3::new(1.0, 0.375, 0.75)).length() < 1e-5, "{reflectance}");
    assert_eq!(
        scene.lights[0].kind,
        LightKind::Point {
            position: Vec3::new(0.0, 2.0, 0.0),
            intensity: Vec3::new(50.0, 25.0, 12.5),
            radius: 0.0,
            range: 10.0
        }
    );
    let eye = &parsed.cameras[0];
    assert_eq!((eye.position, eye.forward, eye.right, eye.up), (Vec3::Z * 5.0, Vec3::NEG_Z, Vec3::X, Vec3::Y));
}

#[test]
fn an_orthographic_camera_sees_from_its_near_plane_on() {
    let plan = json!({"type": "orthographic", "orthographic": {"xmag": 4.0, "ymag": 3.0, "znear": 0.5, "zfar": 9.0}});
    let parsed = Asset::quad().with("/cameras/0", plan).load();
    let eye = &parsed.cameras[0];
    assert_eq!(eye.projection, Projection::Orthographic { height: 6.0 });
    assert_eq!(eye.position, Vec3::Z * 4.5);
}

#[test]
fn indices_of_every_width_and_none_at_all_give_the_same_triangles() {
    let expected = Asset::quad().load().scene.meshes[0].triangles.clone();
    let wide: Vec<u8> = bytemuck::cast_slice(&[0u32, 1, 2, 0, 2, 3]).to_vec();
    for (component, bytes) in [(5121, vec![0u8, 1, 2, 0, 2, 3]), (5125, wide)] {
        let mut asset = Asset::quad();
        asset.json["accessors"][3]["componentType"] = component.into();
        asset.json["bufferViews"][3] =
            json!({"buffer": 0, "byteOffset": asset.binary.len(), "byteLength": bytes.len()});
        asset.binary.extend(bytes);
        assert_eq!(asset.load().scene.meshes[0].triangles, expected);
    }
    let mut triangle = Asset::quad();
    let primitive = triangle.json.pointer_mut("/meshes/0/primitives/0").unwrap().as_object_mut().unwrap();
    primitive.remove("indices");
    assert_eq!(triangle.load().scene.meshes[0].triangles, [[0, 1, 2]], "the fourth vertex begins no triangle");
    for (mode, triangles) in [(5, [[0, 1, 2], [1, 3, 2]]), (6, [[1, 2, 0], [2, 3, 0]])] {
        triangle.json["meshes"][0]["primitives"][0]["mode"] = mode.into();
        assert_eq!(triangle.load().scene.meshes[0].triangles, triangles);
    }
}

#[test]
fn interleaved_normalized_and_sparse_accessors_are_read() {
    let mut asset = Asset::quad();
    // Texture coordinates as normalized bytes, four bytes apart.
    asset.json["bufferViews"][2] =
        json!({"buffer": 0, "byteOffset": asset.binary.len(), "byteLength": 16, "byteStride": 4});
    asset.json["accessors"][2] =
        json!({"bufferView": 2, "componentType": 5121, "normalized": true, "count": 4, "type": "VEC2"});
    asset.binary.extend([0u8, 255, 9, 9, 255, 255, 9, 9, 255, 51, 9, 9, 0, 0, 9, 9]);
    // The third position is replaced.
    let at = asset.binary.len();
    asset.binary.extend([2u8, 0, 0, 0]);
    asset.binary.extend(bytemuck::cast_slice::<f32, u8>(&[1.0, 1.0, 7.0]));
    let views = asset.json["bufferViews"].as_array_mut().unwrap();
    views.push(json!({"buffer": 0, "byteOffset": at, "byteLength": 1}));
    views.push(json!({"buffer": 0, "byteOffset": at + 4, "byteLength": 12}));
    asset.json["accessors"][0]["sparse"] = json!({
        "count": 1, "indices": {"bufferView": 5, "componentType": 5121}, "values": {"bufferView": 6}
    });
    let parsed = asset.load();
    assert_eq!(parsed.scene.meshes[0].uv0, [Vec2::Y, Vec2::ONE, Vec2::new(1.0, 0.2), Vec2::ZERO]);
    assert_eq!(parsed.scene.meshes[0].positions[2], Vec3::new(1.0, 1.0, 7.0));
}

#[test]
fn transforms_multiply_down_the_tree_and_mirrors_keep_their_fronts() {
    let asset = Asset::quad()
        .with("/nodes/0", json!({"name": "room", "children": [1, 2, 3], "scale": [-2, 1, 1], "translation": [3, 0, 0]}))
        .with("/nodes/1", json!({"name": "wall", "mesh": 0, "rotation": [0, 0, 0, 1], "translation": [1, 0, 0]}));
    let scene = asset.load().scene;
    let expected = Affine3A::from_cols_array(&[-2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!(scene.surfaces[0].to_world, expected);
    assert!(scene.surfaces[0].is_mirrored());
    assert_eq!(scene.geometric_normal(crate::geometry::SurfaceId(0), 0), Vec3::Z);
}

#[test]
fn materials_that_matter_to_diffuse_light_are_translated() {
    let asset = Asset::quad().with(
        "/materials/0",
        json!({
            "alphaMode": "MASK", "alphaCutoff": 0.25, "doubleSided": true,
            "pbrMetallicRoughness": {"metallicFactor": 0.5, "metallicRoughnessTexture": {"index": 0}, "baseColorTexture": {
                "index": 0, "extensions": {"KHR_texture_transform": {"offset": [0.5, 0], "scale": [2, 3], "texCoord": 1}}
            }}
        }),
    );
    let parsed = asset.load();
    let material = &parsed.scene.materials[0];
    assert_eq!(material.alpha, crate::scene::AlphaMode::Mask(0.25));
    assert_eq!(parsed.scene.surfaces[0].sides, Sides::Both);
    assert_eq!(material.base_color_texture.unwrap().channel, UvChannel::Uv1);
    let place = material.base_color_texture.unwrap();
    assert_eq!(place.transform.transform_point2(Vec2::ONE), Vec2::new(2.5, 3.0));
    // One image is used as colors and as numbers.
    assert_eq!(parsed.scene.textures.len(), 2);
    assert_eq!(material.metallic_roughness_texture.unwrap().transform, glam::Affine2::IDENTITY);
}

#[test]
fn materials_shine_as_bevy_reads_them() {
    let plain = Asset::quad().load().scene.materials[0].clone();
    assert_eq!((plain.perceptual_roughness, plain.reflectance), (1.0, Vec3::splat(0.5)));
    let asset = Asset::quad().with(
        "/materials/0",
        json!({
            "pbrMetallicRoughness": {"roughnessFactor": 0.3, "baseColorFactor": [0.9, 0.5, 0.2, 1.0]},
            "extensions": {
                "KHR_materials_specular": {"specularFactor": 0.5, "specularColorFactor": [1.0, 0.5, 0.0]},
                "KHR_materials_transmission": {"transmissionFactor": 0.75},
                "KHR_materials_clearcoat": {"clearcoatFactor": 0.6, "clearcoatRoughnessFactor": 0.2}
            }
        }),
    );
    let glass = asset.load().scene.materials[0].clone();
    assert_eq!((glass.perceptual_roughness, glass.reflectance), (0.3, Vec3::new(0.25, 0.125, 0.0)));
    assert_eq!((glass.alpha, glass.base_color.w, glass.transmission), (crate::scene::AlphaMode::Opaque, 1.0, 0.75));
    assert_eq!((plain.clearcoat, glass.clearcoat, glass.clearcoat_perceptual_roughness), (0.0, 0.6, 0.2));
}

#[test]
fn glass_with_a_thickness_is_solid_and_other_glass_a_pane() {
    let glass = |thickness: f32| {
        let extensions = json!({
            "KHR_materials_transmission": {"transmissionFactor": 1.0},
            "KHR_materials_ior": {"ior": 1.33},
            "KHR_materials_volume": {
                "thicknessFactor": thickness, "attenuationColor": [0.5, 1.0, 0.25], "attenuationDistance": 2.0
            }
        });
        let asset = Asset::quad().with("/materials/0", json!({"extensions": extensions}));
        let parsed = asset.load();
        assert!(!sentences(&parsed).contains("KHR_materials"), "{}", sentences(&parsed));
        parsed.scene.materials[0].clone()
    };
    let water = glass(0.1).glass.unwrap();
    assert_eq!((water.transmission, water.ior), (1.0, 1.33));
    let expected = Vec3::new(2f32.ln() / 2.0, 0.0, 4f32.ln() / 2.0);
    assert!((water.absorption - expected).abs().max_element() < 1e-6, "{}", water.absorption);
    // Two percent of the light are reflected at normal incidence: (0.33 / 2.33)^2.
    assert!((0.16 * glass(0.1).reflectance.x.powi(2) - 0.020_06).abs() < 1e-4);
    assert_eq!((glass(0.0).glass, glass(0.0).transmission), (None, 1.0));
}

/// Returns a quad with a texture of clearcoat, clearcoat roughness and transmission. The right half has the file's
/// factors, the left half 0.4, 0.2 and 0.4 times them.
fn coated_pane(transmission: Value, volume: Value) -> Asset {
    let data = base64::engine::general_purpose::STANDARD.encode(png([102, 51, 0], [255; 3]));
    Asset::quad().with("/images/0", json!({"uri": format!("data:image/png;base64,{data}")})).with(
        "/materials/0",
        json!({"name": "pane", "pbrMetallicRoughness": {"metallicFactor": 0.0}, "extensions": {
            "KHR_materials_clearcoat": {
                "clearcoatFactor": 0.5, "clearcoatTexture": {"index": 0},
                "clearcoatRoughnessFactor": 0.5, "clearcoatRoughnessTexture": {"index": 0},
                "clearcoatNormalTexture": {"index": 0}
            },
            "KHR_materials_transmission": transmission,
            "KHR_materials_volume": volume
        }}),
    )
}

/// Points in the left and in the right half of the quad.
const HALVES: [Vec2; 2] = [Vec2::new(0.1, 0.0), Vec2::new(0.9, 0.0)];

#[test]
fn coats_and_panes_are_as_thick_as_their_textures_say() {
    let textured = json!({"transmissionFactor": 0.5, "transmissionTexture": {"index": 0}});
    let parsed = coated_pane(textured.clone(), json!({})).load();
    let (scene, pane) = (&parsed.scene, &parsed.scene.materials[0]);
    let is_near = |a: Vec3, b: Vec3| (a - b).abs().max_element() < 1e-6;
    for (place, [red, green]) in HALVES.into_iter().zip([[0.4, 0.2], [1.0, 1.0]]) {
        let seen = pane.appearance_at(scene, &scene.meshes[0], 0, place);
        let coat = Vec3::new(seen.clearcoat, seen.clearcoat_perceptual_roughness, seen.transmission);
        assert!(is_near(coat, Vec3::new(0.5 * red, 0.5 * green, 0.0)), "{coat}");
        let through = pane.transmittance_at(scene, &scene.meshes[0], 0, place);
        assert!(is_near(through, Vec3::splat(0.5 * red)), "{through}");
    }
    assert_eq!(sentences(&parsed).matches("clearcoatNormalTexture of material 'pane' is ignored").count(), 1);
    // Solid glass refracts as much as the same pane transmits.
    let solid = coated_pane(textured.clone(), json!({"thicknessFactor": 0.1})).load().scene.with_solid_glass();
    let seen = solid.materials[0].appearance_at(&solid, &solid.meshes[0], 0, HALVES[0]);
    assert!((seen.transmission - 0.2).abs() < 1e-6, "{}", seen.transmission);
}

#[test]
fn alpha_is_coverage_and_an_extra_tints() {
    let material = json!({
        "alphaMode": "BLEND",
        "pbrMetallicRoughness": {"baseColorFactor": [0.8, 0.4, 0.0, 0.25], "metallicFactor": 0.0},
        "extras": {"radiosity_tint": true}
    });
    let through = |asset: &Asset| {
        let scene = asset.load().scene;
        scene.material_of(scene.surface_ids().next().unwrap()).transmittance_at(&scene, &scene.meshes[0], 0, HALVES[0])
    };
    let tinted = Asset::quad().with("/materials/0", material);
    assert!((through(&tinted) - 0.75 * Vec3::new(0.8, 0.4, 0.0)).length() < 1e-6, "{}", through(&tinted));
    // The nearest node wins over the material.
    let plain = tinted.with("/nodes/0/extras", json!({"radiosity": {"tint": false}}));
    assert_eq!(through(&plain), Vec3::splat(0.75));
}

#[test]
fn light_is_scattered_through_as_the_extension_says() {
    let extension = json!({"diffuseTransmissionFactor": 0.5, "diffuseTransmissionColorFactor": [1.0, 0.5, 0.0]});
    let extensions =
        json!({"KHR_materials_diffuse_transmission": extension, "KHR_materials_specular": {"specularFactor": 0.0}});
    let parsed = Asset::quad()
        .with("/extensionsUsed", json!(["KHR_materials_diffuse_transmission", "KHR_materials_specular"]))
        .with("/materials/0", json!({"pbrMetallicRoughness": {"metallicFactor": 0.0}, "extensions": extensions}))
        .load();
    let sheet = &parsed.scene.materials[0];
    let crossing = sheet.crossing_at(&parsed.scene, &parsed.scene.meshes[0], 0, HALVES[0]).unwrap();
    assert_eq!((crossing.probability, crossing.transmittance), (0.5, Vec3::new(0.5, 0.25, 0.0)));
    assert!(!sentences(&parsed).contains("diffuse_transmission"), "{}", sentences(&parsed));
}

#[test]
fn textures_say_how_much_light_is_scattered_through_and_in_which_color() {
    let extension = json!({
        "diffuseTransmissionFactor": 0.5, "diffuseTransmissionTexture": {"index": 0},
        "diffuseTransmissionColorFactor": [1.0, 0.5, 0.25], "diffuseTransmissionColorTexture": {"index": 0},
    });
    let extensions =
        json!({"KHR_materials_diffuse_transmission": extension, "KHR_materials_specular": {"specularFactor": 0.0}});
    let parsed = Asset::quad()
        .with("/materials/0", json!({"pbrMetallicRoughness": {"metallicFactor": 0.0}, "extensions": extensions}))
        .with_texels([[255, 0, 255, 102], [255; 4]], image::ImageFormat::Png)
        .load();
    assert_eq!(sentences(&parsed), "");
    let (leaf, mesh) = (&parsed.scene.materials[0], &parsed.scene.meshes[0]);
    let crossing = |place| leaf.crossing_at(&parsed.scene, mesh, 0, place).unwrap();
    // An alpha of 102 is 0.4.
    let [left, right] = HALVES.map(crossing);
    assert!((left.probability - 0.2).abs() < 1e-6, "{}", left.probability);
    assert!((left.transmittance - Vec3::new(0.2, 0.0, 0.05)).length() < 1e-6, "{}", left.transmittance);
    assert_eq!((right.probability, right.transmittance), (0.5, Vec3::new(0.5, 0.25, 0.125)));
    // A quarter of the first triangle is in the left half. The light that does not pass is reflected in white.
    let (stopped, _) = leaf.average_over(&parsed.scene, mesh, 0, &[Vec2::ZERO, Vec2::X, Vec2::Y]);
    assert!((stopped - Vec3::ONE).length() < 1e-5, "{stopped}");
}

#[test]
fn bakes_read_what_panes_let_through_and_clearcoat() {
    let textured = json!({"transmissionFactor": 0.5, "transmissionTexture": {"index": 0}});
    let asset = coated_pane(textured, json!({"thicknessFactor": 0.1}));
    let parsed =
        finish(read(&asset.glb(), &Source::of(Path::new("room.glb")), Purpose::Bake, &SceneOptions::default()))
            .unwrap();
    let pane = &parsed.scene.materials[0];
    assert_eq!(
        (parsed.scene.textures.len(), pane.clearcoat_texture.is_some(), sentences(&parsed).as_str()),
        (1, true, "")
    );
    let through = pane.transmittance_at(&parsed.scene, &parsed.scene.meshes[0], 0, HALVES[0]);
    assert!((through - 0.2).abs().max_element() < 1e-6, "{through}");
}

#[test]
fn a_picture_that_coat_and_pane_lack_is_named_once_and_their_factors_count_alone() {
    let textured = json!({"transmissionFactor": 0.5, "transmissionTexture": {"index": 0}});
    let lost = coated_pane(textured, json!({})).with("/images/0", json!({"uri": "lost.png"})).load();
    assert_eq!(sentences(&lost).matches("lost.png").count(), 1, "{}", sentences(&lost));
    let through = lost.scene.materials[0].transmittance_at(&lost.scene, &lost.scene.meshes[0], 0, HALVES[0]);
    assert_eq!((through, lost.scene.materials[0].clearcoat_texture), (Vec3::splat(0.5), None));
}

#[test]
fn normal_maps_are_read_as_numbers_and_only_for_pictures() {
    let material = json!({"normalTexture": {"index": 0, "scale": 0.5, "texCoord": 1}});
    let asset = Asset::quad().with("/materials/0", material);
    let scene = asset.load().scene;
    let normals = scene.materials[0].normal_texture.unwrap();
    assert_eq!((normals.channel, scene.materials[0].normal_scale), (UvChannel::Uv1, 0.5));
    assert!(matches!(scene.texture(normals.texture).texels, crate::scene::Texels::Linear8(_)));
    let source = Source::of(Path::new("room.glb"));
    let baked = finish(read(&asset.glb(), &source, Purpose::Bake, &SceneOptions::default())).unwrap().scene;
    assert_eq!((baked.materials[0].normal_texture, baked.textures.len()), (None, 0));
}

#[test]
fn a_texture_that_cannot_be_had_is_named_and_its_factor_used() {
    for image in [
        json!({"uri": "lost.png", "name": "bricks"}),
        json!({"bufferView": 0, "name": "bricks"}),
        json!({"name": "bricks"}),
    ] {
        let parsed = Asset::quad().with("/images/0", image).load();
        assert!(sentences(&parsed).contains("texture 'bricks' of material 'paint'"), "{}", sentences(&parsed));
        assert_eq!(parsed.scene.materials[0].base_color_texture, None);
    }
}

#[test]
fn a_buffer_that_is_not_there_is_an_error_that_names_it() {
    let asset = Asset::quad().with("/buffers/0", json!({"byteLength": 8, "uri": "room.bin"}));
    let error = read_bytes(&asset.glb()).unwrap_err().to_string();
    assert!(error.contains("room.glb needs buffer room.bin"), "{error}");
}

#[test]
fn a_view_beyond_the_length_that_its_buffer_claims_is_read_as_far_as_the_file_goes() {
    let folder = tempfile::tempdir().unwrap();
    let asset = Asset::quad().with("/buffers/0", json!({"byteLength": 8, "uri": "room.bin"}));
    std::fs::write(folder.path().join("room.bin"), &asset.binary).unwrap();
    let source = Source::of(&folder.path().join("room.glb"));
    let parsed = finish(read(&asset.glb(), &source, Purpose::Bake, &SceneOptions::default())).unwrap();
    assert_eq!(parsed.scene.triangle_count(), 2);
}

#[test]
fn extras_say_what_a_surface_does_and_nodes_outrank_materials() {
    let asset = Asset::quad()
        .with("/nodes/0", json!({"children": [1, 2], "extras": {"radiosity": {"density": 4.0}}}))
        .with("/nodes/1", json!({"name": "wall", "mesh": 0, "extras": {"radiosity": {"role": "occluder"}}}))
        .with("/nodes/2/extensions/KHR_lights_punctual", json!({"light": 0}))
        .with(
            "/extensions/KHR_lights_punctual/lights/0",
            json!({"type": "spot", "spot": {}, "extras": {"radiosity_radius": 0.5}}),
        )
        .with("/materials/0", json!({"extras": {"radiosity": {"role": "excluded", "double_sided": true}}}));
    let scene = asset.load().scene;
    let surface = &scene.surfaces[0];
    assert_eq!((surface.role, surface.density_scale, surface.sides), (Role::Occluder, 4.0, Sides::Both));
    assert_eq!(surface.key.0, "GltfNode0/wall:0");
    let LightKind::Spot { radius, direction, outer_angle, .. } = scene.lights[0].kind else { panic!() };
    assert_eq!((radius, direction), (0.5, Vec3::NEG_Z));
    assert!((outer_angle.to_degrees() - 45.0).abs() < 1e-4);
}

#[test]
fn skinned_meshes_count_as_movers_unless_told_otherwise() {
    let node = |extras: Value| json!({"name": "hero", "mesh": 0, "skin": 0, "extras": extras});
    let parsed = Asset::quad().with("/nodes/1", node(json!({}))).load();
    assert_eq!(parsed.scene.surfaces[0].role, Role::Mover);
    assert!(sentences(&parsed).contains("'hero' is skinned"));
    let parsed = Asset::quad().with("/nodes/1", node(json!({"radiosity_role": "static"}))).load();
    assert_eq!(parsed.scene.surfaces[0].role, Role::Static);
    assert_eq!(sentences(&parsed), "");
}

#[test]
fn an_unknown_extension_is_named_and_refused_only_where_the_file_requires_it() {
    let mut asset = Asset::quad();
    asset.json["extensionsUsed"] = json!(["KHR_new", "KHR_materials_sheen"]);
    let text = sentences(&asset.load());
    assert!(text.contains("KHR_new is not known and ignored"), "{text}");
    assert!(text.contains("KHR_materials_sheen is not read: fabrics have no sheen"), "{text}");
    for (name, part) in [
        ("KHR_new", "room.glb requires extension KHR_new, which is not known"),
        ("KHR_draco_mesh_compression", "KHR_draco_mesh_compression, which is not read: export it without compression"),
    ] {
        asset.json["extensionsRequired"] = json!([name]);
        let error = read_bytes(&asset.glb()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn hostile_numbers_lose_only_what_they_touch() {
    for (pointer, value, sentence) in [
        ("/accessors/0/count", json!(u64::MAX), "primitive 0 of mesh 'wall' is left out"),
        ("/accessors/0/byteOffset", json!(u64::MAX - 7), "primitive 0 of mesh 'wall' is left out"),
        ("/accessors/0/bufferView", json!(77), "primitive 0 of mesh 'wall' is left out"),
        ("/accessors/0/componentType", json!(1), "primitive 0 of mesh 'wall' is left out"),
        ("/bufferViews/0/byteLength", json!(u64::MAX), "primitive 0 of mesh 'wall' is left out"),
        ("/meshes/0/primitives/0/indices", json!(1), "primitive 0 of mesh 'wall' is left out"),
        ("/accessors/1/count", json!(3), "NORMAL of mesh 'wall' is ignored: it has 3 values for 4 vertices"),
        ("/nodes/1/mesh", json!(9), "the file has no mesh 9"),
        ("/nodes/0/children", json!([1, 1]), "node 'wall' is left out: it is its own ancestor or has two parents"),
        ("/nodes/0/children", json!([0, 1]), "node 'room' is left out"),
        ("/nodes/2/translation", json!([1e38, 1e39, 0]), "node 'lamp' is left out: its transform is not finite"),
        ("/nodes/3/camera", json!(5), "camera 'eye' is left out: the file has no camera 5"),
        ("/materials/0/pbrMetallicRoughness/baseColorTexture/index", json!(5), "texture 'Texture5'"),
        ("/extensions/KHR_lights_punctual/lights/0/intensity", json!(-1), "light 'lamp' is left out"),
    ] {
        let text = sentences(&Asset::quad().with(pointer, value).load());
        assert!(text.contains(sentence), "{pointer}: {text}");
    }
    // A triangle that refers to a vertex beyond the last.
    let mut asset = Asset::quad();
    let at = asset.json["bufferViews"][3]["byteOffset"].as_u64().unwrap() as usize;
    asset.binary[at] = 9;
    let parsed = asset.load();
    assert_eq!(parsed.scene.meshes[0].triangles, [[0, 2, 3]]);
    assert!(sentences(&parsed).contains("1 triangles of mesh 'wall' refer to vertices"));
}

#[test]
fn a_chain_of_ten_thousand_nodes_is_cut() {
    let nodes: Vec<Value> = (0..10_000).map(|index| json!({"children": [index + 1]})).collect();
    let text = sentences(&Asset::quad().with("/nodes", nodes.into()).load());
    assert!(text.contains("the tree of nodes is too deep"), "{text}");
}

/// Reads bytes and repairs the scene. An error is as good as a scene.
fn survive(bytes: &[u8]) {
    if let Ok(parsed) = read_bytes(bytes) {
        let (scene, _) = check::repair(parsed.scene);
        for surface in scene.surface_ids() {
            for triangle in 0..scene.mesh_of(surface).triangles.len() as u32 {
                assert!(scene.triangle(surface, triangle).corners.iter().all(|corner| corner.is_finite()));
            }
        }
    }
}

#[test]
fn a_file_cut_off_anywhere_is_an_error() {
    for bytes in [Asset::quad().glb(), Asset::quad().text()] {
        for length in (0..bytes.len()).step_by(97).chain([0, 1, 4, 11, 12, 19, 20, bytes.len() - 1]) {
            assert!(read_bytes(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn corrupted_files_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        is_binary in any::<bool>(),
    ) {
        let asset = Asset::quad();
        let mut bytes = if is_binary { asset.glb() } else { asset.text() };
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        survive(&bytes);
    }

    #[test]
    fn wrong_numbers_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::num::f64::ANY, any::<bool>()), 1..6),
    ) {
        // The JSON stays valid, so that the damage reaches later readers.
        let mut asset = Asset::quad();
        for (place, value, is_whole) in changes {
            let mut numbers = Vec::new();
            collect_numbers(&mut asset.json, &mut numbers);
            let place = place.index(numbers.len());
            let number = if is_whole { json!(value.to_bits() % 300) } else { json!(value) };
            *numbers.swap_remove(place) = if number.is_null() { json!(1e300) } else { number };
        }
        survive(&asset.glb());
    }
}

fn collect_numbers<'a>(value: &'a mut Value, numbers: &mut Vec<&'a mut Value>) {
    match value {
        Value::Number(_) => numbers.push(value),
        Value::Array(items) => items.iter_mut().for_each(|item| collect_numbers(item, numbers)),
        Value::Object(fields) => fields.values_mut().for_each(|field| collect_numbers(field, numbers)),
        _ => {}
    }
}
