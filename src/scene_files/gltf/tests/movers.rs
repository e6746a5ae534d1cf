//! Tests of nodes that are hidden, that move, and that are instanced.

use glam::Quat;

use super::*;

impl Asset {
    /// Adds an accessor of floats and returns its index.
    pub(super) fn add<const N: usize>(&mut self, values: &[[f32; N]]) -> usize {
        let bytes: &[u8] = bytemuck::cast_slice(values.as_flattened());
        let view = json!({"buffer": 0, "byteOffset": self.binary.len(), "byteLength": bytes.len()});
        self.binary.extend(bytes);
        self.json["buffers"][0]["byteLength"] = self.binary.len().into();
        let views = self.json["bufferViews"].as_array_mut().unwrap();
        views.push(view);
        let shape = ["", "SCALAR", "VEC2", "VEC3", "VEC4"][N];
        let accessor =
            json!({"bufferView": views.len() - 1, "componentType": 5126, "count": values.len(), "type": shape});
        let accessors = self.json["accessors"].as_array_mut().unwrap();
        accessors.push(accessor);
        accessors.len() - 1
    }

    /// Adds an animation of the target from the first value to the second.
    pub(super) fn animated<const N: usize>(mut self, target: Value, values: [[f32; N]; 2]) -> Self {
        let (input, output) = (self.add(&[[0.0], [1.0]]), self.add(&values));
        let channels = json!([{"sampler": 0, "target": target}]);
        let samplers = json!([{"input": input, "output": output}]);
        self.with("/animations", json!([{"name": "rise", "channels": channels, "samplers": samplers}]))
    }
}

#[test]
fn what_is_hidden_is_not_there_nor_what_hangs_from_it() {
    let hidden = |visible: bool| json!({"KHR_node_visibility": {"visible": visible}});
    let all = Asset::quad().with("/nodes/0/extensions", hidden(true)).load();
    assert_eq!((all.scene.surfaces.len(), all.scene.lights.len(), sentences(&all).as_str()), (1, 1, ""));
    let none =
        Asset::quad().with("/nodes/0/extensions", hidden(false)).with("/nodes/1/extensions", hidden(true)).load();
    assert_eq!((none.scene.surfaces.len(), none.scene.lights.len(), none.cameras.len()), (0, 0, 1));
    assert!(sentences(&none).contains("'wall' and 1 more nodes are hidden"), "{}", sentences(&none));
    let lamp = Asset::quad().with("/nodes/2/extensions/KHR_node_visibility", json!({"visible": false})).load();
    assert_eq!((lamp.scene.surfaces.len(), lamp.scene.lights.len()), (1, 0));
}

#[test]
fn what_an_animation_moves_is_a_mover_with_all_that_hangs_from_it() {
    let rise = [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
    let pointer = |path: &str| json!({"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": path}}});
    for target in [
        json!({"node": 1, "path": "translation"}),
        json!({"node": 0, "path": "translation"}),
        pointer("/nodes/1/translation"),
        pointer("/nodes/0/extensions/KHR_node_visibility/visible"),
    ] {
        let asset = Asset::quad().animated(target, rise);
        let parsed = asset.load();
        assert_eq!(parsed.scene.surfaces[0].role, Role::Mover);
        let text = sentences(&parsed);
        assert_eq!(text.matches("animation 'rise' moves 'wall'").count(), 1, "{text}");
        assert!(text.contains("set radiosity_role to static"), "{text}");
        let told = asset.with("/nodes/1/extras", json!({"radiosity_role": "static"})).load();
        assert_eq!(told.scene.surfaces[0].role, Role::Static);
        assert!(!sentences(&told).contains("'wall'"), "{}", sentences(&told));
    }
}

