//! Example: accuracy of relighting, compared with bakes of the same lights. It prints the tables of
//! `docs/validation/relighting.md`.
//!
//! ```text
//! cargo run --release --no-default-features --example relight_accuracy [SCENE [TEXELS_PER_METER [RAYS [live]]]]
//! cargo run --release --no-default-features --example relight_accuracy -- SCENE TEXELS_PER_METER pages|settling
//! ```
//!
//! Forty lights are placed where there is room, one at a time, points and spots in turn. Parameters were chosen by the
//! first twenty, and the other twenty are for validation.
//!
//! The reference of each light is a bake: stored hits of RAYS gather rays for each half, with sweeps until convergence.
//! With RAYS = 0 there is no table, only the cost of precomputation. Every method has its own rays and its own direct
//! light. Both halves of the reference share no random numbers. So the product of the differences from both estimates
//! the squared error without the noise of the reference.
//!
//! *Live* is [`Relighter`] with the data of `bake --relight` and 2,000 patches of one size. The argument `live`
//! measures only low rank and live relighting. *Mottle* is the spurious relative difference between neighboring
//! elements, where there is some light. *Pages* compares whole relit pages with whole bakes, for suns, panels and a
//! door.
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

mod pages;
mod settling;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use bevy_radiosity::accel::{Preset, World};
use bevy_radiosity::geometry::sampling::uniform_sphere;
use bevy_radiosity::geometry::sobol::{hash2, unit_float};
use bevy_radiosity::geometry::{CounterRng, Ray, RayQuery};
use bevy_radiosity::lightmap::{Elements, Layout, LayoutSettings};
use bevy_radiosity::low_rank::{
    Contributions, LowRank, PatchKind, Patches, Precomputed, Receivers, Rows, StoredTransport,
};
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::radiosity::{Accumulators, Content, CpuBackend, HALVES, Hits, Step, StoredHits, TransportBackend};
use bevy_radiosity::relight::{self, LiveLight, Relighter, UpdateSettings};
use bevy_radiosity::scene::{Light, LightKind, Scene, Sky, luminance};
use bevy_radiosity::scene_files::load;
use glam::{Vec2, Vec3};
use rand::RngExt;

const LIGHTS: usize = 20;

/// Fraction of a light's root mean square below which mottle is ignored.
const DIM: f64 = 0.1;

/// Minimum free distance around a light, in meters.
const ROOM: f32 = 0.3;

/// Rays that test the space around a light, and the minimum number of hits. The latter keeps lights inside the level.
const LOOKS: u32 = 256;
const MET: u32 = 230;

/// Samples of direct light for each half of most elements, and the standard error in lux at which they suffice. Other
/// elements get up to sixteen times as many.
const SHADOW_RAYS: u32 = 16;
const TOLERANCE: f32 = 0.01;

/// Sweeps until the change is small compared with noise.
const SWEEPS: u32 = 8;

/// Stored rays of each half, in steps, and numbers of patches.
const RAYS: [u32; 3] = [128, 128, 256];
const PATCHES: [usize; 3] = [500, 1000, 2000];

