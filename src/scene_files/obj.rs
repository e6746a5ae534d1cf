//! Wavefront OBJ (`004` item 1): all four face forms, negative indices, polygons, and `.mtl` materials.
//!
//! Each object or group becomes one surface per material. Fronts are counter-clockwise, and faces are single-sided, as
//! the format has no option for it. Faces without a material are light gray, or have the colors of their vertices.

use std::collections::HashMap;
use std::sync::Arc;

use glam::{Vec2, Vec3, Vec4};

use super::mtl::DEFAULT_REFLECTANCE;
use super::mtl_materials::Materials;
use super::source::Source;
use super::text::{self, without_comment};
use super::{Parsed, SceneError, polygon};
use crate::scene::key::cap;
use crate::scene::{Material, MaterialId, MeshData, MeshId, Problem, Scene, Surface, SurfaceKey, decode_srgb};

/// Parses the bytes of an `.obj` file.
pub fn read(bytes: &[u8], source: &Source) -> Result<Parsed, SceneError> {
    let text = text::decode(bytes).ok_or_else(|| SceneError::Malformed {
        file: source.name.clone(),
        reason: "it holds bytes that are no text".to_owned(),
    })?;
    let groups = text.lines().filter(|line| line.trim_start().starts_with(['o', 'g', 'u'])).count() as u64;
    let needed = BYTES_PER_BYTE * text.len() as u64 + BYTES_PER_GROUP * groups;
    let _needed = source
        .budget
        .lend(needed, || "its meshes".to_owned())
        .map_err(|reason| SceneError::Malformed { file: source.name.clone(), reason })?;
    let mut reader = Reader::new(source);
    // Some files use materials before their `mtllib` line.
    text::for_each_line(&text, |_, keyword, rest| {
        if keyword == "mtllib" {
            reader.materials.read_files(rest);
        }
    });
    text::for_each_line(&text, |number, keyword, rest| reader.read_line(number, keyword, rest));
    Ok(reader.finish())
}

/// Bytes of memory per byte of the file. Six bytes of text make a corner, with a position, a normal, texture
/// coordinates and a key.
const BYTES_PER_BYTE: u64 = 12;
/// Bytes of memory of a line that begins a mesh and a surface.
const BYTES_PER_GROUP: u64 = 1200;

/// Corner of a face: indices of position, texture coordinate and normal.
type Corner = (usize, Option<usize>, Option<usize>);

/// Faces of one object that share a material.
struct Group {
    object: String,
    /// Number of earlier groups of the object.
    number: usize,
    material: MaterialId,
    mesh: MeshData,
    vertices: HashMap<Corner, u32>,
    has_uv: bool,
    has_normals: bool,
}

struct Reader<'a> {
    source: &'a Source,
    positions: Vec<Vec3>,
    /// Colors of the positions, as written, up to the last position that has one.
    colors: Vec<Option<Vec3>>,
    uv: Vec<Vec2>,
    normals: Vec<Vec3>,
    groups: Vec<Group>,
    group_of: HashMap<(String, MaterialId), usize>,
    groups_in: HashMap<String, usize>,
    object: String,
    material: Option<MaterialId>,
    /// Material of faces that name none.
    default_material: Option<MaterialId>,
    materials: Materials<'a>,
    /// Faults by kind: the first line, and the number of further ones.
    faults: Vec<(Fault, usize, usize)>,
    fault_of: HashMap<Fault, usize>,
}

/// Description of a fault of a line, and of its repair.
type Fault = std::borrow::Cow<'static, str>;

impl<'a> Reader<'a> {
    fn new(source: &'a Source) -> Self {
        Self {
            source,
            positions: Vec::new(),
            colors: Vec::new(),
            uv: Vec::new(),
            normals: Vec::new(),
            groups: Vec::new(),
            group_of: HashMap::new(),
            groups_in: HashMap::new(),
            object: "object".to_owned(),
            material: None,
            default_material: None,
            materials: Materials::new(source),
            faults: Vec::new(),
            fault_of: HashMap::new(),
        }
    }

