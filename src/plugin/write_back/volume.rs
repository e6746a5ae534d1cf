//! The irradiance volume that lights what moves.

use bevy::asset::RenderAssetUsages;
use bevy::image::ImageSampler;
use bevy::light::IrradianceVolume;
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};

use super::{Shown, half_floats};
use crate::geometry::Aabb;
use crate::lightmap::Voxels;

/// Marks the entity of a bake's irradiance volume.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakedVolume;

/// Replaces the irradiance volume of an earlier bake by this one.
pub fn exchange_volume(world: &mut World, voxels: Option<&Voxels>) {
    remove_volume(world);
    let Some(voxels) = voxels else {
        return;
    };
    let image = world.resource_mut::<Assets<Image>>().add(image(voxels));
    let intensity = intensity(world.resource::<Shown>().enabled);
    let Aabb { min, max } = voxels.bounds;
    world.spawn((
        BakedVolume,
        Name::new("baked irradiance volume"),
        IrradianceVolume { voxels: image, intensity, affects_lightmapped_meshes: false },
        Transform::from_translation((min + max) * 0.5).with_scale(max - min),
    ));
}

/// Takes the irradiance volume away.
pub fn remove_volume(world: &mut World) {
    let volumes: Vec<Entity> = world.query_filtered::<Entity, With<BakedVolume>>().iter(world).collect();
    for entity in volumes {
        world.despawn(entity);
    }
}

/// Shows or hides the irradiance volume.
pub fn show_volume(world: &mut World, is_shown: bool) {
    let mut volumes = world.query_filtered::<&mut IrradianceVolume, With<BakedVolume>>();
    for mut volume in volumes.iter_mut(world) {
        volume.intensity = intensity(is_shown);
    }
}

fn intensity(is_shown: bool) -> f32 {
    if is_shown { 1.0 } else { 0.0 }
}

/// Bevy's layout: `(x, 2 y, 3 z)`. Directions along an axis stand in the lower half of y and those against it in the
/// upper half (Bevy 0.19's formula in its documentation has them the other way round; its shader does not).
fn image(voxels: &Voxels) -> Image {
    let count = voxels.count;
    let (width, height, depth) = (count.x, 2 * count.y, 3 * count.z);
    let mut texels = vec![Vec3::ZERO; (width * height * depth) as usize];
    for (cell, values) in Voxels::cells(count).zip(&voxels.values) {
        for (direction, value) in values.iter().enumerate() {
            let (axis, against) = (direction as u32 / 2, direction as u32 % 2);
            let y = cell.y + against * count.y;
            let z = cell.z + axis * count.z;
            texels[(cell.x + width * (y + height * z)) as usize] = *value;
        }
    }
    let size = Extent3d { width, height, depth_or_array_layers: depth };
    let usages = RenderAssetUsages::RENDER_WORLD;
    let mut image = Image::new(size, TextureDimension::D3, half_floats(&texels), TextureFormat::Rgba16Float, usages);
    image.sampler = ImageSampler::linear();
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_along_an_axis_stand_below_those_against_it() {
        let bounds = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
        let mut voxels = Voxels { bounds, count: UVec3::splat(2), values: vec![[Vec3::ZERO; 6]; 8] };
        voxels.values[0] = core::array::from_fn(|direction| Vec3::splat(direction as f32 + 10.0));
        let image = image(&voxels);
        assert_eq!(image.texture_descriptor.size, Extent3d { width: 2, height: 4, depth_or_array_layers: 6 });
        let data = image.data.unwrap();
        let red = |x: usize, y: usize, z: usize| {
            let offset = (x + 2 * (y + 4 * z)) * 8;
            half::f16::from_le_bytes([data[offset], data[offset + 1]]).to_f32()
        };
        assert_eq!([red(0, 0, 0), red(0, 2, 0)], [10.0, 11.0], "+X and -X");
        assert_eq!([red(0, 0, 2), red(0, 2, 2)], [12.0, 13.0], "+Y and -Y");
        assert_eq!([red(0, 0, 4), red(0, 2, 4)], [14.0, 15.0], "+Z and -Z");
    }
}
