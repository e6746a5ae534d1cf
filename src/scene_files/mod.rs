//! Readers of scene files: `.glb`, `.gltf` and `.obj`.
//!
//! [`load`] is the entry point, which also takes the name of a [built-in scene](crate::builtin_scenes). `gltf` and
//! `obj` parse a file into a [`Loaded`]; [`SceneBytes`] is such a file in memory. `source` reads the files that it refers
//! to, and `images` decodes its textures. No input makes them panic. Fatal faults are a [`SceneError`]; all others are
//! repaired and reported as a [`Problem`] among the warnings.

mod basis;
mod budget;
mod decoder_memory;
mod gltf;
mod images;
mod memory;
mod mtl;
mod mtl_materials;
mod names;
mod obj;
mod outdoors;
mod polygon;
mod scale;
mod source;
mod text;
mod units;

use std::borrow::Cow;
use std::path::Path;

use crate::builtin_scenes;
use crate::geometry::Shape;
use crate::input;
use crate::parts::{finish, pause};
use crate::scene::{Camera, CheckedScene, MeshId, Problem, Scene, check};
#[cfg(feature = "plugin")]
pub(crate) use gltf::Overrides;
#[cfg(feature = "gltf")]
pub(crate) use gltf::animated_nodes;
pub use memory::SceneBytes;
pub use outdoors::{OutdoorsError, Sun};
use source::{Source, describe_uri};
pub use units::{LUMENS_PER_WATT, Units};

/// A loaded scene with its cameras and warnings.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The scene.
    pub scene: CheckedScene,
    /// Cameras of the file or of the built-in scene.
    pub cameras: Vec<Camera>,
    /// Curved shapes that meshes of the scene stand for, ascending by mesh.
    pub shapes: Vec<(MeshId, Shape)>,
    /// Problems of the file, and how they were repaired.
    pub warnings: Vec<Problem>,
}

/// Content of a file, before it is checked.
#[derive(Clone, Debug, Default)]
struct Parsed {
    scene: Scene,
    cameras: Vec<Camera>,
    shapes: Vec<(MeshId, Shape)>,
    warnings: Vec<Problem>,
}

/// Error of a scene that cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SceneError {
    /// The file cannot be opened.
    #[error("cannot read {file}: {reason}; check that the file exists and may be read")]
    Unreadable {
        /// Name of the file.
        file: String,
        /// Error of the operating system.
        reason: std::io::Error,
    },
    /// The file has an unknown format.
    #[error("{file} is no scene that can be read: give a .glb, .gltf or .obj file, or builtin:NAME")]
    UnknownFormat {
        /// Name of the file.
        file: String,
    },
    /// A file in memory is no glTF. Other formats refer to files by names that only a file system can tell.
    #[error("{file} cannot be read from memory: give a .glb or .gltf file")]
    NoGltf {
        /// Name of the file.
        file: String,
    },
    /// There is no built-in scene of the requested name.
    #[error("there is no built-in scene '{name}'; there are {known}")]
    UnknownBuiltin {
        /// Requested name.
        name: String,
        /// Names of all built-in scenes.
        known: String,
    },
    /// The file's content is damaged.
    #[error("{file} is damaged or not what its name says: {reason}; export it again")]
    Malformed {
        /// Name of the file.
        file: String,
        /// Description of the fault.
        reason: String,
    },
    /// The file has an unsupported version of glTF.
    #[error("{file} is glTF {version}, and only glTF 2 is read: convert it (gltf-pipeline -i {file} -o NEW.gltf does)")]
    OldVersion {
        /// Name of the file.
        file: String,
        /// Version of the file.
        version: String,
    },
    /// The file requires an unknown extension.
    #[error("{file} requires extension {extension}, which is not known: export it without")]
    RequiredExtension {
        /// Name of the file.
        file: String,
        /// Name of the extension.
        extension: String,
    },
    /// The file's geometry is compressed by an extension that is not supported.
    #[error(
        "{file} requires extension {extension}, which is not read: {remedy}, or unpack it (gltf-transform cp {file} NEW.glb does)"
    )]
    PackedGeometry {
        /// Name of the file.
        file: String,
        /// Name of the extension.
        extension: String,
        /// Way to get a file without the extension.
        remedy: &'static str,
    },
    /// The file refers to a buffer that cannot be read.
    #[error("{file} needs buffer {buffer}, which cannot be read ({reason}): put it beside the file")]
    MissingBuffer {
        /// Name of the file.
        file: String,
        /// Address or number of the buffer.
        buffer: String,
        /// Description of the fault.
        reason: String,
    },
    /// Reading the file takes more memory than allowed.
    #[error("{file} does not fit into {allowed_mib} MiB of memory: {what} is too large; allow more (--memory)")]
    TooMuchMemory {
        /// Name of the file.
        file: String,
        /// Name of the part that did not fit.
        what: String,
        /// Allowed memory, MiB.
        allowed_mib: u64,
    },
    /// The file has no triangles that can be baked.
    #[error("{file} has no triangles that can be baked{}: {remedy}", .reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default())]
    NoMeshes {
        /// Name of the file.
        file: String,
        /// Reason why the first mesh was left out.
        reason: Option<String>,
        /// Advice to the user.
        remedy: &'static str,
    },
}

