//! Tests of the modules of the plugin. No two files depend on each other, directly or through others. Examples import only
//! Bevy and the prelude.
//!
//! A file depends on the file that defines what it names, by `use` or by a path. Re-exports are followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Path of a module below the plugin, such as `["live", "draw"]`. The plugin itself has an empty path.
type Module = Vec<String>;

/// Import of a module: its visibility, its absolute path below the plugin, and its name in the module.
struct Import {
    is_public: bool,
    path: Module,
    name: String,
}

struct Modules {
    code: BTreeMap<Module, String>,
    imports: BTreeMap<Module, Vec<Import>>,
}

/// Removes comments, the contents of strings, and test modules.
fn strip(source: &str) -> String {
    let source = source.find("#[cfg(test)]\nmod ").map_or(source, |tests| &source[..tests]);
    let mut code = String::new();
    for line in source.lines() {
        let mut is_quoted = false;
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '/' if !is_quoted && characters.peek() == Some(&'/') => break,
                '\\' if is_quoted => _ = characters.next(),
                '"' => is_quoted = !is_quoted,
                _ if !is_quoted => code.push(character),
                _ => {}
            }
        }
        code.push('\n');
    }
    code
}

fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Splits a use tree into paths, each with its name.
fn split_tree(prefix: &[String], tree: &str, paths: &mut Vec<(Module, String)>) {
    let Some((before, inner)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, tree));
        let path = prefix.iter().cloned().chain(path.split("::").map(|part| part.trim().to_owned()));
        let name = name.rsplit("::").next().unwrap_or(name).trim().to_owned();
        paths.push((path.collect(), name));
        return;
    };
    let parts = before.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned);
    let prefix: Module = prefix.iter().cloned().chain(parts).collect();
    let inner = &inner[..inner.rfind('}').unwrap_or(inner.len())];
    let (mut depth, mut start) = (0, 0);
    for (index, character) in inner.char_indices().chain([(inner.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inner[start..index].trim().is_empty() {
                    split_tree(&prefix, &inner[start..index], paths);
                }
                start = index + 1;
            }
            _ => {}
        }
    }
}

/// Returns all `use` declarations: whether each is public, and its tree.
fn declarations(code: &str) -> Vec<(bool, &str)> {
    let starts = code.match_indices("use ").filter(|(index, _)| !code[..*index].ends_with(is_of_name));
    let found = starts.filter_map(|(index, word)| {
        let line = code[..index].rsplit('\n').next().unwrap_or_default().trim();
        let tree = code[index + word.len()..].split(';').next()?;
        (line.is_empty() || line.starts_with("pub")).then_some((line.starts_with("pub"), tree))
    });
    found.collect()
}

impl Modules {
    fn new(code: BTreeMap<Module, String>) -> Self {
        let mut modules = Self { code, imports: BTreeMap::new() };
        for (module, code) in &modules.code {
            let mut imports = Vec::new();
            for (is_public, tree) in declarations(code) {
                let mut paths = Vec::new();
                split_tree(&[], tree, &mut paths);
                let ours = paths.into_iter().filter_map(|(path, name)| Some((modules.absolute(module, &path)?, name)));
                imports.extend(ours.map(|(path, name)| Import { is_public, path, name }));
            }
            modules.imports.insert(module.clone(), imports);
        }
        modules
    }

