//! Content hashes of scenes. Scenes with equal hashes bake to equal pages.

use std::fmt;
use std::str::FromStr;

use glam::{Affine2, Affine3A, Vec3};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    AlphaMode, EnvironmentMap, Light, LightKind, Material, MeshData, Scene, Sky, Surface, Texels, Texture, TextureId,
    TextureRef,
};

/// BLAKE3 hash, written as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Hash(pub [u8; 32]);

/// Error for text that is not a hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no hash: 64 hexadecimal digits are expected")]
pub struct NoHash(String);

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl FromStr for Hash {
    type Err = NoHash;

    fn from_str(text: &str) -> Result<Self, NoHash> {
        blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes())).map_err(|_| NoHash(text.to_owned()))
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        hash.to_string()
    }
}

impl TryFrom<String> for Hash {
    type Error = NoHash;

    fn try_from(text: String) -> Result<Self, NoHash> {
        text.parse()
    }
}

/// Returns the hash of everything in a scene that influences a bake, in the scene's order.
///
/// Names used only in messages do not count. Surface keys do, because files refer to surfaces by key.
pub fn hash(scene: &Scene) -> Hash {
    let meshes: Vec<Hash> = scene.meshes.par_iter().map(|mesh| hash_mesh(mesh)).collect();
    let textures: Vec<Hash> = scene.textures.par_iter().map(|texture| hash_texture(texture)).collect();
    let mut state = State::new("scene");
    state.list(&meshes, |state, mesh| state.bytes(&mesh.0));
    state.list(&textures, |state, texture| state.bytes(&texture.0));
    state.list(&scene.materials, State::material);
    state.list(&scene.surfaces, State::surface);
    state.list(&scene.lights, State::light);
    state.sky(&scene.sky);
    state.finish()
}

/// Returns the hash of a mesh's vertices and triangles.
pub fn hash_mesh(mesh: &MeshData) -> Hash {
    let mut state = State::new("mesh");
    state.slice(&mesh.positions);
    state.slice(&mesh.normals);
    state.slice(&mesh.uv0);
    state.slice(&mesh.uv1);
    state.list(&mesh.other_uv, |state, set| state.slice(set));
    state.slice(&mesh.colors);
    state.slice(&mesh.triangles);
    state.finish()
}

/// Returns the hash of each material of a scene as bakes use it, including the contents of its textures.
pub fn hash_materials(scene: &Scene) -> Vec<Hash> {
    let textures: Vec<Hash> = scene.textures.par_iter().map(|texture| hash_texture(texture)).collect();
    let hash = |material: &Material| {
        let mut state = State::new("material");
        let mut material = Material { normal_texture: None, ..material.clone() };
        // Texture indices may change while the material stays the same, so contents replace them.
        for (number, reference) in material.textures_mut().into_iter().flatten().enumerate() {
            let texture = textures.get(reference.texture.index()).map_or(&[][..], |hash| &hash.0);
            state.slice(texture);
            reference.texture = TextureId(number as u32);
        }
        state.material(&material);
        state.finish()
    };
    scene.materials.iter().map(hash).collect()
}

/// Returns the hash of a surface's transform.
pub fn hash_transform(to_world: &Affine3A) -> Hash {
    let mut state = State::new("transform");
    state.floats(&Affine3A::to_cols_array(to_world));
    state.finish()
}

/// Returns the hash of a light's position, shape and strength.
pub fn hash_light(light: &Light) -> Hash {
    let mut state = State::new("light");
    state.light(light);
    state.finish()
}

fn hash_texture(texture: &Texture) -> Hash {
    let mut state = State::new("texture");
    state.number(texture.width);
    state.number(texture.height);
    texture.wrap.iter().for_each(|wrap| state.number(*wrap as u32));
    match &texture.texels {
        Texels::Srgb8(texels) => state.variant(0).slice(texels),
        Texels::Linear8(texels) => state.variant(1).slice(texels),
        Texels::Float(texels) => state.variant(2).slice(texels),
    }
    state.finish()
}

/// Hash under construction. A length precedes everything of variable length, and a number every variant.
struct State(blake3::Hasher);

impl State {
    fn new(kind: &str) -> Self {
        let mut state = Self(blake3::Hasher::new());
        state.text(kind);
        state
    }

