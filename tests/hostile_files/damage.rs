//! Damage to files that respects their structure: bytes, words, numbers, and values of JSON trees.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

/// Structure of a kind of file.
#[derive(Clone, Copy, PartialEq)]
pub enum Make {
    Bytes,
    Text,
    Json,
    /// JSON and bytes in chunks.
    Glb,
}

/// A damaged file: its index in a corpus, and the damages.
#[derive(Clone, Debug)]
pub struct Case {
    pub file: Index,
    /// True if digests are corrected after the damage.
    pub is_mended: bool,
    pub damages: Vec<Damage>,
}

/// One damage to a file. Positions are relative to the file's length at that time.
#[derive(Clone, Debug)]
pub struct Damage {
    kind: u8,
    at: Index,
    from: Index,
    length: u8,
    value: u64,
}

/// Returns a strategy for damaged files.
pub fn cases() -> impl Strategy<Value = Case> {
    let damage = (any::<u8>(), any::<Index>(), any::<Index>(), any::<u8>(), any::<u64>());
    let damage = damage.prop_map(|(kind, at, from, length, value)| Damage { kind, at, from, length, value });
    let case = (any::<Index>(), any::<bool>(), vec(damage, 1..6));
    case.prop_map(|(file, is_mended, damages)| Case { file, is_mended, damages })
}

/// Numbers at the limits of their types, as bytes.
const NUMBERS: [u64; 20] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
    // Infinity, NaN, and the largest and smallest values of `f32`.
    0x7f80_0000,
    0x7fc0_0000,
    0xff7f_ffff,
    0x0000_0001,
    0x7ff8_0000_0000_0000,
];

/// Words that are difficult for readers of text.
const WORDS: [&str; 28] = [
    "0",
    "-1",
    "1",
    "2",
    "-0.0",
    "255",
    "65536",
    "9999999999",
    "-9999999999",
    "18446744073709551615",
    "nan",
    "inf",
    "-inf",
    "1e39",
    "1e300",
    "1e-300",
    "1/1/1",
    "//",
    "",
    "\"",
    "[",
    "}",
    "\\",
    "#",
    "../../x",
    "null",
    "\u{feff}",
    "\u{0}",
];

impl Case {
    /// Returns the damaged file of this case.
    pub fn file_of(&self, corpus: &[Vec<u8>], make: Make) -> Vec<u8> {
        let mut file = corpus[self.file.index(corpus.len())].clone();
        self.damages.iter().for_each(|damage| damage.apply(&mut file, corpus, make));
        file
    }
}

impl Damage {
    fn apply(&self, file: &mut Vec<u8>, corpus: &[Vec<u8>], make: Make) {
        if file.is_empty() {
            return;
        }
        let at = self.at.index(file.len());
        let end = file.len().min(at + 1 + usize::from(self.length));
        let is_text = matches!(make, Make::Text | Make::Json);
        match self.kind % 16 {
            0 => file[at] ^= 1 << (self.value % 8),
            1 => file[at] = self.value as u8,
            2 => drop(file.drain(at..end)),
            3 => {
                let (part, to) = (file[at..end].to_vec(), self.from.index(file.len()));
                file.splice(to..to, part);
            }
            4 if self.value.is_multiple_of(4) => file.truncate(at),
            // Repeats a part of the file.
            4 => {
                let part = file[at..end].repeat(1 + (self.value % 64) as usize);
                file.splice(at..at, part);
            }
            5 => {
                let other = &corpus[self.value as usize % corpus.len()];
                let from = self.from.index(other.len());
                let part = other[from..other.len().min(from + end - at)].to_vec();
                file.splice(at..end, part);
            }
            // Appends the end of another file.
            6 => {
                let other = &corpus[self.value as usize % corpus.len()];
                file.truncate(at);
                file.extend(&other[self.from.index(other.len())..]);
            }
            7 | 8 if !is_text => self.set_number(file, at),
            9 | 10 if make == Make::Glb => self.damage_chunks(file),
            9 | 10 if make == Make::Json => self.damage_json(file),
            _ if is_text => self.damage_words(file, corpus),
            _ => self.set_number(file, at),
        }
    }

