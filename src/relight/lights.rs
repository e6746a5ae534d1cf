//! Current lights, and their match to baked lights.

use std::sync::Arc;

use glam::Vec3;

use crate::geometry::SurfaceId;
use crate::lights::OneLight;
use crate::low_rank::BakedLightId;
use crate::scene::{Light, LightKind, Material, MaterialId, Scene, Sky, encode_srgb};

/// Relative tolerance for matching a light to its baked state. It covers rounding by files and transforms.
const ROUNDING: f32 = 1e-3;

/// Range that Bevy's glTF loader gives a light without one, in meters.
const RANGE_BY_LOADER: f32 = 20.0;

/// Current state of a light that is not a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveLight {
    /// Identifier that is unique during the lifetime of the light.
    pub id: u64,
    /// Shape and strength. The strength is zero for a light that is off.
    pub light: Light,
    /// If true, a baked light keeps its baked state, and another light adds no indirect light.
    pub is_excluded: bool,
}

/// Current state of an emissive surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LivePanel {
    /// Surface of the baked scene.
    pub surface: SurfaceId,
    /// Emission of its material without the texture, in cd/m2.
    pub emission: Vec3,
}

/// Geometry of a light, at unit strength.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A lamp.
    Lamp(LightKind),
    /// A surface of the baked scene.
    Panel(SurfaceId),
}

/// Light as [`Relighter`](super::Relighter) stores it: geometry, and a strength that scales its irradiance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emitter {
    pub shape: Shape,
    pub strength: Vec3,
}

impl Emitter {
    pub fn lamp(kind: LightKind) -> Self {
        let mut shape = kind;
        let strength = core::mem::replace(shape.strength_mut(), Vec3::ONE);
        Self { shape: Shape::Lamp(shape), strength }
    }

    pub fn panel(panel: LivePanel) -> Self {
        Self { shape: Shape::Panel(panel.surface), strength: panel.emission }
    }

    /// Returns the light of a file that Bevy's glTF loader spawns as this light: it takes the linear color for an sRGB one,
    /// and a lamp without range gets 20 m. `baked` tells whether the file has a range. The largest channel of the color
    /// counts as one. A panel stays as it is.
    pub fn in_file(&self, baked: &Self) -> Self {
        let mut file = *self;
        let Shape::Lamp(kind) = &mut file.shape else { return file };
        let is_endless = match baked.shape {
            Shape::Lamp(LightKind::Point { range, .. } | LightKind::Spot { range, .. }) => range == f32::INFINITY,
            Shape::Lamp(_) | Shape::Panel(_) => false,
        };
        if let LightKind::Point { range, .. } | LightKind::Spot { range, .. } = kind
            && *range == RANGE_BY_LOADER
            && is_endless
        {
            *range = f32::INFINITY;
        }
        let largest = self.strength.max_element();
        if largest > 0.0 && largest.is_finite() {
            file.strength = (self.strength / largest).to_array().map(encode_srgb).into();
            file.strength *= largest;
        }
        file
    }

    /// Returns true when both lights are equal up to rounding.
    pub fn is_nearly(&self, other: &Self) -> bool {
        self.snapped_to(other) == *other
    }

    /// Returns this light with the shape and the strength of another one, where only rounding tells them apart.
    pub fn snapped_to(&self, other: &Self) -> Self {
        // A strength is compared relative to its own largest channel.
        let scale = self.strength.abs().max_element().max(other.strength.abs().max_element());
        let is_as_strong = self.strength.abs_diff_eq(other.strength, ROUNDING * scale);
        Self {
            shape: if self.shape.is_nearly(&other.shape) { other.shape } else { self.shape },
            strength: if is_as_strong { other.strength } else { self.strength },
        }
    }

    /// Returns true when both are lamps of one kind.
    pub fn is_alike(&self, other: &Self) -> bool {
        match (self.shape, other.shape) {
            (Shape::Lamp(a), Shape::Lamp(b)) => core::mem::discriminant(&a) == core::mem::discriminant(&b),
            _ => false,
        }
    }
}

impl Shape {
    fn is_nearly(&self, other: &Self) -> bool {
        let is_near = |(a, b): (f32, f32)| a == b || (a - b).abs() <= ROUNDING * (1.0 + a.abs().max(b.abs()));
        match (self, other) {
            (Self::Lamp(a), Self::Lamp(b)) => {
                let ((kind, of_a), (other, of_b)) = (numbers(a), numbers(b));
                kind == other && of_a.into_iter().zip(of_b).all(is_near)
            }
            (a, b) => a == b,
        }
    }

    /// Returns the sampler of its light. `lit` is the baked scene with unit emission; see [`lit`].
    pub fn sampler<'a>(&self, lit: &'a Scene) -> Option<OneLight<'a>> {
        match self {
            Self::Lamp(kind) => OneLight::of_kind(lit, kind),
            Self::Panel(surface) => OneLight::of_surface(lit, *surface),
        }
    }

    /// Returns its approximate luminous flux into the scene, in lumens.
    pub fn power(&self, scene: &Scene) -> f32 {
        self.sampler(scene).map_or(0.0, |light| light.power())
    }

    /// Returns true when visibility varies over the light, so that one shadow ray is not enough.
    pub fn has_extent(&self) -> bool {
        match *self {
            Self::Lamp(LightKind::Point { radius, .. } | LightKind::Spot { radius, .. }) => radius > 0.0,
            Self::Lamp(LightKind::Directional { angular_diameter, .. }) => angular_diameter > 0.0,
            Self::Lamp(LightKind::Rectangle { .. }) | Self::Panel(_) => true,
        }
    }
}

