//! Messages between subscenes.

use std::sync::Arc;

use glam::{Vec2, Vec3};

use super::super::patches::{Part, Patch};
use super::super::shooter::{ShotSource, Target};
use crate::geometry::Aabb;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::partition::CellId;
use crate::partition::masks::{InMask, MaskSource, Viewpoint};

/// Number of viewpoints of a patch. More viewpoints give smoother penumbras.
const VIEWPOINTS: u32 = 8;

/// Offset of viewpoints from their surface, equal to that of rays: in meters, and relative to the coordinates.
const OFF: f32 = 1e-5;
const OFF_SHARE: f32 = 1e-6;

/// Light of a patch in transit to a subscene: a copy of the patch, and its mask on the border.
pub struct Message {
    pub to: CellId,
    pub flash: Arc<Flash>,
    pub mask: InMask,
}

/// Data of one shot.
pub struct Flash {
    /// Index of the shot.
    pub number: u64,
    /// Global index of the patch.
    pub patch: usize,
    pub shape: Arc<Shape>,
    /// Emitting polygons of each group of the patch.
    pub parts: Vec<Part>,
    /// Radiosity of each group, in lm/m2. The first is the whole patch.
    pub groups: Vec<Vec3>,
    /// Weight of the power.
    pub weight: f64,
}

impl Flash {
    /// Returns the power, in lumens.
    pub fn power(&self) -> Vec3 {
        self.groups[0] * self.shape.patch.visible_area
    }

    pub fn shot_source(&self) -> ShotSource<'_> {
        let Shape { patch, bounds, glow, .. } = &*self.shape;
        ShotSource { patch, bounds: *bounds, parts: &self.parts, glow: *glow }
    }
}

/// Patch without its receivers, as sent to other subscenes.
pub struct Shape {
    pub patch: Patch,
    /// Approximate final radiosity, as luminance in lm/m2.
    pub glow: f32,
    /// Bounding box of the patch and the points of its receivers.
    pub bounds: Aabb,
    pub source: MaskSource,
    /// Viewpoints of the patch, as targets of visibility rays.
    pub targets: Vec<Target>,
}

impl Shape {
    /// Distributes viewpoints over a patch. `place` is a point in its subscene.
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
        let source = MaskSource::new(place, viewpoints.collect());
        let patch = Patch { receivers: Vec::new(), ..patch.clone() };
        Self { patch, glow, bounds, source, targets }
    }
}
