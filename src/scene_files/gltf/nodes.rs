//! Traversal of the node tree, which places everything in the world.

use std::collections::HashMap;
use std::sync::Arc;

use glam::{Affine3A, Mat4, Quat, Vec3};
use gltf::json::mesh::Mesh as JsonMesh;
use gltf::json::scene::Node;

use super::accessors::Accessors;
use super::animations::{self, Moved};
use super::container::{BYTES_PER_VALUE, Document};
use super::extras::Overrides;
use super::node_reports::NodeReports;
use super::shapes::{self, MaterialName, NodeShape};
use super::{instances, lights, lookup, materials, metal, name_or, primitives};
use crate::geometry::unit_rotation;
use crate::scene::key;
use crate::scene::{AlphaMode, Material, MaterialId, MeshId, Problem, Role, SealedSides, Sides, Surface, SurfaceKey};
use crate::scene_files::{Parsed, Purpose, SceneOptions};

/// Greatest depth of nodes. Deeper trees are damaged or hostile: the memory of paths grows with the depth.
const DEEPEST_NODE: usize = 512;
/// Most surfaces of all instances of a file. A small file can ask for more than memory holds.
const MAX_INSTANCED_SURFACES: usize = 1 << 20;

/// Adds the meshes, surfaces, lights and cameras of the document's default scene.
pub fn read(document: &Document, purpose: Purpose, options: &SceneOptions, parsed: &mut Parsed) {
    let moved = animations::read(document, &mut parsed.warnings);
    let mut placement = Placement {
        document,
        purpose,
        default_metallic: options.default_metallic,
        accessors: Accessors::new(document),
        moved,
        meshes: vec![None; document.root.meshes.len()],
        default_material: None,
        tinting: HashMap::new(),
        instanced: 0,
        shape_vertices: 0,
        reports: NodeReports::default(),
        parsed,
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
            animation: placed.animation.clone(),
            is_hidden: placed.is_hidden,
            depth: visit.depth + 1,
        }));
    }
    placement.show_unlit_alone();
    let problems = core::mem::take(&mut placement.reports).problems();
    placement.parsed.warnings.extend(problems);
}

/// Returns the root nodes of the default scene, else of the first scene, else all nodes without a parent.
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
    /// Name of the animation that moves its parent.
    animation: Option<Arc<str>>,
    /// True if its parent is hidden.
    is_hidden: bool,
    depth: usize,
}

impl Visit {
    fn root(node: usize) -> Self {
        Self {
            node,
            parent_path: Arc::from(""),
            parent_to_world: Affine3A::IDENTITY,
            inherited: Overrides::default(),
            animation: None,
            is_hidden: false,
            depth: 0,
        }
    }
}

/// A node and the properties that it inherits from its ancestors.
struct PlacedNode {
    name: String,
    path: Arc<str>,
    to_world: Affine3A,
    overrides: Overrides,
    /// Curved shape instead of its mesh.
    shape: Option<NodeShape>,
    /// Name of the animation that moves the node or an ancestor.
    animation: Option<Arc<str>>,
    /// True if the node or an ancestor is hidden.
    is_hidden: bool,
    /// Name of its mesh in messages: the node's own name, which authors see, else that of the mesh.
    label: Option<String>,
}

/// A primitive that has been read: its mesh and its material.
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
    purpose: Purpose,
    default_metallic: Option<f32>,
    accessors: Accessors<'a>,
    moved: Moved,
    /// Parts of each glTF mesh, read at the first node that has it.
    meshes: Vec<Option<Arc<[Part]>>>,
    default_material: Option<MaterialId>,
    /// Copies of materials that tint transmitted light.
    tinting: HashMap<MaterialId, MaterialId>,
    instanced: usize,
    /// Vertices of curved shapes so far.
    shape_vertices: u64,
    reports: NodeReports,
    parsed: &'a mut Parsed,
}