    fn read_line(&mut self, number: usize, keyword: &str, rest: &str) {
        let result = match keyword {
            "v" => {
                self.read_vertex(without_comment(rest));
                Ok(())
            }
            "vn" => {
                self.normals.push(Vec3::from_array(numbers(rest)));
                Ok(())
            }
            "vt" => {
                let [u, v] = numbers(rest);
                // The format counts v from the bottom.
                self.uv.push(Vec2::new(u, 1.0 - v));
                Ok(())
            }
            "f" | "fo" => self.read_face(without_comment(rest)),
            "o" | "g" => {
                self.object = if rest.is_empty() { "object".to_owned() } else { cap(rest).into_owned() };
                Ok(())
            }
            "usemtl" => self.use_material(rest),
            "surf" => Err("a free-form surface is left out: export polygons".into()),
            _ => Ok(()),
        };
        if let Err(fault) = result {
            match self.fault_of.get(&fault) {
                Some(&known) => self.faults[known].2 += 1,
                None => {
                    self.fault_of.insert(fault.clone(), self.faults.len());
                    self.faults.push((fault, number, 0));
                }
            }
        }
    }

    /// Reads `x y z`, optionally followed by a weight or a color.
    fn read_vertex(&mut self, rest: &str) {
        let [x, y, z, r, g, b] = numbers(rest);
        let color = Vec3::new(r, g, b);
        if color.is_finite() {
            self.colors.resize(self.positions.len(), None);
            self.colors.push(Some(color));
        }
        self.positions.push(Vec3::new(x, y, z));
    }

    fn use_material(&mut self, name: &str) -> Result<(), Fault> {
        self.material = self.materials.get(name);
        if self.material.is_none() {
            return Err("an unknown material is used; light gray is used instead".into());
        }
        Ok(())
    }

    fn read_face(&mut self, rest: &str) -> Result<(), Fault> {
        let mut corners: Vec<Corner> = Vec::with_capacity(4);
        for word in rest.split_whitespace() {
            corners.push(self.corner(word)?);
        }
        if corners.len() < 3 {
            return Err("a face has fewer than three corners and is left out".into());
        }
        let places: Vec<Vec3> = corners.iter().map(|&(position, ..)| self.positions[position]).collect();
        let cut = polygon::triangulate(&places);
        if cut.triangles.is_empty() {
            return Err("a face has no area and is left out".into());
        }
        let group = self.current_group();
        let (positions, uv, normals) = (&self.positions, &self.uv, &self.normals);
        let group = &mut self.groups[group];
        let vertices: Vec<u32> = corners
            .into_iter()
            .map(|corner| {
                *group.vertices.entry(corner).or_insert_with(|| {
                    let (position, coordinate, normal) = corner;
                    group.has_uv |= coordinate.is_some();
                    group.has_normals |= normal.is_some();
                    let mesh = &mut group.mesh;
                    mesh.positions.push(positions[position]);
                    mesh.uv0.push(coordinate.map_or(Vec2::ZERO, |index| uv[index]));
                    mesh.normals.push(normal.map_or(Vec3::ZERO, |index| normals[index]));
                    mesh.positions.len() as u32 - 1
                })
            })
            .collect();
        group.mesh.triangles.extend(cut.triangles.iter().map(|corners| corners.map(|corner| vertices[corner])));
        if cut.crosses_itself {
            let object = &self.object;
            return Err(format!(
                "a face of object '{object}' crosses itself, so parts of it are covered twice or not at all: split it"
            )
            .into());
        }
        Ok(())
    }

    /// Parses `v`, `v/vt`, `v/vt/vn` or `v//vn`.
    fn corner(&self, word: &str) -> Result<Corner, Fault> {
        let mut parts = word.split('/');
        let position = index(parts.next().unwrap_or_default(), self.positions.len())?;
        let mut optional = |length| match parts.next() {
            None | Some("") => Ok(None),
            Some(part) => index(part, length).map(Some),
        };
        let (coordinate, normal) = (optional(self.uv.len())?, optional(self.normals.len())?);
        let position = position.ok_or("a face refers to a vertex that is not there and is left out")?;
        Ok((position, coordinate.flatten(), normal.flatten()))
    }

    fn current_group(&mut self) -> usize {
        let material = self.material.unwrap_or_else(|| self.default_material());
        let key = (self.object.clone(), material);
        *self.group_of.entry(key).or_insert_with_key(|(object, _)| {
            let count = self.groups_in.entry(object.clone()).or_default();
            *count += 1;
            self.groups.push(Group {
                object: object.clone(),
                number: *count - 1,
                material,
                mesh: MeshData { name: object.clone(), ..MeshData::default() },
                vertices: HashMap::new(),
                has_uv: false,
                has_normals: false,
            });
            self.groups.len() - 1
        })
    }

    fn default_material(&mut self) -> MaterialId {
        *self.default_material.get_or_insert_with(|| self.materials.add(Material::diffuse("none", DEFAULT_REFLECTANCE)))
    }

