//! Small writer of binary glTF: textures, materials, meshes, nodes, lights, cameras and one animation.

use std::io::Cursor;

use glam::{Mat3, Quat, Vec2, Vec3};
use gltf::binary::{Glb, Header};
use image::{ImageFormat, RgbaImage};
use serde_json::{Map, Value, json};

use super::shapes::Shape;

/// Alpha mode of a material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Alpha {
    Opaque,
    Mask,
    /// Alpha blending that tints transmitted light. The value is the alpha.
    Stained(f32),
}

/// Diffuse or metallic material.
#[derive(Clone, Copy, Debug)]
pub struct Material {
    pub name: &'static str,
    /// Linear color, multiplied by the texture.
    pub color: Vec3,
    pub picture: Option<Picture>,
    /// Size of one repetition of the texture, in meters.
    pub meters: f32,
    /// Emitted radiance, in cd/m2.
    pub emission: Vec3,
    pub alpha: Alpha,
    pub double_sided: bool,
    pub metallic: f32,
    pub roughness: f32,
}

impl Material {
    pub fn diffuse(name: &'static str, color: Vec3) -> Self {
        Self {
            name,
            color,
            picture: None,
            meters: 1.0,
            emission: Vec3::ZERO,
            alpha: Alpha::Opaque,
            double_sided: false,
            metallic: 0.0,
            roughness: 0.9,
        }
    }

    pub fn pictured(name: &'static str, picture: Picture, meters: f32) -> Self {
        Self { picture: Some(picture), meters, ..Self::diffuse(name, Vec3::ONE) }
    }
}

/// Index of a texture in the file.
#[derive(Clone, Copy, Debug)]
pub struct Picture(usize);

/// Index of a material in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MaterialRef(usize);

/// Index of a mesh in the file.
#[derive(Clone, Copy, Debug)]
pub struct MeshRef(usize);

/// Index of a node in the file.
#[derive(Clone, Copy, Debug)]
pub struct NodeRef(usize);

/// Light of `KHR_lights_punctual`. It shines along the node's -Z.
#[derive(Clone, Copy, Debug)]
pub enum Lamp {
    /// Directional light, by its illuminance in lux.
    Sun { lux: f32 },
    /// Point light, by its luminous flux.
    Point { lumens: f32 },
    /// Spot light with the intensity of a point light of the same flux. Half angles are in degrees.
    Spot { lumens: f32, inner: f32, outer: f32 },
}

/// Transform of a node.
#[derive(Clone, Copy, Debug)]
pub struct Pose {
    pub translation: Vec3,
    pub rotation: Quat,
    pub scale: Vec3,
}

impl Pose {
    pub const HERE: Self = Self { translation: Vec3::ZERO, rotation: Quat::IDENTITY, scale: Vec3::ONE };

    pub fn at(x: f32, y: f32, z: f32) -> Self {
        Self { translation: Vec3::new(x, y, z), ..Self::HERE }
    }

    /// Sets a rotation about +Y.
    pub fn turned(self, degrees: f32) -> Self {
        Self { rotation: Quat::from_rotation_y(degrees.to_radians()), ..self }
    }

    pub fn scaled(self, scale: Vec3) -> Self {
        Self { scale, ..self }
    }

    /// Returns the pose at `from` that looks along -Z to `to`.
    pub fn looking(from: Vec3, to: Vec3) -> Self {
        let back = (from - to).normalize();
        let right = Vec3::Y.cross(back).try_normalize().unwrap_or(Vec3::X);
        let rotation = Quat::from_mat3(&Mat3::from_cols(right, back.cross(right), back));
        Self { translation: from, rotation, scale: Vec3::ONE }
    }
}

/// glTF file under construction.
#[derive(Default)]
pub struct Document {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    pictures: Vec<Value>,
    samplers: Vec<Value>,
    materials: Vec<Value>,
    meters: Vec<f32>,
    meshes: Vec<Value>,
    nodes: Vec<Value>,
    roots: Vec<usize>,
    lights: Vec<Value>,
    cameras: Vec<Value>,
    channels: Vec<Value>,
    channel_samplers: Vec<Value>,
    triangles: Vec<usize>,
    names: std::collections::BTreeSet<String>,
}

