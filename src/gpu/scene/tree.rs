//! Trees for traversal in shaders.

use std::collections::HashMap;

use super::super::Stack;
use super::list;
use crate::accel::{Preset, Tree, static_triangles, triangles_of_mesh, twins};
use crate::geometry::SurfaceId;
use crate::scene::{MeshId, Role, Scene};

/// Maximum depth in splits, limited by the bits of the traversal state.
const DEEPEST: usize = 32;

/// Trees for traversal in shaders. Reusable for scenes that differ only in light, colors and transforms of moving
/// objects.
pub struct GpuTree {
    /// Tree of all static surfaces.
    static_tree: Tree,
    /// Tree of each moving mesh, in object space.
    pub(super) objects: Vec<ObjectTree>,
    pub(super) movers: Vec<Mover>,
    /// Surface and mesh triangle of each triangle on the device. Static triangles come first in tree order, then those
    /// of one moving object after the other.
    pub(super) sources: Vec<(SurfaceId, u32)>,
    /// Per static triangle: true if it coincides with a triangle facing the opposite way.
    pub(super) twins: Vec<bool>,
    /// True if moving emissive surfaces do not count as lights.
    pub(super) is_of_bake: bool,
    /// True if leaves have links.
    pub(super) has_ropes: bool,
}

/// Tree of a mesh in object space.
pub(super) struct ObjectTree {
    pub tree: Tree,
    /// Index in the mesh of each of the tree's triangles.
    triangles: Vec<u32>,
}

/// Moving surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mover {
    pub surface: SurfaceId,
    /// Index of the mesh's tree.
    pub object: usize,
    /// First triangle on the device, and number of triangles.
    pub first_triangle: u32,
    pub triangles: u32,
}

impl GpuTree {
    /// Builds the tree of all surfaces in the bake, without moving objects.
    pub fn of_bake(scene: &Scene, preset: &Preset) -> Self {
        let preset = shallow(preset);
        let (triangles, sources) = static_triangles(scene);
        let twins = twins(scene, &triangles, &sources);
        let static_tree = Tree::build(triangles, &preset);
        Self {
            static_tree,
            objects: Vec::new(),
            movers: Vec::new(),
            sources,
            twins,
            is_of_bake: true,
            has_ropes: false,
        }
    }

    /// Builds the trees of a scene: one for static surfaces, and one for each moving mesh. [`Preset::narrow`] gives the
    /// fastest traversal.
    pub fn build(scene: &Scene, preset: &Preset) -> Self {
        let mut trees = Self { is_of_bake: false, ..Self::of_bake(scene, preset) };
        let mut known = HashMap::new();
        for surface in scene.surface_ids().filter(|id| scene.surface(*id).role == Role::Mover) {
            let object = *known.entry(scene.surface(surface).mesh).or_insert_with_key(|mesh| {
                trees.objects.push(ObjectTree::build(scene, *mesh, preset));
                trees.objects.len() - 1
            });
            let first_triangle = trees.sources.len() as u32;
            let triangles = &trees.objects[object].triangles;
            trees.sources.extend(triangles.iter().map(|&triangle| (surface, triangle)));
            trees.movers.push(Mover { surface, object, first_triangle, triangles: triangles.len() as u32 });
        }
        trees
    }

    /// Adds what kernels with a stack need: links between leaves for [`Stack::Ropes`], 48 bytes a leaf.
    #[must_use]
    pub fn for_stack(self, stack: Stack) -> Self {
        Self { has_ropes: stack == Stack::Ropes, ..self }
    }

    /// Returns the tree of static surfaces.
    pub fn tree(&self) -> &Tree {
        &self.static_tree
    }

    /// Makes the tree of static surfaces lead back to its root.
    #[cfg(test)]
    pub(in super::super) fn tie_root(&mut self) {
        self.static_tree.tie_root();
    }

    /// Returns the surface and mesh triangle of each static triangle.
    pub(super) fn sources_at_rest(&self) -> &[(SurfaceId, u32)] {
        &self.sources[..self.static_tree.triangles().len()]
    }

    /// Returns the surface and mesh triangle of each triangle of a moving object.
    pub(super) fn sources_of(&self, mover: &Mover) -> &[(SurfaceId, u32)] {
        &self.sources[mover.first_triangle as usize..(mover.first_triangle + mover.triangles) as usize]
    }

    /// Returns the nodes and references of all trees, and the index of each object tree's root.
    pub(super) fn joined(&self) -> (Vec<list::Node>, Vec<u32>, Vec<u32>) {
        let (mut nodes, mut references) = (Vec::new(), Vec::new());
        let mut append = |tree: &Tree| {
            let append = if self.has_ropes { Tree::append_with_ropes } else { Tree::append_to };
            append(tree, &mut nodes, &mut references)
        };
        append(&self.static_tree);
        let roots = self.objects.iter().map(|object| append(&object.tree)).collect();
        (bytemuck::cast_vec(nodes), references, roots)
    }
}

impl ObjectTree {
    fn build(scene: &Scene, mesh: MeshId, preset: &Preset) -> Self {
        let (triangles, indices) = triangles_of_mesh(&scene.meshes[mesh.index()]);
        Self { tree: Tree::build(triangles, &shallow(preset)), triangles: indices }
    }
}

fn shallow(preset: &Preset) -> Preset {
    Preset { deepest: preset.deepest.min(DEEPEST), ..*preset }
}
