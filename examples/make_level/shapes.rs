//! Triangle shapes: boxes, surfaces of revolution and sheets.

use core::f32::consts::TAU;

use glam::{Affine3A, Mat3, Vec2, Vec3, vec2, vec3};

/// Triangles with normals and texture coordinates, counter-clockwise when seen from outside.
///
/// Texture coordinates are in meters along the surface. The writer divides them by the size of the material's texture.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    pub uvs: Vec<Vec2>,
    pub triangles: Vec<[u32; 3]>,
}

/// Face of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    Left,
    Right,
    Bottom,
    Top,
    Back,
    Front,
}

impl Face {
    const ALL: [Self; 6] = [Self::Left, Self::Right, Self::Bottom, Self::Top, Self::Back, Self::Front];

    /// Returns the outward normal, and the two axes of the face's plane with `u x v = normal`.
    fn axes(self) -> [Vec3; 3] {
        match self {
            Self::Left => [Vec3::NEG_X, Vec3::Z, Vec3::Y],
            Self::Right => [Vec3::X, Vec3::NEG_Z, Vec3::Y],
            Self::Bottom => [Vec3::NEG_Y, Vec3::X, Vec3::Z],
            Self::Top => [Vec3::Y, Vec3::X, Vec3::NEG_Z],
            Self::Back => [Vec3::NEG_Z, Vec3::NEG_X, Vec3::Y],
            Self::Front => [Vec3::Z, Vec3::X, Vec3::Y],
        }
    }
}

impl Shape {
    pub fn vertex(&mut self, position: Vec3, normal: Vec3, uv: Vec2) -> u32 {
        self.positions.push(position);
        self.normals.push(normal);
        self.uvs.push(uv);
        self.positions.len() as u32 - 1
    }

    /// Adds a flat polygon that is convex, or star-shaped from its first corner.
    pub fn polygon(&mut self, corners: &[Vec3], uvs: &[Vec2]) {
        let normal = corners
            .windows(2)
            .map(|pair| (pair[0] - corners[0]).cross(pair[1] - corners[0]))
            .sum::<Vec3>()
            .normalize_or_zero();
        let first = self.positions.len() as u32;
        for (&corner, &uv) in corners.iter().zip(uvs) {
            self.vertex(corner, normal, uv);
        }
        self.triangles.extend((2..corners.len() as u32).map(|corner| [first, first + corner - 1, first + corner]));
    }

    /// Adds a rectangle from its lower left corner, with edges to the right and up.
    pub fn rectangle(&mut self, corner: Vec3, right: Vec3, up: Vec3) {
        let (width, height) = (right.length(), up.length());
        self.polygon(
            &[corner, corner + right, corner + right + up, corner + up],
            &[vec2(0.0, height), vec2(width, height), vec2(width, 0.0), Vec2::ZERO],
        );
    }

    /// Adds a box between two corners, except for the faces that lie against other objects.
    ///
    /// The texture's columns run along the longer edge of each face, like the grain of sawn wood.
    pub fn cuboid(&mut self, min: Vec3, max: Vec3, without: &[Face]) -> &mut Self {
        let (center, half) = ((min + max) * 0.5, (max - min) * 0.5);
        for face in Face::ALL.into_iter().filter(|face| !without.contains(face)) {
            let [normal, u, v] = face.axes();
            let (u, v) = (u * half.dot(u.abs()), v * half.dot(v.abs()));
            let middle = center + normal * half.dot(normal.abs());
            let corners = [middle - u - v, middle + u - v, middle + u + v, middle - u + v];
            // The texture offset varies from face to face and board to board.
            let start = vec2(min.dot(vec3(3.7, 1.3, 2.1)), max.dot(vec3(0.7, 2.9, 1.9))).fract();
            let (width, height) = (2.0 * u.length(), 2.0 * v.length());
            let flat = [vec2(0.0, height), vec2(width, height), vec2(width, 0.0), Vec2::ZERO];
            let along = |uv: Vec2| start + if width >= height { uv } else { vec2(uv.y, uv.x) };
            self.polygon(&corners, &flat.map(along));
        }
        self
    }

