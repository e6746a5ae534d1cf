//! Elements so small and bright that gather rays sample them as lights.
//!
//! A lamp that stands 5 mm below a ceiling lights one texel of it a thousand times as much as the room. The texel lights
//! the whole room, but one gather ray in a thousand meets it, so noise would fall only with hundreds of thousands of
//! rays. Therefore most of the direct light that such an element reflects is sampled as that of a light. The rest, what
//! its radiosity differs from the sampled part by, is met by chance as usual. The sum is right whatever the sampled part
//! is, so that need not be exact (a control variate).

use bytemuck::{Pod, Zeroable};
use glam::Vec3;
use rayon::prelude::*;

use super::HALVES;
use super::accumulators::Accumulators;
use super::backend::Step;
use super::cpu::{Transport, direct_light};
use super::surroundings::Surroundings;
use crate::lightmap::{ElementId, Elements};
use crate::scene::luminance;

/// The variance of a gather ray over the square of the adaptation level, beyond which an element counts as bright: that
/// of a ray that would need 1,600 others to leave 5 %.
const MOST_VARIANCE: f32 = 4.0;

/// The part of that variance from which a closer look is worth it: the first samples may have missed most of the light.
const WORTH_A_LOOK: f32 = 0.05;

/// Most elements that get a closer look, and most that are sampled as lights.
const MOST_LOOKED_AT: usize = 256;
pub(crate) const MOST_BRIGHT: usize = 16;

/// Samples of direct light of a closer look, and those that measure the part that is sampled as a light.
const LOOK_SAMPLES: u32 = 256;
const MEASURE_SAMPLES: u32 = 1 << 16;

/// The part of the reflected direct light that is sampled. It should not be more than there is, which samples tell within a
/// few per cent.
const SAMPLED_PART: f32 = 0.9;

/// Samples of direct light that bright elements get at once, and the relative standard error below which they get no more.
const DIRECT_SAMPLES: u32 = 1 << 14;
const ERROR_OF_DIRECT: f32 = 0.01;

/// An element that gather rays sample as a light.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct BrightElement {
    /// The number of the element.
    pub element: u32,
    /// The chance that a sample goes to this one.
    pub chance: f32,
    /// Area in square meters.
    pub area: f32,
    /// The part of its radiosity that is sampled, lm/m2.
    pub radiosity: Vec3,
}

impl BrightElement {
    /// The one for an element, if it is sampled.
    #[inline]
    pub(super) fn find(bright: &[Self], element: ElementId) -> Option<&Self> {
        bright.iter().find(|bright| bright.element == element.0)
    }

    /// Density per steradian of samples at a point of it, at a squared distance, seen under a cosine.
    pub(super) fn density(&self, distance_squared: f32, cosine: f32) -> f32 {
        self.chance * distance_squared / (cosine.abs() * self.area).max(f32::MIN_POSITIVE)
    }
}

/// Finds the bright elements, by the first samples of direct light of all elements.
pub(super) fn find(
    transport: &Transport,
    surroundings: &Surroundings,
    halves: &[Accumulators; HALVES],
) -> Vec<BrightElement> {
    let elements = transport.elements;
    let aimed = |half: &Accumulators, element: usize| {
        let sums = &half.sums[element];
        sums.aimed / sums.aimed_count.max(1) as f32
    };
    let light: Vec<Vec3> =
        (0..elements.len()).map(|element| 0.5 * (aimed(&halves[0], element) + aimed(&halves[1], element))).collect();
    let variances = variances_of_rays(transport, surroundings, &light);
    let variance = |element: usize, light: Vec3| {
        luminance(elements.reflectance[element] * light).powi(2) * elements.area[element] * variances[element]
    };
    let brightest = |mut found: Vec<(usize, f32)>, least: f32, most: usize| {
        found.retain(|(_, variance)| *variance > least);
        // By their numbers where they are alike, so that the order is always the same.
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(most);
        found
    };
    // Rays may pass the others, so their samples would have to.
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
    let candidates = brightest(all, WORTH_A_LOOK * MOST_VARIANCE, MOST_LOOKED_AT);
    let look =
        |&(element, _): &(usize, f32)| (element, variance(element, direct_light(transport, element, LOOK_SAMPLES)));
    let chosen = brightest(candidates.par_iter().map(look).collect(), MOST_VARIANCE, MOST_BRIGHT);
    let measure = |&(element, _): &(usize, f32)| BrightElement {
        element: element as u32,
        chance: 0.0,
        area: elements.area[element],
        radiosity: elements.reflectance[element] * direct_light(transport, element, MEASURE_SAMPLES) * SAMPLED_PART,
    };
    let mut bright: Vec<BrightElement> = chosen.par_iter().map(measure).collect();
    let power = |bright: &BrightElement| luminance(bright.radiosity) * bright.area;
    bright.retain(|bright| power(bright) > 0.0 && power(bright).is_finite());
    let all: f32 = bright.iter().map(power).sum();
    bright.iter_mut().for_each(|bright| bright.chance = power(bright) / all);
    bright
}

/// The step that finds the direct light of bright elements well: what they have, a whole room has.
pub(super) fn more_direct_light(bright: &[BrightElement], elements: &Elements) -> Step {
    let mut tolerance = vec![f32::INFINITY; elements.len()];
    for bright in bright {
        let element = bright.element as usize;
        let light = luminance(bright.radiosity) / luminance(elements.reflectance[element]) / SAMPLED_PART;
        tolerance[element] = ERROR_OF_DIRECT * light;
    }
    Step::Direct { samples: DIRECT_SAMPLES, tolerance: tolerance.into() }
}

