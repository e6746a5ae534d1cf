//! Report of a rendered picture, as text and JSON.

use std::collections::BTreeMap;

use glam::UVec2;
use serde::Serialize;

use super::progress::duration;
use super::ranks::ClusterOutcome;
use super::reference::Difference;
use super::say;
use crate::clock::{self, Instant};
use crate::pathtrace::{Film, LightPicture, Pixel};

#[derive(Default, Serialize)]
pub struct Outcome<'a> {
    pub width: u32,
    pub height: u32,
    pub samples: u32,
    pub paths: u64,
    pub paths_per_second: f64,
    /// Error estimate; `None` with one sample per pixel, which allows no comparison.
    pub error_estimate: Option<f32>,
    pub ev100: f32,
    pub seconds: BTreeMap<&'static str, f64>,
    pub peak_memory_bytes: u64,
    pub backend: &'static str,
    /// Time of each row, in seconds, which sum to that of all. On the processor, by paths from the eye.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_seconds: Option<Vec<f64>>,
    /// Counts of light paths, with integrators that follow them.
    #[serde(flatten)]
    pub light: Option<LightReport>,
    /// Difference from the reference.
    #[serde(flatten)]
    pub difference: Option<Difference>,
    /// Report of the ranks of `mpirun`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterOutcome<'a>>,
    pub warnings: &'a [String],
}

/// Counts of light paths.
#[derive(Serialize)]
pub struct LightReport {
    pub light_paths: u64,
    /// Number of paths from the camera that bring light; zero without a hybrid.
    eye_paths: u64,
    /// Mean number of path points that a pixel sees, `m` of Romano 2011.
    contributions_per_pixel: f32,
    /// Number of pixels by their number of contributions, if pixels count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    contributions: Option<Vec<Bin>>,
}

/// Bin of a histogram of pixels.
#[derive(Debug, PartialEq, Serialize)]
struct Bin {
    /// Minimum number of contributions.
    from: u32,
    /// Maximum number of contributions.
    to: u32,
    pixels: usize,
}

impl Outcome<'_> {
    /// Returns the part of the report that a picture and the time tell. A checkpoint held `samples_before` samples of all
    /// pixels, which count no time.
    pub fn of(film: &Film, light: Option<LightReport>, clock: Clock, samples_before: u64) -> Self {
        let UVec2 { x: width, y: height } = film.size();
        let of_samples = sum_of_samples(film) - samples_before;
        let paths = light.as_ref().map_or(of_samples, LightReport::paths);
        Self {
            width,
            height,
            samples: match &light {
                // Pixels of the published method have contributions in place of samples.
                Some(light) if light.contributions.is_some() => {
                    (light.light_paths / (u64::from(width) * u64::from(height)).max(1)) as u32
                }
                Some(_) => film.samples(),
                None => film.min_samples(),
            },
            paths,
            paths_per_second: paths as f64 / clock.seconds["render"].max(f64::MIN_POSITIVE),
            error_estimate: film.pixels().iter().any(|pixel| pixel.samples > 1).then(|| film.relative_error()),
            seconds: clock.with_total(),
            light,
            ..Self::default()
        }
    }

    /// Prints the report as lines of text.
    pub fn say(&self) {
        let Self { width, height, ev100, .. } = self;
        let noise = match self.error_estimate {
            Some(error) => format!("noise at most {:.1} %", error * 100.0),
            None => "noise unknown".to_owned(),
        };
        let counted = self.light.as_ref().filter(|light| light.contributions.is_some());
        let of_what = match counted {
            Some(light) => format!("by {} light paths", light.light_paths),
            None => format!("of {} samples", self.samples),
        };
        say(format_args!(
            "{width} x {height} pixels {of_what} in {}, {:.2} million paths a second, {noise}, EV {ev100:.1}",
            duration(self.seconds["render"] as f32),
            self.paths_per_second / 1e6,
        ));
        if let Some(light) = &self.light {
            light.say();
        }
        if let Some(difference) = &self.difference {
            difference.say();
        }
        self.cluster.iter().for_each(ClusterOutcome::say);
    }
}

