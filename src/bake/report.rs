//! What a bake says about itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Stage;
use crate::input;
use crate::lightmap::Elements;
use crate::radiosity::Solution;
use crate::radiosity::low_rank::{Precomputed, deviation};

/// Bytes beyond which no `report.json` is believed.
const LONGEST: u64 = 16 << 20;

/// How a bake went: `report.json` beside the pages, and what `radiosity bake --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Wall-clock seconds by stage, and `total`.
    pub seconds: BTreeMap<String, f64>,
    /// Elements that were solved for.
    pub elements: u64,
    /// Triangles of the scene that light meets.
    pub triangles: u64,
    /// Surfaces that own a lightmap rectangle.
    pub surfaces: u64,
    /// Lightmap pages.
    pub pages: u64,
    /// Rays traced.
    pub rays: u64,
    /// Iterations of the solver until convergence.
    pub iterations: u32,
    /// Share of the light's power that was not followed to its end. Zero where the number of bounces was limited.
    pub unshot: f32,
    /// Estimated error of the worst band of brightness, as [`Solution::error_estimate`] is.
    pub error_estimate: f32,
    /// The mean light nearby in that band, lux.
    pub worst_irradiance: f32,
    /// Estimated error of the whole scene: the area-weighted RMS error of irradiance over its mean.
    pub error_of_mean: f32,
    /// Residual of the radiosity equation, relative to the first bounce, as judged by rays that the solver has not used,
    /// their noise removed. Zero where the number of bounces was limited.
    pub residual: f32,
    /// By how much the residual would be larger if its square were larger by its standard error.
    pub residual_standard_error: f32,
    /// Most memory that the process ever held, bytes; zero where the system does not tell.
    pub peak_memory_bytes: u64,
    /// Most memory that the bake was expected to hold, bytes.
    pub estimated_memory_bytes: u64,
    /// The precomputed transport for lights that change; `None` without one.
    pub relight: Option<RelightReport>,
    /// What traced the rays: `cpu` or a GPU's name.
    pub backend: String,
    /// What a user should know: repairs, fallbacks, limits reached.
    pub warnings: Vec<String>,
    /// BLAKE3 of `report.json` with nothing between these quotes: what proves that a bake wrote it.
    pub digest: String,
}

/// What a bake says about the transport that it has precomputed for lights that change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RelightReport {
    /// Patches that elements see.
    pub patches: u64,
    /// Bytes of the file, and about those in memory.
    pub bytes: u64,
    /// The part of the form factors between elements and patches that is stored; the rest is dark.
    pub density: f32,
    /// How far the light that it finds for the baked lights is from the bake's own indirect light: area-weighted RMS over
    /// the mean.
    pub error: f32,
}

impl RelightReport {
    /// Judges a transport by the bake that it comes from.
    pub fn new(precomputed: &Precomputed, elements: &Elements, solution: &Solution) -> Self {
        Self {
            patches: precomputed.transport.patches.len() as u64,
            bytes: precomputed.bytes() as u64,
            density: precomputed.transport.views.density(),
            error: deviation(precomputed, elements, solution),
        }
    }
}

impl Report {
    /// Its name in a bake's folder.
    pub(super) const FILE: &str = "report.json";

    /// Signs it with its digest.
    ///
    /// Returns the text of its file.
    pub(super) fn sealed(&mut self) -> String {
        self.digest.clear();
        self.digest = digest_of(&self.text());
        self.text()
    }

    fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// True for the file of a report as a bake wrote it.
    pub(super) fn is_at(path: &Path) -> bool {
        let Ok(text) = input::read_text(path, LONGEST) else { return false };
        let Ok(report) = serde_json::from_str::<Self>(&text) else { return false };
        !report.digest.is_empty() && digest_of(&text.replacen(&report.digest, "", 1)) == report.digest
    }

    /// Adds the time that a stage took; a stage that runs in several pieces adds up.
    pub fn add_seconds(&mut self, stage: Stage, duration: Duration) {
        *self.seconds.entry(stage.name().to_owned()).or_default() += duration.as_secs_f64();
    }

    /// Adds the time that writing the files took, which no stage counts, to `write` and to the total.
    pub fn add_write_seconds(&mut self, duration: Duration) {
        for name in ["write", "total"] {
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
