//! Conversion of the Bevy world to a [`Scene`].

mod assembly;

use std::collections::{BTreeSet, HashMap, HashSet};

use bevy::asset::UntypedAssetId;
use bevy::ecs::query::QueryData;
use bevy::ecs::system::SystemParam;
use bevy::light::{
    DirectionalLight, EnvironmentMapLight, GeneratedEnvironmentMapLight, NotShadowCaster, PointLight, RectLight,
    Skybox, SpotLight, SunDisk,
};
use bevy::mesh::skinning::SkinnedMesh;
use bevy::pbr::{Lightmap, MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;

use super::cache::AssetCache;
#[cfg(feature = "gltf")]
use super::extras::FileExtras;
#[cfg(feature = "gltf")]
use super::file_nodes::AnimatedInFile;
use super::key::Names;
use super::movers::{Moved, RestPose};
use crate::plugin::components::*;
use crate::plugin::convert;
use crate::plugin::state::{Baked, LevelFrame, LevelPlaces, LitLights, ShownMaterial};
use crate::scene::{LightKind, Problem, Role, Scene, SurfaceKey};
use crate::scene_files::{Overrides, Units};

/// Scene with the entities and assets that it was read from.
#[derive(Clone, Debug, Default)]
pub struct WorldScene {
    /// Converted scene.
    pub scene: Scene,
    /// Entity and source mesh of each surface, by key.
    pub surfaces: HashMap<SurfaceKey, (Entity, Handle<Mesh>)>,
    /// Entities of the scene's lights, and of cameras whose environment map repeats the scene's sky.
    pub lights: Vec<Entity>,
    /// All source assets, including those that are not loaded.
    pub assets: HashSet<UntypedAssetId>,
    /// Messages about what was left out or could not be read.
    pub warnings: Vec<String>,
}

/// Purpose of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A bake, which leaves out movers.
    Bake,
    /// A live view of the current world.
    View,
}

/// Mesh entity with the components that a reading needs.
#[derive(QueryData)]
pub struct SurfaceEntity {
    entity: Entity,
    mesh: &'static Mesh3d,
    material: ShownMaterial,
    transform: &'static GlobalTransform,
    visibility: Option<&'static InheritedVisibility>,
    baked: Option<&'static Baked>,
    lightmap: Option<&'static Lightmap>,
    is_skinned: Has<SkinnedMesh>,
    has_moved: Has<Moved>,
    rest: Option<&'static RestPose>,
    casts_no_shadow: Has<NotShadowCaster>,
}

impl SurfaceEntityItem<'_, '_> {
    /// Returns the app's mesh rather than our unwrapped copy.
    fn source_mesh(&self) -> &Handle<Mesh> {
        match self.baked {
            Some(baked) if baked.mesh == self.mesh.0 => &baked.original,
            _ => &self.mesh.0,
        }
    }

    /// Returns the app's material.
    fn source_material(&self) -> AssetId<StandardMaterial> {
        self.material.original().id()
    }

    /// Returns the lightmap image and its UV rectangle, if the entity shows our lightmap on our mesh copy.
    fn shown_light(&self) -> Option<(AssetId<Image>, Rect)> {
        let (baked, lightmap) = (self.baked?, self.lightmap?);
        let is_ours = baked.mesh == self.mesh.0 && baked.image == lightmap.image && !self.has_moved;
        is_ours.then(|| (lightmap.image.id(), lightmap.uv_rect))
    }
}

/// Reader of bake settings: components of an entity and its ancestors, then the extras of its file.
#[derive(SystemParam)]
pub struct BakeOverrides<'w, 's> {
    parents: Query<'w, 's, &'static ChildOf>,
    roles: Roles<'w, 's>,
    resolutions: Query<'w, 's, &'static BakeResolution>,
    tints: Query<'w, 's, &'static BakeTint>,
    #[cfg(feature = "gltf")]
    extras: FileExtras<'w, 's>,
    #[cfg(feature = "gltf")]
    animated: Query<'w, 's, &'static AnimatedInFile>,
}

