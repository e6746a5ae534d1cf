//! What subscenes tell each other.

use std::sync::Arc;

use glam::{Vec2, Vec3};

use super::super::patches::{Part, Patch};
use super::super::shooter::{Shining, Target};
use crate::geometry::Aabb;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::partition::CellId;
use crate::partition::masks::{InMask, Source, Viewpoint};

/// Viewpoints of a patch. More tell half-shadows in more steps.
const VIEWPOINTS: u32 = 8;

/// How far viewpoints are off their surface, as rays start there too: metres, and parts of their coordinates.
const OFF: f32 = 1e-5;
const OFF_SHARE: f32 = 1e-6;

/// Light of a patch on its way to a subscene: a copy of the patch, and its mask on the border that it comes in by.
pub struct Message {
    pub to: CellId,
    pub flash: Arc<Flash>,
    pub mask: InMask,
}

/// One shot.
pub struct Flash {
    /// Which shot.
    pub number: u64,
    /// Which patch, among those of all subscenes.
    pub patch: usize,
    pub shape: Arc<Shape>,
    /// What each group of the patch shines with.
    pub parts: Vec<Part>,
    /// What each group sends out, lm/m2; the first is the whole patch.
    pub groups: Vec<Vec3>,
    /// The weight of its power.
    pub weight: f64,
}

impl Flash {
    /// Its power, lumens.
    pub fn power(&self) -> Vec3 {
        self.groups[0] * self.shape.patch.visible_area
    }

    pub fn shining(&self) -> Shining<'_> {
        let Shape { patch, bounds, glow, .. } = &*self.shape;
        Shining { patch, bounds: *bounds, parts: &self.parts, glow: *glow }
    }
}

/// A patch as others know it: without its receivers.
pub struct Shape {
    pub patch: Patch,
    /// What it will send out in the end, lm/m2, about: luminance.
    pub glow: f32,
    /// The box around it and around the points that it looks from.
    pub bounds: Aabb,
    pub source: Source,
    /// Its viewpoints, as receivers look at them.
    pub targets: Vec<Target>,
}

impl Shape {
    /// Spreads viewpoints over a patch; `place` is in its subscene.
    pub fn new(patch: &Patch, bounds: Aabb, glow: f32, place: Vec3, seed: u32) -> Self {
        let numbers = OwenSobol::new(hash2(seed, 3));
        let target = |viewpoint: u32| {
            let [x, y, ..] = numbers.point(viewpoint);
            let (position, normal) = patch.sample(Vec2::new(x, y));
            let lifted = position + normal * (OFF + OFF_SHARE * position.abs().max_element());
            Target { position: lifted, normal, viewpoint: viewpoint as usize }
        };
        let targets: Vec<Target> = (0..VIEWPOINTS).map(target).collect();
        let viewpoints = targets.iter().map(|target| Viewpoint { position: target.position, normal: target.normal });
        let source = Source::new(place, viewpoints.collect());
        let patch = Patch { receivers: Vec::new(), ..patch.clone() };
        Self { patch, glow, bounds, source, targets }
    }
}
