//! Scene files in memory, for systems where files come from elsewhere, such as an asset server.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use super::source::{Source, path_in};
use super::{Loaded, Purpose, SceneError, SceneOptions, gltf, load_builtin, parse};
use crate::parts::finish;

/// A glTF file in memory, with the files that it refers to. It may also name a built-in scene.
#[derive(Clone, Debug, Default)]
pub struct SceneBytes {
    name: String,
    bytes: Vec<u8>,
    files: Arc<HashMap<String, Vec<u8>>>,
}

impl SceneBytes {
    /// Creates a scene file. `name` is its path, or `builtin:NAME`.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), bytes, files: Arc::default() }
    }

    /// Returns the addresses of all files that the scene refers to, and their paths from its folder.
    pub fn references(&self) -> BTreeMap<String, String> {
        let addresses = gltf::references(&self.bytes);
        // Those that are no paths are reported when the scene is loaded.
        addresses.into_iter().filter_map(|address| Some((address.clone(), path_in(&address).ok()?))).collect()
    }

    /// Sets the contents of these files, by their addresses.
    #[must_use]
    pub fn with_files(self, files: HashMap<String, Vec<u8>>) -> Self {
        Self { files: Arc::new(files), ..self }
    }

    /// Loads the scene as [`load`](super::load) does.
    ///
    /// # Errors
    /// The errors of [`load`](super::load), and when the file is no glTF.
    pub fn load(&self) -> Result<Loaded, SceneError> {
        finish(self.load_in_parts())
    }

    /// Does the same as [`load`](Self::load), with pauses.
    pub(crate) async fn load_in_parts(&self) -> Result<Loaded, SceneError> {
        if let Some(loaded) = load_builtin(&self.name) {
            return loaded;
        }
        let path = Path::new(&self.name);
        let is_gltf = |extension: &str| ["glb", "gltf"].iter().any(|known| extension.eq_ignore_ascii_case(known));
        if !path.extension().and_then(|extension| extension.to_str()).is_some_and(is_gltf) {
            return Err(SceneError::NoGltf { file: self.name.clone() });
        }
        let source = Source::of(path).holding(Arc::clone(&self.files));
        parse(&self.name, &source, || Ok(self.bytes.as_slice().into()), Purpose::Bake, &SceneOptions::default()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::hash;
    use crate::scene_files::load;

    /// Writes a triangle with a picture, whose buffer and picture are files of their own.
    fn write_scene(folder: &Path) {
        let triangle = [0.0f32, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0];
        std::fs::create_dir(folder.join("the parts")).unwrap();
        std::fs::write(folder.join("the parts/room.bin"), bytemuck::cast_slice(&triangle)).unwrap();
        image::RgbImage::new(4, 4).save(folder.join("glow.png")).unwrap();
        let document = serde_json::json!({
            "asset": { "version": "2.0" },
            "scenes": [{ "nodes": [0] }],
            "nodes": [{ "mesh": 0 }],
            "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 }, "material": 0 }] }],
            "materials": [{ "emissiveTexture": { "index": 0 }, "emissiveFactor": [1, 1, 1] }],
            "textures": [{ "source": 0 }],
            "images": [{ "uri": "glow.png" }],
            "accessors": [{ "bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3 }],
            "bufferViews": [{ "buffer": 0, "byteLength": 36 }],
            "buffers": [{ "byteLength": 36, "uri": "the%20parts\\room.bin" }],
        });
        std::fs::write(folder.join("room.gltf"), document.to_string()).unwrap();
    }

    #[test]
    fn a_scene_in_memory_is_that_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        write_scene(folder.path());
        let file = folder.path().join("room.gltf");
        let scene = SceneBytes::new("elsewhere/room.gltf", std::fs::read(&file).unwrap());
        let references = scene.references();
        let paths: Vec<&str> = references.values().map(String::as_str).collect();
        assert_eq!(paths, ["glow.png", "the parts/room.bin"]);
        let read =
            |(address, path): (&String, &String)| (address.clone(), std::fs::read(folder.path().join(path)).unwrap());
        let files: HashMap<String, Vec<u8>> = references.iter().map(read).collect();
        let loaded = scene.clone().with_files(files).load().unwrap();
        let of_files = load(&file.to_string_lossy()).unwrap();
        assert_eq!(format!("{:?}", loaded.warnings), format!("{:?}", of_files.warnings));
        assert_eq!(hash(&loaded.scene), hash(&of_files.scene));
        let lost = scene.load().unwrap_err().to_string();
        assert!(lost.contains("needs buffer the%20parts\\room.bin"), "{lost}");
    }

    #[test]
    fn built_in_scenes_are_known_in_memory_and_other_formats_are_refused() {
        assert!(SceneBytes::new("builtin:cornell_box", Vec::new()).load().is_ok());
        let refusal = SceneBytes::new("room.obj", Vec::new()).load().unwrap_err().to_string();
        assert!(refusal.contains("room.obj") && refusal.contains("give a .glb or .gltf file"), "{refusal}");
        assert!(SceneBytes::new("room.gltf", b"{\"buffers\": 7}".to_vec()).references().is_empty());
    }
}
