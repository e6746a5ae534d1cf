//! Estimate of the GPU's speed, for frame budgets.

use crate::pathtrace::PassKind;

/// Cost of one frame's tracing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Number of paths traced, indexed by [`PassKind`].
    pub pixels: [f32; 2],
    pub time: Time,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Time {
    /// Milliseconds by GPU timestamps.
    Gpu(f32),
    /// Milliseconds until a poll found the work done, for devices without timestamps.
    Waited {
        milliseconds: f32,
        /// True if the first poll found it done, so that it may have been done much earlier.
        at_first_poll: bool,
    },
}

/// Running estimate of the GPU's speed.
#[derive(Clone, Copy, Debug)]
pub struct FrameBudget {
    /// Speed of each kind of paths, indexed by [`PassKind`].
    pixels_per_millisecond: [f32; 2],
    /// True for kinds with a measured speed.
    is_measured: [bool; 2],
    milliseconds: f32,
}

impl Default for FrameBudget {
    fn default() -> Self {
        // Speed of a software adapter on two cores. A real GPU is measured within a few frames.
        Self { pixels_per_millisecond: [100.0; 2], is_measured: [false; 2], milliseconds: 0.0 }
    }
}

impl FrameBudget {
    /// Returns the number of camera paths that fit into a time.
    pub fn pixels_in(&self, milliseconds: f32) -> f32 {
        self.pixels_per_millisecond[PassKind::Eye as usize] * milliseconds.clamp(0.0, MAX_MILLISECONDS)
    }

    /// Returns the cost of a light path relative to that of a camera path.
    pub fn light_cost(&self) -> f32 {
        let [light, eye] = self.pixels_per_millisecond;
        eye / light
    }

    /// Returns the smoothed GPU time per frame in milliseconds, or zero if unknown.
    pub fn milliseconds(&self) -> f32 {
        self.milliseconds
    }

    /// Updates the estimate from a frame with a budget of `budget` milliseconds.
    ///
    /// Times of frames with both kinds of paths scale both speeds. Their ratio is learned in frames with one kind.
    pub fn learn(&mut self, measurement: &Measurement, budget: f32) {
        let Measurement { pixels, time } = *measurement;
        let estimates = pixels.iter().zip(self.pixels_per_millisecond).map(|(pixels, speed)| pixels / speed);
        let estimated: f32 = estimates.sum();
        if let Time::Gpu(milliseconds) = time {
            let blend = if self.is_measured.contains(&true) { BLEND } else { 1.0 };
            self.milliseconds += (milliseconds - self.milliseconds) * blend;
        }
        for kind in [PassKind::Light as usize, PassKind::Eye as usize].into_iter().filter(|&kind| pixels[kind] > 0.0) {
            let gain = match time {
                Time::Gpu(milliseconds) => {
                    let gain = (estimated / milliseconds.max(1e-3)).min(MAX_GAIN);
                    // A frame far over its budget counts fully, so that no more follow: a new scene may be much slower.
                    let is_late = milliseconds > SLACK * budget.max(1.0);
                    let blend = if self.is_measured[kind] && !is_late { BLEND } else { 1.0 };
                    self.is_measured[kind] = true;
                    1.0 + (gain - 1.0) * blend
                }
                Time::Waited { milliseconds, .. } if milliseconds <= budget => 1.25,
                Time::Waited { milliseconds, at_first_poll: true } if milliseconds <= SLACK * budget + USUAL_FRAME => {
                    1.1
                }
                Time::Waited { milliseconds, .. } => (budget / milliseconds.max(1e-3)).clamp(0.5, 0.9),
            };
            let speed = self.pixels_per_millisecond[kind] * gain;
            if speed.is_finite() {
                self.pixels_per_millisecond[kind] = speed.clamp(SLOWEST, FASTEST);
            }
        }
    }

    /// Returns the paths per second of samples of some kinds of paths, or zero if unknown.
    pub fn paths_per_second(&self, kinds: &[PassKind]) -> f32 {
        if !kinds.iter().all(|&kind| self.is_measured[kind as usize]) {
            return 0.0;
        }
        let milliseconds: f32 = kinds.iter().map(|&kind| 1.0 / self.pixels_per_millisecond[kind as usize]).sum();
        kinds.len() as f32 * 1000.0 / milliseconds
    }
}

