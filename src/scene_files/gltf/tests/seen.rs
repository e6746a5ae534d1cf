//! Tests of whole files: albedo and radiance for a camera, and the light of bakes.

use image::ImageFormat;

use super::*;
use crate::Device;
use crate::accel::BruteForce;
use crate::bake::{BakeError, BakeOutput, BakeSettings, Unobserved, run_on};
use crate::geometry::{Hit, Ray, SurfaceId};
use crate::lightmap::irradiance_at;
use crate::lights::LightSampler;
use crate::pathtrace::{Integrator, PathTracer};
use crate::radiosity::Method;
use crate::scene::{CheckedScene, Scene, Sky};

const GRAY: Vec3 = Vec3::splat(0.5);
const RED: Vec3 = Vec3::X;
const GREEN: Vec3 = Vec3::Y;

/// Points of the panel, in the middle of each texel of its texture or beyond it.
const LEFT: Vec2 = Vec2::new(0.2, 0.1);
const RIGHT: Vec2 = Vec2::new(0.8, 0.1);

/// Returns a diffuse material without specular reflection.
fn diffuse(color: Vec3) -> Value {
    json!({
        "pbrMetallicRoughness": {"baseColorFactor": color.extend(1.0).to_array(), "metallicFactor": 0},
        "extensions": {"KHR_materials_specular": {"specularFactor": 0}}
    })
}

/// Returns a diffuse material with a texture of its color.
fn textured() -> Value {
    let mut material = diffuse(Vec3::ONE);
    material["pbrMetallicRoughness"]["baseColorTexture"] = json!({"index": 0});
    material
}

impl Asset {
    /// Returns the panel with a material.
    fn square(material: Value) -> Self {
        Self::quad().with("/materials/0", material)
    }

    /// Returns a gray panel in the sun, and a pane of another material before it.
    fn behind_pane(material: Value) -> Self {
        let mut asset = Self::square(diffuse(GRAY))
            .with("/nodes/0/children", json!([1, 2, 3, 4]))
            .with("/extensions/KHR_lights_punctual/lights/0", json!({"type": "directional", "intensity": 100}));
        let mut mesh = asset.json["meshes"][0].clone();
        mesh["primitives"][0]["material"] = json!(1);
        let node = json!({"name": "pane", "mesh": 1, "translation": [0, 0, 0.5]});
        for (list, item) in [("materials", material), ("meshes", mesh), ("nodes", node)] {
            asset.json[list].as_array_mut().unwrap().push(item);
        }
        asset
    }
}

/// Repairs a scene as all commands do before they use it.
fn repaired(parsed: Parsed) -> CheckedScene {
    check::repair(parsed.scene).0
}

/// Returns the albedo and the radiance that a camera before the panel sees at a point.
fn seen(scene: &Scene, place: Vec2) -> (Vec3, Vec3) {
    let (world, lights) = (BruteForce::new(scene), LightSampler::new(scene));
    let seen = PathTracer::new(scene, &world, &lights, None).trace(&Ray::new(place.extend(5.0), Vec3::NEG_Z), 0, 1);
    (seen.surface.expect("a surface is there").albedo, seen.radiance)
}

fn assert_albedo(asset: &Asset, places: [(Vec2, Vec3); 2], what: &str) -> String {
    let parsed = asset.load();
    let said = sentences(&parsed);
    let scene = repaired(parsed);
    for (place, expected) in places {
        let (albedo, _) = seen(&scene, place);
        assert!(albedo.abs_diff_eq(expected, 1e-3), "{what} at {place}: {albedo}");
    }
    said
}

fn bake(scene: CheckedScene) -> Result<BakeOutput, BakeError> {
    let mut settings = BakeSettings { volume: None, ..BakeSettings::default() };
    settings.layout.texels_per_meter = 16.0;
    run_on(&Device::Cpu, scene, &settings, &Unobserved)
}