    /// Writes a number of one to eight bytes, mostly at an aligned position.
    fn set_number(&self, file: &mut [u8], at: usize) {
        let size = 1usize << (self.length % 4);
        let at = if self.length & 16 == 0 { at / size * size } else { at };
        let number = match self.from.index(4) {
            0 => self.value,
            1 => (file.len() as u64).wrapping_add(self.value % 5).wrapping_sub(2),
            _ => NUMBERS[self.value as usize % NUMBERS.len()],
        };
        file[at..].iter_mut().zip(number.to_le_bytes()).take(size).for_each(|(byte, new)| *byte = new);
    }

    /// Replaces a word by another one, or removes it.
    fn damage_words(&self, file: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let text = String::from_utf8_lossy(file).into_owned();
        let mut words = words(&text);
        let other;
        let new = match self.length % 4 {
            0 => WORDS[self.value as usize % WORDS.len()],
            1 => words[self.from.index(words.len())],
            2 => {
                other = String::from_utf8_lossy(&corpus[self.value as usize % corpus.len()]).into_owned();
                self::words(&other)[self.from.index(self::words(&other).len())]
            }
            _ if self.value.is_multiple_of(8) => &"9".repeat(self.length.into()),
            _ => "",
        };
        let at = self.at.index(words.len());
        if self.value & 256 == 0 {
            words[at] = new
        } else {
            words.insert(at, new)
        }
        *file = words.concat().into_bytes();
    }

    /// Replaces a value of a tree by another one, doubles it, or removes it.
    fn damage_json(&self, file: &mut Vec<u8>) {
        let Ok(mut tree) = serde_json::from_slice::<Value>(file) else { return };
        let mut places = self.value;
        let donor = place(&mut tree, &mut places).clone();
        let new = match self.length % 12 {
            0 => Value::Null,
            1 => (-1).into(),
            2 => u64::MAX.into(),
            3 => 1e300.into(),
            4 => (-0.5).into(),
            5 => u32::MAX.into(),
            6 => "".into(),
            7 => Value::Array(Vec::new()),
            8 => (self.from.index(9)).into(),
            _ => donor,
        };
        let mut places = self.at.index(usize::MAX) as u64;
        match place(&mut tree, &mut places) {
            Value::Object(fields) if !fields.is_empty() && self.length & 64 != 0 => {
                let key = fields.keys().nth(self.from.index(fields.len())).cloned();
                key.and_then(|key| fields.remove(&key));
            }
            Value::Array(items) if !items.is_empty() && self.length & 64 != 0 => {
                let twin = items[self.from.index(items.len())].clone();
                items.extend(vec![twin; 1 + usize::from(self.length & 3)]);
            }
            value => *value = new,
        }
        *file = tree.to_string().into_bytes();
    }

    /// Damages the JSON of a GLB file and reassembles its chunks.
    fn damage_chunks(&self, file: &mut Vec<u8>) {
        let Some((header, rest)) = file.split_at_checked(20) else { return };
        let length = u32::from_le_bytes(core::array::from_fn(|byte| header[12 + byte])) as usize;
        let Some((json, rest)) = rest.split_at_checked(length) else { return };
        let (mut json, rest) = (json.to_vec(), rest.to_vec());
        self.damage_json(&mut json);
        *file = glb(json, &rest);
    }
}

/// Returns a GLB file of a JSON text and further chunks.
pub fn glb(mut json: Vec<u8>, rest: &[u8]) -> Vec<u8> {
    json.resize(json.len().next_multiple_of(4), b' ');
    let length = |bytes: usize| (bytes as u32).to_le_bytes();
    [&b"glTF"[..], &length(2), &length(20 + json.len() + rest.len()), &length(json.len()), b"JSON", &json, rest]
        .concat()
}

/// Splits a text into runs of letters and digits, and the text between them.
fn words(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        words.push(word);
        rest = behind;
    }
    if words.is_empty() { vec![""] } else { words }
}

/// Returns a value of a tree. `places` selects it; values at the top are as likely as deeper ones.
fn place<'a>(value: &'a mut Value, places: &mut u64) -> &'a mut Value {
    let count = match &*value {
        Value::Object(fields) => fields.len() as u64,
        Value::Array(items) => items.len() as u64,
        _ => 0,
    };
    let stays = (*places).is_multiple_of(7);
    *places /= 7;
    if stays || count == 0 {
        return value;
    }
    let at = (*places % count) as usize;
    *places = (*places / count).rotate_left(17) ^ 0x5851_f42d_4c95_7f2d;
    let child = match value {
        Value::Object(fields) => fields.values_mut().nth(at),
        Value::Array(items) => items.get_mut(at),
        _ => None,
    };
    place(child.expect("it has that many"), places)
}
