//! Moving objects: one tree per mesh in object space, under a small tree over the current instances.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use glam::{Affine3A, Vec3};

use crate::geometry::{Aabb, Hit, Ray, SurfaceId, Triangle};
use crate::scene::{MeshData, MeshId, Scene};

use super::lanes::Portable;
use super::traversal::{Order, traverse};
use super::wide::WideTree;
use super::{Preset, Tracer, TreeHit, build};

/// Instances of one frame. The trees of their meshes persist between frames.
#[derive(Clone, Debug)]
pub(super) struct Movers {
    meshes: HashMap<MeshId, Arc<ObjectTree>>,
    instances: Vec<Instance>,
    /// Tree over the instances' world-space boxes. Its leaves index `references`, which index `instances`.
    tree: WideTree,
    references: Vec<u32>,
}

/// Tree of a mesh in object space.
#[derive(Debug)]
struct ObjectTree {
    tracer: Tracer,
    /// Index in the mesh of each of the tree's triangles.
    triangles: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Instance {
    surface: SurfaceId,
    object: Arc<ObjectTree>,
    from_world: Affine3A,
}

impl ObjectTree {
    fn build(mesh: &MeshData, preset: &Preset, marked: bool) -> Self {
        let (triangles, indices) = triangles_of_mesh(mesh);
        Self { tracer: Tracer::build(triangles, preset, |_| marked), triangles: indices }
    }
}

/// Returns the triangles of a mesh in object space, with the index of each in the mesh. Degenerate triangles are left
/// out.
pub(crate) fn triangles_of_mesh(mesh: &MeshData) -> (Vec<Triangle>, Vec<u32>) {
    (0..mesh.triangles.len() as u32)
        .map(|index| {
            let corners = mesh.triangles[index as usize].map(|vertex| mesh.positions[vertex as usize]);
            (Triangle { corners }, index)
        })
        .filter(|(triangle, _)| triangle.normal() != Vec3::ZERO)
        .unzip()
}

impl Default for Movers {
    fn default() -> Self {
        Self::over(HashMap::new(), Vec::new(), &[])
    }
}

impl Movers {
    /// Replaces the instances and keeps the trees of known meshes. Instances with a singular transform are left out,
    /// because rays cannot be transformed to their object space.
    pub fn moved(
        self,
        scene: &Scene,
        movers: impl IntoIterator<Item = (SurfaceId, Affine3A)>,
        preset: &Preset,
    ) -> Self {
        let mut meshes = self.meshes;
        let mut instances = Vec::new();
        let mut boxes = Vec::new();
        for (surface, to_world) in movers {
            let mesh = scene.surface(surface).mesh;
            let object = meshes.entry(mesh).or_insert_with(|| {
                let shown = |id: &SurfaceId| scene.surface(*id).mesh == mesh;
                let marked = scene.surface_ids().filter(shown).any(|id| scene.material_of(id).can_be_passed());
                Arc::new(ObjectTree::build(scene.mesh_of(surface), preset, marked))
            });
            let bounds = object.tracer.tree().bounds();
            let from_world = to_world.inverse();
            if bounds.is_empty() || !from_world.is_finite() {
                continue;
            }
            boxes.push(bounds.transformed(&to_world));
            instances.push(Instance { surface, object: object.clone(), from_world });
        }
        Self::over(meshes, instances, &boxes)
    }

    fn over(meshes: HashMap<MeshId, Arc<ObjectTree>>, instances: Vec<Instance>, boxes: &[Aabb]) -> Self {
        let bounds = boxes.iter().fold(Aabb::EMPTY, |bounds, other| bounds.union(*other));
        // Transforming one ray to object space costs as much as a few dozen node visits.
        let preset = Preset { intersection_cost: 30.0, leaf_width: 1, clip: false, ..Preset::best() };
        let build::Output { nodes, boxes, references } =
            build::build_boxes(boxes.iter().copied(), &[], bounds, &preset, preset.leaf_width);
        let surfaces: Vec<f32> = boxes.iter().map(|bounds| bounds.surface_area()).collect();
        let tree = WideTree::new(&nodes, &boxes, &surfaces, 1);
        Self { meshes, instances, tree, references }
    }

    /// Returns the closest hit in the ray's interval. `accept` works as in [`Tracer::closest`], for triangles that
    /// count the crossing.
    pub fn closest(&self, ray: &Ray, mut accept: impl FnMut(&Hit) -> bool) -> Option<Hit> {
        let mut rest = *ray;
        let mut best: Option<Hit> = None;
        traverse::<Portable>(&self.tree, ray, Order::NearestFirst, |first, count| {
            for instance in self.instances_of(first, count) {
                let counts_at =
                    |hit: TreeHit, is_crossed| (is_crossed && accept(&instance.hit(hit))).then_some(hit.place.t);
                let hit = instance.object.tracer.closest(&instance.ray(&rest), counts_at);
                if let Some(hit) = hit.map(|hit| instance.hit(hit)) {
                    let order = |hit: &Hit| (hit.surface, hit.triangle);
                    if best.is_none_or(|best| hit.t < best.t || (hit.t == best.t && order(&hit) < order(&best))) {
                        best = Some(hit);
                        rest.t_max = hit.t;
                    }
                }
            }
            ControlFlow::Continue(rest.t_max)
        });
        best
    }

    /// Returns true if any hit lies in the ray's interval; `accept` works as in [`Movers::closest`].
    pub fn any(&self, ray: &Ray, mut accept: impl FnMut(&Hit) -> bool) -> bool {
        let mut found = false;
        traverse::<Portable>(&self.tree, ray, Order::NearestFirst, |first, count| {
            found = self.instances_of(first, count).any(|instance| {
                let accept = |hit, is_crossed| is_crossed && accept(&instance.hit(hit));
                instance.object.tracer.any(&instance.ray(ray), accept)
            });
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(ray.t_max) }
        });
        found
    }

    /// Visits every hit in the ray's interval, in no particular order. One hit may be visited several times.
    pub fn all(&self, ray: &Ray, mut visit: impl FnMut(Hit)) {
        traverse::<Portable>(&self.tree, ray, Order::NearestFirst, |first, count| {
            for instance in self.instances_of(first, count) {
                instance.object.tracer.all(&instance.ray(ray), |hit| visit(instance.hit(hit)));
            }
            ControlFlow::Continue(ray.t_max)
        });
    }

    fn instances_of(&self, first: u32, count: u32) -> impl Iterator<Item = &Instance> {
        let references = &self.references[first as usize..(first + count) as usize];
        references.iter().map(|&instance| &self.instances[instance as usize])
    }
}

impl Instance {
    /// Transforms a ray to object space. The direction is not normalized, so that distances stay valid.
    fn ray(&self, ray: &Ray) -> Ray {
        Ray {
            origin: self.from_world.transform_point3(ray.origin),
            direction: self.from_world.transform_vector3(ray.direction),
            ..*ray
        }
    }

    fn hit(&self, hit: TreeHit) -> Hit {
        Hit {
            t: hit.place.t,
            surface: self.surface,
            triangle: self.object.triangles[hit.triangle as usize],
            barycentric: hit.place.barycentric,
            back: hit.place.back,
            filter: Vec3::ONE,
        }
    }
}
