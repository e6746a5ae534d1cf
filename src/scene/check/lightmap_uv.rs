//! Checks whether a mesh's UV_1 can serve as lightmap coordinates.

use std::collections::HashSet;

use glam::Vec2;
use rayon::prelude::*;

use crate::scene::{MeshData, MeshId, Problem, Role, Scene};

/// Number of probe points along each axis of the unit square.
const PROBES: usize = 256;
/// Scale factor of tested triangles. Neighbors share edges, which rounding lets overlap slightly.
const KEPT: f32 = 0.999;

/// Reports UV_1 of static surfaces that are missing, leave the unit square, or overlap. The unwrapper decides how to
/// handle them.
pub fn inspect(scene: &Scene, problems: &mut Vec<Problem>) {
    let is_static = |id: &_| scene.surface(*id).role == Role::Static;
    let used: HashSet<MeshId> = scene.surface_ids().filter(is_static).map(|id| scene.surface(id).mesh).collect();
    let used = (0..scene.meshes.len()).map(MeshId::from_index).filter(|id| used.contains(id));
    let meshes: Vec<&MeshData> = used.map(|id| &*scene.meshes[id.index()]).collect();
    let mut missing = meshes.iter().filter(|mesh| mesh.uv1.is_empty() && !mesh.triangles.is_empty());
    if let Some(first) = missing.next() {
        problems.push(Problem::MissingLightmapUv { mesh: first.name.clone(), more: missing.count() });
    }
    let faults: Vec<Option<Problem>> = meshes.par_iter().map(|mesh| fault(mesh)).collect();
    problems.extend(faults.into_iter().flatten());
}

fn fault(mesh: &MeshData) -> Option<Problem> {
    let name = || mesh.name.clone();
    let used = || mesh.triangles.iter().flatten().filter_map(|&corner| mesh.uv1.get(corner as usize));
    if used().any(|uv| uv.min_element() < 0.0 || uv.max_element() > 1.0) {
        return Some(Problem::LightmapUvOutOfRange { mesh: name() });
    }
    overlaps(mesh).then(|| Problem::OverlappingLightmapUv { mesh: name() })
}

/// Returns true if a probe point lies in more than one triangle. Overlaps smaller than the probe spacing are not found.
fn overlaps(mesh: &MeshData) -> bool {
    let mut taken = vec![false; PROBES * PROBES];
    for corners in &mesh.triangles {
        let [a, b, c] = corners.map(|corner| mesh.uv1.get(corner as usize).copied().unwrap_or_default());
        let center = (a + b + c) / 3.0;
        let shrunk = [a, b, c].map(|corner| (center + (corner - center) * KEPT) * PROBES as f32 - 0.5);
        for (x, y) in probes_within(shrunk) {
            if std::mem::replace(&mut taken[y * PROBES + x], true) {
                return true;
            }
        }
    }
    false
}

/// Iterates over integer points inside a triangle.
fn probes_within([a, b, c]: [Vec2; 3]) -> impl Iterator<Item = (usize, usize)> {
    let last = (PROBES - 1) as f32;
    let min = a.min(b).min(c).ceil().clamp(Vec2::ZERO, Vec2::splat(last));
    let max = a.max(b).max(c).floor().clamp(Vec2::NEG_ONE, Vec2::splat(last));
    let turn = (b - a).perp_dot(c - a).signum();
    let is_left = move |from: Vec2, to: Vec2, point: Vec2| (to - from).perp_dot(point - from) * turn > 0.0;
    let points = (min.y as i32..=max.y as i32).flat_map(move |y| (min.x as i32..=max.x as i32).map(move |x| (x, y)));
    points
        .filter(move |&(x, y)| {
            let point = Vec2::new(x as f32, y as f32);
            is_left(a, b, point) && is_left(b, c, point) && is_left(c, a, point)
        })
        .map(|(x, y)| (x as usize, y as usize))
}
