//! Irradiance volume that lights moving objects in a baked level.
//!
//! The volume excludes direct light of lamps, because Bevy lights moving objects with lamps itself.

use core::ops::Range;

use glam::{UVec3, Vec3, Vec4};
use serde::{Deserialize, Serialize};

use super::context::ScatteringContext;
use super::gather::{irradiance_from, samples_taken};
use super::{PointIrradiance, Receiver, irradiance_at};
use crate::clock;
use crate::cluster::{DecodeError, Decoder, Encoder, Task, Team, TeamError, Work};
use crate::geometry::sobol::hash2;
use crate::geometry::{Aabb, Ray, RayQuery, rotation_x, rotation_y, rotation_z};
use crate::lightmap::Voxels;
use crate::lights::LightSampler;
use crate::progress::{Cancelled, Monitor};
use crate::scene::{Material, Scene, Sky};

/// Bytes of one voxel while its irradiance is computed: six receivers, their results with and without reflections, and
/// two copies of six values.
const BYTES_PER_VOXEL: u64 = 900;

/// Resolution and quality of an irradiance volume.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(default)]
pub struct VolumeSettings {
    /// Distance between voxels, in meters. Lower values follow the light more closely, at cubic cost. Default 1.
    pub spacing: f32,
    /// Maximum number of voxels. The spacing grows if necessary. Default 4096.
    #[serde(rename = "most_voxels")]
    pub max_voxels: u32,
    /// Number of paths per voxel and direction. Higher values reduce noise. Default 64.
    pub samples: u32,
}

impl Default for VolumeSettings {
    fn default() -> Self {
        Self { spacing: 1.0, max_voxels: 4096, samples: 64 }
    }
}

impl VolumeSettings {
    /// Returns the number of voxels on each axis of a box, at least two.
    fn count(&self, size: Vec3) -> UVec3 {
        let at = |spacing: f32| (size / spacing).ceil().max(Vec3::splat(2.0)).as_uvec3();
        let mut spacing = self.spacing.max(1e-3);
        let fits = |count: UVec3| {
            let is_few = count.as_u64vec3().element_product() <= u64::from(self.max_voxels.max(8));
            is_few && Voxels::page_size(count).is_some()
        };
        while !fits(at(spacing)) {
            spacing *= 1.1;
        }
        at(spacing)
    }

    /// Returns the box of the volume, in world space, or `None` for an empty scene. A flat scene, such as a single
    /// floor, gets a box as thick as the spacing on its positive side.
    fn bounds(&self, scene: &Scene) -> Option<Aabb> {
        let Aabb { min, max } = bounds_of_bake(scene);
        let size = max - min;
        let is_flat = size.cmplt(Vec3::splat(FLAT * self.spacing));
        let bounds = Aabb { min, max: Vec3::select(is_flat, min + self.spacing.max(1e-3), max) };
        (size.is_finite() && size.max_element() > 0.0).then_some(bounds)
    }

    /// Returns the number of voxels of a scene's volume.
    pub(crate) fn voxels(&self, scene: &Scene) -> usize {
        let count = self.bounds(scene).map(|bounds| self.count(bounds.max - bounds.min));
        count.map_or(0, |count| count.as_u64vec3().element_product() as usize)
    }

    /// Returns the bytes of a scene's volume while it is computed.
    pub(crate) fn bytes(&self, scene: &Scene) -> u64 {
        (self.voxels(scene) as u64).saturating_mul(BYTES_PER_VOXEL)
    }
}

