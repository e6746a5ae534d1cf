//! Tests of low rank against the complete matrix, in a closed box of one meter (`001` section 8).

use std::sync::Arc;

use glam::Vec3;
use nalgebra::DMatrix;
use rayon::prelude::*;

use super::inverse::inverse_of_one_minus;
use super::kind::coarse_for;
use super::*;
use crate::accel::BruteForce;
use crate::geometry::{Ray, RayQuery};
use crate::lightmap::{ElementId, Elements};
use crate::progress::Unmonitored;
use crate::radiosity::test_scene::{TestScene, gray};
use crate::radiosity::{CpuBackend, Hits, Step, TransportBackend};
use crate::scene::Scene;

/// Reflectances of floor, ceiling and walls.
const REFLECTANCES: [f32; 6] = [0.7, 0.7, 0.5, 0.5, 0.6, 0.6];

/// Maximum relative change of the reflected power with the fewest patches of any test.
const MAX_POWER_LOST: f64 = 0.02;

/// Box with its complete form-factor matrix.
struct Whole {
    elements: Elements,
    /// Number of elements along each edge of the box.
    edge: usize,
    /// Form-factor matrix, row by row.
    factors: Vec<f32>,
}

impl Whole {
    /// Creates a box of `6 * edge * edge` elements. Form factors are those of disks between centers. Rows sum to at
    /// most one.
    fn new(edge: u32) -> Self {
        Self::of(edge, |_| {})
    }

    /// Creates a box of 20 elements along each edge, with two blocks on the floor. Block faces have 8 by 8 elements,
    /// without bottoms.
    fn with_blocks() -> Self {
        Self::of(20, |test| {
            for (min, max) in [([0.15, 0.0, 0.2], [0.45, 0.6, 0.5]), ([0.55, 0.0, 0.5], [0.85, 0.3, 0.8])] {
                let (min, [x, y, z]) = (Vec3::from(min), (Vec3::from(max) - Vec3::from(min)).to_array());
                let (x, y, z) = (Vec3::X * x, Vec3::Y * y, Vec3::Z * z);
                for (corner, u, v) in [(min + y, z, x), (min, y, x), (min + z, x, y), (min, z, y), (min + x, y, z)] {
                    test.quad(corner, u, v, [8; 2], gray(0.6));
                }
            }
        })
    }

    fn of(edge: u32, furnish: impl FnOnce(&mut TestScene)) -> Self {
        let mut test = TestScene::default();
        test.room(Vec3::ONE, edge, |face| gray(REFLECTANCES[face]));
        furnish(&mut test);
        let elements = test.elements();
        let world = BruteForce::new(&test.scene);
        let mut whole = Self { factors: Vec::new(), elements, edge: edge as usize };
        let count = whole.elements.len();
        let mut factors = vec![0.0; count * count];
        factors.par_chunks_mut(count).enumerate().for_each(|(from, row)| {
            row.iter_mut()
                .enumerate()
                .for_each(|(to, factor)| *factor = whole.disc(from, to) * whole.open(&world, from, to));
            let sum: f32 = row.iter().sum();
            row.iter_mut().for_each(|factor| *factor /= sum.max(1.0));
        });
        whole.factors = factors;
        whole
    }

    fn disc(&self, from: usize, to: usize) -> f32 {
        let Elements { center, geometric_normal, area, .. } = &self.elements;
        let across = center[to] - center[from];
        let cosines = geometric_normal[from].dot(across).max(0.0) * geometric_normal[to].dot(-across).max(0.0);
        let squared = across.length_squared();
        if cosines > 0.0 { area[to] * cosines / squared / (core::f32::consts::PI * squared + area[to]) } else { 0.0 }
    }

    /// Returns the visibility between two centers, one or zero.
    fn open(&self, world: &BruteForce, from: usize, to: usize) -> f32 {
        let [here, there] = [from, to].map(|at| {
            let Elements { center, geometric_normal, .. } = &self.elements;
            center[at] + 1e-4 * geometric_normal[at]
        });
        world.blocked(&Ray::between(here, there)).0.x
    }

    fn len(&self) -> usize {
        self.elements.len()
    }

    fn factor(&self, from: usize, to: usize) -> f32 {
        self.factors[from * self.len() + to]
    }

