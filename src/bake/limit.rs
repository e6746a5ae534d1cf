//! Time limit of a bake: the time left, and the time reserved for the stages after the solver.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{BakeError, Stage};
use crate::lightmap::Page;
use crate::radiosity::GRACE;

/// Bytes of pages in memory that a slow machine encodes, digests and writes per second.
const BYTES_WRITTEN_A_SECOND: f32 = 4e7;

/// Relative margin by which stages may take longer than predicted.
const MARGIN: f32 = 0.1;

/// Time limit of a bake, from the start of its command to the end of writing.
pub(super) struct TimeLimit {
    began: Instant,
    seconds: Option<f32>,
    /// Predicted seconds of each stage after the solver.
    foreseen: Mutex<[f32; Stage::ALL.len()]>,
}

impl TimeLimit {
    /// Creates a limit that counts from `began`. `None` means no limit.
    pub fn new(began: Instant, limit: Option<Duration>) -> Self {
        Self { began, seconds: limit.map(|limit| limit.as_secs_f32()), foreseen: Mutex::default() }
    }

    /// Returns true if there is a limit.
    pub fn is_set(&self) -> bool {
        self.seconds.is_some()
    }

    /// Sets the predicted time of a stage after the solver, in seconds.
    pub fn foresee(&self, stage: Stage, seconds: f32) {
        self.foreseen.lock().unwrap_or_else(PoisonError::into_inner)[stage as usize] = seconds;
    }

    /// Returns the predicted seconds of all stages after the solver, with a margin.
    fn after_solver(&self) -> f32 {
        let foreseen = self.foreseen.lock().unwrap_or_else(PoisonError::into_inner);
        foreseen.iter().sum::<f32>() * (1.0 + MARGIN)
    }

    /// Returns the seconds that are left for the solver at `now`; `None` without a limit.
    pub fn left_for_solver(&self, now: Instant) -> Option<f32> {
        Some(self.seconds? - (now - self.began).as_secs_f32() - self.after_solver())
    }

    /// Returns the error of a stage before the solver that goes on after the limit, if so.
    pub fn refusal(&self, stage: Stage, now: Instant) -> Option<BakeError> {
        let limit = self.seconds.filter(|_| stage < Stage::Solve)?;
        ((now - self.began).as_secs_f32() > limit + GRACE)
            .then_some(BakeError::TimeOverBeforeLight { limit, stage: stage.name() })
    }

    /// Returns the error of a solver that began at `began` and by `now` has finished only the part `done` of the first
    /// pass.
    pub fn too_short(&self, began: Instant, now: Instant, done: f32) -> BakeError {
        let before = (began - self.began).as_secs_f32() + self.after_solver();
        let first_light = (now - began).as_secs_f32() / done;
        let needed = (done >= MIN_DONE).then(|| ((before + first_light) * (1.0 + MARGIN)).ceil());
        BakeError::TimeTooShort { limit: self.seconds.unwrap_or_default(), done: done * 100.0, needed }
    }
}

/// Least part of the first pass from which the time of the whole pass is predicted.
const MIN_DONE: f32 = 0.02;

/// Returns the predicted time of writing pages, in seconds.
pub(super) fn seconds_of_writing(pages: &[Page]) -> f32 {
    let bytes: usize = pages.iter().map(|page| size_of_val(page.texels.as_slice())).sum();
    bytes as f32 / BYTES_WRITTEN_A_SECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a limit of 100 seconds, and a clock that starts with it.
    fn limit_of_100_seconds() -> (TimeLimit, impl Fn(u64) -> Instant) {
        let began = Instant::now();
        (TimeLimit::new(began, Some(Duration::from_secs(100))), move |seconds| began + Duration::from_secs(seconds))
    }

    #[test]
    fn the_solver_leaves_time_for_what_comes_after_it() {
        let (limit, at) = limit_of_100_seconds();
        limit.foresee(Stage::Filter, 4.0);
        limit.foresee(Stage::Volume, 50.0);
        limit.foresee(Stage::Volume, 6.0);
        // 70 seconds are left. Ten are predicted for later stages, which makes eleven with the margin.
        assert_eq!(limit.left_for_solver(at(30)), Some(59.0));
        assert_eq!(TimeLimit::new(at(0), None).left_for_solver(at(30)), None);
    }

    #[test]
    fn stages_before_the_solver_end_when_the_time_is_over_and_those_after_it_do_not() {
        let (limit, at) = limit_of_100_seconds();
        assert!(limit.refusal(Stage::Unwrap, at(99)).is_none());
        let refusal = limit.refusal(Stage::Unwrap, at(103)).expect("three seconds too many").to_string();
        assert!(refusal.contains("100 s") && refusal.contains("unwrap") && refusal.contains("--time"), "{refusal}");
        assert!(limit.refusal(Stage::Filter, at(200)).is_none(), "the light is there");
    }

    #[test]
    fn a_limit_that_is_too_short_for_the_first_light_says_how_long_that_takes() {
        let (limit, at) = limit_of_100_seconds();
        limit.foresee(Stage::Volume, 10.0);
        // Ten seconds before, 360 seconds of light, eleven after, and a margin of a tenth on all: 419.1.
        match limit.too_short(at(10), at(100), 0.25) {
            BakeError::TimeTooShort { limit, done, needed } => {
                assert_eq!((limit, done, needed), (100.0, 25.0, Some(420.0)));
            }
            other => panic!("{other}"),
        }
        let unknown = limit.too_short(at(10), at(100), 0.0).to_string();
        assert!(unknown.contains("allow much more (--time)"), "{unknown}");
    }
}