/// Returns the irradiance of the panel's lightmap at a point in its first triangle, in lux.
fn baked(asset: &Asset, place: Vec2) -> Vec3 {
    let bake = bake(repaired(read_for_bake(asset))).unwrap();
    let barycentric = Vec2::new(place.x - place.y, place.y);
    let hit = Hit { t: 0.0, surface: SurfaceId(0), triangle: 0, barycentric, back: false, filter: Vec3::ONE };
    irradiance_at(&bake.layout, &bake.pages, &hit).expect("the panel has texels")
}

#[test]
fn faults_and_animations_that_leave_a_color_alone_leave_a_square_red() {
    let red = || Asset::square(diffuse(RED));
    let everywhere = |color| [(LEFT, color), (RIGHT, color)];
    let channel = |target: Value| json!([{"channels": [{"sampler": 0, "target": target}], "samplers": [{"input": 2, "output": 0}]}]);
    for (pointer, value) in [
        ("/scenes", json!([{"nodes": [0]}, {"name": "empty"}])),
        ("/animations", channel(json!({"path": "translation"}))),
        ("/accessors/0/count", json!(4.0)),
        ("/accessors/3/count", json!(6.0)),
    ] {
        assert_eq!(assert_albedo(&red().with(pointer, value), everywhere(RED), pointer), "");
    }
    let pointer = json!({"pointer": "/materials/0/pbrMetallicRoughness/baseColorFactor"});
    let target = json!({"path": "pointer", "extensions": {"KHR_animation_pointer": pointer}});
    let turning_green = red().animated(target, [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]]);
    assert_albedo(&turning_green, everywhere(RED), "a color that an animation changes");
    let broken = json!([{
        "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
        "samplers": [{"input": 0, "output": 0, "interpolation": 0}]
    }]);
    let said = assert_albedo(&red().with("/animations", broken), everywhere(RED), "a broken animation");
    assert!(said.contains("is damaged and moves nothing"), "{said}");
}

#[test]
fn a_square_is_as_red_as_its_vertices_and_its_diffuse_color() {
    let everywhere = [(LEFT, RED), (RIGHT, RED)];
    let floats: Vec<u8> = [[1.0_f32, 0.0, 0.0, 1.0]; 4].as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect();
    let white = || Asset::square(diffuse(Vec3::ONE));
    for asset in [
        white().with_attribute("COLOR_0", 5126, "VEC4", false, &floats),
        white().with_attribute("COLOR_0", 5121, "VEC3", true, &[255, 0, 0, 0].repeat(4)),
    ] {
        assert_eq!(assert_albedo(&asset, everywhere, "colors of vertices"), "");
    }
    let model = json!({"diffuseFactor": [1, 0, 0, 1], "specularFactor": [0, 0, 0], "glossinessFactor": 0});
    let glossy = Asset::square(json!({"extensions": {"KHR_materials_pbrSpecularGlossiness": model}}));
    assert_eq!(assert_albedo(&glossy, everywhere, "specular glossiness"), "");
    let scene = repaired(read_for_bake(&glossy));
    assert_eq!(scene.materials[0].reflectance_at(&scene, &scene.meshes[0], 0, Vec2::ZERO), RED);
}

#[test]
fn a_square_all_of_whose_coordinates_are_zeros_has_one_texel_everywhere() {
    let zeros = json!({"componentType": 5126, "count": 4, "type": "VEC2"});
    let asset = Asset::square(textured()).with_texels([[255, 0, 0, 255], [255; 4]], ImageFormat::Png);
    assert_albedo(&asset, [(LEFT, RED), (RIGHT, Vec3::ONE)], "coordinates");
    assert_eq!(assert_albedo(&asset.with("/accessors/2", zeros), [(LEFT, RED), (RIGHT, RED)], "zeros"), "");
}

