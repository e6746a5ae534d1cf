//! How a file's lamps and emission compare.
//!
//! glTF has candela, lux and cd/m2. Blender works in watts, and its exporter turns lamps alone into glTF's units, by
//! 683 lm/W, when its lighting mode is *Standard*; emission stays in W/(m2 sr). In its mode *Unitless* both stay in watts.

use glam::Vec3;
use serde_json::Value;

use crate::scene::{Light, LightKind, Problem, Role, Scene, luminance};

/// What Blender's exporter takes a watt of light for, lm.
pub const LUMENS_PER_WATT: f32 = 683.0;

/// Lamps this many times as strong as all emission come from different units.
const MAX_RATIO: f32 = 200.0;
/// Radiance above which a surface may well be meant to glow beside strong lamps, cd/m2.
const MIN_LAMP_RADIANCE: f32 = 100.0;

/// How the numbers of a file's lamps and emission are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Units {
    /// Candela, lux and cd/m2, as glTF says.
    #[default]
    Gltf,
    /// Blender's lighting mode *Standard*: lamps are in candela and lux, emission in W/(m2 sr), which is multiplied by
    /// [683 lm/W](LUMENS_PER_WATT).
    Blender,
    /// Blender's lighting mode *Unitless*: lamps are in W/sr and W/m2 and emission in W/(m2 sr), and all of them are
    /// multiplied by 683 lm/W.
    BlenderUnitless,
}

impl Units {
    /// The units of a name: `gltf`, `blender` or `blender-unitless`.
    pub fn of_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "gltf" => Some(Self::Gltf),
            "blender" => Some(Self::Blender),
            "blender-unitless" => Some(Self::BlenderUnitless),
            _ => None,
        }
    }

    /// What extras say, either flat (`radiosity_units`) or within `radiosity`.
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

    /// The factor on emission that gives cd/m2.
    pub fn emission_factor(self) -> f32 {
        match self {
            Self::Gltf => 1.0,
            Self::Blender | Self::BlenderUnitless => LUMENS_PER_WATT,
        }
    }

    /// The factor on lamps that gives candela and lux.
    pub fn lamp_factor(self) -> f32 {
        match self {
            Self::Gltf | Self::Blender => 1.0,
            Self::BlenderUnitless => LUMENS_PER_WATT,
        }
    }

    /// Brings a scene of these units to candela, lux and cd/m2.
    pub fn apply(self, scene: &mut Scene) {
        for material in &mut scene.materials {
            material.emission *= self.emission_factor();
        }
        for light in &mut scene.lights {
            *strength_mut(&mut light.kind) *= self.lamp_factor();
        }
    }
}

fn strength_mut(kind: &mut LightKind) -> &mut Vec3 {
    match kind {
        LightKind::Point { intensity, .. } | LightKind::Spot { intensity, .. } => intensity,
        LightKind::Directional { illuminance, .. } => illuminance,
        LightKind::Rectangle { radiance, .. } => radiance,
    }
}

/// Says when a file's lamps are implausibly strong beside its emissive surfaces.
pub fn compare(scene: &Scene, is_from_blender: bool) -> Option<Problem> {
    let brightest = |lights: &mut dyn Iterator<Item = (String, f32)>| -> Option<(String, f32)> {
        lights.filter(|(_, strength)| *strength > 0.0).max_by(|(_, a), (_, b)| a.total_cmp(b))
    };
    // A real sun outshines all emission; that of Blender's files has few watts.
    let is_lamp = |light: &&Light| is_from_blender || !matches!(light.kind, LightKind::Directional { .. });
    let lamps = scene.lights.iter().filter(is_lamp);
    let (lamp, candela) = brightest(&mut lamps.map(|light| (light.name.clone(), strength(light))))?;
    let shown = scene.surface_ids().filter(|&id| scene.surface(id).role != Role::Excluded);
    let glows = shown.map(|id| scene.material_of(id)).map(|glow| (glow.name.clone(), luminance(glow.emission)));
    let (material, radiance) = brightest(&mut glows.into_iter())?;
    let is_apart = candela > MAX_RATIO * radiance && (is_from_blender || radiance < MIN_LAMP_RADIANCE);
    is_apart.then_some(Problem::UnitsApart { lamp, candela, material, radiance })
}

/// Candela, or lux of the sun.
fn strength(light: &Light) -> f32 {
    let mut kind = light.kind;
    luminance(*strength_mut(&mut kind))
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
