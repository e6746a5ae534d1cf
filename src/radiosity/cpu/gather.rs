//! Gather rays of each element.

use core::cell::OnceCell;
use core::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use glam::{Vec2, Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;

use super::PIECE;
use super::bright::BrightSampler;
use super::transport::{Arrival, End, Source, Transport, Until};
use crate::geometry::Ray;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, ElementSampler, Elements, SurfacePoint};
use crate::progress::{Monitor, PieceProgress};
use crate::radiosity::HALVES;
use crate::radiosity::accumulators::{StoredHits, Sums, TintedHit, brings_nothing, does_not_count};
use crate::radiosity::backend::Hits;
use crate::radiosity::bright::BrightElement;
use crate::radiosity::seeds::{Stage, seed_of_stage};
use crate::scene::Scene;

/// Inputs of a gather step besides the sums of its elements.
pub(super) struct Gathering<'a> {
    pub transport: &'a Transport<'a>,
    pub hits: Hits,
    /// Radiosity of each element in both halves, for rays that read it.
    pub radiosity: [&'a [Vec4]; HALVES],
    /// Elements sampled as lights.
    pub bright: &'a [BrightElement],
}

/// Result of a gather step besides the sums.
pub(super) struct Gathered {
    /// Stored hits of each half, if it stores hits. Missing for a half that was not begun.
    pub stored: [Option<StoredHits>; HALVES],
    /// Number of traced rays.
    pub rays: u64,
    /// True if the monitor asked to stop: some elements have all rays, and others none.
    pub is_cut_short: bool,
}

impl Gathering<'_> {
    /// Traces `rays` additional rays of each element of a range from `first`. The offsets of stored hits begin there.
    pub fn run(&self, first: usize, halves: [&mut [Sums]; HALVES], rays: &[u32], monitor: &dyn Monitor) -> Gathered {
        let traced = AtomicU64::new(0);
        let pieces = PieceProgress::new(monitor, rays.len().div_ceil(PIECE) * HALVES);
        let bright = &BrightSampler::new(self.transport, self.bright);
        let mut gathered = Gathered { stored: [None, None], rays: 0, is_cut_short: false };
        for (half, sums) in halves.into_iter().enumerate() {
            let mut kept = StoredHits::default();
            if self.hits == Hits::Store {
                kept = StoredHits::with_room_for(rays);
            }
            let batch =
                Batch { transport: self.transport, half, hits: self.hits, radiosity: self.radiosity[half], bright };
            let work = sums.par_chunks_mut(PIECE).zip(rays.par_chunks(PIECE)).zip(split(&mut kept, rays.len()));
            let tinted: Vec<Option<Vec<TintedHit>>> = work
                .enumerate()
                .with_max_len(1)
                .map(|(piece, ((sums, rays), mut kept))| {
                    monitor.check().ok()?;
                    let traced_rays = batch.trace_piece(first + piece * PIECE, rays, sums, &mut kept);
                    traced.fetch_add(traced_rays, Ordering::Relaxed);
                    pieces.finish_piece();
                    Some(kept.tinted)
                })
                .collect();
            gathered.is_cut_short = tinted.iter().any(Option::is_none);
            if self.hits == Hits::Store {
                if gathered.is_cut_short {
                    kept.retain(|element| tinted[element / PIECE].is_some());
                }
                kept.tinted = tinted.into_iter().flatten().flatten().collect();
                gathered.stored[half] = Some(kept);
            }
            if gathered.is_cut_short {
                break;
            }
        }
        gathered.rays = traced.into_inner();
        gathered
    }
}

/// Returns start point and direction of one of an element's gather rays.
#[inline]
fn gather_ray(sampler: &ElementSampler, points: &OwenSobol, index: u32) -> (SurfacePoint, Vec3) {
    let [x, y, u, v] = points.point(index);
    let point = sampler.sample(Vec2::new(x, y));
    (point, cosine_hemisphere(point.shading_normal, Vec2::new(u, v)))
}

/// Returns gather rays of one half of an element, identical to those of [`Gathering::run`] with a seed. Rays below the surface are
/// left out.
pub(crate) fn gather_rays(
    scene: &Scene,
    elements: &Elements,
    (seed, half): (u32, usize),
    id: ElementId,
    indices: Range<u32>,
) -> impl Iterator<Item = Ray> {
    let points = OwenSobol::new(hash2(seed_of_stage(seed, half, Stage::Gather), id.0));
    let sampler = elements.sampler(scene, id);
    indices.filter_map(move |index| {
        let (point, direction) = gather_ray(&sampler, &points, index);
        (direction.dot(point.geometric_normal) > 0.0).then(|| point.ray(direction))
    })
}

/// Destination of the hits of one piece.
#[derive(Default)]
struct Kept<'a> {
    hits: &'a mut [u32],
    used: usize,
    tinted: Vec<TintedHit>,
}

