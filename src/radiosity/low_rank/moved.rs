//! Light that finds another way since something has moved: a door that opens.
//!
//! Only elements some of whose rays come by are asked anew what they see. Of the bounces between patches a few rows change
//! with that, and the inverse follows from the one before (Sherman, Morrison and Woodbury).

use core::ops::Range;
use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::inverse::inverse_of_change;
use super::{LowRank, Packed, PatchId, Rows};
use crate::geometry::{Aabb, Ray, RayQuery};
use crate::lightmap::{ElementId, Elements};
use crate::progress::Monitor;
use crate::radiosity::backend::{StepError, TransportBackend};
use crate::radiosity::cpu::gather_rays;
use crate::radiosity::{CpuBackend, HALVES};
use crate::scene::Scene;

/// The part of all patches whose bounces may change before a whole new inverse is the shorter way.
const MOST_CHANGED: f32 = 0.5;

/// Surfaces without elements of their own that are no longer where they were.
///
/// Light that comes by them on its way between two such surfaces, without having met an element first, is not looked for.
#[derive(Clone, Copy)]
pub struct Moved<'a> {
    /// The scene as it is now.
    pub scene: &'a Arc<Scene>,
    /// What rays meet now.
    pub world: &'a dyn RayQuery,
    /// The elements that the transport was precomputed for.
    pub elements: &'a Elements,
    /// Boxes around the surfaces, where they were and where they are, world space, metres.
    pub boxes: &'a [Aabb],
    /// Fresh gather rays of each half of an element that is asked anew.
    pub rays: u32,
    /// What the rays are drawn with.
    pub seed: u32,
    /// The share of what an element sees that may be simplified away.
    pub loss: f32,
}

/// What had to be redone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Followed {
    /// Elements that were asked anew what they see.
    pub elements: usize,
    /// Patches whose bounces changed.
    pub patches: usize,
    /// What those elements get of the scene's lights by way of surfaces without elements alone, lux, by their row.
    pub detours: Vec<(u32, Vec3)>,
}

impl LowRank {
    /// Follows what has moved: the result is that of precomputing all rows with the same rays, up to the last of sixteen
    /// bits.
    ///
    /// # Errors
    /// When the monitor asks for it; nothing has changed then.
    pub fn follow(&mut self, moved: &Moved, monitor: &dyn Monitor) -> Result<Followed, StepError> {
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
        let rows = Rows::by_dealt_rays(&self.patches, &mut backend, rays, monitor)?;
        let detours = self.detours(&blocks, &backend)?;
        let patches = self.patches_in(&blocks);
        let before = self.exchange_of(&patches);
        self.views.pack_anew(&blocks, moved.loss, |row, dense| {
            let seen = rows.of(self.patches.order[row] as usize);
            seen.iter().for_each(|&(patch, share)| dense[patch.index()] = share);
        });
        if patches.len() as f32 > MOST_CHANGED * self.patches.len() as f32 {
            self.sum_up_bounces();
        } else {
            let after = self.exchange_of(&patches);
            let changed: Vec<usize> = patches.iter().map(|patch| patch.index()).collect();
            for (channel, (after, before)) in after.into_iter().zip(before).enumerate() {
                let all = self.all_bounces_between(channel);
                self.bounces[channel] = Self::pack_bounces(&inverse_of_change(all, &changed, &(after - before)));
            }
        }
        Ok(Followed { elements, patches: patches.len(), detours })
    }

    /// What the rays of a backend that holds no radiosity have collected on surfaces without elements.
    fn detours(&self, blocks: &[usize], backend: &CpuBackend) -> Result<Vec<(u32, Vec3)>, StepError> {
        let halves = (0..HALVES).map(|half| backend.read(half)).collect::<Result<Vec<_>, _>>()?;
        let of_row = |row: usize| {
            let element = self.patches.order[row] as usize;
            let sum: Vec3 = halves.iter().map(|readings| readings[element].indirect).sum();
            (row as u32, sum / HALVES as f32)
        };
        Ok(blocks.iter().flat_map(|&block| self.rows_of(block)).map(of_row).collect())
    }

    /// The rows that a block of the packed matrix holds.
    fn rows_of(&self, block: usize) -> Range<usize> {
        block * Packed::BLOCK..self.elements().min((block + 1) * Packed::BLOCK)
    }

    /// The patches that some rows of some blocks belong to.
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

impl Moved<'_> {
    /// True when some ray of an element comes as far as one of the boxes.
    fn is_seen_from(&self, element: u32) -> bool {
        let id = ElementId(element);
        (0..HALVES).any(|half| {
            gather_rays(self.scene, self.elements, (self.seed, half), id, 0..self.rays).any(|ray| self.is_met_by(&ray))
        })
    }

    fn is_met_by(&self, ray: &Ray) -> bool {
        let entries = self.boxes.iter().filter_map(|bounds| bounds.entered_by(ray));
        let nearest = entries.fold(f32::INFINITY, f32::min);
        // What stands before the boxes stands there before and after.
        nearest.is_finite() && self.world.closest(ray).is_none_or(|hit| hit.t >= nearest * 0.999)
    }
}

#[cfg(test)]
mod tests;
