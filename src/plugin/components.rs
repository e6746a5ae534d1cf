//! Components and settings of an app: what is baked, which levels are shown, and which cameras path trace.

use bevy::asset::AssetPath;
use bevy::camera::Hdr;
use bevy::ecs::system::SystemParam;
use bevy::prelude::*;

use super::assets::BakedLevelAsset;
use crate::scene::Role;

/// Role of the entity and its descendants in bakes.
///
/// The nearest role wins: that of the entity itself, then that of its parent, and so on. So a child may be lightmapped
/// below an excluded ancestor. A role goes before the `extras` of a glTF file. Without either:
///
/// | mesh | role |
/// | --- | --- |
/// | skinned or morphed; moved since it was loaded; moved by an animation of its file, unless it is unlit | [`Mover`](Self::Mover) |
/// | with an unlit material, or with `NotShadowCaster` | [`Excluded`](Self::Excluded) |
/// | any other | [`Lightmapped`](Self::Lightmapped) |
///
/// A hidden mesh is excluded whatever its role is.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, Hash, Reflect)]
#[reflect(Component, Debug, Clone, PartialEq, Hash)]
pub enum BakeRole {
    /// Baked at its current place, even if it has moved. It blocks and reflects light, and gets a lightmap.
    Lightmapped,
    /// Baked without a lightmap: it blocks and reflects light. Use it for objects that are too small or too many for
    /// texels.
    Occluder,
    /// Moves: bakes ignore it, and an irradiance volume lights it.
    Mover,
    /// Excluded from bakes and live views: it blocks and reflects no light, and gets no lightmap.
    Excluded,
}

/// Roles of entities, with those of their ancestors.
#[derive(SystemParam)]
pub(super) struct Roles<'w, 's> {
    parents: Query<'w, 's, &'static ChildOf>,
    roles: Query<'w, 's, &'static BakeRole>,
}

impl Roles<'_, '_> {
    /// Returns the role of the entity or of its nearest ancestor with one.
    pub fn of(&self, entity: Entity) -> Option<BakeRole> {
        let mut lineage = core::iter::once(entity).chain(self.parents.iter_ancestors(entity));
        lineage.find_map(|entity| self.roles.get(entity).ok()).copied()
    }
}

impl From<BakeRole> for Role {
    fn from(role: BakeRole) -> Self {
        match role {
            BakeRole::Lightmapped => Self::Static,
            BakeRole::Occluder => Self::Occluder,
            BakeRole::Mover => Self::Mover,
            BakeRole::Excluded => Self::Excluded,
        }
    }
}

/// Tints transmitted light by the base color, as stained glass does, for blended materials of the entity and its
/// descendants. `BakeTint(false)` undoes that below an ancestor.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakeTint(pub bool);

impl Default for BakeTint {
    fn default() -> Self {
        Self(true)
    }
}

/// Factor on the texel density of the entity and its descendants. Default 1.0.
///
/// 2.0 doubles the shadow resolution and takes four times the texels; 0.5 saves three quarters of them.
#[derive(Component, Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakeResolution(pub f32);

impl Default for BakeResolution {
    fn default() -> Self {
        Self(1.0)
    }
}

/// Stable name of a mesh or light, in place of the name from its file or its `Name`. It must be unique.
///
/// Set it on entities that code spawns, so that a baked level finds them in later runs.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakeId(pub String);

/// Interpretation of `StandardMaterial::emissive`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Default, Debug, Clone)]
pub enum EmissiveUnits {
    /// Bevy's own units: `emissive_exposure_weight` blends between an exposure-independent value and cd/m2.
    #[default]
    Bevy,
    /// Luminance in cd/m2, as in glTF files.
    Nits,
    /// Radiance in W/(m2 sr), at 683 lm/W. Blender's exporter writes it in its lighting mode *Standard*, which converts
    /// only lamps to candela and lux.
    Blender,
}

