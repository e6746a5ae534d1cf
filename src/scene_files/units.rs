//! Units of a file's lamps and emission.
//!
//! glTF has candela, lux and cd/m2. Blender works in watts. In the lighting mode *Standard*, its exporter converts
//! lamps to glTF's units, by 683 lm/W, but leaves emission in W/(m2 sr). In the mode *Unitless*, both stay in watts.

use serde_json::Value;

use crate::scene::{Light, LightKind, Problem, Role, Scene, luminance};

/// Luminous efficacy that Blender's exporter assumes, lm/W.
pub const LUMENS_PER_WATT: f32 = 683.0;

/// Ratio of the strongest lamp to the strongest emission above which their units probably differ.
const MAX_RATIO: f32 = 200.0;
/// Radiance of emission that is plausible beside strong lamps, cd/m2.
const MIN_LAMP_RADIANCE: f32 = 100.0;

/// Units of the numbers of a file's lamps and emission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Units {
    /// Candela, lux and cd/m2, as glTF defines.
    #[default]
    Gltf,
    /// Blender's lighting mode *Standard*: lamps in candela and lux, emission in W/(m2 sr). Emission is multiplied by
    /// [683 lm/W](LUMENS_PER_WATT).
    Blender,
    /// Blender's lighting mode *Unitless*: lamps in W/sr and W/m2, emission in W/(m2 sr). All of them are multiplied by
    /// [683 lm/W](LUMENS_PER_WATT).
    BlenderUnitless,
}

impl Units {
    /// Returns the units of a name: `gltf`, `blender` or `blender-unitless`.
    pub fn of_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "gltf" => Some(Self::Gltf),
            "blender" => Some(Self::Blender),
            "blender-unitless" => Some(Self::BlenderUnitless),
            _ => None,
        }
    }

    /// Reads the units from extras, either flat (`radiosity_units`) or within `radiosity`.
    pub(crate) fn of_extras(extras: &Value, problems: &mut Vec<Problem>) -> Option<Self> {
        let value = extras.get("radiosity_units").or_else(|| extras.get("radiosity")?.get("units"))?;
        let units = value.as_str().and_then(Self::of_name);
        if units.is_none() {
            problems.push(Problem::BadExtra {
                owner: "the file".to_owned(),
                key: "units".to_owned(),
                reason: "it must be gltf, blender or blender-unitless".to_owned(),
            });
        }
        units
    }

    /// Returns the factor that converts emission to cd/m2.
    pub fn emission_factor(self) -> f32 {
        match self {
            Self::Gltf => 1.0,
            Self::Blender | Self::BlenderUnitless => LUMENS_PER_WATT,
        }
    }

    /// Returns the factor that converts lamps to candela and lux.
    pub fn lamp_factor(self) -> f32 {
        match self {
            Self::Gltf | Self::Blender => 1.0,
            Self::BlenderUnitless => LUMENS_PER_WATT,
        }
    }

    /// Converts a scene from these units to candela, lux and cd/m2.
    pub fn apply(self, scene: &mut Scene) {
        for material in &mut scene.materials {
            material.emission *= self.emission_factor();
        }
        for light in &mut scene.lights {
            *light.kind.strength_mut() *= self.lamp_factor();
        }
    }
}

/// Returns a problem if a file's lamps are implausibly strong beside its emissive surfaces.
pub fn compare(scene: &Scene, is_from_blender: bool) -> Option<Problem> {
    let brightest = |lights: &mut dyn Iterator<Item = (String, f32)>| -> Option<(String, f32)> {
        lights.filter(|(_, strength)| *strength > 0.0).max_by(|(_, a), (_, b)| a.total_cmp(b))
    };
    // A real sun is stronger than any emission. The sun of Blender's files has few watts.
    let is_lamp = |light: &&Light| is_from_blender || !matches!(light.kind, LightKind::Directional { .. });
    let lamps = scene.lights.iter().filter(is_lamp);
    let (lamp, candela) = brightest(&mut lamps.map(|light| (light.name.clone(), strength(light))))?;
    let shown = scene.surface_ids().filter(|&id| scene.surface(id).role != Role::Excluded);
    let glows = shown.map(|id| scene.material_of(id)).map(|glow| (glow.name.clone(), luminance(glow.emission)));
    let (material, radiance) = brightest(&mut glows.into_iter())?;
    let is_apart = candela > MAX_RATIO * radiance && (is_from_blender || radiance < MIN_LAMP_RADIANCE);
    is_apart.then_some(Problem::UnitsApart { lamp, candela, material, radiance })
}

/// Returns the strength of a light in candela, or in lux for a directional one.
fn strength(light: &Light) -> f32 {
    let mut kind = light.kind;
    luminance(*kind.strength_mut())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_users_write_them() {
        let names = ["gltf", "Blender", "blender_unitless", "blender-unitless", "watts"].map(Units::of_name);
        let unitless = Some(Units::BlenderUnitless);
        assert_eq!(names, [Some(Units::Gltf), Some(Units::Blender), unitless, unitless, None]);
    }
}
