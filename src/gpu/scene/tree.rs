//! The trees that shaders walk.

use std::collections::HashMap;

use super::list;
use crate::geometry::SurfaceId;
use crate::kdtree::{Preset, Tree, resting_triangles, triangles_of_mesh, twins};
use crate::scene::{MeshId, Role, Scene};

/// Splits above a leaf for which a walk has bits.
const DEEPEST: usize = 32;

/// The trees that shaders walk: built once for scenes that differ in their light and colours, and in where their movers
/// stand.
pub struct GpuTree {
    /// Of all that stands still.
    resting: Tree,
    /// Of each mesh that moves, in its own space.
    pub(super) objects: Vec<ObjectTree>,
    pub(super) movers: Vec<Mover>,
    /// The surface and the triangle of its mesh that each triangle on the device is: those that stand still, in the tree's
    /// order, and behind them those of one mover after the other.
    pub(super) sources: Vec<(SurfaceId, u32)>,
    /// Which of those that stand still lie in one place with others that look the other way.
    pub(super) twins: Vec<bool>,
    /// Whether light of movers counts.
    pub(super) is_of_bake: bool,
}

/// The tree of a mesh in its own space.
pub(super) struct ObjectTree {
    pub tree: Tree,
    /// Which of the mesh's triangles each of the tree's is.
    triangles: Vec<u32>,
}

/// A surface that moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mover {
    pub surface: SurfaceId,
    /// Which tree is its mesh's.
    pub object: usize,
    /// Its triangles on the device are so many, from this one on.
    pub first_triangle: u32,
    pub triangles: u32,
}

impl GpuTree {
    /// Builds the tree of all that takes part in a bake: no movers.
    pub fn of_bake(scene: &Scene, preset: &Preset) -> Self {
        let preset = shallow(preset);
        let (triangles, sources) = resting_triangles(scene);
        let twins = twins(scene, &triangles, &sources);
        let resting = Tree::build(triangles, &preset);
        Self { resting, objects: Vec::new(), movers: Vec::new(), sources, twins, is_of_bake: true }
    }

    /// Builds the trees of a scene: one for all that stands still, and one for each mesh that a mover shows.
    /// [`Preset::narrow`] makes those that are walked the fastest.
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

    /// The tree of all that stands still, as a CPU sees it.
    pub fn tree(&self) -> &Tree {
        &self.resting
    }

    /// The same of all that stands still.
    pub(super) fn sources_at_rest(&self) -> &[(SurfaceId, u32)] {
        &self.sources[..self.resting.triangles().len()]
    }

    /// The same of a mover.
    pub(super) fn sources_of(&self, mover: &Mover) -> &[(SurfaceId, u32)] {
        &self.sources[mover.first_triangle as usize..(mover.first_triangle + mover.triangles) as usize]
    }

    /// Nodes and references of all trees, and where the root of each object's is.
    pub(super) fn joined(&self) -> (Vec<list::Node>, Vec<u32>, Vec<u32>) {
        let mut nodes = self.resting.nodes().to_vec();
        let mut references = self.resting.references().to_vec();
        let roots = self.objects.iter().map(|object| object.tree.append_to(&mut nodes, &mut references)).collect();
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
