//! Builder of a [`Scene`](crate::scene::Scene).

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bevy::light::Skybox;
use bevy::mesh::UvChannel as BevyUvChannel;
use bevy::pbr::StandardMaterial;
use bevy::prelude::*;

use super::{FoundLight, Purpose, Reason, SceneReader, SurfaceEntityItem, WorldScene};
use crate::plugin::components::EmissiveUnits;
use crate::plugin::convert::{self, NORMAL_MAP_FIELD, Picture};
use crate::plugin::state::LevelFrame;
use crate::plugin::sync::cache::AssetCache;
use crate::plugin::sync::movers::can_stand;
use crate::scene::check::UniqueKeys;
use crate::scene::{
    EnvironmentMap, Light, LightmapPlace, MaterialId, MeshId, Problem, Role, SealedSides, Sides, Sky, Surface,
    SurfaceKey, TextureId, TextureRef, UvChannel, shorten,
};
use crate::scene_files::{Overrides, Units};

/// Scene under construction.
struct Assembly<'r, 'w, 's> {
    reader: &'r SceneReader<'w, 's>,
    cache: &'r AssetCache,
    result: WorldScene,
    /// Entity and source mesh of each surface.
    owners: Vec<(Entity, Handle<Mesh>)>,
    meshes: HashMap<AssetId<Mesh>, MeshId>,
    /// Materials by asset and tint flag.
    materials: HashMap<(AssetId<StandardMaterial>, bool), MaterialId>,
    textures: HashMap<AssetId<Image>, Option<TextureId>>,
    purpose: Purpose,
    moved: usize,
    deformed: usize,
    /// Names of what was left out, by reason.
    left_out: BTreeMap<Reason, Vec<String>>,
}

impl SceneReader<'_, '_> {
    /// Builds the scene from the cached assets.
    pub fn assemble(&self, cache: &AssetCache, purpose: Purpose) -> WorldScene {
        let mut assembly = Assembly::new(self, cache, purpose);
        let mut surfaces: Vec<_> = self
            .surfaces
            .iter()
            .map(|surface| {
                let path = self.assets.get_path(surface.source_mesh().id());
                // Movers of a view keep their initial key, and so their order.
                let rest = surface.rest.filter(|_| purpose == Purpose::View && surface.has_moved);
                let place = rest.map_or(surface.transform, |rest| &rest.transform).translation();
                let key = self.names.surface_key(surface.entity, path.as_ref(), place);
                (key, surface)
            })
            .collect();
        // The order of archetypes is arbitrary. Sorting gives the same scene for the same level, also with two instances
        // of one file.
        surfaces.sort_by(|(a, first), (b, second)| {
            let [one, other] = [first, second].map(|surface| surface.transform.translation().to_array());
            let by_place = one.iter().zip(&other).map(|(one, other)| one.total_cmp(other)).find(|order| order.is_ne());
            a.cmp(b).then(by_place.unwrap_or(Ordering::Equal)).then(first.entity.cmp(&second.entity))
        });
        for (key, surface) in surfaces {
            assembly.add_surface(key, &surface);
        }
        assembly.add_lights();
        assembly.add_sky();
        assembly.finish()
    }
}

impl<'r, 'w, 's> Assembly<'r, 'w, 's> {
    fn new(reader: &'r SceneReader<'w, 's>, cache: &'r AssetCache, purpose: Purpose) -> Self {
        Self {
            reader,
            cache,
            result: WorldScene::default(),
            owners: Vec::new(),
            meshes: HashMap::new(),
            materials: HashMap::new(),
            textures: HashMap::new(),
            purpose,
            moved: 0,
            deformed: 0,
            left_out: BTreeMap::new(),
        }
    }