/// Fraction of a transport row that `bake --relight` drops.
const LOSS: f32 = 0.01;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/assets/level.glb").to_owned());
    let density: f32 = arguments.next().map_or(Ok(4.0), |density| density.parse())?;
    let rays = arguments.next().unwrap_or_else(|| "256".to_owned());
    if rays == "pages" {
        return pages::report(&file, density);
    }
    if rays == "settling" {
        return settling::report(&file, density);
    }
    let rays: u32 = rays.parse()?;
    let is_live_alone = arguments.next().is_some_and(|word| word == "live");
    let level = Level::new(&file, density)?;
    let count = level.elements.len();
    println!("{file}, {density} texels/m: {count} elements");
    let mut backend = CpuBackend::new(&level.scene, &*level.world, &level.elements, 1);
    for rays in RAYS.iter().take(if rays > 0 { RAYS.len() } else { 1 }) {
        let what = format!("{} rays", HALVES as u32 * rays);
        timed(&what, || backend.run(&gather(*rays, count), &Unmonitored))?;
    }
    let visible = level.visible_fractions(&backend)?;
    let weights: Vec<f64> = level.elements.area.iter().zip(&visible).map(|(a, b)| f64::from(a * b)).collect();
    if rays == 0 {
        let stored = backend.snapshot()?;
        let patches = timed("patches", || Patches::uniform(&level.elements, &visible, 2000));
        low_rank(&level, patches, LOSS, stored.iter().flat_map(|half| &half.stored));
        return Ok(());
    }
    let problems = level.problems(rays, &weights)?;
    let (known, others) = problems.split_at(LIGHTS);
    let judge = Judge::new(&level.elements, weights);
    println!(
        "| method | MB | cpu-ms a light | error: median, 95 %, worst of {LIGHTS} | by chance: median, 95 % | mottle |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let stored = backend.snapshot()?;
    for steps in if is_live_alone { RAYS.len()..=RAYS.len() } else { 1..=RAYS.len() } {
        let of_steps = || stored.iter().flat_map(|half| &half.stored[..steps]);
        let rays = HALVES as u32 * RAYS[..steps].iter().sum::<u32>();
        let transport = StoredTransport::new(&own_order(count), &level.elements.reflectance, of_steps());
        let hits = transport.bytes();
        for sweeps in [1, 2, 3, 4, SWEEPS].into_iter().filter(|_| !is_live_alone) {
            let name = format!("{rays} stored hits, {sweeps} sweeps from darkness");
            judge.report(&name, hits, known, |problem| {
                swept(&transport, &problem.direct, vec![Vec3::ZERO; count], sweeps)
            });
        }
        let kinds: &[PatchKind] =
            if steps == RAYS.len() { &[PatchKind::Coherent, PatchKind::Uniform] } else { &[PatchKind::Uniform] };
        for (max_patches, &kind) in
            PATCHES.iter().flat_map(|&max_patches| kinds.iter().map(move |kind| (max_patches, kind)))
        {
            let patches = timed("patches", || kind.patches(&level.elements, &visible, &stored, max_patches));
            let is_last =
                steps == RAYS.len() && max_patches == PATCHES[PATCHES.len() - 1] && kind == PatchKind::Uniform;
            let edge = (judge.weights.iter().sum::<f64>() / patches.len() as f64).sqrt();
            let of_kind = match kind {
                PatchKind::Uniform => format!("{rays} rays, {} patches of {edge:.2} m", patches.len()),
                PatchKind::Coherent => format!("{rays} rays, {} patches of one view", patches.len()),
            };
            if is_last {
                let whole = low_rank(&level, patches.clone(), 0.0, of_steps());
                judge.report(&format!("{of_kind}, nothing left out"), whole.bytes(), known, |problem| {
                    relit(&whole, &problem.direct)
                });
            }
            let low_rank = low_rank(&level, patches, LOSS, of_steps());
            let bytes = low_rank.bytes();
            for (problems, which) in [(known, ""), (others, ", other lights")] {
                judge
                    .report(&format!("{of_kind}{which}"), bytes, problems, |problem| relit(&low_rank, &problem.direct));
                for sweeps in [1, 2] {
                    let name = format!("... and {sweeps} sweeps over stored hits{which}");
                    judge.report(&name, bytes + hits, problems, |problem| {
                        swept(&transport, &problem.direct, relit(&low_rank, &problem.direct), sweeps)
                    });
                }
            }
            if is_live_alone && !is_last {
                continue;
            }
            let mut live = level.live(low_rank, &visible, of_steps());
            for (problems, which) in [(known, ""), (others, ", other lights")] {
                let rays = UpdateSettings::default().rays;
                let name = format!("live, one update of {rays} rays{which}");
                judge.report(&name, bytes + hits, problems, |problem| live.seen_at_once(&problem.light, rays));
                for (sweeps, when) in [(0, "while they move"), (UpdateSettings::default().bounces, "at rest")] {
                    let name = format!("live, {when}{which}");
                    judge.report(&name, bytes + hits, problems, |problem| live.lit_by(&problem.light, sweeps));
                }
            }
        }
    }
    Ok(())
}

/// Level without lights.
struct Level {
    scene: Arc<Scene>,
    world: Arc<World>,
    elements: Arc<Elements>,
}

/// Light with its reference solution.
struct Problem {
    light: Light,
    /// Direct light that is independent of the reference.
    direct: Vec<Vec3>,
    /// Luminance of indirect light, by half.
    truth: [Vec<f64>; HALVES],
    /// Root mean square over all area, without noise.
    rms: f64,
}

