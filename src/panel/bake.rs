//! Bake section of the window.

use std::sync::Arc;

use bevy::prelude::*;
use bevy_egui::egui;

use super::debug::draw_cut;
use super::history::draw_curve;
use super::window::{DEVICE_NAMES, named_count, say_time, slider, warnings};
use crate::DeviceChoice;
use crate::bake::{BakePass, BakeSettings, RelightPatches, Report};
use crate::plugin::{BakeFailed, BakeFailure, BakeFinished, BakePhase, BakeProgress, BatchTimes};
use crate::radiosity::{Method, SolverSettings, SubsceneSettings};

/// Number of patches for relighting that the panel requests.
const PATCHES: u32 = 1000;

/// Bake methods, with their names and hints.
const METHODS: [(Method, &str, &str); 5] = [
    (Method::Gather, "gather", "Keeps what rays hit, and follows light along them. The fastest."),
    (Method::Stochastic, "stochastic", "Shoots light at random, bounce after bounce. Needs less memory."),
    (Method::Progressive, "progressive", "Patches shoot, the brightest first; what is shown soon looks right."),
    (Method::Counted, "counted", "Counts rays that cross the cells of a partition. For opaque scenes."),
    (Method::Path, "path", "Follows paths. Slow, but texels do not count as evenly bright."),
];

/// Hints for the devices of [`DEVICE_NAMES`].
const DEVICE_HINTS: [&str; 3] = [
    "The graphics card if it is a real one.",
    "Leaves the graphics card to the picture.",
    "Takes a software driver, too, if there is no other.",
];

/// Result of the most recent bake.
#[derive(Resource, Clone, Debug, Default)]
pub enum LastBake {
    #[default]
    None,
    Finished {
        report: Box<Report>,
        times: BatchTimes,
    },
    Failed(Arc<BakeFailure>),
}

pub fn note_finished(done: On<BakeFinished>, mut last: ResMut<LastBake>) {
    *last = LastBake::Finished { report: Box::new(done.report.clone()), times: done.times };
}

pub fn note_failed(failed: On<BakeFailed>, mut last: ResMut<LastBake>) {
    *last = LastBake::Failed(Arc::clone(&failed.error));
}

/// Button that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    Bake,
    Cancel,
}

pub fn draw(
    ui: &mut egui::Ui,
    settings: &mut BakeSettings,
    preview: &mut bool,
    progress: &BakeProgress,
    passes: &[BakePass],
    last: &LastBake,
) -> Option<Press> {
    let mut press = None;
    if progress.is_baking() {
        ui.add(egui::ProgressBar::new(progress.fraction).text(say_progress(progress)));
        if ui.button("Cancel").clicked() {
            press = Some(Press::Cancel);
        }
    } else {
        egui::Grid::new("bake").num_columns(2).show(ui, |ui| {
            ui.label("density");
            let density = slider(&mut settings.layout.texels_per_meter, 1.0..=128.0).suffix(" texels/m");
            ui.add(density.logarithmic(true)).on_hover_text("More shows finer shadows and takes longer.");
            ui.end_row();
            ui.label("error");
            let error = slider(&mut settings.solver.error, 0.002..=0.5).logarithmic(true);
            let error = error.custom_formatter(|share, _| format!("{:.1} %", share * 100.0));
            ui.add(error.custom_parser(parse_percent)).on_hover_text("Less shows less noise and takes longer.");
            ui.end_row();
            ui.label("method");
            choose_method(ui, &mut settings.solver);
            ui.end_row();
            ui.label("device");
            choose_device(ui, &mut settings.device);
            ui.end_row();
        });
        if has_subscenes(settings.solver.method) {
            draw_subscenes(ui, &mut settings.solver.subscenes);
        }
        ui.checkbox(preview, "show it while it becomes better")
            .on_hover_text("What is shown stays when the bake is cancelled.");
        let mut is_relightable = settings.relight.is_some();
        if ui.checkbox(&mut is_relightable, "for lights that change").changed() {
            settings.relight = is_relightable.then_some(RelightPatches(PATCHES));
        }
        if ui.button("Bake now").clicked() {
            press = Some(Press::Bake);
        }
    }
    draw_convergence(ui, passes);
    if !progress.is_baking() {
        draw_last(ui, last);
    }
    press
}

/// Returns true if a method may have subscenes.
fn has_subscenes(method: Method) -> bool {
    matches!(method, Method::Progressive | Method::Counted)
}

/// Draws the choice of method. Methods without subscenes clear them.
fn choose_method(ui: &mut egui::Ui, solver: &mut SolverSettings) {
    let before = solver.method;
    let name = METHODS.iter().find(|(method, ..)| *method == before).map_or("", |(_, name, _)| name);
    egui::ComboBox::from_id_salt("method").selected_text(name).show_ui(ui, |ui| {
        for (method, name, meaning) in METHODS {
            ui.selectable_value(&mut solver.method, method, name).on_hover_text(meaning);
        }
    });
    if !has_subscenes(solver.method) {
        solver.subscenes = None;
    }
}

/// Draws the choice of device.
fn choose_device(ui: &mut egui::Ui, device: &mut DeviceChoice) {
    let name = DEVICE_NAMES.iter().find(|(choice, _)| choice == device).map_or("", |(_, name)| name);
    egui::ComboBox::from_id_salt("device").selected_text(name).show_ui(ui, |ui| {
        for ((choice, name), meaning) in DEVICE_NAMES.into_iter().zip(DEVICE_HINTS) {
            ui.selectable_value(device, choice, name).on_hover_text(meaning);
        }
    });
}

