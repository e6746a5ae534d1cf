//! Conversion of cube maps to equirectangular environment maps.

use bevy::image::TextureFormatPixelInfo;
use bevy::prelude::Image;
use bevy::render::render_resource::TextureDimension;
use glam::{UVec2, Vec2, Vec3};
use rayon::prelude::*;
use wgpu::util::TextureDataOrder;

use super::image::{ImageProblem, texture_from_image};
use crate::scene::{EnvironmentMap, MipChains, Texels, Texture, Wrap};

/// Maximum width of the environment map, in texels. A window shows about a sixth of it.
const MAX_COLUMNS: u32 = 4096;

/// Converts a cube map to an equirectangular texture in the cube's own space, laid out as in [`EnvironmentMap`].
///
/// # Errors
///
/// Returns an error when the image is no cube or cannot be read.
pub fn picture_of_cube(name: &str, image: &Image) -> Result<Texture, ImageProblem> {
    let size = image.texture_descriptor.size;
    let is_flat = image.texture_descriptor.dimension == TextureDimension::D2;
    if !is_flat || size.depth_or_array_layers != 6 || size.width != size.height || size.width == 0 {
        return Err(ImageProblem::NotACube);
    }
    let faces = (0..6).map(|index| texture_from_image(name, &face(image, index)?)).collect::<Result<Vec<_>, _>>()?;
    let width = (4 * size.width).min(MAX_COLUMNS);
    let picture_size = UVec2::new(width, width.div_ceil(2));
    let texel = |index: u32| {
        let uv = (UVec2::new(index % width, index / width).as_vec2() + 0.5) / picture_size.as_vec2();
        let (face, place) = place(EnvironmentMap::direction_of_uv(uv));
        faces[face].sample(place)
    };
    Ok(Texture {
        name: name.to_owned(),
        width,
        height: picture_size.y,
        texels: Texels::Float((0..width * picture_size.y).into_par_iter().map(texel).collect()),
        wrap: [Wrap::Repeat, Wrap::Clamp],
        mip_chains: MipChains::default(),
    })
}

/// Returns the largest mip level of one face.
fn face(image: &Image, index: usize) -> Result<Image, ImageProblem> {
    let descriptor = &image.texture_descriptor;
    let format = descriptor.format;
    let data = image.data.as_deref().ok_or(ImageProblem::LeftTheCpu)?;
    let bytes_per_texel = format.pixel_size().map_err(|_| ImageProblem::Format(format))?;
    let bytes_of = |level: u32| (descriptor.size.width >> level).max(1).pow(2) as usize * bytes_per_texel;
    let apart = match image.data_order {
        TextureDataOrder::MipMajor => bytes_of(0),
        TextureDataOrder::LayerMajor => (0..descriptor.mip_level_count).map(bytes_of).sum(),
    };
    let texels = data.get(index * apart..index * apart + bytes_of(0)).ok_or(ImageProblem::LeftTheCpu)?;
    let mut face = Image { data: Some(texels.to_vec()), texture_descriptor: descriptor.clone(), ..Image::default() };
    face.texture_descriptor.size.depth_or_array_layers = 1;
    face.texture_descriptor.mip_level_count = 1;
    Ok(face)
}

/// Returns the face of a cube map for a direction, and the place on it in 0..1. It is the inverse of
/// [`direction_on_face`].
fn place(direction: Vec3) -> (usize, Vec2) {
    let v = direction * LEFT_HANDED;
    let size = v.abs();
    let (face, right, down, depth) = if size.x >= size.y && size.x >= size.z {
        if v.x > 0.0 { (0, -v.z, -v.y, size.x) } else { (1, v.z, -v.y, size.x) }
    } else if size.y >= size.z {
        if v.y > 0.0 { (2, v.x, v.z, size.y) } else { (3, v.x, -v.z, size.y) }
    } else if v.z > 0.0 {
        (4, v.x, -v.y, size.z)
    } else {
        (5, -v.x, -v.y, size.z)
    };
    (face, (Vec2::new(right, down) / depth + 1.0) * 0.5)
}

/// Returns the unit direction for a place on a face; `(0, 0)` is the upper left corner.
///
/// Faces are left-handed, in the order +X, -X, +Y, -Y, +Z, -Z. Bevy samples them with z negated.
pub fn direction_on_face(face: usize, uv: Vec2) -> Vec3 {
    let Vec2 { x: right, y: down } = uv * 2.0 - 1.0;
    let left_handed = match face {
        0 => Vec3::new(1.0, -down, -right),
        1 => Vec3::new(-1.0, -down, right),
        2 => Vec3::new(right, 1.0, down),
        3 => Vec3::new(right, -1.0, -down),
        4 => Vec3::new(right, -down, 1.0),
        _ => Vec3::new(-right, -down, -1.0),
    };
    (left_handed * LEFT_HANDED).normalize()
}

