//! Importance sampling of the environment map.

use glam::{Vec2, Vec3};

use super::emission::BoundingSphere;
use super::{Distribution, Emission, LightNode, LightSample, Place};
use crate::geometry::{Ray, arc_cosine, sin_cos_turns};
use crate::scene::EnvironmentMap;
use crate::scene::luminance;

/// Grid of cells over the environment map, sampled by their power.
pub(super) struct Environment {
    pub(super) map: EnvironmentMap,
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) cells: Distribution,
    /// Luminance integrated over the sphere, cd sr / m2.
    power: f32,
}

/// Maximum resolution of the sampling grid.
const MAXIMUM_COLUMNS: u32 = 512;
const MAXIMUM_ROWS: u32 = 256;

impl Environment {
    /// Builds the light of an environment map; `None` if the map is black.
    pub fn new(map: &EnvironmentMap) -> Option<Self> {
        let image = &map.texture;
        let (columns, rows) = (image.width.min(MAXIMUM_COLUMNS) as usize, image.height.min(MAXIMUM_ROWS) as usize);
        if columns == 0 || rows == 0 {
            return None;
        }
        let mut sums = vec![0.0f32; columns * rows];
        for y in 0..image.height {
            let row = y as usize * rows / image.height as usize;
            for x in 0..image.width {
                let column = x as usize * columns / image.width as usize;
                let value = image.texel(i64::from(x), i64::from(y)).truncate() * map.scale;
                sums[row * columns + column] += luminance(value).max(0.0);
            }
        }
        let texels_per_cell = (image.width as usize * image.height as usize) as f32 / sums.len() as f32;
        let cell_angle = |index: usize| solid_angle(index / columns, columns, rows);
        let mean = sums.iter().sum::<f32>() / (sums.len() as f32 * texels_per_cell);
        let weights: Vec<f32> = sums
            .iter()
            .enumerate()
            // Bilinear filtering leaks bright texels into black cells, so no cell has zero probability.
            .map(|(index, sum)| (sum / texels_per_cell + 0.01 * mean) * cell_angle(index))
            .collect();
        let power = weights.iter().sum::<f32>();
        (power > 0.0).then(|| Self { map: map.clone(), columns, rows, cells: Distribution::new(weights), power })
    }

    /// Returns the luminance integrated over the sphere, cd sr / m2.
    pub fn power(&self) -> f32 {
        self.power
    }

    /// Returns the approximate unoccluded illuminance in lux at a receiver of any orientation: a quarter of the
    /// integral over the sphere, which holds for nearly uniform maps.
    pub fn expected(&self, _place: &Place) -> f32 {
        0.25 * self.power
    }

    /// Returns the leaf for the light tree.
    pub fn node(&self) -> LightNode {
        LightNode::far(0.25 * self.power, Vec3::NEG_Y, -1.0)
    }

    /// Samples a direction toward the sky. Returns the direction, its radiance, and the PDF per steradian.
    fn choose(&self, u: [f32; 2]) -> Option<(Vec3, Vec3, f32)> {
        let choice = self.cells.sample(u[0]);
        let (row, column) = (choice.index / self.columns, choice.index % self.columns);
        let uv = Vec2::new((column as f32 + choice.rest) / self.columns as f32, uniform_in_row(row, self.rows, u[1]));
        let pdf = choice.probability / solid_angle(row, self.columns, self.rows);
        let radiance = self.map.texture.sample(uv).truncate() * self.map.scale;
        (pdf > 0.0).then(|| (self.map.direction(uv).normalize(), radiance, pdf))
    }

    /// Samples an emitted ray into the scene by four numbers in `[0, 1)`.
    pub fn emit(&self, bounding_sphere: &BoundingSphere, u: [f32; 4]) -> Option<Emission> {
        let (toward, radiance, pdf) = self.choose([u[2], u[3]])?;
        let ray = bounding_sphere.ray(-toward, [u[0], u[1]]);
        let power = radiance * (bounding_sphere.disc() / pdf);
        Some(Emission { ray, power, radiance: None, range: f32::INFINITY })
    }

    pub fn sample(&self, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        let (direction, radiance, pdf) = self.choose(u)?;
        let cosine = normal.dot(direction);
        if cosine <= 0.0 {
            return None;
        }
        Some(LightSample {
            ray: Ray::new(at, direction),
            direction,
            irradiance: radiance * (cosine / pdf),
            pdf: Some(pdf),
        })
    }

    pub fn pdf(&self, direction: Vec3) -> f32 {
        let uv = self.map.uv(direction);
        let column = ((uv.x * self.columns as f32) as usize).min(self.columns - 1);
        let row = ((uv.y * self.rows as f32) as usize).min(self.rows - 1);
        self.cells.probability(row * self.columns + column) / solid_angle(row, self.columns, self.rows)
    }
}

/// Returns the cosines of the polar angles that bound a row.
fn row_cosines(row: usize, rows: usize) -> (f32, f32) {
    let cosine = |edge: usize| sin_cos_turns(0.5 * edge as f32 / rows as f32).1;
    (cosine(row), cosine(row + 1))
}

/// Returns the solid angle of a cell in steradians.
fn solid_angle(row: usize, columns: usize, rows: usize) -> f32 {
    let (top, bottom) = row_cosines(row, rows);
    (top - bottom) * core::f32::consts::TAU / columns as f32
}

/// Returns a v coordinate within a row, uniform on the sphere.
fn uniform_in_row(row: usize, rows: usize, u: f32) -> f32 {
    let (top, bottom) = row_cosines(row, rows);
    arc_cosine(top + (bottom - top) * u) / core::f32::consts::PI
}