/// Light units and sky of the Bevy world.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Resource, Default, Debug, Clone)]
pub struct SceneSettings {
    /// Units of emissive colors. Default [`EmissiveUnits::Bevy`].
    pub emissive_units: EmissiveUnits,
    /// Exposure (EV100) for the conversion of [`EmissiveUnits::Bevy`] to cd/m2. Default 9.7, as in Blender. Use that of
    /// the camera that will show the level. A higher value makes emissive surfaces brighter.
    pub reference_ev100: f32,
    /// True takes the `Skybox` of a camera as a sky that emits light. Default true. A live view uses the skybox of its
    /// own camera, a bake that of the first camera with one. False leaves the sky dark.
    pub skybox_is_sky: bool,
    /// True takes Bevy's `GlobalAmbientLight` as a uniform sky, in place of any `Skybox`. Default false, since the
    /// resource always exists in Bevy.
    pub ambient_is_sky: bool,
    /// Angular diameter of directional lights without a `SunDisk`, in degrees. Default 0. Higher values soften shadows;
    /// that of the sun is 0.53.
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

/// Shows the lightmaps of a baked level. Spawn it before or after the level itself.
///
/// Removing it, or despawning its entity, removes the lightmaps and frees them. A level that is moved, turned or scaled
/// has it on its root entity, next to the `WorldAssetRoot`: the light of movers and relighting follow that entity. So does
/// each of several levels: surfaces, lamps and doors below the entity belong to its level alone.
///
/// ```no_run
/// # use bevy::prelude::*;
/// # use bevy_radiosity::prelude::*;
/// # fn setup(mut commands: Commands, assets: Res<AssetServer>) {
/// commands.spawn(BakedLevel::new(assets.load("level.baked/level.ron")));
/// # }
/// ```
#[derive(Component, Clone, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
#[require(Transform, Visibility)]
pub struct BakedLevel {
    /// The level: the `level.ron` in the output folder of the bake.
    pub level: Handle<BakedLevelAsset>,
    /// Asset path of the baked glTF file, or `builtin:NAME`. Relighting needs it. If set, a thread compares the file with
    /// the bake, and a warning says when the lightmaps are out of date. Default `None`.
    pub source: Option<AssetPath<'static>>,
}

impl BakedLevel {
    /// Creates the component for a level.
    pub fn new(level: Handle<BakedLevelAsset>) -> Self {
        Self { level, source: None }
    }

