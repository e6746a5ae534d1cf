//! Values over time, and their curve.

use std::collections::VecDeque;

use bevy::prelude::*;
use bevy::time::Real;
use bevy_egui::egui;

use crate::plugin::LiveViewStatus;

/// Number of frames that are kept.
const FRAMES: usize = 240;
/// Height of a curve, in egui points.
const HEIGHT: f32 = 36.0;

/// Value in each of the most recent frames.
#[derive(Clone, Debug, Default)]
pub struct History(VecDeque<f32>);

impl History {
    pub fn push(&mut self, value: f32) {
        if self.0.len() == FRAMES {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    pub fn mean(&self) -> f32 {
        self.0.iter().sum::<f32>() / self.0.len().max(1) as f32
    }

    pub fn largest(&self) -> f32 {
        self.0.iter().copied().fold(0.0, f32::max)
    }

    /// Draws the curve, from zero to the largest value, with the newest on the right.
    pub fn draw(&self, ui: &mut egui::Ui) {
        let top = self.largest().max(f32::MIN_POSITIVE);
        let newest_first = self.0.iter().rev().enumerate();
        draw_curve(ui, newest_first.map(|(age, value)| [1.0 - age as f32 / (FRAMES - 1) as f32, value / top]));
    }
}

/// Draws a curve through points in 0..1, with the origin at the lower left.
pub fn draw_curve(ui: &mut egui::Ui, points: impl Iterator<Item = [f32; 2]>) -> egui::Response {
    let size = egui::vec2(ui.available_width(), HEIGHT);
    let (area, response) = ui.allocate_exact_size(size, egui::Sense::hover());
    let painter = ui.painter_at(area);
    painter.rect_filled(area, 2.0, ui.visuals().extreme_bg_color);
    let place =
        |[x, y]: [f32; 2]| egui::pos2(area.left() + x * area.width(), area.bottom() - 1.0 - y * (area.height() - 2.0));
    let points: Vec<egui::Pos2> = points.map(place).collect();
    if points.len() > 1 {
        painter.line(points, egui::Stroke::new(1.0, ui.visuals().selection.bg_fill));
    }
    response
}

/// Histories that the panel draws.
#[derive(Resource, Clone, Debug, Default)]
pub struct Histories {
    /// Frame times, in milliseconds.
    pub frames: History,
    /// Paths per second of all live views. Empty where the GPU has no timestamps.
    pub paths: History,
}

pub fn record(mut histories: ResMut<Histories>, time: Res<Time<Real>>, views: Query<&LiveViewStatus>) {
    let milliseconds = time.delta_secs() * 1000.0;
    if milliseconds > 0.0 {
        histories.frames.push(milliseconds);
    }
    let paths: f32 = views.iter().map(|view| view.paths_per_second).sum();
    if paths > 0.0 {
        histories.paths.push(paths);
    }
}
