//! Partial solution: the content of a checkpoint.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use bytemuck::allocation::try_zeroed_vec;
use bytemuck::{Pod, Zeroable, bytes_of, bytes_of_mut, cast_slice, cast_slice_mut};
use glam::Vec3;

use super::accumulators::{Accumulators, HALVES, StoredHits, Sums, TintedHit};
use super::bright::BrightElement;
use super::progressive::{FIRST_RAYS, MAX_GROWTH};
use super::{Method, SolverSettings};
use crate::lightmap::Elements;
use crate::scene::Scene;

/// Version of the checkpoint format. It changes whenever bytes change their meaning.
const FORMAT: u32 = 8;

/// Progress of the solver over passes. Together with the sums it determines all further work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct SolverProgress {
    /// Number of traced rays.
    pub rays: u64,
    /// Number of rays traced by passes for brightness bands.
    pub local_rays: u64,
    /// Number of finished passes.
    pub passes: u32,
    /// Number of light samples of most elements after the last pass for the whole scene.
    pub light_samples: u32,
    /// Mean number of gather rays of an element.
    pub gather_rays: u32,
    /// Mean number of gather rays of an element with stored hits.
    pub stored_rays: u32,
    /// Accepted standard error of direct light, relative to the mean light.
    pub light_tolerance: f32,
    /// Accepted standard error of direct light in brightness bands, relative to their adaptation levels.
    pub local_tolerance: f32,
    /// Maximum number of iterations of any pass.
    pub iterations: u32,
    /// Fraction of the reflected power that was not propagated to the end.
    pub unshot: f32,
    /// Method for bounces, as the number of a `BounceIntegrator` in `passes`.
    pub integrator: u32,
    /// Number of light samples of most elements of the bands after the last pass for brightness bands.
    pub local_samples: u32,
}

/// Rays beyond which no bake is believed to have traced any.
const MAX_RAYS: u64 = 1 << 60;

/// Rays that a gather ray or a light sample takes at most, on average: those behind mirrors and glass, and tests for
/// lying inside geometry. Since the number of rays decides on further work, it must fit the samples.
pub(super) const MAX_RAYS_OF_SAMPLE: u64 = 1 << 9;

impl SolverProgress {
    /// Returns false for values that no bake has.
    fn is_possible(&self) -> bool {
        let Self { rays, local_rays, passes, light_samples, gather_rays, stored_rays, iterations, .. } = *self;
        let counts = [passes, light_samples, gather_rays, stored_rays, iterations, self.local_samples];
        let is_tolerance = |tolerance: f32| tolerance >= 0.0;
        rays <= MAX_RAYS
            && local_rays <= rays
            && counts.iter().all(|&count| count <= Sums::MAX_RAYS)
            && [self.light_tolerance, self.local_tolerance].into_iter().all(is_tolerance)
            && self.unshot.is_finite()
    }
}

/// State of progressive refinement, in the order of patches and their receivers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shots {
    /// Number of shots so far.
    pub count: u32,
    /// Number of visibility rays in each patch's form-factor row, by patch; 0 for a patch that has not shot. With
    /// subscenes, instead the serialized ray counts of each subscene: those of visibility, then those of masks.
    pub rays: Vec<u64>,
    /// Irradiance from shots, in lux, by receiver.
    pub received: Vec<Vec3>,
    /// Unshot radiosity, in lm/m2, by receiver.
    pub unshot: Vec<Vec3>,
    /// Unshot power, in lumens, by patch. It is stored because another order of summation would change its bits.
    pub power: Vec<Vec3>,
    /// State of the corrections by gather rays.
    pub rounds: Rounds,
}

