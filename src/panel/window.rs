//! The window and its widgets.

use core::ops::RangeInclusive;
use std::time::Duration;

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy_egui::{EguiContexts, egui};

use super::bake::{self, LastBake, Press};
use super::debug;
use super::history::Histories;
use super::relight;
use super::view::{Cameras, Mode, View};
use super::{Panel, PanelKeys};
use crate::DeviceChoice;
use crate::bake::BakeSettings;
use crate::partition::PartitionSettings;
use crate::plugin::{
    BakeConvergence, BakeProgress, CancelBake, LightmapOverlay, LiveIntegrator, LiveMove, LiveViewStatus,
    PartitionCells, Relight, RelightStatus, SceneCounts, SceneRead, SceneStatus,
};

/// Initial width and height of the window, in egui points. All sections fit.
const SIZE: [f32; 2] = [300.0, 730.0];

/// Names of devices.
pub const DEVICE_NAMES: [(DeviceChoice, &str); 3] =
    [(DeviceChoice::Auto, "either"), (DeviceChoice::Cpu, "the processor"), (DeviceChoice::Gpu, "the graphics card")];

/// Integrators of a live view, with their names and hints.
const INTEGRATORS: [(LiveIntegrator, &str, &str); 4] = [
    (LiveIntegrator::Path, "path tracing", "All light, by paths from the camera."),
    (LiveIntegrator::Light, "light tracing", "All but what mirrors and glass show, by paths from lights."),
    (LiveIntegrator::Hybrid, "hybrid", "Paths from lights, and from the camera for mirrors and glass."),
    (LiveIntegrator::Whitted, "Whitted", "Mirrors, glass and shadows alone."),
];

/// Read-only state that the window shows.
#[derive(SystemParam)]
pub struct Shown<'w, 's> {
    histories: Res<'w, Histories>,
    progress: Res<'w, BakeProgress>,
    convergence: Res<'w, BakeConvergence>,
    last_bake: Res<'w, LastBake>,
    scene: Res<'w, SceneStatus>,
    relight: Query<'w, 's, (NameOrEntity, &'static RelightStatus)>,
}

/// Settings besides cameras and bakes.
#[derive(SystemParam)]
pub struct Switches<'w> {
    overlay: ResMut<'w, LightmapOverlay>,
    partition: ResMut<'w, PartitionCells>,
    relight: Option<ResMut<'w, Relight>>,
}

/// Copies of the edited settings. The world is written only where a copy has changed.
struct Edited {
    view: Option<View>,
    bake: BakeSettings,
    preview: bool,
    relight: Option<Relight>,
    overlay: LightmapOverlay,
    tree_depth: Option<u32>,
    partition: Option<PartitionSettings>,
}

pub fn show(
    mut contexts: EguiContexts,
    mut panel: ResMut<Panel>,
    mut cameras: Cameras,
    switches: Switches,
    mut commands: Commands,
    shown: Shown,
) {
    let Switches { mut overlay, mut partition, mut relight } = switches;
    let Ok(context) = contexts.ctx_mut() else {
        return;
    };
    if !panel.visible {
        return;
    }
    let (before, keys) = (cameras.view(), panel.keys);
    let status = cameras.status().unwrap_or_default();
    let mut edited = Edited {
        view: before,
        bake: panel.bake.settings,
        preview: panel.bake.preview,
        relight: relight.as_deref().copied(),
        overlay: *overlay,
        tree_depth: panel.tree_depth,
        partition: partition.wanted,
    };
    let mut is_open = true;
    let window = egui::Window::new("Radiosity").open(&mut is_open).default_size(SIZE).vscroll(true);
    let window = window.default_pos(egui::pos2(12.0, 12.0)).show(context, |ui| {
        let press = draw(ui, &shown, &status, &partition, &mut edited);
        ui.weak(say_keys(&keys));
        press
    });
    if let (Some(before), Some(after)) = (before, edited.view) {
        cameras.change(&before, &after);
    }
    if (panel.bake.settings, panel.bake.preview) != (edited.bake, edited.preview) {
        (panel.bake.settings, panel.bake.preview) = (edited.bake, edited.preview);
    }
    match (&mut relight, edited.relight) {
        (Some(relight), Some(edited)) => _ = relight.set_if_neq(edited),
        (None, Some(edited)) => commands.insert_resource(edited),
        (_, None) => {}
    }
    overlay.set_if_neq(edited.overlay);
    if panel.tree_depth != edited.tree_depth {
        panel.tree_depth = edited.tree_depth;
    }
    if partition.wanted != edited.partition {
        partition.wanted = edited.partition;
    }
    if !is_open {
        panel.visible = false;
    }
    match window.and_then(|window| window.inner).flatten() {
        Some(Press::Bake) => commands.trigger(panel.bake.clone()),
        Some(Press::Cancel) => commands.trigger(CancelBake),
        None => {}
    }
}

