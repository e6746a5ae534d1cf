//! Reports of bakes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Stage;
use crate::input;
use crate::lightmap::Elements;
use crate::low_rank::{Precomputed, deviation};
use crate::radiosity::Solution;
use crate::relight::transport_errors;
use crate::scene::Scene;

/// Largest `report.json` that is read, bytes.
const LONGEST: u64 = 16 << 20;

/// Report of a bake: the content of `report.json` and the output of `radiosity bake --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(default)]
pub struct Report {
    /// Wall-clock seconds by stage, and `total`.
    pub seconds: BTreeMap<String, f64>,
    /// Number of elements that were solved for.
    pub elements: u64,
    /// Number of triangles in the bake.
    pub triangles: u64,
    /// Number of surfaces that own a lightmap rectangle.
    pub surfaces: u64,
    /// Number of lightmap pages.
    pub pages: u64,
    /// Number of traced rays.
    pub rays: u64,
    /// Iterations of the solver until convergence.
    pub iterations: u32,
    /// Share of the light's power that was left unshot. Zero if the number of bounces was limited.
    pub unshot: f32,
    /// Estimated relative error of the worst band of brightness; see [`Solution::error_estimate`].
    pub error_estimate: f32,
    /// Mean irradiance of the neighborhood in that worst band, lux.
    pub worst_irradiance: f32,
    /// Estimated relative error of the whole scene: the area-weighted RMS error of irradiance over its mean.
    pub error_of_mean: f32,
    /// Residual of the radiosity equation, relative to the first bounce. It is estimated by rays that the solver has
    /// not used, with their noise removed. Zero if the number of bounces was limited.
    pub residual: f32,
    /// One-sigma error bar of the residual.
    pub residual_standard_error: f32,
    /// Peak memory of the process, bytes; zero if the system does not tell.
    pub peak_memory_bytes: u64,
    /// Memory that the bake may use, MiB.
    pub memory_mib: u32,
    /// Predicted peak memory of the bake, bytes.
    pub estimated_memory_bytes: u64,
    /// Report of the precomputed transport for lights that change; `None` without one.
    pub relight: Option<RelightReport>,
    /// Device that traced the rays: `cpu` or `gpu`.
    pub backend: String,
    /// Warnings for the user: repairs, fallbacks, limits reached.
    pub warnings: Vec<String>,
    /// BLAKE3 digest of `report.json` with this field empty. It proves that a bake wrote the file.
    pub digest: String,
}

/// Report of the precomputed transport for lights that change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(default)]
pub struct RelightReport {
    /// Number of patches.
    pub patches: u64,
    /// Size of the file, bytes. The size in memory is about the same, and 12 bytes for each element.
    pub bytes: u64,
    /// Part of the form factors between elements and patches that is stored. All others are zero.
    pub density: f32,
    /// Relative difference between the relit light of the baked lamps and the bake's own indirect light: the
    /// area-weighted RMS over the mean.
    pub error: f32,
    /// Error of each light while it moves, for up to sixteen lights, the worst of each name. It is the area-weighted
    /// RMS difference of the indirect light over patches, relative to the RMS of that light.
    pub lights: BTreeMap<String, f32>,
}

impl RelightReport {
    /// Compares a transport with the bake that it comes from.
    pub fn new(precomputed: &Precomputed, scene: &Scene, elements: &Elements, solution: &Solution) -> Self {
        let mut lights = BTreeMap::new();
        for (name, error) in transport_errors(scene, &precomputed.contributions) {
            let worst: &mut f32 = lights.entry(name).or_default();
            *worst = worst.max(error);
        }
        Self {
            patches: precomputed.transport.patches.len() as u64,
            bytes: precomputed.bytes() as u64,
            density: precomputed.transport.views.density(),
            error: deviation(precomputed, elements, solution),
            lights,
        }
    }
}

impl Report {
    /// File name of the report in a bake's folder.
    pub(super) const FILE: &str = "report.json";

    /// Sets the digest and returns the text of the file.
    pub(super) fn sealed(&mut self) -> String {
        self.digest.clear();
        self.digest = digest_of(&self.text());
        self.text()
    }

    fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns true if a file is a report that a bake wrote.
    pub(super) fn is_at(path: &Path) -> bool {
        /// Fields that reports of all versions have.
        #[derive(Deserialize)]
        struct Signed {
            digest: String,
        }
        let Ok(text) = input::read_text(path, LONGEST) else { return false };
        let Ok(Signed { digest }) = serde_json::from_str(&text) else { return false };
        !digest.is_empty() && digest_of(&text.replacen(&digest, "", 1)) == digest
    }

    /// Adds the time of a stage. Times of a stage that runs in several parts add up.
    pub fn add_seconds(&mut self, stage: Stage, duration: Duration) {
        *self.seconds.entry(stage.name().to_owned()).or_default() += duration.as_secs_f64();
    }

    /// Adds the time of writing the files, which belongs to no stage.
    pub fn add_write_seconds(&mut self, duration: Duration) {
        self.add_seconds_after("write", duration);
    }

    /// Adds the time of drawing the preview, which belongs to no stage.
    pub(super) fn add_preview_seconds(&mut self, duration: Duration) {
        self.add_seconds_after("preview", duration);
    }

    fn add_seconds_after(&mut self, name: &str, duration: Duration) {
        for name in [name, "total"] {
            *self.seconds.entry(name.to_owned()).or_default() += duration.as_secs_f64();
        }
    }

    /// Sets the time of the whole bake.
    pub fn set_total_seconds(&mut self, duration: Duration) {
        self.seconds.insert("total".to_owned(), duration.as_secs_f64());
    }
}

fn digest_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_proves_that_a_bake_wrote_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(Report::FILE);
        let mut report = Report { unshot: 0.1, warnings: vec!["digest".to_owned()], ..Report::default() };
        let text = report.sealed();
        for (content, is_own) in [
            (text.clone(), true),
            (text.replace("0.1", "0.2"), false),
            (text.replace(&report.digest, ""), false),
            ("{}".to_owned(), false),
            ("three years of work".to_owned(), false),
        ] {
            std::fs::write(&path, &content).unwrap();
            assert_eq!(Report::is_at(&path), is_own, "{content}");
        }
        assert_eq!(report.sealed(), text);
        // JSON has no NaN and writes null.
        report.residual = f32::NAN;
        std::fs::write(&path, report.sealed()).unwrap();
        assert!(Report::is_at(&path));
    }

    #[test]
    fn the_json_has_the_keys_that_scripts_rely_on() {
        let mut report = Report::default();
        report.add_seconds(Stage::Solve, Duration::from_millis(250));
        report.add_seconds(Stage::Solve, Duration::from_millis(250));
        report.set_total_seconds(Duration::from_secs(2));
        let json = serde_json::to_value(&report).unwrap();
        for key in [
            "elements",
            "triangles",
            "surfaces",
            "pages",
            "rays",
            "iterations",
            "unshot",
            "error_estimate",
            "worst_irradiance",
            "error_of_mean",
            "residual",
            "residual_standard_error",
            "peak_memory_bytes",
            "memory_mib",
            "estimated_memory_bytes",
            "backend",
            "warnings",
        ] {
            assert!(json.get(key).is_some(), "{key}");
        }
        assert_eq!(json["seconds"]["solve"], 0.5);
        assert_eq!(json["seconds"]["total"], 2.0);
    }
}