    fn reflectance(&self, element: usize) -> f64 {
        f64::from(self.elements.reflectance[element].x)
    }

    /// Multiplies F by a vector.
    fn received(&self, radiosity: &[f64]) -> Vec<f64> {
        let row = |row: &[f32]| row.iter().zip(radiosity).map(|(&factor, light)| f64::from(factor) * light).sum();
        self.factors.par_chunks_exact(self.len()).map(row).collect()
    }

    /// Solves (I - RF) B = E to a residual below 1e-12.
    fn solve(&self, emitted: &[f64]) -> Vec<f64> {
        let mut radiosity = emitted.to_vec();
        loop {
            let received = self.received(&radiosity);
            let next: Vec<f64> = (0..self.len())
                .map(|element| emitted[element] + self.reflectance(element) * received[element])
                .collect();
            let residual = next.iter().zip(&radiosity).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if residual < 1e-12 {
                return radiosity;
            }
            radiosity = next;
        }
    }

    /// Returns the emission of a square light in the ceiling, from one texel to another.
    fn light(&self, from: usize, to: usize) -> Vec<f64> {
        let Self { edge, .. } = *self;
        let ceiling = edge * edge;
        let mut emitted = vec![0.0; self.len()];
        for (y, x) in (from..to).flat_map(|y| (from..to).map(move |x| (y, x))) {
            emitted[ceiling + y * edge + x] = 1.0;
        }
        emitted
    }

    fn patches(&self, max: usize) -> Patches {
        Patches::uniform(&self.elements, &vec![1.0; self.len()], max)
    }

    /// Creates patches of coherent views.
    fn coherent_patches(&self, max: usize) -> Patches {
        let coarse = self.patches(coarse_for(max));
        let views = Rows::of_form_factors(&coarse, |from, to| self.factor(from, to));
        coarse.coherent_up_to(&self.elements, &vec![1.0; self.len()], [&views; 2], max)
    }

    fn low_rank(&self, max: usize) -> LowRank {
        self.transport(self.patches(max))
    }

    fn transport(&self, patches: Patches) -> LowRank {
        let rows = Rows::of_form_factors(&patches, |from, to| self.factor(from, to));
        LowRank::new(patches, &self.elements.reflectance, &rows, 0.0)
    }

    /// Returns the reflected light of all elements for two lights with exact direct irradiance, one light a channel.
    fn relit(&self, low_rank: &LowRank, emitted: [&[f64]; 2]) -> [Vec<f64>; 2] {
        let direct = emitted.map(|emitted| self.received(emitted));
        let light: Vec<Vec3> =
            (0..self.len()).map(|at| Vec3::new(direct[0][at] as f32, direct[1][at] as f32, 0.0)).collect();
        let mut indirect = vec![Vec3::ZERO; self.len()];
        low_rank.relight(&low_rank.sorted(&light), &mut indirect);
        let mut reflected = [vec![0.0; self.len()], vec![0.0; self.len()]];
        for (row, &element) in low_rank.patches.order.iter().enumerate() {
            let element = element as usize;
            for channel in 0..2 {
                let received = direct[channel][element] + f64::from(indirect[row][channel]);
                reflected[channel][element] = self.reflectance(element) * received;
            }
        }
        reflected
    }
}

/// Returns the length of the difference of two vectors, relative to the length of the second.
fn error(found: &[f64], truth: &[f64]) -> f64 {
    let squares = |of: &mut dyn Iterator<Item = f64>| of.map(|value| value * value).sum::<f64>();
    let difference = squares(&mut found.iter().zip(truth).map(|(found, truth)| found - truth));
    (difference / squares(&mut truth.iter().copied())).sqrt()
}

/// Returns the power of radiosities, summed over all elements.
fn power(whole: &Whole, light: &[f64]) -> f64 {
    light.iter().zip(&whole.elements.area).map(|(light, &area)| light * f64::from(area)).sum()
}

/// Returns the maximum difference of two vectors, relative to the maximum of the second.
fn largest_error(found: &[f64], truth: &[f64]) -> f64 {
    let largest = |of: &mut dyn Iterator<Item = f64>| of.map(f64::abs).fold(0.0, f64::max);
    largest(&mut found.iter().zip(truth).map(|(found, truth)| found - truth)) / largest(&mut truth.iter().copied())
}