#[test]
fn a_lamp_that_an_animation_moves_is_no_part_of_a_bake() {
    let asset = Asset::quad().animated(json!({"node": 2, "path": "translation"}), [[0.0, 2.0, 0.0], [5.0, 2.0, 0.0]]);
    let baked = read_for_bake(&asset);
    assert_eq!((baked.scene.lights.len(), asset.load().scene.lights.len()), (0, 1));
    assert!(sentences(&baked).contains("moves 'lamp'"), "{}", sentences(&baked));
}

#[test]
fn an_animation_that_keeps_a_node_where_it_stands_moves_nothing() {
    // Exporters write channels for all objects, moving or not.
    let half = core::f32::consts::FRAC_1_SQRT_2;
    let still = Asset::quad()
        .with("/nodes/1", json!({"name": "wall", "mesh": 0, "rotation": [0, half, 0, half]}))
        .animated(json!({"node": 1, "path": "rotation"}), [[0.0, half, 0.0, half], [0.0, -half, 0.0, -half]]);
    let parsed = still.load();
    assert_eq!((parsed.scene.surfaces[0].role, sentences(&parsed).as_str()), (Role::Static, ""));
    let turned =
        Asset::quad().animated(json!({"node": 1, "path": "rotation"}), [[0.0, 0.0, 0.0, 1.0], [0.0, half, 0.0, half]]);
    assert_eq!(turned.load().scene.surfaces[0].role, Role::Mover);
}

#[test]
fn an_animation_of_a_material_is_named_and_moves_nothing() {
    let pointer = json!({"pointer": "/materials/0/pbrMetallicRoughness/baseColorFactor"});
    let target = json!({"path": "pointer", "extensions": {"KHR_animation_pointer": pointer}});
    let parsed = Asset::quad().animated(target, [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]]).load();
    assert_eq!(parsed.scene.surfaces[0].role, Role::Static);
    assert!(sentences(&parsed).contains("animation 'rise' changes material 'paint'"), "{}", sentences(&parsed));
}

#[test]
fn instances_stand_where_their_attributes_put_them() {
    let mut asset = Asset::quad();
    let turn = Quat::from_rotation_z(1.0).to_array();
    let (places, turns, sizes) = (
        asset.add(&[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]),
        asset.add(&[[0.0, 0.0, 0.0, 1.0], turn]),
        asset.add(&[[1.0; 3], [3.0; 3]]),
    );
    let attributes = json!({"TRANSLATION": places, "ROTATION": turns, "SCALE": sizes});
    let extension = json!({"EXT_mesh_gpu_instancing": {"attributes": attributes}});
    let crowd =
        asset.with("/nodes/1", json!({"name": "wall", "mesh": 0, "translation": [0, 5, 0], "extensions": extension}));
    let parsed = crowd.load();
    let scene = &parsed.scene;
    assert_eq!((scene.triangle_count(), scene.meshes.len(), sentences(&parsed).as_str()), (4, 1, ""));
    assert_eq!(scene.surfaces[1].key.0, "room/wall[1]:0");
    let corner = scene.surfaces[1].to_world.transform_point3(Vec3::X);
    let expected = Vec3::new(2.0 + 3.0 * 1f32.cos(), 5.0 + 3.0 * 1f32.sin(), 0.0);
    assert!((corner - expected).length() < 1e-5, "{corner}");
    let broken = crowd.with("/nodes/1/extensions/EXT_mesh_gpu_instancing/attributes", json!({"SCALE": 99}));
    assert!(sentences(&broken.load()).contains("instances of 'wall' are left out"));
    // A few bytes must not ask for more surfaces than memory holds.
    let mut endless = broken.with("/nodes/1/extensions/EXT_mesh_gpu_instancing/attributes", json!({"TRANSLATION": 7}));
    let zeros = json!({"componentType": 5126, "count": 5_000_000, "type": "VEC3"});
    endless.json["accessors"].as_array_mut().unwrap().push(zeros);
    let parsed = endless.load();
    assert!(parsed.scene.surfaces.len() <= 1 << 20 && sentences(&parsed).contains("instances of 'wall' are left out"));
}
