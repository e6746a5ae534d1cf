//! Adaptation level of the eye at each element, the reference for errors.
//!
//! An error of five lux is invisible in sunlight, but half of the light in a cellar. Errors are therefore divided by an
//! adaptation level. The level is the larger of the mean irradiance around the element, and a tenth of that of visible
//! surfaces. A shadow beside sunlit ground is compared with a tenth of the sun, a cellar with its own lamp.
//!
//! Elements are grouped in [`Cells`], and a few rays of each cell find the cells that it sees. The same rays predict
//! indirect light approximately, before a solver has computed any bounce.

use std::sync::Arc;

use glam::Vec2;
use rayon::prelude::*;

use super::cells::Cells;
use super::cpu::{End, Source, Transport, Until};
use super::seeds::Stage;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, Elements};
use crate::lights::LightPmf;
use crate::progress::{Cancelled, Monitor};
use crate::scene::luminance;

/// Width of the cells for mean irradiances, in texels.
const CELL_TEXELS: f32 = 4.0;

/// Number of rays of each cell that find other cells.
const RAYS: usize = 16;

/// Weight of the visible surroundings in the adaptation level.
const SHARE_OF_VIEW: f32 = 0.1;

/// Minimum adaptation level, relative to the mean irradiance of the scene.
const DARKEST: f32 = 1e-5;

/// Minimum adaptation level in a scene without light, in lux. It keeps quotients finite.
const DARKEST_OF_ALL: f32 = 1e-20;

/// Maximum number of predicted bounces. They cover 99.9 % of the light in a closed room of reflectance 0.9.
const MAX_BOUNCES: u32 = 64;

/// Entry of a ray that hit no element.
const NOTHING: u32 = u32::MAX;

/// Cells of all elements, and the cells that each of them sees.
pub struct CellViews {
    cells: Cells,
    /// Cells hit by the [`RAYS`] rays of each cell, or [`NOTHING`].
    hit_cells: Vec<[u32; RAYS]>,
    /// Mean luminance of the reflectance of each cell.
    reflectance: Vec<f32>,
}

impl CellViews {
    /// Traces rays from each cell.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels.
    pub fn new(transport: &Transport, monitor: &dyn Monitor) -> Result<Self, Cancelled> {
        let elements = transport.elements;
        let cells = Cells::new(elements, CELL_TEXELS);
        let members = cells.members();
        let view = |(cell, members): (usize, &Vec<u32>)| {
            monitor.check()?;
            Ok(trace_view(transport, &cells.of_element, cell as u32, members))
        };
        let hit_cells = members
            .par_iter()
            .enumerate()
            .with_min_len(16)
            .with_max_len(16)
            .map(view)
            .collect::<Result<_, Cancelled>>()?;
        let mean_reflectance = |members: &Vec<u32>| {
            let sum: f32 = members.iter().map(|&element| luminance(elements.reflectance[element as usize])).sum();
            sum / members.len().max(1) as f32
        };
        let reflectance = members.iter().map(mean_reflectance).collect();
        Ok(Self { cells, hit_cells, reflectance })
    }

    /// Returns the adaptation level of each element, in lux, given its irradiance (luminance in lux) and visible
    /// fraction.
    pub fn adaptation(&self, elements: &Elements, visible: &[f32], irradiance: &[f32]) -> Arc<[f32]> {
        let light = self.means(elements, visible, irradiance);
        let open = |element: usize| f64::from(elements.area[element] * visible[element]);
        let (sum, area) = irradiance.iter().enumerate().fold((0.0, 0.0), |(sum, area), (element, light)| {
            (sum + open(element) * f64::from(*light), area + open(element))
        });
        let mean = if area > 0.0 { (sum / area) as f32 } else { 0.0 };
        let level = |(own, hit_cells): (&f32, &[u32; RAYS])| {
            let seen = hit_cells.iter().map(|&cell| light.get(cell as usize).copied().unwrap_or(0.0)).sum::<f32>();
            own.max(SHARE_OF_VIEW * seen / RAYS as f32).max(DARKEST * mean).max(DARKEST_OF_ALL)
        };
        let levels: Vec<f32> = light.par_iter().zip(&self.hit_cells).map(level).collect();
        self.cells.of_element.iter().map(|&cell| levels[cell as usize]).collect()
    }

