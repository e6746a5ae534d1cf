//! Pictures by light paths and paths from the eye in turn.

use std::time::Instant;

use super::render::{LEAST_SAMPLES_FOR_ERROR as ERROR_STEP, RenderSettings, add_pass};
use super::{Film, LightTracer, View};
use crate::progress::Monitor;

/// How many times as many passes one kind may have: where little changes, edges still need some.
const MOST_AHEAD: u32 = 4;

/// Draws what a camera sees by passes of light paths and passes of rays from the eye, until both have the wished number of
/// passes, or the settings or the monitor say that it is enough.
///
/// The two kinds take turns. A turn lasts until a pass changes the pixels that it brings light to by no more than the last
/// turn of the other kind did at its end, so that both are equally calm at any time (Romano 2011, algorithm 4.4, where it is
/// the pixel that changes most which counts: one speck would decide), or until it has doubled the passes of its kind: then
/// a pass that happens to change nothing cannot make the other kind wait forever.
pub fn render_from_lights(tracer: &LightTracer, view: &View, settings: &RenderSettings, monitor: &dyn Monitor) -> Film {
    let started = Instant::now();
    let mut picture = Picture { light: Film::new(view.size), eye: Film::new(view.size), contributions: 0 };
    let is_late = || settings.fraction_done(0, started.elapsed()) >= 1.0;
    let mut judged = 0;
    let mut calm = f32::INFINITY;
    let mut turn = Turn::Light;
    loop {
        let mut change = 0.0;
        let (before, most) = (picture.passes(turn), settings.samples);
        while picture.passes(turn) < (2 * before).max(1).min(most) {
            if monitor.is_cancelled() {
                return picture.sum();
            }
            let done = picture.passes(Turn::Light).midpoint(picture.passes(Turn::Eye));
            monitor.progress(settings.fraction_done(done, started.elapsed()).min(1.0));
            change = match turn {
                Turn::Light => picture.add_light(tracer, view, settings.seed),
                Turn::Eye => picture.add_eye(tracer, view, settings.seed),
            };
            let is_behind = picture.passes(turn) < picture.passes(turn.other()) / MOST_AHEAD;
            if (change <= calm && !is_behind) || is_late() {
                break;
            }
        }
        if change > 0.0 {
            calm = calm.min(change);
        }
        let fewest = picture.light.samples().min(picture.eye.samples());
        // Turns are of any length, so the error is judged when there are as many new passes as it takes.
        let steps = fewest - fewest % ERROR_STEP;
        let error = settings.error_to_judge(steps).filter(|_| steps > judged);
        judged = steps;
        let is_enough = fewest == most
            || is_late()
            || settings.is_tolerated(picture.mean_contributions())
            || error.is_some_and(|error| picture.sum().relative_error() <= error);
        if fewest > 0 && is_enough {
            return picture.sum();
        }
        turn = turn.other();
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Turn {
    Light,
    Eye,
}

impl Turn {
    fn other(self) -> Self {
        match self {
            Self::Light => Self::Eye,
            Self::Eye => Self::Light,
        }
    }
}

struct Picture {
    light: Film,
    eye: Film,
    /// How often a path brought a pixel something.
    contributions: u64,
}

impl Picture {
    fn passes(&self, turn: Turn) -> u32 {
        match turn {
            Turn::Light => self.light.samples(),
            Turn::Eye => self.eye.samples(),
        }
    }

    /// Adds a pass and says by how much it changed the picture.
    fn add_light(&mut self, tracer: &LightTracer, view: &View, seed: u32) -> f32 {
        let before = self.light.clone();
        let pass = tracer.light_pass(view, self.light.samples(), seed);
        self.contributions += pass.contributions;
        self.light.add(&pass.radiance);
        self.light.mean_change(&before)
    }

    fn add_eye(&mut self, tracer: &LightTracer, view: &View, seed: u32) -> f32 {
        let before = self.eye.clone();
        let sample = self.eye.samples();
        add_pass(tracer, view, &mut self.eye, sample, seed);
        self.contributions += self.eye.brighter_than(&before);
        self.eye.mean_change(&before)
    }

    fn mean_contributions(&self) -> f32 {
        (self.contributions as f64 / self.light.pixels().len().max(1) as f64) as f32
    }

    fn sum(&self) -> Film {
        self.eye.plus(&self.light)
    }
}
