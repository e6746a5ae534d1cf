//! Textures in texture arrays, several per layer.
//!
//! Without extensions that many devices lack, a shader cannot bind arbitrarily many textures of arbitrary sizes.
//! Textures therefore share the layers of two arrays, one for each texel format. Shaders implement wrapping and
//! filtering.

use bytemuck::{Pod, Zeroable};
use crunch::{Item, Rect, Rotation};
use glam::Affine2;
use wgpu::{
    Extent3d, Origin3d, TexelCopyBufferLayout, TexelCopyTextureInfo, Texture as DeviceTexture, TextureAspect,
    TextureDescriptor, TextureDimension, TextureFormat, TextureUsages, TextureView, TextureViewDescriptor,
    TextureViewDimension,
};

use super::super::{Gpu, GpuFault};
use crate::scene::{Scene, Sky, Texels, Texture, TextureRef, Wrap};

/// Texture reference for shaders: layer, corner, size, and wrap modes with flags.
pub(super) type TextureWords = [u32; 4];

/// Texture of a material with its UV transform; counterpart of `TextureRecord` in `material.wgsl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct TextureRecord {
    words: TextureWords,
    uv_matrix: [f32; 4],
    uv_offset: [f32; 2],
    padding: [u32; 2],
}

/// First bit of the UV channel in the flags.
const UV_SHIFT: u32 = 8;
const IS_TEXTURE: u32 = 32;
const IS_SRGB: u32 = 64;
const IS_FLOAT: u32 = 128;

/// All textures of a scene, on the device.
pub(super) struct Textures {
    pub eight_bits: TextureView,
    pub float: TextureView,
    /// Placement of each texture of the scene. The environment map comes last.
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    layer: u32,
    x: u32,
    y: u32,
}

/// Texel format of an array.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    EightBits,
    Float,
}

impl Kind {
    fn of(texture: &Texture) -> Self {
        match texture.texels {
            Texels::Srgb8(_) | Texels::Linear8(_) => Self::EightBits,
            Texels::Float(_) => Self::Float,
        }
    }

    fn format(self) -> TextureFormat {
        match self {
            Self::EightBits => TextureFormat::Rgba8Unorm,
            Self::Float => TextureFormat::Rgba32Float,
        }
    }

    fn bytes_per_texel(self) -> u64 {
        match self {
            Self::EightBits => 4,
            Self::Float => 16,
        }
    }
}

/// Minimum edge length of a layer in texels, so that small textures share layers.
const SMALLEST_LAYER: u32 = 1024;
/// WebGPU's default limit.
const MAX_LAYERS: u32 = 256;

impl Textures {
    /// Uploads all textures.
    pub fn new(gpu: &Gpu, scene: &Scene) -> Result<Self, GpuFault> {
        let environment = match &scene.sky {
            Sky::Map(map) => Some(&*map.texture),
            _ => None,
        };
        let textures: Vec<&Texture> = scene.textures.iter().map(|texture| &**texture).chain(environment).collect();
        let mut places = vec![Place::default(); textures.len()];
        let mut array = |kind| upload_array(gpu, kind, &textures, &mut places);
        let (eight_bits, float) = (array(Kind::EightBits)?, array(Kind::Float)?);
        Ok(Self { eight_bits, float, places })
    }

    /// Returns the reference to a texture; all zero for none.
    pub fn words(&self, scene: &Scene, reference: Option<TextureRef>) -> TextureWords {
        let Some(TextureRef { texture, channel, .. }) = reference else {
            return [0; 4];
        };
        let mut words = self.words_of(texture.index(), scene.texture(texture));
        words[3] |= channel.index() << UV_SHIFT;
        words
    }

    /// Returns the reference to a texture, with its UV transform.
    pub fn record(&self, scene: &Scene, reference: Option<TextureRef>) -> TextureRecord {
        let transform = reference.map_or(Affine2::IDENTITY, |reference| reference.transform);
        TextureRecord {
            words: self.words(scene, reference),
            uv_matrix: transform.matrix2.to_cols_array(),
            uv_offset: transform.translation.to_array(),
            padding: [0; 2],
        }
    }

    /// Returns the reference to the environment map.
    pub fn words_of_sky(&self, texture: &Texture) -> TextureWords {
        self.words_of(self.places.len() - 1, texture)
    }

