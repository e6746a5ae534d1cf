//! Work of the bake's thread: solve, and convert the result for the write-back.

use std::sync::Arc;

use bevy::log::info;
use bevy::math::Affine3A;
use bevy::prelude::Entity;

use super::events::{Bake, BakeFailure};
use super::preview::{PreviewingObserver, PreviewingWatch};
use super::targets::{pixels, targets};
use crate::Device;
use crate::bake::{BakeError, OutputFolder, Report, run_on};
use crate::lightmap::Voxels;
use crate::plugin::relight::level_of_bake;
use crate::plugin::state::{PageValidity, RelightOrigin, TexelValidity};
use crate::plugin::sync::WorldScene;
use crate::plugin::tree_cells::TreeCells;
use crate::plugin::write_back::{PagePixels, Target};
use crate::scene::check::repair;
use crate::scene::{Severity, Surface, dedup_warnings};

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

/// Bakes a scene that was read from the Bevy world.
pub fn solve(bake: &Bake, world: WorldScene, watch: &PreviewingWatch) -> Result<Solved, BakeFailure> {
    // The folder is opened and checked before the expensive work.
    let folder = bake.folder.as_ref().map(OutputFolder::open).transpose().map_err(BakeError::from)?;
    // Not the renderer's device. While wgpu waits for results, it locks out submissions to the same device, so frames
    // would wait for whole batches of rays. Bevy also ends the app at the first error of the renderer's device. A device
    // of the bake's own leaves both alone, and exists in apps without a renderer. The driver shares the card.
    let device = Device::open(bake.settings.device).map_err(BakeError::from)?;
    info!("the bake traces its rays on {device}");
    let WorldScene { scene, surfaces, .. } = world;
    let (scene, problems) = repair(scene);
    let observer = PreviewingObserver { watch, originals: &surfaces };
    let mut baked = run_on(&device, scene, &bake.settings, &observer)?;
    let worth_saying = problems.iter().filter(|problem| problem.severity() == Severity::Warning);
    baked.report.warnings.splice(0..0, dedup_warnings(worth_saying));
    if let Some(folder) = folder {
        baked.draw_preview(None);
        folder.write(&mut baked)?;
    }
    let owner = |id| Some((id, surfaces.get(&baked.scene.surface(id).key)?.0));
    let owners = baked.scene.surface_ids().filter_map(owner).collect();
    let relight = match level_of_bake(&baked, owners) {
        Some(level) => RelightOrigin::Bake(Box::new(level)),
        None => RelightOrigin::Static("the bake has nothing to relight with: set `BakeSettings::relight`".to_owned()),
    };
    let place = |surface: &Surface| {
        let (entity, _) = surfaces.get(&surface.key)?;
        Some(BakedPlace { entity: *entity, name: surface.key.object().to_owned(), to_world: surface.to_world })
    };
    let places = baked.scene.surfaces.iter().filter_map(place).collect();
    let targets = targets(&surfaces, &baked.scene, &baked.layout);
    let pages = pixels(&baked.pages);
    let validity = TexelValidity(baked.pages.iter().map(|page| Arc::new(PageValidity::from(page))).collect());
    let tree = TreeCells::of(baked.world.tree());
    Ok(Solved { targets, pages, report: baked.report, volume: baked.volume, validity, tree, relight, places })
}