/// Limits for work that the first poll found done: a factor on the budget, and milliseconds. Up to them, the work is
/// assumed to have finished earlier. Beyond them, the frame itself is assumed to have waited for the GPU.
const SLACK: f32 = 2.0;
const USUAL_FRAME: f32 = 20.0;
/// Maximum gain of the estimate per frame. A clock that stood still must not cause an endless frame.
const MAX_GAIN: f32 = 4.0;
/// Weight of a new measurement in the estimate.
const BLEND: f32 = 0.25;
/// Maximum budget of a frame, in milliseconds.
const MAX_MILLISECONDS: f32 = 1000.0;
/// Bounds of the estimate, in pixels per millisecond. A software adapter on two busy cores is faster than the lower
/// one.
const SLOWEST: f32 = 10.0;
const FASTEST: f32 = 1e8;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a measurement of camera paths alone.
    fn of_eye(pixels: f32, time: Time) -> Measurement {
        Measurement { pixels: [0.0, pixels], time }
    }

    #[test]
    fn frames_come_to_fill_their_budget_by_the_gpus_clock() {
        // GPU with a fixed cost of 0.1 ms and 10,000 pixels per millisecond.
        let gpu = |pixels: f32| 0.1 + pixels / 10_000.0;
        let mut frame_budget = FrameBudget::default();
        for _ in 0..40 {
            let pixels = frame_budget.pixels_in(8.0);
            frame_budget.learn(&of_eye(pixels, Time::Gpu(gpu(pixels))), 8.0);
        }
        let taken = gpu(frame_budget.pixels_in(8.0));
        assert!((taken - 8.0).abs() < 0.1, "{taken} ms");
    }

    #[test]
    fn a_clock_that_stood_still_for_a_frame_makes_the_next_no_more_than_four_times_as_long() {
        let mut frame_budget = FrameBudget::default();
        let before = frame_budget.pixels_in(8.0);
        frame_budget.learn(&of_eye(before, Time::Gpu(0.0)), 8.0);
        assert_eq!(frame_budget.pixels_in(8.0), 4.0 * before);
    }

    #[test]
    fn one_late_frame_is_enough_to_learn_that_a_scene_has_become_slow() {
        let mut frame_budget = FrameBudget::default();
        for _ in 0..20 {
            let pixels = frame_budget.pixels_in(8.0);
            frame_budget.learn(&of_eye(pixels, Time::Gpu(pixels / 10_000.0)), 8.0);
        }
        // Thirty times slower than before.
        let slow = |pixels: f32| pixels / 333.0;
        let pixels = frame_budget.pixels_in(8.0);
        assert!(slow(pixels) > 200.0);
        frame_budget.learn(&of_eye(pixels, Time::Gpu(slow(pixels))), 8.0);
        let taken = slow(frame_budget.pixels_in(8.0));
        assert!((taken - 8.0).abs() < 0.1, "{taken} ms");
    }

    #[test]
    fn without_a_clock_frames_stay_near_their_budget_and_never_stand_still() {
        // The game draws and polls every millisecond.
        let gpu = |pixels: f32| pixels / 10_000.0;
        let mut frame_budget = FrameBudget::default();
        let mut longest = 0.0_f32;
        for frame in 0..200 {
            let pixels = frame_budget.pixels_in(8.0);
            let milliseconds = gpu(pixels).ceil().max(1.0);
            let time = Time::Waited { milliseconds, at_first_poll: milliseconds <= 1.0 };
            frame_budget.learn(&of_eye(pixels, time), 8.0);
            if frame > 100 {
                longest = longest.max(gpu(pixels));
                assert!(gpu(pixels) > 4.0, "{} ms", gpu(pixels));
            }
        }
        assert!(longest < 12.0, "{longest} ms");
    }

    #[test]
    fn without_a_clock_a_game_that_waits_for_the_gpu_is_not_slowed_down_without_end() {
        let gpu = |pixels: f32| pixels / 50.0;
        let mut frame_budget = FrameBudget::default();
        for _ in 0..500 {
            let pixels = frame_budget.pixels_in(8.0);
            let time = Time::Waited { milliseconds: gpu(pixels), at_first_poll: true };
            frame_budget.learn(&of_eye(pixels, time), 8.0);
            assert!(gpu(pixels) < 45.0, "{} ms", gpu(pixels));
        }
    }

    #[test]
    fn nonsense_teaches_nothing() {
        let mut frame_budget = FrameBudget::default();
        frame_budget.learn(&of_eye(f32::NAN, Time::Gpu(0.0)), 8.0);
        assert!(frame_budget.pixels_in(8.0).is_finite() && frame_budget.pixels_in(8.0) > 0.0);
        assert_eq!(frame_budget.pixels_in(f32::NAN).max(0.0), 0.0);
    }
}