impl Shots {
    /// Returns false for values that no bake has.
    fn are_possible(&self) -> bool {
        let Rounds { rays, now, last_rays, last, .. } = &self.rounds;
        let vectors = [&self.received, &self.unshot, &self.power].into_iter().flatten();
        let found = [now, last].into_iter().flatten().flatten();
        let counts = [rays, last_rays].into_iter().flatten().chain([&self.count]);
        vectors.chain(found).all(|light| light.is_finite())
            && counts.into_iter().all(|&count| count <= Sums::MAX_RAYS)
            && self.rounds.are_possible()
    }
}

/// Maximum number of rounds that a bake is believed to take.
const MAX_ROUNDS: u32 = 1 << 10;

/// State of the rounds of gather rays that correct the shot light.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// Number of finished rounds.
    pub count: u32,
    /// Number of rays traced by all rounds.
    pub traced: u64,
    /// Number of rays traced by rounds for brightness bands.
    pub local: u64,
    /// True if the current round is for brightness bands.
    pub is_local: bool,
    /// Number of rays of each half of each element in the current round. Empty between rounds.
    pub rays: Vec<u32>,
    /// Irradiance found by both halves in the current round, in lux, for the elements done so far.
    pub now: Vec<[Vec3; HALVES]>,
    /// Number of rays of each half of each element in the previous round.
    pub last_rays: Vec<u32>,
    /// Irradiance found by both halves in the previous round, in lux.
    pub last: Vec<[Vec3; HALVES]>,
}

impl Rounds {
    /// Returns false for numbers of rays that do not fit each other. They decide on the rays of further rounds.
    fn are_possible(&self) -> bool {
        let Self { count, traced, local, rays, last_rays, .. } = self;
        let sum = |rays: &[u32]| HALVES as u64 * rays.iter().map(|&rays| u64::from(rays)).sum::<u64>();
        let (last, next, first) = (sum(last_rays), sum(rays), (HALVES * rays.len()) as u64 * u64::from(FIRST_RAYS));
        // A round has all rays of the one before, and more of them.
        *count <= MAX_ROUNDS
            && local <= traced
            && last <= MAX_RAYS_OF_SAMPLE.saturating_mul(*traced)
            && *traced <= MAX_RAYS_OF_SAMPLE.saturating_mul(u64::from(*count) * last + next)
            && next <= 2 * MAX_GROWTH as u64 * last + first
    }

    /// Returns true if the arrays are valid for this number of elements.
    pub fn fits(&self, elements: usize) -> bool {
        let fits = |rays: &[u32], found: usize| rays.len() == elements && found <= elements;
        let is_none = |rays: &[u32], found: usize| rays.is_empty() && found == 0;
        let (now, last) = (self.now.len(), self.last.len());
        (is_none(&self.rays, now) || fits(&self.rays, now))
            && (is_none(&self.last_rays, last) || fits(&self.last_rays, last) && last == elements)
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.count.to_le_bytes())?;
        for number in [self.traced, self.local, self.is_local.into()] {
            out.write_all(&number.to_le_bytes())?;
        }
        for (rays, found) in [(&self.rays, &self.now), (&self.last_rays, &self.last)] {
            write_slice(out, rays)?;
            write_slice(out, found)?;
        }
        Ok(())
    }

    fn read(rest: &mut Rest<'_>) -> Result<Self, SolverCheckpointError> {
        Ok(Self {
            count: rest.one()?,
            traced: rest.one()?,
            local: rest.one()?,
            is_local: rest.one::<u64>()? != 0,
            rays: rest.slice()?,
            now: rest.slice()?,
            last_rays: rest.slice()?,
            last: rest.slice()?,
        })
    }
}

/// Checkpoint: the state of a solver between two passes, of progressive refinement between two shots, or the direct light
/// of an unfinished first pass.
///
/// A solver that continues from a checkpoint produces the same bytes as one that was never interrupted.
#[derive(Clone, Debug, PartialEq)]
pub struct SolverCheckpoint<'a> {
    pub(super) fingerprint: [u8; 32],
    pub(super) solver_progress: SolverProgress,
    /// Accumulators, borrowed from a solver or read from a checkpoint.
    pub(super) halves: Cow<'a, [Accumulators; HALVES]>,
    /// State of progressive refinement, after the passes.
    pub(super) shots: Option<Shots>,
}