/// Returns the errors of two lights with `rank` patches: for patches of one size, then of coherent views.
fn errors_by(whole: &Whole, rank: usize, lights: &[Vec<f64>; 2], truths: &[Vec<f64>; 2]) -> [[f64; 2]; 2] {
    let by_size = whole.patches(rank);
    assert_eq!(by_size.len(), rank);
    [by_size, whole.coherent_patches(rank)].map(|patches| {
        let count = patches.len();
        let found = whole.relit(&whole.transport(patches), [&lights[0], &lights[1]]);
        let errors = [0, 1].map(|light| error(&found[light], &truths[light]));
        let with_emission = [0, 1].map(|light| {
            let all = |reflected: &[f64]| reflected.iter().zip(&lights[light]).map(|(a, b)| a + b).collect::<Vec<_>>();
            error(&all(&found[light]), &all(&truths[light]))
        });
        let largest = [0, 1].map(|light| largest_error(&found[light], &truths[light]));
        let powers = [0, 1].map(|light| power(whole, &found[light]) / power(whole, &truths[light]));
        println!("k = {count}: {errors:?}, with emission {with_emission:?}, at most {largest:?}, power {powers:?}");
        assert!(powers.iter().all(|power| (power - 1.0).abs() < MAX_POWER_LOST), "{powers:?}");
        errors
    })
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

#[test]
fn the_oracle_is_what_lu_finds() {
    let whole = Whole::new(8);
    let count = whole.len();
    let emitted = whole.light(2, 4);
    let matrix = DMatrix::from_fn(count, count, |row, column| {
        f64::from(u8::from(row == column)) - whole.reflectance(row) * f64::from(whole.factor(row, column))
    });
    let by_lu = matrix.lu().solve(&DMatrix::from_column_slice(count, 1, &emitted)).unwrap();
    assert!(error(&whole.solve(&emitted), by_lu.as_slice()) < 1e-10);
}

#[test]
fn with_the_first_bounce_exact_light_is_as_near_the_whole_matrix_as_published_or_nearer_at_every_rank() {
    let whole = Whole::new(24);
    // One light ends at the edges of patches, the other does not.
    let lights = [whole.light(8, 16), whole.light(3, 8)];
    let truths = lights.each_ref().map(|emitted| minus(&whole.solve(emitted), emitted));
    let mut before = f64::INFINITY;
    // Published values have three decimals. The errors of the first light are equal in all variants.
    for (rank, max) in [(54, [0.0265, 0.275]), (216, [0.0115, 0.031]), (864, [0.0035, 0.017])] {
        let [errors, by_view] = errors_by(&whole, rank, &lights, &truths);
        assert!(errors[0] < max[0] && errors[1] < max[1], "{rank}: {errors:?}");
        assert!(errors[1] < before);
        before = errors[1];
        // The first light ends at the edges of patches of one size, but not of those of coherent views.
        assert!(by_view[0] < 1.5 * max[0] && by_view[1] < max[1], "{rank}: {by_view:?}");
    }
}

#[test]
fn behind_blocks_too_light_is_as_near_the_whole_matrix_as_published_or_nearer() {
    let whole = Whole::with_blocks();
    assert_eq!(whole.len(), 3040);
    // The positions of the published blocks and lights are unknown.
    let lights = [whole.light(8, 12), whole.light(3, 7)];
    let truths = lights.each_ref().map(|emitted| minus(&whole.solve(emitted), emitted));
    for (rank, max) in [(34, [0.287, 0.315]), (190, [0.048, 0.028]), (760, [0.017, 0.013])] {
        for errors in errors_by(&whole, rank, &lights, &truths) {
            assert!(errors[0] < max[0] && errors[1] < max[1], "{rank}: {errors:?}");
        }
    }
}

#[test]
fn both_ways_to_solve_agree_and_leave_no_residual() {
    let whole = Whole::new(12);
    let (count, patches) = (whole.len(), whole.patches(54));
    let (rank, patch_of) = (patches.len(), patches.of_elements());
    let rows = Rows::of_form_factors(&patches, |from, to| whole.factor(from, to));
    let mut reflecting = DMatrix::<f64>::zeros(count, rank);
    let mut averaging = DMatrix::<f64>::zeros(count, rank);
    for element in 0..count {
        for &(patch, seen) in rows.of(element) {
            reflecting[(element, patch.index())] = whole.reflectance(element) * f64::from(seen);
        }
    }
    for (row, &element) in patches.order.iter().enumerate() {
        averaging[(element as usize, patch_of[element as usize].index())] = f64::from(patches.shares[row]);
    }
    let emitted = DMatrix::from_column_slice(count, 1, &whole.light(1, 4));
    let all_bounces = inverse_of_one_minus(averaging.transpose() * &reflecting, &Unmonitored).unwrap();
    let means = averaging.transpose() * &emitted;
    // Equations 5 and 6. The Y of equation 6 includes the minus sign.
    let radiosity = &emitted + &reflecting * (&all_bounces * &means);
    let folded = -(&reflecting * &all_bounces);
    assert!((&emitted - &folded * &means - &radiosity).amax() < 1e-12);
    let residual = &radiosity - &reflecting * (averaging.transpose() * &radiosity) - &emitted;
    assert!(residual.amax() < 1e-12, "{}", residual.amax());

    // The product also holds with sixteen bits a value.
    let low_rank = whole.low_rank(54);
    let folded = Packed::new(count, rank, 0.0, |row, dense| {
        let element = low_rank.patches.order[row] as usize;
        dense.iter_mut().enumerate().for_each(|(patch, value)| *value = -folded[(element, patch)] as f32);
    });
    let direct: Vec<Vec3> =
        low_rank.sorted(&whole.light(1, 4)).iter().map(|&light| Vec3::splat(light as f32)).collect();
    let mut indirect = vec![Vec3::ZERO; count];
    low_rank.relight(&direct, &mut indirect);
    let means: Vec<[f32; 1]> = low_rank.first_bounce(&direct).iter().map(|mean| [mean[0]]).collect();
    // The averaged light has not been reflected yet.
    let plain: Vec<[f32; 1]> = low_rank
        .patches
        .ids()
        .map(|patch| {
            let range = low_rank.patches.of(patch);
            [range.map(|row| direct[row].x * low_rank.patches.shares[row]).sum()]
        })
        .collect();
    let mut product = vec![[0.0f32; 1]; count];
    folded.multiply(&tiles(&plain), &mut product);
    assert_eq!(means.len(), plain.len());
    let largest = product.iter().map(|value| value[0]).fold(0.0, f32::max);
    for (row, product) in product.iter().enumerate() {
        let element = low_rank.patches.order[row] as usize;
        assert!((f64::from(product[0]) - (radiosity[element] - emitted[element])).abs() < 1e-4 * f64::from(largest));
    }
}

#[test]
fn sums_over_patches_are_the_product_with_all_of_v() {
    let whole = Whole::new(8);
    let low_rank = whole.low_rank(24);
    let direct: Vec<Vec3> = (0..whole.len()).map(|row| Vec3::new(row as f32, 1.0, (row % 7) as f32)).collect();
    let averaging = Packed::new(24, whole.len(), 0.0, |patch, dense| {
        low_rank.patches.of(PatchId::from_index(patch)).for_each(|row| dense[row] = low_rank.weights[row].y);
    });
    let mut product = vec![[0.0; 3]; 24];
    let light: Vec<[f32; 3]> = direct.iter().map(|light| light.to_array()).collect();
    averaging.multiply(&tiles(&light), &mut product);
    // Reflectances are gray, so all channels have the same weights.
    for (sums, product) in low_rank.first_bounce(&direct).iter().zip(&product) {
        (0..3).for_each(|channel| assert!((sums[channel] / product[channel] - 1.0).abs() < 1e-4));
    }
}

#[test]
fn form_factors_without_reflectance_are_not_what_is_used() {
    // With equation 7 as printed, every bounce in a closed box would return all light.
    let whole = Whole::new(12);
    let emitted = whole.light(4, 8);
    let truth = minus(&whole.solve(&emitted), &emitted);
    let mut low_rank = whole.low_rank(54);
    assert!(error(&whole.relit(&low_rank, [&emitted, &emitted])[0], &truth) < 0.05);
    low_rank.set_reflectance(&vec![Vec3::ONE; whole.len()]);
    assert!(error(&whole.relit(&low_rank, [&emitted, &emitted])[0], &truth) > 4.0);
}

#[test]
fn the_importance_of_patches_times_their_radiosity_is_all_light_that_elements_receive() {
    let whole = Whole::new(8);
    let low_rank = whole.low_rank(24);
    let first: Vec<Vec3> = (0..24).map(|patch| Vec3::new(1.0, (patch % 3) as f32, (patch % 5) as f32 - 2.0)).collect();
    let area: Vec<f32> = (0..whole.len()).map(|row| 0.5 + (row % 7) as f32).collect();
    let received: Vec3 = low_rank.spread(&first).iter().zip(&area).map(|(light, area)| light * area).sum();
    let sent: Vec3 = low_rank.importance(&area).iter().zip(&first).map(|(importance, first)| importance * first).sum();
    assert!((received - sent).abs().max_element() < 1e-3 * received.abs().max_element(), "{received} {sent}");
}

#[test]
fn twice_the_light_is_twice_as_bright_and_two_lights_add_up() {
    let whole = Whole::new(8);
    let low_rank = whole.low_rank(24);
    let relit = |light: &dyn Fn(usize) -> Vec3| {
        let direct: Vec<Vec3> = (0..whole.len()).map(light).collect();
        let mut indirect = vec![Vec3::ZERO; whole.len()];
        low_rank.relight(&direct, &mut indirect);
        indirect
    };
    let one = |row: usize| Vec3::new((row % 5) as f32, 1.0, 0.0);
    let other = |row: usize| Vec3::new(0.3, (row % 3) as f32, 2.0);
    let (first, second) = (relit(&one), relit(&other));
    let both = relit(&|row| 2.0 * one(row) + 0.5 * other(row));
    for (row, both) in both.iter().enumerate() {
        let sum = 2.0 * first[row] + 0.5 * second[row];
        assert!((sum - *both).length() < 1e-5 * sum.length(), "{both} instead of {sum}");
    }
}

/// Number of rays for the comparison with analytic form factors of a closed box.
const RAYS: u32 = 512;

/// Creates a closed gray room. Returns the scene and its elements.
fn furnace(edge: u32) -> (Arc<Scene>, Elements) {
    let mut test = TestScene::default();
    test.room(Vec3::new(2.0, 1.0, 1.5), edge, |_| gray(0.6));
    let elements = test.elements();
    (Arc::new(test.scene), elements)
}

#[test]
fn a_closed_room_of_even_light_reflects_the_geometric_series() {
    let (scene, elements) = furnace(6);
    let world = BruteForce::new(&scene);
    let patches = Patches::uniform(&elements, &vec![1.0; elements.len()], 24);
    let mut backend = CpuBackend::new(&scene, &world, &elements, 1);
    let rows = Rows::by_rays(&patches, &mut backend, 16, &Unmonitored).unwrap();
    let low_rank = LowRank::new(patches, &elements.reflectance, &rows, 0.01);
    let mut indirect = vec![Vec3::ZERO; elements.len()];
    low_rank.relight(&vec![Vec3::new(1.0, 2.0, 3.0); elements.len()], &mut indirect);
    // Every ray in a closed room hits an element. The result is exactly 0.6 / (1 - 0.6) of the direct light.
    for light in indirect {
        assert!((light / 1.5 - Vec3::new(1.0, 2.0, 3.0)).abs().max_element() < 2e-3, "{light}");
    }
}

#[test]
fn every_way_to_find_what_elements_see_comes_to_the_same_light() {
    let (scene, elements) = furnace(6);
    let world = BruteForce::new(&scene);
    let factors = ElementFormFactors::new(&scene, &world, &elements);
    let patches = || Patches::uniform(&elements, &vec![1.0; elements.len()], 54);
    let of_patches = PatchFormFactors::new(&scene, &world, &elements, &patches());
    let mut backend = CpuBackend::new(&scene, &world, &elements, 1);
    backend.run(&Step::Gather { rays: vec![RAYS; elements.len()], hits: Hits::Store }, &Unmonitored).unwrap();
    let stored = backend.snapshot().unwrap().into_owned();
    let mut fresh = CpuBackend::new(&scene, &world, &elements, 2);
    let ways = [
        Rows::of_form_factors(&patches(), |from, to| factors.between(from, to)),
        Rows::by_rays(&patches(), &mut fresh, RAYS, &Unmonitored).unwrap(),
        Rows::of_hits(&patches(), stored.iter().flat_map(|half| &half.stored)),
        Rows::of_patch_form_factors(&patches(), |from, to| of_patches.between(from, to)),
    ];
    // A convex patch has the sum of its elements' form factors. Rows leave out zeros, which rounding may avoid.
    let dense = |rows: &Rows, element: usize| {
        let mut all = [0.0; 54];
        rows.of(element).iter().for_each(|&(patch, share)| all[patch.index()] = share);
        all
    };
    for element in 0..elements.len() {
        let [summed, whole] = [&ways[0], &ways[3]].map(|rows| dense(rows, element));
        for (patch, (summed, whole)) in summed.into_iter().zip(whole).enumerate() {
            assert!((summed - whole).abs() < 1e-5, "element {element}, patch {patch}: {summed} {whole}");
        }
    }
    let light = |at: Vec3| Vec3::splat(1.0 / (0.05 + at.distance_squared(Vec3::new(0.4, 0.6, 0.3))));
    let relit = ways.map(|rows| {
        let low_rank = LowRank::new(patches(), &elements.reflectance, &rows, 0.0);
        let direct: Vec<Vec3> = elements.center.iter().map(|&center| light(center)).collect();
        let mut indirect = vec![Vec3::ZERO; elements.len()];
        low_rank.relight(&low_rank.sorted(&direct), &mut indirect);
        indirect.iter().map(|light| f64::from(light.x)).collect::<Vec<_>>()
    });
    // A thousand rays estimate a form factor of one third to within 5 %, and most patches cover less.
    for by_rays in &relit[1..] {
        let error = error(by_rays, &relit[0]);
        println!("{error}");
        assert!(error < 0.02, "{error}");
    }
}

#[test]
fn a_patch_behind_a_board_is_seen_in_part() {
    let mut test = TestScene::default();
    test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [1; 2], gray(0.5));
    test.quad(Vec3::new(0.0, 1.0, 0.0), Vec3::X, Vec3::Z, [8; 2], gray(0.5));
    // The board hides the half of the ceiling beyond x = 0.5 from the floor's center.
    test.quad(Vec3::new(0.5, 0.5, 0.0), Vec3::X, Vec3::Z, [1; 2], gray(0.5));
    let elements = test.elements();
    let world = BruteForce::new(&test.scene);
    let patches = Patches::new(
        &[vec![ElementId(0)], (1..65).map(ElementId).collect(), vec![ElementId(65)]],
        &vec![1.0; elements.len()],
    );
    let found = PatchFormFactors::new(&test.scene, &world, &elements, &patches).between(0, PatchId(1));
    // Howell B-3: four quarters, each with edges of half the distance.
    let root = 1.25f32.sqrt();
    let whole = 4.0 * 2.0 * (0.5 / root) * libm::atanf(0.5 / root) / (2.0 * core::f32::consts::PI);
    assert!((found / whole - 0.5).abs() < 0.13, "{found} of {whole}");
}

