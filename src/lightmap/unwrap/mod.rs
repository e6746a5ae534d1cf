//! Lightmap coordinates of a mesh: flat, straightened and tightly packed charts.
//!
//! ```text
//! MeshData -> Topology (weld, neighbors, texel units)
//!          -> regions  (merge neighbors, flattest first, within a cone of normals)
//!          -> flatten  (project; split what overlaps itself)
//!          -> straighten (smallest rectangle, whole texels)
//!          -> packing    (by shape, texel by texel)
//!          -> assemble   (split vertices where charts part) -> Unwrap
//! ```
//!
//! A file's own UV_1 is used instead if it is suitable (`reuse`). With the feature `xatlas`, that library can replace
//! `regions` and `flatten`.
//!
//! All lengths are in texels from the first step on. So one matrix covers a surface's scale, uniform or not, and its
//! density, and tolerances relate to a lightmap's resolution.

mod assemble;
mod flatten;
mod overlap;
mod packing;
pub(super) mod raster;
mod regions;
mod reuse;
mod straighten;
#[cfg(test)]
mod tests;
mod topology;
mod unwrapped;
mod unwrapper;
#[cfg(feature = "xatlas")]
mod xatlas;

use glam::DMat3;

use self::assemble::assemble;
use self::flatten::Chart;
use self::topology::Topology;
use crate::lightmap::LayoutError;
use crate::progress::Monitor;
use crate::scene::{Material, MeshData, UvChannel};

pub use self::reuse::Uv1Problem;
pub use self::unwrapped::Unwrap;
pub use self::unwrapper::Unwrapper;

/// Input of unwrapping.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    /// Mesh to unwrap.
    pub mesh: &'a MeshData,
    /// Transform from object space to texels, up to a rotation.
    pub to_texels: DMat3,
    /// Method that makes new charts.
    pub unwrapper: Unwrapper,
    /// Number of empty texels between charts.
    pub padding: u32,
    /// Maximum edge of the rectangle.
    pub page_size: u32,
    /// True to give the back of every triangle its own texels.
    pub two_sided: bool,
    /// Other use of the mesh's second texture coordinates.
    pub uv1_use: Uv1Use,
}

/// Use of the second texture coordinates by a material. Lightmaps need them exclusively.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Uv1Use {
    /// The material does not read them.
    #[default]
    Free,
    /// The material reads only them, so they can move to the free first coordinates.
    Movable,
    /// The material reads both sets. They must stay as they are, or the surface gets no lightmap.
    Fixed,
}

impl Uv1Use {
    /// Returns the use by a material on a mesh.
    pub fn of(material: &Material, mesh: &MeshData) -> Self {
        let reads_uv1 = !mesh.uv1.is_empty() && material.reads_uv(UvChannel::Uv1);
        match (reads_uv1, material.reads_uv(UvChannel::Uv0)) {
            (false, _) => Self::Free,
            (true, false) => Self::Movable,
            (true, true) => Self::Fixed,
        }
    }
}

/// Result of a [`Request`].
pub(super) struct Outcome {
    /// Unwrapped mesh; `None` if no triangle has an area, or if fixed coordinates are unsuitable.
    pub unwrap: Option<Unwrap>,
    /// Longest edge of the rectangle. If it exceeds the page size, `unwrap` is `None`.
    pub longest_edge: u32,
    /// Reason why the mesh's own second coordinates were not used.
    pub problem: Option<Uv1Problem>,
}

/// Gives a mesh lightmap coordinates: its own if suitable, new ones otherwise.
pub(super) fn unwrap(request: &Request, monitor: &dyn Monitor) -> Result<Outcome, LayoutError> {
    let count = request.mesh.triangles.len();
    let is_fixed = request.uv1_use == Uv1Use::Fixed;
    let doubled = (request.two_sided && !is_fixed).then(|| with_backs(request.mesh));
    let mesh = doubled.as_ref().unwrap_or(request.mesh);
    let topology = Topology::new(mesh, request.to_texels, count);
    let mut problem = None;
    let mut found = None;
    if topology.areas.iter().any(|area| *area > 0.0) {
        if mesh.uv1.len() == mesh.positions.len() && doubled.is_none() {
            match reuse::charts_of_file(mesh, &topology, request) {
                Ok(charts) => found = Some(charts),
                Err(reason) => problem = Some(reason),
            }
        }
        if found.is_none() && !is_fixed {
            found = Some(new_charts(&topology, request, monitor)?);
        }
    }
    let longest_edge = found.as_ref().map_or(0, |(_, size)| size[0].max(size[1]));
    let unwrap = found
        .filter(|_| longest_edge <= request.page_size)
        .map(|(charts, size)| assemble(mesh, &topology, &charts, size, count));
    Ok(Outcome { unwrap, longest_edge, problem })
}

/// Makes charts, packs them into a rectangle, and returns its size. Charts larger than a page are not packed.
fn new_charts(
    topology: &Topology,
    request: &Request,
    monitor: &dyn Monitor,
) -> Result<(Vec<Chart>, [u32; 2]), LayoutError> {
    let mut charts = flat_charts(topology, request, monitor)?;
    let sizes: Vec<[u32; 2]> = charts.iter_mut().map(straighten::straighten).collect();
    let longest = sizes.iter().flatten().copied().max().unwrap_or(0);
    let size = if longest > request.page_size {
        [longest; 2]
    } else {
        packing::pack(&mut charts, &sizes, request.padding, request.page_size)
    };
    Ok((charts, size))
}

/// Makes flat charts at arbitrary positions, in texels.
fn flat_charts(topology: &Topology, request: &Request, monitor: &dyn Monitor) -> Result<Vec<Chart>, LayoutError> {
    monitor.check()?;
    match request.unwrapper {
        Unwrapper::Charts => {
            Ok((regions::grow(topology).into_iter()).flat_map(|region| flatten::flatten(topology, region)).collect())
        }
        #[cfg(feature = "xatlas")]
        Unwrapper::Xatlas => {
            let refused = |error| match error {
                xatlas::XatlasError::Cancelled(cancelled) => LayoutError::Cancelled(cancelled),
                xatlas::XatlasError::Refused => LayoutError::Xatlas { mesh: request.mesh.name.clone() },
            };
            xatlas::charts(topology, request.mesh.triangles.len(), monitor).map_err(refused)
        }
    }
}

/// Returns the mesh with every triangle duplicated, facing the other way.
fn with_backs(mesh: &MeshData) -> MeshData {
    let offset = mesh.positions.len() as u32;
    fn twice<T: Copy>(values: &[T]) -> Vec<T> {
        [values, values].concat()
    }
    MeshData {
        name: mesh.name.clone(),
        positions: [&mesh.positions[..], &mesh.positions].concat(),
        normals: mesh.normals.iter().copied().chain(mesh.normals.iter().map(|normal| -*normal)).collect(),
        uv0: twice(&mesh.uv0),
        uv1: twice(&mesh.uv1),
        other_uv: mesh.other_uv.iter().map(|set| twice(set)).collect(),
        colors: twice(&mesh.colors),
        triangles: (mesh.triangles.iter().copied())
            .chain(mesh.triangles.iter().map(|&[a, b, c]| [a + offset, c + offset, b + offset]))
            .collect(),
    }
}