/// The variance that a gather ray has by an element, over the square of the adaptation level at the ray's start, for a
/// radiosity and an area of one: what half of all that see the element have at least.
fn variances_of_rays(transport: &Transport, surroundings: &Surroundings, direct: &[Vec3]) -> Vec<f32> {
    let elements = transport.elements;
    let open = vec![1.0; elements.len()];
    let direct: Vec<f32> = direct.iter().map(|light| luminance(*light)).collect();
    let light = surroundings.foresee(elements, &open, &direct, None);
    let levels = surroundings.adaptation(elements, &open, &light);
    // A ray meets the element with a probability of its area over pi times the squared distance, cosines left out.
    surroundings.median_of_views(|element, seen| {
        let distance_squared = elements.centre[element].distance_squared(elements.centre[seen]);
        1.0 / (core::f32::consts::PI * distance_squared * levels[seen] * levels[seen]).max(f32::MIN_POSITIVE)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::kdtree::BruteForce;
    use crate::progress::Unmonitored;
    use crate::radiosity::test_scene::{TestScene, grey};
    use crate::radiosity::{CpuBackend, Hits, Method, SolverSettings, Step, TransportBackend};

    /// The indirect irradiance and its mean, lux, in a scene where gather rays sample some elements as lights.
    fn indirect(test: &TestScene, bright: &[BrightElement], rays: u32) -> (f64, Vec<f32>) {
        let (scene, elements) = (Arc::new(test.scene.clone()), test.elements());
        let world = BruteForce::new(&scene);
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
        let light: Vec<f32> = backend.read(0).unwrap().iter().map(|reading| luminance(reading.indirect)).collect();
        let (sum, area) = light
            .iter()
            .zip(&elements.area)
            .fold((0.0, 0.0), |(sum, all), (light, area)| (sum + f64::from(light * area), all + f64::from(*area)));
        (sum / area, light)
    }

    #[test]
    fn the_light_is_the_same_whatever_part_of_it_is_sampled_as_that_of_lights() {
        let mut test = TestScene::default();
        test.room(Vec3::new(2.0, 1.5, 1.0), 6, |_| grey(0.6));
        test.point_light(Vec3::new(0.6, 1.2, 0.4), 10.0);
        let elements = test.elements();
        // One in a corner, where a wall comes as near as can be, and one in the middle of the floor.
        let bright = |element: usize, chance: f32, radiosity: f32| BrightElement {
            element: element as u32,
            chance,
            area: elements.area[element],
            radiosity: Vec3::splat(radiosity),
        };
        let (mean, light) = indirect(&test, &[], 4096);
        let (other_mean, other_light) = indirect(&test, &[bright(0, 0.7, 3.0), bright(14, 0.3, 5.0)], 4096);
        assert!((other_mean / mean - 1.0).abs() < 1e-3, "{other_mean} instead of {mean}");
        for (element, (a, b)) in light.iter().zip(&other_light).enumerate() {
            assert!((a / b - 1.0).abs() < 0.06, "{b} instead of {a} at {}", elements.centre[element]);
        }
    }

    #[test]
    fn a_lamp_close_to_a_ceiling_lights_the_floor_by_way_of_one_texel() {
        // A gray ceiling of 4 m by 4 m in a black room of 3 m. Half of the lamp's light goes straight to the floor, I / h^2
        // below the lamp. The ceiling sends back half of the other half: its flux is 2 pi I, and a small diffuse source of
        // flux F is as bright as F / (pi h^2) below itself.
        for (gap, method) in
            [(0.001, Method::Gather), (0.005, Method::Gather), (0.02, Method::Gather), (0.005, Method::Stochastic)]
        {
            let mut test = TestScene::default();
            let room = test.room(Vec3::new(4.0, 3.0, 4.0), 24, |face| grey(if face == 1 { 0.5 } else { 0.0 }));
            test.point_light(Vec3::new(2.03, 3.0 - gap, 2.03), 300.0);
            let (elements, solution) = test.solve(&SolverSettings { method, ..SolverSettings::default() });
            // The mean of some texels, since the error that is asked for is that of single ones.
            let foot = Vec3::new(2.03, 0.0, 2.03);
            let below: Vec<usize> =
                elements.of_surface(room[0]).filter(|element| elements.centre[*element].distance(foot) < 0.3).collect();
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
            let world = BruteForce::new(&scene);
            let mut backend = CpuBackend::new(&scene, &world, &elements, 0);
            backend.run(&Step::Direct { samples: 8, tolerance: [].into() }, &Unmonitored).unwrap();
            let transport = Transport::new(&scene, &world, &elements, 0);
            let surroundings = Surroundings::new(&transport, &Unmonitored).unwrap();
            let bright = find(&transport, &surroundings, &backend.snapshot().unwrap());
            assert_eq!(bright.len(), expected, "{bright:?}");
            assert!(bright.iter().all(|bright| (bright.chance * expected as f32 - 1.0).abs() < 1e-6));
        }
    }

    /// A gray room of 2 m with a lamp so far below the middle of a texel of its ceiling.
    fn near_the_ceiling(gap: f32) -> TestScene {
        let mut test = TestScene::default();
        test.room(Vec3::splat(2.0), 16, |_| grey(0.5));
        test.point_light(Vec3::new(0.9375, 2.0 - gap, 0.9375), 20.0);
        test
    }
}
