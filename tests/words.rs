//! Tests that names and texts use US spelling, that bounds are called `max` and `min`, that names use the words of the
//! glossary, and that browsers accept the numbers of shaders.

use std::fs;
use std::path::{Path, PathBuf};

/// Parts of words in UK spelling, in lower case.
const UK: [&str; 18] = [
    "colour",
    "metre",
    "centre",
    "grey",
    "neighbour",
    "behaviour",
    "favour",
    "honour",
    "armour",
    "catalogue",
    "licence",
    "artefact",
    "labelled",
    "travelled",
    "modelled",
    "normalis",
    "summaris",
    "discretis",
];

/// Attribute that keeps old names in existing files: lines with it are exempt.
const KEPT: &str = "serde(rename = \"";

/// Old prefixes of bounds. `least_squares` is a method of fitting.
const BOUNDS: [&str; 3] = ["most_", "least_", "fewest_"];

/// Words that names used before, in lower case. `docs/glossary.md` has the standard ones.
const OLD_WORDS: [&str; 31] = [
    "abridged", // without repeated warnings
    "aim",      // light samples
    "aiming",   // light sample allocation
    "allot",    // allocate
    "allotment",
    "brought", // received
    "burial",  // test for points inside geometry
    "buried",
    "chances", // pmf, pdf
    "deal",    // allocate
    "dealt",
    "detour", // continuation over unmapped surfaces
    "errand", // ray task
    "facts",  // properties
    "hair",   // ray epsilon
    "keeper",
    "landed", // deposit
    "matt",   // diffuse
    "newcomer",
    "pictured", // textured
    "printed",  // published
    "pyramid",  // mip chain
    "resting",  // static, settled
    "stranger",
    "strangers", // unsupported meshes
    "surroundings",
    "suspect", // may be inside, outdated
    "varnish", // clearcoat
    "whose",
    "wish",
    "wishes", // requests
];

/// Number of words from which a name is a test's sentence in plain English.
const SENTENCE: usize = 5;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "wgsl") {
            found.push(path);
        }
    }
}

/// Returns the lines of `src` and `shaders`, each with its file and number.
fn lines() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    ["src", "shaders"].iter().for_each(|folder| files(&root.join(folder), &mut found));
    let numbered = found.iter().flat_map(|path| {
        let text = fs::read_to_string(path).unwrap();
        let numbered = |(index, line): (usize, &str)| (format!("{}:{}", path.display(), index + 1), line.to_owned());
        text.lines().enumerate().map(numbered).collect::<Vec<_>>()
    });
    numbered.collect()
}

/// Returns true if a line has a word in UK spelling.
fn is_uk(line: &str) -> bool {
    let line = line.to_lowercase();
    !line.contains(KEPT) && UK.iter().any(|word| line.contains(word))
}

/// Returns true if a line has a name with an old prefix of bounds.
fn has_old_bound(line: &str) -> bool {
    let names = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_old = |name: &str| BOUNDS.iter().any(|bound| name.starts_with(bound)) && name != "least_squares";
    !line.contains(KEPT) && names.map(str::to_lowercase).any(|name| is_old(&name))
}

/// Returns the words of a name in snake case or camel case, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_after_small = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && is_after_small) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter != '_') {
            word.extend(letter.to_lowercase());
        }
        is_after_small = letter.is_lowercase();
    }
    words
}

/// Returns true if a name in the code of a line, outside comments and texts, has an old word.
fn has_old_word(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split('"').step_by(2).any(|code| {
        let names = code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let words = names.map(words).filter(|words| words.len() < SENTENCE);
        words.flatten().any(|word| OLD_WORDS.contains(&&*word))
    })
}

#[test]
fn names_and_texts_are_in_us_spelling() {
    let found: Vec<_> = lines().into_iter().filter(|(_, line)| is_uk(line)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn bounds_are_called_max_and_min() {
    let found: Vec<_> = lines().into_iter().filter(|(_, line)| has_old_bound(line)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn names_use_standard_words() {
    let found: Vec<_> = lines().into_iter().filter(|(_, line)| has_old_word(line)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_decimal_number_of_a_shader_is_above_the_largest_float_not_even_by_rounding() {
    // Tint, the compiler of Chromium, refuses such numbers. Naga rounds them down.
    let mut count = 0;
    for (place, line) in lines().into_iter().filter(|(place, _)| place.contains(".wgsl:")) {
        let is_inside = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '+' | '_');
        let numbers = line.split(|letter| !is_inside(letter)).filter_map(|word| word.parse::<f64>().ok());
        for number in numbers.filter(|number| number.is_finite()) {
            assert!(number <= f64::from(f32::MAX), "{number} in {place}");
            count += 1;
        }
    }
    assert!(count > 500, "{count} numbers in all shaders");
}

#[test]
fn words_are_told_from_words_that_contain_them() {
    assert!(is_uk("let Colour = 1;") && is_uk("/// Metres."));
    assert!(!is_uk("let color = symmetric;") && !is_uk("#[serde(rename = \"texels_per_metre\")]"));
    assert!(has_old_bound("settings.most_samples") && has_old_bound("const LEAST_COST: f32 = 1.0;"));
    assert!(!has_old_bound("mod least_squares;") && !has_old_bound("at_most_one"));
    assert!(has_old_word("let deal = 1;") && has_old_word("RestingLights") && has_old_word("MAX_ERRANDS.wish"));
    assert!(!has_old_word("let ideal = \"no deal\"; // A deal.") && !has_old_word("fn a_lamp_that_is_buried() {"));
}
