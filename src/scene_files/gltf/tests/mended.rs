//! Tests that a fault loses only the part with the fault.

use super::*;

#[test]
fn integers_written_as_floats_are_integers() {
    let mut asset = Asset::quad();
    let mut numbers = Vec::new();
    collect_numbers(&mut asset.json, &mut numbers);
    for number in numbers {
        *number = json!(number.as_f64().unwrap());
    }
    assert!(asset.json.to_string().contains("\"count\":4.0"));
    let parsed = asset.load();
    assert_eq!((parsed.scene.triangle_count(), sentences(&parsed).as_str()), (2, ""));
}

#[test]
fn scenes_need_no_nodes_and_animations_no_targets() {
    let channel = |target: Value| json!([{"channels": [{"sampler": 0, "target": target}], "samplers": [{"input": 2, "output": 0}]}]);
    for (pointer, value) in [
        ("/scenes", json!([{"nodes": [0]}, {"name": "empty"}])),
        ("/animations", channel(json!({"path": "translation"}))),
        ("/animations", channel(json!({"path": "weights", "node": 1}))),
        ("/animations", json!([{"name": "nothing"}])),
        ("/skins", json!([{"joints": "none"}])),
    ] {
        let parsed = Asset::quad().with(pointer, value).load();
        assert_eq!((parsed.scene.triangle_count(), sentences(&parsed).as_str()), (2, ""), "{pointer}");
        assert_eq!(parsed.scene.surfaces[0].role, Role::Static);
    }
}

#[test]
fn a_damaged_animation_is_named_and_moves_nothing() {
    let sampler = |sampler: Value| {
        let channels = json!([{"sampler": 0, "target": {"node": 1, "path": "translation"}}]);
        Asset::quad().with("/animations", json!([{"name": "rise", "channels": channels, "samplers": [sampler]}])).load()
    };
    for broken in [
        json!({"input": 0, "output": 0, "interpolation": 0}),
        json!({"input": 0, "output": 0}),
        json!({"input": 0}),
        json!("gone"),
    ] {
        let parsed = sampler(broken);
        assert!(sentences(&parsed).contains("animation 'rise' is damaged and moves nothing"), "{}", sentences(&parsed));
        assert_eq!(parsed.scene.surfaces[0].role, Role::Static);
    }
}

#[test]
fn a_damaged_part_is_named_and_the_rest_of_it_is_read() {
    for (pointer, value, sentence) in [
        ("/materials/0/alphaCutoff", json!("half"), "material 'paint' is damaged: 'alphaCutoff' cannot be understood"),
        ("/materials/0/pbrMetallicRoughness/roughnessFactor", json!([1]), "'roughnessFactor'"),
        ("/nodes/3/translation", json!("up"), "node 'eye' is damaged: 'translation'"),
        ("/accessors/1/count", json!(-4), "NORMAL of mesh 'wall' is ignored"),
        ("/accessors/1", json!("gone"), "NORMAL of mesh 'wall' is ignored"),
        ("/samplers/0/wrapS", json!({}), "sampler 0 is damaged"),
        ("/cameras/0", json!([]), "camera 'eye' is left out"),
        ("/extensions/KHR_lights_punctual/lights/0", json!(7), "light 'lamp' is left out"),
        ("/extensionsUsed", json!("KHR_lights_punctual"), "'extensionsUsed'"),
    ] {
        let parsed = Asset::quad().with(pointer, value).load();
        let text = sentences(&parsed);
        assert!(text.contains(sentence), "{pointer}: {text}");
        let scene = &parsed.scene;
        assert_eq!((scene.triangle_count(), scene.materials[0].base_color.y), (2, 0.5), "{pointer}");
    }
    let mut two = Asset::quad();
    let primitive = two.json["meshes"][0]["primitives"][0].clone();
    two.json["meshes"][0]["primitives"] = json!([{"attributes": 7}, primitive]);
    let parsed = two.load();
    assert_eq!(parsed.scene.surfaces[0].key.0, "room/wall:1");
    assert!(sentences(&parsed).contains("primitive 0 of mesh 'wall' is left out"), "{}", sentences(&parsed));
}

#[test]
fn other_versions_of_gltf_are_named() {
    let old = |json: Value| read_bytes(json.to_string().as_bytes()).unwrap_err().to_string();
    let by_number = old(json!({"asset": {"version": "1.1"}}));
    let by_form = old(json!({"meshes": {"box": {"primitives": []}}, "nodes": {}}));
    let of_bytes = read_bytes(b"glTF\x01\0\0\0\x20\0\0\0").unwrap_err().to_string();
    assert!(by_number.contains("room.glb is glTF 1.1, and only glTF 2 is read"), "{by_number}");
    for error in [by_form, of_bytes] {
        assert!(error.contains("room.glb is glTF 1.0, and only glTF 2 is read"), "{error}");
    }
    let mut nameless = Asset::quad();
    nameless.json.as_object_mut().unwrap().remove("asset");
    let parsed = nameless.load();
    assert_eq!(parsed.scene.triangle_count(), 2);
    assert!(sentences(&parsed).contains("read as glTF 2.0"));
}

#[test]
fn accessors_without_a_buffer_view_are_zeros_within_bounds() {
    let zeros = |count: u64| json!({"componentType": 5126, "count": count, "type": "VEC2"});
    let parsed = Asset::quad().with("/accessors/2", zeros(4)).load();
    assert_eq!((parsed.scene.meshes[0].uv0.as_slice(), sentences(&parsed).as_str()), ([Vec2::ZERO; 4].as_slice(), ""));
    let text = sentences(&Asset::quad().with("/accessors/2", zeros(1 << 40)).load());
    assert!(text.contains("TEXCOORD_0 of mesh 'wall' is ignored: the file asks for too many numbers"), "{text}");
    let text = sentences(&Asset::quad().with("/accessors/2", zeros(1 << 25)).load());
    assert!(text.contains("TEXCOORD_0 of mesh 'wall' is ignored: its data is not in the file"), "{text}");
}

#[test]
fn compressed_meshes_are_read_where_an_uncompressed_twin_is_given() {
    let draco = json!({"KHR_draco_mesh_compression": {"bufferView": 0, "attributes": {"POSITION": 0}}});
    let asset = Asset::quad().with("/meshes/0/primitives/0/extensions", draco);
    assert_eq!(asset.load().scene.triangle_count(), 2);
    let blank = json!({"componentType": 5126, "count": 4, "type": "VEC3"});
    let text = sentences(&asset.with("/accessors/0", blank).load());
    assert!(text.contains("compressed by Draco") && text.contains("without compression"), "{text}");
}
