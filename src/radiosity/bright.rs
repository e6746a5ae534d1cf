//! Small, bright elements that gather rays sample as lights.
//!
//! A lamp 5 mm below a ceiling lights one texel a thousand times as much as the room. The texel lights the whole room,
//! but only one gather ray in a thousand hits it. Low noise would take hundreds of thousands of rays. Gather rays
//! therefore sample most of the direct light that such an element reflects, as if it were a light. Rays that hit the
//! element by chance add the difference between its radiosity and the sampled part. The sum is unbiased for any sampled
//! part, which need not be exact (a control variate).

use bytemuck::{Pod, Zeroable};
use glam::Vec3;
use rayon::prelude::*;

use super::HALVES;
use super::accumulators::Accumulators;
use super::backend::Step;
use super::cell_views::CellViews;
use super::cpu::{Transport, direct_light};
use crate::lightmap::{ElementId, Elements};
use crate::scene::luminance;

/// Variance of a gather ray over the squared adaptation level, above which an element counts as bright. At this
/// variance 1,600 rays leave an error of 5 %.
const MAX_VARIANCE: f32 = 4.0;

/// Fraction of [`MAX_VARIANCE`] above which a candidate is measured again. The first samples may have missed most of
/// the light.
const MIN_CANDIDATE: f32 = 0.05;

/// Maximum number of candidates, and of elements sampled as lights.
const MAX_CANDIDATES_OF_A_VIEW: usize = 256;
pub(crate) const MAX_BRIGHT: usize = 16;

/// Number of direct light samples of each candidate, and of each measurement of a sampled part.
const CANDIDATE_SAMPLES: u32 = 256;
const MEASURE_SAMPLES: u32 = 1 << 16;

/// Fraction of the reflected direct light that is sampled. The sampled part should not exceed the true one, which is
/// known within a few percent.
const SAMPLED_PART: f32 = 0.9;

/// Number of direct light samples of bright elements, and the relative standard error below which they get no more.
const DIRECT_SAMPLES: u32 = 1 << 14;
const ERROR_OF_DIRECT: f32 = 0.01;

/// Element that gather rays sample as a light.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct BrightElement {
    /// Index of the element.
    pub element: u32,
    /// Probability that a sample selects this element.
    pub probability: f32,
    /// Area, in square meters.
    pub area: f32,
    /// Sampled part of the element's radiosity, in lm/m2.
    pub radiosity: Vec3,
}

impl BrightElement {
    /// Returns the entry of an element, if it is sampled as a light.
    #[inline]
    pub(super) fn find(bright: &[Self], element: ElementId) -> Option<&Self> {
        bright.iter().find(|bright| bright.element == element.0)
    }

    /// Returns the PDF of a sampled point, per steradian, given its squared distance and the cosine at the element.
    pub(super) fn pdf(&self, distance_squared: f32, cosine: f32) -> f32 {
        self.probability * distance_squared / (cosine.abs() * self.area).max(f32::MIN_POSITIVE)
    }
}

/// Finds the bright elements from the first direct light samples of all elements.
pub(super) fn find(
    transport: &Transport,
    cell_views: &CellViews,
    halves: &[Accumulators; HALVES],
) -> Vec<BrightElement> {
    let elements = transport.elements;
    let light_sampled = |half: &Accumulators, element: usize| {
        let sums = &half.sums[element];
        sums.light_sampled / sums.light_samples.max(1) as f32
    };
    let light: Vec<Vec3> = (0..elements.len())
        .map(|element| 0.5 * (light_sampled(&halves[0], element) + light_sampled(&halves[1], element)))
        .collect();
    let variances = variances_of_rays(transport, cell_views, &light);
    let variance = |element: usize, light: Vec3| {
        luminance(elements.reflectance[element] * light).powi(2) * elements.area[element] * variances[element]
    };
    let brightest = |mut found: Vec<(usize, f32)>, min_variance: f32, max_count: usize| {
        found.retain(|(_, variance)| *variance > min_variance);
        // Ties are sorted by index, so that the order is deterministic.
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(max_count);
        found
    };
    // Rays may pass through other materials, so their light samples would have to as well.
    let stops_all_rays = |(element, _): &(usize, &Vec3)| {
        let material = transport.scene.material_of(elements.surface(ElementId::from_index(*element)));
        !material.can_be_passed() && material.diffuse_transmission <= 0.0
    };
    let all = light
        .iter()
        .enumerate()
        .filter(stops_all_rays)
        .map(|(element, light)| (element, variance(element, *light)))
        .collect();
    let candidates = brightest(all, MIN_CANDIDATE * MAX_VARIANCE, MAX_CANDIDATES_OF_A_VIEW);
    let measure_again = |&(element, _): &(usize, f32)| {
        (element, variance(element, direct_light(transport, element, CANDIDATE_SAMPLES)))
    };
    let chosen =
        brightest(candidates.par_iter().with_max_len(1).map(measure_again).collect(), MAX_VARIANCE, MAX_BRIGHT);
    let measure = |&(element, _): &(usize, f32)| BrightElement {
        element: element as u32,
        probability: 0.0,
        area: elements.area[element],
        radiosity: elements.reflectance[element] * direct_light(transport, element, MEASURE_SAMPLES) * SAMPLED_PART,
    };
    let mut bright: Vec<BrightElement> = chosen.par_iter().with_max_len(1).map(measure).collect();
    let power = |bright: &BrightElement| luminance(bright.radiosity) * bright.area;
    bright.retain(|bright| power(bright) > 0.0 && power(bright).is_finite());
    let all: f32 = bright.iter().map(power).sum();
    bright.iter_mut().for_each(|bright| bright.probability = power(bright) / all);
    bright
}

