//! Classes of surfaces that share one unwrap: equal meshes with similar scale and density.

use std::collections::HashMap;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use super::size::static_surfaces;
use super::{LayoutError, LayoutSettings, LayoutWarning};
use crate::geometry::SurfaceId;
use crate::lightmap::unwrap::{Outcome, Request, Uv1Use, unwrap};
use crate::progress::Monitor;
use crate::scene::{MeshData, Scene, Surface};

/// Maximum ratio of scales of instances that share one unwrap.
const SIMILAR_SCALE: f64 = 1.06;

/// Surfaces with equal meshes at one resolution.
pub(super) struct ResolutionClass<'a> {
    mesh: &'a MeshData,
    /// Transform from object space to texels, up to a rotation.
    to_texels: DMat3,
    two_sided: bool,
    uv1_use: Uv1Use,
    pub surfaces: Vec<SurfaceId>,
}

/// Unwrap that fits a page.
pub(super) struct Fitted {
    pub outcome: Outcome,
    /// Factor applied to the density, at most one.
    pub shrunk: f64,
}

impl ResolutionClass<'_> {
    /// Unwraps the mesh, at a lower density if it does not fit a page.
    pub fn unwrap(&self, settings: &LayoutSettings, monitor: &dyn Monitor) -> Result<Fitted, LayoutError> {
        let mut shrunk = 1.0;
        loop {
            let request = Request {
                mesh: self.mesh,
                to_texels: self.to_texels * shrunk,
                unwrapper: settings.unwrapper,
                padding: settings.padding,
                page_size: settings.page_size,
                two_sided: self.two_sided,
                uv1_use: self.uv1_use,
            };
            let outcome = unwrap(&request, monitor)?;
            if outcome.longest_edge <= settings.page_size {
                return Ok(Fitted { outcome, shrunk });
            }
            // Padding does not shrink, so the step is slightly larger than proportional.
            shrunk *= (0.99 * f64::from(settings.page_size) / f64::from(outcome.longest_edge)).max(0.01);
        }
    }

    /// Adds warnings about each surface's deviations from the request.
    pub fn warn(
        &self,
        scene: &Scene,
        settings: &LayoutSettings,
        outcome: &Outcome,
        shrunk: f64,
        warnings: &mut Vec<LayoutWarning>,
    ) {
        if let (Some(_), Some(problem)) = (&outcome.unwrap, outcome.problem) {
            let object = self.surfaces.first().map_or("", |&id| scene.surface(id).key.object()).to_owned();
            warnings.push(LayoutWarning::Uv1Replaced { object, mesh: self.mesh.name.clone(), problem });
        }
        for &id in &self.surfaces {
            let surface = scene.surface(id).key.to_string();
            match (&outcome.unwrap, outcome.problem) {
                (None, Some(problem)) => warnings.push(LayoutWarning::Uv1Taken { surface, problem }),
                (None, None) => warnings.push(LayoutWarning::NoArea { surface }),
                (Some(_), _) if shrunk < 1.0 => {
                    let asked = settings.texels_per_meter * scene.surface(id).density_scale;
                    warnings.push(LayoutWarning::DensityLowered { surface, asked, given: asked * shrunk as f32 });
                }
                _ => {}
            }
        }
    }
}

/// Groups static surfaces by mesh, scale, density and sides. A class uses the exact scale of its first surface.
pub(super) fn resolution_classes<'a>(
    scene: &'a Scene,
    settings: &LayoutSettings,
    two_sided: &impl Fn(SurfaceId) -> bool,
) -> Vec<ResolutionClass<'a>> {
    let content: Vec<[u8; 32]> = scene.meshes.par_iter().map(|mesh| content_hash(mesh)).collect();
    let mut classes: Vec<ResolutionClass> = Vec::new();
    let mut known: HashMap<([u8; 32], bool, Uv1Use), Vec<usize>> = HashMap::new();
    for id in static_surfaces(scene) {
        let surface = scene.surface(id);
        let density = f64::from(settings.texels_per_meter) * f64::from(surface.density_scale);
        let to_texels = shape_of(surface) * density;
        let two_sided = two_sided(id);
        let uv1_use = Uv1Use::of(scene.material_of(id), scene.mesh_of(id));
        let candidates = known.entry((content[surface.mesh.index()], two_sided, uv1_use)).or_default();
        if let Some(&class) = candidates.iter().find(|class| are_similar(classes[**class].to_texels, to_texels)) {
            classes[class].surfaces.push(id);
        } else {
            candidates.push(classes.len());
            let (mesh, surfaces) = (scene.mesh_of(id), vec![id]);
            classes.push(ResolutionClass { mesh, to_texels, two_sided, uv1_use, surfaces });
        }
    }
    classes
}

fn are_similar(one: DMat3, other: DMat3) -> bool {
    let diagonal = |m: DMat3| DVec3::new(m.x_axis.x, m.y_axis.y, m.z_axis.z);
    let (one_scale, other_scale) = (diagonal(one), diagonal(other));
    let tolerance = (SIMILAR_SCALE - 1.0) * one_scale.max(other_scale);
    let shears_agree = (one - other).to_cols_array().map(f64::abs).into_iter().all(|d| d <= tolerance.max_element());
    (one_scale - other_scale).abs().cmple(tolerance).all() && shears_agree
}

/// Returns the linear part of a surface's transform without its rotation. This is the upper triangular factor of the QR
/// decomposition (Gram-Schmidt), which preserves all lengths and angles.
fn shape_of(surface: &Surface) -> DMat3 {
    let m = surface.to_world.matrix3;
    let [x, y, z] = [m.x_axis, m.y_axis, m.z_axis].map(|axis| glam::Vec3::from(axis).as_dvec3());
    let first = x.normalize_or_zero();
    let second_part = y - first * first.dot(y);
    let second = second_part.normalize_or_zero();
    let third_part = z - first * first.dot(z) - second * second.dot(z);
    DMat3::from_cols(
        DVec3::new(x.length(), 0.0, 0.0),
        DVec3::new(first.dot(y), second_part.length(), 0.0),
        DVec3::new(first.dot(z), second.dot(z), third_part.length()),
    )
}

/// Hashes everything in a mesh except its name.
fn content_hash(mesh: &MeshData) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let arrays: [&[u8]; 6] = [
        bytemuck::cast_slice(&mesh.positions),
        bytemuck::cast_slice(&mesh.normals),
        bytemuck::cast_slice(&mesh.uv0),
        bytemuck::cast_slice(&mesh.uv1),
        bytemuck::cast_slice(&mesh.colors),
        bytemuck::cast_slice(&mesh.triangles),
    ];
    let other_uv = mesh.other_uv.iter().map(|set| bytemuck::cast_slice(set));
    for array in arrays.into_iter().chain(other_uv) {
        hasher.update(&array.len().to_le_bytes());
        hasher.update(array);
    }
    *hasher.finalize().as_bytes()
}