    fn finish(self) -> Hash {
        Hash(*self.0.finalize().as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn number(&mut self, number: u32) {
        self.bytes(&number.to_le_bytes());
    }

    fn variant(&mut self, variant: u32) -> &mut Self {
        self.number(variant);
        self
    }

    fn float(&mut self, value: f32) {
        self.bytes(&value.to_le_bytes());
    }

    fn floats(&mut self, values: &[f32]) {
        values.iter().for_each(|&value| self.float(value));
    }

    fn vector(&mut self, vector: Vec3) {
        self.floats(&vector.to_array());
    }

    fn text(&mut self, text: &str) {
        self.slice(text.as_bytes());
    }

    fn slice<T: bytemuck::NoUninit>(&mut self, values: &[T]) {
        self.bytes(&(values.len() as u64).to_le_bytes());
        self.bytes(bytemuck::cast_slice(values));
    }

    fn list<T>(&mut self, items: &[T], each: impl Fn(&mut Self, &T)) {
        self.bytes(&(items.len() as u64).to_le_bytes());
        items.iter().for_each(|item| each(self, item));
    }

    fn texture_reference(&mut self, reference: Option<TextureRef>) {
        match reference {
            None => self.number(0),
            Some(TextureRef { texture, channel, transform }) => {
                self.variant(1).number(texture.0);
                self.number(channel.index());
                self.floats(&Affine2::to_cols_array(&transform));
            }
        }
    }

    fn material(&mut self, material: &Material) {
        let Material {
            name: _,
            base_color,
            base_color_texture,
            metallic,
            perceptual_roughness,
            metallic_roughness_texture,
            reflectance,
            specular_texture,
            specular_tint_texture,
            emission,
            emission_texture,
            // Bakes ignore bumps, and solid glass affects them only through its transmission.
            normal_texture: _,
            normal_scale: _,
            clearcoat,
            clearcoat_texture,
            clearcoat_perceptual_roughness,
            clearcoat_roughness_texture,
            transmission,
            transmission_texture,
            glass: _,
            diffuse_transmission,
            diffuse_transmission_texture,
            diffuse_transmission_color,
            diffuse_transmission_color_texture,
            // Covered by the surface's role.
            is_unlit: _,
            alpha,
            tints,
            drawn_uv,
        } = material;
        self.floats(&base_color.to_array());
        let coat = [*clearcoat, *clearcoat_perceptual_roughness];
        self.floats(&[*metallic, *perceptual_roughness, *transmission, *diffuse_transmission]);
        self.floats(&coat);
        [*emission, *reflectance, *diffuse_transmission_color].into_iter().for_each(|vector| self.vector(vector));
        for reference in [
            base_color_texture,
            metallic_roughness_texture,
            specular_texture,
            specular_tint_texture,
            emission_texture,
            clearcoat_texture,
            clearcoat_roughness_texture,
            transmission_texture,
        ] {
            self.texture_reference(*reference);
        }
        // Hashes of materials without these stay as they were, so that baked levels stay fresh.
        for (variant, reference) in [(9, diffuse_transmission_texture), (10, diffuse_transmission_color_texture)] {
            if reference.is_some() {
                self.variant(variant).texture_reference(*reference);
            }
        }
        self.number(u32::from(*tints));
        match alpha {
            AlphaMode::Opaque => self.number(0),
            AlphaMode::Mask(cutoff) => self.variant(1).float(*cutoff),
            AlphaMode::Blend => self.number(2),
        }
        self.number(drawn_uv.bits());
    }

    fn surface(&mut self, surface: &Surface) {
        let Surface { key, mesh, to_world, material, role, sides, density_scale, sealed: _, lightmap: _ } = surface;
        self.text(&key.0);
        self.number(mesh.0);
        self.number(material.0);
        self.number(*role as u32);
        self.number(*sides as u32);
        self.floats(&Affine3A::to_cols_array(to_world));
        self.float(*density_scale);
    }

    fn light(&mut self, light: &Light) {
        match light.kind {
            LightKind::Point { position, intensity, radius, range } => {
                self.number(0);
                self.vector(position);
                self.vector(intensity);
                self.floats(&[radius, range]);
            }
            LightKind::Spot { position, direction, intensity, radius, range, inner_angle, outer_angle } => {
                self.number(1);
                self.vector(position);
                self.vector(direction);
                self.vector(intensity);
                self.floats(&[radius, range, inner_angle, outer_angle]);
            }
            LightKind::Directional { direction, illuminance, angular_diameter } => {
                self.number(2);
                self.vector(direction);
                self.vector(illuminance);
                self.float(angular_diameter);
            }
            LightKind::Rectangle { center, half_width, half_height, normal, radiance } => {
                self.number(3);
                [center, half_width, half_height, normal, radiance].into_iter().for_each(|vector| self.vector(vector));
            }
        }
    }

    fn sky(&mut self, sky: &Sky) {
        match sky {
            Sky::Dark => self.number(0),
            Sky::Uniform(radiance) => self.variant(1).vector(*radiance),
            Sky::Map(EnvironmentMap { texture: picture, scale, rotation }) => {
                // 2 was an environment map with its middle along -Z.
                self.number(3);
                self.bytes(&hash_texture(picture).0);
                self.float(*scale);
                self.floats(&rotation.to_array());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::builtin_scenes;
    use crate::scene::{Role, UvChannel, Wrap};

    #[test]
    fn the_same_scene_has_the_same_hash_and_names_do_not_matter() {
        let (a, mut b) = (builtin_scenes::build("cornell_box").unwrap(), builtin_scenes::build("cornell_box").unwrap());
        assert_eq!(hash(&a), hash(&b));
        b.materials[0].name = "other".into();
        Arc::make_mut(&mut b.meshes[0]).name = "other".into();
        assert_eq!(hash(&a), hash(&b));
        assert_ne!(hash(&a), hash(&builtin_scenes::build("cornell_empty").unwrap()));
    }

    #[test]
    fn every_change_that_a_bake_would_show_changes_the_hash() {
        let scene = || builtin_scenes::build("cornell_empty").unwrap();
        let changes: [fn(&mut Scene); 22] = [
            |scene| Arc::make_mut(&mut scene.meshes[0]).positions[0].x += 1e-6,
            |scene| Arc::make_mut(&mut scene.meshes[0]).triangles.swap(0, 1),
            |scene| Arc::make_mut(&mut scene.meshes[0]).colors.push(glam::Vec4::ONE),
            |scene| scene.materials[0].base_color.x *= 0.5,
            |scene| scene.materials[0].emission.x += 1.0,
            |scene| scene.materials[0].alpha = AlphaMode::Mask(0.5),
            |scene| scene.materials[0].reflectance.x += 0.5,
            |scene| scene.materials[0].specular_texture = Some(TextureRef::new(TextureId(0))),
            |scene| scene.materials[0].perceptual_roughness *= 0.5,
            |scene| scene.materials[0].clearcoat += 0.5,
            |scene| scene.materials[0].transmission += 0.5,
            |scene| scene.materials[0].tints = true,
            |scene| scene.materials[0].diffuse_transmission += 0.5,
            |scene| scene.materials[0].diffuse_transmission_texture = Some(TextureRef::new(TextureId(0))),
            |scene| scene.materials[0].diffuse_transmission_color_texture = Some(TextureRef::new(TextureId(0))),
            |scene| {
                scene.materials[0].transmission_texture = Some(TextureRef::new(TextureId(0)));
            },
            |scene| {
                let place = TextureRef::new(TextureId(0)).with_channel(UvChannel::Other(1));
                scene.materials[0].transmission_texture = Some(place);
            },
            |scene| {
                let place = TextureRef::new(TextureId(0)).with_transform(Affine2::from_scale(glam::Vec2::splat(2.0)));
                scene.materials[0].transmission_texture = Some(place);
            },
            |scene| scene.surfaces[0].role = Role::Occluder,
            |scene| scene.surfaces[0].to_world.translation.x += 1.0,
            |scene| scene.surfaces.swap(0, 1),
            |scene| scene.sky = Sky::Uniform(Vec3::ONE),
        ];
        let mut hashes: Vec<Hash> = changes
            .into_iter()
            .map(|change| {
                let mut scene = scene();
                change(&mut scene);
                hash(&scene)
            })
            .collect();
        hashes.push(hash(&scene()));
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), changes.len() + 1);
    }

    #[test]
    fn a_material_keeps_its_hash_where_textures_are_numbered_anew_and_loses_it_with_what_they_show() {
        let texture = |gray: u8| {
            let texels = Texels::Srgb8(vec![[gray, gray, gray, 255]]);
            let wrap = [Wrap::Repeat; 2];
            Arc::new(Texture { name: String::new(), width: 1, height: 1, texels, wrap, mip_chains: Default::default() })
        };
        let mut scene = builtin_scenes::build("cornell_empty").unwrap();
        scene.textures = vec![texture(10), texture(200)];
        scene.materials[0].base_color_texture = Some(TextureRef::new(TextureId(0)));
        let hash = |scene: &Scene| hash_materials(scene)[0];
        let before = hash(&scene);
        scene.materials[0].name = "other".into();
        scene.textures.swap(0, 1);
        assert_ne!(hash(&scene), before);
        scene.materials[0].base_color_texture = Some(TextureRef::new(TextureId(1)));
        assert_eq!(hash(&scene), before);
        scene.materials[0].base_color.x *= 0.5;
        assert_ne!(hash(&scene), before);
    }

    #[test]
    fn a_hash_survives_being_written_down() {
        let hash = hash(&builtin_scenes::build("furnace").unwrap());
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(serde_json::from_str::<Hash>(&serde_json::to_string(&hash).unwrap()).unwrap(), hash);
        assert!("0123".parse::<Hash>().is_err());
    }
}
