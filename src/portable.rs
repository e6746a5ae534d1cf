//! File names with another meaning on Windows. They are refused on all systems, so that a level means the same
//! everywhere.

use std::io;
use std::path::Path;

/// Names of Windows devices, with any extension. `COM` and `LPT` also have numbers.
const DEVICES: [&str; 6] = ["AUX", "CON", "CONIN$", "CONOUT$", "NUL", "PRN"];

/// Reason for refusing a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Refusal {
    #[error("it needs another name, since Windows takes this one for a device")]
    Device,
    #[error("it needs another name, since Windows drops the dot or blank at the end of this one")]
    CutOff,
}

/// Checks that the last part of a path names the same file on every system.
///
/// # Errors
/// When Windows takes the name for a device, or cuts it short.
pub fn check_name(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let refuse = |refusal| Err(io::Error::new(io::ErrorKind::InvalidFilename, refusal));
    match &*name {
        name if is_device(name) => refuse(Refusal::Device),
        name if name.ends_with(['.', ' ']) => refuse(Refusal::CutOff),
        _ => Ok(()),
    }
}

fn is_device(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end_matches(' ').to_ascii_uppercase();
    let number = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let is_numbered = number.is_some_and(|number| {
        let mut digits = number.chars();
        let digit = digits.next().filter(|_| digits.next().is_none());
        digit.is_some_and(|digit| matches!(digit, '1'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}'))
    });
    is_numbered || DEVICES.contains(&&*stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_refused_whatever_follows_them() {
        for name in ["aux", "aux.obj", "Con.tar.gz", "NUL .png", "com1.bin", "LPT\u{b2}.mtl", "prn:x", "conin$"] {
            let refusal = check_name(&Path::new("maps").join(name)).unwrap_err().to_string();
            assert!(refusal.contains("a device"), "{name}: {refusal}");
        }
        for name in
            ["auxiliary.obj", "com.bin", "com0.bin", "com10.bin", "lpt.png", "a.con", "nul-1.png", "c\u{f3}n.obj"]
        {
            check_name(Path::new(name)).unwrap();
        }
        // Windows has no folders of such names, and nothing waits for them.
        check_name(Path::new("aux/level.obj")).unwrap();
    }

    #[test]
    fn names_that_windows_cuts_short_are_refused() {
        for name in ["trail. ", "trail.", "wood.png ", "..."] {
            assert!(check_name(Path::new(name)).unwrap_err().to_string().contains("drops"), "{name}");
        }
        for path in [".", "..", "out/.", "out/..", "", "/", ".hidden", "two words.png"] {
            check_name(Path::new(path)).unwrap();
        }
    }
}