    fn finish(self) -> Parsed {
        let file = self.source.name.clone();
        let mut parsed = self.materials.finish();
        parsed.warnings.extend(self.faults.into_iter().map(|(reason, line, more)| Problem::BadLine {
            file: file.clone(),
            line,
            reason: reason.into_owned(),
            more,
        }));
        let colors = linear(&self.colors);
        for mut group in self.groups {
            if group.set_colors(&colors) && Some(group.material) == self.default_material {
                group.material = colored(&mut parsed.scene);
            }
            add_group(&mut parsed.scene, group);
        }
        parsed
    }
}

impl Group {
    /// Sets the colors of the vertices, if any has one. Vertices without a color become white.
    fn set_colors(&mut self, colors: &[Option<Vec3>]) -> bool {
        let color_of = |position: usize| colors.get(position).copied().flatten();
        let has_colors = self.vertices.keys().any(|&(position, ..)| color_of(position).is_some());
        if has_colors {
            self.mesh.colors = vec![Vec4::ONE; self.mesh.positions.len()];
            for (&(position, ..), &vertex) in &self.vertices {
                self.mesh.colors[vertex as usize] = color_of(position).unwrap_or(Vec3::ONE).extend(1.0);
            }
        }
        has_colors
    }
}

/// Converts colors from sRGB to linear. They range from 0 to 1, or to 255 if any is above 1.
fn linear(colors: &[Option<Vec3>]) -> Vec<Option<Vec3>> {
    let largest = colors.iter().flatten().map(|color| color.max_element()).fold(0.0, f32::max);
    let white = if largest > 1.0 { 255.0 } else { 1.0 };
    let channel = |value: f32| decode_srgb(f64::from(value / white).clamp(0.0, 1.0)) as f32;
    colors.iter().map(|color| color.map(|color| color.map(channel))).collect()
}

/// Returns a white material, which shows vertex colors unchanged.
fn colored(scene: &mut Scene) -> MaterialId {
    let name = "vertex colors";
    let known = scene.materials.iter().position(|material| material.name == name && material.base_color == Vec4::ONE);
    MaterialId::from_index(known.unwrap_or_else(|| {
        scene.materials.push(Material::diffuse(name, Vec3::ONE));
        scene.materials.len() - 1
    }))
}

fn add_group(scene: &mut Scene, mut group: Group) {
    if !group.has_uv {
        group.mesh.uv0.clear();
    }
    if !group.has_normals {
        group.mesh.normals.clear();
    }
    let mesh = MeshId::from_index(scene.meshes.len());
    scene.meshes.push(Arc::new(group.mesh));
    let key = SurfaceKey::from_node(&group.object, group.number);
    scene.surfaces.push(Surface::new(key, mesh, group.material));
}

/// Converts a one-based or negative index into a list of `length`. `None` if it lies outside.
fn index(word: &str, length: usize) -> Result<Option<usize>, Fault> {
    let number: i64 = word.parse().map_err(|_| "a face has a corner that is no number and is left out")?;
    let length = length as i64;
    let index = if number < 0 { length.saturating_add(number) } else { number - 1 };
    Ok((0..length).contains(&index).then_some(index as usize))
}