impl Document {
    /// Adds a texture, as PNG.
    pub fn picture(&mut self, name: &str, picture: &RgbaImage) -> Picture {
        let opaque = picture.pixels().all(|pixel| pixel.0[3] == 255);
        let mut png = Cursor::new(Vec::new());
        let written = if opaque {
            image::DynamicImage::from(picture.clone()).to_rgb8().write_to(&mut png, ImageFormat::Png)
        } else {
            picture.write_to(&mut png, ImageFormat::Png)
        };
        written.expect("a picture in memory can be encoded");
        let view = self.view(&png.into_inner(), None);
        self.pictures.push(json!({ "name": name, "bufferView": view, "mimeType": "image/png" }));
        Picture(self.pictures.len() - 1)
    }

    /// Adds a material.
    pub fn material(&mut self, material: Material) -> MaterialRef {
        let opacity = if let Alpha::Stained(alpha) = material.alpha { alpha } else { 1.0 };
        let mut surface = json!({
            "baseColorFactor": material.color.extend(opacity).to_array(),
            "metallicFactor": material.metallic,
            "roughnessFactor": material.roughness,
        });
        if let Some(Picture(index)) = material.picture {
            surface["baseColorTexture"] = json!({ "index": index });
        }
        let mut value = json!({
            "name": material.name,
            "pbrMetallicRoughness": surface,
            "doubleSided": material.double_sided,
        });
        match material.alpha {
            Alpha::Opaque => {}
            Alpha::Mask => {
                value["alphaMode"] = json!("MASK");
                value["alphaCutoff"] = json!(0.5);
            }
            Alpha::Stained(_) => {
                value["alphaMode"] = json!("BLEND");
                value["extras"] = json!({ "radiosity_tint": true });
            }
        }
        let strength = material.emission.max_element();
        if strength > 0.0 {
            value["emissiveFactor"] = json!((material.emission / strength).to_array());
            value["extensions"] = json!({ "KHR_materials_emissive_strength": { "emissiveStrength": strength } });
        }
        self.materials.push(value);
        self.meters.push(material.meters);
        MaterialRef(self.materials.len() - 1)
    }

    /// Adds a mesh. Each part becomes a primitive.
    pub fn mesh(&mut self, name: &str, parts: &[(&Shape, MaterialRef)]) -> MeshRef {
        let primitives: Vec<Value> = parts.iter().map(|&(shape, material)| self.primitive(shape, material)).collect();
        self.meshes.push(json!({ "name": name, "primitives": primitives }));
        self.triangles.push(parts.iter().map(|(shape, _)| shape.triangles.len()).sum());
        MeshRef(self.meshes.len() - 1)
    }

    /// Adds a node with a mesh. Names must be unique, since they become the keys of surfaces.
    pub fn place(&mut self, name: &str, mesh: MeshRef, pose: Pose) -> NodeRef {
        self.node(name, pose, json!({ "mesh": mesh.0 }))
    }

    /// Adds a node without content.
    pub fn group(&mut self, name: &str, pose: Pose) -> NodeRef {
        self.node(name, pose, json!({}))
    }

    /// Makes a node the child of another.
    pub fn attach(&mut self, child: NodeRef, parent: NodeRef) {
        self.roots.retain(|&root| root != child.0);
        let parent = &mut self.nodes[parent.0];
        match parent["children"].as_array_mut() {
            Some(children) => children.push(json!(child.0)),
            None => parent["children"] = json!([child.0]),
        }
    }

    /// Sets the bake settings of a node's surfaces, in its extras.
    pub fn instruct(&mut self, node: NodeRef, instructions: Value) {
        self.nodes[node.0]["extras"] = json!({ "radiosity": instructions });
    }

    /// Sets the rotation of a node while no animation plays.
    pub fn rest(&mut self, node: NodeRef, rotation: Quat) {
        self.nodes[node.0]["rotation"] = json!(rotation.to_array());
    }

