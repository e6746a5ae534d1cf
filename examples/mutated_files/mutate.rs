//! Damaged scene files, made by number: the same number gives the same bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A scene file and what lies beside it.
pub struct Case {
    /// The name of the scene file.
    pub scene: &'static str,
    /// Names and contents of all files.
    pub files: Vec<(&'static str, Vec<u8>)>,
}

/// The damaged file of a number.
pub fn case(number: u64) -> Case {
    let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
    match random.below(4) {
        0 => Case { scene: "case.gltf", files: vec![("case.gltf", damaged_bytes(text(&document()), &mut random))] },
        1 => Case { scene: "case.glb", files: vec![("case.glb", damaged_bytes(binary(&document()), &mut random))] },
        2 => {
            let mut document = document();
            for _ in 0..=random.below(4) {
                damage_tree(&mut document, &mut random);
            }
            let is_text = random.below(2) == 0;
            let (name, bytes) = if is_text { ("case.gltf", text(&document)) } else { ("case.glb", binary(&document)) };
            Case { scene: name, files: vec![(name, bytes)] }
        }
        _ => {
            let is_library = random.below(3) == 0;
            let (mut object, mut library) = (OBJECT.as_bytes().to_vec(), LIBRARY.as_bytes().to_vec());
            let target = if is_library { &mut library } else { &mut object };
            *target = damaged_bytes(core::mem::take(target), &mut random);
            if random.below(2) == 0 {
                object = damaged_words(&object, &mut random);
            }
            Case { scene: "case.obj", files: vec![("case.obj", object), ("case.mtl", library)] }
        }
    }
}

/// Random numbers by SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit above zero.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Bytes changed, lost, doubled or cut off.
fn damaged_bytes(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(8) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        let length = 1 + random.below(16.min(bytes.len() - at));
        match random.below(6) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => drop(bytes.drain(at..at + length)),
            3 => {
                let part = bytes[at..at + length].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, part);
            }
            4 => bytes[at] = *random.of(b"0123456789-.eE,:[]{}\"/\\# \n\r\t"),
            _ => {
                if random.below(8) == 0 {
                    bytes.truncate(at);
                }
            }
        }
    }
    bytes
}

const WORDS: [&str; 16] = [
    "0",
    "-1",
    "1",
    "9999999999",
    "-9999999999",
    "nan",
    "inf",
    "-inf",
    "1e300",
    "1e-300",
    "1/1/1",
    "//",
    "",
    "f",
    "v",
    "usemtl",
];

/// Words of a text replaced by such as readers stumble over.
fn damaged_words(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    for _ in 0..=random.below(4) {
        if !words.is_empty() {
            let at = random.below(words.len());
            words[at] = WORDS[random.below(WORDS.len())];
        }
    }
    words.concat().into_bytes()
}

/// A value of the document replaced, removed, or put in another's place.
fn damage_tree(document: &mut Value, random: &mut Random) {
    let donor = place(document, random).clone();
    let value = match random.below(14) {
        0 => Value::Null,
        1 => json!(-1),
        2 => json!(u64::MAX),
        3 => json!(1e300),
        4 => json!(-0.5),
        5 => json!(4_294_967_295_u64),
        6 => json!(""),
        7 => json!([]),
        8 => json!({}),
        9 => json!(true),
        10 => json!(16_777_217),
        11 => json!(random.below(8)),
        _ => donor,
    };
    let target = place(document, random);
    match target {
        Value::Object(fields) if !fields.is_empty() && random.below(3) == 0 => {
            let key = fields.keys().nth(random.below(fields.len())).cloned();
            key.and_then(|key| fields.remove(&key));
        }
        Value::Array(items) if !items.is_empty() && random.below(3) == 0 => {
            let at = random.below(items.len());
            let twin = items[at].clone();
            items.insert(at, twin);
        }
        target => *target = value,
    }
}

