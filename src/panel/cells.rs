//! Cells of the KD-tree and of a partition, drawn over the image.
//!
//! egui draws them, since everything that Bevy draws in a scene lies below the image of a live view.

use bevy::prelude::*;
use bevy_egui::{EguiContexts, PrimaryEguiContext, egui};

use super::Panel;
use crate::geometry::Aabb;
use crate::plugin::{PartitionCells, TreeCells};

/// Corners that the edges of a box join. Each bit of a corner's index selects one axis, and an edge flips one bit.
const EDGES: [(usize, usize); 12] =
    [(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7)];
/// Near distance at which lines are clipped, in meters.
const NEAR: f32 = 0.01;
/// Hue step between cells: the golden ratio keeps successive hues apart (Vogel 1979).
const GOLDEN: f32 = 0.618_034;

pub fn draw(
    mut contexts: EguiContexts,
    panel: Res<Panel>,
    tree: Res<TreeCells>,
    partition: Res<PartitionCells>,
    camera: Query<(&Camera, &GlobalTransform), With<PrimaryEguiContext>>,
) {
    let of_tree = panel.tree_depth.and_then(|depth| tree.levels.get(depth as usize));
    let of_partition = partition.wanted.and(partition.cut.as_ref()).and_then(|cut| Some(&cut.as_ref().ok()?.cells));
    let drawn = [(of_tree, 1.0), (of_partition, 2.5)].map(|(cells, width)| Some((cells?, width)));
    let (Ok((camera, place)), true) = (camera.single(), drawn.iter().any(Option::is_some)) else {
        return;
    };
    let Ok(context) = contexts.ctx_mut() else {
        return;
    };
    let clip_from_world = camera.clip_from_view() * Mat4::from(place.affine().inverse());
    for (cells, width) in drawn.into_iter().flatten() {
        draw_boxes(context, &clip_from_world, cells, width);
    }
}

/// Draws the edges of boxes, each in its own color. `width` is in egui points.
fn draw_boxes(context: &egui::Context, clip_from_world: &Mat4, boxes: &[Aabb], width: f32) {
    let screen = context.content_rect();
    let painter = context.layer_painter(egui::LayerId::background());
    for (index, cell) in boxes.iter().enumerate() {
        let color = egui::epaint::Hsva::new((index as f32 * GOLDEN).fract(), 0.8, 1.0, 0.7);
        for line in edges(cell).filter_map(|ends| visible_part(clip_from_world, ends)) {
            let line = line.map(|end| {
                egui::pos2(0.5 + 0.5 * end.x, 0.5 - 0.5 * end.y).to_vec2() * screen.size() + screen.min.to_vec2()
            });
            painter.line_segment(line.map(egui::Vec2::to_pos2), egui::Stroke::new(width, color));
        }
    }
}

fn edges(cell: &Aabb) -> impl Iterator<Item = [Vec3; 2]> {
    let &Aabb { min, max } = cell;
    let corner = move |number: usize| {
        let axis = |axis: usize| if number >> axis & 1 == 1 { max[axis] } else { min[axis] };
        Vec3::new(axis(0), axis(1), axis(2))
    };
    EDGES.into_iter().map(move |(from, to)| [corner(from), corner(to)])
}

/// Returns the ends of a line's part in front of the camera, from -1 to 1 over the image. `None` if there is no such
/// part.
fn visible_part(clip_from_world: &Mat4, ends: [Vec3; 2]) -> Option<[Vec2; 2]> {
    let [from, to] = ends.map(|end| *clip_from_world * end.extend(1.0));
    if from.w.max(to.w) < NEAR {
        return None;
    }
    let cut = |end: Vec4, other: Vec4| {
        if end.w < NEAR { end.lerp(other, (NEAR - end.w) / (other.w - end.w)) } else { end }
    };
    Some([cut(from, to), cut(to, from)].map(|end| end.truncate().truncate() / end.w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_four_edges_along_each_axis() {
        let cell = Aabb { min: Vec3::ZERO, max: Vec3::new(1.0, 2.0, 3.0) };
        let lengths: Vec<Vec3> = edges(&cell).map(|[from, to]| to - from).collect();
        for along in [Vec3::X, 2.0 * Vec3::Y, 3.0 * Vec3::Z] {
            assert_eq!(lengths.iter().filter(|length| **length == along).count(), 4, "{along}");
        }
    }

    #[test]
    fn lines_are_drawn_where_the_camera_sees_them_and_end_before_it() {
        // The field of view is 90 degrees, looking along -z: points with |x| = -z lie on the edge.
        let clip_from_world = Mat4::perspective_infinite_reverse_rh(core::f32::consts::FRAC_PI_2, 1.0, 0.1);
        let seen = visible_part(&clip_from_world, [Vec3::new(-2.0, 0.0, -2.0), Vec3::new(0.0, 1.0, -4.0)]);
        let [from, to] = seen.expect("it lies ahead");
        assert!(from.distance(Vec2::new(-1.0, 0.0)) < 1e-6 && to.distance(Vec2::new(0.0, 0.25)) < 1e-6, "{from} {to}");

        let behind = [Vec3::new(0.0, 0.0, 1.0), Vec3::new(1.0, 0.0, 2.0)];
        assert_eq!(visible_part(&clip_from_world, behind), None);

        let through = [Vec3::new(0.0, 1.0, 1.0), Vec3::new(0.0, 1.0, -1.0)];
        let [cut, ahead] = visible_part(&clip_from_world, through).expect("half of it lies ahead");
        assert!((ahead.y - 1.0).abs() < 1e-6 && (cut.y - 1.0 / NEAR).abs() < 0.1, "{cut} {ahead}");
    }
}
