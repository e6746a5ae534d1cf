//! Shared state of the plugins, as plain data: lightmaps, lights and pages that the app shows, and their source.
//!
//! Each level has components of its own: [`Pages`], [`LitLights`], [`TexelValidity`] and [`LevelFrame`] on the entity of
//! its [`BakedLevel`], or on an entity of ours for a bake of the app. Its surfaces refer to it by [`Baked::level`].
//!
//! `write_back` sets what it has attached. `sync`, `relight`, `level` and `overlay` read it, so that `sync` and
//! `write_back` do not depend on each other.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bevy::ecs::query::QueryData;
use bevy::ecs::system::SystemParam;
use bevy::math::Affine3A;
use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;

use super::assets::ReadLevel;
use super::components::BakedLevel;
use crate::geometry::SurfaceId;
use crate::lightmap::{Page, PageFormat, PageSize};
use crate::relight;

/// Marks a mesh entity with a lightmap, whether or not it is shown.
#[derive(Component, Clone, Debug, Reflect)]
#[reflect(Component, Debug, Clone)]
pub struct Baked {
    /// Entity with the [`BakedLevel`]. For a bake of the app, an entity that the plugin has spawned.
    pub level: Entity,
    /// The app's mesh.
    pub original: Handle<Mesh>,
    /// Our copy of it, with lightmap coordinates.
    pub mesh: Handle<Mesh>,
    /// Image of its page.
    pub image: Handle<Image>,
    /// UV rectangle on the page, in 0..1.
    pub uv_rect: Rect,
    /// True if the page's charts are far enough apart for bicubic filtering.
    pub allows_bicubic: bool,
}

/// Copy of the app's material on an entity whose baked light requires a change.
#[derive(Component, Clone, Debug, PartialEq, Eq)]
pub struct StandInMaterial {
    /// The app's material.
    pub original: Handle<StandardMaterial>,
    /// The stand-in.
    pub shown: Handle<StandardMaterial>,
}

/// Material that an entity shows.
#[derive(QueryData)]
pub struct ShownMaterial {
    shown: &'static MeshMaterial3d<StandardMaterial>,
    stand_in: Option<&'static StandInMaterial>,
}

impl ShownMaterialItem<'_, '_> {
    /// Returns the material that is drawn.
    pub fn shown(&self) -> &Handle<StandardMaterial> {
        &self.shown.0
    }

    /// Returns the stand-in, unless the app has replaced it.
    pub fn stand_in(&self) -> Option<&StandInMaterial> {
        self.stand_in.filter(|stand_in| stand_in.shown == self.shown.0)
    }

    /// Returns the app's material.
    pub fn original(&self) -> &Handle<StandardMaterial> {
        self.stand_in().map_or(&self.shown.0, |stand_in| &stand_in.original)
    }
}

/// Marks a light with direct light in the lightmaps. It does not light lightmapped meshes while they are shown.
///
/// Bakes add it to their lights, and baked levels to the lights that they find in the app. An app may add it to a light
/// that was not found, and remove it from one that shall light the level as Bevy does. A new bake or level replaces only marks of earlier ones.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
pub struct BakedLight;

/// Flag of a light that is, or was, silenced for lightmapped meshes.
#[derive(Component, Clone, Copy, Debug)]
pub struct SilencedLight {
    /// The app's value of `affects_lightmapped_mesh_diffuse`.
    pub affected_lightmapped: bool,
    /// True while the light does not affect lightmapped meshes.
    pub is_silenced: bool,
}

/// Marks the entity of a bake's irradiance volume.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakedVolume;

/// Marks the entity of the app's own bake. There is at most one.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct AppBake;

/// Pages of a level with attached lightmaps.
#[derive(Component, Clone, Default)]
pub struct Pages {
    /// Image of each page.
    pub images: Vec<Handle<Image>>,
    /// True if their charts are far enough apart for bicubic filtering.
    pub allow_bicubic: bool,
}

/// Direct light in the pages of a level. [`BakedLight`] marks the lights.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LitLights {
    /// True if Bevy's global ambient light is in the pages.
    pub ambient: bool,
    /// True if the pages hold direct light.
    pub is_direct: bool,
}

/// Place of a shown level. It follows the entity of its [`BakedLevel`], whereas bakes of the app stay.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
pub struct LevelFrame {
    /// Entity of the level. `None` for a bake of the app.
    pub root: Option<Entity>,
    /// Transform of this entity at the time of the bake.
    pub of_bake: Affine3A,
    /// Transform of this entity when the lightmaps were attached.
    pub at_attach: Affine3A,
    /// Present transform of this entity.
    pub now: Affine3A,
}

impl LevelFrame {
    /// Returns true if the level is where it was baked.
    pub fn is_at_rest(&self) -> bool {
        self.now == self.of_bake
    }

    /// Returns the transform from the bake to the world.
    pub fn bake_to_world(&self) -> Affine3A {
        if self.is_at_rest() { Affine3A::IDENTITY } else { self.now * self.of_bake.inverse() }
    }

