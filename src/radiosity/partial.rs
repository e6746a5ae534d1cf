//! A solution half-way: what a checkpoint holds.

use std::borrow::Cow;
use std::io::{self, Write};

use bytemuck::{Pod, Zeroable, bytes_of, cast_slice, pod_read_unaligned};
use glam::Vec3;

use super::SolverSettings;
use super::accumulators::{Accumulators, HALVES, StoredHits, Sums, TintedHit};
use super::bright::BrightElement;
use crate::lightmap::Elements;
use crate::scene::Scene;

/// Changes whenever the bytes of a checkpoint change their meaning.
const FORMAT: u32 = 8;

/// What passes have been done. With the sums it determines all that follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Ledger {
    /// Rays traced.
    pub rays: u64,
    /// Rays that passes for bands of brightness traced.
    pub local_rays: u64,
    /// Passes finished.
    pub passes: u32,
    /// Samples of direct light that the last pass for the whole scene gave most elements.
    pub light_samples: u32,
    /// Gather rays of each element, on average.
    pub gather_rays: u32,
    /// Those among them whose hits are stored.
    pub stored_rays: u32,
    /// Standard error that more samples of direct light were worth, relative to the mean light.
    pub light_tolerance: f32,
    /// Standard error that more samples were worth in bands of brightness, relative to their adaptation levels.
    pub local_tolerance: f32,
    /// Most iterations that any pass took.
    pub iterations: u32,
    /// Share of the reflected power that was not followed to its end.
    pub unshot: f32,
    /// How the solver follows bounces.
    pub following: u32,
    /// Samples of direct light that the last pass for bands of brightness gave most of their elements.
    pub local_samples: u32,
}

/// Where progressive refinement is: what patches' receivers have, patch after patch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shots {
    /// How many there were.
    pub count: u32,
    /// Rays that found what each patch sends to whom, by patch, none of those that have never shot; in subscenes how many
    /// those of each were, and of which patches.
    pub rays: Vec<u64>,
    /// Irradiance that they brought, lux, by receiver.
    pub received: Vec<Vec3>,
    /// Radiosity that has yet to be shot, lm/m2, by receiver.
    pub unshot: Vec<Vec3>,
    /// Its power, lumens, by patch: summed as it came, so it cannot be summed again to the same bits.
    pub power: Vec<Vec3>,
    /// What gather rays have corrected.
    pub rounds: Rounds,
}

/// Rounds of gather rays that correct what was shot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// How many are over.
    pub count: u32,
    /// Rays that they traced.
    pub traced: u64,
    /// Rays that rounds for bands of brightness traced.
    pub local: u64,
    /// True when the round that is under way is such a one.
    pub is_local: bool,
    /// Rays of either half of each element in the round that is under way; none between rounds.
    pub rays: Vec<u32>,
    /// What either half found in it, lux: of the first elements, as far as it is.
    pub now: Vec<[Vec3; HALVES]>,
    /// Rays of either half of each element in the round before.
    pub last_rays: Vec<u32>,
    /// What either half found in that, lux.
    pub last: Vec<[Vec3; HALVES]>,
}

impl Rounds {
    /// True when the arrays fit a number of elements.
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

    fn read(rest: &mut &[u8]) -> Result<Self, PartialError> {
        Ok(Self {
            count: read_one(rest)?,
            traced: read_one(rest)?,
            local: read_one(rest)?,
            is_local: read_one::<u64>(rest)? != 0,
            rays: read_slice(rest)?,
            now: read_slice(rest)?,
            last_rays: read_slice(rest)?,
            last: read_slice(rest)?,
        })
    }
}

/// A checkpoint: the state of a solver between two passes, or of progressive refinement between two shots.
///
/// A solver that starts from it ends with the same bytes as one that was never interrupted.
#[derive(Clone, Debug, PartialEq)]
pub struct Partial<'a> {
    pub(super) fingerprint: [u8; 32],
    pub(super) ledger: Ledger,
    /// Borrowed from a solver, or read from a checkpoint.
    pub(super) halves: Cow<'a, [Accumulators; HALVES]>,
    /// Once passes are over, what has been shot since.
    pub(super) shots: Option<Shots>,
}

