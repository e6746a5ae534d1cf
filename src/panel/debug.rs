//! Debug section of the window.

use bevy_egui::egui;

use super::view::View;
use super::window::{named_count, slider};
use crate::partition::{PartitionKind, PartitionSettings};
use crate::plugin::{LightmapOverlay, LiveChannel, PartitionCells, TreeCells};

/// Channels of a live view, with their names and color scales.
const CHANNELS: [(LiveChannel, &str, &str); 5] = [
    (LiveChannel::Light, "light", "The picture."),
    (LiveChannel::Albedo, "albedo", "What surfaces reflect."),
    (LiveChannel::Normal, "normal", "Normals, from black for -1 to white for 1 along each axis."),
    (LiveChannel::TreeCost, "tree cost", "Nodes that a ray visits: none is blue, 64 are green, 128 and more red."),
    (LiveChannel::Noise, "noise", "Standard error: 1 % and less is blue, 10 % green, 100 % and more red."),
];

/// Overlays of lightmaps, with their names and color scales.
const OVERLAYS: [(LightmapOverlay, &str, &str); 4] = [
    (LightmapOverlay::Off, "none", "The picture."),
    (LightmapOverlay::Texels, "texels", "Texels of the lightmaps, as a checker."),
    (LightmapOverlay::Charts, "charts", "Charts that the meshes were cut into, each in a color of its own."),
    (
        LightmapOverlay::Validity,
        "validity",
        "How much of a texel light can reach: all is green; red is buried and shows its neighbors' light. \
         Only a bake of this run knows it.",
    ),
];

/// Draws the choice of channel or overlay.
pub fn draw_picture(ui: &mut egui::Ui, view: &mut View, overlay: &mut LightmapOverlay) {
    if view.live.enabled {
        choose(ui, "live view", &mut view.live.channel, &CHANNELS);
    } else {
        choose(ui, "lightmaps", overlay, &OVERLAYS);
    }
}

/// Draws a choice of one of several values, with their names and hints.
pub fn choose<Choice: Copy + PartialEq>(
    ui: &mut egui::Ui,
    name: &str,
    chosen: &mut Choice,
    choices: &[(Choice, &str, &str)],
) {
    ui.label(name);
    ui.horizontal_wrapped(|ui| {
        for (choice, name, meaning) in choices {
            ui.selectable_value(chosen, *choice, *name).on_hover_text(*meaning);
        }
    });
}

/// Draws the choice of tree depth.
pub fn draw_tree(ui: &mut egui::Ui, depth: &mut Option<u32>) {
    ui.horizontal(|ui| {
        let mut is_shown = depth.is_some();
        let hint = "Draws the cells of the tree that a bake or a live view built last.";
        ui.checkbox(&mut is_shown, "KD-tree").on_hover_text(hint);
        let mut level = depth.unwrap_or(4);
        if is_shown {
            ui.add(slider(&mut level, 0..=TreeCells::DEEPEST as u32).prefix("depth "));
        }
        *depth = is_shown.then_some(level);
    });
}

/// Kinds of partitions, with their names and hints.
const KINDS: [(PartitionKind, &str, &str); 3] = [
    (PartitionKind::Uniform, "uniform", "Boxes of one size."),
    (PartitionKind::Balanced, "balanced", "Boxes with equal areas of surface in them."),
    (PartitionKind::Hybrid, "hybrid", "Eight boxes of one size; those with more than the mean become eight in turn."),
];
/// Maximum number of cells on the slider. More cannot be told apart.
const MAX_CELLS: u32 = 512;

/// Draws the partition settings and the result.
pub fn draw_partition(ui: &mut egui::Ui, wanted: &mut Option<PartitionSettings>, cells: &PartitionCells) {
    let mut is_shown = wanted.is_some();
    let hint = "Cuts what would take part in a bake now into subscenes, and draws their boxes.";
    ui.checkbox(&mut is_shown, "partition").on_hover_text(hint);
    if !is_shown {
        *wanted = None;
        return;
    }
    let mut settings = wanted.unwrap_or_default();
    draw_cut(ui, "cells", &mut settings);
    match &cells.cut {
        None => ui.weak("nothing has been cut yet"),
        Some(Ok(cut)) => ui.label(format!("{}, sigma {:.3}", named_count(cut.cells.len() as u64, "cell"), cut.sigma)),
        Some(Err(error)) => ui.colored_label(ui.visuals().warn_fg_color, error.to_string()),
    };
    *wanted = Some(settings);
}

/// Draws the kind of partition and the number of cells.
pub fn draw_cut(ui: &mut egui::Ui, name: &str, settings: &mut PartitionSettings) {
    choose(ui, name, &mut settings.kind, &KINDS);
    let min_count = if settings.kind == PartitionKind::Hybrid { 8 } else { 1 };
    ui.add(slider(&mut settings.count, min_count..=MAX_CELLS).logarithmic(true));
    settings.count = match settings.kind {
        PartitionKind::Uniform => settings.count,
        PartitionKind::Balanced => settings.count.next_power_of_two(),
        PartitionKind::Hybrid => settings.count.max(min_count),
    };
}
