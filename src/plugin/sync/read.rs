//! The Bevy world as a [`Scene`].

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

use self::assembly::Assembly;
use super::cache::AssetCache;
#[cfg(feature = "gltf")]
use super::extras::FileExtras;
#[cfg(feature = "gltf")]
use super::file_nodes::AnimatedInFile;
use super::key::Names;
use super::movers::{Moved, RestPose};
use crate::plugin::components::*;
use crate::plugin::convert;
use crate::plugin::live::LiveView;
use crate::plugin::write_back::{Baked, LitLights};
use crate::scene::{LightKind, Overrides, Problem, Role, Scene, SurfaceKey, Units};

/// A scene and where its parts come from.
#[derive(Clone, Debug, Default)]
pub struct WorldScene {
    /// What light meets.
    pub scene: Scene,
    /// The entity of each surface and the mesh asset that it was read from, by the surface's key.
    pub surfaces: HashMap<SurfaceKey, (Entity, Handle<Mesh>)>,
    /// The entities of the scene's lights, and of what lights as the scene's sky does.
    pub lights: Vec<Entity>,
    /// Every asset that it was made of, or would have been had it been loaded.
    pub assets: HashSet<UntypedAssetId>,
    /// What was left out or could not be read, by name.
    pub warnings: Vec<String>,
}

/// What the Bevy world is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A bake, which leaves out what moves.
    Bake,
    /// Looking at the world as it is now.
    View,
}

/// A mesh entity, as far as a bake asks.
#[derive(QueryData)]
pub struct SurfaceEntity {
    entity: Entity,
    mesh: &'static Mesh3d,
    material: &'static MeshMaterial3d<StandardMaterial>,
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
    /// The mesh as the app knows it, not the unwrapped copy that a bake put in its place.
    fn source_mesh(&self) -> &Handle<Mesh> {
        match self.baked {
            Some(baked) if baked.mesh == self.mesh.0 => &baked.original,
            _ => &self.mesh.0,
        }
    }

    /// The material as the app knows it.
    fn source_material(&self) -> AssetId<StandardMaterial> {
        self.baked.map_or(&self.material.0, |baked| baked.original_material(&self.material.0)).id()
    }

    /// The page of the lightmap that it shows on our own copy of its mesh, and its part of that.
    fn shown_light(&self) -> Option<(AssetId<Image>, Rect)> {
        let (baked, lightmap) = (self.baked?, self.lightmap?);
        let is_ours = baked.mesh == self.mesh.0 && baked.image == lightmap.image && !self.has_moved;
        is_ours.then(|| (lightmap.image.id(), lightmap.uv_rect))
    }
}

/// What the components of an entity and its ancestors, and after them its file's extras, say about the bake.
#[derive(SystemParam)]
pub struct Wishes<'w, 's> {
    parents: Query<'w, 's, &'static ChildOf>,
    roles: Query<'w, 's, (Has<BakeExclude>, Has<BakeOccluder>, Has<BakeMover>, Has<BakeStatic>)>,
    resolutions: Query<'w, 's, &'static BakeResolution>,
    tints: Query<'w, 's, &'static BakeTint>,
    #[cfg(feature = "gltf")]
    extras: FileExtras<'w, 's>,
    #[cfg(feature = "gltf")]
    animated: Query<'w, 's, &'static AnimatedInFile>,
}

