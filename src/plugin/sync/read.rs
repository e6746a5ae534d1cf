//! The Bevy world as a [`Scene`].

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

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
use super::key::{Names, UniqueKeys};
use super::movers::{Moved, RestPose, can_stand};
use crate::plugin::components::*;
use crate::plugin::convert;
use crate::plugin::live::LiveView;
use crate::plugin::write_back::{Baked, LitLights};
use crate::scene::{
    EnvironmentMap, Light, LightKind, LightmapPlace, MaterialId, MeshId, Overrides, Problem, Role, Scene, Sides, Sky,
    Surface, SurfaceKey, TextureId,
};

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
    #[cfg(feature = "gltf")]
    extras: FileExtras<'w, 's>,
}

impl Wishes<'_, '_> {
    fn lineage(&self, entity: Entity) -> impl Iterator<Item = Entity> + '_ {
        core::iter::once(entity).chain(self.parents.iter_ancestors(entity))
    }

    /// What is wished for an entity; extras that cannot be understood are added to the warnings.
    fn of(&self, entity: Entity, warnings: &mut Vec<Problem>) -> Overrides {
        #[cfg(feature = "gltf")]
        let by_file = self.extras.of(entity, warnings);
        #[cfg(not(feature = "gltf"))]
        let by_file = Overrides::default();
        Overrides { role: self.role(entity), density: self.density_scale(entity), ..Overrides::default() }.or(by_file)
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
            .flat_map(|material| {
                let normals = if purpose == Purpose::View { &material.normal_map_texture } else { &None };
                [
                    &material.base_color_texture,
                    &material.metallic_roughness_texture,
                    &material.emissive_texture,
                    normals,
                ]
            })
            .flatten()
            .map(Handle::id)
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
            } else if surface.casts_no_shadow {
                Role::Excluded
            } else {
                Role::Static
            }
        };
        wishes.role.unwrap_or_else(natural)
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

/// A scene in the making.
struct Assembly<'r, 'w, 's> {
    reader: &'r SceneReader<'w, 's>,
    cache: &'r AssetCache,
    result: WorldScene,
    keys: UniqueKeys,
    meshes: HashMap<AssetId<Mesh>, MeshId>,
    materials: HashMap<AssetId<StandardMaterial>, MaterialId>,
    textures: HashMap<AssetId<Image>, Option<TextureId>>,
    purpose: Purpose,
    moved: usize,
    deformed: usize,
}

impl<'r, 'w, 's> Assembly<'r, 'w, 's> {
    fn new(reader: &'r SceneReader<'w, 's>, cache: &'r AssetCache, purpose: Purpose) -> Self {
        Self {
            reader,
            cache,
            result: WorldScene::default(),
            keys: UniqueKeys::default(),
            meshes: HashMap::new(),
            materials: HashMap::new(),
            textures: HashMap::new(),
            purpose,
            moved: 0,
            deformed: 0,
        }
    }