impl Level {
    fn new(file: &str, texels_per_meter: f32) -> Result<Self, Box<dyn Error>> {
        let mut scene = load(file)?.scene.into_inner();
        scene.lights.clear();
        scene.sky = Sky::Dark;
        scene.materials.iter_mut().for_each(|material| material.emission = Vec3::ZERO);
        let scene = Arc::new(scene);
        let world = Arc::new(World::build(scene.clone(), Preset::best()));
        let settings = LayoutSettings { texels_per_meter, ..LayoutSettings::default() };
        let (layout, _) = Layout::build(&scene, &settings, &Unmonitored)?;
        let elements = Arc::new(Elements::build(&scene, &layout, &*world, &Unmonitored)?);
        Ok(Self { scene, world, elements })
    }

    fn visible_fractions(&self, backend: &CpuBackend) -> Result<Vec<f32>, Box<dyn Error>> {
        let halves = backend.snapshot()?;
        let bare = self.bare(&self.scene, &halves, 0)?;
        let [first, second] = [bare.read(0)?, bare.read(1)?];
        Ok(first.iter().zip(&second).map(|(a, b)| 0.5 * (a.visible_fraction + b.visible_fraction)).collect())
    }

    /// Returns a backend with visible fractions but without stored hits.
    fn bare<'a>(
        &'a self,
        scene: &'a Arc<Scene>,
        halves: &[Accumulators; HALVES],
        seed: u32,
    ) -> Result<CpuBackend<'a>, Box<dyn Error>> {
        let mut backend = CpuBackend::new(scene, &*self.world, &self.elements, seed);
        let without_hits =
            |half: &Accumulators| Accumulators { sums: half.sums.clone(), ..Accumulators::new(self.elements.len()) };
        backend.restore(halves.each_ref().map(without_hits))?;
        Ok(backend)
    }

    fn problems(&self, rays: u32, weights: &[f64]) -> Result<Vec<Problem>, Box<dyn Error>> {
        let mut backend = CpuBackend::new(&self.scene, &*self.world, &self.elements, 1000);
        backend.run(&gather(rays, self.elements.len()), &Unmonitored)?;
        let halves = backend.snapshot()?;
        let order = own_order(self.elements.len());
        let transport =
            halves.each_ref().map(|half| StoredTransport::new(&order, &self.elements.reflectance, &half.stored));
        let mut problems = Vec::new();
        for light in self.lights() {
            let lit = Arc::new(Scene { lights: vec![light.clone()], ..(*self.scene).clone() });
            let direct = |seed: u32| -> Result<[Vec<Vec3>; HALVES], Box<dyn Error>> {
                let mut backend = self.bare(&lit, &halves, seed)?;
                // The first samples tell where more are needed.
                for _ in 0..2 {
                    backend.run(
                        &Step::Direct { samples: SHADOW_RAYS, tolerance: vec![TOLERANCE; self.elements.len()].into() },
                        &Unmonitored,
                    )?;
                }
                let read =
                    |half| backend.read(half).map(|all| all.iter().map(|reading| reading.light_sampled).collect());
                Ok([read(0)?, read(1)?])
            };
            let true_direct = direct(7)?;
            let solved = |half: usize| -> Result<Vec<f64>, Box<dyn Error>> {
                let light = swept(&transport[half], &true_direct[half], vec![Vec3::ZERO; weights.len()], SWEEPS);
                Ok(light.into_iter().map(|light| f64::from(luminance(light))).collect())
            };
            let truth = [solved(0)?, solved(1)?];
            let square: f64 = (0..weights.len()).map(|i| weights[i] * truth[0][i] * truth[1][i]).sum();
            let rms = (square / weights.iter().sum::<f64>()).sqrt();
            let [direct, _] = direct(8)?;
            problems.push(Problem { light, direct, truth, rms });
        }
        Ok(problems)
    }

    /// Returns the level as a game relights it.
    fn live<'a>(&self, transport: LowRank, visible: &[f32], stored: impl IntoIterator<Item = &'a StoredHits>) -> Live {
        let order = transport.patches.order.clone();
        let receivers = Receivers::new(&self.elements, visible, &transport.patches);
        let hits = timed("hits", || StoredTransport::new(&order, &self.elements.reflectance, stored));
        let bytes =
            Precomputed { transport, receivers, hits, contributions: Contributions::default() }.to_bytes([0; 32]);
        let what = format!("{:.0} MB read", bytes.len() as f64 * 1e-6);
        let precomputed = timed(&what, || Precomputed::from_bytes(&bytes, [0; 32])).expect("what was just written");
        let level = relight::RelightInput {
            scene: self.scene.clone(),
            world: self.world.clone(),
            elements: self.elements.clone(),
            precomputed: Arc::new(precomputed),
            pages: Arc::new([]),
            content: Content::Indirect,
            texel_mapping: relight::LazyTexelMapping::default(),
        };
        Live { order, relighter: timed("first of all", || Relighter::new(level)) }
    }

    /// Returns lights inside the level that are not inside objects.
    fn lights(&self) -> Vec<Light> {
        let bounds = self.scene.bounds();
        let place = |attempt: u32| {
            let [x, y, z, u, v]: [f32; 5] = CounterRng::new(hash2(2026, attempt)).random();
            (bounds.min + Vec3::new(x, y, z) * bounds.extent(), uniform_sphere(Vec2::new(u, v)))
        };
        let has_room = |&(position, _): &(Vec3, Vec3)| {
            let look = |ray: u32| uniform_sphere(Vec2::new(unit_float(hash2(ray, 1)), unit_float(hash2(ray, 2))));
            let hits: Vec<_> =
                (0..LOOKS).filter_map(|ray| self.world.closest(&Ray::new(position, look(ray)))).collect();
            hits.len() as u32 >= MET && hits.iter().all(|hit| hit.t >= ROOM && !self.scene.absorbs(hit))
        };
        let light = |(index, (position, direction)): (usize, (Vec3, Vec3))| {
            let (intensity, radius, range) = (Vec3::splat(100.0), 0.0, f32::INFINITY);
            let kind = if index % 2 == 0 {
                LightKind::Point { position, intensity, radius, range }
            } else {
                let [inner_angle, outer_angle] = [0.4, 0.6];
                LightKind::Spot { position, direction, intensity, radius, range, inner_angle, outer_angle }
            };
            Light { name: format!("light {index}"), kind }
        };
        (0..).map(place).filter(has_room).take(2 * LIGHTS).enumerate().map(light).collect()
    }
}