/// Loads a scene from a `.glb`, `.gltf` or `.obj` file, or builds the built-in scene `builtin:NAME`.
///
/// Lights and emission are in the units of glTF: candela, lux and cd/m2. A file's `extras` can set properties for the
/// bake. On a node (and so on all nodes below it), a mesh or a material: `"radiosity": {"role":
/// "static|occluder|mover|excluded", "density": 2.0, "double_sided": true, "tint": true}`. On a light or its node:
/// `"radius"` (meters) and `"angular_diameter"` (degrees). Flat keys such as `"radiosity_role"` work as well. A node with
/// `"shape": "sphere|torus|bezier"` is a curved shape, see [`Loaded::shapes`].
///
/// # Errors
/// When the file cannot be read, is damaged, refers to a missing buffer, or has no triangles. All other faults are
/// repaired and reported in [`Loaded::warnings`].
pub fn load(name: &str) -> Result<Loaded, SceneError> {
    load_with(name, &SceneOptions::default())
}

/// Loads a scene as [`load`] does, with options for the file's units and defaults.
///
/// # Errors
/// The errors of [`load`].
pub fn load_with(name: &str, options: &SceneOptions) -> Result<Loaded, SceneError> {
    load_for(name, Purpose::Bake, options)
}

/// Options for reading a scene file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SceneOptions {
    /// Meters per unit of length of the file; `None` is one. Lamps of the file keep their intensities, and built-in
    /// scenes their size.
    pub scale: Option<f32>,
    /// Units of the file's lamps and emission. `None` uses the file's `radiosity_units` (an extra of its asset,
    /// document or scene), else glTF's units.
    pub units: Option<Units>,
    /// Metalness, from 0 to 1, of surfaces without a material, and of materials without metalness and roughness. `None`
    /// is glTF's default of 1: such a material is a metal, which is reported.
    pub default_metallic: Option<f32>,
    /// Most memory that the scene may take, MiB; `None` is unlimited. Larger data is refused before it is read.
    pub memory_mib: Option<u32>,
}

/// Loads a scene for rendering pictures: also with normal maps, and with glass that [stops](Scene::with_solid_glass)
/// rays.
///
/// # Errors
/// The errors of [`load`].
pub fn load_for_pictures(name: &str) -> Result<Loaded, SceneError> {
    load_for_pictures_with(name, &SceneOptions::default())
}

/// Loads a scene as [`load_for_pictures`] does, with options for the file's units and defaults.
///
/// # Errors
/// The errors of [`load`].
pub fn load_for_pictures_with(name: &str, options: &SceneOptions) -> Result<Loaded, SceneError> {
    let loaded = load_for(name, Purpose::Picture, options)?;
    Ok(Loaded { scene: loaded.scene.with_solid_glass(), ..loaded })
}

/// Use of a loaded scene. Bakes do without normal maps, to save memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Bake,
    Picture,
}

fn load_for(name: &str, purpose: Purpose, options: &SceneOptions) -> Result<Loaded, SceneError> {
    if let Some(loaded) = load_builtin(name) {
        return loaded;
    }
    let path = Path::new(name);
    let source = Source::of(path).within(options.memory_mib);
    let read = || {
        let unreadable = |reason| SceneError::Unreadable { file: name.to_owned(), reason };
        let what = || format!("'{}'", describe_uri(name));
        let (bytes, loan) = source.budget.read(path, input::LARGEST_SCENE, what).map_err(unreadable)?;
        loan.keep();
        Ok(bytes.into())
    };
    finish(parse(name, &source, read, purpose, options))
}

/// Builds the scene `builtin:NAME`. `None` for other names.
fn load_builtin(name: &str) -> Option<Result<Loaded, SceneError>> {
    let name = name.strip_prefix("builtin:")?;
    let opened = builtin_scenes::open(name).ok_or_else(|| unknown_builtin(name));
    // Built-in scenes are sound.
    Some(opened.map(|(scene, cameras)| Loaded { scene: check::repair(scene).0, cameras, ..Loaded::default() }))
}