#[test]
fn webp_pictures_show_their_colors_whether_a_file_requires_them_or_not() {
    let texels = [[255, 0, 0, 255], [0, 255, 0, 255]];
    let asset = Asset::square(textured())
        .with_texels(texels, ImageFormat::WebP)
        .with("/textures/0", json!({"sampler": 0, "extensions": {"EXT_texture_webp": {"source": 0}}}))
        .with("/extensionsUsed", json!(["EXT_texture_webp", "KHR_lights_punctual", "KHR_materials_specular"]));
    let required = Asset { json: asset.json.clone(), binary: asset.binary.clone() };
    for asset in [asset, required.with("/extensionsRequired", json!(["EXT_texture_webp"]))] {
        assert_eq!(assert_albedo(&asset, [(LEFT, RED), (RIGHT, GREEN)], "WebP"), "");
    }
}

#[test]
fn a_black_square_whose_specular_texture_is_clear_shows_nothing_of_a_white_sky() {
    let emissive = |alpha: u8| {
        let asset = Asset::square(json!({
            "pbrMetallicRoughness": {"baseColorFactor": [0, 0, 0, 1], "metallicFactor": 0, "roughnessFactor": 0},
            "extensions": {"KHR_materials_specular": {"specularTexture": {"index": 0}}}
        }));
        let mut parsed = asset.with_texels([[255, 255, 255, alpha]; 2], ImageFormat::Png).load();
        parsed.scene.sky = Sky::Uniform(Vec3::ONE);
        seen(&repaired(parsed), LEFT)
    };
    assert_eq!(emissive(0), (Vec3::ZERO, Vec3::ZERO));
    let (albedo, _) = emissive(255);
    assert!(albedo.min_element() > 0.03, "{albedo}");
}

#[test]
fn a_black_pane_of_no_alpha_is_not_seen_and_casts_no_shadow() {
    let pane = |alpha: f32| {
        let factors = json!({"baseColorFactor": [0, 0, 0, alpha], "metallicFactor": 0});
        Asset::behind_pane(json!({"pbrMetallicRoughness": factors, "alphaMode": "BLEND"}))
    };
    assert_eq!(assert_albedo(&pane(0.0), [(LEFT, GRAY), (RIGHT, GRAY)], "no alpha"), "");
    for (alpha, lux) in [(0.0, 100.0), (1.0, 0.0)] {
        let found = baked(&pane(alpha), LEFT).x;
        assert!((found - lux).abs() < 1.0, "{alpha}: {found}");
    }
}

#[test]
fn light_passes_a_blended_picture_where_that_is_black_and_clear() {
    let mut leaf = textured();
    leaf["alphaMode"] = json!("BLEND");
    let asset = Asset::behind_pane(leaf).with_texels([[0; 4], [0, 255, 0, 255]], ImageFormat::Png);
    assert_eq!(assert_albedo(&asset, [(LEFT, GRAY), (RIGHT, GREEN)], "leaf"), "");
    let [clear, covered] = [LEFT, RIGHT].map(|place| baked(&asset, place).x);
    assert!((clear - 100.0).abs() < 1.0 && covered < 1.0, "{clear} {covered}");
}

#[test]
fn a_sheet_that_scatters_red_light_through_lights_a_wall_behind_it_red() {
    let mut sheet = diffuse(Vec3::splat(0.8));
    sheet["doubleSided"] = json!(true);
    sheet["extensions"]["KHR_materials_diffuse_transmission"] =
        json!({"diffuseTransmissionFactor": 1, "diffuseTransmissionColorFactor": [1, 0, 0]});
    let found = baked(&Asset::behind_pane(sheet), LEFT);
    assert!((15.0..70.0).contains(&found.x) && found.y == 0.0, "{found}");
}

#[test]
fn what_is_hidden_by_itself_or_by_its_parent_is_neither_seen_nor_casts_a_shadow() {
    let hidden = json!({"KHR_node_visibility": {"visible": false}});
    let pane = || Asset::behind_pane(diffuse(RED));
    assert_eq!(assert_albedo(&pane(), [(LEFT, RED), (RIGHT, RED)], "shown"), "");
    let alone = pane().with("/nodes/4/extensions", hidden.clone());
    let mut below = pane().with("/nodes/0/children", json!([1, 2, 3, 5]));
    let parent = json!({"name": "holder", "children": [4], "extensions": hidden});
    below.json["nodes"].as_array_mut().unwrap().push(parent);
    for asset in [alone, below] {
        let said = assert_albedo(&asset, [(LEFT, GRAY), (RIGHT, GRAY)], "hidden");
        assert!(said.contains("'pane' is hidden"), "{said}");
        assert!((baked(&asset, LEFT).x - 100.0).abs() < 1.0);
    }
}