    /// Adds a light.
    pub fn light(&mut self, name: &str, color: Vec3, lamp: Lamp, pose: Pose) -> NodeRef {
        let candela = |lumens: f32| lumens / (4.0 * core::f32::consts::PI);
        let mut light = match lamp {
            Lamp::Sun { lux } => json!({ "type": "directional", "intensity": lux }),
            Lamp::Point { lumens } => json!({ "type": "point", "intensity": candela(lumens) }),
            Lamp::Spot { lumens, inner, outer } => json!({
                "type": "spot",
                "intensity": candela(lumens),
                "spot": { "innerConeAngle": inner.to_radians(), "outerConeAngle": outer.to_radians() },
            }),
        };
        light["name"] = json!(name);
        light["color"] = json!(color.to_array());
        self.lights.push(light);
        let index = self.lights.len() - 1;
        self.node(name, pose, json!({ "extensions": { "KHR_lights_punctual": { "light": index } } }))
    }

    /// Adds a camera.
    pub fn camera(&mut self, name: &str, vertical_degrees: f32, pose: Pose) {
        self.cameras.push(json!({
            "name": name,
            "type": "perspective",
            "perspective": { "yfov": vertical_degrees.to_radians(), "aspectRatio": 16.0 / 9.0, "znear": 0.05 },
        }));
        let index = self.cameras.len() - 1;
        self.node(name, pose, json!({ "camera": index }));
    }

    /// Adds an animation channel: rotations of a node at times in seconds.
    pub fn animate_rotation(&mut self, node: NodeRef, keys: &[(f32, Quat)]) {
        let values: Vec<f32> = keys.iter().flat_map(|(_, rotation)| rotation.to_array()).collect();
        self.animate(node, "rotation", "VEC4", keys.iter().map(|key| key.0), &values);
    }

    /// Adds an animation channel: translations of a node at times in seconds.
    pub fn animate_translation(&mut self, node: NodeRef, keys: &[(f32, Vec3)]) {
        let values: Vec<f32> = keys.iter().flat_map(|(_, translation)| translation.to_array()).collect();
        self.animate(node, "translation", "VEC3", keys.iter().map(|key| key.0), &values);
    }

    /// Returns the number of triangles of all nodes.
    pub fn triangle_count(&self) -> usize {
        self.nodes.iter().filter_map(|node| node["mesh"].as_u64()).map(|mesh| self.triangles[mesh as usize]).sum()
    }

    /// Returns the binary file.
    pub fn into_glb(mut self) -> Vec<u8> {
        let mut root = json!({
            "asset": { "version": "2.0", "generator": "bevy_radiosity make_level", "copyright": "MIT OR Apache-2.0" },
            "scene": 0,
            "scenes": [{ "nodes": self.roots }],
            "nodes": self.nodes,
            "meshes": self.meshes,
            "materials": self.materials,
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [{ "byteLength": self.bytes.len() }],
        });
        let mut used = vec!["KHR_materials_emissive_strength"];
        if !self.pictures.is_empty() {
            root["textures"] =
                (0..self.pictures.len()).map(|picture| json!({ "source": picture, "sampler": 0 })).collect();
            root["images"] = Value::Array(self.pictures);
            self.samplers.push(json!({ "magFilter": 9729, "minFilter": 9987, "wrapS": 10497, "wrapT": 10497 }));
            root["samplers"] = Value::Array(self.samplers);
        }
        if !self.lights.is_empty() {
            used.push("KHR_lights_punctual");
            root["extensions"] = json!({ "KHR_lights_punctual": { "lights": self.lights } });
        }
        if !self.cameras.is_empty() {
            root["cameras"] = Value::Array(self.cameras);
        }
        if !self.channels.is_empty() {
            root["animations"] =
                json!([{ "name": "walk", "channels": self.channels, "samplers": self.channel_samplers }]);
        }
        root["extensionsUsed"] = json!(used);

        // The writer sets the length.
        let header = Header { magic: *b"glTF", version: 2, length: 0 };
        let json = root.to_string().into_bytes().into();
        Glb { header, json, bin: Some(self.bytes.into()) }.to_vec().expect("writing to memory does not fail")
    }