#[test]
fn with_the_first_bounce_from_patches_too_light_is_that_of_the_matrix_of_low_rank() {
    let whole = Whole::new(8);
    let (count, rank) = (whole.len(), 24);
    let low_rank = whole.low_rank(rank);
    let rows = Rows::of_form_factors(&low_rank.patches, |from, to| whole.factor(from, to));
    let emitted = whole.light(2, 4);
    // Equation 5: the whole matrix of U times V transposed.
    let mut share = vec![0.0; count];
    low_rank
        .patches
        .order
        .iter()
        .zip(&low_rank.patches.shares)
        .for_each(|(&at, &part)| share[at as usize] = part.into());
    let patch_of = low_rank.patches.of_elements();
    let matrix = DMatrix::from_fn(count, count, |row, column| {
        let seen = rows.of(row).iter().find(|(patch, _)| *patch == patch_of[column]).map_or(0.0, |it| f64::from(it.1));
        f64::from(u8::from(row == column)) - whole.reflectance(row) * seen * share[column]
    });
    let by_matrix = matrix.lu().solve(&DMatrix::from_column_slice(count, 1, &emitted)).unwrap();
    let sorted: Vec<Vec3> = low_rank.patches.order.iter().map(|&at| Vec3::splat(emitted[at as usize] as f32)).collect();
    let received = low_rank.light_of_emission(&sorted);
    let mut found = emitted.clone();
    for (received, &at) in received.iter().zip(&low_rank.patches.order) {
        found[at as usize] += whole.reflectance(at as usize) * f64::from(received.x);
    }
    let difference = error(&found, by_matrix.as_slice());
    assert!(difference < 1e-3, "{difference}");
    // The exact first bounce is nearer to the light of all form factors.
    let truth = minus(&whole.solve(&emitted), &emitted);
    let coarse = error(&minus(&found, &emitted), &truth);
    let exact = error(&whole.relit(&low_rank, [&emitted, &emitted])[0], &truth);
    println!("{coarse} {exact}");
    assert!(exact < coarse && coarse < 0.5, "{exact} {coarse}");
}

