//! Tests of materials that are not written as metallic roughness.

use super::*;
use crate::scene_files::Units;

fn with_options(asset: &Asset, options: SceneOptions) -> Parsed {
    finish(read(&asset.glb(), &Source::of(Path::new("room.glb")), Purpose::Bake, &options)).unwrap()
}

#[test]
fn specular_glossiness_is_diffuse_below_what_it_mirrors() {
    let model = |specular: [f32; 3]| {
        let model = json!({"diffuseFactor": [1, 0.5, 0, 1], "specularFactor": specular, "glossinessFactor": 0.25});
        let asset =
            Asset::quad().with("/materials/0", json!({"extensions": {"KHR_materials_pbrSpecularGlossiness": model}}));
        let parsed = asset.load();
        assert_eq!(sentences(&parsed), "");
        parsed.scene.materials[0].clone()
    };
    let diffuse = model([0.0; 3]);
    assert_eq!(
        (diffuse.base_color, diffuse.metallic, diffuse.reflectance),
        (Vec4::new(1.0, 0.5, 0.0, 1.0), 0.0, Vec3::ZERO)
    );
    assert_eq!(diffuse.perceptual_roughness, 0.75);
    // A quarter is reflected at normal incidence: 0.16 times the square of the reflectance.
    let shiny = model([0.25, 0.09, 0.0]);
    assert!((0.16 * shiny.reflectance * shiny.reflectance - Vec3::new(0.25, 0.09, 0.0)).abs().max_element() < 1e-5);
    assert_eq!(shiny.base_color.x, 0.75);
}

/// Returns a quad with a diffuse color of 0.8: red in its left half, white in its right half. The left half reflects a
/// quarter of the light specularly at a glossiness of one half, the right half none.
fn half_polished(diffuse_texture: Value) -> Asset {
    let model = json!({
        "diffuseFactor": [0.8, 0.8, 0.8, 1], "diffuseTexture": diffuse_texture,
        "specularFactor": [0.25, 0.25, 0.25], "glossinessFactor": 0.5, "specularGlossinessTexture": {"index": 1},
    });
    let polish = Asset::quad().with_texels([[255; 4], [0; 4]], image::ImageFormat::Png).json["images"][0].clone();
    let mut asset = Asset::quad()
        .with("/materials/0", json!({"name": "oak", "extensions": {"KHR_materials_pbrSpecularGlossiness": model}}));
    asset.json["images"].as_array_mut().unwrap().push(polish);
    asset.json["textures"].as_array_mut().unwrap().push(json!({"source": 1, "sampler": 0}));
    asset
}

#[test]
fn a_texture_says_how_specular_and_glossy_each_place_is() {
    let parsed = half_polished(json!({"index": 0})).load();
    assert_eq!(sentences(&parsed), "");
    let scene = &parsed.scene;
    let seen = |place| scene.materials[0].appearance_at(scene, &scene.meshes[0], 0, place);
    for (place, mirrored, roughness, color) in
        [(HALVES[0], 0.25, 0.5, Vec3::new(0.6, 0.0, 0.0)), (HALVES[1], 0.0, 1.0, Vec3::splat(0.8))]
    {
        let found = seen(place);
        // Half a step of eight bits in sRGB is 0.003 at this value.
        assert!((0.16 * found.reflectance.x.powi(2) - mirrored).abs() < 0.0035, "{found:?}");
        assert!((found.perceptual_roughness - roughness).abs() < 0.002, "{found:?}");
        assert!((found.base_color - color).abs().max_element() < 0.003, "{found:?}");
        assert_eq!(found.metallic, 0.0);
    }
}

#[test]
fn a_diffuse_texture_that_is_laid_otherwise_than_the_specular_one_is_not_dimmed_by_it() {
    let moved = json!({"index": 0, "extensions": {"KHR_texture_transform": {"offset": [1.0, 0.0]}}});
    let parsed = half_polished(moved).load();
    let text = sentences(&parsed);
    assert!(text.contains("specularGlossinessTexture of material 'oak' is ignored: for the diffuse color"), "{text}");
    let scene = &parsed.scene;
    let seen = scene.materials[0].appearance_at(scene, &scene.meshes[0], 0, HALVES[0]);
    assert!((0.16 * seen.reflectance.x.powi(2) - 0.25).abs() < 0.0035, "{seen:?}");
    assert_eq!(seen.base_color.x, 0.8);
}

#[test]
fn a_specular_texture_that_is_missing_leaves_the_usual_four_percent() {
    let parsed = half_polished(json!({"index": 0})).with("/images/1", json!({"uri": "lost.png"})).load();
    assert_eq!(sentences(&parsed).matches("lost.png").count(), 1, "{}", sentences(&parsed));
    let oak = &parsed.scene.materials[0];
    assert_eq!((oak.reflectance, oak.base_color_texture.is_some()), (Vec3::splat(0.5), true));
}

#[test]
fn webp_pictures_are_read_in_place_of_their_substitutes() {
    let mut bytes = Vec::new();
    let picture = image::RgbImage::from_fn(2, 1, |x, _| image::Rgb(if x == 0 { [255, 0, 0] } else { [0, 255, 0] }));
    picture.write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::WebP).unwrap();
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    let image = json!({"uri": format!("data:image/webp;base64,{data}"), "name": "leaf"});
    let mut asset = Asset::quad();
    asset.json["images"].as_array_mut().unwrap().push(image);
    for texture in [json!({}), json!({"source": 0})] {
        let mut texture = texture;
        texture["extensions"] = json!({"EXT_texture_webp": {"source": 1}});
        asset.json["textures"] = json!([texture]);
        asset.json["extensionsRequired"] = json!(["EXT_texture_webp"]);
        let parsed = asset.load();
        assert_eq!((parsed.scene.textures[0].name.as_str(), sentences(&parsed).as_str()), ("leaf", ""));
    }
}