    /// Returns the present transform of a part of the level, from its transform when the lightmaps were attached.
    pub fn carried(&self, at_attach: &GlobalTransform) -> Affine3A {
        self.now * self.at_attach.inverse() * at_attach.affine()
    }
}

/// Returns true if two transforms are equal, apart from rounding.
pub fn are_near(a: &Affine3A, b: &Affine3A) -> bool {
    /// Relative tolerance.
    const ROUNDING: f32 = 1e-4;
    a.abs_diff_eq(*b, ROUNDING * (1.0 + a.translation.abs().max_element()))
}

/// Reader of places in levels that may have moved as a whole.
#[derive(SystemParam)]
pub struct LevelPlaces<'w, 's> {
    parents: Query<'w, 's, &'static ChildOf>,
    transforms: Query<'w, 's, &'static Transform>,
    levels: Query<'w, 's, (), With<BakedLevel>>,
}

impl LevelPlaces<'_, '_> {
    /// Returns true if an entity is below the entity of another level, and not below that of this one.
    pub fn is_elsewhere(&self, entity: Entity, level: Entity) -> bool {
        let mut above = self.parents.iter_ancestors(entity).filter(|&ancestor| self.levels.contains(ancestor));
        above.next().is_some_and(|nearest| nearest != level && above.all(|ancestor| ancestor != level))
    }

    /// Returns the transform that an entity would have if the level were where it was baked.
    ///
    /// The transform of a descendant of the level does not depend on the level's place, not even by rounding.
    pub fn in_level(&self, entity: Entity, to_world: &GlobalTransform, frame: &LevelFrame) -> GlobalTransform {
        if frame.is_at_rest() {
            return *to_world;
        }
        let mut lineage = vec![entity];
        lineage.extend(self.parents.iter_ancestors(entity).take_while(|&ancestor| Some(ancestor) != frame.root));
        let outermost = lineage.last().and_then(|&outermost| self.parents.get(outermost).ok()).map(ChildOf::parent);
        let in_level = if outermost.is_some() && outermost == frame.root {
            let locals = lineage.iter().rev().filter_map(|&entity| self.transforms.get(entity).ok());
            locals.fold(frame.of_bake, |place, local| place * local.compute_affine())
        } else {
            frame.bake_to_world().inverse() * to_world.affine()
        };
        GlobalTransform::from(in_level)
    }
}

/// Lamps whose direct light was removed from the pages of a level.
#[derive(Component, Clone, Debug, Default, PartialEq)]
pub struct RemovedFromLightmaps(pub HashSet<Entity>);

/// Validity of the texels of a level's pages. Empty if unknown.
#[derive(Component, Clone, Default)]
pub struct TexelValidity(pub Vec<Arc<PageValidity>>);

/// Validity of one page.
pub struct PageValidity {
    pub(super) size: UVec2,
    /// Validity from 0 for none to 255 for all, rows from the top.
    pub(super) texels: Vec<u8>,
}

impl PageValidity {
    /// Creates the validity of a page: one byte per texel, from 0 for none to 255 for all, rows from the top.
    pub fn new(size: PageSize, texels: Vec<u8>) -> Self {
        Self { size: UVec2::new(size.width, size.height), texels }
    }
}

impl From<&Page> for PageValidity {
    fn from(page: &Page) -> Self {
        Self::new(PageSize { width: page.width, height: page.height }, page.validity_bytes())
    }
}

/// Source of new lightmaps, for relighting to take.
#[derive(Component)]
pub enum RelightOrigin {
    /// The lightmaps are a preview, or have left the level.
    Gone,
    /// The lightmaps cannot be relit, for this reason.
    Static(String),
    /// A bake of this app.
    Bake(Box<RelightLevel>),
    /// A level that was baked before, and its files as shown.
    Files(BakedLevel, Arc<ReadLevel>),
}

/// Present while relighting takes each [`RelightOrigin`].
#[derive(Resource)]
pub struct TakesRelightOrigins;

impl RelightOrigin {
    /// Sets the source of a level's lightmaps. Without relighting nobody would take it, so it is dropped.
    pub fn set(self, world: &mut World, level: Entity) {
        if world.contains_resource::<TakesRelightOrigins>()
            && let Ok(mut level) = world.get_entity_mut(level)
        {
            level.insert(self);
        }
    }
}

/// Level to relight, with the mapping to its pages and entities.
pub struct RelightLevel {
    pub level: relight::RelightInput,
    pub format: PageFormat,
    /// Page and UV rectangle of each surface.
    pub places: Vec<(usize, Rect, SurfaceId)>,
    /// Entity of each surface, where it is known.
    pub owners: HashMap<SurfaceId, Entity>,
    /// True if emissive colors have the same units as in this world, since the bake read them from it.
    pub has_own_units: bool,
    /// Value of [`RelightStatus::transport_error`](super::RelightStatus::transport_error).
    pub error: f32,
}
