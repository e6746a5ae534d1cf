//! Meshes composed of several pieces.

use glam::{Affine3A, Mat3, Vec2, Vec3};

use crate::geometry::rotation_y;
use crate::scene::MeshData;
use crate::scene::shapes::{cuboid_faces, lathe, quad};

/// Faces of a box, as indices into [`cuboid_faces`]. Faces that touch another object are left out, so that no two faces
/// are coplanar.
pub(super) mod faces {
    pub const WHOLE: &[usize] = &[0, 1, 2, 3, 4, 5];
    /// Faces of an object between a bottom and a top, such as a leg.
    pub const SIDES: &[usize] = &[0, 1, 4, 5];
    /// Faces of an object that stands on something.
    pub const STANDING: &[usize] = &[0, 1, 3, 4, 5];
    /// Faces of an object that hangs below something.
    pub const HANGING: &[usize] = &[0, 1, 2, 4, 5];
    /// Faces of a board whose left and right ends touch something.
    pub const BETWEEN: &[usize] = &[2, 3, 4, 5];
    /// Faces of a picture on a wall behind it.
    pub const ON_WALL: &[usize] = &[0, 1, 2, 3, 5];
    /// Faces of a cupboard that stands on the floor with its back to a wall.
    pub const AT_WALL: &[usize] = &[0, 1, 3, 5];
    /// Faces of a board at a wall whose left and right ends touch something.
    pub const BOARD_AT_WALL: &[usize] = &[2, 3, 5];
}

/// Mesh under construction.
pub(super) struct Model(MeshData);

impl Model {
    pub fn new(name: &str) -> Self {
        Self(MeshData { name: name.to_owned(), ..MeshData::default() })
    }

    /// Adds some [`faces`] of a box.
    pub fn cuboid(mut self, min: [f32; 3], max: [f32; 3], faces: &[usize]) -> Self {
        let corners = cuboid_faces(min.into(), max.into());
        for &face in faces {
            self = self.piece(&quad("", corners[face]), Affine3A::IDENTITY);
        }
        self
    }

    /// Adds a [surface of revolution](lathe) around the vertical through a point.
    pub fn turned(self, foot: [f32; 3], profile: &[[f32; 2]], around: u32) -> Self {
        let profile: Vec<Vec2> = profile.iter().copied().map(Vec2::from).collect();
        self.piece(&lathe("", &profile, around), at(foot))
    }

    /// Adds a mesh, transformed but not mirrored.
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

/// Returns a translation.
pub(super) fn at(foot: [f32; 3]) -> Affine3A {
    Affine3A::from_translation(foot.into())
}

/// Returns a translation after a rotation to the left around the vertical.
pub(super) fn turned_at(foot: [f32; 3], degrees: f32) -> Affine3A {
    Affine3A::from_rotation_translation(rotation_y(degrees.to_radians()), foot.into())
}

/// Returns the right-handed rotation about the X axis by an angle in radians.
pub(super) fn tipped(radians: f32) -> Affine3A {
    let (sine, cosine) = libm::sincosf(radians);
    Affine3A::from_mat3(Mat3::from_cols(Vec3::X, Vec3::new(0.0, cosine, sine), Vec3::new(0.0, -sine, cosine)))
}

/// Returns a translation after exact quarter turns to the left. Zero turns face the wall behind the viewer, one turn
/// that on the left, and so on.
pub(super) fn quarter_turned_at(foot: [f32; 3], quarters: usize) -> Affine3A {
    let x = [Vec3::X, Vec3::NEG_Z, Vec3::NEG_X, Vec3::Z];
    let turn = Mat3::from_cols(x[quarters % 4], Vec3::Y, x[(quarters + 3) % 4]);
    Affine3A::from_mat3_translation(turn, foot.into())
}
