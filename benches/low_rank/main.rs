//! Speed of low-rank radiosity, compared with its paper (`001`, table 3).
//!
//! Arguments such as `221184x216` select rows. Four tables are printed:
//!
//! * Solutions per second for one vector of emission, as in the paper, with V dense and sparse (as offsets); for all
//!   three channels; and the read bandwidth of the matrix, compared with a plain copy of memory.
//! * V^T E alone, for one vector with V dense and sparse, and for all three channels. It includes the speedup of sparse
//!   V for V^T E (table 1 of the paper) and for the whole solution (table 2). One line per level size gives the time
//!   for new reflectances: K of each channel again.
//! * Whole updates of a room with a moving lamp, without packing pages for a texture.
//! * With the feature `gpu`: the GPU's speed (lavapipe if there is no other). The first columns are all three channels
//!   with upload and readback: all on the GPU, or sums on the CPU and the product on the GPU. Then follow times without
//!   transfer, with V dense, of V^T E alone on GPU and CPU, and of a plain copy of GPU memory.
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

mod update;

use std::hint::black_box;
use std::time::Instant;

use bevy_radiosity::low_rank::{LowRank, Packed, Patches, tiles};
use glam::Vec3;
use rayon::prelude::*;

/// CPU results of the paper for a row.
struct Paper {
    /// Solutions per second, dense and sparse (table 3).
    solutions: [u32; 2],
    /// Speedup of sparse V: for V^T E alone (table 1), and for the whole solution (table 2).
    gain: [f32; 2],
}

const fn paper(solutions: [u32; 2], gain: [f32; 2]) -> Option<Paper> {
    Some(Paper { solutions, gain })
}

/// Elements, patches, and results of the paper. `None` where its memory did not suffice.
const ROWS: [(usize, usize, Option<Paper>); 13] = [
    (3_456, 216, paper([814, 1_591], [15.67, 1.95])),
    (3_456, 864, paper([221, 372], [68.33, 1.69])),
    (13_824, 216, paper([196, 374], [21.67, 1.91])),
    (3_456, 3_456, paper([70, 100], [75.75, 1.43])),
    (13_824, 864, paper([51, 96], [92.11, 1.88])),
    (55_296, 216, paper([47, 90], [17.42, 1.90])),
    (13_824, 3_456, paper([14, 24], [335.5, 1.74])),
    (55_296, 864, paper([12, 23], [94.03, 1.95])),
    (221_184, 216, paper([11, 23], [24.01, 2.05])),
    (55_296, 3_456, None),
    (221_184, 864, None),
    (221_184, 3_456, None),
    (1_048_576, 216, None),
];

/// Elements and patches for new reflectances. `assets/level.glb` has as many elements at 4 texels per meter.
const PAINTED: [(usize, usize); 2] = [(56_182, 216), (56_182, 2_000)];

/// Minimum number of runs of each measurement. The fastest counts, since other processes interfere.
const MIN_RUNS: usize = 7;
const MIN_SECONDS: f64 = 0.6;