#[test]
fn instances_of_a_file_that_requires_them_are_all_seen() {
    let mut asset = Asset::square(diffuse(RED)).with("/extensionsRequired", json!(["EXT_mesh_gpu_instancing"]));
    let places = asset.add(&[[-2.0, 0.0, 0.0], [0.0; 3], [2.0, 0.0, 0.0]]);
    let extension = json!({"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": places}}});
    let parsed = asset.with("/nodes/1/extensions", extension).load();
    assert_eq!((parsed.scene.triangle_count(), sentences(&parsed).as_str()), (6, ""));
    let scene = repaired(parsed);
    for x in [-2.0, 0.0, 2.0] {
        assert!(seen(&scene, LEFT + Vec2::X * x).0.abs_diff_eq(RED, 1e-3), "{x}");
    }
}

#[test]
fn a_bake_of_nothing_but_skinned_or_morphed_meshes_says_so() {
    let skinned = Asset::square(diffuse(RED)).with("/nodes/1/skin", json!(0)).with("/skins", json!([{"joints": [0]}]));
    let morphed = Asset::square(diffuse(RED)).with("/meshes/0/primitives/0/targets", json!([{"POSITION": 0}]));
    for (asset, how) in [(skinned, "skinned"), (morphed, "morphed")] {
        let parsed = read_for_bake(&asset);
        assert!(sentences(&parsed).contains(&format!("'wall' is {how}")), "{}", sentences(&parsed));
        let refusal = bake(repaired(parsed)).map(|_| ()).unwrap_err().to_string();
        for part in ["no surface to bake", "wall' is", how, "radiosity_role"] {
            assert!(refusal.contains(part), "{refusal}");
        }
    }
}

/// Returns a closed white box of a meter that emits light. Both sides count as surfaces.
fn white_box(is_lit_within: bool) -> CheckedScene {
    let mut asset = Asset::square(json!({
        "pbrMetallicRoughness": {"metallicFactor": 0}, "emissiveFactor": [1, 1, 1], "doubleSided": true
    }))
    .with("/nodes/2/translation", json!([0.5, 0.5, 0.5]));
    let corners: [[f32; 3]; 8] =
        core::array::from_fn(|corner| [1, 2, 4].map(|bit| f32::from(u8::from(corner & bit != 0))));
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = faces.iter().flat_map(|face| [0, 1, 2, 0, 2, 3].map(|corner: usize| corners[face[corner]]));
    let positions = asset.add(&triangles.collect::<Vec<[f32; 3]>>());
    asset.json["meshes"][0]["primitives"] = json!([{"attributes": {"POSITION": positions}, "material": 0}]);
    let mut parsed = read_for_bake(&asset);
    if !is_lit_within {
        parsed.scene.lights.clear();
    }
    repaired(parsed)
}

#[test]
fn light_in_a_closed_white_box_is_said_to_have_no_end_by_every_method() {
    for method in [Method::Gather, Method::Stochastic, Method::Progressive, Method::Counted, Method::Path] {
        let mut settings = BakeSettings { volume: None, ..BakeSettings::default() };
        settings.layout.texels_per_meter = 2.0;
        settings.solver.method = method;
        for is_lit_within in [true, false] {
            let bake = run_on(&Device::Cpu, white_box(is_lit_within), &settings, &Unobserved).unwrap();
            let is_said = |warning: &String| warning.contains("reflectances near one in a closed room");
            assert!(bake.report.warnings.iter().any(is_said), "{method:?}: {:?}", bake.report.warnings);
        }
    }
}