/// Draws the content of the window.
fn draw(
    ui: &mut egui::Ui,
    shown: &Shown,
    status: &LiveViewStatus,
    partition: &PartitionCells,
    edited: &mut Edited,
) -> Option<Press> {
    ui.spacing_mut().slider_width = 130.0;
    match &mut edited.view {
        Some(view) => draw_view(ui, view, status, &shown.histories),
        None => {
            ui.label("There is no 3D camera.");
        }
    }
    closed_section(ui, "Debug views", |ui| {
        if let Some(view) = &mut edited.view {
            debug::draw_picture(ui, view, &mut edited.overlay);
        }
        debug::draw_tree(ui, &mut edited.tree_depth);
        debug::draw_partition(ui, &mut edited.partition, partition);
    });
    section(ui, "Frame", |ui| draw_frame(ui, &shown.histories));
    let press = section(ui, "Bake", |ui| {
        bake::draw(
            ui,
            &mut edited.bake,
            &mut edited.preview,
            &shown.progress,
            &shown.convergence.passes,
            &shown.last_bake,
        )
    });
    section(ui, "Relighting", |ui| relight::draw(ui, &mut edited.relight, shown.relight));
    section(ui, "Scene", |ui| draw_scene(ui, &shown.scene));
    press.flatten()
}

fn draw_view(ui: &mut egui::Ui, view: &mut View, status: &LiveViewStatus, histories: &Histories) {
    let mut mode = view.mode();
    ui.horizontal(|ui| {
        ui.selectable_value(&mut mode, Mode::Lightmaps, "Lightmaps");
        ui.selectable_value(&mut mode, Mode::Live, "Live");
        ui.selectable_value(&mut mode, Mode::Off, "Off");
    });
    if mode != view.mode() {
        view.set_mode(mode);
    }
    egui::Grid::new("camera").num_columns(2).show(ui, |ui| {
        ui.label("exposure");
        let exposure = slider(&mut view.ev100, -6.0..=18.0).fixed_decimals(1).suffix(" EV");
        ui.add(exposure).on_hover_text("A higher one makes the picture darker.");
        ui.end_row();
        ui.label("bicubic lightmaps");
        ui.checkbox(&mut view.bicubic, "").on_hover_text("Smooth edges of baked shadows; without, steps along texels.");
        ui.end_row();
    });
    section(ui, "Live view", |ui| {
        draw_live_settings(ui, view);
        if view.live.enabled {
            draw_live_status(ui, status, histories);
        }
    });
}

fn draw_live_settings(ui: &mut egui::Ui, view: &mut View) {
    let live = &mut view.live;
    debug::choose(ui, "integrator", &mut live.integrator, &INTEGRATORS);
    egui::Grid::new("live").num_columns(2).show(ui, |ui| {
        ui.label("bounces");
        ui.add(slider(&mut live.bounces, 0..=32)).on_hover_text("More lights deep corners; fewer are faster.");
        ui.end_row();
        ui.label("samples");
        let samples = slider(&mut live.max_samples, 1..=65_536).logarithmic(true);
        ui.add(samples).on_hover_text("A picture is done when each pixel has so many, and the GPU rests.");
        ui.end_row();
        ui.label("render scale");
        let scale = slider(&mut live.render_scale, 0.1..=2.0).fixed_decimals(2);
        ui.add(scale).on_hover_text("Less is faster and blurred.");
        ui.end_row();
        ui.label("frame budget");
        let budget = slider(&mut live.frame_budget, 1.0..=100.0).logarithmic(true).fixed_decimals(1).suffix(" ms");
        ui.add(budget).on_hover_text("More shows a clean picture sooner; less keeps the frame rate higher.");
        ui.end_row();
        ui.label("filter");
        ui.checkbox(&mut live.filter, "").on_hover_text("Smooths the noise of pictures that have few samples.");
        ui.end_row();
        ui.label("ends at lightmaps");
        ui.checkbox(&mut live.ends_at_lightmaps, "")
            .on_hover_text("Faster, with the bake's errors where light is reflected.");
        ui.end_row();
    });
}

fn draw_live_status(ui: &mut egui::Ui, status: &LiveViewStatus, histories: &Histories) {
    let UVec2 { x, y } = status.size;
    ui.label(format!("{} a pixel, {x} x {y} pixels", named_count(u64::from(status.samples), "sample")));
    if status.frame_milliseconds > 0.0 {
        ui.label(format!("{:.1} ms of a frame on the GPU", status.frame_milliseconds));
    }
    if status.paths_per_second > 0.0 {
        ui.label(format!("{:.2} million paths a second", status.paths_per_second * 1e-6));
        histories.paths.draw(ui);
    }
}

fn draw_frame(ui: &mut egui::Ui, histories: &Histories) {
    let (mean, largest) = (histories.frames.mean(), histories.frames.largest());
    ui.label(format!("{mean:.1} ms a frame, {largest:.1} at most"));
    histories.frames.draw(ui);
}

