//! Hybrid rendering: passes of light paths alternate with passes of camera paths.

use std::convert::Infallible;

use glam::UVec2;

use super::render::{MIN_SAMPLES_FOR_ERROR as ERROR_STEP, RenderSettings, add_pass};
use super::{Film, LightTracer, View};
use crate::clock;
use crate::progress::Monitor;

/// Maximum ratio of the two pass counts. Edges need some passes even where little changes.
const MAX_LEAD: u32 = 4;

/// Picture that accumulates two kinds of passes.
pub(crate) trait TwoKinds {
    /// Error that prevents a picture.
    type Fault;

    /// Returns the number of passes of a kind.
    fn passes(&self, kind: PassKind) -> u32;

    /// Adds a pass and returns the mean change of pixel luminance, in cd/m2, over the pixels lit by this kind.
    fn add(&mut self, kind: PassKind) -> Result<f32, Self::Fault>;

    /// Returns the number of path vertices that pixels see.
    fn contributions(&self) -> u64;

    /// Returns the number of walks through the tree that ended at a step limit.
    fn unfinished(&self) -> Result<u64, Self::Fault>;

    /// Returns the number of pixels.
    fn pixels(&self) -> u64;

    /// Returns the sum of both kinds.
    fn sum(&self) -> Result<Film, Self::Fault>;
}

/// Picture by light paths.
#[derive(Clone, Debug, PartialEq)]
pub struct LightPicture {
    /// Pixels.
    pub film: Film,
    /// Number of paths from lights.
    pub light_paths: u64,
    /// Number of paths from the camera.
    pub eye_paths: u64,
    /// Number of path vertices that pixels see. A vertex counts once, whatever the pixel filter.
    pub contributions: u64,
    /// Number of walks through the tree that ended at a step limit, so that the picture may be wrong. Only graphics cards
    /// have such a limit.
    pub unfinished: u64,
}

impl LightPicture {
    /// Returns the mean number of contributions per pixel, `m` of Romano 2011, equation 3.4.8.
    pub fn mean_contributions(&self) -> f32 {
        mean_of(self.contributions, self.film.pixels().len() as u64)
    }
}

fn mean_of(contributions: u64, pixels: u64) -> f32 {
    (contributions as f64 / pixels.max(1) as f64) as f32
}

/// Kind of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassKind {
    /// Pass of light paths.
    Light,
    /// Pass of camera paths.
    Eye,
}

impl PassKind {
    fn other(self) -> Self {
        match self {
            Self::Light => Self::Eye,
            Self::Eye => Self::Light,
        }
    }
}

/// Renders a view by alternating passes of light paths and camera paths. Stops when both kinds have the requested
/// number of passes, or when the settings or the monitor end rendering.
///
/// A turn ends when a pass changes its pixels by no more than the other kind's last turn did. Both kinds therefore
/// converge at the same pace. Romano 2011, algorithm 4.4, uses the maximum change of a pixel instead of the mean, which
/// a single outlier would dominate. A turn also ends when its kind has twice as many passes as before. Otherwise a pass
/// without any change could make the other kind wait forever.
pub fn render_from_lights(
    tracer: &LightTracer,
    view: &View,
    settings: &RenderSettings,
    monitor: &dyn Monitor,
) -> LightPicture {
    let (light, eye) = (Film::new(view.size), Film::new(view.size));
    let mut picture = Picture { tracer, view, seed: settings.seed, light, eye, contributions: 0 };
    let Ok(picture) = render_passes(&mut picture, settings, monitor);
    picture
}

/// Alternates passes of any [`TwoKinds`] picture; see [`render_from_lights`].
pub(crate) fn render_passes<P: TwoKinds>(
    picture: &mut P,
    settings: &RenderSettings,
    monitor: &dyn Monitor,
) -> Result<LightPicture, P::Fault> {
    let finish = |picture: &P| {
        let paths_of = |kind| u64::from(picture.passes(kind)) * picture.pixels();
        Ok(LightPicture {
            film: picture.sum()?,
            light_paths: paths_of(PassKind::Light),
            eye_paths: paths_of(PassKind::Eye),
            contributions: picture.contributions(),
            unfinished: picture.unfinished()?,
        })
    };
    let started = clock::now();
    let is_late = || settings.fraction_done(0, started.elapsed()) >= 1.0;
    let mut judged = 0;
    let mut smallest_change = f32::INFINITY;
    let mut kind = PassKind::Light;
    loop {
        let mut change = 0.0;
        let (before, max_passes) = (picture.passes(kind), settings.samples);
        while picture.passes(kind) < (2 * before).max(1).min(max_passes) {
            if monitor.is_cancelled() {
                return finish(picture);
            }
            let done = picture.passes(PassKind::Light).midpoint(picture.passes(PassKind::Eye));
            monitor.progress(settings.fraction_done(done, started.elapsed()).min(1.0));
            change = picture.add(kind)?;
            let is_behind = picture.passes(kind) < picture.passes(kind.other()) / MAX_LEAD;
            if (change <= smallest_change && !is_behind) || is_late() {
                break;
            }
        }
        if change > 0.0 {
            smallest_change = smallest_change.min(change);
        }
        let min_passes = picture.passes(PassKind::Light).min(picture.passes(PassKind::Eye));
        // The number of passes of one kind in a row varies, so the error is tested whenever enough new passes have
        // accumulated.
        let steps = min_passes - min_passes % ERROR_STEP;
        let error = settings.error_to_judge(steps).filter(|_| steps > judged);
        judged = steps;
        let mut is_enough = min_passes == max_passes
            || is_late()
            || settings.is_tolerated(mean_of(picture.contributions(), picture.pixels()));
        if let Some(error) = error {
            is_enough |= picture.sum()?.relative_error() <= error;
        }
        if min_passes > 0 && is_enough {
            return finish(picture);
        }
        kind = kind.other();
    }
}

struct Picture<'a> {
    tracer: &'a LightTracer<'a>,
    view: &'a View,
    seed: u32,
    light: Film,
    eye: Film,
    /// Number of path vertices that pixels see.
    contributions: u64,
}

impl TwoKinds for Picture<'_> {
    type Fault = Infallible;

    fn passes(&self, kind: PassKind) -> u32 {
        match kind {
            PassKind::Light => self.light.samples(),
            PassKind::Eye => self.eye.samples(),
        }
    }

    fn add(&mut self, kind: PassKind) -> Result<f32, Infallible> {
        Ok(match kind {
            PassKind::Light => self.add_light(),
            PassKind::Eye => self.add_eye(),
        })
    }

    fn contributions(&self) -> u64 {
        self.contributions
    }

    fn unfinished(&self) -> Result<u64, Infallible> {
        Ok(0)
    }

    fn pixels(&self) -> u64 {
        self.light.pixels().len() as u64
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
        add_pass(self.tracer, self.view, UVec2::ZERO, &mut self.eye, before.samples(), self.seed);
        self.contributions += self.eye.brighter_than(&before);
        self.eye.mean_change(&before)
    }
}
