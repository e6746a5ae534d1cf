//! Tests of device products against CPU products.

use glam::Vec3;

use super::super::context::{small_test_device, test_device};
use super::*;
use crate::geometry::sobol::{hash2, unit_float};
use crate::low_rank::{Packed, PatchId, Patches};

fn random(a: usize, b: usize) -> f32 {
    unit_float(hash2(a as u32, b as u32))
}

/// Returns transport with patches of different sizes and arbitrary values.
fn transport(elements: usize, count: usize) -> LowRank {
    let end = |patch: usize| (elements as f64 * (patch as f64 / count as f64).powf(1.5)).round() as u32 + patch as u32;
    let offsets: Vec<u32> = (0..=count).map(end).collect();
    let elements = elements + count;
    let patches = Patches { order: (0..elements as u32).collect(), shares: vec![1.0; elements], offsets };
    let is_dark = |row: usize, column: usize| (row / 40 + column / 11).is_multiple_of(3);
    let entry = |row: usize, column: usize| if is_dark(row, column) { 0.0 } else { random(row, column) };
    let matrix = |rows: usize, seed: usize| {
        Packed::new(rows, count, 0.0, |row, dense| {
            dense.iter_mut().enumerate().for_each(|(column, value)| *value = entry(row + seed, column) / count as f32);
        })
    };
    LowRank {
        weights: (0..elements).map(|row| Vec3::new(random(row, 1), random(row, 2), random(row, 3))).collect(),
        views: matrix(elements, 0),
        bounces: [matrix(count, 100_000), matrix(count, 200_000), matrix(count, 300_000)],
        patches,
    }
}

fn direct(elements: usize) -> Vec<Vec3> {
    (0..elements).map(|row| Vec3::new(random(row, 4), 10.0 * random(row, 5), 0.1 * random(row, 6))).collect()
}

fn assert_alike(found: &[Vec3], wanted: &[Vec3]) {
    assert_eq!(found.len(), wanted.len());
    for (row, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let difference = (*found - *wanted).abs();
        assert!((difference / wanted.max(Vec3::splat(1e-6))).max_element() < 1e-4, "{row}: {found}, {wanted}");
    }
}

#[test]
fn the_device_finds_the_light_that_the_processor_finds() {
    let Some(gpu) = test_device() else { return };
    // One element per patch and more; the last block and the last tile are not full.
    for [elements, count] in [[0, 1], [500, 7], [3000, 133]] {
        let low_rank = transport(elements, count);
        let direct = direct(low_rank.elements());
        let mut wanted = vec![Vec3::ZERO; direct.len()];
        low_rank.relight(&direct, &mut wanted);
        let on_device = GpuLowRank::new(&gpu, &low_rank).unwrap();
        assert_alike(&on_device.relight(&direct).unwrap(), &wanted);
        // No light of the previous call remains.
        assert_alike(&on_device.relight(&direct).unwrap(), &wanted);
    }
}

#[test]
fn sums_of_the_processor_come_to_the_same_light() {
    let Some(gpu) = test_device() else { return };
    let low_rank = transport(2000, 64);
    let on_device = GpuLowRank::new(&gpu, &low_rank).unwrap();
    let direct = direct(low_rank.elements());
    on_device.start(&low_rank.first_bounce(&direct));
    let mut wanted = vec![Vec3::ZERO; direct.len()];
    low_rank.relight(&direct, &mut wanted);
    assert_alike(&on_device.indirect().unwrap(), &wanted);
}

#[test]
fn light_that_is_not_finite_counts_as_darkness() {
    let Some(gpu) = test_device() else { return };
    let low_rank = transport(1000, 24);
    let on_device = GpuLowRank::new(&gpu, &low_rank).unwrap();
    let mut direct = direct(low_rank.elements());
    let patch = |patch| low_rank.patches.of(PatchId(patch));
    direct[patch(3).start] = Vec3::NAN;
    direct[patch(9).start].y = f32::INFINITY;
    let mut wanted = vec![Vec3::ZERO; direct.len()];
    low_rank.relight(&direct, &mut wanted);
    assert!(wanted.iter().all(|light| light.is_finite()));
    assert_alike(&on_device.relight(&direct).unwrap(), &wanted);
}

#[test]
fn as_many_patches_fit_as_their_arrays_have_room_for() {
    // A thousand patches, whose form factors take twice the available room: half of them fit. Bounces of four times the
    // room: half fit as well. Patches come in groups of eight.
    assert_eq!(patches_that_fit(1000, [200, 10], 100), 496);
    assert_eq!(patches_that_fit(1000, [50, 400], 100), 496);
    assert_eq!(patches_that_fit(1000, [100, 100], 100), 1000);
    assert_eq!(patches_that_fit(1000, [400, 400], 100), 248);
}

#[test]
fn a_small_device_takes_as_many_patches_as_the_refusal_says_and_not_one_more() {
    // Form factors of 1,000 elements decide first, then bounces between patches: 16 bits each, without gaps.
    for (elements, expected) in [(1000, 256), (100, 512)] {
        let Some(gpu) = small_test_device(1 << 19) else { return };
        let filled = |rows: usize, columns: usize| Packed::new(rows, columns, 0.0, |_, dense| dense.fill(0.5));
        let transport = |count: usize| {
            let bounces = filled(count, count);
            let offsets = (0..=count).map(|patch| (patch * elements / count) as u32).collect();
            let patches = Patches { order: (0..elements as u32).collect(), shares: vec![1.0; elements], offsets };
            let bounces = [bounces.clone(), bounces.clone(), bounces];
            LowRank { weights: vec![Vec3::ONE; elements], views: filled(elements, count), bounces, patches }
        };
        let fit_of = |count: usize| match GpuLowRank::new(&gpu, &transport(count)).err() {
            Some(GpuFault::TooManyPatches { fit, patches, .. }) => Some((fit, patches)),
            other => other.map(|fault| panic!("{fault}")),
        };
        assert_eq!(fit_of(700), Some((expected, 700)), "{elements}");
        assert_eq!(fit_of(expected), None);
        assert_eq!(fit_of(expected + 1), Some((expected, expected + 1)));
    }
}

#[test]
fn a_refusal_says_how_many_patches_would_fit() {
    let fault = GpuFault::TooManyPatches {
        patches: 4000,
        fit: 1100,
        bytes: 500,
        limit: 128,
        adapter: "a small card".to_owned(),
    };
    let text = fault.to_string();
    assert!(text.contains("4000 patches") && text.contains("at most 1100") && text.contains("a small card"), "{text}");
}