fn gather(rays: u32, elements: usize) -> Step {
    Step::Gather { rays: vec![rays; elements], hits: Hits::Store }
}

/// Returns the elements in their own order, as rows.
fn own_order(elements: usize) -> Vec<u32> {
    (0..elements as u32).collect()
}

fn low_rank<'a>(
    level: &Level,
    patches: Patches,
    loss: f32,
    stored: impl IntoIterator<Item = &'a StoredHits>,
) -> LowRank {
    let rows = timed("rows", || Rows::of_hits(&patches, stored));
    timed("U and K", || LowRank::new(patches, &level.elements.reflectance, &rows, loss))
}

/// Returns indirect light by low rank, in the elements' own order.
fn relit(low_rank: &LowRank, direct: &[Vec3]) -> Vec<Vec3> {
    let mut sorted = vec![Vec3::ZERO; direct.len()];
    low_rank.relight(&low_rank.sorted(direct), &mut sorted);
    let mut indirect = vec![Vec3::ZERO; direct.len()];
    low_rank.patches.order.iter().zip(sorted).for_each(|(&element, light)| indirect[element as usize] = light);
    indirect
}

fn swept(transport: &StoredTransport, direct: &[Vec3], mut indirect: Vec<Vec3>, sweeps: u32) -> Vec<Vec3> {
    (0..sweeps).for_each(|_| transport.sweep(direct, &mut indirect));
    indirect
}

/// Level that is relit as in a game.
struct Live {
    order: Vec<u32>,
    relighter: Relighter,
}

impl Live {
    /// Returns the indirect light after one update of some rays.
    fn seen_at_once(&mut self, light: &Light, rays: u32) -> Vec<Vec3> {
        self.set(light);
        self.relighter.update(&UpdateSettings { rays, ..UpdateSettings::default() });
        self.indirect()
    }

    fn set(&mut self, light: &Light) {
        self.relighter.set_lights(&[LiveLight { id: 1, light: light.clone(), is_excluded: false }], &[]);
    }

    /// Returns the indirect light once the light has settled.
    fn lit_by(&mut self, light: &Light, sweeps: u32) -> Vec<Vec3> {
        self.set(light);
        let settings = UpdateSettings { rays: u32::MAX, bounces: sweeps, ..UpdateSettings::default() };
        while !self.relighter.update(&settings).is_settled() {}
        self.indirect()
    }

    fn indirect(&self) -> Vec<Vec3> {
        let mut indirect = vec![Vec3::ZERO; self.order.len()];
        let shown = self.order.iter().zip(self.relighter.indirect());
        shown.for_each(|(&element, light)| indirect[element as usize] = light);
        indirect
    }
}

