//! The result of a worker's bake, as the page needs it.

use std::sync::Arc;

use bevy::math::Affine3A;

use super::answer::SCENE;
use super::message::{PageParts, Place, Summary};
use super::request::{Damaged, next};
use crate::bake::Report;
use crate::lightmap::{Layout, PageFormat, Placement, Unwrap};
use crate::low_rank::{Precomputed, PrecomputedError};
use crate::parts::pause;
use crate::plugin::job::solve::{Solved, owners, places, relight_origin};
use crate::plugin::job::targets::{Originals, targets};
use crate::plugin::relight::level_of_parts;
use crate::plugin::state::{PageValidity, TexelValidity};
use crate::plugin::tree_cells::TreeCells;
use crate::plugin::write_back::PagePixels;
use crate::radiosity::Content;
use crate::relight::RelightInputError;
use crate::scene::Scene;
use crate::scene::check::repair;

/// Error of a result that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Damaged(#[from] Damaged),
    #[error(transparent)]
    Transport(#[from] PrecomputedError),
    #[error(transparent)]
    Relight(#[from] RelightInputError),
}

impl From<postcard::Error> for ReadError {
    fn from(error: postcard::Error) -> Self {
        Self::Damaged(error.into())
    }
}

/// Reads the parts of a result. The scene is the one that was sent, and the content that of the settings.
pub async fn read(
    parts: Vec<Vec<u8>>,
    originals: &Originals,
    scene: Scene,
    content: Content,
) -> Result<Solved, ReadError> {
    let mut parts = parts.into_iter();
    let summary: Summary = postcard::from_bytes(&next(&mut parts)?)?;
    let report: Report = serde_json::from_str(&summary.report).map_err(Damaged::from)?;
    let mut unwraps = Vec::with_capacity(summary.unwraps as usize);
    for _ in 0..summary.unwraps {
        pause().await;
        unwraps.push(Arc::new(postcard::from_bytes::<Unwrap>(&next(&mut parts)?)?));
    }
    let (mut pages, mut validity, mut relit) = (Vec::new(), Vec::new(), Vec::new());
    for &size in &summary.pages {
        pause().await;
        let PageParts { pixels, validity: valid, page } = postcard::from_bytes(&next(&mut parts)?)?;
        pages.push(PagePixels { width: size.width, height: size.height, format: PageFormat::HalfFloat, data: pixels });
        validity.push(Arc::new(PageValidity::new(size, valid)));
        relit.extend(page);
    }
    pause().await;
    let layout = layout(&summary, &unwraps);
    let keys = || summary.surfaces.iter().map(|(key, _)| key);
    let targets = targets(originals, keys(), &layout);
    let placed = summary.surfaces.iter().map(|(key, columns)| (key, Affine3A::from_cols_array(columns)));
    let places = places(originals, placed);
    let level = if summary.has_transport {
        let transport = Precomputed::from_bytes(&next(&mut parts)?, SCENE)?;
        pause().await;
        let (scene, _) = repair(scene);
        pause().await;
        let error = report.relight.as_ref().map_or(0.0, |relight| relight.error);
        let level = level_of_parts(&scene, &layout, transport, (relit, content), PageFormat::HalfFloat, error);
        let mut level = level.await?;
        level.owners = owners(originals, keys());
        level.has_own_units = true;
        Some(level)
    } else {
        None
    };
    Ok(Solved {
        targets,
        pages,
        report,
        volume: summary.volume.map(Arc::new),
        validity: TexelValidity(validity),
        tree: TreeCells { levels: summary.cells },
        relight: relight_origin(level),
        places,
    })
}

fn layout(summary: &Summary, unwraps: &[Arc<Unwrap>]) -> Layout {
    let placement = |place: &Option<Place>| {
        let Place { unwrap, page, rectangle } = place.as_ref()?;
        Some(Placement { unwrap: Arc::clone(unwraps.get(*unwrap as usize)?), page: *page, rectangle: *rectangle })
    };
    Layout {
        placements: summary.placements.iter().map(placement).collect(),
        pages: summary.pages.clone(),
        padding: summary.padding,
    }
}
