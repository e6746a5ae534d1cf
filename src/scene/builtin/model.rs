//! One mesh out of several pieces.

use glam::{Affine3A, Mat3, Quat, Vec2, Vec3};

use crate::scene::MeshData;
use crate::scene::shapes::{cuboid_faces, lathe, quad};

/// Faces of a box, as numbers into [`cuboid_faces`]: what touches something else is left out, so that no two faces lie in
/// one plane.
pub(super) mod faces {
    pub const WHOLE: &[usize] = &[0, 1, 2, 3, 4, 5];
    /// Of what stands between a bottom and a top, such as a leg.
    pub const SIDES: &[usize] = &[0, 1, 4, 5];
    /// Of what stands on something.
    pub const STANDING: &[usize] = &[0, 1, 3, 4, 5];
    /// Of what hangs below something.
    pub const HANGING: &[usize] = &[0, 1, 2, 4, 5];
    /// Of a board that ends at something on its left and its right.
    pub const BETWEEN: &[usize] = &[2, 3, 4, 5];
    /// Of a picture on the wall behind it.
    pub const ON_WALL: &[usize] = &[0, 1, 2, 3, 5];
    /// Of a cupboard on the floor, its back at a wall.
    pub const AT_WALL: &[usize] = &[0, 1, 3, 5];
    /// Of a board on the wall behind it that ends at something on its left and its right.
    pub const BOARD_AT_WALL: &[usize] = &[2, 3, 5];
}

/// A mesh in the making.
pub(super) struct Model(MeshData);

impl Model {
    pub fn new(name: &str) -> Self {
        Self(MeshData { name: name.to_owned(), ..MeshData::default() })
    }

    /// Some [`faces`] of a box.
    pub fn cuboid(mut self, min: [f32; 3], max: [f32; 3], faces: &[usize]) -> Self {
        let corners = cuboid_faces(min.into(), max.into());
        for &face in faces {
            self = self.piece(&quad("", corners[face]), Affine3A::IDENTITY);
        }
        self
    }

    /// What a [profile](lathe) sweeps about the vertical through a point.
    pub fn turned(self, foot: [f32; 3], profile: &[[f32; 2]], around: u32) -> Self {
        let profile: Vec<Vec2> = profile.iter().copied().map(Vec2::from).collect();
        self.piece(&lathe("", &profile, around), at(foot))
    }

    /// A mesh somewhere else, moved, turned and stretched, but not mirrored.
    pub fn piece(mut self, piece: &MeshData, place: Affine3A) -> Self {
        let first = self.0.positions.len() as u32;
        let normals = Mat3::from(place.matrix3).inverse().transpose();
        self.0.positions.extend(piece.positions.iter().map(|position| place.transform_point3(*position)));
        self.0.normals.extend(piece.normals.iter().map(|normal| (normals * *normal).normalize_or_zero()));
        self.0.uv0.extend(&piece.uv0);
        self.0.triangles.extend(piece.triangles.iter().map(|triangle| triangle.map(|vertex| first + vertex)));
        self
    }

    pub fn mesh(self) -> MeshData {
        self.0
    }
}

/// Where something stands.
pub(super) fn at(foot: [f32; 3]) -> Affine3A {
    Affine3A::from_translation(foot.into())
}

/// Where something stands that is turned to the left about the vertical.
pub(super) fn turned_at(foot: [f32; 3], degrees: f32) -> Affine3A {
    Affine3A::from_rotation_translation(Quat::from_rotation_y(degrees.to_radians()), foot.into())
}

/// A place in a room that looks at the wall behind the viewer, the one on the left, and so on: quarters of a turn to the left,
/// exact to the last bit.
pub(super) fn quarter_turned_at(foot: [f32; 3], quarters: usize) -> Affine3A {
    let x = [Vec3::X, Vec3::NEG_Z, Vec3::NEG_X, Vec3::Z];
    let turn = Mat3::from_cols(x[quarters % 4], Vec3::Y, x[(quarters + 3) % 4]);
    Affine3A::from_mat3_translation(turn, foot.into())
}