/// Any value of a tree, the deeper ones as often as those at the top.
fn place<'a>(value: &'a mut Value, random: &mut Random) -> &'a mut Value {
    let stays = random.below(6) == 0;
    let count = match &*value {
        Value::Object(fields) => fields.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    if stays || count == 0 {
        return value;
    }
    let at = random.below(count);
    let child = match value {
        Value::Object(fields) => fields.values_mut().nth(at),
        Value::Array(items) => items.get_mut(at),
        _ => None,
    };
    place(child.expect("it has that many"), random)
}

/// The buffer of [`document`].
fn buffer() -> Vec<u8> {
    let corners = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let numbers = corners.as_flattened().iter().chain(&[0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]).copied();
    let mut bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
    bytes.extend([0u16, 1, 2, 0, 2, 3].into_iter().flat_map(u16::to_le_bytes));
    bytes
}

/// A document with a part of each kind that is read.
fn document() -> Value {
    json!({
        "asset": {"version": "2.0", "generator": "mutated_files"},
        "scene": 0,
        "scenes": [{"nodes": [0, 3], "extras": {"radiosity_units": "blender"}}],
        "nodes": [
            {"name": "room", "children": [1, 2], "extras": {"radiosity": {"role": "static", "density": 2.0}}},
            {"name": "wall", "mesh": 0, "translation": [0, 1, 0], "rotation": [0, 0, 0, 1], "scale": [1, 2, 1]},
            {"name": "lamp", "extensions": {"KHR_lights_punctual": {"light": 0}, "KHR_node_visibility": {"visible": true}}},
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
        "images": [{"uri": format!("data:image/png;base64,{PICTURE}"), "name": "dot"}, {"bufferView": 0, "mimeType": "image/png"}],
        "samplers": [{"wrapS": 33071, "wrapT": 33648, "magFilter": 9728}],
        "textures": [{"source": 0, "sampler": 0}, {"extensions": {"EXT_texture_webp": {"source": 0}}}],
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
            {"extensions": {"KHR_materials_pbrSpecularGlossiness": {
                "diffuseFactor": [1, 0, 0, 1], "specularFactor": [0, 0, 0], "glossinessFactor": 0, "diffuseTexture": {"index": 0}
            }}}
        ],
        "cameras": [{"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1, "aspectRatio": 1.5}}],
        "animations": [{"name": "rise", "samplers": [{"input": 4, "output": 3, "interpolation": "LINEAR"}], "channels": [
            {"sampler": 0, "target": {"node": 1, "path": "translation"}},
            {"sampler": 0, "target": {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": "/nodes/2/scale"}}}}
        ]}],
        "extensions": {"KHR_lights_punctual": {"lights": [
            {"type": "spot", "intensity": 50, "color": [1, 0.5, 0.25], "range": 10, "spot": {"innerConeAngle": 0.1, "outerConeAngle": 0.5}}
        ]}},
        "extensionsUsed": ["KHR_lights_punctual", "EXT_mesh_gpu_instancing"]
    })
}

/// One red texel.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

fn text(document: &Value) -> Vec<u8> {
    let mut document = document.clone();
    if let Some(buffer_json) = document.pointer_mut("/buffers/0").and_then(Value::as_object_mut) {
        let data = format!("data:application/octet-stream;base64,{}", STANDARD.encode(buffer()));
        buffer_json.insert("uri".to_owned(), data.into());
    }
    document.to_string().into_bytes()
}

fn binary(document: &Value) -> Vec<u8> {
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let chunk = |kind: &[u8], content: &[u8]| [&(content.len() as u32).to_le_bytes(), kind, content].concat();
    let body = [chunk(b"JSON", &text), chunk(b"BIN\0", &buffer())].concat();
    [b"glTF", &2u32.to_le_bytes()[..], &(12 + body.len() as u32).to_le_bytes(), &body].concat()
}

const OBJECT: &str = "\
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

const LIBRARY: &str = "\
newmtl paint
Kd 0.5 0.25 1
Ke 0 0 0
Ks 0.1 0.1 0.1
Ns 20
d 0.5
map_Kd -s 2 2 1 -o 0 0 0 dot.png
newmtl \"Lamp #2\"
Ke 10 10 10
Tr 0
illum 2
";