/// Draws the partition into subscenes, if any.
fn draw_subscenes(ui: &mut egui::Ui, subscenes: &mut Option<SubsceneSettings>) {
    let mut are_wanted = subscenes.is_some();
    let hint = "Cuts the scene into parts: solved one after the other, or crossed by counted rays.";
    if ui.checkbox(&mut are_wanted, "in subscenes").on_hover_text(hint).changed() {
        *subscenes = are_wanted.then(SubsceneSettings::default);
    }
    if let Some(subscenes) = subscenes {
        draw_cut(ui, "cut to", &mut subscenes.partition);
    }
}

/// Draws the error over the time of a bake.
fn draw_convergence(ui: &mut egui::Ui, passes: &[BakePass]) {
    if let Some(last) = passes.last() {
        let count = match passes.len() {
            1 => "1 pass".to_owned(),
            count => format!("{count} passes"),
        };
        ui.label(format!("error about {:.1} % after {count}, {}", last.error_of_mean * 100.0, say_time(last.seconds)));
        draw_curve(ui, convergence(passes)).on_hover_text("The error over time, on a logarithmic scale.");
    }
}

/// Returns the points of the curve: seconds to the right, logarithm of the error upward, both scaled to 0..1.
fn convergence(passes: &[BakePass]) -> impl Iterator<Item = [f32; 2]> {
    let logarithm = |pass: &BakePass| libm::logf(pass.error_of_mean.max(1e-6));
    let seconds = passes.iter().map(|pass| pass.seconds).fold(f32::MIN_POSITIVE, f32::max);
    let lowest = passes.iter().map(logarithm).fold(f32::INFINITY, f32::min);
    let highest = passes.iter().map(logarithm).fold(f32::NEG_INFINITY, f32::max);
    let range = (highest - lowest).max(f32::MIN_POSITIVE);
    passes.iter().map(move |pass| [pass.seconds / seconds, (logarithm(pass) - lowest) / range])
}

fn parse_percent(text: &str) -> Option<f64> {
    let percent: f64 = text.trim().trim_end_matches('%').trim_end().parse().ok()?;
    Some(percent / 100.0)
}

fn say_progress(progress: &BakeProgress) -> String {
    let what = match progress.phase {
        BakePhase::Idle | BakePhase::Reading => "reading",
        BakePhase::Solving(stage) => stage.name(),
        BakePhase::Showing => "showing",
    };
    let left = progress.seconds_left.map(|left| format!(", {} left", say_time(left))).unwrap_or_default();
    format!("{what}, {:.0} %{left}", progress.fraction * 100.0)
}

/// Returns the panel's name of a report's backend.
fn say_backend(backend: &str) -> &str {
    match backend {
        "cpu" => "the processor",
        "gpu" => "the graphics card",
        other => other,
    }
}

fn draw_last(ui: &mut egui::Ui, last: &LastBake) {
    match last {
        LastBake::None => {}
        LastBake::Finished { report, times } => {
            let total = report.seconds.get("total").copied().unwrap_or_default() as f32;
            let what = [named_count(report.surfaces, "surface"), named_count(report.pages, "page")].join(", ");
            ui.label(format!("{what} in {}, error about {:.1} %", say_time(total), report.error_of_mean * 100.0));
            ui.weak(format!("rays by {}", say_backend(&report.backend)));
            let frame = times.longest_staging_seconds.max(times.attach_seconds);
            ui.weak(format!("showing them took {} of a frame", say_time(frame)));
            warnings(ui, "bake warnings", &report.warnings);
        }
        LastBake::Failed(error) if error.is_cancelled() => {
            ui.label("The last bake was cancelled.");
        }
        LastBake::Failed(error) => {
            ui.colored_label(ui.visuals().error_fg_color, error.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bake::Stage;

    #[test]
    fn progress_says_what_is_done_how_far_it_is_and_what_is_left() {
        let phase = BakePhase::Solving(Stage::Solve);
        let progress = BakeProgress { phase, fraction: 0.43, seconds_left: Some(12.2) };
        assert_eq!(say_progress(&progress), "solve, 43 %, 12 s left");
        let early = BakeProgress { phase: BakePhase::Reading, fraction: 0.0, seconds_left: None };
        assert_eq!(say_progress(&early), "reading, 0 %");
    }

    #[test]
    fn a_tenth_of_the_error_is_as_far_down_as_the_next_tenth() {
        let pass = |seconds, error| BakePass { seconds, error, error_of_mean: error, rays: 0 };
        let curve: Vec<[f32; 2]> = convergence(&[pass(1.0, 0.5), pass(2.0, 0.05), pass(4.0, 0.005)]).collect();
        for ([x, y], expected) in curve.into_iter().zip([[0.25, 1.0], [0.5, 0.5], [1.0, 0.0]]) {
            assert!((x - expected[0]).abs() < 1e-5 && (y - expected[1]).abs() < 1e-5, "{x} {y}");
        }
        assert_eq!(convergence(&[pass(1.0, 0.5)]).collect::<Vec<_>>(), [[1.0, 0.0]]);
    }

    #[test]
    fn an_error_is_typed_in_percent() {
        assert_eq!(parse_percent(" 5.0 % "), Some(0.05));
        assert_eq!(parse_percent("2"), Some(0.02));
        assert_eq!(parse_percent("much"), None);
    }
}
