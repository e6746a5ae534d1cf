//! Meshes from primitives.

use glam::{Vec2, Vec3, Vec4};
use gltf::json::Index;
use gltf::json::accessor::Accessor;
use gltf::json::mesh::{Mode, Primitive, Semantic};
use gltf::json::validation::Checked;

use super::accessors::Accessors;
use crate::scene::{MeshData, Problem, UvChannel};

/// Reads a primitive as a triangle list. `None` if it cannot be read, which is reported.
pub fn read(
    primitive: &Primitive,
    mesh: &str,
    number: usize,
    accessors: &Accessors,
    warnings: &mut Vec<Problem>,
) -> Option<MeshData> {
    match try_read(primitive, mesh, accessors, warnings) {
        Ok(data) => Some(data),
        Err(reason) => {
            warnings.push(Problem::SkippedPrimitive { mesh: mesh.to_owned(), primitive: number, reason });
            None
        }
    }
}

fn try_read(
    primitive: &Primitive,
    name: &str,
    accessors: &Accessors,
    warnings: &mut Vec<Problem>,
) -> Result<MeshData, String> {
    let attribute = |semantic| primitive.attributes.get(&Checked::Valid(semantic)).copied();
    let positions = attribute(Semantic::Positions).ok_or("it has no positions")?;
    if is_packed(primitive) && accessors.is_blank(positions) {
        return Err("it is compressed by Draco, which is not read: export it without compression".to_owned());
    }
    let positions: Vec<Vec3> = accessors.vectors(positions)?.into_iter().map(Vec3::from_array).collect();
    let corners = match primitive.indices {
        Some(indices) => accessors.indices(indices)?,
        None => (0..u32::try_from(positions.len()).map_err(|_| "it has too many vertices")?).collect(),
    };
    let mut triangles = triangulate(&corners, primitive.mode)?;
    let before = triangles.len();
    triangles.retain(|corners| corners.iter().all(|&corner| (corner as usize) < positions.len()));
    if triangles.len() < before {
        let count = before - triangles.len();
        warnings.push(Problem::IndexOutOfRange { mesh: name.to_owned(), count });
    }
    let mut optional = OptionalAttributes { name, vertices: positions.len(), accessors, warnings };
    let normals = optional.read("NORMAL", attribute(Semantic::Normals), Vec3::from_array);
    let uv0 = optional.read("TEXCOORD_0", attribute(Semantic::TexCoords(0)), Vec2::from_array);
    let uv1 = optional.read("TEXCOORD_1", attribute(Semantic::TexCoords(1)), Vec2::from_array);
    let sets = (2..UvChannel::MAX_SETS).map(|set| attribute(Semantic::TexCoords(set)));
    let mut other_uv: Vec<Vec<Vec2>> = (2..)
        .zip(sets)
        .map(|(set, accessor)| optional.read(&format!("TEXCOORD_{set}"), accessor, Vec2::from_array))
        .collect();
    other_uv.truncate(other_uv.iter().rposition(|set| !set.is_empty()).map_or(0, |last| last + 1));
    let colors = optional.read_colors(attribute(Semantic::Colors(0)));
    let data = MeshData { name: name.to_owned(), positions, normals, uv0, uv1, other_uv, colors, triangles };
    let is_indexed_list = primitive.indices.is_some() && primitive.mode == Checked::Valid(Mode::Triangles);
    if attribute(Semantic::Normals).is_none() && is_indexed_list {
        // Bevy's loader does the same, and lightmaps refer to vertices by their numbers.
        accessors.reserve(data.bytes_of_split_vertices())?;
        return Ok(data.with_split_vertices());
    }
    Ok(data)
}

fn is_packed(primitive: &Primitive) -> bool {
    let extensions = primitive.extensions.as_ref();
    extensions.is_some_and(|extensions| extensions.others.contains_key("KHR_draco_mesh_compression"))
}

/// Reader of attributes that a mesh can do without.
struct OptionalAttributes<'a> {
    name: &'a str,
    vertices: usize,
    accessors: &'a Accessors<'a>,
    warnings: &'a mut Vec<Problem>,
}

impl OptionalAttributes<'_> {
    /// Reads one value per vertex. The result is empty if the attribute is missing or cannot be read.
    fn read<T, const N: usize>(
        &mut self,
        attribute: &str,
        accessor: Option<Index<Accessor>>,
        convert: fn([f32; N]) -> T,
    ) -> Vec<T> {
        let Some(accessor) = accessor else {
            return Vec::new();
        };
        let reason = match self.accessors.vectors(accessor) {
            Ok(values) if values.len() == self.vertices => return values.into_iter().map(convert).collect(),
            Ok(values) => format!("it has {} values for {} vertices", values.len(), self.vertices),
            Err(reason) => reason,
        };
        self.ignore(attribute, reason);
        Vec::new()
    }

    /// Reads `COLOR_0`. The alpha of three channels is one.
    fn read_colors(&mut self, accessor: Option<Index<Accessor>>) -> Vec<Vec4> {
        if self.accessors.components(accessor) == Some(3) {
            self.read("COLOR_0", accessor, |channels| Vec3::from_array(channels).extend(1.0))
        } else {
            self.read("COLOR_0", accessor, Vec4::from_array)
        }
    }

    fn ignore(&mut self, attribute: &str, reason: String) {
        let (mesh, attribute) = (self.name.to_owned(), attribute.to_owned());
        self.warnings.push(Problem::IgnoredAttribute { mesh, attribute, reason });
    }
}

/// Makes triangles from a list, strip or fan of corners, with glTF's order and winding.
fn triangulate(corners: &[u32], mode: Checked<Mode>) -> Result<Vec<[u32; 3]>, String> {
    let windows = || corners.windows(3).map(|window| [window[0], window[1], window[2]]);
    match mode {
        Checked::Valid(Mode::Triangles) => Ok(corners.as_chunks().0.to_vec()),
        Checked::Valid(Mode::TriangleStrip) => Ok(windows()
            .enumerate()
            .map(|(index, [a, b, c])| if index % 2 == 0 { [a, b, c] } else { [a, c, b] })
            .collect()),
        Checked::Valid(Mode::TriangleFan) => {
            Ok(corners.windows(2).skip(1).map(|edge| [edge[0], edge[1], corners[0]]).collect())
        }
        Checked::Valid(_) => Err("it has points or lines, no triangles".to_owned()),
        Checked::Invalid => Err("its mode is unknown".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_and_fans_keep_the_winding_of_their_first_triangle() {
        let corners = [0, 1, 2, 3, 4];
        let strip = triangulate(&corners, Checked::Valid(Mode::TriangleStrip)).unwrap();
        assert_eq!(strip, [[0, 1, 2], [1, 3, 2], [2, 3, 4]]);
        let fan = triangulate(&corners, Checked::Valid(Mode::TriangleFan)).unwrap();
        assert_eq!(fan, [[1, 2, 0], [2, 3, 0], [3, 4, 0]]);
        let list = triangulate(&corners, Checked::Valid(Mode::Triangles)).unwrap();
        assert_eq!(list, [[0, 1, 2]], "an unfinished triangle is none");
        assert!(triangulate(&corners, Checked::Valid(Mode::Lines)).is_err());
        assert!(triangulate(&[7], Checked::Valid(Mode::TriangleFan)).unwrap().is_empty());
    }
}
