//! Work of a bake on a thread or in a worker: checks, the bake, and its result for the write-back.

use std::collections::HashMap;
use std::sync::Arc;

use bevy::log::info;
use bevy::math::Affine3A;
use bevy::prelude::Entity;

use super::events::Bake;
use super::targets::Originals;
use crate::Device;
use crate::bake::{BakeError, BakeOutput, BakeSettings, Observer, OutputFolder, Report, run_on};
use crate::geometry::SurfaceId;
use crate::lightmap::Voxels;
use crate::plugin::state::{RelightLevel, RelightOrigin, TexelValidity};
use crate::plugin::tree_cells::TreeCells;
use crate::plugin::write_back::{PagePixels, Target};
use crate::scene::check::repair;
use crate::scene::{Scene, Severity, SurfaceKey, dedup_warnings};

/// Result of a bake, converted for the write-back.
pub struct Solved {
    pub targets: Vec<Target>,
    pub pages: Vec<PagePixels>,
    pub report: Report,
    pub volume: Option<Arc<Voxels>>,
    pub validity: TexelValidity,
    pub tree: TreeCells,
    pub relight: RelightOrigin,
    /// All surfaces at their places in the bake.
    pub places: Vec<BakedPlace>,
}

/// Place of a surface in a bake.
pub struct BakedPlace {
    pub entity: Entity,
    /// Name of the object.
    pub name: String,
    pub to_world: Affine3A,
}

/// Checks what can refuse a bake before the expensive work: its settings, its folder and its device.
pub fn open(bake: &Bake) -> Result<(Option<OutputFolder>, Device), BakeError> {
    bake.settings.check()?;
    let folder = bake.folder.as_ref().map(OutputFolder::open).transpose()?;
    // Not the renderer's device. While wgpu waits for results, it locks out submissions to the same device, so frames
    // would wait for whole batches of rays. Bevy also ends the app at the first error of the renderer's device. A device
    // of the bake's own leaves both alone, and exists in apps without a renderer. The driver shares the card.
    let device = Device::open(bake.settings.device)?;
    info!("the bake traces its rays on {device}");
    Ok((folder, device))
}

/// Repairs a scene that was read from the Bevy world, and bakes it.
pub fn repair_and_bake(
    scene: Scene,
    settings: &BakeSettings,
    device: &Device,
    observer: &dyn Observer,
) -> Result<BakeOutput, BakeError> {
    let (scene, problems) = repair(scene);
    let mut baked = run_on(device, scene, settings, observer)?;
    let worth_saying = problems.iter().filter(|problem| problem.severity() == Severity::Warning);
    baked.report.warnings.splice(0..0, dedup_warnings(worth_saying));
    Ok(baked)
}

/// Returns the entity of each surface of a bake.
pub fn owners<'a>(originals: &Originals, keys: impl Iterator<Item = &'a SurfaceKey>) -> HashMap<SurfaceId, Entity> {
    let owner = |(index, key)| Some((SurfaceId::from_index(index), originals.get(key)?.0));
    keys.enumerate().filter_map(owner).collect()
}

/// Returns the source of a bake's lightmaps, for relighting.
pub fn relight_origin(level: Option<RelightLevel>) -> RelightOrigin {
    match level {
        Some(level) => RelightOrigin::Bake(Box::new(level)),
        None => RelightOrigin::Static("the bake has nothing to relight with: set `BakeSettings::relight`".to_owned()),
    }
}

/// Returns the places of surfaces in a bake.
pub fn places<'a>(
    originals: &Originals,
    surfaces: impl Iterator<Item = (&'a SurfaceKey, Affine3A)>,
) -> Vec<BakedPlace> {
    let place = |(key, to_world): (&SurfaceKey, _)| {
        let (entity, _) = originals.get(key)?;
        Some(BakedPlace { entity: *entity, name: key.object().to_owned(), to_world })
    };
    surfaces.filter_map(place).collect()
}
