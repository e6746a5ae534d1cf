//! Relighting section of the window.

use bevy::prelude::{NameOrEntity, Query};
use bevy_egui::egui;

use super::window::{DEVICE_NAMES, duration_slider, named_count};
use crate::plugin::{Relight, RelightStatus};

/// Hints for the devices of [`DEVICE_NAMES`].
const DEVICE_HINTS: [&str; 3] = [
    "The graphics card if it is a real one and has room for the level.",
    "Pages are uploaded whenever they change.",
    "Pages are rewritten where they are.",
];

/// Draws the switch, the settings, and the status of each level.
pub fn draw(ui: &mut egui::Ui, relight: &mut Option<Relight>, levels: Query<(NameOrEntity, &RelightStatus)>) {
    let mut is_enabled = relight.is_some_and(|relight| relight.enabled);
    let switch = ui.checkbox(&mut is_enabled, "lightmaps follow their lights");
    if switch.on_hover_text("Bake with patches for relighting, or a level with --relight.").changed() {
        relight.get_or_insert_default().enabled = is_enabled;
    }
    let Some(relight) = relight.as_mut().filter(|relight| relight.enabled) else {
        return;
    };
    egui::Grid::new("relight").num_columns(2).show(ui, |ui| {
        ui.label("work");
        let work =
            duration_slider(&mut relight.work_per_second, 10.0..=1_000.0, 1e-3).logarithmic(true).suffix(" ms/s");
        ui.add(work).on_hover_text("More follows many lights at once sooner; less takes less of the machine.");
        ui.end_row();
        ui.label("smoothing");
        let smoothing = duration_slider(&mut relight.smoothing, 0.0..=1.0, 1.0).fixed_decimals(2).suffix(" s");
        ui.add(smoothing).on_hover_text("Zero shows changes at once.");
        ui.end_row();
        ui.label("drawn by");
        ui.horizontal(|ui| {
            for ((choice, name), meaning) in DEVICE_NAMES.into_iter().zip(DEVICE_HINTS) {
                ui.selectable_value(&mut relight.device, choice, name).on_hover_text(meaning);
            }
        });
        ui.end_row();
    });
    if levels.iter().all(|(_, status)| !status.is_active && status.problem.is_none()) {
        ui.weak("There are no lightmaps that could follow.");
    }
    let are_many = levels.iter().len() > 1;
    for (name, status) in levels {
        if are_many {
            ui.strong(name.to_string());
        }
        match &status.problem {
            Some(problem) => _ = ui.colored_label(ui.visuals().warn_fg_color, problem),
            None if status.is_active => draw_status(ui, status),
            None => {}
        }
    }
}

fn draw_status(ui: &mut egui::Ui, status: &RelightStatus) {
    let RelightStatus { update_milliseconds, main_thread_milliseconds, .. } = status;
    ui.label(format!("{update_milliseconds:.1} ms an update, {main_thread_milliseconds:.1} ms of its frame"));
    let said = match status.waiting {
        0 => "at rest".to_owned(),
        waiting => format!("{} to go", named_count(waiting as u64, "light")),
    };
    let error = 100.0 * status.transport_error;
    ui.weak(format!("{said}; {:.0} % behind; transport within {error:.1} %", 100.0 * status.behind));
    if let Some(reason) = &status.processor_reason {
        ui.weak(format!("The processor draws: {reason}"));
    }
}