/// Computes the irradiance volume of a scene's bounding box. Returns `None` if the box is empty. A team shares the work;
/// without one, this process does it.
///
/// # Errors
/// Returns an error if the monitor asks to stop, or the team fails.
pub fn solve_volume(
    scene: &Scene,
    world: &dyn RayQuery,
    settings: &VolumeSettings,
    seed: u32,
    team: Option<&dyn Team>,
    monitor: &dyn Monitor,
) -> Result<Option<Voxels>, TeamError> {
    let Some(task) = VolumeTask::new(scene, world, settings, seed) else { return Ok(None) };
    let Grid { bounds, count, centers } = &task.grid;
    let values = match team {
        Some(team) => {
            let mut values = vec![[Vec3::ZERO; 6]; centers.len()];
            let mut receive = |voxels: Range<u32>, bytes: Vec<u8>| {
                let read = Decoder::new(&bytes).slice::<[Vec3; 6]>()?;
                let place = &mut values[voxels.start as usize..voxels.end as usize];
                if read.len() != place.len() {
                    return Err(DecodeError);
                }
                place.copy_from_slice(&read);
                Ok(())
            };
            team.compute(&task, &mut receive, monitor)?;
            values
        }
        None => task.values(0..centers.len(), monitor)?,
    };
    let mut voxels = Voxels { bounds: *bounds, count: *count, values };
    let is_open: Vec<bool> = centers.iter().map(|&center| is_in_the_open(scene, world, center)).collect();
    voxels.fill_invalid(is_open);
    Ok(Some(voxels))
}

/// Kind of the task, the first value of its inputs. Kinds below are the solver's.
const VOLUME: u32 = 16;

/// Makes the work of a team from its inputs, if it is that of [`solve_volume`]. `None` for works of others.
///
/// # Errors
/// Returns an error for damaged inputs.
pub fn volume_work_of<'a>(
    scene: &'a Scene,
    world: &'a dyn RayQuery,
    inputs: &[u8],
) -> Result<Option<Box<dyn Work + 'a>>, DecodeError> {
    let mut content = Decoder::new(inputs);
    if content.value::<u32>()? != VOLUME {
        return Ok(None);
    }
    let (spacing, [max_voxels, samples, seed]) = (content.value()?, content.value::<[u32; 3]>()?);
    let settings = VolumeSettings { spacing, max_voxels, samples };
    Ok(Some(Box::new(VolumeTask::new(scene, world, &settings, seed).ok_or(DecodeError)?)))
}

/// Irradiance of voxels, the units of the work.
struct VolumeTask<'a> {
    scene: &'a Scene,
    /// The scene with lamps alone.
    lamps: Scene,
    world: &'a dyn RayQuery,
    settings: VolumeSettings,
    seed: u32,
    grid: Grid,
}

impl<'a> VolumeTask<'a> {
    fn new(scene: &'a Scene, world: &'a dyn RayQuery, settings: &VolumeSettings, seed: u32) -> Option<Self> {
        let grid = Grid::new(scene, settings)?;
        Some(Self { scene, lamps: lamps_alone(scene), world, settings: *settings, seed, grid })
    }

    /// Returns the values of a range of voxels, before those inside solids are filled.
    fn values(&self, voxels: Range<usize>, monitor: &dyn Monitor) -> Result<Vec<[Vec3; 6]>, Cancelled> {
        let first = voxels.start * Voxels::DIRECTIONS.len();
        let receivers: Vec<Receiver> = self.grid.centers[voxels].iter().flat_map(receivers_at).collect();
        let gather = |scene: &Scene| {
            let lights = LightSampler::new(scene);
            let Self { world, settings, seed, .. } = *self;
            let context = ScatteringContext::new(scene, world, &lights);
            irradiance_from(first, context, &receivers, settings.samples, seed, monitor)
        };
        let all = gather(self.scene)?;
        let straight = gather(&self.lamps)?;
        let indirect = |(all, straight): (&PointIrradiance, &PointIrradiance)| {
            (all.irradiance - straight.irradiance).max(Vec3::ZERO) / core::f32::consts::PI
        };
        let values: Vec<Vec3> = all.iter().zip(&straight).map(indirect).collect();
        Ok(values.as_chunks().0.to_vec())
    }
}

impl Work for VolumeTask<'_> {
    fn units(&self) -> u32 {
        self.grid.centers.len() as u32
    }

    fn compute(&self, voxels: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<u8>, Cancelled> {
        let values = self.values(voxels.start as usize..voxels.end as usize, monitor)?;
        Ok(Encoder::new().slice(&values).finish())
    }
}

