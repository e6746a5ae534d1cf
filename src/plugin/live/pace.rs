//! How many pixels a millisecond is worth.

/// What a frame's tracing took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Paths that were traced.
    pub pixels: f32,
    pub time: Time,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Time {
    /// Milliseconds by the GPU's own clock.
    Gpu(f32),
    /// Milliseconds until someone looked and found it done: all that devices without a clock tell.
    Waited {
        milliseconds: f32,
        /// It was done when the next frame began, and may have been for long.
        at_first_look: bool,
    },
}

/// Learns how fast the GPU is.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pixels_per_millisecond: f32,
    milliseconds: f32,
    is_measured: bool,
}

impl Default for Pace {
    fn default() -> Self {
        // What two cores trace that play the GPU; a graphics card is known for what it is a few frames later.
        Self { pixels_per_millisecond: 100.0, milliseconds: 0.0, is_measured: false }
    }
}

impl Pace {
    /// Pixels that fit into a time.
    pub fn pixels_in(&self, milliseconds: f32) -> f32 {
        self.pixels_per_millisecond * milliseconds.clamp(0.0, MOST_MILLISECONDS)
    }

    /// GPU time of the last frames, where it is known.
    pub fn milliseconds(&self) -> f32 {
        self.milliseconds
    }

    /// Learns from a frame that was given `budget` milliseconds.
    pub fn learn(&mut self, measurement: &Measurement, budget: f32) {
        let Measurement { pixels, time } = *measurement;
        let rate = match time {
            Time::Gpu(milliseconds) => {
                self.milliseconds += (milliseconds - self.milliseconds) * if self.is_measured { BLEND } else { 1.0 };
                let rate = (pixels / milliseconds.max(1e-3)).min(self.pixels_per_millisecond * MOST_GAIN);
                // A frame that is far too long must not be followed by others: another scene may be much slower.
                let is_late = milliseconds > SLACK * budget.max(1.0);
                let blend = if self.is_measured && !is_late { BLEND } else { 1.0 };
                self.is_measured = true;
                self.pixels_per_millisecond + (rate - self.pixels_per_millisecond) * blend
            }
            Time::Waited { milliseconds, .. } if milliseconds <= budget => self.pixels_per_millisecond * 1.25,
            Time::Waited { milliseconds, at_first_look: true } if milliseconds <= SLACK * budget + USUAL_FRAME => {
                self.pixels_per_millisecond * 1.1
            }
            Time::Waited { milliseconds, .. } => {
                self.pixels_per_millisecond * (budget / milliseconds.max(1e-3)).clamp(0.5, 0.9)
            }
        };
        if rate.is_finite() {
            self.pixels_per_millisecond = rate.clamp(SLOWEST, FASTEST);
        }
    }

    /// Paths in a second.
    pub fn paths_per_second(&self) -> f32 {
        if self.is_measured { self.pixels_per_millisecond * 1000.0 } else { 0.0 }
    }
}

/// What was done when the next frame began may have been done for long, if frames come as slowly as games draw them; or
/// the frame came so late because it waited for the GPU. Budgets, and milliseconds, up to which the former is assumed.
const SLACK: f32 = 2.0;
const USUAL_FRAME: f32 = 20.0;
/// How much faster than thought a GPU is believed to be at once: a clock that stood still must not bring a frame that
/// never ends.
const MOST_GAIN: f32 = 4.0;
/// How much of what is newly measured is believed.
const BLEND: f32 = 0.25;
/// Longest frame that a budget may ask for.
const MOST_MILLISECONDS: f32 = 1000.0;
/// Two cores that play the GPU, busy with other things as well, are faster.
const SLOWEST: f32 = 10.0;
const FASTEST: f32 = 1e8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_to_fill_their_budget_by_the_gpus_clock() {
        // A GPU that needs a tenth of a millisecond to begin and traces ten thousand pixels in each.
        let gpu = |pixels: f32| 0.1 + pixels / 10_000.0;
        let mut pace = Pace::default();
        for _ in 0..40 {
            let pixels = pace.pixels_in(8.0);
            pace.learn(&Measurement { pixels, time: Time::Gpu(gpu(pixels)) }, 8.0);
        }
        let taken = gpu(pace.pixels_in(8.0));
        assert!((taken - 8.0).abs() < 0.1, "{taken} ms");
    }

    #[test]
    fn a_clock_that_stood_still_for_a_frame_makes_the_next_no_more_than_four_times_as_long() {
        let mut pace = Pace::default();
        let before = pace.pixels_in(8.0);
        pace.learn(&Measurement { pixels: before, time: Time::Gpu(0.0) }, 8.0);
        assert_eq!(pace.pixels_in(8.0), 4.0 * before);
    }

    #[test]
    fn one_late_frame_is_enough_to_learn_that_a_scene_has_become_slow() {
        let mut pace = Pace::default();
        for _ in 0..20 {
            let pixels = pace.pixels_in(8.0);
            pace.learn(&Measurement { pixels, time: Time::Gpu(pixels / 10_000.0) }, 8.0);
        }
        // Thirty times slower than before.
        let slow = |pixels: f32| pixels / 333.0;
        let pixels = pace.pixels_in(8.0);
        assert!(slow(pixels) > 200.0);
        pace.learn(&Measurement { pixels, time: Time::Gpu(slow(pixels)) }, 8.0);
        let taken = slow(pace.pixels_in(8.0));
        assert!((taken - 8.0).abs() < 0.1, "{taken} ms");
    }

    #[test]
    fn without_a_clock_frames_stay_near_their_budget_and_never_stand_still() {
        // The game draws a frame every millisecond, and looks then.
        let gpu = |pixels: f32| pixels / 10_000.0;
        let mut pace = Pace::default();
        let mut longest = 0.0_f32;
        for frame in 0..200 {
            let pixels = pace.pixels_in(8.0);
            let milliseconds = gpu(pixels).ceil().max(1.0);
            let time = Time::Waited { milliseconds, at_first_look: milliseconds <= 1.0 };
            pace.learn(&Measurement { pixels, time }, 8.0);
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
        let mut pace = Pace::default();
        for _ in 0..500 {
            let pixels = pace.pixels_in(8.0);
            let time = Time::Waited { milliseconds: gpu(pixels), at_first_look: true };
            pace.learn(&Measurement { pixels, time }, 8.0);
            assert!(gpu(pixels) < 45.0, "{} ms", gpu(pixels));
        }
    }

    #[test]
    fn nonsense_teaches_nothing() {
        let mut pace = Pace::default();
        pace.learn(&Measurement { pixels: f32::NAN, time: Time::Gpu(0.0) }, 8.0);
        assert!(pace.pixels_in(8.0).is_finite() && pace.pixels_in(8.0) > 0.0);
        assert_eq!(pace.pixels_in(f32::NAN).max(0.0), 0.0);
    }
}
