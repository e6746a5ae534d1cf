//! Scenes from files: `.glb`, `.gltf`, `.obj`, or the built-in ones.
//!
//! [`load`] is the way in. `gltf` and `obj` turn a file's bytes into a [`Loaded`]; `source` fetches what a file refers
//! to, `pictures` decodes its textures. No bytes make them panic: what cannot be read is a [`SceneError`], what can be
//! done without is a [`Problem`] among the warnings.

mod basis;
mod budget;
mod gltf;
mod mtl;
mod mtl_materials;
mod names;
mod obj;
mod outdoors;
mod pictures;
mod polygon;
mod scale;
mod source;
mod text;
mod units;

use std::path::Path;

use super::{Camera, Problem, Scene, builtin, check};
use crate::input;
#[cfg(feature = "plugin")]
pub use gltf::Overrides;
#[cfg(feature = "gltf")]
pub use gltf::animated_nodes;
pub use outdoors::{OutdoorsError, Sun};
use source::Source;
pub use units::{LUMENS_PER_WATT, Units};

/// A scene and what came with it.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The scene.
    pub scene: Scene,
    /// The file's cameras, or the built-in scene's.
    pub cameras: Vec<Camera>,
    /// What was wrong, and what was done about it.
    pub warnings: Vec<Problem>,
}

/// Why a scene could not be had at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SceneError {
    /// The file cannot be opened.
    #[error("cannot read {file}: {reason}; check that the file exists and may be read")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        reason: std::io::Error,
    },
    /// The file is of no known kind.
    #[error("{file} is no scene that can be read: give a .glb, .gltf or .obj file, or builtin:NAME")]
    UnknownFormat {
        /// The file.
        file: String,
    },
    /// There is no such built-in scene.
    #[error("there is no built-in scene '{name}'; there are {known}")]
    UnknownBuiltin {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// The file's content is broken.
    #[error("{file} is damaged or not what its name says: {reason}; export it again")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// The file is of another version of its format.
    #[error("{file} is glTF {version}, and only glTF 2 is read: convert it (gltf-pipeline -i {file} -o NEW.gltf does)")]
    OldVersion {
        /// The file.
        file: String,
        /// Its version.
        version: String,
    },
    /// The file cannot be understood without an extension that is not known.
    #[error("{file} requires extension {extension}, which is not known: export it without")]
    RequiredExtension {
        /// The file.
        file: String,
        /// The extension's name.
        extension: String,
    },
    /// The file's geometry is packed.
    #[error(
        "{file} requires extension {extension}, which is not read: {remedy}, or unpack it (gltf-transform cp {file} NEW.glb does)"
    )]
    PackedGeometry {
        /// The file.
        file: String,
        /// The extension's name.
        extension: String,
        /// How to get a file without it.
        remedy: &'static str,
    },
    /// The file needs another one.
    #[error("{file} needs buffer {buffer}, which cannot be read ({reason}): put it beside the file")]
    MissingBuffer {
        /// The file.
        file: String,
        /// The buffer's address or number.
        buffer: String,
        /// What is wrong.
        reason: String,
    },
    /// Reading it takes more memory than it may.
    #[error("{file} does not fit into {allowed_mib} MiB of memory: {what} is too large; allow more (--memory)")]
    TooMuchMemory {
        /// The file.
        file: String,
        /// The thing that there was no room for.
        what: String,
        /// MiB that might be used.
        allowed_mib: u64,
    },
    /// There is nothing to see.
    #[error("{file} has no triangles that can be baked{}: {remedy}", .reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default())]
    NoMeshes {
        /// The file.
        file: String,
        /// Why the first mesh that it has was left out.
        reason: Option<String>,
        /// What to do about it.
        remedy: &'static str,
    },
}

/// Reads a scene from a `.glb`, `.gltf` or `.obj` file or builds the built-in scene `builtin:NAME`.
///
/// Lights and emission are in physical units: candela, lux and cd/m2, as glTF says. A file's `extras` can say what a
/// surface does in the bake: `"radiosity": {"role": "static|occluder|mover|excluded", "density": 2.0, "double_sided":
/// true, "tint": true}` on a node (and so on all below it), a mesh or a material, `"radius"` (metres) and `"angular_diameter"`
/// (degrees) on a light or its node; flat keys such as `"radiosity_role"` mean the same.
///
/// # Errors
/// When the file cannot be read, is not what its name says, refers to a buffer that is not there, or has no triangles.
/// Everything else that is wrong is repaired and said in [`Loaded::warnings`].
pub fn load(name: &str) -> Result<Loaded, SceneError> {
    load_with(name, &SceneOptions::default())
}

/// [`load`], with a say in how the file's numbers are meant.
///
/// # Errors
/// As [`load`].
pub fn load_with(name: &str, options: &SceneOptions) -> Result<Loaded, SceneError> {
    load_for(name, Purpose::Bake, options)
}

/// How the numbers of a file are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SceneOptions {
    /// Meters that one unit of length of the file is; one when `None`. Lamps of the file keep their intensities, and
    /// built-in scenes their size.
    pub scale: Option<f32>,
    /// What its lamps and emission are measured in. `None` leaves it to the file's `radiosity_units` (an extra of its
    /// asset, document or scene), and without that to glTF.
    pub units: Option<Units>,
    /// Metalness, from 0 to 1, of materials that give neither metalness nor roughness, and of surfaces without a
    /// material. `None` is glTF's: such a material is a metal, which is reported.
    pub default_metallic: Option<f32>,
    /// Most memory that the scene may take, MiB; any when `None`. What takes more is refused before it is read.
    pub memory_mib: Option<u32>,
}