impl Wishes<'_, '_> {
    fn lineage(&self, entity: Entity) -> impl Iterator<Item = Entity> + '_ {
        core::iter::once(entity).chain(self.parents.iter_ancestors(entity))
    }

    /// What is wished for an entity; extras that cannot be understood are added to the warnings.
    fn of(&self, entity: Entity, warnings: &mut Vec<Problem>) -> Overrides {
        let of_entity = Overrides {
            role: self.role(entity),
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

    /// The role that the nearest of the entity and its ancestors asks for.
    fn role(&self, entity: Entity) -> Option<Role> {
        self.lineage(entity).find_map(|entity| match self.roles.get(entity).ok()? {
            (true, ..) => Some(Role::Excluded),
            (_, true, ..) => Some(Role::Occluder),
            (_, _, true, _) => Some(Role::Mover),
            (.., true) => Some(Role::Static),
            _ => None,
        })
    }

    /// The units that an entity's file says its lamps and emission have.
    #[cfg(feature = "gltf")]
    fn units(&self, entity: Entity, warnings: &mut Vec<Problem>) -> Option<Units> {
        self.extras.units(entity, warnings)
    }

    #[cfg(not(feature = "gltf"))]
    fn units(&self, _: Entity, _: &mut Vec<Problem>) -> Option<Units> {
        None
    }

    /// The animation of a file that moves an entity.
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

/// Lights of a kind: entity, light, place, and whether they are shown.
type Lights<'w, 's, L, Extra = ()> =
    Query<'w, 's, (Entity, &'static L, &'static GlobalTransform, Option<&'static InheritedVisibility>, Extra)>;

/// A camera that shows a sky.
#[derive(QueryData)]
struct SkyCamera {
    entity: Entity,
    camera: &'static Camera,
    skybox: &'static Skybox,
    live: Option<&'static LiveView>,
}

/// Cameras whose surroundings light what they see.
type LitCameras<'w, 's> = Query<
    'w,
    's,
    Entity,
    (With<Camera>, With<Skybox>, Or<(With<EnvironmentMapLight>, With<GeneratedEnvironmentMapLight>)>),
>;

/// Reads the Bevy world.
#[derive(SystemParam)]
pub struct SceneReader<'w, 's> {
    surfaces: Query<'w, 's, SurfaceEntity>,
    strangers: Query<'w, 's, Entity, (With<Mesh3d>, Without<MeshMaterial3d<StandardMaterial>>)>,
    points: Lights<'w, 's, PointLight>,
    spots: Lights<'w, 's, SpotLight>,
    suns: Lights<'w, 's, DirectionalLight, Option<&'static SunDisk>>,
    rectangles: Lights<'w, 's, RectLight>,
    sky_cameras: Query<'w, 's, SkyCamera>,
    views: Query<'w, 's, &'static LiveView>,
    lit_lights: Option<Res<'w, LitLights>>,
    lit_cameras: LitCameras<'w, 's>,
    ambient: Option<Res<'w, GlobalAmbientLight>>,
    wishes: Wishes<'w, 's>,
    names: Names<'w, 's>,
    assets: Res<'w, AssetServer>,
    meshes: Res<'w, Assets<Mesh>>,
    images: Res<'w, Assets<Image>>,
    materials: Res<'w, Assets<StandardMaterial>>,
    settings: Res<'w, SceneSettings>,
}

/// A light of the Bevy world.
pub struct FoundLight {
    pub entity: Entity,
    /// What messages call it.
    pub name: String,
    pub kind: LightKind,
    pub is_hidden: bool,
}

/// Why a surface is no part of a bake: its material or the animation of its file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    Unlit(String),
    Animated(String),
}

/// An asset that a scene is made of.
#[derive(Clone, Copy, Debug)]
pub enum Needed {
    /// A mesh's triangles.
    Mesh(AssetId<Mesh>),
    /// A material's picture.
    Texture(AssetId<Image>),
    /// The cube map of a sky.
    Sky(AssetId<Image>),
}

impl SceneReader<'_, '_> {
    /// Every asset that the scene is made of.
    pub fn needed(&self, purpose: Purpose) -> Vec<Needed> {
        let mut meshes = BTreeSet::new();
        let mut materials = BTreeSet::new();
        let mut pages = BTreeSet::new();
        let shows_lightmaps = self.shows_lightmaps(purpose);
        for surface in &self.surfaces {
            let wishes = self.wishes.of(surface.entity, &mut Vec::new());
            if self.role(&surface, &wishes) != Role::Excluded {
                meshes.insert(surface.source_mesh().id());
                materials.insert(surface.source_material());
                if let Some((page, _)) = surface.shown_light().filter(|_| shows_lightmaps) {
                    meshes.insert(surface.mesh.0.id());
                    materials.insert(surface.material.0.id());
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
        let sky = self.skyboxes(purpose).first().and_then(|skybox| skybox.image.as_ref());
        let pictures =
            images.into_iter().chain(pages).map(Needed::Texture).chain(sky.map(|image| Needed::Sky(image.id())));
        meshes.into_iter().map(Needed::Mesh).chain(pictures).collect()
    }

    /// Whether paths of a view may end at lightmaps.
    fn shows_lightmaps(&self, purpose: Purpose) -> bool {
        purpose == Purpose::View && self.views.iter().any(|view| view.enabled && view.ends_at_lightmaps)
    }

    /// The skyboxes of cameras, those that draw first before others: the first is the scene's sky.
    fn skyboxes(&self, purpose: Purpose) -> Vec<&Skybox> {
        if !self.settings.skybox_is_sky || self.has_baked_ambient() {
            return Vec::new();
        }
        let is_asked = |camera: &SkyCameraItem<'_, '_>| {
            let is_live = camera.live.is_some_and(|live| live.enabled);
            camera.skybox.image.is_some() && (purpose == Purpose::Bake || is_live)
        };
        let mut cameras: Vec<_> = self.sky_cameras.iter().filter(is_asked).collect();
        cameras.sort_by_key(|camera| (camera.camera.order, camera.entity));
        cameras.into_iter().map(|camera| camera.skybox).collect()
    }

    /// True when the scene's sky is Bevy's ambient light.
    pub fn has_baked_ambient(&self) -> bool {
        self.settings.ambient_is_sky && self.ambient.is_some()
    }

    /// Brings one asset into the cache: whether it had to be read, or `None` while it is still being loaded.
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

    /// All lights that are not excluded from bakes, those that are hidden too.
    pub fn lights(&self) -> Vec<FoundLight> {
        self.lights_with(&mut Vec::new())
    }

    fn lights_with(&self, warnings: &mut Vec<Problem>) -> Vec<FoundLight> {
        let diameter = self.settings.sun_diameter_degrees.to_radians();
        let mut found = Vec::new();
        let mut add = |entity, visibility: Option<&InheritedVisibility>, mut kind| {
            let wishes = self.wishes.of(entity, warnings);
            if wishes.role != Some(Role::Excluded) {
                resize(&mut kind, &wishes);
                let is_hidden = visibility.is_some_and(|visibility| !visibility.get());
                found.push(FoundLight { entity, name: self.names.describe(entity), kind, is_hidden });
            }
        };
        for (entity, light, transform, visibility, ()) in &self.points {
            add(entity, visibility, convert::point_light(light, transform));
        }
        for (entity, light, transform, visibility, ()) in &self.spots {
            add(entity, visibility, convert::spot_light(light, transform));
        }
        for (entity, light, transform, visibility, disk) in &self.suns {
            let diameter = disk.map_or(diameter, |disk| disk.angular_size);
            add(entity, visibility, convert::directional_light(light, transform, diameter));
        }
        for (entity, light, transform, visibility, ()) in &self.rectangles {
            add(entity, visibility, convert::rect_light(light, transform));
        }
        found
    }

    fn asset_name(&self, id: impl Into<UntypedAssetId> + Copy + core::fmt::Display) -> String {
        self.assets.get_path(id.into()).map_or_else(|| id.to_string(), |path| path.to_string())
    }

    fn role(&self, surface: &SurfaceEntityItem<'_, '_>, wishes: &Overrides) -> Role {
        if surface.visibility.is_some_and(|visibility| !visibility.get()) {
            return Role::Excluded;
        }
        let natural = || {
            if surface.is_skinned || surface.has_moved || self.is_morphed(surface) {
                Role::Mover
            } else if self.is_unlit(surface) {
                Role::Excluded
            } else if self.wishes.animation(surface.entity).is_some() {
                Role::Mover
            } else if surface.casts_no_shadow {
                Role::Excluded
            } else {
                Role::Static
            }
        };
        wishes.role.unwrap_or_else(natural)
    }

    fn is_unlit(&self, surface: &SurfaceEntityItem<'_, '_>) -> bool {
        self.materials.get(surface.source_material()).is_some_and(|material| material.unlit)
    }

    /// Why a surface that nobody gave a role is no part of a bake, where its author may not know: its unlit material, or
    /// the animation that moves it.
    fn hidden_reason(&self, surface: &SurfaceEntityItem<'_, '_>, wishes: &Overrides, role: Role) -> Option<Reason> {
        let is_hidden = surface.visibility.is_some_and(|visibility| !visibility.get());
        if wishes.role.is_some() || is_hidden || surface.is_skinned || surface.has_moved || self.is_morphed(surface) {
            return None;
        }
        match role {
            Role::Excluded if self.is_unlit(surface) => Some(Reason::Unlit(self.asset_name(surface.source_material()))),
            Role::Mover => Some(Reason::Animated(self.wishes.animation(surface.entity)?.to_owned())),
            _ => None,
        }
    }

    fn is_morphed(&self, surface: &SurfaceEntityItem<'_, '_>) -> bool {
        self.meshes.get(surface.source_mesh()).is_some_and(|mesh| mesh.try_has_morph_targets().unwrap_or(false))
    }

    /// The scene, of what has been read so far.
    pub fn assemble(&self, cache: &AssetCache, purpose: Purpose) -> WorldScene {
        let mut assembly = Assembly::new(self, cache, purpose);
        let mut surfaces: Vec<_> = self
            .surfaces
            .iter()
            .map(|surface| {
                let path = self.assets.get_path(surface.source_mesh().id());
                // What a view follows keeps its place in the order.
                let rest = surface.rest.filter(|_| purpose == Purpose::View && surface.has_moved);
                let place = rest.map_or(surface.transform, |rest| &rest.transform).translation();
                let key = self.names.surface_key(surface.entity, path.as_ref(), place);
                (key, surface)
            })
            .collect();
        // The order of archetypes is nobody's wish; the same level gives the same scene.
        surfaces.sort_by(|(a, first), (b, second)| a.cmp(b).then(first.entity.cmp(&second.entity)));
        for (key, surface) in surfaces {
            assembly.add_surface(key, &surface);
        }
        assembly.add_lights();
        assembly.add_sky();
        assembly.finish()
    }
}

/// Gives a light the size that its file's extras ask for.
fn resize(kind: &mut LightKind, wishes: &Overrides) {
    match kind {
        LightKind::Point { radius, .. } | LightKind::Spot { radius, .. } => *radius = wishes.radius.unwrap_or(*radius),
        LightKind::Directional { angular_diameter, .. } => {
            *angular_diameter = wishes.angular_diameter_degrees.map_or(*angular_diameter, f32::to_radians);
        }
        LightKind::Rectangle { .. } => {}
    }
}