/// Returns the step that computes precise direct light of bright elements, because their error affects a whole room.
pub(super) fn more_direct_light(bright: &[BrightElement], elements: &Elements) -> Step {
    let mut tolerance = vec![f32::INFINITY; elements.len()];
    for bright in bright {
        let element = bright.element as usize;
        let light = luminance(bright.radiosity) / luminance(elements.reflectance[element]) / SAMPLED_PART;
        tolerance[element] = ERROR_OF_DIRECT * light;
    }
    Step::Direct { samples: DIRECT_SAMPLES, tolerance: tolerance.into() }
}

/// Returns the median variance of gather rays due to each element, over the views of the element. It is relative to the
/// squared adaptation level at the ray's start, and for unit radiosity and area.
fn variances_of_rays(transport: &Transport, cell_views: &CellViews, direct: &[Vec3]) -> Vec<f32> {
    let elements = transport.elements;
    let open = vec![1.0; elements.len()];
    let direct: Vec<f32> = direct.iter().map(|light| luminance(*light)).collect();
    let light = cell_views.predict_light(elements, &open, &direct, None);
    let levels = cell_views.adaptation(elements, &open, &light);
    // A ray hits the element with a probability of its area over pi times the squared distance, without cosines.
    cell_views.median_of_views(|element, seen| {
        let distance_squared = elements.center[element].distance_squared(elements.center[seen]);
        1.0 / (core::f32::consts::PI * distance_squared * levels[seen] * levels[seen]).max(f32::MIN_POSITIVE)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::accel::{Preset, World};
    use crate::progress::Unmonitored;
    use crate::radiosity::test_scene::{TestScene, gray};
    use crate::radiosity::{CpuBackend, Hits, Method, SolverSettings, Step, TransportBackend};

    /// Returns the mean indirect irradiance and that of each element, in lux, with some elements sampled as lights.
    fn indirect(test: &TestScene, bright: &[BrightElement], rays: u32) -> (f64, Vec<f32>) {
        let (scene, elements) = (Arc::new(test.scene.clone()), test.elements());
        let world = World::build(scene.clone(), Preset::fast());
        let mut backend = CpuBackend::new(&scene, &world, &elements, 1);
        backend.sample_as_lights(bright).unwrap();
        let count = elements.len();
        for step in [
            Step::Direct { samples: 64, tolerance: [].into() },
            Step::Gather { rays: vec![rays; count], hits: Hits::Store },
            Step::Iterate { rays, adaptation: vec![1.0; count].into(), bounces: None },
        ] {
            backend.run(&step, &Unmonitored).unwrap();
        }
        let light: Vec<f32> =
            backend.read(0).unwrap().iter().map(|element_estimate| luminance(element_estimate.indirect)).collect();
        let (sum, area) = light
            .iter()
            .zip(&elements.area)
            .fold((0.0, 0.0), |(sum, all), (light, area)| (sum + f64::from(light * area), all + f64::from(*area)));
        (sum / area, light)
    }

    #[test]
    fn the_light_is_the_same_whatever_part_of_it_is_sampled_as_that_of_lights() {
        let mut test = TestScene::default();
        test.room(Vec3::new(2.0, 1.5, 1.0), 6, |_| gray(0.6));
        test.point_light(Vec3::new(0.6, 1.2, 0.4), 10.0);
        let elements = test.elements();
        // One element lies in a corner, next to a wall, the other in the middle of the floor.
        let bright = |element: usize, probability: f32, radiosity: f32| BrightElement {
            element: element as u32,
            probability,
            area: elements.area[element],
            radiosity: Vec3::splat(radiosity),
        };
        let (mean, light) = indirect(&test, &[], 4096);
        let (other_mean, other_light) = indirect(&test, &[bright(0, 0.7, 3.0), bright(14, 0.3, 5.0)], 4096);
        assert!((other_mean / mean - 1.0).abs() < 1e-3, "{other_mean} instead of {mean}");
        for (element, (a, b)) in light.iter().zip(&other_light).enumerate() {
            assert!((a / b - 1.0).abs() < 0.06, "{b} instead of {a} at {}", elements.center[element]);
        }
    }

    #[test]
    fn a_lamp_close_to_a_ceiling_lights_the_floor_by_way_of_one_texel() {
        // A gray ceiling of 4 m by 4 m in a black room of 3 m. Half of the lamp's light goes directly to the floor,
        // with I / h^2 below the lamp. The ceiling reflects half of the other half, so its flux is 2 pi I times 0.5. A
        // small diffuse source of flux F gives F / (pi h^2) below itself.
        for (gap, method) in
            [(0.001, Method::Gather), (0.005, Method::Gather), (0.02, Method::Gather), (0.005, Method::Stochastic)]
        {
            let mut test = TestScene::default();
            let room = test.room(Vec3::new(4.0, 3.0, 4.0), 24, |face| gray(if face == 1 { 0.5 } else { 0.0 }));
            test.point_light(Vec3::new(2.03, 3.0 - gap, 2.03), 300.0);
            let (elements, solution) = test.solve(&SolverSettings { method, ..SolverSettings::default() });
            // The mean of some texels is compared, because the requested error is that of single texels.
            let foot = Vec3::new(2.03, 0.0, 2.03);
            let below: Vec<usize> =
                elements.of_surface(room[0]).filter(|element| elements.center[*element].distance(foot) < 0.3).collect();
            let expected = [300.0 / 9.0, 0.5 * 2.0 * 300.0 / 9.0];
            let found = [&solution.direct, &solution.indirect]
                .map(|light| below.iter().map(|element| light[*element].x).sum::<f32>() / below.len() as f32);
            for (found, expected) in found.into_iter().zip(expected) {
                let error = found / expected - 1.0;
                assert!(error.abs() < 0.04, "{method:?}, {gap} m: {found} lux instead of {expected}");
            }
        }
    }

    #[test]
    fn a_room_that_is_lit_as_usual_has_no_bright_elements_nor_has_one_of_paper() {
        let mut paper = near_the_ceiling(0.01);
        paper.scene.materials.iter_mut().for_each(|material| material.diffuse_transmission = 0.2);
        for (test, expected) in
            [(TestScene::cornell(), 0), (near_the_ceiling(0.4), 0), (near_the_ceiling(0.01), 1), (paper, 0)]
        {
            let (scene, elements) = (Arc::new(test.scene.clone()), test.elements());
            let world = World::build(scene.clone(), Preset::fast());
            let mut backend = CpuBackend::new(&scene, &world, &elements, 0);
            backend.run(&Step::Direct { samples: 8, tolerance: [].into() }, &Unmonitored).unwrap();
            let transport = Transport::new(&scene, &world, &elements, 0);
            let cell_views = CellViews::new(&transport, &Unmonitored).unwrap();
            let bright = find(&transport, &cell_views, &backend.snapshot().unwrap());
            assert_eq!(bright.len(), expected, "{bright:?}");
            assert!(bright.iter().all(|bright| (bright.probability * expected as f32 - 1.0).abs() < 1e-6));
        }
    }

    /// Creates a gray room of 2 m, with a lamp `gap` meters below the center of a ceiling texel.
    fn near_the_ceiling(gap: f32) -> TestScene {
        let mut test = TestScene::default();
        test.room(Vec3::splat(2.0), 16, |_| gray(0.5));
        test.point_light(Vec3::new(0.9375, 2.0 - gap, 0.9375), 20.0);
        test
    }
}
