//! Settings of the bake in a file's `extras` (Blender: custom properties).
//!
//! Either one object, `"extras": {"radiosity": {"role": "occluder", "density": 2.0}}`, or flat keys as Blender writes
//! them, `"extras": {"radiosity_role": "occluder", "radiosity_density": 2.0}`:
//!
//! | key | on | value |
//! | --- | --- | --- |
//! | `role` | node, primitive, mesh, material | `"static"`, `"occluder"`, `"mover"` or `"excluded"`, see [`Role`] |
//! | `density` | node, primitive, mesh, material | factor on the bake's texels per meter, above zero |
//! | `double_sided` | node, primitive, mesh, material | `true` or `false`, instead of the material's `doubleSided` |
//! | `tint` | node, primitive, mesh, material | `true` if a blended surface tints light, see [`Material::tints`] |
//! | `radius` | node, light | radius in meters of a point or spot light's sphere |
//! | `angular_diameter` | node, light | degrees that a directional light's disc spans |
//! | `shape`, `shape_...` | node | curved shape instead of the node's mesh, see `shapes.rs` |
//!
//! A node's keys also apply to its descendants, except for its shape. The order of precedence: the nearest node, its
//! ancestors, the primitive, the mesh, the material.

use gltf::json::Extras;
use serde_json::{Map, Value};

#[cfg(doc)]
use crate::scene::Material;
use crate::scene::{Problem, Role};

const PREFIX: &str = "radiosity";
/// Key of a node's kind of shape.
pub const SHAPE: &str = "shape";
/// Beginning of the keys of the shape's numbers.
const SHAPE_PREFIX: &str = "shape_";

/// Our keys without their prefix, and their values.
type Keys = Vec<(String, Value)>;

/// Settings from extras; `None` where there is no key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overrides {
    pub role: Option<Role>,
    pub density: Option<f32>,
    pub double_sided: Option<bool>,
    pub tint: Option<bool>,
    pub radius: Option<f32>,
    pub angular_diameter_degrees: Option<f32>,
}

impl Overrides {
    /// Reads the extras of `owner`. Invalid keys are reported and ignored.
    pub fn read(extras: &Extras, owner: &str, warnings: &mut Vec<Problem>) -> Self {
        extras.as_ref().map_or_else(Self::default, |text| Self::from_json(text.get(), owner, warnings))
    }

    /// Reads extras from their JSON text.
    pub fn from_json(text: &str, owner: &str, warnings: &mut Vec<Problem>) -> Self {
        Self::from_keys(keys_of(text), owner, warnings)
    }

    /// Reads the extras of a node from their JSON text. Also returns the keys of its shape.
    pub fn of_node(text: &str, owner: &str, warnings: &mut Vec<Problem>) -> (Self, Keys) {
        let is_of_shape = |(key, _): &(String, Value)| key == SHAPE || key.starts_with(SHAPE_PREFIX);
        let (of_shape, others) = keys_of(text).into_iter().partition(is_of_shape);
        (Self::from_keys(others, owner, warnings), of_shape)
    }

    /// Returns an upper bound of the number of values that [`Self::of_node`] parses; zero where none of our keys is.
    pub fn max_values(text: &str) -> u64 {
        if text.contains(PREFIX) { 1 + text.bytes().filter(|byte| *byte == b',').count() as u64 } else { 0 }
    }

    fn from_keys(keys: Keys, owner: &str, warnings: &mut Vec<Problem>) -> Self {
        let mut overrides = Self::default();
        for (key, value) in keys {
            if let Err(reason) = overrides.set(&key, &value) {
                warnings.push(Problem::BadExtra { owner: owner.to_owned(), key, reason: reason.to_owned() });
            }
        }
        overrides
    }

    /// Returns these settings, with those of `others` where these are `None`.
    pub fn or(self, others: Self) -> Self {
        Self {
            role: self.role.or(others.role),
            density: self.density.or(others.density),
            double_sided: self.double_sided.or(others.double_sided),
            tint: self.tint.or(others.tint),
            radius: self.radius.or(others.radius),
            angular_diameter_degrees: self.angular_diameter_degrees.or(others.angular_diameter_degrees),
        }
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), &'static str> {
        match key {
            "role" => self.role = Some(role(value).ok_or("it must be static, occluder, mover or excluded")?),
            "density" => self.density = Some(positive(value).ok_or("it must be a number above zero")?),
            "double_sided" => self.double_sided = Some(flag(value).ok_or("it must be true or false")?),
            "tint" => self.tint = Some(flag(value).ok_or("it must be true or false")?),
            "radius" => self.radius = Some(not_negative(value).ok_or("it must be a length in meters")?),
            "angular_diameter" => {
                let degrees = not_negative(value).filter(|&degrees| degrees < 180.0);
                self.angular_diameter_degrees = Some(degrees.ok_or("it must be an angle in degrees below 180")?);
            }
            _ => return Err("there is no such key"),
        }
        Ok(())
    }
}

fn keys_of(text: &str) -> Keys {
    let mut keys = Vec::new();
    // Most extras have no such key, and need not be parsed.
    if !text.contains(PREFIX) {
        return keys;
    }
    for (key, value) in serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default() {
        match (key.strip_prefix(PREFIX), value) {
            (Some(""), Value::Object(inner)) => keys.extend(inner),
            (Some(rest), value) if rest.starts_with('_') => keys.push((rest[1..].to_owned(), value)),
            _ => {}
        }
    }
    keys
}

fn role(value: &Value) -> Option<Role> {
    match value.as_str()?.to_ascii_lowercase().as_str() {
        "static" => Some(Role::Static),
        "occluder" => Some(Role::Occluder),
        "mover" => Some(Role::Mover),
        "excluded" => Some(Role::Excluded),
        _ => None,
    }
}

/// Reads a flag. Blender writes booleans as 0 and 1.
fn flag(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| value.as_f64().map(|number| number != 0.0))
}

fn not_negative(value: &Value) -> Option<f32> {
    value.as_f64().map(|number| number as f32).filter(|number| number.is_finite() && *number >= 0.0)
}

pub fn positive(value: &Value) -> Option<f32> {
    not_negative(value).filter(|&number| number > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> (Overrides, Vec<Problem>) {
        let extras = Some(serde_json::value::to_raw_value(&serde_json::from_str::<Value>(json).unwrap()).unwrap());
        let mut warnings = Vec::new();
        (Overrides::read(&extras, "table", &mut warnings), warnings)
    }

    #[test]
    fn nested_and_flat_keys_mean_the_same() {
        let nested = read(r#"{"radiosity": {"role": "occluder", "density": 2.0, "double_sided": true, "tint": true}}"#);
        let flat = read(
            r#"{"radiosity_role": "Occluder", "radiosity_density": 2, "radiosity_double_sided": 1, "radiosity_tint": 1, "x": 3}"#,
        );
        assert_eq!(nested, flat);
        assert_eq!(nested.0.role, Some(Role::Occluder));
        assert_eq!(nested.0.density, Some(2.0));
        assert_eq!((nested.0.double_sided, nested.0.tint), (Some(true), Some(true)));
        assert!(nested.1.is_empty());
    }

    #[test]
    fn a_key_that_makes_no_sense_is_named() {
        let (overrides, warnings) = read(r#"{"radiosity": {"density": -1, "rolle": "static"}}"#);
        assert_eq!(overrides, Overrides::default());
        let text: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert!(text[0].contains("'density' of 'table'") && text[1].contains("'rolle'"), "{text:?}");
    }
}
