//! An irradiance volume, so that what moves through the level is lit by it.
//!
//! It holds what lamps do not bring straight: Bevy goes on lighting moving things with lamps itself.

use glam::{EulerRot, Quat, UVec3, Vec3, Vec4};
use serde::{Deserialize, Serialize};

use super::{PointIrradiance, Receiver, irradiance_at};
use crate::geometry::{Aabb, Ray, RayQuery};
use crate::lightmap::Voxels;
use crate::progress::{Cancelled, Monitor};
use crate::scene::{LightSampler, Material, Scene, Sky};

/// How finely a bake's irradiance volume is made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
        Self { spacing: 1.0, most_voxels: 4096, samples: 64 }
    }
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
        Voxels::cells(count).map(|cell| bounds.min + (cell.as_vec3() + 0.5) / count.as_vec3() * size).collect();
    let receivers: Vec<Receiver> =
        centres.iter().flat_map(|&position| Voxels::DIRECTIONS.map(|normal| Receiver { position, normal })).collect();
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
    Voxels::DIRECTIONS.into_iter().filter(|&direction| sees_back(turn * direction)).count() < 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spacing_grows_until_the_voxels_fit() {
        let settings = VolumeSettings { spacing: 0.5, most_voxels: 1000, samples: 1 };
        assert_eq!(settings.count(Vec3::new(4.0, 3.0, 2.0)), UVec3::new(8, 6, 4));
        assert!(settings.count(Vec3::splat(1000.0)).element_product() <= 1000);
    }
}
