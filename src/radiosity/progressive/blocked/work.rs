//! Benchmark of shooting at once and in subscenes: prints a row of a table in `docs/benchmarks/subscenes.md`.
//!
//! ```text
//! SUBSCENES=4 CANDIDATES=16 cargo test --release --no-default-features --lib what_shooting_takes -- --ignored \
//!     --nocapture
//! ```
//!
//! With `ALL=1` all triangles are tested against each shaft, and rays against all triangles found, as in the thesis.

use std::env::var;
use std::sync::Arc;

use super::super::refinement::Refinement;
use super::super::schedule::tolerance;
use super::super::tally::Sums;
use super::super::{CandidateSearch, Options, Place, Refine};
use super::Blocked;
use crate::accel::{Preset, World};
use crate::builtin_scenes;
use crate::lightmap::{Elements, Layout, LayoutSettings};
use crate::partition::{PartitionKind, PartitionSettings};
use crate::progress::Unmonitored;
use crate::radiosity::SubsceneSettings;
use crate::radiosity::cpu::InsideTest;

/// Requested error.
const ERROR: f64 = 0.1;

/// Returns the value of an environment variable.
fn asked(name: &str, default: f32) -> f32 {
    var(name).map_or(default, |value| value.parse().expect("a number"))
}

/// Returns the CPU time of this process, in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells");
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("ticks")).sum::<f64>()
        / 100.0
}

/// Shoots until the unshot power is negligible.
fn shoot(refinement: &mut dyn Refine) {
    let tolerance = tolerance(refinement.unshot_power(), refinement.patches() as f64, ERROR);
    while refinement.strongest_power().is_some_and(|power| power > tolerance) {
        refinement.shoot_on(tolerance, &|| true).unwrap();
    }
}

#[test]
#[ignore = "prints a row of a table"]
fn what_shooting_takes() {
    let scene = Arc::new(builtin_scenes::build("habitacion_grande").expect("it is built in"));
    let layout = LayoutSettings { texels_per_meter: asked("DENSITY", 1.5), ..LayoutSettings::default() };
    let (layout, _) = Layout::build(&scene, &layout, &Unmonitored).expect("it fits");
    let world = World::build(scene.clone(), Preset::fast());
    let elements = Elements::build(&scene, &layout, &world, &Unmonitored).expect("nobody cancels");
    let inside_test = InsideTest::new(&scene, &world);
    let is_open = |id| {
        let point = elements.center_point(&scene, id);
        !inside_test.is_inside(&point, point.geometric_normal).0
    };
    let visible: Vec<f32> = elements.ids().map(|id| if is_open(id) { 1.0 } else { 0.0 }).collect();
    let sources: Vec<_> = elements.emission.iter().map(|radiance| *radiance * core::f32::consts::PI).collect();
    let place = Place { scene: &scene, world: &world, elements: &elements, visible: &visible, weights: &[] };
    let search = if asked("ALL", 0.0) > 0.0 {
        CandidateSearch::All
    } else {
        CandidateSearch::Tree { max_count: asked("CANDIDATES", 1.0) as usize }
    };
    let options = Options { search, noise: 0.3 * ERROR as f32, max_bytes: 1 << 30, seed: 0 };
    let count = asked("SUBSCENES", 0.0) as u32;
    let before = cpu_seconds();
    let (shots, patches, [sight, masks], Sums { shafts, empty, lists, listed, tested }) = if count == 0 {
        let mut whole = Refinement::new(place, &sources, &options);
        shoot(&mut whole);
        (whole.shots(), whole.patches(), [whole.rays(), 0], whole.tally())
    } else {
        let partition = PartitionSettings { kind: PartitionKind::Uniform, count, ..PartitionSettings::default() };
        let mask_resolution = asked("MASKS", SubsceneSettings::default().mask_resolution as f32) as u32;
        let settings = SubsceneSettings { partition, mask_resolution, ranks: false };
        let mut blocked = Blocked::new(place, &sources, &options, &settings).expect("it can be cut");
        shoot(&mut blocked);
        let rays = [0, 1].map(|kind| blocked.workers.iter().map(|worker| worker.rays()[kind]).sum());
        (blocked.shots(), blocked.patches(), rays, blocked.sites.tally())
    };
    println!(
        "| {count} | {search:?} | {} elements | {patches} patches | {:.2} cpu-s | {shots} shots | {:.2} M shafts | {:.1} \
         % empty | {:.1} % listed | {:.1} a list | {:.1} triangles tested a shaft | {:.2} M sight rays | {:.2} M mask rays |",
        elements.len(),
        cpu_seconds() - before,
        shafts as f64 * 1e-6,
        100.0 * empty as f64 / shafts as f64,
        100.0 * lists as f64 / shafts as f64,
        listed as f64 / lists as f64,
        tested as f64 / shafts as f64,
        sight as f64 * 1e-6,
        masks as f64 * 1e-6,
    );
}
