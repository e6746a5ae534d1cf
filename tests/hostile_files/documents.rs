//! Small scene files with a part of each kind that is read.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, RgbaImage};
use serde_json::{Value, json};

use crate::damage::glb;

/// Returns a PNG of two texels.
pub fn png() -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let picture = RgbaImage::from_fn(2, 1, |x, _| image::Rgba([255, 0, 255 * x as u8, 128]));
    picture.write_to(&mut bytes, ImageFormat::Png).expect("there is room");
    bytes.into_inner()
}

/// Returns glTF documents: one with its buffer inside, and one with the buffer in `case.bin`.
pub fn gltf() -> Vec<Vec<u8>> {
    let inside = format!("data:application/octet-stream;base64,{}", STANDARD.encode(buffer()));
    let text = |uri: &str| {
        let mut document = document();
        document["buffers"][0]["uri"] = uri.into();
        document.to_string().into_bytes()
    };
    let least = json!({
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": 36, "uri": "case.bin"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}]
    });
    vec![text(&inside), text("case.bin"), least.to_string().into_bytes()]
}

/// Returns glTF documents as binary files.
pub fn binary_gltf() -> Vec<Vec<u8>> {
    let chunk = [&(buffer().len() as u32).to_le_bytes(), &b"BIN\0"[..], &buffer()].concat();
    let outside = gltf().remove(1);
    vec![glb(document().to_string().into_bytes(), &chunk), glb(outside, &[])]
}

/// Returns the buffer of [`document`].
pub fn buffer() -> Vec<u8> {
    let corners = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let numbers = corners.as_flattened().iter().chain(&[0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]).copied();
    let mut bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
    bytes.extend([0u16, 1, 2, 0, 2, 3].into_iter().flat_map(u16::to_le_bytes));
    bytes
}