impl BakeOverrides<'_, '_> {
    fn lineage(&self, entity: Entity) -> impl Iterator<Item = Entity> + '_ {
        core::iter::once(entity).chain(self.parents.iter_ancestors(entity))
    }

    /// Returns the settings of an entity. Invalid extras are added to the warnings.
    fn of(&self, entity: Entity, warnings: &mut Vec<Problem>) -> Overrides {
        let of_entity = Overrides {
            role: self.roles.of(entity).map(Role::from),
            density: self.density_scale(entity),
            tint: self.lineage(entity).find_map(|entity| self.tints.get(entity).ok()).map(|tint| tint.0),
            ..Overrides::default()
        };
        of_entity.or(self.by_file(entity, warnings))
    }

    #[cfg(feature = "gltf")]
    fn by_file(&self, entity: Entity, warnings: &mut Vec<Problem>) -> Overrides {
        self.extras.of(entity, warnings)
    }

    #[cfg(not(feature = "gltf"))]
    fn by_file(&self, _: Entity, _: &mut Vec<Problem>) -> Overrides {
        Overrides::default()
    }

    /// Returns the units of lamps and emission that the entity's file declares.
    #[cfg(feature = "gltf")]
    fn units(&self, entity: Entity, warnings: &mut Vec<Problem>) -> Option<Units> {
        self.extras.units(entity, warnings)
    }

    #[cfg(not(feature = "gltf"))]
    fn units(&self, _: Entity, _: &mut Vec<Problem>) -> Option<Units> {
        None
    }

    /// Returns the name of the file's animation that moves an entity.
    #[cfg(feature = "gltf")]
    fn animation(&self, entity: Entity) -> Option<&str> {
        self.lineage(entity).find_map(|entity| self.animated.get(entity).ok()).map(|animated| animated.0.as_str())
    }

    #[cfg(not(feature = "gltf"))]
    fn animation(&self, _: Entity) -> Option<&str> {
        None
    }

    fn density_scale(&self, entity: Entity) -> Option<f32> {
        self.lineage(entity).find_map(|entity| self.resolutions.get(entity).ok()).map(|resolution| resolution.0)
    }
}

/// Query for lights of a kind: entity, light, transform and visibility.
type Lights<'w, 's, L, Extra = ()> =
    Query<'w, 's, (Entity, &'static L, &'static GlobalTransform, Option<&'static InheritedVisibility>, Extra)>;

/// Camera with a skybox.
#[derive(QueryData)]
struct SkyCamera {
    entity: Entity,
    camera: &'static Camera,
    skybox: &'static Skybox,
    live: Option<&'static LiveView>,
}

/// Query for cameras with a skybox and an environment map light.
type LitCameras<'w, 's> = Query<
    'w,
    's,
    Entity,
    (With<Camera>, With<Skybox>, Or<(With<EnvironmentMapLight>, With<GeneratedEnvironmentMapLight>)>),
>;

/// Reader of the Bevy world.
#[derive(SystemParam)]
pub struct SceneReader<'w, 's> {
    surfaces: Query<'w, 's, SurfaceEntity>,
    unsupported_meshes: Query<'w, 's, Entity, (With<Mesh3d>, Without<MeshMaterial3d<StandardMaterial>>)>,
    points: Lights<'w, 's, PointLight>,
    spots: Lights<'w, 's, SpotLight>,
    suns: Lights<'w, 's, DirectionalLight, Option<&'static SunDisk>>,
    rectangles: Lights<'w, 's, RectLight>,
    sky_cameras: Query<'w, 's, SkyCamera>,
    views: Query<'w, 's, &'static LiveView>,
    lit_lights: Query<'w, 's, &'static LitLights>,
    lit_cameras: LitCameras<'w, 's>,
    ambient: Option<Res<'w, GlobalAmbientLight>>,
    overrides: BakeOverrides<'w, 's>,
    names: Names<'w, 's>,
    places: LevelPlaces<'w, 's>,
    assets: Res<'w, AssetServer>,
    meshes: Res<'w, Assets<Mesh>>,
    images: Res<'w, Assets<Image>>,
    materials: Res<'w, Assets<StandardMaterial>>,
    settings: Res<'w, SceneSettings>,
}

/// Light of the Bevy world.
pub struct FoundLight {
    pub entity: Entity,
    /// Name, or its kind if it has none. It is equal in all runs.
    pub name: String,
    pub kind: LightKind,
    pub is_hidden: bool,
    /// True if a file's animation moves it, so that a bake leaves it out.
    pub is_animated: bool,
}

/// Reason why a surface is no part of a bake: its material, or the animation of its file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    Unlit(String),
    Animated(String),
}

