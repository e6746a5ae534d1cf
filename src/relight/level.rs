//! What is relit.

use std::sync::Arc;

use glam::Vec3;

use super::showing::LazyShowing;
use crate::geometry::RayQuery;
use crate::lightmap::{Elements, Layout, Page};
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::Content;
use crate::radiosity::low_rank::Precomputed;
use crate::scene::Scene;

/// What a bake left.
#[derive(Clone)]
pub struct Level {
    /// What was baked, with the lights that it was baked with.
    pub scene: Arc<Scene>,
    /// What answers rays in it.
    pub world: Arc<dyn RayQuery + Send + Sync>,
    /// Where its elements are.
    pub elements: Arc<Elements>,
    /// How light goes from element to element.
    pub precomputed: Arc<Precomputed>,
    /// The pages, as they are shown while no light has changed.
    pub pages: Arc<[Page]>,
    /// Which light they hold.
    pub content: Content,
    /// How light is shown in them: `default()` until someone asks. A level of other pages or transport needs another.
    pub showing: LazyShowing,
}

/// Why a level cannot be relit.
#[derive(Debug, thiserror::Error)]
pub enum LevelError {
    /// The layout does not belong to the transport.
    #[error("the level has other texels than its transport was precomputed for: bake it again")]
    OtherElements,
    /// The work was asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Level {
    /// Finds the elements of a level that was baked with a layout.
    ///
    /// # Errors
    /// When the layout is another than the transport was precomputed for, or the monitor asks for it.
    pub fn new(
        scene: Arc<Scene>,
        world: Arc<dyn RayQuery + Send + Sync>,
        layout: &Layout,
        precomputed: Arc<Precomputed>,
        (pages, content): (Vec<Page>, Content),
        monitor: &dyn Monitor,
    ) -> Result<Self, LevelError> {
        let scene = Arc::new(scene.with_sealed_sides(&*world));
        let elements = Arc::new(Elements::build(&scene, layout, &*world, monitor)?);
        if !are_of(&elements, &precomputed) {
            return Err(LevelError::OtherElements);
        }
        Ok(Self { scene, world, elements, precomputed, pages: pages.into(), content, showing: LazyShowing::default() })
    }
}

/// True when a transport was precomputed for these elements.
fn are_of(elements: &Elements, precomputed: &Precomputed) -> bool {
    let Precomputed { transport, receivers, .. } = precomputed;
    let is_here = |(&element, centre): (&u32, &Vec3)| elements.centre[element as usize].abs_diff_eq(*centre, 1e-3);
    elements.len() == transport.elements() && transport.patches.order.iter().zip(&receivers.centre).all(is_here)
}