/// Returns a document with a part of each kind that is read.
fn document() -> Value {
    json!({
        "asset": {"version": "2.0", "generator": "hostile_files"},
        "scene": 0,
        "scenes": [{"nodes": [0, 3], "extras": {"radiosity_units": "blender"}}],
        "nodes": [
            {"name": "room", "children": [1, 2], "extras": {"radiosity": {"role": "static", "density": 2.0}}},
            {"name": "wall", "mesh": 0, "translation": [0, 1, 0], "rotation": [0, 0, 0, 1], "scale": [1, 2, 1]},
            {"name": "lamp", "extras": {"radius": 0.1}, "extensions": {"KHR_lights_punctual": {"light": 2}, "KHR_node_visibility": {"visible": true}}},
            {"name": "crowd", "mesh": 1, "skin": 0, "camera": 0, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
             "extensions": {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": 0, "SCALE": 0}}}}
        ],
        "skins": [{"joints": [1]}],
        "meshes": [
            {"name": "panel", "primitives": [
                {"attributes": {"POSITION": 0, "NORMAL": 0, "TEXCOORD_0": 1, "TEXCOORD_1": 1}, "indices": 2, "material": 0}
            ]},
            {"primitives": [{"attributes": {"POSITION": 3, "COLOR_0": 0}, "mode": 5, "material": 1, "targets": [{"POSITION": 0}]}],
             "weights": [0.5]}
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
            {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC2"},
            {"bufferView": 2, "componentType": 5123, "count": 6, "type": "SCALAR"},
            {"componentType": 5126, "count": 4, "type": "VEC3", "sparse": {
                "count": 2, "indices": {"bufferView": 2, "componentType": 5123}, "values": {"bufferView": 0}
            }},
            {"bufferView": 1, "componentType": 5126, "count": 8, "type": "SCALAR"}
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48, "byteStride": 12},
            {"buffer": 0, "byteOffset": 48, "byteLength": 32},
            {"buffer": 0, "byteOffset": 80, "byteLength": 12}
        ],
        "buffers": [{"byteLength": 92}],
        "images": [
            {"uri": format!("data:image/png;base64,{}", STANDARD.encode(png())), "name": "dot"},
            {"bufferView": 0, "mimeType": "image/png"},
            {"uri": "dot.png"}
        ],
        "samplers": [{"wrapS": 33071, "wrapT": 33648, "magFilter": 9728}],
        "textures": [{"source": 0, "sampler": 0}, {"extensions": {"EXT_texture_webp": {"source": 2}}}],
        "materials": [
            {"name": "paint", "doubleSided": true, "alphaMode": "MASK", "alphaCutoff": 0.5, "emissiveFactor": [1, 0.5, 0],
             "pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 1], "metallicFactor": 0, "baseColorTexture": {
                "index": 0, "texCoord": 1, "extensions": {"KHR_texture_transform": {"offset": [0.5, 0], "scale": [2, 2]}}
             }},
             "normalTexture": {"index": 1, "scale": 0.5},
             "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 5}}},
            {"name": "glass", "alphaMode": "BLEND", "extensions": {
                "KHR_materials_transmission": {"transmissionFactor": 0.5, "transmissionTexture": {"index": 0}},
                "KHR_materials_volume": {"thicknessFactor": 0.1, "attenuationDistance": 1, "attenuationColor": [1, 0, 1]},
                "KHR_materials_ior": {"ior": 1.4},
                "KHR_materials_specular": {"specularFactor": 0.5, "specularColorFactor": [1, 0, 0]},
                "KHR_materials_clearcoat": {"clearcoatFactor": 0.5, "clearcoatTexture": {"index": 1}}
            }},
            {"extensions": {"KHR_materials_unlit": {}}},
            {"alphaMode": "BLEND", "extras": {"radiosity_tint": true}, "extensions": {
                "KHR_materials_diffuse_transmission": {"diffuseTransmissionFactor": 0.5, "diffuseTransmissionColorFactor": [1, 1, 0]}
            }},
            {"extensions": {"KHR_materials_pbrSpecularGlossiness": {
                "diffuseFactor": [1, 0, 0, 1], "specularFactor": [0, 0, 0], "glossinessFactor": 0, "diffuseTexture": {"index": 0}
            }}}
        ],
        "cameras": [
            {"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1, "aspectRatio": 1.5}},
            {"type": "orthographic", "orthographic": {"xmag": 1, "ymag": 1, "znear": 0.1, "zfar": 10}}
        ],
        "animations": [{"name": "rise", "samplers": [{"input": 4, "output": 3, "interpolation": "LINEAR"}], "channels": [
            {"sampler": 0, "target": {"node": 1, "path": "translation"}},
            {"sampler": 0, "target": {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": "/nodes/2/scale"}}}}
        ]}],
        "extensions": {"KHR_lights_punctual": {"lights": [
            {"type": "directional", "intensity": 1000, "extras": {"angular_diameter": 0.5}},
            {"type": "point", "intensity": 10},
            {"type": "spot", "intensity": 50, "color": [1, 0.5, 0.25], "range": 10, "spot": {"innerConeAngle": 0.1, "outerConeAngle": 0.5}}
        ]}},
        "extensionsUsed": ["KHR_lights_punctual", "EXT_mesh_gpu_instancing"]
    })
}

/// An OBJ file of a room with a line of each kind.
pub const OBJECT: &str = "\
# a room
mtllib case.mtl
o room
v 0 0 0
v 1 0 0 1 0.5 0
v 1 1 0
v 0 1 0
v 0.5 0.5 0.25
vt 0 0
vt 1 0
vt 1 1
vn 0 0 1
g walls
usemtl paint
s 1
f 1/1/1 2/2/1 3/3/1 4/1/1
f -1 -2 -3
usemtl \"Lamp #2\"
f 1//1 2//1 \\
5//1
l 1 2
";

/// An OBJ file with a concave face, a face of one line, and the other keyword for faces.
pub const OTHER_OBJECT: &str = "\
v 0 0 0\nv 4 0 0\nv 4 4 0\nv 2 1 0\nv 0 4 0\nv 0 2 0
vt 0.5 0.5
usemtl glass
o concave
f 1 2 3 4 5 6
o flat
f 1/1 2/1 2/1
fo 1 2 3
";

/// An MTL file with a line of each kind.
pub const MATERIALS: &str = "\
newmtl paint
Kd 0.5 0.25 1
Ka 0.1 0.1 0.1
Ke 0 0 0
Ks 0.1 0.1 0.1
Ns 20
d 0.5
map_Kd -s 2 2 1 -o 0 0 0 dot.png
map_d -imfchan r -mm 0.1 0.5 dot.png
newmtl \"Lamp #2\"
Ke 10 10 10
Tr 0
illum 2
map_Ke -clamp on -bm 1 -blendu off dot.png
newmtl glass
Kd spectral file.rfl
Pr 0.2
Pm 1
Ni 1.5
Tf 0.5 xyz
map_Tr dot.png
norm -texres 4 dot.png
";