impl Placement<'_> {
    fn skip_node(&mut self, visit: &Visit, reason: &str) {
        let name = self.document.root.nodes.get(visit.node).and_then(|node| node.name.as_ref());
        let node = name_or(name, "GltfNode", visit.node);
        self.parsed.warnings.push(Problem::SkippedNode { node, reason: reason.to_owned() });
    }

    /// Computes a node's path and transform. `None` if the transform is not finite.
    fn enter(&mut self, node: &Node, visit: &Visit) -> Option<PlacedNode> {
        // Uses the name that bevy_gltf gives to a node without one, so that surface keys are the same in both loaders.
        let name = name_or(node.name.as_ref(), "GltfNode", visit.node);
        let path = key::child_path(&visit.parent_path, &name);
        let to_world = visit.parent_to_world * local_transform(node);
        if !to_world.is_finite() {
            self.skip_node(visit, "its transform is not finite");
            return None;
        }
        let extras = node.extras.as_ref().map_or("", |extras| extras.get());
        let bytes = Overrides::max_values(extras) * BYTES_PER_VALUE;
        let _parsed = self.document.budget.lend(bytes, || format!("the extras of '{name}'")).ok()?;
        let (own, of_shape) = Overrides::of_node(extras, &name, &mut self.parsed.warnings);
        let shape = shapes::read(&of_shape).unwrap_or_else(|(key, reason)| {
            self.parsed.warnings.push(bad_shape(&name, key, reason));
            None
        });
        let own_animation = self.moved.get(&visit.node).map(|animation| Arc::from(animation.as_str()));
        let is_hidden = visit.is_hidden || hides(node);
        let is_there = node.mesh.is_some() || shape.is_some() || light_of(node).is_some();
        if is_hidden && is_there {
            self.reports.hidden.push(name.clone());
        }
        Some(PlacedNode {
            label: node.name.as_ref().filter(|name| !name.is_empty()).map(|name| key::cap(name).into_owned()),
            name,
            path: Arc::from(path),
            to_world,
            overrides: own.or(visit.inherited),
            shape,
            animation: visit.animation.clone().or(own_animation),
            is_hidden,
        })
    }

    fn place(&mut self, node: &Node, placed: &PlacedNode) {
        if !placed.is_hidden {
            match (&placed.shape, node.mesh) {
                (Some(shape), _) => self.place_shape(shape, node, placed),
                (None, Some(mesh)) => self.place_mesh(mesh.value(), node, placed),
                (None, None) => {}
            }
        }
        if let Some(light) = light_of(node).filter(|_| !placed.is_hidden) {
            self.place_light(light, placed);
        }
        if let Some(camera) = node.camera {
            self.place_camera(camera.value(), placed);
        }
    }

    fn place_mesh(&mut self, index: usize, node: &Node, placed: &PlacedNode) {
        let Some(json) = self.document.root.meshes.get(index) else {
            let reason = format!("the file has no mesh {index}");
            self.parsed.warnings.push(Problem::SkippedNode { node: placed.name.clone(), reason });
            return;
        };
        let parts = match &self.meshes[index] {
            Some(parts) => parts.clone(),
            None => {
                let parts: Arc<[Part]> = self.read_mesh(json, index, placed).into();
                self.meshes[index] = Some(parts.clone());
                parts
            }
        };
        self.place_parts(&parts, node.skin.is_some(), node, placed);
    }

    /// Places the mesh of a curved shape.
    fn place_shape(&mut self, node_shape: &NodeShape, node: &Node, placed: &PlacedNode) {
        let name = placed.label.clone().unwrap_or_else(|| placed.name.clone());
        let data = match shapes::tessellate(node_shape, &name, &mut self.shape_vertices, &self.document.budget) {
            Ok(data) => data,
            Err(reason) => {
                self.parsed.warnings.push(Problem::SkippedNode { node: placed.name.clone(), reason });
                return;
            }
        };
        let mesh = MeshId::from_index(self.parsed.scene.meshes.len());
        self.parsed.scene.meshes.push(Arc::new(data));
        self.parsed.shapes.push((mesh, node_shape.shape.clone()));
        let material = self.material_of_shape(node_shape.material.as_ref(), node, placed);
        let (material, sides, overrides) = self.material_at(material, &name);
        let part = Part { number: 0, mesh, material, sides, is_morphed: false, overrides };
        self.place_parts(&[part], false, node, placed);
    }

    /// Places the parts of a node's mesh, once or for each instance.
    fn place_parts(&mut self, parts: &[Part], is_skinned: bool, node: &Node, placed: &PlacedNode) {
        if self.count_surfaces(parts.len(), placed).is_err() {
            return;
        }
        let surfaces: Vec<Surface> = parts.iter().map(|part| self.surface(part, is_skinned, placed)).collect();
        let instances = match instances::read(node, &self.accessors) {
            None => {
                self.parsed.scene.surfaces.extend(surfaces);
                return;
            }
            Some(Ok(instances)) => instances,
            Some(Err(reason)) => {
                self.parsed.warnings.push(Problem::SkippedInstances { node: placed.name.clone(), reason });
                return;
            }
        };
        for (number, instance) in instances.into_iter().enumerate() {
            self.instanced += surfaces.len();
            if self.instanced > MAX_INSTANCED_SURFACES {
                let reason = format!("the file has more than {MAX_INSTANCED_SURFACES} of them");
                self.parsed.warnings.push(Problem::SkippedInstances { node: placed.name.clone(), reason });
                return;
            }
            if self.count_surfaces(parts.len(), placed).is_err() {
                return;
            }
            let path = format!("{}[{number}]", placed.path);
            self.parsed.scene.surfaces.extend(surfaces.iter().zip(parts.iter()).map(|(surface, part)| Surface {
                key: SurfaceKey::from_node(&path, part.number),
                to_world: placed.to_world * instance,
                ..surface.clone()
            }));
        }
    }

    /// Counts the memory of a node's surfaces.
    fn count_surfaces(&self, count: usize, placed: &PlacedNode) -> Result<(), String> {
        let bytes = count * (size_of::<Surface>() + placed.path.len());
        self.document.budget.take(bytes as u64, || "the list of its surfaces".to_owned())
    }

    /// Makes the surface of a part at its node.
    fn surface(&mut self, part: &Part, is_skinned: bool, placed: &PlacedNode) -> Surface {
        let how = if is_skinned { Some("skinned") } else { part.is_morphed.then_some("morphed") };
        let overrides = placed.overrides.or(part.overrides);
        let role = overrides.role.unwrap_or_else(|| self.usual_role(part, how, placed));
        let sides = overrides.double_sided.map(|both| if both { Sides::Both } else { Sides::Front });
        Surface {
            key: SurfaceKey::from_node(&placed.path, part.number),
            sealed: SealedSides::None,
            mesh: part.mesh,
            to_world: placed.to_world,
            material: if overrides.tint == Some(true) { self.tinting(part.material) } else { part.material },
            role,
            sides: sides.unwrap_or(part.sides),
            density_scale: overrides.density.unwrap_or(1.0),
            lightmap: None,
        }
    }

    /// Returns the default role of a part. Parts that are not baked are reported with the reason.
    fn usual_role(&mut self, part: &Part, how: Option<&'static str>, placed: &PlacedNode) -> Role {
        if let Some(how) = how {
            self.parsed.warnings.push(Problem::Animated { node: placed.name.clone(), how });
            return Role::Mover;
        }
        if self.parsed.scene.materials[part.material.index()].is_unlit {
            self.reports.unlit.entry(part.material).or_default().push(placed.name.clone());
            return Role::Excluded;
        }
        match &placed.animation {
            Some(animation) => {
                self.reports.animated.entry(animation.clone()).or_default().push(placed.name.clone());
                Role::Mover
            }
            None => Role::Static,
        }
    }

    /// Collects the names of unlit materials for the report. If a scene for pictures has only unlit surfaces, they are
    /// shown as if they were lit.
    fn show_unlit_alone(&mut self) {
        let scene = &mut self.parsed.scene;
        let materials = &scene.materials;
        self.reports.unlit_materials = self.reports.unlit.keys().map(|id| materials[id.index()].name.clone()).collect();
        let is_hidden =
            |surface: &Surface| surface.role == Role::Excluded && materials[surface.material.index()].is_unlit;
        if self.purpose == Purpose::Picture && scene.surfaces.iter().all(is_hidden) {
            self.reports.unlit.clear();
            scene.surfaces.iter_mut().for_each(|surface| surface.role = Role::Static);
        }
    }

    fn read_mesh(&mut self, json: &JsonMesh, index: usize, placed: &PlacedNode) -> Vec<Part> {
        let name = placed.label.clone().unwrap_or_else(|| name_or(json.name.as_ref(), "Mesh", index));
        let of_mesh = Overrides::read(&json.extras, &name, &mut self.parsed.warnings);
        let mut parts = Vec::new();
        for (number, primitive) in json.primitives.iter().enumerate() {
            let warnings = &mut self.parsed.warnings;
            let Some(data) = primitives::read(primitive, &name, number, &self.accessors, warnings) else { continue };
            let mesh = MeshId::from_index(self.parsed.scene.meshes.len());
            self.parsed.scene.meshes.push(Arc::new(data));
            let (material, sides, of_material) = self.material_at(primitive.material.map(|index| index.value()), &name);
            let of_primitive = Overrides::read(&primitive.extras, &name, &mut self.parsed.warnings);
            let overrides = of_primitive.or(of_mesh).or(of_material);
            let is_morphed = primitive.targets.as_ref().is_some_and(|targets| !targets.is_empty());
            parts.push(Part { number, mesh, material, sides, is_morphed, overrides });
        }
        parts
    }

    /// Returns the index of a shape's material: the one it names, else that of the first primitive of the node's mesh.
    fn material_of_shape(&mut self, name: Option<&MaterialName>, node: &Node, placed: &PlacedNode) -> Option<usize> {
        let root = &self.document.root;
        let named = name.map(|name| match name {
            MaterialName::Index(index) => Some(*index).filter(|index| *index < root.materials.len()),
            MaterialName::Name(name) => root.materials.iter().position(|material| material.name.as_ref() == Some(name)),
        });
        if named == Some(None) {
            let key = "shape_material".to_owned();
            self.parsed.warnings.push(bad_shape(&placed.name, key, "the file has no such material"));
        }
        let of_mesh = || Some(lookup(&root.meshes, node.mesh?)?.primitives.first()?.material?.value());
        named.flatten().or_else(of_mesh)
    }

    /// Returns the material of an index, or the default one, with its sides and settings.
    fn material_at(&mut self, index: Option<usize>, node: &str) -> (MaterialId, Sides, Overrides) {
        match index.and_then(|index| Some((index, self.document.root.materials.get(index)?))) {
            Some((index, json)) => {
                let name = name_or(json.name.as_ref(), "Material", index);
                let overrides = Overrides::read(&json.extras, &name, &mut self.parsed.warnings);
                let is_unsaid = self.document.is_metal_by_omission.get(index).copied().unwrap_or(false);
                if is_unsaid && self.default_metallic.is_none() && !metal::glows(json) {
                    self.reports.metals.entry(index).or_insert_with(|| (name, node.to_owned()));
                }
                let sides = if json.double_sided { Sides::Both } else { Sides::Front };
                (MaterialId::from_index(index), sides, overrides)
            }
            None => {
                if self.default_metallic.is_none() {
                    self.reports.without_material.push(node.to_owned());
                }
                let metallic = self.default_metallic.unwrap_or(1.0);
                let materials = &mut self.parsed.scene.materials;
                let id = *self.default_material.get_or_insert_with(|| {
                    materials.push(materials::default_material(metallic));
                    MaterialId::from_index(materials.len() - 1)
                });
                (id, Sides::Front, Overrides::default())
            }
        }
    }

    /// Returns a copy of a blended material that tints transmitted light.
    fn tinting(&mut self, material: MaterialId) -> MaterialId {
        let materials = &mut self.parsed.scene.materials;
        if materials[material.index()].alpha != AlphaMode::Blend {
            return material;
        }
        *self.tinting.entry(material).or_insert_with(|| {
            let tinting = Material { tints: true, ..materials[material.index()].clone() };
            materials.push(tinting);
            MaterialId::from_index(materials.len() - 1)
        })
    }

    fn place_light(&mut self, index: usize, placed: &PlacedNode) {
        if placed.overrides.role == Some(Role::Excluded) {
            return;
        }
        if let (Some(animation), None) = (&placed.animation, placed.overrides.role) {
            self.reports.animated.entry(animation.clone()).or_default().push(placed.name.clone());
            if self.purpose == Purpose::Bake {
                return;
            }
        }
        let extensions = self.document.root.extensions.as_ref();
        let lights = extensions.and_then(|extensions| extensions.khr_lights_punctual.as_ref());
        let result = match lights.and_then(|lights| lights.lights.get(index)) {
            Some(json) => {
                let of_light = Overrides::read(&json.extras, &placed.name, &mut self.parsed.warnings);
                lights::light(json, placed.name.clone(), &placed.to_world, placed.overrides.or(of_light))
            }
            None => Err(format!("the file has no light {index}")),
        };
        match result {
            Ok(light) => self.parsed.scene.lights.push(light),
            Err(reason) => {
                self.parsed.warnings.push(Problem::UnusableLight { light: placed.name.clone(), reason });
            }
        }
    }

    fn place_camera(&mut self, index: usize, placed: &PlacedNode) {
        let json = self.document.root.cameras.get(index).ok_or_else(|| format!("the file has no camera {index}"));
        match json.and_then(|json| lights::camera(json, placed.name.clone(), &placed.to_world)) {
            Ok(camera) => self.parsed.cameras.push(camera),
            Err(reason) => {
                self.parsed.warnings.push(Problem::SkippedCamera { camera: placed.name.clone(), reason });
            }
        }
    }
}

