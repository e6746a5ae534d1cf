//! Buildings from filled and carved boxes: thick walls whose faces meet exactly, without duplicates or gaps.

use std::collections::BTreeMap;

use glam::{Vec2, Vec3, vec2};

use super::shapes::Shape;

/// Index of the open space that a carved box belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Space(pub usize);

/// Direction of a face's normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Facing {
    East,
    West,
    Up,
    Down,
    South,
    North,
}

/// Block of space, cut by the planes of all filled and carved boxes.
///
/// Boxes act in the order in which they were added. Faces arise only between filled and open cells inside the domain,
/// never at its boundary. So where an object lies against another one, its domain ends and no face is created.
pub struct Solid {
    min: Vec3,
    max: Vec3,
    boxes: Vec<(Vec3, Vec3, Option<Space>)>,
}

impl Solid {
    /// Creates an open domain that belongs to one space.
    pub fn new(min: Vec3, max: Vec3, space: Space) -> Self {
        Self { min, max, boxes: vec![(min, max, Some(space))] }
    }

    /// Fills a box.
    pub fn fill(&mut self, min: Vec3, max: Vec3) -> &mut Self {
        self.boxes.push((min, max, None));
        self
    }

    /// Opens a box.
    pub fn carve(&mut self, min: Vec3, max: Vec3, space: Space) -> &mut Self {
        self.boxes.push((min, max, Some(space)));
        self
    }

    /// Returns the faces, by the space that sees them, their direction, and the index of their plane along the axis.
    pub fn faces(&self) -> BTreeMap<(Space, Facing, usize), Shape> {
        let lines: [Vec<f32>; 3] = core::array::from_fn(|axis| self.lines(axis));
        let count: [usize; 3] = core::array::from_fn(|axis| lines[axis].len() - 1);
        let corner = |index: [usize; 3]| Vec3::from_array(core::array::from_fn(|axis| lines[axis][index[axis]]));
        let cell = |index: [usize; 3]| {
            let middle = (corner(index) + corner(index.map(|place| place + 1))) * 0.5;
            let holds =
                |&&(min, max, _): &&(Vec3, Vec3, Option<Space>)| middle.cmpgt(min).all() && middle.cmplt(max).all();
            self.boxes.iter().rev().find(holds).and_then(|found| found.2)
        };
        let mut faces: BTreeMap<(Space, Facing, usize), WeldedShape> = BTreeMap::new();
        for x in 0..count[0] {
            for y in 0..count[1] {
                for z in 0..count[2] {
                    let here = [x, y, z];
                    for axis in 0..3 {
                        let mut next = here;
                        next[axis] += 1;
                        if next[axis] == count[axis] {
                            continue;
                        }
                        // Space that sees the face, and whether its normal points along the axis.
                        let (space, along) = match (cell(here), cell(next)) {
                            (None, Some(space)) => (space, true),
                            (Some(space), None) => (space, false),
                            _ => continue,
                        };
                        let facing = match (axis, along) {
                            (0, true) => Facing::East,
                            (0, false) => Facing::West,
                            (1, true) => Facing::Up,
                            (1, false) => Facing::Down,
                            (_, true) => Facing::South,
                            (_, false) => Facing::North,
                        };
                        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                        let at = |du: usize, dv: usize| {
                            let mut index = next;
                            index[u] += du;
                            index[v] += dv;
                            index
                        };
                        let turn = [at(0, 0), at(1, 0), at(1, 1), at(0, 1)];
                        let turn = if along { turn } else { [turn[0], turn[3], turn[2], turn[1]] };
                        faces.entry((space, facing, next[axis])).or_default().quad(turn, facing, corner);
                    }
                }
            }
        }
        faces.into_iter().map(|(key, welded)| (key, welded.shape)).collect()
    }

    /// Returns the faces that one space sees, as one shape.
    pub fn shape(&self, space: Space) -> Shape {
        let mut whole = Shape::default();
        for ((seen_from, ..), part) in self.faces() {
            if seen_from == space {
                whole.add(&part, glam::Affine3A::IDENTITY);
            }
        }
        whole
    }

    fn lines(&self, axis: usize) -> Vec<f32> {
        let mut lines: Vec<f32> = self
            .boxes
            .iter()
            .flat_map(|(min, max, _)| [min[axis], max[axis]])
            .map(|line| line.clamp(self.min[axis], self.max[axis]))
            .collect();
        lines.sort_by(f32::total_cmp);
        lines.dedup();
        lines
    }
}

/// Flat shape in which adjacent quads share their corners.
#[derive(Default)]
struct WeldedShape {
    shape: Shape,
    corners: BTreeMap<[usize; 3], u32>,
}

impl WeldedShape {
    fn quad(&mut self, turn: [[usize; 3]; 4], facing: Facing, corner: impl Fn([usize; 3]) -> Vec3) {
        let [a, b, c, d] = turn.map(|index| {
            *self.corners.entry(index).or_insert_with(|| {
                let position = corner(index);
                let (normal, uv) = facing.plane(position);
                self.shape.vertex(position, normal, uv)
            })
        });
        self.shape.triangles.extend([[a, b, c], [a, c, d]]);
    }
}

impl Facing {
    /// Returns the normal, and the texture coordinates of a point in meters. Textures are upright on walls; on floors
    /// their columns point east.
    fn plane(self, position: Vec3) -> (Vec3, Vec2) {
        let Vec3 { x, y, z } = position;
        match self {
            Self::East => (Vec3::X, vec2(-z, -y)),
            Self::West => (Vec3::NEG_X, vec2(z, -y)),
            Self::Up => (Vec3::Y, vec2(x, z)),
            Self::Down => (Vec3::NEG_Y, vec2(x, -z)),
            Self::South => (Vec3::Z, vec2(x, -y)),
            Self::North => (Vec3::NEG_Z, vec2(-x, -y)),
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::vec3;

    use super::*;

    #[test]
    fn a_hollow_box_with_a_window_is_closed_and_faces_outwards() {
        let space = Space(0);
        let mut solid = Solid::new(Vec3::ZERO, Vec3::splat(8.0), space);
        solid.fill(Vec3::splat(1.0), Vec3::splat(7.0));
        solid.carve(Vec3::splat(2.0), Vec3::splat(6.0), space);
        solid.carve(vec3(6.0, 3.0, 3.0), vec3(7.0, 5.0, 5.0), space);
        let shape = solid.shape(space);
        let volume: f32 = shape
            .triangles
            .iter()
            .map(|triangle| {
                let [a, b, c] = triangle.map(|vertex| shape.positions[vertex as usize]);
                a.dot(b.cross(c)) / 6.0
            })
            .sum();
        assert!((volume - (216.0 - 64.0 - 4.0)).abs() < 1e-3, "{volume}");
    }
}