impl Kept<'_> {
    fn push(&mut self, hit: u32) {
        if let Some(kept) = self.hits.get_mut(self.used) {
            *kept = hit;
        }
        self.used += 1;
    }
}

/// Splits the hits of a step into those of each piece. They are empty for a step that stores none.
fn split<'a>(step: &'a mut StoredHits, elements: usize) -> Vec<Kept<'a>> {
    let mut hits = &mut step.hits[..];
    (0..elements)
        .step_by(PIECE)
        .map(|first| {
            let last = (first + PIECE).min(elements);
            let count = step.offsets.get(last).map_or(0, |end| (end - step.offsets[first]) as usize);
            Kept { hits: hits.split_off_mut(..count).unwrap_or_default(), ..Kept::default() }
        })
        .collect()
}

/// Shared data of all pieces in a gather step.
struct Batch<'a> {
    transport: &'a Transport<'a>,
    half: usize,
    hits: Hits,
    radiosity: &'a [Vec4],
    bright: &'a BrightSampler<'a>,
}

impl Batch<'_> {
    fn until(&self) -> Until {
        match self.hits {
            Hits::Store | Hits::Read | Hits::Forget => Until::Element,
            Hits::Follow { bounces } => Until::Bounces(bounces),
        }
    }

    fn trace_piece(&self, first: usize, rays: &[u32], sums: &mut [Sums], kept: &mut Kept) -> u64 {
        let mut traced = 0;
        for (offset, (sums, &rays)) in sums.iter_mut().zip(rays).enumerate() {
            if rays == 0 {
                continue;
            }
            let element = first + offset;
            let run = Run {
                batch: self,
                indices: sums.gathered..sums.gathered + rays,
                sampler: self.transport.elements.sampler(self.transport.scene, ElementId::from_index(element)),
            };
            let mut source = Source {
                element,
                may_be_inside: sums.inside > 0,
                light_pmf: OnceCell::new(),
                until: self.until(),
                bright: self.bright.elements,
            };
            let (before, used, tinted) = (*sums, kept.used, kept.tinted.len());
            traced += run.trace(&source, sums, kept);
            if sums.inside > 0 && !source.may_be_inside {
                // A point inside geometry counted as visible if its ray hit a front face first. All points are
                // therefore traced again with a test.
                *sums = before;
                kept.used = used;
                kept.tinted.truncate(tinted);
                source.may_be_inside = true;
                traced += run.trace(&source, sums, kept);
            }
        }
        traced
    }
}

/// Rays of one element in a step.
struct Run<'a> {
    batch: &'a Batch<'a>,
    /// Indices of the rays in the element's sample sequence.
    indices: Range<u32>,
    sampler: ElementSampler,
}

impl Run<'_> {
    fn trace(&self, source: &Source, sums: &mut Sums, kept: &mut Kept) -> u64 {
        let transport = self.batch.transport;
        let seed = transport.seed_of(self.batch.half, Stage::Gather, source.element);
        let points = OwenSobol::new(seed);
        let mut traced = 0;
        for index in self.indices.clone() {
            let (point, direction) = gather_ray(&self.sampler, &points, index);
            let mut arrival = transport.gather(source, &point, direction, hash2(seed, index));
            if !source.bright.is_empty() && arrival.end != End::Inside {
                let (light, rays) = self.batch.bright.sample(&point, hash2(seed, index));
                arrival.continuation += light;
                arrival.rays += rays;
            }
            let hit = self.add(source.element, &arrival, sums, &mut kept.tinted);
            kept.push(hit);
            traced += u64::from(arrival.rays);
        }
        sums.gathered += self.indices.len() as u32;
        traced
    }

    /// Adds the result of a ray to the sums. Returns the stored hit.
    fn add(&self, element: usize, arrival: &Arrival, sums: &mut Sums, tinted: &mut Vec<TintedHit>) -> u32 {
        let Batch { transport, hits, radiosity, .. } = *self.batch;
        let count = transport.elements.len();
        if arrival.end == End::Inside {
            // A direction below the surface is invalid, but does not mean that the point lies inside geometry.
            sums.inside += u32::from(arrival.rays > 0);
            return does_not_count(count);
        }
        sums.valid += 1;
        sums.bsdf_sampled += arrival.direct;
        sums.continuation += arrival.continuation;
        sums.carriers += u32::from(hits.carry());
        let End::Element(hit) = arrival.end else {
            sums.lost += 1;
            return brings_nothing(count);
        };
        match hits {
            Hits::Store if arrival.tint == Vec3::ONE => hit.0,
            Hits::Store => {
                tinted.push(TintedHit { element: element as u32, hit: hit.0, tint: arrival.tint });
                brings_nothing(count)
            }
            Hits::Read => {
                sums.read += arrival.tint * radiosity[hit.index()].xyz();
                hit.0
            }
            Hits::Forget | Hits::Follow { .. } => hit.0,
        }
    }
}
