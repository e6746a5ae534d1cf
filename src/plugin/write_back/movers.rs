//! Light of movers by their materials, where Bevy draws no irradiance volumes.
//!
//! A mover within a volume shows a copy of its material. The copy emits the light that the mover would reflect from the
//! volume.

use bevy::asset::AssetId;
use bevy::camera::primitives::Aabb;
use bevy::ecs::system::SystemParam;
use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::platform::collections::HashSet;
use bevy::prelude::*;

use super::entity::Shown;
use super::volume::{MoverLighting, VolumeVoxels};
use crate::geometry;
use crate::lightmap::Voxels;
use crate::plugin::state::{Baked, ShownMaterial, StandInMaterial};
use crate::plugin::ticks::any_changed;

/// Smallest change of a mover's light for which its material is written, as a part of it.
const MIN_CHANGE: f32 = 0.004;

/// Light of the volume that a mover's material emits, as irradiance / pi in cd/m2.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct MoverLight {
    /// On the side that the camera sees.
    near: Vec3,
    /// On the other side, from where it comes through.
    far: Vec3,
}

type IsMover = (With<Mesh3d>, Without<Baked>);

/// Changes that may change the light of movers.
#[derive(SystemParam)]
pub struct MoverChanges<'w, 's> {
    places: Query<'w, 's, Ref<'static, GlobalTransform>, Or<(IsMover, With<Camera3d>, With<VolumeVoxels>)>>,
    bounds: Query<'w, 's, Ref<'static, Aabb>, IsMover>,
    materials: Query<'w, 's, Ref<'static, MeshMaterial3d<StandardMaterial>>, IsMover>,
    assets: MessageReader<'w, 's, AssetEvent<StandardMaterial>>,
    volumes: Query<'w, 's, Ref<'static, VolumeVoxels>>,
    removed: RemovedComponents<'w, 's, VolumeVoxels>,
    shown: Res<'w, Shown>,
}

/// Run condition: materials light movers, and their light may have changed.
pub fn may_change(lighting: Res<MoverLighting>, mut changes: MoverChanges) -> bool {
    if *lighting == MoverLighting::Volume {
        return false;
    }
    let messages = changes.assets.read().count() + changes.removed.read().count();
    messages > 0
        || any_changed(&changes.places)
        || any_changed(&changes.bounds)
        || any_changed(&changes.materials)
        || any_changed(&changes.volumes)
        || changes.shown.is_changed()
}

/// Volumes, and the camera that looks at movers.
#[derive(SystemParam)]
pub struct ShownVolumes<'w, 's> {
    volumes: Query<'w, 's, (&'static VolumeVoxels, &'static GlobalTransform)>,
    cameras: Query<'w, 's, (Entity, &'static Camera, &'static GlobalTransform), With<Camera3d>>,
    shown: Res<'w, Shown>,
}

impl ShownVolumes<'_, '_> {
    /// Returns the position of the first active camera.
    fn camera(&self) -> Option<Vec3> {
        let active = self.cameras.iter().filter(|(_, camera, _)| camera.is_active);
        active.min_by_key(|(entity, camera, _)| (camera.order, *entity)).map(|(.., place)| place.translation())
    }

    /// Returns the light of a mover. `None` outside of volumes.
    fn light_of(&self, mover: &GlobalTransform, bounds: &Aabb, camera: Vec3) -> Option<MoverLight> {
        let volumes = self.shown.enabled.then_some(&self.volumes)?;
        volumes.iter().find_map(|(volume, place)| {
            let to_bake = volume.world_to_bake(place);
            let bounds = geometry::Aabb { min: bounds.min().into(), max: bounds.max().into() };
            let bounds = bounds.transformed(&(to_bake * mover.affine()));
            let direction = (to_bake.transform_point3(camera) - bounds.center()).normalize_or_zero();
            let seen = |direction: Vec3| seen_from(volume.voxels(), bounds, direction);
            Some(MoverLight { near: seen(direction)?, far: seen(-direction)? })
        })
    }
}

/// Distance from the center of a sphere at which the light of an axis is taken, in radii. Of a half disk, it is the mean
/// distance from the diameter with the square of the distance as weight, `32 / (15 pi)`.
const SIDE: f32 = 0.679;