    fn words_of(&self, index: usize, texture: &Texture) -> TextureWords {
        let Some(Place { layer, x, y }) =
            self.places.get(index).copied().filter(|_| texture.width * texture.height > 0)
        else {
            return [0; 4];
        };
        let wrap = |wrap: Wrap| match wrap {
            Wrap::Repeat => 0,
            Wrap::Mirror => 1,
            Wrap::Clamp => 2,
        };
        let wraps = wrap(texture.wrap[0]) | wrap(texture.wrap[1]) << 2;
        let kind = match texture.texels {
            Texels::Srgb8(_) => IS_SRGB,
            Texels::Linear8(_) => 0,
            Texels::Float(_) => IS_FLOAT,
        };
        [layer, x | y << 16, texture.width | texture.height << 16, IS_TEXTURE | kind | wraps]
    }
}

/// Places all textures of a format on layers and uploads them.
fn upload_array(gpu: &Gpu, kind: Kind, textures: &[&Texture], places: &mut [Place]) -> Result<TextureView, GpuFault> {
    let of_kind =
        |&index: &usize| Kind::of(textures[index]) == kind && textures[index].width * textures[index].height > 0;
    let indices: Vec<usize> = (0..textures.len()).filter(of_kind).collect();
    let limits = gpu.device.limits();
    let widest = limits.max_texture_dimension_2d;
    let min_length = if indices.is_empty() { 1 } else { SMALLEST_LAYER.min(widest) };
    let largest =
        |length: fn(&Texture) -> u32| indices.iter().map(|&index| length(textures[index])).fold(min_length, u32::max);
    let layer = [largest(|texture| texture.width), largest(|texture| texture.height)];
    let too_large = |bytes: u64, limit: u64| GpuFault::TooLarge {
        what: "the pictures",
        bytes,
        limit,
        adapter: gpu.name().to_owned(),
    };
    let bytes_per_texel = kind.bytes_per_texel();
    let bytes_of_layer = u64::from(layer[0]) * u64::from(layer[1]) * bytes_per_texel;
    if layer[0].max(layer[1]) > widest {
        return Err(too_large(bytes_of_layer, u64::from(widest) * u64::from(widest) * bytes_per_texel));
    }
    let layers = place_on_layers(&indices, textures, layer, places);
    let max_layers = limits.max_texture_array_layers.min(MAX_LAYERS);
    if layers > max_layers {
        return Err(too_large(u64::from(layers) * bytes_of_layer, u64::from(max_layers) * bytes_of_layer));
    }
    gpu.guarded("the pictures", || {
        let array = gpu.device.create_texture(&TextureDescriptor {
            label: Some("pictures"),
            size: Extent3d { width: layer[0], height: layer[1], depth_or_array_layers: layers.max(1) },
            mip_level_count: 1,
            sample_count: 1,
            dimension: TextureDimension::D2,
            format: kind.format(),
            usage: TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST,
            view_formats: &[],
        });
        for index in indices {
            upload(gpu, &array, textures[index], places[index]);
        }
        let all_layers = TextureViewDescriptor { dimension: Some(TextureViewDimension::D2Array), ..Default::default() };
        Ok(array.create_view(&all_layers))
    })
}

/// Places textures on layers of the given size, and returns the number of layers.
fn place_on_layers(indices: &[usize], textures: &[&Texture], [width, height]: [u32; 2], places: &mut [Place]) -> u32 {
    let mut left: Vec<usize> = indices.to_vec();
    let mut layer = 0;
    while !left.is_empty() {
        let items = left.iter().map(|&index| {
            let texture = textures[index];
            Item::new(index, texture.width as usize, texture.height as usize, Rotation::None)
        });
        let packed = crunch::pack(Rect::of_size(width as usize, height as usize), items).unwrap_or_else(|some| some);
        if packed.is_empty() {
            break;
        }
        for item in &packed {
            places[item.data] = Place { layer, x: item.rect.x as u32, y: item.rect.y as u32 };
        }
        left.retain(|index| packed.iter().all(|item| item.data != *index));
        layer += 1;
    }
    layer
}

fn upload(gpu: &Gpu, array: &DeviceTexture, texture: &Texture, place: Place) {
    let (bytes, bytes_per_texel): (&[u8], u32) = match &texture.texels {
        Texels::Srgb8(texels) | Texels::Linear8(texels) => (texels.as_flattened(), 4),
        Texels::Float(texels) => (bytemuck::cast_slice(texels), 16),
    };
    let destination = TexelCopyTextureInfo {
        texture: array,
        mip_level: 0,
        origin: Origin3d { x: place.x, y: place.y, z: place.layer },
        aspect: TextureAspect::All,
    };
    let rows = TexelCopyBufferLayout {
        offset: 0,
        bytes_per_row: Some(texture.width * bytes_per_texel),
        rows_per_image: Some(texture.height),
    };
    let size = Extent3d { width: texture.width, height: texture.height, depth_or_array_layers: 1 };
    gpu.queue.write_texture(destination, bytes, rows, size);
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    TextureRecord as TextureRecord { words, uv_matrix, uv_offset, padding }
}
