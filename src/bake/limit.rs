//! Time limit of a bake: the time left, and the time reserved for the stages after the solver.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use glam::Vec3;

use super::{BakeError, Stage};
use crate::clock::Instant;
use crate::lightmap::Page;
use crate::low_rank::Precomputed;
use crate::radiosity::GRACE;

/// Bytes of pages in memory that a slow machine encodes, digests and writes per second.
const BYTES_WRITTEN_A_SECOND: f32 = 4e7;

/// Bytes of relighting data that a slow machine digests and writes per second.
const RELIGHTING_BYTES_WRITTEN_A_SECOND: f32 = 1e8;

/// Largest share of the time left that is reserved for a stage that ends in time with less data.
const MAX_SHARE: f32 = 1.0 / 3.0;

/// Relative margin by which stages may take longer than predicted.
const MARGIN: f32 = 0.1;

const STAGES: usize = Stage::ALL.len();

/// Time limit of a bake, from the start of its command to the end of writing.
pub(super) struct TimeLimit {
    began: Instant,
    seconds: Option<f32>,
    foreseen: Mutex<Foreseen>,
}

/// Predicted times, in seconds.
#[derive(Clone, Copy)]
struct Foreseen {
    /// Each stage after the solver.
    stages: [f32; STAGES],
    /// Upper bound for each stage. Infinite for stages that cannot end in time.
    max: [f32; STAGES],
    /// Writing of pages, and of relighting data.
    writing: [f32; 2],
}

impl TimeLimit {
    /// Creates a limit that counts from `began`. `None` means no limit.
    pub fn new(began: Instant, limit: Option<Duration>) -> Self {
        Self {
            began,
            seconds: limit.map(|limit| limit.as_secs_f32()),
            foreseen: Mutex::new(Foreseen { stages: [0.0; STAGES], max: [f32::INFINITY; STAGES], writing: [0.0; 2] }),
        }
    }

    /// Returns true if there is a limit.
    pub fn is_set(&self) -> bool {
        self.seconds.is_some()
    }

    fn foreseen(&self) -> MutexGuard<'_, Foreseen> {
        self.foreseen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a share of the time left for a stage after the solver that ends in time with less data.
    pub fn reserve(&self, stage: Stage, now: Instant) {
        let reserved = MAX_SHARE * self.left_for(Stage::Solve, now).unwrap_or_default().max(0.0);
        let mut foreseen = self.foreseen();
        foreseen.max[stage as usize] = reserved;
        foreseen.stages[stage as usize] = reserved;
    }

    /// Sets the predicted time of a stage after the solver, in seconds, up to what is reserved for it.
    pub fn foresee(&self, stage: Stage, seconds: f32) {
        let mut foreseen = self.foreseen();
        foreseen.stages[stage as usize] = seconds.min(foreseen.max[stage as usize]);
    }

    /// Sets the predicted time of writing the pages, in seconds.
    pub fn foresee_writing(&self, seconds: f32) {
        self.foreseen().writing[0] = seconds;
    }

    /// Sets the predicted time of writing the relighting data, in seconds.
    pub fn foresee_writing_relighting(&self, seconds: f32) {
        self.foreseen().writing[1] = seconds;
    }

    /// Returns the predicted seconds of all that follows a stage, with a margin.
    fn after(&self, stage: Stage) -> f32 {
        let Foreseen { stages, writing, .. } = *self.foreseen();
        stages[stage as usize + 1..].iter().chain(&writing).sum::<f32>() * (1.0 + MARGIN)
    }