/// Returns irradiance / pi of a sphere in a volume: the mean over the disk that a far eye sees in a direction. `None` if
/// its center is outside of the volume. An eye at ten radii sees up to a tenth less of light from one side.
///
/// A voxel's value for an axis `a` counts by `dot(n, a)^2` at a normal `n`, if that is on its side. The mean of this over
/// the disk of a sphere seen from a direction `d` is `(1 + dot(d, a))^2 / 8`.
fn seen_from(voxels: &Voxels, mover: geometry::Aabb, direction: Vec3) -> Option<Vec3> {
    let (center, half_size) = (mover.center(), mover.extent() * 0.5);
    if !voxels.bounds.contains(center) {
        return None;
    }
    Voxels::DIRECTIONS
        .into_iter()
        .map(|axis| {
            let side = (center + axis * half_size * SIDE).clamp(voxels.bounds.min, voxels.bounds.max);
            let irradiance = voxels.irradiance_at(side, axis)?;
            Some(irradiance * (1.0 + direction.dot(axis)).powi(2) / 8.0 / core::f32::consts::PI)
        })
        .sum()
}

/// Returns a material that emits the light which it reflects and lets through, or `None` if it cannot.
fn lit(material: &StandardMaterial, light: MoverLight) -> Option<StandardMaterial> {
    if material.unlit || material.emissive.to_vec3() != Vec3::ZERO {
        return None;
    }
    let metallic = if material.metallic_roughness_texture.is_some() { 0.0 } else { material.metallic };
    let through = material.diffuse_transmission;
    let diffuse = (1.0 - metallic) * (1.0 - material.specular_transmission);
    let light = light.near * (1.0 - through) + light.far * through;
    let emissive = material.base_color.to_linear().to_vec3() * diffuse * light;
    Some(StandardMaterial {
        emissive: LinearRgba::from_vec3(emissive),
        emissive_exposure_weight: 1.0,
        emissive_texture: material.base_color_texture.clone(),
        emissive_channel: material.base_color_channel.clone(),
        ..material.clone()
    })
}