/// Bytes of a copy, far beyond all caches.
const COPY: usize = 256 << 20;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| argument.contains('x')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    println!(
        "| elements x patches | dense /s (paper) | sparse /s (paper) | of the paper's | RGB /s | read GB/s | a plain read GB/s | copy GB/s | MB; with V stored whole |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let source = vec![1u8; COPY];
    let mut target = vec![0u8; COPY];
    let mut rows = Vec::new();
    for (elements, count, paper) in ROWS {
        let name = format!("{elements}x{count}");
        if !is_wanted(&name) {
            continue;
        }
        let (reading, copying) = (seconds(|| read(&source)), seconds(|| copy(&source, &mut target)));
        let row = Row::measure(elements, count);
        let (reading_again, copying_again) = (seconds(|| read(&source)), seconds(|| copy(&source, &mut target)));
        let of_paper =
            |which: usize| paper.as_ref().map_or_else(String::new, |it| format!(" ({})", it.solutions[which]));
        let ratio = paper.as_ref().map_or_else(
            || "-".to_owned(),
            |paper| format!("{:.1}x", 1.0 / row.sparse / f64::from(paper.solutions[1])),
        );
        println!(
            "| {name} | {:.0}{} | {:.0}{} | {ratio} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1}; {:.1} |",
            1.0 / row.dense,
            of_paper(0),
            1.0 / row.sparse,
            of_paper(1),
            1.0 / row.rgb,
            row.bytes as f64 / row.product * 1e-9,
            COPY as f64 / reading.min(reading_again) * 1e-9,
            2.0 * COPY as f64 / copying.min(copying_again) * 1e-9,
            row.bytes as f64 * 1e-6,
            (row.bytes + row.bytes_of_v) as f64 * 1e-6,
        );
        rows.push((name, row, paper));
    }
    println!(
        "\n| elements x patches | V^T E dense, us | sparse, us | dense / sparse (paper) | three channels, us | whole solution, dense / sparse (paper) |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for (name, row, paper) in &rows {
        let of_paper = |which: usize| paper.as_ref().map_or_else(String::new, |it| format!(" ({})", it.gain[which]));
        println!(
            "| {name} | {:.1} | {:.1} | {:.1}{} | {:.1} | {:.2}{} |",
            1e6 * row.sums_dense,
            1e6 * row.sums_sparse,
            row.sums_dense / row.sums_sparse,
            of_paper(0),
            1e6 * row.sums_rgb,
            row.dense / row.sparse,
            of_paper(1),
        );
    }
    for (elements, count) in PAINTED {
        if is_wanted(&format!("{elements}x{count}")) {
            let mut low_rank = transport(patches(elements, count), matrix(elements, count));
            let start = Instant::now();
            low_rank.set_reflectance(&vec![Vec3::splat(0.4); elements]);
            println!("\n{elements}x{count}, new reflectances: {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
        }
    }
    println!(
        "\n| room: elements x patches | rays | light and sums, ms | product and pages, ms | cpu-ms, both | updates /s |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for (elements, count) in update::ROOMS {
        if is_wanted(&format!("{elements}x{count}"))
            && let Err(fault) = update::report(elements, count)
        {
            println!("{fault}");
        }
    }
    #[cfg(feature = "gpu")]
    if let Err(fault) = device::report(is_wanted) {
        println!("{fault}");
    }
}

/// Time of one solution in seconds, by variant.
struct Row {
    dense: f64,
    sparse: f64,
    rgb: f64,
    /// Product with the large matrix alone, all channels.
    product: f64,
    bytes: usize,
    /// Size of dense V, in bytes.
    bytes_of_v: usize,
    /// V^T E alone: one vector with V dense and sparse, and all channels.
    sums_dense: f64,
    sums_sparse: f64,
    sums_rgb: f64,
}

impl Row {
    fn measure(elements: usize, count: usize) -> Self {
        let patches = patches(elements, count);
        let views = matrix(elements, count);
        let emitted: Vec<[f32; 1]> = (0..elements).map(|element| [(element % 13) as f32]).collect();
        let shares: Vec<[f32; 1]> = patches.shares.iter().map(|&share| [share]).collect();
        let mut radiosity = vec![[0.0f32; 1]; elements];
        let sparse = seconds(|| {
            let sums = patches.sums(&shares, &emitted);
            views.multiply(&tiles(&sums), &mut radiosity);
            add(&mut radiosity, &emitted);
        });
        let averaging = matrix(count, elements);
        let vector = tiles(&emitted);
        let mut sums = vec![[0.0f32; 1]; count];
        let dense = seconds(|| {
            averaging.multiply(&vector, &mut sums);
            views.multiply(&tiles(&sums), &mut radiosity);
            add(&mut radiosity, &emitted);
        });
        let sums_dense = seconds(|| averaging.multiply(&vector, &mut sums));
        let sums_sparse = seconds(|| _ = black_box(patches.sums(&shares, &emitted)));
        let bytes_of_v = averaging.bytes();
        drop(averaging);
        let vector = tiles(&vec![[1.0, 2.0, 3.0]; count]);
        let mut products = vec![[0.0f32; 3]; elements];
        let product = seconds(|| views.multiply(&vector, &mut products));
        let bytes = views.bytes();
        let low_rank = transport(patches, views);
        let direct = vec![Vec3::ONE; elements];
        let mut indirect = vec![Vec3::ZERO; elements];
        let rgb = seconds(|| low_rank.relight(&direct, &mut indirect));
        let sums_rgb = sums_seconds(&low_rank);
        Self { dense, sparse, rgb, product, bytes, bytes_of_v, sums_dense, sums_sparse, sums_rgb }
    }
}

/// Returns the time of V^T E on the CPU for all channels, in seconds.
fn sums_seconds(low_rank: &LowRank) -> f64 {
    let direct = vec![Vec3::ONE; low_rank.elements()];
    seconds(|| _ = black_box(low_rank.first_bounce(&direct)))
}

/// Measurements on the GPU.
#[cfg(feature = "gpu")]
mod device {
    use bevy_radiosity::gpu::{Gpu, GpuFault, GpuLowRank};
    use wgpu::{BufferDescriptor, BufferUsages, CommandEncoder};

    use super::*;

    /// Number of solutions per submission, so that its fixed cost is small.
    const AT_ONCE: u32 = 8;

    pub fn report(is_wanted: impl Fn(&str) -> bool) -> Result<(), GpuFault> {
        let gpu = Gpu::headless()?;
        println!(
            "\n| {}: elements x patches | RGB /s | sums on the processor /s | without transfer /s | dense /s | V^T E there, us \
             | on the processor, us | read GB/s | copy GB/s |",
            gpu.name()
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        for (elements, count, _) in ROWS {
            let name = format!("{elements}x{count}");
            if !is_wanted(&name) {
                continue;
            }
            let low_rank = transport(patches(elements, count), matrix(elements, count));
            let bytes = low_rank.bytes();
            let on_device = match GpuLowRank::new(&gpu, &low_rank) {
                Ok(on_device) => on_device,
                Err(fault) => {
                    println!("| {name} | {fault} |");
                    continue;
                }
            };
            let direct = vec![Vec3::ONE; elements];
            let whole = seconds(|| {
                black_box(on_device.relight(&direct).ok());
            });
            let hybrid = seconds(|| {
                on_device.start(&low_rank.first_bounce(&direct));
                black_box(on_device.indirect().ok());
            });
            let sums = recorded(&gpu, |encoder| on_device.record_sums(encoder));
            let products = recorded(&gpu, |encoder| on_device.record_products(encoder));
            let alone = recorded(&gpu, |encoder| on_device.record(encoder));
            drop(on_device);
            let dense = GpuLowRank::new(&gpu, &averaging(elements, count)).map(|averaging| {
                let sums = recorded(&gpu, |encoder| averaging.record_products(encoder));
                format!("{:.0}", 1.0 / (sums + products))
            });
            println!(
                "| {name} | {:.0} | {:.0} | {:.0} | {} | {:.1} | {:.1} | {:.1} | {:.1} |",
                1.0 / whole,
                1.0 / hybrid,
                1.0 / alone,
                dense.unwrap_or_else(|_| "no room".to_owned()),
                1e6 * sums,
                1e6 * sums_seconds(&low_rank),
                bytes as f64 / products * 1e-9,
                copy_speed(&gpu),
            );
        }
        Ok(())
    }

    /// Returns the GPU time of some commands in seconds, without the submission cost.
    fn recorded(gpu: &Gpu, record: impl Fn(&mut CommandEncoder)) -> f64 {
        let all = seconds(|| {
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            (0..AT_ONCE).for_each(|_| record(&mut encoder));
            gpu.queue().submit([encoder.finish()]);
            black_box(gpu.wait().ok());
        });
        all / f64::from(AT_ONCE)
    }

    /// Returns dense V, as a transport whose elements are the patches and see all elements.
    fn averaging(elements: usize, count: usize) -> LowRank {
        let offsets = (0..=elements as u32).collect();
        let patches = Patches { order: (0..count as u32).collect(), shares: vec![1.0; count], offsets };
        LowRank { weights: vec![Vec3::ONE; count], patches, views: matrix(count, elements), ..LowRank::default() }
    }

    /// Returns the bandwidth of a plain copy (reads and writes), in GB/s.
    fn copy_speed(gpu: &Gpu) -> f64 {
        let size = (COPY as u64).min(gpu.device().limits().max_buffer_size);
        let usage = BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let buffer =
            || gpu.device().create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        let [source, target] = [buffer(), buffer()];
        let took = recorded(gpu, |encoder| encoder.copy_buffer_to_buffer(&source, 0, &target, 0, size));
        2.0 * size as f64 / took * 1e-9
    }
}

/// Returns a transport with arbitrary values.
fn transport(patches: Patches, views: Packed) -> LowRank {
    let count = patches.len();
    let bounces = matrix(count, count);
    LowRank {
        weights: vec![Vec3::splat(0.5); patches.order.len()],
        patches,
        views,
        bounces: [bounces.clone(), bounces.clone(), bounces],
    }
}

/// Returns patches of equal size.
fn patches(elements: usize, count: usize) -> Patches {
    let offsets: Vec<u32> = (0..=count).map(|patch| (patch * elements / count) as u32).collect();
    let shares =
        offsets.windows(2).flat_map(|ends| vec![1.0 / (ends[1] - ends[0]) as f32; (ends[1] - ends[0]) as usize]);
    Patches { order: (0..elements as u32).collect(), shares: shares.collect(), offsets }
}

/// Returns a matrix of arbitrary values without zeros.
fn matrix(rows: usize, columns: usize) -> Packed {
    let numbers: Vec<f32> = (0..columns + 64).map(|index| 1.0 + (index % 61) as f32).collect();
    Packed::new(rows, columns, 0.0, |row, dense| dense.copy_from_slice(&numbers[row % 64..][..columns]))
}

fn add(radiosity: &mut [[f32; 1]], emitted: &[[f32; 1]]) {
    let chunks = radiosity.par_chunks_mut(1 << 14).zip(emitted.par_chunks(1 << 14));
    chunks.for_each(|(radiosity, emitted)| {
        radiosity.iter_mut().zip(emitted).for_each(|(radiosity, emitted)| radiosity[0] += emitted[0]);
    });
    black_box(radiosity);
}

/// Reads memory with minimal computation.
fn read(source: &[u8]) {
    let add = |source: &[u8]| {
        source.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).fold(0, u64::wrapping_add)
    };
    black_box(source.par_chunks(1 << 20).map(add).reduce(|| 0, u64::wrapping_add));
}

fn copy(source: &[u8], target: &mut [u8]) {
    let chunks = target.par_chunks_mut(1 << 20).zip(source.par_chunks(1 << 20));
    chunks.for_each(|(target, source)| target.copy_from_slice(source));
    black_box(target);
}

/// Returns the time of the fastest run, in seconds.
fn seconds(mut run: impl FnMut()) -> f64 {
    run();
    let (mut fastest, mut all, mut runs) = (f64::INFINITY, 0.0, 0);
    while runs < MIN_RUNS || all < MIN_SECONDS {
        let start = Instant::now();
        run();
        let took = start.elapsed().as_secs_f64();
        fastest = fastest.min(took);
        all += took;
        runs += 1;
    }
    fastest
}