impl Task for VolumeTask<'_> {
    fn inputs(&self) -> Vec<u8> {
        let VolumeSettings { spacing, max_voxels, samples } = self.settings;
        Encoder::new().value(VOLUME).value(spacing).value([max_voxels, samples, self.seed]).finish()
    }

    fn rays(&self) -> u64 {
        (self.grid.centers.len() * Voxels::DIRECTIONS.len()) as u64 * u64::from(samples_taken(self.settings.samples))
    }
}

/// A scene thinner than this counts as flat, in units of the spacing.
const FLAT: f32 = 1e-3;

/// Number of voxels that are computed to predict the time of all.
const TRIED: usize = 64;

/// Predicted time of [`solve_volume`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct VolumeTime {
    /// Seconds that do not depend on the number of voxels.
    setup_seconds: f32,
    /// Seconds of one voxel with one sample of each direction.
    seconds_of_sample: f32,
    /// Number of voxels with the settings that were measured.
    voxels: usize,
}

impl VolumeTime {
    /// Measures the time of a few paths at random voxels.
    ///
    /// # Errors
    /// Returns [`Cancelled`] if the monitor asks to stop.
    pub fn measure(
        scene: &Scene,
        world: &dyn RayQuery,
        settings: &VolumeSettings,
        seed: u32,
        monitor: &dyn Monitor,
    ) -> Result<Self, Cancelled> {
        let centers = Grid::new(scene, settings).map(|grid| grid.centers).unwrap_or_default();
        if centers.is_empty() {
            return Ok(Self { setup_seconds: 0.0, seconds_of_sample: 0.0, voxels: 0 });
        }
        let started = clock::now();
        let lights = LightSampler::new(scene);
        let setup_seconds = 2.0 * started.elapsed().as_secs_f32();
        let tried = TRIED.min(centers.len());
        let center = |trial: usize| centers[hash2(seed, trial as u32) as usize % centers.len()];
        let receivers: Vec<Receiver> = (0..tried).map(center).flat_map(|center| receivers_at(&center)).collect();
        let started = clock::now();
        irradiance_at(scene, world, &lights, &receivers, 1, seed, monitor)?;
        // The second solve has only lamps. Its paths end after one bounce, so it takes no longer than the first.
        let seconds = 2.0 * started.elapsed().as_secs_f32();
        let seconds_of_sample = seconds / (tried as f32 * samples_taken(1) as f32);
        Ok(Self { setup_seconds, seconds_of_sample, voxels: centers.len() })
    }

    /// Returns the time of the volume with the settings that were measured, in seconds.
    pub fn seconds(&self, settings: &VolumeSettings) -> f32 {
        self.setup_seconds + self.voxels as f32 * samples_taken(settings.samples) as f32 * self.seconds_of_sample
    }

    /// Returns the measured settings with fewer samples, and then fewer voxels, so that the volume takes at most
    /// `seconds`. There are at least eight voxels.
    pub fn within(&self, seconds: f32, settings: &VolumeSettings) -> VolumeSettings {
        let Self { setup_seconds, seconds_of_sample, voxels } = *self;
        let mut within = *settings;
        while self.seconds(&within) > seconds && samples_taken(within.samples) > samples_taken(1) {
            within.samples = samples_taken(within.samples) / 2;
        }
        if self.seconds(&within) > seconds {
            let of_voxel = samples_taken(within.samples) as f32 * seconds_of_sample;
            within.max_voxels = (((seconds - setup_seconds) / of_voxel) as u32).clamp(8, voxels.max(8) as u32);
        }
        within
    }
}

/// Positions of the voxels.
struct Grid {
    bounds: Aabb,
    count: UVec3,
    centers: Vec<Vec3>,
}

impl Grid {
    /// Creates the grid of a scene; `None` if its box is empty.
    fn new(scene: &Scene, settings: &VolumeSettings) -> Option<Self> {
        let bounds = settings.bounds(scene)?;
        let size = bounds.max - bounds.min;
        let count = settings.count(size);
        let center = |cell: UVec3| bounds.min + (cell.as_vec3() + 0.5) / count.as_vec3() * size;
        Some(Self { bounds, count, centers: Voxels::cells(count).map(center).collect() })
    }
}