fn bad_shape(node: &str, key: String, reason: &str) -> Problem {
    Problem::BadExtra { owner: node.to_owned(), key, reason: reason.to_owned() }
}

/// Returns true for a node that `KHR_node_visibility` hides, with all its descendants.
fn hides(node: &Node) -> bool {
    let extension = node.extensions.as_ref().and_then(|extensions| extensions.others.get("KHR_node_visibility"));
    extension.and_then(|extension| extension.get("visible")) == Some(&serde_json::Value::Bool(false))
}

/// Returns the index of a node's light.
fn light_of(node: &Node) -> Option<usize> {
    let extension = node.extensions.as_ref()?.khr_lights_punctual.as_ref()?;
    Some(extension.light.value())
}

/// Returns a node's transform in its parent's space.
pub fn local_transform(node: &Node) -> Affine3A {
    if let Some(matrix) = node.matrix {
        return Affine3A::from_mat4(Mat4::from_cols_array(&matrix));
    }
    let scale = node.scale.map_or(Vec3::ONE, Vec3::from_array);
    let rotation = node.rotation.map_or(Quat::IDENTITY, |rotation| Quat::from_array(rotation.0));
    let translation = node.translation.map_or(Vec3::ZERO, Vec3::from_array);
    // Exporters round quaternions.
    Affine3A::from_scale_rotation_translation(scale, unit_rotation(rotation), translation)
}