    /// Returns direct irradiance plus predicted indirect irradiance, luminance in lux.
    pub fn predict_light(
        &self,
        elements: &Elements,
        visible: &[f32],
        direct: &[f32],
        bounces: Option<u32>,
    ) -> Vec<f32> {
        let lit = self.means(elements, visible, direct);
        let mut indirect = vec![0.0f32; lit.len()];
        for _ in 0..bounces.unwrap_or(MAX_BOUNCES).min(MAX_BOUNCES) {
            let radiosity: Vec<f32> =
                (0..lit.len()).map(|cell| self.reflectance[cell] * (lit[cell] + indirect[cell])).collect();
            let gather = |hit_cells: &[u32; RAYS]| {
                let sum: f32 = hit_cells.iter().filter_map(|&cell| radiosity.get(cell as usize)).sum();
                sum / RAYS as f32
            };
            indirect = self.hit_cells.par_iter().map(gather).collect();
        }
        direct.iter().zip(&self.cells.of_element).map(|(light, &cell)| light + indirect[cell as usize]).collect()
    }

    /// Returns the median of a value over the view of each element's cell. The value is computed from the first element
    /// of the cell, and the first one of a seen cell. Rays that see nothing count as zero.
    pub fn median_of_views(&self, value: impl Fn(usize, usize) -> f32 + Sync) -> Vec<f32> {
        let firsts: Vec<usize> = self.cells.members().iter().map(|members| members[0] as usize).collect();
        let median = |(cell, hit_cells): (usize, &[u32; RAYS])| {
            let mut values =
                hit_cells.map(|seen| firsts.get(seen as usize).map_or(0.0, |&seen| value(firsts[cell], seen)));
            values.sort_by(f32::total_cmp);
            values[RAYS / 2]
        };
        let medians: Vec<f32> = self.hit_cells.par_iter().enumerate().map(median).collect();
        self.cells.of_element.iter().map(|&cell| medians[cell as usize]).collect()
    }

    /// Returns the mean of a value over the visible area of each cell.
    fn means(&self, elements: &Elements, visible: &[f32], values: &[f32]) -> Vec<f32> {
        let open: Vec<f32> = elements.area.iter().zip(visible).map(|(area, visible)| area * visible).collect();
        let weighted: Vec<f32> = open.iter().zip(values).map(|(open, value)| open * value).collect();
        let (areas, sums) = (self.cells.sums(&open), self.cells.sums(&weighted));
        areas.iter().zip(&sums).map(|((_, area), (_, sum))| if *area > 0.0 { sum / area } else { 0.0 }).collect()
    }
}

/// Returns the cells hit by rays from the elements of a cell.
fn trace_view(transport: &Transport, cells: &[u32], cell: u32, members: &[u32]) -> [u32; RAYS] {
    let points = OwenSobol::new(hash2(transport.seed_of(0, Stage::Survey, 0), cell));
    core::array::from_fn(|ray| {
        let element = members[ray * members.len() / RAYS] as usize;
        let [x, y, u, v] = points.point(ray as u32);
        let sampler = transport.elements.sampler(transport.scene, ElementId::from_index(element));
        let point = sampler.sample(Vec2::new(x, y));
        let direction = cosine_hemisphere(point.shading_normal, Vec2::new(u, v));
        let source = Source {
            element,
            may_be_inside: true,
            light_pmf: LightPmf::All(0).into(),
            until: Until::Element,
            bright: &[],
        };
        match transport.gather(&source, &point, direction, hash2(cell, ray as u32)).end {
            End::Element(hit) => cells[hit.index()],
            End::Lost | End::Inside => NOTHING,
        }
    })
}

