//! Text files of other programs: encodings and lines.

use std::borrow::Cow;

/// Decodes a file's text: UTF-8 or UTF-16, with or without a byte order mark, else Latin-1. `None` if it is binary.
pub fn decode(bytes: &[u8]) -> Option<String> {
    let utf16 = |from_bytes: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| from_bytes([pair[0], pair[1]]));
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => return Some(utf16(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => return Some(utf16(u16::from_be_bytes)),
        _ if bytes.contains(&0) => return None,
        _ => {}
    }
    Some(match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // In Latin-1 every byte is a character, so names that differ still do.
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    })
}

/// Calls `call` for every line that is not empty, with its number (from one), its keyword in lower case, and the
/// trimmed rest.
///
/// Lines may end in LF, CR or both. A backslash at the end of a line continues it, unless the line is a comment or ends
/// in a name, such as a folder's.
pub fn for_each_line(text: &str, mut call: impl FnMut(usize, &str, &str)) {
    let lines = text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'));
    let mut begun: Option<(usize, String)> = None;
    for (index, line) in lines.enumerate() {
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let (number, line) = match begun.take() {
            Some((number, before)) => (number, Cow::Owned(before + line)),
            None => (index + 1, Cow::Borrowed(line)),
        };
        match line.strip_suffix('\\') {
            Some(start) if !line.contains('#') && !ends_in_a_name(&line) => begun = Some((number, format!("{start} "))),
            _ => call_with(number, &line, &mut call),
        }
    }
    if let Some((number, line)) = begun {
        call_with(number, &line, &mut call);
    }
}

fn call_with(number: usize, line: &str, call: &mut impl FnMut(usize, &str, &str)) {
    let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if !keyword.is_empty() && !keyword.starts_with('#') {
        call(number, &keyword.to_ascii_lowercase(), rest.trim());
    }
}

fn ends_in_a_name(line: &str) -> bool {
    let keyword = line.split(char::is_whitespace).next().unwrap_or_default().to_ascii_lowercase();
    matches!(keyword.as_str(), "o" | "g" | "usemtl" | "mtllib" | "newmtl") || keyword.starts_with("map_")
}

/// Returns a line without the comment at its end.
pub fn without_comment(text: &str) -> &str {
    text.split('#').next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(usize, String, String)> {
        let mut lines = Vec::new();
        let text = decode(bytes).unwrap();
        for_each_line(&text, |number, keyword, rest| lines.push((number, keyword.to_owned(), rest.to_owned())));
        lines
    }

    #[test]
    fn line_ends_and_byte_order_marks_of_all_systems_are_read() {
        let expected = [(1, "v".to_owned(), "1 2".to_owned()), (3, "f".to_owned(), "1".to_owned())];
        for text in ["v 1 2\n\nf 1\n", "v 1 2\r\n\r\nf 1", "v 1 2\r\rf 1\r", "\u{feff}v 1 2\n\n\u{feff}F 1 "] {
            assert_eq!(lines(text.as_bytes()), expected, "{text:?}");
            let utf16 = [0xfeff].into_iter().chain(text.encode_utf16());
            assert_eq!(lines(&utf16.clone().flat_map(u16::to_le_bytes).collect::<Vec<_>>()), expected, "{text:?}");
            assert_eq!(lines(&utf16.flat_map(u16::to_be_bytes).collect::<Vec<_>>()), expected, "{text:?}");
        }
        assert_eq!(decode(b"\x89PNG\0"), None);
        assert_eq!(decode(b"usemtl gr\xfcn").unwrap(), "usemtl gr\u{fc}n");
    }

    #[test]
    fn a_backslash_continues_numbers_and_not_names_or_comments() {
        let found = lines(b"f 1 2 \\\n 3\n# in C:\\models\\\nv 1 2 3\nmtllib old\\\nusemtl a\nf 1 \\");
        let found: Vec<_> = found.iter().map(|(number, _, rest)| (*number, rest.as_str())).collect();
        assert_eq!(found, [(1, "1 2  3"), (4, "1 2 3"), (5, "old\\"), (6, "a"), (7, "1")]);
    }
}
