//! Transport updates after occluders have moved, such as doors.
//!
//! Only elements with rays near the occluders trace their rays again. A few rows of the exchange between patches
//! change. The inverse is updated from the previous one (Sherman, Morrison and Woodbury).

use core::ops::Range;
use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::inverse::inverse_of_change;
use super::{LowRank, Packed, PatchId, Rows};
use crate::geometry::{Aabb, Ray, RayQuery};
use crate::lightmap::{ElementId, Elements};
use crate::progress::Monitor;
use crate::radiosity::gather_rays;
use crate::radiosity::{CpuBackend, HALVES};
use crate::radiosity::{StepError, TransportBackend};
use crate::scene::Scene;

/// Maximum fraction of changed patches for an update. With more of them a new inverse is faster.
const MAX_CHANGED: f32 = 0.5;

/// Moved surfaces without elements.
///
/// Light between two such surfaces, without an element before them on the path, is not updated.
#[derive(Clone, Copy)]
pub struct MovedSurfaces<'a> {
    /// Scene after the move.
    pub scene: &'a Arc<Scene>,
    /// Ray queries of the scene after the move.
    pub world: &'a dyn RayQuery,
    /// Elements of the precomputed transport.
    pub elements: &'a Elements,
    /// Bounding boxes of the surfaces, before and after the move, in world space, in meters.
    pub boxes: &'a [Aabb],
    /// Number of new gather rays for each half of an updated element.
    pub rays: u32,
    /// Seed of the new rays.
    pub seed: u32,
    /// Fraction of an element's form factors that packing may drop.
    pub loss: f32,
}

/// Statistics and results of an update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Followed {
    /// Number of elements that traced new rays.
    pub elements: usize,
    /// Number of patches with changed bounces.
    pub patches: usize,
    /// Row and irradiance, in lux, of each updated element: light that reached it over unmapped surfaces alone.
    pub continuations: Vec<(u32, Vec3)>,
}

impl LowRank {
    /// Updates the transport after surfaces have moved. The result equals that of new rows for all elements with the
    /// same rays, up to rounding to sixteen bits.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels. The transport is unchanged then.
    pub fn follow(&mut self, moved: &MovedSurfaces, monitor: &dyn Monitor) -> Result<Followed, StepError> {
        let blocks: Vec<usize> = (0..self.elements().div_ceil(Packed::BLOCK))
            .into_par_iter()
            .filter(|&block| self.patches.order[self.rows_of(block)].iter().any(|&element| moved.is_seen_from(element)))
            .collect();
        if blocks.is_empty() {
            return Ok(Followed::default());
        }
        monitor.check()?;
        let mut rays = vec![0; self.elements()];
        for row in blocks.iter().flat_map(|&block| self.rows_of(block)) {
            rays[self.patches.order[row] as usize] = moved.rays;
        }
        let elements = rays.iter().filter(|&&rays| rays > 0).count();
        let mut backend = CpuBackend::new(moved.scene, moved.world, moved.elements, moved.seed);
        let rows = Rows::by_ray_counts(&self.patches, &mut backend, rays, monitor)?;
        let continuations = self.continuations(&blocks, &backend)?;
        let patches = self.patches_in(&blocks);
        let before = self.exchange_of(&patches);
        self.views.pack_anew(&blocks, moved.loss, |row, dense| {
            let seen = rows.of(self.patches.order[row] as usize);
            seen.iter().for_each(|&(patch, share)| dense[patch.index()] = share);
        });
        if patches.len() as f32 > MAX_CHANGED * self.patches.len() as f32 {
            self.sum_up_all_bounces();
        } else {
            let after = self.exchange_of(&patches);
            let changed: Vec<usize> = patches.iter().map(|patch| patch.index()).collect();
            for (channel, (after, before)) in after.into_iter().zip(before).enumerate() {
                let all = self.all_bounces_between(channel);
                self.bounces[channel] = Self::pack_bounces(&inverse_of_change(all, &changed, &(after - before)));
            }
        }
        Ok(Followed { elements, patches: patches.len(), continuations })
    }

    /// Returns the irradiance over unmapped surfaces found by the rays of a backend without radiosities.
    fn continuations(&self, blocks: &[usize], backend: &CpuBackend) -> Result<Vec<(u32, Vec3)>, StepError> {
        let halves = (0..HALVES).map(|half| backend.read(half)).collect::<Result<Vec<_>, _>>()?;
        let of_row = |row: usize| {
            let element = self.patches.order[row] as usize;
            let sum: Vec3 = halves.iter().map(|element_estimates| element_estimates[element].indirect).sum();
            (row as u32, sum / HALVES as f32)
        };
        Ok(blocks.iter().flat_map(|&block| self.rows_of(block)).map(of_row).collect())
    }

    /// Returns the rows in a block of the packed matrix.
    fn rows_of(&self, block: usize) -> Range<usize> {
        block * Packed::BLOCK..self.elements().min((block + 1) * Packed::BLOCK)
    }

    /// Returns the patches that contain rows of some blocks.
    fn patches_in(&self, blocks: &[usize]) -> Vec<PatchId> {
        let offsets = &self.patches.offsets;
        let mut patches: Vec<PatchId> = Vec::new();
        for rows in blocks.iter().map(|&block| self.rows_of(block)) {
            let first = offsets.partition_point(|&offset| offset as usize <= rows.start) - 1;
            let within = (first..self.patches.len()).take_while(|&patch| (offsets[patch] as usize) < rows.end);
            patches.extend(within.map(PatchId::from_index));
        }
        patches.dedup();
        patches
    }
}

impl MovedSurfaces<'_> {
    /// Returns true if a ray of an element reaches one of the boxes.
    fn is_seen_from(&self, element: u32) -> bool {
        let id = ElementId(element);
        (0..HALVES).any(|half| {
            gather_rays(self.scene, self.elements, (self.seed, half), id, 0..self.rays)
                .any(|ray| self.reaches_box(&ray))
        })
    }

    fn reaches_box(&self, ray: &Ray) -> bool {
        let entries = self.boxes.iter().filter_map(|bounds| bounds.entered_by(ray));
        let nearest = entries.fold(f32::INFINITY, f32::min);
        // Occluders before the boxes are there before and after the move.
        nearest.is_finite() && self.world.closest(ray).is_none_or(|hit| hit.t >= nearest * 0.999)
    }
}

#[cfg(test)]
mod tests;
