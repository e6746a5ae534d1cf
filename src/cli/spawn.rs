//! Conversion of a plain scene to Bevy entities, as `radiosity view` shows it. Examples and tests share it.

use std::collections::HashMap;

use bevy::asset::RenderAssetUsages;
use bevy::image::{ImageAddressMode, ImageSampler, ImageSamplerDescriptor};
use bevy::light::{DirectionalLight, NotShadowCaster, PointLight, RectLight, SpotLight};
use bevy::math::Affine2;
use bevy::mesh::{Indices, PrimitiveTopology};
use bevy::pbr::StandardMaterial;
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, Face, TextureDimension, TextureFormat};
use bevy_radiosity::prelude::*;
use bevy_radiosity::scene::{
    AlphaMode as SceneAlpha, LightKind, Material, MeshData, Role, Scene, Sides, Surface, Texels, Texture, TextureRef,
    UvChannel, Wrap,
};

/// Spawns the surfaces and lights of a scene under a new entity, and returns that entity.
///
/// Each surface has its key as [`BakeId`]. Materials are diffuse, with emission in cd/m2. Unlit surfaces are drawn too,
/// and cast no shadow.
pub fn spawn_scene(world: &mut World, scene: &Scene) -> Entity {
    let root = world.spawn((Transform::default(), Visibility::default())).id();
    let images = add_all(world, scene.textures.iter().map(|texture| bevy_image(texture)));
    let (mut meshes, mut materials) = (HashMap::new(), HashMap::new());
    let is_unlit = |surface: &Surface| scene.materials[surface.material.index()].is_unlit;
    for surface in scene.surfaces.iter().filter(|surface| surface.role != Role::Excluded || is_unlit(surface)) {
        let cull = culled_face(surface);
        let material = materials
            .entry((surface.material, cull.is_some(), surface.is_mirrored()))
            .or_insert_with(|| {
                let material = standard_material(&scene.materials[surface.material.index()], &images, cull);
                world.resource_mut::<Assets<StandardMaterial>>().add(material)
            })
            .clone();
        let (channel, _) = first_laid(&scene.materials[surface.material.index()]);
        let mesh = meshes
            .entry((surface.mesh, channel))
            .or_insert_with(|| {
                let mesh = bevy_mesh(&scene.meshes[surface.mesh.index()], channel);
                world.resource_mut::<Assets<Mesh>>().add(mesh)
            })
            .clone();
        let mut entity = world.spawn((
            ChildOf(root),
            Name::new(surface.key.to_string()),
            BakeId(surface.key.to_string()),
            BakeResolution(surface.density_scale),
            BakeTint(scene.materials[surface.material.index()].tints),
            Mesh3d(mesh),
            MeshMaterial3d(material),
            Transform::from_matrix(surface.to_world.into()),
        ));
        match surface.role {
            Role::Occluder => entity.insert(BakeRole::Occluder),
            Role::Mover => entity.insert(BakeRole::Mover),
            Role::Excluded => entity.insert((BakeRole::Excluded, NotShadowCaster)),
            Role::Static => &mut entity,
        };
    }
    for light in &scene.lights {
        spawn_light(world, root, light.name.clone(), &light.kind);
    }
    root
}

fn add_all<A: Asset>(world: &mut World, values: impl Iterator<Item = A>) -> Vec<Handle<A>> {
    let mut assets = world.resource_mut::<Assets<A>>();
    values.map(|value| assets.add(value)).collect()
}

fn culled_face(surface: &Surface) -> Option<Face> {
    match surface.sides {
        Sides::Both => None,
        // A mirroring transform reverses the winding of triangles, which GPU culling does not account for.
        Sides::Front if surface.is_mirrored() => Some(Face::Front),
        Sides::Front => Some(Face::Back),
    }
}

/// Returns the textures of a material that are drawn.
fn drawn(material: &Material) -> impl Iterator<Item = TextureRef> {
    [material.base_color_texture, material.metallic_roughness_texture, material.emission_texture].into_iter().flatten()
}

/// Returns the UV channel and transform of a material's first texture, which all others use too. Bevy has one UV
/// transform per material, and its second channel is the lightmap's.
fn first_laid(material: &Material) -> (UvChannel, Affine2) {
    drawn(material).next().map_or_else(Default::default, |first| (first.channel, first.transform))
}

/// Converts a mesh, with a UV channel as UV_0.
fn bevy_mesh(mesh: &MeshData, channel: UvChannel) -> Mesh {
    let arrays = |vectors: &[Vec3]| vectors.iter().map(Vec3::to_array).collect::<Vec<_>>();
    let pairs = |vectors: &[Vec2]| vectors.iter().map(Vec2::to_array).collect::<Vec<_>>();
    let mut result = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, arrays(&mesh.positions))
        .with_inserted_indices(Indices::U32(mesh.triangles.as_flattened().to_vec()));
    if mesh.normals.is_empty() {
        result.compute_smooth_normals();
    } else {
        result.insert_attribute(Mesh::ATTRIBUTE_NORMAL, arrays(&mesh.normals));
    }
    if !mesh.uv(channel).is_empty() {
        result.insert_attribute(Mesh::ATTRIBUTE_UV_0, pairs(mesh.uv(channel)));
    }
    if !mesh.uv1.is_empty() {
        result.insert_attribute(Mesh::ATTRIBUTE_UV_1, pairs(&mesh.uv1));
    }
    if !mesh.colors.is_empty() {
        let colors: Vec<_> = mesh.colors.iter().map(Vec4::to_array).collect();
        result.insert_attribute(Mesh::ATTRIBUTE_COLOR, colors);
    }
    result
}