/// Asset that a scene needs.
#[derive(Clone, Copy, Debug)]
pub enum Needed {
    /// Triangles of a mesh.
    Mesh(AssetId<Mesh>),
    /// Texture of a material, or a lightmap.
    Texture(AssetId<Image>),
    /// Cube map of a sky.
    Sky(AssetId<Image>),
}

impl SceneReader<'_, '_> {
    /// Returns every asset that the scene needs.
    pub fn needed(&self, purpose: Purpose) -> Vec<Needed> {
        let mut meshes = BTreeSet::new();
        let mut materials = BTreeSet::new();
        let mut pages = BTreeSet::new();
        let shows_lightmaps = self.shows_lightmaps(purpose);
        for surface in &self.surfaces {
            let overrides = self.overrides.of(surface.entity, &mut Vec::new());
            if self.role(&surface, &overrides) != Role::Excluded {
                meshes.insert(surface.source_mesh().id());
                materials.insert(surface.source_material());
                if let Some((page, _)) = surface.shown_light().filter(|_| shows_lightmaps) {
                    meshes.insert(surface.mesh.0.id());
                    materials.insert(surface.material.shown().id());
                    pages.insert(page);
                }
            }
        }
        let images: BTreeSet<AssetId<Image>> = materials
            .into_iter()
            .filter_map(|id| self.materials.get(id))
            .flat_map(|material| convert::pictures_of(material, purpose == Purpose::View))
            .flatten()
            .map(|picture| picture.image.id())
            .collect();
        let sky = self.skyboxes(purpose).first().and_then(|(_, skybox)| skybox.image.as_ref());
        let pictures =
            images.into_iter().chain(pages).map(Needed::Texture).chain(sky.map(|image| Needed::Sky(image.id())));
        meshes.into_iter().map(Needed::Mesh).chain(pictures).collect()
    }

    /// Returns true if paths of a view may end at lightmaps.
    fn shows_lightmaps(&self, purpose: Purpose) -> bool {
        purpose == Purpose::View && self.views.iter().any(|view| view.enabled && view.ends_at_lightmaps)
    }

    /// Returns the skyboxes of cameras, by camera order. The first is the scene's sky.
    fn skyboxes(&self, purpose: Purpose) -> Vec<(Entity, &Skybox)> {
        if !self.settings.skybox_is_sky || self.has_baked_ambient() {
            return Vec::new();
        }
        let is_asked = |camera: &SkyCameraItem<'_, '_>| {
            let is_live = camera.live.is_some_and(|live| live.enabled);
            camera.skybox.image.is_some() && (purpose == Purpose::Bake || is_live)
        };
        let mut cameras: Vec<_> = self.sky_cameras.iter().filter(is_asked).collect();
        cameras.sort_by_key(|camera| (camera.camera.order, camera.entity));
        cameras.into_iter().map(|camera| (camera.entity, camera.skybox)).collect()
    }

    /// Returns true when the scene's sky is Bevy's ambient light.
    pub fn has_baked_ambient(&self) -> bool {
        self.settings.ambient_is_sky && self.ambient.is_some()
    }

    /// Converts one asset into the cache. Returns whether it was converted, or `None` while it is loading.
    pub fn read(&self, needed: Needed, cache: &mut AssetCache) -> Option<bool> {
        let (id, is_there): (UntypedAssetId, bool) = match needed {
            Needed::Mesh(id) => (id.untyped(), self.meshes.contains(id)),
            Needed::Texture(id) | Needed::Sky(id) => (id.untyped(), self.images.contains(id)),
        };
        if !is_there {
            let is_loading = self.assets.get_load_state(id).is_some_and(|state| state.is_loading());
            return (!is_loading).then_some(false);
        }
        Some(match needed {
            Needed::Mesh(id) => cache.read_mesh(id, || self.asset_name(id), &self.meshes),
            Needed::Texture(id) => cache.read_texture(id, || self.asset_name(id), &self.images),
            Needed::Sky(id) => cache.read_sky(id, || self.asset_name(id), &self.images),
        })
    }

    /// Returns the cameras whose environment map repeats their sky.
    pub fn lit_cameras(&self) -> impl Iterator<Item = Entity> {
        self.lit_cameras.iter()
    }

    /// Returns all lights that are not excluded from bakes, including hidden ones, at their places in a level.
    pub fn lights(&self, frame: &LevelFrame) -> Vec<FoundLight> {
        self.lights_with(frame, &mut Vec::new())
    }

