//! Time limit of passes: predictions of their time, and monitors that end them.

use core::sync::atomic::{AtomicU32, Ordering};

use super::plan::Plan;
use super::{HALVES, SolveError, SolveObserver};
use crate::progress::{Cancelled, Monitor};

/// Seconds by which the first pass may exceed the limit. A bake without a complete first pass has no light.
pub(crate) const GRACE: f32 = 1.5;

/// Measured speed of one kind of work.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    seconds: f32,
    units: f32,
}

impl Rate {
    fn learn(&mut self, units: u64, seconds: f32) {
        self.seconds += seconds;
        self.units += units as f32;
    }

    /// Returns the predicted seconds of some work; zero while its speed is unknown.
    fn seconds_of(&self, units: u64) -> f32 {
        if self.units > 0.0 { self.seconds / self.units * units as f32 } else { 0.0 }
    }
}

/// Kinds of work whose time is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Samples of the light of all emitters.
    LightSamples,
    /// Gather rays.
    Gather,
}

/// Prediction of the time of passes.
///
/// Samples of direct light and gather rays are measured separately: a sample evaluates all emitters, of which there may
/// be tens of thousands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    light_samples: Rate,
    gather: Rate,
    /// Measured seconds of both kinds in the running pass.
    predicted: f32,
    /// Seconds of all else in the last pass, such as following bounces and estimating the error.
    rest: f32,
}

impl Times {
    /// Records the time of some work.
    pub fn learn(&mut self, work: Work, units: u64, seconds: f32) {
        self.predicted += seconds;
        match work {
            Work::LightSamples => self.light_samples.learn(units, seconds),
            Work::Gather => self.gather.learn(units, seconds),
        }
    }

    /// Records the whole time of a pass.
    pub fn end_pass(&mut self, seconds: f32) {
        self.rest = (seconds - self.predicted).max(0.0);
        self.predicted = 0.0;
    }

    /// Predicts the time of a pass, in seconds.
    pub fn seconds_of(&self, plan: &Plan) -> f32 {
        self.light_samples.seconds_of(plan.samples()) + self.gather.seconds_of(plan.gather_rays()) + self.rest
    }

    /// Predicts the time of checking a solution with `rays` rays in each half of an element, in seconds.
    pub fn seconds_of_check(&self, elements: usize, rays: u32) -> f32 {
        self.gather.seconds_of((HALVES * elements) as u64 * u64::from(rays))
    }
}

/// Monitor that ends steps once the time is over.
///
/// In the first pass, it also ends them once the observer wants to stop, since its direct light can be saved. Work that
/// can be repeated ends so, too.
pub(super) struct Limited<'a> {
    observer: &'a dyn SolveObserver,
    /// True if it also ends work once the observer wants to stop.
    stops_at_once: bool,
    /// Seconds to leave at the end.
    kept_back: f32,
    /// Largest reported fraction of the work, as bits.
    reached: AtomicU32,
}

impl<'a> Limited<'a> {
    /// Creates the monitor of a first pass.
    pub fn first_pass(observer: &'a dyn SolveObserver) -> Self {
        Self::repeatable(observer, -GRACE)
    }

    /// Creates the monitor of work that can be repeated after a stop, and leaves some seconds.
    pub fn repeatable(observer: &'a dyn SolveObserver, kept_back: f32) -> Self {
        Self { observer, stops_at_once: true, kept_back, reached: AtomicU32::new(0) }
    }

    /// Creates the monitor of a later pass, which leaves some seconds.
    pub fn later_pass(observer: &'a dyn SolveObserver, kept_back: f32) -> Self {
        Self { observer, stops_at_once: false, kept_back, reached: AtomicU32::new(0) }
    }

    /// Returns the seconds that are left for the work; `None` without a limit.
    pub fn seconds_left(&self) -> Option<f32> {
        Some(self.observer.seconds_left()? - self.kept_back)
    }

    /// Returns true once the time is over.
    pub fn is_time_over(&self) -> bool {
        self.seconds_left().is_some_and(|seconds| seconds <= 0.0)
    }

    /// Returns the error for work that ended before there was any light.
    pub fn why(&self, cancelled: Cancelled) -> SolveError {
        let done = f32::from_bits(self.reached.load(Ordering::Relaxed));
        if self.is_time_over() { SolveError::TooLittleTime { done } } else { cancelled.into() }
    }
}

impl Monitor for Limited<'_> {
    fn progress(&self, fraction: f32) {
        // The bits of positive floats are ordered as the floats.
        self.reached.fetch_max(fraction.max(0.0).to_bits(), Ordering::Relaxed);
        self.observer.progress(fraction);
    }

    fn is_cancelled(&self) -> bool {
        let is_stopped = if self.stops_at_once { self.observer.wants_to_stop() } else { self.observer.is_cancelled() };
        is_stopped || self.is_time_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radiosity::bands::{Bands, Judged};
    use crate::radiosity::plan::{Gather, LightSamples};

    #[test]
    fn samples_of_many_lamps_do_not_make_gather_rays_look_slow() {
        let mut times = Times::default();
        // The first pass: 8 samples and 16 rays in each half of 100 elements, and a second of other work.
        times.learn(Work::LightSamples, 1600, 80.0);
        times.learn(Work::Gather, 3200, 0.32);
        times.end_pass(81.32);
        let grouping = Bands { adaptation: vec![1.0; 100].into(), of_element: vec![0; 100] };
        let judged = Judged { grouping, bands: Vec::new() };
        let plan = |light_samples: Option<u32>, gather: Option<u32>| {
            let bands = vec![true];
            let light_samples =
                light_samples.map(|samples| LightSamples { samples, tolerance: 0.1, bands: bands.clone() });
            let gather = gather.map(|each| Gather { each, members: 100, bands });
            times.seconds_of(&Plan { judged: &judged, is_local: false, light_samples, gather })
        };
        assert!((plan(None, Some(100)) - 3.0).abs() < 1e-3, "20,000 rays at 0.1 ms, and the other work");
        assert!((plan(Some(16), None) - 161.0).abs() < 1e-2, "3,200 samples at 50 ms, and the other work");
        assert!((times.seconds_of_check(50, 64) - 0.64).abs() < 1e-4, "6,400 rays");
    }
}