    fn add_surface(&mut self, key: SurfaceKey, surface: &SurfaceEntityItem<'_, '_>) {
        let wishes = self.wishes(surface.entity);
        let role = match (self.reader.role(surface, &wishes), self.purpose) {
            (Role::Mover, Purpose::View) if surface.is_skinned || self.reader.is_morphed(surface) => {
                self.deformed += 1;
                Role::Excluded
            }
            (Role::Excluded, _) => Role::Excluded,
            (role, Purpose::View) if surface.has_moved || role == Role::Mover => {
                if can_stand(&surface.transform.affine()) { Role::Mover } else { Role::Static }
            }
            (role, _) => role,
        };
        if role == Role::Excluded {
            return;
        }
        let lightmap = self.lightmap(surface);
        let (mesh, material) = match lightmap {
            Some(_) => (surface.mesh.0.id(), surface.material.0.id()),
            None => (surface.source_mesh().id(), surface.source_material()),
        };
        self.result.assets.insert(mesh.untyped());
        self.result.assets.insert(material.untyped());
        let who = self.reader.names.describe(surface.entity);
        let mesh = match self.mesh(mesh) {
            Ok(mesh) => mesh,
            Err(reason) => {
                self.result.warnings.push(format!("the mesh of {who} is left out: {reason}"));
                return;
            }
        };
        let Some(standard) = self.reader.materials.get(material) else {
            self.result.warnings.push(format!("{who} is left out: its material is not loaded"));
            return;
        };
        if surface.has_moved && role == Role::Mover && self.purpose == Purpose::Bake {
            self.moved += 1;
        }
        let unique = self.keys.claim(&key);
        if unique != key {
            self.result.warnings.push(format!(
                "more than one surface is called '{key}': {who} is known as '{unique}', which may change from run to \
                 run; give it a `BakeId`"
            ));
        }
        let to_world = surface.transform.affine();
        let mut placed = Surface {
            to_world,
            role,
            density_scale: wishes.density.unwrap_or(1.0),
            lightmap,
            ..Surface::new(unique.clone(), mesh, self.material(material, standard))
        };
        // Where each side has triangles of its own, the material that stands in knows it.
        let is_split = lightmap.is_some() && surface.source_material() != material;
        placed.sides = match wishes.double_sided.filter(|_| !is_split) {
            Some(true) => Sides::Both,
            Some(false) => Sides::Front,
            None => convert::sides_of(standard, placed.is_mirrored()),
        };
        self.result.scene.surfaces.push(placed);
        self.result.surfaces.insert(unique, (surface.entity, surface.source_mesh().clone()));
    }

    /// Where a surface's light is, if paths may end there and it can be read.
    fn lightmap(&mut self, surface: &SurfaceEntityItem<'_, '_>) -> Option<LightmapPlace> {
        let (page, rect) = surface.shown_light().filter(|_| self.reader.shows_lightmaps(self.purpose))?;
        let is_read = matches!(self.cache.mesh(surface.mesh.0.id()), Some(Ok(_)))
            && matches!(self.cache.texture(page), Some(Ok(_)))
            && self.reader.materials.contains(surface.material.0.id());
        let page = if is_read { self.texture(page, "a lightmap") } else { None }?;
        let is_direct_too = self.reader.lit_lights.as_ref().is_some_and(|lit| lit.is_direct);
        Some(LightmapPlace { page, corner: rect.min, size: rect.size(), is_direct_too })
    }

    fn wishes(&mut self, entity: Entity) -> Overrides {
        let mut problems = Vec::new();
        let wishes = self.reader.wishes.of(entity, &mut problems);
        self.note(problems);
        wishes
    }

    fn note(&mut self, problems: Vec<Problem>) {
        for problem in problems {
            // Whatever hangs under a node says the same of it.
            let sentence = problem.to_string();
            if !self.result.warnings.contains(&sentence) {
                self.result.warnings.push(sentence);
            }
        }
    }

    fn mesh(&mut self, id: AssetId<Mesh>) -> Result<MeshId, String> {
        if let Some(&known) = self.meshes.get(&id) {
            return Ok(known);
        }
        let mesh = match self.cache.mesh(id) {
            Some(Ok(mesh)) => Arc::clone(mesh),
            Some(Err(problem)) => return Err(problem.to_string()),
            None => return Err("it is not loaded".to_owned()),
        };
        let meshes = &mut self.result.scene.meshes;
        meshes.push(mesh);
        let new = MeshId::from_index(meshes.len() - 1);
        self.meshes.insert(id, new);
        Ok(new)
    }

    fn material(&mut self, id: AssetId<StandardMaterial>, standard: &StandardMaterial) -> MaterialId {
        if let Some(&known) = self.materials.get(&id) {
            return known;
        }
        let name = self.reader.asset_name(id);
        let settings = *self.reader.settings;
        let mut material =
            convert::material_from_standard(&name, standard, &settings, &mut |image| self.texture(image, &name));
        if self.purpose == Purpose::View {
            convert::add_bumps(&mut material, standard, &mut |image| self.texture(image, &name));
        }
        let materials = &mut self.result.scene.materials;
        materials.push(material);
        let new = MaterialId::from_index(materials.len() - 1);
        self.materials.insert(id, new);
        new
    }