fn draw_scene(ui: &mut egui::Ui, scene: &SceneStatus) {
    if let Some(rebuild) = &scene.last_live_rebuild {
        ui.label(format!("live view: {}", say_read(&rebuild.read)));
        let tree = match rebuild.tree_seconds {
            Some(taken) => format!("tree {}", say_time(taken)),
            None => "tree kept".to_owned(),
        };
        ui.weak(format!("{tree}, buffers {}", say_time(rebuild.buffer_seconds)));
        if let Some(LiveMove { surfaces, seconds }) = scene.last_live_move {
            let moved = named_count(surfaces as u64, "surface");
            ui.weak(format!("{moved} moved without a new tree in {}", say_time(seconds)));
        }
        warnings(ui, "live view warnings", &rebuild.read.warnings);
    }
    if let Some(read) = &scene.last_read {
        ui.label(format!("bake: {}", say_read(read)));
        if !scene.changed.is_zero() {
            let changed = format!("changed since: {}", say_counts(&scene.changed));
            ui.colored_label(ui.visuals().warn_fg_color, changed);
        }
    }
    if scene.last_live_rebuild.is_none() && scene.last_read.is_none() {
        ui.weak("Nothing has been read yet.");
    }
}

fn say_read(read: &SceneRead) -> String {
    format!("{}, read in {}", say_counts(&read.rebuilt), say_time(read.seconds))
}

fn say_counts(counts: &SceneCounts) -> String {
    let SceneCounts { meshes, textures, materials, surfaces, lights } = *counts;
    let kinds =
        [(meshes, "mesh"), (textures, "texture"), (materials, "material"), (surfaces, "surface"), (lights, "light")];
    let named: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, name)| named_count(*count as u64, name)).collect();
    if named.is_empty() { "nothing".to_owned() } else { named.join(", ") }
}

fn say_keys(keys: &PanelKeys) -> String {
    let named = [(keys.panel, "panel"), (keys.lightmaps, "lightmaps"), (keys.live, "live")];
    let said = named.iter().filter_map(|(key, name)| {
        let key = format!("{:?}", (*key)?);
        Some(format!("{} {name}", key.strip_prefix("Key").unwrap_or(&key)))
    });
    said.collect::<Vec<_>>().join(", ")
}

/// Returns a count with its noun, in English.
pub fn named_count(count: u64, name: &str) -> String {
    let ending = match (count, name.ends_with("sh")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {name}{ending}")
}

/// Formats a time in seconds with a suitable unit and precision.
pub fn say_time(seconds: f32) -> String {
    match seconds {
        ..0.1 => format!("{:.1} ms", seconds * 1000.0),
        ..10.0 => format!("{seconds:.1} s"),
        ..120.0 => format!("{seconds:.0} s"),
        _ => format!("{:.0} min", seconds / 60.0),
    }
}

/// Creates a slider that does not clamp values set by the app.
pub fn slider<Number: egui::emath::Numeric>(value: &mut Number, range: RangeInclusive<Number>) -> egui::Slider<'_> {
    egui::Slider::new(value, range).clamping(egui::SliderClamping::Edits)
}

/// Returns a slider for a duration, shown in units of `unit_seconds`.
pub fn duration_slider(value: &mut Duration, range: RangeInclusive<f64>, unit_seconds: f64) -> egui::Slider<'_> {
    let get_set = move |edited: Option<f64>| {
        let edited = edited.and_then(|edited| Duration::try_from_secs_f64(edited * unit_seconds).ok());
        *value = edited.unwrap_or(*value);
        value.as_secs_f64() / unit_seconds
    };
    egui::Slider::from_get_set(range, get_set).clamping(egui::SliderClamping::Edits)
}

/// Draws a collapsed list of warnings.
pub fn warnings(ui: &mut egui::Ui, name: &str, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let title = egui::RichText::new(named_count(warnings.len() as u64, "warning")).color(ui.visuals().warn_fg_color);
    egui::CollapsingHeader::new(title).id_salt(name).show(ui, |ui| {
        for warning in warnings {
            ui.label(warning);
        }
    });
}

fn section<Answer>(ui: &mut egui::Ui, title: &str, draw: impl FnOnce(&mut egui::Ui) -> Answer) -> Option<Answer> {
    egui::CollapsingHeader::new(title).default_open(true).show(ui, draw).body_returned
}

fn closed_section(ui: &mut egui::Ui, title: &str, draw: impl FnOnce(&mut egui::Ui)) {
    egui::CollapsingHeader::new(title).show(ui, draw);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_said_in_words() {
        let counts = SceneCounts { meshes: 2, textures: 0, materials: 1, surfaces: 3, lights: 0 };
        assert_eq!(say_counts(&counts), "2 meshes, 1 material, 3 surfaces");
        assert_eq!(say_counts(&SceneCounts::default()), "nothing");
    }

    #[test]
    fn times_are_said_in_the_unit_that_suits_them() {
        let said = [0.0042, 0.1, 3.21, 61.0, 600.0].map(say_time);
        assert_eq!(said, ["4.2 ms", "0.1 s", "3.2 s", "61 s", "10 min"]);
    }

    #[test]
    fn the_keys_are_named_unless_the_app_has_them() {
        let keys = PanelKeys::default();
        assert_eq!(say_keys(&keys), "F1 panel, L lightmaps, P live");
        assert_eq!(say_keys(&PanelKeys { live: None, ..keys }), "F1 panel, L lightmaps");
    }
}