/// Parses the bytes of a scene file by the extension of its name.
async fn parse<'a>(
    name: &str,
    source: &Source,
    read: impl FnOnce() -> Result<Cow<'a, [u8]>, SceneError>,
    purpose: Purpose,
    options: &SceneOptions,
) -> Result<Loaded, SceneError> {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    let extension = extension.unwrap_or_default().to_ascii_lowercase();
    let parsed = match extension.as_str() {
        "glb" | "gltf" => match read() {
            Ok(bytes) => gltf::read(&bytes, source, purpose, options).await,
            Err(error) => Err(error),
        },
        "obj" => read().and_then(|bytes| obj::read(&bytes, source)).map(|mut parsed| {
            options.units.unwrap_or_default().apply(&mut parsed.scene);
            parsed
        }),
        _ => Err(SceneError::UnknownFormat { file: name.to_owned() }),
    };
    if let Some((what, allowed_mib)) = source.budget.exceeded() {
        return Err(SceneError::TooMuchMemory { file: name.to_owned(), what: what.to_owned(), allowed_mib });
    }
    let mut parsed = parsed?;
    if let Some(factor) = options.scale {
        scale::apply(&mut parsed, factor);
    }
    let Parsed { scene, cameras, shapes, mut warnings } = parsed;
    pause().await;
    let (scene, problems) = check::repair(scene);
    warnings.extend(problems);
    if scene.triangle_count() == 0 {
        let is_skipped = |problem: &&Problem| matches!(problem, Problem::SkippedPrimitive { .. });
        let reason = warnings.iter().find(is_skipped).or(warnings.first()).map(ToString::to_string);
        let remedy = if extension == "obj" { "give it faces with an area" } else { "add a mesh to its default scene" };
        return Err(SceneError::NoMeshes { file: name.to_owned(), reason, remedy });
    }
    Ok(Loaded { scene, cameras, shapes, warnings })
}