type Mover = (Entity, ShownMaterial, &'static GlobalTransform, &'static Aabb, Option<&'static MoverLight>);

/// Lets the materials of movers emit the light of volumes.
pub fn light_movers(
    mut commands: Commands,
    movers: Query<Mover, IsMover>,
    shown_volumes: ShownVolumes,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut events: MessageReader<AssetEvent<StandardMaterial>>,
) {
    let modified: HashSet<AssetId<StandardMaterial>> = events
        .read()
        .filter_map(|event| if let AssetEvent::Modified { id } = event { Some(*id) } else { None })
        .collect();
    let Some(camera) = shown_volumes.camera() else {
        return;
    };
    for (entity, material, place, bounds, before) in &movers {
        let original = material.original();
        let light = shown_volumes.light_of(place, bounds, camera);
        let is_same = |light: MoverLight| before.is_some_and(|&before| light.is_like(before));
        if light.is_some_and(is_same) && material.stand_in().is_some() && !modified.contains(&original.id()) {
            continue;
        }
        let copy = light.and_then(|light| Some((light, lit(materials.get(original)?, light)?)));
        match (copy, material.stand_in()) {
            (Some((light, copy)), Some(stand_in)) => {
                // The copy lives as long as the component that names it.
                _ = materials.insert(stand_in.shown.id(), copy);
                commands.entity(entity).insert(light);
            }
            (Some((light, copy)), None) => {
                let stand_in = StandInMaterial { original: original.clone(), shown: materials.add(copy) };
                let shown = MeshMaterial3d(stand_in.shown.clone());
                commands.entity(entity).insert((shown, stand_in, light));
            }
            (None, Some(stand_in)) => {
                let shown = MeshMaterial3d(stand_in.original.clone());
                commands.entity(entity).insert(shown).remove::<(StandInMaterial, MoverLight)>();
            }
            (None, None) => {}
        }
    }
}

impl MoverLight {
    /// Returns true if both look alike.
    fn is_like(self, other: Self) -> bool {
        let is_near = |a: Vec3, b: Vec3| a.abs_diff_eq(b, MIN_CHANGE * a.max_element().max(b.max_element()));
        is_near(self.near, other.near) && is_near(self.far, other.far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eye_sees_the_mean_of_the_disk_that_faces_it() {
        let bounds = geometry::Aabb { min: Vec3::ZERO, max: Vec3::ONE };
        let mut values = [Vec3::ZERO; 6];
        values[0] = Vec3::ONE;
        let voxels = Voxels { bounds, count: UVec3::ONE, values: vec![values] };
        let point = |point: Vec3| geometry::Aabb { min: point, max: point };
        let seen = |direction: Vec3| seen_from(&voxels, point(Vec3::splat(0.5)), direction.normalize()).unwrap().x;
        // Light from one side alone: the mean of the squared cosine over a disk is a half, over a half disk a quarter.
        for (direction, expected) in [(Vec3::X, 0.5), (Vec3::NEG_X, 0.0), (Vec3::Y, 0.125), (Vec3::Z, 0.125)] {
            assert!((seen(direction) - expected).abs() < 1e-6, "{direction}: {}", seen(direction));
        }
        // By sums over the points of a disk.
        let direction = Vec3::new(0.6, 0.0, 0.8);
        let across = Vec3::new(0.8, 0.0, -0.6);
        let points = (0..200).flat_map(|x| (0..200).map(move |y| (Vec2::new(x as f32, y as f32) + 0.5) / 100.0 - 1.0));
        let disk: Vec<Vec2> = points.filter(|point| point.length() < 1.0).collect();
        let normals = disk.iter().map(|p| direction * (1.0 - p.length_squared()).sqrt() + across * p.x + Vec3::Y * p.y);
        let mean = normals.map(|normal| normal.x.max(0.0).powi(2)).sum::<f32>() / disk.len() as f32;
        assert!((seen(direction) - mean).abs() < 1e-3, "{} against {mean}", seen(direction));
        assert_eq!(seen_from(&voxels, point(Vec3::splat(1.5)), Vec3::X), None);
    }

    #[test]
    fn a_lit_material_emits_the_part_of_the_light_that_it_reflects() {
        let gray = StandardMaterial { base_color: Color::linear_rgb(0.5, 0.2, 0.1), metallic: 0.5, ..default() };
        let light = MoverLight { near: Vec3::splat(100.0), far: Vec3::splat(1000.0) };
        let lit = |material: &StandardMaterial| lit(material, light);
        assert!(lit(&gray).unwrap().emissive.to_vec3().abs_diff_eq(Vec3::new(25.0, 10.0, 5.0), 1e-4));
        let lamp = StandardMaterial { emissive: LinearRgba::RED, ..default() };
        assert!(lit(&lamp).is_none());
        assert!(lit(&StandardMaterial { unlit: true, ..default() }).is_none());
    }

    #[test]
    fn a_lampshade_emits_what_it_lets_through_from_its_other_side() {
        let light = MoverLight { near: Vec3::splat(100.0), far: Vec3::splat(1000.0) };
        let base_color = Color::linear_rgb(0.5, 0.2, 0.1);
        let shade = StandardMaterial { base_color, diffuse_transmission: 0.3, ..default() };
        // 70 % of the light on the near side, and 30 % of that on the far side.
        let emitted = lit(&shade, light).unwrap().emissive.to_vec3();
        assert!(emitted.abs_diff_eq(Vec3::new(0.5, 0.2, 0.1) * 370.0, 1e-3), "{emitted}");
        // Clear glass does neither.
        let glass = StandardMaterial { specular_transmission: 1.0, ..shade };
        assert_eq!(lit(&glass, light).unwrap().emissive.to_vec3(), Vec3::ZERO);
    }

    #[test]
    fn light_on_either_side_is_news() {
        let light = MoverLight { near: Vec3::ONE, far: Vec3::ONE };
        assert!(light.is_like(MoverLight { near: Vec3::splat(1.003), ..light }));
        assert!(!light.is_like(MoverLight { near: Vec3::splat(1.01), ..light }));
        assert!(!light.is_like(MoverLight { far: Vec3::splat(1.01), ..light }));
    }
}