    fn texture(&mut self, id: AssetId<Image>, material: &str) -> Option<TextureId> {
        if let Some(&known) = self.textures.get(&id) {
            return known;
        }
        self.result.assets.insert(id.untyped());
        let read = match self.cache.texture(id) {
            Some(Ok(texture)) => Ok(Arc::clone(texture)),
            Some(Err(problem)) => Err(problem.to_string()),
            None => Err("it is not loaded".to_owned()),
        };
        let new = match read {
            Ok(texture) => {
                let textures = &mut self.result.scene.textures;
                textures.push(texture);
                Some(TextureId::from_index(textures.len() - 1))
            }
            Err(reason) => {
                self.result.warnings.push(format!(
                    "texture {} of material {material} cannot be read ({reason}): its factor alone is used",
                    self.reader.asset_name(id)
                ));
                None
            }
        };
        self.textures.insert(id, new);
        new
    }

    fn add_lights(&mut self) {
        let mut problems = Vec::new();
        let mut found = self.reader.lights_with(&mut problems);
        self.note(problems);
        found.retain(|light| !light.is_hidden);
        found.sort_by(|a, b| a.name.cmp(&b.name).then(a.entity.cmp(&b.entity)));
        for FoundLight { entity, name, kind, .. } in found {
            self.result.scene.lights.push(Light { name, kind });
            self.result.lights.push(entity);
        }
    }

    fn add_sky(&mut self) {
        let reader = self.reader;
        if reader.settings.ambient_is_sky
            && let Some(ambient) = &reader.ambient
        {
            self.result.scene.sky = Sky::Uniform(convert::linear_rgb(ambient.color) * ambient.brightness);
            return;
        }
        let skyboxes = reader.skyboxes(self.purpose);
        let Some((&skybox, image)) = skyboxes.first().and_then(|first| Some((first, first.image.as_ref()?))) else {
            return;
        };
        self.result.assets.insert(image.id().untyped());
        let is_same = |other: &&&Skybox| {
            (&other.image, other.brightness, other.rotation) == (&skybox.image, skybox.brightness, skybox.rotation)
        };
        if !skyboxes.iter().all(|other| is_same(&other)) {
            let warning = "cameras have different skyboxes: that of the camera with the lowest order is the sky of all";
            self.result.warnings.push(warning.to_owned());
        }
        let read = match self.cache.sky(image.id()) {
            Some(Ok(picture)) => Ok(Arc::clone(picture)),
            Some(Err(problem)) => Err(problem.to_string()),
            None => Err("it is not loaded".to_owned()),
        };
        match read {
            Ok(picture) => {
                let Skybox { brightness: scale, rotation, .. } = *skybox;
                self.result.scene.sky = Sky::Map(EnvironmentMap { picture, scale, rotation });
                self.result.lights.extend(&reader.lit_cameras);
            }
            Err(reason) => {
                let name = reader.asset_name(image.id());
                self.result.warnings.push(format!("skybox {name} cannot be read ({reason}): the sky is dark"));
            }
        }
    }

    fn finish(mut self) -> WorldScene {
        let strangers: Vec<String> =
            self.reader.strangers.iter().map(|entity| self.reader.names.describe(entity)).collect();
        if !strangers.is_empty() {
            self.result.warnings.push(format!(
                "{} left out, because only StandardMaterial can be read: {}",
                scene_count(strangers.len(), "mesh", "meshes"),
                strangers.join(", ")
            ));
        }
        if self.moved > 0 {
            self.result.warnings.push(format!(
                "{} moved since they were loaded and are not baked; `BakeStatic` bakes them where they stand",
                scene_count(self.moved, "surface", "surfaces")
            ));
        }
        if self.deformed > 0 {
            self.result.warnings.push(format!(
                "{} left out of the live view, because skinned and morphed meshes are bent on the GPU alone",
                scene_count(self.deformed, "surface", "surfaces")
            ));
        }
        self.result
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

fn scene_count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
