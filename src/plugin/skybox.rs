//! Skybox from an environment map.

use bevy::asset::RenderAssetUsages;
use bevy::light::Skybox;
use bevy::prelude::*;
use bevy::render::render_resource::{
    Extent3d, TextureDimension, TextureFormat, TextureViewDescriptor, TextureViewDimension,
};

use super::convert::direction_on_face;
use super::write_back::half_floats;
use crate::scene::{EnvironmentMap, Sky};

/// Maximum size of a cube face, in texels.
const LARGEST_FACE: u32 = 1024;

/// Creates a skybox that shows an environment map in cd/m2, through the camera's exposure. A bake reads the same sky
/// from it.
pub fn skybox(map: &EnvironmentMap, images: &mut Assets<Image>) -> Skybox {
    Skybox { image: Some(images.add(cube(map))), brightness: map.scale, rotation: Quat::IDENTITY }
}

fn cube(map: &EnvironmentMap) -> Image {
    // A face covers a quarter of the columns of the map.
    let size = (map.texture.width / 4).clamp(1, LARGEST_FACE);
    let unscaled = Sky::Map(EnvironmentMap { scale: 1.0, ..map.clone() });
    let texels: Vec<Vec3> = (0..6)
        .flat_map(|face| (0..size * size).map(move |texel| (face, UVec2::new(texel % size, texel / size))))
        .map(|(face, texel)| unscaled.radiance(direction_on_face(face, (texel.as_vec2() + 0.5) / size as f32)))
        .collect();
    let mut image = Image::new(
        Extent3d { width: size, height: size, depth_or_array_layers: 6 },
        TextureDimension::D2,
        half_floats(&texels),
        TextureFormat::Rgba16Float,
        RenderAssetUsages::default(),
    );
    image.texture_view_descriptor =
        Some(TextureViewDescriptor { dimension: Some(TextureViewDimension::Cube), ..default() });
    image
}