impl LightReport {
    /// Returns the counts of a picture. Pixels of the published method count their contributions as samples.
    pub fn of(picture: &LightPicture, is_hybrid: bool, is_published: bool) -> Self {
        Self {
            light_paths: picture.light_paths,
            eye_paths: if is_hybrid { picture.eye_paths } else { 0 },
            contributions_per_pixel: picture.mean_contributions(),
            contributions: is_published.then(|| histogram(picture.film.pixels())),
        }
    }

    fn paths(&self) -> u64 {
        self.light_paths + self.eye_paths
    }

    /// Returns the warning that a picture ended before the tolerance.
    pub fn shortfall(&self, tolerance: Option<f32>) -> Option<String> {
        let found = self.contributions_per_pixel;
        let tolerance = tolerance.filter(|tolerance| tolerance * found < 1.0)?;
        let wanted = 1.0 / tolerance;
        Some(format!(
            "a pixel saw {found:.1} path points on average, fewer than the {wanted:.1} of --tolerance {tolerance}: \
             allow more --samples or --time"
        ))
    }

    fn say(&self) {
        let Self { light_paths, contributions_per_pixel, .. } = self;
        say(format_args!("{light_paths} light paths, {contributions_per_pixel:.2} contributions a pixel"));
        for Bin { from, to, pixels } in self.contributions.iter().flatten() {
            let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
            say(format_args!("{range:>17} contributions: {pixels} pixels"));
        }
    }
}

/// Returns the number of samples of all pixels.
pub fn sum_of_samples(film: &Film) -> u64 {
    film.pixels().iter().map(|pixel| u64::from(pixel.samples)).sum()
}

/// Returns the number of pixels with no contribution, one, two to three, four to seven, and so on.
fn histogram(pixels: &[Pixel]) -> Vec<Bin> {
    let bin_of = |samples: u32| samples.checked_ilog2().map_or(0, |power| power as usize + 1);
    let mut counts = vec![0; pixels.iter().map(|pixel| bin_of(pixel.samples) + 1).max().unwrap_or_default()];
    pixels.iter().for_each(|pixel| counts[bin_of(pixel.samples)] += 1);
    let bin = |(index, pixels): (usize, usize)| {
        let end = 1u64 << index;
        Bin { from: (end / 2) as u32, to: (end - 1) as u32, pixels }
    };
    counts.into_iter().enumerate().map(bin).collect()
}

/// Returns seconds of threads as seconds of the whole machine, which sum to `total`, in microseconds' precision.
pub fn scaled_to(seconds: Vec<f64>, total: f64) -> Vec<f64> {
    let scale = total / seconds.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    seconds.into_iter().map(|seconds| (seconds * scale * 1e6).round() / 1e6).collect()
}

/// Seconds of each stage.
pub struct Clock {
    started: Instant,
    lap: Instant,
    pub seconds: BTreeMap<&'static str, f64>,
}

impl Default for Clock {
    fn default() -> Self {
        let now = clock::now();
        Self { started: now, lap: now, seconds: BTreeMap::new() }
    }
}

impl Clock {
    pub fn lap(&mut self, stage: &'static str) {
        self.seconds.insert(stage, self.lap.elapsed().as_secs_f64());
        self.lap = clock::now();
    }

    fn with_total(mut self) -> BTreeMap<&'static str, f64> {
        self.seconds.insert("total", self.started.elapsed().as_secs_f64());
        self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_has_bins_of_powers_of_two() {
        let pixels = [0, 0, 1, 2, 3, 3, 9].map(|samples| Pixel { samples, ..Pixel::default() });
        let expected = [(0, 0, 2), (1, 1, 1), (2, 3, 3), (4, 7, 0), (8, 15, 1)];
        assert_eq!(histogram(&pixels), expected.map(|(from, to, pixels)| Bin { from, to, pixels }));
        let all = histogram(&[Pixel { samples: u32::MAX, ..Pixel::default() }]);
        assert_eq!(all.last(), Some(&Bin { from: 1 << 31, to: u32::MAX, pixels: 1 }));
    }
}
