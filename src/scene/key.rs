//! Names of surfaces that are stable between runs.
//!
//! A key is the path of node names without the file's name, and the number of the primitive: `table/lamp:0`.
//! [`shorten`] drops parents that are not needed to tell nodes apart. So baked light is still found after a file is
//! renamed or an object gets another parent. If needed parents have changed, [`KeyIndex`] proposes the surfaces of
//! equal name, and the caller compares their contents.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use glam::Vec3;
use serde::{Deserialize, Serialize};

/// Identifier of a surface across runs: node path and primitive, or a name given by the user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SurfaceKey(pub String);

impl SurfaceKey {
    /// Returns the key of a primitive of a node. The path is the names of the node's ancestors and its own, joined by
    /// `/`.
    pub fn from_node(node_path: &str, primitive: usize) -> Self {
        Self(format!("{node_path}:{primitive}"))
    }

    /// Returns the key with a number that distinguishes the surface from earlier ones with an equal key.
    pub fn numbered(&self, number: usize) -> Self {
        Self(format!("{self}~{number}"))
    }

    /// Returns the key without the number that distinguishes it from earlier ones.
    pub fn without_number(&self) -> &str {
        without_number(&self.0)
    }

    /// Returns the key of a surface that no file has: the path of its names, and its position in the world, in meters.
    pub fn from_position(path: &str, position: Vec3) -> Self {
        let at = position.to_array().map(|coordinate| format!("{coordinate:.3}")).join(",");
        Self::from_node(&format!("{path}@{at}"), 0)
    }

    /// Returns the position of a surface that no file has, to the millimeter.
    pub fn position(&self) -> Option<Vec3> {
        let (path, _) = self.split()?;
        split_position(path).1
    }

    /// Returns true if the surface may be at one of these positions, in meters: it is there, or its key has no position.
    pub fn may_be_at(&self, places: &[Vec3]) -> bool {
        /// Maximum distance of positions that count as equal, in meters.
        const NEAR: f32 = 0.01;
        self.position().is_none_or(|position| places.iter().any(|place| place.distance(position) <= NEAR))
    }

    /// Splits the key into node path and primitive; `None` for a name given by the user.
    fn split(&self) -> Option<(&str, &str)> {
        let (path, primitive) = self.0.rsplit_once(':')?;
        primitive.starts_with(|first: char| first.is_ascii_digit()).then_some((path, primitive))
    }

    /// Returns the object's name for messages: the last name of the node path.
    pub fn object(&self) -> &str {
        let path = self.split().map_or(self.0.as_str(), |(path, _)| path);
        path.rsplit('/').next().unwrap_or(path)
    }
}

impl fmt::Display for SurfaceKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Maximum length of a name that is kept whole, in bytes.
const LONGEST_NAME: usize = 256;
/// Maximum length of a path that is kept whole, in bytes.
const LONGEST_PATH: usize = 1024;

/// Returns the name, or its beginning and a hash of the whole name if the name is too long. Distinct names stay
/// distinct.
pub fn cap(name: &str) -> Cow<'_, str> {
    if name.len() <= LONGEST_NAME {
        return name.into();
    }
    let hash = short_hash(name);
    let start = &name[..name.floor_char_boundary(LONGEST_NAME - hash.len() - 3)];
    format!("{start}...{hash}").into()
}

/// Returns the path of a node below its parent's path, which may be empty. A hash replaces parents that make it too
/// long.
pub fn child_path(parent: &str, name: &str) -> String {
    let name = cap(name);
    if parent.is_empty() {
        name.into_owned()
    } else if parent.len() + name.len() < LONGEST_PATH {
        format!("{parent}/{name}")
    } else {
        format!("{}/{name}", short_hash(parent))
    }
}