fn unknown_builtin(name: &str) -> SceneError {
    let known: Vec<&str> = builtin_scenes::names().map(|(name, _)| name).collect();
    SceneError::UnknownBuiltin { name: name.to_owned(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_rooms_have_two_triangles_a_quad_and_the_light_that_their_author_wrote() {
        let Some(truths) = crate::skip::truths() else { return };
        for (name, quads, emissive) in [("ceil", 6, 1), ("cornell", 16, 1), ("cornell_empty", 6, 1), ("furnace", 6, 6)]
        {
            let loaded = load(&format!("{truths}/scenes/canonical/{name}.gltf")).unwrap();
            assert_eq!(loaded.scene.surfaces.len(), quads, "{name}");
            assert_eq!(loaded.scene.triangle_count(), 2 * quads, "{name}");
            assert_eq!(loaded.scene.materials.iter().filter(|material| material.is_emissive()).count(), emissive);
            assert!(loaded.warnings.is_empty(), "{name}: {:?}", loaded.warnings);
            if let Some(own) = builtin_scenes::build(if name == "cornell" { "cornell_box" } else { name }) {
                let properties = |scene: &Scene| -> Vec<[f32; 9]> {
                    let of_surface = |id| {
                        let (material, normal) = (scene.material_of(id), scene.geometric_normal(id, 0));
                        let [r, g, b, _] = material.base_color.to_array();
                        let ([x, y, z], [er, eg, eb]) = (normal.to_array(), material.emission.to_array());
                        [r, g, b, x, y, z, er, eg, eb]
                    };
                    scene.surface_ids().map(of_surface).collect()
                };
                for (own, canonical) in properties(&own).into_iter().zip(properties(&loaded.scene)) {
                    assert!(own.iter().zip(canonical).all(|(a, b)| (a - b).abs() < 1e-4), "{name}: {own:?}");
                }
            }
        }
    }

    #[test]
    fn whether_pictures_fit_into_memory_does_not_depend_on_threads() {
        let folder = tempfile::tempdir().unwrap();
        image::RgbImage::new(256, 256).save(folder.path().join("gray.jpg")).unwrap();
        // A texture takes 256 KiB, and 320 KiB more while it is decoded. Each copy counts as another file.
        let load_with = |pictures: usize, threads: usize| {
            let names: Vec<String> = (0..pictures).map(|number| format!("{number}.jpg")).collect();
            names.iter().for_each(|name| {
                std::fs::copy(folder.path().join("gray.jpg"), folder.path().join(name)).unwrap();
            });
            let of_each = |part: &dyn Fn(usize) -> serde_json::Value| (0..pictures).map(part).collect::<Vec<_>>();
            let triangle = [0.0f32, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0];
            let buffer = base64::Engine::encode(
                &base64::engine::general_purpose::STANDARD,
                bytemuck::cast_slice::<f32, u8>(&triangle),
            );
            let document = serde_json::json!({
                "asset": { "version": "2.0" },
                "scenes": [{ "nodes": [0] }],
                "nodes": [{ "mesh": 0 }],
                "meshes": [{ "primitives": of_each(&|n| serde_json::json!({ "attributes": { "POSITION": 0 }, "material": n })) }],
                "materials": of_each(&|n| serde_json::json!({ "emissiveTexture": { "index": n }, "emissiveFactor": [1, 1, 1] })),
                "textures": of_each(&|n| serde_json::json!({ "source": n })),
                "images": of_each(&|n| serde_json::json!({ "uri": names[n] })),
                "accessors": [{ "bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3 }],
                "bufferViews": [{ "buffer": 0, "byteLength": 36 }],
                "buffers": [{ "byteLength": 36, "uri": format!("data:application/octet-stream;base64,{buffer}") }],
            });
            let scene = folder.path().join("scene.gltf");
            std::fs::write(&scene, document.to_string()).unwrap();
            let options = SceneOptions { memory_mib: Some(2), ..SceneOptions::default() };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| super::load_with(scene.to_str().unwrap(), &options))
        };
        for threads in [1, 8] {
            for _ in 0..8 {
                assert_eq!(load_with(6, threads).unwrap().scene.textures.len(), 6);
                let refusal = load_with(8, threads).unwrap_err();
                assert!(matches!(refusal, SceneError::TooMuchMemory { allowed_mib: 2, .. }), "{refusal}");
            }
        }
    }

    #[test]
    fn known_files_have_the_counts_that_their_makers_gave_them() {
        let Some(truths) = crate::skip::truths() else { return };
        // In the last file, two kinds of wood share one texture.
        for (path, triangles, surfaces, materials, textures) in [
            ("scenes/sponza/sponza.glb", 279_163, 26, 26, 21),
            ("scenes/bevy/CornellBox/CornellBox.glb", 36, 6, 5, 0),
            ("scenes/bevy/FlightHelmet/FlightHelmet.gltf", 94_722, 6, 6, 10),
            ("scenes/bevy/IrradianceVolumeExample/IrradianceVolumeExample.glb", 32, 4, 4, 0),
            ("scenes/bevy/MixedLightingExample/MixedLightingExample.gltf", 40_898, 6, 8, 6),
            ("scenes/meshes/nefertiti.obj", 99_938, 1, 1, 0),
            ("scenes/meshes/spot.obj", 5_856, 1, 1, 0),
            ("scenes/meshes/stanford-bunny.obj", 69_451, 1, 1, 0),
            ("scenes/meshes/suzanne.obj", 968, 1, 1, 0),
            ("scenes/meshes/teapot.obj", 6_320, 1, 1, 0),
        ] {
            let Loaded { scene, warnings, .. } = load(&format!("{truths}/{path}")).unwrap();
            let counts = (scene.triangle_count(), scene.surfaces.len(), scene.materials.len(), scene.textures.len());
            assert_eq!(counts, (triangles, surfaces, materials, textures), "{path}");
            assert!(!warnings.iter().any(|problem| matches!(problem, Problem::MissingTexture { .. })), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_loaded_says_why_in_one_sentence() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, content).unwrap();
            path.display().to_string()
        };
        for (name, part) in [
            ("builtin:teapot".to_owned(), "there are cornell_box, cornell_empty"),
            ("lost.glb".to_owned(), "cannot read lost.glb"),
            (file("level.fbx", ""), "give a .glb, .gltf or .obj file"),
            (file("level.gltf", "Kaydara"), "level.gltf is damaged or not what its name says"),
            (file("old.gltf", r#"{"asset": {"version": "1.0"}}"#), "only glTF 2 is read"),
            (file("empty.gltf", r#"{"asset": {"version": "2.0"}}"#), "has no triangles that can be baked"),
            (file("empty.obj", "# nothing\n"), "has no triangles that can be baked"),
            (file("flat.obj", "v 0 0 0\nv 1 0 0\nv nan 1 0\nf 1 2 3\n"), "has no triangles that can be baked"),
        ] {
            let sentence = load(&name).unwrap_err().to_string();
            assert!(sentence.contains(part) && !sentence.contains('\n'), "{sentence}");
        }
    }

    #[test]
    fn built_in_scenes_load_by_name() {
        for (name, _) in builtin_scenes::names() {
            assert!(load(&format!("builtin:{name}")).is_ok_and(|loaded| loaded.warnings.is_empty()), "{name}");
        }
    }
}
