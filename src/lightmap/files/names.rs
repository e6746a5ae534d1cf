//! Names that bakes give to the files of a level.

/// The file that makes a folder a level.
pub const LEVEL_FILE: &str = "level.ron";

pub(super) const MESHES_FILE: &str = "unwrapped_meshes.bin";
pub(super) const RELIGHT_FILE: &str = "relight.bin";
pub(super) const VOLUME_FILE: &str = "volume.exr";

const PAGE: &str = "page_";
const VALIDITY: &str = "validity_";

pub(super) fn texture_file(page: usize) -> String {
    format!("{PAGE}{page}.ktx2")
}

pub(super) fn page_file(page: usize) -> String {
    format!("{PAGE}{page}.exr")
}

pub(super) fn validity_file(page: usize) -> String {
    format!("{VALIDITY}{page}.png")
}

/// True for a name that a bake gives to a file beside `level.ron`.
pub(super) fn is_of_level(name: &str) -> bool {
    let is_numbered = |prefix: &str, ending: &str| {
        let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(ending));
        number.is_some_and(|number| number.parse::<u32>().is_ok_and(|parsed| parsed.to_string() == number))
    };
    [MESHES_FILE, RELIGHT_FILE, VOLUME_FILE].contains(&name)
        || [(PAGE, ".ktx2"), (PAGE, ".exr"), (VALIDITY, ".png")].iter().any(|(prefix, end)| is_numbered(prefix, end))
        // Levels of format 1 had a file for each mesh.
        || is_numbered("mesh_", ".uv1")
}
