//! Numbers over time, and their curve.

use std::collections::VecDeque;

use bevy::prelude::*;
use bevy::time::Real;
use bevy_egui::egui;

use crate::plugin::LiveViewStatus;

/// Frames that are remembered.
const FRAMES: usize = 240;
/// Height of a curve, in egui's points.
const HEIGHT: f32 = 36.0;

/// A number in each of the last frames.
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

    /// Draws the curve, from zero to the largest, the newest on the right.
    pub fn draw(&self, ui: &mut egui::Ui) {
        let top = self.largest().max(f32::MIN_POSITIVE);
        let newest_first = self.0.iter().rev().enumerate();
        draw_curve(ui, newest_first.map(|(age, value)| [1.0 - age as f32 / (FRAMES - 1) as f32, value / top]));
    }
}

/// Draws a curve through points whose coordinates are from 0 to 1, from the lower left corner.
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

/// What the panel has curves of.
#[derive(Resource, Clone, Debug, Default)]
pub struct Histories {
    /// Milliseconds from one frame to the next.
    pub frames: History,
    /// Paths that live views trace in a second; empty where the GPU cannot tell.
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
