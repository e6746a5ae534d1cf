//! An irradiance volume, so that what moves through the level is lit by it.
//!
//! A voxel holds, for each of the six directions along the axes, irradiance / pi of a surface that faces it. It holds
//! what lamps do not bring straight: Bevy goes on lighting moving things with lamps itself.

use std::sync::Arc;

use bevy::asset::RenderAssetUsages;
use bevy::image::ImageSampler;
use bevy::light::IrradianceVolume;
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};

use crate::geometry::{Aabb, Ray, RayQuery};
use crate::pathtrace::{PointIrradiance, Receiver, irradiance_at};
use crate::progress::{Cancelled, Monitor};
use crate::scene::{LightSampler, Material, Scene, Sky};

/// How finely a bake's irradiance volume is made.
#[derive(Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Default, Debug, Clone)]
pub struct VolumeSettings {
    /// Wanted distance between voxels in metres. Less follows the light more closely, at a cubic cost.
    pub spacing: f32,
    /// Most voxels; where the spacing would take more, it grows.
    pub most_voxels: u32,
    /// Paths for each voxel and direction. More of them reduce noise.
    pub samples: u32,
}

impl Default for VolumeSettings {
    fn default() -> Self {
        Self { spacing: 1.0, most_voxels: 2048, samples: 64 }
    }
}

/// Marks the entity of a bake's irradiance volume.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakedVolume;

/// The directions of a voxel, as Bevy keeps them: along an axis, then against it.
const DIRECTIONS: [Vec3; 6] = [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z];

/// Voxels in a box, for each of the six directions what arrives from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Voxels {
    bounds: Aabb,
    count: UVec3,
    /// Irradiance / pi, x fastest, then y, then z.
    values: Vec<[Vec3; 6]>,
}

impl VolumeSettings {
    /// How many voxels a box takes, at least two along each axis.
    fn count(&self, size: Vec3) -> UVec3 {
        let at = |spacing: f32| (size / spacing).ceil().max(Vec3::splat(2.0)).as_uvec3();
        let mut spacing = self.spacing.max(1e-3);
        let fits = |count: UVec3| count.as_u64vec3().element_product() <= u64::from(self.most_voxels.max(8));
        while !fits(at(spacing)) {
            spacing *= 1.1;
        }
        at(spacing)
    }
}

/// Fills the box around a scene with voxels.
///
/// # Errors
/// When the monitor asks to stop.
pub fn solve_volume(
    scene: &Scene,
    world: &dyn RayQuery,
    settings: &VolumeSettings,
    seed: u32,
    monitor: &dyn Monitor,
) -> Result<Option<Voxels>, Cancelled> {
    let bounds = bounds_of_bake(scene);
    let size = bounds.max - bounds.min;
    if !size.is_finite() || size.max_element() <= 0.0 {
        return Ok(None);
    }
    let count = settings.count(size);
    let centres: Vec<Vec3> =
        cells(count).map(|cell| bounds.min + (cell.as_vec3() + 0.5) / count.as_vec3() * size).collect();
    let receivers: Vec<Receiver> =
        centres.iter().flat_map(|&position| DIRECTIONS.map(|normal| Receiver { position, normal })).collect();
    let gather = |scene: &Scene| {
        irradiance_at(scene, world, &LightSampler::new(scene), &receivers, settings.samples, seed, monitor)
    };
    let all = gather(scene)?;
    let straight = gather(&lamps_alone(scene))?;
    let indirect = |(all, straight): (&PointIrradiance, &PointIrradiance)| {
        (all.irradiance - straight.irradiance).max(Vec3::ZERO) / core::f32::consts::PI
    };
    let values: Vec<Vec3> = all.iter().zip(&straight).map(indirect).collect();
    let mut voxels = Voxels { bounds, count, values: values.as_chunks().0.to_vec() };
    let is_open: Vec<bool> = centres.iter().map(|&centre| is_in_the_open(scene, world, centre)).collect();
    voxels.fill_buried(is_open);
    Ok(Some(voxels))
}

fn cells(count: UVec3) -> impl Iterator<Item = UVec3> {
    (0..count.z).flat_map(move |z| (0..count.y).flat_map(move |y| (0..count.x).map(move |x| UVec3::new(x, y, z))))
}

fn bounds_of_bake(scene: &Scene) -> Aabb {
    scene
        .surface_ids()
        .filter(|&id| scene.surface(id).is_in_bake())
        .flat_map(|id| (0..scene.mesh_of(id).triangles.len() as u32).map(move |triangle| (id, triangle)))
        .fold(Aabb::EMPTY, |bounds, (id, triangle)| bounds.union(scene.triangle(id, triangle).bounds()))
}

/// The same shapes with nothing but lamps to see by: what they bring straight.
fn lamps_alone(scene: &Scene) -> Scene {
    let black = |material: &Material| Material {
        base_color: Vec4::new(0.0, 0.0, 0.0, material.base_color.w),
        emission: Vec3::ZERO,
        ..material.clone()
    };
    Scene { materials: scene.materials.iter().map(black).collect(), sky: Sky::Dark, ..scene.clone() }
}

