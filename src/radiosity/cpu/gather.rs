//! Gather rays: what each element sees.

use core::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use glam::{Vec2, Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;

use super::transport::{Arrival, End, Source, Stage, Transport};
use super::{StepReport, TILE};
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::ElementId;
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::accumulators::{StoredHits, Sums, TintedHit, brings_nothing, does_not_count};
use crate::radiosity::backend::Hits;
use crate::radiosity::{Accumulators, HALVES};

pub(super) fn run(
    transport: &Transport,
    halves: &mut [Accumulators; HALVES],
    rays: Range<u32>,
    hits: Hits,
    monitor: &dyn Monitor,
) -> Result<StepReport, Cancelled> {
    let count = transport.elements.len();
    let traced = AtomicU64::new(0);
    let tiles_done = AtomicU64::new(0);
    let tiles = (count.div_ceil(TILE) * HALVES) as f32;
    for (half, accumulators) in halves.iter_mut().enumerate() {
        let Accumulators { sums, stored, radiosity, .. } = accumulators;
        let kept = if hits == Hits::Store { rays.len() } else { 0 };
        let mut kept_hits = vec![0u32; count * kept];
        let batch = Batch { transport, half, rays: rays.clone(), hits, radiosity };
        let work = |(tile, sums, kept): (usize, &mut [Sums], &mut [u32])| {
            monitor.check()?;
            let mut tinted = Vec::new();
            traced.fetch_add(batch.trace_tile(tile * TILE, sums, kept, &mut tinted), Ordering::Relaxed);
            monitor.progress(tiles_done.fetch_add(1, Ordering::Relaxed) as f32 / tiles);
            Ok(tinted)
        };
        let tinted: Vec<Vec<TintedHit>> = if kept > 0 {
            sums.par_chunks_mut(TILE)
                .zip(kept_hits.par_chunks_mut(TILE * kept))
                .enumerate()
                .map(|(tile, (sums, kept))| work((tile, sums, kept)))
                .collect::<Result<_, Cancelled>>()?
        } else {
            sums.par_chunks_mut(TILE)
                .enumerate()
                .map(|(tile, sums)| work((tile, sums, &mut [])))
                .collect::<Result<_, Cancelled>>()?
        };
        if kept > 0 {
            stored.push(StoredHits { rays: kept as u32, hits: kept_hits, tinted: tinted.concat() });
        }
    }
    Ok(StepReport { rays: traced.into_inner(), ..StepReport::default() })
}

/// What all tiles of a gather step share.
struct Batch<'a> {
    transport: &'a Transport<'a>,
    half: usize,
    rays: Range<u32>,
    hits: Hits,
    radiosity: &'a [Vec4],
}

impl Batch<'_> {
    fn trace_tile(&self, first: usize, sums: &mut [Sums], kept: &mut [u32], tinted: &mut Vec<TintedHit>) -> u64 {
        let mut traced = 0;
        let each = if self.hits == Hits::Store { self.rays.len() } else { 0 };
        for (offset, sums) in sums.iter_mut().enumerate() {
            let kept = &mut kept[offset * each..][..each];
            let (before, tinted_before) = (*sums, tinted.len());
            let element = first + offset;
            let chances = self.transport.chances(element);
            let mut source = Source { element, suspect: before.buried > 0, chances };
            traced += self.trace_element(&source, sums, kept, tinted);
            if sums.buried > 0 && !source.suspect {
                // A buried point whose ray met a front first has seen what it should not: all are asked again.
                *sums = before;
                tinted.truncate(tinted_before);
                source.suspect = true;
                traced += self.trace_element(&source, sums, kept, tinted);
            }
        }
        traced
    }

    fn trace_element(&self, source: &Source, sums: &mut Sums, kept: &mut [u32], tinted: &mut Vec<TintedHit>) -> u64 {
        let Transport { scene, elements, .. } = *self.transport;
        let seed = self.transport.seed(self.half, Stage::Gather, source.element);
        let points = OwenSobol::new(seed);
        let sampler = elements.sampler(scene, ElementId::from_index(source.element));
        let mut traced = 0;
        for (slot, index) in self.rays.clone().enumerate() {
            let [x, y, u, v] = points.point(index);
            let point = sampler.sample(Vec2::new(x, y));
            let direction = cosine_hemisphere(point.shading_normal, Vec2::new(u, v));
            let arrival = self.transport.gather(source, &point, direction, hash2(seed, index));
            let (hit, rays) = self.add(source.element, &arrival, sums, tinted);
            traced += u64::from(rays);
            if let Some(kept) = kept.get_mut(slot) {
                *kept = hit;
            }
        }
        traced
    }

    /// Adds what a ray brought and says what to store of it, and how many rays that took.
    fn add(&self, element: usize, arrival: &Arrival, sums: &mut Sums, tinted: &mut Vec<TintedHit>) -> (u32, u32) {
        let elements = self.transport.elements;
        if arrival.end == End::Buried {
            // A direction below the surface is left out of the mean; it does not make the point a buried one.
            sums.buried += u32::from(arrival.rays > 0);
            return (does_not_count(elements.len()), arrival.rays);
        }
        sums.valid += 1;
        sums.met += arrival.direct;
        sums.detour += arrival.detour;
        sums.carriers += u32::from(self.hits != Hits::Forget);
        let End::Element(hit) = arrival.end else {
            sums.lost += 1;
            return (brings_nothing(elements.len()), arrival.rays);
        };
        let stored = match self.hits {
            Hits::Store if arrival.tint == Vec3::ONE => hit.0,
            Hits::Store => {
                tinted.push(TintedHit { element: element as u32, hit: hit.0, tint: arrival.tint });
                brings_nothing(elements.len())
            }
            Hits::Read => {
                sums.read += arrival.tint * self.radiosity[hit.index()].xyz();
                hit.0
            }
            Hits::Forget => hit.0,
        };
        (stored, arrival.rays)
    }
}
