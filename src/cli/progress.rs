//! Progress display: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};

use crate::bake::{Observer, Progress};
use crate::clock::{self, Instant};
use crate::progress::Monitor;

use super::{interrupt, say};

/// Number of steps of the bar.
const STEPS: f32 = 1000.0;

/// Display of progress, which also passes on the user's request to stop.
pub struct Display {
    bar: ProgressBar,
    /// Last plain line printed; `None` if lines are disabled.
    line: Option<Mutex<Line>>,
    /// When the command began.
    began: Instant,
}

#[derive(Default)]
struct Line {
    stage: String,
    tenths: u32,
}

impl Display {
    /// Creates a bar if standard error is a terminal, else plain lines on standard output, or nothing with `json`.
    pub fn new(json: bool) -> Self {
        let bar = if std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{msg:<22} [{bar:40}] {percent:>3} % {prefix}")
                .map_or_else(|_| ProgressStyle::default_bar(), |style| style.progress_chars("=> "));
            ProgressBar::new(STEPS as u64).with_style(style)
        } else {
            ProgressBar::hidden()
        };
        let line = (bar.is_hidden() && !json).then(Mutex::default);
        Self { bar, line, began: clock::now() }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&self, stage: &str, fraction: f32, total: f32, seconds_left: Option<f32>) {
        self.bar.set_message(stage.to_owned());
        self.bar.set_position((total * STEPS) as u64);
        if let Some(seconds) = seconds_left {
            self.bar.set_prefix(format!("{} left", duration(seconds)));
        }
        let Some(line) = &self.line else { return };
        let Ok(mut line) = line.lock() else { return };
        let tenths = (fraction * 10.0) as u32;
        let is_new = line.stage != stage;
        // Print a line when a stage begins, and at each further tenth of a long stage.
        if is_new || (tenths > line.tenths && seconds_left.is_some_and(|seconds| seconds > 2.0)) {
            *line = Line { stage: stage.to_owned(), tenths };
            let left = seconds_left.map(|seconds| format!(", {} left", duration(seconds))).unwrap_or_default();
            say(format_args!("{stage}: {:.0} %{left}", fraction * 100.0));
        }
    }
}

impl Observer for Display {
    fn progress(&self, progress: Progress) {
        self.show(progress.stage.name(), progress.fraction, progress.total, progress.seconds_left);
    }

    fn began(&self) -> Option<Instant> {
        Some(self.began)
    }

    fn is_cancelled(&self) -> bool {
        interrupt::is_asked_to_stop()
    }
}

/// Display of work with a single stage.
pub struct NamedStage<'a> {
    pub display: &'a Display,
    pub name: &'static str,
}

impl Monitor for NamedStage<'_> {
    fn progress(&self, fraction: f32) {
        self.display.show(self.name, fraction, fraction, None);
    }

    fn is_cancelled(&self) -> bool {
        interrupt::is_asked_to_stop()
    }
}

/// Formats seconds for reading.
pub fn duration(seconds: f32) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_read_like_a_clock() {
        assert_eq!(duration(59.4), "59 s");
        assert_eq!(duration(61.0), "1 min 1 s");
        assert_eq!(duration(7_325.0), "2 h 2 min");
    }
}