/// Measures of error.
struct Judge {
    /// Unoccluded area of each element, in m2.
    weights: Vec<f64>,
    /// Adjacent elements of a chart.
    neighbors: Vec<[usize; 2]>,
}

impl Judge {
    fn new(elements: &Elements, weights: Vec<f64>) -> Self {
        let are_neighbors = |&[a, b]: &[usize; 2]| {
            let [first, second] = [a, b].map(|element| elements.texel[element]);
            let is_open = weights[a].min(weights[b]) > 0.5 * f64::from(elements.area[a].max(elements.area[b]));
            let is_flat = elements.geometric_normal[a].dot(elements.geometric_normal[b]) > 0.99;
            is_open && is_flat && (first.page, first.x + 1, first.y) == (second.page, second.x, second.y)
        };
        let neighbors = (1..elements.len()).map(|second| [second - 1, second]).filter(are_neighbors).collect();
        Self { neighbors, weights }
    }

    /// Prints the errors of a method over all lights, relative to the root mean square of each light's indirect light.
    fn report(&self, name: &str, bytes: usize, problems: &[Problem], method: impl FnMut(&Problem) -> Vec<Vec3>) {
        let before = processor_seconds();
        let found: Vec<Vec<Vec3>> = problems.iter().map(method).collect();
        let each = (processor_seconds() - before) / problems.len() as f64;
        let found: Vec<Vec<f64>> =
            found.iter().map(|light| light.iter().map(|light| f64::from(luminance(*light))).collect()).collect();
        let of_all = |measure: fn(&Self, &Problem, &[f64]) -> f64| {
            let mut all: Vec<f64> = problems.iter().zip(&found).map(|(a, b)| measure(self, a, b)).collect();
            all.sort_by(f64::total_cmp);
            [0.5, 0.95, 1.0].map(|part| 100.0 * all[(part * all.len() as f64).ceil() as usize - 1])
        };
        let [median, percentile_95, worst] = of_all(Self::error);
        let [mottle, ..] = of_all(Self::mottle);
        let [doubt, max_doubt, _] = of_all(Self::doubt);
        let (megabytes, milliseconds) = (bytes as f64 * 1e-6, 1e3 * each);
        let errors = format!("{median:.1} %, {percentile_95:.1} %, {worst:.1} %");
        println!(
            "| {name} | {megabytes:.0} | {milliseconds:.0} | {errors} | {doubt:.1} %, {max_doubt:.1} % | {mottle:.1} % |"
        );
    }

    fn error(&self, problem: &Problem, found: &[f64]) -> f64 {
        let [first, second] = &problem.truth;
        let square = |i: usize| self.weights[i] * (found[i] - first[i]) * (found[i] - second[i]);
        let all: f64 = (0..found.len()).map(square).sum();
        (all.max(0.0) / self.weights.iter().sum::<f64>()).sqrt() / problem.rms
    }

    /// Returns the standard deviation of the error due to noise of the reference, if elements are independent.
    fn doubt(&self, problem: &Problem, found: &[f64]) -> f64 {
        let [first, second] = &problem.truth;
        let square = |i: usize| self.weights[i] * (found[i] - first[i]) * (found[i] - second[i]);
        let variance: f64 = (0..found.len()).map(|i| square(i).powi(2)).sum();
        let whole = self.weights.iter().sum::<f64>() * problem.rms.powi(2);
        0.5 * variance.sqrt() / whole / self.error(problem, found).max(0.01)
    }

    fn mottle(&self, problem: &Problem, found: &[f64]) -> f64 {
        let [first, second] = &problem.truth;
        let light = |&[a, b]: &[usize; 2]| 0.25 * (first[a] + first[b] + second[a] + second[b]);
        let seen = || self.neighbors.iter().filter(|pair| light(pair) > DIM * problem.rms);
        let square = |pair: &[usize; 2]| {
            let [a, b] = *pair;
            let apart = found[a] - found[b];
            0.5 * (apart - first[a] + first[b]) * (apart - second[a] + second[b]) / light(pair).powi(2)
        };
        (seen().map(square).sum::<f64>().max(0.0) / seen().count().max(1) as f64).sqrt()
    }
}

/// Prints the time of a call on standard error.
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (start, before) = (Instant::now(), processor_seconds());
    let result = work();
    eprintln!("{what}: {:.2} s, {:.2} cpu-s", start.elapsed().as_secs_f64(), processor_seconds() - before);
    result
}

/// Returns the CPU time of all threads of this process in seconds, to the hundredth. Zero if the system is not Linux.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