/// Returns the first `N` numbers of a line; further ones are ignored.
///
/// An unreadable number is NaN: the vertex keeps its index, and only its own triangles are left out.
fn numbers<const N: usize>(rest: &str) -> [f32; N] {
    let mut numbers = rest.split_whitespace().map(|number| number.parse::<f32>().unwrap_or(f32::NAN));
    core::array::from_fn(|_| numbers.next().unwrap_or(f32::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0 1.0\nv 0 1 0\nvt 0 0\nvt 1 0 0\nvt 1 1\nvt 0 1\nvn 0 0 2\n";

    fn parse(text: &str) -> Parsed {
        read(text.as_bytes(), &Source::of(Path::new("square.obj"))).unwrap()
    }

    #[test]
    fn each_face_form_gives_the_attributes_that_it_names() {
        for (face, has_uv, has_normals) in [
            ("f 1 2 3", false, false),
            ("f 1/1 2/2 3/3", true, false),
            ("f 1/1/1 2/2/1 3/3/1", true, true),
            ("f 1//1 2//1 3//1", false, true),
            ("f -4/-4/-1 -3/-3/-1 -2/-2/-1", true, true),
        ] {
            let parsed = parse(&format!("{SQUARE}{face}\n"));
            let mesh = &parsed.scene.meshes[0];
            assert!(parsed.warnings.is_empty(), "{face}");
            assert_eq!(mesh.positions, [Vec3::ZERO, Vec3::X, Vec3::new(1.0, 1.0, 0.0)], "{face}");
            assert_eq!(mesh.triangles, [[0, 1, 2]], "{face}");
            // Our v counts from the top, while the file's (0, 0) is the lower left corner.
            let uv = if has_uv { vec![Vec2::Y, Vec2::ONE, Vec2::X] } else { Vec::new() };
            assert_eq!(mesh.uv0, uv, "{face}");
            assert_eq!(mesh.normals.len(), if has_normals { 3 } else { 0 }, "{face}");
        }
    }

    #[test]
    fn convex_polygons_become_fans_and_share_their_vertices() {
        let parsed = parse(&format!("{SQUARE}f 1 2 3 4\nf 1 3 \\\n 4 # continued\n"));
        let mesh = &parsed.scene.meshes[0];
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 2, 3]]);
        assert_eq!(mesh.positions.len(), 4);
    }

    #[test]
    fn every_object_and_material_in_it_is_a_surface() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("my colors.mtl"), "newmtl red\nKd 1 0 0\nnewmtl lamp\nKe 5 5 5\n")
            .unwrap();
        let text = format!(
            "mtllib my colors.mtl\n{SQUARE}o room\nusemtl red\nf 1 2 3\nusemtl lamp\nf 1 3 4\nusemtl red\nf 1 2 4\n\
             g table\nf 1 2 3\n"
        );
        let parsed = read(text.as_bytes(), &Source::of(&directory.path().join("room.obj"))).unwrap();
        let surfaces = &parsed.scene.surfaces;
        let keys: Vec<&str> = surfaces.iter().map(|surface| surface.key.0.as_str()).collect();
        assert_eq!(keys, ["room:0", "room:1", "table:0"]);
        assert_eq!(parsed.scene.meshes[0].triangles.len(), 2);
        assert_eq!(parsed.scene.materials[surfaces[1].material.index()].emission, Vec3::splat(5.0));
        assert!(parsed.warnings.is_empty());
    }

    #[test]
    fn faults_are_named_once_with_their_line() {
        let parsed =
            parse(&format!("mtllib lost.mtl\n{SQUARE}f 1 2 9\nf 1 2 0\nf 1 2\nusemtl gold\nf 1 2 3\nf 1/77 2/2 3/3\n"));
        let sentences: Vec<String> = parsed.warnings.iter().map(ToString::to_string).collect();
        assert!(sentences[0].contains("lost.mtl"), "{sentences:?}");
        assert!(sentences[1].starts_with("square.obj, line 11:") && sentences[1].contains("1 more"), "{sentences:?}");
        assert_eq!(parsed.scene.triangle_count(), 2);
        assert_eq!(parsed.scene.materials[0].base_color.truncate(), DEFAULT_REFLECTANCE);
    }

    fn area(parsed: &Parsed) -> f32 {
        let area = |id| -> f32 {
            let mesh = parsed.scene.mesh_of(id);
            let corners = mesh.triangles.iter().map(|corners| corners.map(|corner| mesh.positions[corner as usize]));
            corners.map(|[a, b, c]| (b - a).cross(c - a).length() * 0.5).sum()
        };
        parsed.scene.surface_ids().map(area).sum()
    }

    #[test]
    fn a_wall_around_a_doorway_keeps_it_open_and_its_attributes() {
        let wall = "v 0 0 0\nv 1 0 0\nv 1 2 0\nv 2 2 0\nv 2 0 0\nv 3 0 0\nv 3 3 0\nv 0 3 0\n";
        let uv = "vt 0 0\nvt .3 0\nvt .3 .7\nvt .7 .7\nvt .7 0\nvt 1 0\nvt 1 1\nvt 0 1\n";
        let parsed = parse(&format!("{wall}{uv}f 1/1 2/2 3/3 4/4 5/5 6/6 7/7 8/8\n"));
        assert!((area(&parsed) - 7.0).abs() < 1e-5 && parsed.warnings.is_empty(), "{:?}", parsed.warnings);
        let mesh = &parsed.scene.meshes[0];
        assert_eq!((mesh.positions.len(), mesh.uv0[2]), (8, Vec2::new(0.3, 1.0 - 0.7)));
    }

    #[test]
    fn a_face_that_crosses_itself_is_named_with_its_object_and_line() {
        let parsed = parse(&format!("{SQUARE}o bow tie\nf 1 3 2 4\nf 1 2 3 4\nf 1 3 2 4\n"));
        let [warning] = &parsed.warnings[..] else { panic!("{:?}", parsed.warnings) };
        let sentence = warning.to_string();
        assert!(sentence.starts_with("square.obj, line 11:") && sentence.contains("'bow tie'"), "{sentence}");
        assert!(sentence.contains("1 more"), "{sentence}");
    }

    #[test]
    fn files_of_other_systems_are_read_as_any_other() {
        let text = format!("{SQUARE}f 1/1/1 2/2/1 3/3/1 4/4/1\n");
        let expected = parse(&text).scene.meshes;
        let begun_by_a_comment = format!("# a comment\n{text}").replace('\n', "\r");
        for other in
            [format!("\u{feff}{text}"), text.replace('\n', "\r"), text.replace('\n', "\r\n"), begun_by_a_comment]
        {
            let parsed = parse(&other);
            assert!(parsed.warnings.is_empty());
            assert_eq!(parsed.scene.meshes, expected, "{other:?}");
        }
    }

    #[test]
    fn materials_are_found_by_names_with_marks_and_before_their_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("sub")).unwrap();
        std::fs::write(directory.path().join("sub/Paints.mtl"), "\u{feff}newmtl Wall #25 \nKd 1 0 0\nnewmtl b#1\n")
            .unwrap();
        let text = format!("{SQUARE}usemtl Wall #25\nf 1 2 3\nusemtl b#1\nf 1 3 4\nmtllib .\\sub\\paints.mtl # old\n");
        let parsed = read(text.as_bytes(), &Source::of(&directory.path().join("room.obj"))).unwrap();
        assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
        let names: Vec<&str> =
            parsed.scene.surface_ids().map(|id| parsed.scene.material_of(id).name.as_str()).collect();
        assert_eq!(names, ["Wall #25", "b#1"]);
        assert_eq!(parsed.scene.materials[0].base_color.truncate(), Vec3::X);
    }

    #[test]
    fn materials_are_found_where_their_file_is_named_behind_a_byte_order_mark() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.mtl"), "newmtl a\nKd 1 0 0\n").unwrap();
        let text = format!("\u{feff}mtllib a.mtl\n{SQUARE}usemtl a\nf 1 2 3 4\n");
        let parsed = read(text.as_bytes(), &Source::of(&directory.path().join("room.obj"))).unwrap();
        assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
        let id = parsed.scene.surface_ids().next().unwrap();
        assert_eq!(parsed.scene.material_of(id).base_color.truncate(), Vec3::X);
    }

    #[test]
    fn faces_with_a_notch_cover_no_more_than_lies_within_them() {
        let notched = "v 0 0 0\nv 2 0 0\nv 2 2 0\nv 1 .5 0\nv 0 2 0\n";
        let bent = "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\n";
        for (vertices, count, expected) in [(notched, 5, 2.5), (bent, 6, 3.0)] {
            for first in 0..count {
                let corners: Vec<String> =
                    (0..count).map(|corner| ((first + corner) % count + 1).to_string()).collect();
                let parsed = parse(&format!("{vertices}f {}\n", corners.join(" ")));
                assert!((area(&parsed) - expected).abs() < 1e-5, "{corners:?}: {}", area(&parsed));
                assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"((v|vt|vn|f|o|usemtl|g)( -?[0-9]{1,2}(/-?[0-9]?){0,3}){0,5}\n){0,40}") {
            let scene = parse(&text).scene;
            for mesh in &scene.meshes {
                let corners = mesh.triangles.iter().flatten();
                assert!(corners.copied().all(|corner| (corner as usize) < mesh.positions.len()));
            }
        }
    }

    #[test]
    fn colors_of_vertices_are_srgb_and_replace_the_gray_of_faces_without_a_material() {
        for white in [1, 255] {
            let half = white as f32 * 0.5;
            let text =
                format!("v 0 0 0 {white} 0 0\nv 1 0 0 {half} {half} {half}\nv 0 1 0\nf 1 2 3\nv 0 0 1 1\nf 4 3 2\n");
            let parsed = parse(&text);
            let colors = &parsed.scene.meshes[0].colors;
            assert_eq!((colors[0], colors[2], colors[3]), (Vec3::X.extend(1.0), Vec4::ONE, Vec4::ONE));
            assert!((colors[1].x - 0.2140).abs() < 1e-4, "{colors:?}");
            let id = parsed.scene.surface_ids().next().unwrap();
            assert_eq!(parsed.scene.material_of(id).base_color, Vec4::ONE);
        }
        assert!(parse(&format!("{SQUARE}f 1 2 3\n")).scene.meshes[0].colors.is_empty());
    }

    #[test]
    fn a_picture_is_no_obj() {
        assert!(read(b"\x89PNG\0\0", &Source::of(Path::new("a.obj"))).is_err());
    }
}
