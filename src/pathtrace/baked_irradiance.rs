//! Irradiance of a bake, for integrators that read diffuse light instead of tracing it.

use glam::Vec3;

use crate::geometry::Hit;
use crate::lightmap::{Layout, Page, Voxels, irradiance_at};

/// Lightmaps and irradiance volume of a bake.
#[derive(Clone, Copy, Debug)]
pub struct BakedIrradiance<'a> {
    /// Rectangle of each surface on the pages.
    pub layout: &'a Layout,
    /// Pages of the layout.
    pub pages: &'a [Page],
    /// Irradiance volume for surfaces without texels. It never contains direct light of lamps.
    pub volume: Option<&'a Voxels>,
    /// True if the pages contain direct light, too.
    pub has_direct: bool,
}

/// Direct light that is not in baked irradiance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// None.
    Nothing,
    /// Light of emitters that no ray can hit.
    Lamps,
    /// All direct light.
    Direct,
}

impl BakedIrradiance<'_> {
    /// Returns the irradiance at a hit, in lux: of its texels, or else of the volume at its position. It is zero if both
    /// are missing.
    pub(super) fn at(&self, hit: &Hit, position: Vec3, normal: Vec3) -> (Vec3, Missing) {
        if let Some(irradiance) = irradiance_at(self.layout, self.pages, hit) {
            return (irradiance, if self.has_direct { Missing::Nothing } else { Missing::Direct });
        }
        let of_volume = self.volume.and_then(|volume| volume.irradiance_at(position, normal));
        of_volume.map_or((Vec3::ZERO, Missing::Direct), |irradiance| (irradiance, Missing::Lamps))
    }
}