fn receivers_at(&position: &Vec3) -> [Receiver; 6] {
    Voxels::DIRECTIONS.map(|normal| Receiver { position, normal })
}

fn bounds_of_bake(scene: &Scene) -> Aabb {
    scene
        .surface_ids()
        .filter(|&id| scene.surface(id).is_in_bake())
        .flat_map(|id| scene.triangles_of(id))
        .fold(Aabb::EMPTY, |bounds, (id, triangle)| bounds.union(scene.triangle(id, triangle).bounds()))
}

/// Returns the scene with black surfaces and a dark sky, which leaves only direct light of lamps.
fn lamps_alone(scene: &Scene) -> Scene {
    let black = |material: &Material| Material {
        base_color: Vec4::new(0.0, 0.0, 0.0, material.base_color.w),
        emission: Vec3::ZERO,
        ..material.clone()
    };
    Scene { materials: scene.materials.iter().map(black).collect(), sky: Sky::Dark, ..scene.clone() }
}

/// Returns false inside solids, where most rays hit backs of surfaces.
fn is_in_the_open(scene: &Scene, world: &dyn RayQuery, center: Vec3) -> bool {
    let sees_back =
        |direction: Vec3| world.closest(&Ray::new(center, direction)).is_some_and(|hit| scene.absorbs(&hit));
    // Slightly rotated, so that no ray runs along a wall.
    let turn = rotation_x(0.37) * rotation_y(0.21) * rotation_z(0.11);
    Voxels::DIRECTIONS.into_iter().filter(|&direction| sees_back(turn * direction)).count() < 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pathtrace::fixtures::add_part;
    use crate::scene::shapes;

    #[test]
    fn the_volume_of_a_floor_lies_above_it() {
        let mut scene = Scene::default();
        add_part(&mut scene, shapes::floor("floor", 4.0), Material::default());
        let settings = VolumeSettings { spacing: 0.5, ..VolumeSettings::default() };
        let Grid { bounds, centers, .. } = Grid::new(&scene, &settings).expect("a floor is something");
        assert_eq!((bounds.min.y, bounds.max.y), (0.0, 0.5));
        assert!(centers.iter().all(|center| center.y > 0.0));
        assert!(Grid::new(&Scene::default(), &settings).is_none());
    }

    #[test]
    fn a_volume_without_time_has_fewer_samples_and_then_fewer_voxels() {
        let settings = VolumeSettings { spacing: 0.1, max_voxels: 10_000, samples: 64 };
        let time = VolumeTime { setup_seconds: 1.0, seconds_of_sample: 1.0 / 1024.0, voxels: 1024 };
        assert_eq!(time.seconds(&settings), 65.0);
        assert_eq!(time.within(65.0, &settings), settings);
        assert_eq!(time.within(40.0, &settings), VolumeSettings { samples: 32, ..settings });
        // Sixteen samples are the fewest. They take 16 seconds for all voxels.
        assert_eq!(time.within(17.0, &settings), VolumeSettings { samples: 16, ..settings });
        let few = VolumeSettings { samples: 16, max_voxels: 256, ..settings };
        assert_eq!(time.within(5.0, &settings), few);
        assert_eq!(time.within(-1.0, &settings), VolumeSettings { max_voxels: 8, ..few });
    }

    #[test]
    fn the_spacing_grows_until_the_voxels_fit() {
        let settings = VolumeSettings { spacing: 0.5, max_voxels: 1000, samples: 1 };
        assert_eq!(settings.count(Vec3::new(4.0, 3.0, 2.0)), UVec3::new(8, 6, 4));
        assert!(settings.count(Vec3::splat(1000.0)).element_product() <= 1000);
        // 200 x 200 would be more columns than an image can have: the largest are 16,384 wide.
        let settings = VolumeSettings { spacing: 1.0, max_voxels: u32::MAX, samples: 1 };
        let count = settings.count(Vec3::new(200.0, 3.0, 200.0));
        assert!(count.x * count.z <= 16_384 && count.x > 100, "{count}");
    }
}