/// Error of bytes that are not a valid checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the checkpoint is damaged, or of another version of this program; start anew without --resume")]
pub struct SolverCheckpointError;

impl SolverCheckpoint<'_> {
    /// Returns the number of finished passes.
    pub fn passes(&self) -> u32 {
        self.solver_progress.passes
    }

    /// Returns the number of rays that were traced for it.
    pub fn rays(&self) -> u64 {
        self.solver_progress.rays
    }

    /// Writes the checkpoint as little-endian bytes, without a copy: it may be as large as all other data.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&FORMAT.to_le_bytes())?;
        out.write_all(&self.fingerprint)?;
        out.write_all(bytes_of(&self.solver_progress))?;
        for half in self.halves.iter() {
            write_slice(out, &half.sums)?;
            write_slice(out, &half.radiosity)?;
            write_slice(out, &half.shot)?;
            out.write_all(&half.shots.to_le_bytes())?;
            write_slice(out, &half.bright)?;
            out.write_all(&(half.stored.len() as u64).to_le_bytes())?;
            for stored in &half.stored {
                write_slice(out, &stored.offsets)?;
                write_slice(out, &stored.hits)?;
                write_slice(out, &stored.tinted)?;
            }
        }
        out.write_all(&u32::from(self.shots.is_some()).to_le_bytes())?;
        if let Some(Shots { count, rays, received, unshot, power, rounds }) = &self.shots {
            out.write_all(&count.to_le_bytes())?;
            write_slice(out, rays)?;
            write_slice(out, received)?;
            write_slice(out, unshot)?;
            write_slice(out, power)?;
            rounds.write(out)?;
        }
        Ok(())
    }
}

impl SolverCheckpoint<'static> {
    /// Reads bytes written by [`SolverCheckpoint::write`].
    ///
    /// # Errors
    /// Returns an error if the bytes are not a complete checkpoint of this version.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, SolverCheckpointError> {
        let length = bytes.len() as u64;
        Self::read(&mut bytes, length)
    }

    /// Reads `bytes` bytes of [`SolverCheckpoint::write`]. Damaged bytes cannot make it allocate much more memory than
    /// that.
    ///
    /// # Errors
    /// When they cannot be read, or are not a complete checkpoint of this version.
    pub fn read(source: &mut dyn Read, bytes: u64) -> Result<Self, SolverCheckpointError> {
        let mut rest = Rest { source, bytes };
        if rest.one::<u32>()? != FORMAT {
            return Err(SolverCheckpointError);
        }
        let fingerprint = rest.one()?;
        let solver_progress: SolverProgress = rest.one()?;
        let mut halves: [Accumulators; HALVES] = Default::default();
        for half in &mut halves {
            half.sums = rest.slice::<Sums>()?;
            half.radiosity = rest.slice()?;
            half.shot = rest.slice()?;
            half.shots = rest.one()?;
            half.bright = rest.slice::<BrightElement>()?;
            for _ in 0..rest.one::<u64>()? {
                let offsets: Vec<u64> = rest.slice()?;
                let hits = rest.slice()?;
                let tinted = rest.slice::<TintedHit>()?;
                // Asked here, since many empty ones would take three times as much memory as their bytes.
                if half.sums.is_empty() || offsets.len() != half.sums.len() + 1 {
                    return Err(SolverCheckpointError);
                }
                half.stored.push(StoredHits { offsets, hits, tinted });
            }
            if !half.fits(half.sums.len()) {
                return Err(SolverCheckpointError);
            }
        }
        let shots = match rest.one::<u32>()? {
            0 => None,
            _ => Some(Shots {
                count: rest.one()?,
                rays: rest.slice()?,
                received: rest.slice()?,
                unshot: rest.slice()?,
                power: rest.slice()?,
                rounds: Rounds::read(&mut rest)?,
            }),
        };
        let is_possible = solver_progress.is_possible()
            && halves.iter().all(Accumulators::are_possible)
            && shots.iter().all(Shots::are_possible);
        let whole = Self { fingerprint, solver_progress, halves: Cow::Owned(halves), shots };
        if rest.bytes == 0 && is_possible { Ok(whole) } else { Err(SolverCheckpointError) }
    }
}

