//! Walls with doorways. Walls face positive z. A door is given by its left and right edge, seen from the front, and its
//! height.

use glam::{Affine3A, Vec3};

use super::model::Model;
use crate::scene::MeshData;
use crate::scene::shapes::quad;

/// Builds rectangles in a plane of constant z, each given by left, right, bottom and top.
pub(super) fn upright(name: &str, z: f32, rectangles: &[[f32; 4]]) -> MeshData {
    let corner = |x: f32, y: f32| Vec3::new(x, y, z);
    of_quads(
        name,
        rectangles.iter().map(|&[left, right, bottom, top]| {
            [corner(left, bottom), corner(right, bottom), corner(right, top), corner(left, top)]
        }),
    )
}

/// Builds a wall from `left` to `right` around a doorway.
pub(super) fn wall_with_door([left, right]: [f32; 2], height: f32, z: f32, door: [f32; 3]) -> MeshData {
    let [door_left, door_right, door_top] = door;
    let pieces =
        [[left, door_left, 0.0, height], [door_right, right, 0.0, height], [door_left, door_right, door_top, height]];
    upright("wall_with_door", z, &pieces)
}

/// Builds the inner faces of a doorway, from the wall at z to its other side.
pub(super) fn passage([left, right, top]: [f32; 3], z: f32, thickness: f32) -> MeshData {
    let (near, far, at) = (z, z - thickness, Vec3::new);
    let sides = [
        [at(left, 0.0, near), at(right, 0.0, near), at(right, 0.0, far), at(left, 0.0, far)],
        [at(left, top, far), at(right, top, far), at(right, top, near), at(left, top, near)],
        [at(left, 0.0, near), at(left, 0.0, far), at(left, top, far), at(left, top, near)],
        [at(right, 0.0, far), at(right, 0.0, near), at(right, top, near), at(right, top, far)],
    ];
    of_quads("passage", sides.into_iter())
}

fn of_quads(name: &str, quads: impl Iterator<Item = [Vec3; 4]>) -> MeshData {
    quads.fold(Model::new(name), |model, corners| model.piece(&quad("", corners), Affine3A::IDENTITY)).mesh()
}