/// False where most rays meet backs of walls: inside of solid things.
fn is_in_the_open(scene: &Scene, world: &dyn RayQuery, centre: Vec3) -> bool {
    let sees_back =
        |direction: Vec3| world.closest(&Ray::new(centre, direction)).is_some_and(|hit| scene.absorbs(&hit));
    // Slightly turned, so that rays run along no wall.
    let turn = Quat::from_euler(EulerRot::XYZ, 0.37, 0.21, 0.11);
    DIRECTIONS.into_iter().filter(|&direction| sees_back(turn * direction)).count() < 3
}

impl Voxels {
    fn index(&self, cell: UVec3) -> usize {
        (cell.x + self.count.x * (cell.y + self.count.y * cell.z)) as usize
    }

    /// Gives voxels inside of walls the mean of their neighbours, ring by ring, so that linear filtering drags no
    /// darkness out of walls.
    fn fill_buried(&mut self, mut is_known: Vec<bool>) {
        if !is_known.contains(&true) {
            return;
        }
        while is_known.contains(&false) {
            let known = is_known.clone();
            for cell in cells(self.count) {
                let index = self.index(cell);
                if known[index] {
                    continue;
                }
                let neighbours: Vec<usize> =
                    self.neighbours(cell).map(|near| self.index(near)).filter(|&near| known[near]).collect();
                if neighbours.is_empty() {
                    continue;
                }
                let share = 1.0 / neighbours.len() as f32;
                self.values[index] = core::array::from_fn(|direction| {
                    neighbours.iter().map(|&near| self.values[near][direction]).sum::<Vec3>() * share
                });
                is_known[index] = true;
            }
        }
    }

    fn neighbours(&self, cell: UVec3) -> impl Iterator<Item = UVec3> + use<> {
        let count = self.count.as_ivec3();
        DIRECTIONS
            .into_iter()
            .map(move |direction| cell.as_ivec3() + direction.as_ivec3())
            .filter(move |near| near.cmpge(IVec3::ZERO).all() && near.cmplt(count).all())
            .map(|near| near.as_uvec3())
    }

    /// Bevy's layout: `(x, 2 y, 3 z)`. Directions along an axis stand in the lower half of y and those against it in
    /// the upper half (Bevy 0.19's formula in its documentation has them the other way round; its shader does not).
    fn image(&self) -> Image {
        let (width, height, depth) = (self.count.x, 2 * self.count.y, 3 * self.count.z);
        let mut texels = vec![Vec3::ZERO; (width * height * depth) as usize];
        for cell in cells(self.count) {
            for (direction, value) in self.values[self.index(cell)].iter().enumerate() {
                let (axis, against) = (direction as u32 / 2, direction as u32 % 2);
                let y = cell.y + against * self.count.y;
                let z = cell.z + axis * self.count.z;
                texels[(cell.x + width * (y + height * z)) as usize] = *value;
            }
        }
        let data = super::super::write_back::half_floats(&texels);
        let size = Extent3d { width, height, depth_or_array_layers: depth };
        let usages = RenderAssetUsages::RENDER_WORLD;
        let mut image = Image::new(size, TextureDimension::D3, data, TextureFormat::Rgba16Float, usages);
        image.sampler = ImageSampler::linear();
        image
    }
}

/// Replaces the irradiance volume of an earlier bake by this one.
pub fn spawn_volume(world: &mut World, voxels: Option<Arc<Voxels>>) {
    let earlier: Vec<Entity> = world.query_filtered::<Entity, With<BakedVolume>>().iter(world).collect();
    for entity in earlier {
        world.despawn(entity);
    }
    let Some(voxels) = voxels else {
        return;
    };
    let image = world.resource_mut::<Assets<Image>>().add(voxels.image());
    let Aabb { min, max } = voxels.bounds;
    world.spawn((
        BakedVolume,
        Name::new("baked irradiance volume"),
        IrradianceVolume { voxels: image, intensity: 1.0, affects_lightmapped_meshes: false },
        Transform::from_translation((min + max) * 0.5).with_scale(max - min),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_by_two() -> Voxels {
        let bounds = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
        let values = (0..8).map(|index| [Vec3::splat(index as f32); 6]).collect();
        Voxels { bounds, count: UVec3::splat(2), values }
    }

    #[test]
    fn directions_along_an_axis_stand_below_those_against_it() {
        let mut voxels = two_by_two();
        voxels.values[0] = core::array::from_fn(|direction| Vec3::splat(direction as f32 + 10.0));
        let image = voxels.image();
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

    #[test]
    fn buried_voxels_take_the_mean_of_their_neighbours() {
        let mut voxels = two_by_two();
        // Voxel 0 touches 1, 2 and 4; voxel 7 touches 3, 5 and 6.
        voxels.fill_buried((0..8).map(|index| index != 0).collect());
        assert!((voxels.values[0][0].x - 7.0 / 3.0).abs() < 1e-6);
    }

    #[test]
    fn the_spacing_grows_until_the_voxels_fit() {
        let settings = VolumeSettings { spacing: 0.5, most_voxels: 1000, samples: 1 };
        assert_eq!(settings.count(Vec3::new(4.0, 3.0, 2.0)), UVec3::new(8, 6, 4));
        assert!(settings.count(Vec3::splat(1000.0)).element_product() <= 1000);
    }
}