/// The bytes of a checkpoint that have yet to be read.
struct Rest<'a> {
    source: &'a mut dyn Read,
    bytes: u64,
}

impl Rest<'_> {
    fn one<T: Pod>(&mut self) -> Result<T, SolverCheckpointError> {
        let mut value = T::zeroed();
        self.fill(bytes_of_mut(&mut value))?;
        Ok(value)
    }

    /// Reads a length and a slice. A length beyond the remaining bytes is an error.
    fn slice<T: Pod>(&mut self) -> Result<Vec<T>, SolverCheckpointError> {
        let length = self.one::<u64>()?;
        let is_left = length.checked_mul(size_of::<T>() as u64).is_some_and(|bytes| bytes <= self.bytes);
        let length = usize::try_from(length).ok().filter(|_| is_left).ok_or(SolverCheckpointError)?;
        let mut values = try_zeroed_vec(length).map_err(|()| SolverCheckpointError)?;
        self.fill(cast_slice_mut(&mut values))?;
        Ok(values)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), SolverCheckpointError> {
        self.bytes = self.bytes.checked_sub(bytes.len() as u64).ok_or(SolverCheckpointError)?;
        self.source.read_exact(bytes).map_err(|_| SolverCheckpointError)
    }
}

fn write_slice<T: Pod>(out: &mut dyn Write, slice: &[T]) -> io::Result<()> {
    out.write_all(&(slice.len() as u64).to_le_bytes())?;
    out.write_all(cast_slice(slice))
}

/// Returns a digest of the solver's inputs, as far as elements, lights and settings describe them.
pub(super) fn fingerprint(scene: &Scene, elements: &Elements, settings: &SolverSettings) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(cast_slice(&elements.center));
    hasher.update(cast_slice(&elements.area));
    hasher.update(cast_slice(&elements.reflectance));
    hasher.update(cast_slice(&elements.emission));
    hasher.update(format!("{:?}", scene.lights).as_bytes());
    let SolverSettings {
        method,
        content,
        error,
        time_limit: _,
        bounces,
        seed,
        memory_mib,
        subscenes,
        faithful,
        counted,
    } = settings;
    // Of other methods it says how much is kept to save time.
    let memory_mib = if *method == Method::Gather { *memory_mib } else { 0 };
    hasher.update(format!("{method:?} {content:?} {error} {bounces:?} {seed} {memory_mib} {subscenes:?}").as_bytes());
    if !counted.are_default() {
        hasher.update(format!("{counted:?}").as_bytes());
    }
    if *faithful {
        hasher.update(b"faithful");
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_whose_rays_do_not_fit_each_other_are_refused() {
        assert!(Rounds::default().are_possible());
        let first = Rounds { rays: vec![FIRST_RAYS; 4], ..Rounds::default() };
        assert!(first.are_possible());
        let second = Rounds { count: 1, traced: 600, rays: vec![500; 4], last_rays: vec![64; 4], ..Rounds::default() };
        assert!(second.are_possible());
        let impossible = [
            Rounds { rays: vec![64, 64, 64, 1 << 30], ..first },
            Rounds { rays: vec![64, 64, 64, 1 << 30], ..second.clone() },
            Rounds { last_rays: vec![64, 64, 64, 1 << 30], ..second.clone() },
            Rounds { traced: 1 << 40, ..second.clone() },
            Rounds { count: 1 << 20, ..second.clone() },
            Rounds { local: 601, ..second },
        ];
        assert!(!impossible.iter().any(Rounds::are_possible));
    }
}