    fn add_surface(&mut self, key: SurfaceKey, surface: &SurfaceEntityItem<'_, '_>) {
        let overrides = self.overrides(surface.entity);
        let natural = self.reader.role(surface, &overrides);
        let reason = self.reader.hidden_reason(surface, &overrides, natural);
        // A view shows animated surfaces at their current places.
        if let Some(reason) = reason.filter(|_| self.purpose == Purpose::Bake || natural == Role::Excluded) {
            let who = self.reader.names.describe(surface.entity);
            self.left_out.entry(reason).or_default().push(who.trim_matches('\'').to_owned());
        }
        let role = match (natural, self.purpose) {
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
            Some(_) => (surface.mesh.0.id(), surface.material.shown().id()),
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
        let to_world = surface.transform.affine();
        let mut placed = Surface {
            sealed: SealedSides::None,
            to_world,
            role,
            density_scale: overrides.density.unwrap_or(1.0),
            lightmap,
            ..Surface::new(key, mesh, self.material(material, standard, overrides.tint == Some(true), surface.entity))
        };
        // If each side has its own triangles, the stand-in material has the right culling.
        let is_split = lightmap.is_some() && surface.source_material() != material;
        placed.sides = match overrides.double_sided.filter(|_| !is_split) {
            Some(true) => Sides::Both,
            Some(false) => Sides::Front,
            None => convert::sides_of(standard, placed.is_mirrored()),
        };
        self.result.scene.surfaces.push(placed);
        self.owners.push((surface.entity, surface.source_mesh().clone()));
    }

    /// Returns the lightmap of a surface, if paths may end there and it can be read.
    fn lightmap(&mut self, surface: &SurfaceEntityItem<'_, '_>) -> Option<LightmapPlace> {
        let (page, rect) = surface.shown_light().filter(|_| self.reader.shows_lightmaps(self.purpose))?;
        let is_read = matches!(self.cache.mesh(surface.mesh.0.id()), Some(Ok(_)))
            && matches!(self.cache.texture(page), Some(Ok(_)))
            && self.reader.materials.contains(surface.material.shown().id());
        let page = if is_read { self.texture(page, "page", "a lightmap") } else { None }?;
        let lit = surface.baked.and_then(|baked| self.reader.lit_lights.get(baked.level).ok());
        let is_direct_too = lit.is_some_and(|lit| lit.is_direct);
        Some(LightmapPlace { page, corner: rect.min, size: rect.size(), is_direct_too })
    }

    fn overrides(&mut self, entity: Entity) -> Overrides {
        let mut problems = Vec::new();
        let overrides = self.reader.overrides.of(entity, &mut problems);
        self.note(problems);
        overrides
    }

    fn note(&mut self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            // All descendants of a node repeat its problems.
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

    fn material(
        &mut self,
        id: AssetId<StandardMaterial>,
        standard: &StandardMaterial,
        tints: bool,
        user: Entity,
    ) -> MaterialId {
        if let Some(&known) = self.materials.get(&(id, tints)) {
            return known;
        }
        // A material that code made has no path, so one of its entities names it.
        let of_code = || self.reader.names.describe(user).trim_matches('\'').to_owned();
        let name = self.reader.assets.get_path(id).map_or_else(of_code, |path| path.to_string());
        let mut settings = *self.reader.settings;
        let mut problems = Vec::new();
        if self.reader.overrides.units(user, &mut problems).is_some_and(|units| units != Units::Gltf) {
            settings.emissive_units = EmissiveUnits::Blender;
        }
        self.note(problems);
        let is_for_view = self.purpose == Purpose::View;
        self.note(convert::ignored_picture(&name, standard, is_for_view));
        let mut material = convert::material_from_standard(&name, standard, &settings);
        material.tints = tints;
        let pictures = convert::pictures_of(standard, is_for_view).into_iter().zip(convert::PICTURE_FIELDS);
        for (slot, (picture, field)) in material.textures_mut().into_iter().zip(pictures) {
            *slot = picture.and_then(|picture| self.texture_of(picture, field, &name));
            // Bevy has one UV transform for all textures of a material.
            *slot = slot.map(|reference| reference.with_transform(standard.uv_transform));
        }
        // Bevy's shader halves the reflectance if a specular texture exists.
        if material.specular_texture.is_some() {
            material.reflectance *= 0.5;
        }
        let materials = &mut self.result.scene.materials;
        materials.push(material);
        let new = MaterialId::from_index(materials.len() - 1);
        self.materials.insert((id, tints), new);
        new
    }

    fn texture_of(&mut self, picture: Picture<'_>, field: &str, material: &str) -> Option<TextureRef> {
        let channel = match picture.channel {
            BevyUvChannel::Uv0 => UvChannel::Uv0,
            BevyUvChannel::Uv1 => UvChannel::Uv1,
        };
        Some(TextureRef::new(self.texture(picture.image.id(), field, material)?).with_channel(channel))
    }

    fn texture(&mut self, id: AssetId<Image>, field: &str, material: &str) -> Option<TextureId> {
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
                let path = self.reader.assets.get_path(id).map(|path| format!(" {path}")).unwrap_or_default();
                let used =
                    if field == NORMAL_MAP_FIELD { "the surface has no bumps" } else { "its factor alone is used" };
                self.result.warnings.push(format!("{field}{path} of '{material}' cannot be read ({reason}): {used}"));
                None
            }
        };
        self.textures.insert(id, new);
        new
    }

