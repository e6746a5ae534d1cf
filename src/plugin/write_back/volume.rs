//! Irradiance volume that lights movers.

use std::sync::Arc;

use bevy::asset::RenderAssetUsages;
use bevy::image::ImageSampler;
use bevy::light::IrradianceVolume;
use bevy::math::Affine3A;
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};

use super::entity::Shown;
use super::page::half_floats;
use crate::lightmap::Voxels;
use crate::plugin::state::BakedVolume;

/// Way in which irradiance volumes light movers, that is meshes without a lightmap. Set it before a level is shown.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq, Hash, Reflect)]
#[reflect(Resource, Default, Debug, Clone, PartialEq, Hash)]
pub enum MoverLighting {
    /// Bevy samples the volume for each pixel. The default, except in browsers, where Bevy 0.19 draws no volumes.
    Volume,
    /// The plugin samples the volume around each mover, and exchanges its material for a copy that emits this
    /// light. The default in browsers.
    ///
    /// All sides of a mover are equally bright: the light is the mean over the side that faces the first camera, and over
    /// the other side for what `diffuse_transmission` lets through, which Bevy's volumes leave out. Metal by a texture
    /// counts as diffuse. Materials that emit light themselves and unlit ones stay as they are.
    Material,
}

impl Default for MoverLighting {
    fn default() -> Self {
        if cfg!(target_arch = "wasm32") { Self::Material } else { Self::Volume }
    }
}

/// Voxels of the volume, and the rotation of its texture.
#[derive(Component)]
pub struct VolumeVoxels {
    /// Owner of the volume.
    level: Entity,
    voxels: Arc<Voxels>,
    /// Rotation from the bake to the world.
    rotation: Quat,
}

impl VolumeVoxels {
    /// Returns the voxels, in the space of the bake.
    pub fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    /// Returns the transform from the world to the bake, for a volume with the transform `place`.
    pub fn world_to_bake(&self, place: &GlobalTransform) -> Affine3A {
        box_to_bake(&self.voxels) * place.affine().inverse()
    }
}

/// Smallest rotation for which the texture is made anew, in radians.
const MIN_TURN: f32 = 0.02;

/// Replaces the irradiance volume of a level, or of a bake of the app. The volume of a level follows the level's entity;
/// `frame` is the transform of that entity at the time of the bake.
pub fn exchange_volume(world: &mut World, level: Entity, voxels: Option<&Arc<Voxels>>, frame: Option<Affine3A>) {
    remove_volume(world, level);
    let Some(voxels) = voxels else {
        return;
    };
    let volume = world
        .spawn((
            BakedVolume,
            Name::new("baked irradiance volume"),
            VolumeVoxels { level, voxels: Arc::clone(voxels), rotation: Quat::IDENTITY },
            box_of(voxels, Affine3A::IDENTITY),
        ))
        .id();
    if *world.resource::<MoverLighting>() == MoverLighting::Volume {
        let voxels = world.resource_mut::<Assets<Image>>().add(image(voxels, Quat::IDENTITY));
        let intensity = intensity(world.resource::<Shown>().enabled);
        world.entity_mut(volume).insert(IrradianceVolume { voxels, intensity, affects_lightmapped_meshes: false });
    }
    if let Some(frame) = frame {
        world.entity_mut(volume).insert(ChildOf(level));
        set_volume_frame(world, level, frame);
    }
}

/// Sets the transform of a level's entity at the time of the bake.
pub fn set_volume_frame(world: &mut World, level: Entity, frame: Affine3A) {
    let mut volumes = world.query_filtered::<(&VolumeVoxels, &mut Transform), With<ChildOf>>();
    for (volume, mut transform) in volumes.iter_mut(world).filter(|(volume, _)| volume.level == level) {
        *transform = box_of(&volume.voxels, frame);
    }
}

/// Returns the transform of a volume's box below a level's entity.
fn box_of(voxels: &Voxels, frame: Affine3A) -> Transform {
    Transform::from_matrix((frame.inverse() * box_to_bake(voxels)).into())
}

/// Returns the transform from the unit cube around the origin to a volume's box in the bake.
fn box_to_bake(voxels: &Voxels) -> Affine3A {
    let bounds = voxels.bounds;
    Affine3A::from_scale_rotation_translation(bounds.extent(), Quat::IDENTITY, bounds.center())
}

