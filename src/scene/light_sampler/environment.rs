//! The environment map as a light, brighter parts chosen more often.

use glam::{Vec2, Vec3};

use super::emission::Surroundings;
use super::{Distribution, Emission, LightNode, LightSample, Place, luminance};
use crate::geometry::{Ray, arc_cosine, sin_cos_turns};
use crate::scene::EnvironmentMap;

/// A grid of cells over the picture, chosen by the light that comes from them.
pub(super) struct Environment {
    pub(super) map: EnvironmentMap,
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) cells: Distribution,
    /// Luminance integrated over the sphere, cd sr / m2.
    power: f32,
}

/// Finest grid that importance is kept on.
const MAXIMUM_COLUMNS: u32 = 512;
const MAXIMUM_ROWS: u32 = 256;

impl Environment {
    /// `None` when the picture is black.
    pub fn new(map: &EnvironmentMap) -> Option<Self> {
        let picture = &map.picture;
        let (columns, rows) = (picture.width.min(MAXIMUM_COLUMNS) as usize, picture.height.min(MAXIMUM_ROWS) as usize);
        if columns == 0 || rows == 0 {
            return None;
        }
        let mut sums = vec![0.0f32; columns * rows];
        for y in 0..picture.height {
            let row = y as usize * rows / picture.height as usize;
            for x in 0..picture.width {
                let column = x as usize * columns / picture.width as usize;
                let value = picture.texel(i64::from(x), i64::from(y)).truncate() * map.scale;
                sums[row * columns + column] += luminance(value).max(0.0);
            }
        }
        let texels_per_cell = (picture.width as usize * picture.height as usize) as f32 / sums.len() as f32;
        let cell_angle = |index: usize| solid_angle(index / columns, columns, rows);
        let mean = sums.iter().sum::<f32>() / (sums.len() as f32 * texels_per_cell);
        let weights: Vec<f32> = sums
            .iter()
            .enumerate()
            // Filtering lets bright texels leak into black cells, so no cell is quite impossible.
            .map(|(index, sum)| (sum / texels_per_cell + 0.01 * mean) * cell_angle(index))
            .collect();
        let power = weights.iter().sum::<f32>();
        (power > 0.0).then(|| Self { map: map.clone(), columns, rows, cells: Distribution::new(weights), power })
    }

    /// Luminance integrated over the sphere, cd sr / m2.
    pub fn power(&self) -> f32 {
        self.power
    }

    /// About what illuminance in lux it brings if nothing stands in the way, whichever way a place faces: a quarter of
    /// what comes from everywhere, if that is much alike.
    pub fn expected(&self, _place: &Place) -> f32 {
        0.25 * self.power
    }

    /// What a tree of lights knows of it.
    pub fn node(&self) -> LightNode {
        LightNode::far(0.25 * self.power, Vec3::NEG_Y, -1.0)
    }

    /// A direction toward the sky, its radiance, and the density of the choice per steradian.
    fn choose(&self, u: [f32; 2]) -> Option<(Vec3, Vec3, f32)> {
        let choice = self.cells.sample(u[0]);
        let (row, column) = (choice.index / self.columns, choice.index % self.columns);
        let uv = Vec2::new((column as f32 + choice.rest) / self.columns as f32, uniform_in_row(row, self.rows, u[1]));
        let density = choice.probability / solid_angle(row, self.columns, self.rows);
        let radiance = self.map.picture.sample(uv).truncate() * self.map.scale;
        (density > 0.0).then(|| (self.map.direction(uv).normalize(), radiance, density))
    }

    /// A ray of its light into the scene, chosen by four numbers in `[0, 1)`.
    pub fn emit(&self, surroundings: &Surroundings, u: [f32; 4]) -> Option<Emission> {
        let (toward, radiance, density) = self.choose([u[2], u[3]])?;
        let ray = surroundings.ray(-toward, [u[0], u[1]]);
        let power = radiance * (surroundings.disc() / density);
        Some(Emission { ray, power, radiance: None, range: f32::INFINITY })
    }

    pub fn sample(&self, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        let (direction, radiance, density) = self.choose(u)?;
        let cosine = normal.dot(direction);
        if cosine <= 0.0 {
            return None;
        }
        Some(LightSample {
            ray: Ray::new(at, direction),
            direction,
            irradiance: radiance * (cosine / density),
            density: Some(density),
        })
    }

    pub fn density(&self, direction: Vec3) -> f32 {
        let uv = self.map.uv(direction);
        let column = ((uv.x * self.columns as f32) as usize).min(self.columns - 1);
        let row = ((uv.y * self.rows as f32) as usize).min(self.rows - 1);
        self.cells.probability(row * self.columns + column) / solid_angle(row, self.columns, self.rows)
    }
}

/// Cosines of the polar angles that bound a row.
fn row_cosines(row: usize, rows: usize) -> (f32, f32) {
    let cosine = |edge: usize| sin_cos_turns(0.5 * edge as f32 / rows as f32).1;
    (cosine(row), cosine(row + 1))
}

/// Steradians of a cell.
fn solid_angle(row: usize, columns: usize, rows: usize) -> f32 {
    let (top, bottom) = row_cosines(row, rows);
    (top - bottom) * core::f32::consts::TAU / columns as f32
}

/// The picture's v coordinate within a row, uniform on the sphere.
fn uniform_in_row(row: usize, rows: usize, u: f32) -> f32 {
    let (top, bottom) = row_cosines(row, rows);
    arc_cosine(top + (bottom - top) * u) / core::f32::consts::PI
}
