//! The walk over the node tree, which places everything in the world.

use std::collections::HashMap;
use std::sync::Arc;

use glam::{Affine3A, Mat4, Quat, Vec3};
use gltf::json::mesh::{Mesh as JsonMesh, Primitive};
use gltf::json::scene::Node;

use super::accessors::Accessors;
use super::container::Document;
use super::extras::Overrides;
use super::{lights, lookup, materials, name_or, primitives};
use crate::scene::files::Loaded;
use crate::scene::{AlphaMode, Material, MaterialId, MeshId, Problem, Role, SealedSides, Sides, Surface, SurfaceKey};

/// Deeper trees are a fault or an attack: paths grow with depth.
const DEEPEST_NODE: usize = 512;

/// Adds the meshes, surfaces, lights and cameras of the document's default scene.
pub fn read(document: &Document, loaded: &mut Loaded) {
    let mut placement = Placement {
        document,
        accessors: Accessors::new(document),
        meshes: vec![None; document.root.meshes.len()],
        default_material: None,
        tinting: HashMap::new(),
        without_material: 0,
        loaded,
    };
    let mut visited = vec![false; document.root.nodes.len()];
    let mut stack: Vec<Visit> = roots(document).into_iter().rev().map(Visit::root).collect();
    while let Some(visit) = stack.pop() {
        let Some(node) = document.root.nodes.get(visit.node) else {
            placement.skip_node(&visit, "the file has no such node");
            continue;
        };
        if std::mem::replace(&mut visited[visit.node], true) {
            placement.skip_node(&visit, "it is its own ancestor or has two parents");
            continue;
        }
        if visit.depth >= DEEPEST_NODE {
            placement.skip_node(&visit, "the tree of nodes is too deep");
            continue;
        }
        let Some(placed) = placement.enter(node, &visit) else { continue };
        placement.place(node, &placed);
        let children = node.children.iter().flatten().rev();
        stack.extend(children.map(|child| Visit {
            node: child.value(),
            parent_path: placed.path.clone(),
            parent_to_world: placed.to_world,
            inherited: placed.overrides,
            depth: visit.depth + 1,
        }));
    }
    if placement.without_material > 0 {
        let count = placement.without_material;
        placement.loaded.warnings.push(Problem::NoMaterial { count });
    }
}

/// The nodes of the default scene, else of the first, else those that nobody is the parent of.
fn roots(document: &Document) -> Vec<usize> {
    let root = &document.root;
    let scene = root.scene.and_then(|scene| lookup(&root.scenes, scene)).or_else(|| root.scenes.first());
    if let Some(scene) = scene {
        return scene.nodes.iter().map(|node| node.value()).collect();
    }
    let mut is_child = vec![false; root.nodes.len()];
    for child in root.nodes.iter().flat_map(|node| node.children.iter().flatten()) {
        if let Some(flag) = is_child.get_mut(child.value()) {
            *flag = true;
        }
    }
    (0..root.nodes.len()).filter(|&node| !is_child[node]).collect()
}

/// A node that is still to be visited.
struct Visit {
    node: usize,
    parent_path: Arc<str>,
    parent_to_world: Affine3A,
    inherited: Overrides,
    depth: usize,
}

impl Visit {
    fn root(node: usize) -> Self {
        let parent_to_world = Affine3A::IDENTITY;
        Self { node, parent_path: Arc::from(""), parent_to_world, inherited: Overrides::default(), depth: 0 }
    }
}

/// A node and what it has from its ancestors.
struct Placed {
    name: String,
    path: Arc<str>,
    to_world: Affine3A,
    overrides: Overrides,
}

/// A primitive that has been read: its mesh and what it is made of.
#[derive(Clone, Copy)]
struct Part {
    number: usize,
    mesh: MeshId,
    material: MaterialId,
    sides: Sides,
    is_morphed: bool,
    overrides: Overrides,
}

