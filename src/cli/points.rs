//! Point files: `x,y,z,nx,ny,nz` as input, with `r,g,b,standard_error` added as output.

use std::fmt::Write;
use std::path::Path;

use glam::Vec3;

use crate::input;
use crate::pathtrace::{PointIrradiance, Receiver};

/// Error of reading a point file.
#[derive(Debug, thiserror::Error)]
pub enum PointsError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}; check that the file exists and may be read")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A line is not a point.
    #[error("line {line} of {path} is no point ({reason}): a line is x,y,z,nx,ny,nz")]
    Malformed {
        /// Path of the file.
        path: String,
        /// Number of the line, from one.
        line: usize,
        /// Description of the fault.
        reason: String,
    },
    /// The file has no lines.
    #[error("{path} holds no points: a line is x,y,z,nx,ny,nz")]
    Empty {
        /// Path of the file.
        path: String,
    },
}

/// Reads a point file.
pub fn read(path: &Path) -> Result<Vec<Receiver>, PointsError> {
    let name = path.display().to_string();
    let text = input::read_text(path, input::LARGEST_LIST)
        .map_err(|source| PointsError::Unreadable { path: name.clone(), source })?;
    parse(&text, name)
}

/// Parses a point file. The first line may be a header; blank lines and further columns are ignored.
fn parse(text: &str, path: String) -> Result<Vec<Receiver>, PointsError> {
    let mut receivers = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let is_header = index == 0 && line.split(',').next().is_some_and(|first| first.trim().parse::<f32>().is_err());
        if line.trim().is_empty() || is_header {
            continue;
        }
        match parse_line(line) {
            Ok(receiver) => receivers.push(receiver),
            Err(reason) => return Err(PointsError::Malformed { path, line: index + 1, reason }),
        }
    }
    if receivers.is_empty() { Err(PointsError::Empty { path }) } else { Ok(receivers) }
}

fn parse_line(line: &str) -> Result<Receiver, String> {
    let mut fields = line.split(',').map(str::trim);
    let mut vector = || -> Result<Vec3, String> {
        let mut number = || {
            let field = fields.next().ok_or("it has fewer than six numbers")?;
            let number = field.parse::<f32>().map_err(|_| format!("'{field}' is no number"))?;
            if number.is_finite() { Ok(number) } else { Err(format!("{field} is not finite")) }
        };
        Ok(Vec3::new(number()?, number()?, number()?))
    };
    let position = vector()?;
    let normal = vector()?.try_normalize().ok_or("its normal has no direction")?;
    Ok(Receiver { position, normal })
}

/// Formats the irradiance at points as a file.
pub fn format(receivers: &[Receiver], found: &[PointIrradiance]) -> String {
    let mut text = String::from("x,y,z,nx,ny,nz,r,g,b,standard_error\n");
    for (Receiver { position: p, normal: n }, point) in receivers.iter().zip(found) {
        let e = point.irradiance;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{}",
            p.x, p.y, p.z, n.x, n.y, n.z, e.x, e.y, e.z, point.standard_error
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Receiver>, String> {
        parse(text, "points.csv".into()).map_err(|error| error.to_string())
    }

    #[test]
    fn points_are_read_with_and_without_a_header_and_normals_get_unit_length() {
        let expected = vec![Receiver { position: Vec3::new(1.0, 2.0, 3.0), normal: Vec3::Y }];
        assert_eq!(parsed("1,2,3,0,5,0\n").unwrap(), expected);
        assert_eq!(parsed("x,y,z,nx,ny,nz,r,g,b\n\n 1, 2, 3, 0, 1, 0, 9, 9, 9\n").unwrap(), expected);
    }

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        for (text, reason) in [
            ("1,2,3,0,1,0\n1,2,3\n", "line 2"),
            ("1,2,x,0,1,0\n", "'x' is no number"),
            ("1,2,nan,0,1,0\n", "not finite"),
            ("1,2,3,0,0,0\n", "no direction"),
            ("", "no points"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(reason) && error.contains("points.csv"), "{error}");
        }
    }

    #[test]
    fn what_is_written_can_be_read_again() {
        let receivers = [Receiver { position: Vec3::new(0.1, -2.5, 1e-7), normal: Vec3::X }];
        let found = [PointIrradiance { irradiance: Vec3::new(1.0, 2.0, 3.0), standard_error: 0.5 }];
        let text = format(&receivers, &found);
        assert!(text.ends_with(",1,0,0,1,2,3,0.5\n"), "{text}");
        assert_eq!(parsed(&text).unwrap(), receivers);
    }
}
