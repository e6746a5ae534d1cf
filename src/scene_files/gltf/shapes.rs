//! Spheres, tori and Bezier patches in the `extras` of nodes (`004` item 22).
//!
//! | key | value |
//! | --- | --- |
//! | `shape` | `"sphere"`, `"torus"` or `"bezier"` |
//! | `shape_radius` | radius of the sphere, or of the circle in the middle of the torus's tube |
//! | `shape_tube` | radius of the torus's tube |
//! | `shape_points` | coordinates of control points, 48 for each patch, see [`BezierPatch`] |
//! | `shape_deviation` | maximum distance of the mesh from the shape; by default a 500th of the radius, tube or extent |
//! | `shape_material` | name or index of a material; by default that of the first primitive of the node's mesh |
//!
//! Lengths are in meters, in the node's space. A shape replaces the mesh of its node, and descendants do not inherit it.

use glam::{Vec2, Vec3};
use serde_json::Value;

use super::extras::{SHAPE, positive};
use crate::geometry::{BezierPatch, Shape};
use crate::scene::MeshData;
use crate::scene::shapes::Tessellation;
use crate::scene_files::budget::Budget;

/// Most vertices of all curved shapes of a file. A few numbers can ask for more than memory holds.
const MAX_SHAPE_VERTICES: u64 = 1 << 22;
/// Bytes of memory of a vertex of a curved shape, with two triangles. A patch is built before it is added
/// to the others, so two copies may be there.
const BYTES_PER_SHAPE_VERTEX: u64 = 2 * (2 * size_of::<Vec3>() + size_of::<Vec2>() + 2 * size_of::<[u32; 3]>()) as u64;

/// Shape that a node asks for.
#[derive(Debug, PartialEq)]
pub struct NodeShape {
    pub shape: Shape,
    /// Maximum distance of its mesh, in meters.
    pub deviation: f32,
    pub material: Option<MaterialName>,
}

/// Name or index of a material in the file.
#[derive(Debug, PartialEq)]
pub enum MaterialName {
    Name(String),
    Index(usize),
}

/// Faulty key of a shape, and the reason.
pub type Fault = (String, &'static str);

/// Reads the shape of a node from its keys. `None` if there are none.
///
/// # Errors
/// The key at fault, and the reason.
pub fn read(keys: &[(String, Value)]) -> Result<Option<NodeShape>, Fault> {
    const KNOWN: [&str; 6] =
        ["shape", "shape_radius", "shape_tube", "shape_points", "shape_deviation", "shape_material"];
    if keys.is_empty() {
        return Ok(None);
    }
    if let Some((unknown, _)) = keys.iter().find(|(key, _)| !KNOWN.contains(&key.as_str())) {
        return Err((unknown.clone(), "there is no such key"));
    }
    let value = |key: &str| keys.iter().find(|(other, _)| other == key).map(|(_, value)| value);
    let length = |key: &str, reason| match value(key) {
        None => Ok(None),
        Some(value) => positive(value).map(Some).ok_or((key.to_owned(), reason)),
    };
    let needed = |key: &str, reason| length(key, reason)?.ok_or_else(|| (SHAPE.to_owned(), reason));
    let kind = value(SHAPE).and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let (shape, size) = match kind.as_str() {
        "sphere" => {
            let radius = needed("shape_radius", "a sphere needs shape_radius, a length above zero")?;
            (Shape::Sphere { radius }, radius)
        }
        "torus" => {
            let radius = needed("shape_radius", "a torus needs shape_radius, a length above zero")?;
            let tube = needed("shape_tube", "a torus needs shape_tube, a length above zero")?;
            if tube >= radius {
                return Err(("shape_tube".to_owned(), "it must be below shape_radius"));
            }
            (Shape::Torus { radius, tube }, tube)
        }
        "bezier" => {
            let points = value("shape_points").ok_or((SHAPE.to_owned(), "patches need shape_points"))?;
            let patches = patches(points).map_err(|reason| ("shape_points".to_owned(), reason))?;
            let shape = Shape::Bezier(patches);
            let bounds = shape.bounds();
            let extent = (bounds.max - bounds.min).max_element();
            (shape, extent)
        }
        _ => return Err((SHAPE.to_owned(), "it must be sphere, torus or bezier")),
    };
    // A point has no size, and any distance is enough for it.
    let usual = (size / 500.0).max(f32::MIN_POSITIVE);
    let deviation = length("shape_deviation", "it must be a length above zero")?.unwrap_or(usual);
    let material = match value("shape_material") {
        None => None,
        Some(Value::String(name)) => Some(MaterialName::Name(name.clone())),
        Some(value) => {
            let index = value.as_u64().and_then(|index| usize::try_from(index).ok());
            let reason = "it must be the name or the index of a material";
            Some(MaterialName::Index(index.ok_or(("shape_material".to_owned(), reason))?))
        }
    };
    Ok(Some(NodeShape { shape, deviation, material }))
}

/// Builds the mesh of a shape. `vertices` counts those of all shapes of the file.
///
/// # Errors
/// When the file's shapes have too many vertices, or exceed the memory budget.
pub fn tessellate(shape: &NodeShape, name: &str, vertices: &mut u64, budget: &Budget) -> Result<MeshData, String> {
    let tessellation = Tessellation::new(&shape.shape, shape.deviation);
    let count = tessellation.vertex_count();
    if count > MAX_SHAPE_VERTICES - *vertices {
        return Err(format!(
            "the file's curved shapes would have more than {MAX_SHAPE_VERTICES} vertices: raise radiosity_shape_deviation"
        ));
    }
    *vertices += count;
    budget.take(count * BYTES_PER_SHAPE_VERTEX, || format!("the shape '{name}'"))?;
    Ok(tessellation.build(name))
}

/// Reads the control points of patches.
fn patches(points: &Value) -> Result<Vec<BezierPatch>, &'static str> {
    const NUMBERS: usize = 48;
    let list = points.as_array().filter(|list| !list.is_empty() && list.len() % NUMBERS == 0);
    let list = list.ok_or("it must be a list of 48 numbers for each patch: 4 rows of 4 points")?;
    let numbers: Option<Vec<f32>> =
        list.iter().map(|number| Some(number.as_f64()? as f32).filter(|number| number.is_finite())).collect();
    let numbers = numbers.ok_or("its items must be finite numbers")?;
    let patch = |numbers: &[f32]| {
        core::array::from_fn(|row| core::array::from_fn(|column| Vec3::from_slice(&numbers[3 * (4 * row + column)..])))
    };
    Ok(numbers.chunks_exact(NUMBERS).map(patch).collect())
}