fn short_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// Returns the keys without the outermost names that are not needed to tell node paths apart.
///
/// Keys given by users, and keys that are short already, stay unchanged.
pub fn shorten(keys: &[SurfaceKey]) -> Vec<SurfaceKey> {
    let mut paths: Vec<&str> = keys.iter().filter_map(|key| Some(key.split()?.0)).collect();
    paths.sort_unstable();
    paths.dedup();
    // Endings to try, starting with the last name alone. Endings shared by several paths are lengthened.
    let mut endings: Vec<&str> = paths.iter().map(|path| longer_ending(path, "")).collect();
    loop {
        let mut counts: HashMap<&str, u32> = HashMap::with_capacity(endings.len());
        for ending in &endings {
            *counts.entry(ending).or_default() += 1;
        }
        let mut has_changed = false;
        for (path, ending) in paths.iter().zip(&mut endings) {
            if counts[*ending] > 1 && ending.len() < path.len() {
                *ending = longer_ending(path, ending);
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
    }
    let short: HashMap<&str, &str> = paths.into_iter().zip(endings).collect();
    let shortened = |key: &SurfaceKey| match key.split() {
        Some((path, primitive)) => SurfaceKey(format!("{}:{primitive}", short[path])),
        None => key.clone(),
    };
    keys.iter().map(shortened).collect()
}

/// Returns the ending of a path that has one name more than the given one.
fn longer_ending<'a>(path: &'a str, ending: &str) -> &'a str {
    let before = path[..path.len() - ending.len()].trim_end_matches('/');
    &path[before.rfind('/').map_or(0, |slash| slash + 1)..]
}

/// Lookup of baked surfaces by the current surfaces' keys.
#[derive(Clone, Debug, Default)]
pub struct KeyIndex {
    /// Keys by the last name of their path and their primitive, in their order.
    by_name: HashMap<String, Vec<SurfaceKey>>,
}

impl KeyIndex {
    /// Indexes keys, which must be distinct.
    pub fn new(keys: impl IntoIterator<Item = SurfaceKey>) -> Self {
        let mut by_name: HashMap<String, Vec<SurfaceKey>> = HashMap::new();
        for key in keys {
            by_name.entry(name_and_primitive(&key)).or_default().push(key);
        }
        Self { by_name }
    }

    /// Returns keys that may mean the given key's surface under more or other parents, or at another position. Keys with
    /// most parents in common come first, then those with the same position, then earlier keys. The caller compares the
    /// contents.
    pub fn candidates(&self, key: &SurfaceKey) -> Vec<&SurfaceKey> {
        let mut found: Vec<&SurfaceKey> = self.by_name.get(&name_and_primitive(key)).into_iter().flatten().collect();
        // A stable sort keeps numbered keys in their order.
        let position = key.position();
        found.sort_by_key(|candidate| {
            (std::cmp::Reverse(names_in_common(candidate, key)), candidate.position() != position)
        });
        found
    }
}

/// Returns the last name of a key's path with the primitive, without position and distinguishing number.
fn name_and_primitive(key: &SurfaceKey) -> String {
    match key.split() {
        Some((_, primitive)) => format!("{}:{}", split_position(key.object()).0, without_number(primitive)),
        None => key.without_number().to_owned(),
    }
}

/// Splits text into a path and the position that [`SurfaceKey::from_position`] appends.
fn split_position(text: &str) -> (&str, Option<Vec3>) {
    let position = |at: &str| {
        let coordinates: Vec<f32> = at.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Vec3::from_array(coordinates.try_into().ok()?))
    };
    match text.rsplit_once('@').and_then(|(path, at)| Some((path, position(at)?))) {
        Some((path, at)) => (path, Some(at)),
        None => (text, None),
    }
}

/// Returns text without the number that [`SurfaceKey::numbered`] appends.
fn without_number(text: &str) -> &str {
    match text.rsplit_once('~') {
        Some((base, number)) if number.parse::<u32>().is_ok() => base,
        _ => text,
    }
}

