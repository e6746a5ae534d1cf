//! The surroundings of a scene behind what a camera sees.

use bevy::asset::RenderAssetUsages;
use bevy::light::Skybox;
use bevy::prelude::*;
use bevy::render::render_resource::{
    Extent3d, TextureDimension, TextureFormat, TextureViewDescriptor, TextureViewDimension,
};

use super::write_back::half_floats;
use crate::scene::{EnvironmentMap, Sky};

/// Rows and columns of a face at most.
const LARGEST_FACE: u32 = 1024;

/// Shows an environment map as it is, in cd/m2, through the camera's exposure.
pub fn skybox(map: &EnvironmentMap, images: &mut Assets<Image>) -> Skybox {
    Skybox { image: Some(images.add(cube(map))), brightness: map.scale, rotation: Quat::IDENTITY }
}

fn cube(map: &EnvironmentMap) -> Image {
    // A face shows a quarter of the picture's columns.
    let size = (map.picture.width / 4).clamp(1, LARGEST_FACE);
    let unscaled = Sky::Map(EnvironmentMap { scale: 1.0, ..map.clone() });
    let texels: Vec<Vec3> = (0..6)
        .flat_map(|face| (0..size * size).map(move |texel| (face, UVec2::new(texel % size, texel / size))))
        .map(|(face, texel)| unscaled.radiance(direction(face, (texel.as_vec2() + 0.5) / size as f32)))
        .collect();
    let mut image = Image::new(
        Extent3d { width: size, height: size, depth_or_array_layers: 6 },
        TextureDimension::D2,
        half_floats(&texels),
        TextureFormat::Rgba16Float,
        RenderAssetUsages::RENDER_WORLD,
    );
    image.texture_view_descriptor =
        Some(TextureViewDescriptor { dimension: Some(TextureViewDimension::Cube), ..default() });
    image
}

/// The unit direction, in world space, that a place on a face shows; `(0, 0)` is the face's upper left corner.
///
/// Faces are left-handed, in the order +X, -X, +Y, -Y, +Z, -Z, and Bevy looks into them with z turned round.
fn direction(face: usize, uv: Vec2) -> Vec3 {
    let Vec2 { x: right, y: down } = uv * 2.0 - 1.0;
    let left_handed = match face {
        0 => Vec3::new(1.0, -down, -right),
        1 => Vec3::new(-1.0, -down, right),
        2 => Vec3::new(right, 1.0, down),
        3 => Vec3::new(right, -1.0, -down),
        4 => Vec3::new(right, -down, 1.0),
        _ => Vec3::new(-right, -down, -1.0),
    };
    (left_handed * Vec3::new(1.0, 1.0, -1.0)).normalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_stand_around_the_origin_and_meet_at_their_edges() {
        let middles: Vec<Vec3> = (0..6).map(|face| direction(face, Vec2::splat(0.5))).collect();
        assert_eq!(middles, [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::NEG_Z, Vec3::Z]);
        // Whoever looks along -Z has +X on the right hand and +Y above.
        assert_eq!(direction(4, Vec2::new(1.0, 0.5)), direction(0, Vec2::new(0.0, 0.5)));
        assert_eq!(direction(4, Vec2::new(0.5, 0.0)), direction(2, Vec2::new(0.5, 1.0)));
        assert_eq!(direction(5, Vec2::new(0.0, 0.5)), direction(0, Vec2::new(1.0, 0.5)));
        assert_eq!(direction(1, Vec2::new(0.5, 1.0)), direction(3, Vec2::new(0.0, 0.5)));
    }
}