    fn add_lights(&mut self) {
        let mut problems = Vec::new();
        let mut found = self.reader.lights_with(&LevelFrame::default(), &mut problems);
        self.note(problems);
        found.retain(|light| !light.is_hidden && !self.is_carried(light));
        found.sort_by(|a, b| a.name.cmp(&b.name).then(a.entity.cmp(&b.entity)));
        for FoundLight { entity, name, kind, .. } in found {
            self.result.scene.lights.push(Light { name, kind });
            self.result.lights.push(entity);
        }
    }

    /// Returns true for a light that a file's animation moves: it is no part of a bake.
    fn is_carried(&mut self, light: &FoundLight) -> bool {
        if !light.is_animated || self.purpose != Purpose::Bake {
            return false;
        }
        let animation = self.reader.overrides.animation(light.entity).unwrap_or_default();
        self.left_out.entry(Reason::Animated(animation.to_owned())).or_default().push(light.name.clone());
        true
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
        let Some((camera, skybox, image)) =
            skyboxes.first().and_then(|&(camera, first)| Some((camera, first, first.image.as_ref()?)))
        else {
            return;
        };
        self.result.assets.insert(image.id().untyped());
        let is_same = |(_, other): &(Entity, &Skybox)| {
            (&other.image, other.brightness, other.rotation) == (&skybox.image, skybox.brightness, skybox.rotation)
        };
        if !skyboxes.iter().all(is_same) {
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
                self.result.scene.sky = Sky::Map(EnvironmentMap { texture: picture, scale, rotation });
                self.result.lights.extend(&reader.lit_cameras);
            }
            Err(reason) => {
                let path = reader.assets.get_path(image.id()).map(|path| format!(" {path}")).unwrap_or_default();
                let camera = reader.names.describe(camera);
                self.result
                    .warnings
                    .push(format!("skybox{path} of {camera} cannot be read ({reason}): the sky is dark"));
            }
        }
    }

    /// Assigns shortened, unique keys to surfaces.
    fn name_surfaces(&mut self) {
        let keys: Vec<SurfaceKey> = self.result.scene.surfaces.iter().map(|surface| surface.key.clone()).collect();
        let mut unique = UniqueKeys::default();
        let placed = self.result.scene.surfaces.iter_mut().zip(shorten(&keys)).zip(self.owners.drain(..));
        for ((surface, key), owner) in placed {
            surface.key = unique.claim(&key);
            self.result.surfaces.insert(surface.key.clone(), owner);
        }
        let ambiguous = unique.problem();
        self.result.warnings.extend(ambiguous.map(|problem| format!("{problem}, or a `BakeId`")));
    }

    fn finish(mut self) -> WorldScene {
        self.name_surfaces();
        let unsupported_meshes: Vec<String> =
            self.reader.unsupported_meshes.iter().map(|entity| self.reader.names.describe(entity)).collect();
        if !unsupported_meshes.is_empty() {
            self.result.warnings.push(format!(
                "{} left out, because only StandardMaterial can be read: {}",
                scene_count(unsupported_meshes.len(), "mesh", "meshes"),
                unsupported_meshes.join(", ")
            ));
        }
        for (reason, names) in core::mem::take(&mut self.left_out) {
            let more = names.len().saturating_sub(1);
            let Some(node) = names.into_iter().next() else { continue };
            self.note(vec![match reason {
                Reason::Unlit(material) => Problem::Unlit { material, node, more },
                Reason::Animated(animation) => Problem::AnimatedNodes { animation, node, more },
            }]);
        }
        if self.moved > 0 {
            self.result.warnings.push(format!(
                "{} moved since they were loaded and are not baked; `BakeRole::Lightmapped` bakes them where they stand",
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

fn scene_count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