#[test]
fn new_reflectances_are_as_good_as_new_transport() {
    let whole = Whole::new(8);
    let painted: Vec<Vec3> =
        whole.elements.ids().map(|id| Vec3::new(0.2, 0.5, 0.1 + 0.1 * (id.0 % 7) as f32)).collect();
    let mut edited = whole.low_rank(24);
    edited.set_reflectance(&painted);
    let patches = whole.patches(24);
    let rows = Rows::of_form_factors(&patches, |from, to| whole.factor(from, to));
    assert_eq!(edited, LowRank::new(patches, &painted, &rows, 0.0));
}

#[test]
fn any_number_of_threads_relights_with_the_same_bytes() {
    let relit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let whole = Whole::new(12);
            let low_rank = whole.low_rank(54);
            let direct: Vec<Vec3> = (0..whole.len()).map(|row| Vec3::new(row as f32, 3.0, 0.1)).collect();
            let mut indirect = vec![Vec3::ZERO; whole.len()];
            low_rank.relight(&direct, &mut indirect);
            (low_rank, indirect)
        })
    };
    assert!(relit(1) == relit(3));
}

#[test]
fn patches_bring_nearer_the_light_than_the_best_approximation_of_the_matrix_with_as_many_columns() {
    let whole = Whole::new(8);
    let (count, rank) = (whole.len(), 24);
    let emitted = whole.light(2, 4);
    let truth = minus(&whole.solve(&emitted), &emitted);
    let matrix =
        DMatrix::from_fn(count, count, |row, column| whole.reflectance(row) * f64::from(whole.factor(row, column)));
    let mut parts = matrix.svd(true, true);
    parts.singular_values.rows_mut(rank, count - rank).fill(0.0);
    let truncated = parts.recompose().unwrap();
    let emission = DMatrix::from_column_slice(count, 1, &emitted);
    let by_svd = (DMatrix::identity(count, count) - truncated).lu().solve(&emission).unwrap();
    let of_svd = error(&minus(by_svd.as_slice(), &emitted), &truth);
    let of_patches = error(&whole.relit(&whole.low_rank(rank), [&emitted, &emitted])[0], &truth);
    println!("{of_patches} {of_svd}");
    assert!(2.0 * of_patches < of_svd, "{of_patches} {of_svd}");
}

