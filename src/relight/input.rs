//! Input of live relighting: a baked level.

use std::sync::Arc;

use glam::Vec3;

use super::texel_mapping::LazyTexelMapping;
use crate::geometry::RayQuery;
use crate::lightmap::{Elements, Layout, Page};
use crate::low_rank::Precomputed;
use crate::parts::{finish, pause};
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::Content;
use crate::scene::Scene;

/// Result of a bake, ready for relighting.
#[derive(Clone)]
pub struct RelightInput {
    /// Baked scene, with the lights of the bake.
    pub scene: Arc<Scene>,
    /// Ray tracing structure of the scene.
    pub world: Arc<dyn RayQuery + Send + Sync>,
    /// Elements of its lightmaps.
    pub elements: Arc<Elements>,
    /// Precomputed light transport between elements.
    pub precomputed: Arc<Precomputed>,
    /// Pages to show while no light has changed.
    pub pages: Arc<[Page]>,
    /// Kind of light that the pages hold.
    pub content: Content,
    /// Lazily built tables that map elements to texels. Use `default()`, also for a level of other pages or transport.
    pub texel_mapping: LazyTexelMapping,
}

/// Error of [`RelightInput::new`].
#[derive(Debug, thiserror::Error)]
pub enum RelightInputError {
    /// The layout does not match the transport.
    #[error("the level has other texels than its transport was precomputed for: bake it again")]
    OtherElements,
    /// The monitor canceled the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl RelightInput {
    /// Builds the elements of a baked level from its layout.
    ///
    /// # Errors
    ///
    /// Returns an error when the layout does not match the transport, or the monitor cancels.
    pub fn new(
        scene: Arc<Scene>,
        world: Arc<dyn RayQuery + Send + Sync>,
        layout: &Layout,
        precomputed: Arc<Precomputed>,
        pages: (Vec<Page>, Content),
        monitor: &dyn Monitor,
    ) -> Result<Self, RelightInputError> {
        finish(Self::new_in_parts(scene, world, layout, precomputed, pages, monitor))
    }

    /// Does the same as [`new`](Self::new), with pauses.
    pub(crate) async fn new_in_parts(
        scene: Arc<Scene>,
        world: Arc<dyn RayQuery + Send + Sync>,
        layout: &Layout,
        precomputed: Arc<Precomputed>,
        (pages, content): (Vec<Page>, Content),
        monitor: &dyn Monitor,
    ) -> Result<Self, RelightInputError> {
        let scene = Arc::new(scene.with_sealed_sides(&*world));
        pause().await;
        let elements = Arc::new(Elements::build_in_parts(&scene, layout, &*world, monitor).await?);
        if !are_of(&elements, &precomputed) {
            return Err(RelightInputError::OtherElements);
        }
        Ok(Self {
            scene,
            world,
            elements,
            precomputed,
            pages: pages.into(),
            content,
            texel_mapping: LazyTexelMapping::default(),
        })
    }

    /// Returns true while stored contributions hold: there are some, and no surface is displaced or recolored.
    pub(super) fn has_contributions(&self) -> bool {
        !self.precomputed.contributions.lights.is_empty()
    }
}

/// Returns true when a transport was precomputed for these elements: same count, and centers within 1 mm.
fn are_of(elements: &Elements, precomputed: &Precomputed) -> bool {
    let Precomputed { transport, receivers, .. } = precomputed;
    let is_here = |(&element, center): (&u32, &Vec3)| elements.center[element as usize].abs_diff_eq(*center, 1e-3);
    elements.len() == transport.elements() && transport.patches.order.iter().zip(&receivers.center).all(is_here)
}