#[cfg(test)]
mod tests {
    use glam::{Affine3A, Vec3};

    use super::*;
    use crate::accel::BruteForce;
    use crate::geometry::SurfaceId;
    use crate::progress::Unmonitored;
    use crate::radiosity::test_scene::{TestScene, gray};

    /// Calls a function with the cell views and elements of a test scene.
    fn with_cell_views<T>(test: &TestScene, check: impl FnOnce(&CellViews, &Elements) -> T) -> T {
        let (elements, world) = (test.elements(), BruteForce::new(&test.scene));
        let transport = Transport::new(&test.scene, &world, &elements, 0);
        check(&CellViews::new(&transport, &Unmonitored).unwrap(), &elements)
    }

    #[test]
    fn a_dark_room_is_judged_by_its_own_light_and_a_shadow_in_the_sun_by_a_tenth_of_what_it_sees() {
        let mut test = TestScene::default();
        test.room(Vec3::splat(2.0), 8, |_| gray(0.5));
        let apart = test.scene.surfaces.len();
        test.room(Vec3::splat(2.0), 8, |_| gray(0.5));
        for surface in &mut test.scene.surfaces[apart..] {
            surface.to_world = Affine3A::from_translation(Vec3::X * 10.0);
        }
        with_cell_views(&test, |cell_views, elements| {
            let bright = elements.of_surface(SurfaceId::from_index(apart)).start;
            let light = |element: usize| if element < bright { 10_000.0 } else { 1.0 };
            let mut lit: Vec<f32> = (0..elements.len()).map(light).collect();
            let visible = vec![1.0; elements.len()];
            let levels = cell_views.adaptation(elements, &visible, &lit);
            assert!(levels[..bright].iter().all(|&level| (level - 10_000.0).abs() < 1.0));
            assert!(levels[bright..].iter().all(|&level| (level - 1.0).abs() < 1e-3));
            let floor = elements.of_surface(SurfaceId::from_index(0));
            lit[floor.clone()].fill(20.0);
            let levels = cell_views.adaptation(elements, &visible, &lit);
            // All surfaces seen by the floor have 10,000 lux.
            assert!(levels[floor].iter().all(|&level| (level - 1_000.0).abs() < 1.0));
        });
    }

    #[test]
    fn nothing_is_judged_by_less_than_a_hundred_thousandth_of_the_mean() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4; 2], gray(0.5));
        test.quad(Vec3::X * 9.0, Vec3::Z, Vec3::X, [4; 2], gray(0.5));
        with_cell_views(&test, |cell_views, elements| {
            let lit: Vec<f32> = (0..32).map(|element| if element < 16 { 200.0 } else { 0.0 }).collect();
            let levels = cell_views.adaptation(elements, &[1.0; 32], &lit);
            assert_eq!(levels[0], 200.0);
            assert!((levels[31] / 1e-3 - 1.0).abs() < 1e-5, "{}", levels[31]);
        });
    }

    #[test]
    fn foreseen_light_is_a_geometric_series_of_the_reflectance_in_a_closed_room() {
        let mut test = TestScene::default();
        test.room(Vec3::splat(2.0), 8, |_| gray(0.75));
        with_cell_views(&test, |cell_views, elements| {
            let all = |bounces| {
                let light =
                    cell_views.predict_light(elements, &vec![1.0; elements.len()], &vec![1.0; elements.len()], bounces);
                light.iter().map(|&light| f64::from(light)).sum::<f64>() / light.len() as f64
            };
            for (bounces, expected) in [(None, 4.0), (Some(0), 1.0), (Some(2), 1.0 + 0.75 + 0.5625)] {
                assert!((all(bounces) / expected - 1.0).abs() < 1e-3, "{} instead of {expected}", all(bounces));
            }
        });
    }
}
