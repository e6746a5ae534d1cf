//! How an app refines what is baked, and how.

use bevy::prelude::*;

/// The entity and its descendants do not exist for the bake: they cast no light or shadow and get no lightmap.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakeExclude;

/// The entity and its descendants cast and reflect light but get no lightmap: things too small or too many for texels.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakeOccluder;

/// The entity and its descendants move: they are no part of the bake, and an irradiance volume lights them.
///
/// Skinned and morphed meshes, what the animations of a glTF file move, and whatever has moved since it was loaded, are
/// movers without being told.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakeMover;

/// The entity and its descendants are baked where they stand, even if they moved.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakeStatic;

/// Where the entity and its descendants are blended, they tint the light that they let through by their base color, as
/// stained glass does; `BakeTint(false)` takes that back below an ancestor that asks for it.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakeTint(pub bool);

impl Default for BakeTint {
    fn default() -> Self {
        Self(true)
    }
}

/// Factor on the bake's texel density for the entity and its descendants.
///
/// 2.0 shows shadows twice as fine and takes four times the texels; 0.5 saves three quarters of them.
#[derive(Component, Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakeResolution(pub f32);

impl Default for BakeResolution {
    fn default() -> Self {
        Self(1.0)
    }
}

/// Names a mesh entity across runs, in place of the key that is made from its file, node path and primitive.
///
/// Worth setting on entities that code spawns, so that a baked level finds them again. It must be unique.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakeId(pub String);

/// How `StandardMaterial::emissive` is understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Default, Debug, Clone)]
pub enum EmissiveUnits {
    /// As Bevy draws it: `emissive_exposure_weight` blends between a value that exposure does not touch and cd/m2.
    #[default]
    Bevy,
    /// The colour is cd/m2, as in glTF files.
    Nits,
    /// The colour is W/(m2 sr), as Blender's exporter leaves it in its lighting mode *Standard*, which turns lamps alone
    /// into candela and lux: each watt counts as 683 lm.
    Blender,
}

/// What counts as light when the Bevy world is read.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Resource, Default, Debug, Clone)]
pub struct SceneSettings {
    /// How emissive colours are understood.
    pub emissive_units: EmissiveUnits,
    /// The exposure (EV100) for which [`EmissiveUnits::Bevy`] computes cd/m2: that of the camera which will look at the
    /// level. A higher value makes emissive surfaces brighter.
    pub reference_ev100: f32,
    /// True takes the `Skybox` of a camera for the sky, which is seen and sheds light: in live views that of their own
    /// camera, in bakes that of the first camera that has one. False leaves the sky dark.
    pub skybox_is_sky: bool,
    /// True takes Bevy's `GlobalAmbientLight` for a uniform sky, in place of any `Skybox`. It always exists in Bevy, so it
    /// has to be asked for.
    pub ambient_is_sky: bool,
    /// Angle in degrees that directional lights without a `SunDisk` span in the sky. A larger one softens shadows;
    /// the sun's is 0.53.
    pub sun_diameter_degrees: f32,
}

impl Default for SceneSettings {
    fn default() -> Self {
        Self {
            emissive_units: EmissiveUnits::default(),
            reference_ev100: bevy::camera::Exposure::EV100_BLENDER,
            skybox_is_sky: true,
            ambient_is_sky: false,
            sun_diameter_degrees: 0.0,
        }
    }
}