    fn node(&mut self, name: &str, pose: Pose, mut value: Value) -> NodeRef {
        assert!(self.names.insert(name.to_owned()), "two nodes are called {name}");
        value["name"] = json!(name);
        let mut set = |key: &str, present: bool, numbers: &[f32]| {
            if present {
                value[key] = json!(numbers);
            }
        };
        set("translation", pose.translation != Vec3::ZERO, &pose.translation.to_array());
        set("rotation", pose.rotation != Quat::IDENTITY, &pose.rotation.to_array());
        set("scale", pose.scale != Vec3::ONE, &pose.scale.to_array());
        self.nodes.push(value);
        self.roots.push(self.nodes.len() - 1);
        NodeRef(self.nodes.len() - 1)
    }

    fn animate(
        &mut self,
        node: NodeRef,
        path: &str,
        kind: &str,
        times: impl Iterator<Item = f32> + Clone,
        values: &[f32],
    ) {
        let times: Vec<f32> = times.collect();
        let bounds = Bounds { min: json!([times[0]]), max: json!([times[times.len() - 1]]) };
        let input = self.accessor(&times, "SCALAR", times.len(), None, Some(bounds));
        let output = self.accessor(values, kind, times.len(), None, None);
        self.channel_samplers.push(json!({ "input": input, "output": output, "interpolation": "LINEAR" }));
        self.channels.push(json!({
            "sampler": self.channel_samplers.len() - 1,
            "target": { "node": node.0, "path": path },
        }));
    }

    fn primitive(&mut self, shape: &Shape, material: MaterialRef) -> Value {
        let corner = |pick: fn(Vec3, Vec3) -> Vec3| {
            json!(shape.positions.iter().copied().reduce(pick).unwrap_or_default().to_array())
        };
        let bounds = Bounds { min: corner(Vec3::min), max: corner(Vec3::max) };
        let count = shape.positions.len();
        let positions: Vec<f32> = shape.positions.iter().flat_map(Vec3::to_array).collect();
        let normals: Vec<f32> = shape.normals.iter().flat_map(Vec3::to_array).collect();
        let meters = self.meters[material.0];
        let uvs: Vec<f32> = shape.uvs.iter().flat_map(|&uv| Vec2::to_array(&(uv / meters))).collect();
        let mut attributes = Map::new();
        attributes
            .insert("POSITION".into(), json!(self.accessor(&positions, "VEC3", count, Some(VERTICES), Some(bounds))));
        attributes.insert("NORMAL".into(), json!(self.accessor(&normals, "VEC3", count, Some(VERTICES), None)));
        attributes.insert("TEXCOORD_0".into(), json!(self.accessor(&uvs, "VEC2", count, Some(VERTICES), None)));
        let indices = self.indices(shape, count);
        json!({ "attributes": attributes, "indices": indices, "material": material.0 })
    }

    fn indices(&mut self, shape: &Shape, count: usize) -> usize {
        let corners = shape.triangles.iter().flatten();
        let (bytes, kind): (Vec<u8>, u32) = if count <= usize::from(u16::MAX) {
            (corners.flat_map(|&corner| (corner as u16).to_le_bytes()).collect(), 5123)
        } else {
            (corners.flat_map(|&corner| corner.to_le_bytes()).collect(), 5125)
        };
        let view = self.view(&bytes, Some(INDICES));
        self.accessors.push(json!({
            "bufferView": view, "componentType": kind, "type": "SCALAR", "count": shape.triangles.len() * 3,
        }));
        self.accessors.len() - 1
    }

    fn accessor(
        &mut self,
        numbers: &[f32],
        kind: &str,
        count: usize,
        target: Option<u32>,
        bounds: Option<Bounds>,
    ) -> usize {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let view = self.view(&bytes, target);
        let mut accessor = json!({ "bufferView": view, "componentType": 5126, "type": kind, "count": count });
        if let Some(Bounds { min, max }) = bounds {
            accessor["min"] = min;
            accessor["max"] = max;
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn view(&mut self, bytes: &[u8], target: Option<u32>) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let mut view = json!({ "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len() });
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        self.bytes.extend(bytes);
        self.views.push(view);
        self.views.len() - 1
    }
}

const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

/// Bounds of an accessor, which glTF requires for positions and times.
struct Bounds {
    min: Value,
    max: Value,
}
