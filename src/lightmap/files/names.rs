//! File names of a level.

use crate::scene::Hash;

/// Name of the file that makes a folder a level.
pub const LEVEL_FILE: &str = "level.ron";

pub(super) const MESHES_FILE: &str = "unwrapped_meshes.bin";
pub(super) const PREVIEW_FILE: &str = "preview.png";

pub(super) const RELIGHT_FILE: &str = "relight.bin";
pub(super) const VOLUME_FILE: &str = "volume.exr";

const PAGE: &str = "page_";
const VALIDITY: &str = "validity_";
const SPARE_DIGITS: usize = 16;

pub(super) fn texture_file(page: usize) -> String {
    format!("{PAGE}{page}.ktx2")
}

pub(super) fn page_file(page: usize) -> String {
    format!("{PAGE}{page}.exr")
}

pub(super) fn validity_file(page: usize) -> String {
    format!("{VALIDITY}{page}.png")
}

/// Returns the spare name of a file whose own name is taken. It contains the start of the file's digest.
pub(super) fn spare_name(name: &str, digest: &Hash) -> String {
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    format!("{stem}-{}.{ending}", &digest.to_string()[..SPARE_DIGITS])
}

/// Returns the original name of a file with a spare name.
fn replaced_name(spare: &str) -> Option<String> {
    let (stem, ending) = spare.split_once('.')?;
    let (stem, digits) = stem.split_once('-')?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_digest = digits.len() == SPARE_DIGITS && digits.bytes().all(is_digit);
    is_digest.then(|| format!("{stem}.{ending}"))
}

/// Returns true for a name that a bake gives to a file beside `level.ron`.
pub(super) fn is_of_level(name: &str) -> bool {
    is_first_choice(name) || replaced_name(name).is_some_and(|name| is_first_choice(&name))
}

fn is_first_choice(name: &str) -> bool {
    let is_numbered = |prefix: &str, ending: &str| {
        let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(ending));
        number.is_some_and(|number| number.parse::<u32>().is_ok_and(|parsed| parsed.to_string() == number))
    };
    [MESHES_FILE, PREVIEW_FILE, RELIGHT_FILE, VOLUME_FILE].contains(&name)
        || [(PAGE, ".ktx2"), (PAGE, ".exr"), (VALIDITY, ".png")].iter().any(|(prefix, end)| is_numbered(prefix, end))
        // Levels of format 1 had a file for each mesh.
        || is_numbered("mesh_", ".uv1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_names_are_known_for_names_of_a_level() {
        let digest = Hash([0xab; 32]);
        let numbered = [texture_file(0), page_file(12), validity_file(3)];
        let numbered = numbered.iter().map(String::as_str);
        for name in [MESHES_FILE, PREVIEW_FILE, RELIGHT_FILE, VOLUME_FILE].into_iter().chain(numbered) {
            let spare = spare_name(name, &digest);
            assert_ne!(spare, name);
            assert!(is_of_level(name) && is_of_level(&spare), "{spare}");
        }
        assert_eq!(spare_name("page_0.exr", &digest), "page_0-abababababababab.exr");
    }

    #[test]
    fn other_names_are_not() {
        for name in [
            "level.ron",
            "thesis.txt",
            "thesis-abababababababab.txt",
            "page_0-abababababababab.exr.txt",
            "page_0-ABABABABABABABAB.exr",
            "page_0-abab.exr",
            "page_0-abababababababab-abababababababab.exr",
            "page_00.exr",
        ] {
            assert!(!is_of_level(name), "{name}");
        }
    }
}