/// Creates patches of coherent views, divided from 24 coarse ones with exact views.
fn coherent(whole: &Whole, max_difference: f32, min_area: f32) -> Patches {
    let coarse = whole.patches(24);
    let views = Rows::of_form_factors(&coarse, |from, to| whole.factor(from, to));
    let coherence = Coherence { max_difference, min_area };
    coarse.coherent(&whole.elements, &vec![1.0; whole.len()], [&views; 2], coherence)
}

#[test]
fn lower_limits_never_bring_fewer_patches() {
    let whole = Whole::new(12);
    let by_difference = [2.0, 0.4, 0.2, 0.1, 0.05].map(|difference| coherent(&whole, difference, 0.0).len());
    println!("{by_difference:?}");
    assert!(by_difference.is_sorted() && by_difference[0] == 24 && by_difference[4] > 100, "{by_difference:?}");
    let by_area = [1.0, 0.1, 0.05, 0.01, 0.0].map(|area| coherent(&whole, 0.1, area).len());
    assert!(by_area.is_sorted() && by_area[0] == 24 && by_area[4] > by_area[1], "{by_area:?}");
    assert!(coherent(&whole, 0.0, 0.0).are_whole());
}

#[test]
fn there_are_never_more_patches_of_one_view_than_asked_for_and_seldom_many_fewer() {
    let whole = Whole::new(12);
    for max in [54, 100, 333, 700] {
        let patches = whole.coherent_patches(max);
        assert!(patches.len() <= max && patches.are_whole(), "{max}: {}", patches.len());
        assert!(4 * patches.len() >= 3 * max, "{max}: {}", patches.len());
    }
    let all = whole.coherent_patches(10 * whole.len());
    assert!(all.len() <= whole.len() && all.are_whole(), "{}", all.len());
}