/// Conversion between world space and the left-handed space of cube maps.
const LEFT_HANDED: Vec3 = Vec3::new(1.0, 1.0, -1.0);

#[cfg(test)]
mod tests {
    use bevy::asset::RenderAssetUsages;
    use bevy::render::render_resource::{Extent3d, TextureFormat};

    use super::*;
    use crate::scene::Sky;

    #[test]
    fn faces_stand_around_the_origin_and_meet_at_their_edges() {
        let middles: Vec<Vec3> = (0..6).map(|face| direction_on_face(face, Vec2::splat(0.5))).collect();
        assert_eq!(middles, [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::NEG_Z, Vec3::Z]);
        // When looking along -Z, +X is to the right and +Y above.
        assert_eq!(direction_on_face(4, Vec2::new(1.0, 0.5)), direction_on_face(0, Vec2::new(0.0, 0.5)));
        assert_eq!(direction_on_face(4, Vec2::new(0.5, 0.0)), direction_on_face(2, Vec2::new(0.5, 1.0)));
        assert_eq!(direction_on_face(5, Vec2::new(0.0, 0.5)), direction_on_face(0, Vec2::new(1.0, 0.5)));
        assert_eq!(direction_on_face(1, Vec2::new(0.5, 1.0)), direction_on_face(3, Vec2::new(0.0, 0.5)));
    }

    #[test]
    fn each_direction_is_found_where_its_face_shows_it() {
        for face in 0..6 {
            for uv in [(0.5, 0.5), (0.1, 0.8), (0.9, 0.3)].map(Vec2::from) {
                let (found, at) = place(direction_on_face(face, uv));
                assert_eq!(found, face);
                assert!((at - uv).length() < 1e-6, "{at} instead of {uv} on {face}");
            }
        }
    }

    /// Creates a cube with one gray level per face, of 2 x 2 texels. Its second mip level is white.
    fn cube_of_grays(grays: [u8; 6], order: TextureDataOrder) -> Image {
        let size = Extent3d { width: 2, height: 2, depth_or_array_layers: 6 };
        let format = TextureFormat::Rgba8Unorm;
        let mut image = Image::new_uninit(size, TextureDimension::D2, format, RenderAssetUsages::default());
        image.texture_descriptor.mip_level_count = 2;
        image.data_order = order;
        let large = grays.map(|gray| vec![gray; 16]);
        let small = vec![255; 4];
        image.data = Some(match order {
            TextureDataOrder::LayerMajor => large.iter().flat_map(|face| [&face[..], &small].concat()).collect(),
            TextureDataOrder::MipMajor => [large.concat(), small.repeat(6)].concat(),
        });
        image
    }

    #[test]
    fn the_picture_of_a_cube_shows_each_face_where_it_stands() {
        let grays = [10, 20, 30, 40, 50, 60];
        for order in [TextureDataOrder::LayerMajor, TextureDataOrder::MipMajor] {
            let picture = picture_of_cube("grays", &cube_of_grays(grays, order)).unwrap();
            let map = EnvironmentMap { texture: picture.into(), scale: 255.0, rotation: glam::Quat::IDENTITY };
            let sky = Sky::Map(map);
            for (face, gray) in grays.into_iter().enumerate() {
                let seen = sky.radiance(direction_on_face(face, Vec2::splat(0.5))).x;
                // Texels of the map are as large as those of the cube, so the poles blend with adjacent faces.
                let is_pole = face == 2 || face == 3;
                assert!((seen - f32::from(gray)).abs() < if is_pole { 1.0 } else { 1e-3 }, "{seen} on {face}");
            }
        }
    }

    #[test]
    fn what_is_no_cube_or_not_there_is_refused() {
        let mut cube = cube_of_grays([0; 6], TextureDataOrder::LayerMajor);
        cube.data = Some(vec![0; 7]);
        assert_eq!(picture_of_cube("short", &cube), Err(ImageProblem::LeftTheCpu));
        cube.data = None;
        assert_eq!(picture_of_cube("gone", &cube), Err(ImageProblem::LeftTheCpu));
        cube.texture_descriptor.format = TextureFormat::Bc6hRgbUfloat;
        cube.data = Some(vec![]);
        let compressed = Err(ImageProblem::Format(TextureFormat::Bc6hRgbUfloat));
        assert_eq!(picture_of_cube("compressed", &cube), compressed);
        assert_eq!(picture_of_cube("flat", &Image::default()), Err(ImageProblem::NotACube));
    }
}