    fn lights_with(&self, frame: &LevelFrame, warnings: &mut Vec<Problem>) -> Vec<FoundLight> {
        let place = |entity, transform| self.places.in_level(entity, transform, frame);
        let diameter = self.settings.sun_diameter_degrees.to_radians();
        let mut found = Vec::new();
        let mut add = |entity, visibility: Option<&InheritedVisibility>, mut kind| {
            let overrides = self.overrides.of(entity, warnings);
            if overrides.role != Some(Role::Excluded) {
                resize(&mut kind, &overrides);
                let is_hidden = visibility.is_some_and(|visibility| !visibility.get());
                let is_animated = overrides.role.is_none() && self.overrides.animation(entity).is_some();
                let name = self.names.light(entity).unwrap_or_else(|| kind.name()).to_owned();
                found.push(FoundLight { entity, name, kind, is_hidden, is_animated });
            }
        };
        for (entity, light, transform, visibility, ()) in &self.points {
            add(entity, visibility, convert::point_light(light, &place(entity, transform)));
        }
        for (entity, light, transform, visibility, ()) in &self.spots {
            add(entity, visibility, convert::spot_light(light, &place(entity, transform)));
        }
        for (entity, light, transform, visibility, disk) in &self.suns {
            let diameter = disk.map_or(diameter, |disk| disk.angular_size);
            add(entity, visibility, convert::directional_light(light, &place(entity, transform), diameter));
        }
        for (entity, light, transform, visibility, ()) in &self.rectangles {
            add(entity, visibility, convert::rect_light(light, &place(entity, transform)));
        }
        found
    }

    fn asset_name(&self, id: impl Into<UntypedAssetId>) -> String {
        self.assets.get_path(id.into()).map_or_else(|| "made by code".to_owned(), |path| path.to_string())
    }

    fn role(&self, surface: &SurfaceEntityItem<'_, '_>, overrides: &Overrides) -> Role {
        if surface.visibility.is_some_and(|visibility| !visibility.get()) {
            return Role::Excluded;
        }
        let natural = || {
            if surface.is_skinned || surface.has_moved || self.is_morphed(surface) {
                Role::Mover
            } else if self.is_unlit(surface) {
                Role::Excluded
            } else if self.overrides.animation(surface.entity).is_some() {
                Role::Mover
            } else if surface.casts_no_shadow {
                Role::Excluded
            } else {
                Role::Static
            }
        };
        overrides.role.unwrap_or_else(natural)
    }

    fn is_unlit(&self, surface: &SurfaceEntityItem<'_, '_>) -> bool {
        self.materials.get(surface.source_material()).is_some_and(|material| material.unlit)
    }

    /// Returns the reason why a surface without an explicit role is no part of a bake, to warn its author. The reasons
    /// are an unlit material and an animation.
    fn hidden_reason(&self, surface: &SurfaceEntityItem<'_, '_>, overrides: &Overrides, role: Role) -> Option<Reason> {
        let is_hidden = surface.visibility.is_some_and(|visibility| !visibility.get());
        if overrides.role.is_some() || is_hidden || surface.is_skinned || surface.has_moved || self.is_morphed(surface)
        {
            return None;
        }
        match role {
            Role::Excluded if self.is_unlit(surface) => Some(Reason::Unlit(self.asset_name(surface.source_material()))),
            Role::Mover => Some(Reason::Animated(self.overrides.animation(surface.entity)?.to_owned())),
            _ => None,
        }
    }

    fn is_morphed(&self, surface: &SurfaceEntityItem<'_, '_>) -> bool {
        self.meshes.get(surface.source_mesh()).is_some_and(|mesh| mesh.try_has_morph_targets().unwrap_or(false))
    }
}

/// Sets the size of a light from the extras of its file.
fn resize(kind: &mut LightKind, overrides: &Overrides) {
    match kind {
        LightKind::Point { radius, .. } | LightKind::Spot { radius, .. } => {
            *radius = overrides.radius.unwrap_or(*radius)
        }
        LightKind::Directional { angular_diameter, .. } => {
            *angular_diameter = overrides.angular_diameter_degrees.map_or(*angular_diameter, f32::to_radians);
        }
        LightKind::Rectangle { .. } => {}
    }
}