struct Placement<'a> {
    document: &'a Document,
    accessors: Accessors<'a>,
    /// Parts of each glTF mesh, read when its first node is met.
    meshes: Vec<Option<Arc<[Part]>>>,
    default_material: Option<MaterialId>,
    /// Copies of materials that tint what they let through.
    tinting: HashMap<MaterialId, MaterialId>,
    without_material: usize,
    loaded: &'a mut Loaded,
}

impl Placement<'_> {
    fn skip_node(&mut self, visit: &Visit, reason: &str) {
        let name = self.document.root.nodes.get(visit.node).and_then(|node| node.name.as_ref());
        let node = name_or(name, "GltfNode", visit.node);
        self.loaded.warnings.push(Problem::SkippedNode { node, reason: reason.to_owned() });
    }

    /// Where a node stands, `None` when that is nowhere.
    fn enter(&mut self, node: &Node, visit: &Visit) -> Option<Placed> {
        // The name that bevy_gltf gives to a node without one, so that both routes know surfaces by the same key.
        let name = name_or(node.name.as_ref(), "GltfNode", visit.node);
        let path = if visit.parent_path.is_empty() { name.clone() } else { format!("{}/{name}", visit.parent_path) };
        let to_world = visit.parent_to_world * local_transform(node);
        if !to_world.is_finite() {
            self.skip_node(visit, "its transform is not finite");
            return None;
        }
        let overrides = Overrides::read(&node.extras, &name, &mut self.loaded.warnings).or(visit.inherited);
        Some(Placed { name, path: Arc::from(path), to_world, overrides })
    }

    fn place(&mut self, node: &Node, placed: &Placed) {
        if let Some(mesh) = node.mesh {
            self.place_mesh(mesh.value(), node.skin.is_some(), placed);
        }
        let light = node.extensions.as_ref().and_then(|extensions| extensions.khr_lights_punctual.as_ref());
        if let Some(light) = light {
            self.place_light(light.light.value(), placed);
        }
        if let Some(camera) = node.camera {
            self.place_camera(camera.value(), placed);
        }
    }

    fn place_mesh(&mut self, index: usize, is_skinned: bool, placed: &Placed) {
        let Some(json) = self.document.root.meshes.get(index) else {
            let reason = format!("the file has no mesh {index}");
            self.loaded.warnings.push(Problem::SkippedNode { node: placed.name.clone(), reason });
            return;
        };
        let parts = match &self.meshes[index] {
            Some(parts) => parts.clone(),
            None => {
                let parts: Arc<[Part]> = self.read_mesh(json, index).into();
                self.meshes[index] = Some(parts.clone());
                parts
            }
        };
        for part in parts.iter() {
            let how = if is_skinned { Some("skinned") } else { part.is_morphed.then_some("morphed") };
            let overrides = placed.overrides.or(part.overrides);
            if let (Some(how), None) = (how, overrides.role) {
                self.loaded.warnings.push(Problem::Animated { node: placed.name.clone(), how });
            }
            let usual_role = if how.is_some() { Role::Mover } else { Role::Static };
            let material = if overrides.tint == Some(true) { self.tinting(part.material) } else { part.material };
            let sides = overrides.double_sided.map(|both| if both { Sides::Both } else { Sides::Front });
            self.loaded.scene.surfaces.push(Surface {
                key: SurfaceKey::from_node(&placed.path, part.number),
                sealed: SealedSides::None,
                mesh: part.mesh,
                to_world: placed.to_world,
                material,
                role: overrides.role.unwrap_or(usual_role),
                sides: sides.unwrap_or(part.sides),
                density_scale: overrides.density.unwrap_or(1.0),
                lightmap: None,
            });
        }
    }

    fn read_mesh(&mut self, json: &JsonMesh, index: usize) -> Vec<Part> {
        let name = name_or(json.name.as_ref(), "Mesh", index);
        let of_mesh = Overrides::read(&json.extras, &name, &mut self.loaded.warnings);
        let mut parts = Vec::new();
        for (number, primitive) in json.primitives.iter().enumerate() {
            let warnings = &mut self.loaded.warnings;
            let Some(data) = primitives::read(primitive, &name, number, &self.accessors, warnings) else { continue };
            let mesh = MeshId::from_index(self.loaded.scene.meshes.len());
            self.loaded.scene.meshes.push(Arc::new(data));
            let (material, sides, of_material) = self.material_of(primitive);
            let of_primitive = Overrides::read(&primitive.extras, &name, &mut self.loaded.warnings);
            let overrides = of_primitive.or(of_mesh).or(of_material);
            let is_morphed = primitive.targets.as_ref().is_some_and(|targets| !targets.is_empty());
            parts.push(Part { number, mesh, material, sides, is_morphed, overrides });
        }
        parts
    }

    fn material_of(&mut self, primitive: &Primitive) -> (MaterialId, Sides, Overrides) {
        let index = primitive.material.map(|material| material.value());
        match index.and_then(|index| Some((index, self.document.root.materials.get(index)?))) {
            Some((index, json)) => {
                let name = name_or(json.name.as_ref(), "Material", index);
                let overrides = Overrides::read(&json.extras, &name, &mut self.loaded.warnings);
                let sides = if json.double_sided { Sides::Both } else { Sides::Front };
                (MaterialId::from_index(index), sides, overrides)
            }
            None => {
                self.without_material += 1;
                let materials = &mut self.loaded.scene.materials;
                let id = *self.default_material.get_or_insert_with(|| {
                    materials.push(materials::default_material());
                    MaterialId::from_index(materials.len() - 1)
                });
                (id, Sides::Front, Overrides::default())
            }
        }
    }

    /// The material that tints what it lets through and is the same otherwise.
    fn tinting(&mut self, material: MaterialId) -> MaterialId {
        let materials = &mut self.loaded.scene.materials;
        if materials[material.index()].alpha != AlphaMode::Blend {
            return material;
        }
        *self.tinting.entry(material).or_insert_with(|| {
            let tinting = Material { tints: true, ..materials[material.index()].clone() };
            materials.push(tinting);
            MaterialId::from_index(materials.len() - 1)
        })
    }

    fn place_light(&mut self, index: usize, placed: &Placed) {
        if placed.overrides.role == Some(Role::Excluded) {
            return;
        }
        let extensions = self.document.root.extensions.as_ref();
        let lights = extensions.and_then(|extensions| extensions.khr_lights_punctual.as_ref());
        let result = match lights.and_then(|lights| lights.lights.get(index)) {
            Some(json) => {
                let of_light = Overrides::read(&json.extras, &placed.name, &mut self.loaded.warnings);
                lights::light(json, placed.name.clone(), &placed.to_world, placed.overrides.or(of_light))
            }
            None => Err(format!("the file has no light {index}")),
        };
        match result {
            Ok(light) => self.loaded.scene.lights.push(light),
            Err(reason) => {
                self.loaded.warnings.push(Problem::UnusableLight { light: placed.name.clone(), reason });
            }
        }
    }

    fn place_camera(&mut self, index: usize, placed: &Placed) {
        let json = self.document.root.cameras.get(index).ok_or_else(|| format!("the file has no camera {index}"));
        match json.and_then(|json| lights::camera(json, placed.name.clone(), &placed.to_world)) {
            Ok(camera) => self.loaded.cameras.push(camera),
            Err(reason) => {
                self.loaded.warnings.push(Problem::SkippedCamera { camera: placed.name.clone(), reason });
            }
        }
    }
}

fn local_transform(node: &Node) -> Affine3A {
    if let Some(matrix) = node.matrix {
        return Affine3A::from_mat4(Mat4::from_cols_array(&matrix));
    }
    let scale = node.scale.map_or(Vec3::ONE, Vec3::from_array);
    let rotation = node.rotation.map_or(Quat::IDENTITY, |rotation| Quat::from_array(rotation.0));
    // Exporters round quaternions; one of zero length turns nothing.
    let length = rotation.length();
    let rotation = if length > 0.0 { rotation / length } else { Quat::IDENTITY };
    let translation = node.translation.map_or(Vec3::ZERO, Vec3::from_array);
    Affine3A::from_scale_rotation_translation(scale, rotation, translation)
}