#[test]
fn unlit_surfaces_let_light_pass_unless_they_are_told_to_block_it() {
    let asset = Asset::quad().with("/materials/0/extensions", json!({"KHR_materials_unlit": {}}));
    let parsed = read_for_bake(&asset);
    let surface = &parsed.scene.surfaces[0];
    assert_eq!((surface.role, parsed.scene.materials[0].is_emissive()), (Role::Excluded, false));
    let text = sentences(&parsed);
    assert!(text.contains("material 'paint' of 'wall' is unlit") && text.contains("radiosity_role"), "{text}");
    for (role, expected) in [("occluder", Role::Occluder), ("static", Role::Static), ("mover", Role::Mover)] {
        let told = read_for_bake(
            &Asset::quad()
                .with("/materials/0/extensions", json!({"KHR_materials_unlit": {}}))
                .with("/nodes/1/extras", json!({"radiosity_role": role})),
        );
        assert_eq!((told.scene.surfaces[0].role, sentences(&told).as_str()), (expected, ""));
    }
    // A scene for pictures without any other surface shows them.
    assert_eq!(asset.load().scene.surfaces[0].role, Role::Static);
}

#[test]
fn metals_by_omission_are_named_and_their_default_can_be_set() {
    let asset = Asset::quad().with("/materials/0", json!({"name": "plaster", "doubleSided": true}));
    let text = sentences(&asset.load());
    assert!(text.contains("material 'plaster' of 'wall' has neither metalness nor roughness"), "{text}");
    assert!(text.contains("--default-metallic 0"), "{text}");
    let diffuse = SceneOptions { default_metallic: Some(0.0), ..SceneOptions::default() };
    let parsed = with_options(&asset, diffuse);
    assert_eq!((parsed.scene.materials[0].metallic, sentences(&parsed).as_str()), (0.0, ""));
    for meant in [json!({"metallicFactor": 1}), json!({"roughnessFactor": 0.2})] {
        let meant = Asset::quad().with("/materials/0", json!({"pbrMetallicRoughness": meant}));
        assert_eq!(
            (sentences(&meant.load()).as_str(), with_options(&meant, diffuse).scene.materials[0].metallic),
            ("", 1.0)
        );
    }
    let mut none = Asset::quad();
    none.json["meshes"][0]["primitives"][0].as_object_mut().unwrap().remove("material");
    let text = sentences(&none.load());
    assert!(text.contains("'wall' has no material"), "{text}");
    let parsed = with_options(&none, diffuse);
    assert_eq!((parsed.scene.materials[1].metallic, sentences(&parsed).as_str()), (0.0, ""));
}

/// Returns a quad that emits 10.0 cd/m2 below a lamp of 5,435 cd, which is a lamp of 100 W in Blender's mode
/// *Standard*.
fn lamp_and_panel() -> Asset {
    let panel = json!({"name": "panel", "emissiveFactor": [1, 1, 1], "pbrMetallicRoughness": {"metallicFactor": 0},
        "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 10}}});
    let lamp = json!({"type": "point", "intensity": 683.0 * 100.0 / (4.0 * core::f64::consts::PI)});
    Asset::quad().with("/materials/0", panel).with("/extensions/KHR_lights_punctual/lights/0", lamp)
}

fn candela_and_radiance(parsed: &Parsed) -> [f32; 2] {
    let LightKind::Point { intensity, .. } = parsed.scene.lights[0].kind else { panic!("a point light") };
    [intensity.x, parsed.scene.materials[0].emission.x]
}

#[test]
fn lamps_and_emission_of_blender_can_be_brought_to_one_unit() {
    let plain = lamp_and_panel().load();
    assert!(sentences(&plain).contains("light 'lamp' has 5435 cd and material 'panel' glows with 10.0 cd/m2"));
    assert!(sentences(&plain).contains("--units blender"), "{}", sentences(&plain));
    let options = |units| SceneOptions { units: Some(units), ..SceneOptions::default() };
    let standard = with_options(&lamp_and_panel(), options(Units::Blender));
    let [candela, radiance] = candela_and_radiance(&standard);
    // 100 / (4 pi) W/sr beside 10 W/(m2 sr).
    assert!((candela / radiance - 0.795_77).abs() < 1e-4 && sentences(&standard).is_empty());
    assert_eq!(radiance, 6830.0);
    let unitless = with_options(&lamp_and_panel(), options(Units::BlenderUnitless));
    assert_eq!(candela_and_radiance(&unitless), [candela * 683.0, 6830.0]);
    let as_given = with_options(&lamp_and_panel(), options(Units::Gltf));
    assert_eq!((candela_and_radiance(&as_given)[1], sentences(&as_given).as_str()), (10.0, ""));
    for pointer in ["/asset/extras", "/scenes/0/extras", "/extras"] {
        let told = lamp_and_panel().with(pointer, json!({"radiosity_units": "blender"})).load();
        assert_eq!((candela_and_radiance(&told), sentences(&told).as_str()), ([candela, 6830.0], ""), "{pointer}");
    }
    let wrong = lamp_and_panel().with("/extras", json!({"radiosity": {"units": "furlong"}})).load();
    assert!(sentences(&wrong).contains("extra 'units'"), "{}", sentences(&wrong));
}

#[test]
fn lamps_beside_surfaces_that_glow_as_panels_do_are_no_matter_of_units() {
    let bright =
        lamp_and_panel().with("/materials/0/extensions/KHR_materials_emissive_strength/emissiveStrength", json!(500));
    assert_eq!(sentences(&bright.load()), "");
}