    /// Sets the asset path of the glTF file to compare with the bake.
    #[must_use]
    pub fn with_source(self, source: impl Into<AssetPath<'static>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }
}

/// Path traces the image of a camera live, in place of Bevy's rendering.
///
/// It shows the same scene as a bake, at its current state: meshes with a `StandardMaterial` and all of Bevy's lights,
/// on any GPU. It leaves out skinned and morphed meshes, excluded meshes, and meshes that cast no shadow.
///
/// Meshes that have moved once or are [`BakeRole::Mover`] are updated every frame. The first move
/// shows when a thread has rebuilt the scene, as does any other change. [`SceneStatus`](crate::plugin::SceneStatus)
/// reports rebuilds and moves with their times.
///
/// A scene without a sky shows the camera's clear color. It lights nothing.
///
/// The camera's `Exposure`, tonemapping, bloom and later effects apply to the image. [`LiveViewStatus`] reports its
/// progress.
#[derive(Component, Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
#[require(Hdr, LiveViewStatus)]
pub struct LiveView {
    /// False shows Bevy's rendering and frees the view's GPU resources. Default true.
    pub enabled: bool,
    /// Maximum number of bounces. Default 8. Higher values light deep corners; lower values are faster but darker.
    pub bounces: u32,
    /// Maximum samples per pixel, from 1 to 65,536, at which the GPU rests. Default 65,536. Higher values reduce noise.
    pub max_samples: u32,
    /// Traced pixels per pixel of the camera, along each side. Default 1. Lower values are faster but blurred; 0.5
    /// traces a quarter of the pixels.
    pub render_scale: f32,
    /// GPU time per frame for tracing, in milliseconds. Default 8. Higher values converge sooner; lower values keep the
    /// frame rate higher.
    pub frame_budget: f32,
    /// True filters the noise of images with few samples, less with more samples. Default true. False shows the
    /// unfiltered mean.
    pub filter: bool,
    /// True ends paths at reflected hits on surfaces whose lightmap is shown by
    /// [`Lightmaps`](crate::plugin::Lightmaps). Default false, which traces full paths.
    ///
    /// It is faster and less noisy, but has the bake's errors. Surfaces seen by reflection miss the light of lamps that
    /// were not baked, and mirrors show such surfaces as diffuse.
    pub ends_at_lightmaps: bool,
    /// Method that finds light. Default [`LiveIntegrator::Path`]. Another one starts a new image.
    pub integrator: LiveIntegrator,
    /// Quantity to draw. Default [`LiveChannel::Light`].
    pub channel: LiveChannel,
}

/// Integrator of a [`LiveView`], as `--integrator` of the command line.
///
/// A thread compiles the shaders of an integrator when a view first wants it. Until then the view shows paths from the
/// camera. So it does, with a warning, where an integrator is not to be had: only [`Self::Path`] has
/// [`LiveView::ends_at_lightmaps`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Reflect)]
#[reflect(Default, Debug, Clone, PartialEq, Hash)]
pub enum LiveIntegrator {
    /// Paths from the camera: all light. Best for most scenes, and the default. Light of small lamps behind glass and from
    /// mirrors stays noisy.
    #[default]
    Path,
    /// Paths from lights: all light but that seen in mirrors and glass, which are black. Best for caustics on diffuse
    /// surfaces.
    Light,
    /// Paths from lights, and paths from the camera for mirrors and glass: caustics, and what mirrors show. Best for rooms
    /// with mirrors, glass and small lamps. A sample costs more than one of [`Self::Path`].
    Hybrid,
    /// Whitted's method: mirrors, glass and shadows, without light between diffuse surfaces. Best for a picture with little
    /// noise at once. Each hit has a shadow ray to every light, so that it is slow with many lamps.
    Whitted,
}

impl LiveIntegrator {
    /// Returns true if paths from lights find light.
    pub(super) fn is_from_lights(self) -> bool {
        matches!(self, Self::Light | Self::Hybrid)
    }
}

/// Quantity that a [`LiveView`] draws. All channels except light bypass exposure and tonemapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Reflect)]
#[reflect(Default, Debug, Clone, PartialEq, Hash)]
pub enum LiveChannel {
    /// The path traced image. The default.
    #[default]
    Light,
    /// Albedo of the nearest surface, from 0 to 1. The sky is black.
    Albedo,
    /// Shading normal of the nearest surface in world space, with normal maps: -1 is black and 1 is white, along each
    /// axis.
    Normal,
    /// KD-tree nodes that a camera ray visits: 0 is blue, 64 is green, 128 and more is red.
    TreeCost,
    /// Relative standard error of the mean: 1 % and less is blue, 10 % is green, 100 % and more is red.
    Noise,
}

impl Default for LiveView {
    fn default() -> Self {
        Self {
            enabled: true,
            bounces: 8,
            max_samples: 65_536,
            render_scale: 1.0,
            frame_budget: 8.0,
            filter: true,
            ends_at_lightmaps: false,
            integrator: LiveIntegrator::default(),
            channel: LiveChannel::default(),
        }
    }
}

/// Progress of a [`LiveView`].
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct LiveViewStatus {
    /// Number of images started: one more after each move or change.
    pub pictures: u32,
    /// Samples per shown pixel. Zero while Bevy's rendering is shown.
    pub samples: u32,
    /// Integrator of the shown image.
    pub integrator: LiveIntegrator,
    /// Size of the shown image, in traced pixels. It is smaller than the camera's while things move.
    pub size: UVec2,
    /// GPU time of tracing per frame, in milliseconds. Zero where the GPU has no timestamps.
    pub frame_milliseconds: f32,
    /// Paths traced per second. Zero where the GPU has no timestamps.
    pub paths_per_second: f32,
}