/// Returns the names and states of all baked lights except the sky: lamps in the order of the scene, then surfaces.
pub fn baked_lights(scene: &Scene) -> Vec<(String, Emitter)> {
    let lamps = scene.lights.iter().map(|light| (light.name.clone(), Emitter::lamp(light.kind)));
    let panels = scene.surface_ids().filter(|&id| scene.surface(id).is_in_bake()).filter_map(|surface| {
        let emission = scene.material_of(surface).emission;
        let panel = Emitter::panel(LivePanel { surface, emission });
        (emission != Vec3::ZERO).then(|| (scene.surface(surface).key.0.clone(), panel))
    });
    lamps.chain(panels).collect()
}

/// Returns a copy of the scene that one light alone lights, at unit strength.
pub fn lit_by_one(scene: &Scene, shape: &Shape) -> Scene {
    let mut lit = Scene { lights: Vec::new(), sky: Sky::Dark, ..scene.clone() };
    lit.materials.iter_mut().for_each(|material| material.emission = Vec3::ZERO);
    match *shape {
        Shape::Lamp(kind) => lit.lights.push(Light { name: String::new(), kind }),
        Shape::Panel(surface) => set_emission(&mut lit, surface, Vec3::ONE),
    }
    lit
}

/// Returns a copy of the scene without some of the lights that [`baked_lights`] lists.
pub fn lit_by_others(scene: &Scene, lights: &[(String, Emitter)], without: &[BakedLightId]) -> Scene {
    let mut lit = scene.clone();
    for id in without {
        match lights[id.index()].1.shape {
            // Each lamp keeps its place in the list.
            Shape::Lamp(_) => lit.lights[id.index()].kind = switched_off(lit.lights[id.index()].kind),
            Shape::Panel(surface) => set_emission(&mut lit, surface, Vec3::ZERO),
        }
    }
    lit
}

/// Gives a surface a material of its own with another emission.
fn set_emission(scene: &mut Scene, surface: SurfaceId, emission: Vec3) {
    let material = Material { emission, ..scene.material_of(surface).clone() };
    scene.surfaces[surface.index()].material = MaterialId::from_index(scene.materials.len());
    scene.materials.push(material);
}

/// Returns a copy of the scene in which all materials have unit emission.
pub fn lit(scene: &Scene) -> Arc<Scene> {
    let mut lit = scene.clone();
    lit.materials.iter_mut().for_each(|material| material.emission = Vec3::ONE);
    Arc::new(lit)
}

/// Returns a copy of a light with zero strength.
pub fn switched_off(mut kind: LightKind) -> LightKind {
    *kind.strength_mut() = Vec3::ZERO;
    kind
}

/// Returns the kind, and all parameters except the strength.
fn numbers(kind: &LightKind) -> (core::mem::Discriminant<LightKind>, Vec<f32>) {
    let of = |vectors: &[Vec3], rest: &[f32]| {
        vectors.iter().flat_map(|vector| vector.to_array()).chain(rest.iter().copied()).collect()
    };
    let numbers = match *kind {
        LightKind::Point { position, radius, range, .. } => of(&[position], &[radius, range]),
        LightKind::Spot { position, direction, radius, range, inner_angle, outer_angle, .. } => {
            of(&[position, direction], &[radius, range, inner_angle, outer_angle])
        }
        LightKind::Directional { direction, angular_diameter, .. } => of(&[direction], &[angular_diameter]),
        LightKind::Rectangle { center, half_width, half_height, normal, .. } => {
            of(&[center, half_width, half_height, normal], &[])
        }
    };
    (core::mem::discriminant(kind), numbers)
}

/// Returns the name of a light without the quotation marks of messages.
pub fn plain(name: &str) -> &str {
    name.trim_matches('\'')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::check::fault_of_light;

    fn lamp(x: f32, candela: f32) -> Emitter {
        let position = Vec3::new(x, 2.0, 0.0);
        Emitter::lamp(LightKind::Point { position, intensity: Vec3::splat(candela), radius: 0.0, range: 20.0 })
    }

    #[test]
    fn shape_and_strength_are_told_apart() {
        assert_eq!(lamp(1.0, 100.0).shape, lamp(1.0, 50.0).shape);
        assert_ne!(lamp(1.0, 100.0).shape, lamp(1.1, 100.0).shape);
        assert_eq!(lamp(1.0, 100.0).strength, Vec3::splat(100.0));
    }

    #[test]
    fn rounding_is_no_change_and_a_centimeter_is() {
        assert!(lamp(1.0, 100.0).is_nearly(&lamp(1.000_01, 100.01)));
        assert!(!lamp(1.0, 100.0).is_nearly(&lamp(1.01, 100.0)));
        assert!(!lamp(1.0, 0.01).is_nearly(&lamp(1.0, 0.011)), "weak lamps too");
    }

    #[test]
    fn what_cannot_be_is_said() {
        let faulty = |candela| {
            fault_of_light(&LightKind::Point {
                position: Vec3::ZERO,
                intensity: Vec3::splat(candela),
                radius: 0.0,
                range: 1.0,
            })
        };
        assert!(faulty(f32::NAN).is_some() && faulty(-1.0).is_some() && faulty(1e30).is_some());
        assert_eq!(faulty(1e6), None);
    }
}