/// Why bytes are not a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the checkpoint is cut short, or of another version of this program; bake without it")]
pub struct PartialError;

impl Partial<'_> {
    /// How many passes have been done.
    pub fn passes(&self) -> u32 {
        self.ledger.passes
    }

    /// Writes the checkpoint as bytes, little-endian, and copies nothing on the way: it is as large as all else.
    ///
    /// # Errors
    /// When the bytes cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&FORMAT.to_le_bytes())?;
        out.write_all(&self.fingerprint)?;
        out.write_all(bytes_of(&self.ledger))?;
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

impl Partial<'static> {
    /// Reads what [`Partial::write`] wrote.
    ///
    /// # Errors
    /// When the bytes are no checkpoint of this version, or not a whole one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PartialError> {
        let mut rest = bytes;
        if read_one::<u32>(&mut rest)? != FORMAT {
            return Err(PartialError);
        }
        let fingerprint = read_one(&mut rest)?;
        let ledger = read_one(&mut rest)?;
        let mut halves: [Accumulators; HALVES] = Default::default();
        for half in &mut halves {
            half.sums = read_slice::<Sums>(&mut rest)?;
            half.radiosity = read_slice(&mut rest)?;
            half.shot = read_slice(&mut rest)?;
            half.shots = read_one(&mut rest)?;
            half.bright = read_slice::<BrightElement>(&mut rest)?;
            for _ in 0..read_one::<u64>(&mut rest)? {
                let offsets = read_slice(&mut rest)?;
                let hits = read_slice(&mut rest)?;
                let tinted = read_slice::<TintedHit>(&mut rest)?;
                half.stored.push(StoredHits { offsets, hits, tinted });
            }
            if !half.fits(half.sums.len()) {
                return Err(PartialError);
            }
        }
        let shots = match read_one::<u32>(&mut rest)? {
            0 => None,
            _ => Some(Shots {
                count: read_one(&mut rest)?,
                rays: read_slice(&mut rest)?,
                received: read_slice(&mut rest)?,
                unshot: read_slice(&mut rest)?,
                power: read_slice(&mut rest)?,
                rounds: Rounds::read(&mut rest)?,
            }),
        };
        let whole = Self { fingerprint, ledger, halves: Cow::Owned(halves), shots };
        if rest.is_empty() { Ok(whole) } else { Err(PartialError) }
    }
}

fn write_slice<T: Pod>(out: &mut dyn Write, slice: &[T]) -> io::Result<()> {
    out.write_all(&(slice.len() as u64).to_le_bytes())?;
    out.write_all(cast_slice(slice))
}

fn read_one<T: Pod>(rest: &mut &[u8]) -> Result<T, PartialError> {
    Ok(pod_read_unaligned(take(rest, size_of::<T>() as u64)?))
}

fn read_slice<T: Pod>(rest: &mut &[u8]) -> Result<Vec<T>, PartialError> {
    let length = read_one::<u64>(rest)?;
    let bytes = take(rest, length.checked_mul(size_of::<T>() as u64).ok_or(PartialError)?)?;
    Ok(bytemuck::pod_collect_to_vec(bytes))
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Result<&'a [u8], PartialError> {
    let length = usize::try_from(length).map_err(|_| PartialError)?;
    let (taken, after) = rest.split_at_checked(length).ok_or(PartialError)?;
    *rest = after;
    Ok(taken)
}

/// A digest of what the solver's numbers depend on, as far as elements, lights and settings tell.
pub(super) fn fingerprint(scene: &Scene, elements: &Elements, settings: &SolverSettings) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(cast_slice(&elements.centre));
    hasher.update(cast_slice(&elements.area));
    hasher.update(cast_slice(&elements.reflectance));
    hasher.update(cast_slice(&elements.emission));
    hasher.update(format!("{:?}", scene.lights).as_bytes());
    let SolverSettings { method, content, error, time_seconds: _, bounces, seed, memory_mib, subscenes } = settings;
    hasher.update(format!("{method:?} {content:?} {error} {bounces:?} {seed} {memory_mib} {subscenes:?}").as_bytes());
    *hasher.finalize().as_bytes()
}