    /// Adds a surface of revolution about +Y. Each section of the profile is smooth; sections meet in a crease.
    ///
    /// Points are (radius, height). Along the profile, the outside is on the right when the radius is to the right and
    /// height is up: up the outside, over the lip, down the inside.
    pub fn lathe(&mut self, segments: u32, sections: &[&[(f32, f32)]]) -> &mut Self {
        for section in sections {
            let points: Vec<Vec2> = section.iter().map(|&(radius, height)| vec2(radius, height)).collect();
            let mut traveled = 0.0;
            let first = self.positions.len() as u32;
            for (row, &point) in points.iter().enumerate() {
                let before = points[row.saturating_sub(1)];
                let after = points[(row + 1).min(points.len() - 1)];
                let tangent = (after - before).normalize();
                traveled += (point - before).length();
                for column in 0..=segments {
                    let turn = column as f32 / segments as f32;
                    // The last column repeats the first exactly, so that the seam is closed.
                    let (sine, cosine) = ((column % segments) as f32 / segments as f32 * TAU).sin_cos();
                    let radial = vec3(cosine, 0.0, -sine);
                    let normal = radial * tangent.y - Vec3::Y * tangent.x;
                    let widest = points.iter().map(|point| point.x).fold(0.0, f32::max);
                    self.vertex(radial * point.x + Vec3::Y * point.y, normal, vec2(turn * TAU * widest, -traveled));
                }
            }
            for row in 0..points.len() as u32 - 1 {
                for column in 0..segments {
                    let a = first + row * (segments + 1) + column;
                    let b = a + segments + 1;
                    if points[row as usize].x > 0.0 {
                        self.triangles.push([a, a + 1, b + 1]);
                    }
                    if points[row as usize + 1].x > 0.0 {
                        self.triangles.push([a, b + 1, b]);
                    }
                }
            }
        }
        self
    }

    /// Adds a smooth ball.
    pub fn ball(&mut self, radius: f32, segments: u32) -> &mut Self {
        let rows = segments / 2;
        let profile: Vec<(f32, f32)> = (0..=rows)
            .map(|row| {
                let (sine, cosine) = (row as f32 / rows as f32 * TAU / 2.0).sin_cos();
                let at_pole = row == 0 || row == rows;
                (if at_pole { 0.0 } else { radius * sine }, -radius * cosine)
            })
            .collect();
        self.lathe(segments, &[&profile])
    }

    /// Adds a curved sheet. `place` maps the unit square to space, with `(0, 0)` at the texture's top left. The front
    /// side is the one where the texture is not mirrored.
    pub fn sheet(&mut self, columns: u32, rows: u32, meters: Vec2, place: impl Fn(Vec2) -> Vec3) -> &mut Self {
        let first = self.positions.len() as u32;
        for row in 0..=rows {
            for column in 0..=columns {
                let uv = vec2(column as f32 / columns as f32, row as f32 / rows as f32);
                let step = 1e-3;
                let across = place(uv + vec2(step, 0.0)) - place(uv - vec2(step, 0.0));
                let down = place(uv + vec2(0.0, step)) - place(uv - vec2(0.0, step));
                self.vertex(place(uv), down.cross(across).normalize_or_zero(), uv * meters);
            }
        }
        for row in 0..rows {
            for column in 0..columns {
                let a = first + row * (columns + 1) + column;
                let b = a + columns + 1;
                self.triangles.extend([[a, b, b + 1], [a, b + 1, a + 1]]);
            }
        }
        self
    }

    /// Adds a transformed copy of another shape.
    pub fn add(&mut self, other: &Self, transform: Affine3A) -> &mut Self {
        let first = self.positions.len() as u32;
        let to_normal = Mat3::from(transform.matrix3).inverse().transpose();
        self.positions.extend(other.positions.iter().map(|&position| transform.transform_point3(position)));
        self.normals.extend(other.normals.iter().map(|&normal| (to_normal * normal).normalize_or_zero()));
        self.uvs.extend(&other.uvs);
        self.triangles.extend(other.triangles.iter().map(|triangle| triangle.map(|vertex| vertex + first)));
        self
    }

    /// Returns a transformed copy of the shape.
    pub fn moved(&self, transform: Affine3A) -> Self {
        let mut moved = Self::default();
        moved.add(self, transform);
        moved
    }
}