    /// Returns the seconds that are left for a stage at `now`; `None` without a limit.
    pub fn left_for(&self, stage: Stage, now: Instant) -> Option<f32> {
        Some(self.seconds? - (now - self.began).as_secs_f32() - self.after(stage))
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
        let Foreseen { stages, max, .. } = *self.foreseen();
        let before = (began - self.began).as_secs_f32();
        // A longer limit also leaves more to stages that have all of their share.
        let (mut left, mut after) = (1.0, self.after(Stage::Solve));
        for (reserved, _) in stages.iter().zip(max).filter(|(seconds, max)| **seconds >= *max) {
            left *= 1.0 - MAX_SHARE * (1.0 + MARGIN);
            after -= reserved * (1.0 + MARGIN);
        }
        let first_light = (now - began).as_secs_f32() / done;
        let needed = (done >= MIN_DONE).then(|| ((before + (first_light + after) / left) * (1.0 + MARGIN)).ceil());
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

/// Returns the predicted time of writing relighting data that has yet to get `contributions` of lights, in seconds.
pub(super) fn seconds_of_writing_relighting(precomputed: &Precomputed, contributions: usize) -> f32 {
    let of_contributions = contributions * precomputed.transport.elements() * size_of::<Vec3>();
    (precomputed.bytes() + of_contributions) as f32 / RELIGHTING_BYTES_WRITTEN_A_SECOND
}

/// Returns the warning for counts that the time limit made smaller: the count, the wanted count, and its noun.
pub(super) fn shortened(subject: &str, counts: &[(usize, usize, &str)]) -> Option<String> {
    let short = counts.iter().filter(|(has, wanted, _)| has < wanted);
    let listed: Vec<String> = short.map(|(has, wanted, noun)| format!("{has} of {wanted} {noun}")).collect();
    let listed = listed.join(", ");
    (!listed.is_empty()).then(|| format!("the time limit left {subject} only {listed}: allow more (--time)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    /// Returns a limit of 100 seconds, and a clock that starts with it.
    fn limit_of_100_seconds() -> (TimeLimit, impl Fn(u64) -> Instant) {
        let began = clock::now();
        (TimeLimit::new(began, Some(Duration::from_secs(100))), move |seconds| began + Duration::from_secs(seconds))
    }

    #[test]
    fn the_warning_names_what_the_time_did_not_suffice_for() {
        let counts = [(64, 512, "rays of each texel"), (300, 300, "patches"), (0, 12, "lights on their own")];
        let expected = "the time limit left relighting only 64 of 512 rays of each texel, 0 of 12 lights on their own: \
                        allow more (--time)";
        assert_eq!(shortened("relighting", &counts).as_deref(), Some(expected));
        assert_eq!(shortened("relighting", &[(512, 512, "rays of each texel")]), None);
    }

    #[test]
    fn the_solver_leaves_time_for_what_comes_after_it() {
        let (limit, at) = limit_of_100_seconds();
        limit.foresee(Stage::Filter, 4.0);
        limit.foresee(Stage::Volume, 50.0);
        limit.foresee(Stage::Volume, 6.0);
        // 70 seconds are left. Ten are predicted for later stages, which makes eleven with the margin.
        assert_eq!(limit.left_for(Stage::Solve, at(30)), Some(59.0));
        // The volume has all the time that is left after writing, which takes 2.2 seconds with the margin.
        limit.foresee_writing(2.0);
        assert_eq!(limit.left_for(Stage::Volume, at(30)), Some(67.8));
        assert_eq!(TimeLimit::new(at(0), None).left_for(Stage::Solve, at(30)), None);
    }

    #[test]
    fn stages_that_end_in_time_are_kept_what_they_take_but_at_most_a_third_of_the_time() {
        let (limit, at) = limit_of_100_seconds();
        let left = |stage, seconds| limit.left_for(stage, at(seconds)).unwrap().round();
        limit.reserve(Stage::Relight, at(10));
        // Thirty of ninety seconds, which makes 33 with the margin.
        assert_eq!(left(Stage::Solve, 10), 57.0);
        limit.foresee(Stage::Relight, 400.0);
        assert_eq!(left(Stage::Solve, 10), 57.0);
        limit.foresee(Stage::Relight, 10.0);
        assert_eq!((left(Stage::Solve, 10), left(Stage::Relight, 60)), (79.0, 40.0));
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
        // With relighting, the first light and the volume have 19 of 30 parts of the time: (10 + 371 x 30 / 19) x 1.1.
        limit.reserve(Stage::Relight, at(10));
        match limit.too_short(at(10), at(100), 0.25) {
            BakeError::TimeTooShort { needed, .. } => assert_eq!(needed, Some(656.0)),
            other => panic!("{other}"),
        }
        let unknown = limit.too_short(at(10), at(100), 0.0).to_string();
        assert!(unknown.contains("allow much more (--time)"), "{unknown}");
    }
}
