//! Checkpoints of a picture, so that a render that was stopped can go on.

use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytemuck::{cast_slice, cast_slice_mut};
use glam::UVec2;

use crate::bake::rate_limit::RateLimit;
use crate::bake::{CheckpointError, Checkpoints, InputsHash};
use crate::cli::Failure;
use crate::cli::progress::NamedStage;
use crate::output::Overwrite;
use crate::pathtrace::{Film, PictureInputs, Pixel, RenderObserver, Tile};
use crate::progress::Monitor;

/// Least time between two checkpoints.
const WORTH_KEEPING: Duration = Duration::from_millis(500);
/// Least ratio of the time between two checkpoints to the time that one takes.
const MIN_RATIO: u32 = 50;

/// Checkpoints of the film of a picture or of a part, beside its file.
pub struct PictureCheckpoints {
    checkpoints: Checkpoints,
    inputs: InputsHash,
    rate_limit: RateLimit,
    /// Error of the last checkpoint, if it could not be saved.
    failure: Mutex<Option<CheckpointError>>,
}

impl PictureCheckpoints {
    /// Returns the checkpoints of a file's tile.
    pub fn beside(path: &Path, inputs: &PictureInputs, tile: Tile) -> Self {
        let (checkpoints, inputs) = (Checkpoints::beside(path), InputsHash::of_picture(inputs, tile));
        let rate_limit = RateLimit::new(WORTH_KEEPING, MIN_RATIO);
        Self { checkpoints, inputs, rate_limit, failure: Mutex::default() }
    }

    /// Refuses files of others at the place of the checkpoints.
    pub fn check_place(&self) -> Result<(), Failure> {
        Ok(self.checkpoints.check_place(Overwrite::Own)?)
    }

    /// Reads the film of the last checkpoint, of a tile of `size`; `None` without a checkpoint.
    pub fn load(&self, size: UVec2) -> Result<Option<Film>, Failure> {
        let mut pixels = vec![Pixel::default(); size.x as usize * size.y as usize];
        let bytes: &mut [u8] = cast_slice_mut(&mut pixels);
        let Some(mut payload) = self.checkpoints.load(self.inputs, u64::MAX)? else { return Ok(None) };
        if payload.bytes != bytes.len() as u64 || payload.read_exact(bytes).is_err() {
            return Err(CheckpointError::Damaged { path: self.checkpoints.path().into() }.into());
        }
        Ok(Some(Film::from_pixels(size, pixels)))
    }

    fn keep(&self, film: &Film) {
        let saved = self.checkpoints.save(self.inputs, |out| out.write_all(cast_slice(film.pixels())));
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = saved.err();
    }

    fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ToString::to_string)
    }

    /// Saves the film of a render that was stopped. Returns a sentence about how to go on.
    pub fn stop(&self, film: &Film) -> String {
        if film.max_samples() == 0 {
            return "stopped before there was anything to keep".to_owned();
        }
        self.keep(film);
        let path = self.checkpoints.path().display();
        match self.failure() {
            Some(failure) => format!("stopped, and what was done could not be kept: {failure}"),
            None => format!("stopped; what was done is kept in {path}: repeat the command with --resume to go on"),
        }
    }

    /// Removes the checkpoints of a render whose picture is written, unless it was stopped. Returns a warning:
    /// `how_to_go_on`, or that a checkpoint could not be removed or saved.
    pub fn finish(&self, how_to_go_on: Option<String>) -> Option<String> {
        let removed = || self.checkpoints.remove().err();
        how_to_go_on
            .or_else(|| removed().map(|fault| format!("a checkpoint stays, which is not needed any more: {fault}")))
            .or_else(|| self.failure().map(|failure| format!("the render went on without a checkpoint: {failure}")))
    }
}

/// Observer of a render that saves checkpoints, if there is a place for them.
pub struct PictureWatch<'a> {
    pub stage: NamedStage<'a>,
    pub checkpoints: Option<&'a PictureCheckpoints>,
}

impl Monitor for PictureWatch<'_> {
    fn progress(&self, fraction: f32) {
        self.stage.progress(fraction);
    }

    fn is_cancelled(&self) -> bool {
        self.stage.is_cancelled()
    }
}

impl RenderObserver for PictureWatch<'_> {
    fn film_improved(&self, film: &Film) {
        if let Some(checkpoints) = self.checkpoints.filter(|checkpoints| checkpoints.rate_limit.is_due()) {
            checkpoints.rate_limit.time(|| checkpoints.keep(film));
        }
    }
}