/// [`load`] with everything that pictures show and bakes do not: normal maps, and glass that
/// rays [stop](Scene::with_solid_glass) at.
///
/// # Errors
/// As [`load`].
pub fn load_for_pictures(name: &str) -> Result<Loaded, SceneError> {
    load_for_pictures_with(name, &SceneOptions::default())
}

/// [`load_for_pictures`], with a say in how the file's numbers are meant.
///
/// # Errors
/// As [`load`].
pub fn load_for_pictures_with(name: &str, options: &SceneOptions) -> Result<Loaded, SceneError> {
    let loaded = load_for(name, Purpose::Picture, options)?;
    Ok(Loaded { scene: loaded.scene.with_solid_glass(), ..loaded })
}

/// What a scene is loaded for: to bakes, pictures of bumps and varnish are not worth their memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Bake,
    Picture,
}

fn load_for(name: &str, purpose: Purpose, options: &SceneOptions) -> Result<Loaded, SceneError> {
    if let Some(name) = name.strip_prefix("builtin:") {
        let (scene, cameras) = builtin::open(name).ok_or_else(|| unknown_builtin(name))?;
        return Ok(Loaded { scene, cameras, ..Loaded::default() });
    }
    let path = Path::new(name);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    let source = Source::of(path).within(options.memory_mib);
    let read = || {
        let unreadable = |reason| SceneError::Unreadable { file: name.to_owned(), reason };
        let most = source.budget.at_most(input::LARGEST_SCENE);
        let bytes = input::read(path, most).map_err(unreadable)?;
        source.count(bytes.len(), name).map_err(|error| unreadable(std::io::Error::other(error)))?;
        Ok(bytes)
    };
    let loaded = match extension.as_str() {
        "glb" | "gltf" => read().and_then(|bytes| gltf::read(&bytes, &source, purpose, options)),
        "obj" => read().and_then(|bytes| obj::read(&bytes, &source)).map(|mut loaded| {
            options.units.unwrap_or_default().apply(&mut loaded.scene);
            loaded
        }),
        _ => Err(SceneError::UnknownFormat { file: name.to_owned() }),
    };
    if let Some((what, allowed_mib)) = source.budget.exceeded() {
        return Err(SceneError::TooMuchMemory { file: name.to_owned(), what: what.to_owned(), allowed_mib });
    }
    let mut loaded = loaded?;
    if let Some(factor) = options.scale {
        scale::apply(&mut loaded, factor);
    }
    loaded.warnings.extend(check::repair(&mut loaded.scene));
    if loaded.scene.triangle_count() == 0 {
        let is_skipped = |problem: &&Problem| matches!(problem, Problem::SkippedPrimitive { .. });
        let reason = loaded.warnings.iter().find(is_skipped).or(loaded.warnings.first()).map(ToString::to_string);
        let remedy = if extension == "obj" { "give it faces with an area" } else { "add a mesh to its default scene" };
        return Err(SceneError::NoMeshes { file: name.to_owned(), reason, remedy });
    }
    Ok(loaded)
}

fn unknown_builtin(name: &str) -> SceneError {
    let known: Vec<&str> = builtin::names().map(|(name, _)| name).collect();
    SceneError::UnknownBuiltin { name: name.to_owned(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of the reference collection, where the environment says that there is one.
    fn reference(path: &str) -> Option<String> {
        let root = std::env::var("RADIOSITY_TRUTHS").ok();
        if root.is_none() {
            println!("skipped: RADIOSITY_TRUTHS does not say where {path} is");
        }
        Some(format!("{}/{path}", root?))
    }

    #[test]
    fn canonical_rooms_have_two_triangles_a_quad_and_the_light_that_their_author_wrote() {
        for (name, quads, emissive) in [("ceil", 6, 1), ("cornell", 16, 1), ("cornell_empty", 6, 1), ("furnace", 6, 6)]
        {
            let Some(file) = reference(&format!("scenes/canonical/{name}.gltf")) else { return };
            let loaded = load(&file).unwrap();
            assert_eq!(loaded.scene.surfaces.len(), quads, "{name}");
            assert_eq!(loaded.scene.triangle_count(), 2 * quads, "{name}");
            assert_eq!(loaded.scene.materials.iter().filter(|material| material.is_emissive()).count(), emissive);
            assert!(loaded.warnings.is_empty(), "{name}: {:?}", loaded.warnings);
            if let Some(own) = builtin::build(if name == "cornell" { "cornell_box" } else { name }) {
                let looks = |scene: &Scene| -> Vec<[f32; 9]> {
                    let look = |id| {
                        let (material, normal) = (scene.material_of(id), scene.geometric_normal(id, 0));
                        let [r, g, b, _] = material.base_color.to_array();
                        let ([x, y, z], [er, eg, eb]) = (normal.to_array(), material.emission.to_array());
                        [r, g, b, x, y, z, er, eg, eb]
                    };
                    scene.surface_ids().map(look).collect()
                };
                for (own, canonical) in looks(&own).into_iter().zip(looks(&loaded.scene)) {
                    assert!(own.iter().zip(canonical).all(|(a, b)| (a - b).abs() < 1e-4), "{name}: {own:?}");
                }
            }
        }
    }

    #[test]
    fn known_files_have_the_counts_that_their_makers_gave_them() {
        // The last file's two kinds of wood share one picture.
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
            let Some(file) = reference(path) else { return };
            let Loaded { scene, warnings, .. } = load(&file).unwrap();
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
        for (name, _) in builtin::names() {
            assert!(load(&format!("builtin:{name}")).is_ok_and(|loaded| loaded.warnings.is_empty()), "{name}");
        }
    }
}
