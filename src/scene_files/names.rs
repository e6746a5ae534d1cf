//! Names of materials, which `.obj` and `.mtl` files spell differently.

use std::collections::HashMap;

use super::text::without_comment;
use crate::scene::MaterialId;
use crate::scene::key::cap;

/// Materials by name.
///
/// An exact match counts first, with `#` and blanks. Otherwise quotes, repeated blanks, and a possible comment are
/// ignored.
#[derive(Default)]
pub struct Names {
    exact: HashMap<String, MaterialId>,
    /// Keys without quotes and with single blanks.
    plain: HashMap<String, MaterialId>,
    /// Keys without quotes, and without the text after a `#`.
    cut: HashMap<String, MaterialId>,
}

impl Names {
    /// Adds a material. The first one of a name counts.
    pub fn insert(&mut self, name: &str, id: MaterialId) {
        let name = &*cap(name);
        self.exact.entry(name.to_owned()).or_insert(id);
        self.plain.entry(plain(name)).or_insert(id);
        self.cut.entry(plain(without_comment(name))).or_insert(id);
    }

    /// Returns the material that a file means by a name.
    pub fn get(&self, name: &str) -> Option<MaterialId> {
        let name = &*cap(name);
        let known = |name: &str| self.exact.get(name).or_else(|| self.plain.get(&plain(name)));
        let shorter = || {
            let mut shorter = name;
            while let Some(at) = shorter.rfind('#') {
                shorter = shorter[..at].trim_end();
                if let Some(id) = known(shorter).filter(|_| !shorter.is_empty()) {
                    return Some(id);
                }
            }
            self.cut.get(&plain(shorter)).filter(|_| !shorter.is_empty())
        };
        known(name).or_else(shorter).copied()
    }
}

fn plain(name: &str) -> String {
    unquoted(name).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a name without the quotes around it.
pub fn unquoted(name: &str) -> &str {
    let within = |quote| name.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_written_first_and_as_meant_else() {
        let mut names = Names::default();
        let written =
            ["Lamp #2", "Lamp #1", "two  blanks", "\"quoted\"", "wall#1", "sol\\ido", "gr\u{fc}n", "red # dark"];
        for (index, name) in written.into_iter().enumerate() {
            names.insert(name, MaterialId::from_index(index));
            assert_eq!(names.get(name), Some(MaterialId::from_index(index)), "{name}");
        }
        for (asked, index) in [
            ("two blanks", 2),
            ("quoted", 3),
            ("'wall#1'", 4),
            ("red", 7),
            ("gr\u{fc}n # a comment", 6),
            ("Lamp #1 # a comment", 1),
        ] {
            assert_eq!(names.get(asked), Some(MaterialId::from_index(index)), "{asked}");
        }
        assert_eq!((names.get("blue"), names.get("")), (None, None));
    }
}