/// Run condition: the volume, or its level, has moved.
pub fn has_moved(volumes: Query<(), (With<VolumeVoxels>, Changed<GlobalTransform>)>) -> bool {
    !volumes.is_empty()
}

/// Turns the light of a volume with its level. Bevy samples volumes along the axes of the world.
pub fn turn_volume(
    mut volumes: Query<(&GlobalTransform, &IrradianceVolume, &mut VolumeVoxels), Changed<GlobalTransform>>,
    mut images: ResMut<Assets<Image>>,
) {
    for (transform, volume, mut voxels) in &mut volumes {
        let rotation = transform.rotation();
        if rotation.is_finite() && rotation.angle_between(voxels.rotation) > MIN_TURN {
            voxels.rotation = rotation;
            // The renderer shows the old texture until the new one is there. Another image would be absent for a frame.
            _ = images.insert(volume.voxels.id(), image(&voxels.voxels, rotation));
        }
    }
}

/// Removes the irradiance volume of a level.
pub fn remove_volume(world: &mut World, level: Entity) {
    let mut volumes = world.query::<(Entity, &VolumeVoxels)>();
    let of_level = volumes.iter(world).filter(|(_, volume)| volume.level == level);
    let of_level: Vec<Entity> = of_level.map(|(entity, _)| entity).collect();
    for entity in of_level {
        world.despawn(entity);
    }
}

/// Shows or hides all irradiance volumes.
pub fn show_volume(world: &mut World, is_shown: bool) {
    let mut volumes = world.query_filtered::<&mut IrradianceVolume, With<BakedVolume>>();
    for mut volume in volumes.iter_mut(world) {
        volume.intensity = intensity(is_shown);
    }
}

fn intensity(is_shown: bool) -> f32 {
    if is_shown { 1.0 } else { 0.0 }
}

/// Creates the 3D texture in Bevy's layout, `(x, 2 y, 3 z)`, with a rotation from the bake to the world.
///
/// Positive directions are in the lower half of y, negative ones in the upper half. The formula in Bevy 0.19's
/// documentation has them reversed, but its shader does not.
fn image(voxels: &Voxels, rotation: Quat) -> Image {
    let count = voxels.count;
    let (width, height, depth) = (count.x, 2 * count.y, 3 * count.z);
    let mut texels = vec![Vec3::ZERO; (width * height * depth) as usize];
    let directions = Voxels::DIRECTIONS.map(|direction| rotation.inverse() * direction);
    for (cell, values) in Voxels::cells(count).zip(&voxels.values) {
        for (direction, value) in directions.map(|direction| seen_along(values, direction)).iter().enumerate() {
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

/// Returns the value of a voxel for a unit direction, as Bevy's shader samples it.
fn seen_along(values: &[Vec3; 6], direction: Vec3) -> Vec3 {
    let of = |(value, along): (&Vec3, Vec3)| *value * direction.dot(along).max(0.0).powi(2);
    values.iter().zip(Voxels::DIRECTIONS).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Aabb;

    #[test]
    fn directions_along_an_axis_stand_below_those_against_it() {
        let bounds = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
        let mut voxels = Voxels { bounds, count: UVec3::splat(2), values: vec![[Vec3::ZERO; 6]; 8] };
        voxels.values[0] = core::array::from_fn(|direction| Vec3::splat(direction as f32 + 10.0));
        let image = image(&voxels, Quat::IDENTITY);
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
    fn a_level_that_is_turned_takes_its_light_along() {
        let mut values = [Vec3::ZERO; 6];
        values[0] = Vec3::ONE;
        // The light that came along +X in the bake comes along +Z after a quarter turn about -Y.
        let turn = Quat::from_rotation_y(-core::f32::consts::FRAC_PI_2);
        let seen = Voxels::DIRECTIONS.map(|direction| seen_along(&values, turn.inverse() * direction).x);
        for (seen, expected) in seen.into_iter().zip([0.0, 0.0, 0.0, 0.0, 1.0, 0.0]) {
            assert!((seen - expected).abs() < 1e-6, "{seen}");
        }
        // Between two axes, both give half.
        let half = seen_along(&values, Vec3::new(1.0, 1.0, 0.0).normalize());
        assert!((half.x - 0.5).abs() < 1e-6, "{half}");
    }
}