fn bevy_image(texture: &Texture) -> Image {
    let (format, data) = match &texture.texels {
        Texels::Srgb8(texels) => (TextureFormat::Rgba8UnormSrgb, texels.as_flattened().to_vec()),
        Texels::Linear8(texels) => (TextureFormat::Rgba8Unorm, texels.as_flattened().to_vec()),
        Texels::Float(texels) => {
            let half = |value: f32| half::f16::from_f32(value.clamp(0.0, half::f16::MAX.to_f32())).to_le_bytes();
            let bytes = texels.iter().flat_map(|texel| texel.with_w(1.0).to_array()).flat_map(half).collect();
            (TextureFormat::Rgba16Float, bytes)
        }
    };
    let size = Extent3d { width: texture.width, height: texture.height, depth_or_array_layers: 1 };
    let mut image = Image::new(size, TextureDimension::D2, data, format, RenderAssetUsages::default());
    let [address_mode_u, address_mode_v] = texture.wrap.map(|wrap| match wrap {
        Wrap::Repeat => ImageAddressMode::Repeat,
        Wrap::Mirror => ImageAddressMode::MirrorRepeat,
        Wrap::Clamp => ImageAddressMode::ClampToEdge,
    });
    image.sampler = ImageSampler::Descriptor(ImageSamplerDescriptor {
        address_mode_u,
        address_mode_v,
        ..ImageSamplerDescriptor::linear()
    });
    image
}

fn standard_material(material: &Material, images: &[Handle<Image>], cull_mode: Option<Face>) -> StandardMaterial {
    let first = first_laid(material);
    if drawn(material).any(|other| (other.channel, other.transform) != first) {
        let name = &material.name;
        warn!("the textures of material '{name}' are laid differently: Bevy draws all of them like the first");
    }
    let image = |reference: Option<TextureRef>| reference.map(|found| images[found.texture.index()].clone());
    let [red, green, blue, mut alpha] = material.base_color.to_array();
    let mut alpha_mode = match material.alpha {
        SceneAlpha::Opaque => AlphaMode::Opaque,
        SceneAlpha::Mask(threshold) => AlphaMode::Mask(threshold),
        SceneAlpha::Blend => AlphaMode::Blend,
    };
    // Transmission is drawn as blending, since Bevy's transmission needs another pass.
    if material.transmission > 0.0 && material.alpha == SceneAlpha::Opaque {
        (alpha, alpha_mode) = (1.0 - material.transmission, AlphaMode::Blend);
    }
    StandardMaterial {
        base_color: Color::linear_rgba(red, green, blue, alpha),
        base_color_texture: image(material.base_color_texture),
        metallic: material.metallic,
        metallic_roughness_texture: image(material.metallic_roughness_texture),
        emissive: LinearRgba::from_vec3(material.emission),
        emissive_texture: image(material.emission_texture),
        emissive_exposure_weight: 1.0,
        perceptual_roughness: 1.0,
        reflectance: 0.0,
        alpha_mode,
        diffuse_transmission: material.diffuse_transmission,
        unlit: material.is_unlit,
        double_sided: cull_mode.is_none(),
        cull_mode,
        uv_transform: first.1,
        ..default()
    }
}

/// Splits a color into one with a largest channel of one, and that channel.
fn split(strength: Vec3) -> (Color, f32) {
    let largest = strength.max_element().max(f32::MIN_POSITIVE);
    (Color::LinearRgba(LinearRgba::from_vec3(strength / largest)), largest)
}

fn spawn_light(world: &mut World, root: Entity, name: String, light: &LightKind) {
    const SPHERE: f32 = 4.0 * core::f32::consts::PI;
    // Bevy clusters lights by their range, which must be finite.
    let finite = |range: f32| if range.is_finite() { range } else { 1e4 };
    let facing = |position: Vec3, direction: Vec3| {
        Transform::from_translation(position).looking_to(direction, direction.any_orthonormal_vector())
    };
    let mut entity = world.spawn((ChildOf(root), Name::new(name)));
    match *light {
        LightKind::Point { position, intensity, radius, range } => {
            let (color, candela) = split(intensity);
            let light = PointLight {
                color,
                intensity: candela * SPHERE,
                radius,
                range: finite(range),
                shadow_maps_enabled: true,
                ..default()
            };
            entity.insert((light, Transform::from_translation(position)));
        }
        LightKind::Spot { position, direction, intensity, radius, range, inner_angle, outer_angle } => {
            let (color, candela) = split(intensity);
            let light = SpotLight {
                color,
                intensity: candela * SPHERE,
                radius,
                range: finite(range),
                inner_angle,
                outer_angle,
                shadow_maps_enabled: true,
                ..default()
            };
            entity.insert((light, facing(position, direction)));
        }
        LightKind::Directional { direction, illuminance, .. } => {
            let (color, illuminance) = split(illuminance);
            let light = DirectionalLight { color, illuminance, shadow_maps_enabled: true, ..default() };
            entity.insert((light, facing(Vec3::ZERO, direction)));
        }
        LightKind::Rectangle { center, half_width, half_height, normal, radiance } => {
            let (color, radiance) = split(radiance);
            let (width, height) = (2.0 * half_width.length(), 2.0 * half_height.length());
            let intensity = radiance * width * height * core::f32::consts::PI;
            let place = Transform::from_translation(center).looking_to(normal, half_height);
            entity.insert((RectLight { color, intensity, width, height, range: 1e4 }, place));
        }
    }
}