#[test]
fn patches_are_smaller_along_edges_where_neighbors_see_different_things() {
    let whole = Whole::new(24);
    let patches = coherent(&whole, 0.3, 0.0);
    let patch_of = patches.of_elements();
    let from_edge = |element: usize| {
        let center = whole.elements.center[element];
        let mut distances = center.min(Vec3::ONE - center).to_array();
        distances.sort_by(f32::total_cmp);
        // The smallest distance is that to the element's own face.
        distances[1]
    };
    let mean_size = |counts: &dyn Fn(f32) -> bool| {
        let sizes: Vec<usize> = (0..whole.len())
            .filter(|&element| counts(from_edge(element)))
            .map(|element| patches.of(patch_of[element]).len())
            .collect();
        sizes.iter().sum::<usize>() as f32 / sizes.len() as f32
    };
    let (border, middle) = (mean_size(&|distance| distance < 0.125), mean_size(&|distance| distance > 0.25));
    println!("{border} {middle}");
    assert!(border < 0.75 * middle, "{border} and {middle} elements");
}

#[test]
fn noise_is_not_taken_for_a_difference() {
    let (scene, elements) = furnace(8);
    let world = BruteForce::new(&scene);
    let visible = vec![1.0; elements.len()];
    let coarse = Patches::uniform(&elements, &visible, 24);
    let found = |rays: u32, seed: u32| {
        let mut backend = CpuBackend::new(&scene, &world, &elements, seed);
        Rows::by_rays(&coarse, &mut backend, rays, &Unmonitored).unwrap()
    };
    let coherence = Coherence { max_difference: 0.2, min_area: 0.0 };
    let count = |views: [&Rows; 2]| coarse.coherent(&elements, &visible, views, coherence).len();
    let (one, other, good) = (found(8, 1), found(8, 2), found(512, 3));
    let (by_few, by_many, with_noise) = (count([&one, &other]), count([&good; 2]), count([&one; 2]));
    println!("{by_few} {by_many} {with_noise}");
    assert!(by_few.abs_diff(by_many) * 2 < by_many, "{by_few} instead of {by_many}");
    assert!(with_noise > by_few, "{with_noise}");
}

#[test]
fn patches_of_one_view_are_better_than_as_many_of_one_size() {
    let whole = Whole::new(24);
    let lights = [whole.light(8, 16), whole.light(3, 8)];
    let truths = lights.each_ref().map(|emitted| minus(&whole.solve(emitted), emitted));
    for difference in [0.4, 0.3] {
        let patches = coherent(&whole, difference, 0.0);
        let rank = patches.len();
        let rows = Rows::of_form_factors(&patches, |from, to| whole.factor(from, to));
        let by_view = LowRank::new(patches, &whole.elements.reflectance, &rows, 0.0);
        let by_size = whole.low_rank(rank);
        let [by_view, by_size] = [by_view, by_size].map(|low_rank| {
            let found = whole.relit(&low_rank, [&lights[0], &lights[1]]);
            ([0, 1].map(|light| error(&found[light], &truths[light])), low_rank.patches.len())
        });
        println!("{difference}: {by_view:?} {by_size:?}");
        assert_eq!(by_size.1, by_view.1);
        (0..2).for_each(|light| assert!(by_view.0[light] < by_size.0[light], "{by_view:?} {by_size:?}"));
    }
}
