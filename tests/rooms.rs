//! Test that each room of the crate uses only lower rooms; `ARCHITECTURE.md` describes the rooms.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms of `src`, folders or files, from low to high. A room may use lower ones.
const ROOMS: [&str; 28] = [
    "skip",
    "clock",
    "parts",
    "progress",
    "portable",
    "raw_values",
    "input",
    "output",
    "geometry",
    "cluster",
    "scene",
    "builtin_scenes",
    "scene_files",
    "lights",
    "accel",
    "partition",
    "lightmap",
    "radiosity",
    "low_rank",
    "pathtrace",
    "relight",
    "gpu",
    "device",
    "bake",
    "plugin",
    "panel",
    "cli",
    "lib",
];

/// Attribute of modules that only tests have, which may use any room.
const TESTS: &str = "#[cfg(test)]";

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the code of a file without comments and without its test module, which is the last item.
fn code_of(text: &str) -> String {
    let text = text.split(&format!("\n{TESTS}\nmod tests {{")).next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Returns the names of the modules of a file that only tests have.
fn test_modules(text: &str) -> impl Iterator<Item = &str> {
    text.split(TESTS).skip(1).filter_map(|item| {
        let (before, rest) = item.split_once("mod ")?;
        let is_module = before.trim().is_empty() || before.trim().starts_with("pub");
        is_module.then(|| rest.split_once(';').map(|(name, _)| name)).flatten()
    })
}

/// Returns the first names of all paths from the root of the crate: `a` and `b` of `crate::a::c` and `crate::{a, b::c}`.
fn used(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in code.split("crate::").skip(1) {
        let mut depth = 0;
        let mut name = String::new();
        for letter in path.chars() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ if depth <= 1 && (letter.is_alphanumeric() || letter == '_') => name.push(letter),
                ',' if depth == 1 => {
                    found.insert(core::mem::take(&mut name));
                }
                // The rest of a path within braces says nothing of rooms.
                ':' if depth == 1 => name.push(letter),
                _ => {}
            }
            let is_over = depth == 0 && !(letter.is_alphanumeric() || letter == '_');
            if is_over {
                break;
            }
        }
        found.insert(name);
    }
    found.iter().filter_map(|name| name.split(':').next()).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the name of the room that a file belongs to.
fn room_of(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

fn place_of(room: &str) -> Option<usize> {
    ROOMS.iter().position(|known| *known == room)
}

#[test]
fn rooms_use_only_lower_rooms() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    rust_files(&root, &mut paths);
    let texts: Vec<(PathBuf, String)> = paths
        .iter()
        .map(|path| (path.strip_prefix(&root).unwrap().to_owned(), fs::read_to_string(path).unwrap()))
        .collect();
    let of_tests: Vec<PathBuf> = texts
        .iter()
        .flat_map(|(path, text)| {
            let is_folder = path.ends_with("mod.rs") || path.ends_with("lib.rs");
            let folder = if is_folder { path.parent().unwrap().to_owned() } else { path.with_extension("") };
            test_modules(text).map(move |name| folder.join(name))
        })
        .collect();
    let is_of_tests = |path: &Path| of_tests.iter().any(|tests| path.with_extension("").starts_with(tests));
    let mut faults = Vec::new();
    for (path, text) in texts.iter().filter(|(path, _)| !is_of_tests(path) && !path.ends_with("main.rs")) {
        let room = room_of(path);
        let own = place_of(&room).unwrap_or_else(|| panic!("{room} is not in the table of rooms"));
        // Types at the root of the crate are those of `device`.
        let room_of_name = |name: String| if name.starts_with("Device") { "device".to_owned() } else { name };
        for name in used(&code_of(text)).into_iter().map(room_of_name) {
            match place_of(&name) {
                Some(place) if place <= own => {}
                Some(_) => faults.push(format!("{} uses {name}, which is higher", path.display())),
                None => faults.push(format!("{} uses {name}, which is no room", path.display())),
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn paths_within_the_crate_are_found() {
    let code =
        "use crate::scene::{self, Scene};\nuse crate::{bake, gpu::Gpu, Device};\nlet x = crate::accel::World::new();";
    assert_eq!(used(code).into_iter().collect::<Vec<_>>(), ["Device", "accel", "bake", "gpu", "scene"]);
    assert_eq!(code_of("use crate::a; // crate::b\n\n#[cfg(test)]\nmod tests {\n use crate::c;\n}"), "use crate::a; ");
    let modules = "#[cfg(test)]\nmod tests;\nmod a;\n#[cfg(test)]\npub(crate) mod fixtures;\n#[cfg(test)]\nfn b() {}";
    assert_eq!(test_modules(modules).collect::<Vec<_>>(), ["tests", "fixtures"]);
}
