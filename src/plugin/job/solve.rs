//! What the bake's own thread does: solve, and bring the result into a form that the main thread only has to hand on.

use std::collections::HashMap;
use std::sync::Arc;

use bevy::prelude::{Entity, Handle, Mesh, Rect};
use glam::Vec2;
use rayon::prelude::*;

use super::preview::PreviewingWatch;
use super::{Bake, BakeFailure, Watch};
use crate::bake::{BakeError, OutputFolder, Report};
use crate::lightmap::{Layout, Page, PageSize, Placement, Rectangle, Voxels};
use crate::plugin::overlay::{PageValidity, TexelValidity};
use crate::plugin::relight::{RelightLevel, RelightOrigin};
use crate::plugin::sync::WorldScene;
use crate::plugin::tree_cells::TreeCells;
use crate::plugin::write_back::{PagePixels, Target};
use crate::scene::check::repair;
use crate::scene::{Scene, Severity, Surface, SurfaceKey, abridged};

/// The entity of each surface, and the mesh that the app gave it.
pub type Originals = HashMap<SurfaceKey, (Entity, Handle<Mesh>)>;

/// A bake, ready to be shown.
pub struct Solved {
    pub targets: Vec<Target>,
    pub pages: Vec<PagePixels>,
    pub report: Report,
    pub volume: Option<Arc<Voxels>>,
    pub validity: TexelValidity,
    pub tree: TreeCells,
    pub relight: RelightOrigin,
}

/// Bakes a scene that was read from the Bevy world.
pub fn solve(bake: &Bake, world: WorldScene, watch: &Watch) -> Result<Solved, BakeFailure> {
    // Held, and found fit to be written into, before the work.
    let folder = bake.folder.as_ref().map(OutputFolder::open).transpose().map_err(BakeError::from)?;
    let WorldScene { mut scene, surfaces, .. } = world;
    let problems = repair(&mut scene);
    let observer = PreviewingWatch { watch, originals: &surfaces };
    let mut baked = crate::bake::run(Arc::new(scene), &bake.settings, &observer)?;
    let worth_saying = problems.iter().filter(|problem| problem.severity() == Severity::Warning);
    baked.report.warnings.splice(0..0, abridged(worth_saying));
    if let Some(folder) = folder {
        folder.write(&mut baked)?;
    }
    let owner = |id| Some((id, surfaces.get(&baked.scene.surface(id).key)?.0));
    let owners = baked.scene.surface_ids().filter_map(owner).collect();
    let relight = match RelightLevel::of_bake(&baked, owners) {
        Some(level) => RelightOrigin::Bake(Box::new(level)),
        None => RelightOrigin::Static("the bake has nothing to relight with: set `BakeSettings::relight`".to_owned()),
    };
    let targets = targets(&surfaces, &baked.scene, &baked.layout);
    let pages = pixels(&baked.pages);
    let validity = TexelValidity(baked.pages.iter().map(|page| Arc::new(PageValidity::from(page))).collect());
    let tree = TreeCells::of(baked.world.tree());
    Ok(Solved { targets, pages, report: baked.report, volume: baked.volume, validity, tree, relight })
}

/// Which entities show which part of which page.
pub fn targets(originals: &Originals, scene: &Scene, layout: &Layout) -> Vec<Target> {
    let target = |(surface, placement): (&Surface, &Option<Placement>)| {
        let (entity, original) = originals.get(&surface.key)?;
        Some(target(*entity, original.clone(), placement.as_ref()?, layout))
    };
    scene.surfaces.iter().zip(&layout.placements).filter_map(target).collect()
}

/// Pages as the renderer wants them.
pub fn pixels(pages: &[Page]) -> Vec<PagePixels> {
    pages.par_iter().map(|page| PagePixels::half_float(page.width, page.height, &page.texels)).collect()
}

fn target(entity: Entity, original: Handle<Mesh>, placement: &Placement, layout: &Layout) -> Target {
    let page = placement.page as usize;
    Target {
        entity,
        original,
        unwrap: Arc::clone(&placement.unwrap),
        page,
        uv_rect: uv_rect(placement.rectangle, layout.pages[page]),
    }
}

/// A rectangle of texels as part of its page, from 0 to 1.
pub fn uv_rect(rectangle: Rectangle, page: PageSize) -> Rect {
    let Rectangle { x, y, width, height } = rectangle;
    let size = Vec2::new(page.width as f32, page.height as f32);
    Rect { min: Vec2::new(x as f32, y as f32) / size, max: Vec2::new((x + width) as f32, (y + height) as f32) / size }
}
