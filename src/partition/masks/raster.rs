//! Raster of a border: the rectangles of its mask.

use core::ops::Range;

use glam::{Vec2, Vec3};

use super::Gate;
use crate::geometry::Aabb;

/// Border and its resolution.
#[derive(Clone, Copy)]
pub struct Raster<'a> {
    pub gate: &'a Gate,
    pub resolution: u32,
}

/// Range of columns and rows.
#[derive(Clone, Debug)]
pub struct Block {
    pub columns: Range<u32>,
    pub rows: Range<u32>,
}

impl Block {
    /// Returns the quarters of the block, or halves if the block is one rectangle wide.
    pub fn parts(&self) -> impl Iterator<Item = Self> + use<> {
        let halves = |range: &Range<u32>| {
            let middle = range.start + range.len() as u32 / 2;
            [range.start..middle, middle..range.end]
        };
        let (columns, rows) = (halves(&self.columns), halves(&self.rows));
        rows.into_iter()
            .flat_map(move |rows| columns.clone().map(|columns| Self { columns, rows: rows.clone() }))
            .filter(|part| !part.columns.is_empty() && !part.rows.is_empty())
    }

    pub fn len(&self) -> usize {
        self.columns.len() * self.rows.len()
    }
}

impl Raster<'_> {
    pub fn all(&self) -> Block {
        Block { columns: 0..self.resolution, rows: 0..self.resolution }
    }

    pub fn index(&self, column: u32, row: u32) -> usize {
        (row * self.resolution + column) as usize
    }

    /// Iterates over the indices of a block's rectangles.
    pub fn indices(&self, block: &Block) -> impl Iterator<Item = usize> + use<> {
        let (columns, resolution) = (block.columns.clone(), self.resolution);
        block.rows.clone().flat_map(move |row| columns.clone().map(move |column| (row * resolution + column) as usize))
    }

    /// Returns the rectangle that contains a point, or the nearest rectangle.
    pub fn at(&self, point: Vec3) -> usize {
        let [column, row] = self.place(point);
        self.index(column, row)
    }

    fn place(&self, point: Vec3) -> [u32; 2] {
        self.gate.along().map(|axis| {
            let Aabb { min, max } = self.gate.rectangle;
            let share = (point[axis] - min[axis]) / (max[axis] - min[axis]);
            ((share * self.resolution as f32) as u32).min(self.resolution - 1)
        })
    }

    /// Returns the rectangles that a part of the border's plane touches, or `None` if that part lies outside the
    /// border.
    pub fn touched(&self, part: &Aabb) -> Option<Block> {
        let along = self.gate.along();
        let apart = along.iter().any(|&axis| {
            part.max[axis] < self.gate.rectangle.min[axis] || part.min[axis] > self.gate.rectangle.max[axis]
        });
        let ([left, top], [right, bottom]) = (self.place(part.min), self.place(part.max));
        (!apart).then_some(Block { columns: left..right + 1, rows: top..bottom + 1 })
    }

    /// Converts a column and row, possibly fractional, to a point in world space.
    pub fn point(&self, place: Vec2) -> Vec3 {
        let Aabb { min, max } = self.gate.rectangle;
        let mut point = min;
        for (axis, share) in self.gate.along().into_iter().zip((place / self.resolution as f32).to_array()) {
            point[axis] = min[axis] + (max[axis] - min[axis]) * share;
        }
        point
    }

    /// Returns the corners of a block, in world space.
    pub fn corners(&self, block: &Block) -> [Vec3; 4] {
        let (left, right) = (block.columns.start as f32, block.columns.end as f32);
        let (top, bottom) = (block.rows.start as f32, block.rows.end as f32);
        [(left, top), (right, top), (left, bottom), (right, bottom)].map(|(x, y)| self.point(Vec2::new(x, y)))
    }
}