    /// Returns the path below the plugin, or `None` for a path elsewhere.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let supers = path.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), path.get(1..)?.strip_prefix(&["plugin".to_owned()])?),
            "super" => (module[..module.len().checked_sub(supers)?].to_vec(), &path[supers..]),
            "self" => (module.clone(), &path[1..]),
            child => {
                let is_child = self.code.contains_key(&[module.as_slice(), &[child.to_owned()]].concat());
                (module.clone(), is_child.then_some(path)?)
            }
        };
        let rest = rest.iter().take_while(|part| !["*", "self"].contains(&part.as_str()));
        Some(base.into_iter().chain(rest.cloned()).collect())
    }

    /// Returns the module that defines what a path names.
    fn definition(&self, path: &[String]) -> Module {
        let length = (0..=path.len()).rev().find(|&length| self.code.contains_key(&path[..length])).unwrap_or(0);
        let module = path[..length].to_vec();
        let Some(item) = path.get(length) else {
            return module;
        };
        let public = || self.imports[&module].iter().filter(|import| import.is_public);
        if let Some(import) = public().find(|import| import.name == *item && import.path != path) {
            return self.definition(&import.path);
        }
        let defines = |import: &&Import| {
            let code = &self.code[&self.definition(&import.path)];
            ["struct", "enum", "fn", "trait", "const", "type"]
                .iter()
                .any(|kind| code.contains(&format!("{kind} {item}")))
        };
        match public().filter(|import| import.name == "*").find(defines) {
            Some(import) => self.definition(&import.path),
            None => module,
        }
    }

    /// Returns the other modules that a module depends on.
    fn dependencies(&self, module: &Module) -> BTreeSet<Module> {
        let imports = &self.imports[module];
        let mut found: BTreeSet<Module> = imports.iter().map(|import| self.definition(&import.path)).collect();
        let code = &self.code[module];
        for text in code
            .split(|character| !is_of_name(character) && character != ':')
            .filter(|text| text.contains("::") && !text.ends_with("::"))
        {
            let path: Module = text.trim_matches(':').split("::").map(str::to_owned).collect();
            let imported = imports.iter().find(|import| import.name == path[0] && self.code.contains_key(&import.path));
            let path = match imported {
                Some(import) => Some(import.path.iter().chain(&path[1..]).cloned().collect()),
                None => self.absolute(module, &path),
            };
            found.extend(path.map(|path| self.definition(&path)));
        }
        found.remove(module);
        found
    }

    /// Returns the modules that depend on themselves through others.
    fn cycles(&self) -> Vec<String> {
        let direct: BTreeMap<&Module, BTreeSet<Module>> =
            self.code.keys().map(|module| (module, self.dependencies(module))).collect();
        let reaches_itself = |module: &&Module| {
            let mut reached = BTreeSet::new();
            let mut open: Vec<&Module> = direct[*module].iter().collect();
            while let Some(next) = open.pop() {
                if reached.insert(next) {
                    open.extend(&direct[next]);
                }
            }
            reached.contains(*module)
        };
        direct.keys().copied().filter(reaches_itself).map(|module| module.join("::")).collect()
    }
}

fn read(folder: &Path, module: &Module, code: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let child: Module = module.iter().cloned().chain((name != "mod").then_some(name)).collect();
        if path.is_dir() {
            read(&path, &child, code);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.insert(child, strip(&fs::read_to_string(&path).unwrap()));
        }
    }
}

fn cycles_of(sources: &[(&str, &str)]) -> Vec<String> {
    let module = |name: &str| name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect::<Module>();
    Modules::new(sources.iter().map(|(name, source)| (module(name), strip(source))).collect()).cycles()
}

#[test]
fn no_file_of_the_plugin_depends_on_itself_through_others() {
    let mut code = BTreeMap::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/plugin"), &Vec::new(), &mut code);
    let modules = Modules::new(code);
    assert!(modules.code.len() > 40, "{} files were found", modules.code.len());
    let edges: usize = modules.code.keys().map(|module| modules.dependencies(module).len()).sum();
    assert!(edges > 100, "{edges} dependencies were found");
    assert_eq!(modules.cycles(), [""; 0]);
}

#[test]
fn a_cycle_through_a_reexport_is_found() {
    let facade = ("", "mod a;\nmod b;\npub use a::One;\n");
    let one_way = [facade, ("a", "pub struct One;"), ("b", "use super::One; // use crate::plugin::b\n")];
    assert_eq!(cycles_of(&one_way), [""; 0]);
    let both = [facade, ("a", "use crate::plugin::b::{self, Two};\npub struct One;"), one_way[2]];
    assert_eq!(cycles_of(&both), ["a", "b"]);
}

#[test]
fn a_cycle_through_a_path_without_an_import_is_found() {
    let parent = ("", "mod child;\npub fn a() { child::b() }\n");
    assert_eq!(cycles_of(&[parent, ("child", "pub fn b() {}")]), [""; 0]);
    assert_eq!(cycles_of(&[parent, ("child", "pub fn b() { super::a() }")]), ["", "child"]);
}

#[test]
fn examples_of_the_plugin_import_only_bevy_and_the_prelude() {
    let mut examples = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let Some(source) = path.extension().map(|_| fs::read_to_string(&path).unwrap()) else {
            continue;
        };
        if source.contains("RadiosityPlugins") {
            examples += 1;
            let others = source.split("use bevy_radiosity::").skip(1).find(|import| !import.starts_with("prelude::*;"));
            assert_eq!(others.map(|import| import.lines().next()), None, "{}", path.display());
        }
    }
    assert!(examples > 5, "{examples} examples were found");
}

#[test]
fn one_file_of_the_plugin_starts_threads() {
    let mut code = BTreeMap::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/plugin"), &Vec::new(), &mut code);
    let starts = |code: &String| ["std::thread", "ThreadPoolBuilder"].iter().any(|name| code.contains(name));
    let found: Vec<String> = code.iter().filter(|(_, code)| starts(code)).map(|(name, _)| name.join("::")).collect();
    assert_eq!(found, ["background"]);
}