/// Returns the number of trailing names that the paths of two keys share, wherever they are.
fn names_in_common(a: &SurfaceKey, b: &SurfaceKey) -> usize {
    match (a.split(), b.split()) {
        (Some((a, _)), Some((b, _))) => {
            let [a, b] = [a, b].map(|path| split_position(path).0.rsplit('/'));
            a.zip(b).take_while(|(a, b)| a == b).count()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(keys: &[&str]) -> Vec<SurfaceKey> {
        keys.iter().map(|key| SurfaceKey((*key).to_owned())).collect()
    }

    #[test]
    fn long_names_are_cut_and_still_differ() {
        let [a, b] = ["a", "b"].map(|end| "n\u{e9}".repeat(1000) + end);
        assert!(cap(&a).len() <= LONGEST_NAME && cap(&a) != cap(&b));
        assert_eq!(cap(&cap(&a)), cap(&a));
        assert_eq!(cap("lamp"), "lamp");
    }

    #[test]
    fn paths_stay_short_however_deep_a_node_is() {
        let deep = |first: &str| (0..500).fold(first.to_owned(), |path, _| child_path(&path, "a long enough name"));
        assert!(deep("a").len() <= LONGEST_PATH && deep("a") != deep("b"));
        assert_eq!(child_path(&child_path("", "table"), "lamp"), "table/lamp");
    }

    #[test]
    fn parents_are_named_only_where_nodes_are_called_alike() {
        let long = keys(&["hall/table:0", "hall/table:1", "hall/a/chair:0", "hall/b/chair:0", "chair:0", "my lamp"]);
        let short = shorten(&long);
        assert_eq!(short, keys(&["table:0", "table:1", "a/chair:0", "b/chair:0", "chair:0", "my lamp"]));
        assert_eq!(shorten(&short), short);
    }

    #[test]
    fn the_file_and_a_parent_of_one_child_change_no_key() {
        assert_eq!(shorten(&keys(&["crate:0", "barrel:0"])), shorten(&keys(&["crate:0", "props/barrel:0"])));
    }

    #[test]
    fn the_candidate_with_most_parents_in_common_comes_first_and_numbers_follow() {
        let index = KeyIndex::new(keys(&["a/chair:0", "b/chair:0", "b/chair:0~2", "table:0", "chair:1"]));
        let found = |key: &str| index.candidates(&SurfaceKey(key.to_owned())).into_iter().cloned().collect::<Vec<_>>();
        assert_eq!(found("hall/b/chair:0"), keys(&["b/chair:0", "b/chair:0~2", "a/chair:0"]));
        assert_eq!(found("attic/table:0"), keys(&["table:0"]));
        assert!(found("lamp:0").is_empty());
    }

    #[test]
    fn the_candidate_at_the_same_position_comes_first() {
        let index = KeyIndex::new(keys(&["a/box@0.000,0.000,0.000:0", "a/box@1.500,-2.000,0.000:0", "box@home:0"]));
        let key = SurfaceKey::from_position("a/box", Vec3::new(1.5, -2.0, 0.0));
        assert_eq!(key.position(), Some(Vec3::new(1.5, -2.0, 0.0)));
        let found: Vec<&str> = index.candidates(&key).into_iter().map(|key| key.0.as_str()).collect();
        assert_eq!(found, ["a/box@1.500,-2.000,0.000:0", "a/box@0.000,0.000,0.000:0"]);
        assert_eq!(keys(&["box@home:0", "box:0", "box@1,2:0"]).iter().filter_map(SurfaceKey::position).count(), 0);
    }

    #[test]
    fn empty_names_and_slashes_are_told_apart_all_the_same() {
        let odd = keys(&["a//b:0", "a/b:0", "/b:0", "b:0", ":0", "/:0"]);
        let mut short = shorten(&odd);
        short.sort_unstable();
        short.dedup();
        assert_eq!(short.len(), odd.len());
    }
}
