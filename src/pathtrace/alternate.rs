//! Pictures by light paths and paths from the eye in turn.

use std::convert::Infallible;
use std::time::Instant;

use super::render::{LEAST_SAMPLES_FOR_ERROR as ERROR_STEP, RenderSettings, add_pass};
use super::{Film, LightTracer, View};
use crate::progress::Monitor;

/// How many times as many passes one kind may have: where little changes, edges still need some.
const MOST_AHEAD: u32 = 4;

/// A picture that two kinds of passes add to.
pub(crate) trait TwoKinds {
    /// Why there may be no picture.
    type Fault;

    /// How many passes of a kind there are.
    fn passes(&self, turn: Turn) -> u32;

    /// Adds a pass and says by how much it changed the pixels that have got light of this kind: the mean change of their
    /// luminance, cd/m2.
    fn add(&mut self, turn: Turn) -> Result<f32, Self::Fault>;

    /// How often a path brought a pixel something, on average over the pixels.
    fn mean_contributions(&self) -> f32;

    /// What both kinds show together.
    fn sum(&self) -> Result<Film, Self::Fault>;
}

/// The kinds of passes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Turn {
    /// Of light paths.
    Light,
    /// Of rays from the eye.
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

/// Draws what a camera sees by passes of light paths and passes of rays from the eye, until both have the wished number of
/// passes, or the settings or the monitor say that it is enough.
///
/// The two kinds take turns. A turn lasts until a pass changes the pixels that it brings light to by no more than the last
/// turn of the other kind did at its end, so that both are equally calm at any time (Romano 2011, algorithm 4.4, where it is
/// the pixel that changes most which counts: one speck would decide), or until it has doubled the passes of its kind: then
/// a pass that happens to change nothing cannot make the other kind wait forever.
pub fn render_from_lights(tracer: &LightTracer, view: &View, settings: &RenderSettings, monitor: &dyn Monitor) -> Film {
    let (light, eye) = (Film::new(view.size), Film::new(view.size));
    let mut picture = Picture { tracer, view, seed: settings.seed, light, eye, contributions: 0 };
    let Ok(film) = take_turns(&mut picture, settings, monitor);
    film
}

/// The same, whoever adds the passes.
pub(crate) fn take_turns<P: TwoKinds>(
    picture: &mut P,
    settings: &RenderSettings,
    monitor: &dyn Monitor,
) -> Result<Film, P::Fault> {
    let started = Instant::now();
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
            change = picture.add(turn)?;
            let is_behind = picture.passes(turn) < picture.passes(turn.other()) / MOST_AHEAD;
            if (change <= calm && !is_behind) || is_late() {
                break;
            }
        }
        if change > 0.0 {
            calm = calm.min(change);
        }
        let fewest = picture.passes(Turn::Light).min(picture.passes(Turn::Eye));
        // Turns are of any length, so the error is judged when there are as many new passes as it takes.
        let steps = fewest - fewest % ERROR_STEP;
        let error = settings.error_to_judge(steps).filter(|_| steps > judged);
        judged = steps;
        let mut is_enough = fewest == most || is_late() || settings.is_tolerated(picture.mean_contributions());
        if let Some(error) = error {
            is_enough |= picture.sum()?.relative_error() <= error;
        }
        if fewest > 0 && is_enough {
            return picture.sum();
        }
        turn = turn.other();
    }
}

struct Picture<'a> {
    tracer: &'a LightTracer<'a>,
    view: &'a View,
    seed: u32,
    light: Film,
    eye: Film,
    /// How often a path brought a pixel something.
    contributions: u64,
}

impl TwoKinds for Picture<'_> {
    type Fault = Infallible;

    fn passes(&self, turn: Turn) -> u32 {
        match turn {
            Turn::Light => self.light.samples(),
            Turn::Eye => self.eye.samples(),
        }
    }

    fn add(&mut self, turn: Turn) -> Result<f32, Infallible> {
        Ok(match turn {
            Turn::Light => self.add_light(),
            Turn::Eye => self.add_eye(),
        })
    }

    fn mean_contributions(&self) -> f32 {
        (self.contributions as f64 / self.light.pixels().len().max(1) as f64) as f32
    }

    fn sum(&self) -> Result<Film, Infallible> {
        Ok(self.eye.plus(&self.light))
    }
}

impl Picture<'_> {
    fn add_light(&mut self) -> f32 {
        let before = self.light.clone();
        let pass = self.tracer.light_pass(self.view, self.light.samples(), self.seed);
        self.contributions += pass.contributions;
        self.light.add(&pass.radiance);
        self.light.mean_change(&before)
    }

    fn add_eye(&mut self) -> f32 {
        let before = self.eye.clone();
        add_pass(self.tracer, self.view, &mut self.eye, before.samples(), self.seed);
        self.contributions += self.eye.brighter_than(&before);
        self.eye.mean_change(&before)
    }
}
